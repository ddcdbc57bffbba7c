//! Row collector: from merged rows to a replica's answer: dead cells out, filter, limits, position of the next page.
//!
//! The driver feeds one partition after the other and stops reading as soon as a call answers something else than
//! [`Flow::Continue`].

use crate::cell::{Cell, ColumnId};
use crate::key::{PartitionKey, Side};
use crate::read::filter::FilterTarget;
use crate::read::{ColumnSelection, PartitionRows, ReadCommand, ReadPosition, ReadResult};
use crate::row::{ColumnData, Row};
use crate::unfiltered::{Direction, PartitionHeader, Unfiltered};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// Nothing more is wanted of this partition.
    NextPartition,
    /// The answer is full.
    Stop,
}

pub struct RowCollector<'c> {
    command: &'c ReadCommand,
    result: ReadResult,
    current: Option<PartitionRows>,
    rows_left: u64,
    rows_in_partition: u64,
    bytes: usize,
    stopped: bool,
}

impl<'c> RowCollector<'c> {
    #[must_use]
    pub fn new(command: &'c ReadCommand) -> Self {
        Self {
            command,
            result: ReadResult::default(),
            current: None,
            rows_left: command.limits.rows,
            rows_in_partition: 0,
            bytes: 0,
            stopped: command.limits.rows == 0,
        }
    }

    /// Begins a partition whose header is merged and shadowed.
    pub fn start_partition(&mut self, header: PartitionHeader) -> Flow {
        if self.stopped {
            return Flow::Stop;
        }
        let now_secs = self.command.now_secs;
        self.result.last_key = Some(header.key.clone());
        if !header.deletion.is_live() {
            self.result.stats.tombstones += 1;
        }
        let static_row = header.static_row.and_then(|mut row| {
            self.strip(&mut row);
            (!row.columns.is_empty()).then_some(row)
        });
        if !self.command.filter.accepts_partition(&header.key, static_row.as_ref(), now_secs) {
            return Flow::NextPartition;
        }
        let resumed = self.command.resume.as_ref().filter(|position| position.key == header.key);
        self.rows_in_partition = resumed.map_or(0, |position| position.rows_in_partition);
        self.current = Some(PartitionRows { key: header.key, static_row, rows: Vec::new() });
        if self.command.limits.rows_per_partition <= self.rows_in_partition {
            return Flow::NextPartition;
        }
        Flow::Continue
    }

    pub fn push(&mut self, item: Unfiltered) -> Flow {
        let Unfiltered::Row(mut row) = item else {
            self.result.stats.tombstones += 1;
            return Flow::Continue;
        };
        let now_secs = self.command.now_secs;
        if !row.deletion.is_live() {
            self.result.stats.tombstones += 1;
        }
        let lives = row.has_live_data(now_secs) && self.is_seen(&row);
        self.result.stats.live_rows += u64::from(lives);
        self.strip(&mut row);
        if !lives || !self.command.filter.accepts_row(&row, now_secs) {
            return Flow::Continue;
        }
        row.columns.retain(|column| self.command.columns.contains(column.id));
        let Some(current) = &mut self.current else { return Flow::NextPartition };
        self.bytes += size_of::<Row>() + row.heap_bytes();
        let edge = match self.command.direction {
            Direction::Forward => Side::After,
            Direction::Reversed => Side::Before,
        };
        self.rows_in_partition += 1;
        self.rows_left -= 1;
        if self.rows_left == 0 || self.command.limits.bytes <= self.bytes {
            self.result.next = Some(ReadPosition {
                key: current.key.clone(),
                after: Some(row.clustering.as_bound(edge)),
                rows_in_partition: self.rows_in_partition,
            });
            self.stopped = true;
        }
        current.rows.push(row);
        if self.stopped {
            Flow::Stop
        } else if self.command.limits.rows_per_partition <= self.rows_in_partition {
            Flow::NextPartition
        } else {
            Flow::Continue
        }
    }

    /// Ends the partition begun last, also after it answered [`Flow::NextPartition`] or [`Flow::Stop`].
    pub fn end_partition(&mut self) -> Flow {
        let Some(mut current) = self.current.take() else {
            return if self.stopped { Flow::Stop } else { Flow::Continue };
        };
        if current.rows.is_empty() {
            let static_counts = current.static_row.is_some()
                && self.rows_in_partition == 0
                && self.command.limits.static_only_counts
                && !self.command.filter.has_row_terms();
            if !static_counts {
                return if self.stopped { Flow::Stop } else { Flow::Continue };
            }
            self.rows_left -= 1;
            self.result.stats.live_rows += 1;
            self.bytes += current.static_row.as_ref().map_or(0, Row::heap_bytes);
            if self.rows_left == 0 || self.command.limits.bytes <= self.bytes {
                self.result.next = Some(after_partition(&current.key));
                self.stopped = true;
            }
        }
        if let Some(row) = &mut current.static_row {
            row.columns.retain(|column| self.command.columns.contains(column.id));
        }
        self.result.partitions.push(current);
        if self.stopped { Flow::Stop } else { Flow::Continue }
    }

    /// The answer. Without a stop the target is exhausted and there is no next page.
    #[must_use]
    pub fn finish(mut self) -> ReadResult {
        self.end_partition();
        self.result
    }

    /// Whether what lives of a row is looked at: cells that nobody asked for do not count when they are older than the row's
    /// own liveness, so that they cannot keep a row whose liveness has expired.
    ///
    /// Source: Cassandra 5.0, `BTreeRow.filter`.
    fn is_seen(&self, row: &Row) -> bool {
        let ReadCommand { now_secs, columns, filter, .. } = self.command;
        let ColumnSelection::Only(selected) = columns else { return true };
        if row.liveness.is_none() || row.liveness.is_live(*now_secs) {
            return true;
        }
        let filtered = |id: ColumnId| {
            filter.terms.iter().any(|term| matches!(term.target, FilterTarget::Regular(column) if column == id))
        };
        let names_columns = !selected.is_empty()
            || filter
                .terms
                .iter()
                .any(|term| matches!(term.target, FilterTarget::Regular(_) | FilterTarget::Static(_)));
        let counts = |cell: &Cell| cell.is_live(*now_secs) && row.liveness.timestamp <= cell.timestamp;
        !names_columns
            || row.columns.iter().any(|column| match &column.data {
                data if columns.contains(column.id) || filtered(column.id) => data.has_live_cell(*now_secs),
                ColumnData::Simple(cell) => counts(cell),
                ColumnData::Complex(complex) => complex.cells.iter().any(|(_, cell)| counts(cell)),
            })
    }

    /// Drops what is dead and counts it.
    fn strip(&mut self, row: &mut Row) {
        let now_secs = self.command.now_secs;
        let mut tombstones = 0;
        row.columns.retain_mut(|column| match &mut column.data {
            ColumnData::Simple(cell) => {
                let lives = cell.is_live(now_secs);
                tombstones += u64::from(!lives);
                lives
            }
            ColumnData::Complex(complex) => {
                complex.deletion = crate::deletion::DeletionTime::LIVE;
                let cells = complex.cells.len();
                complex.cells.retain(|(_, cell)| cell.is_live(now_secs));
                tombstones += (cells - complex.cells.len()) as u64;
                !complex.cells.is_empty()
            }
        });
        self.result.stats.tombstones += tombstones;
    }
}

fn after_partition(key: &PartitionKey) -> ReadPosition {
    ReadPosition { key: key.clone(), after: None, rows_in_partition: 0 }
}
