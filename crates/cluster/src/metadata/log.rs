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
//!     12      4  header_crc  CRC-32 of the record's offset in the file (u64) and bytes 0..12
//!     16      n  body        JSON of a command, see `record`
//!   16+n      4  crc         CRC-32 of everything before
//! ```
//! A last record that is cut or does not match its checksum is a torn write of a command that was never acknowledged: it is
//! overwritten. When an intact record stands anywhere behind it, it is damage, which stops the start; nothing is deleted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use helenus_env::{Env, File, OpenMode, durable_dir, whole_file};

use crate::error::ClusterError;
use crate::metadata::record::{CommandRecord, StateRecord};
use crate::metadata::state::{Command, MetadataState};

const MAGIC: &[u8; 8] = b"HELMETA1";
const HEADER_BYTES: usize = 16;
const HEADER_CRC_AT: usize = 12;
const CRC_BYTES: usize = 4;
/// A snapshot replaces the log after this many commands: replaying them takes a few milliseconds.
const COMMANDS_MAX: u64 = 1_000;

pub struct MetadataLog {
    directory: PathBuf,
    file: Arc<dyn File>,
    end: u64,
    snapshot_epoch: u64,
    /// After a failure that could not be undone nothing more is accepted: what is on disk is not known.
    failed: bool,
}

impl MetadataLog {
    /// Opens or creates the log under `directory` and replays it.
    ///
    /// A log that is not there yet begins with `first`; both appear in one step, so that a log without an intact record is
    /// never an unfinished founding but damage.
    ///
    /// # Errors
    /// [`ClusterError::MetadataDisk`], [`ClusterError::MetadataCorrupt`].
    pub async fn open(
        env: &Env,
        directory: &Path,
        first: impl FnOnce() -> Command,
    ) -> Result<(Self, MetadataState), ClusterError> {
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
        refuse_newer(env, directory).await?;
        let bytes = match disk.file_len(&path).await.map_err(disk_error("look at", &path))? {
            None | Some(0) => {
                let mut content = MAGIC.to_vec();
                if state.identity.is_none() {
                    content.extend_from_slice(&encode(MAGIC.len() as u64, state.epoch + 1, &first()));
                }
                let content = Bytes::from(content);
                whole_file::replace(&**disk, &path, content.clone()).await.map_err(disk_error("create", &path))?;
                content
            }
            Some(_) => whole_file::read(&**disk, &path).await.map_err(disk_error("read", &path))?,
        };
        let end = replay(&path, &bytes, &mut state)?;
        if state.identity.is_none() {
            let problem =
                "the metadata log has no intact record; restore it from a copy, or start with another --data-dir";
            return Err(ClusterError::MetadataCorrupt { path, offset: end, problem: problem.into() });
        }
        let file = disk.open(&path, OpenMode::ReadWrite).await.map_err(disk_error("open", &path))?;
        if end < bytes.len() as u64 {
            tracing::warn!(path = %path.display(), cut_bytes = bytes.len() as u64 - end, "metadata log ended in a torn write");
            file.set_len(end).await.map_err(disk_error("cut torn record of", &path))?;
        }
        Ok((Self { directory: directory.to_owned(), file, end, snapshot_epoch, failed: false }, state))
    }

    /// Makes `command`, which takes the state to `epoch`, durable.
    ///
    /// # Errors
    /// [`ClusterError::MetadataDisk`]; the command must then not take effect.
    pub async fn append(&mut self, epoch: u64, command: &Command) -> Result<(), ClusterError> {
        let path = self.directory.join("log-v1.bin");
        if self.failed {
            let source = std::io::Error::other("an earlier write failed; restart the node");
            return Err(disk_error("append to", &path)(source));
        }
        let record = encode(self.end, epoch, command);
        let bytes = record.len() as u64;
        let written = self.file.write_at(self.end, Bytes::from(record)).await.map_err(disk_error("write", &path));
        let synced = match written {
            Ok(()) => self.file.sync().await.map_err(disk_error("sync", &path)),
            Err(error) => Err(error),
        };
        if synced.is_err() {
            // The record may be whole on disk and must not take effect at the next start.
            self.failed = true;
            if self.file.set_len(self.end).await.is_ok() && self.file.sync().await.is_ok() {
                self.failed = false;
            }
        }
        synced?;
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

fn encode(offset: u64, epoch: u64, command: &Command) -> Vec<u8> {
    let body = serde_json::to_vec(&CommandRecord::from(command)).expect("records have string keys only");
    let mut record = Vec::with_capacity(HEADER_BYTES + body.len() + CRC_BYTES);
    let body_bytes = u32::try_from(body.len()).expect("a schema change is far below 4 GiB");
    record.extend_from_slice(&body_bytes.to_le_bytes());
    record.extend_from_slice(&epoch.to_le_bytes());
    record.extend_from_slice(&header_crc(offset, &record).to_le_bytes());
    record.extend_from_slice(&body);
    let crc = crc32fast::hash(&record);
    record.extend_from_slice(&crc.to_le_bytes());
    record
}

fn header_crc(offset: u64, fields: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&offset.to_le_bytes());
    hasher.update(fields);
    hasher.finalize()
}

struct Parsed<'a> {
    epoch: u64,
    body: &'a [u8],
    record_bytes: usize,
}

