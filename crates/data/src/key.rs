//! Where things stand: partition keys in ring order, clusterings and bounds in byte-comparable order inside a partition.
//!
//! Invariants
//! - A [`PartitionKey`] is ordered by signed token, then by unsigned bytes: the order of Cassandra's files.
//! - `order` of a clustering or bound is Cassandra's OSS50 byte-comparable form (descending columns inverted), so every
//!   comparison is a `memcmp`; `raw` holds the values as they were bound, because the form does not round-trip.
//! - A row's order ends in `TERMINATOR`; a bound's in `LT_NEXT_COMPONENT` (before all rows with its prefix) or
//!   `GT_NEXT_COMPONENT` (after them). Rows and bounds of one table therefore compare directly with each other.
//!
//! ```text
//! (1, 'a') row            40 81000000.. 40 'a' 00 38
//! before everything       20
//! after all rows of (1)   40 81000000.. 60
//! ```
//!
//! Source: Cassandra 5.0, `ByteComparable.md`, `ClusteringComparator`.

use std::cmp::Ordering;
use std::sync::Arc;

use helenus_types::CqlType;
use helenus_types::comparable::{self, GT_NEXT_COMPONENT, LT_NEXT_COMPONENT, TERMINATOR};
use helenus_types::token::Token;

use crate::Blob;

/// Raw serialised partition key with its token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionKey {
    token: Token,
    bytes: Blob,
}

impl PartitionKey {
    /// `bytes` is the serialised value of the only key column, or the composite of several
    /// ([`helenus_types::composite`]).
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self { token: Token::of_key(bytes), bytes: Blob::from(bytes) }
    }

    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes()
    }
}

impl PartialOrd for PartitionKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PartitionKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.token.cmp(&other.token).then_with(|| self.bytes.cmp(&other.bytes))
    }
}

/// Types and directions of a table's clustering columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusteringTypes(Arc<[ClusteringType]>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusteringType {
    pub ty: CqlType,
    pub descending: bool,
}

impl ClusteringTypes {
    #[must_use]
    pub fn new(columns: Vec<ClusteringType>) -> Self {
        Self(columns.into())
    }

    #[must_use]
    pub fn columns(&self) -> &[ClusteringType] {
        &self.0
    }

    /// The clustering of a row. `values` holds one serialised value a clustering column, in their order; none may be
    /// longer than 65,535 bytes (checked where values are bound).
    #[must_use]
    pub fn clustering<V: AsRef<[u8]>>(&self, values: &[V]) -> Clustering {
        let (mut order, raw) = self.prefix(values);
        order.push(TERMINATOR);
        Clustering { order: order.into(), raw: raw.into() }
    }

    /// A bound by a prefix of the clustering columns; an empty prefix bounds the whole partition.
    #[must_use]
    pub fn bound<V: AsRef<[u8]>>(&self, prefix: &[V], side: Side) -> Bound {
        let (mut order, raw) = self.prefix(prefix);
        order.push(match side {
            Side::Before => LT_NEXT_COMPONENT,
            Side::After => GT_NEXT_COMPONENT,
        });
        Bound { order: order.into(), raw: raw.into() }
    }

    /// The clustering whose [`Clustering::raw`] form is `raw`; `None` when the form is broken or has another number of
    /// values than the table has clustering columns.
    #[must_use]
    pub fn clustering_from_raw(&self, raw: &[u8]) -> Option<Clustering> {
        let values = split_raw(raw)?;
        (values.len() == self.0.len()).then(|| self.clustering(&values))
    }

    #[must_use]
    pub fn bound_from_raw(&self, raw: &[u8], side: Side) -> Option<Bound> {
        let values = split_raw(raw)?;
        (values.len() <= self.0.len()).then(|| self.bound(&values, side))
    }

    fn prefix<V: AsRef<[u8]>>(&self, values: &[V]) -> (Vec<u8>, Vec<u8>) {
        let raw_bytes: usize = values.iter().map(|value| 2 + value.as_ref().len()).sum();
        let mut order = Vec::with_capacity(raw_bytes + values.len() + 2);
        let mut raw = Vec::with_capacity(raw_bytes);
        for (column, value) in self.0.iter().zip(values) {
            let value = value.as_ref();
            comparable::write_component(&column.ty, column.descending, value, &mut order);
            let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
            raw.extend_from_slice(&len.to_be_bytes());
            raw.extend_from_slice(&value[..usize::from(len)]);
        }
        (order, raw)
    }
}

