//! Tables: statistics, histograms, flush and major compaction.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use helenus_data::TableId;
use helenus_schema::{SchemaSnapshot, Table};
use helenus_storage::{EstimatedHistogram, FlushReason, Histogram, LevelStats, TableStats, list_snapshots};

use super::{Answer, nothing};
use crate::admin::api::{self, Nothing, TableSelection};
use crate::admin::gather::{distribution, estimated_distribution, merged, merged_estimates};
use crate::admin::problem::{Body, Parameters, Refusal};
use crate::admin::{AdminState, Shared};
use crate::metrics::StatementKind;
use crate::shard::{ShardServer, chain};

/// Tables with files, by name.
#[utoipa::path(get, path = "/api/v1/tables", params(api::TablesQuery), responses((status = 200, body = api::Tables)))]
pub(in crate::admin) async fn tables(
    State(state): State<Shared>,
    Parameters(query): Parameters<api::TablesQuery>,
) -> Answer<api::Tables> {
    let schema = state.schema().await?;
    let stored = AdminState::stored_tables(&schema);
    let table_count = stored.len();
    let wanted: Vec<Arc<Table>> = match (&query.keyspace, &query.table) {
        (None, None) => stored,
        (None, Some(_)) => return Err(Refusal::InvalidRequest("table: needs keyspace".to_owned())),
        (Some(keyspace), None) => of_keyspace(&schema, keyspace)?,
        (Some(keyspace), Some(table)) => vec![find(&schema, keyspace, table)?],
    };
    let ids: Vec<TableId> = wanted.iter().map(|table| table.id).collect();
    let stats = state.table_stats(&ids).await?;
    let snapshots = snapshot_bytes(&state).await?;
    let shown = wanted.iter().zip(&stats).map(|(table, stats)| {
        let in_snapshots = snapshots.get(&table.id).copied().unwrap_or(0);
        api::Table { snapshots_bytes: in_snapshots, ..shown(table, stats) }
    });
    Ok(Json(api::Tables { table_count, tables: shown.collect() }))
}

fn of_keyspace(schema: &SchemaSnapshot, keyspace: &str) -> Result<Vec<Arc<Table>>, Refusal> {
    if schema.keyspace(keyspace).is_none_or(|known| known.is_virtual()) {
        return Err(Refusal::UnknownKeyspace(keyspace.to_owned()));
    }
    let stored = AdminState::stored_tables(schema);
    Ok(stored.into_iter().filter(|table| &*table.keyspace == keyspace).collect())
}

fn find(schema: &SchemaSnapshot, keyspace: &str, table: &str) -> Result<Arc<Table>, Refusal> {
    let mut tables = of_keyspace(schema, keyspace)?.into_iter();
    tables
        .find(|known| &*known.name == table)
        .ok_or_else(|| Refusal::UnknownTable { keyspace: keyspace.to_owned(), table: table.to_owned() })
}

/// What only snapshots hold, by table.
async fn snapshot_bytes(state: &AdminState) -> Result<BTreeMap<TableId, u64>, Refusal> {
    let directories = vec![state.node.config.directories.data.clone()];
    let found = state.links.run(0, |server: Rc<ShardServer>| async move {
        list_snapshots(&server.env, &directories).await.map_err(|error| chain(&error))
    });
    let mut bytes = BTreeMap::new();
    for info in found.await?.map_err(Refusal::Failed)? {
        *bytes.entry(info.table_id).or_default() += info.true_sstable_bytes;
    }
    Ok(bytes)
}

fn compaction_class(table: &Table) -> &str {
    let class = table.params.compaction.get("class").map_or("", String::as_str);
    class.rsplit('.').next().unwrap_or(class)
}

fn is_leveled(table: &Table) -> bool {
    compaction_class(table) == "LeveledCompactionStrategy"
}

/// How many files a level should have at most. Source: Cassandra 5.0, `tools.nodetool.stats.TableStatsHolder`.
const LEVEL_0_SSTABLES_MAX: u64 = 4;
const LEVEL_FANOUT_DEFAULT: u64 = 10;
const LEVELS: u32 = 9;

fn levels(table: &Table, stats: &[TableStats]) -> Vec<api::Level> {
    let fanout = table.params.compaction.get("fanout_size").and_then(|text| text.parse::<u64>().ok());
    let fanout = fanout.unwrap_or(LEVEL_FANOUT_DEFAULT);
    let of_level = |level: u32| {
        let of_shards = stats.iter().filter_map(|stats| stats.levels.get(level as usize));
        let (sstables, bytes) = of_shards
            .fold((0, 0), |(sstables, bytes), LevelStats { sstables: more, bytes: larger }| {
                (sstables + more, bytes + larger)
            });
        let sstables_max = if level == 0 { LEVEL_0_SSTABLES_MAX } else { fanout.saturating_pow(level) };
        api::Level { sstables, sstables_max, bytes }
    };
    (0..LEVELS).map(of_level).collect()
}

