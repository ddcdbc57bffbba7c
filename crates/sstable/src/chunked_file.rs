//! A component that is read in chunks: Data.db (compressed or checksummed) and Index.db (bare).
//!
//! Invariant: a chunk that leaves here is as long as it must be and passed its checksum, if the file has one and
//! `crc_check_chance` asked for it.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use helenus_env::{Env, File};

use crate::chunk_cache::{ChunkCache, FileId};
use crate::compression::{Compression, CompressionInfo};
use crate::error::SsTableError;

pub(crate) struct ChunkedFile {
    env: Env,
    pub(crate) path: PathBuf,
    file: Arc<dyn File>,
    cache: Rc<ChunkCache>,
    id: FileId,
    coding: Coding,
    pub(crate) plain_bytes: u64,
    pub(crate) disk_bytes: u64,
    pub(crate) chunk_bytes: u64,
    crc_check_chance: f64,
}

pub(crate) enum Coding {
    Compressed {
        compression: Compression,
        chunk_offsets: Vec<u64>,
    },
    /// CRC-32 of every chunk, if known.
    Plain {
        checksums: Option<Vec<u32>>,
    },
}

/// Raw bytes read ahead of a sequential reader.
#[derive(Default)]
pub(crate) struct ReadAhead {
    offset: u64,
    bytes: Bytes,
}

const READ_AHEAD_BYTES: u64 = 128 << 10;
const CRC_BYTES: u64 = 4;

/// Where the raw bytes of a chunk stand.
struct RawChunk {
    offset: u64,
    /// With the checksum that follows in compressed files.
    raw_bytes: u64,
    plain_bytes: usize,
}

pub(crate) struct ChunkedFileParts {
    pub(crate) env: Env,
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn File>,
    pub(crate) cache: Rc<ChunkCache>,
    pub(crate) crc_check_chance: f64,
}

impl ChunkedFile {
    pub(crate) fn compressed(parts: ChunkedFileParts, info: CompressionInfo) -> Result<Self, SsTableError> {
        let disk_bytes = parts.len()?;
        let chunk_bytes = u64::from(info.compression.chunk_bytes);
        let last_end = info.chunk_offsets.last().map_or(0, |last| last.saturating_add(CRC_BYTES));
        if disk_bytes < last_end {
            let found = format!("{disk_bytes} bytes");
            return Err(SsTableError::Corrupt {
                path: parts.path,
                offset: last_end,
                expected: "the last chunk",
                found,
            });
        }
        let coding = Coding::Compressed { compression: info.compression, chunk_offsets: info.chunk_offsets };
        Ok(Self::new(parts, coding, info.data_bytes, disk_bytes, chunk_bytes))
    }

    pub(crate) fn plain(
        parts: ChunkedFileParts,
        chunk_bytes: u64,
        checksums: Option<Vec<u32>>,
    ) -> Result<Self, SsTableError> {
        let disk_bytes = parts.len()?;
        let enough = checksums.as_ref().is_none_or(|sums| disk_bytes.div_ceil(chunk_bytes) <= sums.len() as u64);
        if !enough {
            let (expected, found) = ("a checksum for every chunk in CRC.db", format!("{disk_bytes} bytes of data"));
            return Err(SsTableError::Corrupt { path: parts.path, offset: disk_bytes, expected, found });
        }
        Ok(Self::new(parts, Coding::Plain { checksums }, disk_bytes, disk_bytes, chunk_bytes))
    }

    fn new(parts: ChunkedFileParts, coding: Coding, plain_bytes: u64, disk_bytes: u64, chunk_bytes: u64) -> Self {
        let id = parts.cache.new_file();
        let ChunkedFileParts { env, path, file, cache, crc_check_chance } = parts;
        Self { env, path, file, cache, id, coding, plain_bytes, disk_bytes, chunk_bytes, crc_check_chance }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.coding {
            Coding::Compressed { chunk_offsets, .. } => 8 * chunk_offsets.len(),
            Coding::Plain { checksums } => checksums.as_ref().map_or(0, |sums| 4 * sums.len()),
        }
    }

    pub(crate) fn chunk_count(&self) -> u64 {
        self.plain_bytes.div_ceil(self.chunk_bytes)
    }

    /// One chunk through the cache.
    pub(crate) async fn chunk(&self, chunk: u64) -> Result<Bytes, SsTableError> {
        if let Some(bytes) = self.cache.get(self.id, chunk) {
            return Ok(bytes);
        }
        let place = self.place(chunk)?;
        let raw = self.read(place.offset, place.raw_bytes).await?;
        let bytes = self.decode(chunk, &place, raw, self.is_check_due())?;
        self.cache.put(self.id, chunk, &bytes);
        Ok(bytes)
    }

    /// One chunk for a reader that goes on with the next ones; the cache stays with what others need.
    pub(crate) async fn chunk_in_scan(&self, chunk: u64, ahead: &mut ReadAhead) -> Result<Bytes, SsTableError> {
        let place = self.place(chunk)?;
        let end = place.offset + place.raw_bytes;
        if place.offset < ahead.offset || ahead.offset + (ahead.bytes.len() as u64) < end {
            let len = place.raw_bytes.max(READ_AHEAD_BYTES).min(self.disk_bytes.saturating_sub(place.offset));
            let bytes = self.read(place.offset, len.max(place.raw_bytes)).await?;
            *ahead = ReadAhead { offset: place.offset, bytes };
        }
        let start = to_usize(place.offset - ahead.offset);
        let raw = ahead.bytes.slice(start..start + to_usize(place.raw_bytes));
        self.decode(chunk, &place, raw, self.is_check_due())
    }

