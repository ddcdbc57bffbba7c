//! What can go wrong with an SSTable, grouped by what the caller does about it.

use std::io;
use std::path::{Path, PathBuf};

/// Damage quarantines the file, environment backs off or stops the node, the others are refusals.
#[derive(Debug, thiserror::Error)]
pub enum SsTableError {
    /// Damage: the bytes contradict their format or checksum. `offset` is in bytes from the start of the file; in a
    /// compressed data file it counts uncompressed bytes, except for a chunk that fails its checksum.
    #[error("{path}: byte {offset}: expected {expected}, found {found}", path = path.display())]
    Corrupt { path: PathBuf, offset: u64, expected: &'static str, found: String },

    /// Environment: the disk refused. `action` is a verb phrase: "read SSTable component".
    #[error("{action} {path}: {source}", path = path.display())]
    Disk {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    /// Refusal: a format version, compressor or option that we do not know.
    #[error("{path}: {what}", path = path.display())]
    Unsupported { path: PathBuf, what: String },

    /// Refusal: the file's header does not fit the table that it is opened with.
    #[error("{path}: {what}", path = path.display())]
    SchemaMismatch { path: PathBuf, what: String },

    /// A bug of the caller: partitions or rows did not come in order, or a value cannot be stored.
    #[error("{path}: refused to write: {what}", path = path.display())]
    Refused { path: PathBuf, what: String },
}

impl SsTableError {
    pub(crate) fn disk(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SsTableError {
        let path = path.to_owned();
        move |source| SsTableError::Disk { action, path, source }
    }

    /// Whether the file itself is damaged, as opposed to the disk or the question being wrong.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, SsTableError::Corrupt { .. })
    }
}

/// Why bytes could not be decoded; whoever knows the file adds path and offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// The input ends too early: at least `wanted` bytes from its start are needed, more than it has.
    Short { wanted: usize },
    /// `at` counts from the start of the input.
    Malformed { at: usize, expected: &'static str, found: String },
}

impl DecodeError {
    /// The error of a component that was read whole, so that "too short" is damage.
    pub(crate) fn in_file(self, path: &Path, base: u64) -> SsTableError {
        let (at, expected, found) = match self {
            DecodeError::Short { wanted } => (wanted, "more bytes", "the end of the file".to_owned()),
            DecodeError::Malformed { at, expected, found } => (at, expected, found),
        };
        SsTableError::Corrupt { path: path.to_owned(), offset: base.saturating_add(at as u64), expected, found }
    }
}
