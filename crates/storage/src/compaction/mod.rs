//! Compaction: several files become one, without what nothing needs any more.
//!
//! Role: [`compact_when_due`] asks each table's strategy (pure) what to do and runs it; [`compact_all`] is asked for by
//! people. Files of another shard count are rewritten first, each shard its tokens.
//!
//! Invariants
//! - The exchange of old files for new ones is one step for readers and one COMMIT for the disk.
//! - Purging is decided by `purge` alone.
//! - A table's compactions begin only while nobody holds them, and stop soon after they are told to, inside a partition
//!   and a nap, too.
//! - Files that failed rest, longer each time; other files and tables go on.

mod failures;
mod purge;
mod size_tiered;
mod throttle;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use helenus_data::read::KeyRange;
use helenus_env::{SchedulingGroup, TaskHandle};
use helenus_schema::KeyspaceOrigin;
use helenus_sstable::EncodingStats;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tracing::{debug, error, info, warn};
use uuid::Uuid;

use crate::compaction::failures::Failures;
use crate::compaction::purge::PurgeQuestion;
use crate::compaction::size_tiered::{Candidate, Choice, SizeTiered};
use crate::compaction::throttle::Throttle;
use crate::error::StorageError;
use crate::flush::{Pacer, ensure_directory, open_own, write_partition};
use crate::metrics::{CompactionKind, CompactionProgress, CompactionRecord};
use crate::read::Walk;
use crate::shard::Shard;
use crate::table::{CompactingFiles, CompactionHold, TableStore};
use crate::table_files::{FileWriter, NewFile, TableFile};
use crate::transaction::{Transaction, TransactionKind};

/// How many ended compactions are remembered.
const HISTORY_MAX: usize = 100;

/// Tombstones age without anything happening to the files.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// Other shards are still opening their files; it takes them a moment.
const LOAD_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) use purge::gc_before_secs;

/// The shard's running and past compactions.
pub(crate) struct Compactions {
    pub wanted: Notify,
    ended: Notify,
    slots: Arc<Semaphore>,
    throttle: Throttle,
    is_automatic: Cell<bool>,
    running: RefCell<BTreeMap<Uuid, Rc<Running>>>,
    history: RefCell<VecDeque<CompactionRecord>>,
    listener: RefCell<Option<Listener>>,
    pub completed_count: Cell<u64>,
    pub completed_bytes: Cell<u64>,
    /// How long compactions have held the shard's thread.
    pub busy: Cell<Duration>,
    failures: RefCell<Failures>,
    warned: RefCell<std::collections::BTreeSet<(helenus_data::TableId, String)>>,
}

type Listener = Box<dyn Fn(&CompactionRecord)>;

struct Running {
    progress: RefCell<CompactionProgress>,
    partitions_by_sources: RefCell<BTreeMap<u32, u64>>,
    is_cancelled: Cell<bool>,
    /// Wakes it from a nap.
    stopped: Notify,
}

/// What to do. From the moment it is made its files are taken and it is on the list of what can be stopped, until it goes.
struct Job {
    shard: Rc<Shard>,
    store: Rc<TableStore>,
    files: Vec<Rc<TableFile>>,
    taken: Option<CompactingFiles>,
    running: Rc<Running>,
}

impl Job {
    fn new(shard: &Rc<Shard>, store: &Rc<TableStore>, kind: CompactionKind, files: Vec<Rc<TableFile>>) -> Self {
        let table = store.schema();
        let progress = CompactionProgress {
            id: shard.env.new_timeuuid(),
            keyspace: table.keyspace.to_string(),
            table: table.name.to_string(),
            table_id: store.id,
            kind,
            completed_bytes: 0,
            total_bytes: files.iter().map(|file| file.data_bytes()).sum(),
            sstables: files.len() as u64,
            started_secs: shard.env.wall_secs(),
        };
        let taken = Some(store.take_for_compaction(&files));
        let id = progress.id;
        let running = Rc::new(Running {
            progress: RefCell::new(progress),
            partitions_by_sources: RefCell::default(),
            is_cancelled: Cell::new(false),
            stopped: Notify::new(),
        });
        shard.compactions.running.borrow_mut().insert(id, Rc::clone(&running));
        Self { shard: Rc::clone(shard), store: Rc::clone(store), files, taken, running }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        drop(self.taken.take()); // The files first: who waits for the end looks at them.
        let id = self.running.progress.borrow().id;
        self.shard.compactions.running.borrow_mut().remove(&id);
        self.shard.compactions.ended.notify_waiters();
    }
}

