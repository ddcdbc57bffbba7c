//! Purge: whether a tombstone may go. The one place that asks, with everything that could still hold what it hides.
//!
//! What is asked, for one partition key of one compaction:
//!
//! | holder of older data | answer |
//! | --- | --- |
//! | the compaction's own inputs | go with it |
//! | a memtable that has the key | its smallest timestamp |
//! | another file that may contain the key | its smallest timestamp |
//! | a shared file that this shard has rewritten, still on disk | the same: a restart brings it back |
//! | commit log from before the start, not yet replayed by every shard | nothing may go |
//! | commit log that is in files and not covered by a durable checkpoint | nothing may go |
//! | an input that stays on disk after the compaction: shared, or in another data directory | nothing may go |
//!
//! A tombstone goes when its `gc_grace_seconds` are over and its timestamp is below all answers. Records that wait in the
//! commit log's queue are newer than this moment or were given an old timestamp by their writer; as in Cassandra, a write
//! that arrives with a timestamp below a purged deletion lives.

use std::rc::Rc;

use helenus_data::PartitionKey;
use helenus_data::purge::PurgeBefore;

use crate::shard::Shard;
use crate::table::{TableStore, View};
use crate::table_files::TableFile;

pub(crate) struct PurgeQuestion {
    store: Rc<TableStore>,
    inputs: Vec<Rc<TableFile>>,
    /// The view for which `others` was made.
    view: Rc<View>,
    others: Vec<Rc<TableFile>>,
    now_secs: i64,
    gc_before_secs: i64,
}

impl PurgeQuestion {
    /// `None` when nothing may be purged, whatever the key.
    pub fn new(shard: &Shard, store: &Rc<TableStore>, inputs: &[Rc<TableFile>]) -> Option<Self> {
        if !is_log_settled(shard, store) || inputs.iter().any(|file| !goes_at_once(store, file)) {
            return None;
        }
        let now_secs = shard.env.wall_secs();
        let view = store.view();
        Some(Self {
            store: Rc::clone(store),
            inputs: inputs.to_vec(),
            others: others(&view, inputs),
            view,
            now_secs,
            gc_before_secs: gc_before_secs(store, now_secs),
        })
    }

    /// What of one partition may go, as things stand now: flushes and other compactions change the answer.
    pub fn ask(&mut self, key: &PartitionKey) -> PurgeBefore {
        let view = self.store.view();
        if !Rc::ptr_eq(&view, &self.view) {
            self.others = others(&view, &self.inputs);
            self.view = view;
        }
        let memtables = std::iter::once(&self.view.active).chain(&self.view.sealed);
        let in_memory = memtables.filter(|memtable| memtable.contains(key)).map(|memtable| memtable.timestamp_min());
        let in_files = self.others.iter().filter(|file| file.may_contain(key)).map(|file| file.timestamp_min());
        PurgeBefore {
            now_secs: self.now_secs,
            gc_before_secs: self.gc_before_secs,
            timestamp: in_memory.chain(in_files).min().unwrap_or(i64::MAX),
        }
    }
}

/// Whether replay would bring back nothing that is in files.
fn is_log_settled(shard: &Shard, store: &TableStore) -> bool {
    shard.config.node.is_recovered() && !store.is_checkpoint_behind.get()
}

/// Whether a file is removed by the transaction of its compaction. Shared files stay until all shards have rewritten them,
/// those in another data directory go by a transaction of their own; a crash before that brings them back.
fn goes_at_once(store: &TableStore, file: &TableFile) -> bool {
    !file.is_shared && file.directory() == store.directory
}

/// Tombstones written before it are past their grace.
pub(crate) fn gc_before_secs(store: &TableStore, now_secs: i64) -> i64 {
    now_secs - i64::from(store.schema().params.gc_grace_seconds)
}

/// The files that hold, or may bring back, data beside `inputs`.
fn others(view: &View, inputs: &[Rc<TableFile>]) -> Vec<Rc<TableFile>> {
    let is_input = |file: &Rc<TableFile>| inputs.iter().any(|input| Rc::ptr_eq(input, file));
    let overlaps = |file: &Rc<TableFile>| inputs.iter().any(|input| input.overlaps(file));
    view.files.iter().chain(&view.lingering).filter(|file| !is_input(file) && overlaps(file)).cloned().collect()
}

/// Whether the tombstones of one file could be dropped if it was rewritten alone: nothing older overlaps it.
pub(crate) fn can_drop_alone(view: &View, file: &Rc<TableFile>) -> bool {
    others(view, std::slice::from_ref(file)).iter().all(|other| file.timestamp_max() < other.timestamp_min())
}

/// Files in which everything is deleted or expired past its grace, and hides nothing elsewhere: they can go unread.
///
/// Source: Cassandra 5.0, `db.compaction.CompactionController.getFullyExpiredSSTables`.
pub(crate) fn fully_expired(shard: &Shard, store: &TableStore, files: &[Rc<TableFile>]) -> Vec<Rc<TableFile>> {
    if !is_log_settled(shard, store) {
        return Vec::new();
    }
    let gc_before = gc_before_secs(store, shard.env.wall_secs());
    let view = store.view();
    let in_memory = std::iter::once(&view.active).chain(&view.sealed).map(|memtable| memtable.timestamp_min()).min();
    let mut expired: Vec<Rc<TableFile>> = files
        .iter()
        .filter(|file| goes_at_once(store, file) && i64::from(file.stats().local_deletion_max) < gc_before)
        .cloned()
        .collect();
    loop {
        // What stays must be younger than all that goes; who is not goes back, and may keep others.
        let staying = others_of_all(&view, &expired).map(|file| file.timestamp_min()).min();
        let floor = staying.into_iter().chain(in_memory).min().unwrap_or(i64::MAX);
        let before = expired.len();
        expired.retain(|file| file.timestamp_max() < floor);
        if expired.len() == before {
            return expired;
        }
    }
}

fn others_of_all<'v>(view: &'v View, gone: &'v [Rc<TableFile>]) -> impl Iterator<Item = &'v Rc<TableFile>> {
    let is_gone = |file: &Rc<TableFile>| gone.iter().any(|other| Rc::ptr_eq(other, file));
    view.files.iter().chain(&view.lingering).filter(move |file| !is_gone(file))
}
