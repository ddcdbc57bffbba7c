//! Reads: a partition from its shard, a token range as a merge by token of one resumable cursor a shard.

use std::collections::VecDeque;

use helenus_data::read::{PartitionRows, ReadCommand, ReadPosition, ReadResult, ReadStats, ReadTarget};
use helenus_data::{Direction, PartitionKey};
use helenus_data::{Row, Side};
use helenus_env::reply::reply;
use helenus_storage::RequestContext;

use crate::cluster::Cluster;
use crate::consistency::Consistency;
use crate::error::ClusterError;
use crate::metrics::{ClusterMetrics, Coordinated};
use crate::shard_port::ShardRequest;

impl Cluster {
    /// Answers `command` at the consistency level; rows stand in ring order.
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub async fn read(
        &self,
        context: &RequestContext,
        consistency: Consistency,
        command: ReadCommand,
    ) -> Result<ReadResult, ClusterError> {
        let is_computed = self.virtual_tables.contains(command.table);
        match &command.target {
            // What is computed of this node alone has no replicas.
            _ if is_computed && self.placement_of(command.table).is_err() => {}
            ReadTarget::Partition(key) => {
                self.check_available(consistency.of_agreement(), command.table, key.token())?;
            }
            ReadTarget::Range(_) => self.check_all_available(consistency, command.table)?,
        }
        if is_computed {
            return self.virtual_tables.read(self, context, &command).await;
        }
        let (started, table) = (self.env().monotonic(), command.table);
        let (kind, result) = match &command.target {
            ReadTarget::Partition(key) => {
                let shard = self.owner_of(key.token());
                (Coordinated::Read, self.read_on(shard, context, command).await)
            }
            ReadTarget::Range(_) if self.links.shard_count() == 1 => {
                (Coordinated::Scan, self.read_on(0, context, command).await)
            }
            ReadTarget::Range(_) => (Coordinated::Scan, self.read_range(context, command).await),
        };
        self.metrics.record(table, kind, self.env().monotonic() - started, &context.schema);
        result
    }

    async fn read_on(
        &self,
        shard: u32,
        context: &RequestContext,
        command: ReadCommand,
    ) -> Result<ReadResult, ClusterError> {
        if shard == self.shard.number() {
            ClusterMetrics::count(&self.metrics.local_requests);
            let reading = async { Ok(self.storage.read(context, &command).await?) };
            return self.until_deadline(context, reading).await;
        }
        let (reply_to, answer) = reply();
        let request = ShardRequest::Read { context: context.share(), command, reply: reply_to };
        self.ask(shard, context, request, answer).await
    }

    async fn read_range(&self, context: &RequestContext, command: ReadCommand) -> Result<ReadResult, ClusterError> {
        let shard_count = u64::from(self.links.shard_count());
        let mut merge = RangeMerge::new(&command, shard_count);
        // A shard holds about its share of the next rows; a little more spares most second rounds.
        let rows = command.limits.rows;
        let chunk_rows = if rows == u64::MAX { u64::MAX } else { rows / shard_count + rows / 8 + 1 };
        loop {
            let hungry = merge.hungry();
            if hungry.is_empty() {
                break;
            }
            // Started together, so that the shards work at the same time.
            let mut pending = Vec::new();
            for shard in hungry {
                let mut command = command.clone();
                command.limits.rows = chunk_rows.min(rows);
                command.resume = merge.resume_of(shard);
                pending.push((shard, self.start_read(shard, context, command).await?));
            }
            for (shard, reading) in pending {
                let result = match reading {
                    Reading::Here(command) => {
                        let reading = async { Ok(self.storage.read(context, &command).await?) };
                        self.until_deadline(context, reading).await?
                    }
                    Reading::There(answer) => {
                        let exchange = async {
                            answer
                                .recv()
                                .await
                                .map_err(|_| ClusterError::ShardGone { shard })?
                                .map_err(ClusterError::from)
                        };
                        self.until_deadline(context, exchange).await?
                    }
                };
                merge.feed(shard, result);
            }
            merge.advance();
        }
        Ok(merge.finish())
    }

    async fn start_read(
        &self,
        shard: u32,
        context: &RequestContext,
        command: ReadCommand,
    ) -> Result<Reading, ClusterError> {
        if shard == self.shard.number() {
            ClusterMetrics::count(&self.metrics.local_requests);
            return Ok(Reading::Here(Box::new(command)));
        }
        self.count_cross_shard(context);
        let (reply_to, answer) = reply();
        let request = ShardRequest::Read { context: context.share(), command, reply: reply_to };
        let sender = &self.links.senders[shard as usize];
        let sending = async { sender.send(request).await.map_err(|_| ClusterError::ShardGone { shard }) };
        self.until_deadline(context, sending).await?;
        Ok(Reading::There(answer))
    }
}

enum Reading {
    Here(Box<ReadCommand>),
    There(helenus_env::reply::Reply<Result<ReadResult, helenus_storage::StorageError>>),
}

