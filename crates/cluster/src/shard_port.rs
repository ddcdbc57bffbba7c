//! Shard port: how the shards of one node talk: requests by message, answers by one-shot reply.

use std::rc::Rc;
use std::sync::Arc;

use helenus_data::read::{ReadCommand, ReadResult};
use helenus_data::{Mutation, PartitionKey, TableId};
use helenus_env::reply::{Reply, ReplyTo};
use helenus_env::{LocalBoxFuture, Mailbox, Receiver, Sender};
use helenus_schema::SchemaSnapshot;
use helenus_storage::{RequestContext, StorageError};

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::metadata::Command;

/// Requests that may wait for one shard: at 128 in flight per connection, eight busy connections' worth.
const PORT_CAPACITY: usize = 1024;

/// Work for a shard as a whole, sent by administration: runs there with its handle.
pub type ShardJob = Box<dyn FnOnce(Rc<Cluster>) -> LocalBoxFuture<()> + Send>;

pub(crate) enum ShardRequest {
    Apply {
        context: RequestContext,
        mutations: Vec<Mutation>,
        /// The asker's end of a [`ShardRequest::Lock`], which is to be held until this is applied.
        lock: Option<ReplyTo<()>>,
        reply: ReplyTo<Result<(), StorageError>>,
    },
    ApplyCounter {
        context: RequestContext,
        mutation: Mutation,
        reply: ReplyTo<Result<(), StorageError>>,
    },
    Read {
        context: RequestContext,
        command: ReadCommand,
        reply: ReplyTo<Result<ReadResult, StorageError>>,
    },
    /// Holds the partition's lock from the reply on until `held` is dropped by the asker.
    Lock {
        table: TableId,
        key: PartitionKey,
        reply: ReplyTo<()>,
        held: Reply<()>,
    },
    Truncate {
        table: TableId,
        truncated_at_micros: i64,
        reply: ReplyTo<Result<(), StorageError>>,
    },
    SchemaChanged {
        schema: Arc<SchemaSnapshot>,
        reply: ReplyTo<()>,
    },
    /// To shard 0 only, which owns the metadata log.
    ChangeMetadata {
        based_on: Option<u64>,
        command: Command,
        reply: ReplyTo<Result<Arc<SchemaSnapshot>, ClusterError>>,
    },
    Run(ShardJob),
}

/// One shard's end: its own queue and the way to all others.
pub struct ShardPort {
    pub(crate) receiver: Receiver<ShardRequest>,
    pub(crate) links: ShardLinks,
}

/// The way to every shard of the node; may be held by any thread.
#[derive(Clone)]
pub struct ShardLinks {
    pub(crate) senders: Arc<[Sender<ShardRequest>]>,
}

impl ShardPort {
    /// The ports of `count` shards, in order.
    #[must_use]
    pub fn connect(count: u32) -> (Vec<ShardPort>, ShardLinks) {
        let mut senders = Vec::new();
        let mut receivers = Vec::new();
        for _ in 0..count {
            let (sender, receiver) = Mailbox::bounded(PORT_CAPACITY);
            senders.push(sender);
            receivers.push(receiver);
        }
        let links = ShardLinks { senders: senders.into() };
        let ports = receivers.into_iter().map(|receiver| ShardPort { receiver, links: links.clone() }).collect();
        (ports, links)
    }
}

impl ShardLinks {
    #[must_use]
    pub fn shard_count(&self) -> u32 {
        u32::try_from(self.senders.len()).unwrap_or(u32::MAX)
    }

    /// Requests that wait for each shard.
    #[must_use]
    pub fn queued(&self) -> Vec<usize> {
        self.senders.iter().map(Sender::queued_count).collect()
    }

    /// Runs `job` on `shard` and answers with what it returns.
    ///
    /// # Errors
    /// [`ClusterError::ShardGone`].
    pub async fn run<T, F>(
        &self,
        shard: u32,
        job: impl FnOnce(Rc<Cluster>) -> F + Send + 'static,
    ) -> Result<T, ClusterError>
    where
        T: Send + 'static,
        F: Future<Output = T> + 'static,
    {
        let (reply_to, reply) = helenus_env::reply::reply();
        let job: ShardJob = Box::new(move |cluster| {
            let work = job(cluster);
            Box::pin(async move { reply_to.send(work.await) })
        });
        let sender = self.senders.get(shard as usize).ok_or(ClusterError::ShardGone { shard })?;
        sender.send(ShardRequest::Run(job)).await.map_err(|_| ClusterError::ShardGone { shard })?;
        reply.recv().await.map_err(|_| ClusterError::ShardGone { shard })
    }

    /// Runs `job` on every shard, at the same time; answers in shard order.
    ///
    /// # Errors
    /// [`ClusterError::ShardGone`].
    pub async fn run_on_all<T, F>(
        &self,
        job: impl Fn(Rc<Cluster>) -> F + Clone + Send + 'static,
    ) -> Result<Vec<T>, ClusterError>
    where
        T: Send + 'static,
        F: Future<Output = T> + 'static,
    {
        let mut replies = Vec::new();
        for (shard, sender) in (0u32..).zip(self.senders.iter()) {
            let (reply_to, reply) = helenus_env::reply::reply();
            let job = job.clone();
            let job: ShardJob = Box::new(move |cluster| {
                let work = job(cluster);
                Box::pin(async move { reply_to.send(work.await) })
            });
            sender.send(ShardRequest::Run(job)).await.map_err(|_| ClusterError::ShardGone { shard })?;
            replies.push((shard, reply));
        }
        let mut answers = Vec::new();
        for (shard, reply) in replies {
            answers.push(reply.recv().await.map_err(|_| ClusterError::ShardGone { shard })?);
        }
        Ok(answers)
    }
}
