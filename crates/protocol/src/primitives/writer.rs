//! Appends primitives to a buffer. What does not fit a `[short]` is cut, never written with a wrong length.

use std::net::{IpAddr, SocketAddr};

use bytes::{BufMut, Bytes, BytesMut};

use crate::consistency::Consistency;

/// A `[string]`, cut at the last whole character within 65535 bytes: only texts that quote a statement grow that long.
pub fn write_string(out: &mut BytesMut, text: &str) {
    let cut = &text[..text.floor_char_boundary(usize::from(u16::MAX))];
    out.put_u16(u16::try_from(cut.len()).expect("cut to fit"));
    out.put_slice(cut.as_bytes());
}

/// A `[long string]`.
///
/// # Panics
/// When the text has 2 GiB or more.
pub fn write_long_string(out: &mut BytesMut, text: &str) {
    out.put_i32(i32::try_from(text.len()).expect("no query text has 2 GiB"));
    out.put_slice(text.as_bytes());
}

/// A `[short bytes]`: statement ids, 16 bytes each.
///
/// # Panics
/// Above 65535 bytes.
pub fn write_short_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u16(u16::try_from(bytes.len()).expect("ids are short"));
    out.put_slice(bytes);
}

/// A `[bytes]` or a set or null `[value]`.
///
/// # Panics
/// When the value has 2 GiB or more; values are limited to 256 MiB long before.
#[inline]
pub fn write_value(out: &mut BytesMut, value: Option<&[u8]>) {
    match value {
        Some(bytes) => {
            out.reserve(size_of::<i32>() + bytes.len());
            out.put_i32(i32::try_from(bytes.len()).expect("no value has 2 GiB"));
            out.put_slice(bytes);
        }
        None => out.put_i32(-1),
    }
}

/// The `[value]` "not set" of version 4 and later.
pub fn write_unset(out: &mut BytesMut) {
    out.put_i32(-2);
}

pub fn write_consistency(out: &mut BytesMut, level: Consistency) {
    out.put_u16(level.code());
}

pub fn write_string_list<T: AsRef<str>>(out: &mut BytesMut, items: &[T]) {
    write_list(out, items, |out, item| write_string(out, item.as_ref()));
}

pub fn write_string_map(out: &mut BytesMut, map: &[(String, String)]) {
    write_list(out, map, |out, (key, value)| {
        write_string(out, key);
        write_string(out, value);
    });
}

pub fn write_string_multimap(out: &mut BytesMut, map: &[(String, Vec<String>)]) {
    write_list(out, map, |out, (key, values)| {
        write_string(out, key);
        write_string_list(out, values);
    });
}

pub fn write_bytes_map(out: &mut BytesMut, map: &[(String, Option<Bytes>)]) {
    write_list(out, map, |out, (key, value)| {
        write_string(out, key);
        write_value(out, value.as_deref());
    });
}

/// A `[short]` n, then n items; items from the 65536th on are left out.
pub(crate) fn write_list<T>(out: &mut BytesMut, items: &[T], mut write_item: impl FnMut(&mut BytesMut, &T)) {
    let items = items.get(..usize::from(u16::MAX)).unwrap_or(items);
    out.put_u16(u16::try_from(items.len()).expect("cut to fit"));
    for item in items {
        write_item(out, item);
    }
}

/// `[inetaddr]`: an address without a port.
pub fn write_address(out: &mut BytesMut, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            out.put_u8(4);
            out.put_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            out.put_u8(16);
            out.put_slice(&v6.octets());
        }
    }
}

/// `[inet]`: an address and a port.
pub fn write_inet(out: &mut BytesMut, address: SocketAddr) {
    write_address(out, address.ip());
    out.put_i32(i32::from(address.port()));
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};

    use super::write_string;
    use crate::primitives::Reader;

    #[test]
    fn a_string_too_long_for_its_length_is_cut_between_characters() {
        let mut out = BytesMut::new();
        write_string(&mut out, &"€".repeat(30_000)); // 90000 bytes of three each; 65535 is divisible by three.
        write_string(&mut out, &format!("x{}", "€".repeat(30_000)));
        let mut reader = Reader::new(Bytes::from(out));
        assert_eq!(reader.read_string().unwrap().len(), 65_535);
        assert_eq!(reader.read_string().unwrap().len(), 65_533);
        assert_eq!(reader.remaining(), 0);
    }
}
