//! Bytes in hexadecimal, as Cassandra prints and reads blobs, keys and names.

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

pub(crate) fn write_hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        for half in [byte >> 4, byte & 0xF] {
            out.push(char::from(HEX_DIGITS.get(usize::from(half)).copied().unwrap_or(b'0')));
        }
    }
}

/// Bytes in lower-case hexadecimal, without a prefix.
pub fn to_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    write_hex(bytes, &mut out);
    out
}

/// Bytes of an even number of hexadecimal digits.
pub fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_a_round_trip_and_odd_lengths_do_not() {
        assert_eq!(to_hex(&[0x00, 0xFF, 0x1A]), "00ff1a");
        assert_eq!(parse_hex("00FF1a"), Some(vec![0x00, 0xFF, 0x1A]));
        assert_eq!((parse_hex("0"), parse_hex("zz"), parse_hex("é")), (None, None, None));
    }
}
