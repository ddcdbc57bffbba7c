"""One connection of the native protocol, versions 3, 4 and 5, without compression and without a driver.

Role: sends one request, waits for its one response and returns it undecoded above the envelope: opcode, body, and what
the envelope's flags put in front (tracing id, warnings, custom payload). `answer` decodes the bodies.

Invariant: at most one request is under way, always on stream 1; a response on another stream is an error of the server.
Source: native_protocol_v5.spec, sections 2 and 4.
"""

import socket
import struct
from collections import namedtuple

from .wire import Reader, Writer, check_segment_payload, decode_segment_length, encode_segments

ERROR, STARTUP, READY, OPTIONS, SUPPORTED, QUERY = 0x00, 0x01, 0x02, 0x05, 0x06, 0x07
RESULT, PREPARE, EXECUTE, REGISTER, BATCH = 0x08, 0x09, 0x0A, 0x0B, 0x0D

CONSISTENCY = {
    name: code for code, name in enumerate(
        "ANY ONE TWO THREE QUORUM ALL LOCAL_QUORUM EACH_QUORUM SERIAL LOCAL_SERIAL LOCAL_ONE NODE_LOCAL".split())
}
BATCH_KIND = {"logged": 0, "unlogged": 1, "counter": 2}

Response = namedtuple("Response", "opcode body tracing warnings payload")

# What may be said about one request; every field has the protocol's "not sent" as its default.
Options = namedtuple(
    "Options", "consistency serial page_size paging_state timestamp keyspace now_in_seconds skip_metadata tracing payload",
    defaults=("ONE", None, None, None, None, None, None, False, False, None))


class ConnectionLost(Exception):
    """The server closed the connection or stayed silent."""


class Connection:
    def __init__(self, host, port, version, timeout_secs=30):
        self.version = version
        self._segmented = False
        self._inbox = b""  # bytes of envelopes not yet taken, with segments already removed
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout_secs)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise ConnectionLost(f"{host}:{port}: {error}") from error
        writer = Writer()
        writer.string_map({"CQL_VERSION": "3.0.0"})
        response = self.request(STARTUP, writer.out)
        if response.opcode != READY:
            raise ConnectionLost(f"STARTUP was answered with opcode {response.opcode:#x}: {bytes(response.body)!r}")
        self._segmented = version >= 5

    def close(self):
        self._socket.close()

    def request(self, opcode, body, tracing=False, payload=None):
        flags = (0x02 if tracing else 0) | (0x04 if payload else 0)
        if payload:
            front = Writer()
            front.short(len(payload))
            for key, value in payload.items():
                front.string(key)
                front.bytes(value)
            body = front.out + body
        envelope = struct.pack(">BBhBi", self.version, flags, 1, opcode, len(body)) + body
        try:
            self._socket.sendall(encode_segments(envelope) if self._segmented else envelope)
            return self._receive()
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def query(self, text, values=(), options=Options()):
        writer = Writer()
        writer.long_string(text)
        self._write_parameters(writer, values, options)
        return self.request(QUERY, writer.out, options.tracing, options.payload)

    def prepare(self, text, options=Options()):
        writer = Writer()
        writer.long_string(text)
        if self.version >= 5:
            writer.int(0x01 if options.keyspace else 0)
            if options.keyspace:
                writer.string(options.keyspace)
        return self.request(PREPARE, writer.out, options.tracing, options.payload)

    def execute(self, prepared_id, result_id, values=(), options=Options()):
        writer = Writer()
        writer.short_bytes(prepared_id)
        if self.version >= 5:
            writer.short_bytes(result_id)
        self._write_parameters(writer, values, options)
        return self.request(EXECUTE, writer.out, options.tracing, options.payload)

    def batch(self, kind, children, options=Options()):
        """`children` are (text or prepared id as bytes, values)."""
        writer = Writer()
        writer.byte(BATCH_KIND[kind])
        writer.short(len(children))
        for statement, values in children:
            writer.byte(0 if isinstance(statement, str) else 1)
            if isinstance(statement, str):
                writer.long_string(statement)
            else:
                writer.short_bytes(statement)
            writer.short(len(values))
            for _, raw in values:
                writer.bytes(raw)
        writer.short(CONSISTENCY[options.consistency])
        self._write_flags(writer, self._common_flags(options))
        self._write_tail(writer, options)
        return self.request(BATCH, writer.out, options.tracing, options.payload)

    def _write_flags(self, writer, flags):
        if self.version >= 5:
            writer.int(flags)
        else:
            writer.byte(flags & 0xFF)

    def _common_flags(self, options):
        flags = 0x10 if options.serial is not None else 0
        flags |= 0x20 if options.timestamp is not None else 0
        if self.version >= 5:
            flags |= 0x80 if options.keyspace is not None else 0
            flags |= 0x100 if options.now_in_seconds is not None else 0
        return flags

    def _write_parameters(self, writer, values, options):
        named = any(name is not None for name, _ in values)
        flags = self._common_flags(options) | (0x01 if values else 0) | (0x40 if named else 0)
        flags |= (0x02 if options.skip_metadata else 0) | (0x04 if options.page_size is not None else 0)
        flags |= 0x08 if options.paging_state is not None else 0
        writer.short(CONSISTENCY[options.consistency])
        self._write_flags(writer, flags)
        if values:
            writer.short(len(values))
            for name, raw in values:
                if named:
                    writer.string(name or "")
                writer.bytes(raw)
        if options.page_size is not None:
            writer.int(options.page_size)
        if options.paging_state is not None:
            writer.bytes(options.paging_state)
        self._write_tail(writer, options)

    def _write_tail(self, writer, options):
        if options.serial is not None:
            writer.short(CONSISTENCY[options.serial])
        if options.timestamp is not None:
            writer.long(options.timestamp)
        if options.keyspace is not None and self.version >= 5:
            writer.string(options.keyspace)
        if options.now_in_seconds is not None and self.version >= 5:
            writer.int(options.now_in_seconds)

    def _receive(self):
        version, flags, stream, opcode, length = struct.unpack(">BBhBi", self._take(9))
        if version & 0x7F != self.version or stream not in (0, 1):
            raise ConnectionLost(f"an envelope of version {version:#x} came on stream {stream}")
        reader = Reader(self._take(length))
        tracing = reader.take(16) if flags & 0x02 else None
        warnings = reader.string_list() if flags & 0x08 else []
        payload = reader.bytes_map() if flags & 0x04 else {}
        return Response(opcode, reader.rest(), tracing, warnings, payload)

    def _take(self, count):
        while len(self._inbox) < count:
            if self._segmented:
                payload = self._receive_exactly(decode_segment_length(self._receive_exactly(6)))
                check_segment_payload(payload, self._receive_exactly(4))
                self._inbox += payload
            else:
                self._inbox += self._receive_exactly(count - len(self._inbox))
        taken, self._inbox = self._inbox[:count], self._inbox[count:]
        return taken

    def _receive_exactly(self, count):
        pieces = []
        while count:
            piece = self._socket.recv(count)
            if not piece:
                raise ConnectionLost("the server closed the connection")
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)
