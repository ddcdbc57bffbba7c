//! An open SSTable: what is kept in memory of it, and how a partition is found.
//!
//! In memory: bloom filter, summary, chunk offsets, statistics. A point read asks the filter, searches the summary, scans
//! one block of at most 128 index entries and reads the partition from one chunk.
//!
//! Source: Cassandra 5.0, `io.sstable.format.big.BigTableReader`.

use std::rc::Rc;
use std::sync::Arc;

use helenus_data::read::KeyRange;
use helenus_data::{DeletionTime, PartitionHeader, PartitionKey};
use helenus_env::Env;
use helenus_schema::Table;
use helenus_types::token::Token;

use crate::bloom_filter::BloomFilter;
use crate::chunk_cache::ChunkCache;
use crate::chunked_file::ChunkedFile;
use crate::cursor::PartitionCursor;
use crate::decode;
use crate::descriptor::{Component, Descriptor};
use crate::encoding_stats::get_plain_deletion;
use crate::error::{DecodeError, SsTableError};
use crate::index_entry::{self, EntryHead};
use crate::input::Input;
use crate::layout::Layout;
use crate::opener::{Opener, own_metadata};
use crate::promoted::Promoted;
use crate::scanner::Scanner;
use crate::statistics::{PARTITIONER, Statistics};
use crate::stats::{FileFacts, SsTableStats};
use crate::summary::Summary;
use crate::window::Window;

pub struct SsTable {
    pub(crate) parts: Rc<Parts>,
    pub(crate) layout: Rc<Layout>,
    table: Arc<Table>,
    stats: Rc<SsTableStats>,
}

/// What does not depend on the table's definition.
pub(crate) struct Parts {
    pub(crate) env: Env,
    pub(crate) data: Rc<ChunkedFile>,
    pub(crate) index: Rc<ChunkedFile>,
    pub(crate) summary: Summary,
    pub(crate) filter: Option<BloomFilter>,
    statistics: Statistics,
}

/// What the index says of a partition.
pub(crate) struct IndexEntry {
    pub(crate) data_position: u64,
    /// Place and size of the promoted index in Index.db.
    pub(crate) promoted: Option<(u64, u64)>,
    /// Where the next entry starts.
    pub(crate) end: u64,
}

impl SsTable {
    /// Opens an SSTable with the table that it belongs to.
    ///
    /// # Errors
    /// [`SsTableError::Corrupt`] when a component is damaged or missing, [`SsTableError::SchemaMismatch`] when the file
    /// holds columns that the table cannot have, [`SsTableError::Unsupported`] for another partitioner.
    pub async fn open(
        env: &Env,
        descriptor: Descriptor,
        table: Arc<Table>,
        cache: Rc<ChunkCache>,
    ) -> Result<Rc<Self>, SsTableError> {
        let own = own_metadata(env, &descriptor).await?;
        let opener = Opener { env, descriptor: &descriptor, table: &table, cache: &cache, checks: &own.checks };
        let statistics_path = descriptor.path(Component::Statistics);
        let bytes = opener.required(Component::Statistics).await?;
        let statistics = Statistics::get(&bytes).map_err(|error| error.in_file(&statistics_path, 0))?;
        if statistics.partitioner != PARTITIONER {
            let what = format!("partitioner {}; only {PARTITIONER} is supported", statistics.partitioner);
            return Err(SsTableError::Unsupported { path: statistics_path, what });
        }
        let layout = Layout::for_reading(&table, &statistics.header, &statistics_path)?;
        let data = Rc::new(opener.data().await?);
        let index = Rc::new(opener.index().await?);
        let filter = opener.filter().await?;
        let (summary, first_key, last_key) = opener.summary(&index).await?;
        let disk_bytes = opener.disk_bytes().await?;
        let facts =
            FileFacts { descriptor, first_key, last_key, data_bytes: data.plain_bytes, disk_bytes, extra: own.extra };
        let stats = Rc::new(SsTableStats::new(&statistics.stats, facts, &table));
        let parts = Parts { env: env.clone(), data, index, summary, filter, statistics };
        Ok(Rc::new(Self { parts: Rc::new(parts), layout: Rc::new(layout), table, stats }))
    }

