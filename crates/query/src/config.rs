//! Query configuration: thresholds of `cassandra.yaml` that this room watches.

use std::time::Duration;

/// How long statements may take, by what they do; the server's own limit may be shorter.
#[derive(Clone, Debug)]
pub struct TimeLimits {
    /// `read_request_timeout`: of named partitions.
    pub read: Duration,
    /// `range_request_timeout`.
    pub range: Duration,
    /// `write_request_timeout`.
    pub write: Duration,
    /// `counter_write_request_timeout`.
    pub counter: Duration,
    /// `cas_contention_timeout`: how long a conditional write waits for others of its partition.
    pub contention: Duration,
}

/// Cassandra 5.0's defaults.
impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            read: Duration::from_secs(5),
            range: Duration::from_secs(10),
            write: Duration::from_secs(2),
            counter: Duration::from_secs(5),
            contention: Duration::from_millis(1_800),
        }
    }
}

#[derive(Clone, Debug)]
pub struct QueryConfig {
    pub time_limits: TimeLimits,
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
            time_limits: TimeLimits::default(),
            batch_warn_bytes: 5 * 1024,
            batch_fail_bytes: 50 * 1024,
            unlogged_batch_partitions_warn: 10,
            tombstone_warn_threshold: 1000,
            prepared_cache_bytes: 10 << 20,
        }
    }
}
