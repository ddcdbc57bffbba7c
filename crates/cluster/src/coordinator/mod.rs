//! Coordinator: sends each request to the replicas that own its tokens and makes one answer of theirs.
//!
//! With one node every partition has one replica, this node; what is left to find is the shard.

mod availability;
mod batch;
mod compare_and_set;
mod read;
mod write;

pub use batch::replay_batchlog;
pub use compare_and_set::{CompareAndSet, Decision};
pub use write::WriteKind;

use std::future::Future;

use helenus_data::TableId;
use helenus_env::reply::{Reply, reply};
use helenus_storage::{RequestContext, StorageError};
use helenus_types::token::Token;

use crate::cluster::Cluster;
use crate::consistency::Consistency;
use crate::error::ClusterError;
use crate::metrics::ClusterMetrics;
use crate::ring::{NodeIndex, Placement};
use crate::shard_port::ShardRequest;

impl Cluster {
    /// Refuses when too few replicas of `token` are alive.
    fn check_available(&self, consistency: Consistency, table: TableId, token: Token) -> Result<(), ClusterError> {
        let placement = self.placement_of(table)?;
        self.check_replicas(consistency, &placement, placement.replicas(token))
    }

    /// As [`Cluster::check_available`], for whatever token.
    fn check_all_available(&self, consistency: Consistency, table: TableId) -> Result<(), ClusterError> {
        let placement = self.placement_of(table)?;
        placement.distinct_replicas().try_for_each(|replicas| self.check_replicas(consistency, &placement, replicas))
    }

    fn check_replicas(
        &self,
        consistency: Consistency,
        placement: &Placement,
        replicas: &[NodeIndex],
    ) -> Result<(), ClusterError> {
        consistency.check_available(placement, replicas, |node| self.is_alive(node, &placement.ring))
    }

    /// Clients' requests only: the node's own, such as the batchlog's replay, say nothing about routing.
    fn count_cross_shard(&self, context: &RequestContext) {
        if !context.is_internal {
            ClusterMetrics::count(&self.metrics.cross_shard_requests);
        }
    }

    /// Sends to another shard and waits for its answer until the request's deadline.
    async fn ask<T>(
        &self,
        shard: u32,
        context: &RequestContext,
        request: ShardRequest,
        answer: Reply<Result<T, StorageError>>,
    ) -> Result<T, ClusterError> {
        self.count_cross_shard(context);
        let exchange = async {
            let sender = &self.links.senders[shard as usize];
            sender.send(request).await.map_err(|_| ClusterError::ShardGone { shard })?;
            let answer = answer.recv().await.map_err(|_| ClusterError::ShardGone { shard })?;
            answer.map_err(ClusterError::from)
        };
        self.until_deadline(context, exchange).await
    }

    /// Runs `work` to its end whether or not somebody waits for it; waits until the request's deadline.
    async fn run_to_end<T: 'static>(
        &self,
        context: &RequestContext,
        name: &'static str,
        work: impl Future<Output = Result<T, StorageError>> + 'static,
    ) -> Result<T, ClusterError> {
        let (reply_to, answer) = reply();
        self.env.spawn(name, async move { reply_to.send(work.await) }).detach();
        let shard = self.shard.number();
        let waiting =
            async { answer.recv().await.map_err(|_| ClusterError::ShardGone { shard })?.map_err(ClusterError::from) };
        self.until_deadline(context, waiting).await
    }

    async fn until_deadline<T>(
        &self,
        context: &RequestContext,
        work: impl Future<Output = Result<T, ClusterError>>,
    ) -> Result<T, ClusterError> {
        let left = context.deadline - self.env.monotonic();
        match self.env.timeout(left, work).await {
            Ok(answer) => answer,
            Err(_) => {
                ClusterMetrics::count(&self.metrics.timeouts);
                Err(ClusterError::Timeout {
                    consistency: Consistency::One,
                    received: 0,
                    required: 1,
                    data_present: false,
                })
            }
        }
    }
}
