//! Tasks of a shard: named, owned by whoever started them, and watched for polls that hold up everybody else.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::{debug, error, warn};

use crate::clock::Instant;
use crate::environment::Env;

/// A request should cost well below a millisecond of its shard; two are noticed by everybody who waits behind it.
const SLOW_POLL: Duration = Duration::from_millis(2);

/// Clients feel it.
const SLOW_POLL_WARN: Duration = Duration::from_millis(100);

/// One line a second and shard: enough to find the culprit, not enough to become one.
const SLOW_POLL_LOG_INTERVAL: Duration = Duration::from_secs(1);

const DISABLED: u64 = u64::MAX;

/// A running task. Dropping the handle aborts the task: what nobody owns does not run. See [`TaskHandle::detach`].
#[must_use = "dropping a TaskHandle aborts its task; keep it, join it, or detach it"]
pub struct TaskHandle<T = ()> {
    join: JoinHandle<T>,
    aborts_on_drop: bool,
}

/// Why a task has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskEnd {
    #[error("the task was aborted")]
    Aborted,
    #[error("the task panicked: {message}")]
    Panicked { message: String },
}

impl<T> TaskHandle<T> {
    /// Asks the task to stop at its next await. It may still be running on return; `join` waits for the end.
    pub fn abort(&self) {
        self.join.abort();
    }

    /// Waits for the task's answer. Cancel-safe: may be called again until it has answered.
    ///
    /// # Errors
    /// [`TaskEnd`] when the task was aborted or panicked.
    pub async fn join(&mut self) -> Result<T, TaskEnd> {
        (&mut self.join).await.map_err(|end| {
            if end.is_panic() {
                TaskEnd::Panicked { message: panic_message(&*end.into_panic()) }
            } else {
                TaskEnd::Aborted
            }
        })
    }

    /// Aborts the task and waits until it is gone, with everything that it held.
    pub async fn stop(mut self) {
        self.abort();
        // Answered, aborted or panicked: all the same to who wants it gone, and a panic was logged when it happened.
        let _ = self.join().await;
    }

    /// Lets the task run on by itself, to its own end or the shard's.
    pub fn detach(mut self) {
        self.aborts_on_drop = false;
    }

    pub fn is_finished(&self) -> bool {
        self.join.is_finished()
    }
}

impl<T> Drop for TaskHandle<T> {
    fn drop(&mut self) {
        if self.aborts_on_drop {
            self.join.abort();
        }
    }
}

/// Counts a shard's task polls that took too long, and tasks that panicked.
pub struct PollWatch {
    limit_nanos: AtomicU64, // `DISABLED`: polls are not measured.
    slow_count: AtomicU64,
    longest_nanos: AtomicU64,
    logged_at_nanos: AtomicU64,
    panic_count: AtomicU64,
}

impl Default for PollWatch {
    fn default() -> Self {
        Self {
            limit_nanos: AtomicU64::new(nanos(SLOW_POLL)),
            slow_count: AtomicU64::new(0),
            longest_nanos: AtomicU64::new(0),
            logged_at_nanos: AtomicU64::new(0),
            panic_count: AtomicU64::new(0),
        }
    }
}

impl PollWatch {
    /// How many polls took longer than the limit.
    pub fn slow_count(&self) -> u64 {
        self.slow_count.load(Ordering::Relaxed)
    }

