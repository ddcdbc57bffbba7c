//! SASL PLAIN: an authorisation id that nobody uses, a name and a password, with a zero before each of the latter two.

const FORMAT: &str = "Credential format error: username or password is empty or contains NUL(\\0) character";

/// Name and password.
///
/// # Errors
/// Cassandra's text. Source: Cassandra 5.0.9, `PasswordAuthenticator.PlainTextSaslAuthenticator.decodeCredentials`.
pub(super) fn parse_plain(token: &[u8]) -> Result<(String, String), &'static str> {
    let parts: Vec<&[u8]> = token.split(|byte| *byte == 0).collect();
    let (name, password) = match parts.as_slice() {
        [_, name, password] => (*name, *password),
        [] | [_] => return Err("Password must not be null"),
        [_, []] => return Err("Password must not be null"),
        [_, _] => return Err("Authentication ID must not be null"),
        _ => return Err(FORMAT),
    };
    if password.is_empty() {
        return Err("Password must not be null");
    }
    if name.is_empty() {
        return Err("Authentication ID must not be null");
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(name), text(password)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_taken_apart_or_refused() {
        let pair = |name: &str, password: &str| Ok((name.to_owned(), password.to_owned()));
        assert_eq!(parse_plain(b"\0user\0pass"), pair("user", "pass"));
        assert_eq!(parse_plain(b"authz\0user\0pass"), pair("user", "pass"));
        assert_eq!(parse_plain(b""), Err("Password must not be null"));
        assert_eq!(parse_plain(b"\0user\0"), Err("Password must not be null"));
        assert_eq!(parse_plain(b"\0\0pass"), Err("Authentication ID must not be null"));
        assert_eq!(parse_plain(b"a\0b\0c\0d"), Err(FORMAT));
    }
}
