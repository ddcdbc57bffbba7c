//! `tpstats`, `compactionstats`, `compactionhistory`: work that runs, waits and is done.

use serde_json::{Map, Value, json};

use super::api::{ActiveCompaction, CompactionHistory, Compactions, EndedCompaction, ThreadPools};
use super::java_text::{Table, double, file_size, instant};

#[must_use]
pub fn pools_text(stats: &ThreadPools) -> String {
    let mut pools = Table::default();
    pools.add(["Pool Name", "Active", "Pending", "Completed", "Blocked", "All time blocked"]);
    for pool in &stats.pools {
        let numbers = [pool.active, pool.pending, pool.completed, pool.blocked, pool.all_time_blocked];
        pools.add(std::iter::once(pool.name.clone()).chain(numbers.map(|number| number.to_string())));
    }
    let mut dropped = Table::default();
    // The blanks are Cassandra's: its titles are padded by hand.
    dropped.add(["Message type", "Dropped    ", "50%     ", "95%     ", "99%     ", "Max"]);
    for message in &stats.dropped {
        let waited = &message.waited_micros;
        let waited = [waited.p50, waited.p95, waited.p99, waited.max].map(double);
        dropped.add([message.message.clone(), message.count.to_string()].into_iter().chain(waited));
    }
    format!("{pools}\nLatencies waiting in queue (micros) per dropped message types\n{dropped}")
}

/// The document of `tpstats -F`: Cassandra's names.
#[must_use]
pub fn pools_document(stats: &ThreadPools) -> Value {
    let pools = stats.pools.iter().map(|pool| {
        let numbers = json!({
            "TotalBlockedTasks": pool.all_time_blocked,
            "ActiveTasks": pool.active,
            "PendingTasks": pool.pending,
            "CurrentlyBlockedTasks": pool.blocked,
            "CompletedTasks": pool.completed,
        });
        (pool.name.clone(), numbers)
    });
    let waits = stats.dropped.iter().map(|dropped| (dropped.message.clone(), json!(dropped.waited_micros.columns())));
    let counts = stats.dropped.iter().map(|dropped| (dropped.message.clone(), json!(dropped.count)));
    json!({
        "ThreadPools": pools.collect::<Map<_, _>>(),
        "WaitLatencies": waits.collect::<Map<_, _>>(),
        "DroppedMessage": counts.collect::<Map<_, _>>(),
    })
}

/// How `compactionstats` was asked to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompactionColumns {
    pub human_readable: bool,
    /// The columns of `system_views.sstable_tasks`.
    pub virtual_table: bool,
}

#[must_use]
pub fn compactions_text(stats: &Compactions, columns: CompactionColumns) -> String {
    let size = |bytes: u64| if columns.human_readable { file_size(bytes) } else { bytes.to_string() };
    let mut table = Table::default();
    table.add(["concurrent compactors".to_owned(), stats.concurrent_compactors.to_string()]);
    let pending: u64 = stats.pending.iter().map(|pending| pending.tasks).sum();
    table.add(["pending tasks".to_owned(), pending.to_string()]);
    for pending in &stats.pending {
        table.add([pending.keyspace.clone(), pending.table.clone(), pending.tasks.to_string()]);
    }
    let throughput = stats.throughput_mib_per_sec;
    for (title, value) in [
        ("compactions completed", stats.completed.to_string()),
        ("data compacted", size(stats.compacted_bytes)),
        ("compressed data compacted", size(stats.compacted_compressed_bytes)),
        ("compactions aborted", stats.aborted.to_string()),
        ("compactions reduced", stats.reduced.to_string()),
        ("sstables dropped from compaction", stats.sstables_dropped.to_string()),
        ("15 minute rate", format!("{:.2}/minute", stats.rate_15_minutes_per_sec * 60.0)),
        ("mean rate", format!("{:.2}/hour", stats.rate_mean_per_sec * 3600.0)),
        (
            "compaction throughput (MiB/s)",
            if throughput == 0.0 { "throttling disabled (0)".to_owned() } else { double(throughput) },
        ),
    ] {
        table.add([title.to_owned(), value]);
    }
    add_active(&mut table, &stats.active, throughput, columns);
    table.to_string()
}

