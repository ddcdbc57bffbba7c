//! Cassandra's variable-length integers.
//!
//! ```text
//! first byte   leading ones count the bytes that follow (0..=8), the bits below are the value's most significant ones
//! 0..=127      0xxxxxxx
//! 9 bytes      11111111 and the 64-bit value, big-endian
//! ```
//!
//! Source: Cassandra 5.0, `utils.vint.VIntCoding`.

/// Length of `value` when written.
#[must_use]
pub(crate) fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    if bits <= 56 { bits.div_ceil(7) } else { 9 }
}

pub(crate) fn put(value: u64, out: &mut Vec<u8>) {
    let bytes = len(value);
    match bytes {
        1 => out.push((value & 0x7F) as u8),
        9 => {
            out.push(0xFF);
            out.extend_from_slice(&value.to_be_bytes());
        }
        _ => {
            let marks = !(0xFFu8 >> (bytes - 1));
            let start = out.len();
            out.extend_from_slice(&value.to_be_bytes()[8 - bytes..]);
            out[start] |= marks;
        }
    }
}

/// Writes a signed number in zigzag form.
pub(crate) fn put_signed(value: i64, out: &mut Vec<u8>) {
    put((value << 1 ^ value >> 63) as u64, out);
}

/// The signed number of a zigzag form.
#[must_use]
pub(crate) fn unzigzag(encoded: u64) -> i64 {
    (encoded >> 1) as i64 ^ -((encoded & 1) as i64)
}

/// Decodes from the front of `bytes`: the value and its length, or how many bytes it would need.
pub(crate) fn get(bytes: &[u8]) -> Result<(u64, usize), usize> {
    let Some(&first) = bytes.first() else { return Err(1) };
    if first < 0x80 {
        return Ok((u64::from(first), 1));
    }
    let extra = first.leading_ones() as usize;
    let Some(rest) = bytes.get(1..1 + extra) else { return Err(1 + extra) };
    let start = if extra < 8 { u64::from(first & (0xFF >> extra)) } else { 0 };
    let value = rest.iter().fold(start, |value, byte| value << 8 | u64::from(*byte));
    Ok((value, 1 + extra))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(value: u64, expected: &[u8]) {
        let mut out = Vec::new();
        put(value, &mut out);
        assert_eq!(out, expected);
        assert_eq!(get(&out), Ok((value, expected.len())));
    }

    #[test]
    fn the_first_byte_counts_the_bytes_that_follow() {
        check(0, &[0]);
        check(127, &[127]);
        check(128, &[0x80, 0x80]);
        check(16_383, &[0xBF, 0xFF]);
        check(16_384, &[0xC0, 0x40, 0x00]);
        check(1 << 55, &[0xFE, 0x80, 0, 0, 0, 0, 0, 0]);
        check(u64::MAX, &[0xFF; 9]);
    }

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            put(value, &mut out);
            prop_assert_eq!(out.len(), len(value));
            prop_assert_eq!(get(&out), Ok((value, out.len())));
            prop_assert!(get(&out[..out.len() - 1]).is_err());
        }

        #[test]
        fn signed_numbers_come_back(value: i64) {
            let mut out = Vec::new();
            put_signed(value, &mut out);
            prop_assert_eq!(unzigzag(get(&out).unwrap().0), value);
        }
    }
}
