//! Flush: a sealed memtable becomes a file, takes its place in the view in one step, and frees its log.
//!
//! ```text
//! seal -> transaction ADD -> write, sync -> open -> COMMIT -> exchange, memory is free -> checkpoint, log segments go
//! ```
//! The order matters: a file that is committed is read, compacted and snapshotted from the exchange on, whatever becomes of
//! the checkpoint; until that is durable the log can rebuild the memtable. A crash anywhere leaves the data in the log, in
//! the file, or in both, which merges to the same; while a checkpoint is behind its file nothing of the table is purged,
//! as replay could bring back what only the purged tombstone hid.

use std::rc::Rc;

use helenus_data::merge::merge_headers;
use helenus_data::purge::PurgeBefore;
use helenus_data::read::KeyRange;
use helenus_data::{Direction, Slice, TableId, Unfiltered};
use helenus_env::SchedulingGroup;
use helenus_schema::Table;
use tracing::{debug, error, warn};

use crate::error::StorageError;
use crate::memtable::{self, Memtable};
use crate::read::{MergedRows, MergedStep, Source, Walk};
use crate::shard::Shard;
use crate::table::{TableStore, cut_dropped_columns};
use crate::table_files::{FileWriter, NewFile, TableFile};
use crate::transaction::{Transaction, TransactionKind};

/// Why a memtable is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushReason {
    /// Memtables take more than their share of memory.
    Memory,
    /// The commit log is larger than it may be.
    CommitLog,
    /// `memtable_flush_period_in_ms`.
    Period,
    /// Somebody asked: nodetool, TRUNCATE, a snapshot.
    UserForced,
    Shutdown,
    /// What was replayed after a start.
    Recovery,
}

/// Rows of one batch while writing: a pause between batches keeps the shard responsive.
const BATCH_ROWS: usize = 128;