    /// The same open file under a newer definition of its table.
    ///
    /// # Errors
    /// [`SsTableError::SchemaMismatch`] when the new definition lacks a column that the file holds.
    pub fn with_table(&self, table: Arc<Table>) -> Result<Rc<Self>, SsTableError> {
        let path = self.stats.descriptor.path(Component::Statistics);
        let layout = Layout::for_reading(&table, &self.parts.statistics.header, &path)?;
        Ok(Rc::new(Self {
            parts: Rc::clone(&self.parts),
            layout: Rc::new(layout),
            table,
            stats: Rc::clone(&self.stats),
        }))
    }

    #[must_use]
    pub fn stats(&self) -> &SsTableStats {
        &self.stats
    }

    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.stats.descriptor
    }

    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Bytes of memory that the open file takes, cached chunks apart.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let parts = &self.parts;
        parts.filter.as_ref().map_or(0, BloomFilter::heap_bytes)
            + parts.summary.heap_bytes()
            + parts.data.heap_bytes()
            + parts.index.heap_bytes()
    }

    /// Bytes of the bloom filter, 0 without one.
    #[must_use]
    pub fn filter_bytes(&self) -> usize {
        self.parts.filter.as_ref().map_or(0, BloomFilter::heap_bytes)
    }

    /// Bytes of the data component on disk.
    #[must_use]
    pub fn data_disk_bytes(&self) -> u64 {
        self.parts.data.disk_bytes
    }

    /// Bytes of the index summary.
    #[must_use]
    pub fn summary_bytes(&self) -> usize {
        self.parts.summary.heap_bytes()
    }

    /// Bytes of the chunks' offsets or checksums.
    #[must_use]
    pub fn chunk_metadata_bytes(&self) -> usize {
        self.parts.data.heap_bytes()
    }

    /// About how many partitions of the file have tokens above `start` and up to `end`. Adjacent ranges add up to what the
    /// range around both gives.
    #[must_use]
    pub fn partitions_between(&self, start: Token, end: Token) -> u64 {
        let stats = &self.stats;
        let up_to = |token| self.parts.summary.keys_up_to(token, stats.last_key.token(), stats.partition_count());
        up_to(end).saturating_sub(up_to(start))
    }

    /// Whether the file may hold the partition; `false` is certain.
    #[must_use]
    pub fn may_contain(&self, key: &PartitionKey) -> bool {
        self.stats.first_key <= *key
            && *key <= self.stats.last_key
            && self.parts.filter.as_ref().is_none_or(|filter| filter.may_contain(key))
    }

    /// The partition of `key`, if the file holds it. Without `want_static` the static row is skipped.
    ///
    /// # Errors
    /// Damage, and whatever the disk answers.
    pub async fn partition(
        self: &Rc<Self>,
        key: &PartitionKey,
        want_static: bool,
    ) -> Result<Option<PartitionCursor>, SsTableError> {
        if !self.may_contain(key) {
            return Ok(None);
        }
        let Some(entry) = self.find(key).await? else { return Ok(None) };
        let window = Window::random(&self.parts.data);
        self.cursor(key.clone(), &entry, window, want_static).await.map(Some)
    }

    /// The partitions of a range, in key order.
    ///
    /// # Errors
    /// As [`SsTable::partition`].
    pub async fn scan(self: &Rc<Self>, range: &KeyRange) -> Result<Scanner, SsTableError> {
        Ok(Scanner::new(Rc::clone(self), range.clone()))
    }

    /// Looks for a key in the block of the index that must hold it.
    async fn find(&self, key: &PartitionKey) -> Result<Option<IndexEntry>, SsTableError> {
        let Some((start, end)) = self.parts.summary.block_of(key) else { return Ok(None) };
        let end = end.unwrap_or(self.parts.index.plain_bytes);
        let mut window = Window::random(&self.parts.index);
        let mut at = start;
        while at < end {
            match window.decode(at, |bytes| search(bytes, key.bytes(), end - at)).await? {
                Search::Found(found) => return Ok(Some(found.at(at))),
                Search::Passed(bytes) => at += bytes,
            }
        }
        Ok(None)
    }

    /// Reads the front of a partition.
    pub(crate) async fn cursor(
        self: &Rc<Self>,
        key: PartitionKey,
        entry: &IndexEntry,
        mut window: Window,
        want_static: bool,
    ) -> Result<PartitionCursor, SsTableError> {
        let layout = Rc::clone(&self.layout);
        let start = entry.data_position;
        let front = window.decode(start, |bytes| {
            let mut input = Input::new(bytes);
            let is_key = input.u16_bytes()? == key.bytes();
            Ok((is_key, get_plain_deletion(&mut input)?, input.at() as u64))
        });
        let (is_key, deletion, front_bytes): (bool, DeletionTime, u64) = front.await?;
        if !is_key {
            let data = &self.parts.data;
            return Err(data.corrupt(start, "the key that the index has for this position", "another key".to_owned()));
        }
        let mut rows_at = start + front_bytes;
        let mut static_row = None;
        if layout.has_static_row() {
            let head = window.decode(rows_at, |bytes| decode::head(&layout, bytes)).await?;
            let Some(head) = head else {
                return Err(self.parts.data.corrupt(rows_at, "a static row", "the end of the partition".to_owned()));
            };
            let (body_at, body_bytes) = (rows_at + head.body_at as u64, head.body_bytes);
            rows_at += head.item_bytes() as u64;
            if want_static {
                let path = &self.parts.data.path;
                let bytes = window.cover(body_at, body_bytes).await?.get(..body_bytes).unwrap_or_default();
                static_row = decode::static_row(&layout, head, bytes).map_err(|error| error.in_file(path, body_at))?;
            }
        }
        let promoted = match entry.promoted {
            Some((at, bytes)) => {
                Some(Promoted::open(Window::random(&self.parts.index), Rc::clone(&layout), at, bytes).await?)
            }
            None => None,
        };
        let header = PartitionHeader { key, deletion, static_row };
        Ok(PartitionCursor::new(Rc::clone(&self.parts), layout, header, start, rows_at, window, promoted))
    }
}

