//! Snapshots: hard links to a table's files under `snapshots/<tag>/`, with a manifest in Cassandra's form.
//!
//! All shards of a node add their files to the same directory and manifest, one after the other.
//!
//! Source: Cassandra 5.0, `service.snapshot.SnapshotManifest`, `TableSnapshot`.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use helenus_data::TableId;
use helenus_env::{EntryKind, Env, durable_dir, whole_file};
use helenus_sstable::Descriptor;
use helenus_types::{CqlType, time};
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::error::StorageError;
use crate::node::table_directories;
use crate::shard::Shard;
use crate::table::{TableStore, View};

const SNAPSHOTS: &str = "snapshots";
const MANIFEST: &str = "manifest.json";

/// Each attempt begins anew when a compaction took a file away; they are rarely that fast twice.
const ATTEMPTS_MAX: u32 = 20;

/// A snapshot of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    pub tag: String,
    pub keyspace: String,
    pub table: String,
    pub table_id: TableId,
    pub directory: PathBuf,
    /// As the manifest has it: ISO 8601, UTC.
    pub created_at: Option<String>,
    pub expires_at: Option<String>,
    /// Made by the node for its own use: gone with the next start.
    pub is_ephemeral: bool,
    /// All files.
    pub bytes: u64,
    /// Files that only the snapshot still holds.
    pub true_bytes: u64,
    /// Those of them that are components of SSTables.
    pub true_sstable_bytes: u64,
}

/// How a snapshot is taken; the same for all tables and shards of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotOptions {
    pub created_at_micros: i64,
    /// When it is removed by itself.
    pub expires_at_micros: Option<i64>,
    /// Memtables stay where they are, and their content out of the snapshot.
    pub skip_flush: bool,
}

impl SnapshotOptions {
    #[must_use]
    pub fn now(env: &Env) -> Self {
        Self { created_at_micros: env.wall_micros(), expires_at_micros: None, skip_flush: false }
    }
}

/// How often expired snapshots are looked for, and how soon after the start.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60);
const EXPIRY_DELAY: Duration = Duration::from_secs(5);

/// The task that removes snapshots: at the start the ephemeral ones, and whenever the time of one is over.
///
/// Source: Cassandra 5.0, `service.snapshot.SnapshotManager`.
pub(crate) async fn remove_when_due(env: Env, data_directories: Vec<PathBuf>) {
    let mut is_start = true;
    env.sleep(EXPIRY_DELAY).await;
    loop {
        let now_millis = env.wall_micros().div_euclid(1_000);
        let is_over = |info: &SnapshotInfo| info.expires_at_millis().is_some_and(|millis| millis <= now_millis);
        let is_due = |info: &SnapshotInfo| is_over(info) || (is_start && info.is_ephemeral);
        match remove_matching(&env, &data_directories, is_due).await {
            Ok(0) => {}
            Ok(removed) => info!(removed, "snapshots were removed whose time was over"),
            Err(error) => warn!(%error, "snapshots whose time is over stay for now"),
        }
        is_start = false;
        env.sleep(EXPIRY_INTERVAL).await;
    }
}

impl SnapshotInfo {
    fn expires_at_millis(&self) -> Option<i64> {
        let bytes = CqlType::Timestamp.parse_string(self.expires_at.as_deref()?).ok()?;
        Some(i64::from_be_bytes(bytes.try_into().ok()?))
    }
}

/// Takes a tag for this shard's files.
///
/// # Errors
/// [`StorageError::Invalid`] when there is such a snapshot: what was compacted since would stand beside what it became.
pub(crate) async fn claim(shard: &Rc<Shard>, store: &Rc<TableStore>, tag: &str) -> Result<(), StorageError> {
    check_tag(tag)?;
    let node = &shard.config.node;
    let _one_at_a_time = node.snapshot_gate.lock().await;
    let directory = snapshot_directory(&store.directory, tag);
    let exists = match shard.env.disk().list(&directory).await {
        Ok(_) => true,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(StorageError::disk("list directory", &directory)(error)),
    };
    if !node.claim_snapshot(store.id, tag, shard.id.number(), exists) {
        return Err(StorageError::Invalid(format!("Snapshot {tag} already exists.")));
    }
    make_directory(&shard.env, &directory).await
}

