"""Envelopes: whole messages with every opcode, flag and version and with random or damaged bodies, each answered once.

Each case is followed by OPTIONS on the same connection, so that an answer that never comes and a connection that lost
its place in the stream are both seen.
"""

import struct

from .. import bodies
from ..client import (AUTH_RESPONSE, BATCH, BETA, COMPRESSED, ERROR, EXECUTE, OPTIONS, PREPARE, QUERY, REGISTER, STARTUP,
                      SUPPORTED, Client, Closed, Nonsense, Silent, envelope)
from ..world import MIB, grown

FRAMINGS = [(3, None), (4, None), (5, None), (3, "lz4"), (4, "snappy"), (4, "lz4"), (5, "lz4"), (6, None)]
CASE_STREAM, CHECK_STREAM = 77, 78
RSS_SLACK_BYTES = 96 * MIB
INTERESTING = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xEE0AD2C5]


def every_envelope_is_answered_once_after_startup(world):
    check_envelopes(world, lambda version, compression: world.connect(version, compression), world.seconds)


def check_envelopes(world, connect, seconds):
    report, node = world.report, world.node
    clients = {}
    sent = closed = 0
    codes = {}
    warm_bytes = None
    for case in world.cases(seconds):
        rng = world.random(case)
        framing = FRAMINGS[rng.randrange(len(FRAMINGS))]
        opcode, flags, body, version = random_message(rng, framing)
        client = None
        try:
            client = clients.pop(framing, None) or connect(*framing)
            raw = client.framed(envelope(version, opcode, body, CASE_STREAM, flags))
            code, is_open = exchange(client, raw, version)
        except (Silent, Nonsense) as error:
            report.check("an answer to every envelope", False, f"{type(error).__name__}: {error}; version {framing}, sent "
                         f"{raw[:2000].hex()}; {world.replay(case)}")
            if not node.is_alive():
                return
            continue
        except Closed as error:
            if client is None:
                report.check("a new connection is served", False, f"{error}; {world.replay(case)}")
                return
            code, is_open = "closed", False
        codes[code] = codes.get(code, 0) + 1
        sent += 1
        if is_open:
            clients[framing] = client
        else:
            closed += 1
            client.close()
        if sent == 500:
            warm_bytes = node.rss_bytes()
    for client in clients.values():
        client.close()
    summary = ", ".join(f"{code if isinstance(code, str) else f'0x{code:04x}'} {count}" for code, count in
                        sorted(codes.items(), key=lambda item: -item[1]))
    report.note(f"{sent} envelopes, {closed} connections closed by them; answers: {summary}")
    report.check("envelopes with random opcode, flags, version and body", 0 < sent and node.is_alive(), "none was sent")
    report.check("no answer says that the server failed", 0 not in codes, f"{codes.get(0)} answers with code 0x0000")
    if warm_bytes:
        after = node.rss_bytes()
        report.check("memory stays flat", after < warm_bytes + RSS_SLACK_BYTES, grown(warm_bytes, after))


def exchange(client, raw, version):
    """Sends a case and OPTIONS; answers (code of the ERROR or a word, whether the connection goes on)."""
    client.send(raw + client.framed(envelope(client.version, OPTIONS, b"", CHECK_STREAM)))
    answered, checked, code = 0, False, None
    while not (answered and checked):
        try:
            answer = client.receive(timeout_secs=10)
        except Closed:
            return (code if code is not None else "closed"), False
        if answer.stream == CHECK_STREAM:
            if answer.opcode != SUPPORTED:
                raise Nonsense(f"OPTIONS was answered with opcode {answer.opcode} {answer.text}")
            checked = True
        elif answer.stream == CASE_STREAM or answer.opcode == ERROR and answer.stream == 0:
            answered += 1
            code = answer.code if answer.opcode == ERROR else f"opcode {answer.opcode}"
            if answer.stream == 0:
                return code, False  # It belongs to no request; the connection may end or go on, and is not used again.
        else:
            raise Nonsense(f"an answer on stream {answer.stream}")
    if 1 < answered:
        raise Nonsense(f"{answered} answers to one request")
    return code, True


