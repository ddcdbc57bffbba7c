//! Row filter: the restrictions that ALLOW FILTERING leaves to be checked row by row.
//!
//! Source: Cassandra 5.0, `db.filter.RowFilter`, `cql3.Operator`.

use std::cmp::Ordering;

use helenus_types::collection::{ListRef, MapRef};
use helenus_types::{CqlType, composite};

use crate::Blob;
use crate::cell::ColumnId;
use crate::counter;
use crate::key::PartitionKey;
use crate::row::{ColumnData, Row};

/// All terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFilter {
    pub terms: Vec<FilterTerm>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterTerm {
    pub target: FilterTarget,
    /// The column's type.
    pub ty: CqlType,
    pub operator: FilterOperator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterTarget {
    /// `index` of `count` partition key columns.
    PartitionKey {
        index: usize,
        count: usize,
    },
    Clustering(usize),
    Static(ColumnId),
    Regular(ColumnId),
}

/// Values are serialised, of the column's type (or of its element, key or value type).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterOperator {
    Equal(Blob),
    Less(Blob),
    LessOrEqual(Blob),
    Greater(Blob),
    GreaterOrEqual(Blob),
    In(Vec<Blob>),
    Contains(Blob),
    ContainsKey(Blob),
    /// `m[key] = value`
    MapEntry {
        key: Blob,
        value: Blob,
    },
}

impl RowFilter {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    #[must_use]
    pub fn has_row_terms(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.target, FilterTarget::Regular(_) | FilterTarget::Clustering(_)))
    }

    /// Checks the terms on partition key and static columns.
    #[must_use]
    pub fn accepts_partition(&self, key: &PartitionKey, static_row: Option<&Row>, now_secs: i64) -> bool {
        self.terms.iter().all(|term| match term.target {
            FilterTarget::PartitionKey { index, count } => {
                key_component(key, index, count).is_some_and(|value| term.accepts_value(value))
            }
            FilterTarget::Static(id) => {
                static_row.and_then(|row| row.column(id)).is_some_and(|data| term.accepts_column(data, now_secs))
            }
            FilterTarget::Clustering(_) | FilterTarget::Regular(_) => true,
        })
    }

    /// Checks the terms on clustering and regular columns.
    #[must_use]
    pub fn accepts_row(&self, row: &Row, now_secs: i64) -> bool {
        self.terms.iter().all(|term| match term.target {
            FilterTarget::Clustering(index) => {
                row.clustering.values().nth(index).is_some_and(|value| term.accepts_value(value))
            }
            FilterTarget::Regular(id) => row.column(id).is_some_and(|data| term.accepts_column(data, now_secs)),
            FilterTarget::PartitionKey { .. } | FilterTarget::Static(_) => true,
        })
    }
}

/// Value of one partition key column.
fn key_component(key: &PartitionKey, index: usize, count: usize) -> Option<&[u8]> {
    if count == 1 { Some(key.bytes()) } else { composite::unpack(key.bytes()).ok()?.into_iter().nth(index) }
}

impl FilterTerm {
    fn accepts_column(&self, data: &ColumnData, now_secs: i64) -> bool {
        match data {
            // A counter's cell holds a context; what clients compare is its sum.
            ColumnData::Simple(cell) if self.ty == CqlType::Counter => {
                cell.is_live(now_secs) && self.accepts_value(&counter::total(&cell.value).to_be_bytes())
            }
            ColumnData::Simple(cell) => cell.is_live(now_secs) && self.accepts_value(&cell.value),
            ColumnData::Complex(complex) => {
                let mut live = complex.cells.iter().filter(|(_, cell)| cell.is_live(now_secs));
                match (&self.operator, &self.ty) {
                    (FilterOperator::Contains(value), CqlType::Set { element, .. }) => {
                        live.any(|(path, _)| element.compare(path.raw(), value) == Ordering::Equal)
                    }
                    (FilterOperator::Contains(value), CqlType::List { element, .. }) => {
                        live.any(|(_, cell)| element.compare(&cell.value, value) == Ordering::Equal)
                    }
                    (FilterOperator::Contains(wanted), CqlType::Map { value, .. }) => {
                        live.any(|(_, cell)| value.compare(&cell.value, wanted) == Ordering::Equal)
                    }
                    (FilterOperator::ContainsKey(wanted), CqlType::Map { key, .. }) => {
                        live.any(|(path, _)| key.compare(path.raw(), wanted) == Ordering::Equal)
                    }
                    (FilterOperator::MapEntry { key: wanted, value: expected }, CqlType::Map { key, value, .. }) => {
                        live.any(|(path, cell)| {
                            key.compare(path.raw(), wanted) == Ordering::Equal
                                && value.compare(&cell.value, expected) == Ordering::Equal
                        })
                    }
                    _ => false,
                }
            }
        }
    }

    fn accepts_value(&self, found: &[u8]) -> bool {
        let ty = if self.ty == CqlType::Counter { &CqlType::Bigint } else { &self.ty };
        let compare = |wanted: &Blob| ty.compare(found, wanted);
        match &self.operator {
            FilterOperator::Equal(wanted) => compare(wanted) == Ordering::Equal,
            FilterOperator::Less(wanted) => compare(wanted) == Ordering::Less,
            FilterOperator::LessOrEqual(wanted) => compare(wanted) != Ordering::Greater,
            FilterOperator::Greater(wanted) => compare(wanted) == Ordering::Greater,
            FilterOperator::GreaterOrEqual(wanted) => compare(wanted) != Ordering::Less,
            FilterOperator::In(wanted) => wanted.iter().any(|wanted| compare(wanted) == Ordering::Equal),
            FilterOperator::Contains(wanted) => self.frozen_contains(found, wanted),
            FilterOperator::ContainsKey(wanted) => {
                let CqlType::Map { key, .. } = &self.ty else { return false };
                MapRef::parse(found).is_ok_and(|map| map.iter().any(|(entry, _)| key.equals(entry, wanted)))
            }
            FilterOperator::MapEntry { key: wanted, value: expected } => {
                let CqlType::Map { key, value, .. } = &self.ty else { return false };
                MapRef::parse(found).is_ok_and(|map| {
                    map.iter().any(|(entry_key, entry_value)| {
                        key.compare(entry_key, wanted) == Ordering::Equal
                            && value.compare(entry_value, expected) == Ordering::Equal
                    })
                })
            }
        }
    }

    fn frozen_contains(&self, found: &[u8], wanted: &[u8]) -> bool {
        match &self.ty {
            CqlType::List { element, .. } | CqlType::Set { element, .. } => {
                ListRef::parse(found).is_ok_and(|list| list.iter().flatten().any(|value| element.equals(value, wanted)))
            }
            CqlType::Map { value, .. } => {
                MapRef::parse(found).is_ok_and(|map| map.iter().any(|(_, entry)| value.equals(entry, wanted)))
            }
            _ => false,
        }
    }
}
