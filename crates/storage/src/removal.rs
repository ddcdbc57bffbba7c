//! TRUNCATE and DROP TABLE: all of a table's data goes at once, after a snapshot when one is wanted.
//!
//! What the log still holds of it must not come back: both raise the table's floor in the checkpoint to where the log is.
//! For a dropped table replay would find no definition anyway, unless another one is made under its id (`WITH id = …`).
//!
//! A DROP begins with a note in the table's directory, `dropped.json`: with it, the next start finishes what a crash or a
//! refusing disk left. Without such a note nobody removes files of a table that the schema does not have.

use std::path::Path;
use std::rc::Rc;

use helenus_env::{DirEntry, EntryKind, Env, whole_file};
use helenus_schema::KeyspaceOrigin;
use helenus_sstable::Descriptor;
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::compaction::{ensure_loaded, remove_alone, remove_together, stop_and_hold};
use crate::error::StorageError;
use crate::flush::{FlushReason, ensure_directory, flush_table};
use crate::memtable::{self, Memtable};
use crate::shard::{Shard, directory_name};
use crate::snapshot::{self, SnapshotOptions};
use crate::table::TableStore;
use crate::table_files::TableFile;

/// Empties a table of what was acknowledged before the call.
///
/// # Errors
/// The table may then be empty in part; the caller repeats.
pub(crate) async fn truncate(
    shard: &Rc<Shard>,
    store: &Rc<TableStore>,
    truncated_at_micros: i64,
) -> Result<(), StorageError> {
    if !shard.config.node.is_recovered() {
        return Err(StorageError::Invalid("Cannot truncate while the commit log is replayed".to_owned()));
    }
    ensure_loaded(shard, store)?;
    let table = store.schema();
    let _alone = stop_and_hold(shard, store).await;
    if shard.config.auto_snapshot && table.params.allow_auto_snapshot && wants_auto_snapshot(shard, store) {
        flush_table(shard, store, FlushReason::UserForced).await?;
        if !store.view().files.is_empty() {
            let tag = format!("truncated-{}-{}", truncated_at_micros.div_euclid(1_000), table.name);
            snapshot::link(shard, store, &tag, &SnapshotOptions::now(&shard.env)).await?;
        }
    }
    let _gate = store.flush_gate.acquire().await.expect("the gate is never closed");
    let floor = shard.log.applied();
    let (memtables, files) = take_everything(shard, store);
    free(shard, memtables).await;
    let emptied = async {
        // The log's part first: files without their log are only files that a second TRUNCATE removes.
        shard
            .update_checkpoint(|checkpoint| {
                checkpoint.raise_floor(store.id, floor);
                checkpoint.set_truncated(store.id, truncated_at_micros);
            })
            .await?;
        store.is_checkpoint_behind.set(false);
        remove_files(shard, store, &files).await
    };
    if let Err(error) = emptied.await {
        // Where that second TRUNCATE finds them.
        store.exchange(|view| view.lingering.extend(files));
        return Err(error);
    }
    store.stats_mut().last_truncated_micros = Some(truncated_at_micros);
    info!(table = %table.full_name(), files = files.len(), "truncated");
    Ok(())
}

/// Removes a table that is no longer in the schema, and no longer in the shard's list.
pub(crate) async fn drop_table(shard: Rc<Shard>, store: Rc<TableStore>) {
    let table = store.schema();
    if let Err(error) = drop_data(&shard, &store).await {
        // Perhaps without the snapshot that was to be taken of them: nobody may remove the directory now.
        warn!(table = %table.full_name(), %error, "files of a dropped table stay behind; the next start removes them");
        return;
    }
    if shard.config.node.finish_drop(store.id, shard.id.number()) {
        match remove_directories(&shard, &store).await {
            Ok(()) => shard.config.node.end_drop(store.id),
            Err(error) => {
                warn!(table = %table.full_name(), %error, "the directory of a dropped table stays behind");
            }
        }
    }
}

async fn drop_data(shard: &Rc<Shard>, store: &Rc<TableStore>) -> Result<(), StorageError> {
    let table = store.schema();
    shard.log.drain().await; // What was queued for it when it went.
    let _alone = stop_and_hold(shard, store).await;
    let tag = shard
        .config
        .node
        .drop_tag(store.id, || format!("dropped-{}-{}", shard.env.wall_micros().div_euclid(1_000), table.name));
    let wants_snapshot =
        shard.config.auto_snapshot && table.params.allow_auto_snapshot && wants_auto_snapshot(shard, store);
    if store.memtable_bytes().1 != 0 {
        ensure_directory(shard, store).await?; // The log has records of it: they need the note, too.
    }
    note_drop(shard, store, &tag, wants_snapshot).await?;
    if wants_snapshot {
        flush_table(shard, store, FlushReason::UserForced).await?;
        if !store.view().files.is_empty() {
            snapshot::link(shard, store, &tag, &SnapshotOptions::now(&shard.env)).await?;
        }
    }
    let _gate = store.flush_gate.acquire().await.expect("the gate is never closed");
    let (memtables, files) = take_everything(shard, store);
    free(shard, memtables).await;
    remove_files(shard, store, &files).await?;
    let floor = shard.log.applied(); // A table made again under the same id has waited for this with its first record.
    shard.update_checkpoint(|checkpoint| checkpoint.raise_floor(store.id, floor)).await?;
    info!(table = %table.full_name(), files = files.len(), "dropped");
    Ok(())
}

/// System tables are truncated by the node itself, often; nobody restores them.
fn wants_auto_snapshot(shard: &Shard, store: &TableStore) -> bool {
    let schema = shard.schema();
    let keyspace = store.schema().keyspace.clone();
    schema.keyspace(&keyspace).is_none_or(|keyspace| keyspace.origin == KeyspaceOrigin::User)
}

