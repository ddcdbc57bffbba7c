//! The byte-comparable form of values: unsigned byte order of these forms is the type's order.
//!
//! Clustering keys, cell paths and trie indexes are compared by it. It does not round-trip for every type, so the raw
//! bytes are what is stored.
//!
//! ```text
//! clustering key   per component: separator, form (inverted when descending); then a terminator
//! variable bytes   00 escaped as 00 FE.. FF, closed by 00
//! collections      per element: 40 form, or 3E for an empty one without a form; then 38
//! ```
//!
//! Source: Cassandra 5.0, `utils.bytecomparable.ByteSource` and `ByteComparable.Version.OSS50`, `ClusteringComparator`.

use crate::collection::Walk;
use crate::compare::{SIGNED_BYTES, minimal_varint, reorder_timestamp};
use crate::cql_type::CqlType;
use crate::value::{decode_double, decode_float};

pub const TERMINATOR: u8 = 0x38;
/// Ends a bound that lies before everything with its prefix.
pub const LT_NEXT_COMPONENT: u8 = 0x20;
/// Ends a bound that lies after everything with its prefix.
pub const GT_NEXT_COMPONENT: u8 = 0x60;
pub const NEXT_COMPONENT: u8 = 0x40;
/// The component is null.
pub const NEXT_COMPONENT_NULL: u8 = 0x3E;
/// The component is an empty value of a type that has no form for it.
pub const NEXT_COMPONENT_EMPTY: u8 = 0x3F;
pub const NEXT_COMPONENT_EMPTY_REVERSED: u8 = 0x41;

const ESCAPE: u8 = 0x00;
const ESCAPED_0_CONT: u8 = 0xFE;
const ESCAPED_0_DONE: u8 = 0xFF;

/// Appends one clustering component: its separator and its form, inverted when the column is descending.
pub fn write_component(ty: &CqlType, reversed: bool, value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(NEXT_COMPONENT);
    if !ty.write_form(ty.canonical_nan(value), out) {
        out.truncate(start);
        out.push(if reversed { NEXT_COMPONENT_EMPTY_REVERSED } else { NEXT_COMPONENT_EMPTY });
    } else if reversed {
        for byte in out.iter_mut().skip(start + 1) {
            *byte = !*byte;
        }
    }
}

/// Appends a null component: only its separator.
pub fn write_null_component(out: &mut Vec<u8>) {
    out.push(NEXT_COMPONENT_NULL);
}

impl CqlType {
    /// Appends the OSS50 form of one non-null value, without separators; nothing for an empty value that has none.
    pub fn write_comparable(&self, bytes: &[u8], out: &mut Vec<u8>) {
        self.write_form(self.canonical_nan(bytes), out);
    }

    /// All NaN are one value to a type's order, the greatest, whatever their bits. Upstream's form of them forgets that,
    /// which only its tries notice; inside collections it is left as it is.
    fn canonical_nan<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        const DOUBLE: [u8; 8] = [0x7F, 0xF8, 0, 0, 0, 0, 0, 0];
        const FLOAT: [u8; 4] = [0x7F, 0xC0, 0, 0];
        match self {
            Self::Double if decode_double(bytes).is_some_and(f64::is_nan) => &DOUBLE,
            Self::Float if decode_float(bytes).is_some_and(f32::is_nan) => &FLOAT,
            _ => bytes,
        }
    }

    /// False, with nothing written, when Cassandra's type answers null for these bytes.
    fn write_form(&self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        match self {
            Self::Ascii | Self::Blob | Self::Text | Self::Duration | Self::Inet | Self::Custom(_) => {
                write_escaped(bytes, out);
                return true;
            }
            _ if bytes.is_empty() => return false,
            Self::Empty => return false,
            Self::Date | Self::Time => out.extend_from_slice(bytes),
            Self::Int | Self::Smallint | Self::Tinyint | Self::Timestamp => write_sign_flipped(bytes, out),
            Self::Bigint | Self::Counter => match <[u8; 8]>::try_from(bytes) {
                Ok(eight) => write_variable_integer(i64::from_be_bytes(eight), out),
                Err(_) => write_sign_flipped(bytes, out),
            },
            Self::Boolean => out.push(u8::from(bytes.first().is_some_and(|byte| *byte != 0))),
            Self::Double | Self::Float => {
                if bytes.first().is_some_and(|byte| 0x80 <= *byte) {
                    out.extend(bytes.iter().map(|byte| !byte));
                } else {
                    write_sign_flipped(bytes, out);
                }
            }
            Self::Decimal => crate::decimal::write_comparable(bytes, out),
            Self::Varint => write_varint(bytes, out),
            Self::Uuid => write_uuid(bytes, out),
            Self::Timeuuid => write_timeuuid(bytes, out),
            Self::List { element, .. } | Self::Set { element, .. } => write_elements(bytes, &[element], out),
            Self::Map { key, value, .. } => write_elements(bytes, &[key, value], out),
            Self::Tuple(components) => write_tuple(bytes, components.iter(), out),
            Self::Udt(udt, _) => write_tuple(bytes, udt.fields.iter().map(|field| &field.ty), out),
            Self::Vector { element, dimension } => write_vector(bytes, element, *dimension, out),
        }
        true
    }

    /// A component within a collection or tuple.
    fn write_nested(&self, value: Option<&[u8]>, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(NEXT_COMPONENT);
        let written = value.is_some_and(|value| self.write_form(value, out));
        if !written {
            out.truncate(start);
            out.push(NEXT_COMPONENT_NULL);
        }
    }
}

fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    // Whole runs without a zero are copied at once.
    while let Some(zero_at) = rest.iter().position(|byte| *byte == 0) {
        let (before, from_zero) = rest.split_at(zero_at);
        out.extend_from_slice(before);
        let zeros = from_zero.iter().take_while(|byte| **byte == 0).count();
        out.push(ESCAPE);
        for _ in 1..zeros {
            out.push(ESCAPED_0_CONT);
        }
        rest = from_zero.get(zeros..).unwrap_or(&[]);
        if rest.is_empty() {
            out.push(ESCAPED_0_CONT);
            return;
        }
        out.push(ESCAPED_0_DONE);
    }
    out.extend_from_slice(rest);
    out.push(ESCAPE);
}

fn write_sign_flipped(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(bytes);
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
}

/// An integer in as many bytes as it needs: n one bits say n bytes, a zero bit follows unless there are 9, then the
/// number. Negative ones are the inversion of their complement.
fn write_variable_integer(number: i64, out: &mut Vec<u8>) {
    let negative = number < 0;
    let magnitude = (if negative { !number } else { number }).unsigned_abs();
    let bits = 64 - (magnitude | 1).leading_zeros();
    let byte_count = if 55 < bits { 9 } else { bits / 7 + 1 }; // n bytes hold 7n - 1 bits.
    let ones = (u128::MAX << (128 - byte_count)) >> (128 - 8 * byte_count);
    let form = ones | u128::from(magnitude);
    let form = if negative { !form } else { form };
    let bytes = form.to_be_bytes();
    out.extend_from_slice(bytes.get(bytes.len() - byte_count as usize..).unwrap_or(&[]));
}

/// The unsigned kind, for lengths: n-1 one bits and a zero bit say n bytes.
fn write_variable_unsigned(number: u64, invert: bool, out: &mut Vec<u8>) {
    let start = out.len();
    crate::collection::encode_unsigned_vint(number, out);
    if invert {
        for byte in out.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
}

/// Bytes of a varint from which on its length is written out, instead of the form of a bigint.
const VARINT_FULL_FORM_BYTES: usize = 7;

fn write_varint(bytes: &[u8], out: &mut Vec<u8>) {
    let minimal = minimal_varint(bytes);
    let negative = minimal.first().is_some_and(|byte| 0x80 <= *byte);
    let sign: u8 = if negative { 0xFF } else { 0 };
    // A leading byte that carries only the sign does not count.
    let significant = match minimal {
        [first, rest @ ..] if *first == sign && !rest.is_empty() => rest,
        all => all,
    };
    if significant.len() < VARINT_FULL_FORM_BYTES {
        let number = minimal.iter().fold(if negative { -1i64 } else { 0 }, |n, byte| n << 8 | i64::from(*byte));
        write_variable_integer(number, out);
        return;
    }
    out.push(!sign);
    write_variable_unsigned((significant.len() - VARINT_FULL_FORM_BYTES) as u64, negative, out);
    out.extend_from_slice(significant);
}

fn write_uuid(bytes: &[u8], out: &mut Vec<u8>) {
    let Some((high, low)) = halves(bytes, out) else { return };
    let version = (high >> 12) & 0xF;
    let swizzled = if version == 1 {
        reorder_timestamp(high)
    } else {
        (version << 60) | ((high >> 4) & 0x0FFF_FFFF_FFFF_F000) | (high & 0xFFF)
    };
    out.extend_from_slice(&swizzled.to_be_bytes());
    out.extend_from_slice(&low.to_be_bytes());
}

fn write_timeuuid(bytes: &[u8], out: &mut Vec<u8>) {
    let Some((high, low)) = halves(bytes, out) else { return };
    out.extend_from_slice(&reorder_timestamp(high).to_be_bytes());
    out.extend_from_slice(&(low ^ SIGNED_BYTES).to_be_bytes());
}

/// The halves of a UUID; invalid bytes are appended as they are.
fn halves(bytes: &[u8], out: &mut Vec<u8>) -> Option<(u64, u64)> {
    match <[u8; 16]>::try_from(bytes) {
        Ok(sixteen) => {
            let both = u128::from_be_bytes(sixteen);
            Some(((both >> 64) as u64, both as u64))
        }
        Err(_) => {
            out.extend_from_slice(bytes);
            None
        }
    }
}

fn write_elements(bytes: &[u8], types: &[&CqlType], out: &mut Vec<u8>) {
    let mut walk = Walk::new(bytes);
    let count = walk.i32().unwrap_or(0);
    'entries: for _ in 0..count {
        for ty in types {
            let Some(value) = walk.value() else { break 'entries };
            ty.write_nested(value, out);
        }
    }
    out.push(TERMINATOR);
}

/// Nulls at the end are left out, so that a value written before a field was added stays equal.
fn write_tuple<'t>(bytes: &[u8], components: impl Iterator<Item = &'t CqlType>, out: &mut Vec<u8>) {
    let mut walk = Walk::new(bytes);
    let mut end_of_last_value = out.len();
    for component in components {
        let Some(value) = walk.value() else { break };
        component.write_nested(value, out);
        if value.is_some() {
            end_of_last_value = out.len();
        }
    }
    out.truncate(end_of_last_value);
    out.push(TERMINATOR);
}

fn write_vector(bytes: &[u8], element: &CqlType, dimension: u32, out: &mut Vec<u8>) {
    for value in crate::collection::vector_elements(element, dimension, bytes) {
        element.write_nested(Some(value), out);
    }
    out.push(TERMINATOR);
}