/// Links what the table has on this shard now; the caller has flushed.
pub(crate) async fn link(
    shard: &Rc<Shard>,
    store: &Rc<TableStore>,
    tag: &str,
    options: &SnapshotOptions,
) -> Result<(), StorageError> {
    check_tag(tag)?;
    let node = &shard.config.node;
    let _one_at_a_time = node.snapshot_gate.lock().await;
    let mut linked = None;
    for _ in 0..ATTEMPTS_MAX {
        let view = store.view();
        linked = link_view(&shard.env, &view, tag).await?;
        if linked.is_some() {
            break;
        }
        shard.env.yield_now().await;
    }
    let Some(linked) = linked else {
        return Err(StorageError::Invalid(format!(
            "snapshot {tag} of {}: files change faster than they can be linked",
            store.schema().full_name()
        )));
    };
    let table = store.schema();
    let directory = snapshot_directory(&store.directory, tag);
    make_directory(&shard.env, &directory).await?;
    write_manifest(&shard.env, &directory, linked, options).await?;
    let text = (shard.config.describe_table)(&shard.schema(), &table);
    let path = directory.join("schema.cql");
    let written = whole_file::replace(&**shard.env.disk(), &path, text.into()).await;
    written.map_err(StorageError::disk("write snapshot schema", &path))
}

/// A tag is one directory name.
fn check_tag(tag: &str) -> Result<(), StorageError> {
    if tag.is_empty() || tag.contains(['/', '\0']) || tag == "." || tag == ".." {
        return Err(StorageError::Invalid(format!("Snapshot name cannot be '{tag}'")));
    }
    Ok(())
}

fn snapshot_directory(table_directory: &Path, tag: &str) -> PathBuf {
    table_directory.join(SNAPSHOTS).join(tag)
}

