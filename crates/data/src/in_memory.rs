//! Answers a read command from partitions in memory: virtual tables and projections of the metadata.

use std::collections::BTreeMap;

use crate::key::{PartitionKey, Slice};
use crate::merge::{MergeStep, Merger, merge_headers};
use crate::partition::Partition;
use crate::read::{Flow, ReadCommand, ReadPosition, ReadResult, ReadTarget, RowCollector};
use crate::reconcile::CellRule;
use crate::unfiltered::{Direction, PartitionHeader};

/// Evaluates `command` over `partitions`.
#[must_use]
pub fn read(partitions: &BTreeMap<PartitionKey, Partition>, command: &ReadCommand) -> ReadResult {
    let mut collector = RowCollector::new(command);
    match &command.target {
        ReadTarget::Partition(key) => {
            if let Some(partition) = partitions.get(key) {
                collect(partition, command, &mut collector);
            }
        }
        ReadTarget::Range(range) => {
            for partition in partitions.values().filter(|partition| range.contains(&partition.key)) {
                if !is_done_with(command.resume.as_ref(), &partition.key)
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
#[must_use]
pub fn is_done_with(resume: Option<&ReadPosition>, key: &PartitionKey) -> bool {
    resume.is_some_and(|position| match key.cmp(&position.key) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => position.after.is_none(),
        std::cmp::Ordering::Greater => false,
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
            merger.feed(0, partition.unfiltered(&slice, command.direction, usize::MAX).items);
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
