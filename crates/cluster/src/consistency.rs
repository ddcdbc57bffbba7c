//! Consistency levels.

use std::fmt;

/// Source: native protocol v5, section 3; the discriminants are its codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    NodeLocal = 11,
}

impl Consistency {
    pub const ALL: [Consistency; 12] = [
        Consistency::Any,
        Consistency::One,
        Consistency::Two,
        Consistency::Three,
        Consistency::Quorum,
        Consistency::All,
        Consistency::LocalQuorum,
        Consistency::EachQuorum,
        Consistency::Serial,
        Consistency::LocalSerial,
        Consistency::LocalOne,
        Consistency::NodeLocal,
    ];

    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    #[must_use]
    pub fn code(self) -> u16 {
        self as u16
    }

    #[must_use]
    pub fn is_serial(self) -> bool {
        matches!(self, Consistency::Serial | Consistency::LocalSerial)
    }

    /// The level of the rounds by which a `SERIAL` or `LOCAL_SERIAL` statement is agreed, as errors name it.
    #[must_use]
    pub(crate) fn of_agreement(self) -> Self {
        match self {
            Consistency::Serial => Consistency::Quorum,
            Consistency::LocalSerial => Consistency::LocalQuorum,
            other => other,
        }
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Consistency::Any => "ANY",
            Consistency::One => "ONE",
            Consistency::Two => "TWO",
            Consistency::Three => "THREE",
            Consistency::Quorum => "QUORUM",
            Consistency::All => "ALL",
            Consistency::LocalQuorum => "LOCAL_QUORUM",
            Consistency::EachQuorum => "EACH_QUORUM",
            Consistency::Serial => "SERIAL",
            Consistency::LocalSerial => "LOCAL_SERIAL",
            Consistency::LocalOne => "LOCAL_ONE",
            Consistency::NodeLocal => "NODE_LOCAL",
        })
    }
}
