//! Commit log: what one shard accepted, in order, until memtables have become files.
//!
//! Role: [`CommitLog::append`] queues a record; one writer task puts everything that a turn of the shard queued into the
//! kernel by one write, waits for the device when the sync mode says so, applies the mutations to the memtables and
//! answers. `replay` reads segments back after a restart.
//!
//! Invariants
//! - Records are applied to memtables in log order, by the writer alone: everything up to [`CommitLog::applied`] is in
//!   memtables, so a memtable sealed now covers its table's log up to there.
//! - What is queued is written and applied even if the request that queued it is gone.
//! - After a failed write or sync nothing more is acknowledged: the kernel may have dropped what it could not write.
//! - A segment is sealed and synced before the next one gets its first record.
//! - A segment is deleted only when every table in it has a durable checkpoint beyond its last record.
//! - `batch` and `group` modes sync once a round: what was queued when the round began goes into the kernel by as many
//!   writes as it takes, then to the device, then into the memtables.
//!
//! ```text
//! oldest segment                                      newest             spare
//! [header|record|record|…|seal]  [header|…|seal]  …  [header|record|0…]  [header|0…]
//! ```

mod record;
pub(crate) mod replay;
mod segment;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use helenus_data::{Mutation, TableId};
use helenus_env::{Env, Instant};
use tokio::sync::{Notify, oneshot};
use tracing::{error, warn};

use crate::checkpoint::Checkpoint;
use crate::config::{CommitLogSync, StorageConfig};
use crate::error::StorageError;
use crate::metrics::Histogram;
use crate::node::StorageNode;

pub(crate) use record::{LogPosition, SegmentIdentity};
use record::{RECORD_HEADER_BYTES, RECORD_OVERHEAD_BYTES, SEGMENT_HEADER_BYTES, encode_record, encode_seal};
use segment::Segment;
pub(crate) use segment::parse_file_name;

/// One write to the page cache copies at most this much on the shard's thread: some 50 µs.
const WRITE_BYTES_MAX: usize = 256 << 10;

/// How long the writer waits before it asks again for a segment that could not be made (disk full).
const SEGMENT_RETRY: Duration = Duration::from_millis(200);

struct Queued {
    /// Empty when no mutation of it is to be logged.
    body: Vec<u8>,
    logged_tables: Vec<TableId>,
    mutations: Vec<Mutation>,
    done: oneshot::Sender<Result<(), StorageError>>,
}

/// What became of one turn of the writer.
struct Round {
    written: Vec<Queued>,
    /// Where the log ends that is to be applied.
    end: LogPosition,
    refused: Option<(Vec<Queued>, StorageError)>,
}

pub(crate) struct CommitLog {
    env: Env,
    node: Arc<StorageNode>,
    directory: PathBuf,
    shard: u32,
    sync: CommitLogSync,
    segment_bytes: u32,
    total_bytes_max: u64,
    queue: RefCell<VecDeque<Queued>>,
    queue_bytes: Cell<u64>,
    queued: Notify,
    /// Oldest first; the last one is written to. Empty before the first record.
    segments: RefCell<VecDeque<Rc<Segment>>>,
    spare: RefCell<Option<Segment>>,
    spare_wanted: Notify,
    spare_error: RefCell<Option<StorageError>>,
    spare_made: Notify,
    applied: Cell<LogPosition>,
    /// When the oldest record was written that no sync covers yet.
    unsynced_since: Cell<Option<Instant>>,
    /// Tables that were dropped: writes to them may still be queued, and nobody will ever flush what they would hold up.
    dropped: RefCell<BTreeSet<TableId>>,
    written: Notify,
    synced: Notify,
    failed: RefCell<Option<Arc<str>>>,
    closing: Cell<bool>,
    /// Records queued, and records answered, since the start: who waits for the queue waits for what is in it now.
    appended_count: Cell<u64>,
    answered_count: Cell<u64>,
    answered: Notify,
    pub counters: Counters,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub records: Cell<u64>,
    pub syncs: Cell<u64>,
    pub sync_micros: RefCell<Histogram>,
    pub waited_on_sync: Cell<u64>,
}

