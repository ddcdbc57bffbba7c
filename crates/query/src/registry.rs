//! Prepared registry: the node's prepared statements, by id. All shards share it.
//!
//! It keeps texts; each shard compiles them for itself, and lets a plan go with its entry here. A statement goes when its
//! table changes so that Cassandra would forget it too (clients prepare again when told that an id is unknown), or when the
//! statements take more than their budget: then those go that were not executed for longest.
//!
//! Invariants
//! - `bytes` is the sum of what the entries count, and at most the budget once a call returns.
//! - An entry that was taken out says so: [`PreparedEntry::is_gone`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helenus_schema::{SchemaSnapshot, Table};
use md5::{Digest, Md5};

use crate::modify::PrependClock;

/// MD5 of the text, behind the keyspace when the text does not name it.
pub type PreparedId = [u8; 16];

/// What an entry costs, however short its text: names, types, columns, the plan's frame.
const ENTRY_BYTES: usize = 2 << 10;

/// What a word outside quotes (a name, a number, a keyword) and the sign behind it become in a plan. Seen: 70 bytes a number
/// in a list, up to 300 a selected column; Cassandra's objects take about 200.
const WORD_BYTES: usize = 200;

/// The text itself, and its strings once more in the plan.
const TEXT_COPIES: usize = 2;

/// Entries are marked as used this often at most: the mark is shared by all shards.
const USED_EVERY_NANOS: u64 = 1_000_000_000;

/// Shared by all shards of a node.
#[derive(Default)]
pub struct PreparedRegistry {
    entries: Mutex<Entries>,
    /// How often an entry was taken out: shards look whether plans of theirs have to go.
    removals: AtomicU64,
    /// Lists of all shards are prepended to by one clock.
    pub(crate) prepends: PrependClock,
}

#[derive(Default)]
struct Entries {
    by_id: HashMap<PreparedId, Arc<PreparedEntry>, rapidhash::fast::RandomState>,
    bytes: usize,
    /// Statements that went because there was no room.
    evicted: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct PreparedEntry {
    pub text: Arc<str>,
    /// What [`statement_bytes`] says of it.
    pub bytes: usize,
    /// In use when it was prepared.
    pub session_keyspace: Option<Box<str>>,
    /// The keyspace that its id is made with, as `system.prepared_statements` names it.
    pub logged_keyspace: Option<Box<str>>,
    /// Of its table.
    pub statement_keyspace: Option<Box<str>>,
    pub is_fully_qualified: bool,
    pub is_batch: bool,
    /// As they were when it was prepared.
    pub tables: Vec<Arc<Table>>,
    /// Of the result that clients of this entry were told about.
    pub result_metadata_id: [u8; 16],
    pub life: Life,
}

/// What happens to an entry while it is shared.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// Nanoseconds of the monotonic clock.
    used: AtomicU64,
    is_gone: AtomicBool,
}

impl Life {
    pub fn begin(now_nanos: u64) -> Self {
        Self { used: AtomicU64::new(now_nanos), is_gone: AtomicBool::new(false) }
    }
}

/// A clone is an entry of its own.
impl Clone for Life {
    fn clone(&self) -> Self {
        Self::begin(self.used.load(Ordering::Relaxed))
    }
}

/// What [`PreparedRegistry::put`] did.
#[derive(Debug, Default)]
pub(crate) struct Put {
    /// It was not there, or no longer as good.
    pub is_new: bool,
    pub evicted: Vec<PreparedId>,
}

impl PreparedEntry {
    /// What it counts against `prepared_statements_cache_size`, with its plan; see [`statement_bytes`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the registry holds it no longer.
    pub fn is_gone(&self) -> bool {
        self.life.is_gone.load(Ordering::Relaxed)
    }

