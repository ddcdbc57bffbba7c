//! The first superuser of a cluster with `PasswordAuthenticator`: nobody else could make one.
//!
//! There is no default password. The configuration names the superuser and its hash, or the first start draws a password and
//! writes it to a file that only the operator can read. The classic `cassandra`/`cassandra` exists only where a setting asks
//! for it by name.

use std::io;
use std::path::{Path, PathBuf};

use helenus_cluster::{Cluster, ClusterError, Role};
use helenus_env::Env;

use super::{AuthService, hash_password};
use crate::config::Authentication;

const NAME: &str = "cassandra";
const FILE: &str = "initial-superuser-password";

/// Without letters and digits that look alike; 24 of 56 are 139 bits.
const ALPHABET: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const PASSWORD_CHARS: usize = 24;

#[derive(Debug, thiserror::Error)]
pub enum SuperuserError {
    #[error("cannot write the first superuser's password to {path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot make the first superuser")]
    Hash,
    #[error("cannot make the first superuser")]
    Cluster(#[from] ClusterError),
}

/// Makes the first superuser unless there are roles; then the configured one gets the configured password. Returns the file with its password when it was drawn here.
///
/// # Errors
/// [`SuperuserError`]; the start cannot go on, because nobody could log in.
pub async fn ensure(
    env: &Env,
    cluster: &Cluster,
    auth: &AuthService,
    settings: &Authentication,
    root: &Path,
) -> Result<Option<PathBuf>, SuperuserError> {
    if auth.has_roles() {
        adopt_configured(cluster, auth, settings).await?;
        return Ok(None);
    }
    let mut file = None;
    let (name, salted_hash) = match &settings.superuser {
        Some((name, hash)) => (name.clone(), hash.clone()),
        None => {
            let password = if settings.default_superuser { NAME.to_owned() } else { draw_password(env) };
            let hash = hash_password(env, password.clone()).await.ok_or(SuperuserError::Hash)?;
            if !settings.default_superuser {
                let path = root.join(FILE);
                // The file first: a role whose password nobody knows would lock everybody out.
                write_private(&path, format!("{password}\n").as_bytes())
                    .map_err(|source| SuperuserError::File { path: path.clone(), source })?;
                file = Some(path);
            }
            (NAME.to_owned(), hash)
        }
    };
    let role = Role { name, is_superuser: true, can_login: true, salted_hash: Some(salted_hash) };
    cluster.put_role(role.clone()).await?;
    auth.put_role(role);
    Ok(file)
}

/// Gives the superuser that the configuration names the password that it names, when that is another one: the way to change
/// it, or to get in again when it is lost.
async fn adopt_configured(
    cluster: &Cluster,
    auth: &AuthService,
    settings: &Authentication,
) -> Result<(), SuperuserError> {
    let Some((name, hash)) = &settings.superuser else { return Ok(()) };
    let current = auth.role(name);
    if current.as_ref().is_some_and(|role| role.is_superuser && role.salted_hash.as_ref() == Some(hash)) {
        return Ok(());
    }
    let role = Role { name: name.clone(), is_superuser: true, can_login: true, salted_hash: Some(hash.clone()) };
    cluster.put_role(role.clone()).await?;
    auth.put_role(role);
    let is_new = current.is_none();
    tracing::warn!(role = name, is_new, "the superuser has the password of the configuration now");
    Ok(())
}

fn draw_password(env: &Env) -> String {
    let mut password = String::new();
    while password.len() < PASSWORD_CHARS {
        let mut byte = [0];
        env.random_bytes(&mut byte);
        // Bytes beyond the last whole multiple would favour the first letters.
        let limit = 256 / ALPHABET.len() * ALPHABET.len();
        if usize::from(byte[0]) < limit
            && let Some(letter) = ALPHABET.get(usize::from(byte[0]) % ALPHABET.len())
        {
            password.push(char::from(*letter));
        }
    }
    password
}

/// Through the system directly: `env::Disk` knows no modes, and a moment of a wider one would be enough to read it.
fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?; // It may be there from an interrupted start.
    let written = rustix::io::write(&file, content)?;
    if written < content.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    rustix::fs::fsync(&file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use helenus_env::real::RealEnv;

    use super::*;

    #[test]
    fn passwords_are_long_and_differ_and_only_the_owner_reads_them() {
        let env = RealEnv::start_default().unwrap();
        let (one, two) = (draw_password(&env), draw_password(&env));
        assert_eq!(one.len(), PASSWORD_CHARS);
        assert_ne!(one, two);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        write_private(&path, one.as_bytes()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
