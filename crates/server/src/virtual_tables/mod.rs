//! Virtual tables of `system_views`, and those tables of `system` that tell of this node's data: what this node is doing
//! right now, as Cassandra 5.0.9 shows it, column for column.
//!
//! The contents are gathered from all shards whenever somebody reads; `in_memory` of `data` then evaluates the query.

mod caches;
mod clients;
mod estimates;
mod settings;
mod sstable_tasks;
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
    register_one(server, "system_views", "caches", caches::rows);
    register_one(server, "system_views", "clients", clients::rows);
    register_one(server, "system_views", "settings", settings::rows);
    register_one(server, "system_views", "sstable_tasks", sstable_tasks::rows);
    register_one(server, "system_views", "thread_pools", thread_pools::rows);
}

fn register_one<P, F>(server: &Rc<ShardServer>, keyspace: &'static str, table: &'static str, provider: P)
where
    P: Fn(Rc<ShardServer>, VirtualRead) -> F + Copy + 'static,
    F: Future<Output = Result<TableRows, Stopping>> + 'static,
{
    // The cluster holds the provider and the server the cluster: a strong reference back would keep both for ever.
    let weak: Weak<ShardServer> = Rc::downgrade(server);
    let provide = move |read: VirtualRead| -> LocalBoxFuture<Result<TableRows, ClusterError>> {
        let server = weak.upgrade();
        Box::pin(async move {
            let server = server.ok_or(ClusterError::ShardGone { shard: 0 })?;
            let shard = server.shard;
            provider(server, read).await.map_err(|Stopping| ClusterError::ShardGone { shard })
        })
    };
    server.cluster.virtual_tables().register(keyspace, table, Rc::new(provide));
}
