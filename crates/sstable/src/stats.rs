//! What an SSTable says of its content, without reading it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use helenus_data::{NEVER_SECS, PartitionKey, Side, Slice};
use helenus_schema::Table;
use uuid::Uuid;

use crate::descriptor::Descriptor;
use crate::histogram::EstimatedHistogram;
use crate::statistics::StoredStats;
use crate::tombstone_histogram::TombstoneHistogram;

#[derive(Clone, Debug, PartialEq)]
pub struct SsTableStats {
    pub descriptor: Descriptor,
    pub first_key: PartitionKey,
    pub last_key: PartitionKey,
    /// Microseconds; `i64::MIN` and `i64::MAX` when nothing in the file has a timestamp.
    pub timestamp_min: i64,
    pub timestamp_max: i64,
    /// Seconds since 1970; `NEVER_SECS` for what does not go.
    pub local_deletion_min: u32,
    pub local_deletion_max: u32,
    /// Seconds; 0 for what does not expire.
    pub ttl_min: i32,
    pub ttl_max: i32,
    pub tombstones: TombstoneHistogram,
    /// Every row and marker stands inside.
    pub covered: Slice,
    pub partition_bytes: EstimatedHistogram,
    pub partition_cells: EstimatedHistogram,
    pub row_count: u64,
    /// Columns set, summed over rows; a complex column counts once.
    pub column_count: u64,
    /// Bytes of the data file before compression.
    pub data_bytes: u64,
    /// Bytes of all components on disk.
    pub disk_bytes: u64,
    /// Compressed by plain bytes; `None` without compression.
    pub compression_ratio: Option<f64>,
    pub level: u32,
    /// Milliseconds since 1970, 0 when not repaired.
    pub repaired_at: i64,
    pub pending_repair: Option<Uuid>,
    pub is_transient: bool,
    /// The node that wrote the file.
    pub host_id: Option<Uuid>,
    /// Our own metadata.
    pub extra: BTreeMap<String, String>,
}

/// What is known of a file apart from its statistics component.
pub(crate) struct FileFacts {
    pub(crate) descriptor: Descriptor,
    pub(crate) first_key: PartitionKey,
    pub(crate) last_key: PartitionKey,
    pub(crate) data_bytes: u64,
    pub(crate) disk_bytes: u64,
    pub(crate) extra: BTreeMap<String, String>,
}

impl SsTableStats {
    pub(crate) fn new(stored: &StoredStats, facts: FileFacts, table: &Table) -> Self {
        let clustering = table.clustering_types();
        let columns = clustering.columns().len();
        let prefix = |values: &[Vec<u8>], side| clustering.bound(&values[..values.len().min(columns)], side);
        Self {
            descriptor: facts.descriptor,
            first_key: facts.first_key,
            last_key: facts.last_key,
            timestamp_min: stored.timestamp_min,
            timestamp_max: stored.timestamp_max,
            local_deletion_min: stored.local_deletion_min,
            local_deletion_max: stored.local_deletion_max,
            ttl_min: stored.ttl_min,
            ttl_max: stored.ttl_max,
            tombstones: stored.tombstones.clone(),
            covered: Slice {
                start: prefix(&stored.clustering_min, Side::Before),
                end: prefix(&stored.clustering_max, Side::After),
            },
            partition_bytes: stored.partition_bytes.clone(),
            partition_cells: stored.partition_cells.clone(),
            row_count: stored.rows.max(0).unsigned_abs(),
            column_count: stored.columns_set.max(0).unsigned_abs(),
            data_bytes: facts.data_bytes,
            disk_bytes: facts.disk_bytes,
            compression_ratio: Some(stored.compression_ratio).filter(|ratio| 0.0 <= *ratio),
            level: u32::try_from(stored.level).unwrap_or(0),
            repaired_at: stored.repaired_at,
            pending_repair: stored.pending_repair,
            is_transient: stored.is_transient,
            host_id: stored.host_id,
            extra: facts.extra,
        }
    }

    #[must_use]
    pub fn partition_count(&self) -> u64 {
        self.partition_bytes.count()
    }

    /// Whether anything in the file is deleted or expires.
    #[must_use]
    pub fn has_tombstones(&self) -> bool {
        self.local_deletion_min != NEVER_SECS
    }

    /// Tombstones that were written before `gc_before_secs`, by all columns.
    #[must_use]
    pub fn droppable_ratio(&self, gc_before_secs: u32) -> f64 {
        let cells = self.partition_cells.mean().ceil() * self.partition_cells.count() as f64;
        if cells <= 0.0 { 0.0 } else { self.tombstones.droppable_before(gc_before_secs) / cells }
    }

    /// A page of text for tools: a line a fact, then the tombstones by time.
    #[must_use]
    pub fn report(&self) -> String {
        let mut out = String::new();
        let secs = |secs: u32| if secs == NEVER_SECS { "no tombstones".to_owned() } else { secs.to_string() };
        let mut line = |name: &str, value: String| {
            let _ = writeln!(out, "{name}: {value}"); // Writing to a string cannot fail.
        };
        line("SSTable", self.descriptor.directory.join(self.descriptor.base_name()).display().to_string());
        line("First token", self.first_key.token().to_string());
        line("Last token", self.last_key.token().to_string());
        line("Partitions", self.partition_count().to_string());
        line("Rows", self.row_count.to_string());
        line("Columns set", self.column_count.to_string());
        line("Minimum timestamp", self.timestamp_min.to_string());
        line("Maximum timestamp", self.timestamp_max.to_string());
        line("Minimum local deletion time", secs(self.local_deletion_min));
        line("Maximum local deletion time", secs(self.local_deletion_max));
        line("TTL min", self.ttl_min.to_string());
        line("TTL max", self.ttl_max.to_string());
        line("Data bytes", self.data_bytes.to_string());
        line("Bytes on disk", self.disk_bytes.to_string());
        line("Compression ratio", self.compression_ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.4}")));
        line("Level", self.level.to_string());
        line("Repaired at", self.repaired_at.to_string());
        line("Pending repair", self.pending_repair.map_or("-".to_owned(), |uuid| uuid.to_string()));
        line("Originating host id", self.host_id.map_or("-".to_owned(), |uuid| uuid.to_string()));
        line("Partition bytes, 50th percentile", self.partition_bytes.percentile(0.5).to_string());
        line("Partition bytes, 99th percentile", self.partition_bytes.percentile(0.99).to_string());
        line("Partition bytes, largest", self.partition_bytes.max().to_string());
        for (key, value) in &self.extra {
            line(key, value.clone());
        }
        for (secs, count) in self.tombstones.bins() {
            line("Tombstones", format!("{count} at {secs}"));
        }
        out
    }
}
