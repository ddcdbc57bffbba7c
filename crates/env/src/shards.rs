//! Shards: one core, one thread, one executor. Here is what real and simulated ones have in common.
//!
//! [`start`] makes one future per shard *on that shard*, so it may hold `Rc` and `RefCell`; what it is made of crosses
//! to the shard and must be `Send`. A shard ends when its future does; a panic ends it too and is reported.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;

use tokio::sync::oneshot;

use crate::disk::LocalBoxFuture;
use crate::environment::Env;
use crate::task::panic_message;

/// Which of a node's shards, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(u32);

impl ShardId {
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    pub fn number(self) -> u32 {
        self.0
    }

    /// For vectors with one element per shard.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[derive(Clone, Debug)]
pub struct ShardConfig {
    /// How many shards, at least one.
    pub count: u32,
    /// Bind each shard to one of the cores that this process may use: only when the node owns its cores.
    pub pin: bool,
    /// Threads are called `<name>-<shard>`.
    pub name: String,
}

/// What a shard's main future gets to know.
pub struct ShardContext {
    pub shard: ShardId,
    pub shard_count: u32,
    pub env: Env,
}

/// Makes a shard's main future once the shard runs.
pub type ShardMain = Box<dyn FnOnce(ShardContext) -> LocalBoxFuture<()> + Send>;

/// Runs shards. Real: threads. Simulated: tasks of one thread.
pub trait ShardExecutor: Send + Sync {
    /// Starts one shard. Its end goes to `on_end`; when it is dropped unsent, the shard was torn down with its world.
    ///
    /// # Errors
    /// When the thread cannot be started or pinned.
    fn start(
        &self,
        thread_name: String,
        pin: bool,
        context: ShardContext,
        main: ShardMain,
        on_end: oneshot::Sender<ShardEnd>,
    ) -> io::Result<()>;
}

/// How a shard ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardEnd {
    Finished,
    Panicked {
        message: String,
    },
    /// The world stopped (a simulated kill).
    TornDown,
}

impl ShardEnd {
    /// For executors.
    pub fn from_panic(panic: &(dyn Any + Send)) -> Self {
        Self::Panicked { message: panic_message(panic) }
    }
}

/// Running shards. Dropping this does not stop them: their futures end when they are told to, by message.
#[must_use = "wait for the shards, or nobody learns that one panicked"]
pub struct Shards {
    ends: Vec<(ShardId, oneshot::Receiver<ShardEnd>)>,
}

/// Starts `config.count` shards. `make` is called here, once per shard; what it answers runs on the shard.
///
/// # Errors
/// When a thread cannot be started or pinned; shards started before it run on.
///
/// # Panics
/// When `config.count` is zero.
pub fn start<F, M>(env: &Env, config: &ShardConfig, make: impl Fn(ShardId) -> M) -> io::Result<Shards>
where
    M: FnOnce(ShardContext) -> F + Send + 'static,
    F: Future<Output = ()> + 'static,
{
    assert!(0 < config.count, "a node has at least one shard");
    let mut ends = Vec::new();
    for shard in (0..config.count).map(ShardId::new) {
        let make_future = make(shard);
        let main: ShardMain = Box::new(move |context| -> LocalBoxFuture<()> { Box::pin(make_future(context)) });
        let context = ShardContext { shard, shard_count: config.count, env: env.for_shard(shard) };
        let (on_end, end) = oneshot::channel();
        env.executor().start(format!("{}-{shard}", config.name), config.pin, context, main, on_end)?;
        ends.push((shard, end));
    }
    Ok(Shards { ends })
}

impl Shards {
    /// Waits for every shard, in order of their numbers.
    pub async fn join(self) -> Vec<(ShardId, ShardEnd)> {
        let mut all = Vec::new();
        for (shard, end) in self.ends {
            all.push((shard, end.await.unwrap_or(ShardEnd::TornDown)));
        }
        all
    }

