//! Replica: this shard answers what a coordinator, on whichever shard, asks of the data it owns.

use std::rc::Rc;

use crate::cluster::Cluster;
use crate::shard_port::ShardRequest;

impl Cluster {
    pub(crate) async fn serve(self: Rc<Self>, request: ShardRequest) {
        match request {
            ShardRequest::Apply { context, mutations, lock, reply } => {
                reply.send(self.storage.apply(&context, mutations).await);
                drop(lock);
            }
            ShardRequest::ApplyCounter { context, mutation, reply } => {
                reply.send(self.storage.apply_counter(&context, mutation).await.map(drop));
            }
            ShardRequest::Read { context, command, reply } => {
                if !reply.is_abandoned() {
                    reply.send(self.storage.read(&context, &command).await);
                }
            }
            ShardRequest::Lock { table, key, reply, held } => {
                let guard = self.storage.lock_partition(table, &key).await;
                reply.send(());
                // The asker drops its end when it is done, or when it dies: both end the wait.
                let _ = held.recv().await;
                drop(guard);
            }
            ShardRequest::Truncate { table, truncated_at_micros, reply } => {
                reply.send(self.storage.truncate(table, truncated_at_micros).await);
            }
            ShardRequest::SchemaChanged { schema, reply } => {
                self.adopt_schema(schema);
                reply.send(());
            }
            ShardRequest::ChangeMetadata { based_on, command, reply } => {
                reply.send(self.commit_metadata(based_on, command).await);
            }
            ShardRequest::Run(job) => job(self).await,
        }
    }
}