impl Compactions {
    pub fn new(slots: usize, bytes_per_sec: u64) -> Self {
        Self {
            wanted: Notify::new(),
            ended: Notify::new(),
            slots: Arc::new(Semaphore::new(slots.max(1))),
            throttle: Throttle::new(bytes_per_sec),
            is_automatic: Cell::new(true),
            running: RefCell::default(),
            history: RefCell::default(),
            listener: RefCell::default(),
            completed_count: Cell::new(0),
            completed_bytes: Cell::new(0),
            busy: Cell::new(Duration::ZERO),
            failures: RefCell::default(),
            warned: RefCell::default(),
        }
    }

    pub fn progress(&self) -> Vec<CompactionProgress> {
        self.running.borrow().values().map(|running| running.progress.borrow().clone()).collect()
    }

    /// Oldest first.
    pub fn history(&self) -> Vec<CompactionRecord> {
        self.history.borrow().iter().cloned().collect()
    }

    pub fn set_throughput(&self, bytes_per_sec: u64) {
        self.throttle.set(bytes_per_sec);
    }

    pub fn throughput(&self) -> u64 {
        self.throttle.bytes_per_sec()
    }

    pub fn set_automatic(&self, is_automatic: bool) {
        self.is_automatic.set(is_automatic);
        self.wanted.notify_one();
    }

    pub fn is_automatic(&self) -> bool {
        self.is_automatic.get()
    }

    /// Tells the compactions of one table, or all, to stop, and waits until they have.
    pub async fn stop(&self, store: Option<&TableStore>) {
        loop {
            let ended = self.ended.notified();
            let mut any = false;
            for running in self.running.borrow().values() {
                if store.is_none_or(|store| running.progress.borrow().table_id == store.id) {
                    running.is_cancelled.set(true);
                    running.stopped.notify_waiters();
                    any = true;
                }
            }
            if !any {
                return;
            }
            ended.await;
        }
    }

    /// Calls `listener` at the end of every compaction; it must not compact by itself.
    pub fn listen(&self, listener: Listener) {
        *self.listener.borrow_mut() = Some(listener);
    }

    fn remember(&self, record: CompactionRecord) {
        if let Some(listener) = &*self.listener.borrow() {
            listener(&record);
        }
        let mut history = self.history.borrow_mut();
        if history.len() == HISTORY_MAX {
            history.pop_front();
        }
        history.push_back(record);
    }
}

/// The task that compacts whenever a strategy finds something to do.
pub(crate) async fn compact_when_due(shard: Rc<Shard>) {
    let mut tasks: Vec<TaskHandle> = Vec::new();
    loop {
        tasks.retain(|task| !task.is_finished());
        forget_released(&shard);
        while let Ok(permit) = Arc::clone(&shard.compactions.slots).try_acquire_owned() {
            let Some(job) = choose(&shard) else { break };
            let shard_of_task = Rc::clone(&shard);
            tasks.push(shard.env.spawn("compact", async move {
                let table = job.store.schema().full_name();
                let inputs: Vec<_> = job.files.iter().map(|file| file.base_path()).collect();
                match run(job).await {
                    Ok(()) => {}
                    Err(Stopped::Cancelled) => debug!(table, "a compaction was stopped"),
                    Err(Stopped::Failed(error)) => {
                        let now = shard_of_task.env.monotonic();
                        let pause = shard_of_task.compactions.failures.borrow_mut().note(&inputs, &error, now);
                        error!(table, %error, ?pause, "a compaction failed; its files stay as they are, and rest");
                    }
                }
                drop(permit);
                shard_of_task.compactions.wanted.notify_one();
            }));
        }
        // Something changed, or time passed: both are looked at in the same way.
        let is_loading = shard.tables().iter().any(|store| !shard.config.node.is_loaded_by_all(store.id));
        let interval = if is_loading { LOAD_INTERVAL } else { LOOK_INTERVAL };
        let _ = shard.env.timeout(interval, shard.compactions.wanted.notified()).await;
    }
}

/// The next thing to do in any table.
fn choose(shard: &Rc<Shard>) -> Option<Job> {
    if !shard.compactions.is_automatic() || shard.is_closing.get() {
        return None;
    }
    shard.tables().into_iter().find_map(|store| choose_in(shard, &store))
}

