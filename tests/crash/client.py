"""A small pipelining CQL client (native protocol v4) on a plain socket: what the crash test needs and nothing else."""

import socket
import struct

OPCODE_ERROR, OPCODE_STARTUP, OPCODE_READY = 0x00, 0x01, 0x02
OPCODE_QUERY, OPCODE_RESULT, OPCODE_PREPARE, OPCODE_EXECUTE = 0x07, 0x08, 0x09, 0x0A
CONSISTENCY_ONE = 1
KIND_ROWS, KIND_PREPARED = 2, 4
NO_PAGING_SIZE = 5000


class CqlError(Exception):
    """The server answered ERROR."""

    def __init__(self, code, message):
        super().__init__(f"0x{code:04x} {message}")
        self.code = code


class Connection:
    """One connection. `query` and `prepare` wait for their answer; `send_execute` and `receive` pipeline."""

    def __init__(self, host, port, timeout=60):
        self.socket = socket.create_connection((host, port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.free_streams = list(range(1, 1000))
        body = struct.pack(">H", 1) + _string("CQL_VERSION") + _string("3.0.0")
        opcode, _, _ = self._exchange(OPCODE_STARTUP, body)
        if opcode != OPCODE_READY:
            raise CqlError(0, f"STARTUP was answered with opcode {opcode}")

    def close(self):
        self.socket.close()

    def query(self, text, paging_state=None):
        """Runs a statement; answers (rows of raw values, next paging state)."""
        flags = 0x04 | (0x08 if paging_state is not None else 0)
        body = _long_string(text) + struct.pack(">HBi", CONSISTENCY_ONE, flags, NO_PAGING_SIZE)
        if paging_state is not None:
            body += struct.pack(">i", len(paging_state)) + paging_state
        _, _, answer = self._exchange(OPCODE_QUERY, body)
        return _rows(answer)

    def all_rows(self, text):
        """Runs a SELECT to its last page."""
        rows, state = self.query(text)
        while state is not None:
            more, state = self.query(text, state)
            rows += more
        return rows

    def prepare(self, text):
        """Prepares; answers the id."""
        _, _, answer = self._exchange(OPCODE_PREPARE, _long_string(text))
        kind, id_bytes = struct.unpack_from(">iH", answer)
        if kind != KIND_PREPARED:
            raise CqlError(0, f"PREPARE was answered with result kind {kind}")
        return answer[6:6 + id_bytes]

    def send_execute(self, statement_id, values):
        """Sends without waiting; answers the stream id under which the answer will come."""
        stream = self.free_streams.pop()
        body = struct.pack(">H", len(statement_id)) + statement_id + struct.pack(">HBH", CONSISTENCY_ONE, 0x01, len(values))
        body += b"".join(struct.pack(">i", len(value)) + value for value in values)
        self._send(stream, OPCODE_EXECUTE, body)
        return stream

    def receive(self):
        """Waits for one answer; answers (stream id, None or the error)."""
        opcode, stream, answer = self._read()
        self.free_streams.append(stream)
        return stream, _error(answer) if opcode == OPCODE_ERROR else None

    def _exchange(self, opcode, body):
        self._send(0, opcode, body)
        opcode, stream, answer = self._read()
        if opcode == OPCODE_ERROR:
            raise _error(answer)
        return opcode, stream, answer

    def _send(self, stream, opcode, body):
        self.socket.sendall(struct.pack(">BBhBi", 4, 0, stream, opcode, len(body)) + body)

    def _read(self):
        header = self._take(9)
        _, flags, stream, opcode, length = struct.unpack(">BBhBi", header)
        body = self._take(length)
        if flags & 0x08:
            count, = struct.unpack_from(">H", body)
            at = 2
            for _ in range(count):
                at += 2 + struct.unpack_from(">H", body, at)[0]
            body = body[at:]
        return opcode, stream, body

    def _take(self, count):
        while len(self.buffer) < count:
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise ConnectionError("the server closed the connection")
            self.buffer += piece
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken


def _string(text):
    return struct.pack(">H", len(text)) + text.encode()


def _long_string(text):
    data = text.encode()
    return struct.pack(">i", len(data)) + data


def _error(body):
    code, length = struct.unpack_from(">iH", body)
    return CqlError(code, body[6:6 + length].decode(errors="replace"))


def _rows(body):
    kind, = struct.unpack_from(">i", body)
    if kind != KIND_ROWS:
        return [], None
    flags, column_count = struct.unpack_from(">ii", body, 4)
    at = 12
    state = None
    if flags & 0x02:
        length, = struct.unpack_from(">i", body, at)
        state = body[at + 4:at + 4 + length]
        at += 4 + length
    if flags & 0x01:
        for _ in range(2):
            at += 2 + struct.unpack_from(">H", body, at)[0]
    for _ in range(column_count):
        for _ in range(1 if flags & 0x01 else 3):
            at += 2 + struct.unpack_from(">H", body, at)[0]
        at += 2  # Types of the tables here have no parameters.
    row_count, = struct.unpack_from(">i", body, at)
    at += 4
    rows = []
    for _ in range(row_count):
        row = []
        for _ in range(column_count):
            length, = struct.unpack_from(">i", body, at)
            at += 4
            row.append(None if length < 0 else body[at:at + length])
            at += max(length, 0)
        rows.append(tuple(row))
    return rows, state
