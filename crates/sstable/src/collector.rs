//! Collects what `Statistics.db` says of a file while it is written.
//!
//! Source: Cassandra 5.0, `io.sstable.metadata.MetadataCollector`, `db.rows.Rows.collectStats`.

use helenus_data::{Cell, ColumnData, DeletionTime, Liveness, NEVER_SECS, PartitionHeader, Row, Unfiltered};

use crate::cardinality::Cardinality;
use crate::encoding_stats::ttl_secs;
use crate::histogram::EstimatedHistogram;
use crate::statistics::StoredStats;
use crate::tombstone_histogram::TombstoneHistogram;

/// Buckets of Cassandra's own histograms.
const PARTITION_BYTES_BUCKETS: usize = 155;
const PARTITION_CELLS_BUCKETS: usize = 118;

pub(crate) struct Collector {
    partition_bytes: EstimatedHistogram,
    partition_cells: EstimatedHistogram,
    cardinality: Cardinality,
    timestamps: Range<i64>,
    local_deletions: Range<u32>,
    ttls: Range<i32>,
    tombstones: TombstoneHistogram,
    columns_set: i64,
    rows: i64,
    cells_in_partition: u64,
    first: Edge,
    last: Edge,
    clustering_min: Edge,
    clustering_max: Edge,
}

/// Smallest and largest value seen.
struct Range<T>(Option<(T, T)>);

impl<T: Ord + Copy> Range<T> {
    fn add(&mut self, value: T) {
        self.0 = Some(self.0.map_or((value, value), |(min, max)| (min.min(value), max.max(value))));
    }

    fn or(&self, min: T, max: T) -> (T, T) {
        self.0.unwrap_or((min, max))
    }
}

/// Position and values of an item; the buffers are used again and again. An empty order is "none".
#[derive(Default)]
struct Edge {
    order: Vec<u8>,
    raw: Vec<u8>,
}

impl Edge {
    fn set(&mut self, order: &[u8], raw: &[u8]) {
        self.order.clear();
        self.order.extend_from_slice(order);
        self.raw.clear();
        self.raw.extend_from_slice(raw);
    }

    fn is_none(&self) -> bool {
        self.order.is_empty()
    }

    fn values(&self, values: impl FnOnce(&[u8]) -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        values(&self.raw)
    }
}

impl Collector {
    pub(crate) fn new() -> Self {
        Self {
            partition_bytes: EstimatedHistogram::new(PARTITION_BYTES_BUCKETS),
            partition_cells: EstimatedHistogram::new(PARTITION_CELLS_BUCKETS),
            cardinality: Cardinality::new(),
            timestamps: Range(None),
            local_deletions: Range(None),
            ttls: Range(None),
            tombstones: TombstoneHistogram::default(),
            columns_set: 0,
            rows: 0,
            cells_in_partition: 0,
            first: Edge::default(),
            last: Edge::default(),
            clustering_min: Edge::default(),
            clustering_max: Edge::default(),
        }
    }

    pub(crate) fn start_partition(&mut self, header: &PartitionHeader) {
        self.cardinality.add_key(header.key.bytes());
        self.add_deletion(header.deletion);
        if let Some(row) = &header.static_row {
            self.add_row(row);
        }
    }

    pub(crate) fn add(&mut self, item: &Unfiltered) {
        let (order, raw) = match item {
            Unfiltered::Row(row) => (row.clustering.order(), row.clustering.raw()),
            Unfiltered::Marker(marker) => (marker.position.order(), marker.position.raw()),
        };
        if self.first.is_none() {
            self.first.set(order, raw);
        }
        self.last.set(order, raw);
        match item {
            Unfiltered::Row(row) => self.add_row(row),
            Unfiltered::Marker(marker) => {
                marker.ends.iter().chain(&marker.begins).for_each(|deletion| self.add_deletion(*deletion));
            }
        }
    }

