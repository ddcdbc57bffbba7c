//! Shards as tasks of the world's one thread.
//!
//! Each shard (and each process's main future) runs in a `LocalSet` of its own, so that what it spawns dies with it.
//! Starting goes through the world's supervisor, for a shard is started from inside another set and must not become
//! part of it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helenus_env::shards::{ShardExecutor, ShardMain};
use helenus_env::{Helpers, LocalBoxFuture, ShardContext, ShardEnd, helpers::Job};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, LocalSet, spawn_local};

/// One life of a node's process: the tasks that a kill must end.
#[derive(Clone, Default)]
pub(crate) struct ProcessTasks {
    shared: Arc<Mutex<Tasks>>,
}

#[derive(Default)]
struct Tasks {
    running: Vec<JoinHandle<()>>,
    is_killed: bool,
}

impl ProcessTasks {
    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a future, and everything that it spawns, until it ends or the process is killed. To be called from the
    /// world's own set.
    pub(crate) fn run(&self, future: impl Future<Output = ()> + 'static) {
        let mut tasks = self.lock();
        if !tasks.is_killed {
            tasks.running.push(spawn_local(async move { LocalSet::new().run_until(future).await }));
        }
    }

    /// Ends every task and waits until all that they held is dropped.
    pub(crate) async fn kill(&self) {
        let running = {
            let mut tasks = self.lock();
            tasks.is_killed = true;
            std::mem::take(&mut tasks.running)
        };
        running.iter().for_each(JoinHandle::abort);
        for task in running {
            // Finished, aborted or panicked: it is gone, and a panic was reported to whoever waits for its end.
            let _ = task.await;
        }
    }
}

/// A shard on its way to the supervisor.
pub(crate) struct ShardStart {
    process: ProcessTasks,
    context: ShardContext,
    main: ShardMain,
    on_end: oneshot::Sender<ShardEnd>,
}

/// Starts what is sent to it, for as long as the world stands.
pub(crate) async fn supervise(mut starts: mpsc::UnboundedReceiver<ShardStart>) {
    while let Some(ShardStart { process, context, main, on_end }) = starts.recv().await {
        process.run(async move {
            let future = caught(async move { main(context).await }).await;
            // Nobody waits any more: then nobody wants to know.
            let _ = on_end.send(future.map_or_else(|panic| ShardEnd::from_panic(&*panic), |()| ShardEnd::Finished));
        });
    }
}

/// A future whose panic is an answer.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> std::thread::Result<T> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        use std::task::Poll;
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

pub(crate) struct SimExecutor {
    pub(crate) process: ProcessTasks,
    pub(crate) supervisor: mpsc::UnboundedSender<ShardStart>,
}

impl ShardExecutor for SimExecutor {
    fn start(
        &self,
        _thread_name: String,
        _pin: bool,
        context: ShardContext,
        main: ShardMain,
        on_end: oneshot::Sender<ShardEnd>,
    ) -> io::Result<()> {
        let start = ShardStart { process: self.process.clone(), context, main, on_end };
        self.supervisor.send(start).map_err(|_| io::Error::other("the simulated world has ended"))
    }
}

/// Runs work for helper threads at once and in place.
pub(crate) struct InPlace;

impl Helpers for InPlace {
    fn submit(&self, job: Job) -> LocalBoxFuture<()> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            job();
        })
    }
}