fn choose_in(shard: &Rc<Shard>, store: &Rc<TableStore>) -> Option<Job> {
    let may_remove_files = shard.config.node.is_loaded_by_all(store.id);
    if store.is_dropped.get() || 0 < store.compaction_holds.get() || !may_remove_files {
        return None;
    }
    let job = |kind, files: Vec<Rc<TableFile>>| Some(Job::new(shard, store, kind, files));
    let mut free = free_files(store);
    let now = shard.env.monotonic();
    free.retain(|file| !shard.compactions.failures.borrow().is_resting(&file.base_path(), now));
    if let Some(shared) = free.iter().find(|file| file.is_shared) {
        return job(CompactionKind::Reshard, vec![Rc::clone(shared)]);
    }
    let strategy = strategy_of(shard, store);
    if !strategy.enabled {
        return None;
    }
    let expired = purge::fully_expired(shard, store, &free);
    if !expired.is_empty() {
        return job(CompactionKind::Tombstones, expired);
    }
    let now_secs = shard.env.wall_secs();
    match strategy.choose(&candidates(store, &free, now_secs), now_secs)? {
        Choice::Merge(indexes) => {
            job(CompactionKind::Strategy, indexes.into_iter().map(|index| Rc::clone(&free[index])).collect())
        }
        Choice::DropTombstones(index) => job(CompactionKind::Tombstones, vec![Rc::clone(&free[index])]),
    }
}

fn free_files(store: &TableStore) -> Vec<Rc<TableFile>> {
    store.view().files.iter().filter(|file| !store.is_compacting(file)).cloned().collect()
}

fn candidates(store: &TableStore, files: &[Rc<TableFile>], now_secs: i64) -> Vec<Candidate> {
    let gc_before = u32::try_from(purge::gc_before_secs(store, now_secs).max(0)).unwrap_or(u32::MAX);
    let view = store.view();
    let describe = |file: &Rc<TableFile>| Candidate {
        bytes: file.bytes_on_disk(),
        created_secs: file.created_secs(),
        droppable_ratio: file.stats().droppable_ratio(gc_before),
        can_drop_tombstones: purge::can_drop_alone(&view, file),
    };
    files.iter().map(describe).collect()
}

/// How many compactions a table waits for.
pub(crate) fn pending(shard: &Shard, store: &TableStore) -> u64 {
    let free = free_files(store);
    let shared = free.iter().filter(|file| file.is_shared).count();
    let now_secs = shard.env.wall_secs();
    (strategy_of(shard, store).pending(&candidates(store, &free, now_secs)) + shared) as u64
}

/// Every strategy compacts as size-tiered until it exists itself; a client's table that asked for another is named once.
fn strategy_of(shard: &Shard, store: &TableStore) -> SizeTiered {
    let table = store.schema();
    let class = table.params.compaction.get("class").map_or("", |class| class.rsplit('.').next().unwrap_or(class));
    let schema = shard.schema();
    let is_users = schema.keyspace(&table.keyspace).is_some_and(|keyspace| keyspace.origin == KeyspaceOrigin::User);
    if is_users && !class.is_empty() && class != "SizeTieredCompactionStrategy" {
        let is_new = shard.compactions.warned.borrow_mut().insert((store.id, class.to_owned()));
        if is_new {
            warn!(table = %table.full_name(), strategy = class, "this strategy does not exist yet; the table is compacted by SizeTieredCompactionStrategy");
        }
    }
    SizeTiered::of_options(&table.params.compaction)
}

/// Merges all files of a table, after what is running; shared ones are rewritten on the way.
pub(crate) async fn compact_all(shard: &Rc<Shard>, store: &Rc<TableStore>) -> Result<(), StorageError> {
    ensure_loaded(shard, store)?;
    let _alone = store.maintenance_gate.acquire().await.expect("the gate is never closed");
    let _hold = store.hold_compactions();
    wait_for_running(shard, store).await;
    let shared: Vec<_> = store.view().files.iter().filter(|file| file.is_shared).cloned().collect();
    for file in shared {
        run_now(shard, store, CompactionKind::Reshard, vec![file]).await?;
    }
    let files = store.view().files.clone();
    if files.is_empty() {
        return Ok(());
    }
    run_now(shard, store, CompactionKind::Major, files).await
}

