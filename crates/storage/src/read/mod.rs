//! Read path: from a read command to live rows, over memtables and files of one shard.
//!
//! Invariants
//! - One read sees one [`View`], whatever is flushed or compacted meanwhile.
//! - A read of one partition sees each mutation whole or not at all: header and first batch of a memtable are taken in one
//!   step, and when the partition changed before the next batch the read begins anew, at last with a copy. Exempt is a
//!   partition of more than [`COPY_ROWS_MAX`] rows in a memtable that is written all the time. Range reads promise that
//!   for a partition's first batch only, as Cassandra promises nothing across partitions.
//! - The deadline is looked at, and others may run, after every few batches.

mod merged_rows;
mod source;
mod walk;

use std::rc::Rc;

use helenus_data::in_memory::slices_left;
use helenus_data::merge::merge_headers;
use helenus_data::read::{
    Flow, KeyRange, ReadCommand, ReadPosition, ReadResult, ReadTarget, RingPosition, RowCollector,
};
use helenus_data::{ColumnData, DeletionTime, PartitionHeader, PartitionKey, Row, Side, Slice, Unfiltered};
use helenus_env::SchedulingGroup;
use helenus_schema::Table;

use crate::context::RequestContext;
use crate::error::StorageError;
use crate::memtable::Memtable;
use crate::shard::Shard;
use crate::table::{TableStore, View, cut_dropped_columns};

pub(crate) use merged_rows::{MergedRows, MergedStep};
pub(crate) use source::Source;
pub(crate) use walk::Walk;

/// So often a read of one partition begins anew because it changed; then it works on a copy.
const ATTEMPTS_BEFORE_COPY: u32 = 3;

/// A copy of so many rows takes about a millisecond.
const COPY_ROWS_MAX: usize = 4_096;

/// How a read of one partition keeps other writes out of its sight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Isolation {
    /// Looks whether something changed.
    Check,
    /// Copies what memtables have, if it is not too large.
    Copy,
}

/// One partition's sources, and what is known of the partition before its rows.
struct Found {
    header: PartitionHeader,
    sources: Vec<Source>,
    files_read: u64,
}

/// What a read needs all the way down.
struct Reading<'r> {
    shard: &'r Shard,
    store: &'r TableStore,
    table: &'r Table,
    context: &'r RequestContext,
    command: &'r ReadCommand,
    tombstones: u64,
    live_rows: u64,
    /// A mutation came in between: what was collected does not count.
    has_changed: bool,
}

/// Evaluates a read command.
pub(crate) async fn read(
    shard: &Shard,
    context: &RequestContext,
    command: &ReadCommand,
) -> Result<ReadResult, StorageError> {
    let store = shard.table(command.table)?;
    let table = store.schema();
    let started = shard.env.monotonic();
    context.check_deadline(&shard.env).inspect_err(|_| shard.expired_count.set(shard.expired_count.get() + 1))?;
    let (tombstones, live_rows, has_changed) = (0, 0, false);
    let mut reading =
        Reading { shard, store: &store, table: &table, context, command, tombstones, live_rows, has_changed };
    let outcome = match &command.target {
        ReadTarget::Partition(key) => {
            context.trace.record(&shard.env, || format!("Executing single-partition query on {}", table.name));
            reading.partition(key).await
        }
        ReadTarget::Range(range) => {
            context.trace.record(&shard.env, || format!("Executing seq scan on {}", table.full_name()));
            reading.range(range).await
        }
    };
    let took = shard.env.monotonic() - started;
    let mut stats = store.stats_mut();
    stats.reads += 1;
    match &command.target {
        ReadTarget::Partition(_) => stats.read_latency_micros.record_micros(took),
        ReadTarget::Range(_) => stats.range_latency_micros.record_micros(took),
    }
    match &outcome {
        Ok(result) => {
            stats.tombstones_per_read.record(result.stats.tombstones);
            stats.live_rows_per_read.record(result.stats.live_rows);
            stats.tombstone_warnings += u64::from(shard.config.tombstone_warn_threshold < result.stats.tombstones);
            context.trace.record(&shard.env, || {
                let counts = result.stats;
                format!("Read {} live rows and {} tombstone cells", counts.live_rows, counts.tombstones)
            });
        }
        Err(StorageError::TooManyTombstones { .. }) => stats.tombstone_failures += 1,
        Err(_) => {}
    }
    outcome
}

