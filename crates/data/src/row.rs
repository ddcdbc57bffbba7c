//! Row: liveness, deletion and cells of one clustering (or of the static part), as stored.
//!
//! Invariants
//! - `columns` ascend by [`ColumnId`], cells of a complex column by path order; both hold no duplicates.
//! - A complex column is never without both a deletion and cells.

use helenus_types::time::Ttl;

use crate::cell::{Cell, CellPath, ColumnId};
use crate::deletion::DeletionTime;
use crate::key::Clustering;
use crate::liveness::Liveness;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub clustering: Clustering,
    pub liveness: Liveness,
    pub deletion: DeletionTime,
    pub columns: Vec<Column>,
}

/// The stored content of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub id: ColumnId,
    pub data: ColumnData,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnData {
    Simple(Cell),
    Complex(Box<ComplexColumn>),
}

/// A non-frozen collection or UDT: a deletion of what was there before, and a cell a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComplexColumn {
    pub deletion: DeletionTime,
    pub cells: Vec<(CellPath, Cell)>,
}

impl Row {
    #[must_use]
    pub fn new(clustering: Clustering) -> Self {
        Self { clustering, liveness: Liveness::NONE, deletion: DeletionTime::LIVE, columns: Vec::new() }
    }

    /// Says nothing: no liveness, deletion or cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.liveness.is_none() && self.deletion.is_live() && self.columns.is_empty()
    }

    #[must_use]
    pub fn column(&self, id: ColumnId) -> Option<&ColumnData> {
        let at = self.columns.binary_search_by_key(&id, |column| column.id).ok()?;
        Some(&self.columns[at].data)
    }

    #[must_use]
    pub fn cell(&self, id: ColumnId) -> Option<&Cell> {
        match self.column(id)? {
            ColumnData::Simple(cell) => Some(cell),
            ColumnData::Complex(_) => None,
        }
    }

    #[must_use]
    pub fn complex(&self, id: ColumnId) -> Option<&ComplexColumn> {
        match self.column(id)? {
            ColumnData::Simple(_) => None,
            ColumnData::Complex(complex) => Some(complex),
        }
    }

    /// Adds a cell of an update that is being built; on two of the same column the one that reconciles wins, as within
    /// one CQL statement or batch.
    pub fn add_cell(&mut self, id: ColumnId, cell: Cell) {
        match self.columns.binary_search_by_key(&id, |column| column.id) {
            Ok(at) => {
                if let ColumnData::Simple(existing) = &mut self.columns[at].data {
                    crate::reconcile::merge_cell(existing, cell, crate::reconcile::CellRule::Regular);
                }
            }
            Err(at) => self.columns.insert(at, Column { id, data: ColumnData::Simple(cell) }),
        }
    }

    /// The complex column `id`, made when it is not there; callers must leave it non-empty.
    pub fn complex_mut(&mut self, id: ColumnId) -> &mut ComplexColumn {
        let at = match self.columns.binary_search_by_key(&id, |column| column.id) {
            Ok(at) => at,
            Err(at) => {
                self.columns.insert(at, Column { id, data: ColumnData::Complex(Box::default()) });
                at
            }
        };
        if let ColumnData::Simple(_) = self.columns[at].data {
            // A column never changes between simple and complex under one id (ALTER refuses it).
            self.columns[at].data = ColumnData::Complex(Box::default());
        }
        match &mut self.columns[at].data {
            ColumnData::Complex(complex) => complex,
            ColumnData::Simple(_) => unreachable!("replaced above"),
        }
    }

    /// Whether a reader at `now_secs` sees the row: live liveness or a live cell. Shadowed cells must be gone already.
    #[must_use]
    pub fn has_live_data(&self, now_secs: i64) -> bool {
        self.liveness.is_live(now_secs) || self.columns.iter().any(|column| column.data.has_live_cell(now_secs))
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.clustering.heap_bytes()
            + self.columns.capacity() * size_of::<Column>()
            + self.columns.iter().map(|column| column.data.heap_bytes()).sum::<usize>()
    }
}

impl ColumnData {
    #[must_use]
    pub fn has_live_cell(&self, now_secs: i64) -> bool {
        match self {
            ColumnData::Simple(cell) => cell.is_live(now_secs),
            ColumnData::Complex(complex) => complex.cells.iter().any(|(_, cell)| cell.is_live(now_secs)),
        }
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            ColumnData::Simple(cell) => cell.heap_bytes(),
            ColumnData::Complex(complex) => {
                size_of::<ComplexColumn>()
                    + complex.cells.capacity() * size_of::<(CellPath, Cell)>()
                    + complex.cells.iter().map(|(path, cell)| path.heap_bytes() + cell.heap_bytes()).sum::<usize>()
            }
        }
    }
}

impl ComplexColumn {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deletion.is_live() && self.cells.is_empty()
    }

    #[must_use]
    pub fn cell(&self, path: &CellPath) -> Option<&Cell> {
        let at = self.cells.binary_search_by(|(other, _)| other.order().cmp(path.order())).ok()?;
        Some(&self.cells[at].1)
    }

    pub fn add_cell(&mut self, path: CellPath, cell: Cell) {
        match self.cells.binary_search_by(|(other, _)| other.order().cmp(path.order())) {
            Ok(at) => {
                let rule = crate::reconcile::CellRule::Regular;
                crate::reconcile::merge_entry(&mut self.cells[at], (path, cell), rule);
            }
            Err(at) => self.cells.insert(at, (path, cell)),
        }
    }
}

/// Ttl left at `now_secs` of something that expires at `expires_secs`; `None` when it does not expire.
#[must_use]
pub fn remaining_ttl_secs(ttl: Option<Ttl>, expires_secs: u32, now_secs: i64) -> Option<i32> {
    ttl?;
    let left = i64::from(expires_secs) - now_secs;
    (0 <= left).then(|| i32::try_from(left).unwrap_or(i32::MAX))
}
