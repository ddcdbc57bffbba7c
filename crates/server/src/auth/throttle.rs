//! Throttle: failed logins of one name from one address wait twice as long each time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use helenus_env::Instant;

const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// Failures older than this are forgotten.
const MEMORY: Duration = Duration::from_secs(600);

/// 10,000 names and addresses of some 100 bytes: a megabyte. Beyond it the oldest is forgotten.
const ENTRIES_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Throttle {
    failures: Mutex<BTreeMap<(String, IpAddr), Failures>>,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Throttle {
    /// How long the next attempt has to wait.
    pub(super) fn delay(&self, now: Instant, name: &str, address: IpAddr) -> Duration {
        let failures = self.lock().get(&(name.to_owned(), address)).copied();
        let Some(failures) = failures.filter(|failures| now - failures.last < MEMORY) else { return Duration::ZERO };
        let doublings = failures.count.saturating_sub(1).min(16);
        let delay = FIRST_DELAY.saturating_mul(1 << doublings).min(LONGEST_DELAY);
        (failures.last + delay) - now
    }

    pub(super) fn failed(&self, now: Instant, name: &str, address: IpAddr) {
        let mut failures = self.lock();
        if ENTRIES_MAX <= failures.len() {
            failures.retain(|_, failures| now - failures.last < MEMORY);
            let oldest = failures.iter().min_by_key(|(_, failures)| failures.last).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest.filter(|_| ENTRIES_MAX <= failures.len()) {
                failures.remove(&oldest);
            }
        }
        let entry = failures.entry((name.to_owned(), address)).or_insert(Failures { count: 0, last: now });
        entry.count = if now - entry.last < MEMORY { entry.count.saturating_add(1) } else { 1 };
        entry.last = now;
    }

    pub(super) fn succeeded(&self, name: &str, address: IpAddr) {
        self.lock().remove(&(name.to_owned(), address));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, IpAddr), Failures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_doubles_the_wait_until_a_success() {
        let throttle = Throttle::default();
        let address = IpAddr::from([192, 0, 2, 1]);
        let now = Instant::ZERO + Duration::from_secs(1_000);
        let delay = || throttle.delay(now, "ann", address);
        assert_eq!(delay(), Duration::ZERO);
        let mut waits = Vec::new();
        for _ in 0..8 {
            throttle.failed(now, "ann", address);
            waits.push(delay().as_millis());
        }
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        assert_eq!(throttle.delay(now, "bob", address), Duration::ZERO);
        assert_eq!(throttle.delay(now + MEMORY, "ann", address), Duration::ZERO);
        throttle.succeeded("ann", address);
        assert_eq!(delay(), Duration::ZERO);
    }
}