    /// One chunk from the disk, checked in any case.
    pub(crate) async fn chunk_verified(&self, chunk: u64) -> Result<Bytes, SsTableError> {
        let place = self.place(chunk)?;
        let raw = self.read(place.offset, place.raw_bytes).await?;
        self.decode(chunk, &place, raw, true)
    }

    /// CRC-32 of the whole file as it lies on disk.
    pub(crate) async fn digest(&self) -> Result<u32, SsTableError> {
        let mut digest = crc32fast::Hasher::new();
        let mut at = 0;
        while at < self.disk_bytes {
            let bytes = self.read(at, READ_AHEAD_BYTES.min(self.disk_bytes - at)).await?;
            digest.update(&bytes);
            at += bytes.len() as u64;
            self.env.yield_now().await;
        }
        Ok(digest.finalize())
    }

    fn is_check_due(&self) -> bool {
        1.0 <= self.crc_check_chance
            || (0.0 < self.crc_check_chance
                && (self.env.random_u64() >> 11) as f64 / (1u64 << 53) as f64 <= self.crc_check_chance)
    }

    fn place(&self, chunk: u64) -> Result<RawChunk, SsTableError> {
        let start = chunk.saturating_mul(self.chunk_bytes);
        let outside = |found: String| self.corrupt(start, "a chunk inside the file", found);
        let plain_bytes = self.plain_bytes.checked_sub(start).filter(|left| 0 < *left);
        let plain_bytes = plain_bytes.ok_or_else(|| outside(format!("{} bytes of data", self.plain_bytes)))?;
        let plain_bytes = to_usize(plain_bytes.min(self.chunk_bytes));
        match &self.coding {
            Coding::Plain { .. } => Ok(RawChunk { offset: start, raw_bytes: plain_bytes as u64, plain_bytes }),
            Coding::Compressed { chunk_offsets, .. } => {
                let at = to_usize(chunk);
                let offset =
                    *chunk_offsets.get(at).ok_or_else(|| outside(format!("{} chunks", chunk_offsets.len())))?;
                let end = chunk_offsets.get(at + 1).copied().unwrap_or(self.disk_bytes);
                let raw_bytes = end.checked_sub(offset).filter(|bytes| CRC_BYTES <= *bytes && *bytes <= RAW_BYTES_MAX);
                let raw_bytes = raw_bytes.ok_or_else(|| outside(format!("offsets {offset} and {end}")))?;
                Ok(RawChunk { offset, raw_bytes, plain_bytes })
            }
        }
    }

    fn decode(&self, chunk: u64, place: &RawChunk, raw: Bytes, check: bool) -> Result<Bytes, SsTableError> {
        let verify = |bytes: &[u8], stored: u32| {
            let computed = if check { crc32fast::hash(bytes) } else { stored };
            if computed == stored {
                return Ok(());
            }
            let found = format!("{stored:#010x} stored, {computed:#010x} computed");
            Err(self.corrupt(place.offset, "a chunk that fits its checksum", found))
        };
        match &self.coding {
            Coding::Plain { checksums } => {
                if let Some(stored) = checksums.as_ref().and_then(|sums| sums.get(to_usize(chunk))) {
                    verify(&raw, *stored)?;
                }
                Ok(raw)
            }
            Coding::Compressed { compression, .. } => {
                let (body, stored) = raw.split_at(raw.len() - CRC_BYTES as usize);
                verify(body, stored.first_chunk().map_or(0, |crc| u32::from_be_bytes(*crc)))?;
                if compression.compressed_bytes_max as usize <= body.len() {
                    let is_whole = place.plain_bytes <= body.len();
                    let short = || self.corrupt(place.offset, "a whole plain chunk", format!("{} bytes", body.len()));
                    return if is_whole { Ok(raw.slice(..place.plain_bytes)) } else { Err(short()) };
                }
                let plain = compression.decompress(body, place.plain_bytes);
                let plain =
                    plain.map_err(|error| self.corrupt(place.offset, "a compressed chunk", error.to_string()))?;
                Ok(Bytes::from(plain))
            }
        }
    }

    async fn read(&self, offset: u64, len: u64) -> Result<Bytes, SsTableError> {
        let mut buf = vec![0; to_usize(len)];
        let answer = match self.file.try_read_at(offset, &mut buf) {
            Some(Ok(read)) if read == buf.len() => return Ok(Bytes::from(buf)),
            Some(Ok(_)) => Err(std::io::ErrorKind::UnexpectedEof.into()),
            Some(Err(error)) => Err(error),
            None => {
                let _queued = self.cache.queue_read();
                self.file.read_at(offset, buf.len()).await
            }
        };
        answer.map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.corrupt(offset, "more bytes", "the end of the file".to_owned()),
            _ => SsTableError::disk("read SSTable component", &self.path)(error),
        })
    }

    pub(crate) fn corrupt(&self, offset: u64, expected: &'static str, found: String) -> SsTableError {
        SsTableError::Corrupt { path: self.path.clone(), offset, expected, found }
    }
}

/// Compressed chunks are hardly longer than plain ones, which are bounded; see `compression`.
const RAW_BYTES_MAX: u64 = 128 << 20;

/// Chunk numbers and lengths inside a file that is open fit the address space.
fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl ChunkedFileParts {
    fn len(&self) -> Result<u64, SsTableError> {
        self.file.len().map_err(SsTableError::disk("measure SSTable component", &self.path))
    }
}

impl Drop for ChunkedFile {
    fn drop(&mut self) {
        self.cache.forget(self.id);
    }
}
