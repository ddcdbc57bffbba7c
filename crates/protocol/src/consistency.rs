//! Consistency levels as the wire and the error texts name them.

use std::fmt;

use crate::rejection::ProtocolError;

/// How many replicas must answer. What each level asks of a keyspace is decided by the coordinator, not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Consistency {
    Any = 0,
    One = 1,
    Two = 2,
    Three = 3,
    Quorum = 4,
    All = 5,
    LocalQuorum = 6,
    EachQuorum = 7,
    Serial = 8,
    LocalSerial = 9,
    LocalOne = 10,
    /// Only for Cassandra's own internal reads; on the wire it has a code like any other.
    NodeLocal = 11,
}

impl Consistency {
    /// Every level, by rising code.
    pub const ALL: [Self; 12] = [
        Self::Any,
        Self::One,
        Self::Two,
        Self::Three,
        Self::Quorum,
        Self::All,
        Self::LocalQuorum,
        Self::EachQuorum,
        Self::Serial,
        Self::LocalSerial,
        Self::LocalOne,
        Self::NodeLocal,
    ];

    /// # Errors
    /// [`ProtocolError::UnknownConsistency`]: `Unknown code 77 for a consistency level`.
    pub fn from_code(code: u16) -> Result<Self, ProtocolError> {
        Self::ALL.get(usize::from(code)).copied().ok_or(ProtocolError::UnknownConsistency { code })
    }

    /// By its name in capitals, as [`Self::name`] gives it; case does not matter.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    #[must_use]
    pub fn code(self) -> u16 {
        self as u16
    }

    /// SERIAL and LOCAL_SERIAL: levels of the Paxos phase, not of a plain read or write.
    #[must_use]
    pub fn is_serial(self) -> bool {
        matches!(self, Self::Serial | Self::LocalSerial)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "ANY",
            Self::One => "ONE",
            Self::Two => "TWO",
            Self::Three => "THREE",
            Self::Quorum => "QUORUM",
            Self::All => "ALL",
            Self::LocalQuorum => "LOCAL_QUORUM",
            Self::EachQuorum => "EACH_QUORUM",
            Self::Serial => "SERIAL",
            Self::LocalSerial => "LOCAL_SERIAL",
            Self::LocalOne => "LOCAL_ONE",
            Self::NodeLocal => "NODE_LOCAL",
        }
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Consistency;

    #[test]
    fn codes_and_names_lead_back_to_their_level() {
        for level in Consistency::ALL {
            assert_eq!(Consistency::from_code(level.code()), Ok(level));
            assert_eq!(Consistency::from_name(&level.name().to_lowercase()), Some(level));
        }
    }

    #[test]
    fn an_unknown_code_is_refused_in_the_words_of_cassandra() {
        let refusal = Consistency::from_code(77).unwrap_err();
        assert_eq!(refusal.to_string(), "Unknown code 77 for a consistency level");
    }
}
