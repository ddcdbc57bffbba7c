//! What runs and what waits, under the names of Cassandra's thread pools.

use axum::Json;
use axum::extract::State;

use super::Answer;
use crate::admin::Shared;
use crate::admin::api::{DroppedMessages, ThreadPool, ThreadPools};
use crate::admin::gather::{ShardView, distribution};
use crate::metrics::{MetricsSnapshot, StatementKind};

#[utoipa::path(get, path = "/api/v1/threadpools", responses((status = 200, body = ThreadPools)))]
pub(in crate::admin) async fn thread_pools(State(state): State<Shared>) -> Answer<ThreadPools> {
    let views = state.shard_views().await?;
    let snapshots = state.links.run_on_all(|server| async move { server.metrics.snapshot() }).await?;
    let dropped = views.iter().map(|view| view.storage.expired_requests).sum();
    let dropped = DroppedMessages {
        message: "MUTATION_REQ".to_owned(),
        count: dropped,
        waited_micros: distribution(&helenus_storage::Histogram::default()),
    };
    Ok(Json(ThreadPools { pools: pools(&views, &snapshots), dropped: vec![dropped] }))
}

/// A shard has tasks, not threads: "active" is what runs, "pending" what waits for something named.
pub(crate) fn pools(views: &[ShardView], snapshots: &[MetricsSnapshot]) -> Vec<ThreadPool> {
    let sum = |field: fn(&ShardView) -> u64| views.iter().map(field).sum::<u64>();
    let served = |kinds: &[StatementKind]| -> u64 {
        let latencies = snapshots.iter().flat_map(|snapshot| &snapshot.latencies);
        latencies.filter(|((kind, _), _)| kinds.contains(kind)).map(|(_, histogram)| histogram.count()).sum()
    };
    let all: u64 = snapshots.iter().flat_map(|snapshot| snapshot.latencies.values()).map(|all| all.count()).sum();
    let pool = |name: &str, active: u64, pending: u64, completed: u64, all_time_blocked: u64| ThreadPool {
        name: name.to_owned(),
        active,
        pending,
        completed,
        blocked: 0,
        all_time_blocked,
    };
    let paused: u64 = snapshots.iter().map(|snapshot| snapshot.reads_paused).sum();
    vec![
        pool("ReadStage", 0, 0, served(&[StatementKind::Read]), 0),
        pool(
            "MutationStage",
            0,
            sum(|view| view.storage.commit_log_pending),
            served(&[StatementKind::Write, StatementKind::Batch]),
            sum(|view| view.storage.blocked_on_memory),
        ),
        pool("MigrationStage", 0, 0, served(&[StatementKind::Schema]), 0),
        pool(
            "CompactionExecutor",
            sum(|view| view.storage.running_compactions),
            sum(|view| view.storage.pending_compactions),
            sum(|view| view.storage.completed_compactions),
            0,
        ),
        pool("MemtableFlushWriter", 0, 0, sum(|view| view.storage.flushes), 0),
        pool("Native-Transport-Requests", sum(|view| view.in_flight), 0, all, paused),
    ]
}
