//! The environment that every part of a node carries: a cheap handle to all seams.
//!
//! Neighbours: `real` and the simulation build it from [`EnvParts`]; `shards` derives one per shard, which shares the
//! node's clock, timestamps, randomness and disk and has its own task statistics and scheduling state.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use uuid::Uuid;

use crate::clock::{Clock, Instant};
use crate::disk::Disk;
use crate::helpers::Helpers;
use crate::randomness::{Randomness, TimeuuidOrigin, random_uuid};
use crate::scheduling::GroupClocks;
use crate::shards::{ShardExecutor, ShardId};
use crate::task::{PollWatch, TaskHandle, spawn_watched};
use crate::timestamp::TimestampOracle;

/// What an implementation brings.
pub struct EnvParts {
    pub clock: Arc<dyn Clock>,
    pub randomness: Arc<dyn Randomness>,
    pub disk: Arc<dyn Disk>,
    pub helpers: Arc<dyn Helpers>,
    pub executor: Arc<dyn ShardExecutor>,
}

struct NodeState {
    parts: EnvParts,
    timestamps_micros: TimestampOracle,
    timeuuid_ticks: TimestampOracle, // 100 ns each.
    timeuuid_origin: TimeuuidOrigin,
}

#[derive(Default)]
struct ShardState {
    shard: Option<ShardId>,
    polls: PollWatch,
    groups: GroupClocks,
}

/// Clock, timestamps, randomness, disk and tasks of one node, seen from one of its shards.
#[derive(Clone)]
pub struct Env {
    node: Arc<NodeState>,
    shard: Arc<ShardState>,
}

/// The wait of [`Env::timeout`] ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timed out")]
pub struct TimedOut;

impl Env {
    /// One node. Call it once per node: timestamps are unique per call.
    pub fn new(parts: EnvParts) -> Self {
        let timeuuid_origin = TimeuuidOrigin::draw(&*parts.randomness);
        let node = NodeState {
            parts,
            timestamps_micros: TimestampOracle::default(),
            timeuuid_ticks: TimestampOracle::default(),
            timeuuid_origin,
        };
        Self { node: Arc::new(node), shard: Arc::default() }
    }

    /// The same node seen from a shard: own task statistics and scheduling state.
    pub fn for_shard(&self, shard: ShardId) -> Self {
        let state = ShardState { shard: Some(shard), ..ShardState::default() };
        Self { node: Arc::clone(&self.node), shard: Arc::new(state) }
    }

    /// The shard that this handle was made for; `None` before the shards start.
    pub fn shard(&self) -> Option<ShardId> {
        self.shard.shard
    }

    pub fn monotonic(&self) -> Instant {
        self.node.parts.clock.monotonic()
    }

    /// Microseconds since the Unix epoch. May jump; see [`Env::next_timestamp_micros`] for what must not.
    pub fn wall_micros(&self) -> i64 {
        self.node.parts.clock.wall_micros()
    }

    /// Seconds since the Unix epoch, rounded down.
    pub fn wall_secs(&self) -> i64 {
        self.wall_micros().div_euclid(1_000_000)
    }

    /// The timestamp of a write: microseconds since the Unix epoch, strictly rising over all shards of the node.
    pub fn next_timestamp_micros(&self) -> i64 {
        self.node.timestamps_micros.next(self.wall_micros())
    }

    /// Rules out timestamps up to and including `floor_micros`, at a restart or after reading a higher one; the ticks
    /// of new timeuuids follow.
    pub fn raise_timestamp_floor(&self, floor_micros: i64) {
        self.node.timestamps_micros.raise_floor(floor_micros);
        self.node.timeuuid_ticks.raise_floor(floor_micros.saturating_mul(10).saturating_add(9));
    }

    /// A version 4 UUID.
    pub fn new_uuid(&self) -> Uuid {
        random_uuid(&*self.node.parts.randomness)
    }

    /// A version 1 UUID, unique per node and strictly rising in time over all its shards.
    pub fn new_timeuuid(&self) -> Uuid {
        let ticks = self.node.timeuuid_ticks.next(self.wall_micros().saturating_mul(10));
        self.node.timeuuid_origin.timeuuid(ticks)
    }

