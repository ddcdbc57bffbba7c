//! Configuration of one shard's storage: what the node's configuration comes to, divided by the number of shards.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use helenus_schema::{SchemaSnapshot, Table};

use crate::node::StorageNode;

/// Makes the text of a table's `schema.cql` in snapshots.
pub type DescribeTable = Arc<dyn Fn(&SchemaSnapshot, &Table) -> String + Send + Sync>;

#[derive(Clone)]
pub struct StorageConfig {
    /// What the shards of this node share; made once per node.
    pub node: Arc<StorageNode>,
    /// New files of shard `n` go to directory `n` modulo their number.
    pub data_directories: Vec<PathBuf>,
    pub commit_log_directory: PathBuf,
    pub commit_log_sync: CommitLogSync,
    pub commit_log_damage: DamagePolicy,
    /// `commitlog_segment_size`; one record takes at most half of it.
    pub segment_bytes: u64,
    /// This shard's part of `commitlog_total_space`: beyond it, the tables of the oldest segment are flushed.
    pub commit_log_bytes: u64,
    /// This shard's memory for memtables: writes wait beyond it.
    pub memory_bytes: u64,
    /// Part of `memory_bytes` from which on the largest memtable is flushed.
    pub flush_at_share: f64,
    /// How many tables flush at the same time.
    pub flush_writers: usize,
    /// This shard's cache of decompressed SSTable chunks.
    pub chunk_cache_bytes: u64,
    pub column_index_bytes: u32,
    /// How many compactions of this shard run at the same time.
    pub compactors: usize,
    /// This shard's part of `compaction_throughput`, in bytes of input a second; 0 is no limit.
    pub compaction_bytes_per_sec: u64,
    /// Free bytes of a data or commit log directory's file system at which writes are refused.
    pub disk_reserve_bytes: u64,
    /// `tombstone_warn_threshold`: counted in the table's statistics.
    pub tombstone_warn_threshold: u64,
    /// `tombstone_failure_threshold`: [`crate::StorageError::TooManyTombstones`].
    pub tombstone_failure_threshold: u64,
    /// `auto_snapshot`: before TRUNCATE and DROP TABLE.
    pub auto_snapshot: bool,
    /// This node's identity in counter contexts.
    pub counter_id: [u8; 16],
    pub describe_table: DescribeTable,
}

/// When a write is acknowledged. Source: Cassandra 5.0, `commitlog_sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitLogSync {
    /// Once it is in the kernel. Syncs follow each other; `period` is the oldest that an unsynced record may become
    /// before writers wait.
    Periodic { period: Duration },
    /// Once it is on the device.
    Batch,
    /// As `Batch`, with a sync at most once a `window`.
    Group { window: Duration },
}

/// What replay does about damage that no torn write explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DamagePolicy {
    /// The start fails, naming the place.
    #[default]
    Stop,
    /// The damaged segment is replayed up to the damage, moved to `quarantine/`, and reported.
    Quarantine,
}

impl StorageConfig {
    /// Cassandra's defaults for one of `shard_count` shards under `root`: `data/`, `commitlog/`.
    #[must_use]
    pub fn new(root: &std::path::Path, shard_count: u32, memory_bytes: u64) -> Self {
        let shards = u64::from(shard_count.max(1));
        Self {
            node: Arc::new(StorageNode::new(shard_count)),
            data_directories: vec![root.join("data")],
            commit_log_directory: root.join("commitlog"),
            commit_log_sync: CommitLogSync::Periodic { period: Duration::from_secs(10) },
            commit_log_damage: DamagePolicy::Stop,
            segment_bytes: 32 << 20,
            commit_log_bytes: ((8 << 30) / shards).max(64 << 20),
            memory_bytes,
            flush_at_share: 0.33,
            flush_writers: 2,
            chunk_cache_bytes: memory_bytes / 4,
            column_index_bytes: 4 << 10,
            compactors: 1,
            compaction_bytes_per_sec: (64 << 20) / shards,
            disk_reserve_bytes: 512 << 20,
            tombstone_warn_threshold: 1_000,
            tombstone_failure_threshold: 100_000,
            auto_snapshot: true,
            counter_id: [0; 16],
            describe_table: Arc::new(|_, table| format!("-- {}\n", table.full_name())),
        }
    }
}
