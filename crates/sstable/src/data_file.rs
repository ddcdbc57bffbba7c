//! `Data.db` being written: cut into chunks, each compressed or only checksummed, with a digest over the whole file.
//!
//! ```text
//! compressed   chunks as `compression` describes them, each followed by its CRC-32
//! plain        Data.db bare; CRC.db: i32 chunk length, then the CRC-32 of every chunk
//! Digest.crc32 CRC-32 of all bytes of Data.db, in decimal
//! ```
//!
//! Source: Cassandra 5.0, `io.compress.CompressedSequentialWriter`, `io.util.ChecksummedSequentialWriter`.

use helenus_env::Env;

use crate::component_check::ComponentCheck;
use crate::compression::{CHUNK_BYTES_DEFAULT, Compression};
use crate::descriptor::{Component, Descriptor};
use crate::error::SsTableError;
use crate::output::{Output, write_component};

pub(crate) struct DataFile {
    output: Output,
    /// Plain bytes of the chunk being filled.
    chunk: Vec<u8>,
    chunk_bytes: usize,
    /// Plain bytes of all chunks before it.
    finished_bytes: u64,
    digest: crc32fast::Hasher,
    coding: Coding,
}

enum Coding {
    Compressed { compression: Compression, chunk_offsets: Vec<u64>, compressed: Vec<u8>, compressed_bytes: u64 },
    Plain { checksums: Vec<u8> },
}

/// What is known of the data file when it is finished.
pub(crate) struct FinishedData {
    pub(crate) data_bytes: u64,
    /// Of Data.db and of the components that go with it.
    pub(crate) disk_bytes: u64,
    pub(crate) compression_ratio: Option<f64>,
    pub(crate) components: Vec<Component>,
    /// Of the one among them that has no checksum of its own.
    pub(crate) check: (Component, ComponentCheck),
}

impl DataFile {
    pub(crate) async fn create(
        env: &Env,
        descriptor: &Descriptor,
        compression: Option<Compression>,
    ) -> Result<Self, SsTableError> {
        let output = Output::create(env, descriptor.path(Component::Data)).await?;
        let chunk_bytes = compression.as_ref().map_or(CHUNK_BYTES_DEFAULT, |compression| compression.chunk_bytes);
        let coding = match compression {
            Some(compression) => Coding::Compressed {
                compression,
                chunk_offsets: Vec::new(),
                compressed: Vec::new(),
                compressed_bytes: 0,
            },
            None => Coding::Plain { checksums: chunk_bytes.to_be_bytes().to_vec() },
        };
        let chunk_bytes = chunk_bytes as usize;
        let digest = crc32fast::Hasher::new();
        Ok(Self { output, chunk: Vec::with_capacity(chunk_bytes), chunk_bytes, finished_bytes: 0, digest, coding })
    }

    /// Plain bytes appended so far.
    pub(crate) fn position(&self) -> u64 {
        self.finished_bytes + self.chunk.len() as u64
    }

    /// Bytes of Data.db so far, chunks that are still being filled not counted.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.output.position()
    }

    /// Appends, and writes what has become complete chunks.
    pub(crate) async fn append(&mut self, mut bytes: &[u8]) -> Result<(), SsTableError> {
        loop {
            let room = self.chunk_bytes - self.chunk.len();
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.chunk.extend_from_slice(now);
            if self.chunk.len() < self.chunk_bytes {
                return Ok(());
            }
            self.finish_chunk()?;
            self.output.drain().await?;
            bytes = rest;
        }
    }

    fn finish_chunk(&mut self) -> Result<(), SsTableError> {
        match &mut self.coding {
            Coding::Compressed { compression, chunk_offsets, compressed, compressed_bytes } => {
                let failed = SsTableError::disk("compress", self.output.path());
                compression.compress(&self.chunk, compressed).map_err(failed)?;
                let max = compression.compressed_bytes_max as usize;
                if max <= compressed.len() {
                    // Stored plain; readers tell by the length, so a short last chunk is padded up to it.
                    compressed.clear();
                    compressed.extend_from_slice(&self.chunk);
                    compressed.resize(self.chunk.len().max(max), 0);
                }
                chunk_offsets.push(self.output.position());
                *compressed_bytes += compressed.len() as u64;
                let checksum = crc32fast::hash(compressed).to_be_bytes();
                self.digest.update(compressed);
                self.digest.update(&checksum);
                self.output.pending().extend_from_slice(compressed);
                self.output.pending().extend_from_slice(&checksum);
            }
            Coding::Plain { checksums } => {
                checksums.extend_from_slice(&crc32fast::hash(&self.chunk).to_be_bytes());
                self.digest.update(&self.chunk);
                self.output.pending().extend_from_slice(&self.chunk);
            }
        }
        self.finished_bytes += self.chunk.len() as u64;
        self.chunk.clear();
        Ok(())
    }

    /// Writes and syncs the data file and the components that belong to it.
    pub(crate) async fn finish(mut self, env: &Env, descriptor: &Descriptor) -> Result<FinishedData, SsTableError> {
        if !self.chunk.is_empty() {
            self.finish_chunk()?;
        }
        let data_bytes = self.finished_bytes;
        let mut disk_bytes = self.output.finish().await?;
        let (component, content, compression_ratio) = match self.coding {
            Coding::Compressed { compression, chunk_offsets, compressed_bytes, .. } => {
                let mut info = Vec::new();
                compression.put_info(data_bytes, &chunk_offsets, &mut info);
                (Component::CompressionInfo, info, Some(compressed_bytes as f64 / data_bytes.max(1) as f64))
            }
            Coding::Plain { checksums } => (Component::Crc, checksums, None),
        };
        let check = (component, ComponentCheck::of(&content));
        disk_bytes += write_component(env, descriptor.path(component), content).await?;
        let digest = self.digest.finalize().to_string().into_bytes();
        disk_bytes += write_component(env, descriptor.path(Component::Digest), digest).await?;
        let components = vec![Component::Data, component, Component::Digest];
        Ok(FinishedData { data_bytes, disk_bytes, compression_ratio, components, check })
    }
}
