//! `/metrics`: Prometheus text, labelled by shard.
//!
//! Source: Prometheus, "Text-based format", version 0.0.4. Names follow its advice: base units, `_total` for counters.

use std::fmt::{Display, Write};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use helenus_env::SchedulingGroup;
use helenus_storage::{Histogram, TableStats};

use super::gather::resident_bytes;
use super::problem::Refusal;
use super::{AdminState, Shared};
use crate::metrics::MetricsSnapshot;
use crate::work::ShardView;

/// Upper borders in microseconds; fewer than the histograms have, because every one is a time series.
const BORDERS_MICROS: [u64; 16] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    10_000_000,
];

pub(super) async fn metrics(State(state): State<Shared>) -> Result<Response, Refusal> {
    let views = state.shard_views().await?;
    let snapshots = state.links.run_on_all(|server| async move { server.metrics.snapshot() }).await?;
    let schema = state.schema().await?;
    let tables = AdminState::stored_tables(&schema);
    let ids: Vec<_> = tables.iter().map(|table| table.id).collect();
    let stats = state.table_stats(&ids).await?;
    let names = tables.iter().map(|table| (table.keyspace.to_string(), table.name.to_string()));
    let space = space(&state).await?;
    let mut page = Page::default();
    node_metrics(&mut page, &state, space);
    request_metrics(&mut page, &snapshots);
    shard_metrics(&mut page, &views);
    table_metrics(&mut page, &names.zip(stats).collect::<Vec<_>>());
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], page.text).into_response())
}

async fn space(state: &AdminState) -> Result<Option<(u64, u64)>, Refusal> {
    let directory = state.node.config.directories.data.clone();
    let space = state.links.run(0, |server: std::rc::Rc<crate::shard::ShardServer>| async move {
        server.env.disk().space(&directory).await.ok()
    });
    Ok(space.await?.map(|space| (space.total_bytes, space.free_bytes)))
}

/// The text as far as it is written.
#[derive(Default)]
struct Page {
    text: String,
}

type Labels<'a> = &'a [(&'a str, &'a dyn Display)];

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(self.text, "# HELP helenus_{name} {help}\n# TYPE helenus_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: Labels, value: impl Display) {
        let _ = write!(self.text, "helenus_{name}");
        self.labels(labels);
        let _ = writeln!(self.text, " {value}");
    }

    fn labels(&mut self, labels: Labels) {
        if labels.is_empty() {
            return;
        }
        self.text.push('{');
        for (index, (name, value)) in labels.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let value = value.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{comma}{name}=\"{value}\"");
        }
        self.text.push('}');
    }

    /// `histogram` is in microseconds, the metric in seconds.
    fn histogram(&mut self, name: &str, labels: Labels, histogram: &Histogram) {
        for border in BORDERS_MICROS {
            let seconds = border as f64 / 1e6;
            let mut all: Vec<(&str, &dyn Display)> = labels.to_vec();
            all.push(("le", &seconds));
            self.sample(&format!("{name}_bucket"), &all, count_up_to(histogram, border));
        }
        let mut all: Vec<(&str, &dyn Display)> = labels.to_vec();
        all.push(("le", &"+Inf"));
        self.sample(&format!("{name}_bucket"), &all, histogram.count());
        self.sample(&format!("{name}_sum"), labels, histogram.sum() as f64 / 1e6);
        self.sample(&format!("{name}_count"), labels, histogram.count());
    }

    /// One number a shard.
    fn per_shard(&mut self, name: &str, kind: &str, help: &str, values: impl IntoIterator<Item = (u32, u64)>) {
        self.family(name, kind, help);
        for (shard, value) in values {
            self.sample(name, &[("shard", &shard)], value);
        }
    }
}

fn count_up_to(histogram: &Histogram, border: u64) -> u64 {
    let buckets = Histogram::borders().into_iter().zip(histogram.counts());
    buckets.take_while(|(upper, _)| *upper <= border).map(|(_, count)| count).sum()
}

