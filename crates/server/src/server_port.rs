//! Server port: how the admin API's thread asks the shards' servers: a job goes there, its answer comes back.
//!
//! Neighbours: `cluster::ShardLinks` does the same for what only needs the cluster handle; clients, metrics and prepared
//! statements are the server's.

use std::rc::Rc;
use std::sync::Arc;

use helenus_env::reply::reply;
use helenus_env::{LocalBoxFuture, Mailbox, Receiver, Sender};

use crate::shard::ShardServer;

/// Administration is rare; what waits here was asked within one scrape.
const CAPACITY: usize = 64;

/// Work for one shard's server.
pub(crate) type ServerJob = Box<dyn FnOnce(Rc<ShardServer>) -> LocalBoxFuture<()> + Send>;

/// The way to every shard's server; may be held by any thread.
#[derive(Clone)]
pub struct ServerLinks {
    senders: Arc<[Sender<ServerJob>]>,
}

/// The shard is stopping or gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node is stopping")]
pub struct Stopping;

impl ServerLinks {
    pub(crate) fn connect(count: u32) -> (Self, Vec<Receiver<ServerJob>>) {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| Mailbox::bounded(CAPACITY)).unzip();
        (Self { senders: senders.into() }, receivers)
    }

    /// Runs `job` on `shard` and answers with what it returns.
    ///
    /// # Errors
    /// [`Stopping`].
    pub(crate) async fn run<T, F>(
        &self,
        shard: u32,
        job: impl FnOnce(Rc<ShardServer>) -> F + Send + 'static,
    ) -> Result<T, Stopping>
    where
        T: Send + 'static,
        F: Future<Output = T> + 'static,
    {
        let (reply_to, answer) = reply();
        let job: ServerJob = Box::new(move |server| {
            let work = job(server);
            Box::pin(async move { reply_to.send(work.await) })
        });
        let sender = self.senders.get(shard as usize).ok_or(Stopping)?;
        sender.send(job).await.map_err(|_| Stopping)?;
        answer.recv().await.map_err(|_| Stopping)
    }

    /// Runs `job` on every shard at the same time; answers in shard order.
    ///
    /// # Errors
    /// [`Stopping`].
    pub(crate) async fn run_on_all<T, F>(
        &self,
        job: impl Fn(Rc<ShardServer>) -> F + Clone + Send + 'static,
    ) -> Result<Vec<T>, Stopping>
    where
        T: Send + 'static,
        F: Future<Output = T> + 'static,
    {
        let mut answers = Vec::new();
        for sender in self.senders.iter() {
            let (reply_to, answer) = reply();
            let job = job.clone();
            let job: ServerJob = Box::new(move |server| {
                let work = job(server);
                Box::pin(async move { reply_to.send(work.await) })
            });
            sender.send(job).await.map_err(|_| Stopping)?;
            answers.push(answer);
        }
        let mut results = Vec::new();
        for answer in answers {
            results.push(answer.recv().await.map_err(|_| Stopping)?);
        }
        Ok(results)
    }
}
