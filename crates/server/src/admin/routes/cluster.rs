//! The cluster: its keyspaces, its nodes, who owns how much.

use axum::Json;
use axum::extract::State;
use helenus_cluster::{PARTITIONER, RELEASE_VERSION};
use helenus_schema::{KeyspaceOrigin, SchemaSnapshot};

use super::Answer;
use crate::admin::Shared;
use crate::admin::api;
use crate::admin::gather::load_bytes;
use crate::admin::problem::{Parameters, Refusal};

const NOT_ALIKE: &str =
    "Non-system keyspaces don't have the same replication settings, effective ownership information is meaningless";

const LOCAL: &str = "Ownership values for keyspaces with LocalStrategy are meaningless";

#[utoipa::path(get, path = "/api/v1/cluster", responses((status = 200, body = api::Cluster)))]
pub(in crate::admin) async fn cluster(State(state): State<Shared>) -> Answer<api::Cluster> {
    let schema = state.schema().await?;
    let keyspaces = schema.keyspaces().map(|keyspace| api::Keyspace {
        name: keyspace.name.to_string(),
        replication: keyspace.params.replication.clone(),
        durable_writes: keyspace.params.durable_writes,
        is_virtual: keyspace.is_virtual(),
    });
    let version = api::SchemaVersion {
        version: schema.version.to_string(),
        endpoints: vec![state.topology.address.listen_address.to_string()],
    };
    let snitch = state.node.config.values.text("endpoint_snitch").unwrap_or("SimpleSnitch");
    Ok(Json(api::Cluster {
        name: state.topology.identity.cluster_name.clone(),
        snitch: format!("org.apache.cassandra.locator.{snitch}"),
        dynamic_snitch: false,
        partitioner: PARTITIONER.to_owned(),
        schema_versions: vec![version],
        keyspaces: keyspaces.collect(),
    }))
}

#[utoipa::path(get, path = "/api/v1/ring", params(api::RingQuery), responses((status = 200, body = api::Ring)))]
pub(in crate::admin) async fn ring(
    State(state): State<Shared>,
    Parameters(query): Parameters<api::RingQuery>,
) -> Answer<api::Ring> {
    let schema = state.schema().await?;
    let note = match &query.keyspace {
        Some(name) if schema.keyspace(name).is_none() => return Err(Refusal::UnknownKeyspace(name.clone())),
        Some(name) => is_local(&schema, name).then(|| LOCAL.to_owned()),
        None => (!are_replicated_alike(&schema)).then(|| NOT_ALIKE.to_owned()),
    };
    let address = &state.topology.address;
    let node = api::RingNode {
        host_id: state.topology.identity.host_id.to_string(),
        address: address.listen_address.to_string(),
        port: address.listen_port,
        data_center: address.data_center.clone(),
        rack: address.rack.clone(),
        status: "up".to_owned(),
        state: "normal".to_owned(),
        release_version: RELEASE_VERSION.to_owned(),
        load_bytes: Some(load_bytes(&state.all_table_stats().await?)),
        owns: 1.0, // The one node has everything, once: it cannot be its own second replica.
        tokens: state.topology.identity.tokens.iter().map(ToString::to_string).collect(),
    };
    let ownership = if note.is_some() { "raw" } else { "effective" };
    Ok(Json(api::Ring { nodes: vec![node], ownership: ownership.to_owned(), note }))
}

fn is_local(schema: &SchemaSnapshot, keyspace: &str) -> bool {
    let class = schema.keyspace(keyspace).and_then(|keyspace| keyspace.params.replication.get("class"));
    class.is_some_and(|class| class.ends_with("LocalStrategy"))
}

fn are_replicated_alike(schema: &SchemaSnapshot) -> bool {
    let mut user = schema.keyspaces().filter(|keyspace| keyspace.origin == KeyspaceOrigin::User);
    match user.next() {
        None => true,
        Some(first) => user.all(|keyspace| keyspace.params.replication == first.params.replication),
    }
}
