//! Prepared registry: the node's prepared statements, by id. All shards share it.
//!
//! It keeps texts; each shard compiles them for itself. A statement goes when its table changes so that Cassandra would
//! forget it too (clients prepare again when told that an id is unknown), or when the texts take more than their budget:
//! then those go that were not executed for longest.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helenus_schema::{SchemaSnapshot, Table};
use md5::{Digest, Md5};

use crate::modify::PrependClock;

/// MD5 of the text, behind the keyspace when the text does not name it.
pub type PreparedId = [u8; 16];

/// What an entry costs beside its text: the plans that shards make of it.
const ENTRY_BYTES: usize = 2 << 10;

/// Entries are marked as used this often at most: the mark is shared by all shards.
const USED_EVERY_NANOS: u64 = 1_000_000_000;

/// Shared by all shards of a node.
#[derive(Default)]
pub struct PreparedRegistry {
    entries: Mutex<Entries>,
    /// Lists of all shards are prepended to by one clock.
    pub(crate) prepends: PrependClock,
}

#[derive(Default)]
struct Entries {
    by_id: HashMap<PreparedId, Arc<PreparedEntry>, rapidhash::fast::RandomState>,
    bytes: usize,
}

#[derive(Debug)]
pub(crate) struct PreparedEntry {
    pub text: Box<str>,
    /// In use when it was prepared.
    pub session_keyspace: Option<Box<str>>,
    /// Of its table.
    pub statement_keyspace: Option<Box<str>>,
    pub is_fully_qualified: bool,
    pub is_batch: bool,
    /// As they were when it was prepared.
    pub tables: Vec<Arc<Table>>,
    /// Of the result that clients of this entry were told about.
    pub result_metadata_id: [u8; 16],
    /// Nanoseconds of the monotonic clock.
    pub used: AtomicU64,
}

impl PreparedEntry {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + 2 * self.text.len()
    }

    pub fn mark_used(&self, now_nanos: u64) {
        if USED_EVERY_NANOS <= now_nanos.saturating_sub(self.used.load(Ordering::Relaxed)) {
            self.used.store(now_nanos, Ordering::Relaxed);
        }
    }

    /// Whether its tables are still what they were, as far as statements are concerned.
    pub fn is_current(&self, schema: &SchemaSnapshot) -> bool {
        self.tables.iter().all(|before| {
            schema.table_by_id(before.id).is_some_and(|now| {
                Arc::ptr_eq(before, now)
                    || (before.columns() == now.columns()
                        && before.params.default_time_to_live == now.params.default_time_to_live
                        && before.params.gc_grace_seconds == now.params.gc_grace_seconds)
            })
        })
    }
}

impl PreparedRegistry {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Nothing panics while it is held; entries are whole at any time.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: &PreparedId) -> Option<Arc<PreparedEntry>> {
        self.entries().by_id.get(id).map(Arc::clone)
    }

    /// Whether a statement is prepared and its tables are still what they were.
    pub(crate) fn contains(&self, id: &PreparedId, schema: &SchemaSnapshot) -> bool {
        self.entries().by_id.get(id).is_some_and(|entry| entry.is_current(schema))
    }

    /// Keeps what is there already when it is as good.
    pub(crate) fn put(&self, id: PreparedId, entry: &Arc<PreparedEntry>, schema: &SchemaSnapshot, budget: usize) {
        let mut entries = self.entries();
        if entries.by_id.get(&id).is_some_and(|known| known.is_current(schema)) {
            return;
        }
        entries.bytes += entry.bytes();
        if let Some(old) = entries.by_id.insert(id, Arc::clone(entry)) {
            entries.bytes -= old.bytes();
        }
        if budget < entries.bytes {
            entries.shrink(budget - budget / 8, &id);
        }
    }

    /// Forgets a statement, unless it was prepared anew meanwhile.
    pub(crate) fn remove(&self, id: &PreparedId, entry: &Arc<PreparedEntry>) {
        let mut entries = self.entries();
        if entries.by_id.get(id).is_some_and(|known| Arc::ptr_eq(known, entry)) {
            entries.by_id.remove(id);
            entries.bytes -= entry.bytes();
        }
    }

    /// How many statements are prepared.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().by_id.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Entries {
    fn shrink(&mut self, target: usize, keep: &PreparedId) {
        let mut oldest: Vec<(u64, PreparedId)> =
            self.by_id.iter().map(|(id, entry)| (entry.used.load(Ordering::Relaxed), *id)).collect();
        oldest.sort_unstable();
        for (_, id) in oldest.iter().filter(|(_, id)| id != keep) {
            if self.bytes <= target {
                break;
            }
            if let Some(entry) = self.by_id.remove(id) {
                self.bytes -= entry.bytes();
            }
        }
    }
}

#[must_use]
pub(crate) fn prepared_id(text: &str, keyspace: Option<&str>) -> PreparedId {
    let mut hash = Md5::new();
    hash.update(keyspace.unwrap_or_default().as_bytes());
    hash.update(text.as_bytes());
    hash.finalize().into()
}
