//! The two checksums of a version 5 segment.
//!
//! The header's CRC-24 catches every error of up to 5 bits in 3 to 8 bytes, which is what a header has; the payload's
//! CRC-32 is the usual one, started with four bytes so that a payload of zeros does not have a checksum of zero.
//!
//! Source: `native_protocol_v5.spec` section 2.2; P. Koopman's polynomial 0x1974F0B.

const CRC24_INIT: u32 = 0x0087_5060;
const CRC24_POLYNOMIAL: u32 = 0x0197_4F0B;
const CRC24_MASK: u32 = 0x00FF_FFFF;
const CRC32_SEED: [u8; 4] = [0xFA, 0x2D, 0x55, 0xCA];

/// One step of eight bits for every value of the top byte.
const CRC24_TABLE: [u32; 256] = crc24_table();

const fn crc24_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = (byte as u32) << 16;
        let mut bit = 0;
        while bit < 8 {
            crc <<= 1;
            if crc & (CRC24_MASK + 1) != 0 {
                crc ^= CRC24_POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// Of a segment's header, without the checksum itself.
pub(crate) fn crc24(header: &[u8]) -> u32 {
    header.iter().fold(CRC24_INIT, |crc, byte| {
        let [_, top, ..] = crc.to_be_bytes();
        ((crc << 8) & CRC24_MASK) ^ CRC24_TABLE[usize::from(top ^ byte)]
    })
}

/// Of a segment's payload as it stands on the wire.
pub(crate) fn crc32(payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&CRC32_SEED);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::{crc24, crc32};

    #[test]
    fn checksums_agree_with_a_segment_that_cassandra_sent() {
        // `20 00 02` is the header of a segment of 32 bytes, `39 02 e5` what stood behind it.
        assert_eq!(crc24(&[0x20, 0x00, 0x02]).to_le_bytes()[..3], [0x39, 0x02, 0xE5]);
        let payload = b"\x85\x00\x00\x06\x00\x00\x00\x00\x17\x00\x00\x00\x0a\x00\x11Unknown opcode 32";
        assert_eq!(crc32(payload).to_le_bytes(), [0xFA, 0x84, 0x97, 0x9B]);
    }
}
