//! `system_views.thread_pools`: what runs and waits, under the names of Cassandra's pools. See `work`.

use std::rc::Rc;

use helenus_cluster::TableRows;
use helenus_cluster::virtual_tables::{RowValues, VirtualRead};

use super::caches::signed;
use crate::server_port::Stopping;
use crate::shard::ShardServer;
use crate::work::{ShardView, pools};

pub(super) async fn rows(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let views = server.links.run_on_all(|server| async move { ShardView::of(&server) }).await?;
    let snapshots = server.links.run_on_all(|server| async move { server.metrics.snapshot() }).await?;
    // Each shard runs one task at a time; a pool of its own it has for nothing.
    let limit = i32::try_from(server.shard_count).unwrap_or(i32::MAX);
    let int = |number: u64| i32::try_from(number).unwrap_or(i32::MAX);
    let mut rows = TableRows::new(&read.table);
    for pool in pools(&views, &snapshots) {
        rows.push(
            &RowValues::new()
                .text("name", pool.name)
                .int("active_tasks", int(pool.active))
                .int("active_tasks_limit", limit)
                .bigint("blocked_tasks", 0)
                .bigint("blocked_tasks_all_time", signed(pool.blocked_all_time))
                .bigint("completed_tasks", signed(pool.completed))
                .int("pending_tasks", int(pool.pending)),
        );
    }
    Ok(rows)
}