/// Readers see an empty table from here on. What nobody reads any more and the disk would not let go is among the files:
/// the next start would find it. Shared files that this shard is done with are left to the last one that has them.
fn take_everything(shard: &Shard, store: &TableStore) -> (Vec<Rc<Memtable>>, Vec<Rc<TableFile>>) {
    let view = store.view();
    let active = Rc::new(Memtable::new(view.active.rule()));
    let is_left_to_others =
        |file: &Rc<TableFile>| file.is_shared && shard.config.node.has_released(&file.base_path(), shard.id.number());
    store.exchange(|view| {
        view.active = active;
        view.sealed.clear();
        view.files.clear();
        view.lingering.retain(is_left_to_others);
    });
    let lingering = view.lingering.iter().filter(|file| !is_left_to_others(file));
    (view.memtables(), view.files.iter().chain(lingering).cloned().collect())
}

async fn free(shard: &Shard, memtables: Vec<Rc<Memtable>>) {
    for memtable in memtables {
        shard.release_memtable(memtable.owned_bytes());
        memtable::dismantle(&shard.env, memtable).await;
    }
}

/// Removes files, those of one directory all or none; what other shards share goes with the last of them.
async fn remove_files(shard: &Shard, store: &TableStore, files: &[Rc<TableFile>]) -> Result<(), StorageError> {
    let is_plain = |file: &&Rc<TableFile>| !file.is_shared && file.directory() == store.directory;
    if files.iter().any(|file| is_plain(&file)) {
        let names = files.iter().filter(is_plain).map(|file| file.base_name());
        remove_together(shard, &store.directory, names).await?;
    }
    for file in files.iter().filter(|file| !is_plain(file)) {
        if !file.is_shared || shard.config.node.release(&file.base_path(), shard.id.number()) {
            remove_alone(shard, file).await?;
        }
    }
    Ok(())
}

async fn remove_directories(shard: &Shard, store: &TableStore) -> Result<(), StorageError> {
    let table = store.schema();
    for root in &shard.config.data_directories {
        let directory = root.join(&*table.keyspace).join(directory_name(&table));
        remove_directory(&shard.env, &directory).await?;
    }
    Ok(())
}

async fn remove_note(env: &Env, directory: &Path) -> Result<(), StorageError> {
    let note = directory.join(NOTE);
    match env.disk().remove_file(&note).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StorageError::disk("remove the note of a dropped table", &note)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Leaves the snapshots, if there are any.
async fn remove_directory(env: &Env, directory: &Path) -> Result<(), StorageError> {
    if snapshot::has_snapshots(env, directory).await? {
        return remove_note(env, directory).await;
    }
    match env.disk().remove_dir_all(directory).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StorageError::disk("remove what is left of a dropped table", directory)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// In the directory of a table that is being dropped: the tag of its snapshot, whether one is wanted, and its definition.
const NOTE: &str = "dropped.json";

async fn note_drop(shard: &Shard, store: &TableStore, tag: &str, wants_snapshot: bool) -> Result<(), StorageError> {
    let _one_at_a_time = shard.config.node.snapshot_gate.lock().await;
    let table = store.schema();
    let schema_text = (shard.config.describe_table)(&shard.schema(), &table);
    let text = json!({ "tag": tag, "snapshot": wants_snapshot, "schema": schema_text }).to_string();
    for root in &shard.config.data_directories {
        let directory = root.join(&*table.keyspace).join(directory_name(&table));
        match shard.env.disk().list(&directory).await {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(StorageError::disk("list directory", &directory)(error)),
            Ok(_) => {}
        }
        let path = directory.join(NOTE);
        let written = whole_file::replace(&**shard.env.disk(), &path, text.clone().into()).await;
        written.map_err(StorageError::disk("note that a table is dropped", &path))?;
    }
    Ok(())
}

/// Whether a DROP was interrupted in a table's directory.
pub(crate) async fn is_interrupted(env: &Env, directory: &Path) -> Result<bool, StorageError> {
    let path = directory.join(NOTE);
    let len = env.disk().file_len(&path).await;
    len.map(|len| len.is_some()).map_err(StorageError::disk("look for the note of a dropped table", &path))
}

/// Finishes a DROP that was interrupted in a table's directory, before anybody opens its files; `false` when there was
/// none.
///
/// # Errors
/// What the disk refuses; nothing is removed before it is in the snapshot.
pub(crate) async fn finish_interrupted(env: &Env, directory: &Path) -> Result<bool, StorageError> {
    let path = directory.join(NOTE);
    let note: Value = match whole_file::read(&**env.disk(), &path).await {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StorageError::disk("read the note of a dropped table", &path)(error)),
    };
    let tag = note["tag"].as_str().unwrap_or("dropped-interrupted");
    let entries = env.disk().list(directory).await.map_err(StorageError::disk("list directory", directory))?;
    let is_component =
        |entry: &&DirEntry| entry.kind == EntryKind::File && Descriptor::parse(&directory.join(&entry.name)).is_some();
    let names: Vec<String> = entries.iter().filter(is_component).map(|entry| entry.name.clone()).collect();
    if note["snapshot"].as_bool().unwrap_or(true) && !names.is_empty() {
        snapshot::link_closed(env, directory, tag, &names, note["schema"].as_str().unwrap_or_default()).await?;
    }
    for name in &names {
        let path = directory.join(name);
        env.disk().remove_file(&path).await.map_err(StorageError::disk("remove SSTable component", &path))?;
    }
    remove_directory(env, directory).await?;
    info!(directory = %directory.display(), files = names.len(), "an interrupted DROP TABLE was finished");
    Ok(true)
}
