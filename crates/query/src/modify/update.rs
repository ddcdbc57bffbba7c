//! Update: the mutation of one partition while statements write into it.

use std::sync::atomic::{AtomicI64, Ordering};

use helenus_data::{Blob, Cell, CellPath, ComplexColumn, DeletionTime, Liveness, Row};
use helenus_env::Env;
use helenus_schema::Column;
use helenus_types::time::{self, Ttl};
use helenus_types::{CqlType, value};

/// What all cells of a statement have in common.
pub struct UpdateParameters<'u> {
    pub env: &'u Env,
    pub prepend_clock: &'u PrependClock,
    /// Microseconds.
    pub timestamp: i64,
    pub ttl: Option<Ttl>,
    pub now_secs: i64,
    /// The row as it is stored, when an operation has to know it.
    pub existing: Option<&'u Row>,
}

impl UpdateParameters<'_> {
    #[must_use]
    pub fn cell(&self, value: Blob) -> Cell {
        match self.ttl {
            Some(ttl) => Cell::expiring(self.timestamp, ttl, self.now_secs, value),
            None => Cell::live(self.timestamp, value),
        }
    }

    #[must_use]
    pub fn tombstone(&self) -> Cell {
        Cell::tombstone(self.timestamp, self.now_secs)
    }

    #[must_use]
    pub fn deletion(&self) -> DeletionTime {
        let local_secs = u32::try_from(self.now_secs.max(0)).unwrap_or(u32::MAX - 1).min(u32::MAX - 1);
        DeletionTime { timestamp: self.timestamp, local_secs }
    }

    /// What hides the old content of a column that is overwritten: a microsecond older than the new content.
    #[must_use]
    pub fn overwrite_deletion(&self) -> DeletionTime {
        DeletionTime { timestamp: self.timestamp.saturating_sub(1), ..self.deletion() }
    }

    #[must_use]
    pub fn liveness(&self) -> Liveness {
        Liveness::new(self.timestamp, self.ttl, self.now_secs)
    }

    /// The content of a non-frozen column as the statement finds it: what is stored and what it already wrote itself.
    #[must_use]
    pub fn current_complex(&self, pending: &Row, column: &Column) -> ComplexColumn {
        let mut current = self.existing.and_then(|row| row.complex(column.id)).cloned().unwrap_or_default();
        if let Some(new) = pending.complex(column.id) {
            current.cells.retain(|(_, cell)| !new.deletion.deletes(cell.timestamp));
            for (path, cell) in &new.cells {
                current.add_cell(path.clone(), cell.clone());
            }
        }
        current.cells.retain(|(_, cell)| cell.is_live(self.now_secs));
        current
    }

    /// The value of a plain column as the statement finds it.
    #[must_use]
    pub fn current_value(&self, pending: &Row, column: &Column) -> Option<Blob> {
        let cell = pending.cell(column.id).or_else(|| self.existing.and_then(|row| row.cell(column.id)))?;
        cell.is_live(self.now_secs).then(|| cell.value.clone())
    }

    /// Positions of `count` elements at the end of a list, in order.
    pub fn append_paths(&self, count: usize) -> impl Iterator<Item = CellPath> {
        let env = self.env;
        (0..count).map(move |_| CellPath::new(&CqlType::Timeuuid, env.new_timeuuid().as_bytes()))
    }

    /// Positions of `count` elements before a list, in order.
    pub fn prepend_paths(&self, count: usize) -> impl Iterator<Item = CellPath> {
        let first = self.prepend_clock.take(self.env, count);
        let identity = self.env.new_timeuuid().into_bytes();
        (0..count).map(move |index| {
            let ticks = first + i64::try_from(index).unwrap_or(0);
            let mut clock_and_node = [0; 8];
            clock_and_node.copy_from_slice(&identity[8..]);
            let extra = u8::try_from(ticks.rem_euclid(10)).unwrap_or(0);
            let uuid = time::timeuuid(ticks.div_euclid(10), extra, clock_and_node);
            CellPath::new(&CqlType::Timeuuid, &uuid)
        })
    }
}

/// Where elements are put that go before all others of a list: times that run backwards from 2010-01-01 as fast as time
/// runs forwards, so that what is prepended later stands earlier.
///
/// One a node: taken tickets never overlap. In units of 100 ns since the epoch.
///
/// Source: Cassandra 5.0, `cql3.Lists.PrecisionTime`.
#[derive(Debug)]
pub struct PrependClock(AtomicI64);

const REFERENCE_MICROS: i64 = 1_262_304_000_000_000;

impl Default for PrependClock {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MAX))
    }
}

impl PrependClock {
    /// The first of `count` tickets, all before every one taken earlier.
    fn take(&self, env: &Env, count: usize) -> i64 {
        let count = i64::try_from(count).unwrap_or(i64::MAX / 4);
        let mirrored = 2 * REFERENCE_MICROS - env.wall_micros();
        let now = mirrored.saturating_mul(10);
        let mut last = self.0.load(Ordering::Relaxed);
        loop {
            let first = last.min(now) - count;
            match self.0.compare_exchange_weak(last, first, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return first,
                Err(found) => last = found,
            }
        }
    }
}

/// Adds to the increment of a counter that the same update may already carry.
pub fn add_counter(row: &mut Row, column: &Column, timestamp: i64, delta: i64) {
    let before = row.cell(column.id).and_then(|cell| value::decode_bigint(&cell.value)).unwrap_or(0);
    let sum = Cell::live(timestamp, Blob::from(before.wrapping_add(delta).to_be_bytes()));
    row.columns.retain(|existing| existing.id != column.id);
    row.add_cell(column.id, sum);
}
