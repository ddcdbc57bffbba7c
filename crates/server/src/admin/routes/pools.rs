//! What runs and what waits, under the names of Cassandra's thread pools.

use axum::Json;
use axum::extract::State;

use super::Answer;
use crate::admin::Shared;
use crate::admin::api::{DroppedMessages, ThreadPool, ThreadPools};
use crate::admin::gather::distribution;
use crate::work::pools;

#[utoipa::path(get, path = "/api/v1/threadpools", responses((status = 200, body = ThreadPools)))]
pub(in crate::admin) async fn thread_pools(State(state): State<Shared>) -> Answer<ThreadPools> {
    let views = state.shard_views().await?;
    let snapshots = state.links.run_on_all(|server| async move { server.metrics.snapshot() }).await?;
    let dropped = DroppedMessages {
        message: "MUTATION_REQ".to_owned(),
        count: views.iter().map(|view| view.storage.expired_requests).sum(),
        waited_micros: distribution(&helenus_storage::Histogram::default()),
    };
    let pools = pools(&views, &snapshots).into_iter().map(|pool| ThreadPool {
        name: pool.name.to_owned(),
        active: pool.active,
        pending: pool.pending,
        completed: pool.completed,
        blocked: 0,
        all_time_blocked: pool.blocked_all_time,
    });
    Ok(Json(ThreadPools { pools: pools.collect(), dropped: vec![dropped] }))
}
