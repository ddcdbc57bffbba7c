//! Throttle: spreads bytes over time.

use std::cell::Cell;
use std::time::Duration;

use helenus_env::{Env, Instant};
use tokio::sync::Notify;

/// Debts below this are carried on instead of slept off: a timer has a resolution of a millisecond.
const NAP_MIN: Duration = Duration::from_millis(5);

pub(crate) struct Throttle {
    /// 0: no limit.
    bytes_per_sec: Cell<u64>,
    /// When what was taken so far is paid for.
    paid_at: Cell<Instant>,
}

impl Throttle {
    pub fn new(bytes_per_sec: u64) -> Self {
        Self { bytes_per_sec: Cell::new(bytes_per_sec), paid_at: Cell::new(Instant::ZERO) }
    }

    pub fn set(&self, bytes_per_sec: u64) {
        self.bytes_per_sec.set(bytes_per_sec);
    }

    pub fn bytes_per_sec(&self) -> u64 {
        self.bytes_per_sec.get()
    }

    /// Takes `bytes`, after a nap when that is too fast; `stopped` ends the nap.
    pub async fn take(&self, env: &Env, bytes: u64, stopped: &Notify) {
        let Some(nanos) = bytes.saturating_mul(1_000_000_000).checked_div(self.bytes_per_sec.get()) else { return };
        let now = env.monotonic();
        let paid_at = self.paid_at.get().max(now) + Duration::from_nanos(nanos);
        self.paid_at.set(paid_at);
        if NAP_MIN <= paid_at - now {
            // Whether time ran out or somebody stopped it: the nap is over.
            let _ = env.timeout(paid_at - now, stopped.notified()).await;
        }
    }
}
