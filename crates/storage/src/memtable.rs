//! Memtable: the newest writes of one table on one shard, kept in memory in the order in which they will be flushed.
//!
//! Role: `apply` merges mutations in, `batch` serves slices to readers, and the flush walks it from the first key on.
//!
//! Invariants
//! - Partitions stand in (token, key) order, rows in byte-comparable clustering order: the SSTable's own orders.
//! - `owned_bytes` is what the partitions hold on the heap and in the tree; the shard's memory is budgeted by it.
//! - Only what the commit log accepted is applied (`durable_writes = false` apart), so the log can rebuild us.
//! - Once sealed nothing changes; readers may hold it until its file has taken its place.
//!
//! Neighbours: `data::Partition` knows how to merge, `commit_log` up to where the log is in here, `table` owns one
//! active memtable and a queue of sealed ones. No I/O and no clock in here.
//!
//! Source: O'Neil et al., "The Log-Structured Merge-Tree (LSM-Tree)", 1996, section 2.

use std::borrow::Borrow;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound as RangeBound;
use std::rc::Rc;

use helenus_data::read::{KeyRange, RankInToken, RingPosition};
use helenus_data::{
    Batch, CellRule, ColumnData, DeletionTime, Direction, Partition, PartitionHeader, PartitionKey, Row, Rows, Side,
    Slice,
};
use helenus_env::{Env, SchedulingGroup};
use helenus_sstable::{EncodingStats, EncodingStatsCollector};
use helenus_types::token::Token;

use crate::commit_log::LogPosition;

/// A tree node holds 11 entries in arrays, on average three quarters full, and 24 bytes of its own.
const ENTRY_BYTES: usize = (size_of::<PartitionKey>() + size_of::<Entry>()) * 4 / 3 + 4;

struct Entry {
    partition: Partition,
    /// How many mutations are in it.
    changes: u64,
}

pub(crate) struct Memtable {
    rule: CellRule,
    partitions: RefCell<BTreeMap<PartitionKey, Entry>>,
    owned_bytes: Cell<usize>,
    /// Rows and deletions that were applied.
    operations: Cell<u64>,
    /// Smallest timestamps, deletion times and ttls of everything that was applied.
    extremes: RefCell<EncodingStatsCollector>,
    /// Set when sealed: everything of the table up to here is in this memtable, an earlier one, or a file.
    floor: Cell<Option<LogPosition>>,
}

impl Memtable {
    pub fn new(rule: CellRule) -> Self {
        Self {
            rule,
            partitions: RefCell::default(),
            owned_bytes: Cell::new(0),
            operations: Cell::new(0),
            extremes: RefCell::default(),
            floor: Cell::new(None),
        }
    }

    /// Merges a partition in; answers by how many bytes the memtable grew (negative: shrank).
    pub fn apply(&self, partition: Partition) -> isize {
        assert!(self.floor.get().is_none(), "a sealed memtable does not change");
        collect_extremes(&partition, &mut self.extremes.borrow_mut());
        self.operations.set(self.operations.get() + operations_in(&partition));
        let mut partitions = self.partitions.borrow_mut();
        let grown = if let Some(existing) = partitions.get_mut(&partition.key) {
            existing.changes += 1;
            existing.partition.absorb(partition, self.rule)
        } else {
            let bytes = ENTRY_BYTES + partition.key.heap_bytes() + partition.heap_bytes();
            partitions.insert(partition.key.clone(), Entry { partition, changes: 1 });
            isize::try_from(bytes).unwrap_or(isize::MAX)
        };
        let owned = self.owned_bytes.get().checked_add_signed(grown);
        self.owned_bytes.set(owned.expect("a partition never gives back more than it took"));
        grown
    }

    pub fn seal(&self, floor: LogPosition) {
        assert!(self.floor.replace(Some(floor)).is_none(), "sealed once");
    }

    pub fn floor(&self) -> Option<LogPosition> {
        self.floor.get()
    }

    pub fn is_empty(&self) -> bool {
        self.partitions.borrow().is_empty()
    }

    pub fn len(&self) -> usize {
        self.partitions.borrow().len()
    }

    pub fn owned_bytes(&self) -> usize {
        self.owned_bytes.get()
    }

    pub fn operations(&self) -> u64 {
        self.operations.get()
    }

    pub fn rule(&self) -> CellRule {
        self.rule
    }

    /// Lower bound of the timestamps (micros) of what is here; `i64::MAX` when nothing is.
    pub fn timestamp_min(&self) -> i64 {
        self.extremes.borrow().timestamp_min().unwrap_or(i64::MAX)
    }

