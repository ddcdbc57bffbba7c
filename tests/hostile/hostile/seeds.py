"""Seeds: small valid inputs for each fuzz target, so that a fuzzer starts behind the first checks instead of before them.

Made here instead of being kept as files: `inputs` names them by target. A target without a row starts from nothing.
"""

import struct

from . import bodies
from .client import AUTH_RESPONSE, BATCH, EXECUTE, OPTIONS, PREPARE, QUERY, REGISTER, STARTUP, envelope, segments

MARSHAL = "org.apache.cassandra.db.marshal."


def inputs(target, crates):
    """[bytes] for a target such as "cql-parse"; `crates` is the directory of the crates."""
    make = {"cql-parse": cql, "protocol-inbound": inbound, "protocol-response": response, "types-value": value, "types-text": text,
            "query-paging_state": paging_state}.get(target)
    return list(make(crates)) if make else []


def cql(crates):
    lines = (crates / "cql" / "golden" / "accepted.cql").read_text().splitlines()
    return [line.encode() for line in lines if line.strip()][:400]


def requests(version):
    class Known:
        id, result_id = b"i" * 16, b"r" * 16
    yield envelope(version, OPTIONS, b"")
    yield envelope(version, STARTUP, struct.pack(">H", 1) + b"\0\x0bCQL_VERSION\0\x053.0.0")
    yield envelope(version, QUERY, bodies.query(version, "SELECT v FROM t WHERE k = ?", [b"\0\0\0\1", None], 100, b"state"))
    yield envelope(version, PREPARE, bodies.prepare(version, "SELECT 1", "ks"))
    yield envelope(version, EXECUTE, bodies.execute(version, Known, [b"ab"], page_size=5), flags=0x02)
    yield envelope(version, BATCH, bodies.batch(version, [("INSERT", [b"x"]), (b"i" * 16, [])]))
    yield envelope(version, REGISTER, bodies.register(["SCHEMA_CHANGE", "STATUS_CHANGE", "TOPOLOGY_CHANGE"]))
    yield envelope(version, AUTH_RESPONSE, struct.pack(">i", 4) + b"\0a\0b")


def inbound(_):
    """First byte: version (0 to 3 for 3 to 6), compression, whether STARTUP is over; second: how the stream is cut."""
    for number, version in enumerate((3, 4, 5, 6)):
        for raw in requests(version):
            yield bytes([number, 0]) + raw
            started = segments(raw) if 5 <= version else raw
            yield bytes([16 | number, 0]) + started
            yield bytes([16 | number, 3]) + started + started
            if 5 <= version:
                yield bytes([16 | 8 | number, 0]) + segments(raw, True)


def response(_):
    from .client import AUTH_SUCCESS, AUTHENTICATE, ERROR, EVENT, READY, RESULT, SUPPORTED
    string = lambda raw: struct.pack(">H", len(raw)) + raw  # noqa: E731
    columns = struct.pack(">iI", 1, 2) + string(b"ks") + string(b"t") + string(b"k") + b"\0\x09" + string(b"l") + b"\0\x20\0\x0d"
    rows = struct.pack(">i", 2) + columns + struct.pack(">i", 1) + struct.pack(">i", 4) + b"\0\0\0\1" + struct.pack(">i", -1)
    change = string(b"CREATED") + string(b"TABLE") + string(b"ks") + string(b"t")
    bodies_by_opcode = [(ERROR, struct.pack(">i", 0x2200) + string(b"no")), (ERROR, struct.pack(">i", 0x2500) + string(b"no") + string(b"id")),
                        (ERROR, struct.pack(">i", 0x1000) + string(b"no") + struct.pack(">Hii", 1, 3, 1)), (READY, b""), (AUTHENTICATE, string(b"A")),
                        (SUPPORTED, struct.pack(">H", 1) + string(b"COMPRESSION") + struct.pack(">H", 1) + string(b"lz4")),
                        (RESULT, struct.pack(">i", 1)), (RESULT, rows), (RESULT, struct.pack(">i", 3) + string(b"ks")),
                        (RESULT, struct.pack(">i", 5) + change), (EVENT, string(b"SCHEMA_CHANGE") + change), (AUTH_SUCCESS, struct.pack(">i", -1))]
    for version in (0x83, 0x84, 0x85):
        for opcode, body in bodies_by_opcode:
            yield struct.pack(">BBhBI", version, 0, 1, opcode, len(body)) + body


def value(_):
    """A type's Java name, a zero, two values."""
    simple = ["Int32", "Long", "UTF8", "Ascii", "Decimal", "Integer", "UUID", "TimeUUID", "Inet", "Timestamp", "SimpleDate", "Time", "Duration",
              "Double", "Float", "Boolean", "Short", "Byte", "Bytes"]
    names = [f"{MARSHAL}{name}Type" for name in simple]
    names += [f"{MARSHAL}{form}" for form in (
        f"ListType({MARSHAL}Int32Type)", f"SetType({MARSHAL}UTF8Type)", f"MapType({MARSHAL}Int32Type,{MARSHAL}DecimalType)",
        f"TupleType({MARSHAL}Int32Type,{MARSHAL}UTF8Type)", f"VectorType({MARSHAL}FloatType , 2)",
        f"FrozenType({MARSHAL}ListType({MARSHAL}TimeUUIDType))", f"ReversedType({MARSHAL}Int32Type)",
        f"UserType(ks,6e616d65,61:{MARSHAL}Int32Type,62:{MARSHAL}UTF8Type)")]
    list_of_int = struct.pack(">iii", 1, 4, 7)
    for name in names:
        for raw in (b"\0\0\0\1\0\0\0\2", list_of_int * 2, bytes(range(32)), b"\0\0\0\2\xff\0\0\0\2\x7f"):
            yield name.encode() + b"\0" + raw


def text(_):
    return [b"1", b"-1.5e10", b"2024-02-29 12:00:00.123+0100", b"1h30m", b"P1Y2M3DT4H5M6S", b"127.0.0.1", b"::1", b"0xcafe", b"[1, 2]",
            b"{'a': 1}", b"50554d6e-29bb-11e5-b345-feff819cdc9f", b"12:34:56.789", b"NaN", b"true", b"(1, 'x')"]


def paging_state(_):
    """Two clustering columns' choices, then a state as `paging` writes it."""
    for first, second in [(0xFF, 0xFF), (0, 0xFF), (10, 0x8A), (18, 0x42), (0x80, 0x43)]:
        head = bytes([first, second]) + b"\x68" + b"hashhash" + struct.pack(">II", 0xFFFFFFFF, 3)
        yield head + b"\0" + struct.pack(">H", 4) + b"\0\0\0\1"
        for side in (b"\1", b"\2"):
            for raw in (b"", b"\0\4\0\0\0\5", b"\0\4\0\0\0\5\0\4\0\0\0\6", b"\0\0"):
                yield head + side + struct.pack(">H", 4) + b"\0\0\0\1" + raw
