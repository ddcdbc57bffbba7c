//! Reconciliation: which of two versions of a cell, row or deletion wins. The one place that knows.
//!
//! Rules for cells, in order: the later timestamp wins; on a tie what expires or is deleted beats what stays, a tombstone
//! beats an expiring cell, then the later local deletion time, then the shorter ttl, then the larger value by unsigned
//! bytes. Counter cells merge by shard and clock, and a counter's tombstone beats every increment.
//!
//! Invariant: merging is commutative, associative and idempotent; `tests.rs` holds the properties.
//!
//! Source: Cassandra 5.0, `db.rows.Cells`, `db.rows.Row.Merger`.

use std::cmp::Ordering;

use crate::cell::Cell;
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
                let by_life = by_time.then_with(|| right.ttl.cmp(&left.ttl));
                if by_life != Ordering::Equal {
                    return by_life;
                }
            }
        }
        left.value.cmp(&right.value)
    })
}

/// Merges `new` into `into`.
pub fn merge_cell(into: &mut Cell, new: Cell, rule: CellRule) {
    match rule {
        CellRule::Regular => {
            if compare_cells(into, &new) == Ordering::Less {
                *into = new;
            }
        }
        CellRule::Counter => merge_counter_cell(into, new),
    }
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

/// Merges the row `new` into `into`, both of the same clustering, and drops what the merged row deletion hides.
pub fn merge_row(into: &mut Row, new: Row, rule: CellRule) {
    if new.liveness.supersedes(&into.liveness) {
        into.liveness = new.liveness;
    }
    into.deletion = into.deletion.max(new.deletion);
    merge_columns(&mut into.columns, new.columns, rule);
    shadow_row(into, DeletionTime::LIVE);
}

fn merge_columns(into: &mut Vec<Column>, new: Vec<Column>, rule: CellRule) {
    if into.is_empty() {
        *into = new;
        return;
    }
    for column in new {
        match into.binary_search_by_key(&column.id, |existing| existing.id) {
            Err(at) => into.insert(at, column),
            Ok(at) => match (&mut into[at].data, column.data) {
                (ColumnData::Simple(existing), ColumnData::Simple(cell)) => merge_cell(existing, cell, rule),
                (ColumnData::Complex(existing), ColumnData::Complex(complex)) => {
                    merge_complex(existing, *complex, rule)
                }
                // Same id, other shape: cannot come from one schema history; the complex form wins, deterministically.
                (existing @ ColumnData::Simple(_), data @ ColumnData::Complex(_)) => *existing = data,
                (ColumnData::Complex(_), ColumnData::Simple(_)) => {}
            },
        }
    }
}

fn merge_complex(into: &mut ComplexColumn, new: ComplexColumn, rule: CellRule) {
    into.deletion = into.deletion.max(new.deletion);
    if into.cells.is_empty() {
        into.cells = new.cells;
        return;
    }
    let mut merged = Vec::with_capacity(into.cells.len() + new.cells.len());
    let mut left = std::mem::take(&mut into.cells).into_iter().peekable();
    let mut right = new.cells.into_iter().peekable();
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some((a, _)), Some((b, _))) => a.order().cmp(b.order()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        match order {
            Ordering::Less => merged.extend(left.next()),
            Ordering::Greater => merged.extend(right.next()),
            Ordering::Equal => {
                if let (Some((path, mut cell)), Some((_, new))) = (left.next(), right.next()) {
                    merge_cell(&mut cell, new, rule);
                    merged.push((path, cell));
                }
            }
        }
    }
    into.cells = merged;
}

/// Removes from `row` what its own deletion and `outer` (range or partition) hide; the deletions themselves stay, unless
/// `outer` makes the row's own redundant.
pub fn shadow_row(row: &mut Row, outer: DeletionTime) {
    let deletion = row.deletion.max(outer);
    if !deletion.is_live() {
        row.liveness = row.liveness.under(deletion);
    }
    row.columns.retain_mut(|column| match &mut column.data {
        ColumnData::Simple(cell) => !deletion.deletes(cell.timestamp),
        ColumnData::Complex(complex) => {
            shadow_complex(complex, deletion);
            !complex.is_empty()
        }
    });
    if !outer.is_live() && !row.deletion.supersedes(&outer) {
        row.deletion = DeletionTime::LIVE;
    }
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
