//! Two clocks: a monotonic one for durations and deadlines, a wall clock for what people and replicas see.
//!
//! The monotonic clock starts near zero with the process and never steps back; it means nothing to another process.
//! The wall clock may jump in both directions and is only ever data, never the basis of a wait.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A source of both times. Real: the kernel's clocks. Simulated: the world's event time, with skew per node.
pub trait Clock: Send + Sync {
    /// Time since this process (or simulated node) started. Never falls.
    fn monotonic(&self) -> Instant;

    /// Microseconds since the Unix epoch. May jump.
    fn wall_micros(&self) -> i64;
}

/// A point on the monotonic clock: nanoseconds since the process started, which suffices for 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    nanos: u64,
}

impl Instant {
    /// The start of the process.
    pub const ZERO: Self = Self { nanos: 0 };

    /// After everything: a deadline that never passes.
    pub const FAR_FUTURE: Self = Self { nanos: u64::MAX };

    /// For implementations of [`Clock`].
    pub fn from_nanos(nanos: u64) -> Self {
        Self { nanos }
    }

    /// Nanoseconds since the process started.
    pub fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// Time from `earlier` to `self`, zero when `earlier` is later.
    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates at [`Instant::FAR_FUTURE`]: a deadline further away than that is no deadline.
    fn add(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self { nanos: self.nanos.saturating_add(nanos) }
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Saturates at [`Instant::ZERO`].
    fn sub(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self { nanos: self.nanos.saturating_sub(nanos) }
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Zero when `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_saturate_at_both_ends() {
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::from_nanos(7) + Duration::MAX, Instant::FAR_FUTURE);
        assert_eq!(Instant::ZERO - Instant::from_nanos(5), Duration::ZERO);
        assert_eq!(Instant::from_nanos(5) - Instant::from_nanos(2), Duration::from_nanos(3));
    }
}
