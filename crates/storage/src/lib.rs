//! One shard's data on one node: commit log, memtables, SSTables, compaction, snapshots.
//!
//! Everything here belongs to one shard's thread (`Rc`, `RefCell`), [`StorageNode`] apart, which the shards of a node
//! share. A write goes to the commit log and from there into a memtable; a memtable becomes a file; files become fewer
//! files; reads merge all of them. Read in this order.

mod config;
pub mod context;
mod error;
mod metrics;

mod checkpoint;
mod commit_log;
mod memtable;
mod node;
mod shard;
mod table;
mod table_files;

mod counters;
mod partition_locks;
mod read;

mod compaction;
mod disk_guard;
mod flush;
mod oversized;
mod quarantine;
mod recovery;
mod removal;
mod snapshot;
mod transaction;

mod storage;

#[cfg(any(test, feature = "suite"))]
pub mod suite;

pub use helenus_sstable::EstimatedHistogram;

pub use config::{CommitLogSync, DamagePolicy, DescribeTable, StorageConfig};
pub use context::{RequestContext, RequestMemory, TraceCollection, TraceEvent, TraceSink};
pub use error::StorageError;
pub use flush::FlushReason;
pub use metrics::{
    CompactionKind, CompactionProgress, CompactionRecord, Histogram, LevelStats, RangeEstimate, RecoveryReport,
    StorageStats, TableStats, merge_estimates,
};
pub use node::StorageNode;
pub use partition_locks::PartitionGuard;
pub use snapshot::{SnapshotInfo, SnapshotOptions, clear_snapshots, list_snapshots};
pub use storage::Storage;
