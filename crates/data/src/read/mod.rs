//! Read command: which rows of one table a replica is asked for, and what it answers.
//!
//! Role: the coordinator makes it, the replica evaluates it inside `storage`, virtual tables evaluate the same one in
//! memory. Everything that decides about rows (filter, limits, paging position) is here and pure.

mod collector;
mod filter;
mod range;

pub use collector::{Flow, RowCollector};
pub use filter::{FilterOperator, FilterTarget, FilterTerm, RowFilter};
pub use range::{KeyRange, RankInToken, RingPosition};

use uuid::Uuid;

use crate::cell::ColumnId;
use crate::key::{Bound, PartitionKey, Slice};
use crate::row::Row;
use crate::unfiltered::Direction;

/// Identity of a table: `system_schema.tables.id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub Uuid);

#[derive(Clone, Debug)]
pub struct ReadCommand {
    pub table: TableId,
    pub target: ReadTarget,
    /// Which rows of each partition: ascending, not overlapping, none empty. An empty list reads the static row only.
    pub slices: Vec<Slice>,
    pub direction: Direction,
    /// Which cells come back; whether a row lives is decided by all of its cells.
    pub columns: ColumnSelection,
    pub filter: RowFilter,
    pub limits: ReadLimits,
    /// Seconds since 1970 by which ttls are judged.
    pub now_secs: i64,
    /// Where an earlier page stopped.
    pub resume: Option<ReadPosition>,
}

#[derive(Clone, Debug)]
pub enum ReadTarget {
    Partition(PartitionKey),
    Range(KeyRange),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnSelection {
    All,
    /// Ascending.
    Only(Vec<ColumnId>),
}

impl ColumnSelection {
    #[must_use]
    pub fn contains(&self, id: ColumnId) -> bool {
        match self {
            ColumnSelection::All => true,
            ColumnSelection::Only(ids) => ids.binary_search(&id).is_ok(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Rows in the whole answer (the smaller of LIMIT's rest and the page); `u64::MAX` for no limit.
    pub rows: u64,
    /// Rows of one partition, over all pages.
    pub rows_per_partition: u64,
    /// The answer stops after the row that makes it this large; `usize::MAX` for no limit.
    pub bytes: usize,
    /// The number of partitions without a static row's content counts: a partition that has only a static row gives one
    /// row. `false` when the clustering was restricted, so that such partitions give nothing.
    pub static_only_counts: bool,
}

impl ReadLimits {
    pub const NONE: ReadLimits =
        ReadLimits { rows: u64::MAX, rows_per_partition: u64::MAX, bytes: usize::MAX, static_only_counts: true };
}

/// After which row a read goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPosition {
    pub key: PartitionKey,
    /// The edge of the last row in reading direction; `None`: the partition is done with, go on after it.
    pub after: Option<Bound>,
    /// Rows already answered of that partition.
    pub rows_in_partition: u64,
}

/// What a replica answers: live rows only, in reading order, reduced to the selected columns.
#[derive(Clone, Debug, Default)]
pub struct ReadResult {
    pub partitions: Vec<PartitionRows>,
    /// `None` when there is nothing more to read.
    pub next: Option<ReadPosition>,
    pub stats: ReadStats,
    /// The last partition met, whether or not anything of it lives.
    pub last_key: Option<PartitionKey>,
}

#[derive(Clone, Debug)]
pub struct PartitionRows {
    pub key: PartitionKey,
    pub static_row: Option<Row>,
    /// May be empty: then the partition counts as one row made of its static part.
    pub rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Live rows met, also those that the filter refused.
    pub live_rows: u64,
    /// Tombstones met: row, range, complex and cell tombstones, expired cells.
    pub tombstones: u64,
}

impl ReadResult {
    /// Rows as a client counts them.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.partitions.iter().map(|partition| partition.rows.len().max(1) as u64).sum()
    }
}
