//! One shard's cache of file chunks as readers need them: decompressed and verified.
//!
//! Chunks are handed out as shared bytes, so evicting one never disturbs a reader. Eviction is by the clock algorithm:
//! a hit costs one hash look-up and sets a flag; the hand takes the first chunk that was not used since it last passed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use bytes::Bytes;

/// A file within one cache, never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId(u64);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCacheStats {
    pub hits: u64,
    pub misses: u64,
    pub used_bytes: u64,
    pub budget_bytes: u64,
    pub chunks: u64,
    /// Reads of its files that wait for the device at this moment.
    pub queued_reads: u64,
    /// How many have waited so far, these included.
    pub all_queued_reads: u64,
}

pub struct ChunkCache {
    inner: RefCell<Inner>,
    queued_reads: Cell<u64>,
    all_queued_reads: Cell<u64>,
}

/// A read that waits for the device, until it is dropped.
pub(crate) struct QueuedRead<'c>(&'c Cell<u64>);

impl Drop for QueuedRead<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

struct Inner {
    budget_bytes: usize,
    used_bytes: usize,
    slots: Vec<Slot>,
    free: Vec<usize>,
    by_place: HashMap<Place, usize, BuildHasherDefault<PlaceHasher>>,
    hand: usize,
    hits: u64,
    misses: u64,
    next_file: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    file: FileId,
    chunk: u64,
}

struct Slot {
    place: Place,
    /// `None` when the slot is free.
    bytes: Option<Bytes>,
    was_used: bool,
}

/// What a slot and its map entry take beside the chunk.
const OVERHEAD_BYTES: usize = 128;

/// Mixes the two small numbers of a place. No client chooses them, so nothing stronger is needed.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl ChunkCache {
    /// A cache of at most `budget_bytes`; with 0 it keeps nothing.
    #[must_use]
    pub fn new(budget_bytes: usize) -> Rc<Self> {
        let inner = Inner {
            budget_bytes,
            used_bytes: 0,
            slots: Vec::new(),
            free: Vec::new(),
            by_place: HashMap::default(),
            hand: 0,
            hits: 0,
            misses: 0,
            next_file: 0,
        };
        Rc::new(Self { inner: RefCell::new(inner), queued_reads: Cell::default(), all_queued_reads: Cell::default() })
    }

    #[must_use]
    pub fn stats(&self) -> ChunkCacheStats {
        let inner = self.inner.borrow();
        ChunkCacheStats {
            hits: inner.hits,
            misses: inner.misses,
            used_bytes: inner.used_bytes as u64,
            budget_bytes: inner.budget_bytes as u64,
            chunks: inner.by_place.len() as u64,
            queued_reads: self.queued_reads.get(),
            all_queued_reads: self.all_queued_reads.get(),
        }
    }

    /// Changes the budget; what is too much goes at once.
    pub fn set_budget(&self, budget_bytes: usize) {
        let mut inner = self.inner.borrow_mut();
        inner.budget_bytes = budget_bytes;
        inner.make_room(0);
    }

    pub(crate) fn queue_read(&self) -> QueuedRead<'_> {
        self.queued_reads.set(self.queued_reads.get() + 1);
        self.all_queued_reads.set(self.all_queued_reads.get() + 1);
        QueuedRead(&self.queued_reads)
    }

    pub(crate) fn new_file(&self) -> FileId {
        let mut inner = self.inner.borrow_mut();
        inner.next_file += 1;
        FileId(inner.next_file)
    }

    pub(crate) fn get(&self, file: FileId, chunk: u64) -> Option<Bytes> {
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.by_place.get(&Place { file, chunk }) else {
            inner.misses += 1;
            return None;
        };
        inner.hits += 1;
        let slot = &mut inner.slots[*slot];
        slot.was_used = true;
        slot.bytes.clone()
    }

    pub(crate) fn put(&self, file: FileId, chunk: u64, bytes: &Bytes) {
        let inner = &mut *self.inner.borrow_mut();
        let place = Place { file, chunk };
        let needed = bytes.len() + OVERHEAD_BYTES;
        if inner.budget_bytes < needed || inner.by_place.contains_key(&place) {
            return;
        }
        inner.make_room(needed);
        let slot = Slot { place, bytes: Some(bytes.clone()), was_used: false };
        let at = match inner.free.pop() {
            Some(at) => {
                inner.slots[at] = slot;
                at
            }
            None => {
                inner.slots.push(slot);
                inner.slots.len() - 1
            }
        };
        inner.by_place.insert(place, at);
        inner.used_bytes += needed;
    }

    /// The file is closed: its chunks serve nobody any more.
    pub(crate) fn forget(&self, file: FileId) {
        let inner = &mut *self.inner.borrow_mut();
        for at in 0..inner.slots.len() {
            if inner.slots[at].place.file == file && inner.slots[at].bytes.is_some() {
                inner.evict(at);
            }
        }
    }
}

impl Inner {
    fn make_room(&mut self, needed: usize) {
        while self.budget_bytes < self.used_bytes + needed && !self.by_place.is_empty() {
            self.hand = if self.hand < self.slots.len() { self.hand } else { 0 };
            let slot = &mut self.slots[self.hand];
            if slot.bytes.is_some() && !std::mem::take(&mut slot.was_used) {
                self.evict(self.hand);
            }
            self.hand += 1;
        }
    }

    fn evict(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        if let Some(bytes) = slot.bytes.take() {
            self.used_bytes -= bytes.len() + OVERHEAD_BYTES;
            self.by_place.remove(&slot.place);
            self.free.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_chunks_outlive_unused_ones_and_the_budget_holds() {
        let cache = ChunkCache::new(4 * (1000 + OVERHEAD_BYTES));
        let file = cache.new_file();
        let chunk = Bytes::from(vec![7; 1000]);
        (0..4).for_each(|i| cache.put(file, i, &chunk));
        assert!(cache.get(file, 0).is_some());
        (4..7).for_each(|i| cache.put(file, i, &chunk));
        assert!(cache.get(file, 0).is_some());
        assert!(cache.get(file, 1).is_none());
        let stats = cache.stats();
        assert_eq!((stats.hits, stats.misses, stats.chunks), (2, 1, 4));
        assert!(stats.used_bytes <= stats.budget_bytes);
        cache.forget(file);
        assert_eq!((cache.stats().chunks, cache.stats().used_bytes), (0, 0));
    }

    #[test]
    fn a_cache_without_budget_keeps_nothing() {
        let cache = ChunkCache::new(0);
        let file = cache.new_file();
        cache.put(file, 0, &Bytes::from_static(b"x"));
        assert!(cache.get(file, 0).is_none());
    }
}
