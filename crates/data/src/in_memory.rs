//! Answers a read command from partitions in memory: virtual tables and projections of the metadata.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use helenus_types::composite;

use crate::key::{PartitionKey, Slice};
use crate::merge::{MergeStep, Merger, merge_headers};
use crate::partition::Partition;
use crate::read::{Flow, ReadCommand, ReadPosition, ReadResult, ReadTarget, RowCollector};
use crate::reconcile::CellRule;
use crate::unfiltered::{Direction, PartitionHeader};

/// In which order a range read meets the partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// By token, as all stored tables.
    Token,
    /// By the bytes of so many key columns, as Cassandra's virtual tables (their partitioner is local).
    Columns(usize),
}

impl KeyOrder {
    fn compare(self, left: &PartitionKey, right: &PartitionKey) -> Ordering {
        match self {
            KeyOrder::Token => left.cmp(right),
            KeyOrder::Columns(count) => {
                let columns = |key: &PartitionKey| -> Option<Vec<Vec<u8>>> {
                    let columns = composite::split_partition_key(key.bytes(), count).ok()?;
                    Some(columns.iter().map(|column| column.to_vec()).collect())
                };
                columns(left).cmp(&columns(right))
            }
        }
    }
}

/// Evaluates `command` over `partitions`.
#[must_use]
pub fn read(partitions: &BTreeMap<PartitionKey, Partition>, command: &ReadCommand, order: KeyOrder) -> ReadResult {
    let mut collector = RowCollector::new(command);
    match &command.target {
        ReadTarget::Partition(key) => {
            if let Some(partition) = partitions.get(key) {
                collect(partition, command, &mut collector);
            }
        }
        ReadTarget::Range(range) => {
            let mut wanted: Vec<&Partition> =
                partitions.values().filter(|partition| range.contains(&partition.key)).collect();
            wanted.sort_by(|a, b| order.compare(&a.key, &b.key));
            for partition in wanted {
                if !is_done_with(command.resume.as_ref(), &partition.key, order)
                    && collect(partition, command, &mut collector) == Flow::Stop
                {
                    break;
                }
            }
        }
    }
    collector.finish()
}

/// Whether the page before ended after `key`.
fn is_done_with(resume: Option<&ReadPosition>, key: &PartitionKey, order: KeyOrder) -> bool {
    resume.is_some_and(|position| match order.compare(key, &position.key) {
        Ordering::Less => true,
        Ordering::Equal => position.after.is_none(),
        Ordering::Greater => false,
    })
}

fn collect(partition: &Partition, command: &ReadCommand, collector: &mut RowCollector<'_>) -> Flow {
    let header = PartitionHeader {
        key: partition.key.clone(),
        deletion: partition.deletion,
        static_row: partition.static_row.as_deref().cloned(),
    };
    let Some(header) = merge_headers([header], CellRule::Regular) else { return Flow::Continue };
    if collector.start_partition(header) == Flow::Continue {
        for slice in slices_left(command, &partition.key) {
            let mut merger = Merger::new(1, partition.deletion, command.direction, CellRule::Regular);
            let mut rest = Some(slice);
            while let Some(slice) = rest {
                let batch = partition.unfiltered(&slice, command.direction, usize::MAX);
                merger.feed(0, batch.items);
                rest = batch.resume;
            }
            merger.finish(0);
            while let MergeStep::Item(item) = merger.step() {
                match collector.push(item) {
                    Flow::Continue => {}
                    Flow::NextPartition | Flow::Stop => return collector.end_partition(),
                }
            }
        }
    }
    collector.end_partition()
}

/// The command's slices of partition `key` in reading order, without what earlier pages answered.
#[must_use]
pub fn slices_left(command: &ReadCommand, key: &PartitionKey) -> Vec<Slice> {
    let resume = command.resume.as_ref().filter(|position| position.key == *key);
    let mut slices = command.slices.clone();
    if let Some(position) = resume {
        let Some(after) = &position.after else { return Vec::new() };
        for slice in &mut slices {
            match command.direction {
                Direction::Forward => slice.start = slice.start.clone().max(after.clone()),
                Direction::Reversed => slice.end = slice.end.clone().min(after.clone()),
            }
        }
        slices.retain(|slice| !slice.is_empty());
    }
    if command.direction == Direction::Reversed {
        slices.reverse();
    }
    slices
}

#[cfg(test)]
mod tests {
    use helenus_types::CqlType;
    use uuid::Uuid;

