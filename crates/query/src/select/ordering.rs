//! ORDER BY: the reading direction, or sorting afterwards when several partitions were asked for.

use std::cmp::Ordering;

use helenus_cql::{Ordering as RawOrdering, OrderingKey};
use helenus_data::Direction;
use helenus_schema::{Column, ColumnKind, Table};

use crate::error::{Result, ensure, invalid};
use crate::restrictions::{Restrictions, existing_column};
use crate::select::input::FetchedColumn;

/// One entry of ORDER BY.
pub struct OrderedColumn {
    pub column: Column,
    pub descending: bool,
}

/// Columns of ORDER BY, a repeated one with its last direction; the column of ANN OF apart.
///
/// # Errors
/// Unknown columns, more than one ANN ordering or one beside others.
pub fn prepare_orderings(table: &Table, raws: &[RawOrdering]) -> Result<(Vec<OrderedColumn>, Option<Column>)> {
    let mut ordered: Vec<OrderedColumn> = Vec::new();
    let mut nearest = Vec::new();
    for raw in raws {
        match &raw.key {
            OrderingKey::Column(name) => {
                let column = existing_column(table, name)?.clone();
                match ordered.iter_mut().find(|known| known.column.id == column.id) {
                    Some(known) => known.descending = raw.descending,
                    None => ordered.push(OrderedColumn { column, descending: raw.descending }),
                }
            }
            OrderingKey::NearestNeighbours { column, .. } => {
                nearest.push((existing_column(table, column)?.clone(), raw.descending));
            }
        }
    }
    ensure!(nearest.len() < 2, "Cannot specify more than one ANN ordering");
    let Some((column, descending)) = nearest.pop() else { return Ok((ordered, None)) };
    ensure!(raws.len() == 1, "ANN ordering does not support any other ordering");
    ensure!(!descending, "Descending ANN ordering is not supported");
    Ok((ordered, Some(column)))
}

/// # Errors
/// Orders that the stored order cannot serve.
pub fn direction(table: &Table, ordered: &[OrderedColumn], restrictions: &Restrictions) -> Result<Direction> {
    let mut reversed: Option<bool> = None;
    let mut next = 0usize;
    let mut directions = Vec::with_capacity(ordered.len());
    for entry in ordered {
        let ColumnKind::Clustering { position, descending } = entry.column.kind else {
            return Err(invalid!(
                "Order by is currently only supported on the clustered columns of the PRIMARY KEY, got {}",
                entry.column.name
            ));
        };
        let position = usize::from(position);
        while next != position {
            let restricted =
                table.clustering().get(next).is_some_and(|column| restrictions.is_restricted_by_equal(column));
            ensure!(
                restricted,
                "Order by currently only supports the ordering of columns following their declared order in the PRIMARY KEY"
            );
            next += 1;
        }
        next += 1;
        directions.push((position, entry.descending != descending));
    }
    directions.sort_unstable();
    for (_, is_reversed) in directions {
        ensure!(reversed.is_none_or(|known| known == is_reversed), "Unsupported order by relation");
        reversed = Some(is_reversed);
    }
    Ok(if reversed == Some(true) { Direction::Reversed } else { Direction::Forward })
}

/// Sorting of rows of several partitions.
#[derive(Debug)]
pub struct PostOrdering {
    /// Indexes among the fetched columns.
    pub columns: Vec<usize>,
    pub direction: Direction,
}

impl PostOrdering {
    /// Compares the ordering columns' values of two rows; nulls come first.
    #[must_use]
    pub fn compare(&self, fetched: &[FetchedColumn], a: &[Option<Vec<u8>>], b: &[Option<Vec<u8>>]) -> Ordering {
        let mut order = Ordering::Equal;
        for (at, index) in self.columns.iter().enumerate() {
            let Some(column) = fetched.get(*index) else { continue };
            let value = |row: &'_ [Option<Vec<u8>>]| row.get(at).cloned().flatten();
            order = order.then_with(|| match (value(a), value(b)) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Less,
                (Some(_), None) => Ordering::Greater,
                (Some(a), Some(b)) => {
                    let order = column.ty.compare(&a, &b);
                    if column.is_descending() { order.reverse() } else { order }
                }
            });
        }
        match self.direction {
            Direction::Forward => order,
            Direction::Reversed => order.reverse(),
        }
    }
}
