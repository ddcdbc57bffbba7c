"""Values of every CQL type go in by literal and by prepared statement, and come back equal."""

import ipaddress
from collections import namedtuple
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID, uuid1, uuid4

import pytest
from cassandra.util import Date, Duration, OrderedMapSerializedKey, SortedSet, Time

TIME_UUID = UUID("d2177dd0-eaa2-11de-a572-001b779c76e3")
SCALARS = [
    # type, literal, value as the driver gives it
    ("ascii", "'plain'", "plain"),
    ("bigint", "-9223372036854775808", -2**63),
    ("blob", "0x00ff10", b"\x00\xff\x10"),
    ("boolean", "true", True),
    ("date", "'2024-02-29'", Date(date(2024, 2, 29))),
    ("decimal", "123456789012345678901234567890.0001230", Decimal("123456789012345678901234567890.0001230")),
    ("double", "-1.5e300", -1.5e300),
    ("duration", "1y2mo3d4h5m6s7ns", Duration(14, 3, ((4 * 60 + 5) * 60 + 6) * 10**9 + 7)),
    ("float", "0.25", 0.25),
    ("inet", "'2001:db8::1'", "2001:db8::1"),
    ("int", "2147483647", 2**31 - 1),
    ("smallint", "-32768", -2**15),
    ("text", "'grüße 🌍 ''quoted'''", "grüße 🌍 'quoted'"),
    ("time", "'23:59:59.999999999'", Time("23:59:59.999999999")),
    ("timestamp", "'2011-02-03 04:05:06.789+0000'", datetime(2011, 2, 3, 4, 5, 6, 789000)),
    ("timeuuid", str(TIME_UUID), TIME_UUID),
    ("tinyint", "-128", -128),
    ("uuid", "62c36092-82a1-3a00-93d1-46196ee77204", UUID("62c36092-82a1-3a00-93d1-46196ee77204")),
    ("varchar", "''", ""),
    ("varint", "-123456789012345678901234567890", -123456789012345678901234567890),
]


def same(given, expected):
    return str(ipaddress.ip_address(given)) == expected if isinstance(expected, str) and ":" in expected else given == expected


@pytest.fixture
def scalars(client, session):
    if client.once("scalars"):
        columns = ", ".join(f"{name}_ {name}" for name, _, _ in SCALARS)
        session.execute(f"CREATE TABLE scalars (k int PRIMARY KEY, {columns})")
    return "scalars"


@pytest.mark.parametrize("name, literal, value", SCALARS, ids=[row[0] for row in SCALARS])
def test_scalar_goes_in_by_literal_and_by_bound_value(session, scalars, name, literal, value):
    session.execute(f"INSERT INTO scalars (k, {name}_) VALUES (1, {literal})")
    by_literal = session.execute(f"SELECT {name}_ FROM scalars WHERE k = 1").one()[0]
    assert same(by_literal, value)
    session.execute(session.prepare(f"INSERT INTO scalars (k, {name}_) VALUES (2, ?)"), (value,))
    assert session.execute(f"SELECT {name}_ FROM scalars WHERE k = 2").one()[0] == by_literal
    session.execute(session.prepare(f"INSERT INTO scalars (k, {name}_) VALUES (2, ?)"), (None,))
    assert session.execute(f"SELECT {name}_ FROM scalars WHERE k = 2").one() in (None, (None,))


def test_every_scalar_except_duration_serves_as_clustering_key(session):
    for name, literal, value in SCALARS:
        if name == "duration":
            continue
        session.execute(f"CREATE TABLE key_{name} (p {name}, q int, c {name}, v int, PRIMARY KEY ((p, q), c))")
        session.execute(f"INSERT INTO key_{name} (p, q, c, v) VALUES ({literal}, 0, {literal}, 1)")
        row = session.execute(f"SELECT c, v FROM key_{name} WHERE p = {literal} AND q = 0 AND c = {literal}").one()
        assert same(row.c, value) and row.v == 1, name


