//! Window: the part of a chunked file that a reader looks at. Decoding is synchronous on the window's bytes; only moving
//! it may wait.

use std::rc::Rc;

use bytes::Bytes;

use crate::chunked_file::{ChunkedFile, ReadAhead};
use crate::error::{DecodeError, SsTableError};
use crate::input::{Decoded, LEN_MAX};

pub(crate) struct Window {
    file: Rc<ChunkedFile>,
    start: u64,
    bytes: Bytes,
    access: Access,
}

enum Access {
    /// Through the chunk cache.
    Random,
    /// Reads ahead and leaves the cache alone.
    Sequential(ReadAhead),
}

impl Window {
    pub(crate) fn random(file: &Rc<ChunkedFile>) -> Self {
        Self { file: Rc::clone(file), start: 0, bytes: Bytes::new(), access: Access::Random }
    }

    pub(crate) fn sequential(file: &Rc<ChunkedFile>) -> Self {
        Self { file: Rc::clone(file), start: 0, bytes: Bytes::new(), access: Access::Sequential(ReadAhead::default()) }
    }

    pub(crate) fn file(&self) -> &Rc<ChunkedFile> {
        &self.file
    }

    /// The window's bytes from `at` on: at least `wanted` many.
    pub(crate) async fn cover(&mut self, at: u64, wanted: usize) -> Result<&[u8], SsTableError> {
        let end = at.saturating_add(wanted as u64);
        let window_end = self.start + self.bytes.len() as u64;
        if at < self.start || window_end < end || window_end <= at {
            self.load(at, end.max(at.saturating_add(1))).await?;
        }
        let skip = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.bytes.get(skip..).unwrap_or_default())
    }

    async fn load(&mut self, at: u64, end: u64) -> Result<(), SsTableError> {
        let file = Rc::clone(&self.file);
        if file.plain_bytes < end {
            return Err(file.corrupt(at, "more bytes", format!("the end at {}", file.plain_bytes)));
        }
        if LEN_MAX as u64 * 2 < end - at {
            return Err(file.corrupt(at, "a row of sensible size", format!("{} bytes", end - at)));
        }
        let (first, last) = (at / file.chunk_bytes, (end - 1) / file.chunk_bytes);
        let mut bytes = self.chunk(first).await?;
        if first < last {
            // Only what is asked for: the start of the first chunk may be long behind the reader.
            let mut joined = Vec::with_capacity(usize::try_from((last - first + 1) * file.chunk_bytes).unwrap_or(0));
            joined.extend_from_slice(&bytes);
            for chunk in first + 1..=last {
                joined.extend_from_slice(&self.chunk(chunk).await?);
            }
            bytes = Bytes::from(joined);
        }
        self.start = first * file.chunk_bytes;
        self.bytes = bytes;
        Ok(())
    }

    async fn chunk(&mut self, chunk: u64) -> Result<Bytes, SsTableError> {
        match &mut self.access {
            Access::Random => self.file.chunk(chunk).await,
            Access::Sequential(ahead) => self.file.chunk_in_scan(chunk, ahead).await,
        }
    }

    /// Decodes what stands at `at`, bringing more bytes as long as the decoder asks for them.
    pub(crate) async fn decode<T>(
        &mut self,
        at: u64,
        mut decoder: impl FnMut(&[u8]) -> Decoded<T>,
    ) -> Result<T, SsTableError> {
        let mut wanted = 1;
        loop {
            let bytes = self.cover(at, wanted).await?;
            let available = bytes.len();
            match decoder(bytes) {
                Ok(decoded) => return Ok(decoded),
                Err(DecodeError::Short { wanted: more }) => wanted = more.max(available + 1),
                Err(error) => return Err(error.in_file(&self.file.path, at)),
            }
        }
    }
}
