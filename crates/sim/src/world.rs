//! The world: one thread, one seed, and a clock that jumps to the next event whenever nobody has anything to do.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};

use crate::disk::SimDisk;
use crate::executor::{ShardStart, supervise};
use crate::node::SimNode;
use crate::random::SeededRandom;
use crate::trace::{Trace, TraceDigest};

/// Clones are the same world.
#[derive(Clone)]
pub struct SimWorld {
    shared: Rc<Shared>,
}

struct Shared {
    seed: SeededRandom,
    scenario: RefCell<SeededRandom>,
    trace: Trace,
    started: tokio::time::Instant,
    supervisor: mpsc::UnboundedSender<ShardStart>,
    node_count: Cell<u32>,
}

/// What a run answered, and what it was like.
#[derive(Debug)]
pub struct Outcome<T> {
    pub answer: T,
    pub digest: TraceDigest,
    /// The last events, one a line.
    pub trace: String,
}

impl SimWorld {
    /// Plays a scenario to its end, then ends everything that still runs.
    ///
    /// # Panics
    /// When the scenario does, after printing the seed and the last events.
    pub fn run<T>(seed: u64, scenario: impl AsyncFnOnce(SimWorld) -> T) -> Outcome<T> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("an executor without sockets needs nothing from the system");
        LocalSet::new().block_on(&runtime, async move {
            let (supervisor, starts) = mpsc::unbounded_channel();
            spawn_local(supervise(starts));
            let world = Self::new(SeededRandom::new(seed), supervisor);
            let trace = world.shared.trace.clone();
            let answer = crate::executor::caught(scenario(world)).await.unwrap_or_else(|panic| {
                eprintln!("seed {seed} failed; its last events:\n{}", trace.tail());
                std::panic::resume_unwind(panic)
            });
            Outcome { answer, digest: trace.digest(), trace: trace.tail() }
        })
    }

    fn new(seed: SeededRandom, supervisor: mpsc::UnboundedSender<ShardStart>) -> Self {
        let scenario = RefCell::new(seed.stream("scenario", 0));
        let (trace, started) = (Trace::start(), tokio::time::Instant::now());
        Self { shared: Rc::new(Shared { seed, scenario, trace, started, supervisor, node_count: Cell::new(0) }) }
    }

    /// A new node with an empty disk.
    pub fn add_node(&self) -> SimNode {
        let number = self.shared.node_count.get();
        self.shared.node_count.set(number + 1);
        let random = self.seed_stream("disk", u64::from(number));
        SimNode::new(self.clone(), number, SimDisk::new(number, random, self.trace().clone()))
    }

    /// Evenly from a range, from the scenario's own stream.
    pub fn random_within(&self, range: std::ops::Range<u64>) -> u64 {
        self.shared.scenario.borrow_mut().within(range)
    }

    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// Simulated time since the world began.
    pub fn elapsed(&self) -> Duration {
        self.shared.started.elapsed()
    }

    pub fn trace(&self) -> &Trace {
        &self.shared.trace
    }

    pub(crate) fn note(&self, node: u32, what: &'static str) {
        self.trace().event(node, what, &Arc::from(""), [0, 0]);
    }

    pub(crate) fn seed_stream(&self, label: &str, number: u64) -> SeededRandom {
        self.shared.seed.stream(label, number)
    }

    pub(crate) fn started(&self) -> tokio::time::Instant {
        self.shared.started
    }

    pub(crate) fn supervisor(&self) -> mpsc::UnboundedSender<ShardStart> {
        self.shared.supervisor.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bytes::Bytes;
    use helenus_env::{Mailbox, OpenMode, Request, ShardConfig, ShardContext, ShardEnd, shards};

    use super::*;
    use crate::node::ProcessEnd;

    #[test]
    fn time_jumps_and_wall_clocks_follow_with_their_own_error() {
        let began = std::time::Duration::from_secs(0);
        let outcome = SimWorld::run(1, async |world| {
            assert_eq!(world.elapsed(), began);
            let node = world.add_node();
            node.skew().set_micros(5_000_000);
            let other = world.add_node();
            let clocks = |env: helenus_env::Env| async move {
                env.sleep(Duration::from_secs(86_400)).await;
                (env.monotonic().as_nanos(), env.wall_micros())
            };
            let (first, second) = (node.start(clocks), other.start(clocks));
            let (first, second) = (first.join().await.unwrap(), second.join().await.unwrap());
            assert_eq!(first.0, 86_400_000_000_000);
            assert_eq!(first.1 - second.1, 5_000_000);
            world.elapsed()
        });
        assert_eq!(outcome.answer, Duration::from_secs(86_400));
    }

    #[test]
    fn shards_are_tasks_that_talk_through_mailboxes_and_die_with_their_process() {
        SimWorld::run(1, async |world| {
            let node = world.add_node();
            let process = node.start(|env| async move {
                let (sender, receiver) = Mailbox::bounded::<Request<u32, u32>>(4);
                let receiver = std::sync::Mutex::new(Some(receiver));
                let config = ShardConfig { count: 2, pin: false, name: "shard".to_owned() };
                let shards = shards::start(&env, &config, |shard| {
                    let served = if shard.number() == 0 { receiver.lock().unwrap().take() } else { None };
                    async move |context: ShardContext| {
                        let Some(mut served) = served else { panic!("on purpose") };
                        let request = served.recv().await.unwrap();
                        context.env.sleep(Duration::from_secs(1)).await;
                        request.reply_to.send(request.question + 1);
                        std::future::pending::<()>().await;
                    }
                });
                let mut shards = shards.unwrap();
                assert_eq!(sender.ask(1).await, Ok(2));
                let (shard, end) = shards.next_end().await.unwrap();
                assert_eq!((shard.number(), end), (1, ShardEnd::Panicked { message: "on purpose".to_owned() }));
                (shards, sender)
            });
            let (mut shards, sender) = process.join().await.unwrap();
            node.kill().await;
            assert_eq!(shards.next_end().await.map(|(_, end)| end), Some(ShardEnd::TornDown));
            assert!(sender.try_ask(1).is_err());
        });
    }

    #[test]
    fn a_killed_process_answers_nothing_and_keeps_what_the_kernel_has() {
        SimWorld::run(1, async |world| {
            let path = Path::new("/file");
            let node = world.add_node();
            let process = node.start(move |env| async move {
                let file = env.disk().open(path, OpenMode::CreateNew).await.unwrap();
                file.write_at(0, Bytes::from_static(b"kernel")).await.unwrap();
                std::future::pending::<()>().await;
            });
            world.sleep(Duration::from_secs(1)).await;
            node.kill().await;
            assert_eq!(process.join().await, Err(ProcessEnd::Killed));
            let next =
                node.start(move |env| async move { helenus_env::whole_file::read(&**env.disk(), path).await.unwrap() });
            assert_eq!(next.join().await.unwrap(), b"kernel"[..]);
        });
    }

    #[test]
    fn blocking_work_runs_in_place_and_a_panic_ends_the_process() {
        SimWorld::run(1, async |world| {
            let node = world.add_node();
            let process = node.start(|env| async move {
                assert_eq!(env.run_blocking(|| 42).await, 42);
                panic!("on purpose");
            });
            let end: Result<(), ProcessEnd> = process.join().await;
            assert_eq!(end, Err(ProcessEnd::Panicked { message: "on purpose".to_owned() }));
        });
    }
}