def test_collections_are_read_whole_and_changed_in_part(session):
    session.execute("CREATE TABLE collections (k int PRIMARY KEY, l list<int>, s set<text>, m map<text, int>, fl frozen<list<int>>)")
    session.execute(session.prepare("INSERT INTO collections (k, l, s, m, fl) VALUES (1, ?, ?, ?, ?)"),
                    ([3, 1, 2], {"b", "a"}, {"x": 1, "y": 2}, [9, 8]))
    session.execute("UPDATE collections SET l = l + [4], s = s + {'c'}, m['z'] = 3 WHERE k = 1")
    session.execute("UPDATE collections SET l[0] = 30, s = s - {'a'}, m = m - {'x'} WHERE k = 1")
    session.execute("UPDATE collections SET l = [0] + l WHERE k = 1")
    row = session.execute("SELECT l, s, m, fl FROM collections WHERE k = 1").one()
    assert row.l == [0, 30, 1, 2, 4] and row.s == SortedSet(["b", "c"]) and dict(row.m) == {"y": 2, "z": 3} and row.fl == [9, 8]
    session.execute("DELETE l[1], m['y'] FROM collections WHERE k = 1")
    row = session.execute("SELECT l, m, m['z'] AS z, s['b'] AS b FROM collections WHERE k = 1").one()
    assert row.l == [0, 1, 2, 4] and dict(row.m) == {"z": 3} and row.z == 3 and row.b == "b"


def test_empty_collection_reads_as_null_but_frozen_one_as_empty(session):
    session.execute("CREATE TABLE empties (k int PRIMARY KEY, s set<int>, f frozen<set<int>>)")
    session.execute(session.prepare("INSERT INTO empties (k, s, f) VALUES (?, ?, ?)"), (1, set(), set()))
    row = session.execute("SELECT s, f FROM empties WHERE k = 1").one()
    assert row.s is None and row.f == set()


def test_nested_frozen_collections_keep_their_shape(session):
    session.execute("CREATE TABLE nested (k int PRIMARY KEY, v map<text, frozen<map<int, frozen<list<tuple<int, text>>>>>>)")
    value = {"a": {1: [(1, "x"), (2, None)]}, "b": {}}
    session.execute(session.prepare("INSERT INTO nested (k, v) VALUES (1, ?)"), (value,))
    row = session.execute("SELECT v FROM nested WHERE k = 1").one()
    assert isinstance(row.v, OrderedMapSerializedKey)
    assert {outer: {inner: items for inner, items in rows.items()} for outer, rows in row.v.items()} == value


def test_tuple_may_hold_nulls_and_be_short(session):
    session.execute("CREATE TABLE tuples (k int PRIMARY KEY, t tuple<int, text, frozen<tuple<float, boolean>>>)")
    insert = session.prepare("INSERT INTO tuples (k, t) VALUES (?, ?)")
    session.execute(insert, (1, (1, "a", (0.5, True))))
    session.execute(insert, (2, (None, "b", None)))
    session.execute("INSERT INTO tuples (k, t) VALUES (3, (7))")
    rows = {row.k: row.t for row in session.execute("SELECT k, t FROM tuples")}
    assert rows == {1: (1, "a", (0.5, True)), 2: (None, "b", None), 3: (7, None, None)}


def test_registered_user_type_maps_to_its_class_and_grows_fields(session, cluster, keyspace):
    Address = namedtuple("Address", "street number tags")
    session.execute("CREATE TYPE address (street text, number int, tags frozen<set<text>>)")
    session.execute("CREATE TABLE people (k int PRIMARY KEY, home frozen<address>, loose address, all_ list<frozen<address>>)")
    cluster.register_user_type(keyspace, "address", Address)
    home = Address("Long Street", 7, SortedSet(["a", "b"]))
    session.execute(session.prepare("INSERT INTO people (k, home, loose, all_) VALUES (1, ?, ?, ?)"), (home, home, [home, home]))
    row = session.execute("SELECT home, loose, all_ FROM people WHERE k = 1").one()
    assert row.home == home and row.loose == home and row.all_ == [home, home]
    session.execute("UPDATE people SET loose.number = 8 WHERE k = 1")
    session.execute("ALTER TYPE address ADD city text")
    row = session.execute("SELECT loose.number AS number, home.street AS street, home.city AS city FROM people WHERE k = 1").one()
    assert (row.number, row.street, row.city) == (8, "Long Street", None)
    assert cluster.metadata.keyspaces[keyspace].user_types["address"].field_names[:3] == ["street", "number", "tags"]


