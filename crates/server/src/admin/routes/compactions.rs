//! Compactions: running, ended, how fast, whether at all.

use std::rc::Rc;

use axum::Json;
use axum::extract::State;
use helenus_data::TableId;
use helenus_storage::CompactionKind;

use super::{Answer, nothing};
use crate::admin::api::{self, Nothing};
use crate::admin::problem::{Body, Refusal};
use crate::admin::{AdminState, Shared};
use crate::shard::ShardServer;

const MIB: f64 = 1_048_576.0;

#[utoipa::path(get, path = "/api/v1/compactions", responses((status = 200, body = api::Compactions)))]
pub(in crate::admin) async fn compactions(State(state): State<Shared>) -> Answer<api::Compactions> {
    let by_shard = state.links.run_on_all(|server| async move {
        let storage = server.cluster.storage();
        (storage.stats(), storage.compactions(), storage.compaction_throughput())
    });
    let by_shard = by_shard.await?;
    let completed: u64 = by_shard.iter().map(|(stats, ..)| stats.completed_compactions).sum();
    let compacted_bytes = by_shard.iter().map(|(stats, ..)| stats.compacted_bytes).sum();
    let throughput: u64 = by_shard.iter().map(|(.., throughput)| throughput).sum();
    let uptime_secs = (state.env.monotonic() - state.node.started).as_secs_f64().max(1.0);
    let rate = completed as f64 / uptime_secs;
    let running = by_shard.into_iter().flat_map(|(_, running, _)| running);
    let target_directory = state.node.config.directories.data.display().to_string();
    let active = running.map(|progress| api::ActiveCompaction {
        id: progress.id.to_string(),
        kind: kind_name(progress.kind).to_owned(),
        keyspace: progress.keyspace,
        table: progress.table,
        completed: progress.completed_bytes,
        total: progress.total_bytes,
        unit: "bytes".to_owned(),
        total_compressed_bytes: None,
        sstables: progress.sstables,
        target_directory: target_directory.clone(),
        started_at_micros: progress.started_secs.saturating_mul(1_000_000),
    });
    let shards = state.node.config.shard_count as usize;
    Ok(Json(api::Compactions {
        concurrent_compactors: (state.node.config.compactors * shards) as u64,
        pending: pending(&state).await?,
        active: active.collect(),
        completed,
        compacted_bytes,
        compacted_compressed_bytes: compacted_bytes,
        aborted: 0,
        reduced: 0,
        sstables_dropped: 0,
        rate_15_minutes_per_sec: rate,
        rate_mean_per_sec: rate,
        throughput_mib_per_sec: throughput as f64 / MIB,
    }))
}

async fn pending(state: &AdminState) -> Result<Vec<api::PendingCompactions>, Refusal> {
    let schema = state.schema().await?;
    let tables = AdminState::stored_tables(&schema);
    let ids: Vec<TableId> = tables.iter().map(|table| table.id).collect();
    let stats = state.table_stats(&ids).await?;
    let all = tables.iter().zip(stats).map(|(table, stats)| api::PendingCompactions {
        keyspace: table.keyspace.to_string(),
        table: table.name.to_string(),
        tasks: stats.iter().map(|stats| stats.pending_compactions).sum(),
    });
    Ok(all.filter(|pending| 0 < pending.tasks).collect())
}

/// As Cassandra's `OperationType` prints; what it has no name for has our own.
pub(crate) fn kind_name(kind: CompactionKind) -> &'static str {
    match kind {
        CompactionKind::Strategy => "Compaction",
        CompactionKind::Major => "Major compaction",
        CompactionKind::Tombstones => "Tombstone Compaction",
        CompactionKind::Reshard => "Reshard",
    }
}