    /// The next shard to end, so that a panic is noticed while the others still run; `None` after the last.
    /// Cancel-safe.
    pub async fn next_end(&mut self) -> Option<(ShardId, ShardEnd)> {
        if self.ends.is_empty() {
            return None;
        }
        let (index, end) = poll_fn(|context| {
            let mut answers = self.ends.iter_mut().enumerate();
            let ended = answers.find_map(|(index, (_, end))| match Pin::new(end).poll(context) {
                Poll::Ready(end) => Some((index, end.unwrap_or(ShardEnd::TornDown))),
                Poll::Pending => None,
            });
            ended.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        let (shard, _) = self.ends.remove(index);
        Some((shard, end))
    }

    /// As [`Shards::join`], for a thread that runs no executor.
    ///
    /// # Panics
    /// On a shard.
    pub fn wait(self) -> Vec<(ShardId, ShardEnd)> {
        let wait_for = |end: oneshot::Receiver<ShardEnd>| end.blocking_recv().unwrap_or(ShardEnd::TornDown);
        self.ends.into_iter().map(|(shard, end)| (shard, wait_for(end))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::mailbox::Mailbox;
    use crate::real::{RealEnv, block_on};

    fn config(count: u32) -> ShardConfig {
        ShardConfig { count, pin: false, name: "shard".to_owned() }
    }

    #[test]
    fn every_shard_runs_its_own_future_on_its_own_thread() {
        let env = RealEnv::start_default().unwrap();
        let (sender, mut receiver) = Mailbox::bounded(8);
        let shards = start(&env, &config(2), |_| {
            let sender = sender.clone();
            async move |context: ShardContext| {
                let not_send = Rc::new(context.shard);
                context.env.yield_now().await;
                let thread = std::thread::current().name().map(ToOwned::to_owned);
                sender.send((*not_send, context.env.shard(), thread)).await.unwrap();
            }
        })
        .unwrap();
        drop(sender);
        let ends = shards.wait();
        assert_eq!(ends, vec![(ShardId::new(0), ShardEnd::Finished), (ShardId::new(1), ShardEnd::Finished)]);
        let mut seen: Vec<_> = std::iter::from_fn(|| receiver.try_recv()).collect();
        seen.sort();
        let (zero, one) = (ShardId::new(0), ShardId::new(1));
        assert_eq!(seen[0], (zero, Some(zero), Some("shard-0".to_owned())));
        assert_eq!(seen[1], (one, Some(one), Some("shard-1".to_owned())));
    }

    #[test]
    fn a_shards_panic_is_reported_while_the_others_run_on() {
        let env = RealEnv::start_default().unwrap();
        let (release, released) = Mailbox::bounded::<()>(1);
        let released = std::sync::Mutex::new(Some(released));
        let mut shards = start(&env, &config(2), |shard| {
            let released = if shard == ShardId::new(0) { released.lock().unwrap().take() } else { None };
            async move |_: ShardContext| {
                let mut released = released.expect("on purpose: only shard 0 has one");
                assert_eq!(released.recv().await, None);
            }
        })
        .unwrap();
        block_on(async move {
            let (shard, end) = shards.next_end().await.unwrap();
            assert_eq!(shard, ShardId::new(1));
            assert!(matches!(end, ShardEnd::Panicked { message } if message.starts_with("on purpose")));
            drop(release);
            assert_eq!(shards.next_end().await, Some((ShardId::new(0), ShardEnd::Finished)));
            assert_eq!(shards.next_end().await, None);
        });
    }

    #[test]
    fn pinned_shards_run() {
        let env = RealEnv::start_default().unwrap();
        let shards = start(&env, &ShardConfig { pin: true, ..config(3) }, |_| async move |_: ShardContext| {}).unwrap();
        assert!(shards.wait().iter().all(|(_, end)| *end == ShardEnd::Finished));
    }
}