fn node_metrics(page: &mut Page, state: &AdminState, space: Option<(u64, u64)>) {
    page.family("build_info", "gauge", "Always 1.");
    page.sample("build_info", &[("version", &state.build.version), ("commit", &state.build.commit)], 1);
    let uptime = (state.env.monotonic() - state.node.started).as_secs_f64();
    page.family("uptime_seconds", "gauge", "Since the start of the process.");
    page.sample("uptime_seconds", &[], uptime);
    page.family("memory_resident_bytes", "gauge", "Memory that the process has.");
    page.sample("memory_resident_bytes", &[], resident_bytes());
    page.family("memory_limit_bytes", "gauge", "Memory that the process may use.");
    page.sample("memory_limit_bytes", &[], state.node.config.memory.total);
    page.family("connections_refused_total", "counter", "Connections beyond a limit.");
    page.sample("connections_refused_total", &[], state.node.limits.refused_connection_count());
    page.family("requests_in_flight_bytes", "gauge", "Requests that are being worked on.");
    page.sample("requests_in_flight_bytes", &[], state.node.limits.bytes_in_flight());
    page.family("logged_errors_total", "counter", "Lines that were logged as ERROR.");
    page.sample("logged_errors_total", &[], state.node.log.error_count());
    if let Some((total, free)) = space {
        let directory = state.node.config.directories.data.display();
        page.family("disk_total_bytes", "gauge", "Size of the file system with the data.");
        page.sample("disk_total_bytes", &[("directory", &directory)], total);
        page.family("disk_free_bytes", "gauge", "What is free of it.");
        page.sample("disk_free_bytes", &[("directory", &directory)], free);
    }
}

fn request_metrics(page: &mut Page, snapshots: &[MetricsSnapshot]) {
    let shards = || (0u32..).zip(snapshots);
    page.family("request_duration_seconds", "histogram", "From the request's last byte to its answer in the buffer.");
    for (shard, snapshot) in shards() {
        for ((kind, consistency), histogram) in &snapshot.latencies {
            let level = helenus_cluster::Consistency::from_code(*consistency);
            let level = level.map_or_else(|| consistency.to_string(), |level| level.to_string());
            let labels: Labels = &[("shard", &shard), ("kind", &kind.name()), ("consistency", &level)];
            page.histogram("request_duration_seconds", labels, histogram);
        }
    }
    page.family("errors_total", "counter", "ERROR answers by their code in the protocol.");
    for (shard, snapshot) in shards() {
        for (code, count) in &snapshot.errors {
            page.sample("errors_total", &[("shard", &shard), ("code", &format!("{code:#06x}"))], count);
        }
    }
    let mut counter = |name: &str, help: &str, field: fn(&MetricsSnapshot) -> u64| {
        page.per_shard(name, "counter", help, shards().map(|(shard, snapshot)| (shard, field(snapshot))));
    };
    counter("unprepared_requests_total", "Statements that came as text.", |s| s.unprepared);
    counter("prepared_requests_total", "EXECUTE requests.", |s| s.prepared);
    counter("unpaged_requests_total", "Reads without a page size.", |s| s.unpaged);
    counter("not_token_aware_requests_total", "Prepared requests on a shard that does not own their token.", |s| {
        s.wrong_shard
    });
    counter("token_aware_requests_total", "Prepared requests on the shard that owns their token.", |s| s.right_shard);
    counter("authentication_successes_total", "Logins.", |s| s.authentication_successes);
    counter("authentication_failures_total", "Refused logins.", |s| s.authentication_failures);
    counter("reversed_requests_total", "Reads against the clustering order.", |s| s.reversed);
    counter("allow_filtering_requests_total", "Reads with ALLOW FILTERING.", |s| s.allow_filtering);
    counter("overloaded_requests_total", "Requests refused for want of memory or bytes in flight.", |s| s.overloaded);
    counter("reads_paused_total", "Times that a connection was not read for a while.", |s| s.reads_paused);
}

