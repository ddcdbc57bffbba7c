"""Client: one raw connection that can send anything, and reads what comes in any framing.

Role: `Client` speaks versions 3 to 6 with or without compression; bytes given to `send` leave as they are. The bodies
are built in `bodies`.

Source: native_protocol_v5.spec, sections 2 and 3.
"""

import socket
import struct
import time
import zlib
from collections import namedtuple

from suite.wire import Writer, crc24

from . import compression as codec

ERROR, STARTUP, READY, AUTHENTICATE, OPTIONS, SUPPORTED, QUERY, RESULT = 0, 1, 2, 3, 5, 6, 7, 8
PREPARE, EXECUTE, REGISTER, EVENT, BATCH, AUTH_CHALLENGE, AUTH_RESPONSE, AUTH_SUCCESS = 9, 10, 11, 12, 13, 14, 15, 16
RESPONSES = {ERROR, READY, AUTHENTICATE, SUPPORTED, RESULT, EVENT, AUTH_CHALLENGE, AUTH_SUCCESS}

COMPRESSED, TRACING, PAYLOAD, WARNING, BETA = 0x01, 0x02, 0x04, 0x08, 0x10

PAYLOAD_MAX = 131071
CRC32_SEED = zlib.crc32(b"\xfa\x2d\x55\xca")

#: `code` and `text` are those of an ERROR, else None and "".
Answer = namedtuple("Answer", "opcode stream flags body code text")


class Closed(Exception):
    """The server ended the connection."""


class Silent(Exception):
    """Nothing came in time: the server hangs, or lost a request."""


class Nonsense(Exception):
    """What came is no response of the protocol."""


class Refused(Exception):
    """The server answered ERROR where the test needs success."""

    def __init__(self, answer):
        super().__init__(f"0x{answer.code:04x} {answer.text}" if answer.code is not None else f"opcode {answer.opcode}")
        self.answer = answer


def envelope(version, opcode, body, stream=1, flags=0, length=None):
    length = len(body) if length is None else length
    flags |= BETA if version == 6 else 0
    return struct.pack(">BBhBI", version, flags, stream, opcode, length & 0xFFFFFFFF) + body


def segment(payload, is_self_contained=True, is_lz4=False):
    """A frame of version 5; with LZ4 agreed on, one whose payload is not compressed."""
    if is_lz4:
        head = (len(payload) | is_self_contained << 34).to_bytes(5, "little")
    else:
        head = (len(payload) | is_self_contained << 17).to_bytes(3, "little")
    crc = zlib.crc32(payload, CRC32_SEED).to_bytes(4, "little")
    return head + crc24(head).to_bytes(3, "little") + payload + crc


def segments(envelopes, is_lz4=False):
    if len(envelopes) <= PAYLOAD_MAX:
        return segment(envelopes, True, is_lz4)
    return b"".join(segment(envelopes[at:at + PAYLOAD_MAX], False, is_lz4) for at in range(0, len(envelopes), PAYLOAD_MAX))


