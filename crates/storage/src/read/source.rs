//! Source: one partition's content in one memtable or one file.

use std::rc::Rc;

use helenus_data::{Batch, Direction, PartitionHeader, PartitionKey, Slice};
use helenus_sstable::PartitionCursor;

use crate::error::StorageError;
use crate::memtable::Memtable;
use crate::table_files::file_error;

pub(crate) enum Source {
    Memtable { memtable: Rc<Memtable>, key: PartitionKey },
    File(Box<PartitionCursor>),
}

impl Source {
    /// `None` when the partition is not there.
    pub fn header(&self) -> Option<PartitionHeader> {
        match self {
            Source::Memtable { memtable, key } => memtable.header(key),
            Source::File(cursor) => Some(cursor.header().clone()),
        }
    }

    /// See [`helenus_data::Partition::unfiltered`].
    pub async fn fill(&mut self, slice: &Slice, direction: Direction, rows_max: usize) -> Result<Batch, StorageError> {
        match self {
            Source::Memtable { memtable, key } => Ok(memtable.batch(key, slice, direction, rows_max)),
            Source::File(cursor) => cursor.fill(slice, direction, rows_max).await.map_err(file_error("read SSTable")),
        }
    }
}