/// The intact record at `at`, if one is there.
fn parse(bytes: &[u8], at: usize) -> Option<Parsed<'_>> {
    let rest = &bytes[at..];
    let header = rest.first_chunk::<HEADER_BYTES>()?;
    let (fields, crc) = header.split_at(HEADER_CRC_AT);
    if header_crc(at as u64, fields).to_le_bytes() != crc {
        return None;
    }
    let (len, epoch) = fields.split_at(4);
    let body_bytes = u32::from_le_bytes(len.try_into().ok()?) as usize;
    let record_bytes = HEADER_BYTES.checked_add(body_bytes)?.checked_add(CRC_BYTES)?;
    let (content, crc) = rest.get(..record_bytes)?.split_at(record_bytes - CRC_BYTES);
    let body = (crc32fast::hash(content).to_le_bytes() == crc).then_some(&content[HEADER_BYTES..])?;
    Some(Parsed { epoch: u64::from_le_bytes(epoch.try_into().ok()?), body, record_bytes })
}

/// A log of another version says who this node is, so that nothing is founded beside it.
async fn refuse_newer(env: &Env, directory: &Path) -> Result<(), ClusterError> {
    let entries = env.disk().list(directory).await.map_err(disk_error("list", directory))?;
    let is_newer = |name: &str| name.starts_with("log-v") && name.ends_with(".bin") && name != "log-v1.bin";
    match entries.iter().find(|entry| is_newer(&entry.name)) {
        None => Ok(()),
        Some(entry) => {
            let problem = "a newer version of Helenus wrote this: start that one";
            let path = directory.join(&entry.name);
            Err(ClusterError::MetadataCorrupt { path, offset: 0, problem: problem.into() })
        }
    }
}

/// Applies the records after the snapshot; answers where the valid part ends.
fn replay(path: &Path, bytes: &[u8], state: &mut MetadataState) -> Result<u64, ClusterError> {
    let corrupt = |offset: usize, problem: String| ClusterError::MetadataCorrupt {
        path: path.to_owned(),
        offset: offset as u64,
        problem,
    };
    if !bytes.starts_with(MAGIC) {
        return Err(corrupt(
            0,
            "this is no metadata log of version 1: if a newer version of Helenus wrote it, start that one".into(),
        ));
    }
    let mut at = MAGIC.len();
    while at < bytes.len() {
        let Some(Parsed { epoch, body, record_bytes }) = parse(bytes, at) else {
            if (at + 1..bytes.len()).any(|later| parse(bytes, later).is_some()) {
                return Err(corrupt(at, "a metadata record is damaged, and intact ones follow it".into()));
            }
            break;
        };
        let command = serde_json::from_slice::<CommandRecord>(body)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::state::Role;

    fn role(number: u64) -> Command {
        let name = format!("role{number}");
        Command::PutRole(Role { name, is_superuser: false, can_login: true, salted_hash: None })
    }

    fn log_of(commands: u64) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = MAGIC.to_vec();
        let mut starts = Vec::new();
        for number in 1..=commands {
            starts.push(bytes.len());
            let record = encode(bytes.len() as u64, number, &role(number));
            bytes.extend_from_slice(&record);
        }
        (bytes, starts)
    }

    fn check(bytes: &[u8]) -> Result<usize, String> {
        let mut state = MetadataState::default();
        let end = replay(Path::new("log"), bytes, &mut state).map_err(|error| error.to_string())?;
        assert!(end <= bytes.len() as u64);
        Ok(state.roles.len())
    }

    #[test]
    fn a_log_cut_anywhere_keeps_the_commands_before_the_cut() {
        let (bytes, starts) = log_of(4);
        for len in MAGIC.len()..bytes.len() {
            let whole = starts.iter().skip(1).filter(|start| **start <= len).count();
            assert_eq!(check(&bytes[..len]), Ok(whole), "cut at {len}");
        }
        assert_eq!(check(&bytes), Ok(4));
    }

    #[test]
    fn a_flipped_bit_is_damage_unless_it_is_in_the_last_record() {
        let (bytes, starts) = log_of(4);
        for at in starts[0]..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            let answer = check(&damaged);
            if at < starts[3] {
                assert!(answer.is_err(), "bit of byte {at}");
            } else {
                assert_eq!(answer, Ok(3), "bit of byte {at}");
            }
        }
    }
}
