//! Reconciliation: which of two versions of a cell, row or deletion wins. The one place that knows.
//!
//! Rules for cells, in order: the later timestamp wins; on a tie what expires or is deleted beats what stays, a tombstone
//! beats an expiring cell, then the later local deletion time, then the shorter ttl (a value means something only until
//! it expires, so it is asked last), then the larger value by unsigned bytes. Counter cells merge by shard and clock, and
//! a counter's tombstone beats every increment.
//!
//! Invariants
//! - Merging regular cells is commutative, associative and idempotent; `tests.rs` holds the properties.
//! - What a deletion hides is dropped on both sides before cells are merged: a merged counter has the later timestamp of
//!   the two and would carry the deleted one's count past the deletion.
//!
//! Source: Cassandra 5.0, `db.rows.Cells`, `db.rows.Row.Merger`.

use std::cmp::Ordering;

use crate::cell::{Cell, CellPath};
use crate::counter;
use crate::deletion::{DeletionTime, NEVER_SECS};
use crate::row::{Column, ColumnData, ComplexColumn, Row};

/// How the cells of a table reconcile; a table has either counters only or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellRule {
    Regular,
    Counter,
}

/// Whether `left` wins over `right`, `Equal` when they are the same.
#[must_use]
pub fn compare_cells(left: &Cell, right: &Cell) -> Ordering {
    let fades = |cell: &Cell| cell.local_deletion_secs != NEVER_SECS;
    left.timestamp.cmp(&right.timestamp).then_with(|| {
        match (fades(left), fades(right)) {
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => {}
            (true, true) => {
                let by_kind = left.is_tombstone().cmp(&right.is_tombstone());
                let by_time = by_kind.then_with(|| left.local_deletion_secs.cmp(&right.local_deletion_secs));
                // The shorter life was written later.
                let by_ttl = by_time.then_with(|| right.ttl.cmp(&left.ttl));
                if by_ttl != Ordering::Equal {
                    return by_ttl;
                }
            }
        }
        left.value.cmp(&right.value)
    })
}

/// Merges `new` into `into`; answers by how many bytes the heap grew (negative: shrank).
pub fn merge_cell(into: &mut Cell, new: Cell, rule: CellRule) -> isize {
    let before = signed(into.heap_bytes());
    match rule {
        CellRule::Regular => {
            if compare_cells(into, &new) == Ordering::Less {
                *into = new;
            }
        }
        CellRule::Counter => merge_counter_cell(into, new),
    }
    signed(into.heap_bytes()) - before
}

/// As [`merge_cell`] for a cell of a complex column: the path is the winner's. Paths may be equal and have other bytes, as
/// decimals of another scale do. Answers by how many bytes the heap grew.
pub fn merge_entry(into: &mut (CellPath, Cell), new: (CellPath, Cell), rule: CellRule) -> isize {
    let before = signed(into.0.heap_bytes());
    if rule == CellRule::Regular && compare_cells(&into.1, &new.1) == Ordering::Less {
        into.0 = new.0;
    }
    merge_cell(&mut into.1, new.1, rule) + signed(into.0.heap_bytes()) - before
}

fn merge_counter_cell(into: &mut Cell, new: Cell) {
    match (into.is_tombstone(), new.is_tombstone()) {
        (true, true) => {
            if compare_cells(into, &new) == Ordering::Less {
                *into = new;
            }
        }
        (true, false) => {}
        (false, true) => *into = new,
        (false, false) => {
            into.value = counter::merge(&into.value, &new.value);
            into.timestamp = into.timestamp.max(new.timestamp);
        }
    }
}

/// Merges the row `new` into `into`, both of the same clustering, and drops what the merged row deletion hides. Answers by
/// how many bytes the heap grew (negative: shrank).
///
/// `outer` is what else is known to delete the row (partition, range, other versions of the row): under
/// [`CellRule::Counter`] it must be complete, and what it hides goes, too; for regular cells [`shadow_row`] may come later.
pub fn merge_row(into: &mut Row, mut new: Row, outer: DeletionTime, rule: CellRule) -> isize {
    let mut grown = 0;
    if new.liveness.supersedes(&into.liveness) {
        into.liveness = new.liveness;
    }
    let deletion = into.deletion.max(new.deletion);
    let hides = match rule {
        CellRule::Regular => deletion,
        CellRule::Counter => deletion.max(outer),
    };
    let is_raised = hides.supersedes(&into.deletion);
    into.deletion = deletion;
    if is_raised {
        let before = signed(into.heap_bytes());
        shadow_columns(&mut into.columns, hides);
        grown += signed(into.heap_bytes()) - before;
    }
    into.liveness = into.liveness.under(deletion);
    shadow_columns(&mut new.columns, hides);
    grown + merge_columns(&mut into.columns, new.columns, rule)
}

