//! The numbers that `tablestats -s` sorts by, largest first; equal ones by name.

use std::cmp::Ordering;

use crate::nodetool::api::Table;

/// Source: `nodetool help tablestats` of Cassandra 5.0.9; without those of storage-attached indexes.
pub const KEYS: [&str; 39] = [
    "average_live_cells_per_slice_last_five_minutes",
    "average_tombstones_per_slice_last_five_minutes",
    "bloom_filter_false_positives",
    "bloom_filter_false_ratio",
    "bloom_filter_off_heap_memory_used",
    "bloom_filter_space_used",
    "compacted_partition_maximum_bytes",
    "compacted_partition_mean_bytes",
    "compacted_partition_minimum_bytes",
    "compression_metadata_off_heap_memory_used",
    "full_name",
    "index_summary_off_heap_memory_used",
    "local_read_count",
    "local_read_latency_ms",
    "local_write_count",
    "local_write_latency_ms",
    "maximum_live_cells_per_slice_last_five_minutes",
    "maximum_tombstones_per_slice_last_five_minutes",
    "memtable_cell_count",
    "memtable_data_size",
    "memtable_off_heap_memory_used",
    "memtable_switch_count",
    "number_of_partitions_estimate",
    "off_heap_memory_used_total",
    "pending_flushes",
    "percent_repaired",
    "read_latency",
    "reads",
    "space_used_by_snapshots_total",
    "space_used_live",
    "space_used_total",
    "sstable_compression_ratio",
    "sstable_count",
    "table_name",
    "write_latency",
    "writes",
    "max_sstable_size",
    "local_read_write_ratio",
    "twcs_max_duration",
];

/// `key` is one of [`KEYS`].
pub fn compare(key: &str, left: &Table, right: &Table) -> Ordering {
    let by_name = || (&left.keyspace, &left.table).cmp(&(&right.keyspace, &right.table));
    match key {
        "full_name" => by_name().reverse(),
        "table_name" => right.table.cmp(&left.table).then_with(by_name),
        _ => number(key, right).total_cmp(&number(key, left)).then_with(by_name),
    }
}

/// The table's number under that name. All of them fit the 53 bits of a double; what is not a number counts as 0.
fn number(key: &str, table: &Table) -> f64 {
    let whole = |number: u64| number as f64;
    let value = match key {
        "average_live_cells_per_slice_last_five_minutes" => table.live_rows_mean(),
        "average_tombstones_per_slice_last_five_minutes" => table.tombstones_mean(),
        "bloom_filter_false_positives" => whole(table.bloom_filter_false_positives),
        "bloom_filter_false_ratio" => table.bloom_filter_false_ratio(),
        "bloom_filter_off_heap_memory_used" => whole(table.bloom_filter_off_heap_bytes),
        "bloom_filter_space_used" => whole(table.bloom_filter_bytes),
        "compacted_partition_maximum_bytes" => whole(table.partition_max_bytes),
        "compacted_partition_mean_bytes" => whole(table.partition_mean_bytes),
        "compacted_partition_minimum_bytes" => whole(table.partition_min_bytes),
        "compression_metadata_off_heap_memory_used" => whole(table.compression_metadata_bytes),
        "index_summary_off_heap_memory_used" => whole(table.index_summary_bytes),
        "local_read_count" | "reads" => whole(table.reads),
        "local_read_latency_ms" | "read_latency" => table.read_ms(),
        "local_write_count" | "writes" => whole(table.writes),
        "local_write_latency_ms" | "write_latency" => table.write_ms(),
        "local_read_write_ratio" => table.read_write_ratio(),
        "maximum_live_cells_per_slice_last_five_minutes" => table.live_rows_per_read.max,
        "maximum_tombstones_per_slice_last_five_minutes" => table.tombstones_per_read.max,
        "memtable_cell_count" => whole(table.memtable_cells),
        "memtable_data_size" => whole(table.memtable_bytes),
        "memtable_off_heap_memory_used" => whole(table.memtable_off_heap_bytes),
        "memtable_switch_count" => whole(table.memtable_flushes),
        "number_of_partitions_estimate" => whole(table.partitions_estimate),
        "off_heap_memory_used_total" => whole(table.off_heap_bytes()),
        "pending_flushes" => whole(table.pending_flushes),
        "percent_repaired" => table.percent_repaired(),
        "space_used_by_snapshots_total" => whole(table.snapshots_bytes),
        "space_used_live" => whole(table.live_bytes),
        "space_used_total" => whole(table.total_bytes),
        "sstable_compression_ratio" => table.ratio(),
        "sstable_count" => whole(table.sstables),
        "max_sstable_size" => whole(table.largest_sstable_bytes),
        "twcs_max_duration" => table.time_window.as_ref().map_or(0.0, |window| whole(window.duration_max_secs)),
        _ => 0.0,
    };
    if value.is_nan() { 0.0 } else { value }
}
