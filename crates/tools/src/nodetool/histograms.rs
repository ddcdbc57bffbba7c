//! `tablehistograms` and `proxyhistograms`: percentiles in columns.

use std::fmt::Write;

use super::api::{Distribution, PERCENTILES, ProxyHistograms, TableHistograms};
use super::java_text::fixed;

/// What a table without SSTables has in the columns that come from them.
const NOTHING: [f64; 7] = [f64::NAN; 7];

#[must_use]
pub fn table_text(histograms: &TableHistograms) -> String {
    let mut text = String::new();
    let from_files = |distribution: &Option<Distribution>| distribution.as_ref().map_or(NOTHING, Distribution::columns);
    if histograms.partition_bytes.is_none() || histograms.cells_per_partition.is_none() {
        text.push_str("No SSTables exists, unable to calculate 'Partition Size' and 'Cell Count' percentiles\n");
    }
    let _ = writeln!(text, "{}/{} histograms", histograms.keyspace, histograms.table);
    let mut row = |cells: [&str; 6]| {
        let [name, read, write, sstables, size, count] = cells;
        let _ = writeln!(text, "{name:<10}{read:>18}{write:>18}{sstables:>18}{size:>18}{count:>18}");
    };
    row(["Percentile", "Read Latency", "Write Latency", "SSTables", "Partition Size", "Cell Count"]);
    row(["", "(micros)", "(micros)", "", "(bytes)", ""]);
    let columns = [
        (histograms.read_latency_micros.columns(), 2),
        (histograms.write_latency_micros.columns(), 2),
        (histograms.sstables_per_read.columns(), 2),
        (from_files(&histograms.partition_bytes), 0),
        (from_files(&histograms.cells_per_partition), 0),
    ];
    for (index, name) in PERCENTILES.into_iter().enumerate() {
        let [read, write, sstables, size, count] = columns.map(|(values, digits)| fixed(values[index], digits));
        row([name, &read, &write, &sstables, &size, &count]);
    }
    text.push('\n');
    text
}

#[must_use]
pub fn proxy_text(histograms: &ProxyHistograms) -> String {
    let columns = [
        ("Read Latency", &histograms.read_micros),
        ("Write Latency", &histograms.write_micros),
        ("Range Latency", &histograms.range_micros),
        ("CAS Read Latency", &histograms.cas_read_micros),
        ("CAS Write Latency", &histograms.cas_write_micros),
        ("View Write Latency", &histograms.view_write_micros),
    ];
    let mut text = String::from("proxy histograms\n");
    let mut row = |name: &str, cells: [String; 6]| {
        let cells = cells.map(|cell| format!("{cell:>19}")).concat();
        let _ = writeln!(text, "{name:<10}{cells}");
    };
    row("Percentile", columns.map(|(title, _)| title.to_owned()));
    row("", columns.map(|_| "(micros)".to_owned()));
    for (index, name) in PERCENTILES.into_iter().enumerate() {
        row(name, columns.map(|(_, distribution)| fixed(distribution.columns()[index], 2)));
    }
    text.push('\n');
    text
}