    use super::*;
    use crate::key::{ClusteringType, ClusteringTypes};
    use crate::read::{ColumnSelection, KeyRange, ReadLimits, RowFilter, TableId};
    use crate::{Blob, Cell, ColumnId};

    const COLUMN: ColumnId = ColumnId(1);
    const STATIC: ColumnId = ColumnId(2);

    fn types() -> ClusteringTypes {
        ClusteringTypes::new(vec![ClusteringType { ty: CqlType::Int, descending: false }])
    }

    /// Partitions `a`, `b`, `c`, … with the given clusterings each; `None` for a partition that has a static row only.
    fn data(partitions: &[(&str, &[i32])]) -> BTreeMap<PartitionKey, Partition> {
        partitions
            .iter()
            .map(|(name, rows)| {
                let key = PartitionKey::new(name.as_bytes());
                let mut partition = Partition::new(key.clone());
                partition.static_row_mut().add_cell(STATIC, Cell::live(1, Blob::from(name.as_bytes())));
                for row in *rows {
                    let clustering = types().clustering(&[row.to_be_bytes()]);
                    partition.row_mut(&clustering).add_cell(COLUMN, Cell::live(1, Blob::from([1])));
                }
                (key, partition)
            })
            .collect()
    }

    fn command(direction: Direction, limits: ReadLimits) -> ReadCommand {
        ReadCommand {
            table: TableId(Uuid::from_u128(1)),
            target: ReadTarget::Range(KeyRange::all()),
            slices: vec![Slice::all()],
            direction,
            columns: ColumnSelection::All,
            filter: RowFilter::default(),
            limits,
            now_secs: 100,
            resume: None,
        }
    }

    fn rows(result: &ReadResult) -> Vec<(String, Option<i32>)> {
        let mut all = Vec::new();
        for partition in &result.partitions {
            let name = String::from_utf8_lossy(partition.key.bytes()).into_owned();
            if partition.rows.is_empty() {
                all.push((name.clone(), None));
            }
            for row in &partition.rows {
                let value = row.clustering.values().next().expect("one column");
                all.push((name.clone(), Some(i32::from_be_bytes(value.try_into().expect("an int")))));
            }
        }
        all
    }

    #[test]
    fn pages_of_any_size_add_up_to_the_whole_answer() {
        let data = data(&[("a", &[1, 2, 3]), ("b", &[]), ("c", &[5]), ("d", &[1, 2])]);
        for direction in [Direction::Forward, Direction::Reversed] {
            for per_partition in [1, 2, u64::MAX] {
                let whole = ReadLimits { rows_per_partition: per_partition, ..ReadLimits::NONE };
                let expected = rows(&read(&data, &command(direction, whole), KeyOrder::Token));
                for page_rows in 1..5 {
                    let mut command = command(direction, ReadLimits { rows: page_rows, ..whole });
                    let mut found = Vec::new();
                    loop {
                        let page = read(&data, &command, KeyOrder::Token);
                        assert!(page.row_count() <= page_rows);
                        found.extend(rows(&page));
                        command.resume = page.next;
                        if command.resume.is_none() {
                            break;
                        }
                    }
                    assert_eq!(found, expected, "pages of {page_rows}, {per_partition} a partition, {direction:?}");
                }
            }
        }
    }

    #[test]
    fn a_partition_with_a_static_row_only_counts_unless_the_clustering_is_restricted() {
        let data = data(&[("b", &[])]);
        let free = command(Direction::Forward, ReadLimits::NONE);
        assert_eq!(rows(&read(&data, &free, KeyOrder::Token)), [("b".to_owned(), None)]);
        let restricted = ReadLimits { static_only_counts: false, ..ReadLimits::NONE };
        assert!(rows(&read(&data, &command(Direction::Forward, restricted), KeyOrder::Token)).is_empty());
    }

    #[test]
    fn expired_and_deleted_cells_do_not_make_a_row_and_are_counted() {
        let mut data = data(&[("a", &[1, 2])]);
        let partition = data.values_mut().next().expect("one partition");
        let clustering = types().clustering(&[1i32.to_be_bytes()]);
        partition.row_mut(&clustering).add_cell(COLUMN, Cell::tombstone(2, 50));
        let result = read(&data, &command(Direction::Forward, ReadLimits::NONE), KeyOrder::Token);
        assert_eq!(rows(&result), [("a".to_owned(), Some(2))]);
        assert_eq!(result.stats.tombstones, 1);
    }
}
