//! Coordinator: sends each request to the replicas that own its tokens and makes one answer of theirs.
//!
//! With one node every partition has one replica, this node; what is left to find is the shard.

mod batch;
mod compare_and_set;
mod read;
mod write;

pub use batch::replay_batchlog;
pub use compare_and_set::Decision;
pub use write::WriteKind;

use std::future::Future;

use helenus_env::reply::{Reply, reply};
use helenus_storage::{RequestContext, StorageError};

use crate::cluster::Cluster;
use crate::consistency::Consistency;
use crate::error::ClusterError;
use crate::metrics::ClusterMetrics;
use crate::shard_port::ShardRequest;

impl Cluster {
    /// One node is one replica of everything.
    fn check_available(consistency: Consistency) -> Result<(), ClusterError> {
        let required = match consistency {
            Consistency::Two => 2,
            Consistency::Three => 3,
            Consistency::Any
            | Consistency::One
            | Consistency::Quorum
            | Consistency::All
            | Consistency::LocalQuorum
            | Consistency::EachQuorum
            | Consistency::Serial
            | Consistency::LocalSerial
            | Consistency::LocalOne
            | Consistency::NodeLocal => 1,
        };
        if 1 < required {
            return Err(ClusterError::Unavailable { consistency, required, alive: 1 });
        }
        Ok(())
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
