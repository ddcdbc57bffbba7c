//! `info` and `version`: the node itself.

use std::fmt::Write;

use super::api::{Cache, Node};
use super::java_text::{double, file_size, fixed};

const MEBIBYTE: f64 = 1024.0 * 1024.0;

#[must_use]
pub fn info_text(node: &Node, all_tokens: bool) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<23}: {value}");
    };
    line("ID", &node.host_id);
    line("Gossip active", &node.gossip_active.to_string());
    line("Native Transport active", &node.native_transport_active.to_string());
    line("Load", &file_size(node.load_bytes));
    line("Uncompressed load", &file_size(node.uncompressed_load_bytes));
    let generation = if node.gossip_active { node.generation } else { 0 };
    line("Generation No", &generation.to_string());
    line("Uptime (seconds)", &node.uptime_secs.to_string());
    let mebibytes = |bytes: u64| fixed(bytes as f64 / MEBIBYTE, 2);
    line(
        "Heap Memory (MB)",
        &format!("{} / {}", mebibytes(node.memory.used_bytes), mebibytes(node.memory.limit_bytes)),
    );
    line("Off Heap Memory (MB)", &mebibytes(node.memory.off_heap_bytes));
    line("Data Center", &node.data_center);
    line("Rack", &node.rack);
    line("Exceptions", &node.exceptions.to_string());
    for (title, name) in [("Key Cache", "key"), ("Row Cache", "row"), ("Counter Cache", "counter")] {
        // Cassandra has these three even when they are off; then everything in them is 0.
        line(title, &entry_cache(&cache(node, name).unwrap_or_default()));
    }
    if let Some(cache) = cache(node, "chunk") {
        line("Chunk Cache", &chunk_cache(&cache));
    }
    if let Some(Cache { bytes, overflow_bytes, capacity_bytes, .. }) = cache(node, "network") {
        let [size, overflow, capacity] = [bytes, overflow_bytes, capacity_bytes].map(file_size);
        line("Network Cache", &format!("size {size}, overflow size: {overflow}, capacity {capacity}"));
    }
    line("Percent Repaired", &format!("{}%", double(node.percent_repaired)));
    if node.tokens.len() == 1 || all_tokens {
        node.tokens.iter().for_each(|token| line("Token", token));
    } else if node.tokens.is_empty() {
        line("Token", "(node is not joined to the cluster)");
    } else {
        line("Token", &format!("(invoke with -T/--tokens to see all {} tokens)", node.tokens.len()));
    }
    line("Bootstrap state", &node.bootstrap_state);
    for (name, mode) in [
        ("Bootstrap failed", "JOINING_FAILED"),
        ("Decommissioning", "LEAVING"),
        ("Decommission failed", "DECOMMISSION_FAILED"),
    ] {
        line(name, &(node.operation_mode == mode).to_string());
    }
    text
}

fn cache(node: &Node, name: &str) -> Option<Cache> {
    node.caches.iter().find(|cache| cache.name == name).cloned()
}

fn hit_rate(cache: &Cache) -> String {
    fixed(cache.hits as f64 / (cache.hits + cache.misses) as f64, 3) // No requests: 0/0, which prints as NaN.
}

fn entry_cache(cache: &Cache) -> String {
    format!(
        "entries {}, size {}, capacity {}, {} hits, {} requests, {} recent hit rate, {} save period in seconds",
        cache.entries,
        file_size(cache.bytes),
        file_size(cache.capacity_bytes),
        cache.hits,
        cache.hits + cache.misses,
        hit_rate(cache),
        cache.save_period_secs,
    )
}

fn chunk_cache(cache: &Cache) -> String {
    format!(
        "entries {}, size {}, capacity {}, {} misses, {} requests, {} recent hit rate, {} microseconds miss latency",
        cache.entries,
        file_size(cache.bytes),
        file_size(cache.capacity_bytes),
        cache.misses,
        cache.hits + cache.misses,
        hit_rate(cache),
        fixed(cache.miss_latency_micros.unwrap_or(f64::NAN), 3),
    )
}

#[must_use]
pub fn version_text(node: &Node, verbose: bool) -> String {
    let mut text = format!("ReleaseVersion: {}\n", node.release_version);
    if verbose {
        let _ = writeln!(text, "HelenusVersion: {}", node.helenus_version);
    }
    text
}
