//! The admin API's JSON shapes, as `docs/admin-api.md` fixes them. Field names are the contract; fields are only ever added.
//!
//! A number that this node has no source for is the neutral one that the contract names (0, `null`, an empty list).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// What has been seen of a measure, in the unit that its field's name gives.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Distribution {
    pub count: u64,
    pub mean: f64,
    pub p50: f64,
    pub p75: f64,
    pub p95: f64,
    pub p98: f64,
    pub p99: f64,
    pub min: f64,
    pub max: f64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Node {
    pub host_id: String,
    pub cluster_name: String,
    pub release_version: String,
    pub helenus_version: String,
    pub helenus_commit: String,
    pub cql_version: String,
    pub operation_mode: String,
    pub gossip_active: bool,
    pub native_transport_active: bool,
    pub address: String,
    pub port: u16,
    pub native_address: String,
    pub native_port: u16,
    pub data_center: String,
    pub rack: String,
    pub tokens: Vec<String>,
    pub generation: i64,
    pub uptime_secs: u64,
    pub shards: u32,
    pub load_bytes: u64,
    pub uncompressed_load_bytes: u64,
    pub memory: Memory,
    pub exceptions: u64,
    pub bootstrap_state: String,
    pub percent_repaired: f64,
    pub caches: Vec<Cache>,
    pub connections: u64,
    pub data_directory: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Memory {
    pub used_bytes: u64,
    pub limit_bytes: u64,
    pub off_heap_bytes: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Cache {
    pub name: String,
    pub entries: u64,
    pub bytes: u64,
    pub capacity_bytes: u64,
    pub hits: u64,
    pub misses: u64,
    pub miss_latency_micros: Option<f64>,
    pub save_period_secs: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Cluster {
    pub name: String,
    pub snitch: String,
    pub dynamic_snitch: bool,
    pub partitioner: String,
    pub schema_versions: Vec<SchemaVersion>,
    pub keyspaces: Vec<Keyspace>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SchemaVersion {
    pub version: String,
    pub endpoints: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Keyspace {
    pub name: String,
    pub replication: BTreeMap<String, String>,
    pub durable_writes: bool,
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RingQuery {
    pub keyspace: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Ring {
    pub nodes: Vec<RingNode>,
    /// `effective` or `raw`.
    pub ownership: String,
    pub note: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RingNode {
    pub host_id: String,
    pub address: String,
    pub port: u16,
    pub data_center: String,
    pub rack: String,
    pub status: String,
    pub state: String,
    pub release_version: String,
    pub load_bytes: Option<u64>,
    pub owns: f64,
    pub tokens: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Gossip {
    pub endpoints: Vec<Endpoint>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Endpoint {
    pub address: String,
    pub port: u16,
    pub generation: i64,
    pub heartbeat: u64,
    pub states: Vec<EndpointState>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EndpointState {
    pub name: String,
    pub version: u64,
    pub value: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct TablesQuery {
    pub keyspace: Option<String>,
    pub table: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Tables {
    /// Of the whole node, whatever was asked for.
    pub table_count: usize,
    pub tables: Vec<Table>,
}

#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Table {
    pub keyspace: String,
    pub table: String,
    pub id: String,
    pub index: bool,
    pub sstables: u64,
    pub old_sstables: u64,
    pub largest_sstable_bytes: u64,
    pub misplaced_sstables: u64,
    pub time_window: Option<TimeWindow>,
    pub levels: Option<Vec<Level>>,
    pub live_bytes: u64,
    pub total_bytes: u64,
    pub snapshots_bytes: u64,
    pub uncompressed_bytes: u64,
    pub compression_ratio: Option<f64>,
    pub partitions_estimate: u64,
    pub memtable_cells: u64,
    pub memtable_bytes: u64,
    pub memtable_off_heap_bytes: u64,
    pub memtable_flushes: u64,
    pub pending_flushes: u64,
    pub pending_compactions: u64,
    pub speculative_retries: u64,
    pub reads: u64,
    pub writes: u64,
    pub read_micros_total: u64,
    pub write_micros_total: u64,
    pub read_latency_micros: Distribution,
    pub write_latency_micros: Distribution,
    pub repaired_bytes: u64,
    pub unrepaired_bytes: u64,
    pub pending_repair_bytes: u64,
    pub bloom_filter_false_positives: u64,
    pub bloom_filter_true_positives: u64,
    pub bloom_filter_negatives: u64,
    pub bloom_filter_bytes: u64,
    pub bloom_filter_off_heap_bytes: u64,
    pub index_summary_bytes: u64,
    pub compression_metadata_bytes: u64,
    pub partition_min_bytes: u64,
    pub partition_max_bytes: u64,
    pub partition_mean_bytes: u64,
    pub live_rows_per_read: Distribution,
    pub tombstones_per_read: Distribution,
    pub sstables_per_read: Distribution,
    pub dropped_mutations: u64,
    pub tombstone_warnings: u64,
    pub tombstone_failures: u64,
    pub droppable_tombstone_ratio: f64,
    pub compactions: u64,
    pub compacted_bytes: u64,
    pub flushed_bytes: u64,
    pub truncated_at_micros: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TimeWindow {
    pub size: u64,
    pub unit: String,
    pub duration_max_secs: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Level {
    pub sstables: u64,
    pub sstables_max: u64,
    pub bytes: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TableHistograms {
    pub keyspace: String,
    pub table: String,
    pub sstables_per_read: Distribution,
    pub read_latency_micros: Distribution,
    pub write_latency_micros: Distribution,
    pub partition_bytes: Option<Distribution>,
    pub cells_per_partition: Option<Distribution>,
}

/// What clients waited at this node as coordinator.
#[derive(Debug, Serialize, ToSchema)]
pub struct Histograms {
    pub read_micros: Distribution,
    pub range_micros: Distribution,
    pub write_micros: Distribution,
    pub cas_read_micros: Distribution,
    pub cas_write_micros: Distribution,
    pub view_write_micros: Distribution,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSelection {
    pub keyspace: Option<String>,
    #[serde(default)]
    pub tables: Vec<String>,
    /// Of `compact` only: as Cassandra's `--split-output`. One shard's output is one file either way.
    #[serde(default)]
    pub split_output: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ThreadPools {
    pub pools: Vec<ThreadPool>,
    pub dropped: Vec<DroppedMessages>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ThreadPool {
    pub name: String,
    pub active: u64,
    pub pending: u64,
    pub completed: u64,
    pub blocked: u64,
    pub all_time_blocked: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DroppedMessages {
    pub message: String,
    pub count: u64,
    pub waited_micros: Distribution,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Compactions {
    pub concurrent_compactors: u64,
    pub pending: Vec<PendingCompactions>,
    pub active: Vec<ActiveCompaction>,
    pub completed: u64,
    pub compacted_bytes: u64,
    pub compacted_compressed_bytes: u64,
    pub aborted: u64,
    pub reduced: u64,
    pub sstables_dropped: u64,
    pub rate_15_minutes_per_sec: f64,
    pub rate_mean_per_sec: f64,
    pub throughput_mib_per_sec: f64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct PendingCompactions {
    pub keyspace: String,
    pub table: String,
    pub tasks: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ActiveCompaction {
    pub id: String,
    pub kind: String,
    pub keyspace: String,
    pub table: String,
    pub completed: u64,
    pub total: u64,
    pub unit: String,
    pub total_compressed_bytes: Option<u64>,
    pub sstables: u64,
    pub target_directory: String,
    pub started_at_micros: i64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct CompactionHistory {
    /// Newest first.
    pub compactions: Vec<EndedCompaction>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EndedCompaction {
    pub id: String,
    pub kind: String,
    pub keyspace: String,
    pub table: String,
    pub compacted_at_micros: i64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub partitions_out: u64,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactionThroughput {
    /// Over all shards; 0: no limit.
    pub throughput_mib_per_sec: f64,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoCompaction {
    pub enabled: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Snapshots {
    pub snapshots: Vec<Snapshot>,
    pub true_bytes: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Snapshot {
    pub tag: String,
    pub keyspace: String,
    pub table: String,
    pub true_bytes: u64,
    pub size_bytes: u64,
    pub created_at_micros: Option<i64>,
    pub expires_at_micros: Option<i64>,
    pub ephemeral: bool,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSnapshot {
    pub tag: String,
    #[serde(default)]
    pub keyspaces: Vec<String>,
    /// `keyspace.table`.
    #[serde(default)]
    pub tables: Vec<String>,
    #[serde(default)]
    pub skip_flush: bool,
    pub ttl_secs: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SnapshotTaken {
    pub tag: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SnapshotsRemoved {
    pub removed: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Clients {
    pub clients: Vec<Client>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Client {
    pub address: String,
    pub port: u16,
    pub shard: u32,
    pub stage: String,
    pub protocol_version: Option<u8>,
    pub username: Option<String>,
    pub keyspace: Option<String>,
    pub driver_name: Option<String>,
    pub driver_version: Option<String>,
    pub requests: u64,
    pub in_flight: u32,
    pub options: BTreeMap<String, String>,
    pub connected_secs: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Settings {
    /// `null` is unset.
    pub settings: BTreeMap<String, Option<String>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Logging {
    pub levels: Vec<LoggerLevel>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LoggerLevel {
    pub logger: String,
    pub level: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoggingChange {
    /// None: all back to the configured ones.
    pub logger: Option<String>,
    /// None: takes that logger's own setting away.
    pub level: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceProbability {
    pub probability: f64,
}

/// What an action answers that has nothing to tell, and what one takes that needs to know nothing: `{}`.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    pub error: ProblemText,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemText {
    pub code: String,
    pub message: String,
}
