//! Compare and set: conditional writes, serialised per partition on the shard that owns it.
//!
//! With one replica the partition's lock stands where Paxos rounds will: read, decide, write with a timestamp above all
//! that was read, in one critical section.

use std::rc::Rc;
use std::time::Duration;

use helenus_data::Mutation;
use helenus_data::read::{ReadCommand, ReadResult, ReadTarget};
use helenus_data::{ColumnData, PartitionKey, Row, TableId};
use helenus_env::reply::{Reply, ReplyTo, reply};
use helenus_storage::RequestContext;
use helenus_types::token::Token;

use crate::cluster::Cluster;
use crate::consistency::Consistency;
use crate::error::ClusterError;
use crate::metrics::ClusterMetrics;
use crate::shard_port::ShardRequest;

/// What the statement makes of the current rows.
pub enum Decision<R> {
    /// The conditions hold: write this.
    Apply(Vec<Mutation>, R),
    /// They do not: nothing is written.
    Reject(R),
}

/// How a compare and set is agreed.
#[derive(Clone, Copy, Debug)]
pub struct CompareAndSet {
    /// The level of the agreement.
    pub serial: Consistency,
    /// That of the write.
    pub commit: Consistency,
    /// How long to wait for others of the partition.
    pub contention: Duration,
}

impl Cluster {
    /// Reads by `command` (one partition), asks `decide` with the rows and the timestamp that a write would carry, and
    /// writes what it answers.
    ///
    /// # Errors
    /// See [`ClusterError`], or what `decide` answers; after an error of `decide` nothing was written.
    pub async fn compare_and_set<R, E>(
        &self,
        context: &RequestContext,
        terms: CompareAndSet,
        command: ReadCommand,
        decide: impl FnOnce(&ReadResult, i64) -> Result<Decision<R>, E>,
    ) -> Result<R, E>
    where
        E: From<ClusterError>,
    {
        let CompareAndSet { serial, commit, contention } = terms;
        let table = command.table;
        let ReadTarget::Partition(key) = command.target.clone() else {
            return Err(E::from(ClusterError::UnknownTable));
        };
        self.check_available(serial.of_agreement(), table, key.token())?;
        let locking = self.lock_partition(context, table, &key);
        let lock = match self.env.timeout(contention, locking).await {
            Ok(lock) => lock?,
            Err(_) => {
                ClusterMetrics::count(&self.metrics.timeouts);
                let placement = self.placement_of(table)?;
                let required = serial.block_for(&placement.replication, placement.ring.local_data_center());
                // Whoever had the partition all the time is one that it lost against.
                return Err(E::from(ClusterError::Contention { serial, required, contentions: 1 }));
            }
        };
        let current = self.read(context, serial, command).await?;
        // Above all that was read, for this write only: a client's far-future timestamp must not move the node's clock.
        let timestamp = self.env.next_timestamp_micros().max(newest_timestamp(&current).saturating_add(1));
        match decide(&current, timestamp)? {
            Decision::Reject(answer) => Ok(answer),
            Decision::Apply(mutations, answer) => {
                self.check_available(commit, table, key.token())?;
                self.apply_under_lock(context, lock, key.token(), mutations).await?;
                Ok(answer)
            }
        }
    }

    /// Applies while the partition stays locked, also when nobody waits any more: whoever locks it next must read the
    /// write or never see it.
    async fn apply_under_lock(
        &self,
        context: &RequestContext,
        lock: PartitionLock,
        token: Token,
        mutations: Vec<Mutation>,
    ) -> Result<(), ClusterError> {
        match lock {
            PartitionLock::Here(guard) => {
                let (storage, shared) = (Rc::clone(&self.storage), context.share());
                let work = async move {
                    let applied = storage.apply(&shared, mutations).await;
                    drop(guard);
                    applied
                };
                self.run_to_end(context, "apply a conditional write", work).await
            }
            PartitionLock::There(hold) => {
                let shard = self.owner_of(token);
                let (reply_to, answer) = reply();
                let request =
                    ShardRequest::Apply { context: context.share(), mutations, lock: Some(hold), reply: reply_to };
                self.ask(shard, context, request, answer).await
            }
        }
    }

    /// Waits for the partition's lock on its shard; dropping the answer releases it.
    async fn lock_partition(
        &self,
        context: &RequestContext,
        table: TableId,
        key: &PartitionKey,
    ) -> Result<PartitionLock, ClusterError> {
        let shard = self.owner_of(key.token());
        if shard == self.shard.number() {
            let waiting = async { Ok(self.storage.lock_partition(table, key).await) };
            return Ok(PartitionLock::Here(self.until_deadline(context, waiting).await?));
        }
        let (reply_to, answer) = reply();
        let (hold, held): (ReplyTo<()>, Reply<()>) = reply();
        let request = ShardRequest::Lock { table, key: key.clone(), reply: reply_to, held };
        let exchange = async {
            let sender = &self.links.senders[shard as usize];
            sender.send(request).await.map_err(|_| ClusterError::ShardGone { shard })?;
            answer.recv().await.map_err(|_| ClusterError::ShardGone { shard })
        };
        self.until_deadline(context, exchange).await?;
        Ok(PartitionLock::There(hold))
    }
}

/// Held while it lives.
enum PartitionLock {
    Here(helenus_storage::PartitionGuard),
    There(ReplyTo<()>),
}

fn newest_timestamp(result: &ReadResult) -> i64 {
    let rows = result.partitions.iter().flat_map(|partition| partition.static_row.iter().chain(&partition.rows));
    rows.map(newest_of_row).max().unwrap_or(i64::MIN)
}

fn newest_of_row(row: &Row) -> i64 {
    let cells = row.columns.iter().map(|column| match &column.data {
        ColumnData::Simple(cell) => cell.timestamp,
        ColumnData::Complex(complex) => complex.cells.iter().map(|(_, cell)| cell.timestamp).max().unwrap_or(i64::MIN),
    });
    cells.chain([row.liveness.timestamp, row.deletion.timestamp]).max().unwrap_or(i64::MIN)
}
