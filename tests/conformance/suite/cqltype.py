"""CQL types as the protocol describes them, and the canonical text of their values.

Role: `read_type` decodes a type option of result metadata into a `CqlType`; `CqlType.text` turns raw bytes into text
that a reviewer can read. The text is for people: where it says less than the bytes, `answer` prints the hex beside it.

Invariant: `text` never raises on bytes that do not fit the type, it answers `malformed`; a server under test may send them.
Source: native_protocol_v5.spec, sections 4.2.5.2 and 6.
"""

import datetime
import ipaddress
import math
import struct
import uuid

from .wire import Reader, Truncated

NATIVE = {
    0x01: "ascii", 0x02: "bigint", 0x03: "blob", 0x04: "boolean", 0x05: "counter", 0x06: "decimal", 0x07: "double",
    0x08: "float", 0x09: "int", 0x0B: "timestamp", 0x0C: "uuid", 0x0D: "varchar", 0x0E: "varint", 0x0F: "timeuuid",
    0x10: "inet", 0x11: "date", 0x12: "time", 0x13: "smallint", 0x14: "tinyint", 0x15: "duration",
}
_MARSHAL = {
    "AsciiType": "ascii", "LongType": "bigint", "BytesType": "blob", "BooleanType": "boolean",
    "CounterColumnType": "counter", "DecimalType": "decimal", "DoubleType": "double", "FloatType": "float",
    "Int32Type": "int", "TimestampType": "timestamp", "UUIDType": "uuid", "UTF8Type": "varchar",
    "IntegerType": "varint", "TimeUUIDType": "timeuuid", "InetAddressType": "inet", "SimpleDateType": "date",
    "TimeType": "time", "ShortType": "smallint", "ByteType": "tinyint", "DurationType": "duration",
}
_FIXED_BYTES = {
    "bigint": 8, "counter": 8, "boolean": 1, "double": 8, "float": 4, "int": 4, "timestamp": 8, "uuid": 16,
    "timeuuid": 16, "date": 4, "time": 8, "smallint": 2, "tinyint": 1,
}
_EPOCH = datetime.datetime(1970, 1, 1)


class CqlType:
    """A name, the types inside it, and for user types the field names; for vectors the dimension."""

    def __init__(self, name, inner=(), fields=(), dimension=0, label=None):
        self.name = name
        self.inner = list(inner)
        self.fields = list(fields)
        self.dimension = dimension
        self.label = label or name

    def __str__(self):
        if self.name == "vector":
            return f"vector<{self.inner[0]}, {self.dimension}>"
        if self.name == "udt":
            fields = ", ".join(f"{name} {kind}" for name, kind in zip(self.fields, self.inner))
            return f"udt<{self.label}: {fields}>"
        if self.inner:
            return f"{self.name}<{', '.join(map(str, self.inner))}>"
        return self.label

    def text(self, raw):
        if raw is None:
            return "null"
        try:
            return self._text(raw)
        except (Truncated, struct.error, ValueError, OverflowError, UnicodeDecodeError):
            return "malformed"

    def _text(self, raw):
        if self.name in ("list", "set", "map"):
            return self._collection_text(raw)
        if self.name in ("tuple", "udt"):
            return self._tuple_text(raw)
        if self.name == "vector":
            return self._vector_text(raw)
        if self.name in ("varchar", "ascii"):
            return quote(raw.decode("utf-8"))
        if self.name == "blob":
            return "0x" + raw.hex()
        if not raw:
            return "empty"
        width = _FIXED_BYTES.get(self.name)
        if width is not None and len(raw) != width:
            return "malformed"
        return _SCALARS[self.name](raw) if self.name in _SCALARS else "0x" + raw.hex()

    def _collection_text(self, raw):
        if not raw:
            return "empty"
        reader = Reader(raw)
        count = reader.int()
        if self.name == "map":
            key, value = self.inner
            pairs = [f"{key.text(reader.bytes())}: {value.text(reader.bytes())}" for _ in range(count)]
            return "{" + ", ".join(pairs) + "}"
        items = ", ".join(self.inner[0].text(reader.bytes()) for _ in range(count))
        return f"[{items}]" if self.name == "list" else "{" + items + "}"

    def _tuple_text(self, raw):
        reader = Reader(raw)
        values = []
        for kind in self.inner:
            if reader.at == len(raw):
                values.append("absent")
            else:
                values.append(kind.text(reader.bytes()))
        if self.name == "udt":
            values = [f"{name}: {value}" for name, value in zip(self.fields, values)]
        opened, closed = ("{", "}") if self.name == "udt" else ("(", ")")
        return opened + ", ".join(values) + closed

    def vector_element_bytes(self):
        """How wide an element is inside a vector; None where each carries its own length (as smallint does)."""
        if self.name == "vector":
            width = self.inner[0].vector_element_bytes()
            return width * self.dimension if width else None
        return _VECTOR_FIXED_BYTES.get(self.name)

    def _vector_text(self, raw):
        if not raw:
            return "empty"
        kind = self.inner[0]
        width = kind.vector_element_bytes()
        reader = Reader(raw)
        items = []
        for _ in range(self.dimension):
            items.append(kind.text(reader.take(width if width else read_unsigned_vint(reader))))
        return "[" + ", ".join(items) + "]"