class Client:
    def __init__(self, port, version=4, compression=None, timeout_secs=10, receive_bytes=None, source=None):
        self.version = version
        self.compression = compression
        self.timeout_secs = timeout_secs
        self.has_started = False
        self.inbox = bytearray()  # Envelopes, without their frames.
        self.raw = bytearray()  # Frames that are not whole yet.
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        if source:
            self.socket.bind((source, 0))
        self.socket.settimeout(timeout_secs)
        try:
            self.socket.connect(("127.0.0.1", port))
        except OSError as error:
            raise Closed(f"connect: {error}") from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # Sending.

    def send(self, raw):
        try:
            self.socket.sendall(raw)
        except TimeoutError as error:
            raise Silent("the server does not read") from error
        except OSError as error:
            raise Closed(f"send: {error}") from error

    def framed(self, envelopes):
        """Envelopes as they leave on this connection."""
        if self.has_started and 5 <= self.version:
            return segments(envelopes, self.compression == "lz4")
        return envelopes

    def request(self, opcode, body, stream=1, flags=0):
        """The bytes of a well-formed request."""
        if self.has_started and self.compression and self.version < 5:
            return envelope(self.version, opcode, codec.body(self.compression, body), stream, flags | COMPRESSED)
        return self.framed(envelope(self.version, opcode, body, stream, flags))

    def ask(self, opcode, body, flags=0):
        """One request and its answer."""
        self.send(self.request(opcode, body, flags=flags))
        return self.receive(stream=1)

    # The handshake.

    def startup(self, options=None):
        writer = Writer()
        writer.string_map({"CQL_VERSION": "3.0.0", **({"COMPRESSION": self.compression} if self.compression else {}),
                           **(options or {})})
        self.send(self.request(STARTUP, bytes(writer.out)))
        self.has_started = 5 > self.version  # The answer is compressed already in version 3 and 4, not yet framed in 5.
        answer = self.receive()
        self.has_started = answer.opcode in (READY, AUTHENTICATE)
        return answer

    def login(self, user, password):
        token = b"\0" + user.encode() + b"\0" + password.encode()
        return self.ask(AUTH_RESPONSE, struct.pack(">i", len(token)) + token)

    def established(self):
        answer = self.startup()
        if answer.opcode != READY:
            raise Refused(answer)
        return self

    def query(self, text, **parameters):
        """A RESULT's body; raises what was refused."""
        from .bodies import query
        answer = self.ask(QUERY, query(self.version, text, **parameters))
        if answer.opcode != RESULT:
            raise Refused(answer)
        return answer.body

    # Receiving.

    def receive(self, stream=None, timeout_secs=None):
        """The next answer, on `stream` when one is named; events are passed over."""
        until = time.monotonic() + (self.timeout_secs if timeout_secs is None else timeout_secs)
        while True:
            answer = self._envelope(until)
            if answer.opcode == EVENT and answer.stream == -1:
                continue
            if stream is not None and answer.stream != stream:
                if answer.opcode == ERROR:
                    raise Closed(f"ERROR on stream {answer.stream}: {answer.text}")
                raise Nonsense(f"an answer on stream {answer.stream}, {stream} was asked")
            return answer

    def drain(self, timeout_secs=10):
        """Says that no more will come, reads to the end; answers what came. The raw bytes when frames are not ours."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answers = []
        until = time.monotonic() + timeout_secs
        try:
            while True:
                answers.append(self._envelope(until))
        except Closed:
            return answers

    def _envelope(self, until):
        self._fill(9, until)
        version, flags, stream, opcode, length = struct.unpack_from(">BBhBI", self.inbox)
        if not version & 0x80 or opcode not in RESPONSES or 1 << 28 < length:
            if version in (0x81, 0x82):  # The header of versions 1 and 2 has 8 bytes.
                self.inbox.clear()
                return Answer(ERROR, 0, 0, b"", 0x0A, "in the form of an old version")
            raise Nonsense(f"header {bytes(self.inbox[:9]).hex()}")
        self._fill(9 + length, until)
        body = bytes(self.inbox[9:9 + length])
        del self.inbox[:9 + length]
        if flags & COMPRESSED and self.compression and version & 0x7F < 5:
            body = codec.body_decode(self.compression, body)
        return decoded(opcode, stream, flags, body)

    def _fill(self, count, until):
        while len(self.inbox) < count:
            if not (self.has_started and 5 <= self.version):
                self.inbox += self._some(until)
                continue
            is_lz4 = self.compression == "lz4"
            head_bytes = 8 if is_lz4 else 6
            self._fill_raw(head_bytes, until)
            head = int.from_bytes(self.raw[:head_bytes - 3], "little")
            wire_bytes = head & PAYLOAD_MAX
            if crc24(self.raw[:head_bytes - 3]) != int.from_bytes(self.raw[head_bytes - 3:head_bytes], "little"):
                raise Nonsense("a frame's header with a wrong CRC-24")
            self._fill_raw(head_bytes + wire_bytes + 4, until)
            payload = bytes(self.raw[head_bytes:head_bytes + wire_bytes])
            trailer = int.from_bytes(self.raw[head_bytes + wire_bytes:head_bytes + wire_bytes + 4], "little")
            if zlib.crc32(payload, CRC32_SEED) != trailer:
                raise Nonsense("a frame's payload with a wrong CRC-32")
            del self.raw[:head_bytes + wire_bytes + 4]
            self.inbox += codec.lz4_decode(payload) if is_lz4 and head >> 17 & PAYLOAD_MAX else payload

    def _fill_raw(self, count, until):
        while len(self.raw) < count:
            self.raw += self._some(until)

    def _some(self, until):
        self.socket.settimeout(max(0.001, until - time.monotonic()))
        try:
            piece = self.socket.recv(1 << 18)
        except TimeoutError as error:
            raise Silent("no answer in time") from error
        except OSError as error:
            raise Closed(str(error)) from error
        finally:
            self.socket.settimeout(self.timeout_secs)
        if not piece:
            raise Closed("end of the connection")
        return piece


def decoded(opcode, stream, flags, body):
    """Cuts off what the flags put before the body."""
    at = 16 if flags & TRACING else 0
    try:
        if flags & WARNING:
            count, = struct.unpack_from(">H", body, at)
            at += 2
            for _ in range(count):
                at += 2 + struct.unpack_from(">H", body, at)[0]
        code, text = None, ""
        if opcode == ERROR:
            code, length = struct.unpack_from(">iH", body, at)
            text = body[at + 6:at + 6 + length].decode()
    except (struct.error, UnicodeDecodeError) as error:
        raise Nonsense(f"body {body[:40].hex()}: {error}") from error
    return Answer(opcode, stream, flags, body[at:], code, text)
