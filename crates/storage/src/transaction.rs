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
//! - The log goes only when every file that it dooms is gone: otherwise the next start finishes the work.
//! - Only the last line may be torn, and new files go for want of a COMMIT only while the old ones are whole, or when none
//!   of either is left.
//!
//! Source: Cassandra 5.0, `db.lifecycle.LogRecord`, `LogFile`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helenus_env::{EntryKind, Env, File, OpenMode, whole_file};
use tracing::{error, info, warn};

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

    /// Notes a file that goes when the transaction commits: an old one, or a new one that turned out empty.
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
    ///
    /// # Errors
    /// What kept a file on the disk: the next start may open it.
    pub async fn forget_added(self) -> Result<(), StorageError> {
        let keeps_nothing_else = self.removed.iter().all(|name| self.added.contains(name));
        assert!(keeps_nothing_else, "what was to be removed may be gone; then the new files are all there is");
        self.remove_all(&self.added).await
    }

    /// Deletes the removed files and the log; what refuses to go is left to the next start, and the log with it.
    pub async fn clean_up(self) {
        match self.remove_all(&self.removed).await {
            Ok(()) => self.remove_log().await,
            Err(error) => warn!(%error, "an old file could not be removed; the next start removes it"),
        }
    }

    /// Undoes the transaction: the new files go.
    pub async fn abort(mut self) {
        if let Err(error) = self.write(&Line::end(LineKind::Abort)).await {
            // Without a COMMIT it is undone all the same.
            warn!(%error, "the end of an undone transaction could not be noted");
        }
        match self.remove_all(&self.added).await {
            Ok(()) => self.remove_log().await,
            Err(error) => warn!(%error, "an unfinished file could not be removed; the next start removes it"),
        }
    }

    async fn remove_all(&self, base_names: &[String]) -> Result<(), StorageError> {
        let mut outcome = Ok(());
        for base_name in base_names {
            outcome = outcome.and(remove_components(&self.env, &self.directory, base_name).await);
        }
        outcome
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

/// Deletes every component of a file; those that are gone already are fine.
///
/// # Errors
/// The first refusal; whatever else could be deleted is gone all the same.
pub(crate) async fn remove_components(env: &Env, directory: &Path, base_name: &str) -> Result<(), StorageError> {
    let prefix = format!("{base_name}-");
    let entries = env.disk().list(directory).await.map_err(StorageError::disk("list directory", directory))?;
    let mut outcome = Ok(());
    let mut components: Vec<_> =
        entries.iter().filter(|entry| entry.kind == EntryKind::File && entry.name.starts_with(&prefix)).collect();
    // The table of contents first: what is left after a crash must not pass for a complete file that lost something.
    components.sort_by_key(|entry| !entry.name.ends_with("-TOC.txt"));
    for entry in components {
        let path = directory.join(&entry.name);
        match env.disk().remove_file(&path).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                outcome = outcome.and(Err(StorageError::disk("remove SSTable component", &path)(error)));
            }
            Ok(()) | Err(_) => {}
        }
    }
    outcome
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
    /// Base names of files that must be whole before anything is deleted: for want of a COMMIT they are the data.
    must_be_whole: BTreeSet<String>,
}

/// # Errors
/// The number of the first line that is broken and not the last: a crash tears no other.
fn judge(text: &str) -> Result<Leftover, usize> {
    let lines: Vec<Option<Line>> = text.lines().filter(|line| !line.is_empty()).map(Line::parse).collect();
    if let Some(broken) = lines.iter().rev().skip(1).rev().position(Option::is_none) {
        return Err(broken + 1);
    }
    let ends_with = |kind| lines.iter().flatten().any(|line| line.kind == kind);
    let base_name = |line: &Line| Path::new(&line.path).file_name().map(|name| name.to_string_lossy().into_owned());
    let of_kind =
        |kind| lines.iter().flatten().filter(|line| line.kind == kind).filter_map(base_name).collect::<BTreeSet<_>>();
    let (added, removed) = (of_kind(LineKind::Add), of_kind(LineKind::Remove));
    Ok(match (ends_with(LineKind::Commit), ends_with(LineKind::Abort)) {
        (true, _) => Leftover { delete: removed, must_be_whole: BTreeSet::new() },
        (false, true) => Leftover { delete: added, must_be_whole: BTreeSet::new() },
        (false, false) => Leftover { must_be_whole: removed.difference(&added).cloned().collect(), delete: added },
    })
}

