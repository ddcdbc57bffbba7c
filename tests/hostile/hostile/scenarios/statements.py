"""Statements: well-formed requests whose CQL or values are meant to exhaust stack, memory or time."""

import struct

from .. import bodies
from ..client import ERROR, QUERY, RESULT, Closed, Nonsense, Silent
from ..world import MIB, grown

DEEP = 50_000
SLACK_BYTES = 512 * MIB

#: A debug build parses some MiB a second; a minute would be a hang.
LIMIT_SECS = 20


def deep_and_long_statements_are_answered(world):
    before = world.node.reset_peak()
    nested = {
        "brackets": "SELECT * FROM hostile.t WHERE k = " + "(" * DEEP + "1" + ")" * DEEP,
        "lists": "INSERT INTO hostile.w (k, l) VALUES (1, " + "[" * DEEP + "]" * DEEP + ")",
        "sets": "INSERT INTO hostile.w (k, s) VALUES (1, " + "{" * DEEP + "}" * DEEP + ")",
        "maps": "INSERT INTO hostile.w (k, m) VALUES (1, " + "{1:" * DEEP + "1" + "}" * DEEP + ")",
        "open lists": "INSERT INTO hostile.w (k, l) VALUES (1, " + "[" * DEEP,
        "function calls": "SELECT " + "abs(" * DEEP + "k" + ")" * DEEP + " FROM hostile.t",
        "minus signs": "SELECT * FROM hostile.t WHERE k = " + "- " * DEEP + "1",
        "a sum": "SELECT k" + " + k" * DEEP + " FROM hostile.t",
        "a product in brackets": "SELECT " + "(k*" * DEEP + "k" + ")" * DEEP + " FROM hostile.t",
        "types": "CREATE TABLE hostile.deep (k int PRIMARY KEY, v " + "frozen<list<" * DEEP + "int" + ">>" * DEEP + ")",
        "casts": "SELECT " + "CAST(" * DEEP + "k" + " AS int)" * DEEP + " FROM hostile.t",
        "type hints": "SELECT * FROM hostile.t WHERE k = " + "(int)" * DEEP + "1",
        "fields": "SELECT k" + ".a" * DEEP + " FROM hostile.t",
        "JSON": "INSERT INTO hostile.t JSON '{\"k\": " + "[" * DEEP + "'",
        "relations": "SELECT * FROM hostile.t WHERE k = 1" + " AND k = 1" * DEEP,
        "selectors": "SELECT k" + ", k" * DEEP + " FROM hostile.t",
        "a long name": "SELECT * FROM hostile." + "x" * MIB,
        "a long string": "INSERT INTO hostile.t (k, v) VALUES (1, '" + "x" * (8 * MIB) + "')",
        "an open comment": "/*" * MIB,
        "a long number": "SELECT * FROM hostile.t WHERE k = " + "9" * 200_000,
        "markers": "SELECT * FROM hostile.t WHERE k IN (" + "?," * 70_000 + "?)",
        "a batch in the text": "BEGIN BATCH " + "INSERT INTO hostile.t (k, v) VALUES (1, 'a'); " * 20_000 + "APPLY BATCH",
        "combinations": "SELECT * FROM hostile.p WHERE k IN (" + "1," * 20_000 + "1) AND c IN (" + "1," * 20_000 + "1)",
    }
    for label, text in nested.items():
        check_answered(world, label, text)
    check_memory(world, before)


def numbers_that_unfold_are_bounded(world):
    """A decimal of five bytes may stand for two gigabytes of digits."""
    before = world.node.reset_peak()
    huge = struct.pack(">i", -0x7FFFFFFF) + b"\1"
    tiny = struct.pack(">i", 0x7FFFFFFF) + b"\1"
    with world.connect() as client:
        for k, value in [(100, huge), (101, tiny)]:
            try:
                client.query("INSERT INTO hostile.w (k, d) VALUES (?, ?)", values=[struct.pack(">i", k), value])
            except (Closed, Silent) as error:
                world.report.check(f"decimal {value.hex()} is stored or refused", False, repr(error))
                return
    for label, column in [("text", "CAST(d AS text)"), ("varint", "CAST(d AS varint)"), ("bigint", "CAST(d AS bigint)"),
                          ("double", "CAST(d AS double)"), ("JSON", "JSON d"), ("a sum", "d + 1"), ("a product", "d * d"),
                          ("a quotient", "1 / d"), ("a rest", "d % 7"), ("round", "round(d)"), ("exp", "exp(d)"), ("log", "log(d)"),
                          ("avg", "avg(d)"), ("text of a sum", "CAST(d + 1 AS text)")]:
        for k in (100, 101):
            check_answered(world, f"decimal 1E{'+' if k == 100 else '-'}2147483647 as {label}", f"SELECT {column} FROM hostile.w WHERE k = {k}")
    for text in ("1E2147483647", "1E-2147483647", "1e999999999999", "-1E2147483646"):
        check_answered(world, f"literal {text}", f"INSERT INTO hostile.w (k, d) VALUES (102, {text})")
        check_answered(world, f"literal {text} as varint", f"INSERT INTO hostile.w (k, i) VALUES (102, {text})")
        check_answered(world, f"JSON number {text}", f"INSERT INTO hostile.w JSON '{{\"k\": 103, \"d\": {text}, \"i\": {text}}}'")
    check_memory(world, before)


def values_that_lie_about_their_contents_are_refused(world):
    before = world.node.reset_peak()
    counts = [0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 0x10000000, 5]
    for column in "lsmtn":
        found = []
        for count in counts:
            for rest in (b"", b"\0\0\0\1", b"\x7f\xff\xff\xff" * 3, b"\0\0\0\0" * 3):
                with world.connect() as client:
                    found.append(word(client, f"INSERT INTO hostile.w (k, {column}) VALUES (1, ?)", [struct.pack(">I", count) + rest]))
        world.report.check(f"values of column {column} with counts of up to 4 G", not set(found) & {"Silent", "Closed", "Nonsense", 0}, found)
    for column, value in [("i", b""), ("i", b"\xff" * 200_000), ("u", b"123"), ("a", b"12345"), ("e", b"\xff" * 9), ("e", b"\xff" * 40), ("d", b"\0")]:
        with world.connect() as client:
            found = word(client, f"INSERT INTO hostile.w (k, {column}) VALUES (1, ?)", [value])
            read = word(client, "SELECT JSON * FROM hostile.w WHERE k = 1")
        world.report.check(f"{len(value)} bytes for column {column}", not {found, read} & {"Silent", "Closed", "Nonsense", 0}, (found, read))
    check_memory(world, before)


def check_answered(world, label, text):
    with world.connect(timeout_secs=LIMIT_SECS) as client:
        found = word(client, text)
    is_good = found == "result" or isinstance(found, int) and found != 0
    world.report.check(f"{label}: answered", is_good and world.node.is_alive(), f"{found}; sent {text[:100]}")


def check_memory(world, before):
    node = world.node
    world.report.check("memory of statements", node.peak_bytes < before + SLACK_BYTES, grown(before, node.peak_bytes))


def word(client, text, values=()):
    """'result', an ERROR's code, or how it failed."""
    try:
        answer = client.ask(QUERY, bodies.query(client.version, text, values))
    except (Closed, Silent, Nonsense) as error:
        return type(error).__name__
    if answer.code == 0 and answer.text.startswith("java.lang.ArithmeticException"):
        return "result"  # Cassandra's own answer, with its own code, when a number overflows.
    return answer.code if answer.opcode == ERROR else "result" if answer.opcode == RESULT else answer.opcode
