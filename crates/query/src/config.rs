//! Query configuration: thresholds of `cassandra.yaml` that this room watches.

#[derive(Clone, Debug)]
pub struct QueryConfig {
    /// `batch_size_warn_threshold`.
    pub batch_warn_bytes: usize,
    /// `batch_size_fail_threshold`.
    pub batch_fail_bytes: usize,
    /// `unlogged_batch_across_partitions_warn_threshold`.
    pub unlogged_batch_partitions_warn: usize,
    /// `tombstone_warn_threshold`.
    pub tombstone_warn_threshold: u64,
    /// `prepared_statements_cache_size`, for the whole node.
    pub prepared_cache_bytes: usize,
}

/// Cassandra 5.0's defaults.
impl Default for QueryConfig {
    fn default() -> Self {
        Self {
            batch_warn_bytes: 5 * 1024,
            batch_fail_bytes: 50 * 1024,
            unlogged_batch_partitions_warn: 10,
            tombstone_warn_threshold: 1000,
            prepared_cache_bytes: 10 << 20,
        }
    }
}
