//! Merge: k sorted streams of rows and markers of one partition become one, what deletions hide is left out.
//!
//! Role: the pure half of every read and compaction. Whoever owns the I/O feeds batches and obeys [`MergeStep`].
//!
//! Invariants
//! - Each input ascends in reading direction and closes every deletion that it opens.
//! - The output does too; a marker is emitted only where the winning deletion changes; rows come out reconciled and
//!   without what a range or the partition deletion hides.
//! - No more than one batch an input is held.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::deletion::DeletionTime;
use crate::reconcile::{self, CellRule};
use crate::row::Row;
use crate::unfiltered::{Direction, Marker, PartitionHeader, Unfiltered};

/// What the driver is to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum MergeStep {
    /// Call [`Merger::feed`] or [`Merger::finish`] for this input.
    NeedsInput(usize),
    Item(Unfiltered),
    Done,
}

#[derive(Default)]
struct Input {
    pending: VecDeque<Unfiltered>,
    finished: bool,
    open: DeletionTime,
}

impl Input {
    /// Whether its next step is not known yet. A marker that only ends may be a cut between two batches: the next batch
    /// then opens the same deletion again at the same position.
    fn is_starved(&self) -> bool {
        if self.finished || 1 < self.pending.len() {
            return false;
        }
        match self.pending.front() {
            Some(Unfiltered::Marker(marker)) => marker.begins.is_none(),
            Some(Unfiltered::Row(_)) => false,
            None => true,
        }
    }

    /// Takes the markers at `position`; what the last of them begins is open from there on.
    fn take_markers_at(&mut self, position: &[u8]) {
        while let Some(Unfiltered::Marker(marker)) = self.pending.pop_front_if(|head| head.order() == position) {
            self.open = marker.begins.unwrap_or(DeletionTime::LIVE);
        }
    }
}

pub struct Merger {
    inputs: Vec<Input>,
    partition_deletion: DeletionTime,
    direction: Direction,
    rule: CellRule,
    /// The deletion that the output has open.
    emitted: DeletionTime,
}

impl Merger {
    #[must_use]
    pub fn new(inputs: usize, partition_deletion: DeletionTime, direction: Direction, rule: CellRule) -> Self {
        let inputs = (0..inputs).map(|_| Input::default()).collect();
        Self { inputs, partition_deletion, direction, rule, emitted: DeletionTime::LIVE }
    }

    pub fn feed(&mut self, input: usize, batch: impl IntoIterator<Item = Unfiltered>) {
        self.inputs[input].pending.extend(batch);
    }

    /// No more comes from `input`.
    pub fn finish(&mut self, input: usize) {
        self.inputs[input].finished = true;
    }

    pub fn step(&mut self) -> MergeStep {
        loop {
            if let Some(starved) = self.inputs.iter().position(Input::is_starved) {
                return MergeStep::NeedsInput(starved);
            }
            let Some(first) = self.first() else { return MergeStep::Done };
            let item = match self.inputs[first].pending.front() {
                Some(Unfiltered::Row(_)) => self.merge_rows(first).map(Unfiltered::Row),
                _ => self.merge_markers(first).map(Unfiltered::Marker),
            };
            if let Some(item) = item {
                return MergeStep::Item(item);
            }
        }
    }

    /// The input whose head comes first; the lowest of those at the same position.
    fn first(&self) -> Option<usize> {
        let mut first: Option<(usize, &[u8])> = None;
        for (index, input) in self.inputs.iter().enumerate() {
            let Some(head) = input.pending.front() else { continue };
            let order = head.order();
            if first.is_none_or(|(_, best)| self.direction.compare(order, best) == Ordering::Less) {
                first = Some((index, order));
            }
        }
        first.map(|(index, _)| index)
    }

    fn merge_rows(&mut self, first: usize) -> Option<Row> {
        let Some(Unfiltered::Row(mut row)) = self.inputs[first].pending.pop_front() else { return None };
        let outer = self.partition_deletion.max(self.emitted);
        let hides = match self.rule {
            CellRule::Regular => outer,
            CellRule::Counter => self.rows_at(first + 1, &row).fold(outer, |hides, other| hides.max(other.deletion)),
        };
        for input in &mut self.inputs[first + 1..] {
            let same = input.pending.front().is_some_and(|head| head.order() == row.clustering.order());
            if same && let Some(Unfiltered::Row(other)) = input.pending.pop_front() {
                reconcile::merge_row(&mut row, other, hides, self.rule);
            }
        }
        reconcile::shadow_row(&mut row, outer);
        (!row.is_empty()).then_some(row)
    }

    /// The other inputs' versions of `row`.
    fn rows_at<'m>(&'m self, from: usize, row: &'m Row) -> impl Iterator<Item = &'m Row> {
        self.inputs[from..].iter().filter_map(|input| match input.pending.front() {
            Some(Unfiltered::Row(other)) if other.clustering == row.clustering => Some(other),
            _ => None,
        })
    }

    fn merge_markers(&mut self, first: usize) -> Option<Marker> {
        let Some(Unfiltered::Marker(marker)) = self.inputs[first].pending.front() else { return None };
        let position = marker.position.clone();
        self.inputs[first..].iter_mut().for_each(|input| input.take_markers_at(position.order()));
        let open = self.inputs.iter().fold(DeletionTime::LIVE, |open, input| open.max(input.open));
        let winner = if open.supersedes(&self.partition_deletion) { open } else { DeletionTime::LIVE };
        let before = std::mem::replace(&mut self.emitted, winner);
        let present = |deletion: DeletionTime| (!deletion.is_live()).then_some(deletion);
        (before != winner).then(|| Marker { position, ends: present(before), begins: present(winner) })
    }
}

/// Merges the headers of the same partition from several sources; `None` without any.
#[must_use]
pub fn merge_headers(headers: impl IntoIterator<Item = PartitionHeader>, rule: CellRule) -> Option<PartitionHeader> {
    let headers: Vec<PartitionHeader> = headers.into_iter().collect();
    let deletion = headers.iter().fold(DeletionTime::LIVE, |deletion, header| deletion.max(header.deletion));
    let static_rows = headers.iter().filter_map(|header| header.static_row.as_ref());
    let hides = static_rows.fold(deletion, |hides, row| hides.max(row.deletion));
    let mut headers = headers.into_iter();
    let mut merged = PartitionHeader { deletion, ..headers.next()? };
    for header in headers {
        match (&mut merged.static_row, header.static_row) {
            (Some(existing), Some(row)) => {
                reconcile::merge_row(existing, row, hides, rule);
            }
            (into @ None, row) => *into = row,
            (Some(_), None) => {}
        }
    }
    if let Some(row) = &mut merged.static_row {
        reconcile::shadow_row(row, merged.deletion);
    }
    merged.static_row = merged.static_row.filter(|row| !row.is_empty());
    Some(merged)
}

#[cfg(test)]
mod tests;
