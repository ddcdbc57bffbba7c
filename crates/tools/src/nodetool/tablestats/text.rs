//! `tablestats` as text.

use std::fmt::Write;

use super::Report;
use crate::nodetool::api::Table;
use crate::nodetool::java_text::{double, fixed, memory_size};

const RULE: &str = "----------------\n";

pub fn text(report: &Report<'_>) -> String {
    let mut text = format!("Total number of tables: {}", report.table_count());
    let Some(order) = &report.order else {
        text.push('\n');
        text.push_str(RULE);
        for keyspace in &report.keyspaces {
            write_keyspace(report, keyspace, &mut text);
        }
        return text;
    };
    if 0 < order.top {
        let _ = write!(text, " (showing top {} by {})", order.top.min(report.table_count()), order.key);
    }
    text.push('\n');
    text.push_str(RULE);
    for table in report.ordered(order) {
        write_table(report, table, &format!("{}.{}", table.keyspace, table.table), "\t", &mut text);
    }
    text.push_str(RULE);
    text
}

fn write_keyspace(report: &Report<'_>, keyspace: &super::Keyspace<'_>, text: &mut String) {
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "{name}: {value}");
    };
    line("Keyspace", &keyspace.name);
    line("\tRead Count", &keyspace.sum(|table| table.reads));
    line("\tRead Latency", &format!("{} ms", double(keyspace.read_ms())));
    line("\tWrite Count", &keyspace.sum(|table| table.writes));
    line("\tWrite Latency", &format!("{} ms", double(keyspace.write_ms())));
    line("\tPending Flushes", &keyspace.sum(|table| table.pending_flushes));
    for table in &keyspace.selected {
        write_table(report, table, &table.table, "\t\t", text);
    }
    text.push_str(RULE);
}

fn write_table(report: &Report<'_>, table: &Table, name: &str, indent: &str, text: &mut String) {
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "{indent}{name}: {value}");
    };
    line(if table.index { "Table (index)" } else { "Table" }, &name);
    line("SSTable count", &table.sstables);
    line("Old SSTable count", &table.old_sstables);
    line("Max SSTable size", &memory_size(table.largest_sstable_bytes));
    if let Some(window) = table.time_window_text() {
        line("SSTables Time Window", &window);
    }
    if let Some((files, bytes)) = table.level_texts() {
        line("SSTables in each level", &format!("[{}]", files.join(", ")));
        line("SSTable bytes in each level", &format!("[{}]", bytes.join(", ")));
    }
    line("Space used (live)", &report.size(table.live_bytes));
    line("Space used (total)", &report.size(table.total_bytes));
    line("Space used by snapshots (total)", &report.size(table.snapshots_bytes));
    line("Off heap memory used (total)", &report.size(table.off_heap_bytes()));
    line("SSTable Compression Ratio", &fixed(table.ratio(), 5));
    line("Number of partitions (estimate)", &table.partitions_estimate);
    line("Memtable cell count", &table.memtable_cells);
    line("Memtable data size", &report.size(table.memtable_bytes));
    line("Memtable off heap memory used", &report.size(table.memtable_off_heap_bytes));
    line("Memtable switch count", &table.memtable_flushes);
    line("Speculative retries", &table.speculative_retries);
    line("Local read count", &table.reads);
    line("Local read latency", &format!("{} ms", fixed(table.read_ms(), 3)));
    line("Local write count", &table.writes);
    line("Local write latency", &format!("{} ms", fixed(table.write_ms(), 3)));
    line("Local read/write ratio", &fixed(table.read_write_ratio(), 5));
    line("Pending flushes", &table.pending_flushes);
    line("Percent repaired", &double(table.percent_repaired()));
    line("Bytes repaired", &memory_size(table.repaired_bytes));
    line("Bytes unrepaired", &memory_size(table.unrepaired_bytes));
    line("Bytes pending repair", &memory_size(table.pending_repair_bytes));
    line("Bloom filter false positives", &table.bloom_filter_false_positives);
    line("Bloom filter false ratio", &fixed(table.bloom_filter_false_ratio(), 5));
    line("Bloom filter space used", &report.size(table.bloom_filter_bytes));
    line("Bloom filter off heap memory used", &report.size(table.bloom_filter_off_heap_bytes));
    line("Index summary off heap memory used", &report.size(table.index_summary_bytes));
    line("Compression metadata off heap memory used", &report.size(table.compression_metadata_bytes));
    line("Compacted partition minimum bytes", &table.partition_min_bytes);
    line("Compacted partition maximum bytes", &table.partition_max_bytes);
    line("Compacted partition mean bytes", &table.partition_mean_bytes);
    line("Average live cells per slice (last five minutes)", &double(table.live_rows_mean()));
    line("Maximum live cells per slice (last five minutes)", &fixed(table.live_rows_per_read.max, 0));
    line("Average tombstones per slice (last five minutes)", &double(table.tombstones_mean()));
    line("Maximum tombstones per slice (last five minutes)", &fixed(table.tombstones_per_read.max, 0));
    line("Droppable tombstone ratio", &fixed(table.droppable_tombstone_ratio, 5));
    if report.location_check {
        line("SSTables in correct location", &(table.misplaced_sstables == 0));
    }
    text.push('\n');
}
