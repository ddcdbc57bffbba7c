//! What can go wrong in a shard's data, grouped by what the caller does about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helenus_data::TableId;

/// Damage quarantines the file, environment backs off or stops the shard, refusal goes back to the client.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// Damage: the bytes contradict their format or checksum. `offset` is in bytes from the start of the file.
    #[error("{path}: byte {offset}: expected {expected}, found {found}", path = path.display())]
    Corrupt { path: PathBuf, offset: u64, expected: &'static str, found: String },

    /// Damage or environment, in an SSTable's files; `reason` names the file and the place.
    #[error("{action}: {reason}")]
    SsTable { action: &'static str, reason: Arc<str> },

    /// Environment: a file of data in a format that this version does not know; without it acknowledged writes are missing.
    #[error(
        "{path} is in a format that this version does not know: start the version that wrote it, or move the file away",
        path = path.display()
    )]
    UnknownFormat { path: PathBuf },

    /// Environment: the disk refused. `action` is a verb phrase: "sync commit log segment".
    #[error("{action} {path}", path = path.display())]
    Disk {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    /// Environment, until restart: the commit log could not be written or synced, so nothing more is accepted.
    #[error("the commit log failed: {reason}")]
    CommitLogFailed { reason: Arc<str> },

    /// Refusal: taking this write would eat the reserve that compaction needs to make room again.
    #[error("disk reserve reached: {free_bytes} bytes free, {reserve_bytes} reserved")]
    DiskReserve { free_bytes: u64, reserve_bytes: u64 },

    /// Refusal: no memory for more memtable data came free in time.
    #[error("memtables hold {used_bytes} bytes of {limit_bytes} and flushing does not keep up")]
    MemtablesFull { used_bytes: u64, limit_bytes: u64 },

    /// Refusal: half a commit log segment is the most that one atomic record may take. `largest_keys` names the partitions of
    /// `keyspace`, the largest first.
    #[error(
        "Rejected an oversized mutation ({bytes}/{bytes_max}) for keyspace: {keyspace}. Top keys are: {largest_keys}"
    )]
    MutationTooLarge { bytes: u64, bytes_max: u64, keyspace: String, largest_keys: String },

    /// Refusal: the read met more tombstones than `tombstone_failure_threshold`.
    #[error("read of {table} met {tombstones} tombstones, more than {threshold}")]
    TooManyTombstones { table: String, tombstones: u64, live_rows: u64, threshold: u64 },

    /// Refusal: the request's deadline passed before it was done. A write may or may not have been logged.
    #[error("the deadline passed")]
    DeadlineExceeded,

    /// Refusal: the table does not exist (any more) in the schema that this shard has.
    #[error("unknown table {}", .0.0)]
    UnknownTable(TableId),

    /// Refusal: a counter mutation of a table without counters, a snapshot name that is taken, and the like.
    #[error("{0}")]
    Invalid(String),

    /// Refusal: the shard is shutting down.
    #[error("storage is shutting down")]
    ShuttingDown,
}

impl StorageError {
    pub(crate) fn disk(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StorageError {
        let path = path.to_owned();
        move |source| StorageError::Disk { action, path, source }
    }

    /// The error again, for others who waited for the same thing.
    #[must_use]
    pub(crate) fn duplicate(&self) -> StorageError {
        match self {
            Self::Corrupt { path, offset, expected, found } => {
                Self::Corrupt { path: path.clone(), offset: *offset, expected, found: found.clone() }
            }
            Self::SsTable { action, reason } => Self::SsTable { action, reason: Arc::clone(reason) },
            Self::UnknownFormat { path } => Self::UnknownFormat { path: path.clone() },
            Self::Disk { action, path, source } => {
                Self::Disk { action, path: path.clone(), source: io::Error::new(source.kind(), source.to_string()) }
            }
            Self::CommitLogFailed { reason } => Self::CommitLogFailed { reason: Arc::clone(reason) },
            Self::DiskReserve { free_bytes, reserve_bytes } => {
                Self::DiskReserve { free_bytes: *free_bytes, reserve_bytes: *reserve_bytes }
            }
            Self::MemtablesFull { used_bytes, limit_bytes } => {
                Self::MemtablesFull { used_bytes: *used_bytes, limit_bytes: *limit_bytes }
            }
            Self::MutationTooLarge { bytes, bytes_max, keyspace, largest_keys } => Self::MutationTooLarge {
                bytes: *bytes,
                bytes_max: *bytes_max,
                keyspace: keyspace.clone(),
                largest_keys: largest_keys.clone(),
            },
            Self::TooManyTombstones { table, tombstones, live_rows, threshold } => Self::TooManyTombstones {
                table: table.clone(),
                tombstones: *tombstones,
                live_rows: *live_rows,
                threshold: *threshold,
            },
            Self::DeadlineExceeded => Self::DeadlineExceeded,
            Self::UnknownTable(table) => Self::UnknownTable(*table),
            Self::Invalid(reason) => Self::Invalid(reason.clone()),
            Self::ShuttingDown => Self::ShuttingDown,
        }
    }
}
