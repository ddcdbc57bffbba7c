//! Work: what a shard has done, does and waits for, gathered for operators; under the names of Cassandra's thread pools
//! where they ask for those.

use helenus_storage::StorageStats;

use crate::metrics::{MetricsSnapshot, StatementKind};
use crate::shard::ShardServer;

/// One shard at one moment.
#[derive(Clone, Debug)]
pub(crate) struct ShardView {
    pub shard: u32,
    pub connections: usize,
    pub storage: StorageStats,
    pub request_memory_bytes: u64,
    pub slow_polls: u64,
    pub longest_poll_micros: u64,
    pub task_panics: u64,
    pub cross_shard_requests: u64,
    pub local_requests: u64,
    pub timeouts: u64,
    pub in_flight: u64,
}

impl ShardView {
    pub fn of(server: &ShardServer) -> Self {
        let polls = server.env.polls();
        let metrics = &server.cluster.metrics;
        Self {
            shard: server.shard,
            connections: server.clients.count(),
            storage: server.cluster.storage().stats(),
            request_memory_bytes: server.memory.used_bytes(),
            slow_polls: polls.slow_count(),
            longest_poll_micros: u64::try_from(polls.longest().as_micros()).unwrap_or(u64::MAX),
            task_panics: polls.panic_count(),
            cross_shard_requests: metrics.cross_shard_requests.get(),
            local_requests: metrics.local_requests.get(),
            timeouts: metrics.timeouts.get(),
            in_flight: server.clients.list().iter().map(|client| u64::from(client.in_flight.get())).sum(),
        }
    }
}

/// A kind of work. A shard has tasks, not threads: "active" is what runs, "pending" what waits for something named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    pub name: &'static str,
    pub active: u64,
    pub pending: u64,
    pub completed: u64,
    pub blocked_all_time: u64,
}

/// The node's kinds of work, in the order of nodetool's list.
pub(crate) fn pools(views: &[ShardView], snapshots: &[MetricsSnapshot]) -> Vec<Pool> {
    let sum = |field: fn(&ShardView) -> u64| views.iter().map(field).sum::<u64>();
    let served = |kinds: &[StatementKind]| -> u64 {
        let latencies = snapshots.iter().flat_map(|snapshot| &snapshot.latencies);
        latencies.filter(|((kind, _), _)| kinds.contains(kind)).map(|(_, histogram)| histogram.count()).sum()
    };
    let all: u64 = snapshots.iter().flat_map(|snapshot| snapshot.latencies.values()).map(|all| all.count()).sum();
    let counted = |field: fn(&MetricsSnapshot) -> u64| snapshots.iter().map(field).sum::<u64>();
    let pool = |name, active, pending, completed, blocked_all_time| Pool {
        name,
        active,
        pending,
        completed,
        blocked_all_time,
    };
    let logins = counted(|snapshot| snapshot.authentication_successes + snapshot.authentication_failures);
    vec![
        pool("ReadStage", 0, 0, served(&[StatementKind::Read]), 0),
        pool(
            "MutationStage",
            0,
            sum(|view| view.storage.commit_log_pending),
            served(&[StatementKind::Write, StatementKind::Batch]),
            sum(|view| view.storage.blocked_on_memory),
        ),
        pool("CounterMutationStage", 0, 0, 0, 0),
        pool(
            "CompactionExecutor",
            sum(|view| view.storage.running_compactions),
            sum(|view| view.storage.pending_compactions),
            sum(|view| view.storage.completed_compactions),
            0,
        ),
        pool("MemtableFlushWriter", 0, 0, sum(|view| view.storage.flushes), 0),
        pool("MigrationStage", 0, 0, served(&[StatementKind::Schema]), 0),
        pool("Native-Transport-Auth-Requests", 0, 0, logins, 0),
        pool(
            "Native-Transport-Requests",
            sum(|view| view.in_flight),
            0,
            all,
            counted(|snapshot| snapshot.reads_paused),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use helenus_protocol::Consistency;

    use super::*;
    use crate::metrics::ShardMetrics;

    #[test]
    fn requests_stand_under_the_names_of_cassandras_pools() {
        let metrics = ShardMetrics::default();
        metrics.record(StatementKind::Read, Consistency::One, Duration::from_micros(10));
        metrics.record(StatementKind::Batch, Consistency::Quorum, Duration::from_micros(10));
        let pools = pools(&[], &[metrics.snapshot(), metrics.snapshot()]);
        let completed = |name: &str| pools.iter().find(|pool| pool.name == name).map(|pool| pool.completed);
        assert_eq!(completed("ReadStage"), Some(2));
        assert_eq!(completed("MutationStage"), Some(2));
        assert_eq!(completed("Native-Transport-Requests"), Some(4));
    }
}
