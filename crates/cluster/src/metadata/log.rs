//! Metadata log: commands on disk, each durable before it takes effect; a snapshot bounds how many are replayed.
//!
//! ```text
//! metadata/snapshot.json      state up to some epoch, replaced as a whole; missing in a young node
//! metadata/log-v1.bin         8 bytes "HELMETA1", then records; those up to the snapshot's epoch are skipped
//!
//! record, integers little-endian
//! offset  bytes  field
//!      0      4  body_bytes  u32
//!      4      8  epoch       u64, rises by one a record
//!     12      n  body        JSON of a command, see `record`
//!   12+n      4  crc         CRC-32 of everything before
//! ```
//! A record that the end of the file cuts is a torn write of a command that was never acknowledged: it is overwritten.
//! A checksum that fails with more records behind it is damage and stops the start; nothing is deleted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use helenus_env::{Env, File, OpenMode, durable_dir, whole_file};

use crate::error::ClusterError;
use crate::metadata::record::{CommandRecord, StateRecord};
use crate::metadata::state::{Command, MetadataState};

const MAGIC: &[u8; 8] = b"HELMETA1";
const HEADER_BYTES: usize = 12;
const CRC_BYTES: usize = 4;
/// A snapshot replaces the log after this many commands: replaying them takes a few milliseconds.
const COMMANDS_MAX: u64 = 1_000;

pub struct MetadataLog {
    directory: PathBuf,
    file: Arc<dyn File>,
    end: u64,
    snapshot_epoch: u64,
}

impl MetadataLog {
    /// Opens or creates the log under `directory` and replays it.
    ///
    /// # Errors
    /// [`ClusterError::MetadataDisk`], [`ClusterError::MetadataCorrupt`].
    pub async fn open(env: &Env, directory: &Path) -> Result<(Self, MetadataState), ClusterError> {
        let disk = env.disk();
        durable_dir::create(&**disk, directory).await.map_err(disk_error("create directory", directory))?;
        let snapshot_path = directory.join("snapshot.json");
        let mut state = MetadataState::default();
        if disk.file_len(&snapshot_path).await.map_err(disk_error("look at", &snapshot_path))?.is_some() {
            let bytes = whole_file::read(&**disk, &snapshot_path).await.map_err(disk_error("read", &snapshot_path))?;
            state = parse_snapshot(&snapshot_path, &bytes)?;
        }
        let snapshot_epoch = state.epoch;
        let path = directory.join("log-v1.bin");
        let bytes = match disk.file_len(&path).await.map_err(disk_error("look at", &path))? {
            None | Some(0) => {
                whole_file::replace(&**disk, &path, Bytes::from_static(MAGIC))
                    .await
                    .map_err(disk_error("create", &path))?;
                Bytes::from_static(MAGIC)
            }
            Some(_) => whole_file::read(&**disk, &path).await.map_err(disk_error("read", &path))?,
        };
        let end = replay(&path, &bytes, &mut state)?;
        let file = disk.open(&path, OpenMode::ReadWrite).await.map_err(disk_error("open", &path))?;
        if end < bytes.len() as u64 {
            tracing::warn!(path = %path.display(), cut_bytes = bytes.len() as u64 - end, "metadata log ended in a torn write");
            file.set_len(end).await.map_err(disk_error("cut torn record of", &path))?;
        }
        Ok((Self { directory: directory.to_owned(), file, end, snapshot_epoch }, state))
    }

    /// Makes `command`, which takes the state to `epoch`, durable.
    ///
    /// # Errors
    /// [`ClusterError::MetadataDisk`]; the command must then not take effect.
    pub async fn append(&mut self, epoch: u64, command: &Command) -> Result<(), ClusterError> {
        let path = self.directory.join("log-v1.bin");
        let record = encode(epoch, command);
        let bytes = record.len() as u64;
        self.file.write_at(self.end, Bytes::from(record)).await.map_err(disk_error("write", &path))?;
        self.file.sync().await.map_err(disk_error("sync", &path))?;
        self.end += bytes;
        Ok(())
    }

