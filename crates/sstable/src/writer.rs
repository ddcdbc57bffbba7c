//! Writes one SSTable, partition by partition, in order, with bounded memory.
//!
//! What is kept until the end: the bloom filter, every 128th key, 8 bytes a chunk, and the blocks of the partition being
//! written (some 60 bytes per 64 KiB of it).
//!
//! Order of durability: every component is synced, TOC.txt is written last, then the directory is synced. A crash before
//! that leaves files that the storage's transaction log removes.
//!
//! Source: Cassandra 5.0, `io.sstable.format.big.BigTableWriter`, `io.sstable.format.SortedTablePartitionWriter`.

use std::collections::BTreeMap;
use std::sync::Arc;

use helenus_data::{DeletionTime, PartitionHeader, PartitionKey, Row, Unfiltered};
use helenus_env::Env;
use helenus_schema::Table;
use uuid::Uuid;

use crate::bloom_filter::BloomFilter;
use crate::collector::Collector;
use crate::component_check::ComponentCheck;
use crate::compression::Compression;
use crate::data_file::DataFile;
use crate::descriptor::{Component, Descriptor};
use crate::encode::{END_OF_PARTITION, Encoder, WrongLength};
use crate::encoding_stats::{EncodingStats, put_plain_deletion};
use crate::error::SsTableError;
use crate::header::SerializationHeader;
use crate::index_entry::BlocksBuilder;
use crate::layout::Layout;
use crate::output::{Output, write_component};
use crate::own_metadata::OwnMetadata;
use crate::statistics::{PARTITIONER, Statistics};
use crate::stats::{FileFacts, SsTableStats};
use crate::summary::SummaryBuilder;
use crate::vint;

/// What the writer cannot learn from the content.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// About how many partitions will come; the bloom filter is sized for it.
    pub keys_estimate: u64,
    pub level: u32,
    /// Milliseconds since 1970, 0 when not repaired.
    pub repaired_at: i64,
    pub pending_repair: Option<Uuid>,
    /// The node that writes.
    pub host_id: Option<Uuid>,
    /// Items of so many bytes make a block of a partition's index.
    pub column_index_bytes: u32,
    /// Smallest timestamps and the like of what will come, if known: they make the file smaller.
    pub encoding: EncodingStats,
    /// Our own metadata.
    pub extra: BTreeMap<String, String>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            keys_estimate: 1,
            level: 0,
            repaired_at: 0,
            pending_repair: None,
            host_id: None,
            column_index_bytes: 64 << 10,
            encoding: EncodingStats::default(),
            extra: BTreeMap::new(),
        }
    }
}

/// Not cancel-safe: when a future of it is dropped, [`SsTableWriter::abort`] is all that is left to do.
pub struct SsTableWriter {
    env: Env,
    descriptor: Descriptor,
    table: Arc<Table>,
    options: WriterOptions,
    layout: Layout,
    encoder: Encoder,
    data: DataFile,
    index: Output,
    summary: SummaryBuilder,
    filter: Option<BloomFilter>,
    collector: Collector,
    blocks: BlocksBuilder,
    /// Bytes of the item being written.
    item: Vec<u8>,
    first_key: Option<PartitionKey>,
    last_key: Option<PartitionKey>,
    partition: Option<OpenPartition>,
}

struct OpenPartition {
    start: u64,
    header_bytes: u64,
    deletion: DeletionTime,
    /// Start of the item before, from the partition's start; 0 for the first one.
    previous_start: u64,
    open: DeletionTime,
    last_order: Vec<u8>,
}

impl SsTableWriter {
    /// Creates the files of a new SSTable, none of which may exist.
    ///
    /// # Errors
    /// Whatever the disk answers; compression options that are not known.
    pub async fn create(
        env: &Env,
        descriptor: Descriptor,
        table: Arc<Table>,
        options: WriterOptions,
    ) -> Result<Self, SsTableError> {
        let compression = Compression::of_params(&table.params.compression)
            .map_err(|what| SsTableError::Unsupported { path: descriptor.path(Component::Data), what })?;
        let data = DataFile::create(env, &descriptor, compression).await?;
        let index = Output::create_checked(env, descriptor.path(Component::Index)).await?;
        Ok(Self {
            env: env.clone(),
            layout: Layout::for_writing(&table, options.encoding),
            encoder: Encoder::new(),
            data,
            index,
            summary: SummaryBuilder::new(table.params.min_index_interval),
            filter: BloomFilter::new(options.keys_estimate, table.params.bloom_filter_fp_chance),
            collector: Collector::new(),
            blocks: BlocksBuilder::default(),
            item: Vec::new(),
            first_key: None,
            last_key: None,
            partition: None,
            descriptor,
            table,
            options,
        })
    }

