//! Authentication: who a client says it is, and whether that is so.
//!
//! Role: `connection` hands in the client's token; [`AuthService`] knows the roles, checks the password on a helper thread
//! and slows down those who guess. What was found right once is known ([`Proven`]). Roles live in the metadata log; the copy here is what logins look at.
//!
//! Texts are Cassandra's. Source: Cassandra 5.0.9, `auth.PasswordAuthenticator`.

mod password;
mod proven;
mod sasl;
pub mod superuser;
mod throttle;
mod turns;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use helenus_cluster::Role;
use helenus_env::Env;

use proven::Proven;
use throttle::{LONGEST_DELAY, Throttle};
use turns::{Turn, Turns};

pub use password::hash_password;

/// So many passwords are checked at once; the others wait, and are dropped when their clients go.
const CHECKS_MAX: usize = 2;

/// A login that found no turn after this time is refused: its client has given up, or soon will.
const TURN_LIMIT: Duration = Duration::from_secs(20);

/// Shared by all shards.
pub struct AuthService {
    roles: Mutex<BTreeMap<String, Role>>,
    throttle: Throttle,
    proven: Proven,
    turns: Arc<Turns>,
}

/// What became of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthOutcome {
    Accepted { role: Arc<str> },
    Refused { text: String },
}

/// What came of waiting to have a password checked.
enum Admission {
    /// It was found right before.
    Known,
    /// It may be checked, as long as this is held.
    Check(Turn),
    /// There is no room for it; why, for the client.
    None(String),
}

impl AuthService {
    #[must_use]
    pub fn new(roles: Vec<Role>) -> Self {
        let roles = roles.into_iter().map(|role| (role.name.clone(), role)).collect();
        Self {
            roles: Mutex::new(roles),
            throttle: Throttle::default(),
            proven: Proven::default(),
            turns: Turns::new(CHECKS_MAX),
        }
    }

    #[must_use]
    pub fn has_roles(&self) -> bool {
        !self.roles().is_empty()
    }

    #[must_use]
    pub fn role(&self, name: &str) -> Option<Role> {
        self.roles().get(name).cloned()
    }

    /// The highest that a login of a known name may cost.
    fn usual_cost(&self) -> u32 {
        let roles = self.roles();
        let hashes = roles.values().filter_map(|role| role.salted_hash.as_deref());
        hashes.map(password::cost_of).max().unwrap_or(password::COST)
    }

    /// By name.
    #[must_use]
    pub fn all_roles(&self) -> Vec<Role> {
        self.roles().values().cloned().collect()
    }

    /// Takes over a role that was logged.
    pub fn put_role(&self, role: Role) {
        let name = role.name.clone();
        self.roles().insert(name.clone(), role);
        self.proven.forget(&name);
    }

    /// Checks a SASL PLAIN token. Takes as long for unknown names as for wrong passwords. Dropped, it lets its turn go.
    pub async fn authenticate(&self, env: &Env, token: &[u8], address: IpAddr) -> AuthOutcome {
        let (name, password) = match sasl::parse_plain(token) {
            Ok(credentials) => credentials,
            Err(text) => return AuthOutcome::Refused { text: text.to_owned() },
        };
        let refused = |text: String| AuthOutcome::Refused { text };
        let is_right = match self.admit(env, &name, &password, address).await {
            Admission::Known => true,
            Admission::None(text) => return refused(text),
            Admission::Check(_turn) => {
                let role = self.role(&name);
                let hash = role.as_ref().and_then(|role| role.salted_hash.clone());
                let is_right = password::verify(env, password.clone(), hash.clone(), self.usual_cost()).await;
                // Not when the role got another password meanwhile.
                if is_right && hash == self.role(&name).and_then(|role| role.salted_hash) {
                    self.proven.add(env, &name, &password);
                }
                is_right
            }
        };
        let Some(role) = self.role(&name).filter(|_| is_right) else {
            self.throttle.failed(env.monotonic(), &name, address);
            tracing::info!(role = name, client = %address, "a login failed");
            return refused(format!("Provided username {name} and/or password are incorrect"));
        };
        self.throttle.succeeded(&name, address);
        if !role.can_login {
            return refused(format!("{name} is not permitted to log in"));
        }
        AuthOutcome::Accepted { role: name.into() }
    }

