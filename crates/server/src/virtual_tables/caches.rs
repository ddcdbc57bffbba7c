//! `system_views.caches`. Cassandra always lists its key, row and counter caches; the node has none of them, so they have no
//! capacity. Rates are means since the start.

use std::rc::Rc;

use helenus_cluster::TableRows;
use helenus_cluster::virtual_tables::{RowValues, VirtualRead};

use crate::server_port::Stopping;
use crate::shard::ShardServer;

#[derive(Clone, Copy, Default)]
struct Usage {
    size_bytes: u64,
    hits: u64,
    misses: u64,
}

pub(super) async fn rows(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let by_shard = server.links.run_on_all(|server| async move { server.cluster.storage().stats() }).await?;
    let mut chunks = Usage::default();
    for stats in &by_shard {
        chunks.size_bytes += stats.chunk_cache_bytes;
        chunks.hits += stats.chunk_cache_hits;
        chunks.misses += stats.chunk_cache_misses;
    }
    let uptime_secs = (server.env.monotonic() - server.node.started).as_secs().max(1);
    let mut rows = TableRows::new(&read.table);
    rows.push(&row("chunks", server.node.config.memory.chunk_cache, chunks, uptime_secs));
    for absent in ["counters", "keys", "rows"] {
        rows.push(&row(absent, 0, Usage::default(), uptime_secs));
    }
    Ok(rows)
}

fn row(name: &str, capacity_bytes: u64, usage: Usage, uptime_secs: u64) -> RowValues {
    let requests = usage.hits + usage.misses;
    // NaN without requests, as Cassandra has it.
    let ratio = usage.hits as f64 / requests as f64;
    RowValues::new()
        .text("name", name)
        .bigint("capacity_bytes", signed(capacity_bytes))
        .int("entry_count", 0)
        .bigint("hit_count", signed(usage.hits))
        .double("hit_ratio", ratio)
        .bigint("recent_hit_rate_per_second", signed(usage.hits / uptime_secs))
        .bigint("recent_request_rate_per_second", signed(requests / uptime_secs))
        .bigint("request_count", signed(requests))
        .bigint("size_bytes", signed(usage.size_bytes))
}

/// CQL's integers are signed; what does not fit is the largest.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