#[utoipa::path(get, path = "/api/v1/compactions/history", responses((status = 200, body = api::CompactionHistory)))]
pub(in crate::admin) async fn history(State(state): State<Shared>) -> Answer<api::CompactionHistory> {
    let by_shard =
        state.links.run_on_all(|server| async move { server.cluster.storage().compaction_history() }).await?;
    let ended = by_shard.into_iter().flatten().map(|record| api::EndedCompaction {
        id: record.id.to_string(),
        kind: kind_name(record.kind).to_owned(),
        keyspace: record.keyspace,
        table: record.table,
        compacted_at_micros: record.compacted_at_micros,
        bytes_in: record.bytes_in,
        bytes_out: record.bytes_out,
        partitions_out: record.partitions_out,
    });
    let mut compactions: Vec<api::EndedCompaction> = ended.collect();
    compactions.sort_by_key(|ended| std::cmp::Reverse(ended.compacted_at_micros));
    Ok(Json(api::CompactionHistory { compactions }))
}

/// Stops those that run; automatic ones begin again when the strategy wants them.
#[utoipa::path(
    post,
    path = "/api/v1/compactions/stop",
    request_body = Nothing,
    responses((status = 200, body = Nothing))
)]
pub(in crate::admin) async fn stop(State(state): State<Shared>, Body(_): Body<Nothing>) -> Answer<Nothing> {
    state.links.run_on_all(|server| async move { server.cluster.storage().stop_compactions().await }).await?;
    Ok(nothing())
}

#[utoipa::path(get, path = "/api/v1/compaction-throughput", responses((status = 200, body = api::CompactionThroughput)))]
pub(in crate::admin) async fn throughput(State(state): State<Shared>) -> Answer<api::CompactionThroughput> {
    let by_shard =
        state.links.run_on_all(|server| async move { server.cluster.storage().compaction_throughput() }).await?;
    let bytes_per_sec: u64 = by_shard.into_iter().sum();
    Ok(Json(api::CompactionThroughput { throughput_mib_per_sec: bytes_per_sec as f64 / MIB }))
}

#[utoipa::path(
    put,
    path = "/api/v1/compaction-throughput",
    request_body = api::CompactionThroughput,
    responses((status = 200, body = Nothing))
)]
pub(in crate::admin) async fn set_throughput(
    State(state): State<Shared>,
    Body(wanted): Body<api::CompactionThroughput>,
) -> Answer<Nothing> {
    let wanted = wanted.throughput_mib_per_sec;
    if !(0.0..=1e9).contains(&wanted) {
        return Err(Refusal::InvalidRequest("throughput_mib_per_sec: must be 0 or more".to_owned()));
    }
    // Rounded up: a limit below one byte a shard would otherwise become none.
    let each = (wanted * MIB / f64::from(state.node.config.shard_count)).ceil() as u64;
    let set = move |server: Rc<ShardServer>| async move {
        server.cluster.storage().set_compaction_throughput(each);
    };
    state.links.run_on_all(set).await?;
    Ok(nothing())
}

#[utoipa::path(get, path = "/api/v1/auto-compaction", responses((status = 200, body = api::AutoCompaction)))]
pub(in crate::admin) async fn auto_compaction(State(state): State<Shared>) -> Answer<api::AutoCompaction> {
    let by_shard =
        state.links.run_on_all(|server| async move { server.cluster.storage().is_auto_compaction() }).await?;
    Ok(Json(api::AutoCompaction { enabled: by_shard.into_iter().all(|enabled| enabled) }))
}

#[utoipa::path(
    put,
    path = "/api/v1/auto-compaction",
    request_body = api::AutoCompaction,
    responses((status = 200, body = Nothing))
)]
pub(in crate::admin) async fn set_auto_compaction(
    State(state): State<Shared>,
    Body(wanted): Body<api::AutoCompaction>,
) -> Answer<Nothing> {
    let set = move |server: Rc<ShardServer>| async move {
        server.cluster.storage().set_auto_compaction(wanted.enabled);
    };
    state.links.run_on_all(set).await?;
    Ok(nothing())
}