def test_vectors_of_fixed_and_variable_size_elements(session):
    session.execute("CREATE TABLE vectors (k int PRIMARY KEY, f vector<float, 3>, t vector<text, 2>)")
    session.execute("INSERT INTO vectors (k, f, t) VALUES (1, [0.5, -1, 2], ['a', 'bc'])")
    session.execute(session.prepare("INSERT INTO vectors (k, f, t) VALUES (2, ?, ?)"), ([0.25, 0.5, 1.0], ["", "z"]))
    rows = {row.k: (row.f, row.t) for row in session.execute("SELECT k, f, t FROM vectors")}
    assert rows == {1: ([0.5, -1.0, 2.0], ["a", "bc"]), 2: ([0.25, 0.5, 1.0], ["", "z"])}
    near = session.execute("SELECT similarity_cosine(f, [0.5, -1, 2]) AS s FROM vectors WHERE k = 1").one()
    assert near.s == pytest.approx(1.0)


def test_counter_adds_and_subtracts(session):
    session.execute("CREATE TABLE counters (k int PRIMARY KEY, n counter)")
    add = session.prepare("UPDATE counters SET n = n + ? WHERE k = 1")
    for amount in (5, 10, -3):
        session.execute(add, (amount,))
    session.execute("UPDATE counters SET n = n - 2 WHERE k = 1")
    assert session.execute("SELECT n FROM counters WHERE k = 1").one().n == 10


def test_time_functions_agree_with_the_types_they_return(session):
    row = session.execute("SELECT now() AS u, to_date(now()) AS d, to_timestamp(now()) AS t, uuid() AS r FROM system.local").one()
    assert row.u.version == 1 and row.r.version == 4 and isinstance(row.d, Date) and isinstance(row.t, datetime)


def test_static_columns_belong_to_the_partition(session):
    session.execute("CREATE TABLE statics (p int, c int, s text STATIC, v int, PRIMARY KEY (p, c))")
    session.execute("INSERT INTO statics (p, s) VALUES (1, 'alone')")
    assert session.execute("SELECT p, c, s, v FROM statics").all() == [(1, None, "alone", None)]
    session.execute("INSERT INTO statics (p, c, v, s) VALUES (1, 1, 10, 'shared')")
    session.execute("INSERT INTO statics (p, c, v) VALUES (1, 2, 20)")
    rows = session.execute("SELECT c, s, v FROM statics WHERE p = 1").all()
    assert rows == [(1, "shared", 10), (2, "shared", 20)]


def test_json_goes_in_and_comes_out(session):
    session.execute("CREATE TABLE documents (k int PRIMARY KEY, l list<int>, m map<text, text>, u uuid)")
    session.execute("""INSERT INTO documents JSON '{"k": 1, "l": [1, 2], "m": {"a": "b"}}'""")
    assert session.execute("SELECT JSON k, l, m, u FROM documents WHERE k = 1").one()[0] == \
        '{"k": 1, "l": [1, 2], "m": {"a": "b"}, "u": null}'
    assert session.execute("SELECT to_json(l) AS j FROM documents WHERE k = 1").one().j == "[1, 2]"


def test_uuids_made_by_the_client_survive(session):
    session.execute("CREATE TABLE uuids (k int PRIMARY KEY, u uuid, t timeuuid)")
    random, by_time = uuid4(), uuid1()
    session.execute(session.prepare("INSERT INTO uuids (k, u, t) VALUES (1, ?, ?)"), (random, by_time))
    row = session.execute("SELECT u, t, to_unix_timestamp(t) AS ms FROM uuids WHERE k = 1").one()
    assert (row.u, row.t) == (random, by_time)
    assert row.ms == (by_time.time - 0x01b21dd213814000) // 10_000


def test_times_at_the_ends_of_their_ranges(session):
    session.execute("CREATE TABLE ends (k int PRIMARY KEY, d date, t time, s timestamp)")
    session.execute("INSERT INTO ends (k, d, t, s) VALUES (1, '-5877641-06-23', '00:00:00', -1)")
    row = session.execute("SELECT d, t, s FROM ends WHERE k = 1").one()
    assert row.d.days_from_epoch == -2**31 and row.t == Time(0) and row.s == datetime(1969, 12, 31, 23, 59, 59, 999000)
