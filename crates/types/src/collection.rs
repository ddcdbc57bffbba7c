//! Binary layout of collections, tuples, user types and vectors, read and built without decoding their elements.
//!
//! ```text
//! list, set   count i32, then per element: length i32, bytes          (big-endian; length -1 is null)
//! map         count i32, then per entry: key length, key, value length, value
//! tuple, UDT  per component: length i32, bytes; -1 is null; missing components at the end are null
//! vector      elements one after the other; each led by its length as an unsigned vint unless the type fixes it
//! ```
//!
//! Source: Cassandra 5.0, `serializers.CollectionSerializer`, `db.marshal.TupleType`, `db.marshal.VectorType`.

use crate::cql_type::CqlType;
use crate::error::MarshalError;

/// A walk over length-prefixed values. Each step answers the next value and moves on, or `None` when bytes run out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    pub rest: &'a [u8],
}

impl<'a> Walk<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn i32(&mut self) -> Option<i32> {
        let (head, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(i32::from_be_bytes(*head))
    }

    /// `Some(None)` is a null value.
    pub fn value(&mut self) -> Option<Option<&'a [u8]>> {
        let Ok(len) = usize::try_from(self.i32()?) else { return Some(None) };
        let (value, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(Some(value))
    }

    pub fn vector_element(&mut self, fixed_len: Option<usize>) -> Option<&'a [u8]> {
        let len = match fixed_len {
            Some(len) => len,
            None => {
                let (len, used) = decode_unsigned_vint(self.rest)?;
                self.rest = self.rest.get(used..)?;
                usize::try_from(len).ok().filter(|len| i32::try_from(*len).is_ok())?
            }
        };
        let (value, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(value)
    }
}

/// A serialised list or set whose shape was checked.
#[derive(Clone, Copy, Debug)]
pub struct ListRef<'a> {
    count: usize,
    body: &'a [u8],
}

impl<'a> ListRef<'a> {
    /// # Errors
    /// Bytes that do not hold the counted elements, or more than those. Elements themselves are not validated.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MarshalError> {
        Self::parse_as(bytes, "list")
    }

    /// As [`ListRef::parse`] with the errors' wording for a set.
    ///
    /// # Errors
    /// See [`ListRef::parse`].
    pub fn parse_set(bytes: &'a [u8]) -> Result<Self, MarshalError> {
        Self::parse_as(bytes, "set")
    }

    /// As [`ListRef::parse`], but a negative count, which validation lets pass, is an empty list.
    pub(crate) fn parse_lenient(bytes: &'a [u8]) -> Result<Self, MarshalError> {
        if bytes.first().is_some_and(|byte| 0x80 <= *byte) {
            return Ok(Self { count: 0, body: &[] });
        }
        Self::parse(bytes)
    }

    fn parse_as(bytes: &'a [u8], kind: &'static str) -> Result<Self, MarshalError> {
        let mut walk = Walk::new(bytes);
        let count = walk.i32().ok_or_else(|| not_enough(kind))?;
        let body = walk.rest;
        let count = usize::try_from(count)
            .map_err(|_| MarshalError::new(format!("The data cannot be deserialized as a {kind}")))?;
        for _ in 0..count {
            walk.value().ok_or_else(|| not_enough(kind))?;
        }
        if walk.rest.is_empty() { Ok(Self { count, body }) } else { Err(extraneous(kind)) }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The elements in stored order; `None` is a null element, which only values built by functions hold.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut walk = Walk::new(self.body);
        (0..self.count).map_while(move |_| walk.value())
    }
}

/// A serialised map whose shape was checked.
#[derive(Clone, Copy, Debug)]
pub struct MapRef<'a> {
    count: usize,
    body: &'a [u8],
}

impl<'a> MapRef<'a> {
    /// As [`MapRef::parse`], but a negative count, which validation lets pass, is an empty map.
    pub(crate) fn parse_lenient(bytes: &'a [u8]) -> Result<Self, MarshalError> {
        if bytes.first().is_some_and(|byte| 0x80 <= *byte) {
            return Ok(Self { count: 0, body: &[] });
        }
        Self::parse(bytes)
    }

    /// # Errors
    /// As [`ListRef::parse`]; null keys and values are refused.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MarshalError> {
        let mut walk = Walk::new(bytes);
        let count = walk.i32().ok_or_else(|| not_enough("map"))?;
        let body = walk.rest;
        let count =
            usize::try_from(count).map_err(|_| MarshalError::new("The data cannot be deserialized as a map"))?;
        for _ in 0..count {
            for _ in ["key", "value"] {
                walk.value().ok_or_else(|| not_enough("map"))?.ok_or_else(null_value)?;
            }
        }
        if walk.rest.is_empty() { Ok(Self { count, body }) } else { Err(extraneous("map")) }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The entries in stored order, which is the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut walk = Walk::new(self.body);
        (0..self.count).map_while(move |_| Some((walk.value()??, walk.value()??)))
    }
}

pub(crate) fn not_enough(kind: &str) -> MarshalError {
    MarshalError::new(format!("Not enough bytes to read a {kind}"))
}

pub(crate) fn extraneous(kind: &str) -> MarshalError {
    MarshalError::new(format!("Unexpected extraneous bytes after {kind} value"))
}

