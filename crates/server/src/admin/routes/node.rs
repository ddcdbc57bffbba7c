//! The node itself.

use axum::Json;
use axum::extract::State;
use helenus_cluster::{CQL_VERSION, RELEASE_VERSION};
use helenus_data::TableId;
use helenus_storage::TableStats;

use super::Answer;
use crate::admin::api;
use crate::admin::gather::{load_bytes, resident_bytes};
use crate::admin::problem::Refusal;
use crate::admin::{AdminState, Shared};
use crate::node::Phase;
use crate::work::ShardView;

#[utoipa::path(get, path = "/api/v1/node", responses((status = 200, body = api::Node)))]
pub(in crate::admin) async fn node(State(state): State<Shared>) -> Answer<api::Node> {
    let views = state.shard_views().await?;
    let stats = state.all_table_stats().await?;
    let sum = |field: fn(&TableStats) -> u64| stats.iter().flatten().map(field).sum::<u64>();
    let config = &state.node.config;
    let address = &state.topology.address;
    let mode = state.operation_mode();
    Ok(Json(api::Node {
        host_id: state.topology.identity.host_id.to_string(),
        cluster_name: state.topology.identity.cluster_name.clone(),
        release_version: RELEASE_VERSION.to_owned(),
        helenus_version: state.build.version.to_owned(),
        helenus_commit: state.build.commit.to_owned(),
        cql_version: CQL_VERSION.to_owned(),
        operation_mode: mode.to_owned(),
        gossip_active: mode != "DRAINED",
        native_transport_active: *state.node.phase().borrow() == Phase::Serve,
        address: address.listen_address.to_string(),
        port: address.listen_port,
        native_address: address.native_address.to_string(),
        native_port: address.native_port,
        data_center: address.data_center.clone(),
        rack: address.rack.clone(),
        tokens: state.topology.identity.tokens.iter().map(ToString::to_string).collect(),
        generation: state.node.started_secs,
        uptime_secs: (state.env.monotonic() - state.node.started).as_secs(),
        shards: config.shard_count,
        load_bytes: load_bytes(&stats),
        uncompressed_load_bytes: sum(|stats| stats.uncompressed_bytes),
        memory: api::Memory {
            used_bytes: resident_bytes(),
            limit_bytes: config.memory.total,
            off_heap_bytes: sum(|stats| stats.bloom_filter_bytes + stats.memtable_bytes),
        },
        exceptions: state.node.log.error_count(),
        bootstrap_state: "COMPLETED".to_owned(),
        percent_repaired: 100.0,
        caches: vec![chunk_cache(&views, config.memory.chunk_cache)],
        connections: state.node.limits.connection_count(),
        data_directory: config.directories.data.display().to_string(),
    }))
}

fn chunk_cache(views: &[ShardView], capacity_bytes: u64) -> api::Cache {
    let sum = |field: fn(&ShardView) -> u64| views.iter().map(field).sum();
    api::Cache {
        name: "chunk".to_owned(),
        entries: 0,
        bytes: sum(|view| view.storage.chunk_cache_bytes),
        capacity_bytes,
        hits: sum(|view| view.storage.chunk_cache_hits),
        misses: sum(|view| view.storage.chunk_cache_misses),
        miss_latency_micros: None,
        save_period_secs: 0,
    }
}

impl AdminState {
    pub(in crate::admin) fn operation_mode(&self) -> &'static str {
        let phase = *self.node.phase().borrow();
        match phase {
            Phase::Recover | Phase::Join => "STARTING",
            Phase::Serve => "NORMAL",
            Phase::Drain | Phase::Stop if self.node.is_flushed() => "DRAINED",
            Phase::Drain | Phase::Stop => "DRAINING",
        }
    }

    pub(in crate::admin) async fn all_table_stats(&self) -> Result<Vec<Vec<TableStats>>, Refusal> {
        let schema = self.schema().await?;
        let ids: Vec<TableId> = AdminState::stored_tables(&schema).iter().map(|table| table.id).collect();
        self.table_stats(&ids).await
    }
}

/// What the node would gossip, in Cassandra's spelling.
#[utoipa::path(get, path = "/api/v1/gossip", responses((status = 200, body = api::Gossip)))]
pub(in crate::admin) async fn gossip(State(state): State<Shared>) -> Answer<api::Gossip> {
    let schema = state.schema().await?;
    let load = load_bytes(&state.all_table_stats().await?);
    let address = &state.topology.address;
    let native = format!("{}:{}", address.native_address, address.native_port);
    let status = match state.topology.identity.tokens.first() {
        Some(token) => format!("NORMAL,{token}"),
        None => "NORMAL".to_owned(),
    };
    let states = [
        ("STATUS", status.clone()),
        ("LOAD", format!("{load}.0")),
        ("SCHEMA", schema.version.to_string()),
        ("DC", address.data_center.clone()),
        ("RACK", address.rack.clone()),
        ("RELEASE_VERSION", RELEASE_VERSION.to_owned()),
        ("RPC_ADDRESS", address.native_address.to_string()),
        ("NET_VERSION", "12".to_owned()),
        ("HOST_ID", state.topology.identity.host_id.to_string()),
        ("RPC_READY", (*state.node.phase().borrow() == Phase::Serve).to_string()),
        ("NATIVE_ADDRESS_AND_PORT", native),
        ("STATUS_WITH_PORT", status),
        ("SSTABLE_VERSIONS", "big-nb".to_owned()),
        ("TOKENS", "<hidden>".to_owned()),
    ];
    let states =
        (1..).zip(states).map(|(version, (name, value))| api::EndpointState { name: name.to_owned(), version, value });
    let endpoint = api::Endpoint {
        address: address.listen_address.to_string(),
        port: address.listen_port,
        generation: state.node.started_secs,
        heartbeat: (state.env.monotonic() - state.node.started).as_secs(), // Cassandra's beats once a second.
        states: states.collect(),
    };
    Ok(Json(api::Gossip { endpoints: vec![endpoint] }))
}
