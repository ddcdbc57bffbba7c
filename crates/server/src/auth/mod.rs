//! Authentication: who a client says it is, and whether that is so.
//!
//! Role: `connection` hands in the client's token; [`AuthService`] knows the roles, checks the password on a helper thread
//! and slows down those who guess. Roles live in the metadata log; the copy here is what logins look at.
//!
//! Texts are Cassandra's. Source: Cassandra 5.0.9, `auth.PasswordAuthenticator`.

mod password;
mod sasl;
pub mod superuser;
mod throttle;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helenus_cluster::Role;
use helenus_env::Env;

use throttle::Throttle;

pub use password::hash_password;

/// Shared by all shards.
#[derive(Default)]
pub struct AuthService {
    roles: Mutex<BTreeMap<String, Role>>,
    throttle: Throttle,
}

/// What became of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthOutcome {
    Accepted { role: Arc<str> },
    Refused { text: String },
}

impl AuthService {
    #[must_use]
    pub fn new(roles: Vec<Role>) -> Self {
        let roles = roles.into_iter().map(|role| (role.name.clone(), role)).collect();
        Self { roles: Mutex::new(roles), throttle: Throttle::default() }
    }

    #[must_use]
    pub fn has_roles(&self) -> bool {
        !self.roles().is_empty()
    }

    #[must_use]
    pub fn role(&self, name: &str) -> Option<Role> {
        self.roles().get(name).cloned()
    }

    /// Takes over a role that was logged.
    pub fn put_role(&self, role: Role) {
        self.roles().insert(role.name.clone(), role);
    }

    /// Checks a SASL PLAIN token. Takes as long for unknown names as for wrong passwords.
    pub async fn authenticate(&self, env: &Env, token: &[u8], address: IpAddr) -> AuthOutcome {
        let (name, password) = match sasl::parse_plain(token) {
            Ok(credentials) => credentials,
            Err(text) => return AuthOutcome::Refused { text: text.to_owned() },
        };
        let wait = self.throttle.delay(env.monotonic(), &name, address);
        if !wait.is_zero() {
            env.sleep(wait).await;
        }
        let role = self.role(&name);
        let hash = role.as_ref().and_then(|role| role.salted_hash.clone());
        let is_right = password::verify(env, password, hash).await;
        let Some(role) = role.filter(|_| is_right) else {
            self.throttle.failed(env.monotonic(), &name, address);
            tracing::info!(role = name, client = %address, "a login failed");
            let text = format!("Provided username {name} and/or password are incorrect");
            return AuthOutcome::Refused { text };
        };
        self.throttle.succeeded(&name, address);
        if !role.can_login {
            return AuthOutcome::Refused { text: format!("{name} is not permitted to log in") };
        }
        AuthOutcome::Accepted { role: name.into() }
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
}