/// # Errors
/// [`StorageError::Invalid`] while another shard has yet to open the table.
pub(crate) fn ensure_loaded(shard: &Shard, store: &TableStore) -> Result<(), StorageError> {
    if shard.config.node.is_loaded_by_all(store.id) {
        return Ok(());
    }
    Err(StorageError::Invalid(format!("{} is still being opened", store.schema().full_name())))
}

async fn wait_for_running(shard: &Shard, store: &TableStore) {
    loop {
        let ended = shard.compactions.ended.notified();
        if store.compacting_count() == 0 {
            return;
        }
        ended.await;
    }
}

async fn run_now(
    shard: &Rc<Shard>,
    store: &Rc<TableStore>,
    kind: CompactionKind,
    files: Vec<Rc<TableFile>>,
) -> Result<(), StorageError> {
    match run(Job::new(shard, store, kind, files)).await {
        Ok(()) => Ok(()),
        Err(Stopped::Cancelled) => Err(StorageError::Invalid("the compaction was stopped".to_owned())),
        Err(Stopped::Failed(error)) => Err(error),
    }
}

enum Stopped {
    Cancelled,
    Failed(StorageError),
}

impl From<StorageError> for Stopped {
    fn from(error: StorageError) -> Self {
        Stopped::Failed(error)
    }
}

/// Runs a job and adds up what its polls take. A shard's thread does nothing else meanwhile, so that is its CPU time.
async fn run(job: Job) -> Result<(), Stopped> {
    let shard = Rc::clone(&job.shard);
    let mut work = pin!(rewrite(job));
    poll_fn(|context| {
        let began = shard.env.monotonic();
        let step = work.as_mut().poll(context);
        let busy = &shard.compactions.busy;
        busy.set(busy.get() + (shard.env.monotonic() - began));
        step
    })
    .await
}

async fn rewrite(mut job: Job) -> Result<(), Stopped> {
    let (shard, store, files) = (Rc::clone(&job.shard), Rc::clone(&job.store), job.files.clone());
    let (shard, running) = (&shard, Rc::clone(&job.running));
    if running.is_cancelled.get() {
        return Err(Stopped::Cancelled);
    }
    let expired = purge::fully_expired(shard, &store, &files);
    let is_expired = |file: &Rc<TableFile>| expired.iter().any(|other| Rc::ptr_eq(other, file));
    let read: Vec<_> = files.iter().filter(|file| !is_expired(file)).cloned().collect();
    let bytes_in: u64 = files.iter().map(|file| file.bytes_on_disk()).sum();
    let bytes_read: u64 = read.iter().map(|file| file.bytes_on_disk()).sum();
    if !shard.disk_guard.has_room_for(bytes_read) {
        return Err(Stopped::Failed(StorageError::Invalid(format!(
            "no room on the disk for a file of up to {bytes_read} bytes"
        ))));
    }
    ensure_directory(shard, &store).await?;
    let mut transaction = Transaction::begin(&shard.env, &store.directory, TransactionKind::Compaction).await?;
    let written = write_merged(shard, &store, &files, &read, &running, &mut transaction).await;
    let (output, partitions_out) = match written {
        Ok(written) => written,
        Err(stopped) => {
            transaction.abort().await;
            return Err(stopped);
        }
    };
    // Files in another data directory are removed by a transaction of their own, after this one: a crash in between
    // leaves both, which merges to the same, and nothing of them is purged here.
    for file in files.iter().filter(|file| !file.is_shared && file.directory() == store.directory) {
        if let Err(error) = transaction.remove(&file.base_name()).await {
            transaction.abort().await;
            return Err(Stopped::Failed(error));
        }
    }
    if let Err(error) = transaction.commit().await {
        // Nobody knows whether the commit is on the disk, so old and new files both stay, and until the next start decides
        // the old ones are read and never compacted again: what they hold keeps its tombstones everywhere.
        std::mem::forget(job.taken.take());
        store.exchange(|view| view.lingering.extend(output));
        return Err(Stopped::Failed(error));
    }
    let bytes_out = output.as_ref().map_or(0, |file| file.bytes_on_disk());
    store.exchange(|view| {
        view.files.retain(|file| !files.iter().any(|old| Rc::ptr_eq(old, file)));
        view.lingering.extend(files.iter().filter(|file| file.is_shared).cloned());
        view.files.extend(output);
    });
    transaction.clean_up().await;
    remove_one_by_one(shard, &store, &files).await;
    forget_released(shard);
    finish(shard, &store, &running, bytes_in, bytes_out, partitions_out);
    Ok(())
}