impl CommitLog {
    pub fn new(env: &Env, config: &StorageConfig, shard: u32) -> Rc<Self> {
        Rc::new(Self {
            env: env.clone(),
            node: Arc::clone(&config.node),
            directory: config.commit_log_directory.clone(),
            shard,
            sync: config.commit_log_sync,
            segment_bytes: u32::try_from(config.segment_bytes).unwrap_or(1 << 30).clamp(4 << 10, 1 << 30),
            total_bytes_max: config.commit_log_bytes,
            queue: RefCell::default(),
            queue_bytes: Cell::new(0),
            queued: Notify::new(),
            segments: RefCell::default(),
            spare: RefCell::new(None),
            spare_wanted: Notify::new(),
            spare_error: RefCell::new(None),
            spare_made: Notify::new(),
            applied: Cell::new(LogPosition::default()),
            unsynced_since: Cell::new(None),
            dropped: RefCell::default(),
            written: Notify::new(),
            synced: Notify::new(),
            failed: RefCell::new(None),
            closing: Cell::new(false),
            appended_count: Cell::new(0),
            answered_count: Cell::new(0),
            answered: Notify::new(),
            counters: Counters::default(),
        })
    }

    /// The largest body of one record.
    pub fn body_bytes_max(&self) -> u64 {
        u64::from(self.segment_bytes / 2)
    }

    /// Everything up to here is in memtables, or never will be.
    pub fn applied(&self) -> LogPosition {
        self.applied.get()
    }

    pub fn queue_bytes(&self) -> u64 {
        self.queue_bytes.get()
    }

    pub fn pending(&self) -> u64 {
        self.queue.borrow().len() as u64
    }

    pub fn segment_count(&self) -> u64 {
        self.segments.borrow().len() as u64
    }

    pub fn total_bytes(&self) -> u64 {
        self.segments.borrow().iter().map(|segment| u64::from(segment.capacity)).sum()
    }

    pub fn failure(&self) -> Option<StorageError> {
        self.failed.borrow().as_ref().map(|reason| StorageError::CommitLogFailed { reason: Arc::clone(reason) })
    }

    /// Queues one atomic record. The answer comes when the mutations are durable by the sync mode and in the memtables;
    /// dropping it takes nothing back.
    pub fn append(
        &self,
        body: Vec<u8>,
        logged_tables: Vec<TableId>,
        mutations: Vec<Mutation>,
    ) -> oneshot::Receiver<Result<(), StorageError>> {
        let (done, answer) = oneshot::channel();
        if self.closing.get() {
            let _ = done.send(Err(StorageError::ShuttingDown));
            return answer;
        }
        self.queue_bytes.set(self.queue_bytes.get() + queue_cost(&body));
        self.appended_count.set(self.appended_count.get() + 1);
        self.queue.borrow_mut().push_back(Queued { body, logged_tables, mutations, done });
        self.queued.notify_one();
        answer
    }

    /// The writer task; ends after [`CommitLog::close`]. `apply` puts mutations into memtables.
    pub async fn write_queued(self: Rc<Self>, apply: impl Fn(Vec<Mutation>)) {
        let mut last_sync = Instant::ZERO;
        loop {
            if self.queue.borrow().is_empty() {
                if self.closing.get() {
                    return;
                }
                self.queued.notified().await;
                continue;
            }
            match self.sync {
                CommitLogSync::Group { window } => self.env.sleep_until(last_sync + window).await,
                // The rest of this turn's requests join the write.
                CommitLogSync::Periodic { .. } | CommitLogSync::Batch => self.env.yield_now().await,
            }
            let Round { written, end, refused } = self.write_round().await;
            last_sync = self.env.monotonic();
            for entry in written {
                apply(entry.mutations);
                self.answer(&entry.body, entry.done, Ok(()));
            }
            self.applied.set(self.applied.get().max(end));
            if let Some((entries, error)) = refused {
                entries.into_iter().for_each(|entry| self.answer(&entry.body, entry.done, Err(error.duplicate())));
            }
            self.answered.notify_waiters();
        }
    }

    fn answer(&self, body: &[u8], done: oneshot::Sender<Result<(), StorageError>>, answer: Result<(), StorageError>) {
        self.queue_bytes.set(self.queue_bytes.get() - queue_cost(body));
        self.answered_count.set(self.answered_count.get() + 1);
        // Whoever waited may be gone; the write stands all the same.
        let _ = done.send(answer);
    }

