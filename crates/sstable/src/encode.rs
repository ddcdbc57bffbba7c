//! Rows and markers to bytes.
//!
//! ```text
//! row      flags (1), [extended flags (1)], clustering (none in a static row), size of what follows (vint),
//!          size of the item before, from its start to ours (vint),
//!          [timestamp], [ttl, expiry], [deletion], [columns], cells
//! marker   flags 2, bound, size of what follows, size of the item before, deletion (two in a boundary: ending, beginning)
//! end      flags 1
//! complex  [deletion], cell count, cells
//! cell     flags, [timestamp], [local deletion time], [ttl], [path], [value]
//! ```
//!
//! Source: Cassandra 5.0, `db.rows.UnfilteredSerializer`, `db.rows.Cell.Serializer`.

use helenus_data::{Cell, CellPath, ColumnData, ComplexColumn, Liveness, Marker, NEVER_SECS, Row};
use smallvec::SmallVec;

use crate::clustering::{self, PrefixKind};
use crate::column_subset;
use crate::layout::{ColumnShape, Layout};
use crate::vint;

pub(crate) const END_OF_PARTITION: u8 = 0x01;
pub(crate) const IS_MARKER: u8 = 0x02;
pub(crate) const HAS_TIMESTAMP: u8 = 0x04;
pub(crate) const HAS_TTL: u8 = 0x08;
pub(crate) const HAS_DELETION: u8 = 0x10;
pub(crate) const HAS_ALL_COLUMNS: u8 = 0x20;
pub(crate) const HAS_COMPLEX_DELETION: u8 = 0x40;
pub(crate) const HAS_EXTENDED_FLAGS: u8 = 0x80;
pub(crate) const EXTENDED_IS_STATIC: u8 = 0x01;

pub(crate) const CELL_IS_DELETED: u8 = 0x01;
pub(crate) const CELL_IS_EXPIRING: u8 = 0x02;
pub(crate) const CELL_HAS_EMPTY_VALUE: u8 = 0x04;
pub(crate) const CELL_USES_ROW_TIMESTAMP: u8 = 0x08;
pub(crate) const CELL_USES_ROW_TTL: u8 = 0x10;

/// A value whose type fixes its length has another one.
#[derive(Debug)]
pub(crate) struct WrongLength {
    pub(crate) expected: usize,
    pub(crate) found: usize,
}

/// Encodes items of one file; keeps a buffer for row bodies.
pub(crate) struct Encoder {
    body: Vec<u8>,
}

type Present<'a> = SmallVec<[(usize, &'a ColumnData); 16]>;

impl Encoder {
    pub(crate) fn new() -> Self {
        Self { body: Vec::new() }
    }

    /// Appends a row, or the static row of a partition.
    pub(crate) fn put_row(
        &mut self,
        layout: &Layout,
        row: &Row,
        is_static: bool,
        previous_bytes: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), WrongLength> {
        let columns = layout.columns(is_static);
        let mut present: Present<'_> = row
            .columns
            .iter()
            .filter(|column| !matches!(&column.data, ColumnData::Complex(complex) if complex.is_empty()))
            .filter_map(|column| Some((columns.position(column.id)?, &column.data)))
            .collect();
        present.sort_unstable_by_key(|(position, _)| *position);
        let has_complex_deletion =
            present.iter().any(|(_, data)| matches!(data, ColumnData::Complex(complex) if !complex.deletion.is_live()));

        let mut flags = 0;
        let mut flag = |bit: u8, is_set: bool| flags |= if is_set { bit } else { 0 };
        flag(HAS_EXTENDED_FLAGS, is_static);
        flag(HAS_TIMESTAMP, !row.liveness.is_none());
        flag(HAS_TTL, !row.liveness.is_none() && row.liveness.ttl.is_some());
        flag(HAS_DELETION, !row.deletion.is_live());
        flag(HAS_COMPLEX_DELETION, has_complex_deletion);
        flag(HAS_ALL_COLUMNS, present.len() == columns.len());

        self.body.clear();
        vint::put(previous_bytes, &mut self.body);
        self.put_liveness(layout, &row.liveness);
        if !row.deletion.is_live() {
            layout.stats.put_deletion(row.deletion, &mut self.body);
        }
        if flags & HAS_ALL_COLUMNS == 0 {
            column_subset::put(present.iter().map(|(position, _)| *position), columns.len(), &mut self.body);
        }
        for (position, data) in &present {
            match (&columns.columns[*position].shape, data) {
                (ColumnShape::Simple { value_len }, ColumnData::Simple(cell)) => {
                    put_cell(layout, &row.liveness, cell, None, *value_len, &mut self.body)?;
                }
                (_, ColumnData::Complex(complex)) => {
                    put_complex(layout, &row.liveness, complex, has_complex_deletion, &mut self.body)?;
                }
                (ColumnShape::Complex { .. }, ColumnData::Simple(_)) => {
                    return Err(WrongLength { expected: 1, found: 0 });
                }
            }
        }

        out.push(flags);
        if is_static {
            out.push(EXTENDED_IS_STATIC);
        } else {
            clustering::put_values(layout, row.clustering.values(), out);
        }
        vint::put(self.body.len() as u64, out);
        out.extend_from_slice(&self.body);
        Ok(())
    }

