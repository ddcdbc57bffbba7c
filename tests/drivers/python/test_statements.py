"""Preparing, paging, batches, conditional writes, concurrency, tracing, warnings, payloads, errors."""

import queue
from datetime import datetime, timezone

import pytest
from cassandra import AlreadyExists, ConsistencyLevel, InvalidRequest, Unauthorized, Unavailable
from cassandra.cluster import EXEC_PROFILE_DEFAULT
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.connection import DefaultEndPoint
from cassandra.protocol import (ConfigurationException, ExecuteMessage, PrepareMessage, PreparedQueryNotFound,
                                ProtocolException, QueryMessage, SyntaxException)
from cassandra.query import UNSET_VALUE, BatchStatement, BatchType, SimpleStatement, dict_factory, tuple_factory
from conftest import HOST, PORT, new_cluster


# Prepared statements

def test_prepared_statement_knows_its_routing_key(session, cluster, keyspace):
    session.execute("CREATE TABLE composite (a int, b text, c int, v int, PRIMARY KEY ((a, b), c))")
    insert = session.prepare("INSERT INTO composite (v, c, b, a) VALUES (?, ?, ?, ?)")
    assert insert.routing_key_indexes == [3, 2]
    bound = insert.bind((1, 2, "x", 3))
    assert bound.routing_key == b"\0\4\0\0\0\3\0" + b"\0\1x\0"
    assert cluster.metadata.get_replicas(keyspace, bound.routing_key) == [cluster.metadata.get_host(HOST, PORT)]
    session.execute(bound)
    assert session.execute("SELECT v FROM composite WHERE a = 3 AND b = 'x' AND c = 2").one().v == 1


def test_prepared_id_is_the_same_for_the_same_text(session, pairs):
    first, second = (session.prepare("SELECT v FROM pairs WHERE k = ?") for _ in range(2))
    assert first.query_id == second.query_id and len(first.query_id) == 16


def test_unknown_prepared_id_is_answered_with_unprepared(cluster):
    connection = cluster.connection_factory(DefaultEndPoint(HOST, PORT))
    try:
        message = ExecuteMessage(b"0123456789abcdef", [], ConsistencyLevel.ONE, result_metadata_id=b"")
        with pytest.raises(PreparedQueryNotFound) as raised:
            connection.wait_for_response(message, timeout=10)
        assert raised.value.info == b"0123456789abcdef"
    finally:
        connection.close()


def test_prepared_select_star_sees_a_column_added_later(session):
    session.execute("CREATE TABLE growing (k int PRIMARY KEY, a int)")
    session.execute("INSERT INTO growing (k, a) VALUES (1, 2)")
    select = session.prepare("SELECT * FROM growing WHERE k = ?")
    assert session.execute(select, (1,)).one() == (1, 2)
    session.execute("ALTER TABLE growing ADD b text")
    session.execute("INSERT INTO growing (k, b) VALUES (1, 'new')")
    assert session.execute(select, (1,)).one()._asdict() == {"k": 1, "a": 2, "b": "new"}


def test_unset_values_leave_columns_alone(session, pairs):
    insert = session.prepare("INSERT INTO pairs (k, v, w) VALUES (?, ?, ?)")
    session.execute(insert, (10, "kept", 1))
    session.execute(insert, (10, UNSET_VALUE, 2))
    assert session.execute("SELECT v, w FROM pairs WHERE k = 10").one() == ("kept", 2)


def test_values_bind_by_name(session, pairs):
    insert = session.prepare("INSERT INTO pairs (k, v) VALUES (:key, :value)")
    session.execute(insert, {"value": "named", "key": 11})
    assert session.execute("SELECT v FROM pairs WHERE k = %(k)s", {"k": 11}).one().v == "named"


def test_in_takes_a_bound_list(session, pairs):
    session.execute("INSERT INTO pairs (k, v) VALUES (21, 'a')")
    session.execute("INSERT INTO pairs (k, v) VALUES (22, 'b')")
    rows = session.execute(session.prepare("SELECT k, v FROM pairs WHERE k IN ?"), ([22, 21, 29],)).all()
    assert sorted(rows) == [(21, "a"), (22, "b")]


def test_keyspace_may_be_given_with_the_request(cluster, keyspace, pairs):
    session = cluster.connect()
    session.execute(SimpleStatement("INSERT INTO pairs (k, v) VALUES (12, 'elsewhere')", keyspace=keyspace))
    select = session.prepare("SELECT v FROM pairs WHERE k = ?", keyspace=keyspace)
    assert session.execute(select, (12,)).one().v == "elsewhere"