    /// Waits for the turn to check a password, or until the same password was found right by another login.
    async fn admit(&self, env: &Env, name: &str, password: &str, address: IpAddr) -> Admission {
        let mut proofs = self.proven.changes();
        if self.proven.holds(env, name, password) {
            return Admission::Known;
        }
        let moment = self.throttle.take_moment(env.monotonic(), name, address);
        let mut waiting = pin!(async {
            let Some(moment) = moment else {
                env.sleep(LONGEST_DELAY).await;
                return Admission::None(format!("Too many wrong passwords for {name}; try again later"));
            };
            env.sleep_until(moment).await;
            match env.timeout(TURN_LIMIT, self.turns.take(address)).await {
                Ok(turn) => Admission::Check(turn),
                Err(_) => Admission::None("Too many logins at the same time; try again later".to_owned()),
            }
        });
        loop {
            tokio::select! {
                admission = &mut waiting => return admission,
                changed = proofs.changed() => {
                    // The sender lives as long as `self`.
                    if changed.is_ok() && self.proven.holds(env, name, password) {
                        return Admission::Known;
                    }
                }
            }
        }
    }

    fn roles(&self) -> MutexGuard<'_, BTreeMap<String, Role>> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use helenus_env::real::{RealEnv, block_on};

    use super::*;

    fn role(name: &str, password: &str, can_login: bool) -> Role {
        let salted_hash = Some(bcrypt::hash(password, 4).unwrap());
        Role { name: name.to_owned(), is_superuser: false, can_login, salted_hash }
    }

    #[test]
    fn logins_are_judged_in_cassandras_words() {
        let service = AuthService::new(vec![role("ann", "secret", true), role("group", "x", false)]);
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let address = IpAddr::from([192, 0, 2, 1]);
            let login = async |token: &[u8]| service.authenticate(&env, token, address).await;
            assert_eq!(login(b"\0ann\0secret").await, AuthOutcome::Accepted { role: "ann".into() });
            let refused = |text: &str| AuthOutcome::Refused { text: text.to_owned() };
            let wrong = "Provided username ann and/or password are incorrect";
            assert_eq!(login(b"\0ann\0wrong").await, refused(wrong));
            let unknown = "Provided username nobody and/or password are incorrect";
            assert_eq!(login(b"\0nobody\0secret").await, refused(unknown));
            assert_eq!(login(b"\0group\0x").await, refused("group is not permitted to log in"));
        });
    }

    #[test]
    fn many_right_logins_at_once_do_not_wait_for_each_other_and_a_new_password_counts_at_once() {
        let service = AuthService::new(vec![role("ann", "secret", true)]);
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let address = IpAddr::from([192, 0, 2, 1]);
            let login = async |token: &[u8]| service.authenticate(&env, token, address).await;
            let started = env.monotonic();
            let (one, two, three) =
                tokio::join!(login(b"\0ann\0secret"), login(b"\0ann\0secret"), login(b"\0ann\0secret"));
            for outcome in [one, two, three] {
                assert_eq!(outcome, AuthOutcome::Accepted { role: "ann".into() });
            }
            for _ in 0..100 {
                assert_eq!(login(b"\0ann\0secret").await, AuthOutcome::Accepted { role: "ann".into() });
            }
            assert!(env.monotonic() - started < Duration::from_secs(3));
            service.put_role(role("ann", "changed", true));
            assert_ne!(login(b"\0ann\0secret").await, AuthOutcome::Accepted { role: "ann".into() });
            assert_eq!(login(b"\0ann\0changed").await, AuthOutcome::Accepted { role: "ann".into() });
        });
    }

    #[test]
    fn a_login_that_is_dropped_lets_its_turn_go() {
        let service = AuthService::new(vec![role("ann", "secret", true)]);
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let address = IpAddr::from([192, 0, 2, 1]);
            let mut held = Vec::new();
            for _ in 0..CHECKS_MAX {
                held.push(service.turns.take(address).await);
            }
            let waiting = service.authenticate(&env, b"\0bob\0secret", address);
            assert!(env.timeout(Duration::from_millis(50), waiting).await.is_err(), "there is no turn");
            drop(held);
            let outcome = service.authenticate(&env, b"\0ann\0secret", address).await;
            assert_eq!(outcome, AuthOutcome::Accepted { role: "ann".into() });
        });
    }
}
