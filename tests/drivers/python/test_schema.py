"""What the driver reads out of the schema tables, and the events that keep it fresh."""

import queue

import pytest
from cassandra.connection import DefaultEndPoint
from conftest import HOST, PORT


@pytest.fixture
def events(cluster):
    """A queue of the schema changes that a connection of its own is told about."""
    received = queue.Queue()
    connection = cluster.connection_factory(DefaultEndPoint(HOST, PORT))
    connection.register_watcher("SCHEMA_CHANGE", received.put, register_timeout=10)
    yield received
    connection.close()


def next_event(events, keyspace):
    """The next change in `keyspace`, whatever else happens on the server."""
    while True:
        event = events.get(timeout=10)
        if event["keyspace"] == keyspace:
            return event


def test_table_metadata_has_keys_order_kinds_and_types(session, cluster, keyspace):
    session.execute("""CREATE TABLE described (a int, b text, c timeuuid, "D" int, s text STATIC, m map<text, frozen<set<int>>>,
        l frozen<list<tuple<int, text>>>, vec vector<float, 3>, PRIMARY KEY ((a, b), c, "D"))
        WITH CLUSTERING ORDER BY (c DESC, "D" ASC) AND comment = 'it''s described' AND default_time_to_live = 3600
        AND compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 100}
        AND compression = {'class': 'ZstdCompressor', 'chunk_length_in_kb': 32} AND gc_grace_seconds = 1000""")
    table = cluster.metadata.keyspaces[keyspace].tables["described"]
    assert [column.name for column in table.partition_key] == ["a", "b"]
    assert [(column.name, column.is_reversed) for column in table.clustering_key] == [("c", True), ("D", False)]
    assert table.columns["s"].is_static and not table.columns["m"].is_static
    assert {name: column.cql_type for name, column in table.columns.items()} == {
        "a": "int", "b": "text", "c": "timeuuid", "D": "int", "s": "text", "m": "map<text, frozen<set<int>>>",
        "l": "frozen<list<frozen<tuple<int, text>>>>", "vec": "vector<float, 3>"}
    assert list(table.columns)[:4] == ["a", "b", "c", "D"]
    assert table.options["comment"] == "it's described" and table.options["gc_grace_seconds"] == 1000
    assert table.options["compaction"]["class"] == "org.apache.cassandra.db.compaction.LeveledCompactionStrategy"
    assert table.options["compression"]["class"] == "org.apache.cassandra.io.compress.ZstdCompressor"


def test_exported_definition_makes_the_table_again(session, cluster, keyspace):
    session.execute("CREATE TABLE original (a int, b text, v set<int>, PRIMARY KEY (a, b)) WITH CLUSTERING ORDER BY (b DESC)")
    text = cluster.metadata.keyspaces[keyspace].tables["original"].as_cql_query()
    session.execute("DROP TABLE original")
    assert "original" not in cluster.metadata.keyspaces[keyspace].tables
    session.execute(text)
    assert cluster.metadata.keyspaces[keyspace].tables["original"].as_cql_query() == text


def test_keyspace_metadata_follows_alter(session, cluster):
    session.execute("DROP KEYSPACE IF EXISTS drivers_python_alter")
    session.execute("CREATE KEYSPACE drivers_python_alter WITH replication = "
                    "{'class': 'NetworkTopologyStrategy', 'datacenter1': 1} AND durable_writes = false")
    described = cluster.metadata.keyspaces["drivers_python_alter"]
    assert described.replication_strategy.dc_replication_factors == {"datacenter1": 1} and described.durable_writes is False
    session.execute("ALTER KEYSPACE drivers_python_alter WITH durable_writes = true")
    assert cluster.metadata.keyspaces["drivers_python_alter"].durable_writes is True
    session.execute("DROP KEYSPACE drivers_python_alter")
    assert "drivers_python_alter" not in cluster.metadata.keyspaces


