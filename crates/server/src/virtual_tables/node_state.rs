//! Tables of `system_views` about the node as a whole: its gossip, its prepared statements, its snapshots.

use std::rc::Rc;

use helenus_cluster::virtual_tables::{RowValues, VirtualRead};
use helenus_cluster::{ClusterError, RELEASE_VERSION, TableRows};
use helenus_storage::list_snapshots;
use helenus_types::CqlType;

use super::Failure;
use super::caches::signed;
use super::table_metrics::live_bytes;
use crate::node::Phase;
use crate::server_port::Stopping;
use crate::shard::ShardServer;

/// What the node would tell others. Nobody counts versions of it: those columns are null.
pub(super) async fn gossip_info(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let load = live_bytes(&server, &read.schema).await?;
    let (topology, address) = (&read.topology, &read.topology.address);
    let status = topology.identity.tokens.first().map_or("NORMAL".to_owned(), |token| format!("NORMAL,{token}"));
    let heartbeat = (server.env.monotonic() - server.node.started).as_secs(); // Cassandra's beats once a second.
    let mut rows = TableRows::new(&read.table);
    rows.push(
        &RowValues::new()
            .inet("address", address.listen_address)
            .int("port", i32::from(address.listen_port))
            .text("dc", &address.data_center)
            .int("generation", topology.gossip_generation)
            .int("heartbeat", i32::try_from(heartbeat).unwrap_or(i32::MAX))
            .text("host_id", &topology.identity.host_id.to_string())
            .text("hostname", &address.listen_address.to_string())
            .text("load", &format!("{load}.0"))
            .text("native_address_and_port", &format!("{}:{}", address.native_address, address.native_port))
            .text("net_version", "12")
            .text("rack", &address.rack)
            .text("release_version", RELEASE_VERSION)
            .text("rpc_address", &address.native_address.to_string())
            .text("rpc_ready", if *server.node.phase().borrow() == Phase::Serve { "true" } else { "false" })
            .text("schema", &read.schema.version.to_string())
            .text("sstable_versions", "big-nb")
            .text("status", &status)
            .text("status_with_port", &status),
    );
    Ok(rows)
}

pub(super) async fn cql_metrics(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let snapshots = server.links.run_on_all(|server| async move { server.metrics.snapshot() }).await?;
    let prepared: u64 = snapshots.iter().map(|snapshot| snapshot.prepared).sum();
    let regular: u64 = snapshots.iter().map(|snapshot| snapshot.unprepared).sum();
    let all = prepared + regular;
    let registry = server.processor.registry();
    let ratio = if all == 0 { 0.0 } else { prepared as f64 / all as f64 };
    let metrics = [
        ("prepared_statements_count", registry.len() as f64),
        ("prepared_statements_evicted", registry.evicted() as f64),
        ("prepared_statements_executed", prepared as f64),
        ("prepared_statements_ratio", ratio),
        ("regular_statements_executed", regular as f64),
    ];
    let mut rows = TableRows::new(&read.table);
    for (name, value) in metrics {
        rows.push(&RowValues::new().text("name", name).double("value", value));
    }
    Ok(rows)
}

pub(super) async fn snapshots(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Failure> {
    let directories = [server.node.config.directories.data.clone()];
    let found = list_snapshots(&server.env, &directories).await.map_err(ClusterError::from)?;
    let mut rows = TableRows::new(&read.table);
    for snapshot in found {
        let mut row = RowValues::new()
            .text("name", &snapshot.tag)
            .text("keyspace_name", &snapshot.keyspace)
            .text("table_name", &snapshot.table)
            .boolean("ephemeral", false)
            .bigint("size_on_disk", signed(snapshot.bytes))
            .bigint("true_size", signed(snapshot.true_bytes));
        for (column, instant) in [("created_at", &snapshot.created_at), ("expires_at", &snapshot.expires_at)] {
            if let Some(bytes) = instant.as_deref().and_then(|text| CqlType::Timestamp.parse_string(text).ok()) {
                row = row.raw(column, bytes);
            }
        }
        rows.push(&row);
    }
    Ok(rows)
}