/// Notes the end of a compaction in statistics and history.
fn finish(shard: &Shard, store: &TableStore, running: &Running, bytes_in: u64, bytes_out: u64, partitions_out: u64) {
    let progress = running.progress.borrow();
    let compactions = &shard.compactions;
    compactions.completed_count.set(compactions.completed_count.get() + 1);
    compactions.completed_bytes.set(compactions.completed_bytes.get() + bytes_in);
    compactions.remember(CompactionRecord {
        id: progress.id,
        keyspace: progress.keyspace.clone(),
        table: progress.table.clone(),
        kind: progress.kind,
        compacted_at_micros: shard.env.wall_micros(),
        bytes_in,
        bytes_out,
        partitions_out,
        partitions_by_sources: running.partitions_by_sources.take(),
    });
    let mut stats = store.stats_mut();
    stats.compactions += 1;
    stats.compacted_bytes += bytes_in;
    info!(table = %store.schema().full_name(), kind = ?progress.kind, files = progress.sstables, bytes_in, bytes_out, "compacted");
}

/// The new file (`None` when nothing is left) and its partition count.
async fn write_merged(
    shard: &Rc<Shard>,
    store: &Rc<TableStore>,
    inputs: &[Rc<TableFile>],
    read: &[Rc<TableFile>],
    running: &Running,
    transaction: &mut Transaction,
) -> Result<(Option<Rc<TableFile>>, u64), Stopped> {
    if read.is_empty() {
        return Ok((None, 0));
    }
    let table = store.schema();
    let new = NewFile {
        directory: &store.directory,
        generation: shard.config.node.next_generation(),
        table: &table,
        shard: shard.id.number(),
        keys_estimate: read.iter().map(|file| file.stats().partition_count()).sum(),
        encoding: EncodingStats::of_sources(read.iter().map(|file| file.stats())),
        config: &shard.config,
    };
    transaction.add(&new.descriptor().base_name()).await?;
    let mut writer = FileWriter::create(&shard.env, &new).await?;
    let merged = merge_into(shard, store, inputs, read, running, &mut writer).await;
    if let Err(stopped) = merged {
        writer.abort().await;
        return Err(stopped);
    }
    if writer.partitions == 0 {
        writer.abort().await;
        transaction.remove(&new.descriptor().base_name()).await?; // In case something of it would not go.
        return Ok((None, 0));
    }
    let partitions = writer.partitions;
    let descriptor = writer.finish().await?;
    Ok((Some(open_own(shard, &table, descriptor).await?), partitions))
}

async fn merge_into(
    shard: &Rc<Shard>,
    store: &Rc<TableStore>,
    inputs: &[Rc<TableFile>],
    read: &[Rc<TableFile>],
    running: &Running,
    writer: &mut FileWriter,
) -> Result<(), Stopped> {
    let table = store.schema();
    let mut question = PurgeQuestion::new(shard, store, inputs);
    let mut walk = Walk::start(KeyRange::all(), &[], read, shard.id.number(), shard.shard_count).await?;
    let partitions: u64 = read.iter().map(|file| file.stats().partition_count()).sum();
    let bytes: u64 = read.iter().map(|file| file.data_bytes()).sum();
    let mut pacer = CompactionPacer {
        shard,
        running,
        taken: 0,
        // What is purged was read: each partition costs its part of the input, even if nothing of it is written.
        bytes_of_partition: bytes.checked_div(partitions).unwrap_or(0),
    };
    while let Some((key, mut sources)) = walk.next().await? {
        let purge = question.as_mut().map(|question| question.ask(&key));
        let floor = pacer.taken + pacer.bytes_of_partition * sources.len() as u64;
        let source_count = u32::try_from(sources.len()).unwrap_or(u32::MAX);
        *running.partitions_by_sources.borrow_mut().entry(source_count).or_default() += 1;
        let written = write_partition(&mut pacer, writer, &table, &mut sources, purge.as_ref()).await;
        let paced = match written {
            Ok(()) => pacer.charge(floor.max(writer.data_bytes())).await,
            Err(error) => Err(error),
        };
        if running.is_cancelled.get() {
            return Err(Stopped::Cancelled);
        }
        paced?;
        let mut progress = running.progress.borrow_mut();
        progress.completed_bytes = pacer.taken.min(progress.total_bytes);
    }
    if running.is_cancelled.get() { Err(Stopped::Cancelled) } else { Ok(()) }
}

