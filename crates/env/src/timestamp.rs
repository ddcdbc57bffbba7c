//! The node's source of timestamps: one atomic, so that no two shards ever hand out the same or a falling one.
//!
//! Invariant: `last` is the largest tick handed out or ruled out by a floor; every answer is above it.
//!
//! A clock that steps back does not pull timestamps back: they go on from the last one, a tick apiece, until the wall
//! clock has caught up. After a restart the floor (from commit log and SSTables) does the same.

use std::sync::atomic::{AtomicI64, Ordering};

/// Strictly rising ticks that follow the wall clock. The unit is the caller's: microseconds or 100 ns.
pub struct TimestampOracle {
    last: AtomicI64,
}

impl Default for TimestampOracle {
    fn default() -> Self {
        Self { last: AtomicI64::new(i64::MIN) }
    }
}

impl TimestampOracle {
    /// `max(last + 1, wall)`, remembered as the new last one.
    pub fn next(&self, wall: i64) -> i64 {
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = wall.max(last.saturating_add(1));
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(seen) => last = seen,
            }
        }
    }

    /// Rules out everything up to and including `floor`.
    pub fn raise_floor(&self, floor: i64) {
        self.last.fetch_max(floor, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_follow_the_wall_clock_and_survive_its_steps_back() {
        let oracle = TimestampOracle::default();
        assert_eq!(oracle.next(100), 100);
        assert_eq!(oracle.next(100), 101);
        assert_eq!(oracle.next(50), 102);
        assert_eq!(oracle.next(200), 200);
    }

    #[test]
    fn a_floor_rules_out_what_was_used_before_the_restart() {
        let oracle = TimestampOracle::default();
        oracle.raise_floor(1_000);
        assert_eq!(oracle.next(10), 1_001);
        oracle.raise_floor(5);
        assert_eq!(oracle.next(10), 1_002);
    }
}
