//! What the shards of one node share in storage: file generations and who still needs a file or log segment.

use std::sync::atomic::{AtomicU64, Ordering};

/// Made once per node and start, given to every shard in its [`crate::StorageConfig`].
#[derive(Debug)]
pub struct StorageNode {
    shard_count: u32,
    generations: AtomicU64,
}

impl StorageNode {
    #[must_use]
    pub fn new(shard_count: u32) -> Self {
        Self { shard_count: shard_count.max(1), generations: AtomicU64::new(0) }
    }

    #[must_use]
    pub fn shard_count(&self) -> u32 {
        self.shard_count
    }

    /// A generation that no file of this node has had.
    #[must_use]
    pub fn next_generation(&self) -> u64 {
        self.generations.fetch_add(1, Ordering::Relaxed) + 1
    }
}
