//! Several values in one byte string: the partition key of several columns.
//!
//! ```text
//! per component: length u16 big-endian, bytes, end-of-component 0x00
//! ```
//!
//! A key of one column is that column's bytes as they are. Source: Cassandra 5.0, `db.marshal.CompositeType`.

use smallvec::SmallVec;

use crate::error::MarshalError;

/// Longest component: its length is an unsigned 16-bit number.
pub const COMPONENT_BYTES_MAX: usize = 65_535;

/// # Errors
/// A component over [`COMPONENT_BYTES_MAX`] bytes.
pub fn pack(components: &[&[u8]]) -> Result<Vec<u8>, MarshalError> {
    let mut out = Vec::with_capacity(components.iter().map(|component| component.len() + 3).sum());
    for component in components {
        let len = u16::try_from(component.len()).map_err(|_| too_long(component.len()))?;
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(component);
        out.push(0);
    }
    Ok(out)
}

/// The raw partition key of these column values: the value itself for one column, packed for several.
///
/// # Errors
/// A value too long to be a key.
pub fn partition_key(components: &[&[u8]]) -> Result<Vec<u8>, MarshalError> {
    match components {
        [only] if COMPONENT_BYTES_MAX < only.len() => Err(too_long(only.len())),
        [only] => Ok(only.to_vec()),
        several => pack(several),
    }
}

fn too_long(len: usize) -> MarshalError {
    MarshalError::new(format!("Key length of {len} is longer than maximum of {COMPONENT_BYTES_MAX}"))
}

/// # Errors
/// Bytes that end inside a component.
pub fn unpack(bytes: &[u8]) -> Result<SmallVec<[&[u8]; 4]>, MarshalError> {
    let mut components = SmallVec::new();
    let mut rest = bytes;
    let torn = |what: &str| MarshalError::new(format!("Not enough bytes to read {what}"));
    while !rest.is_empty() {
        let (len, after_len) = rest.split_first_chunk::<2>().ok_or_else(|| torn("value size"))?;
        let len = usize::from(u16::from_be_bytes(*len));
        let (component, after) = after_len.split_at_checked(len).ok_or_else(|| torn("value of component"))?;
        let (_end_of_component, after) = after.split_first().ok_or_else(|| torn("the end-of-component byte"))?;
        components.push(component);
        rest = after;
    }
    Ok(components)
}

/// The column values of a raw partition key of `column_count` columns.
///
/// # Errors
/// Torn bytes, or another number of components.
pub fn split_partition_key(bytes: &[u8], column_count: usize) -> Result<SmallVec<[&[u8]; 4]>, MarshalError> {
    if column_count == 1 {
        return Ok(smallvec::smallvec![bytes]);
    }
    let components = unpack(bytes)?;
    if components.len() == column_count {
        Ok(components)
    } else {
        Err(MarshalError::new(format!("Expected {column_count} key components, found {}", components.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_composite_key_has_lengths_and_end_bytes() {
        let packed = pack(&[b"ab", b""]).expect("short");
        assert_eq!(packed, [0, 2, b'a', b'b', 0, 0, 0, 0]);
        assert_eq!(unpack(&packed).expect("just packed").as_slice(), [&b"ab"[..], &b""[..]]);
    }

    #[test]
    fn torn_composites_are_refused() {
        assert!(unpack(&[0]).is_err());
        assert!(unpack(&[0, 2, 1]).is_err());
        assert!(unpack(&[0, 1, 1]).is_err());
    }
}
