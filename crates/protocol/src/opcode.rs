//! Opcodes: what an envelope carries, and in which direction each may travel.

use std::fmt;

use crate::rejection::ProtocolError;

/// Whether an envelope comes from a client or from a server: the top bit of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Request,
    Response,
}

impl Direction {
    pub(crate) const RESPONSE_BIT: u8 = 0x80;

    pub(crate) fn of_first_byte(byte: u8) -> Self {
        if byte & Self::RESPONSE_BIT == 0 { Self::Request } else { Self::Response }
    }

    pub(crate) fn bit(self) -> u8 {
        match self {
            Self::Request => 0,
            Self::Response => Self::RESPONSE_BIT,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "REQUEST",
            Self::Response => "RESPONSE",
        })
    }
}

/// What an envelope carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    Error = 0,
    Startup = 1,
    Ready = 2,
    Authenticate = 3,
    /// Of version 1 only; known so that it can be refused by name.
    Credentials = 4,
    Options = 5,
    Supported = 6,
    Query = 7,
    Result = 8,
    Prepare = 9,
    Execute = 10,
    Register = 11,
    Event = 12,
    Batch = 13,
    AuthChallenge = 14,
    AuthResponse = 15,
    AuthSuccess = 16,
}

impl Opcode {
    const ALL: [Self; 17] = [
        Self::Error,
        Self::Startup,
        Self::Ready,
        Self::Authenticate,
        Self::Credentials,
        Self::Options,
        Self::Supported,
        Self::Query,
        Self::Result,
        Self::Prepare,
        Self::Execute,
        Self::Register,
        Self::Event,
        Self::Batch,
        Self::AuthChallenge,
        Self::AuthResponse,
        Self::AuthSuccess,
    ];

    /// # Errors
    /// [`ProtocolError::UnknownOpcode`], or [`ProtocolError::WrongDirection`] when it may not travel this way.
    pub(crate) fn decode(code: u8, direction: Direction) -> Result<Self, ProtocolError> {
        let opcode = Self::ALL.get(usize::from(code)).copied().ok_or(ProtocolError::UnknownOpcode { code })?;
        if opcode.direction() == direction {
            Ok(opcode)
        } else {
            Err(ProtocolError::WrongDirection { opcode, expected: opcode.direction(), found: direction })
        }
    }

    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Self::Startup
            | Self::Credentials
            | Self::Options
            | Self::Query
            | Self::Prepare
            | Self::Execute
            | Self::Register
            | Self::Batch
            | Self::AuthResponse => Direction::Request,
            Self::Error
            | Self::Ready
            | Self::Authenticate
            | Self::Supported
            | Self::Result
            | Self::Event
            | Self::AuthChallenge
            | Self::AuthSuccess => Direction::Response,
        }
    }

    /// The name that error texts use: `AUTH_RESPONSE`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Startup => "STARTUP",
            Self::Ready => "READY",
            Self::Authenticate => "AUTHENTICATE",
            Self::Credentials => "CREDENTIALS",
            Self::Options => "OPTIONS",
            Self::Supported => "SUPPORTED",
            Self::Query => "QUERY",
            Self::Result => "RESULT",
            Self::Prepare => "PREPARE",
            Self::Execute => "EXECUTE",
            Self::Register => "REGISTER",
            Self::Event => "EVENT",
            Self::Batch => "BATCH",
            Self::AuthChallenge => "AUTH_CHALLENGE",
            Self::AuthResponse => "AUTH_RESPONSE",
            Self::AuthSuccess => "AUTH_SUCCESS",
        }
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Opcode;

    #[test]
    fn an_opcode_stands_at_its_own_index() {
        for (index, opcode) in Opcode::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(opcode.code()), index);
        }
    }
}