/// Sums over shards; means by their observations, maxima by the largest.
fn shown(table: &Table, stats: &[TableStats]) -> api::Table {
    let sum = |field: fn(&TableStats) -> u64| stats.iter().map(field).sum::<u64>();
    let of = |field: fn(&TableStats) -> &Histogram| merged(stats.iter().map(field));
    let (live, uncompressed) = (sum(|s| s.live_bytes), sum(|s| s.uncompressed_bytes));
    let partitions = sum(|s| s.partitions_estimate);
    let partition_bytes = merged_estimates(stats, |s| s.partition_bytes.as_ref());
    let (compressible, compressed) = (sum(|s| s.compressible_bytes), sum(|s| s.compressed_bytes));
    let cells: f64 = stats.iter().map(|s| s.estimated_cells).sum();
    let droppable: f64 = stats.iter().map(|s| s.droppable_tombstones).sum();
    let reads = merged([&of(|s| &s.read_latency_micros), &of(|s| &s.range_latency_micros)].into_iter());
    let writes = of(|s| &s.write_latency_micros);
    api::Table {
        keyspace: table.keyspace.to_string(),
        table: table.name.to_string(),
        id: table.id.0.to_string(),
        sstables: sum(|s| s.sstables),
        live_bytes: live,
        total_bytes: live,
        uncompressed_bytes: uncompressed,
        compression_ratio: (0 < compressible).then(|| compressed as f64 / compressible as f64),
        largest_sstable_bytes: stats.iter().map(|s| s.largest_sstable_bytes).max().unwrap_or(0),
        levels: is_leveled(table).then(|| levels(table, stats)),
        memtable_cells: sum(|s| s.memtable_operations),
        index_summary_bytes: sum(|s| s.index_summary_bytes),
        compression_metadata_bytes: sum(|s| s.chunk_metadata_bytes),
        partitions_estimate: partitions,
        memtable_bytes: sum(|s| s.memtable_bytes),
        memtable_flushes: sum(|s| s.flushes),
        pending_flushes: sum(|s| s.sealed_memtables),
        pending_compactions: sum(|s| s.pending_compactions),
        reads: sum(|s| s.reads),
        writes: sum(|s| s.writes),
        read_micros_total: reads.sum(),
        write_micros_total: writes.sum(),
        read_latency_micros: distribution(&reads),
        write_latency_micros: distribution(&writes),
        unrepaired_bytes: uncompressed,
        bloom_filter_false_positives: sum(|s| s.bloom_filter_false_positives),
        bloom_filter_true_positives: sum(|s| s.bloom_filter_true_positives),
        bloom_filter_negatives: sum(|s| s.bloom_filter_negatives),
        bloom_filter_bytes: sum(|s| s.bloom_filter_bytes),
        bloom_filter_off_heap_bytes: sum(|s| s.bloom_filter_bytes),
        partition_min_bytes: partition_bytes.as_ref().map_or(0, EstimatedHistogram::min),
        partition_max_bytes: partition_bytes.as_ref().map_or(0, EstimatedHistogram::max),
        partition_mean_bytes: partition_bytes.as_ref().map_or(0, |bytes| bytes.mean().ceil() as u64),
        live_rows_per_read: distribution(&of(|s| &s.live_rows_per_read)),
        tombstones_per_read: distribution(&of(|s| &s.tombstones_per_read)),
        sstables_per_read: distribution(&of(|s| &s.sstables_per_read)),
        tombstone_warnings: sum(|s| s.tombstone_warnings),
        tombstone_failures: sum(|s| s.tombstone_failures),
        droppable_tombstone_ratio: if cells <= 0.0 { 0.0 } else { droppable / cells },
        compactions: sum(|s| s.compactions),
        compacted_bytes: sum(|s| s.compacted_bytes),
        flushed_bytes: sum(|s| s.flushed_bytes),
        truncated_at_micros: stats.iter().filter_map(|s| s.last_truncated_micros).max(),
        ..api::Table::default()
    }
}

