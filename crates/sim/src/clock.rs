//! A node's clocks: both follow the world's event time; the wall clock with an error of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use helenus_env::{Clock, Instant};

/// 2026-01-01T00:00:00Z. Any day will do; this one is past what every format calls the past.
const WORLD_STARTS_AT_MICROS: i64 = 1_767_225_600_000_000;

/// How far a node's wall clock is off, in microseconds. Survives the node's restarts; a scenario may change it.
#[derive(Clone, Default)]
pub struct ClockSkew {
    micros: Arc<AtomicI64>,
}

impl ClockSkew {
    /// Positive: the node's clock runs ahead. A change is a jump.
    pub fn set_micros(&self, micros: i64) {
        self.micros.store(micros, Ordering::Relaxed);
    }
}

pub(crate) struct SimClock {
    world_started: tokio::time::Instant,
    process_started: tokio::time::Instant,
    skew: ClockSkew,
}

impl SimClock {
    /// The clock of a process that starts now.
    pub(crate) fn start(world_started: tokio::time::Instant, skew: ClockSkew) -> Self {
        Self { world_started, process_started: tokio::time::Instant::now(), skew }
    }
}

impl Clock for SimClock {
    fn monotonic(&self) -> Instant {
        Instant::ZERO + self.process_started.elapsed()
    }

    fn wall_micros(&self) -> i64 {
        let elapsed = i64::try_from(self.world_started.elapsed().as_micros()).unwrap_or(i64::MAX);
        WORLD_STARTS_AT_MICROS.saturating_add(elapsed).saturating_add(self.skew.micros.load(Ordering::Relaxed))
    }
}