_VECTOR_FIXED_BYTES = {
    "bigint": 8, "boolean": 1, "double": 8, "float": 4, "int": 4, "timestamp": 8, "uuid": 16, "timeuuid": 16,
}


def quote(text):
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return "'" + "".join(c if c >= " " and c != "\x7f" else f"\\x{ord(c):02x}" for c in escaped) + "'"


def read_unsigned_vint(reader):
    first = reader.byte()
    extra = 0
    while extra < 8 and first & (0x80 >> extra):
        extra += 1
    value = first & (0xFF >> extra)
    for byte in reader.take(extra):
        value = value << 8 | byte
    return value


def _signed_vint(reader):
    value = read_unsigned_vint(reader)
    return (value >> 1) ^ -(value & 1)


def _float_text(value):
    if math.isnan(value):
        return "NaN"
    return repr(value)


def _float32_text(raw):
    value = struct.unpack(">f", raw)[0]
    if math.isinf(value) or math.isnan(value):
        return _float_text(value)
    for digits in range(1, 10):  # the shortest text that reads back to the same four bytes
        text = f"{value:.{digits}g}"
        if struct.pack(">f", float(text)) == raw:
            return repr(float(text))
    return repr(value)


def _decimal_text(raw):
    scale = struct.unpack(">i", raw[:4])[0]
    return f"{int.from_bytes(raw[4:], 'big', signed=True)}E{-scale}"


def _timestamp_text(raw):
    millis = int.from_bytes(raw, "big", signed=True)
    try:
        return (_EPOCH + datetime.timedelta(milliseconds=millis)).isoformat(timespec="milliseconds") + "Z"
    except OverflowError:
        return f"{millis}ms"


def _date_text(raw):
    days = int.from_bytes(raw, "big") - (1 << 31)
    try:
        return (_EPOCH + datetime.timedelta(days=days)).date().isoformat()
    except OverflowError:
        return f"{days}d"


def _time_text(raw):
    nanos = int.from_bytes(raw, "big", signed=True)
    seconds, nanos = divmod(nanos, 1_000_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{nanos:09}"


def _duration_text(raw):
    reader = Reader(raw)
    months, days, nanos = _signed_vint(reader), _signed_vint(reader), _signed_vint(reader)
    return f"{months}mo{days}d{nanos}ns"


def _integer_text(raw):
    return str(int.from_bytes(raw, "big", signed=True))


_SCALARS = {
    "bigint": _integer_text, "counter": _integer_text, "int": _integer_text, "smallint": _integer_text,
    "tinyint": _integer_text, "varint": _integer_text,
    "boolean": lambda raw: "true" if raw[0] else "false",
    "double": lambda raw: _float_text(struct.unpack(">d", raw)[0]),
    "float": _float32_text,
    "decimal": _decimal_text,
    "timestamp": _timestamp_text, "date": _date_text, "time": _time_text, "duration": _duration_text,
    "uuid": lambda raw: str(uuid.UUID(bytes=bytes(raw))),
    "timeuuid": lambda raw: str(uuid.UUID(bytes=bytes(raw))),
    "inet": lambda raw: str(ipaddress.ip_address(bytes(raw))),
}


def read_type(reader):
    """Decodes one type option of result or bind metadata."""
    option = reader.short()
    if option == 0x00:
        return _parse_marshal(reader.string())
    if option in (0x20, 0x22):
        return CqlType("list" if option == 0x20 else "set", [read_type(reader)])
    if option == 0x21:
        return CqlType("map", [read_type(reader), read_type(reader)])
    if option == 0x30:
        keyspace, name = reader.string(), reader.string()
        fields = [(reader.string(), read_type(reader)) for _ in range(reader.short())]
        return CqlType("udt", [kind for _, kind in fields], [name for name, _ in fields], label=f"{keyspace}.{name}")
    if option == 0x31:
        return CqlType("tuple", [read_type(reader) for _ in range(reader.short())])
    return CqlType(NATIVE.get(option, f"option-{option:#06x}"))


def _parse_marshal(text):
    """A custom type's Java class name. Vectors arrive like this in every protocol version."""
    kind, end = _parse_marshal_at(text, 0)
    if kind is None or text[end:].strip():
        return CqlType("custom", label=f"'{text}'")
    return kind


def _parse_marshal_at(text, at):
    end = at
    while end < len(text) and text[end] not in "(), ":
        end += 1
    name = text[at:end].rsplit(".", 1)[-1]
    arguments = []
    if end < len(text) and text[end] == "(":
        end += 1
        while end < len(text) and text[end] != ")":
            if text[end] in ", ":
                end += 1
                continue
            argument, end = _parse_marshal_at(text, end)
            arguments.append(argument)
        end += 1
    if name.isdigit():
        return int(name), end
    if name == "VectorType" and len(arguments) == 2 and isinstance(arguments[1], int):
        return CqlType("vector", [arguments[0]], dimension=arguments[1]), end
    if name == "FrozenType" and len(arguments) == 1:
        return arguments[0], end
    if name in ("ListType", "SetType", "MapType", "TupleType"):
        return CqlType(name[:-4].lower(), arguments), end
    return CqlType(_MARSHAL[name]) if name in _MARSHAL else CqlType("custom", label=f"'{text[at:end]}'"), end
