//! A file being written from front to end through a bounded buffer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use helenus_env::{Env, File, OpenMode};

use crate::component_check::{ComponentCheck, ComponentChecker};
use crate::error::SsTableError;

/// Written when so much has been collected: large enough for few system calls, small enough to be copied inline.
const BUFFER_BYTES: usize = 128 << 10;

pub(crate) struct Output {
    path: PathBuf,
    file: Arc<dyn File>,
    /// Where `pending` will stand in the file.
    offset: u64,
    pending: Vec<u8>,
    checker: Option<ComponentChecker>,
}

impl Output {
    pub(crate) async fn create(env: &Env, path: PathBuf) -> Result<Self, SsTableError> {
        let opened = env.disk().open(&path, OpenMode::CreateNew).await;
        let file = opened.map_err(SsTableError::disk("create SSTable component", &path))?;
        Ok(Self { path, file, offset: 0, pending: Vec::new(), checker: None })
    }

    /// With checksums of its pages, which [`Output::finish_checked`] answers.
    pub(crate) async fn create_checked(env: &Env, path: PathBuf) -> Result<Self, SsTableError> {
        Ok(Self { checker: Some(ComponentChecker::default()), ..Self::create(env, path).await? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes pushed so far.
    pub(crate) fn position(&self) -> u64 {
        self.offset + self.pending.len() as u64
    }

    /// What is pushed here goes to the file with the next [`Output::drain`].
    pub(crate) fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Writes when enough has been collected.
    pub(crate) async fn drain(&mut self) -> Result<(), SsTableError> {
        if self.pending.len() < BUFFER_BYTES { Ok(()) } else { self.write().await }
    }

    async fn write(&mut self) -> Result<(), SsTableError> {
        let data =
            Bytes::from(std::mem::replace(&mut self.pending, Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4)));
        let len = data.len() as u64;
        if let Some(checker) = &mut self.checker {
            checker.add(&data);
        }
        let written = self.file.write_at(self.offset, data).await;
        written.map_err(SsTableError::disk("write SSTable component", &self.path))?;
        self.offset += len;
        Ok(())
    }

    /// Writes the rest and makes the content durable; answers the file's length.
    pub(crate) async fn finish(self) -> Result<u64, SsTableError> {
        self.finish_checked().await.map(|(bytes, _)| bytes)
    }

    /// As [`Output::finish`], and the checksums, of nothing when none were asked for.
    pub(crate) async fn finish_checked(mut self) -> Result<(u64, ComponentCheck), SsTableError> {
        if !self.pending.is_empty() {
            self.write().await?;
        }
        self.file.sync().await.map_err(SsTableError::disk("sync SSTable component", &self.path))?;
        Ok((self.offset, self.checker.unwrap_or_default().finish()))
    }
}

/// Writes a small component whole, durably; answers its length.
pub(crate) async fn write_component(env: &Env, path: PathBuf, content: Vec<u8>) -> Result<u64, SsTableError> {
    let mut output = Output::create(env, path).await?;
    *output.pending() = content;
    output.finish().await
}
