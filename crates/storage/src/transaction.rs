//! Transaction log: which files a flush or compaction adds and removes, so that a crash leaves all of it or nothing.
//!
//! A text file in the table's directory, in Cassandra's form, so that its tools and a node of its kind clean up what we
//! left, and the other way round:
//!
//! ```text
//! nb_txn_compaction_<uuid without dashes>.log
//! ADD:[/data/ks/t-…/nb-7-big,0,8][1234567890]             path of the new file, 0, component count, checksum
//! REMOVE:[/data/ks/t-…/nb-3-big,1700000000000,8][…]       an old file, when it was marked (ms), component count
//! COMMIT:[,0,0][613149123]                                or ABORT
//! ```
//! The checksum is a CRC-32 of path, kind, the low and the high 32 bits of the time, and the count (big-endian).
//!
//! Invariants
//! - ADD is durable before the first byte of the new file is written; COMMIT only after the new file is durable.
//! - With COMMIT the old files go, without it the new ones; then the log itself. Doing it twice does no harm.
//!
//! Source: Cassandra 5.0, `db.lifecycle.LogRecord`, `LogFile`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helenus_env::{EntryKind, Env, File, OpenMode, whole_file};
use tracing::{info, warn};

use crate::error::StorageError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionKind {
    Flush,
    Compaction,
    /// Only removes: TRUNCATE, and files that every shard has rewritten.
    Removal,
}

impl TransactionKind {
    /// As Cassandra's `OperationType` names it in files.
    fn file_name_part(self) -> &'static str {
        match self {
            TransactionKind::Flush => "flush",
            TransactionKind::Compaction | TransactionKind::Removal => "compaction",
        }
    }
}

/// A running change of a table's files. Dropped without [`Transaction::commit`] or [`Transaction::abort`] it is undone
/// at the next start.
pub(crate) struct Transaction {
    env: Env,
    directory: PathBuf,
    path: PathBuf,
    file: Arc<dyn File>,
    written_bytes: u64,
    removed: Vec<String>,
    added: Vec<String>,
}

/// Components of a BIG table, TOC included; readers take the count as a hint only.
const COMPONENT_COUNT: u32 = 8;

impl Transaction {
    pub async fn begin(env: &Env, directory: &Path, kind: TransactionKind) -> Result<Self, StorageError> {
        let id = env.new_timeuuid().simple().to_string();
        let path = directory.join(format!("nb_txn_{}_{id}.log", kind.file_name_part()));
        let file = env.disk().open(&path, OpenMode::CreateNew).await;
        let file = file.map_err(StorageError::disk("create transaction log", &path))?;
        let synced = env.disk().sync_dir(directory).await;
        synced.map_err(StorageError::disk("sync directory", directory))?;
        Ok(Self {
            env: env.clone(),
            directory: directory.to_owned(),
            path,
            file,
            written_bytes: 0,
            removed: Vec::new(),
            added: Vec::new(),
        })
    }

    /// Notes a file that is about to be written; `base_name` as in `nb-7-big`.
    pub async fn add(&mut self, base_name: &str) -> Result<(), StorageError> {
        let line = Line { kind: LineKind::Add, path: self.full_path(base_name), time_ms: 0, count: COMPONENT_COUNT };
        self.added.push(base_name.to_owned());
        self.write(&line).await
    }

    /// Notes a file that goes when the transaction commits.
    pub async fn remove(&mut self, base_name: &str) -> Result<(), StorageError> {
        // Cassandra refuses to act when a file is younger than its record, so the record says "now".
        let time_ms = self.env.wall_micros() / 1_000 + 1;
        let line = Line { kind: LineKind::Remove, path: self.full_path(base_name), time_ms, count: COMPONENT_COUNT };
        self.removed.push(base_name.to_owned());
        self.write(&line).await
    }

    /// From here on the old files are gone and the new ones stand. The files themselves are deleted by
    /// [`Transaction::clean_up`], when nothing reads them any more.
    pub async fn commit(&mut self) -> Result<(), StorageError> {
        self.write(&Line::end(LineKind::Commit)).await
    }

    /// After a failed commit that removes nothing: deletes the new files, so that they are gone whatever the log says.
    pub async fn forget_added(self) {
        assert!(self.removed.is_empty(), "what was to be removed may be gone; then the new files are all there is");
        for base_name in &self.added {
            remove_components(&self.env, &self.directory, base_name).await;
        }
    }

