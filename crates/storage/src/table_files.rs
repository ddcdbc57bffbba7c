//! The files of a table as this shard sees them: the one place that opens, describes and writes SSTables.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use helenus_data::read::KeyRange;
use helenus_data::{PartitionHeader, PartitionKey, Slice, Unfiltered};
use helenus_env::Env;
use helenus_schema::Table;
use helenus_sstable::{
    ChunkCache, Descriptor, EncodingStats, Generation, PartitionCursor, Scanner, SsTable, SsTableError, SsTableStats,
    SsTableWriter, WriterOptions,
};
use helenus_types::token::{Token, shard_of};

use crate::config::StorageConfig;
use crate::error::StorageError;

/// Who wrote a file, in its own metadata: shard and shard count.
const SHARD_KEY: &str = "shard";
const SHARD_COUNT_KEY: &str = "shard_count";
/// When, in seconds since 1970.
const CREATED_KEY: &str = "created_secs";

/// An open file of this shard.
pub(crate) struct TableFile {
    /// As it was opened, for what does not depend on the table's definition.
    opened: Rc<SsTable>,
    /// Under the newest definition.
    sstable: RefCell<Rc<SsTable>>,
    descriptor: Descriptor,
    /// Holds tokens of other shards, too.
    pub is_shared: bool,
}

pub(crate) fn file_error(action: &'static str) -> impl FnOnce(SsTableError) -> StorageError {
    move |error| match error {
        SsTableError::Corrupt { path, offset, expected, found } => {
            StorageError::Corrupt { path, offset, expected, found }
        }
        SsTableError::Disk { action, path, source } => StorageError::Disk { action, path, source },
        other => StorageError::SsTable { action, reason: other.to_string().into() },
    }
}

/// What a shard has to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    /// This shard's alone.
    Mine,
    /// Another shard's alone.
    Theirs,
    /// Several shards' tokens are, or may be, in it.
    Shared,
}

/// Decides by the file's own metadata, for files of other origin by their first and last token.
fn ownership(stats: &SsTableStats, shard: u32, shard_count: u32) -> Ownership {
    let written_by = |key: &str| stats.extra.get(key).and_then(|text| text.parse::<u32>().ok());
    let owner = match (written_by(SHARD_KEY), written_by(SHARD_COUNT_KEY)) {
        (Some(owner), Some(count)) if count == shard_count => Some(owner),
        _ if shard_count == 1 => Some(0),
        _ => {
            let (first, last) = (stats.first_key.token(), stats.last_key.token());
            (first == last).then(|| shard_of(first, shard_count))
        }
    };
    match owner {
        Some(owner) if owner == shard => Ownership::Mine,
        Some(_) => Ownership::Theirs,
        None => Ownership::Shared,
    }
}

impl TableFile {
    /// Opens a file; `None` when all of it belongs to other shards.
    pub async fn open(
        env: &Env,
        descriptor: Descriptor,
        table: &Arc<Table>,
        cache: &Rc<ChunkCache>,
        shard: u32,
        shard_count: u32,
    ) -> Result<Option<Rc<Self>>, StorageError> {
        let opened = SsTable::open(env, descriptor.clone(), Arc::clone(table), Rc::clone(cache)).await;
        let sstable = opened.map_err(file_error("open SSTable"))?;
        let is_shared = match ownership(sstable.stats(), shard, shard_count) {
            Ownership::Mine => false,
            Ownership::Theirs => return Ok(None),
            Ownership::Shared => true,
        };
        Ok(Some(Rc::new(Self { opened: Rc::clone(&sstable), sstable: RefCell::new(sstable), descriptor, is_shared })))
    }

    /// Reads the file under a newer definition of its table from now on; running reads are not disturbed.
    pub fn set_table(&self, table: &Arc<Table>) -> Result<(), StorageError> {
        let renewed = self.opened.with_table(Arc::clone(table)).map_err(file_error("open SSTable"))?;
        *self.sstable.borrow_mut() = renewed;
        Ok(())
    }

    fn sstable(&self) -> Rc<SsTable> {
        Rc::clone(&self.sstable.borrow())
    }

    /// As in `nb-7-big`.
    pub fn base_name(&self) -> String {
        self.descriptor.base_name()
    }

    pub fn directory(&self) -> &Path {
        &self.descriptor.directory
    }

    /// Identifies the file on this node.
    pub fn base_path(&self) -> PathBuf {
        self.descriptor.directory.join(self.descriptor.base_name())
    }

    pub fn stats(&self) -> &SsTableStats {
        self.opened.stats()
    }

    pub fn may_contain(&self, key: &PartitionKey) -> bool {
        self.opened.may_contain(key)
    }

    /// Micros.
    pub fn timestamp_min(&self) -> i64 {
        self.stats().timestamp_min
    }

    /// Micros.
    pub fn timestamp_max(&self) -> i64 {
        self.stats().timestamp_max
    }

    /// Whether rows of any of these slices, or a tombstone over them, may be in it.
    pub fn may_hold(&self, slices: &[Slice]) -> bool {
        let stats = self.stats();
        let covers = |slice: &Slice| stats.covered.intersects(slice.start.order(), slice.end.order());
        self.has_tombstones() || slices.iter().any(covers)
    }

    pub fn has_tombstones(&self) -> bool {
        self.stats().has_tombstones()
    }

