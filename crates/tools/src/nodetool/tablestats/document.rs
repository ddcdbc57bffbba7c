//! `tablestats -F json|yaml`: Cassandra's names, and its habit of giving sizes and latencies as text.

use serde_json::{Map, Value, json};

use super::{Keyspace, Report};
use crate::nodetool::api::Table;
use crate::nodetool::java_text::fixed;

pub fn document(report: &Report<'_>) -> Value {
    let mut document = Map::new();
    match &report.order {
        Some(order) => {
            for table in report.ordered(order) {
                document.insert(format!("{}.{}", table.keyspace, table.table), table_document(report, table));
            }
        }
        None => {
            for keyspace in &report.keyspaces {
                document.insert(keyspace.name.to_owned(), keyspace_document(report, keyspace));
            }
        }
    }
    document.insert("total_number_of_tables".to_owned(), json!(report.table_count()));
    Value::Object(document)
}

/// JSON has no NaN: it becomes text, as in Cassandra's answers.
fn number(value: f64) -> Value {
    if value.is_nan() { json!("NaN") } else { json!(value) }
}

fn keyspace_document(report: &Report<'_>, keyspace: &Keyspace<'_>) -> Value {
    let tables = keyspace.selected.iter().map(|table| (table.table.clone(), table_document(report, table)));
    json!({
        "read_count": keyspace.sum(|table| table.reads),
        "read_latency": number(keyspace.read_ms()),
        "read_latency_ms": number(keyspace.read_ms()),
        "write_count": keyspace.sum(|table| table.writes),
        "write_latency_ms": number(keyspace.write_ms()),
        "pending_flushes": keyspace.sum(|table| table.pending_flushes),
        "tables": tables.collect::<Map<_, _>>(),
    })
}

fn table_document(report: &Report<'_>, table: &Table) -> Value {
    let (level_files, level_bytes) = table.level_texts().unwrap_or_default();
    let members = [
        ("sstable_count", json!(table.sstables)),
        ("old_sstable_count", json!(table.old_sstables)),
        ("max_sstable_size", json!(table.largest_sstable_bytes)),
        ("twcs", json!(table.time_window_text())),
        ("sstables_in_each_level", json!(level_files)),
        ("sstable_bytes_in_each_level", json!(level_bytes)),
        ("space_used_live", json!(report.size(table.live_bytes))),
        ("space_used_total", json!(report.size(table.total_bytes))),
        ("space_used_by_snapshots_total", json!(report.size(table.snapshots_bytes))),
        ("off_heap_memory_used_total", json!(report.size(table.off_heap_bytes()))),
        ("sstable_compression_ratio", number(table.ratio())),
        ("number_of_partitions_estimate", json!(table.partitions_estimate)),
        ("memtable_cell_count", json!(table.memtable_cells)),
        ("memtable_data_size", json!(report.size(table.memtable_bytes))),
        ("memtable_off_heap_memory_used", json!(report.size(table.memtable_off_heap_bytes))),
        ("memtable_switch_count", json!(table.memtable_flushes)),
        ("speculative_retries", json!(table.speculative_retries)),
        ("local_read_count", json!(table.reads)),
        ("local_read_latency_ms", json!(fixed(table.read_ms(), 3))),
        ("local_write_count", json!(table.writes)),
        ("local_write_latency_ms", json!(fixed(table.write_ms(), 3))),
        ("local_read_write_ratio", json!(fixed(table.read_write_ratio(), 5))),
        ("pending_flushes", json!(table.pending_flushes)),
        ("percent_repaired", number(table.percent_repaired())),
        ("bytes_repaired", json!(table.repaired_bytes)),
        ("bytes_unrepaired", json!(table.unrepaired_bytes)),
        ("bytes_pending_repair", json!(table.pending_repair_bytes)),
        ("bloom_filter_false_positives", json!(table.bloom_filter_false_positives)),
        ("bloom_filter_false_ratio", json!(fixed(table.bloom_filter_false_ratio(), 5))),
        ("bloom_filter_space_used", json!(report.size(table.bloom_filter_bytes))),
        ("bloom_filter_off_heap_memory_used", json!(report.size(table.bloom_filter_off_heap_bytes))),
        ("index_summary_off_heap_memory_used", json!(report.size(table.index_summary_bytes))),
        ("compression_metadata_off_heap_memory_used", json!(report.size(table.compression_metadata_bytes))),
        ("compacted_partition_minimum_bytes", json!(table.partition_min_bytes)),
        ("compacted_partition_maximum_bytes", json!(table.partition_max_bytes)),
        ("compacted_partition_mean_bytes", json!(table.partition_mean_bytes)),
        ("average_live_cells_per_slice_last_five_minutes", number(table.live_rows_mean())),
        ("maximum_live_cells_per_slice_last_five_minutes", json!(table.live_rows_per_read.max as u64)),
        ("average_tombstones_per_slice_last_five_minutes", number(table.tombstones_mean())),
        ("maximum_tombstones_per_slice_last_five_minutes", json!(table.tombstones_per_read.max as u64)),
        ("droppable_tombstone_ratio", json!(fixed(table.droppable_tombstone_ratio, 5))),
    ];
    let mut document: Map<String, Value> = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    if report.location_check {
        document.insert("sstables_in_correct_location".to_owned(), json!(table.misplaced_sstables == 0));
    }
    Value::Object(document)
}