fn shard_metrics(page: &mut Page, views: &[ShardView]) {
    let mut number = |name: &str, kind: &str, help: &str, field: fn(&ShardView) -> u64| {
        page.per_shard(name, kind, help, views.iter().map(|view| (view.shard, field(view))));
    };
    number("connections", "gauge", "Open CQL connections.", |view| view.connections as u64);
    number("requests_in_flight", "gauge", "Requests that are being worked on.", |view| view.in_flight);
    number("cross_shard_requests_total", "counter", "Requests sent on to the owning shard.", |view| {
        view.cross_shard_requests
    });
    number("local_requests_total", "counter", "Requests that the receiving shard owned.", |view| view.local_requests);
    number("timeouts_total", "counter", "Requests whose deadline passed.", |view| view.timeouts);
    number("expired_requests_total", "counter", "Requests dropped because their deadline had passed.", |view| {
        view.storage.expired_requests
    });
    number("request_memory_bytes", "gauge", "Memory granted to requests.", |view| view.request_memory_bytes);
    number("memtable_bytes", "gauge", "Memory of memtables.", |view| view.storage.memtable_bytes);
    number("memtable_limit_bytes", "gauge", "What memtables may have.", |view| view.storage.memtable_limit_bytes);
    number("blocked_on_memory_total", "counter", "Writes that waited for a flush.", |view| {
        view.storage.blocked_on_memory
    });
    number("disk_refused_writes_total", "counter", "Writes refused because the disk is nearly full.", |view| {
        view.storage.disk_refused_writes
    });
    number("commit_log_bytes", "gauge", "Size of the commit log.", |view| view.storage.commit_log_bytes);
    number("commit_log_segments", "gauge", "Its segments.", |view| view.storage.commit_log_segments);
    number("commit_log_records_total", "counter", "Records written.", |view| view.storage.commit_log_records);
    number("commit_log_syncs_total", "counter", "Syncs to the device.", |view| view.storage.commit_log_syncs);
    number("chunk_cache_bytes", "gauge", "Cache of decompressed pieces of SSTables.", |view| {
        view.storage.chunk_cache_bytes
    });
    number("chunk_cache_hits_total", "counter", "Pieces found in it.", |view| view.storage.chunk_cache_hits);
    number("chunk_cache_misses_total", "counter", "Pieces read from files.", |view| view.storage.chunk_cache_misses);
    number("sstable_reads_queued", "gauge", "Reads of SSTables that wait for the device.", |view| {
        view.storage.queued_sstable_reads
    });
    number("sstable_reads_queued_total", "counter", "Reads of SSTables that have waited for the device.", |view| {
        view.storage.all_queued_sstable_reads
    });
    number("compactions_running", "gauge", "Compactions that run.", |view| view.storage.running_compactions);
    number("compactions_pending", "gauge", "Compactions that strategies want.", |view| {
        view.storage.pending_compactions
    });
    number("compactions_total", "counter", "Compactions that ended.", |view| view.storage.completed_compactions);
    number("compacted_bytes_total", "counter", "What they read.", |view| view.storage.compacted_bytes);
    number("flushes_total", "counter", "Memtables written to SSTables.", |view| view.storage.flushes);
    number("slow_polls_total", "counter", "Times that a task held up its shard.", |view| view.slow_polls);
    number("longest_poll_microseconds", "gauge", "The longest of them.", |view| view.longest_poll_micros);
    number("task_panics_total", "counter", "Tasks that died; each is a defect.", |view| view.task_panics);
    number("compaction_shares", "gauge", "Parts of a thousand that compactions get of a busy shard.", |_| {
        SchedulingGroup::Compaction.shares().into()
    });
    page.family("compaction_cpu_seconds_total", "counter", "How long compactions have held the shard's thread.");
    for view in views {
        let seconds = view.storage.compaction_busy.as_secs_f64();
        page.sample("compaction_cpu_seconds_total", &[("shard", &view.shard)], seconds);
    }
    page.family("commit_log_sync_duration_seconds", "histogram", "How long a sync to the device took.");
    for view in views {
        let labels: Labels = &[("shard", &view.shard)];
        page.histogram("commit_log_sync_duration_seconds", labels, &view.storage.commit_log_sync_micros);
    }
}

type NamedTable = ((String, String), Vec<TableStats>);

fn table_metrics(page: &mut Page, tables: &[NamedTable]) {
    let mut number = |name: &str, kind: &str, help: &str, field: fn(&TableStats) -> u64| {
        page.family(name, kind, help);
        for ((keyspace, table), stats) in tables {
            for (shard, stats) in (0u32..).zip(stats) {
                let labels: Labels = &[("shard", &shard), ("keyspace", keyspace), ("table", table)];
                page.sample(name, labels, field(stats));
            }
        }
    };
    number("table_reads_total", "counter", "Reads of the table.", |stats| stats.reads);
    number("table_writes_total", "counter", "Writes to the table.", |stats| stats.writes);
    number("table_disk_bytes", "gauge", "Its live SSTables.", |stats| stats.live_bytes);
    number("table_sstables", "gauge", "How many those are.", |stats| stats.sstables);
    number("table_memtable_bytes", "gauge", "Its writes that are not in SSTables.", |stats| stats.memtable_bytes);
    number("table_tombstone_failures_total", "counter", "Reads that met too many tombstones.", |stats| {
        stats.tombstone_failures
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_cumulative_and_labels_are_escaped() {
        let mut histogram = Histogram::default();
        [40, 60, 700].into_iter().for_each(|micros| histogram.record(micros));
        let mut page = Page::default();
        page.histogram("x_seconds", &[("name", &"a\"b")], &histogram);
        assert!(page.text.contains("helenus_x_seconds_bucket{name=\"a\\\"b\",le=\"0.00005\"} 1\n"), "{}", page.text);
        assert!(page.text.contains("le=\"0.0001\"} 2\n"), "{}", page.text);
        assert!(page.text.contains("le=\"0.001\"} 3\n"));
        assert!(
            page.text.ends_with(
                "helenus_x_seconds_sum{name=\"a\\\"b\"} 0.0008\nhelenus_x_seconds_count{name=\"a\\\"b\"} 3\n"
            ),
            "{}",
            page.text
        );
    }
}