/// Whether every component that a file's table of contents lists is there.
async fn is_whole(env: &Env, directory: &Path, base_name: &str) -> Result<bool, StorageError> {
    let toc = directory.join(format!("{base_name}-TOC.txt"));
    let listed = match whole_file::read(&**env.disk(), &toc).await {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StorageError::disk("read SSTable table of contents", &toc)(error)),
    };
    for component in listed.lines().filter(|line| !line.is_empty()) {
        let path = directory.join(format!("{base_name}-{component}"));
        let len = env.disk().file_len(&path).await;
        if len.map_err(StorageError::disk("measure SSTable component", &path))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn damaged(log: &Path, expected: &'static str, found: String) -> StorageError {
    error!(log = %log.display(), expected, found, "a transaction log is damaged: look at the files that it names, remove the old or the new ones, and the log");
    StorageError::Corrupt { path: log.to_owned(), offset: 0, expected, found }
}

/// Whether any component of these files is there.
async fn is_anything_left<'n>(
    env: &Env,
    directory: &Path,
    base_names: impl Iterator<Item = &'n String>,
) -> Result<bool, StorageError> {
    let listed = env.disk().list(directory).await.map_err(StorageError::disk("list directory", directory))?;
    let prefixes: Vec<String> = base_names.map(|base_name| format!("{base_name}-")).collect();
    Ok(listed.iter().any(|entry| prefixes.iter().any(|prefix| entry.name.starts_with(prefix))))
}

/// Whether a name is a transaction log's.
pub(crate) fn is_transaction_log(name: &str) -> bool {
    name.split_once("_txn_").is_some_and(|(version, rest)| 2 <= version.len() && rest.ends_with(".log"))
}

/// Finishes or undoes what a crash interrupted in a table's directory. To be called before any of its files is opened.
///
/// # Errors
/// When a log is broken beyond a torn last line, has no COMMIT although old files are gone, or the disk refuses.
pub(crate) async fn clean_directory(env: &Env, directory: &Path) -> Result<(), StorageError> {
    let listed = env.disk().list(directory).await.map_err(StorageError::disk("list directory", directory))?;
    let mut leftovers = Vec::new();
    for entry in listed.iter().filter(|entry| is_transaction_log(&entry.name)) {
        let path = directory.join(&entry.name);
        let bytes = whole_file::read(&**env.disk(), &path).await;
        let bytes = bytes.map_err(StorageError::disk("read transaction log", &path))?;
        let judged = judge(&String::from_utf8_lossy(&bytes));
        let leftover = judged.map_err(|line| {
            damaged(&path, "transaction records with valid checksums", format!("a broken line {line}"))
        })?;
        leftovers.push((path, leftover));
    }
    // Decided ones first: a TRUNCATE may have removed all that an undecided one is about.
    leftovers.sort_by_key(|(_, leftover)| !leftover.must_be_whole.is_empty());
    for (path, leftover) in leftovers {
        let is_moot = !is_anything_left(env, directory, leftover.must_be_whole.union(&leftover.delete)).await?;
        for base_name in leftover.must_be_whole.iter().filter(|_| !is_moot) {
            if !is_whole(env, directory, base_name).await? {
                let found = format!("none, and {base_name} is not whole");
                return Err(damaged(&path, "a COMMIT, as old files are gone", found));
            }
        }
        info!(log = %path.display(), files = leftover.delete.len(), "cleaning up after an interrupted flush or compaction");
        for base_name in &leftover.delete {
            remove_components(env, directory, base_name).await?;
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
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let undone = Leftover { delete: names(&["nb-7-big"]), must_be_whole: names(&["nb-3-big"]) };
        assert_eq!(judge(&open), Ok(undone));
        let torn = format!("{open}COMMIT:[,0");
        assert_eq!(judge(&torn), judge(&open));
        let committed = format!("{open}{}\n", Line::end(LineKind::Commit).format());
        assert_eq!(judge(&committed), Ok(Leftover { delete: names(&["nb-3-big"]), must_be_whole: names(&[]) }));
        let aborted = format!("{open}{}\n", Line::end(LineKind::Abort).format());
        assert_eq!(judge(&aborted), Ok(Leftover { delete: names(&["nb-7-big"]), must_be_whole: names(&[]) }));
    }

    #[test]
    fn a_broken_line_before_the_last_is_damage() {
        let line = |kind, name: &str| Line { kind, path: format!("/d/{name}"), time_ms: 0, count: 8 }.format();
        let (add, remove) = (line(LineKind::Add, "nb-7-big"), line(LineKind::Remove, "nb-3-big"));
        let commit = Line::end(LineKind::Commit).format();
        let flipped = remove.replace("nb-3", "nb-2");
        assert_eq!(judge(&format!("{add}\n{flipped}\n{commit}\n")), Err(2));
        assert_eq!(judge(&format!("{}\n{remove}\n{commit}\n", add.replace("nb-7", "nb-8"))), Err(1));
    }

    #[test]
    fn log_names_are_told_from_components() {
        assert!(is_transaction_log("nb_txn_flush_0123.log"));
        assert!(!is_transaction_log("nb-1-big-Data.db"));
        assert!(!is_transaction_log("x_txn.log"));
    }
}
