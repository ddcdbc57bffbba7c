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
use crate::component_check::{ComponentCheck, PAGE_BYTES};
use crate::compression::CompressionInfo;
use crate::descriptor::{Component, Descriptor};
use crate::error::SsTableError;
use crate::own_metadata::{self, OwnMetadata};
use crate::summary::{Summary, SummaryBuilder};
use crate::table::index_entry_at;
use crate::window::Window;

/// Largest components that are read whole; real ones are far smaller.
const WHOLE_BYTES_MAX: u64 = 8 << 30;

pub(crate) struct Opener<'a> {
    pub(crate) env: &'a Env,
    pub(crate) descriptor: &'a Descriptor,
    pub(crate) table: &'a Table,
    pub(crate) cache: &'a Rc<ChunkCache>,
    /// Of a file of our own.
    pub(crate) checks: &'a BTreeMap<Component, ComponentCheck>,
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

    /// Compares a component with what was noted when it was written, if anything was.
    fn check(&self, component: Component, bytes: &[u8]) -> Result<(), SsTableError> {
        let Some(noted) = self.checks.get(&component) else { return Ok(()) };
        let found = ComponentCheck::of(bytes);
        if found == *noted {
            return Ok(());
        }
        let what = format!("{} bytes with others", found.bytes);
        Err(corrupt(&self.descriptor.path(component), "the size and checksums that Helenus.db has noted", what))
    }

    pub(crate) async fn data(&self) -> Result<ChunkedFile, SsTableError> {
        let parts = self.chunked(Component::Data).await?;
        if let Some(bytes) = self.optional(Component::CompressionInfo).await? {
            self.check(Component::CompressionInfo, &bytes)?;
            let path = self.descriptor.path(Component::CompressionInfo);
            let info = CompressionInfo::get(&bytes).map_err(|error| error.in_file(&path, 0))?;
            return ChunkedFile::compressed(parts, info);
        }
        let Some(bytes) = self.optional(Component::Crc).await? else {
            // Every version that is read writes one of them; compressed data without it would be taken for plain.
            let path = self.descriptor.path(Component::CompressionInfo);
            return Err(corrupt(&path, "CompressionInfo.db, or CRC.db of plain data", "neither".to_owned()));
        };
        self.check(Component::Crc, &bytes)?;
        let path = self.descriptor.path(Component::Crc);
        let malformed = || corrupt(&path, "a chunk length and checksums", format!("{} bytes", bytes.len()));
        let (words, []) = bytes.as_chunks::<4>() else { return Err(malformed()) };
        let mut words = words.iter().map(|word| u32::from_be_bytes(*word));
        let chunk_bytes =
            words.next().filter(|bytes| (1..=CRC_CHUNK_BYTES_MAX).contains(bytes)).ok_or_else(malformed)?;
        ChunkedFile::plain(parts, u64::from(chunk_bytes), Some(words.collect()))
    }

    pub(crate) async fn index(&self) -> Result<ChunkedFile, SsTableError> {
        let parts = self.chunked(Component::Index).await?;
        let Some(noted) = self.checks.get(&Component::Index) else {
            return ChunkedFile::plain(parts, PAGE_BYTES as u64, None);
        };
        let index = ChunkedFile::plain(parts, PAGE_BYTES as u64, Some(noted.pages.clone()))?;
        if index.plain_bytes != noted.bytes {
            let (expected, found) = ("as many bytes as were written", format!("{} bytes", index.plain_bytes));
            return Err(index.corrupt(noted.bytes.min(index.plain_bytes), expected, found));
        }
        Ok(index)
    }

    /// `None` when there is none, or it is damaged: every key may be in the file then, which costs time and no data.
    pub(crate) async fn filter(&self) -> Result<Option<BloomFilter>, SsTableError> {
        let Some(bytes) = self.optional(Component::Filter).await?.filter(|bytes| !bytes.is_empty()) else {
            return Ok(None);
        };
        let path = self.descriptor.path(Component::Filter);
        let checked = self.check(Component::Filter, &bytes);
        match checked.and_then(|()| BloomFilter::get(&bytes).map_err(|error| error.in_file(&path, 0))) {
            Ok(filter) => Ok(Some(filter)),
            Err(error) => {
                tracing::warn!(%error, "a damaged bloom filter is not used; the next compaction of the file makes a new one");
                Ok(None)
            }
        }
    }

    /// The summary; made anew from the index when it is missing or damaged, as it says nothing that the index does not.
    pub(crate) async fn summary(
        &self,
        index: &Rc<ChunkedFile>,
    ) -> Result<(Summary, PartitionKey, PartitionKey), SsTableError> {
        if let Some(bytes) = self.optional(Component::Summary).await? {
            let path = self.descriptor.path(Component::Summary);
            let checked = self.check(Component::Summary, &bytes);
            match checked.and_then(|()| Summary::get(&bytes).map_err(|error| error.in_file(&path, 0))) {
                Ok(summary) => return Ok(summary),
                Err(error) => {
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

/// What we noted of the file ourselves; nothing for files of other origin.
pub(crate) async fn own_metadata(env: &Env, descriptor: &Descriptor) -> Result<OwnMetadata, SsTableError> {
    let path = descriptor.path(Component::Helenus);
    let len = env.disk().file_len(&path).await.map_err(SsTableError::disk("measure SSTable component", &path))?;
    match len {
        None => Ok(OwnMetadata::default()),
        Some(len) if own_metadata::BYTES_MAX < len => Err(corrupt(&path, "a small component", format!("{len} bytes"))),
        Some(_) => {
            let bytes = whole_file::read(&**env.disk(), &path).await;
            let bytes = bytes.map_err(SsTableError::disk("read SSTable component", &path))?;
            OwnMetadata::get(&bytes).map_err(|error| error.in_file(&path, 0))
        }
    }
}

fn corrupt(path: &Path, expected: &'static str, found: String) -> SsTableError {
    SsTableError::Corrupt { path: path.to_owned(), offset: 0, expected, found }
}
