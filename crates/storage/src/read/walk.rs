//! Walk: the partitions of a key range in ring order, each with its sources, over memtables and files.
//!
//! One resumable cursor serves range reads, flushes and compactions.

use std::rc::Rc;

use helenus_data::PartitionKey;
use helenus_data::read::KeyRange;
use helenus_sstable::{PartitionCursor, Scanner};
use helenus_types::token::shard_of;

use crate::error::StorageError;
use crate::memtable::Memtable;
use crate::read::source::Source;
use crate::table_files::{TableFile, file_error};

struct MemtableHead {
    memtable: Rc<Memtable>,
    key: Option<PartitionKey>,
}

struct FileHead {
    scanner: Scanner,
    is_shared: bool,
    cursor: Option<Box<PartitionCursor>>,
    is_exhausted: bool,
}

pub(crate) struct Walk {
    range: KeyRange,
    shard: u32,
    shard_count: u32,
    memtables: Vec<MemtableHead>,
    files: Vec<FileHead>,
    last: Option<PartitionKey>,
}

impl Walk {
    pub async fn start(
        range: KeyRange,
        memtables: &[Rc<Memtable>],
        files: &[Rc<TableFile>],
        shard: u32,
        shard_count: u32,
    ) -> Result<Self, StorageError> {
        let memtables = memtables
            .iter()
            .map(|memtable| MemtableHead { memtable: Rc::clone(memtable), key: memtable.next_key(&range, None) })
            .collect();
        let mut heads = Vec::with_capacity(files.len());
        for file in files {
            let scanner = file.scan(&range).await?;
            heads.push(FileHead { scanner, is_shared: file.is_shared, cursor: None, is_exhausted: false });
        }
        Ok(Self { range, shard, shard_count, memtables, files: heads, last: None })
    }

    /// The next partition; the sources of the one before must not be used any more.
    pub async fn next(&mut self) -> Result<Option<(PartitionKey, Vec<Source>)>, StorageError> {
        for head in &mut self.files {
            head.advance(self.shard, self.shard_count).await?;
        }
        for head in &mut self.memtables {
            if head.key.is_some() && head.key <= self.last {
                head.key = head.memtable.next_key(&self.range, self.last.as_ref());
            }
        }
        let keys = self.memtables.iter().filter_map(|head| head.key.as_ref());
        let keys = keys.chain(self.files.iter().filter_map(|head| head.cursor.as_ref().map(|it| &it.header().key)));
        let Some(key) = keys.min().cloned() else { return Ok(None) };
        assert!(self.last.as_ref().is_none_or(|last| *last < key), "partitions ascend");
        let mut sources = Vec::new();
        for head in self.memtables.iter().filter(|head| head.key.as_ref() == Some(&key)) {
            sources.push(Source::Memtable { memtable: Rc::clone(&head.memtable), key: key.clone(), changes: None });
        }
        for head in &mut self.files {
            if head.cursor.as_ref().is_some_and(|cursor| cursor.header().key == key) {
                sources.extend(head.cursor.take().map(Source::File));
            }
        }
        self.last = Some(key.clone());
        Ok(Some((key, sources)))
    }
}

impl FileHead {
    /// Makes sure that the next partition of this shard is at hand, if there is one.
    async fn advance(&mut self, shard: u32, shard_count: u32) -> Result<(), StorageError> {
        while self.cursor.is_none() && !self.is_exhausted {
            match self.scanner.next_partition().await.map_err(file_error("scan SSTable"))? {
                None => self.is_exhausted = true,
                Some(cursor) => {
                    let is_mine = !self.is_shared || shard_of(cursor.header().key.token(), shard_count) == shard;
                    self.cursor = is_mine.then(|| Box::new(cursor));
                }
            }
        }
        Ok(())
    }
}
