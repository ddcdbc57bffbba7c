//! What the shards of one node share in storage: file generations, what was on disk at the start, and who still needs a
//! log segment or a file that holds several shards' tokens.
//!
//! Invariants
//! - Everything on disk is looked at once, before any shard opens or writes a file: what a shard finds in
//!   [`Prepared`] is from before this start, whatever its neighbours have written since.
//! - Generations and segment ids are above all that were found.
//! - No file from before the start is removed until every shard has looked whether it is its own.
//! - A segment from before the start goes when every shard has replayed it and made files of what was its own; a shared
//!   file goes when every shard has rewritten its part or said that it has none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use helenus_data::TableId;
use helenus_env::{EntryKind, Env};
use helenus_schema::SchemaSnapshot;
use helenus_sstable::{Component, Descriptor, Generation};
use tracing::warn;
use uuid::Uuid;

use crate::checkpoint::{self, Checkpoint};
use crate::commit_log::{self, LogPosition, SegmentIdentity};
use crate::config::StorageConfig;
use crate::error::StorageError;
use crate::quarantine::QUARANTINE;
use crate::{removal, transaction};

/// Made once per node and start, given to every shard in its [`crate::StorageConfig`].
pub struct StorageNode {
    shard_count: u32,
    generations: AtomicU64,
    segment_ids: AtomicU64,
    prepared: tokio::sync::OnceCell<Prepared>,
    recovery: Mutex<Recovery>,
    is_recovered: AtomicBool,
    /// Per table that had files before the start, which shards have opened what is theirs.
    loaded: Mutex<BTreeMap<TableId, BTreeSet<u32>>>,
    /// Per shared file (the path of its data component without the component), which shards are done with it.
    released: Mutex<BTreeMap<PathBuf, BTreeSet<u32>>>,
    /// Dropped tables that are not gone yet.
    dropped: Mutex<BTreeMap<TableId, Dropped>>,
    pub(crate) drop_ended: tokio::sync::Notify,
    /// Per table and tag, which shards have their files in a snapshot of this start.
    snapshots: Mutex<BTreeMap<(TableId, String), BTreeSet<u32>>>,
    /// Damaged files (by the path of the data component without the component) that were moved away.
    quarantined: Mutex<BTreeSet<PathBuf>>,
    /// Several shards add their files to one snapshot's manifest.
    pub(crate) snapshot_gate: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Recovery {
    shards_done: BTreeSet<u32>,
    damaged: BTreeSet<PathBuf>,
}

/// A table that is on its way out.
#[derive(Default)]
struct Dropped {
    tag: Option<String>,
    /// By shard, how often it let go of a table of this id, and how often it was done with one: ids can be given again.
    begun: BTreeMap<u32, u32>,
    ended: BTreeMap<u32, u32>,
}

/// What was on disk before this start.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub tables: BTreeMap<TableId, Vec<Descriptor>>,
    /// By shard and id.
    pub segments: BTreeMap<(u32, u64), PathBuf>,
    pub checkpoints: BTreeMap<u32, Checkpoint>,
}

impl Prepared {
    /// Raises a table's floors beyond everything that the log of the last run holds; durable on return.
    async fn cover_log_of(&mut self, env: &Env, config: &StorageConfig, table: TableId) -> Result<(), StorageError> {
        let newest: BTreeMap<u32, u64> = self.segments.keys().copied().collect(); // The last id of each shard stays.
        for (shard, segment_id) in newest {
            let checkpoint = self.checkpoints.entry(shard).or_default();
            checkpoint.raise_floor(table, LogPosition { segment_id, offset: u32::MAX });
            checkpoint.store(env, &config.commit_log_directory, shard).await?;
        }
        Ok(())
    }
}