pub(crate) fn null_value() -> MarshalError {
    MarshalError::new("Null value read when not allowed")
}

/// Builds a list or set; `None` becomes a null element.
pub fn pack_list(elements: &[Option<&[u8]>]) -> Vec<u8> {
    let bytes_total: usize = elements.iter().map(|element| 4 + element.map_or(0, <[u8]>::len)).sum();
    let mut out = Vec::with_capacity(4 + bytes_total);
    push_len(elements.len(), &mut out);
    for element in elements {
        push_value(*element, &mut out);
    }
    out
}

/// Builds a map from entries, which must stand in the order of the key's type without repetition.
pub fn pack_map(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let bytes_total: usize = entries.iter().map(|(key, value)| 8 + key.len() + value.len()).sum();
    let mut out = Vec::with_capacity(4 + bytes_total);
    push_len(entries.len(), &mut out);
    for (key, value) in entries {
        push_value(Some(key), &mut out);
        push_value(Some(value), &mut out);
    }
    out
}

/// Builds a tuple or user type value.
pub fn pack_tuple(components: &[Option<&[u8]>]) -> Vec<u8> {
    let bytes_total: usize = components.iter().map(|component| 4 + component.map_or(0, <[u8]>::len)).sum();
    let mut out = Vec::with_capacity(bytes_total);
    for component in components {
        push_value(*component, &mut out);
    }
    out
}

/// The `component_count` components of a tuple or user type value; `None` is null, missing or cut off.
pub fn unpack_tuple(bytes: &[u8], component_count: usize) -> Vec<Option<&[u8]>> {
    let mut walk = Walk::new(bytes);
    (0..component_count).map(|_| walk.value().flatten()).collect()
}

/// Builds a vector of elements, which the caller has validated and counted.
pub fn pack_vector(element: &CqlType, elements: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(elements.iter().map(|element| element.len() + 1).sum());
    for bytes in elements {
        if element.fixed_len().is_none() {
            encode_unsigned_vint(bytes.len() as u64, &mut out);
        }
        out.extend_from_slice(bytes);
    }
    out
}

/// The elements of a vector; fewer than `dimension` when the bytes end early.
pub fn vector_elements<'a>(
    element: &CqlType,
    dimension: u32,
    bytes: &'a [u8],
) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let fixed_len = element.fixed_len();
    let mut walk = Walk::new(bytes);
    (0..dimension).map_while(move |_| walk.vector_element(fixed_len))
}

/// Appends a length-prefixed value, -1 for null, as lists, maps, tuples and the protocol's `[bytes]` have it.
pub fn push_value(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        Some(value) => {
            push_len(value.len(), out);
            out.extend_from_slice(value);
        }
        None => out.extend_from_slice(&(-1i32).to_be_bytes()),
    }
}

fn push_len(len: usize, out: &mut Vec<u8>) {
    let len = i32::try_from(len).expect("a value is smaller than 2 GiB: frames and the log refuse larger ones");
    out.extend_from_slice(&len.to_be_bytes());
}

/// Cassandra's unsigned vint: as many leading one bits as bytes follow, then the number big-endian.
/// Answers the number and the bytes used.
pub fn decode_unsigned_vint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let extra = first.leading_ones() as usize;
    let head = if extra < 8 { u64::from(first) & (0xFF >> extra) } else { 0 };
    let tail = bytes.get(1..1 + extra)?;
    Some((tail.iter().fold(head, |number, byte| number << 8 | u64::from(*byte)), 1 + extra))
}

pub fn encode_unsigned_vint(number: u64, out: &mut Vec<u8>) {
    let bits = 64 - (number | 1).leading_zeros();
    let extra = if bits <= 56 { (bits - 1) / 7 } else { 8 };
    let bytes = number.to_be_bytes();
    if extra == 8 {
        out.push(0xFF);
        out.extend_from_slice(&bytes);
        return;
    }
    let start = out.len();
    let (_, used) = bytes.split_at(7 - extra as usize);
    out.extend_from_slice(used);
    let ones = !(0xFFu32 >> extra) & 0xFF;
    if let Some(first) = out.get_mut(start) {
        *first |= u8::try_from(ones).unwrap_or(0xFF);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_as_it_was_packed() {
        let packed = pack_list(&[Some(b"ab"), Some(b"")]);
        let list = ListRef::parse(&packed).expect("just packed");
        assert_eq!(list.iter().collect::<Vec<_>>(), [Some(&b"ab"[..]), Some(&b""[..])]);
    }

    #[test]
    fn a_hostile_count_neither_panics_nor_allocates() {
        assert!(ListRef::parse(&[0x7F, 0xFF, 0xFF, 0xFF]).is_err());
        assert!(MapRef::parse(&[0xFF, 0xFF, 0xFF, 0xFF]).is_err());
    }

    #[test]
    fn vints_survive_a_round_trip() {
        for shift in 0..64 {
            for number in [(1u64 << shift) - 1, 1 << shift, u64::MAX >> shift] {
                let mut out = Vec::new();
                encode_unsigned_vint(number, &mut out);
                assert_eq!(decode_unsigned_vint(&out), Some((number, out.len())));
            }
        }
    }
}
