//! Opens the components of an SSTable, one by one.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;
use helenus_data::PartitionKey;
use helenus_env::{Env, OpenMode, whole_file};
use helenus_schema::Table;

use crate::bloom_filter::BloomFilter;
use crate::chunk_cache::ChunkCache;
use crate::chunked_file::{ChunkedFile, ChunkedFileParts};
use crate::compression::CompressionInfo;
use crate::descriptor::{Component, Descriptor};
use crate::error::SsTableError;
use crate::own_metadata;
use crate::summary::{Summary, SummaryBuilder};
use crate::table::index_entry_at;
use crate::window::Window;

/// Index.db and uncompressed data without CRC.db are read in pieces of this size.
const PAGE_BYTES: u64 = 16 << 10;
/// Largest components that are read whole; real ones are far smaller.
const WHOLE_BYTES_MAX: u64 = 8 << 30;

pub(crate) struct Opener<'a> {
    pub(crate) env: &'a Env,
    pub(crate) descriptor: &'a Descriptor,
    pub(crate) table: &'a Table,
    pub(crate) cache: &'a Rc<ChunkCache>,
}

impl Opener<'_> {
    /// A component's content; `None` when there is no such file.
    async fn optional(&self, component: Component) -> Result<Option<Bytes>, SsTableError> {
        let path = self.descriptor.path(component);
        match self.env.disk().file_len(&path).await.map_err(SsTableError::disk("measure SSTable component", &path))? {
            None => Ok(None),
            Some(len) if WHOLE_BYTES_MAX < len => {
                Err(corrupt(&path, "a component of sensible size", format!("{len} bytes")))
            }
            Some(_) => {
                let bytes = whole_file::read(&**self.env.disk(), &path).await;
                bytes.map(Some).map_err(SsTableError::disk("read SSTable component", &path))
            }
        }
    }

    pub(crate) async fn required(&self, component: Component) -> Result<Bytes, SsTableError> {
        let missing = || corrupt(&self.descriptor.path(component), "the component", "no such file".to_owned());
        self.optional(component).await?.ok_or_else(missing)
    }

    async fn chunked(&self, component: Component) -> Result<ChunkedFileParts, SsTableError> {
        let path = self.descriptor.path(component);
        let file = self.env.disk().open(&path, OpenMode::Read).await.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => corrupt(&path, "the component", "no such file".to_owned()),
            _ => SsTableError::disk("open SSTable component", &path)(error),
        })?;
        let crc_check_chance = self.table.params.crc_check_chance;
        Ok(ChunkedFileParts { env: self.env.clone(), path, file, cache: Rc::clone(self.cache), crc_check_chance })
    }

    pub(crate) async fn data(&self) -> Result<ChunkedFile, SsTableError> {
        let parts = self.chunked(Component::Data).await?;
        if let Some(bytes) = self.optional(Component::CompressionInfo).await? {
            let path = self.descriptor.path(Component::CompressionInfo);
            let info = CompressionInfo::get(&bytes).map_err(|error| error.in_file(&path, 0))?;
            return ChunkedFile::compressed(parts, info);
        }
        let Some(bytes) = self.optional(Component::Crc).await? else {
            return ChunkedFile::plain(parts, PAGE_BYTES, None);
        };
        let path = self.descriptor.path(Component::Crc);
        let malformed = || corrupt(&path, "a chunk length and checksums", format!("{} bytes", bytes.len()));
        let (words, []) = bytes.as_chunks::<4>() else { return Err(malformed()) };
        let mut words = words.iter().map(|word| u32::from_be_bytes(*word));
        let chunk_bytes =
            words.next().filter(|bytes| (1..=CRC_CHUNK_BYTES_MAX).contains(bytes)).ok_or_else(malformed)?;
        ChunkedFile::plain(parts, u64::from(chunk_bytes), Some(words.collect()))
    }

    pub(crate) async fn index(&self) -> Result<ChunkedFile, SsTableError> {
        ChunkedFile::plain(self.chunked(Component::Index).await?, PAGE_BYTES, None)
    }

    pub(crate) async fn filter(&self) -> Result<Option<BloomFilter>, SsTableError> {
        let Some(bytes) = self.optional(Component::Filter).await?.filter(|bytes| !bytes.is_empty()) else {
            return Ok(None);
        };
        let path = self.descriptor.path(Component::Filter);
        BloomFilter::get(&bytes).map(Some).map_err(|error| error.in_file(&path, 0))
    }

    /// The summary; made anew from the index when it is missing or damaged, as it says nothing that the index does not.
    pub(crate) async fn summary(
        &self,
        index: &Rc<ChunkedFile>,
    ) -> Result<(Summary, PartitionKey, PartitionKey), SsTableError> {
        if let Some(bytes) = self.optional(Component::Summary).await? {
            match Summary::get(&bytes) {
                Ok(summary) => return Ok(summary),
                Err(error) => {
                    let error = error.in_file(&self.descriptor.path(Component::Summary), 0);
                    tracing::warn!(%error, "a damaged index summary is made anew from the index");
                }
            }
        }
        let mut builder = SummaryBuilder::new(self.table.params.min_index_interval);
        let mut window = Window::sequential(index);
        let mut ends: Option<(PartitionKey, PartitionKey)> = None;
        let mut at = 0;
        while at < index.plain_bytes {
            let (key, entry) = index_entry_at(&mut window, at).await?;
            builder.add(&key, at);
            ends = Some(match ends {
                Some((first, _)) => (first, key),
                None => (key.clone(), key),
            });
            at = entry.end;
        }
        match ends {
            Some((first, last)) => Ok((builder.finish(), first, last)),
            None => Err(corrupt(&index.path, "at least one entry", "an empty index".to_owned())),
        }
    }

    pub(crate) async fn extra(&self) -> Result<BTreeMap<String, String>, SsTableError> {
        let path = self.descriptor.path(Component::Helenus);
        let Some(bytes) = self.optional(Component::Helenus).await? else { return Ok(BTreeMap::new()) };
        if own_metadata::BYTES_MAX < bytes.len() as u64 {
            return Err(corrupt(&path, "a small component", format!("{} bytes", bytes.len())));
        }
        own_metadata::get(&bytes).map_err(|error| error.in_file(&path, 0))
    }

    pub(crate) async fn disk_bytes(&self) -> Result<u64, SsTableError> {
        let mut sum = 0;
        for component in Component::ALL {
            let path = self.descriptor.path(component);
            let len = self
                .env
                .disk()
                .file_len(&path)
                .await
                .map_err(SsTableError::disk("measure SSTable component", &path))?;
            sum += len.unwrap_or(0);
        }
        Ok(sum)
    }
}

/// Cassandra writes 64 KiB; bounds what a damaged number makes us reserve.
const CRC_CHUNK_BYTES_MAX: u32 = 64 << 20;

fn corrupt(path: &Path, expected: &'static str, found: String) -> SsTableError {
    SsTableError::Corrupt { path: path.to_owned(), offset: 0, expected, found }
}