    /// Deletes the removed files and the log.
    pub async fn clean_up(self) {
        for base_name in &self.removed {
            remove_components(&self.env, &self.directory, base_name).await;
        }
        self.remove_log().await;
    }

    /// Undoes the transaction: the new files go.
    pub async fn abort(mut self) {
        if let Err(error) = self.write(&Line::end(LineKind::Abort)).await {
            warn!(%error, "a transaction is undone at the next start only");
            return;
        }
        for base_name in &self.added {
            remove_components(&self.env, &self.directory, base_name).await;
        }
        self.remove_log().await;
    }

    async fn remove_log(&self) {
        // The deletions must be durable before the log that knows of them goes.
        let removed = async {
            self.env.disk().sync_dir(&self.directory).await?;
            self.env.disk().remove_file(&self.path).await
        };
        if let Err(error) = removed.await {
            warn!(log = %self.path.display(), %error, "a transaction log stays until the next start");
        }
    }

    fn full_path(&self, base_name: &str) -> String {
        self.directory.join(base_name).display().to_string()
    }

    async fn write(&mut self, line: &Line) -> Result<(), StorageError> {
        let text = format!("{}\n", line.format());
        let bytes = text.len() as u64;
        let written = async {
            self.file.write_at(self.written_bytes, text.into()).await?;
            self.file.sync().await
        };
        written.await.map_err(StorageError::disk("write transaction log", &self.path))?;
        self.written_bytes += bytes;
        Ok(())
    }
}

/// Deletes every component of a file. What is gone already is fine; what refuses to go is logged and left.
pub(crate) async fn remove_components(env: &Env, directory: &Path, base_name: &str) {
    let prefix = format!("{base_name}-");
    let entries = match env.disk().list(directory).await {
        Ok(entries) => entries,
        Err(error) => {
            warn!(directory = %directory.display(), %error, "an old file could not be looked for");
            return;
        }
    };
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File && entry.name.starts_with(&prefix)) {
        if let Err(error) = env.disk().remove_file(&directory.join(&entry.name)).await
            && error.kind() != std::io::ErrorKind::NotFound
        {
            warn!(file = entry.name, %error, "an old file could not be removed");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Add,
    Remove,
    Commit,
    Abort,
}

impl LineKind {
    fn name(self) -> &'static str {
        match self {
            LineKind::Add => "ADD",
            LineKind::Remove => "REMOVE",
            LineKind::Commit => "COMMIT",
            LineKind::Abort => "ABORT",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [LineKind::Add, LineKind::Remove, LineKind::Commit, LineKind::Abort]
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    kind: LineKind,
    path: String,
    time_ms: i64,
    count: u32,
}

impl Line {
    fn end(kind: LineKind) -> Self {
        Self { kind, path: String::new(), time_ms: 0, count: 0 }
    }

    fn checksum(&self) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(self.path.as_bytes());
        crc.update(self.kind.name().as_bytes());
        let time = self.time_ms.to_be_bytes();
        crc.update(&time[4..]);
        crc.update(&time[..4]);
        crc.update(&self.count.to_be_bytes());
        crc.finalize()
    }

    fn format(&self) -> String {
        format!("{}:[{},{},{}][{}]", self.kind.name(), self.path, self.time_ms, self.count, self.checksum())
    }

    /// `None` for a line that is broken or fails its checksum.
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(":[")?;
        let (fields, checksum) = rest.strip_suffix(']')?.rsplit_once("][")?;
        let mut fields = fields.rsplitn(3, ',');
        let (count, time_ms, path) = (fields.next()?, fields.next()?, fields.next()?);
        let line = Line {
            kind: LineKind::parse(kind)?,
            path: path.to_owned(),
            time_ms: time_ms.parse().ok()?,
            count: count.parse().ok()?,
        };
        (checksum.parse() == Ok(line.checksum())).then_some(line)
    }
}

/// What a left-over log says is to be done.
#[derive(Debug, Default, PartialEq, Eq)]
struct Leftover {
    /// Base names of files to delete.
    delete: BTreeSet<String>,
    /// Lines that could not be read; the last one may be torn.
    broken_lines: usize,
}

