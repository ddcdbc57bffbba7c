"""Claims: lengths and counts that promise gigabytes. Memory follows what came, never what was claimed."""

import struct
import time
import zlib

from suite.wire import crc24

from .. import bodies
from ..client import (AUTH_RESPONSE, BATCH, COMPRESSED, ERROR, EXECUTE, OPTIONS, PREPARE, QUERY, REGISTER, STARTUP, SUPPORTED, Client,
                      Closed, Nonsense, Silent, envelope, segment)
from ..world import MIB, grown

LENGTHS = [0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 3_993_703_629, 0x10000000]
NEGATIVE = 0x80000000  # From here on, as Java reads it.
SLACK_BYTES = 64 * MIB
HOLDERS = 150


def claimed_body_lengths_allocate_nothing(world):
    report, node = world.report, world.node
    before = node.reset_peak()
    for is_established in (False, True):
        clients = []
        for number in range(HOLDERS):
            version = 3 + number % 3
            client = world.connect(version) if is_established else Client(node.port, version)
            length = LENGTHS[number % len(LENGTHS)]
            raw = envelope(version, QUERY, b"x" * 2000, 5, length=length)
            client.send(segment(raw[:2009], False) if is_established and version == 5 else raw)
            clients.append(client)
        time.sleep(0.3)
        when = "after" if is_established else "before"
        report.check(f"{HOLDERS} connections that claim up to 4 GiB {when} STARTUP", node.peak_bytes < before + SLACK_BYTES,
                     grown(before, node.peak_bytes))
        unsettled = 0
        for client in clients:
            try:
                client.drain()
            except (Silent, Nonsense):
                unsettled += 1
            client.close()
        report.check(f"they are closed once they go away ({when})", unsettled == 0, f"{unsettled} were not")


def strangers_may_send_64_kib(world):
    report = world.report
    for size, expected in [(60_000, "expecting STARTUP"), (70_000, "Request is too big"), (20 * MIB, "Request is too big")]:
        with Client(world.node.port) as client:
            try:
                client.send(envelope(4, QUERY, b"x" * size, 5))
                answer = client.receive()
                is_good, found = expected in answer.text or answer.code == 0x0A and size < 65536, answer.text
            except (Closed, Silent) as error:
                is_good, found = size > 65536 and isinstance(error, Closed), repr(error)
            report.check(f"a message of {size} bytes before STARTUP", is_good, found)


def messages_over_the_limit_are_refused_and_the_connection_goes_on(world):
    report, node = world.report, world.node
    before = node.reset_peak()
    for version in (4, 5):
        with world.connect(version) as client:
            client.send(client.request(QUERY, struct.pack(">i", 17 * MIB) + b"x" * (17 * MIB)))
            answer = client.receive(1, 20)
            report.check(f"17 MiB in version {version}", answer.code in (0x0A, 0x2200) and "exceeds" in answer.text, answer.text)
            report.check(f"the connection goes on in version {version}", client.ask(OPTIONS, b"").opcode == SUPPORTED, "it does not")
    report.check("memory for what was refused", node.peak_bytes < before + SLACK_BYTES, grown(before, node.peak_bytes))


def lengths_inside_bodies_are_checked_before_memory_is_taken(world):
    report, node = world.report, world.node
    before = node.reset_peak()
    many = struct.pack(">H", 0xFFFF)
    for version in (3, 4, 5):
        flags = struct.pack(">I", 1) if version == 5 else b"\1"
        cases = {"QUERY text": (QUERY, b"%s"), "PREPARE text": (PREPARE, b"%s"), "AUTH_RESPONSE token": (AUTH_RESPONSE, b"%s"),
                 "QUERY value": (QUERY, struct.pack(">i", 8) + b"SELECT 1" + struct.pack(">H", 1) + flags + struct.pack(">H", 1) + b"%s"),
                 "BATCH text": (BATCH, b"\0" + many + b"\0%s"), "EXECUTE value": (EXECUTE, struct.pack(">H", 2) + b"id" * (1 + (version == 5))
                                                                                 + struct.pack(">H", 1) + flags + many + b"%s")}
        for label, (opcode, form) in cases.items():
            found = []
            for length in LENGTHS[:4]:
                with world.connect(version) as client:
                    found.append(outcome(client, opcode, form.replace(b"%s", struct.pack(">I", length) + b"abc")))
            # A negative length is no token, which who is in already may send.
            is_good = [isinstance(code, int) and code or (opcode == AUTH_RESPONSE and NEGATIVE <= length and code == "opcode 16")
                       for length, code in zip(LENGTHS, found)]
            report.check(f"version {version}: {label} of up to 4 GiB", all(is_good), found)
        for label, opcode in [("STARTUP options", STARTUP), ("REGISTER events", REGISTER), ("BATCH queries", BATCH)]:
            with world.connect(version) as client:
                code = outcome(client, opcode, (b"\0" if opcode == BATCH else b"") + many + b"\0\1a")
            report.check(f"version {version}: 65535 {label} in 5 bytes", isinstance(code, int) and code, code)
    report.check("memory for what was claimed", node.peak_bytes < before + SLACK_BYTES, grown(before, node.peak_bytes))


