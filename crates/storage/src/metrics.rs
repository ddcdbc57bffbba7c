//! Counters and histograms of one shard's tables, gathered by value.

use std::collections::BTreeMap;
use std::time::Duration;

use helenus_sstable::EstimatedHistogram;

/// Bucket borders grow by a fifth, as Cassandra's `EstimatedHistogram` has them, so that `tablehistograms` can print
/// them as they are: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, … An observation falls into the first bucket whose
/// border is not below it; 115 borders reach 2 × 10^9, an hour of microseconds.
const BUCKET_COUNT: usize = 115;

/// How often values of each size were seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>, // One more than there are borders: the last is what lies beyond.
    zeros: u64,       // Part of the first bucket.
    sum: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKET_COUNT + 1], zeros: 0, sum: 0, max: 0 }
    }
}

impl Histogram {
    /// Upper borders of the buckets, ascending.
    #[must_use]
    pub fn borders() -> Vec<u64> {
        let mut borders = Vec::with_capacity(BUCKET_COUNT);
        let mut last = 1u64;
        borders.push(last);
        while borders.len() < BUCKET_COUNT {
            let next = (last * 6 + 2) / 5; // Rounded to the nearest integer, at least one more.
            last = next.max(last + 1);
            borders.push(last);
        }
        borders
    }

    pub fn record(&mut self, value: u64) {
        self.record_times(value, 1);
    }

    /// Records `value` so many times.
    pub fn record_times(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.counts[bucket_of(value)] += times;
        self.zeros += if value == 0 { times } else { 0 };
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        self.max = self.max.max(value);
    }

    pub fn record_micros(&mut self, duration: Duration) {
        self.record(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The least that the smallest observation can have been; 0 without any.
    #[must_use]
    pub fn min(&self) -> u64 {
        match self.counts.iter().position(|count| 0 < *count) {
            Some(0) => u64::from(self.zeros == 0),
            Some(bucket) => Self::borders().get(bucket - 1).map_or(0, |border| border + 1),
            None => 0,
        }
    }

    /// Counts a bucket, in the order of [`Histogram::borders`], and one for what lies beyond the last border.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The border below which `share` (0 to 1) of the observations lie, never above the largest of them; 0 without any.
    #[must_use]
    pub fn percentile(&self, share: f64) -> u64 {
        let count = self.count();
        let wanted = (share * count as f64).ceil() as u64;
        if wanted <= self.zeros {
            return 0;
        }
        let mut seen = 0;
        for (border, counted) in Self::borders().into_iter().zip(&self.counts) {
            seen += counted;
            if 0 < seen && wanted <= seen {
                return border.min(self.max);
            }
        }
        self.max
    }

    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(into, from)| *into += from);
        self.zeros += other.zeros;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

/// Index of the first border that is not below `value`.
fn bucket_of(value: u64) -> usize {
    let mut border = 1u64;
    for index in 0..BUCKET_COUNT {
        if value <= border {
            return index;
        }
        border = ((border * 6 + 2) / 5).max(border + 1);
    }
    BUCKET_COUNT
}

/// One table on one shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStats {
    pub reads: u64,
    pub writes: u64,
    pub read_latency_micros: Histogram,
    pub range_latency_micros: Histogram,
    pub write_latency_micros: Histogram,
    pub sstables_per_read: Histogram,
    pub tombstones_per_read: Histogram,
    pub live_rows_per_read: Histogram,
    pub tombstone_warnings: u64,
    pub tombstone_failures: u64,
    pub bloom_filter_false_positives: u64,
    pub bloom_filter_true_positives: u64,
    pub bloom_filter_negatives: u64,
    pub flushes: u64,
    pub flushed_bytes: u64,
    pub compactions: u64,
    pub compacted_bytes: u64,
    pub memtable_bytes: u64,
    pub memtable_partitions: u64,
    /// Memtable data that has not begun to flush, sealed ones not included.
    pub memtable_active_bytes: u64,
    pub sealed_memtables: u64,
    pub sstables: u64,
    /// Bytes of all components of the live files.
    pub live_bytes: u64,
    /// Bytes before compression.
    pub uncompressed_bytes: u64,
    /// Sum over files: a partition in two of them counts twice.
    pub partitions_estimate: u64,
    pub cells: u64,
    /// Rows and deletions that were applied to the memtables.
    pub memtable_operations: u64,
    pub pending_compactions: u64,
    /// Of all components of one file.
    pub largest_sstable_bytes: u64,
    /// By level; as long as the highest level needs it.
    pub levels: Vec<LevelStats>,
    /// Of data files that are compressed, before and after.
    pub compressible_bytes: u64,
    pub compressed_bytes: u64,
    pub max_partition_bytes: u64,
    /// From the files' statistics; `None` without files.
    pub partition_bytes: Option<EstimatedHistogram>,
    pub partition_cells: Option<EstimatedHistogram>,
    /// Estimates from the same: tombstones past their grace, and all cells.
    pub droppable_tombstones: f64,
    pub estimated_cells: f64,
    pub bloom_filter_bytes: u64,
    pub index_summary_bytes: u64,
    pub chunk_metadata_bytes: u64,
    pub last_truncated_micros: Option<i64>,
}

/// Adds one file's, or one shard's, estimate to those before.
pub fn merge_estimates(into: &mut Option<EstimatedHistogram>, from: &EstimatedHistogram) {
    match into {
        Some(into) => into.merge(from),
        None => *into = Some(from.clone()),
    }
}

/// The files of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStats {
    pub sstables: u64,
    /// Of their data components, on disk.
    pub bytes: u64,
}

