//! Counters of the coordinator on one shard; plain cells, gathered by message.

use std::cell::Cell;

#[derive(Default)]
pub struct ClusterMetrics {
    /// Requests sent to another shard of this node because their token belongs there.
    pub cross_shard_requests: Cell<u64>,
    pub local_requests: Cell<u64>,
    pub timeouts: Cell<u64>,
}

impl ClusterMetrics {
    pub(crate) fn count(cell: &Cell<u64>) {
        cell.set(cell.get() + 1);
    }
}
