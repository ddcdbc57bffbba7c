//! Counter increments: this node's share of a counter is read, added to, and written as a context.
//!
//! The caller holds the partition's lock from the read to the end of the write. The clock of the node's share rises with
//! each increment, so that replicas keep the latest; it is the wall clock's microseconds where that is ahead, so that a
//! count which begins anew after a deletion is later than what was deleted.
//!
//! Source: Cassandra 5.0, `db.CounterMutation`.

use std::rc::Rc;

use helenus_data::{Cell, ColumnData, Mutation, Partition, Row, Side, Slice, counter};

use crate::error::StorageError;
use crate::read::read_row;
use crate::shard::Shard;
use crate::table::TableStore;

/// The mutation with contexts instead of deltas. Tombstones and deletions pass as they are.
pub(crate) async fn resolve(
    shard: &Shard,
    store: &Rc<TableStore>,
    mutation: Mutation,
) -> Result<Mutation, StorageError> {
    let table = store.schema();
    if !table.is_counter() {
        return Err(StorageError::Invalid(format!("{} has no counters", table.full_name())));
    }
    let Mutation { table: id, schema_epoch, partition } = mutation;
    let mut resolved = Partition::new(partition.key.clone());
    resolved.deletion = partition.deletion;
    resolved.range_tombstones = partition.range_tombstones.clone();
    if let Some(row) = &partition.static_row {
        let current = read_row(shard, store, &partition.key, None).await?;
        *resolved.static_row_mut() = add(shard, row, current.as_ref())?;
    }
    for row in partition.rows.iter() {
        let slice = Slice { start: row.clustering.as_bound(Side::Before), end: row.clustering.as_bound(Side::After) };
        let current = read_row(shard, store, &partition.key, Some(&slice)).await?;
        *resolved.row_mut(&row.clustering) = add(shard, row, current.as_ref())?;
    }
    Ok(Mutation { table: id, schema_epoch, partition: resolved })
}

fn add(shard: &Shard, deltas: &Row, current: Option<&Row>) -> Result<Row, StorageError> {
    let mut row = deltas.clone();
    for column in &mut row.columns {
        let ColumnData::Simple(cell) = &mut column.data else {
            return Err(StorageError::Invalid("a counter is never part of a collection".to_owned()));
        };
        if cell.is_tombstone() {
            continue;
        }
        let delta = <[u8; 8]>::try_from(&*cell.value).map(i64::from_be_bytes);
        let delta = delta.map_err(|_| StorageError::Invalid("a counter increment has eight bytes".to_owned()))?;
        let id = shard.config.counter_id;
        let existing = current.and_then(|row| row.cell(column.id)).filter(|cell| !cell.is_tombstone());
        let (clock, count) = existing.and_then(|cell| counter::shard_of(&cell.value, &id)).unwrap_or((0, 0));
        let clock = shard.env.wall_micros().max(clock.saturating_add(1));
        let context = counter::global_context(id, clock, count.wrapping_add(delta));
        *cell = Cell::live(cell.timestamp, context);
    }
    Ok(row)
}
