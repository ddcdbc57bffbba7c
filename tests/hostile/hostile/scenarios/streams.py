"""Streams: bytes that keep no framing at all. Once the client is done, the server ends the connection as well."""

import struct

from .. import bodies
from ..client import OPTIONS, PREPARE, QUERY, REGISTER, STARTUP, Client, Closed, Nonsense, Silent, envelope, segment, segments
from .envelopes import damaged, random_message

STARTUP_BODY = struct.pack(">H", 1) + b"\0\x0bCQL_VERSION\0\x053.0.0"
STARTUP_LZ4 = struct.pack(">H", 2) + b"\0\x0bCQL_VERSION\0\x053.0.0\0\x0bCOMPRESSION\0\3lz4"

#: What other programs say first: a browser, TLS, SSH, PostgreSQL, a port scanner.
FOREIGN = [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", bytes.fromhex("16030100c8010000c40303") + bytes(200), b"SSH-2.0-OpenSSH_9.9\r\n",
           bytes.fromhex("0000000804d2162f"), b"\n", b"\0", b"\xff" * 100, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]


def damaged_streams_end_in_an_error_or_a_closed_connection(world):
    report = world.report
    count = answers = 0
    for case in world.cases():
        rng = world.random(case)
        raw = FOREIGN[case] if case < len(FOREIGN) else random_stream(rng)
        is_split = rng.random() < 0.2
        try:
            answers += play(world, raw, rng if is_split else None, rng.random() < 0.05)
            count += 1
        except (Silent, Closed) as error:
            report.check("a damaged stream ends", False,
                         f"{type(error).__name__}: {error}; sent {raw[:2000].hex()}; {world.replay(case)}")
            if not world.node.is_alive():
                return
    report.note(f"{count} streams, {answers} bytes of answers")
    report.check("damaged streams end in an error or a closed connection", 0 < count and world.node.is_alive(), "none did")


def play(world, raw, split, is_reset):
    """Sends it, in pieces or at once, and reads to the end; answers how many bytes came back."""
    client = Client(world.node.port)
    with client:
        try:
            if split:
                at = 0
                while at < len(raw):
                    piece = split.choice([1, 2, 8, 9, 100, 5000])
                    client.send(raw[at:at + piece])
                    at += piece
            else:
                client.send(raw)
        except Closed:
            pass  # It had enough before the end; what it said can still be read, or was lost with the reset.
        if is_reset:
            client.reset()
            return 0
        return read_to_end(client)


def read_to_end(client):
    import socket
    import time
    try:
        client.socket.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    until, count = time.monotonic() + 10, 0
    try:
        while True:
            count += len(client._some(until))
    except Closed:
        return count


def random_stream(rng):
    """A conversation in one of the framings, then damaged."""
    version = rng.choice([3, 4, 5, 5, 6, rng.randrange(256)])
    is_lz4 = rng.random() < 0.3
    raw = envelope(version, STARTUP, STARTUP_LZ4 if is_lz4 else STARTUP_BODY)
    if rng.random() < 0.2:
        raw = damaged(rng, raw)
    rest = b""
    for _ in range(rng.randrange(1, 6)):
        if rng.random() < 0.5:
            opcode, flags, body, _ = random_message(rng, (min(max(version, 3), 6), None))
            rest += envelope(version, opcode, body, rng.randrange(1 << 15), flags)
        else:
            opcode, body = rng.choice([(OPTIONS, b""), (QUERY, bodies.query(version, "SELECT * FROM system.local")),
                                       (PREPARE, bodies.prepare(version, "SELECT * FROM hostile.p")), (REGISTER, bodies.register())])
            rest += envelope(version, opcode, body, rng.randrange(1 << 15))
    if version in (5, 6):
        rest = in_frames(rng, rest, is_lz4)
    if rng.random() < 0.8:
        rest = damaged(rng, rest)
    return raw + rest


def in_frames(rng, rest, is_lz4):
    """Frames, also such as nobody should send: empty, cut anywhere, marked wrongly."""
    if rng.random() < 0.5:
        return segments(rest, is_lz4)
    out = b""
    while rest:
        count = rng.choice([0, 1, 5, 9, 40, 1000])
        out += segment(rest[:count], rng.random() < 0.5, is_lz4)
        rest = rest[count:]
        if count == 0 and rng.random() < 0.3:
            break
    return out