/// Links the files of a table that nobody has open; what is linked already stays.
pub(crate) async fn link_closed(
    env: &Env,
    table_directory: &Path,
    tag: &str,
    names: &[String],
    schema_text: &str,
) -> Result<(), StorageError> {
    check_tag(tag)?;
    let directory = snapshot_directory(table_directory, tag);
    make_directory(env, &directory).await?;
    for name in names {
        match env.disk().hard_link(&table_directory.join(name), &directory.join(name)).await {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(StorageError::disk("link into snapshot", &table_directory.join(name))(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let data_files = names.iter().filter(|name| name.ends_with("-Data.db")).cloned().collect();
    write_manifest(env, &directory, data_files, &SnapshotOptions::now(env)).await?;
    let path = directory.join("schema.cql");
    let written = whole_file::replace(&**env.disk(), &path, schema_text.to_owned().into()).await;
    written.map_err(StorageError::disk("write snapshot schema", &path))
}

async fn make_directory(env: &Env, directory: &Path) -> Result<(), StorageError> {
    let made = durable_dir::create(&**env.disk(), directory).await;
    made.map_err(StorageError::disk("create directory", directory))
}

/// The data components that were linked; `None` when a file went away meanwhile, with nothing left behind.
async fn link_view(env: &Env, view: &View, tag: &str) -> Result<Option<Vec<String>>, StorageError> {
    let mut made: Vec<PathBuf> = Vec::new();
    let mut data_files = Vec::new();
    for file in &view.files {
        let (from, prefix) = (file.directory(), format!("{}-", file.base_name()));
        let to = snapshot_directory(from, tag);
        make_directory(env, &to).await?;
        let entries = env.disk().list(from).await.map_err(StorageError::disk("list directory", from))?;
        let names: Vec<String> =
            entries.into_iter().map(|entry| entry.name).filter(|name| name.starts_with(&prefix)).collect();
        let mut is_whole = names.iter().any(|name| name.ends_with("-Data.db"));
        for name in &names {
            match env.disk().hard_link(&from.join(name), &to.join(name)).await {
                Ok(()) => made.push(to.join(name)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {} // Another shard's, or an earlier try's.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => is_whole = false,
                Err(error) => return Err(StorageError::disk("link into snapshot", &from.join(name))(error)),
            }
        }
        if !is_whole {
            for path in made {
                // Part of a compaction's input without the rest could bring deleted data back.
                env.disk().remove_file(&path).await.map_err(StorageError::disk("remove snapshot link", &path))?;
            }
            return Ok(None);
        }
        env.disk().sync_dir(&to).await.map_err(StorageError::disk("sync directory", &to))?;
        data_files.push(format!("{prefix}Data.db"));
    }
    Ok(Some(data_files))
}

/// Adds `data_files` to what other shards noted.
async fn write_manifest(
    env: &Env,
    directory: &Path,
    data_files: Vec<String>,
    options: &SnapshotOptions,
) -> Result<(), StorageError> {
    let path = directory.join(MANIFEST);
    let existing = read_manifest(env, directory).await;
    let mut files: Vec<String> = existing["files"]
        .as_array()
        .map(|files| files.iter().filter_map(|file| file.as_str().map(ToOwned::to_owned)).collect())
        .unwrap_or_default();
    files.extend(data_files);
    files.sort();
    files.dedup();
    let instant = |micros: i64| Value::from(iso_instant(micros.div_euclid(1_000)));
    let created_at = match existing["created_at"].as_str() {
        Some(of_other_shard) => Value::from(of_other_shard),
        None => instant(options.created_at_micros),
    };
    let manifest = json!({
        "files": files,
        "created_at": created_at,
        "expires_at": options.expires_at_micros.map_or(Value::Null, instant),
        "ephemeral": false,
    });
    let text = serde_json::to_string_pretty(&manifest).expect("a value of strings and lists always serialises");
    let written = whole_file::replace(&**env.disk(), &path, text.into()).await;
    written.map_err(StorageError::disk("write snapshot manifest", &path))
}

/// `Null` when there is none, or none that can be read.
async fn read_manifest(env: &Env, directory: &Path) -> Value {
    let bytes = whole_file::read(&**env.disk(), &directory.join(MANIFEST)).await;
    bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null)
}

/// `2024-05-01T12:30:00.123Z`
fn iso_instant(millis: i64) -> String {
    time::timestamp_text(millis).replace(' ', "T").replace("+0000", "Z")
}

/// The snapshots below these data directories, by directory.
///
/// # Errors
/// When a directory cannot be listed.
pub async fn list_snapshots(env: &Env, data_directories: &[PathBuf]) -> Result<Vec<SnapshotInfo>, StorageError> {
    let mut found = Vec::new();
    for (table_directory, table_id) in table_directories(env, data_directories).await? {
        let live = list(env, &table_directory).await?;
        for (tag, _, is_directory) in list(env, &table_directory.join(SNAPSHOTS)).await? {
            if !is_directory {
                continue;
            }
            let directory = snapshot_directory(&table_directory, &tag);
            let (mut bytes, mut true_bytes, mut true_sstable_bytes) = (0, 0, 0);
            for (name, size, _) in list(env, &directory).await? {
                bytes += size;
                if !live.iter().any(|(other, _, _)| *other == name) {
                    true_bytes += size;
                    true_sstable_bytes += if Descriptor::parse(&directory.join(&name)).is_some() { size } else { 0 };
                }
            }
            let manifest = read_manifest(env, &directory).await;
            let text = |field: &str| manifest[field].as_str().map(ToOwned::to_owned);
            let name_of = |path: Option<&Path>| {
                path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
            };
            let directory_name = name_of(Some(&table_directory));
            found.push(SnapshotInfo {
                tag,
                keyspace: name_of(table_directory.parent()),
                table: directory_name.rsplit_once('-').map_or(directory_name.clone(), |(table, _)| table.to_owned()),
                table_id,
                created_at: text("created_at"),
                expires_at: text("expires_at"),
                is_ephemeral: manifest["ephemeral"].as_bool().unwrap_or(false),
                directory,
                bytes,
                true_bytes,
                true_sstable_bytes,
            });
        }
    }
    Ok(found)
}

/// Removes snapshots: of one tag or all, in the keyspaces named or in all; answers how many.
///
/// # Errors
/// When a directory cannot be listed or removed.
pub async fn clear_snapshots(
    env: &Env,
    data_directories: &[PathBuf],
    tag: Option<&str>,
    keyspaces: &[String],
) -> Result<usize, StorageError> {
    let is_meant = |snapshot: &SnapshotInfo| {
        tag.is_none_or(|tag| tag == snapshot.tag) && (keyspaces.is_empty() || keyspaces.contains(&snapshot.keyspace))
    };
    remove_matching(env, data_directories, is_meant).await
}

async fn remove_matching(
    env: &Env,
    data_directories: &[PathBuf],
    is_meant: impl Fn(&SnapshotInfo) -> bool,
) -> Result<usize, StorageError> {
    let mut removed = 0;
    for snapshot in list_snapshots(env, data_directories).await? {
        if is_meant(&snapshot) {
            let directory = &snapshot.directory;
            env.disk().remove_dir_all(directory).await.map_err(StorageError::disk("remove snapshot", directory))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Name, bytes and whether it is a directory; nothing for a directory that is not there.
async fn list(env: &Env, directory: &Path) -> Result<Vec<(String, u64, bool)>, StorageError> {
    match env.disk().list(directory).await {
        Ok(entries) => {
            Ok(entries.into_iter().map(|entry| (entry.name, entry.bytes, entry.kind == EntryKind::Directory)).collect())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StorageError::disk("list directory", directory)(error)),
    }
}

/// Whether anything is in a table's `snapshots` directory.
pub(crate) async fn has_snapshots(env: &Env, table_directory: &Path) -> Result<bool, StorageError> {
    Ok(!list(env, &table_directory.join(SNAPSHOTS)).await?.is_empty())
}