/// Gives way to others, keeps to the throughput, and ends when the compaction was stopped.
struct CompactionPacer<'c> {
    shard: &'c Shard,
    running: &'c Running,
    /// Bytes that the throttle was told of.
    taken: u64,
    bytes_of_partition: u64,
}

impl CompactionPacer<'_> {
    async fn charge(&mut self, until: u64) -> Result<(), StorageError> {
        let bytes = until.saturating_sub(self.taken);
        self.taken += bytes;
        if self.running.is_cancelled.get() {
            return Err(StorageError::Invalid("the compaction was stopped".to_owned()));
        }
        self.shard.compactions.throttle.take(&self.shard.env, bytes, &self.running.stopped).await;
        Ok(())
    }
}

impl Pacer for CompactionPacer<'_> {
    async fn pause(&mut self, written_bytes: u64) -> Result<(), StorageError> {
        SchedulingGroup::Compaction.pace(&self.shard.env).await;
        self.charge(written_bytes).await
    }
}

/// Removes those of a compaction's inputs that do not go with its transaction: of other data directories, and shared ones
/// that every shard has rewritten. What stays on the disk keeps its tombstones elsewhere.
async fn remove_one_by_one(shard: &Shard, store: &TableStore, files: &[Rc<TableFile>]) {
    let node = &shard.config.node;
    for file in files.iter().filter(|file| !file.is_shared && file.directory() != store.directory) {
        if let Err(error) = remove_alone(shard, file).await {
            warn!(file = file.base_name(), %error, "a compacted file could not be removed; it is back after a restart");
            store.exchange(|view| view.lingering.push(Rc::clone(file)));
        }
    }
    for file in files.iter().filter(|file| file.is_shared) {
        let (path, number) = (file.base_path(), shard.id.number());
        if node.release(&path, number)
            && let Err(error) = remove_alone(shard, file).await
        {
            warn!(file = file.base_name(), %error, "a compacted file could not be removed; it is back after a restart");
            node.take_back_release(&path, number);
        }
    }
}

/// Removes one file by a transaction of its own.
///
/// # Errors
/// When it is still there, and whole: a file that lost some of its components would stop the next start.
pub(crate) async fn remove_alone(shard: &Shard, file: &TableFile) -> Result<(), StorageError> {
    remove_together(shard, file.directory(), [file.base_name()]).await
}

/// Removes files of one directory, all or none.
///
/// # Errors
/// When they are still there, and whole.
pub(crate) async fn remove_together(
    shard: &Shard,
    directory: &Path,
    base_names: impl IntoIterator<Item = String>,
) -> Result<(), StorageError> {
    let mut transaction = Transaction::begin(&shard.env, directory, TransactionKind::Removal).await?;
    let noted = async {
        for base_name in base_names {
            transaction.remove(&base_name).await?;
        }
        transaction.commit().await
    };
    match noted.await {
        Ok(()) => transaction.clean_up().await,
        Err(error) => {
            // Whoever tries again must not meet the log of this attempt, which would want the files to be whole.
            transaction.abort().await;
            return Err(error);
        }
    }
    Ok(())
}

/// Stops a table's compactions and keeps new ones from beginning; answers with the sole right to change its files.
pub(crate) async fn stop_and_hold<'s>(
    shard: &Shard,
    store: &'s Rc<TableStore>,
) -> (SemaphorePermit<'s>, CompactionHold) {
    let hold = store.hold_compactions();
    loop {
        shard.compactions.stop(Some(store)).await;
        // A major compaction that waits for its turn may begin a job after the ones that were just stopped.
        if let Ok(Ok(alone)) = shard.env.timeout(STOP_POLL, store.maintenance_gate.acquire()).await {
            shard.compactions.stop(Some(store)).await;
            return (alone, hold);
        }
    }
}

const STOP_POLL: Duration = Duration::from_millis(10);

/// Forgets shared files that every shard has rewritten: they are gone for good.
fn forget_released(shard: &Shard) {
    for store in shard.tables() {
        let is_gone = |file: &Rc<TableFile>| shard.config.node.is_released_by_all(&file.base_path());
        if store.view().lingering.iter().any(is_gone) {
            store.exchange(|view| view.lingering.retain(|file| !is_gone(file)));
        }
    }
}
