//! Throttle: guesses at one name from one address come one after the other, each after twice the wait.
//!
//! An attempt takes the next free moment before it is known whether it is right, and counts as wrong until then: so guesses
//! on many connections at once share one row of moments instead of each having its own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use helenus_env::Instant;

const FIRST_DELAY: Duration = Duration::from_millis(100);
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// Whose moment would be later than this has none: clients do not wait longer for an answer.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Failures older than this are forgotten.
const MEMORY: Duration = Duration::from_secs(600);

/// 10,000 names and addresses of some 100 bytes: a megabyte. Beyond it the oldest is forgotten.
const ENTRIES_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Throttle {
    attempts: Mutex<BTreeMap<(String, IpAddr), Attempts>>,
}

#[derive(Clone, Copy)]
struct Attempts {
    /// Failed, or not known to be right yet.
    count: u32,
    last: Instant,
    /// The next free moment.
    next: Instant,
}

impl Attempts {
    fn delay(&self) -> Duration {
        match self.count.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => FIRST_DELAY.saturating_mul(1 << doublings.min(16)).min(LONGEST_DELAY),
        }
    }
}

impl Throttle {
    /// The moment at which an attempt may be checked, which is then taken; `None` when too many come first.
    pub(super) fn take_moment(&self, now: Instant, name: &str, address: IpAddr) -> Option<Instant> {
        let mut all = self.lock();
        make_room(&mut all, now);
        let attempts = all.entry((name.to_owned(), address)).or_insert(Attempts { count: 0, last: now, next: now });
        if MEMORY <= now - attempts.last {
            *attempts = Attempts { count: 0, last: now, next: now };
        }
        let moment = attempts.next.max(now);
        if WAIT_MAX < moment - now {
            return None;
        }
        attempts.count = attempts.count.saturating_add(1);
        attempts.last = now;
        attempts.next = moment + attempts.delay();
        Some(moment)
    }

    /// An attempt was wrong: the wait for the next one begins now.
    pub(super) fn failed(&self, now: Instant, name: &str, address: IpAddr) {
        if let Some(attempts) = self.lock().get_mut(&(name.to_owned(), address)) {
            attempts.last = now;
            attempts.next = attempts.next.max(now + attempts.delay());
        }
    }

    pub(super) fn succeeded(&self, name: &str, address: IpAddr) {
        self.lock().remove(&(name.to_owned(), address));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, IpAddr), Attempts>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_room(all: &mut BTreeMap<(String, IpAddr), Attempts>, now: Instant) {
    if all.len() < ENTRIES_MAX {
        return;
    }
    all.retain(|_, attempts| now - attempts.last < MEMORY);
    // An eighth at once: looking for the oldest walks over all of them.
    let mut oldest: Vec<(Instant, (String, IpAddr))> =
        all.iter().map(|(key, attempts)| (attempts.last, key.clone())).collect();
    oldest.sort_unstable();
    let excess = (all.len() + ENTRIES_MAX / 8).saturating_sub(ENTRIES_MAX);
    for (_, key) in oldest.iter().take(excess) {
        all.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Fails at once whenever its moment comes; answers the waits in milliseconds.
    fn waits(throttle: &Throttle, from: Instant, count: usize) -> Vec<u128> {
        let mut now = from;
        let waits = (0..count).map(|_| {
            let moment = throttle.take_moment(now, "ann", address(1)).expect("nobody else waits");
            let wait = moment - now;
            now = moment;
            throttle.failed(now, "ann", address(1));
            wait.as_millis()
        });
        waits.collect()
    }

    #[test]
    fn each_failure_doubles_the_wait_up_to_a_limit_and_success_ends_it() {
        let throttle = Throttle::default();
        assert_eq!(waits(&throttle, at(1_000), 9), [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(throttle.take_moment(at(1_000), "ann", address(2)), Some(at(1_000)), "another address");
        assert_eq!(throttle.take_moment(at(1_000), "bob", address(1)), Some(at(1_000)), "another name");
        throttle.succeeded("ann", address(1));
        assert_eq!(waits(&throttle, at(1_000), 2), [0, 100]);
    }

    #[test]
    fn guesses_at_the_same_time_have_one_moment_after_the_other_until_there_is_none() {
        let throttle = Throttle::default();
        let moments: Vec<Option<Instant>> = (0..9).map(|_| throttle.take_moment(at(0), "ann", address(1))).collect();
        let expected = [Some(0), Some(100), Some(300), Some(700), Some(1500), Some(3100), Some(6300), None, None];
        assert_eq!(moments, expected.map(|moment| moment.map(at)));
    }

    #[test]
    fn old_failures_are_forgotten() {
        let throttle = Throttle::default();
        waits(&throttle, at(0), 5);
        let later = at(3_000) + MEMORY;
        assert_eq!(throttle.take_moment(later, "ann", address(1)), Some(later));
    }

    #[test]
    fn names_without_end_do_not_fill_the_memory() {
        let throttle = Throttle::default();
        for number in 0..2 * ENTRIES_MAX as u64 {
            throttle.take_moment(at(number), &format!("user{number}"), address(1));
        }
        let attempts = throttle.lock();
        assert!(attempts.len() <= ENTRIES_MAX, "{}", attempts.len());
        assert!(attempts.contains_key(&(format!("user{}", 2 * ENTRIES_MAX - 1), address(1))));
    }
}