/// Merges the shards' answers by key until the limit is met. Pure: the coordinator feeds it.
struct RangeMerge<'c> {
    command: &'c ReadCommand,
    cursors: Vec<Cursor>,
    answer: Vec<PartitionRows>,
    rows_left: u64,
    bytes: usize,
    next: Option<ReadPosition>,
    stats: ReadStats,
    last_key: Option<PartitionKey>,
    is_done: bool,
}

struct Cursor {
    buffered: VecDeque<PartitionRows>,
    /// Where to ask on; `None` once the shard has no more (or before the first question, with `asked` false).
    next: Option<ReadPosition>,
    asked: bool,
}

impl<'c> RangeMerge<'c> {
    fn new(command: &'c ReadCommand, shard_count: u64) -> Self {
        let cursors =
            (0..shard_count).map(|_| Cursor { buffered: VecDeque::new(), next: None, asked: false }).collect();
        Self {
            command,
            cursors,
            answer: Vec::new(),
            rows_left: command.limits.rows,
            bytes: 0,
            next: None,
            stats: ReadStats::default(),
            last_key: None,
            is_done: command.limits.rows == 0,
        }
    }

    /// The shards without whose next rows the merge cannot go on.
    fn hungry(&self) -> Vec<u32> {
        if self.is_done {
            return Vec::new();
        }
        (0u32..)
            .zip(&self.cursors)
            .filter(|(_, cursor)| cursor.buffered.is_empty() && (!cursor.asked || cursor.next.is_some()))
            .map(|(shard, _)| shard)
            .collect()
    }

    fn resume_of(&self, shard: u32) -> Option<ReadPosition> {
        let cursor = &self.cursors[shard as usize];
        if cursor.asked { cursor.next.clone() } else { self.command.resume.clone() }
    }

    fn feed(&mut self, shard: u32, result: ReadResult) {
        let cursor = &mut self.cursors[shard as usize];
        cursor.asked = true;
        cursor.buffered.extend(result.partitions);
        cursor.next = result.next;
        self.stats.live_rows += result.stats.live_rows;
        self.stats.tombstones += result.stats.tombstones;
        self.last_key = self.last_key.take().max(result.last_key);
    }

    /// Takes partitions in key order while every shard that may have more has shown its next one.
    fn advance(&mut self) {
        while !self.is_done && self.hungry().is_empty() {
            let first = self
                .cursors
                .iter_mut()
                .filter(|cursor| !cursor.buffered.is_empty())
                .min_by(|a, b| a.buffered[0].key.cmp(&b.buffered[0].key));
            let Some(cursor) = first else {
                self.is_done = true;
                return;
            };
            let Some(partition) = cursor.buffered.pop_front() else { return };
            self.take(partition);
        }
    }

    fn take(&mut self, mut partition: PartitionRows) {
        // A partition may come in two parts when its shard stopped inside it; both belong to one.
        let resumed_rows = self.resumed_rows(&partition);
        let continued = self.answer.last_mut().filter(|last| last.key == partition.key);
        let taken_before = resumed_rows + continued.as_ref().map_or(0, |last| last.rows.len() as u64);
        let row_count = partition.rows.len().max(1) as u64;
        let cut = self.rows_left < row_count;
        if cut {
            self.stats.live_rows = self.stats.live_rows.saturating_sub(row_count - self.rows_left);
            partition.rows.truncate(usize::try_from(self.rows_left).unwrap_or(usize::MAX));
        }
        self.rows_left -= row_count.min(self.rows_left);
        self.bytes += partition.rows.iter().map(|row| size_of::<Row>() + row.heap_bytes()).sum::<usize>();
        if self.rows_left == 0 || self.command.limits.bytes <= self.bytes {
            self.is_done = true;
            self.next = Some(position_after(&partition, taken_before, self.command.direction));
        }
        match continued {
            Some(last) => last.rows.append(&mut partition.rows),
            None => self.answer.push(partition),
        }
    }

    fn resumed_rows(&self, partition: &PartitionRows) -> u64 {
        let resume = self.command.resume.as_ref().filter(|position| position.key == partition.key);
        resume.map_or(0, |position| position.rows_in_partition)
    }

    fn finish(self) -> ReadResult {
        let mut stats = self.stats;
        // What shards read ahead is not part of this answer.
        let ahead = self.cursors.iter().flat_map(|cursor| &cursor.buffered);
        let ahead: u64 = ahead.map(|partition| partition.rows.len().max(1) as u64).sum();
        stats.live_rows = stats.live_rows.saturating_sub(ahead);
        ReadResult { partitions: self.answer, next: self.next, stats, last_key: self.last_key }
    }
}

fn position_after(partition: &PartitionRows, rows_before: u64, direction: Direction) -> ReadPosition {
    let edge = match direction {
        Direction::Forward => Side::After,
        Direction::Reversed => Side::Before,
    };
    ReadPosition {
        key: partition.key.clone(),
        after: partition.rows.last().map(|row| row.clustering.as_bound(edge)),
        rows_in_partition: rows_before + partition.rows.len() as u64,
    }
}
