//! One shard's data on one node: commit log, memtables, SSTables, compaction, snapshots.
//!
//! Everything here belongs to one shard's thread (`Rc`, `RefCell`), [`StorageNode`] apart, which the shards of a node
//! share. A write goes to the commit log and from there into a memtable; a memtable becomes a file; files become fewer
//! files; reads merge all of them. Read in this order.

mod error;
pub mod context;
mod config;
mod metrics;

mod node;
mod commit_log;
mod checkpoint;
mod memtable;
mod table_files;
mod table;
mod shard;

mod read;
mod counters;
mod partition_locks;

mod transaction;
mod flush;
mod compaction;
mod recovery;
mod removal;
mod snapshot;
mod disk_guard;

mod storage;

#[cfg(any(test, feature = "suite"))]
pub mod suite;

pub use config::{CommitLogSync, DamagePolicy, DescribeTable, StorageConfig};
pub use context::{RequestContext, TraceCollection, TraceEvent, TraceSink};
pub use error::StorageError;
pub use flush::FlushReason;
pub use metrics::{
    CompactionKind, CompactionProgress, CompactionRecord, Histogram, RecoveryReport, StorageStats, TableStats,
};
pub use node::StorageNode;
pub use partition_locks::PartitionGuard;
pub use snapshot::{SnapshotInfo, clear_snapshots, list_snapshots};
pub use storage::Storage;