def test_prepare_twice_on_one_connection_gives_equal_metadata(cluster, keyspace, pairs):
    connection = cluster.connection_factory(DefaultEndPoint(HOST, PORT))
    message = PrepareMessage(f"SELECT k, v FROM {keyspace}.pairs WHERE k = ?")
    try:
        answers = connection.wait_for_responses(message, message, timeout=10)
        assert answers[0].query_id == answers[1].query_id
        assert answers[0].pk_indexes == [0] and [column[2] for column in answers[0].column_metadata] == ["k", "v"]
    finally:
        connection.close()


# Paging

@pytest.mark.parametrize("page_rows", [1, 7, 100, 5000])
def test_pages_of_any_size_give_every_row_once(session, numbers, page_rows):
    rows = session.execute(SimpleStatement(f"SELECT c, v FROM {numbers} WHERE p = 0", fetch_size=page_rows)).all()
    assert rows == [(c, f"v{c}") for c in range(250)]
    keys = session.execute(SimpleStatement(f"SELECT p, c FROM {numbers}", fetch_size=max(page_rows, 7))).all()
    assert sorted(keys) == sorted([(0, c) for c in range(250)] + [(p, 0) for p in range(1, 251)])


def test_paging_state_is_continued_by_another_session(cluster, session, keyspace, numbers):
    select = f"SELECT c FROM {numbers} WHERE p = 0"
    first = session.execute(SimpleStatement(select, fetch_size=10))
    assert [row.c for row in first.current_rows] == list(range(10)) and first.has_more_pages
    other = cluster.connect(keyspace)
    second = other.execute(SimpleStatement(select, fetch_size=10), paging_state=first.paging_state)
    assert [row.c for row in second.current_rows] == list(range(10, 20))


def test_limit_holds_across_pages_and_order_may_be_reversed(session, numbers):
    select = f"SELECT c FROM {numbers} WHERE p = 0 ORDER BY c DESC LIMIT 25"
    assert [row.c for row in session.execute(SimpleStatement(select, fetch_size=10))] == list(range(249, 224, -1))


def test_garbage_as_paging_state_is_a_protocol_error(cluster, keyspace, numbers):
    connection = cluster.connection_factory(DefaultEndPoint(HOST, PORT))
    message = QueryMessage(f"SELECT c FROM {keyspace}.{numbers} WHERE p = 0", ConsistencyLevel.ONE, fetch_size=10,
                           paging_state=b"\x07nonsense")
    try:
        with pytest.raises(ProtocolException, match="Invalid value for the paging state"):
            connection.wait_for_response(message, timeout=10)
    finally:
        connection.close()


def test_scan_by_token_ranges_finds_every_partition(session, cluster, numbers):
    select = session.prepare(f"SELECT DISTINCT p FROM {numbers} WHERE token(p) > ? AND token(p) <= ?")
    bounds = [-2**63, *(token.value for token in cluster.metadata.token_map.ring), 2**63 - 1]
    found = [row.p for low, high in zip(bounds, bounds[1:]) if low < high for row in session.execute(select, (low, high))]
    assert sorted(found) == list(range(251))


# Batches

def test_batches_logged_and_unlogged_apply_all_their_statements(session, pairs):
    insert = session.prepare("INSERT INTO pairs (k, v) VALUES (?, ?)")
    for kind, base in ((BatchType.LOGGED, 100), (BatchType.UNLOGGED, 110)):
        batch = BatchStatement(kind)
        batch.add(insert, (base, "prepared"))
        batch.add(SimpleStatement(f"INSERT INTO pairs (k, v) VALUES ({base + 1}, 'simple')"))
        batch.add("INSERT INTO pairs (k, v) VALUES (%s, %s)", (base + 2, "with values"))
        session.execute(batch)
        rows = session.execute(f"SELECT v FROM pairs WHERE k IN ({base}, {base + 1}, {base + 2})").all()
        assert sorted(rows) == [("prepared",), ("simple",), ("with values",)]


def test_counter_batch_counts_and_refuses_other_writes(session, pairs):
    session.execute("CREATE TABLE clicks (k int PRIMARY KEY, n counter)")
    batch = BatchStatement(BatchType.COUNTER)
    for key in (1, 2, 1):
        batch.add(SimpleStatement(f"UPDATE clicks SET n = n + 1 WHERE k = {key}"))
    session.execute(batch)
    assert sorted(session.execute("SELECT k, n FROM clicks").all()) == [(1, 2), (2, 1)]
    batch.add(SimpleStatement("INSERT INTO pairs (k, v) VALUES (1, 'x')"))
    with pytest.raises(InvalidRequest, match="Cannot include non-counter statement in a counter batch"):
        session.execute(batch)