#[utoipa::path(
    get,
    path = "/api/v1/tables/{keyspace}/{table}/histograms",
    params(("keyspace" = String, Path), ("table" = String, Path)),
    responses((status = 200, body = api::TableHistograms))
)]
pub(in crate::admin) async fn table_histograms(
    State(state): State<Shared>,
    Path((keyspace, table)): Path<(String, String)>,
) -> Answer<api::TableHistograms> {
    let found = find(&*state.schema().await?, &keyspace, &table)?;
    let stats = state.table_stats(&[found.id]).await?.pop().unwrap_or_default();
    let of = |field: fn(&TableStats) -> &Histogram| distribution(&merged(stats.iter().map(field)));
    let of_files = |field: fn(&TableStats) -> Option<&EstimatedHistogram>| {
        merged_estimates(&stats, field).as_ref().map(estimated_distribution)
    };
    Ok(Json(api::TableHistograms {
        keyspace,
        table,
        sstables_per_read: of(|s| &s.sstables_per_read),
        read_latency_micros: of(|s| &s.read_latency_micros),
        write_latency_micros: of(|s| &s.write_latency_micros),
        partition_bytes: of_files(|s| s.partition_bytes.as_ref()),
        cells_per_partition: of_files(|s| s.partition_cells.as_ref()),
    }))
}

/// Latencies as this node's clients see them. Ranges and conditional requests are not told apart yet.
#[utoipa::path(get, path = "/api/v1/histograms", responses((status = 200, body = api::Histograms)))]
pub(in crate::admin) async fn histograms(State(state): State<Shared>) -> Answer<api::Histograms> {
    let by_shard = state.links.run_on_all(|server| async move { server.metrics.snapshot() }).await?;
    let of = |kinds: &[StatementKind]| {
        let all = by_shard.iter().flat_map(|snapshot| &snapshot.latencies);
        let wanted = all.filter(|((kind, _), _)| kinds.contains(kind)).map(|(_, histogram)| histogram);
        distribution(&merged(wanted))
    };
    Ok(Json(api::Histograms {
        read_micros: of(&[StatementKind::Read]),
        range_micros: of(&[]),
        write_micros: of(&[StatementKind::Write, StatementKind::Batch]),
        cas_read_micros: of(&[]),
        cas_write_micros: of(&[]),
        view_write_micros: of(&[]),
    }))
}

fn selected(schema: &SchemaSnapshot, wanted: &TableSelection) -> Result<Vec<TableId>, Refusal> {
    let tables = match (&wanted.keyspace, wanted.tables.as_slice()) {
        (None, []) => AdminState::stored_tables(schema),
        (None, _) => return Err(Refusal::InvalidRequest("tables: need keyspace".to_owned())),
        (Some(keyspace), []) => of_keyspace(schema, keyspace)?,
        (Some(keyspace), names) => names.iter().map(|name| find(schema, keyspace, name)).collect::<Result<_, _>>()?,
    };
    Ok(tables.iter().map(|table| table.id).collect())
}

/// Writes memtables to SSTables; returns once they are durable.
#[utoipa::path(post, path = "/api/v1/flush", request_body = TableSelection, responses((status = 200, body = Nothing)))]
pub(in crate::admin) async fn flush(
    State(state): State<Shared>,
    Body(wanted): Body<TableSelection>,
) -> Answer<Nothing> {
    let ids: Arc<[TableId]> = selected(&*state.schema().await?, &wanted)?.into();
    if state.node.is_flushed() {
        return Err(Refusal::Failed("MemtablePostFlush has shut down".to_owned())); // As Cassandra says it after a drain.
    }
    let flushed = state.links.run_on_all(move |server: Rc<ShardServer>| {
        let ids = Arc::clone(&ids);
        async move {
            let storage = server.cluster.storage();
            storage.flush(Some(&ids), FlushReason::UserForced).await.map_err(|error| chain(&error))
        }
    });
    flushed.await?.into_iter().collect::<Result<Vec<()>, _>>().map_err(Refusal::Failed)?;
    Ok(nothing())
}

/// Compacts everything of each table into one file per shard; returns once that is done.
#[utoipa::path(post, path = "/api/v1/compact", request_body = TableSelection, responses((status = 200, body = Nothing)))]
pub(in crate::admin) async fn compact(
    State(state): State<Shared>,
    Body(wanted): Body<TableSelection>,
) -> Answer<Nothing> {
    let ids: Arc<[TableId]> = selected(&*state.schema().await?, &wanted)?.into();
    let tables = ids.len();
    let compacted = state.links.run_on_all(move |server: Rc<ShardServer>| {
        let ids = Arc::clone(&ids);
        async move {
            let storage = server.cluster.storage();
            for table in ids.iter() {
                storage.compact(*table).await.map_err(|error| chain(&error))?;
            }
            Ok(())
        }
    });
    tracing::info!(tables, split_output = wanted.split_output, "a major compaction was asked for");
    compacted.await?.into_iter().collect::<Result<Vec<()>, String>>().map_err(Refusal::Failed)?;
    Ok(nothing())
}