    /// Replaces a long log by a snapshot of `state`.
    ///
    /// # Errors
    /// [`ClusterError::MetadataDisk`]; the old snapshot and the log stay valid.
    pub async fn compact_when_long(&mut self, env: &Env, state: &MetadataState) -> Result<(), ClusterError> {
        if state.epoch < self.snapshot_epoch + COMMANDS_MAX {
            return Ok(());
        }
        let disk = env.disk();
        let snapshot_path = self.directory.join("snapshot.json");
        let content = format_snapshot(state);
        whole_file::replace(&**disk, &snapshot_path, content).await.map_err(disk_error("replace", &snapshot_path))?;
        // The snapshot is durable before the log that it replaces goes.
        let path = self.directory.join("log-v1.bin");
        whole_file::replace(&**disk, &path, Bytes::from_static(MAGIC)).await.map_err(disk_error("replace", &path))?;
        self.file = disk.open(&path, OpenMode::ReadWrite).await.map_err(disk_error("open", &path))?;
        self.end = MAGIC.len() as u64;
        self.snapshot_epoch = state.epoch;
        Ok(())
    }
}

fn disk_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ClusterError + use<> {
    let path = path.to_owned();
    move |source| ClusterError::MetadataDisk { action, path, source }
}

fn encode(epoch: u64, command: &Command) -> Vec<u8> {
    let body = serde_json::to_vec(&CommandRecord::from(command)).expect("records have string keys only");
    let mut record = Vec::with_capacity(HEADER_BYTES + body.len() + CRC_BYTES);
    let body_bytes = u32::try_from(body.len()).expect("a schema change is far below 4 GiB");
    record.extend_from_slice(&body_bytes.to_le_bytes());
    record.extend_from_slice(&epoch.to_le_bytes());
    record.extend_from_slice(&body);
    let crc = crc32fast::hash(&record);
    record.extend_from_slice(&crc.to_le_bytes());
    record
}

/// Applies the records after the snapshot; answers where the valid part ends.
fn replay(path: &Path, bytes: &[u8], state: &mut MetadataState) -> Result<u64, ClusterError> {
    let corrupt = |offset: usize, problem: String| ClusterError::MetadataCorrupt {
        path: path.to_owned(),
        offset: offset as u64,
        problem,
    };
    if !bytes.starts_with(MAGIC) {
        return Err(corrupt(0, "this is no metadata log of version 1; was it written by a newer version?".into()));
    }
    let mut at = MAGIC.len();
    while at < bytes.len() {
        let rest = &bytes[at..];
        let Some((len, _)) = rest.split_first_chunk::<4>() else { break };
        let body_bytes = u32::from_le_bytes(*len) as usize;
        let record_bytes = HEADER_BYTES + body_bytes + CRC_BYTES;
        let Some(record) = rest.get(..record_bytes) else { break };
        let (content, crc) = record.split_at(HEADER_BYTES + body_bytes);
        if crc32fast::hash(content).to_le_bytes() != crc {
            if rest.len() == record_bytes {
                break;
            }
            return Err(corrupt(at, "checksum of a metadata record does not match its content".into()));
        }
        let epoch = u64::from_le_bytes(content[4..HEADER_BYTES].try_into().expect("eight bytes of the header"));
        let command = serde_json::from_slice::<CommandRecord>(&content[HEADER_BYTES..])
            .map_err(|error| error.to_string())
            .and_then(Command::try_from)
            .map_err(|problem| corrupt(at, problem))?;
        if epoch == state.epoch + 1 {
            state.apply(&command);
        } else if state.epoch < epoch {
            return Err(corrupt(at, format!("record of epoch {epoch} follows epoch {}", state.epoch)));
        }
        at += record_bytes;
    }
    Ok(at as u64)
}

/// `crc32 as 8 hex digits, newline, JSON`
fn format_snapshot(state: &MetadataState) -> Bytes {
    let body = serde_json::to_string_pretty(&StateRecord::from(state)).expect("records have string keys only");
    Bytes::from(format!("{:08x}\n{body}", crc32fast::hash(body.as_bytes())))
}

fn parse_snapshot(path: &Path, bytes: &[u8]) -> Result<MetadataState, ClusterError> {
    let corrupt = |problem: String| ClusterError::MetadataCorrupt { path: path.to_owned(), offset: 0, problem };
    let text = std::str::from_utf8(bytes).map_err(|error| corrupt(error.to_string()))?;
    let (crc, body) = text.split_once('\n').ok_or_else(|| corrupt("no checksum line".into()))?;
    if format!("{:08x}", crc32fast::hash(body.as_bytes())) != crc {
        return Err(corrupt("checksum of the metadata snapshot does not match its content".into()));
    }
    let record: StateRecord = serde_json::from_str(body).map_err(|error| corrupt(error.to_string()))?;
    MetadataState::try_from(record).map_err(corrupt)
}
