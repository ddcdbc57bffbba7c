//! Table options of Cassandra 5.0, typed, with their defaults.

use std::collections::BTreeMap;

/// Options of one table.
///
/// Source: Cassandra 5.0, `schema.TableParams`.
#[derive(Clone, Debug, PartialEq)]
pub struct TableParams {
    pub additional_write_policy: String,
    pub allow_auto_snapshot: bool,
    pub bloom_filter_fp_chance: f64,
    /// `keys` (ALL, NONE) and `rows_per_partition` (ALL, NONE, a number).
    pub caching: BTreeMap<String, String>,
    pub cdc: bool,
    pub comment: String,
    /// `class` (full class name) and the strategy's options.
    pub compaction: BTreeMap<String, String>,
    /// `class`, `chunk_length_in_kb` and the compressor's options; `enabled = false` alone when off.
    pub compression: BTreeMap<String, String>,
    pub memtable: String,
    pub crc_check_chance: f64,
    pub default_time_to_live: i32,
    pub extensions: BTreeMap<String, Vec<u8>>,
    pub gc_grace_seconds: i32,
    pub incremental_backups: bool,
    pub max_index_interval: i32,
    pub memtable_flush_period_in_ms: i32,
    pub min_index_interval: i32,
    pub read_repair: String,
    pub speculative_retry: String,
}

impl Eq for TableParams {}

impl Default for TableParams {
    fn default() -> Self {
        let map = |entries: &[(&str, &str)]| {
            entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        Self {
            additional_write_policy: "99p".into(),
            allow_auto_snapshot: true,
            bloom_filter_fp_chance: 0.01,
            caching: map(&[("keys", "ALL"), ("rows_per_partition", "NONE")]),
            cdc: false,
            comment: String::new(),
            compaction: map(&[
                ("class", "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy"),
                ("max_threshold", "32"),
                ("min_threshold", "4"),
            ]),
            compression: map(&[
                ("chunk_length_in_kb", "16"),
                ("class", "org.apache.cassandra.io.compress.LZ4Compressor"),
            ]),
            memtable: "default".into(),
            crc_check_chance: 1.0,
            default_time_to_live: 0,
            extensions: BTreeMap::new(),
            gc_grace_seconds: 864_000,
            incremental_backups: true,
            max_index_interval: 2048,
            memtable_flush_period_in_ms: 0,
            min_index_interval: 128,
            read_repair: "BLOCKING".into(),
            speculative_retry: "99p".into(),
        }
    }
}
