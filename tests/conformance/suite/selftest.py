"""Negative control: plants one difference of each kind into recorded answers and expects `compare` to report it.

Also checks the parts that could hide a difference in silence: masks, keys, literals and types that are decoded wrongly.
Needs no server.
"""

import struct

from .answer import render
from .case import BadCase, Case, Statement
from .connection import ERROR, RESULT, Response
from .golden import Golden, compare
from .literal import parse_value
from .normal import normalise
from .wire import Writer, crc24


def self_test():
    """The problems found, as text; empty when every planted difference was reported."""
    return [problem for check in (_planted_differences, _masks, _format, _normal_forms, _checksums) for problem in check()]


def _statement(text="SELECT k, v FROM t", **directives):
    return Statement(text, 1, {name: [value] for name, value in directives.items()}, {})


def _rows_response(value=b"\x00\x00\x00\x01", name="v", more=False, warnings=()):
    writer = Writer()
    writer.int(2)
    writer.int(0x01 | (0x02 if more else 0))
    writer.int(2)
    if more:
        writer.bytes(b"state")
    for text in ("ks", "t"):
        writer.string(text)
    for column in ("k", name):
        writer.string(column)
        writer.short(0x09)
    writer.int(1)
    writer.bytes(b"\x00\x00\x00\x07")
    writer.bytes(value)
    return Response(RESULT, bytes(writer.out), None, list(warnings), {})


def _error_response(code, message):
    writer = Writer()
    writer.int(code)
    writer.string(message)
    return Response(ERROR, bytes(writer.out), None, [], {})


def _lines(response, statement):
    return render(response, 5, statement).all_lines()


def _planted_differences():
    """Each pair differs in one thing that a client can see."""
    statement = _statement()
    base = _rows_response()
    planted = {
        "a value": _rows_response(value=b"\x00\x00\x00\x02"),
        "a value of another width": _rows_response(value=b"\x01"),
        "null instead of a value": _rows_response(value=None),
        "an empty value": _rows_response(value=b""),
        "a column name": _rows_response(name="w"),
        "a warning": _rows_response(warnings=["careful"]),
        "an error instead of rows": _error_response(0x2200, "no"),
        "a byte too many": base._replace(body=base.body + b"\x00"),
        "a byte too few": base._replace(body=base.body[:-1]),
        "a payload": base._replace(payload={"a": b""}),
    }
    golden = Golden("test", [(statement.key, _lines(base, statement))])
    if compare(golden, [(statement, _lines(base, statement))]):
        yield "the same answer was reported as a difference"
    for name, response in planted.items():
        if not compare(golden, [(statement, _lines(response, statement))]):
            yield f"planted and not reported: {name}"
    edited = _statement("SELECT v, k FROM t")
    if not compare(golden, [(edited, _lines(base, edited))]):
        yield "planted and not reported: an edited statement"
    if not compare(golden, [(statement, _lines(base, statement))] * 2):
        yield "planted and not reported: a second turn of the statement"
    errors = [(0x2200, "no"), (0x2200, "No"), (0x2300, "no"), (0x2000, "line 1:0 no viable alternative at input 'a'"),
              (0x2000, "line 1:1 no viable alternative at input 'a'"), (0x2000, "line 1:0 mismatched input 'a'")]
    if len({tuple(_lines(_error_response(*error), statement)) for error in errors}) != len(errors):
        yield "two different errors look the same"
    same = [_lines(_error_response(0x2000, f"line 1:0 mismatched input 'a' expecting {what}"), statement) for what in "BC"]
    if same[0] != same[1]:
        yield "token lists of syntax errors are compared"


def _masks():
    statement = _statement(any="v")
    one, other = (_lines(_rows_response(value=value), statement) for value in (b"\x00\x00\x00\x01", b"\x00\x00\x00\x02"))
    if one != other:
        yield "`any` does not hide the value"
    if one == _lines(_rows_response(value=None), statement):
        yield "`any` hides that a value is null"
    masked = _statement(mask="id [0-9]+")
    if _lines(_error_response(0x2200, "id 12 gone"), masked) != _lines(_error_response(0x2200, "id 9 gone"), masked):
        yield "`mask` does not hide what it matches"
    if _lines(_error_response(0x2200, "id 12 gone"), masked) == _lines(_error_response(0x2200, "id 12 here"), masked):
        yield "`mask` hides more than it matches"
    prefixed = _statement(mask="(reason: ).*")
    if _lines(_error_response(0x2200, "reason: a"), prefixed) != ["error 0x2200 'reason: <*>"]:
        yield "`mask` does not keep its group"


def _format():
    case = Case.__new__(Case)
    case.path, case.keyspace, case.exclusive = "self-test", "conf_self", False
    for source, complaint in (("-- page: 1\n-- pge: 2\nSELECT 1;", "a misspelt directive"), ("SELECT 1", "no end")):
        case.statements, case.extra_keyspaces = [], []
        try:
            case._parse(source)
            yield f"accepted: {complaint}"
        except BadCase:
            pass
    expected = {"int 5": "00000005", 'text "ab"': "6162", "list<int> [1]": "000000010000000400000001", "varint 128": "0080",
                "varint -1": "ff", 'decimal "1.00"': "0000000264", "duration [1, -1, 0]": "020100", "0x00ff": "00ff",
                "vector<float, 2> [1, 2]": "3f80000040000000", 'map<text, int> {"a": 1}': "000000010000000161" + "0000000400000001"}
    for text, raw in expected.items():
        if parse_value(text).hex() != raw:
            yield f"{text} became {parse_value(text).hex()}"


def _normal_forms():
    same = ("SELECT a FROM t WHERE k = 1 AND c = 'x'", "select A from t where k=-22  and c = 'it''s'")
    if normalise(same[0]) != normalise(same[1]):
        yield "literals count as a difference of statements"
    if normalise('SELECT "A" FROM t') == normalise('SELECT "a" FROM t'):
        yield "quoted names lose their case"
    if normalise("SELECT a1 FROM t") == normalise("SELECT a2 FROM t"):
        yield "names that end in a digit count as literals"


def _checksums():
    if crc24(struct.pack("<I", 0x020004)[:3]) == crc24(struct.pack("<I", 0x020005)[:3]):
        yield "CRC24 does not see a changed length"