    pub(crate) fn end_partition(&mut self, partition_bytes: u64) {
        self.partition_bytes.add(partition_bytes);
        self.partition_cells.add(std::mem::take(&mut self.cells_in_partition));
        if !self.first.is_none() {
            if self.clustering_min.is_none() || self.first.order < self.clustering_min.order {
                std::mem::swap(&mut self.clustering_min, &mut self.first);
            }
            if self.clustering_max.order < self.last.order {
                std::mem::swap(&mut self.clustering_max, &mut self.last);
            }
        }
        self.first.order.clear();
        self.last.order.clear();
    }

    fn add_row(&mut self, row: &Row) {
        self.add_liveness(&row.liveness);
        self.add_deletion(row.deletion);
        for column in &row.columns {
            match &column.data {
                ColumnData::Simple(cell) => {
                    self.add_cell(cell);
                    self.columns_set += 1;
                }
                ColumnData::Complex(complex) => {
                    self.add_deletion(complex.deletion);
                    complex.cells.iter().for_each(|(_, cell)| self.add_cell(cell));
                    self.columns_set += i64::from(!complex.cells.is_empty());
                }
            }
        }
        self.rows += 1;
    }

    fn add_liveness(&mut self, liveness: &Liveness) {
        if liveness.is_none() {
            return;
        }
        self.timestamps.add(liveness.timestamp);
        self.ttls.add(liveness.ttl.map_or(0, ttl_secs));
        self.add_local_deletion(liveness.expires_secs);
    }

    fn add_deletion(&mut self, deletion: DeletionTime) {
        if !deletion.is_live() {
            self.timestamps.add(deletion.timestamp);
            self.add_local_deletion(deletion.local_secs);
        }
    }

    fn add_cell(&mut self, cell: &Cell) {
        self.cells_in_partition += 1;
        self.timestamps.add(cell.timestamp);
        self.ttls.add(cell.ttl.map_or(0, ttl_secs));
        self.add_local_deletion(cell.local_deletion_secs);
    }

    fn add_local_deletion(&mut self, secs: u32) {
        self.local_deletions.add(secs);
        if secs != NEVER_SECS {
            self.tombstones.add(secs);
        }
    }

    /// Stats and the cardinality sketch. What the collector cannot know is left at "none" for the writer to fill in.
    pub(crate) fn finish(mut self) -> (StoredStats, Vec<u8>) {
        self.tombstones.shrink();
        let mut cardinality = Vec::new();
        self.cardinality.put(&mut cardinality);
        let (timestamp_min, timestamp_max) = self.timestamps.or(i64::MIN, i64::MAX);
        let (local_deletion_min, local_deletion_max) = self.local_deletions.or(NEVER_SECS, NEVER_SECS);
        let (ttl_min, ttl_max) = self.ttls.or(0, 0);
        let values = |raw: &[u8]| split(raw);
        let stats = StoredStats {
            partition_bytes: self.partition_bytes,
            partition_cells: self.partition_cells,
            timestamp_min,
            timestamp_max,
            local_deletion_min,
            local_deletion_max,
            ttl_min,
            ttl_max,
            compression_ratio: NO_COMPRESSION_RATIO,
            tombstones: self.tombstones,
            level: 0,
            repaired_at: 0,
            clustering_min: self.clustering_min.values(values),
            clustering_max: self.clustering_max.values(values),
            has_legacy_counter_shards: false,
            columns_set: self.columns_set,
            rows: self.rows,
            pending_repair: None,
            is_transient: false,
            host_id: None,
        };
        (stats, cardinality)
    }
}

pub(crate) const NO_COMPRESSION_RATIO: f64 = -1.0;

/// The values of a raw clustering prefix.
fn split(raw: &[u8]) -> Vec<Vec<u8>> {
    let mut input = crate::input::Input::new(raw);
    std::iter::from_fn(|| if input.is_at_end() { None } else { input.u16_bytes().ok().map(<[u8]>::to_vec) }).collect()
}
