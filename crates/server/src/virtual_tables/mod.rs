//! Virtual tables of `system_views`, and those tables of `system` that tell of this node's data: what this node is doing
//! right now, as Cassandra 5.0.9 shows it, column for column.
//!
//! The contents are gathered from all shards whenever somebody reads; `in_memory` of `data` then evaluates the query.

mod caches;
mod clients;
mod estimates;
mod node_state;
mod roles;
mod settings;
mod sstable_tasks;
mod table_metrics;
mod thread_pools;

use std::future::Future;
use std::rc::{Rc, Weak};

use helenus_cluster::virtual_tables::VirtualRead;
use helenus_cluster::{ClusterError, TableRows};
use helenus_env::LocalBoxFuture;

use crate::server_port::Stopping;
use crate::shard::ShardServer;

/// Gives the tables their contents, on one shard.
pub(crate) fn register(server: &Rc<ShardServer>) {
    register_one(server, "system", "size_estimates", estimates::size_estimates);
    register_one(server, "system", "table_estimates", estimates::table_estimates);
    register_one(server, "system_auth", "roles", roles::rows);
    register_one(server, "system_views", "caches", caches::rows);
    register_one(server, "system_views", "clients", clients::rows);
    register_one(server, "system_views", "settings", settings::rows);
    register_one(server, "system_views", "sstable_tasks", sstable_tasks::rows);
    register_one(server, "system_views", "thread_pools", thread_pools::rows);
    register_one(server, "system_views", "coordinator_read_latency", table_metrics::coordinator_reads);
    register_one(server, "system_views", "coordinator_scan_latency", table_metrics::coordinator_scans);
    register_one(server, "system_views", "coordinator_write_latency", table_metrics::coordinator_writes);
    register_one(server, "system_views", "local_read_latency", table_metrics::local_reads);
    register_one(server, "system_views", "local_scan_latency", table_metrics::local_scans);
    register_one(server, "system_views", "local_write_latency", table_metrics::local_writes);
    register_one(server, "system_views", "rows_per_read", table_metrics::rows_per_read);
    register_one(server, "system_views", "tombstones_per_read", table_metrics::tombstones_per_read);
    register_one(server, "system_views", "disk_usage", table_metrics::disk_usage);
    register_one(server, "system_views", "max_partition_size", table_metrics::max_partition_size);
    register_one(server, "system_views", "cql_metrics", node_state::cql_metrics);
    register_one(server, "system_views", "gossip_info", node_state::gossip_info);
    register_one(server, "system_views", "snapshots", node_state::snapshots);
    for table in NOTHING_TO_SHOW {
        register_one(server, "system_views", table, nothing);
    }
}

/// Tables about what the node does not have or does not measure: other nodes, permissions, indexes, filters by address, a
/// JVM; running queries, partitions a batch, the sizes of single files. They are there and empty.
const NOTHING_TO_SHOW: [&str; 25] = [
    "batch_metrics",
    "cidr_filtering_metrics_counts",
    "cidr_filtering_metrics_latencies",
    "credentials_cache_keys",
    "internode_inbound",
    "internode_outbound",
    "jmx_permissions_cache_keys",
    "max_sstable_duration",
    "max_sstable_size",
    "network_permissions_cache_keys",
    "pending_hints",
    "permissions_cache_keys",
    "queries",
    "repair_jobs",
    "repair_participates",
    "repair_sessions",
    "repair_validations",
    "repairs",
    "roles_cache_keys",
    "sai_column_indexes",
    "sai_sstable_index_segments",
    "sai_sstable_indexes",
    "streaming",
    "system_logs",
    "system_properties",
];

fn nothing(_: Rc<ShardServer>, read: VirtualRead) -> impl Future<Output = Result<TableRows, Stopping>> {
    std::future::ready(Ok(TableRows::new(&read.table)))
}

/// Why a table has no contents now.
enum Failure {
    Stopping,
    Cluster(ClusterError),
}

impl From<Stopping> for Failure {
    fn from(Stopping: Stopping) -> Self {
        Self::Stopping
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}

fn register_one<P, F, E>(server: &Rc<ShardServer>, keyspace: &'static str, table: &'static str, provider: P)
where
    P: Fn(Rc<ShardServer>, VirtualRead) -> F + Copy + 'static,
    F: Future<Output = Result<TableRows, E>> + 'static,
    E: Into<Failure>,
{
    // The cluster holds the provider and the server the cluster: a strong reference back would keep both for ever.
    let weak: Weak<ShardServer> = Rc::downgrade(server);
    let provide = move |read: VirtualRead| -> LocalBoxFuture<Result<TableRows, ClusterError>> {
        let server = weak.upgrade();
        Box::pin(async move {
            let server = server.ok_or(ClusterError::ShardGone { shard: 0 })?;
            let shard = server.shard;
            provider(server, read).await.map_err(|error| match error.into() {
                Failure::Stopping => ClusterError::ShardGone { shard },
                Failure::Cluster(error) => error,
            })
        })
    };
    server.cluster.virtual_tables().register(keyspace, table, Rc::new(provide));
}