def test_altered_table_is_known_with_its_new_columns(session, cluster, keyspace):
    session.execute("CREATE TABLE altered (k int PRIMARY KEY, a int, b int)")
    session.execute("ALTER TABLE altered ADD (c list<text>, d uuid)")
    session.execute("ALTER TABLE altered DROP a")
    session.execute("ALTER TABLE altered RENAME k TO key")
    assert list(cluster.metadata.keyspaces[keyspace].tables["altered"].columns) == ["key", "b", "c", "d"]
    assert session.execute("SELECT column_name FROM system_schema.dropped_columns WHERE keyspace_name = %s AND table_name = "
                           "'altered'", (keyspace,)).one().column_name == "a"


def test_schema_changes_are_announced_to_those_who_asked(session, keyspace, events):
    session.execute("CREATE TABLE announced (k int PRIMARY KEY)")
    assert next_event(events, keyspace) == {"target_type": "TABLE", "change_type": "CREATED", "keyspace": keyspace,
                                            "table": "announced"}
    session.execute("ALTER TABLE announced ADD v int")
    assert next_event(events, keyspace)["change_type"] == "UPDATED"
    session.execute("CREATE TYPE announced_type (a int)")
    event = next_event(events, keyspace)
    assert (event["target_type"], event["change_type"], event["type"]) == ("TYPE", "CREATED", "announced_type")
    session.execute("CREATE TABLE IF NOT EXISTS announced (k int PRIMARY KEY)")  # Changes nothing, so it announces nothing.
    session.execute("DROP TABLE announced")
    event = next_event(events, keyspace)
    assert (event["target_type"], event["change_type"], event["table"]) == ("TABLE", "DROPPED", "announced")


def test_all_nodes_agree_on_the_schema_after_a_change(session, cluster):
    before = session.execute("SELECT schema_version FROM system.local").one().schema_version
    session.execute("CREATE TABLE agreed (k int PRIMARY KEY)")
    after = session.execute("SELECT schema_version FROM system.local").one().schema_version
    assert before != after
    assert cluster.control_connection.wait_for_schema_agreement(wait_time=10)


def test_system_keyspaces_are_part_of_the_schema(cluster, session):
    keyspaces = cluster.metadata.keyspaces
    assert {"local", "peers", "peers_v2", "size_estimates", "prepared_statements", "IndexInfo"} <= set(keyspaces["system"].tables)
    assert {"keyspaces", "tables", "columns", "types", "indexes", "views", "functions", "aggregates",
            "triggers", "dropped_columns"} <= set(keyspaces["system_schema"].tables)
    assert {"sessions", "events"} <= set(keyspaces["system_traces"].tables)
    assert keyspaces["system_views"].virtual and "clients" in keyspaces["system_views"].tables


def test_events_tell_everything_that_went_or_changed_with_what_was_asked(session, events):
    """The tables that use a changed type, what a dropped keyspace held; nothing where nothing changed."""
    keyspace = "drivers_python_events"
    session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}")
    statements = [
        (f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}", ["CREATED KEYSPACE"]),
        (f"CREATE TYPE {keyspace}.inner (a int)", ["CREATED TYPE inner"]),
        (f"CREATE TYPE {keyspace}.outer (x frozen<inner>)", ["CREATED TYPE outer"]),
        (f"CREATE TABLE {keyspace}.one (k int PRIMARY KEY, v frozen<outer>)", ["CREATED TABLE one"]),
        (f"CREATE TABLE {keyspace}.two (k int PRIMARY KEY)", ["CREATED TABLE two"]),
        (f"ALTER TYPE {keyspace}.inner ADD b int", ["UPDATED TYPE inner", "UPDATED TYPE outer", "UPDATED TABLE one"]),
        (f"ALTER TABLE {keyspace}.two WITH comment = ''", []),
        (f"ALTER KEYSPACE {keyspace} WITH durable_writes = true", []),
        (f"ALTER TABLE {keyspace}.two ADD v int", ["UPDATED TABLE two"]),
        (f"DROP TABLE {keyspace}.two", ["DROPPED TABLE two"]),
        (f"DROP KEYSPACE {keyspace}", ["DROPPED TABLE one", "DROPPED TYPE inner", "DROPPED TYPE outer", "DROPPED KEYSPACE"]),
    ]
    for statement, expected in statements:
        session.execute(statement)
        for change in expected:
            event = next_event(events, keyspace)
            found = [event["change_type"], event["target_type"], event.get("table") or event.get("type")]
            assert " ".join(filter(None, found)) == change, statement
