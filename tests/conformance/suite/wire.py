"""Bytes of the native protocol: a writer and a reader of its primitive types, and the segments of version 5.

Role: the only module that knows how wide a field is. Integers are big-endian, except in segment headers.
Source: native_protocol_v5.spec, sections 2 and 3; the CRC parameters were checked against a running Cassandra 5.0.9.
"""

import struct
import zlib

SEGMENT_PAYLOAD_MAX = 131071  # 17 bits of length
_CRC24_INIT = 0x875060
_CRC24_POLYNOMIAL = 0x1974F0B
_CRC32_SEED = zlib.crc32(b"\xfa\x2d\x55\xca")


class Truncated(ValueError):
    """The body ended before the field did."""


class Writer:
    """Appends protocol fields to `self.out`."""

    def __init__(self):
        self.out = bytearray()

    def byte(self, value):
        self.out += struct.pack(">B", value)

    def short(self, value):
        self.out += struct.pack(">H", value)

    def int(self, value):
        self.out += struct.pack(">i", value)

    def long(self, value):
        self.out += struct.pack(">q", value)

    def string(self, text):
        raw = text.encode()
        self.short(len(raw))
        self.out += raw

    def long_string(self, text):
        raw = text.encode("utf-8", "surrogateescape")
        self.int(len(raw))
        self.out += raw

    def short_bytes(self, raw):
        self.short(len(raw))
        self.out += raw

    def bytes(self, raw):
        """`None` is null, `UNSET` is "not set", anything else is the value itself."""
        if raw is None:
            self.int(-1)
        elif raw is UNSET:
            self.int(-2)
        else:
            self.int(len(raw))
            self.out += raw

    def string_map(self, entries):
        self.short(len(entries))
        for key, value in entries.items():
            self.string(key)
            self.string(value)


UNSET = object()


class Reader:
    """Takes protocol fields off the front of a body."""

    def __init__(self, raw):
        self.raw = raw
        self.at = 0

    def take(self, count):
        end = self.at + count
        if count < 0 or end > len(self.raw):
            raise Truncated(f"{count} bytes wanted at {self.at} of {len(self.raw)}")
        piece = self.raw[self.at:end]
        self.at = end
        return piece

    def rest(self):
        return self.take(len(self.raw) - self.at)

    def byte(self):
        return self.take(1)[0]

    def short(self):
        return struct.unpack(">H", self.take(2))[0]

    def int(self):
        return struct.unpack(">i", self.take(4))[0]

    def string(self):
        return self.take(self.short()).decode("utf-8", "replace")

    def short_bytes(self):
        return self.take(self.short())

    def bytes(self):
        count = self.int()
        return None if count < 0 else self.take(count)

    def string_list(self):
        return [self.string() for _ in range(self.short())]

    def bytes_map(self):
        return {self.string(): self.bytes() for _ in range(self.short())}


def crc24(raw):
    crc = _CRC24_INIT
    for byte in raw:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= _CRC24_POLYNOMIAL
    return crc


def encode_segments(envelope):
    """One self-contained segment, or as many not self-contained ones as a large envelope needs."""
    pieces = [envelope[at:at + SEGMENT_PAYLOAD_MAX] for at in range(0, len(envelope), SEGMENT_PAYLOAD_MAX)]
    out = bytearray()
    for piece in pieces:
        head = (len(piece) | (1 << 17 if len(pieces) == 1 else 0)).to_bytes(3, "little")
        out += head + crc24(head).to_bytes(3, "little") + piece
        out += zlib.crc32(piece, _CRC32_SEED).to_bytes(4, "little")
    return bytes(out)


def decode_segment_length(head):
    """The payload length that a 6-byte segment header announces.

    Raises ValueError when the header's checksum is wrong: nothing after it can be trusted.
    """
    if crc24(head[:3]) != int.from_bytes(head[3:6], "little"):
        raise ValueError("segment header: wrong CRC24")
    return int.from_bytes(head[:3], "little") & 0x1FFFF


def check_segment_payload(payload, trailer):
    if zlib.crc32(payload, _CRC32_SEED) != int.from_bytes(trailer, "little"):
        raise ValueError("segment payload: wrong CRC32")