impl StorageNode {
    #[must_use]
    pub fn new(shard_count: u32) -> Self {
        Self {
            shard_count: shard_count.max(1),
            generations: AtomicU64::new(0),
            segment_ids: AtomicU64::new(0),
            prepared: tokio::sync::OnceCell::new(),
            recovery: Mutex::default(),
            is_recovered: AtomicBool::new(false),
            loaded: Mutex::default(),
            released: Mutex::default(),
            dropped: Mutex::default(),
            drop_ended: tokio::sync::Notify::new(),
            snapshots: Mutex::default(),
            quarantined: Mutex::default(),
            snapshot_gate: tokio::sync::Mutex::new(()),
        }
    }

    #[must_use]
    pub fn shard_count(&self) -> u32 {
        self.shard_count
    }

    /// A generation that no file of this node has had.
    #[must_use]
    pub fn next_generation(&self) -> u64 {
        self.generations.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn next_segment_id(&self) -> u64 {
        self.segment_ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Looks at the directories and cleans up after interrupted transactions, once per node.
    pub(crate) async fn prepare(
        &self,
        env: &Env,
        config: &StorageConfig,
        schema: &SchemaSnapshot,
    ) -> Result<&Prepared, StorageError> {
        self.prepared.get_or_try_init(|| self.look_around(env, config, schema)).await
    }

    async fn look_around(
        &self,
        env: &Env,
        config: &StorageConfig,
        schema: &SchemaSnapshot,
    ) -> Result<Prepared, StorageError> {
        let mut prepared = Prepared::default();
        for directory in config.data_directories.iter().chain([&config.commit_log_directory]) {
            let created = env.disk().create_dir_all(directory).await;
            created.map_err(StorageError::disk("create directory", directory))?;
            if let Some(parent) = directory.parent() {
                let synced = env.disk().sync_dir(parent).await;
                synced.map_err(StorageError::disk("sync directory", parent))?;
            }
        }
        self.find_log(env, config, &mut prepared).await?;
        for (directory, table) in table_directories(env, &config.data_directories).await? {
            transaction::clean_directory(env, &directory).await?;
            let is_known = schema.table_by_id(table).is_some();
            if removal::is_interrupted(env, &directory).await? {
                if is_known {
                    // Made again under the same id, and not written to yet: all that the log has of it was dropped.
                    prepared.cover_log_of(env, config, table).await?;
                }
                removal::finish_interrupted(env, &directory).await?;
                continue;
            }
            let files = list(env, &directory).await?;
            let mut here = BTreeSet::new();
            for name in &files {
                let Some((descriptor, component)) = Descriptor::parse(&directory.join(name)) else {
                    if is_known && name.ends_with(DATA_FILE_END) {
                        return Err(StorageError::UnknownFormat { path: directory.join(name) });
                    }
                    continue;
                };
                self.count_generation(&descriptor);
                // With its table of contents an SSTable was complete: data that is gone since is damage.
                if matches!(component, Component::Data | Component::Toc) {
                    here.insert(descriptor);
                }
            }
            for name in list_if_there(env, &directory.join(QUARANTINE)).await? {
                if let Some((descriptor, _)) = Descriptor::parse(&directory.join(name)) {
                    self.count_generation(&descriptor); // Its name is not given again: it would be in its own way there.
                }
            }
            if !here.is_empty() {
                prepared.tables.entry(table).or_default().extend(here);
            }
            if !is_known && prepared.tables.contains_key(&table) {
                warn!(directory = %directory.display(), "files of a table that is not in the schema; nobody reads them");
            }
        }
        self.is_recovered.store(prepared.segments.is_empty(), Ordering::Relaxed);
        Ok(prepared)
    }

    /// Segments and checkpoints of the last run.
    async fn find_log(&self, env: &Env, config: &StorageConfig, prepared: &mut Prepared) -> Result<(), StorageError> {
        for name in list(env, &config.commit_log_directory).await? {
            let path = config.commit_log_directory.join(&name);
            if let Some(SegmentIdentity { shard, segment_id }) = commit_log::parse_file_name(&name) {
                self.segment_ids.fetch_max(segment_id, Ordering::Relaxed);
                prepared.segments.insert((shard, segment_id), path);
            } else if let Some(shard) = checkpoint::parse_file_name(&name) {
                let loaded = Checkpoint::load(env, &path).await?;
                self.segment_ids.fetch_max(loaded.segment_id_max(), Ordering::Relaxed);
                prepared.checkpoints.insert(shard, loaded);
            } else if name.starts_with(LOG_FILE_START) {
                return Err(StorageError::UnknownFormat { path });
            }
        }
        Ok(())
    }

    fn count_generation(&self, descriptor: &Descriptor) {
        if let Generation::Sequence(number) = descriptor.generation {
            self.generations.fetch_max(number, Ordering::Relaxed);
        }
    }

    /// Whether the log from before this start is in files and gone. Before, nothing may be purged.
    pub(crate) fn is_recovered(&self) -> bool {
        self.is_recovered.load(Ordering::Relaxed)
    }

    /// Notes that a shard has replayed and flushed; the last one gets what is to be done: the damaged segments to move
    /// away.
    pub(crate) fn finish_recovery(&self, shard: u32, damaged: &[PathBuf]) -> Option<BTreeSet<PathBuf>> {
        let mut recovery = lock(&self.recovery);
        recovery.damaged.extend(damaged.iter().cloned());
        let is_new = recovery.shards_done.insert(shard);
        let all_done = recovery.shards_done.len() == self.shard_count as usize;
        (is_new && all_done).then(|| recovery.damaged.clone())
    }

    pub(crate) fn set_recovered(&self) {
        self.is_recovered.store(true, Ordering::Relaxed);
    }

    /// Notes that `shard` has opened what is its own of a table's files.
    pub(crate) fn finish_load(&self, table: TableId, shard: u32) {
        lock(&self.loaded).entry(table).or_default().insert(shard);
    }

    /// Whether files of a table may be removed: a shard must open each to learn whose it is, so none goes before all have.
    pub(crate) fn is_loaded_by_all(&self, table: TableId) -> bool {
        let had_files = self.prepared.get().is_some_and(|prepared| prepared.tables.contains_key(&table));
        !had_files || lock(&self.loaded).get(&table).is_some_and(|shards| shards.len() == self.shard_count as usize)
    }

    /// Notes that `shard` needs a shared file no more; `true` for the last one, who removes it.
    pub(crate) fn release(&self, file: &Path, shard: u32) -> bool {
        let mut released = lock(&self.released);
        let shards = released.entry(file.to_owned()).or_default();
        let is_new = shards.insert(shard);
        is_new && shards.len() == self.shard_count as usize
    }

    /// Takes back a [`StorageNode::release`]: the file is still there.
    pub(crate) fn take_back_release(&self, file: &Path, shard: u32) {
        if let Some(shards) = lock(&self.released).get_mut(file) {
            shards.remove(&shard);
        }
    }

    /// Whether `shard` is done with a shared file.
    pub(crate) fn has_released(&self, file: &Path, shard: u32) -> bool {
        lock(&self.released).get(file).is_some_and(|shards| shards.contains(&shard))
    }

    /// Whether all shards are done with a shared file.
    pub(crate) fn is_released_by_all(&self, file: &Path) -> bool {
        lock(&self.released).get(file).is_some_and(|shards| shards.len() == self.shard_count as usize)
    }

    /// Notes that `shard` adds its files to a snapshot; `false` when it has done so, or the snapshot, which `exists` on
    /// disk, is from another start.
    pub(crate) fn claim_snapshot(&self, table: TableId, tag: &str, shard: u32, exists: bool) -> bool {
        let mut snapshots = lock(&self.snapshots);
        if !exists {
            snapshots.insert((table, tag.to_owned()), BTreeSet::from([shard]));
            return true;
        }
        snapshots.get_mut(&(table, tag.to_owned())).is_some_and(|shards| shards.insert(shard))
    }

    /// Notes that a damaged file is moved away; `true` for the shard that does it.
    pub(crate) fn quarantine(&self, file: &Path) -> bool {
        lock(&self.quarantined).insert(file.to_owned())
    }

    pub(crate) fn is_quarantined(&self, file: &Path) -> bool {
        lock(&self.quarantined).contains(file)
    }

    /// Notes that `shard` lets go of a table. Until nothing of it is left, one that is made again under its id takes no
    /// writes: what is on the disk and in the log under that id is the dropped one's.
    pub(crate) fn begin_drop(&self, table: TableId, shard: u32) {
        *lock(&self.dropped).entry(table).or_default().begun.entry(shard).or_default() += 1;
    }

    pub(crate) fn is_dropping(&self, table: TableId) -> bool {
        lock(&self.dropped).contains_key(&table)
    }

    /// The snapshot tag for a dropped table, the same on all shards.
    pub(crate) fn drop_tag(&self, table: TableId, make: impl FnOnce() -> String) -> String {
        lock(&self.dropped).entry(table).or_default().tag.get_or_insert_with(make).clone()
    }

    /// Notes that `shard` has removed its files of a dropped table; `true` for the last one.
    pub(crate) fn finish_drop(&self, table: TableId, shard: u32) -> bool {
        let mut dropped = lock(&self.dropped);
        let Some(entry) = dropped.get_mut(&table) else { return false };
        *entry.ended.entry(shard).or_default() += 1;
        entry.has_ended(self.shard_count)
    }

    /// Notes that nothing of a dropped table is left, or only its snapshots, unless it was made and dropped again meanwhile.
    pub(crate) fn end_drop(&self, table: TableId) {
        let mut dropped = lock(&self.dropped);
        if dropped.get(&table).is_some_and(|entry| entry.has_ended(self.shard_count)) {
            dropped.remove(&table);
        }
        drop(dropped);
        self.drop_ended.notify_waiters();
    }
}

impl Dropped {
    /// Whether all shards have let go of it equally often, and done with it each time.
    fn has_ended(&self, shard_count: u32) -> bool {
        let times = self.begun.values().next().copied().unwrap_or(0);
        let all = |counts: &BTreeMap<u32, u32>| {
            counts.len() == shard_count as usize && counts.values().all(|count| *count == times)
        };
        all(&self.begun) && all(&self.ended)
    }
}

impl fmt::Debug for StorageNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageNode").field("shard_count", &self.shard_count).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the data files of all SSTable versions end with.
const DATA_FILE_END: &str = "-Data.db";

/// What the names of commit log segments of all formats start with, Cassandra's included.
const LOG_FILE_START: &str = "CommitLog-";

async fn list(env: &Env, directory: &Path) -> Result<Vec<String>, StorageError> {
    let entries = env.disk().list(directory).await.map_err(StorageError::disk("list directory", directory))?;
    Ok(entries.into_iter().filter(|entry| entry.kind == EntryKind::File).map(|entry| entry.name).collect())
}

async fn list_if_there(env: &Env, directory: &Path) -> Result<Vec<String>, StorageError> {
    match env.disk().list(directory).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StorageError::disk("list directory", directory)(error)),
        Ok(entries) => Ok(entries.into_iter().map(|entry| entry.name).collect()),
    }
}

/// Every table's directory under the data directories: `<keyspace>/<table>-<id without dashes>`.
pub(crate) async fn table_directories(
    env: &Env,
    data_directories: &[PathBuf],
) -> Result<Vec<(PathBuf, TableId)>, StorageError> {
    let mut found = Vec::new();
    for root in data_directories {
        for keyspace in directories(env, root).await? {
            for table in directories(env, &keyspace).await? {
                let name = table.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if let Some(id) = name.rsplit_once('-').and_then(|(_, id)| Uuid::try_parse(id).ok()) {
                    found.push((table, TableId(id)));
                }
            }
        }
    }
    Ok(found)
}

async fn directories(env: &Env, directory: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let entries = match env.disk().list(directory).await {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(StorageError::disk("list directory", directory)(error)),
    };
    let kept = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
    Ok(kept.map(|entry| directory.join(entry.name)).collect())
}
