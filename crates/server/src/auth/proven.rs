//! Proven passwords: those that were checked and found right, as keyed digests, so that they are checked once only.
//!
//! A bcrypt check takes some 50 ms of a core. Drivers log in on every connection; with this, a password that was right a
//! moment ago is right at once, also while thousands of wrong ones wait for their check. Wrong passwords take as long as ever.
//!
//! The key is drawn at the start and never leaves the process; a digest goes when its role changes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use helenus_env::Env;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

type Key = [u8; 32];

pub(super) struct Proven {
    key: OnceLock<Key>,
    /// One a role.
    digests: Mutex<BTreeMap<String, [u8; 32]>>,
    changed: watch::Sender<u64>,
}

impl Default for Proven {
    fn default() -> Self {
        Self { key: OnceLock::new(), digests: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Proven {
    /// Whether this password was found to be right.
    pub(super) fn holds(&self, env: &Env, name: &str, password: &str) -> bool {
        let digest = self.digest(env, name, password);
        self.digests().get(name).is_some_and(|known| is_equal(known, &digest))
    }

    pub(super) fn add(&self, env: &Env, name: &str, password: &str) {
        let digest = self.digest(env, name, password);
        self.digests().insert(name.to_owned(), digest);
        self.changed.send_modify(|count| *count += 1);
    }

    pub(super) fn forget(&self, name: &str) {
        self.digests().remove(name);
    }

    /// Tells when a password was added.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn digest(&self, env: &Env, name: &str, password: &str) -> [u8; 32] {
        let key = self.key.get_or_init(|| {
            let mut key = Key::default();
            env.random_bytes(&mut key);
            key
        });
        // HMAC's form: the inner digest keeps the outer key from being extended.
        let inner = Sha256::new().chain_update(key).chain_update((name.len() as u64).to_be_bytes());
        let inner = inner.chain_update(name).chain_update(password).finalize();
        Sha256::new().chain_update(key).chain_update(inner).finalize().into()
    }

    fn digests(&self) -> MutexGuard<'_, BTreeMap<String, [u8; 32]>> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In the same time wherever they differ.
fn is_equal(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |difference, (a, b)| difference | a ^ b) == 0
}

#[cfg(test)]
mod tests {
    use helenus_env::real::RealEnv;

    use super::*;

    #[test]
    fn a_password_is_known_for_its_role_until_that_changes() {
        let env = RealEnv::start_default().unwrap();
        let proven = Proven::default();
        proven.add(&env, "ann", "secret");
        assert!(proven.holds(&env, "ann", "secret"));
        assert!(!proven.holds(&env, "ann", "Secret"));
        assert!(!proven.holds(&env, "bob", "secret"));
        assert!(!proven.holds(&env, "annsecret", ""));
        proven.forget("ann");
        assert!(!proven.holds(&env, "ann", "secret"));
    }
}
