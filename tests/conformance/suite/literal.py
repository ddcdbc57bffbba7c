"""Values to bind, written in case files as `TYPE JSON` and turned into the bytes of the native protocol.

    int 5            text "abc"        list<int> [1, 2]        map<text, int> {"a": 1}      tuple<int, text> [1, null]
    timestamp 0      decimal "1.00"    vector<float, 2> [1, 2] uuid "..."    0x00ff (bytes as they are)    null    unset

A user type is written as a tuple. Milliseconds for timestamp, days since 1970 for date, nanoseconds for time,
`[months, days, nanos]` for duration.
"""

import ipaddress
import json
import re
import struct
import uuid
from decimal import Decimal

from .wire import UNSET, Writer

_INTEGER_BYTES = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "counter": 8, "timestamp": 8, "time": 8}
_VECTOR_FIXED = ("boolean", "double", "float", "int", "bigint", "timestamp", "uuid", "timeuuid")


class BadLiteral(ValueError):
    """A case file holds a value that this module cannot read."""


def parse_values(text):
    """`int 5; name=text "x"` -> [(None, bytes), ("name", bytes)]."""
    values = []
    for piece in split_top(text, ";"):
        piece = piece.strip()
        named = re.match(r'("[^"]*"|\w+)=(.*)$', piece, re.S)
        if named:
            values.append((named.group(1).strip('"'), parse_value(named.group(2).strip())))
        elif piece:
            values.append((None, parse_value(piece)))
    return values


def parse_value(text):
    if text == "null":
        return None
    if text == "unset":
        return UNSET
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    found = re.match(r"(\w+(?:\s*<.*?>(?=\s*[\[{\"\d-]|\s*$))?)\s+(.*)$", text, re.S)
    if not found:
        raise BadLiteral(text)
    try:
        return encode(parse_type(found.group(1)), json.loads(found.group(2)))
    except (json.JSONDecodeError, TypeError, KeyError, struct.error) as error:
        raise BadLiteral(f"{text}: {error}") from error


def split_top(text, separator):
    """Splits outside of brackets and JSON strings."""
    pieces, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(text):
        if char == '"' and (at == 0 or text[at - 1] != "\\"):
            quoted = not quoted
        elif quoted:
            continue
        elif char in "<[{(":
            depth += 1
        elif char in ">]})":
            depth -= 1
        elif char == separator and depth == 0:
            pieces.append(text[start:at])
            start = at + 1
    return pieces + [text[start:]]


def parse_type(text):
    """`map<text, int>` -> ("map", [("text", []), ("int", [])])."""
    text = text.strip()
    if "<" not in text:
        return text, []
    name, inside = text.split("<", 1)
    return name.strip(), [parse_type(piece) for piece in split_top(inside.rstrip()[:-1], ",")]


def encode(kind, value):
    name, inner = kind
    if value is None:
        return None
    if name in _INTEGER_BYTES:
        return int(value).to_bytes(_INTEGER_BYTES[name], "big", signed=True)
    if name in ("text", "varchar", "ascii"):
        return value.encode()
    if name == "boolean":
        return b"\x01" if value else b"\x00"
    if name in ("float", "double"):
        return struct.pack(">f" if name == "float" else ">d", float(value))
    if name in ("uuid", "timeuuid"):
        return uuid.UUID(value).bytes
    if name == "varint":
        return _varint(int(value))
    if name == "decimal":
        return _decimal(Decimal(value))
    if name == "inet":
        return ipaddress.ip_address(value).packed
    if name == "blob":
        return bytes.fromhex(value)
    if name == "date":
        return (int(value) + (1 << 31)).to_bytes(4, "big")
    if name == "duration":
        return b"".join(_signed_vint(part) for part in value)
    if name == "vector":
        return _vector(inner, value)
    writer = Writer()
    if name == "tuple":
        for part, item in zip(inner, value):
            writer.bytes(encode(part, item))
    elif name in ("list", "set"):
        writer.int(len(value))
        for item in value:
            writer.bytes(encode(inner[0], item))
    elif name == "map":
        writer.int(len(value))
        for key, item in value.items():
            writer.bytes(encode(inner[0], key))
            writer.bytes(encode(inner[1], item))
    else:
        raise BadLiteral(name)
    return bytes(writer.out)


def _vector(inner, value):
    out = b""
    for item in value:
        raw = encode(inner[0], item)
        out += raw if inner[0][0] in _VECTOR_FIXED else unsigned_vint(len(raw)) + raw
    return out


def _varint(value):
    return value.to_bytes(max(1, (value + (value < 0)).bit_length() // 8 + 1), "big", signed=True)


def _decimal(value):
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return struct.pack(">i", -exponent) + _varint(unscaled)


def unsigned_vint(value):
    """Cassandra's variable-length integer: the leading ones of the first byte count the bytes that follow."""
    extra = 0
    while extra < 8 and value >> (7 * (extra + 1)):
        extra += 1
    if extra == 8:
        return b"\xff" + value.to_bytes(8, "big")
    raw = bytearray(value.to_bytes(extra + 1, "big"))
    raw[0] |= (0xFF00 >> extra) & 0xFF
    return bytes(raw)


def _signed_vint(value):
    return unsigned_vint((value << 1) if value >= 0 else ((-value) << 1) - 1)