/// One shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StorageStats {
    pub memtable_bytes: u64,
    pub memtable_limit_bytes: u64,
    pub blocked_on_memory: u64,
    pub commit_log_segments: u64,
    pub commit_log_bytes: u64,
    pub commit_log_records: u64,
    pub commit_log_pending: u64,
    pub commit_log_syncs: u64,
    pub commit_log_sync_micros: Histogram,
    pub commit_log_waiting_on_sync: u64,
    pub chunk_cache_bytes: u64,
    pub chunk_cache_hits: u64,
    pub chunk_cache_misses: u64,
    /// Reads of SSTables that wait for the device at this moment.
    pub queued_sstable_reads: u64,
    /// How many have waited so far, these included.
    pub all_queued_sstable_reads: u64,
    pub running_compactions: u64,
    pub pending_compactions: u64,
    pub completed_compactions: u64,
    pub compacted_bytes: u64,
    /// How long compactions have held the shard's thread.
    pub compaction_busy: Duration,
    pub flushes: u64,
    pub disk_refused_writes: u64,
    pub expired_requests: u64,
    pub locked_partitions: u64,
}

/// A compaction that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionProgress {
    pub id: uuid::Uuid,
    pub keyspace: String,
    pub table: String,
    pub table_id: helenus_data::TableId,
    pub kind: CompactionKind,
    /// Of the input's data, before compression.
    pub completed_bytes: u64,
    pub total_bytes: u64,
    pub sstables: u64,
    /// Seconds since 1970.
    pub started_secs: i64,
}

/// A compaction that ended: `system.compaction_history`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionRecord {
    pub id: uuid::Uuid,
    pub keyspace: String,
    pub table: String,
    pub kind: CompactionKind,
    pub compacted_at_micros: i64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub partitions_out: u64,
    /// How many partitions were merged from how many files each.
    pub partitions_by_sources: BTreeMap<u32, u64>,
}

/// What the files of a table hold of a range of tokens. Estimates of shards add up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RangeEstimate {
    pub partitions: u64,
    /// Of the files that reach into the range: partitions and their bytes, for the mean.
    pub sampled_partitions: u64,
    pub sampled_bytes: f64,
}

impl RangeEstimate {
    pub fn merge(&mut self, other: &Self) {
        self.partitions += other.partitions;
        self.sampled_partitions += other.sampled_partitions;
        self.sampled_bytes += other.sampled_bytes;
    }

    /// Mean size of a partition; 0 without files.
    #[must_use]
    pub fn mean_partition_bytes(&self) -> u64 {
        self.sampled_bytes.max(0.0) as u64 / self.sampled_partitions.max(1)
    }
}

/// Why files are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionKind {
    /// The table's strategy chose them.
    Strategy,
    /// Somebody asked for it.
    Major,
    /// One file, mostly droppable tombstones.
    Tombstones,
    /// Files of another shard count, of which this shard keeps its tokens.
    Reshard,
}

/// What replay did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    pub segments: u64,
    pub records: u64,
    /// Mutations applied on this shard.
    pub mutations_applied: u64,
    /// Of tables that do not exist any more.
    pub mutations_of_dropped_tables: u64,
    /// Already in files, or older than a TRUNCATE.
    pub mutations_covered: u64,
    /// Segments that ended in a torn write.
    pub torn_tails: u64,
    /// Damaged segments that were moved away under [`crate::DamagePolicy::Quarantine`].
    pub quarantined: Vec<std::path::PathBuf>,
    /// The largest timestamp in files or among what was replayed, as clients gave them; `None` when there is nothing.
    pub timestamp_max_micros: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_borders_of_their_buckets() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|value| histogram.record(value));
        assert_eq!(histogram.count(), 100);
        assert_eq!(histogram.percentile(0.5), 50);
        assert!(Histogram::borders().windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(&Histogram::borders()[..14], &[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24]);
        assert_eq!((histogram.min(), histogram.max()), (1, 100));
        assert_eq!(Histogram::default().percentile(0.99), 0);
        histogram.record(u64::MAX);
        assert_eq!(histogram.percentile(1.0), u64::MAX);
    }

    #[test]
    fn no_percentile_is_above_the_largest_observation_and_zeros_are_zeros() {
        let mut histogram = Histogram::default();
        histogram.record_times(0, 3);
        assert_eq!((histogram.min(), histogram.percentile(0.99)), (0, 0));
        histogram.record(100); // Between the borders 86 and 103.
        assert_eq!((histogram.percentile(0.5), histogram.percentile(0.99)), (0, 100));
        let mut larger = Histogram::default();
        larger.record(100);
        assert_eq!(larger.min(), 87);
        larger.merge(&histogram);
        assert_eq!((larger.min(), larger.count()), (0, 5));
    }
}
