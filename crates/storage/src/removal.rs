//! TRUNCATE and DROP TABLE: all of a table's data goes at once, after a snapshot when one is wanted.
//!
//! What the log still holds of it must not come back: TRUNCATE raises the table's floor in the checkpoint to where the
//! log is, DROP leaves the table without a definition, so that replay skips it.

use std::rc::Rc;

use helenus_schema::KeyspaceOrigin;
use tracing::{info, warn};

use crate::compaction::{ensure_loaded, remove_alone, stop_and_hold};
use crate::error::StorageError;
use crate::flush::{FlushReason, flush_table};
use crate::memtable::Memtable;
use crate::shard::{Shard, directory_name};
use crate::snapshot;
use crate::table::TableStore;
use crate::table_files::TableFile;
use crate::transaction::{Transaction, TransactionKind};

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
            snapshot::link(shard, store, &tag).await?;
        }
    }
    let _gate = store.flush_gate.acquire().await.expect("the gate is never closed");
    let floor = shard.log.applied();
    let (memtables, files) = take_everything(store);
    memtables.iter().for_each(|memtable| shard.release_memtable(memtable.owned_bytes()));
    // The log's part first: files without their log are only files that a second TRUNCATE removes.
    shard
        .update_checkpoint(|checkpoint| {
            checkpoint.raise_floor(store.id, floor);
            checkpoint.set_truncated(store.id, truncated_at_micros);
        })
        .await?;
    remove_files(shard, store, &files).await?;
    store.stats_mut().last_truncated_micros = Some(truncated_at_micros);
    info!(table = %table.full_name(), files = files.len(), "truncated");
    Ok(())
}

/// Removes a table that is no longer in the schema, and no longer in the shard's list.
pub(crate) async fn drop_table(shard: Rc<Shard>, store: Rc<TableStore>) {
    let table = store.schema();
    if let Err(error) = drop_data(&shard, &store).await {
        warn!(table = %table.full_name(), %error, "files of a dropped table stay behind");
    }
    if shard.config.node.finish_drop(store.id, shard.id.number())
        && let Err(error) = remove_directories(&shard, &store).await
    {
        warn!(table = %table.full_name(), %error, "the directory of a dropped table stays behind");
    }
}

async fn drop_data(shard: &Rc<Shard>, store: &Rc<TableStore>) -> Result<(), StorageError> {
    let table = store.schema();
    let _alone = stop_and_hold(shard, store).await;
    let tag = shard
        .config
        .node
        .drop_tag(store.id, || format!("dropped-{}-{}", shard.env.wall_micros().div_euclid(1_000), table.name));
    if shard.config.auto_snapshot && table.params.allow_auto_snapshot && wants_auto_snapshot(shard, store) {
        flush_table(shard, store, FlushReason::UserForced).await?;
        if !store.view().files.is_empty() {
            snapshot::link(shard, store, &tag).await?;
        }
    }
    let _gate = store.flush_gate.acquire().await.expect("the gate is never closed");
    let (memtables, files) = take_everything(store);
    memtables.iter().for_each(|memtable| shard.release_memtable(memtable.owned_bytes()));
    remove_files(shard, store, &files).await?;
    shard.log.forget_table(store.id);
    shard.update_checkpoint(|checkpoint| checkpoint.forget(store.id)).await?;
    info!(table = %table.full_name(), files = files.len(), "dropped");
    Ok(())
}

/// System tables are truncated by the node itself, often; nobody restores them.
fn wants_auto_snapshot(shard: &Shard, store: &TableStore) -> bool {
    let schema = shard.schema();
    let keyspace = store.schema().keyspace.clone();
    schema.keyspace(&keyspace).is_none_or(|keyspace| keyspace.origin == KeyspaceOrigin::User)
}

/// Readers see an empty table from here on.
fn take_everything(store: &TableStore) -> (Vec<Rc<Memtable>>, Vec<Rc<TableFile>>) {
    let view = store.view();
    let active = Rc::new(Memtable::new(view.active.rule()));
    store.exchange(|view| {
        view.active = active;
        view.sealed.clear();
        view.files.clear();
    });
    (view.memtables(), view.files.clone())
}

/// Removes files, those of one directory all or none; what other shards share goes with the last of them.
async fn remove_files(shard: &Shard, store: &TableStore, files: &[Rc<TableFile>]) -> Result<(), StorageError> {
    let is_plain = |file: &&Rc<TableFile>| !file.is_shared && file.directory() == store.directory;
    if files.iter().any(|file| is_plain(&file)) {
        let mut transaction = Transaction::begin(&shard.env, &store.directory, TransactionKind::Removal).await?;
        for file in files.iter().filter(is_plain) {
            transaction.remove(&file.base_name()).await?;
        }
        transaction.commit().await?;
        transaction.clean_up().await;
    }
    for file in files.iter().filter(|file| !is_plain(file)) {
        if !file.is_shared || shard.config.node.release(&file.base_path(), shard.id.number()) {
            remove_alone(shard, file).await;
        }
    }
    Ok(())
}

async fn remove_directories(shard: &Shard, store: &TableStore) -> Result<(), StorageError> {
    let table = store.schema();
    for root in &shard.config.data_directories {
        let directory = root.join(&*table.keyspace).join(directory_name(&table));
        if snapshot::has_snapshots(&shard.env, &directory).await? {
            continue;
        }
        match shard.env.disk().remove_dir_all(&directory).await {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(StorageError::disk("remove directory", &directory)(error)),
        }
    }
    Ok(())
}
