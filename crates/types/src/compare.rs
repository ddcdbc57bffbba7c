//! The order of serialised values, as Cassandra's `AbstractType.compare` has it.
//!
//! Empty values come first. Bytes that validation would refuse still get some total order instead of a panic.
//! Source: Cassandra 5.0, the `compareCustom` methods of `db.marshal.*`.

use std::cmp::Ordering;

use crate::collection::Walk;
use crate::cql_type::CqlType;
use crate::value::{decode_double, decode_float};

impl CqlType {
    /// Allocates only for decimals over 128 bits.
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Ascii | Self::Blob | Self::Text | Self::Custom(_) => a.cmp(b),
            Self::Date | Self::Duration | Self::Inet | Self::Time | Self::Empty => a.cmp(b),
            Self::Bigint | Self::Counter | Self::Int | Self::Smallint | Self::Timestamp | Self::Tinyint => {
                compare_signed_first(a, b)
            }
            Self::Boolean => match (a.first(), b.first()) {
                (Some(a), Some(b)) => (*a != 0).cmp(&(*b != 0)),
                (a, b) => a.is_some().cmp(&b.is_some()),
            },
            Self::Decimal => empties(a, b).unwrap_or_else(|| crate::decimal::compare(a, b)),
            Self::Double => match (decode_double(a), decode_double(b)) {
                (Some(x), Some(y)) => compare_doubles(x, y),
                _ => a.len().cmp(&b.len()),
            },
            Self::Float => match (decode_float(a), decode_float(b)) {
                (Some(x), Some(y)) => compare_doubles(f64::from(x), f64::from(y)),
                _ => a.len().cmp(&b.len()),
            },
            Self::Uuid => compare_uuids(a, b),
            Self::Timeuuid => compare_timeuuids(a, b),
            Self::Varint => compare_varints(a, b),
            Self::List { element, .. } | Self::Set { element, .. } => compare_elements(a, b, element, element),
            Self::Map { key, value, .. } => compare_elements(a, b, key, value),
            Self::Tuple(components) => compare_tuples(a, b, components.iter()),
            Self::Udt(udt, _) => compare_tuples(a, b, udt.fields.iter().map(|field| &field.ty)),
            Self::Vector { element, dimension } => compare_vectors(a, b, element, *dimension),
        }
    }
}

impl CqlType {
    /// Whether two values are the same one to Java's `equals`, which looks for elements in frozen collections: decimals of
    /// another scale are not, and tuples are compared byte by byte.
    pub fn equals(&self, a: &[u8], b: &[u8]) -> bool {
        a == b || (!self.has_forms() && self.compare(a, b).is_eq())
    }

    fn has_forms(&self) -> bool {
        matches!(self, Self::Decimal | Self::Tuple(_) | Self::Udt(..))
            || self.sub_types().into_iter().any(Self::has_forms)
    }
}

/// The order when one is empty; `None` when neither is.
fn empties(a: &[u8], b: &[u8]) -> Option<Ordering> {
    (a.is_empty() || b.is_empty()).then(|| b.is_empty().cmp(&a.is_empty()))
}