def test_batch_timestamp_rules_its_statements(session, pairs):
    session.execute("INSERT INTO pairs (k, v) VALUES (120, 'late') USING TIMESTAMP 2000")
    session.execute("BEGIN BATCH USING TIMESTAMP 1000 INSERT INTO pairs (k, v, w) VALUES (120, 'early', 1) APPLY BATCH")
    assert session.execute("SELECT v, w, writetime(v) FROM pairs WHERE k = 120").one() == ("late", 1, 2000)


def test_conditional_batch_in_one_partition_is_all_or_nothing(session, numbers):
    def attempt(expected):
        batch = BatchStatement()
        batch.add(f"UPDATE {numbers} SET v = 'changed' WHERE p = 900 AND c = 1 IF v = '{expected}'")
        batch.add(f"INSERT INTO {numbers} (p, c, v) VALUES (900, 2, 'second')")
        return session.execute(batch).was_applied

    session.execute(f"INSERT INTO {numbers} (p, c, v) VALUES (900, 1, 'first')")
    assert attempt("other") is False
    assert session.execute(f"SELECT c, v FROM {numbers} WHERE p = 900").all() == [(1, "first")]
    assert attempt("first") is True
    assert session.execute(f"SELECT c, v FROM {numbers} WHERE p = 900").all() == [(1, "changed"), (2, "second")]
    session.execute(f"DELETE FROM {numbers} WHERE p = 900")


# Conditional writes

def test_insert_if_not_exists_answers_with_the_row_that_was_there(session, pairs):
    insert = session.prepare("INSERT INTO pairs (k, v) VALUES (?, ?) IF NOT EXISTS")
    assert session.execute(insert, (200, "mine")).was_applied
    refused = session.execute(insert, (200, "theirs"))
    assert not refused.was_applied and refused.one()._asdict() == {"applied": False, "k": 200, "v": "mine", "w": None}


def test_update_if_compares_and_answers_with_the_compared_column(session, pairs):
    session.execute("INSERT INTO pairs (k, v, w) VALUES (201, 'a', 1)")
    refused = session.execute("UPDATE pairs SET v = 'b' WHERE k = 201 IF w = 2")
    assert refused.one()._asdict() == {"applied": False, "w": 1}
    assert session.execute("UPDATE pairs SET v = 'b' WHERE k = 201 IF w IN (1, 2) AND v != 'z'").was_applied
    assert session.execute("DELETE FROM pairs WHERE k = 201 IF EXISTS").was_applied
    assert not session.execute("DELETE FROM pairs WHERE k = 201 IF EXISTS").was_applied


def test_of_concurrent_compare_and_sets_exactly_one_wins(session, pairs):
    session.execute("INSERT INTO pairs (k, w) VALUES (202, 0)")
    update = session.prepare("UPDATE pairs SET w = ? WHERE k = 202 IF w = ?")

    select = SimpleStatement("SELECT w FROM pairs WHERE k = 202", consistency_level=ConsistencyLevel.SERIAL)
    for _ in range(20):
        seen = session.execute(select).one().w
        answers = [session.execute_async(update, (seen + 1, seen)) for _ in range(3)]
        assert [answer.result().was_applied for answer in answers].count(True) == 1
    assert session.execute(select).one().w == 20


# Concurrency

def test_a_thousand_concurrent_writes_and_reads(session, pairs):
    insert = session.prepare("INSERT INTO pairs (k, v, w) VALUES (?, ?, ?)")
    written = execute_concurrent_with_args(session, insert, [(1000 + n, f"value {n}", n) for n in range(1000)], concurrency=100)
    assert all(success for success, _ in written)
    select = session.prepare("SELECT w FROM pairs WHERE k = ?")
    read = execute_concurrent(session, [(select, (1000 + n,)) for n in range(1000)], concurrency=100)
    assert [result.one().w for _, result in read] == list(range(1000))


def test_big_values_travel_in_several_frames(session, keyspace):
    session.execute("CREATE TABLE big (k int PRIMARY KEY, b blob)")
    value = bytes(range(256)) * 12_000  # 3 MB: more than twenty frames of version 5.
    for version in (4, 5):
        cluster = new_cluster(protocol_version=version, compression="lz4")
        try:
            other = cluster.connect(keyspace)
            other.execute(other.prepare("INSERT INTO big (k, b) VALUES (?, ?)"), (version, value))
            assert other.execute(f"SELECT b FROM big WHERE k = {version}").one().b == value
        finally:
            cluster.shutdown()