def outcome(client, opcode, body):
    """The ERROR's code, else what happened in a word."""
    try:
        answer = client.ask(opcode, body)
        return answer.code if answer.opcode == ERROR else f"opcode {answer.opcode}"
    except (Closed, Silent, Nonsense) as error:
        return type(error).__name__


def compressed_bombs_are_refused(world):
    report, node = world.report, world.node
    before = node.reset_peak()
    for algorithm, version in [("lz4", 3), ("lz4", 4), ("snappy", 4)]:
        for length in LENGTHS[:4] + [17 * MIB]:
            with world.connect(version, algorithm) as client:
                claim = struct.pack(">I", length) if algorithm == "lz4" else varint(length)
                client.send(envelope(version, QUERY, claim + b"\xf0" * 300, 1, COMPRESSED))
                try:
                    answer = client.receive()
                    is_good = answer.opcode == ERROR and client.ask(OPTIONS, b"").opcode == SUPPORTED
                    found = answer.text
                except (Closed, Silent, Nonsense) as error:
                    is_good, found = isinstance(error, Closed), repr(error)
            report.check(f"{algorithm} body in version {version} that claims {length} bytes", is_good, found)
    # 64 KiB of one byte repeated: 255 times as much, as LZ4 allows, which is below the message limit of 16 MiB.
    block = bytes([0x1F]) + b"a" + struct.pack("<H", 1) + b"\xff" * 60_000 + b"\x10" + b"\x50aaaaa"
    with world.connect(4, "lz4") as client:
        client.send(envelope(4, QUERY, struct.pack(">I", 1 + 19 + 255 * 60_000 + 16 + 5 - 15) + block, 1, COMPRESSED))
        report.check("an LZ4 bomb below the limit is answered", client.receive().opcode == ERROR, "not with ERROR")
    for label, head in [("claims 131071 bytes", 30 | 131071 << 17 | 1 << 34), ("is damaged", 30 | 100 << 17 | 1 << 34)]:
        with world.connect(5, "lz4") as client:
            fields = head.to_bytes(5, "little")
            payload = bytes(range(30))
            client.send(fields + crc24(fields).to_bytes(3, "little") + payload
                        + zlib.crc32(payload, zlib.crc32(b"\xfa\x2d\x55\xca")).to_bytes(4, "little"))
            try:
                found = client.receive().opcode
            except Closed:
                found = ERROR
            report.check(f"a compressed frame that {label}", found == ERROR, f"opcode {found}")
    report.check("memory for bombs", node.peak_bytes < before + SLACK_BYTES, grown(before, node.peak_bytes))


def varint(number):
    from ..compression import varint as encode
    return encode(number)


def broken_checksums_end_the_connection_with_cassandras_words(world):
    report = world.report
    for label, at in [("header", 4), ("payload", -2)]:
        with world.connect(5) as client:
            raw = bytearray(client.request(OPTIONS, b""))
            raw[at] ^= 1
            client.send(bytes(raw))
            try:
                answers = client.drain()
                found = answers[0].text if answers else "nothing"
            except (Silent, Nonsense) as error:
                found = repr(error)
        report.check(f"a wrong checksum of a frame's {label}", "CRC mismatch" in found, found)