enum Search {
    Found(FoundEntry),
    /// The entries in so many bytes are others.
    Passed(u64),
}

/// An entry of the index; places count from where the search began.
struct FoundEntry {
    data_position: u64,
    promoted_at: u64,
    promoted_bytes: u64,
}

impl FoundEntry {
    fn new(head: &EntryHead<'_>, entry_at: u64) -> Self {
        Self {
            data_position: head.data_position,
            promoted_at: entry_at + head.head_bytes as u64,
            promoted_bytes: head.promoted_bytes,
        }
    }

    fn at(&self, base: u64) -> IndexEntry {
        let promoted_at = base + self.promoted_at;
        IndexEntry {
            data_position: self.data_position,
            promoted: (0 < self.promoted_bytes).then_some((promoted_at, self.promoted_bytes)),
            end: promoted_at + self.promoted_bytes,
        }
    }
}

/// Goes through the entries at the front of `bytes`, at most `block_bytes` of them.
fn search(bytes: &[u8], key: &[u8], block_bytes: u64) -> Result<Search, DecodeError> {
    let mut at = 0u64;
    loop {
        let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).filter(|_| at < block_bytes);
        let Some(rest) = rest else { return Ok(Search::Passed(at)) };
        match index_entry::entry_head(rest) {
            Ok(head) if head.key == key => return Ok(Search::Found(FoundEntry::new(&head, at))),
            Ok(head) => at += head.head_bytes as u64 + head.promoted_bytes,
            Err(DecodeError::Short { .. }) if 0 < at => return Ok(Search::Passed(at)),
            Err(error) => return Err(error),
        }
    }
}

/// The entry of the index at `at`, with its key.
pub(crate) async fn index_entry_at(window: &mut Window, at: u64) -> Result<(PartitionKey, IndexEntry), SsTableError> {
    let entry = window.decode(at, |bytes| {
        let head = index_entry::entry_head(bytes)?;
        Ok((PartitionKey::new(head.key), FoundEntry::new(&head, 0)))
    });
    entry.await.map(|(key, found)| (key, found.at(at)))
}
