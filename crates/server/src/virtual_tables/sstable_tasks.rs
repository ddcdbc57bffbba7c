//! `system_views.sstable_tasks`: compactions that run.

use std::rc::Rc;

use helenus_cluster::TableRows;
use helenus_cluster::virtual_tables::{RowValues, VirtualRead};
use helenus_storage::CompactionKind;

use super::caches::signed;
use crate::server_port::Stopping;
use crate::shard::ShardServer;

pub(super) async fn rows(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let by_shard = server.links.run_on_all(|server| async move { server.cluster.storage().compactions() }).await?;
    let directory = server.node.config.directories.data.display().to_string();
    let mut rows = TableRows::new(&read.table);
    for task in by_shard.into_iter().flatten() {
        let ratio = if task.total_bytes == 0 { 1.0 } else { task.completed_bytes as f64 / task.total_bytes as f64 };
        rows.push(
            &RowValues::new()
                .text("keyspace_name", &task.keyspace)
                .text("table_name", &task.table)
                .uuid("task_id", task.id)
                .double("completion_ratio", ratio)
                .text("kind", kind(task.kind))
                .bigint("progress", signed(task.completed_bytes))
                .int("sstables", i32::try_from(task.sstables).unwrap_or(i32::MAX))
                .text("target_directory", &directory)
                .bigint("total", signed(task.total_bytes))
                .text("unit", "bytes"),
        );
    }
    Ok(rows)
}

/// Cassandra's `OperationType`, in lower case.
fn kind(kind: CompactionKind) -> &'static str {
    match kind {
        CompactionKind::Strategy => "compaction",
        CompactionKind::Major => "major compaction",
        CompactionKind::Tombstones => "tombstone compaction",
        CompactionKind::Reshard => "reshard",
    }
}
