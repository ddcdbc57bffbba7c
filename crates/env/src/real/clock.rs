//! The kernel's clocks.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::clock::{Clock, Instant};

pub(super) struct RealClock {
    started: std::time::Instant,
}

impl RealClock {
    #[expect(clippy::disallowed_methods, reason = "this is what everybody else must go through")]
    pub(super) fn start() -> Self {
        Self { started: std::time::Instant::now() }
    }
}

impl Clock for RealClock {
    fn monotonic(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is what everybody else must go through")]
    fn wall_micros(&self) -> i64 {
        let now = SystemTime::now();
        match now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
        }
    }
}
