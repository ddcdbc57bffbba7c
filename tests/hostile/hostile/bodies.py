"""Bodies of requests, well-formed, and the little of results that the scenarios look at."""

import struct

from suite.wire import Reader, Writer

ONE = 1


def query(version, text, values=(), page_size=None, paging_state=None, skip_metadata=False):
    writer = Writer()
    writer.long_string(text)
    return bytes(writer.out) + parameters(version, values, page_size, paging_state, skip_metadata)


def parameters(version, values=(), page_size=None, paging_state=None, skip_metadata=False):
    writer = Writer()
    writer.short(ONE)
    flags = (0x01 if values else 0) | (0x02 if skip_metadata else 0) | (0x04 if page_size is not None else 0)
    flags |= 0x08 if paging_state is not None else 0
    (writer.int if 5 <= version else writer.byte)(flags)
    if values:
        writer.short(len(values))
        for value in values:
            writer.bytes(value)
    if page_size is not None:
        writer.int(page_size)
    if paging_state is not None:
        writer.bytes(paging_state)
    return bytes(writer.out)


def prepare(version, text, keyspace=None):
    writer = Writer()
    writer.long_string(text)
    if 5 <= version:
        writer.int(0 if keyspace is None else 1)
        if keyspace is not None:
            writer.string(keyspace)
    return bytes(writer.out)


def execute(version, prepared, values=(), **rest):
    """`prepared` is a `Prepared`."""
    writer = Writer()
    writer.short_bytes(prepared.id)
    if 5 <= version:
        writer.short_bytes(prepared.result_id)
    return bytes(writer.out) + parameters(version, values, **rest)


def batch(version, children, kind=0):
    """`children` are (text or prepared id as bytes, values)."""
    writer = Writer()
    writer.byte(kind)
    writer.short(len(children))
    for statement, values in children:
        writer.byte(0 if isinstance(statement, str) else 1)
        (writer.long_string if isinstance(statement, str) else writer.short_bytes)(statement)
        writer.short(len(values))
        for value in values:
            writer.bytes(value)
    writer.short(ONE)
    (writer.int if 5 <= version else writer.byte)(0)
    return bytes(writer.out)


def register(types=("SCHEMA_CHANGE",)):
    writer = Writer()
    writer.short(len(types))
    for name in types:
        writer.string(name)
    return bytes(writer.out)


class Prepared:
    """A RESULT of kind Prepared."""

    def __init__(self, version, body):
        reader = Reader(body)
        if reader.int() != 4:
            raise ValueError("not a prepared statement")
        self.id = reader.short_bytes()
        self.result_id = reader.short_bytes() if 5 <= version else b""


class Rows:
    """A RESULT of kind Rows, whose columns have types without parameters; of another kind, no rows."""

    def __init__(self, body):
        self.rows, self.paging_state, self.new_metadata_id, self.column_count = [], None, None, 0
        self.names = []
        reader = Reader(body)
        if reader.int() != 2:
            return
        flags = reader.int()
        self.column_count = reader.int()
        if flags & 0x02:
            self.paging_state = reader.bytes()
        if flags & 0x08:
            self.new_metadata_id = reader.short_bytes()
        if not flags & 0x04:
            if flags & 0x01:
                reader.string(), reader.string()
            for _ in range(self.column_count):
                if not flags & 0x01:
                    reader.string(), reader.string()
                self.names.append(reader.string())
                reader.short()
        self.rows = [tuple(reader.bytes() for _ in range(self.column_count)) for _ in range(reader.int())]


def int_value(number):
    return struct.pack(">i", number)
