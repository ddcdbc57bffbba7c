//! Writes: one mutation to its shard, or many, each shard's as one atomic record.

use std::collections::BTreeMap;
use std::rc::Rc;

use helenus_data::{Mutation, TableId};
use helenus_env::reply::reply;
use helenus_storage::RequestContext;

use crate::cluster::Cluster;
use crate::consistency::Consistency;
use crate::error::ClusterError;
use crate::metrics::{ClusterMetrics, Coordinated};
use crate::shard_port::ShardRequest;

/// What a write is, for its guarantees and for the `writeType` of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    Simple,
    Counter,
    LoggedBatch,
    UnloggedBatch,
    CompareAndSet,
}

impl Cluster {
    /// Applies `mutations` and returns when the consistency level is met.
    ///
    /// A logged batch that spans shards goes through the batchlog first, so that all of it happens or none. Counter
    /// mutations carry deltas.
    ///
    /// # Errors
    /// See [`ClusterError`]; a timeout or a gone shard leaves the outcome unknown.
    pub async fn write(
        &self,
        context: &RequestContext,
        consistency: Consistency,
        kind: WriteKind,
        mutations: Vec<Mutation>,
    ) -> Result<(), ClusterError> {
        for mutation in &mutations {
            self.check_available(consistency, mutation.table, mutation.partition.key.token())?;
        }
        let started = self.env().monotonic();
        let first = mutations.first().map(|mutation| mutation.table);
        let others: Vec<TableId> = mutations.iter().skip(1).map(|mutation| mutation.table).collect();
        let result = self.write_all(context, kind, mutations).await;
        let latency = self.env().monotonic() - started;
        for table in first.into_iter().chain(others) {
            self.metrics.record(table, Coordinated::Write, latency, &context.schema);
        }
        result
    }

    async fn write_all(
        &self,
        context: &RequestContext,
        kind: WriteKind,
        mut mutations: Vec<Mutation>,
    ) -> Result<(), ClusterError> {
        match kind {
            WriteKind::Counter => {
                for mutation in mutations {
                    self.write_counter(context, mutation).await?;
                }
                Ok(())
            }
            WriteKind::Simple | WriteKind::UnloggedBatch | WriteKind::CompareAndSet | WriteKind::LoggedBatch => {
                if mutations.len() == 1 {
                    let shard = self.owner_of(mutations[0].partition.key.token());
                    return self.apply_on(shard, context, std::mem::take(&mut mutations)).await;
                }
                let by_shard = self.group_by_shard(mutations);
                if kind == WriteKind::LoggedBatch && 1 < by_shard.len() {
                    return self.write_logged_batch(context, by_shard).await;
                }
                for (shard, mutations) in by_shard {
                    self.apply_on(shard, context, mutations).await?;
                }
                Ok(())
            }
        }
    }

    pub(super) async fn apply_on(
        &self,
        shard: u32,
        context: &RequestContext,
        mutations: Vec<Mutation>,
    ) -> Result<(), ClusterError> {
        if shard == self.shard.number() {
            ClusterMetrics::count(&self.metrics.local_requests);
            // Giving up waiting takes nothing back: what was queued for the log is written.
            let applying = async { Ok(self.storage.apply(context, mutations).await?) };
            return self.until_deadline(context, applying).await;
        }
        let (reply_to, answer) = reply();
        let request = ShardRequest::Apply { context: context.share(), mutations, lock: None, reply: reply_to };
        self.ask(shard, context, request, answer).await
    }

    async fn write_counter(&self, context: &RequestContext, mutation: Mutation) -> Result<(), ClusterError> {
        let shard = self.owner_of(mutation.partition.key.token());
        if shard == self.shard.number() {
            ClusterMetrics::count(&self.metrics.local_requests);
            let (storage, shared) = (Rc::clone(&self.storage), context.share());
            let adding = async move { storage.apply_counter(&shared, mutation).await.map(drop) };
            return self.run_to_end(context, "add to a counter", adding).await;
        }
        let (reply_to, answer) = reply();
        let request = ShardRequest::ApplyCounter { context: context.share(), mutation, reply: reply_to };
        self.ask(shard, context, request, answer).await
    }

    fn group_by_shard(&self, mutations: Vec<Mutation>) -> BTreeMap<u32, Vec<Mutation>> {
        let mut by_shard: BTreeMap<u32, Vec<Mutation>> = BTreeMap::new();
        for mutation in mutations {
            by_shard.entry(self.owner_of(mutation.partition.key.token())).or_default().push(mutation);
        }
        by_shard
    }

    /// Removes all data of a table on every shard.
    ///
    /// # Errors
    /// See [`ClusterError`]; after an error some shards may be truncated.
    pub async fn truncate(&self, context: &RequestContext, table: helenus_data::TableId) -> Result<(), ClusterError> {
        let truncated_at_micros = self.env.next_timestamp_micros();
        for shard in 0..self.links.shard_count() {
            if shard == self.shard.number() {
                self.storage.truncate(table, truncated_at_micros).await?;
                continue;
            }
            let (reply_to, answer) = reply();
            let request = ShardRequest::Truncate { table, truncated_at_micros, reply: reply_to };
            self.ask(shard, context, request, answer).await?;
        }
        Ok(())
    }
}
