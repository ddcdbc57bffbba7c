"""Compression as the protocol has it: encoders that only store, decoders that do it all.

Role: enough of the LZ4 block and Snappy formats to speak on a compressed connection, without packages.
Source: lz4_Block_format.md, snappy's format_description.txt.
"""

import struct


def lz4_block(raw):
    """One sequence of literals."""
    count = len(raw)
    if count < 15:
        return bytes([count << 4]) + raw
    head = bytearray([0xF0])
    count -= 15
    while 255 <= count:
        head.append(255)
        count -= 255
    head.append(count)
    return bytes(head) + raw


def lz4_decode(block):
    out = bytearray()
    at = 0
    while at < len(block):
        token = block[at]
        at += 1
        count, at = _lz4_length(block, at, token >> 4)
        out += block[at:at + count]
        at += count
        if at == len(block):
            break
        offset = int.from_bytes(block[at:at + 2], "little")
        count, at = _lz4_length(block, at + 2, token & 15)
        _copy(out, offset, count + 4)
    return bytes(out)


def _lz4_length(block, at, length):
    if length == 15:
        while block[at] == 255:
            length += 255
            at += 1
        length += block[at]
        at += 1
    return length, at


def _copy(out, offset, count):
    for _ in range(count):
        out.append(out[-offset])


def varint(number):
    out = bytearray()
    while 0x80 <= number:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def snappy(raw):
    out = bytearray(varint(len(raw)))
    for at in range(0, len(raw), 60):
        piece = raw[at:at + 60]
        out.append(len(piece) - 1 << 2)
        out += piece
    return bytes(out)


def snappy_decode(raw):
    at = 0
    while 0x80 <= raw[at]:
        at += 1
    at += 1
    out = bytearray()
    while at < len(raw):
        tag = raw[at]
        at += 1
        kind = tag & 3
        if kind == 0:
            count = tag >> 2
            if 60 <= count:
                extra = count - 59
                count = int.from_bytes(raw[at:at + extra], "little")
                at += extra
            out += raw[at:at + count + 1]
            at += count + 1
        elif kind == 1:
            _copy(out, (tag >> 5) << 8 | raw[at], (tag >> 2 & 7) + 4)
            at += 1
        else:
            width = 2 if kind == 2 else 4
            _copy(out, int.from_bytes(raw[at:at + width], "little"), (tag >> 2) + 1)
            at += width
    return bytes(out)


def body(algorithm, raw):
    """A body of version 3 or 4."""
    return struct.pack(">I", len(raw)) + lz4_block(raw) if algorithm == "lz4" else snappy(raw)


def body_decode(algorithm, raw):
    if algorithm == "snappy":
        return snappy_decode(raw)
    return b"" if raw[:4] == bytes(4) else lz4_decode(raw[4:])
