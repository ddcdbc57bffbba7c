//! Merged rows: the rows and markers of one slice of a partition from all of its sources, one after the other.
//!
//! Drives the pure [`Merger`] with batches. Batches close a deletion where they are cut and open it again; the pair
//! is joined here, so that what comes out has a marker only where the winning deletion changes.

use std::collections::VecDeque;

use helenus_data::merge::{MergeStep, Merger};
use helenus_data::{CellRule, DeletionTime, Direction, Marker, Slice, Unfiltered};

use crate::error::StorageError;
use crate::read::source::Source;

/// A batch grows to this many rows while a slice is read on: large enough to be rare, small enough for 1 ms.
const BATCH_ROWS_MAX: usize = 256;

/// After so many batches the driver is asked to let others run, whether anything of them was left to come out or not.
const BATCHES_BETWEEN_PAUSES: u32 = 4;

/// What the driver is to do.
pub(crate) enum MergedStep {
    Item(Unfiltered),
    /// Let others run, look at the clock, call again.
    Pause,
    /// A source has changed since its header was taken: what came so far may be half of a mutation.
    Changed,
    /// The slice is exhausted.
    Done,
}

pub(crate) struct MergedRows<'s> {
    sources: &'s mut [Source],
    /// What is left of the slice per source.
    rests: Vec<Option<Slice>>,
    merger: Merger,
    direction: Direction,
    batch_rows: usize,
    held: Option<Marker>,
    ready: VecDeque<Unfiltered>,
    is_done: bool,
    /// Batches that were fetched since the last pause.
    fetched: u32,
}

impl<'s> MergedRows<'s> {
    /// `first_rows` is how many rows the first batch of each source asks for.
    pub fn new(
        sources: &'s mut [Source],
        slice: &Slice,
        partition_deletion: DeletionTime,
        direction: Direction,
        rule: CellRule,
        first_rows: usize,
    ) -> Self {
        let merger = Merger::new(sources.len(), partition_deletion, direction, rule);
        Self {
            rests: vec![Some(slice.clone()); sources.len()],
            sources,
            merger,
            direction,
            batch_rows: first_rows.clamp(1, BATCH_ROWS_MAX),
            held: None,
            ready: VecDeque::new(),
            is_done: false,
            fetched: 0,
        }
    }

    pub async fn next(&mut self) -> Result<MergedStep, StorageError> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(MergedStep::Item(item));
            }
            if self.is_done {
                return Ok(MergedStep::Done);
            }
            if BATCHES_BETWEEN_PAUSES <= self.fetched {
                self.fetched = 0;
                return Ok(MergedStep::Pause);
            }
            match self.merger.step() {
                MergeStep::NeedsInput(index) if self.sources[index].has_changed() => return Ok(MergedStep::Changed),
                MergeStep::NeedsInput(index) => self.feed(index).await?,
                MergeStep::Item(Unfiltered::Row(row)) => {
                    self.ready.extend(self.held.take().map(Unfiltered::Marker));
                    self.ready.push_back(Unfiltered::Row(row));
                }
                MergeStep::Item(Unfiltered::Marker(marker)) => self.join(marker),
                MergeStep::Done => {
                    self.is_done = true;
                    self.ready.extend(self.held.take().map(Unfiltered::Marker));
                }
            }
        }
    }

    async fn feed(&mut self, index: usize) -> Result<(), StorageError> {
        let Some(slice) = self.rests[index].take() else {
            self.merger.finish(index);
            return Ok(());
        };
        let batch = self.sources[index].fill(&slice, self.direction, self.batch_rows).await?;
        self.batch_rows = (self.batch_rows * 2).min(BATCH_ROWS_MAX);
        self.fetched += 1;
        self.merger.feed(index, batch.items);
        self.rests[index] = batch.resume;
        if self.rests[index].is_none() {
            self.merger.finish(index);
        }
        Ok(())
    }

    fn join(&mut self, marker: Marker) {
        match self.held.take() {
            Some(held) if held.position == marker.position => {
                let joined = Marker { position: marker.position, ends: held.ends, begins: marker.begins };
                self.held = (joined.ends != joined.begins).then_some(joined);
            }
            before => {
                self.ready.extend(before.map(Unfiltered::Marker));
                self.held = Some(marker);
            }
        }
    }
}
