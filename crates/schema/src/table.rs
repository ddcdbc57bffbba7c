//! Table: columns, key, options; an immutable value that every ALTER replaces.
//!
//! Invariants
//! - `columns` stand in the order of `SELECT *`: partition key, clustering, statics by name, regulars by name.
//! - There is at least one partition key column; positions are dense.
//! - A table with counters has no other regular or static columns.

use std::collections::BTreeMap;

use helenus_data::{CellRule, ClusteringType, ClusteringTypes, ColumnId, TableId};
use helenus_types::CqlType;

use crate::column::{Column, ColumnKind, DroppedColumn};
use crate::params::TableParams;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub id: TableId,
    pub keyspace: Box<str>,
    pub name: Box<str>,
    pub params: TableParams,
    pub dropped: Vec<DroppedColumn>,
    /// The id that the next added column gets.
    pub next_column_id: ColumnId,
    columns: Vec<Column>,
    partition_key: std::ops::Range<usize>,
    clustering: std::ops::Range<usize>,
    statics: std::ops::Range<usize>,
    regulars: std::ops::Range<usize>,
    clustering_types: ClusteringTypes,
    by_name: BTreeMap<Box<str>, usize>,
    by_id: BTreeMap<ColumnId, usize>,
}

impl Table {
    /// A table of these columns, in any order; see the invariants.
    #[must_use]
    pub fn new(id: TableId, keyspace: &str, name: &str, mut columns: Vec<Column>, params: TableParams) -> Self {
        columns.sort_by(|a, b| (rank(a.kind), a.name.as_bytes()).cmp(&(rank(b.kind), b.name.as_bytes())));
        let count = |matches: fn(ColumnKind) -> bool| columns.iter().filter(|column| matches(column.kind)).count();
        let partition_key = 0..count(|kind| matches!(kind, ColumnKind::PartitionKey { .. }));
        let clustering =
            partition_key.end..partition_key.end + count(|kind| matches!(kind, ColumnKind::Clustering { .. }));
        let statics = clustering.end..clustering.end + count(|kind| kind == ColumnKind::Static);
        let regulars = statics.end..columns.len();
        let clustering_types = ClusteringTypes::new(
            columns[clustering.clone()]
                .iter()
                .map(|column| ClusteringType {
                    ty: column.ty.clone(),
                    descending: matches!(column.kind, ColumnKind::Clustering { descending: true, .. }),
                })
                .collect(),
        );
        let next_column_id = ColumnId(columns.iter().map(|column| column.id.0 + 1).max().unwrap_or(0));
        Self {
            id,
            keyspace: keyspace.into(),
            name: name.into(),
            params,
            dropped: Vec::new(),
            next_column_id,
            by_name: columns.iter().enumerate().map(|(at, column)| (column.name.clone(), at)).collect(),
            by_id: columns.iter().enumerate().map(|(at, column)| (column.id, at)).collect(),
            columns,
            partition_key,
            clustering,
            statics,
            regulars,
            clustering_types,
        }
    }

    /// The same table with other columns; ids of dropped ones stay taken.
    #[must_use]
    pub fn with_columns(&self, columns: Vec<Column>) -> Self {
        let mut table = Table::new(self.id, &self.keyspace, &self.name, columns, self.params.clone());
        table.dropped = self.dropped.clone();
        table.next_column_id = table.next_column_id.max(self.next_column_id);
        table
    }

    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    #[must_use]
    pub fn partition_key(&self) -> &[Column] {
        &self.columns[self.partition_key.clone()]
    }

    #[must_use]
    pub fn clustering(&self) -> &[Column] {
        &self.columns[self.clustering.clone()]
    }

    #[must_use]
    pub fn statics(&self) -> &[Column] {
        &self.columns[self.statics.clone()]
    }

    #[must_use]
    pub fn regulars(&self) -> &[Column] {
        &self.columns[self.regulars.clone()]
    }

    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.by_name.get(name).map(|at| &self.columns[*at])
    }

    #[must_use]
    pub fn column_by_id(&self, id: ColumnId) -> Option<&Column> {
        self.by_id.get(&id).map(|at| &self.columns[*at])
    }

    #[must_use]
    pub fn clustering_types(&self) -> &ClusteringTypes {
        &self.clustering_types
    }

    #[must_use]
    pub fn has_statics(&self) -> bool {
        !self.statics.is_empty()
    }

    #[must_use]
    pub fn is_counter(&self) -> bool {
        self.columns.iter().any(|column| column.ty == CqlType::Counter)
    }

    #[must_use]
    pub fn cell_rule(&self) -> CellRule {
        if self.is_counter() { CellRule::Counter } else { CellRule::Regular }
    }

    /// `keyspace.table`, as messages name it.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.keyspace, self.name)
    }
}

fn rank(kind: ColumnKind) -> (u8, u16) {
    match kind {
        ColumnKind::PartitionKey { position } => (0, position),
        ColumnKind::Clustering { position, .. } => (1, position),
        ColumnKind::Static => (2, 0),
        ColumnKind::Regular => (3, 0),
    }
}