/// Flushes tables, those that have nothing to flush included: their floor rises, so that the log may go.
pub(crate) async fn flush_tables(
    shard: &Rc<Shard>,
    tables: Option<&[TableId]>,
    reason: FlushReason,
) -> Result<(), StorageError> {
    let mut first_error = None;
    for store in shard.tables() {
        if tables.is_none_or(|wanted| wanted.contains(&store.id))
            && let Err(error) = flush_table(shard, &store, reason).await
        {
            first_error.get_or_insert(error);
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// Flushes one table; on return everything that was in its memtables when it was called is in files.
///
/// # Errors
/// The memtable then stays sealed, is read as before, and the next flush of the table tries again.
pub(crate) async fn flush_table(
    shard: &Rc<Shard>,
    store: &Rc<TableStore>,
    reason: FlushReason,
) -> Result<(), StorageError> {
    let _one_per_table = store.flush_gate.acquire().await.expect("the gate is never closed");
    let _slot = shard.flush_slots.acquire().await.expect("the slots are never closed");
    if !store.view().active.is_empty() {
        store.seal(shard.log.applied());
    }
    loop {
        let Some(oldest) = store.view().sealed.first().cloned() else { break };
        debug!(table = %store.schema().full_name(), ?reason, bytes = oldest.owned_bytes(), "flushing a memtable");
        flush_memtable(shard, store, oldest).await.inspect_err(|error| {
            error!(table = %store.schema().full_name(), %error, "a memtable could not be flushed");
        })?;
    }
    let floor = shard.log.applied();
    if store.view().active.is_empty() && shard.config.node.is_recovered() && shard.log.is_dirty(store.id, floor) {
        // Everything is in files, and yet the log is held up: the flush came before recovery was over.
        shard.update_checkpoint(|checkpoint| checkpoint.raise_floor(store.id, floor)).await?;
        store.is_checkpoint_behind.set(false);
    }
    Ok(())
}

async fn flush_memtable(shard: &Rc<Shard>, store: &Rc<TableStore>, memtable: Rc<Memtable>) -> Result<(), StorageError> {
    let floor = memtable.floor().expect("only sealed memtables are flushed");
    ensure_directory(shard, store).await?;
    let mut transaction = Transaction::begin(&shard.env, &store.directory, TransactionKind::Flush).await?;
    let written = write_memtable(shard, store, &memtable, &mut transaction).await;
    let file = match written {
        Ok(file) => file,
        Err(error) => {
            transaction.abort().await;
            return Err(error);
        }
    };
    if let Err(error) = transaction.commit().await {
        // Nobody knows whether the commit is on the disk; the file must not come back beside the next one.
        if let Err(error) = transaction.forget_added().await {
            warn!(table = %store.schema().full_name(), %error, "an unfinished file stays until the next start");
            store.exchange(|view| view.lingering.extend(file));
        }
        return Err(error);
    }
    let bytes = file.as_ref().map_or(0, |file| file.bytes_on_disk());
    store.is_checkpoint_behind.set(true);
    store.exchange(|view| {
        let oldest = view.sealed.remove(0);
        assert!(Rc::ptr_eq(&oldest, &memtable), "the gate keeps sealed memtables in place");
        view.files.extend(file);
    });
    transaction.clean_up().await;
    shard.release_memtable(memtable.owned_bytes());
    memtable::dismantle(&shard.env, memtable).await;
    shard.flush_count.set(shard.flush_count.get() + 1);
    {
        let mut stats = store.stats_mut();
        stats.flushes += 1;
        stats.flushed_bytes += bytes;
    }
    if shard.config.node.is_recovered() {
        // Before, the floor would hide records of the former log that no shard has replayed yet.
        shard.update_checkpoint(|checkpoint| checkpoint.raise_floor(store.id, floor)).await?;
        store.is_checkpoint_behind.set(false);
    }
    shard.compactions.wanted.notify_one();
    Ok(())
}

/// `None` when nothing of the memtable is worth a file.
async fn write_memtable(
    shard: &Rc<Shard>,
    store: &Rc<TableStore>,
    memtable: &Rc<Memtable>,
    transaction: &mut Transaction,
) -> Result<Option<Rc<TableFile>>, StorageError> {
    let table = store.schema();
    let new = NewFile {
        directory: &store.directory,
        generation: shard.config.node.next_generation(),
        table: &table,
        shard: shard.id.number(),
        keys_estimate: memtable.len() as u64,
        encoding: memtable.encoding(),
        config: &shard.config,
    };
    let descriptor = new.descriptor();
    transaction.add(&descriptor.base_name()).await?;
    let mut writer = FileWriter::create(&shard.env, &new).await?;
    let memtables = [Rc::clone(memtable)];
    let mut walk = Walk::start(KeyRange::all(), &memtables, &[], shard.id.number(), shard.shard_count).await?;
    loop {
        let next = match walk.next().await {
            Ok(Some((_, mut sources))) => {
                write_partition(&mut FlushPacer { shard }, &mut writer, &table, &mut sources, None).await
            }
            Ok(None) => break,
            Err(error) => Err(error),
        };
        if let Err(error) = next {
            writer.abort().await;
            return Err(error);
        }
    }
    if writer.partitions == 0 {
        writer.abort().await;
        transaction.remove(&new.descriptor().base_name()).await?; // In case something of it would not go.
        return Ok(None);
    }
    let descriptor = writer.finish().await?;
    open_own(shard, &table, descriptor).await.map(Some)
}

/// Opens a file that this shard has just written.
pub(crate) async fn open_own(
    shard: &Shard,
    table: &std::sync::Arc<Table>,
    descriptor: helenus_sstable::Descriptor,
) -> Result<Rc<TableFile>, StorageError> {
    let path = descriptor.directory.join(descriptor.base_name());
    let opened =
        TableFile::open(&shard.env, descriptor, table, &shard.cache, shard.id.number(), shard.shard_count).await?;
    opened.ok_or(StorageError::Corrupt {
        path,
        offset: 0,
        expected: "a file of the shard that wrote it",
        found: "another shard's".to_owned(),
    })
}

/// Gives way to others while a partition is written, and may end it.
pub(crate) trait Pacer {
    /// Between batches; `written_bytes` is what the file has so far.
    async fn pause(&mut self, written_bytes: u64) -> Result<(), StorageError>;
}

struct FlushPacer<'f> {
    shard: &'f Shard,
}

impl Pacer for FlushPacer<'_> {
    async fn pause(&mut self, _: u64) -> Result<(), StorageError> {
        SchedulingGroup::Flush.pace(&self.shard.env).await;
        Ok(())
    }
}

/// Merges one partition's sources and writes what is left, purged when `purge` says of what.
pub(crate) async fn write_partition(
    pacer: &mut impl Pacer,
    writer: &mut FileWriter,
    table: &Table,
    sources: &mut [Source],
    purge: Option<&PurgeBefore>,
) -> Result<(), StorageError> {
    let rule = table.cell_rule();
    let headers: Vec<_> = sources.iter().filter_map(Source::header).collect();
    let Some(mut header) = merge_headers(headers, rule) else { return Ok(()) };
    let deletion = header.deletion; // Shadows even when it is purged itself: what it hides is purged with it.
    if let Some(purge) = purge {
        header.deletion = purge.deletion(header.deletion);
    }
    header.static_row = header.static_row.and_then(|mut row| {
        cut_dropped_columns(&mut row, table);
        if let Some(purge) = purge {
            purge.row(&mut row);
        }
        (!row.is_empty()).then_some(row)
    });
    writer.start_partition(header).await?;
    let mut rows = MergedRows::new(sources, &Slice::all(), deletion, Direction::Forward, rule, BATCH_ROWS);
    loop {
        match rows.next().await? {
            MergedStep::Item(item) => {
                if let Some(item) = purged(item, table, purge) {
                    writer.append(&item).await?;
                }
            }
            MergedStep::Changed => unreachable!("sealed memtables and files do not change"),
            MergedStep::Pause => pacer.pause(writer.data_bytes()).await?,
            MergedStep::Done => break,
        }
    }
    writer.end_partition().await
}

fn purged(item: Unfiltered, table: &Table, purge: Option<&PurgeBefore>) -> Option<Unfiltered> {
    match item {
        Unfiltered::Row(mut row) => {
            cut_dropped_columns(&mut row, table);
            if let Some(purge) = purge {
                purge.row(&mut row);
            }
            (!row.is_empty()).then_some(Unfiltered::Row(row))
        }
        Unfiltered::Marker(marker) => match purge {
            Some(purge) => purge.marker(marker).map(Unfiltered::Marker),
            None => Some(Unfiltered::Marker(marker)),
        },
    }
}

/// Makes the table's directory on first use; its name is durable on return.
pub(crate) async fn ensure_directory(shard: &Shard, store: &TableStore) -> Result<(), StorageError> {
    if store.directory_exists.get() {
        return Ok(());
    }
    let (disk, directory) = (shard.env.disk(), &store.directory);
    let made = helenus_env::durable_dir::create(&**disk, directory).await;
    made.map_err(StorageError::disk("create directory", directory))?;
    store.directory_exists.set(true);
    Ok(())
}

/// The task that flushes when memory, log or a table's period asks for it.
pub(crate) async fn flush_when_due(shard: Rc<Shard>) {
    loop {
        shard.flush_wanted.notified().await;
        // Several flushes go on at once, bounded by the slots; each table once.
        let mut running = Vec::new();
        let due = due(&shard);
        let had_work = !due.is_empty();
        for (store, reason) in due {
            let shard_of_task = Rc::clone(&shard);
            running.push(
                shard
                    .env
                    .spawn("flush memtable", async move { flush_table(&shard_of_task, &store, reason).await.is_ok() }),
            );
        }
        let mut failed = false;
        for mut task in running {
            failed |= !task.join().await.unwrap_or(false);
        }
        if failed {
            shard.env.sleep(RETRY).await;
        }
        // With nothing due, memory is held by what others are about to free: a dropped table, a flush that was asked for.
        if had_work && shard.flush_threshold_bytes() <= shard.memtable_bytes() && !shard.is_closing.get() {
            shard.flush_wanted.notify_one();
            shard.env.yield_now().await;
        }
    }
}

/// A disk that refused a flush is asked again after a second.
const RETRY: std::time::Duration = std::time::Duration::from_secs(1);

/// What to flush now: tables that hold up the log, sealed left-overs of a failed flush, and the largest active memtables
/// until what stays active is below the threshold.
fn due(shard: &Shard) -> Vec<(Rc<TableStore>, FlushReason)> {
    let mut due: Vec<(Rc<TableStore>, FlushReason)> = Vec::new();
    let mut active_bytes = 0;
    let mut others: Vec<(usize, Rc<TableStore>)> = Vec::new();
    let for_log = shard.log.tables_to_flush();
    for store in shard.tables() {
        let (active, all) = store.memtable_bytes();
        if for_log.contains(&store.id) {
            due.push((store, FlushReason::CommitLog));
        } else if active < all {
            due.push((store, FlushReason::Memory));
        } else if 0 < active {
            active_bytes += active;
            others.push((active, store));
        }
    }
    others.sort_by_key(|(active, store)| (std::cmp::Reverse(*active), store.id));
    let threshold = usize::try_from(shard.flush_threshold_bytes()).unwrap_or(usize::MAX);
    for (active, store) in others {
        if active_bytes < threshold {
            break;
        }
        active_bytes -= active;
        due.push((store, FlushReason::Memory));
    }
    due
}

/// The task behind `memtable_flush_period_in_ms`.
pub(crate) async fn flush_by_period(shard: Rc<Shard>) {
    const TICK: std::time::Duration = std::time::Duration::from_secs(1);
    let started = shard.env.monotonic();
    let mut last: std::collections::BTreeMap<TableId, std::time::Duration> = std::collections::BTreeMap::new();
    loop {
        shard.env.sleep(TICK).await;
        let now = shard.env.monotonic() - started;
        for store in shard.tables() {
            let period_ms = u64::try_from(store.schema().params.memtable_flush_period_in_ms).unwrap_or(0);
            let since = now.saturating_sub(*last.entry(store.id).or_insert(now));
            if 0 < period_ms && std::time::Duration::from_millis(period_ms) <= since {
                last.insert(store.id, now);
                if !store.view().active.is_empty() {
                    // A failure is logged where it happens; the next tick tries again.
                    let _ = flush_table(&shard, &store, FlushReason::Period).await;
                }
            }
        }
    }
}
