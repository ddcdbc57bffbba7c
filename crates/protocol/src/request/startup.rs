//! STARTUP: what a client wants of its connection, and the refusals of what it cannot have.

use bytes::BytesMut;

use crate::compression::Compression;
use crate::primitives::{Reader, StringMap, write_string_map};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// The options as the client sent them, keys in capitals, unknown ones included: `system_views.clients` shows them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Startup {
    pub options: StringMap,
}

/// CQL below this is refused. Source: Cassandra 5.0.9, `StartupMessage.execute`.
const CQL_VERSION_MIN: [u32; 3] = [2, 99, 0];

impl Startup {
    pub(super) fn decode(reader: &mut Reader) -> Result<Self, ProtocolError> {
        let mut options = reader.read_string_map()?;
        for (key, _) in &mut options {
            *key = key.to_uppercase();
        }
        Ok(Self { options })
    }

    pub(super) fn encode(&self, out: &mut BytesMut) {
        write_string_map(out, &self.options);
    }

    /// The value of a key in capitals; of the last one when it stands there twice.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    #[must_use]
    pub fn driver_name(&self) -> Option<&str> {
        self.option("DRIVER_NAME")
    }

    #[must_use]
    pub fn driver_version(&self) -> Option<&str> {
        self.option("DRIVER_VERSION")
    }

    /// Whether the client prefers an OVERLOADED error to a connection that is not read for a while.
    #[must_use]
    pub fn throws_on_overload(&self) -> bool {
        self.option("THROW_ON_OVERLOAD") == Some("1")
    }

    /// Checks what must be right before anything else is looked at, and returns the compression to use.
    ///
    /// # Errors
    /// A missing, malformed or too old CQL_VERSION, a compression that is not known or not in this version.
    pub fn validate(&self, version: ProtocolVersion) -> Result<Option<Compression>, ProtocolError> {
        let cql_version = self.option("CQL_VERSION").ok_or(ProtocolError::MissingCqlVersion)?;
        let malformed = || ProtocolError::MalformedCqlVersion { value: cql_version.to_owned() };
        if parse_version(cql_version).ok_or_else(malformed)? < CQL_VERSION_MIN {
            return Err(ProtocolError::CqlVersionTooOld { value: cql_version.to_owned() });
        }
        let Some(name) = self.option("COMPRESSION") else { return Ok(None) };
        match Compression::from_name(name) {
            None => Err(ProtocolError::UnknownCompression { name: name.to_lowercase() }),
            Some(Compression::Snappy) if version.has_frames() => Err(ProtocolError::SnappyWithFrames),
            Some(compression) => Ok(Some(compression)),
        }
    }
}

/// `major.minor[.patch]`, whatever stands behind it after `-`, `+`, `~` or `.`.
fn parse_version(text: &str) -> Option<[u32; 3]> {
    let numbers = text.split(['-', '+', '~']).next()?;
    let mut parts = numbers.split('.').map(|part| part.parse().ok());
    let (major, minor) = (parts.next()??, parts.next()??);
    let patch = parts.next().unwrap_or(Some(0))?;
    Some([major, minor, patch])
}

#[cfg(test)]
mod tests {
    use super::Startup;
    use crate::compression::Compression;
    use crate::rejection::ProtocolError;
    use crate::version::ProtocolVersion;

    fn validate(version: ProtocolVersion, options: &[(&str, &str)]) -> Result<Option<Compression>, ProtocolError> {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Startup { options }.validate(version)
    }

    fn check_refused(version: ProtocolVersion, options: &[(&str, &str)], text: &str) {
        assert_eq!(validate(version, options).unwrap_err().to_string(), text);
    }

    #[test]
    fn refusals_have_the_words_of_cassandra() {
        let v4 = ProtocolVersion::V4;
        check_refused(v4, &[("A", "b")], "Missing value CQL_VERSION in STARTUP message");
        check_refused(v4, &[("CQL_VERSION", "abc")], "Invalid version value: abc");
        check_refused(v4, &[("CQL_VERSION", "3")], "Invalid version value: 3");
        check_refused(
            v4,
            &[("CQL_VERSION", "2.0.0")],
            "CQL version 2.0.0 is not supported by the binary protocol (supported version are >= 3.0.0)",
        );
        let zstd = [("CQL_VERSION", "3.0.0"), ("COMPRESSION", "ZSTD")];
        check_refused(v4, &zstd, "Unknown compression algorithm: zstd");
        let snappy = [("CQL_VERSION", "3.0.0"), ("COMPRESSION", "Snappy")];
        check_refused(ProtocolVersion::V5, &snappy, "Snappy compression is not supported in protocol V5");
        assert_eq!(validate(v4, &snappy), Ok(Some(Compression::Snappy)));
    }

    #[test]
    fn newer_and_shorter_cql_versions_are_welcome() {
        for version in ["3.0.0", "3.4", "4.0.0", "3.4.7-SNAPSHOT"] {
            assert_eq!(validate(ProtocolVersion::V5, &[("CQL_VERSION", version)]), Ok(None));
        }
    }
}