    /// The bases for the deltas of the file that this memtable becomes.
    pub fn encoding(&self) -> EncodingStats {
        self.extremes.borrow().finish()
    }

    pub fn contains(&self, key: &PartitionKey) -> bool {
        self.partitions.borrow().contains_key(key)
    }

    /// The partition's own deletion; `None` when nothing of it is here.
    pub fn deletion(&self, key: &PartitionKey) -> Option<DeletionTime> {
        self.partitions.borrow().get(key).map(|entry| entry.partition.deletion)
    }

    pub fn header(&self, key: &PartitionKey) -> Option<PartitionHeader> {
        self.partitions.borrow().get(key).map(|entry| header_of(&entry.partition))
    }

    /// How many mutations are in a partition: as long as that does not change, batches of it belong together.
    pub fn changes(&self, key: &PartitionKey) -> u64 {
        self.partitions.borrow().get(key).map_or(0, |entry| entry.changes)
    }

    /// Rows and markers of one partition; see [`Partition::unfiltered`].
    pub fn batch(&self, key: &PartitionKey, slice: &Slice, direction: Direction, rows_max: usize) -> Batch {
        match self.partitions.borrow().get(key) {
            Some(entry) => entry.partition.unfiltered(slice, direction, rows_max),
            None => Batch { items: Vec::new(), resume: None },
        }
    }

    /// A copy of a partition of at most `rows_max` rows.
    pub fn copy(&self, key: &PartitionKey, rows_max: usize) -> Option<Partition> {
        let partitions = self.partitions.borrow();
        partitions.get(key).filter(|entry| entry.partition.rows.len() <= rows_max).map(|entry| entry.partition.clone())
    }

    /// The first key of `range` that stands after `last`.
    pub fn next_key(&self, range: &KeyRange, last: Option<&PartitionKey>) -> Option<PartitionKey> {
        let partitions = self.partitions.borrow();
        let after: &dyn OnRing = match last {
            Some(last) => last,
            None => &range.start,
        };
        let (key, _) =
            partitions.range::<dyn OnRing, _>((RangeBound::Excluded(after), RangeBound::Unbounded)).next()?;
        range.contains(key).then(|| key.clone())
    }

    /// What the bytes would be if they were counted afresh.
    #[cfg(test)]
    pub fn counted_bytes(&self) -> usize {
        let partitions = self.partitions.borrow();
        let partitions = partitions.values().map(|entry| &entry.partition);
        partitions.map(|partition| ENTRY_BYTES + partition.key.heap_bytes() + partition.heap_bytes()).sum()
    }
}

pub(crate) fn header_of(partition: &Partition) -> PartitionHeader {
    PartitionHeader {
        key: partition.key.clone(),
        deletion: partition.deletion,
        static_row: partition.static_row.as_deref().cloned(),
    }
}

/// The common order of keys and of the positions between them, so that a tree of keys can be searched for a position.
trait OnRing {
    /// Token, rank in the token, bytes, side.
    fn place(&self) -> (Token, u8, &[u8], u8);
}

impl OnRing for PartitionKey {
    fn place(&self) -> (Token, u8, &[u8], u8) {
        (self.token(), 1, self.bytes(), 1)
    }
}

impl OnRing for RingPosition {
    fn place(&self) -> (Token, u8, &[u8], u8) {
        match &self.rank {
            RankInToken::BeforeKeys => (self.token, 0, &[], 0),
            RankInToken::AtKey { bytes, side: Side::Before } => (self.token, 1, bytes, 0),
            RankInToken::AtKey { bytes, side: Side::After } => (self.token, 1, bytes, 2),
            RankInToken::AfterKeys => (self.token, 2, &[], 0),
        }
    }
}

impl<'a> Borrow<dyn OnRing + 'a> for PartitionKey {
    fn borrow(&self) -> &(dyn OnRing + 'a) {
        self
    }
}

impl PartialEq for dyn OnRing + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for dyn OnRing + '_ {}

