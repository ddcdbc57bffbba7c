//! What can go wrong between a coordinator and its replicas.

use std::io;
use std::path::PathBuf;

use helenus_storage::StorageError;

use crate::consistency::Consistency;

/// Grouped by what the caller does: tell the client a definite failure, tell it that the outcome is unknown, compute
/// the change again, or give up the start.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Definite: not enough replicas to even begin.
    #[error("Cannot achieve consistency level {consistency}{place}", place = in_data_center(data_center.as_deref()))]
    Unavailable {
        consistency: Consistency,
        required: usize,
        alive: usize,
        /// The one that has too few, for levels that count each apart.
        data_center: Option<String>,
    },

    /// Unknown for writes: the deadline passed before enough replicas answered.
    #[error("Operation timed out - received only {received} responses.")]
    Timeout { consistency: Consistency, received: usize, required: usize, data_present: bool },

    /// Definite: a conditional write found its partition taken for too long.
    #[error(
        "CAS operation timed out: received 0 of {required} required responses after {contentions} contention retries"
    )]
    Contention { serial: Consistency, required: usize, contentions: u16 },

    /// Definite for reads, unknown for writes: a replica failed. Wording and code follow from the cause.
    #[error(transparent)]
    Replica(#[from] StorageError),

    /// Definite: a bounded queue between shards is full.
    #[error("shard {shard} is overloaded")]
    Overloaded { shard: u32 },

    /// Unknown: the shard went away while it worked on the request.
    #[error("shard {shard} stopped while it worked on the request")]
    ShardGone { shard: u32 },

    /// The metadata log moved on; compute the change again from the newest snapshot.
    #[error("schema changed meanwhile: the change was made for epoch {based_on}, the log is at {epoch}")]
    Conflict { based_on: u64, epoch: u64 },

    /// The metadata log cannot be read or written.
    #[error("{action} {path}", path = path.display())]
    MetadataDisk {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    /// The metadata log contradicts its format; `offset` in bytes from the start of the file.
    #[error("{path}: byte {offset}: {problem}", path = path.display())]
    MetadataCorrupt { path: PathBuf, offset: u64, problem: String },

    /// The data directory belongs to another cluster, partitioner or format.
    #[error("{0}")]
    Identity(String),

    /// A table that was asked for is not in the schema any more.
    #[error("unconfigured table")]
    UnknownTable,
}

fn in_data_center(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" in DC {name}"))
}
