//! What a batch weighs in Cassandra's bytes: clients are warned with that number.
//!
//! Source: Cassandra 5.0, `PartitionUpdate.dataSize` and what it sums.

use helenus_data::{Cell, CellPath, Clustering, ColumnData, Partition, Row};

const TIMESTAMP: usize = 8;
const DELETION_TIME: usize = 12;
/// A deletion time and whether it is shadowable.
const ROW_DELETION: usize = DELETION_TIME + 1;
/// Timestamp, ttl and local deletion time of a cell.
const CELL_HEAD: usize = TIMESTAMP + 4 + 8;
/// Ttl and expiry of an expiring row.
const EXPIRY: usize = 4 + 8;

#[must_use]
pub fn data_bytes(partition: &Partition) -> usize {
    let static_row = partition.static_row.as_deref().map_or(TIMESTAMP + ROW_DELETION, row_bytes);
    let rows: usize = partition.rows.iter().map(row_bytes).sum();
    let ranges: usize = partition
        .range_tombstones
        .iter()
        .map(|tombstone| {
            let bound = |bound: &helenus_data::Bound| bound.values().map(<[u8]>::len).sum::<usize>();
            bound(&tombstone.slice.start) + bound(&tombstone.slice.end) + TIMESTAMP + 4
        })
        .sum();
    let ranges = if partition.range_tombstones.is_empty() { 0 } else { 4 + ranges };
    rows + static_row + TIMESTAMP + ranges
}

fn row_bytes(row: &Row) -> usize {
    let liveness = TIMESTAMP + if row.liveness.ttl.is_some() { EXPIRY } else { 0 };
    clustering_bytes(&row.clustering)
        + liveness
        + ROW_DELETION
        + row.columns.iter().map(|c| column_bytes(&c.data)).sum::<usize>()
}

fn clustering_bytes(clustering: &Clustering) -> usize {
    clustering.values().map(<[u8]>::len).sum()
}

fn column_bytes(data: &ColumnData) -> usize {
    match data {
        ColumnData::Simple(cell) => cell_bytes(cell, None),
        ColumnData::Complex(complex) => {
            DELETION_TIME + complex.cells.iter().map(|(path, cell)| cell_bytes(cell, Some(path))).sum::<usize>()
        }
    }
}

fn cell_bytes(cell: &Cell, path: Option<&CellPath>) -> usize {
    CELL_HEAD + cell.value.len() + path.map_or(0, |path| path.raw().len())
}
