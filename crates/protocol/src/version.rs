//! Versions of the native protocol, and the texts in which an unknown one is refused.
//!
//! Drivers start high and step down on the refusal; they match on its words, so they are Cassandra's to the letter.

use std::fmt;

/// A version that this crate speaks. Ordered, so that "since version 5" is `version >= ProtocolVersion::V5`.
///
/// `V6` is what Cassandra 5.0 calls `6/v6-beta`: on the wire it is version 5 with the USE_BETA flag set both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ProtocolVersion {
    V3 = 3,
    V4 = 4,
    V5 = 5,
    V6 = 6,
}

impl ProtocolVersion {
    /// Every version, rising.
    pub const ALL: [Self; 4] = [Self::V3, Self::V4, Self::V5, Self::V6];

    /// The version in which a client is answered whose own version is unknown.
    pub const CURRENT: Self = Self::V5;

    /// `None` for a version outside 3 to 6. `number` comes without the direction bit.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Whether a client must set USE_BETA to be served.
    #[must_use]
    pub fn is_beta(self) -> bool {
        self == Self::V6
    }

    /// Whether envelopes travel in checksummed segments once STARTUP is answered.
    #[must_use]
    pub fn has_frames(self) -> bool {
        Self::V5 <= self
    }

    /// As in SUPPORTED's `PROTOCOL_VERSIONS`: `4/v4`, `6/v6-beta`.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::V3 => "3/v3",
            Self::V4 => "4/v4",
            Self::V5 => "5/v5",
            Self::V6 => "6/v6-beta",
        }
    }

    /// `Invalid or unsupported protocol version (66); supported versions are (3/v3, ..)`.
    pub(crate) fn refusal(number: u8) -> String {
        let supported = Self::ALL.map(Self::description).join(", ");
        format!("Invalid or unsupported protocol version ({number}); supported versions are ({supported})")
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description())
    }
}

#[cfg(test)]
mod tests {
    use super::ProtocolVersion;

    #[test]
    fn refusal_names_the_version_and_what_is_spoken() {
        assert_eq!(
            ProtocolVersion::refusal(66),
            "Invalid or unsupported protocol version (66); supported versions are (3/v3, 4/v4, 5/v5, 6/v6-beta)"
        );
    }
}