impl PartialOrd for dyn OnRing + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn OnRing + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// Frees a memtable in steps, so that the millions of pieces that it may hold do not stop the shard. Left to the last
/// reader when one still has it.
pub(crate) async fn dismantle(env: &Env, memtable: Rc<Memtable>) {
    const PIECES_PER_STEP: usize = 256;
    let Ok(memtable) = Rc::try_unwrap(memtable) else { return };
    let mut partitions = memtable.partitions.into_inner();
    let mut pieces = 0;
    while let Some((_, Entry { partition, .. })) = partitions.pop_first() {
        pieces += 1;
        if let Rows::Many(mut rows) = partition.rows {
            while rows.pop_first().is_some() {
                pieces += 1;
                if PIECES_PER_STEP <= pieces {
                    pieces = 0;
                    SchedulingGroup::Flush.pace(env).await;
                }
            }
        }
        if PIECES_PER_STEP <= pieces {
            pieces = 0;
            SchedulingGroup::Flush.pace(env).await;
        }
    }
}

fn collect_extremes(partition: &Partition, extremes: &mut EncodingStatsCollector) {
    extremes.add_deletion(partition.deletion);
    partition.static_row.iter().for_each(|row| extremes.add_row(row));
    partition.rows.iter().for_each(|row| extremes.add_row(row));
    partition.range_tombstones.iter().for_each(|tombstone| extremes.add_deletion(tombstone.deletion));
}

/// As Cassandra counts them for `nodetool tablestats`. Source: Cassandra 5.0, `PartitionUpdate.operationCount`.
fn operations_in(partition: &Partition) -> u64 {
    let deletions = usize::from(!partition.deletion.is_live()) + partition.range_tombstones.iter().count();
    (partition.rows.len() + usize::from(partition.static_row.is_some()) + deletions) as u64
}

/// The largest timestamp (micros) of anything in a partition's changes; `None` when there is nothing in it.
pub(crate) fn timestamp_max(partition: &Partition) -> Option<i64> {
    let deletion = |deletion: DeletionTime| (!deletion.is_live()).then_some(deletion.timestamp);
    let row_max = |row: &Row| {
        let liveness = (!row.liveness.is_none()).then_some(row.liveness.timestamp);
        let cells = row.columns.iter().filter_map(|column| match &column.data {
            ColumnData::Simple(cell) => Some(cell.timestamp),
            ColumnData::Complex(complex) => {
                complex.cells.iter().map(|(_, cell)| cell.timestamp).max().max(deletion(complex.deletion))
            }
        });
        cells.max().max(liveness).max(deletion(row.deletion))
    };
    let rows = partition.rows.iter().filter_map(row_max).max();
    let ranges = partition.range_tombstones.iter().map(|tombstone| tombstone.deletion.timestamp).max();
    rows.max(ranges).max(partition.static_row.as_deref().and_then(row_max)).max(deletion(partition.deletion))
}

#[cfg(test)]
mod tests {
    use helenus_data::{Blob, Cell as DataCell, Clustering, ColumnId};

    use super::*;

    fn partition(key: u32, timestamp: i64, value_bytes: usize) -> Partition {
        let mut partition = Partition::new(PartitionKey::new(&key.to_be_bytes()));
        let cell = DataCell::live(timestamp, Blob::from(vec![7; value_bytes]));
        partition.row_mut(&Clustering::empty()).add_cell(ColumnId(3), cell);
        partition
    }

    #[test]
    fn owned_bytes_are_what_a_fresh_count_finds() {
        let memtable = Memtable::new(CellRule::Regular);
        for round in 0..300u32 {
            memtable.apply(partition(round % 40, i64::from(round), (round as usize * 7) % 90));
            assert_eq!(memtable.owned_bytes(), memtable.counted_bytes());
        }
        assert_eq!(memtable.timestamp_min(), 0);
        assert_eq!(memtable.len(), 40);
    }

    #[test]
    fn keys_are_walked_in_ring_order_from_any_position() {
        let memtable = Memtable::new(CellRule::Regular);
        (0..50).for_each(|key| {
            memtable.apply(partition(key, 1, 1));
        });
        let mut keys: Vec<PartitionKey> = (0..50u32).map(|key| PartitionKey::new(&key.to_be_bytes())).collect();
        keys.sort();
        let all = KeyRange::all();
        let mut walked = Vec::new();
        while let Some(key) = memtable.next_key(&all, walked.last()) {
            walked.push(key);
        }
        assert_eq!(walked, keys);
        let range = KeyRange {
            start: RingPosition::after_token(keys[9].token()),
            end: RingPosition::beside_key(&keys[11], Side::After),
        };
        assert_eq!(memtable.next_key(&range, None).as_ref(), Some(&keys[10]));
        assert_eq!(memtable.next_key(&range, Some(&keys[11])), None);
        let from = KeyRange { start: RingPosition::beside_key(&keys[4], Side::Before), ..all };
        assert_eq!(memtable.next_key(&from, None).as_ref(), Some(&keys[4]));
    }
}