    /// The longest slow poll so far.
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest_nanos.load(Ordering::Relaxed))
    }

    /// How many tasks ended by a panic.
    pub fn panic_count(&self) -> u64 {
        self.panic_count.load(Ordering::Relaxed)
    }

    /// `None` switches measuring off, which saves two looks at the clock (some 50 ns) a poll.
    pub fn set_limit(&self, limit: Option<Duration>) {
        self.limit_nanos.store(limit.map_or(DISABLED, nanos), Ordering::Relaxed);
    }

    fn measure<T>(&self, env: &Env, name: &'static str, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let limit_nanos = self.limit_nanos.load(Ordering::Relaxed);
        if limit_nanos == DISABLED {
            return poll();
        }
        let started = env.monotonic();
        let answer = poll();
        let ended = env.monotonic();
        if limit_nanos < nanos(ended - started) {
            self.on_slow_poll(name, started, ended);
        }
        answer
    }

    #[cold]
    fn on_slow_poll(&self, name: &'static str, started: Instant, ended: Instant) {
        let took = ended - started;
        self.slow_count.fetch_add(1, Ordering::Relaxed);
        self.longest_nanos.fetch_max(nanos(took), Ordering::Relaxed);
        let logged_at = Instant::from_nanos(self.logged_at_nanos.load(Ordering::Relaxed));
        if logged_at == Instant::ZERO || SLOW_POLL_LOG_INTERVAL <= ended - logged_at {
            self.logged_at_nanos.store(ended.as_nanos(), Ordering::Relaxed);
            let slow_count = self.slow_count();
            // A few milliseconds are for whoever works on the code; only what clients feel is for the operator.
            if SLOW_POLL_WARN <= took {
                warn!(task = name, ?took, slow_count, "a task held up its shard");
            } else {
                debug!(task = name, ?took, slow_count, "a task held up its shard");
            }
        }
    }

    #[cold]
    fn on_panic(&self, name: &'static str, panic: &(dyn Any + Send)) {
        self.panic_count.fetch_add(1, Ordering::Relaxed);
        error!(task = name, message = panic_message(panic), "a task panicked");
    }
}

pub(crate) fn spawn_watched<F>(env: &Env, name: &'static str, future: F) -> TaskHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let env = env.clone();
    let watched = async move {
        let mut future = pin!(future);
        poll_fn(|context: &mut Context<'_>| {
            let mut poll = || catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
            let measured = env.polls().measure(&env, name, || match poll() {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
                Err(panic) => Poll::Ready(Err(panic)),
            });
            measured.map(|answer| {
                answer.unwrap_or_else(|panic| {
                    env.polls().on_panic(name, &*panic);
                    resume_unwind(panic)
                })
            })
        })
        .await
    };
    TaskHandle { join: tokio::task::spawn_local(watched), aborts_on_drop: true }
}

/// The text of a panic, for logs.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::real::{RealEnv, block_on};

    #[test]
    fn join_answers_with_the_tasks_result() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let mut task = env.spawn("add", async { 1 + 1 });
            assert_eq!(task.join().await, Ok(2));
        });
    }

    #[test]
    fn stop_waits_until_the_task_has_let_go_of_what_it_held() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let held = Rc::new(());
            let clone = Rc::clone(&held);
            let task = env.spawn("hold", async move {
                let _clone = clone;
                std::future::pending::<()>().await;
            });
            env.yield_now().await;
            assert_eq!(Rc::strong_count(&held), 2);
            task.stop().await;
            assert_eq!(Rc::strong_count(&held), 1);
        });
    }

    #[test]
    fn dropping_a_handle_aborts_and_detaching_does_not() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let runs = Rc::new(Cell::new(0));
            let dropped = Rc::clone(&runs);
            drop(env.spawn("dropped", async move { dropped.set(dropped.get() + 1) }));
            let detached = Rc::clone(&runs);
            env.spawn("detached", async move { detached.set(detached.get() + 10) }).detach();
            env.yield_now().await;
            env.yield_now().await;
            assert_eq!(runs.get(), 10);
        });
    }

    #[test]
    fn a_poll_above_the_limit_is_counted_unless_measuring_is_off() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            env.polls().set_limit(Some(Duration::ZERO));
            env.spawn("any", async {}).join().await.unwrap();
            assert_eq!(env.polls().slow_count(), 1);
            assert!(Duration::ZERO < env.polls().longest());
            env.polls().set_limit(None);
            env.spawn("any", async {}).join().await.unwrap();
            assert_eq!(env.polls().slow_count(), 1);
        });
    }

    #[test]
    fn a_panic_is_reported_with_its_message_and_counted() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let mut task = env.spawn("panic", async { panic!("on purpose") });
            let end: Result<(), TaskEnd> = task.join().await;
            assert_eq!(end, Err(TaskEnd::Panicked { message: "on purpose".to_owned() }));
            assert_eq!(env.polls().panic_count(), 1);
        });
    }
}