fn merge_columns(into: &mut Vec<Column>, new: Vec<Column>, rule: CellRule) -> isize {
    let slots_before = into.capacity();
    let slots_grown =
        |into: &Vec<Column>| (signed(into.capacity()) - signed(slots_before)) * signed(size_of::<Column>());
    if into.is_empty() {
        *into = new;
        return slots_grown(into) + into.iter().map(|column| signed(column.data.heap_bytes())).sum::<isize>();
    }
    let mut grown = 0;
    for column in new {
        match into.binary_search_by_key(&column.id, |existing| existing.id) {
            Err(at) => {
                grown += signed(column.data.heap_bytes());
                into.insert(at, column);
            }
            Ok(at) => match (&mut into[at].data, column.data) {
                (ColumnData::Simple(existing), ColumnData::Simple(cell)) => grown += merge_cell(existing, cell, rule),
                (ColumnData::Complex(existing), ColumnData::Complex(complex)) => {
                    grown += merge_complex(existing, *complex, rule);
                }
                // Same id, other shape: cannot come from one schema history; the complex form wins, deterministically.
                (existing @ ColumnData::Simple(_), data @ ColumnData::Complex(_)) => {
                    grown += signed(data.heap_bytes()) - signed(existing.heap_bytes());
                    *existing = data;
                }
                (ColumnData::Complex(_), ColumnData::Simple(_)) => {}
            },
        }
    }
    grown + slots_grown(into)
}

/// From this many times more cells on the larger side the others are put into their places one by one: moving half of a
/// large vector once a cell costs less than making it anew.
const INSERT_FROM_RATIO: usize = 16;

fn merge_complex(into: &mut ComplexColumn, mut new: ComplexColumn, rule: CellRule) -> isize {
    let cell_bytes = |(path, cell): &(CellPath, Cell)| signed(path.heap_bytes() + cell.heap_bytes());
    let slots_before = into.cells.capacity();
    let mut grown = 0;
    if new.deletion.supersedes(&into.deletion) {
        into.deletion = new.deletion;
        into.cells.retain(|entry| {
            let stays = !new.deletion.deletes(entry.1.timestamp);
            grown -= if stays { 0 } else { cell_bytes(entry) };
            stays
        });
    }
    new.cells.retain(|(_, cell)| !into.deletion.deletes(cell.timestamp));
    if new.cells.len() * INSERT_FROM_RATIO <= into.cells.len() {
        for (path, cell) in new.cells {
            match into.cells.binary_search_by(|(other, _)| other.order().cmp(path.order())) {
                Ok(at) => grown += merge_entry(&mut into.cells[at], (path, cell), rule),
                Err(at) => {
                    let entry = (path, cell);
                    grown += cell_bytes(&entry);
                    into.cells.insert(at, entry);
                }
            }
        }
    } else {
        let before: isize = into.cells.iter().map(cell_bytes).sum();
        into.cells = merged_cells(std::mem::take(&mut into.cells), new.cells, rule);
        grown += into.cells.iter().map(cell_bytes).sum::<isize>() - before;
    }
    grown + (signed(into.cells.capacity()) - signed(slots_before)) * signed(size_of::<(CellPath, Cell)>())
}

fn merged_cells(left: Vec<(CellPath, Cell)>, right: Vec<(CellPath, Cell)>, rule: CellRule) -> Vec<(CellPath, Cell)> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some((a, _)), Some((b, _))) => a.order().cmp(b.order()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return merged,
        };
        match order {
            Ordering::Less => merged.extend(left.next()),
            Ordering::Greater => merged.extend(right.next()),
            Ordering::Equal => {
                if let (Some(mut entry), Some(new)) = (left.next(), right.next()) {
                    merge_entry(&mut entry, new, rule);
                    merged.push(entry);
                }
            }
        }
    }
}

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

/// Removes from `row` what its own deletion and `outer` (range or partition) hide; the deletions themselves stay, unless
/// `outer` makes the row's own redundant.
pub fn shadow_row(row: &mut Row, outer: DeletionTime) {
    let deletion = row.deletion.max(outer);
    if !deletion.is_live() {
        row.liveness = row.liveness.under(deletion);
    }
    shadow_columns(&mut row.columns, deletion);
    if !outer.is_live() && !row.deletion.supersedes(&outer) {
        row.deletion = DeletionTime::LIVE;
    }
}

fn shadow_columns(columns: &mut Vec<Column>, deletion: DeletionTime) {
    columns.retain_mut(|column| match &mut column.data {
        ColumnData::Simple(cell) => !deletion.deletes(cell.timestamp),
        ColumnData::Complex(complex) => {
            shadow_complex(complex, deletion);
            !complex.is_empty()
        }
    });
}

fn shadow_complex(complex: &mut ComplexColumn, outer: DeletionTime) {
    let deletion = complex.deletion.max(outer);
    if !deletion.is_live() {
        complex.cells.retain(|(_, cell)| !deletion.deletes(cell.timestamp));
    }
    if !outer.is_live() && !complex.deletion.supersedes(&outer) {
        complex.deletion = DeletionTime::LIVE;
    }
}

#[cfg(test)]
mod tests;