    /// # Errors
    /// [`SsTableError::Refused`] when the key does not come after all before; whatever the disk answers.
    pub async fn start_partition(&mut self, header: &PartitionHeader) -> Result<(), SsTableError> {
        if self.partition.is_some() {
            return Err(self.refused("a partition begins inside another".to_owned()));
        }
        let key = &header.key;
        if self.last_key.as_ref().is_some_and(|last| key <= last) {
            return Err(self.refused(format!("key {:02x?} comes after a larger or equal one", key.bytes())));
        }
        let Ok(key_bytes) = u16::try_from(key.bytes().len()) else {
            return Err(self.refused(format!("a key of {} bytes", key.bytes().len())));
        };
        let start = self.data.position();
        self.item.clear();
        self.item.extend_from_slice(&key_bytes.to_be_bytes());
        self.item.extend_from_slice(key.bytes());
        put_plain_deletion(header.deletion, &mut self.item);
        if self.layout.has_static_row() {
            let nothing;
            let row = match &header.static_row {
                Some(row) => row,
                None => {
                    nothing = Row::new(helenus_data::Clustering::empty());
                    &nothing
                }
            };
            let put = self.encoder.put_row(&self.layout, row, true, 0, &mut self.item);
            put.map_err(|wrong| self.wrong_length(&wrong))?;
        }
        self.data.append(&self.item).await?;
        self.collector.start_partition(header);
        if self.first_key.is_none() {
            self.first_key = Some(key.clone());
        }
        self.last_key = Some(key.clone());
        self.blocks.clear();
        self.partition = Some(OpenPartition {
            start,
            header_bytes: self.data.position() - start,
            deletion: header.deletion,
            previous_start: 0,
            open: DeletionTime::LIVE,
            last_order: Vec::new(),
        });
        Ok(())
    }

    /// Appends a row or marker in forward order. A row without content is nothing.
    ///
    /// # Errors
    /// [`SsTableError::Refused`] when it does not come after the one before, or a value has not its type's length.
    pub async fn append(&mut self, item: &Unfiltered) -> Result<(), SsTableError> {
        let is_nothing = match item {
            Unfiltered::Row(row) => row.is_empty(),
            Unfiltered::Marker(marker) => marker.ends.is_none() && marker.begins.is_none(),
        };
        if is_nothing {
            return Ok(());
        }
        let Some(partition) = &mut self.partition else {
            return Err(self.refused("a row outside of a partition".to_owned()));
        };
        if item.order() <= partition.last_order.as_slice() {
            return Err(self.refused("a row or marker that does not come after the one before".to_owned()));
        }
        partition.last_order.clear();
        partition.last_order.extend_from_slice(item.order());
        let start = self.data.position() - partition.start;
        let previous_bytes = start - partition.previous_start;
        partition.previous_start = start;
        self.item.clear();
        match item {
            Unfiltered::Row(row) => {
                let put = self.encoder.put_row(&self.layout, row, false, previous_bytes, &mut self.item);
                put.map_err(|wrong| refused(&self.descriptor, &wrong))?;
            }
            Unfiltered::Marker(marker) => {
                self.encoder.put_marker(&self.layout, marker, previous_bytes, &mut self.item);
                partition.open = marker.begins.unwrap_or(DeletionTime::LIVE);
            }
        }
        self.data.append(&self.item).await?;
        let end = self.data.position() - partition.start;
        let block_bytes = u64::from(self.options.column_index_bytes);
        self.blocks.add(&self.layout, item, start, end, partition.open, block_bytes);
        self.collector.add(item);
        Ok(())
    }

    /// # Errors
    /// [`SsTableError::Refused`] when a range deletion is still open; whatever the disk answers.
    pub async fn end_partition(&mut self) -> Result<(), SsTableError> {
        let Some(partition) = self.partition.take() else {
            return Err(self.refused("the end of a partition outside of one".to_owned()));
        };
        let Some(key) = &self.last_key else {
            return Err(self.refused("the end of a partition without a key".to_owned()));
        };
        if !partition.open.is_live() {
            return Err(self.refused("a partition that ends inside a range deletion".to_owned()));
        }
        self.data.append(&[END_OF_PARTITION]).await?;
        let end = self.data.position() - partition.start;
        self.collector.end_partition(end);

        let index_position = self.index.position();
        let key_bytes = u16::try_from(key.bytes().len()).unwrap_or(u16::MAX); // Checked when it began.
        let entry = self.index.pending();
        entry.extend_from_slice(&key_bytes.to_be_bytes());
        entry.extend_from_slice(key.bytes());
        vint::put(partition.start, entry);
        self.blocks.put_blocks(partition.header_bytes, partition.deletion, end, entry);
        self.summary.add(key, index_position);
        if let Some(filter) = &mut self.filter {
            filter.add(key);
        }
        self.index.drain().await
    }