    pub fn random_u64(&self) -> u64 {
        self.node.parts.randomness.next_u64()
    }

    pub fn random_bytes(&self, bytes: &mut [u8]) {
        self.node.parts.randomness.fill(bytes);
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.node.parts.disk
    }

    /// Resolution is one millisecond; zero still lets other tasks run.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        tokio::time::sleep(duration)
    }

    /// Returns at once when `deadline` has passed.
    pub fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + 'static {
        tokio::time::sleep(deadline - self.monotonic())
    }

    /// Drops `future` when it has not finished in time.
    ///
    /// # Errors
    /// [`TimedOut`].
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Result<F::Output, TimedOut> {
        tokio::time::timeout(limit, future).await.map_err(|_| TimedOut)
    }

    /// Lets every other ready task of the shard run, and the shard look at its sockets and timers.
    pub async fn yield_now(&self) {
        tokio::task::yield_now().await;
    }

    /// Starts a task on this shard. `name` says what it does in logs and counters ("flush memtable").
    ///
    /// # Panics
    /// Outside a shard.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> TaskHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        spawn_watched(self, name, future)
    }

    /// Runs work that takes more than a fraction of a millisecond without holding up the shard.
    ///
    /// Waits while the helpers' queue is full. Once handed over, the work runs to its end even if this is dropped.
    ///
    /// # Panics
    /// When `work` does.
    pub async fn run_blocking<T, W>(&self, work: W) -> T
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let job = Box::new(move || {
            // Whoever waited may be gone; then nobody wants the answer.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        });
        self.node.parts.helpers.submit(job).await;
        match receiver.await.expect("helpers run every job that they accepted") {
            Ok(answer) => answer,
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Counts and limits of this shard's task polls.
    pub fn polls(&self) -> &PollWatch {
        &self.shard.polls
    }

    pub(crate) fn executor(&self) -> &Arc<dyn ShardExecutor> {
        &self.node.parts.executor
    }

    pub(crate) fn group_clocks(&self) -> &GroupClocks {
        &self.shard.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::{RealEnv, block_on};

    /// 100 ns ticks of a version 1 UUID.
    fn ticks(uuid: Uuid) -> u64 {
        uuid.get_timestamp().unwrap().to_gregorian().0
    }

    #[test]
    fn timestamps_and_timeuuids_rise_strictly_over_all_shards() {
        let env = RealEnv::start_default().unwrap();
        let other = env.for_shard(ShardId::new(1));
        let mut last_micros = env.next_timestamp_micros();
        let mut last_uuid = env.new_timeuuid();
        for round in 0..1_000 {
            let env = if round % 2 == 0 { &other } else { &env };
            let (micros, uuid) = (env.next_timestamp_micros(), env.new_timeuuid());
            assert!(last_micros < micros);
            assert!(ticks(last_uuid) < ticks(uuid));
            assert_eq!(uuid.get_version_num(), 1);
            (last_micros, last_uuid) = (micros, uuid);
        }
    }

    #[test]
    fn a_raised_floor_holds_for_timestamps_and_timeuuids() {
        let env = RealEnv::start_default().unwrap();
        let floor = env.wall_micros() + 3_600_000_000;
        env.raise_timestamp_floor(floor);
        assert_eq!(env.next_timestamp_micros(), floor + 1);
        let (secs, nanos) = env.new_timeuuid().get_timestamp().unwrap().to_unix();
        assert_eq!(i64::try_from(secs * 1_000_000 + u64::from(nanos) / 1_000).unwrap(), floor + 1);
    }

    #[test]
    fn the_monotonic_clock_follows_sleeping_and_a_timeout_fires() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let began = env.monotonic();
            env.sleep(Duration::from_millis(5)).await;
            assert!(Duration::from_millis(5) <= env.monotonic() - began);
            env.sleep_until(began).await;
            let answer = env.timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
            assert_eq!(answer, Err(TimedOut));
            assert_eq!(env.timeout(Duration::from_secs(60), async { 1 }).await, Ok(1));
        });
    }
}
