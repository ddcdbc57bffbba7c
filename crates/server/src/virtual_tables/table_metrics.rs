//! Tables of `system_views` with a row for each stored table: latencies, rows and tombstones a read, sizes. Latencies are in
//! milliseconds, rates are means since the start.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use helenus_cluster::virtual_tables::{RowValues, VirtualRead};
use helenus_cluster::{Coordinated, TableRows};
use helenus_data::TableId;
use helenus_schema::{SchemaSnapshot, Table};
use helenus_storage::{Histogram, TableStats};

use super::caches::signed;
use crate::server_port::Stopping;
use crate::shard::ShardServer;

const MEBIBYTE: u64 = 1 << 20;

/// One table's numbers of all shards.
struct Measured {
    table: Arc<Table>,
    stats: Vec<TableStats>,
}

impl Measured {
    fn merged(&self, histogram: fn(&TableStats) -> &Histogram) -> Histogram {
        merged(self.stats.iter().map(histogram))
    }

    fn row(&self) -> RowValues {
        row_of(&self.table)
    }
}

fn row_of(table: &Table) -> RowValues {
    RowValues::new().text("keyspace_name", &table.keyspace).text("table_name", &table.name)
}

fn merged<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Histogram {
    let mut all = Histogram::default();
    histograms.for_each(|histogram| all.merge(histogram));
    all
}

fn stored_tables(schema: &SchemaSnapshot) -> Vec<Arc<Table>> {
    let stored = schema.keyspaces().filter(|keyspace| !keyspace.is_virtual());
    stored.flat_map(|keyspace| keyspace.tables.values().cloned()).collect()
}

async fn measured(server: &ShardServer, schema: &SchemaSnapshot) -> Result<Vec<Measured>, Stopping> {
    let tables = stored_tables(schema);
    let ids: Arc<[TableId]> = tables.iter().map(|table| table.id).collect();
    let by_shard = server.links.run_on_all(move |server| {
        let ids = Arc::clone(&ids);
        async move { ids.iter().map(|id| server.cluster.storage().table_stats(*id)).collect::<Vec<_>>() }
    });
    let by_shard = by_shard.await?;
    let of = |at: usize| by_shard.iter().filter_map(|stats| stats.get(at).cloned()).collect();
    Ok(tables.into_iter().enumerate().map(|(at, table)| Measured { table, stats: of(at) }).collect())
}

async fn collect(
    server: Rc<ShardServer>,
    read: VirtualRead,
    row: impl Fn(&Measured) -> RowValues,
) -> Result<TableRows, Stopping> {
    let mut rows = TableRows::new(&read.table);
    measured(&server, &read.schema).await?.iter().for_each(|table| rows.push(&row(table)));
    Ok(rows)
}

fn latency(row: RowValues, micros: &Histogram, uptime_secs: f64) -> RowValues {
    let millis = |micros: u64| micros as f64 / 1_000.0;
    row.bigint("count", signed(micros.count()))
        .double("max_ms", millis(micros.max()))
        .double("p50th_ms", millis(micros.percentile(0.5)))
        .double("p99th_ms", millis(micros.percentile(0.99)))
        .double("per_second", micros.count() as f64 / uptime_secs)
}

fn uptime_secs(server: &ShardServer) -> f64 {
    (server.env.monotonic() - server.node.started).as_secs_f64().max(1.0)
}

pub(super) async fn local_reads(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let uptime = uptime_secs(&server);
    let row = move |table: &Measured| latency(table.row(), &table.merged(|stats| &stats.read_latency_micros), uptime);
    collect(server, read, row).await
}

pub(super) async fn local_scans(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let uptime = uptime_secs(&server);
    let row = move |table: &Measured| latency(table.row(), &table.merged(|stats| &stats.range_latency_micros), uptime);
    collect(server, read, row).await
}

pub(super) async fn local_writes(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let uptime = uptime_secs(&server);
    let row = move |table: &Measured| latency(table.row(), &table.merged(|stats| &stats.write_latency_micros), uptime);
    collect(server, read, row).await
}

pub(super) async fn coordinator_reads(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    coordinated(server, read, Coordinated::Read).await
}

pub(super) async fn coordinator_scans(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    coordinated(server, read, Coordinated::Scan).await
}

pub(super) async fn coordinator_writes(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    coordinated(server, read, Coordinated::Write).await
}

async fn coordinated(server: Rc<ShardServer>, read: VirtualRead, what: Coordinated) -> Result<TableRows, Stopping> {
    let uptime = uptime_secs(&server);
    let by_shard = server.links.run_on_all(move |server| async move { server.cluster.metrics.latency_micros(what) });
    let by_shard: Vec<BTreeMap<TableId, Histogram>> = by_shard.await?;
    let mut rows = TableRows::new(&read.table);
    for table in stored_tables(&read.schema) {
        let micros = merged(by_shard.iter().filter_map(|latencies| latencies.get(&table.id)));
        rows.push(&latency(row_of(&table), &micros, uptime));
    }
    Ok(rows)
}

fn counts(row: RowValues, seen: &Histogram) -> RowValues {
    row.bigint("count", signed(seen.count()))
        .double("max", seen.max() as f64)
        .double("p50th", seen.percentile(0.5) as f64)
        .double("p99th", seen.percentile(0.99) as f64)
}

pub(super) async fn rows_per_read(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    collect(server, read, |table| counts(table.row(), &table.merged(|stats| &stats.live_rows_per_read))).await
}

pub(super) async fn tombstones_per_read(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    collect(server, read, |table| counts(table.row(), &table.merged(|stats| &stats.tombstones_per_read))).await
}

/// Of all files of all tables.
pub(super) async fn live_bytes(server: &ShardServer, schema: &SchemaSnapshot) -> Result<u64, Stopping> {
    let tables = measured(server, schema).await?;
    Ok(tables.iter().flat_map(|table| &table.stats).map(|stats| stats.live_bytes).sum())
}

/// Begun mebibytes count as whole ones, as upstream.
fn mebibytes(row: RowValues, bytes: u64) -> RowValues {
    row.bigint("mebibytes", signed(bytes.div_ceil(MEBIBYTE)))
}

pub(super) async fn disk_usage(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let bytes = |table: &Measured| table.stats.iter().map(|stats| stats.live_bytes).sum();
    collect(server, read, |table| mebibytes(table.row(), bytes(table))).await
}

pub(super) async fn max_partition_size(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let bytes = |table: &Measured| table.stats.iter().map(|stats| stats.max_partition_bytes).max().unwrap_or(0);
    collect(server, read, |table| mebibytes(table.row(), bytes(table))).await
}
