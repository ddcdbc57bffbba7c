//! Column of a table.

use helenus_data::ColumnId;
use helenus_types::CqlType;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Stable within the table, never reused.
    pub id: ColumnId,
    pub name: Box<str>,
    pub kind: ColumnKind,
    pub ty: CqlType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnKind {
    /// `position` counts from 0 within the partition key.
    PartitionKey {
        position: u16,
    },
    Clustering {
        position: u16,
        descending: bool,
    },
    Static,
    Regular,
}

impl ColumnKind {
    #[must_use]
    pub fn is_primary_key(self) -> bool {
        matches!(self, ColumnKind::PartitionKey { .. } | ColumnKind::Clustering { .. })
    }
}

/// A column that ALTER TABLE DROP removed: cells written before `dropped_micros` are cut from whatever is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedColumn {
    pub id: ColumnId,
    pub name: Box<str>,
    /// `Static` or `Regular`.
    pub kind: ColumnKind,
    pub ty: CqlType,
    pub dropped_micros: i64,
}
