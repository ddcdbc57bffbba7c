//! Reads segments back: record by record, never more of a segment in memory than a read of 1 MiB and one record.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use helenus_env::{Env, File, OpenMode};

use crate::commit_log::record::{
    LogPosition, Parsed, SEGMENT_HEADER_BYTES, SegmentIdentity, decode_segment_header, has_record, parse,
    synced_bytes_known_after,
};
use crate::error::StorageError;

const READ_BYTES: usize = 1 << 20;

/// How a segment ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SegmentEnd {
    /// Sealed.
    Full,
    /// The rest was never written.
    Open,
    /// The rest is what a write left behind that never reached the device as a whole.
    Torn { at: u32 },
}

/// Whether a segment may end in a torn write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The last segment of its shard that holds records.
    Newest,
    /// Followed by another one: it was synced and sealed.
    Older,
}

pub(crate) struct SegmentReader {
    path: PathBuf,
    file: Arc<dyn File>,
    file_bytes: u64,
    identity: SegmentIdentity,
    /// Bytes of the segment from `at` on.
    buffer: BytesMut,
    at: u32,
}

impl SegmentReader {
    /// `None` when the segment was created but its header never written: it holds nothing.
    pub async fn open(env: &Env, path: &Path, expected: SegmentIdentity) -> Result<Option<Self>, StorageError> {
        let disk = |source| StorageError::Disk { action: "read commit log segment", path: path.to_owned(), source };
        let file = env.disk().open(path, OpenMode::Read).await.map_err(disk)?;
        let file_bytes = file.len().map_err(disk)?;
        if file_bytes < u64::from(SEGMENT_HEADER_BYTES) {
            return Ok(None);
        }
        let header = file.read_at(0, SEGMENT_HEADER_BYTES as usize).await.map_err(disk)?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let corrupt = |wanted: &'static str, found: String| StorageError::Corrupt {
            path: path.to_owned(),
            offset: 0,
            expected: wanted,
            found,
        };
        let identity = match decode_segment_header(&header) {
            Ok(identity) => identity,
            Err(wanted) => {
                let len = usize::try_from(file_bytes).unwrap_or(usize::MAX);
                let whole = file.read_at(0, len).await.map_err(disk)?;
                // The header is synced before the first record is written: without one, it was being made at the crash.
                if !has_record(expected, &whole) {
                    return Ok(None);
                }
                return Err(corrupt(wanted, format!("{header:02x?}")));
            }
        };
        if identity != expected {
            return Err(corrupt("the shard and segment id of the file's name", format!("{identity:?}")));
        }
        let (buffer, at) = (BytesMut::new(), SEGMENT_HEADER_BYTES);
        Ok(Some(Self { path: path.to_owned(), file, file_bytes, identity, buffer, at }))
    }

    /// Whether anything was written after the header.
    pub async fn has_records(&mut self) -> Result<bool, StorageError> {
        self.fill(1).await?;
        Ok(!matches!(parse(self.identity, self.at, &self.buffer), Parsed::Unwritten))
    }

    /// The next record's body and the position at its end, or how the segment ends.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] on damage that a torn write does not explain.
    pub async fn next(&mut self, place: Place) -> Result<Result<(Bytes, LogPosition), SegmentEnd>, StorageError> {
        loop {
            match parse(self.identity, self.at, &self.buffer) {
                Parsed::NeedsBytes(needed) => {
                    if self.fill(needed).await? < needed {
                        return self.on_damage(place, "a whole record").await.map(Err);
                    }
                }
                Parsed::Record { body, len, .. } => {
                    let taken = self.buffer.split_to(len).freeze().slice(body);
                    self.at = self.at.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
                    let end = LogPosition { segment_id: self.identity.segment_id, offset: self.at };
                    return Ok(Ok((taken, end)));
                }
                Parsed::Sealed { .. } => return Ok(Err(SegmentEnd::Full)),
                Parsed::Unwritten => {
                    // Twelve zeros, or the end of what is buffered.
                    if self.buffer.is_empty() && 0 < self.fill(12).await? {
                        continue;
                    }
                    return match place {
                        Place::Newest => self.on_unwritten().await.map(Err),
                        Place::Older => self.on_damage(place, "a record or the seal of a full segment").await.map(Err),
                    };
                }
                Parsed::Damaged { expected } => return self.on_damage(place, expected).await.map(Err),
            }
        }
    }

    /// Zeros are the regular end, unless records follow that were written when this place was on the device already.
    async fn on_unwritten(&mut self) -> Result<SegmentEnd, StorageError> {
        match self.on_damage(Place::Newest, "the record that was synced here").await? {
            SegmentEnd::Torn { .. } if self.buffer.iter().all(|byte| *byte == 0) => Ok(SegmentEnd::Open),
            end => Ok(end),
        }
    }

    async fn on_damage(&mut self, place: Place, expected: &'static str) -> Result<SegmentEnd, StorageError> {
        if place == Place::Newest {
            self.fill(usize::MAX).await?;
            if synced_bytes_known_after(self.identity, self.at, &self.buffer) <= self.at {
                return Ok(SegmentEnd::Torn { at: self.at });
            }
        }
        let found = format!("{:02x?}", &self.buffer[..self.buffer.len().min(12)]);
        Err(StorageError::Corrupt { path: self.path.clone(), offset: u64::from(self.at), expected, found })
    }

    /// Buffers at least `wanted` bytes if the file has them; answers how many there are.
    async fn fill(&mut self, wanted: usize) -> Result<usize, StorageError> {
        while self.buffer.len() < wanted {
            let from = u64::from(self.at) + self.buffer.len() as u64;
            let left = usize::try_from(self.file_bytes.saturating_sub(from)).unwrap_or(usize::MAX);
            let len = left.min(READ_BYTES);
            if len == 0 {
                break;
            }
            let read = self.file.read_at(from, len).await;
            let mut read = read.map_err(StorageError::disk("read commit log segment", &self.path))?;
            self.buffer.reserve(read.remaining());
            self.buffer.extend_from_slice(&read.copy_to_bytes(len));
        }
        Ok(self.buffer.len())
    }
}