    /// Plain bytes of the data file so far.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        self.data.position()
    }

    /// Bytes of the data file on disk so far.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.data.disk_bytes()
    }

    /// Whether no partition has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first_key.is_none()
    }

    /// Makes the SSTable complete and durable.
    ///
    /// # Errors
    /// [`SsTableError::Refused`] without any partition or inside of one; whatever the disk answers. The files are then
    /// left to the caller (and its transaction log).
    pub async fn finish(self) -> Result<SsTableStats, SsTableError> {
        if self.partition.is_some() {
            return Err(self.refused("an SSTable that ends inside a partition".to_owned()));
        }
        let (Some(first_key), Some(last_key)) = (&self.first_key, &self.last_key) else {
            return Err(self.refused("an SSTable without partitions".to_owned()));
        };
        let (first_key, last_key) = (first_key.clone(), last_key.clone());
        let Self { env, descriptor, table, options, .. } = self;
        let data = self.data.finish(&env, &descriptor).await?;
        let mut components = data.components;
        let (index_bytes, index_check) = self.index.finish_checked().await?;
        let mut disk_bytes = data.disk_bytes + index_bytes;
        let mut checks = BTreeMap::from([data.check, (Component::Index, index_check)]);

        let (mut stored, cardinality) = self.collector.finish();
        if let Some(ratio) = data.compression_ratio {
            stored.compression_ratio = ratio;
        }
        stored.level = i32::try_from(options.level).unwrap_or(0);
        stored.repaired_at = options.repaired_at;
        stored.pending_repair = options.pending_repair;
        stored.host_id = options.host_id;
        let statistics = Statistics {
            partitioner: PARTITIONER.to_owned(),
            false_positive_chance: table.params.bloom_filter_fp_chance,
            cardinality,
            stats: stored,
            header: SerializationHeader::of_table(&table, options.encoding),
        };
        let mut summary = Vec::new();
        self.summary.put(first_key.bytes(), last_key.bytes(), &mut summary);
        let filter = self.filter.map(|filter| {
            let mut bytes = Vec::new();
            filter.put(&mut bytes);
            (Component::Filter, bytes)
        });
        let small = [(Component::Summary, summary), (Component::Statistics, statistics.put())];
        for (component, content) in small.into_iter().chain(filter) {
            if component != Component::Statistics {
                checks.insert(component, ComponentCheck::of(&content)); // That one has checksums of its own, and changes.
            }
            disk_bytes += write_component(&env, descriptor.path(component), content).await?;
            components.push(component);
        }
        let own = OwnMetadata { extra: options.extra, checks };
        disk_bytes += write_component(&env, descriptor.path(Component::Helenus), own.put()).await?;
        components.extend([Component::Index, Component::Toc]);
        disk_bytes += write_component(&env, descriptor.path(Component::Toc), contents(&components)).await?;
        let synced = env.disk().sync_dir(&descriptor.directory).await;
        synced.map_err(SsTableError::disk("sync SSTable directory", &descriptor.directory))?;

        let facts =
            FileFacts { descriptor, first_key, last_key, data_bytes: data.data_bytes, disk_bytes, extra: own.extra };
        Ok(SsTableStats::new(&statistics.stats, facts, &table))
    }

    /// Removes what was written; what cannot be removed is left to the storage's transaction log.
    pub async fn abort(self) {
        for component in Component::ALL {
            let path = self.descriptor.path(component);
            if let Err(error) = self.env.disk().remove_file(&path).await
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "cannot remove a component of an aborted SSTable");
            }
        }
    }

    fn refused(&self, what: String) -> SsTableError {
        SsTableError::Refused { path: self.descriptor.path(Component::Data), what }
    }

    fn wrong_length(&self, wrong: &WrongLength) -> SsTableError {
        refused(&self.descriptor, wrong)
    }
}

fn refused(descriptor: &Descriptor, wrong: &WrongLength) -> SsTableError {
    let what = format!("a value of {} bytes in a column of {} byte values", wrong.found, wrong.expected);
    SsTableError::Refused { path: descriptor.path(Component::Data), what }
}

/// What TOC.txt says: a component a line.
fn contents(components: &[Component]) -> Vec<u8> {
    components.iter().flat_map(|component| [component.file_suffix(), "\n"]).collect::<String>().into_bytes()
}
