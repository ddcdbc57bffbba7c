//! Unfiltered: a row or a range-tombstone marker, the unit in which partitions are stored, merged and sent.

use std::cmp::Ordering;

use crate::deletion::DeletionTime;
use crate::key::{Bound, PartitionKey};
use crate::row::Row;

/// The way in which the rows of a partition are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    Forward,
    Reversed,
}

impl Direction {
    /// Orders two positions (of rows or bounds) by when a reader meets them.
    #[must_use]
    pub fn compare(self, left: &[u8], right: &[u8]) -> Ordering {
        match self {
            Direction::Forward => left.cmp(right),
            Direction::Reversed => right.cmp(left),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfiltered {
    Row(Row),
    Marker(Marker),
}

/// Where a range deletion ends, begins, or one gives way to another; `ends` and `begins` in reading direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    pub position: Bound,
    pub ends: Option<DeletionTime>,
    pub begins: Option<DeletionTime>,
}

impl Unfiltered {
    /// The byte-comparable position.
    #[must_use]
    pub fn order(&self) -> &[u8] {
        match self {
            Unfiltered::Row(row) => row.clustering.order(),
            Unfiltered::Marker(marker) => marker.position.order(),
        }
    }
}

/// What stands before the rows of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionHeader {
    pub key: PartitionKey,
    pub deletion: DeletionTime,
    pub static_row: Option<Row>,
}