    fn put_liveness(&mut self, layout: &Layout, liveness: &Liveness) {
        if liveness.is_none() {
            return;
        }
        layout.stats.put_timestamp(liveness.timestamp, &mut self.body);
        if let Some(ttl) = liveness.ttl {
            layout.stats.put_ttl(ttl, &mut self.body);
            layout.stats.put_local_secs(liveness.expires_secs, &mut self.body);
        }
    }

    /// Appends a marker; one that neither ends nor begins anything is nothing.
    pub(crate) fn put_marker(&mut self, layout: &Layout, marker: &Marker, previous_bytes: u64, out: &mut Vec<u8>) {
        let Some(kind) = PrefixKind::of_marker(marker) else { return };
        self.body.clear();
        vint::put(previous_bytes, &mut self.body);
        for deletion in marker.ends.iter().chain(&marker.begins) {
            layout.stats.put_deletion(*deletion, &mut self.body);
        }
        out.push(IS_MARKER);
        clustering::put_bound(layout, kind, &marker.position, out);
        vint::put(self.body.len() as u64, out);
        out.extend_from_slice(&self.body);
    }
}

fn put_complex(
    layout: &Layout,
    liveness: &Liveness,
    complex: &ComplexColumn,
    has_deletion: bool,
    out: &mut Vec<u8>,
) -> Result<(), WrongLength> {
    if has_deletion {
        layout.stats.put_deletion(complex.deletion, out);
    }
    vint::put(complex.cells.len() as u64, out);
    complex.cells.iter().try_for_each(|(path, cell)| put_cell(layout, liveness, cell, Some(path), None, out))
}

fn put_cell(
    layout: &Layout,
    liveness: &Liveness,
    cell: &Cell,
    path: Option<&CellPath>,
    value_len: Option<usize>,
    out: &mut Vec<u8>,
) -> Result<(), WrongLength> {
    let is_deleted = cell.is_tombstone();
    let is_expiring = cell.ttl.is_some() && cell.local_deletion_secs != NEVER_SECS;
    let uses_row_timestamp = !liveness.is_none() && cell.timestamp == liveness.timestamp;
    let uses_row_ttl = is_expiring && cell.ttl == liveness.ttl && cell.local_deletion_secs == liveness.expires_secs;

    let mut flags = 0;
    let mut flag = |bit: u8, is_set: bool| flags |= if is_set { bit } else { 0 };
    flag(CELL_IS_DELETED, is_deleted);
    flag(CELL_IS_EXPIRING, is_expiring);
    flag(CELL_HAS_EMPTY_VALUE, cell.value.is_empty());
    flag(CELL_USES_ROW_TIMESTAMP, uses_row_timestamp);
    flag(CELL_USES_ROW_TTL, uses_row_ttl);
    out.push(flags);

    if !uses_row_timestamp {
        layout.stats.put_timestamp(cell.timestamp, out);
    }
    if (is_deleted || is_expiring) && !uses_row_ttl {
        layout.stats.put_local_secs(cell.local_deletion_secs, out);
    }
    if let Some(ttl) = cell.ttl.filter(|_| is_expiring && !uses_row_ttl) {
        layout.stats.put_ttl(ttl, out);
    }
    if let Some(path) = path {
        vint::put(path.raw().len() as u64, out);
        out.extend_from_slice(path.raw());
    }
    if !cell.value.is_empty() {
        match value_len {
            Some(expected) if expected != cell.value.len() => {
                return Err(WrongLength { expected, found: cell.value.len() });
            }
            Some(_) => {}
            None => vint::put(cell.value.len() as u64, out),
        }
        out.extend_from_slice(&cell.value);
    }
    Ok(())
}