fn judge(text: &str) -> Leftover {
    let lines: Vec<Option<Line>> = text.lines().filter(|line| !line.is_empty()).map(Line::parse).collect();
    let committed = lines.iter().flatten().any(|line| line.kind == LineKind::Commit);
    let doomed = if committed { LineKind::Remove } else { LineKind::Add };
    let base_name = |line: &Line| Path::new(&line.path).file_name().map(|name| name.to_string_lossy().into_owned());
    Leftover {
        delete: lines.iter().flatten().filter(|line| line.kind == doomed).filter_map(base_name).collect(),
        broken_lines: lines.iter().filter(|line| line.is_none()).count(),
    }
}

/// Whether a name is a transaction log's.
pub(crate) fn is_transaction_log(name: &str) -> bool {
    name.split_once("_txn_").is_some_and(|(version, rest)| 2 <= version.len() && rest.ends_with(".log"))
}

/// Finishes or undoes what a crash interrupted in a table's directory. To be called before any of its files is opened.
///
/// # Errors
/// When a log is broken beyond a torn last line, or the disk refuses.
pub(crate) async fn clean_directory(env: &Env, directory: &Path) -> Result<(), StorageError> {
    let listed = env.disk().list(directory).await.map_err(StorageError::disk("list directory", directory))?;
    for entry in listed.iter().filter(|entry| is_transaction_log(&entry.name)) {
        let path = directory.join(&entry.name);
        let bytes = whole_file::read(&**env.disk(), &path).await;
        let bytes = bytes.map_err(StorageError::disk("read transaction log", &path))?;
        let leftover = judge(&String::from_utf8_lossy(&bytes));
        if 1 < leftover.broken_lines {
            return Err(StorageError::Corrupt {
                path,
                offset: 0,
                expected: "transaction records with valid checksums",
                found: format!("{} broken lines", leftover.broken_lines),
            });
        }
        info!(log = entry.name, files = leftover.delete.len(), "cleaning up after an interrupted flush or compaction");
        for base_name in &leftover.delete {
            remove_components(env, directory, base_name).await;
        }
        let removed = async {
            env.disk().sync_dir(directory).await?;
            env.disk().remove_file(&path).await
        };
        removed.await.map_err(StorageError::disk("remove transaction log", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_line_is_cassandras() {
        // Computed by Cassandra 5.0's LogRecord: CRC-32 of "COMMIT" and twelve zero bytes.
        let mut crc = crc32fast::Hasher::new();
        crc.update(b"COMMIT");
        crc.update(&[0; 12]);
        assert_eq!(Line::end(LineKind::Commit).format(), format!("COMMIT:[,0,0][{}]", crc.finalize()));
    }

    #[test]
    fn lines_are_parsed_back_and_checked() {
        let line =
            Line { kind: LineKind::Remove, path: "/d/a,b/nb-3-big".into(), time_ms: 1_700_000_000_123, count: 8 };
        assert_eq!(Line::parse(&line.format()), Some(line.clone()));
        assert_eq!(Line::parse(&line.format().replace("nb-3", "nb-4")), None);
        assert_eq!(Line::parse("ADD:[x"), None);
    }

    #[test]
    fn without_a_commit_the_new_files_go_and_with_it_the_old_ones() {
        let line = |kind, name: &str| Line { kind, path: format!("/d/{name}"), time_ms: 0, count: 8 }.format();
        let open = format!("{}\n{}\n", line(LineKind::Add, "nb-7-big"), line(LineKind::Remove, "nb-3-big"));
        assert_eq!(judge(&open).delete, BTreeSet::from(["nb-7-big".to_owned()]));
        let torn = format!("{open}COMMIT:[,0");
        assert_eq!(judge(&torn), Leftover { delete: BTreeSet::from(["nb-7-big".to_owned()]), broken_lines: 1 });
        let committed = format!("{open}{}\n", Line::end(LineKind::Commit).format());
        assert_eq!(judge(&committed).delete, BTreeSet::from(["nb-3-big".to_owned()]));
        let aborted = format!("{open}{}\n", Line::end(LineKind::Abort).format());
        assert_eq!(judge(&aborted).delete, BTreeSet::from(["nb-7-big".to_owned()]));
    }

    #[test]
    fn log_names_are_told_from_components() {
        assert!(is_transaction_log("nb_txn_flush_0123.log"));
        assert!(!is_transaction_log("nb-1-big-Data.db"));
        assert!(!is_transaction_log("x_txn.log"));
    }
}