fn split_raw(mut raw: &[u8]) -> Option<Vec<&[u8]>> {
    let mut values = Vec::new();
    while !raw.is_empty() {
        let (len, rest) = raw.split_first_chunk::<2>()?;
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
        values.push(value);
        raw = rest;
    }
    Some(values)
}

/// Iterates the values of a raw clustering prefix; stops at damage, which [`ClusteringTypes`] never writes.
#[derive(Clone)]
pub struct RawValues<'a>(&'a [u8]);

impl<'a> Iterator for RawValues<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.0.split_first_chunk::<2>()?;
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
        self.0 = rest;
        Some(value)
    }
}

/// Position and values of one row; tables without clustering columns have rows at [`Clustering::empty`].
#[derive(Clone, Debug)]
pub struct Clustering {
    order: Blob,
    raw: Blob,
}

impl Clustering {
    /// The only clustering of a table without clustering columns; also stands for "no clustering" in a static row.
    #[must_use]
    pub fn empty() -> Self {
        Self { order: Blob::from([TERMINATOR]), raw: Blob::EMPTY }
    }

    pub(crate) fn from_parts(order: Blob, raw: Blob) -> Self {
        Self { order, raw }
    }

    #[must_use]
    pub fn order(&self) -> &[u8] {
        &self.order
    }

    /// `u16 length, bytes` a value, big-endian.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    #[must_use]
    pub fn values(&self) -> RawValues<'_> {
        RawValues(&self.raw)
    }

    /// The bound just before or after this row.
    #[must_use]
    pub fn as_bound(&self, side: Side) -> Bound {
        let mut order = self.order.to_vec();
        order.pop();
        order.push(match side {
            Side::Before => LT_NEXT_COMPONENT,
            Side::After => GT_NEXT_COMPONENT,
        });
        Bound { order: order.into(), raw: self.raw.clone() }
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.order.heap_bytes() + self.raw.heap_bytes()
    }
}

impl PartialEq for Clustering {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Clustering {}

impl PartialOrd for Clustering {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Clustering {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

/// On which side of all rows with its prefix a bound stands.
///
/// An inclusive start and an exclusive end stand before, an exclusive start and an inclusive end after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Before,
    After,
}

/// A position between rows.
#[derive(Clone, Debug)]
pub struct Bound {
    order: Blob,
    raw: Blob,
}

impl Bound {
    /// Before every row of any partition.
    #[must_use]
    pub fn bottom() -> Self {
        Self { order: Blob::from([LT_NEXT_COMPONENT]), raw: Blob::EMPTY }
    }

    /// After every row of any partition.
    #[must_use]
    pub fn top() -> Self {
        Self { order: Blob::from([GT_NEXT_COMPONENT]), raw: Blob::EMPTY }
    }

    pub(crate) fn from_parts(order: Blob, raw: Blob) -> Self {
        Self { order, raw }
    }

    #[must_use]
    pub fn side(&self) -> Side {
        if self.order.last() == Some(&GT_NEXT_COMPONENT) { Side::After } else { Side::Before }
    }

    #[must_use]
    pub fn order(&self) -> &[u8] {
        &self.order
    }

    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    #[must_use]
    pub fn values(&self) -> RawValues<'_> {
        RawValues(&self.raw)
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.order.heap_bytes() + self.raw.heap_bytes()
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Bound {}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bound {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

/// The rows between two bounds; empty when `end <= start`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    pub start: Bound,
    pub end: Bound,
}

impl Slice {
    #[must_use]
    pub fn all() -> Self {
        Self { start: Bound::bottom(), end: Bound::top() }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end <= self.start
    }

    #[must_use]
    pub fn contains(&self, clustering: &Clustering) -> bool {
        self.start.order() < clustering.order() && clustering.order() < self.end.order()
    }

    /// Whether the slice and the range of positions `[first, last]` (orders of rows or bounds) can share a row.
    #[must_use]
    pub fn intersects(&self, first: &[u8], last: &[u8]) -> bool {
        first <= self.end.order() && self.start.order() <= last
    }
}