    pub fn mark_used(&self, now_nanos: u64) {
        let used = &self.life.used;
        if USED_EVERY_NANOS <= now_nanos.saturating_sub(used.load(Ordering::Relaxed)) {
            used.store(now_nanos, Ordering::Relaxed);
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
    pub(crate) fn put(
        &self,
        id: PreparedId,
        entry: &Arc<PreparedEntry>,
        schema: &SchemaSnapshot,
        budget: usize,
    ) -> Put {
        let mut entries = self.entries();
        if entries.by_id.get(&id).is_some_and(|known| known.is_current(schema)) {
            return Put::default();
        }
        let is_replaced = entries.take_out(&id);
        entries.bytes += entry.bytes();
        entries.by_id.insert(id, Arc::clone(entry));
        let evicted = if budget < entries.bytes { entries.shrink(budget - budget / 8, &id) } else { Vec::new() };
        if is_replaced || !evicted.is_empty() {
            self.removals.fetch_add(1, Ordering::Relaxed);
        }
        Put { is_new: true, evicted }
    }

    /// Forgets a statement, unless it was prepared anew meanwhile; whether it did.
    pub(crate) fn remove(&self, id: &PreparedId, entry: &Arc<PreparedEntry>) -> bool {
        let mut entries = self.entries();
        let is_same = entries.by_id.get(id).is_some_and(|known| Arc::ptr_eq(known, entry));
        if is_same {
            entries.take_out(id);
            self.removals.fetch_add(1, Ordering::Relaxed);
        }
        is_same
    }

    /// Forgets the statements whose tables are not what they were.
    pub(crate) fn remove_outdated(&self, schema: &SchemaSnapshot) -> Vec<PreparedId> {
        let mut entries = self.entries();
        let mut outdated: Vec<PreparedId> =
            entries.by_id.iter().filter(|(_, entry)| !entry.is_current(schema)).map(|(id, _)| *id).collect();
        outdated.sort_unstable();
        for id in &outdated {
            entries.take_out(id);
        }
        self.removals.fetch_add(1, Ordering::Relaxed);
        outdated
    }

    /// Rises with every entry that is taken out.
    pub(crate) fn removal_count(&self) -> u64 {
        self.removals.load(Ordering::Relaxed)
    }

    /// How many statements are prepared.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().by_id.len()
    }

    /// How many statements went because there was no room for them.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.entries().evicted
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Entries {
    /// Whether there was such an entry.
    fn take_out(&mut self, id: &PreparedId) -> bool {
        let Some(entry) = self.by_id.remove(id) else { return false };
        self.bytes -= entry.bytes();
        entry.life.is_gone.store(true, Ordering::Relaxed);
        true
    }

    /// Takes out what was not used for longest, until what is left counts `target` at most.
    fn shrink(&mut self, target: usize, keep: &PreparedId) -> Vec<PreparedId> {
        let mut oldest: Vec<(u64, PreparedId)> =
            self.by_id.iter().map(|(id, entry)| (entry.life.used.load(Ordering::Relaxed), *id)).collect();
        oldest.sort_unstable();
        let mut evicted = Vec::new();
        for (_, id) in oldest.iter().filter(|(_, id)| id != keep) {
            if self.bytes <= target {
                break;
            }
            self.take_out(id);
            self.evicted += 1;
            evicted.push(*id);
        }
        evicted
    }
}

/// About how much memory a prepared statement takes with one shard's plan of it.
pub(crate) fn statement_bytes(text: &str) -> usize {
    let (mut words, mut is_in_word, mut is_in_quotes) = (0, false, false);
    for byte in text.bytes() {
        let is_quote = byte == b'\'';
        is_in_quotes ^= is_quote;
        let is_of_word = byte.is_ascii_alphanumeric() && !is_in_quotes;
        words += usize::from((is_of_word && !is_in_word) || is_quote);
        is_in_word = is_of_word;
    }
    ENTRY_BYTES + TEXT_COPIES * text.len() + WORD_BYTES * words
}

#[must_use]
pub(crate) fn prepared_id(text: &str, keyspace: Option<&str>) -> PreparedId {
    let mut hash = Md5::new();
    hash.update(keyspace.unwrap_or_default().as_bytes());
    hash.update(text.as_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_weigh_more_than_long_strings() {
        assert_eq!(statement_bytes(""), ENTRY_BYTES);
        assert_eq!(statement_bytes("SELECT v FROM k.t"), ENTRY_BYTES + 2 * 17 + 5 * WORD_BYTES);
        assert_eq!(statement_bytes("'a b c d'"), ENTRY_BYTES + 2 * 9 + 2 * WORD_BYTES);
        assert_eq!(statement_bytes("(1,2,-3)"), ENTRY_BYTES + 2 * 8 + 3 * WORD_BYTES);
    }
}