def random_message(rng, framing):
    """(opcode, flags, body, version): some nonsense through and through, some nearly right."""
    version = framing[0]
    if rng.random() < 0.3:
        opcode = rng.choice([STARTUP, OPTIONS, QUERY, PREPARE, EXECUTE, REGISTER, BATCH, AUTH_RESPONSE, rng.randrange(256)])
        body = rng.randbytes(rng.choice([0, 1, 2, 3, 4, 7, 9, 16, 50, 300, 5000]))
    else:
        opcode, body = nearly_right(rng, version)
    flags = rng.choice([0, 0, 0, 0, 0x02, 0x04, 0x08, COMPRESSED, 0xFF, rng.randrange(256)])
    if framing[1] and version < 5 and rng.random() < 0.7:
        from .. import compression
        body, flags = compression.body(framing[1], body), flags | COMPRESSED
        if rng.random() < 0.3:
            body = damaged(rng, body)
    if rng.random() < 0.02:
        version = rng.choice([3, 4, 5])
    return opcode, flags & (0xFF if version == 6 else ~BETA), body, version


def nearly_right(rng, version):
    """(opcode, body) of a sensible request with a few bytes damaged."""
    value = rng.randbytes(rng.randrange(6))
    opcode, body = rng.choice([
        (STARTUP, struct.pack(">H", 1) + b"\0\x0bCQL_VERSION\0\x053.0.0"),
        (QUERY, bodies.query(version, "SELECT * FROM hostile.p WHERE k = ?", [value], rng.choice([None, 3]))),
        (QUERY, bodies.query(version, "INSERT INTO hostile.w (k, l, m, t, d, n) VALUES (?, ?, ?, ?, ?, ?)",
                             [b"\0\0\0\1"] + [random_value(rng) for _ in range(5)])),
        (QUERY, bodies.query(version, "SELECT * FROM hostile.p", page_size=3, paging_state=rng.randbytes(rng.randrange(60)))),
        (QUERY, bodies.query(version, random_text(rng))),
        (PREPARE, bodies.prepare(version, random_text(rng))),
        (EXECUTE, bodies.execute(version, Unknown(rng), [value])),
        (BATCH, bodies.batch(version, [("INSERT INTO hostile.t (k, v) VALUES (?, 'x')", [value]), (rng.randbytes(16), [])],
                             rng.randrange(4))),
        (REGISTER, bodies.register(["SCHEMA_CHANGE", "FOO"][:rng.randrange(3)])),
        (AUTH_RESPONSE, struct.pack(">i", 4) + b"\0a\0b"),
    ])
    return opcode, damaged(rng, body) if rng.random() < 0.8 else body


class Unknown:
    def __init__(self, rng):
        self.id, self.result_id = rng.randbytes(16), rng.randbytes(rng.choice([0, 16]))


def random_value(rng):
    """Something like a serialised collection, tuple or number, with lengths that may lie."""
    count = struct.pack(">I", rng.choice(INTERESTING + [1, 2, 3]))
    return rng.choice([None, b"", count, count + struct.pack(">I", rng.choice(INTERESTING + [4])) + rng.randbytes(rng.randrange(20)),
                       rng.randbytes(rng.randrange(30)), struct.pack(">i", 0x7FFFFFFF) + b"\1"])


def random_text(rng):
    words = ("SELECT * FROM hostile.p WHERE k IN ( ) AND c > ? ORDER BY LIMIT ALLOW FILTERING INSERT INTO JSON '{' VALUES token(k) "
             "[ 1 , 2 ] { : } 0x 0xzz $$ 'a -- /* \" 1e999999999 NaN -Infinity now() uuid() CAST(k AS text) USING TTL \0 \u20ac "
             "UPDATE hostile.w SET l = l + ? BEGIN BATCH APPLY IF EXISTS system.local system_schema.tables GROUP BY count(*)").split(" ")
    if rng.random() < 0.4:
        return rng.randbytes(rng.randrange(40)).decode("latin-1")
    return " ".join(rng.choice(words) for _ in range(rng.randrange(1, 14)))


def damaged(rng, raw):
    """The same with a few bytes flipped, cut out, repeated, or overwritten by a number that lies."""
    raw = bytearray(raw)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(raw) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(raw):
            raw[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del raw[at:]
        elif kind == 2:
            raw[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 3:
            del raw[at:at + rng.randrange(1, 9)]
        elif kind == 4:
            raw[at:at] = raw[max(0, at - 20):at]
        else:
            number = rng.choice(INTERESTING)
            raw[at:at + 4] = struct.pack(">I", number) if rng.random() < 0.6 else struct.pack(">H", number & 0xFFFF)
    return bytes(raw)