impl Reading<'_> {
    async fn partition(&mut self, key: &PartitionKey) -> Result<ReadResult, StorageError> {
        let slices = slices_left(self.command, key);
        let mut attempts = 0;
        loop {
            let mut collector = RowCollector::new(self.command);
            let view = self.store.view();
            let isolation = if attempts < ATTEMPTS_BEFORE_COPY { Isolation::Check } else { Isolation::Copy };
            if let Some(found) = self.find(&view, key, &slices, isolation).await? {
                self.store.stats_mut().sstables_per_read.record(found.files_read);
                self.collect(found, &slices, &mut collector).await?;
            }
            if !std::mem::take(&mut self.has_changed) {
                return Ok(collector.finish());
            }
            attempts += 1;
            (self.tombstones, self.live_rows) = (0, 0);
            self.pause().await?;
        }
    }

    async fn range(&mut self, range: &KeyRange) -> Result<ReadResult, StorageError> {
        let mut collector = RowCollector::new(self.command);
        let range = rest_of(range, self.command.resume.as_ref());
        let view = self.store.view();
        let (memtables, shard_count) = (view.memtables(), self.shard.shard_count);
        let mut walk = Walk::start(range, &memtables, &view.files, self.shard.id.number(), shard_count).await?;
        let mut partitions = 0u32;
        while let Some((key, sources)) = walk.next().await? {
            let headers = sources.iter().filter_map(Source::header);
            let header = merge_headers(headers, self.table.cell_rule());
            let Some(header) = header else { continue };
            let slices = slices_left(self.command, &key);
            let found = Found { header, sources, files_read: 0 };
            if self.collect(found, &slices, &mut collector).await? == Flow::Stop {
                break;
            }
            partitions += 1;
            if partitions.is_multiple_of(8) {
                self.pause().await?;
            }
        }
        Ok(collector.finish())
    }

    /// Looks a partition up in memtables and, newest first, files.
    async fn find(
        &self,
        view: &View,
        key: &PartitionKey,
        slices: &[Slice],
        isolation: Isolation,
    ) -> Result<Option<Found>, StorageError> {
        let want_static = self.table.has_statics();
        let mut files: Vec<Source> = Vec::new();
        let in_memory = view.memtables().iter().filter_map(|memtable| memtable.deletion(key)).collect::<Vec<_>>();
        let mut deletion = in_memory.into_iter().fold(DeletionTime::LIVE, DeletionTime::max);
        let mut files_read = 0;
        let (mut negatives, mut false_positives) = (0, 0);
        for file in &view.files {
            if !deletion.is_live() && file.timestamp_max() < deletion.timestamp {
                break; // This file and all after it are older than the partition's deletion.
            }
            if !file.may_contain(key) {
                negatives += 1;
                continue;
            }
            if !want_static && !file.may_hold(slices) {
                continue;
            }
            match file.partition(key, want_static).await? {
                None => false_positives += 1,
                Some(cursor) => {
                    files_read += 1;
                    deletion = deletion.max(cursor.header().deletion);
                    files.push(Source::File(Box::new(cursor)));
                }
            }
        }
        // From here to the first batch nobody else runs.
        let mut sources: Vec<Source> =
            view.memtables().into_iter().filter_map(|memtable| in_memtable(memtable, key, isolation)).collect();
        sources.extend(files);
        let mut stats = self.store.stats_mut();
        stats.bloom_filter_negatives += negatives;
        stats.bloom_filter_false_positives += false_positives;
        stats.bloom_filter_true_positives += files_read;
        drop(stats);
        self.context.trace.record(&self.shard.env, || {
            let memtables = sources.len() as u64 - files_read;
            format!("Merged data from {memtables} memtables and {files_read} sstables")
        });
        let headers: Vec<PartitionHeader> = sources.iter().filter_map(Source::header).collect();
        let header = merge_headers(headers, self.table.cell_rule());
        Ok(header.map(|header| Found { header, sources, files_read }))
    }

    async fn collect(
        &mut self,
        found: Found,
        slices: &[Slice],
        collector: &mut RowCollector<'_>,
    ) -> Result<Flow, StorageError> {
        let Found { mut header, mut sources, .. } = found;
        let deletion = header.deletion;
        if let Some(row) = &mut header.static_row {
            cut_dropped_columns(row, self.table);
            self.tombstones += tombstones_in(row, self.command.now_secs);
        }
        self.tombstones += u64::from(!deletion.is_live());
        if collector.start_partition(header) == Flow::Continue {
            for slice in slices {
                let flow = self.collect_slice(slice, deletion, &mut sources, collector).await?;
                if flow != Flow::Continue {
                    break;
                }
            }
        }
        Ok(collector.end_partition())
    }

    async fn collect_slice(
        &mut self,
        slice: &Slice,
        deletion: DeletionTime,
        sources: &mut [Source],
        collector: &mut RowCollector<'_>,
    ) -> Result<Flow, StorageError> {
        let first_rows = self.command.limits.rows.min(self.command.limits.rows_per_partition).min(64);
        let first_rows = usize::try_from(first_rows).unwrap_or(64);
        let rule = self.table.cell_rule();
        let mut rows = MergedRows::new(sources, slice, deletion, self.command.direction, rule, first_rows);
        loop {
            let mut item = match rows.next().await? {
                MergedStep::Item(item) => item,
                MergedStep::Pause => {
                    self.pause().await?;
                    continue;
                }
                MergedStep::Changed => {
                    self.has_changed = true;
                    return Ok(Flow::Stop);
                }
                MergedStep::Done => return Ok(Flow::Continue),
            };
            match &mut item {
                Unfiltered::Marker(_) => self.tombstones += 1,
                Unfiltered::Row(row) => {
                    cut_dropped_columns(row, self.table);
                    self.tombstones += tombstones_in(row, self.command.now_secs);
                    self.live_rows += u64::from(row.has_live_data(self.command.now_secs));
                }
            }
            self.check_tombstones()?;
            let flow = collector.push(item);
            if flow != Flow::Continue {
                return Ok(flow);
            }
        }
    }

    fn check_tombstones(&self) -> Result<(), StorageError> {
        let threshold = self.shard.config.tombstone_failure_threshold;
        if self.tombstones <= threshold {
            return Ok(());
        }
        Err(StorageError::TooManyTombstones {
            table: self.table.full_name(),
            tombstones: self.tombstones,
            live_rows: self.live_rows,
            threshold,
        })
    }

    async fn pause(&self) -> Result<(), StorageError> {
        self.context.group.pace(&self.shard.env).await;
        let checked = self.context.check_deadline(&self.shard.env);
        checked.inspect_err(|_| self.shard.expired_count.set(self.shard.expired_count.get() + 1))
    }
}

