//! One shard's data on one node: commit log, memtables, SSTables, compaction, snapshots.
//!
//! Everything here belongs to one shard's thread (`Rc`, `RefCell`), [`StorageNode`] apart. Read in this order.

mod error;
pub mod context;
mod config;
mod node;
mod metrics;

pub use config::{CommitLogSync, DamagePolicy, DescribeTable, StorageConfig};
pub use context::{RequestContext, TraceCollection, TraceEvent, TraceSink};
pub use error::StorageError;
pub use metrics::{
    CompactionKind, CompactionProgress, CompactionRecord, Histogram, RecoveryReport, StorageStats, TableStats,
};
pub use node::StorageNode;
