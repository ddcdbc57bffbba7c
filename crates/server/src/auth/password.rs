//! Passwords: bcrypt, as Cassandra stores them, always on a helper thread: one check costs some 50 ms.

use helenus_env::Env;

/// Cassandra's `GENSALT_LOG2_ROUNDS`.
pub(super) const COST: u32 = 10;

/// Salt and digest that no password is likely to have: unknown names are checked against it, so that they take as long.
const NOBODYS_SALT_AND_DIGEST: &str = "7EqJtq98hPqEX7fNZaFWoOhi5o8Cc5o1E0Y5ZrZ6a6lY8GQzK1b2e";

/// How much a hash costs; [`COST`] for one that cannot be read.
pub(super) fn cost_of(hash: &str) -> u32 {
    hash.parse::<bcrypt::HashParts>().map_or(COST, |parts| parts.get_cost())
}

/// Whether the password has the hash; never for `None`, which takes as long as a hash of `usual_cost`.
///
/// The helpers' queue is bounded, so a flood of logins waits there, and not on the shard.
pub(super) async fn verify(env: &Env, password: String, hash: Option<String>, usual_cost: u32) -> bool {
    env.run_blocking(move || {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| format!("$2a${usual_cost:02}${NOBODYS_SALT_AND_DIGEST}"));
        // A hash that cannot be read lets nobody in.
        bcrypt::verify(&password, &hash).unwrap_or(false) && known
    })
    .await
}

/// The hash as Cassandra writes it, `$2a$10$…`.
pub async fn hash_password(env: &Env, password: String) -> Option<String> {
    env.run_blocking(move || {
        bcrypt::hash_with_result(&password, COST).ok().map(|parts| parts.format_for_version(bcrypt::Version::TwoA))
    })
    .await
}

#[cfg(test)]
mod tests {
    use helenus_env::real::{RealEnv, block_on};

    use super::*;

    #[test]
    fn the_hash_that_stands_in_for_unknown_names_costs_as_much_as_a_real_one() {
        assert!(matches!(bcrypt::verify("x", &format!("$2a$10${NOBODYS_SALT_AND_DIGEST}")), Ok(false)));
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let hash = hash_password(&env, "secret".to_owned()).await.unwrap();
            assert!(hash.starts_with("$2a$10$"));
            assert_eq!(cost_of(&hash), COST);
            assert!(verify(&env, "secret".to_owned(), Some(hash.clone()), COST).await);
            assert!(!verify(&env, "Secret".to_owned(), Some(hash), COST).await);
            assert!(!verify(&env, "x".to_owned(), None, 4).await);
        });
    }
}
