//! The answers of the admin API that nodetool prints, field for field as docs/admin-api.md names them.

use serde::Deserialize;

/// What has been seen of a measure, in the unit of the field that holds it.
#[derive(Clone, Debug, Default, Deserialize)]
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

impl Distribution {
    /// In the order in which every histogram is printed.
    #[must_use]
    pub fn columns(&self) -> [f64; 7] {
        [self.p50, self.p75, self.p95, self.p98, self.p99, self.min, self.max]
    }
}

/// Names of [`Distribution::columns`].
pub const PERCENTILES: [&str; 7] = ["50%", "75%", "95%", "98%", "99%", "Min", "Max"];

#[derive(Clone, Debug, Deserialize)]
pub struct Node {
    pub host_id: String,
    pub release_version: String,
    pub helenus_version: String,
    pub operation_mode: String,
    pub gossip_active: bool,
    pub native_transport_active: bool,
    pub data_center: String,
    pub rack: String,
    pub tokens: Vec<String>,
    pub generation: i64,
    pub uptime_secs: u64,
    pub load_bytes: u64,
    pub uncompressed_load_bytes: u64,
    pub memory: Memory,
    pub exceptions: u64,
    pub bootstrap_state: String,
    pub percent_repaired: f64,
    pub caches: Vec<Cache>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Memory {
    pub used_bytes: u64,
    pub limit_bytes: u64,
    pub off_heap_bytes: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Cache {
    pub name: String,
    #[serde(default)]
    pub entries: u64,
    #[serde(default)]
    pub bytes: u64,
    #[serde(default)]
    pub overflow_bytes: u64,
    #[serde(default)]
    pub capacity_bytes: u64,
    #[serde(default)]
    pub hits: u64,
    #[serde(default)]
    pub misses: u64,
    #[serde(default)]
    pub miss_latency_micros: Option<f64>,
    #[serde(default)]
    pub save_period_secs: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Cluster {
    pub name: String,
    pub snitch: String,
    pub dynamic_snitch: bool,
    pub partitioner: String,
    pub schema_versions: Vec<SchemaVersion>,
    pub keyspaces: Vec<Keyspace>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct SchemaVersion {
    pub version: String,
    pub endpoints: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Keyspace {
    pub name: String,
    /// `class` and its options, in the schema's order.
    pub replication: serde_json::Map<String, serde_json::Value>,
    #[serde(rename = "virtual", default)]
    pub is_virtual: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Ring {
    pub nodes: Vec<RingNode>,
    pub ownership: Ownership,
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Ownership {
    Effective,
    Raw,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RingNode {
    pub host_id: String,
    pub address: String,
    pub port: u16,
    pub data_center: String,
    pub rack: String,
    pub status: Status,
    pub state: State,
    pub release_version: String,
    pub load_bytes: Option<u64>,
    /// From 0 to 1 and, with several replicas, beyond.
    pub owns: f64,
    pub tokens: Vec<String>,
}

impl RingNode {
    #[must_use]
    pub fn endpoint(&self, with_port: bool) -> String {
        endpoint(&self.address, self.port, with_port)
    }
}

/// `127.0.0.1`, `127.0.0.1:7000`, `[::1]:7000`.
#[must_use]
pub fn endpoint(address: &str, port: u16, with_port: bool) -> String {
    match (with_port, address.contains(':')) {
        (false, _) => address.to_owned(),
        (true, false) => format!("{address}:{port}"),
        (true, true) => format!("[{address}]:{port}"),
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Up,
    Down,
    Unknown,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Normal,
    Joining,
    Leaving,
    Moving,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Gossip {
    pub endpoints: Vec<GossipEndpoint>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct GossipEndpoint {
    pub address: String,
    pub port: u16,
    pub generation: i64,
    pub heartbeat: i64,
    pub states: Vec<GossipState>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct GossipState {
    pub name: String,
    pub version: i64,
    pub value: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Tables {
    pub tables: Vec<Table>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Table {
    pub keyspace: String,
    pub table: String,
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
    pub compression_ratio: Option<f64>,
    pub partitions_estimate: u64,
    pub memtable_cells: u64,
    pub memtable_bytes: u64,
    pub memtable_off_heap_bytes: u64,
    pub memtable_flushes: u64,
    pub pending_flushes: u64,
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
    pub droppable_tombstone_ratio: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct TimeWindow {
    pub size: u64,
    pub unit: String,
    pub duration_max_secs: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Level {
    pub sstables: u64,
    pub sstables_max: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct TableHistograms {
    pub keyspace: String,
    pub table: String,
    pub sstables_per_read: Distribution,
    pub read_latency_micros: Distribution,
    pub write_latency_micros: Distribution,
    pub partition_bytes: Option<Distribution>,
    pub cells_per_partition: Option<Distribution>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ProxyHistograms {
    pub read_micros: Distribution,
    pub range_micros: Distribution,
    pub write_micros: Distribution,
    pub cas_read_micros: Distribution,
    pub cas_write_micros: Distribution,
    pub view_write_micros: Distribution,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ThreadPools {
    pub pools: Vec<Pool>,
    pub dropped: Vec<Dropped>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Pool {
    pub name: String,
    pub active: u64,
    pub pending: u64,
    pub completed: u64,
    pub blocked: u64,
    pub all_time_blocked: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Dropped {
    pub message: String,
    pub count: u64,
    pub waited_micros: Distribution,
}

#[derive(Clone, Debug, Deserialize)]
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

#[derive(Clone, Debug, Deserialize)]
pub struct PendingCompactions {
    pub keyspace: String,
    pub table: String,
    pub tasks: u64,
}

#[derive(Clone, Debug, Deserialize)]
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
}

#[derive(Clone, Debug, Deserialize)]
pub struct CompactionHistory {
    pub compactions: Vec<EndedCompaction>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct EndedCompaction {
    pub id: String,
    pub kind: String,
    pub keyspace: String,
    pub table: String,
    pub compacted_at_micros: i64,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct CompactionThroughput {
    pub throughput_mib_per_sec: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct AutoCompaction {
    pub enabled: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Snapshots {
    pub snapshots: Vec<Snapshot>,
    pub true_bytes: u64,
}

#[derive(Clone, Debug, Deserialize)]
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

#[derive(Clone, Debug, Deserialize)]
pub struct Logging {
    pub levels: Vec<LoggerLevel>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct LoggerLevel {
    pub logger: String,
    pub level: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct TraceProbability {
    pub probability: f64,
}

/// What stands under `error` in the answer to a refused request.
#[derive(Clone, Debug, Deserialize)]
pub struct Refusal {
    pub code: String,
    pub message: String,
}
