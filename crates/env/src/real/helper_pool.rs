//! A few threads that may wait for devices so that shards need not.
//!
//! Invariants
//! - At most [`QUEUE_MAX`] jobs wait; who comes later waits for room first.
//! - A job that was accepted runs, also while the pool shuts down.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use tokio::sync::{Semaphore, oneshot};
use tracing::error;

use crate::disk::LocalBoxFuture;
use crate::helpers::{Helpers, Job};

/// Far above any useful device queue depth: reaching it means the device is stuck, and then waiting is right.
const QUEUE_MAX: usize = 1_024;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    not_empty: Condvar,
    room: Semaphore,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Jobs run outside the lock, so a poisoned one still guards a whole queue.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn submit(&self, job: Job) {
        let permit = self.room.acquire().await.expect("the room of a pool is never closed");
        permit.forget(); // Given back by the thread that takes the job.
        self.lock().jobs.push_back(job);
        self.not_empty.notify_one();
    }

    /// The next job; `None` once the pool is closed and empty.
    fn next_job(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                self.room.add_permits(1);
                return Some(job);
            }
            if queue.is_closed {
                return None;
            }
            queue = self.not_empty.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Clones share the threads, which end when the last clone is gone and the queue is empty.
#[derive(Clone)]
pub(super) struct HelperPool {
    owner: Arc<Owner>,
}

struct Owner {
    shared: Arc<Shared>,
}

impl HelperPool {
    /// # Errors
    /// When a thread cannot be started.
    pub(super) fn start(name: &str, threads: NonZeroUsize) -> io::Result<Self> {
        let shared =
            Arc::new(Shared { queue: Mutex::default(), not_empty: Condvar::new(), room: Semaphore::new(QUEUE_MAX) });
        let pool = Self { owner: Arc::new(Owner { shared: Arc::clone(&shared) }) };
        for number in 0..threads.get() {
            let shared = Arc::clone(&shared);
            Builder::new().name(format!("{name}-{number}")).spawn(move || {
                while let Some(job) = shared.next_job() {
                    run(job);
                }
            })?;
        }
        Ok(pool)
    }

    /// Runs one I/O operation on a helper thread.
    ///
    /// # Errors
    /// The operation's own.
    pub(super) async fn run<T, W>(&self, work: W) -> io::Result<T>
    where
        T: Send + 'static,
        W: FnOnce() -> io::Result<T> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        // Whoever waited may be gone; then nobody wants the answer.
        let job = Box::new(move || drop(sender.send(work())));
        self.owner.shared.submit(job).await;
        receiver.await.map_err(|_| io::Error::other("the operation panicked on its helper thread"))?
    }
}

fn run(job: Job) {
    if catch_unwind(AssertUnwindSafe(job)).is_err() {
        error!("a job panicked on a helper thread");
    }
}

impl Helpers for HelperPool {
    fn submit(&self, job: Job) -> LocalBoxFuture<()> {
        let shared = Arc::clone(&self.owner.shared);
        Box::pin(async move { shared.submit(job).await })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.not_empty.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::real::{RealEnv, block_on};

    fn one_thread() -> HelperPool {
        HelperPool::start("test", NonZeroUsize::MIN).unwrap()
    }

    #[test]
    fn a_panicking_job_is_an_error_and_the_thread_lives_on() {
        let pool = one_thread();
        block_on(async {
            assert!(pool.run::<(), _>(|| panic!("on purpose")).await.is_err());
            assert_eq!(pool.run(|| Ok(7)).await.unwrap(), 7);
        });
    }

    #[test]
    fn jobs_beyond_the_queue_wait_and_all_run() {
        let env = RealEnv::start_default().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let pool = one_thread();
        let counted = Arc::clone(&ran);
        block_on(async move {
            let mut tasks = Vec::new();
            for _ in 0..3 * QUEUE_MAX {
                let (pool, ran) = (pool.clone(), Arc::clone(&counted));
                tasks.push(env.spawn("submit", async move {
                    pool.run(move || {
                        ran.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    })
                    .await
                }));
            }
            for mut task in tasks {
                task.join().await.unwrap().unwrap();
            }
        });
        assert_eq!(ran.load(Ordering::Relaxed), 3 * QUEUE_MAX);
    }

    #[test]
    fn blocking_work_answers_and_its_panic_reaches_the_caller() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            assert_eq!(env.run_blocking(|| 6 * 7).await, 42);
            let caller = env.clone();
            let mut task = env.spawn("work", async move { caller.run_blocking(|| panic!("on purpose")).await });
            assert!(task.join().await.unwrap_err().to_string().contains("on purpose"));
        });
    }
}
