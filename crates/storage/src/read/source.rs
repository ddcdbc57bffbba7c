//! Source: one partition's content in one memtable or one file.

use std::rc::Rc;

use helenus_data::{Batch, Direction, Partition, PartitionHeader, PartitionKey, Slice};
use helenus_sstable::PartitionCursor;

use crate::error::StorageError;
use crate::memtable::{Memtable, header_of};
use crate::table_files::file_error;

pub(crate) enum Source {
    Memtable {
        memtable: Rc<Memtable>,
        key: PartitionKey,
        /// How many mutations were in the partition when its header was taken, for readers that must see mutations whole.
        changes: Option<u64>,
    },
    /// What a memtable held at one moment.
    Copy(Box<Partition>),
    File(Box<PartitionCursor>),
}

impl Source {
    /// `None` when the partition is not there.
    pub fn header(&self) -> Option<PartitionHeader> {
        match self {
            Source::Memtable { memtable, key, .. } => memtable.header(key),
            Source::Copy(partition) => Some(header_of(partition)),
            Source::File(cursor) => Some(cursor.header().clone()),
        }
    }

    /// Whether a mutation came since the header was taken, of which a batch now could show the other half.
    pub fn has_changed(&self) -> bool {
        match self {
            Source::Memtable { memtable, key, changes: Some(changes) } => memtable.changes(key) != *changes,
            Source::Memtable { changes: None, .. } | Source::Copy(_) | Source::File(_) => false,
        }
    }

    /// See [`helenus_data::Partition::unfiltered`].
    pub async fn fill(&mut self, slice: &Slice, direction: Direction, rows_max: usize) -> Result<Batch, StorageError> {
        match self {
            Source::Memtable { memtable, key, .. } => Ok(memtable.batch(key, slice, direction, rows_max)),
            Source::Copy(partition) => Ok(partition.unfiltered(slice, direction, rows_max)),
            Source::File(cursor) => cursor.fill(slice, direction, rows_max).await.map_err(file_error("read SSTable")),
        }
    }
}