# Time to live, timestamps, deletion

def test_ttl_and_writetime_are_readable(session, pairs):
    session.execute("INSERT INTO pairs (k, v) VALUES (300, 'x') USING TTL 1000 AND TIMESTAMP 123456789")
    row = session.execute("SELECT ttl(v) AS t, writetime(v) AS w FROM pairs WHERE k = 300").one()
    assert 990 <= row.t <= 1000 and row.w == 123456789


def test_older_write_loses_and_deletion_hides_older_rows(session, numbers):
    session.execute(f"INSERT INTO {numbers} (p, c, v) VALUES (901, 1, 'new') USING TIMESTAMP 20")
    session.execute(f"INSERT INTO {numbers} (p, c, v) VALUES (901, 1, 'old') USING TIMESTAMP 10")
    session.execute(f"INSERT INTO {numbers} (p, c, v) VALUES (901, 2, 'gone') USING TIMESTAMP 10")
    session.execute(f"DELETE FROM {numbers} USING TIMESTAMP 15 WHERE p = 901 AND c >= 1 AND c < 3")
    assert session.execute(f"SELECT c, v FROM {numbers} WHERE p = 901").all() == [(1, "new")]
    session.execute(f"DELETE FROM {numbers} WHERE p = 901")
    assert session.execute(f"SELECT c, v FROM {numbers} WHERE p = 901").all() == []


def test_client_timestamps_are_used(session, pairs):
    before = int(datetime.now(timezone.utc).timestamp() * 1e6) - 10_000_000
    session.execute("INSERT INTO pairs (k, v) VALUES (301, 'x')")
    written = session.execute("SELECT writetime(v) AS w FROM pairs WHERE k = 301").one().w
    assert before < written < before + 30_000_000


def test_truncate_empties_the_table(session):
    session.execute("CREATE TABLE emptied (k int PRIMARY KEY)")
    session.execute("INSERT INTO emptied (k) VALUES (1)")
    session.execute("TRUNCATE emptied")
    assert session.execute("SELECT count(*) FROM emptied").one().count == 0


# Selecting

def test_aggregates_grouping_and_row_factories(session, numbers):
    row = session.execute(f"SELECT count(*) AS n, min(c) AS lo, max(c) AS hi, sum(c) AS s, avg(c) AS a FROM {numbers} WHERE p = 0").one()
    assert (row.n, row.lo, row.hi, row.s, row.a) == (250, 0, 249, 31125, 124)
    session.execute("CREATE TABLE grouped (p int, c int, d int, v int, PRIMARY KEY (p, c, d))")
    for c in range(3):
        for d in range(c + 1):
            session.execute("INSERT INTO grouped (p, c, d, v) VALUES (1, %s, %s, %s)", (c, d, 10 * c + d))
    assert session.execute("SELECT c, count(v) AS n, max(v) AS m FROM grouped WHERE p = 1 GROUP BY p, c").all() == \
        [(0, 1, 0), (1, 2, 11), (2, 3, 22)]
    assert session.execute("SELECT c, d FROM grouped WHERE p = 1 PER PARTITION LIMIT 2").all() == [(0, 0), (1, 0)]
    as_dict, as_tuple = (session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, row_factory=factory)
                         for factory in (dict_factory, tuple_factory))
    select = "SELECT v FROM grouped WHERE p = 1 AND "
    assert session.execute(select + "(c, d) > (2, 1)", execution_profile=as_dict).all() == [{"v": 22}]
    assert session.execute(select + "c = 1 AND d IN (0, 1, 5)", execution_profile=as_tuple).all() == [(10,), (11,)]


def test_filtering_needs_to_be_allowed(session, numbers):
    with pytest.raises(InvalidRequest, match="use ALLOW FILTERING"):
        session.execute(f"SELECT * FROM {numbers} WHERE v = 'v7'")
    assert session.execute(f"SELECT p, c FROM {numbers} WHERE v = 'v7' ALLOW FILTERING").all() == [(0, 7)]


# What comes beside the answer

def test_trace_tells_who_did_what(session, pairs):
    result = session.execute(SimpleStatement("SELECT v FROM pairs WHERE k = 1000"), trace=True)
    trace = result.get_query_trace(max_wait_sec=20)
    assert trace.coordinator == HOST and trace.duration.total_seconds() > 0
    assert trace.parameters["query"] == "SELECT v FROM pairs WHERE k = 1000"
    assert trace.request_type == "Execute CQL3 query" and len(trace.events) >= 3
    assert all(event.source == HOST for event in trace.events)