fn add_active(table: &mut Table, active: &[ActiveCompaction], mib_per_sec: f64, columns: CompactionColumns) {
    if active.is_empty() {
        return;
    }
    if columns.virtual_table {
        table.add([
            "keyspace",
            "table",
            "task id",
            "completion ratio",
            "kind",
            "progress",
            "sstables",
            "total",
            "total compressed",
            "unit",
            "target directory",
        ]);
    } else {
        table.add(["id", "compaction type", "keyspace", "table", "completed", "total", "unit", "progress"]);
    }
    for task in active {
        let size = |count: u64| {
            if columns.human_readable && task.unit == "bytes" { file_size(count) } else { count.to_string() }
        };
        let share = match task.total {
            0 => "n/a".to_owned(),
            total => format!("{:.2}%", task.completed as f64 / total as f64 * 100.0),
        };
        let (id, kind, unit) = (task.id.clone(), task.kind.clone(), task.unit.clone());
        let (keyspace, name) = (task.keyspace.clone(), task.table.clone());
        let (completed, total) = (size(task.completed), size(task.total));
        if columns.virtual_table {
            let compressed = task.total_compressed_bytes.map_or_else(|| "n/a".to_owned(), size);
            let (files, directory) = (task.sstables.to_string(), task.target_directory.clone());
            table.add([keyspace, name, id, share, kind, completed, files, total, compressed, unit, directory]);
        } else {
            table.add([id, kind, keyspace, name, completed, total, unit, share]);
        }
    }
    let left_bytes: u64 = active.iter().map(|task| task.total.saturating_sub(task.completed)).sum();
    table.add(["active compaction remaining time".to_owned(), remaining_time(left_bytes, mib_per_sec)]);
}

/// `0h00m20s` at the speed that is allowed, whatever the disks can do.
fn remaining_time(left_bytes: u64, mib_per_sec: f64) -> String {
    if mib_per_sec <= 0.0 {
        return "n/a".to_owned();
    }
    let secs = (left_bytes as f64 / (1024.0 * 1024.0 * mib_per_sec)) as u64;
    format!("{}h{:02}m{:02}s", secs / 3600, secs % 3600 / 60, secs % 60)
}

/// `compactionhistory`: titles, and below them the cells of an ended compaction.
const HISTORY_COLUMNS: [&str; 8] = [
    "id",
    "keyspace_name",
    "columnfamily_name",
    "compacted_at",
    "bytes_in",
    "bytes_out",
    "rows_merged",
    "compaction_properties",
];

fn history_cells(ended: &EndedCompaction) -> [String; 8] {
    [
        ended.id.clone(),
        ended.keyspace.clone(),
        ended.table.clone(),
        instant(ended.compacted_at_micros).trim_end_matches('Z').to_owned(),
        ended.bytes_in.to_string(),
        ended.bytes_out.to_string(),
        "{}".to_owned(), // How many files each row came from is not recorded.
        format!("{{compaction_type:{}}}", ended.kind),
    ]
}

#[must_use]
pub fn history_text(history: &CompactionHistory) -> String {
    let mut table = Table::default();
    table.add(HISTORY_COLUMNS);
    history.compactions.iter().for_each(|ended| table.add(history_cells(ended)));
    format!("Compaction History: \n{table}")
}

/// The document of `compactionhistory -F`: Cassandra's names.
#[must_use]
pub fn history_document(history: &CompactionHistory) -> Value {
    let rows = history.compactions.iter().map(|ended| {
        let cells = HISTORY_COLUMNS.into_iter().zip(history_cells(ended));
        let mut row: Map<_, _> = cells.map(|(title, cell)| (title.to_owned(), json!(cell))).collect();
        row.insert("bytes_in".to_owned(), json!(ended.bytes_in));
        row.insert("bytes_out".to_owned(), json!(ended.bytes_out));
        Value::Object(row)
    });
    json!({"CompactionHistory": rows.collect::<Vec<_>>()})
}