    /// Writes, and by mode syncs, what is queued now: in `periodic` mode one write's worth, as nobody waits for a device.
    async fn write_round(&self) -> Round {
        let round_count = match self.sync {
            CommitLogSync::Periodic { .. } => 1,
            CommitLogSync::Batch | CommitLogSync::Group { .. } => self.queue.borrow().len(),
        };
        let mut round = Round { written: Vec::new(), end: self.applied.get(), refused: None };
        while round.written.len() < round_count {
            let segment = match self.ready_segment().await {
                Ok(segment) => segment,
                Err(error) => {
                    // Whoever is behind in the queue would only wait for the same answer.
                    round.refused = Some((self.take_logged(), error));
                    break;
                }
            };
            let batch = self.take_batch(segment.as_ref());
            match self.log(segment, &batch) {
                Ok(end) => {
                    round.end = round.end.max(end);
                    round.written.extend(batch);
                }
                Err(error) => {
                    round.refused = Some((batch, error));
                    break;
                }
            }
            if round.written.len() < round_count {
                self.env.yield_now().await;
            }
        }
        let is_logged = round.written.iter().any(|entry| !entry.body.is_empty());
        if is_logged && !matches!(self.sync, CommitLogSync::Periodic { .. }) {
            // Segments before the newest were synced when they were sealed.
            let newest = self.segments.borrow().back().cloned();
            let synced = match newest {
                Some(newest) if self.failed.borrow().is_none() => self.sync_segment(&newest).await,
                // A sync after a failed one proves nothing: the kernel forgets what it could not write.
                _ => self.failure().map_or(Ok(()), Err),
            };
            if let Err(error) = synced {
                let mut entries = std::mem::take(&mut round.written);
                entries.extend(round.refused.take().into_iter().flat_map(|(entries, _)| entries));
                round = Round { written: Vec::new(), end: self.applied.get(), refused: Some((entries, error)) };
            }
        }
        round
    }

    /// Everything queued that is to be logged.
    fn take_logged(&self) -> Vec<Queued> {
        let mut queue = self.queue.borrow_mut();
        let (logged, kept): (VecDeque<_>, VecDeque<_>) = queue.drain(..).partition(|entry| !entry.body.is_empty());
        *queue = kept;
        logged.into()
    }