def test_trace_of_a_prepared_statement_names_it_and_its_values(session, pairs):
    prepared = session.prepare("INSERT INTO pairs (k, v) VALUES (?, ?)")
    result = session.execute(prepared, (1001, "it's"), trace=True)
    parameters = result.get_query_trace(max_wait_sec=20).parameters
    assert parameters["query"] == "INSERT INTO pairs (k, v) VALUES (?, ?)"
    assert (parameters["bound_var_0_k"], parameters["bound_var_1_v"]) == ("1001", "'it''s'")


def test_warnings_reach_the_client(session, numbers, pairs):
    answer = session.execute_async(f"SELECT count(*) FROM {numbers}")
    answer.result()
    assert answer.warnings == ["Aggregation query used without partition key"]
    batch = BatchStatement(BatchType.UNLOGGED)
    for key in range(20):
        batch.add(f"INSERT INTO pairs (k, v) VALUES ({500 + key}, 'x')")
    answer = session.execute_async(batch)
    answer.result()
    assert any("Unlogged batch covering 20 partitions detected" in warning for warning in answer.warnings)


def test_custom_payload_is_accepted(session):
    answer = session.execute_async("SELECT key FROM system.local", custom_payload={"question": b"\0\1"})
    assert answer.result().one() == ("local",)


def test_callbacks_deliver_results_and_errors(session):
    outcomes = queue.Queue()
    good = session.execute_async("SELECT key FROM system.local")
    good.add_callbacks(lambda rows: outcomes.put(rows[0].key), lambda error: outcomes.put(error))
    bad = session.execute_async("SELECT nothing FROM system.local")
    bad.add_callbacks(lambda rows: outcomes.put(rows), lambda error: outcomes.put(type(error).__name__))
    good.result()
    with pytest.raises(InvalidRequest):
        bad.result()
    assert sorted(outcomes.get(timeout=10) for _ in range(2)) == ["InvalidRequest", "local"]


# Errors

@pytest.mark.parametrize("statement, error, words", [
    ("SELEKT 1", SyntaxException, "line 1:0 no viable alternative at input 'SELEKT'"),
    ("SELECT nope FROM pairs", InvalidRequest, "Undefined column name nope in table drivers_python.pairs"),
    ("SELECT * FROM nope", InvalidRequest, "table nope does not exist"),
    ("SELECT * FROM nope.nope", InvalidRequest, "keyspace nope does not exist"),
    ("INSERT INTO pairs (k) VALUES ('x')", InvalidRequest, 'Invalid STRING constant \\(x\\) for "k" of type int'),
    ("INSERT INTO pairs (v) VALUES ('x')", InvalidRequest, "Some partition key parts are missing: k"),
    ("INSERT INTO pairs (k, v) VALUES (1, 'x') USING TTL 700000000", InvalidRequest, "ttl is too large"),
    ("SELECT * FROM pairs LIMIT 0", InvalidRequest, "LIMIT must be strictly positive"),
    ("DROP TABLE nope", InvalidRequest, "doesn't exist"),
    ("CREATE TABLE pairs (k int PRIMARY KEY)", AlreadyExists, "pairs"),
    ("ALTER TABLE pairs WITH gc_grace_seconds = -1", ConfigurationException, "gc_grace_seconds must be greater"),
    ("CREATE TABLE system.x (k int PRIMARY KEY)", Unauthorized, "system keyspace is not user-modifiable"),
])
def test_error_has_its_class_and_its_words(session, pairs, statement, error, words):
    with pytest.raises(error, match=words):
        session.execute(statement)


def test_unreachable_consistency_is_unavailable_with_its_numbers(session, pairs):
    with pytest.raises(Unavailable) as raised:
        session.execute(SimpleStatement("SELECT * FROM pairs WHERE k = 1", consistency_level=ConsistencyLevel.THREE))
    assert (raised.value.required_replicas, raised.value.alive_replicas) == (3, 1)
    assert raised.value.consistency == ConsistencyLevel.THREE


def test_every_consistency_level_that_one_node_reaches(session, pairs):
    for level in ("ONE", "QUORUM", "ALL", "LOCAL_QUORUM", "LOCAL_ONE"):
        value = ConsistencyLevel.name_to_value[level]
        session.execute(SimpleStatement("INSERT INTO pairs (k, v) VALUES (400, %s)", consistency_level=value), (level,))
        assert session.execute(SimpleStatement("SELECT v FROM pairs WHERE k = 400", consistency_level=value)).one().v == level
    session.execute(SimpleStatement("INSERT INTO pairs (k, v) VALUES (400, 'any')", consistency_level=ConsistencyLevel.ANY))