/// A memtable's part of a partition, if it has one.
fn in_memtable(memtable: Rc<Memtable>, key: &PartitionKey, isolation: Isolation) -> Option<Source> {
    let changes = memtable.changes(key);
    if changes == 0 {
        return None;
    }
    Some(match isolation {
        Isolation::Check => Source::Memtable { memtable, key: key.clone(), changes: Some(changes) },
        Isolation::Copy => match memtable.copy(key, COPY_ROWS_MAX) {
            Some(partition) => Source::Copy(Box::new(partition)),
            None => Source::Memtable { memtable, key: key.clone(), changes: None },
        },
    })
}

/// What is left of a range after an earlier page.
fn rest_of(range: &KeyRange, resume: Option<&ReadPosition>) -> KeyRange {
    let mut rest = range.clone();
    if let Some(position) = resume {
        let side = if position.after.is_some() { Side::Before } else { Side::After };
        rest.start = rest.start.max(RingPosition::beside_key(&position.key, side));
    }
    rest
}

/// Tombstones and expired cells of a row, as the collector counts them.
fn tombstones_in(row: &Row, now_secs: i64) -> u64 {
    let dead = row.columns.iter().map(|column| match &column.data {
        ColumnData::Simple(cell) => u64::from(!cell.is_live(now_secs)),
        ColumnData::Complex(complex) => complex.cells.iter().filter(|(_, cell)| !cell.is_live(now_secs)).count() as u64,
    });
    u64::from(!row.deletion.is_live()) + dead.sum::<u64>()
}

/// The value of one cell in one partition, with everything that deletes it applied; for counters.
pub(crate) async fn read_row(
    shard: &Shard,
    store: &Rc<TableStore>,
    key: &PartitionKey,
    slice: Option<&Slice>,
) -> Result<Option<Row>, StorageError> {
    let view = store.view();
    let table = store.schema();
    let rule = table.cell_rule();
    let mut sources = Vec::new();
    for memtable in view.memtables() {
        if memtable.contains(key) {
            sources.push(Source::Memtable { memtable, key: key.clone(), changes: None });
        }
    }
    for file in view.files.iter().filter(|file| file.may_contain(key)) {
        if let Some(cursor) = file.partition(key, slice.is_none()).await? {
            sources.push(Source::File(Box::new(cursor)));
        }
    }
    shard.env.yield_now().await;
    let Some(header) = merge_headers(sources.iter().filter_map(Source::header).collect::<Vec<_>>(), rule) else {
        return Ok(None);
    };
    let Some(slice) = slice else { return Ok(header.static_row) };
    let mut rows = MergedRows::new(&mut sources, slice, header.deletion, helenus_data::Direction::Forward, rule, 1);
    loop {
        match rows.next().await? {
            MergedStep::Item(Unfiltered::Row(row)) => return Ok(Some(row)),
            MergedStep::Item(Unfiltered::Marker(_)) => {}
            MergedStep::Changed => unreachable!("its sources are not watched"),
            MergedStep::Pause => SchedulingGroup::Statement.pace(&shard.env).await,
            MergedStep::Done => return Ok(None),
        }
    }
}