    /// Whether keys of this file can lie between the first and the last one of `other`.
    pub fn overlaps(&self, other: &TableFile) -> bool {
        let (mine, theirs) = (self.stats(), other.stats());
        mine.first_key <= theirs.last_key && theirs.first_key <= mine.last_key
    }

    /// Seconds since 1970 at which it was written; for files of other origin, its newest data's.
    pub fn created_secs(&self) -> i64 {
        let noted = self.stats().extra.get(CREATED_KEY).and_then(|text| text.parse().ok());
        noted.unwrap_or_else(|| self.timestamp_max().div_euclid(1_000_000))
    }

    pub fn filter_bytes(&self) -> u64 {
        self.opened.filter_bytes() as u64
    }

    /// Of the data component, on disk.
    pub fn partitions_between(&self, start: Token, end: Token) -> u64 {
        self.opened.partitions_between(start, end)
    }

    pub fn data_disk_bytes(&self) -> u64 {
        self.opened.data_disk_bytes()
    }

    pub fn summary_bytes(&self) -> u64 {
        self.opened.summary_bytes() as u64
    }

    pub fn chunk_metadata_bytes(&self) -> u64 {
        self.opened.chunk_metadata_bytes() as u64
    }

    /// All components, in bytes on disk.
    pub fn bytes_on_disk(&self) -> u64 {
        self.stats().disk_bytes
    }

    /// Of the data component, before compression.
    pub fn data_bytes(&self) -> u64 {
        self.stats().data_bytes
    }

    pub async fn partition(
        &self,
        key: &PartitionKey,
        want_static: bool,
    ) -> Result<Option<PartitionCursor>, StorageError> {
        self.sstable().partition(key, want_static).await.map_err(file_error("read SSTable"))
    }

    pub async fn scan(&self, range: &KeyRange) -> Result<Scanner, StorageError> {
        self.sstable().scan(range).await.map_err(file_error("scan SSTable"))
    }
}

/// Writes one file of this shard.
pub(crate) struct FileWriter {
    writer: SsTableWriter,
    descriptor: Descriptor,
    /// Of a partition that has begun nowhere yet.
    header: Option<PartitionHeader>,
    is_in_partition: bool,
    pub partitions: u64,
}

/// What a new file is made from.
pub(crate) struct NewFile<'a> {
    pub directory: &'a Path,
    pub generation: u64,
    pub table: &'a Arc<Table>,
    pub shard: u32,
    pub keys_estimate: u64,
    /// Smallest timestamps, deletion times and ttls of what will come.
    pub encoding: EncodingStats,
    pub config: &'a StorageConfig,
}

impl NewFile<'_> {
    pub fn descriptor(&self) -> Descriptor {
        Descriptor::new(self.directory, Generation::Sequence(self.generation))
    }
}

impl FileWriter {
    pub async fn create(env: &Env, new: &NewFile<'_>) -> Result<Self, StorageError> {
        let extra = BTreeMap::from([
            (SHARD_KEY.to_owned(), new.shard.to_string()),
            (SHARD_COUNT_KEY.to_owned(), new.config.node.shard_count().to_string()),
            (CREATED_KEY.to_owned(), env.wall_secs().to_string()),
        ]);
        let options = WriterOptions {
            keys_estimate: new.keys_estimate,
            column_index_bytes: new.config.column_index_bytes,
            encoding: new.encoding,
            extra,
            ..WriterOptions::default()
        };
        let descriptor = new.descriptor();
        let created = SsTableWriter::create(env, descriptor.clone(), Arc::clone(new.table), options).await;
        let writer = created.map_err(file_error("create SSTable"))?;
        Ok(Self { writer, descriptor, header: None, is_in_partition: false, partitions: 0 })
    }

    /// Begins a partition. It is written only if its header says something or an item follows.
    pub async fn start_partition(&mut self, header: PartitionHeader) -> Result<(), StorageError> {
        assert!(self.header.is_none() && !self.is_in_partition, "partitions do not nest");
        let says_something = !header.deletion.is_live() || header.static_row.is_some();
        self.header = Some(header);
        if says_something { self.write_header().await } else { Ok(()) }
    }

    async fn write_header(&mut self) -> Result<(), StorageError> {
        let Some(header) = self.header.take() else { return Ok(()) };
        self.is_in_partition = true;
        self.partitions += 1;
        self.writer.start_partition(&header).await.map_err(file_error("write SSTable"))
    }

    pub async fn append(&mut self, item: &Unfiltered) -> Result<(), StorageError> {
        self.write_header().await?;
        self.writer.append(item).await.map_err(file_error("write SSTable"))
    }

    pub async fn end_partition(&mut self) -> Result<(), StorageError> {
        self.header = None;
        if std::mem::take(&mut self.is_in_partition) {
            self.writer.end_partition().await.map_err(file_error("write SSTable"))?;
        }
        Ok(())
    }

    pub fn data_bytes(&self) -> u64 {
        self.writer.data_bytes()
    }

    /// Durable on return.
    pub async fn finish(self) -> Result<Descriptor, StorageError> {
        self.writer.finish().await.map_err(file_error("finish SSTable"))?;
        Ok(self.descriptor)
    }

    pub async fn abort(self) {
        self.writer.abort().await;
    }
}
