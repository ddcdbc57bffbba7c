//! Scheduling groups: how a shard's time is divided between statements and the work behind them.
//!
//! tokio knows no priorities, so long work gives way by itself: after each piece it calls [`SchedulingGroup::pace`],
//! which returns at once inside a time slice and otherwise lets others run for as long as the group's share demands.
//! The rule conserves work: when a turn around the shard finds nobody else to run, the group goes on, so compaction
//! has an idle shard for itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Instant;
use crate::environment::Env;

/// Long work runs this long at most before others get a turn: a quarter of the 2 ms at which a poll counts as slow.
const SLICE: Duration = Duration::from_micros(500);

/// A turn of the shard shorter than this ran nobody else worth waiting for.
const IDLE_TURN: Duration = Duration::from_micros(20);

/// Debt is capped: a group that was away, or made one long step, must not be stopped for seconds.
const WORKED_MAX: Duration = Duration::from_millis(5);

/// What a piece of work is for. Each has shares of the shard's time, which count only while others want it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchedulingGroup {
    /// Reads and writes of clients and peers.
    Statement,
    /// Memtable flushes: writes wait for them when they fall behind.
    Flush,
    Compaction,
    /// Bootstrap, decommission, rebuild, and the transfers of repair.
    Streaming,
    /// Repair's validation, snapshots, scrubbing, index builds.
    Maintenance,
}

const GROUP_COUNT: usize = 5;
const _: () = assert!(SchedulingGroup::Maintenance as usize + 1 == GROUP_COUNT, "one clock per group");

/// When each group of one shard last began a slice, in nanoseconds of the monotonic clock; 0 is never.
#[derive(Default)]
pub(crate) struct GroupClocks {
    slice_started_nanos: [AtomicU64; GROUP_COUNT],
}

impl SchedulingGroup {
    /// Parts of a thousand that the group may use while the shard is busy.
    pub fn shares(self) -> u32 {
        match self {
            Self::Statement => 1_000,
            Self::Flush => 400,
            Self::Compaction => 200,
            Self::Streaming => 200,
            Self::Maintenance => 100,
        }
    }

    /// To be awaited between pieces of long work, each well below a millisecond.
    pub async fn pace(self, env: &Env) {
        let clock = &env.group_clocks().slice_started_nanos[self as usize];
        let now = env.monotonic();
        let started = Instant::from_nanos(clock.load(Ordering::Relaxed));
        let worked = (now - started).min(WORKED_MAX);
        if started != Instant::ZERO && worked < SLICE {
            return;
        }
        self.let_others_run(env, now, self.owed_rest(worked)).await;
        clock.store(env.monotonic().as_nanos().max(1), Ordering::Relaxed);
    }

    /// How long others may run after this group `worked`: work and rest stand as its shares to the rest of a thousand.
    fn owed_rest(self, worked: Duration) -> Duration {
        let shares = self.shares();
        worked * (1_000 - shares) / shares
    }

    async fn let_others_run(self, env: &Env, since: Instant, owed: Duration) {
        let mut turn_began = since;
        loop {
            env.yield_now().await;
            let now = env.monotonic();
            if now - turn_began < IDLE_TURN || owed <= now - since {
                return;
            }
            turn_began = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Clock;
    use crate::real::{RealConfig, RealEnv, block_on};

    /// Stands still unless a test says that something took time.
    #[derive(Default)]
    struct ManualClock {
        nanos: AtomicU64,
    }

    impl ManualClock {
        fn pass(&self, duration: Duration) {
            self.nanos.fetch_add(duration.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    impl Clock for ManualClock {
        fn monotonic(&self) -> Instant {
            Instant::from_nanos(self.nanos.load(Ordering::Relaxed))
        }

        fn wall_micros(&self) -> i64 {
            0
        }
    }

    fn env_with_clock() -> (Env, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        let mut parts = RealEnv::parts(&RealConfig::default()).unwrap();
        parts.clock = Arc::<ManualClock>::clone(&clock);
        let env = Env::new(parts);
        env.polls().set_limit(None);
        (env, clock)
    }

    #[test]
    fn rest_and_work_stand_as_the_shares() {
        let worked = Duration::from_millis(1);
        assert_eq!(SchedulingGroup::Statement.owed_rest(worked), Duration::ZERO);
        assert_eq!(SchedulingGroup::Compaction.owed_rest(worked), Duration::from_millis(4));
        assert_eq!(SchedulingGroup::Maintenance.owed_rest(worked), Duration::from_millis(9));
    }

    #[test]
    fn a_busy_shard_gives_compaction_its_share() {
        let (env, clock) = env_with_clock();
        block_on(async move {
            let (statement_clock, statement_env) = (Arc::clone(&clock), env.clone());
            let statements = env.spawn("statements", async move {
                loop {
                    statement_clock.pass(Duration::from_micros(200));
                    statement_env.yield_now().await;
                }
            });
            let mut compaction = Duration::ZERO;
            for _ in 0..1_000 {
                clock.pass(Duration::from_micros(100));
                compaction += Duration::from_micros(100);
                SchedulingGroup::Compaction.pace(&env).await;
            }
            let all = env.monotonic() - Instant::ZERO;
            let share = compaction.as_secs_f64() / all.as_secs_f64();
            assert!((0.15..=0.25).contains(&share), "{share}");
            statements.stop().await;
        });
    }

    #[test]
    fn an_idle_shard_is_the_groups_own() {
        let (env, clock) = env_with_clock();
        block_on(async move {
            for _ in 0..100 {
                clock.pass(Duration::from_micros(100));
                SchedulingGroup::Maintenance.pace(&env).await;
            }
            assert_eq!(env.monotonic() - Instant::ZERO, Duration::from_millis(10));
        });
    }
}