/// Big-endian two's complement of one length: the first byte is signed, the others are not.
fn compare_signed_first(a: &[u8], b: &[u8]) -> Ordering {
    let key = |bytes: &[u8]| bytes.first().map(|byte| *byte as i8);
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

/// Java's `Double.compare`: -0.0 before 0.0, all NaN equal and last.
fn compare_doubles(x: f64, y: f64) -> Ordering {
    let canonical = |number: f64| if number.is_nan() { f64::NAN.abs() } else { number };
    canonical(x).total_cmp(&canonical(y))
}

/// Both halves of a UUID; bytes of another length have none.
fn uuid_halves(bytes: &[u8]) -> Option<(u64, u64)> {
    let both = u128::from_be_bytes(bytes.try_into().ok()?);
    Some(((both >> 64) as u64, both as u64))
}

/// A version 1 UUID's first half with the timestamp's most significant part first; the version stays on top.
pub(crate) fn reorder_timestamp(half: u64) -> u64 {
    (half << 48) | ((half << 16) & 0xFFFF_0000_0000) | (half >> 32)
}

/// By version first, then time for version 1, then bytes.
fn compare_uuids(a: &[u8], b: &[u8]) -> Ordering {
    match (uuid_halves(a), uuid_halves(b)) {
        (Some((a_high, a_low)), Some((b_high, b_low))) => {
            let version = |half: u64| (half >> 12) & 0xF;
            let by_version = version(a_high).cmp(&version(b_high));
            let by_high = if version(a_high) == 1 {
                reorder_timestamp(a_high).cmp(&reorder_timestamp(b_high))
            } else {
                a_high.cmp(&b_high)
            };
            by_version.then(by_high).then(a_low.cmp(&b_low))
        }
        (a_halves, b_halves) => a_halves.is_some().cmp(&b_halves.is_some()).then_with(|| a.cmp(b)),
    }
}

/// The second half of a timeuuid is compared by signed bytes; flipping every sign bit makes that unsigned.
pub(crate) const SIGNED_BYTES: u64 = 0x8080_8080_8080_8080;

/// By time, then by the signed bytes of the second half.
fn compare_timeuuids(a: &[u8], b: &[u8]) -> Ordering {
    match (uuid_halves(a), uuid_halves(b)) {
        (Some((a_high, a_low)), Some((b_high, b_low))) => reorder_timestamp(a_high)
            .cmp(&reorder_timestamp(b_high))
            .then_with(|| (a_low ^ SIGNED_BYTES).cmp(&(b_low ^ SIGNED_BYTES))),
        (a_halves, b_halves) => a_halves.is_some().cmp(&b_halves.is_some()).then_with(|| a.cmp(b)),
    }
}

/// A two's complement number without the leading bytes that only repeat its sign.
pub(crate) fn minimal_varint(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [first, second, ..] = rest {
        let repeats = (*first == 0 && *second < 0x80) || (*first == 0xFF && 0x80 <= *second);
        if !repeats {
            break;
        }
        rest = rest.get(1..).unwrap_or(&[]);
    }
    rest
}

fn compare_varints(a: &[u8], b: &[u8]) -> Ordering {
    if let Some(order) = empties(a, b) {
        return order;
    }
    let (a, b) = (minimal_varint(a), minimal_varint(b));
    let negative = |bytes: &[u8]| bytes.first().is_some_and(|byte| 0x80 <= *byte);
    match (negative(a), negative(b)) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (true, true) => b.len().cmp(&a.len()).then_with(|| a.cmp(b)),
    }
}

/// Lists and sets element by element, maps entry by entry (`even` is the key's type then); the shorter one comes first.
fn compare_elements(a: &[u8], b: &[u8], even: &CqlType, odd: &CqlType) -> Ordering {
    if let Some(order) = empties(a, b) {
        return order;
    }
    let is_map = !std::ptr::eq(even, odd);
    let (mut a_walk, mut b_walk) = (Walk::new(a), Walk::new(b));
    let (Some(a_count), Some(b_count)) = (a_walk.i32(), b_walk.i32()) else { return a.cmp(b) };
    for _ in 0..a_count.min(b_count) {
        for ty in [even, odd].into_iter().take(if is_map { 2 } else { 1 }) {
            let (Some(x), Some(y)) = (a_walk.value(), b_walk.value()) else { return a.cmp(b) };
            let order = match (x, y) {
                (Some(x), Some(y)) => ty.compare(x, y),
                (x, y) => x.is_some().cmp(&y.is_some()),
            };
            if order.is_ne() {
                return order;
            }
        }
    }
    a_count.cmp(&b_count)
}

/// Nulls come first, and missing components at the end equal nulls.
fn compare_tuples<'t>(a: &[u8], b: &[u8], mut components: impl Iterator<Item = &'t CqlType>) -> Ordering {
    if let Some(order) = empties(a, b) {
        return order;
    }
    let (mut a_walk, mut b_walk) = (Walk::new(a), Walk::new(b));
    while !a_walk.rest.is_empty() && !b_walk.rest.is_empty() {
        let Some(component) = components.next() else { break };
        let (Some(x), Some(y)) = (a_walk.value(), b_walk.value()) else { return a.cmp(b) };
        let order = match (x, y) {
            (Some(x), Some(y)) => component.compare(x, y),
            (x, y) => x.is_some().cmp(&y.is_some()),
        };
        if order.is_ne() {
            return order;
        }
    }
    has_more_values(a_walk).cmp(&has_more_values(b_walk))
}

fn has_more_values(mut walk: Walk<'_>) -> bool {
    while let Some(value) = walk.value() {
        if value.is_some_and(|value| !value.is_empty()) {
            return true;
        }
    }
    false
}

fn compare_vectors(a: &[u8], b: &[u8], element: &CqlType, dimension: u32) -> Ordering {
    let fixed_len = element.fixed_len();
    if fixed_len.is_some() && element.is_byte_order_comparable() {
        return a.cmp(b);
    }
    if let Some(order) = empties(a, b) {
        return order;
    }
    let (mut a_walk, mut b_walk) = (Walk::new(a), Walk::new(b));
    for _ in 0..dimension {
        match (a_walk.vector_element(fixed_len), b_walk.vector_element(fixed_len)) {
            (Some(x), Some(y)) => {
                let order = element.compare(x, y);
                if order.is_ne() {
                    return order;
                }
            }
            _ => return a.cmp(b),
        }
    }
    Ordering::Equal
}