    /// The segment for what is first in the queue; `None` when that is not to be logged.
    async fn ready_segment(&self) -> Result<Option<Rc<Segment>>, StorageError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let first_bytes = self.queue.borrow().front().map_or(0, |entry| entry.body.len());
        if first_bytes == 0 {
            return Ok(None);
        }
        if let CommitLogSync::Periodic { period } = self.sync {
            self.wait_for_sync(period).await?;
        }
        self.current_with_room(first_bytes).await.map(Some)
    }

    /// What the next write takes: at least the first, then as much as fits into one write and into the segment. Without
    /// a segment only what needs none.
    fn take_batch(&self, segment: Option<&Rc<Segment>>) -> Vec<Queued> {
        let mut queue = self.queue.borrow_mut();
        let mut bytes = 0;
        let mut batch: Vec<Queued> = Vec::new();
        while let Some(next) = queue.front() {
            let needed = if next.body.is_empty() { 0 } else { next.body.len() + RECORD_OVERHEAD_BYTES as usize };
            let fits = match segment {
                Some(segment) => {
                    let at = segment.written.get() + offset(bytes);
                    bytes + needed <= WRITE_BYTES_MAX && has_room(segment, at, next.body.len())
                }
                None => needed == 0,
            };
            if !batch.is_empty() && !fits {
                break;
            }
            bytes += needed;
            batch.extend(queue.pop_front());
        }
        batch
    }

    /// Writes a batch; answers where it ends.
    fn log(&self, segment: Option<Rc<Segment>>, batch: &[Queued]) -> Result<LogPosition, StorageError> {
        let Some(segment) = segment else { return Ok(self.applied.get()) };
        let mut pending = Vec::new();
        for entry in batch.iter().filter(|entry| !entry.body.is_empty()) {
            let at = segment.written.get() + offset(pending.len());
            encode_record(segment.identity, at, segment.synced.get(), &entry.body, &mut pending);
            let end = segment.written.get() + offset(pending.len());
            let (mut dirty, dropped) = (segment.dirty.borrow_mut(), self.dropped.borrow());
            entry.logged_tables.iter().filter(|table| !dropped.contains(table)).for_each(|table| {
                dirty.insert(*table, end);
            });
            self.counters.records.set(self.counters.records.get() + 1);
        }
        self.write(&segment, &pending)?;
        self.written.notify_one();
        Ok(LogPosition { segment_id: segment.identity.segment_id, offset: segment.written.get() })
    }

    /// Into the kernel.
    fn write(&self, segment: &Segment, bytes: &[u8]) -> Result<(), StorageError> {
        let at = segment.written.get();
        assert!(u64::from(at) + bytes.len() as u64 <= u64::from(segment.capacity), "room was checked");
        if let Err(source) = segment.file.write_now(u64::from(at), bytes) {
            return Err(self.fail("write", segment, &source));
        }
        segment.written.set(at + offset(bytes.len()));
        if self.unsynced_since.get().is_none() {
            self.unsynced_since.set(Some(self.env.monotonic()));
        }
        Ok(())
    }

    fn fail(&self, action: &str, segment: &Segment, source: &std::io::Error) -> StorageError {
        let reason: Arc<str> = format!("{action} {}: {source}", segment.path.display()).into();
        error!(%reason, "the commit log failed; this shard accepts no more writes until it is restarted");
        self.failed.borrow_mut().get_or_insert_with(|| Arc::clone(&reason));
        self.synced.notify_waiters();
        StorageError::CommitLogFailed { reason }
    }

    /// Waits while the oldest unsynced record is older than `period`.
    async fn wait_for_sync(&self, period: Duration) -> Result<(), StorageError> {
        loop {
            let Some(since) = self.unsynced_since.get() else { return Ok(()) };
            if self.env.monotonic() < since + period {
                return Ok(());
            }
            self.counters.waited_on_sync.set(self.counters.waited_on_sync.get() + 1);
            let synced = self.synced.notified();
            self.written.notify_one();
            synced.await;
            if let Some(failure) = self.failure() {
                return Err(failure);
            }
        }
    }

    /// The segment to write to, with room for a record of `body_bytes` and the seal.
    async fn current_with_room(&self, body_bytes: usize) -> Result<Rc<Segment>, StorageError> {
        let current = self.segments.borrow().back().cloned();
        if let Some(current) = &current
            && has_room(current, current.written.get(), body_bytes)
        {
            return Ok(Rc::clone(current));
        }
        let next = self.take_spare().await?;
        if let Some(current) = current {
            let seal = encode_seal(current.identity, current.written.get(), current.synced.get());
            self.write(&current, &seal)?;
            self.sync_segment(&current).await?; // Before the next segment's first record; see the invariants.
        }
        let next = Rc::new(next);
        self.segments.borrow_mut().push_back(Rc::clone(&next));
        Ok(next)
    }

    async fn take_spare(&self) -> Result<Segment, StorageError> {
        // An error from before this call says nothing of now.
        self.spare_error.borrow_mut().take();
        loop {
            let made = self.spare_made.notified();
            if let Some(spare) = self.spare.borrow_mut().take() {
                self.spare_wanted.notify_one();
                return Ok(spare);
            }
            if let Some(error) = self.spare_error.borrow_mut().take() {
                self.spare_wanted.notify_one();
                return Err(error);
            }
            self.spare_wanted.notify_one();
            made.await;
        }
    }

    /// The task that keeps one segment ready.
    pub async fn keep_spare(self: Rc<Self>) {
        loop {
            if self.spare.borrow().is_some() {
                self.spare_wanted.notified().await;
                continue;
            }
            let identity = SegmentIdentity { shard: self.shard, segment_id: self.node.next_segment_id() };
            let shard_count = self.node.shard_count();
            match Segment::create(&self.env, &self.directory, identity, shard_count, self.segment_bytes).await {
                Ok(segment) => {
                    *self.spare.borrow_mut() = Some(segment);
                    self.spare_made.notify_waiters();
                }
                Err(error) => {
                    warn!(%error, "no commit log segment could be prepared");
                    *self.spare_error.borrow_mut() = Some(error);
                    self.spare_made.notify_waiters();
                    self.env.sleep(SEGMENT_RETRY).await;
                    self.spare_wanted.notified().await;
                }
            }
        }
    }

    /// The task of `periodic` mode: syncs follow each other for as long as there is something to sync.
    pub async fn sync_behind(self: Rc<Self>) {
        loop {
            let newest = self.segments.borrow().back().cloned();
            let behind = newest.filter(|segment| segment.synced.get() < segment.written.get());
            match behind {
                Some(segment) if self.failed.borrow().is_none() => {
                    // The error stands in `failed`, where every writer looks.
                    let _ = self.sync_segment(&segment).await;
                }
                _ => self.written.notified().await,
            }
        }
    }

    async fn sync_segment(&self, segment: &Segment) -> Result<(), StorageError> {
        let (started, written) = (self.env.monotonic(), segment.written.get());
        let since_before = self.unsynced_since.get();
        if let Err(source) = segment.file.sync().await {
            return Err(self.fail("sync", segment, &source));
        }
        segment.synced.set(segment.synced.get().max(written));
        self.counters.syncs.set(self.counters.syncs.get() + 1);
        self.counters.sync_micros.borrow_mut().record_micros(self.env.monotonic() - started);
        if self.unsynced_since.get() == since_before {
            // What was written during the sync is at most as old as the sync itself.
            let newest = self.segments.borrow().back().cloned();
            let all_synced = newest.is_none_or(|newest| newest.synced.get() == newest.written.get());
            self.unsynced_since.set(if all_synced { None } else { Some(started) });
        }
        self.synced.notify_waiters();
        Ok(())
    }

    /// Tables to flush so that the oldest segments can go, while the log is larger than it may be. The segment that is
    /// written to stays whatever is flushed.
    pub fn tables_to_flush(&self) -> Vec<TableId> {
        let segments = self.segments.borrow();
        let total: u64 = segments.iter().map(|segment| u64::from(segment.capacity)).sum();
        let mut excess = total.saturating_sub(self.total_bytes_max);
        let mut tables = Vec::new();
        for segment in segments.iter().take(segments.len().saturating_sub(1)) {
            if excess == 0 {
                break;
            }
            tables.extend(segment.dirty.borrow().keys().copied());
            excess = excess.saturating_sub(u64::from(segment.capacity));
        }
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    pub fn is_over_budget(&self) -> bool {
        1 < self.segments.borrow().len() && self.total_bytes_max < self.total_bytes()
    }

    /// Forgets what `checkpoint`, which must be durable, covers; deletes segments that nothing needs any more.
    pub async fn discard_covered(&self, checkpoint: &Checkpoint) {
        let mut obsolete = Vec::new();
        {
            let mut segments = self.segments.borrow_mut();
            for segment in segments.iter() {
                let segment_id = segment.identity.segment_id;
                let covered = |table: &TableId, offset: u32| {
                    checkpoint.floor(*table).is_some_and(|floor| LogPosition { segment_id, offset } <= floor)
                };
                segment.dirty.borrow_mut().retain(|table, offset| !covered(table, *offset));
            }
            let current = segments.pop_back();
            let (gone, kept): (VecDeque<_>, VecDeque<_>) =
                segments.drain(..).partition(|segment| segment.dirty.borrow().is_empty());
            obsolete.extend(gone);
            *segments = kept;
            segments.extend(current);
        }
        for segment in obsolete {
            if let Err(error) = self.env.disk().remove_file(&segment.path).await {
                // Its records are below every checkpoint; the next start removes it.
                warn!(segment = %segment.path.display(), %error, "a clean commit log segment could not be removed");
            }
        }
    }

    /// Whether the log still keeps records of a table at or below `floor`.
    pub fn is_dirty(&self, table: TableId, floor: LogPosition) -> bool {
        self.segments.borrow().iter().any(|segment| {
            let segment_id = segment.identity.segment_id;
            segment
                .dirty
                .borrow()
                .get(&table)
                .is_some_and(|offset| LogPosition { segment_id, offset: *offset } <= floor)
        })
    }

    /// Forgets a dropped table's records, and those that are still to come.
    pub fn forget_table(&self, table: TableId) {
        self.dropped.borrow_mut().insert(table);
        for segment in self.segments.borrow().iter() {
            segment.dirty.borrow_mut().remove(&table);
        }
    }

    /// A table is there, perhaps again under the id of a dropped one.
    pub fn expect_table(&self, table: TableId) {
        self.dropped.borrow_mut().remove(&table);
    }

    /// Refuses new records and waits until the queue is written, applied and synced.
    pub async fn close(&self) -> Result<(), StorageError> {
        self.closing.set(true);
        self.queued.notify_one();
        self.drain().await;
        let newest = self.segments.borrow().back().cloned();
        match newest {
            Some(segment) if self.failed.borrow().is_none() => self.sync_segment(&segment).await,
            _ => self.failure().map_or(Ok(()), Err),
        }
    }

    /// Waits until what is queued now has been applied or refused, whatever comes after it.
    pub async fn drain(&self) {
        let target = self.appended_count.get();
        loop {
            let answered = self.answered.notified();
            if target <= self.answered_count.get() {
                return;
            }
            answered.await;
        }
    }
}

/// Memory of a queued record: its body, and as much again for the mutations decoded.
fn queue_cost(body: &[u8]) -> u64 {
    2 * body.len() as u64
}

fn has_room(segment: &Segment, at: u32, body_bytes: usize) -> bool {
    let needed = body_bytes as u64 + u64::from(RECORD_OVERHEAD_BYTES) + u64::from(RECORD_HEADER_BYTES);
    u64::from(at) + needed <= u64::from(segment.capacity)
}

fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("pending bytes stay below a segment's size, which is at most 1 GiB")
}

const _: () = assert!(SEGMENT_HEADER_BYTES < 4 << 10, "the smallest segment holds its header");
