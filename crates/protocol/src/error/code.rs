//! Error codes, named once for the whole product.

use crate::rejection::ProtocolError;

/// The number at the front of every ERROR body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ErrorCode {
    Server = 0x0000,
    Protocol = 0x000A,
    BadCredentials = 0x0100,
    Unavailable = 0x1000,
    Overloaded = 0x1001,
    Bootstrapping = 0x1002,
    Truncate = 0x1003,
    WriteTimeout = 0x1100,
    ReadTimeout = 0x1200,
    ReadFailure = 0x1300,
    FunctionFailure = 0x1400,
    WriteFailure = 0x1500,
    CdcWriteFailure = 0x1600,
    CasWriteUnknown = 0x1700,
    Syntax = 0x2000,
    Unauthorized = 0x2100,
    Invalid = 0x2200,
    Config = 0x2300,
    AlreadyExists = 0x2400,
    Unprepared = 0x2500,
}

impl ErrorCode {
    /// Every code, rising.
    pub const ALL: [Self; 20] = [
        Self::Server,
        Self::Protocol,
        Self::BadCredentials,
        Self::Unavailable,
        Self::Overloaded,
        Self::Bootstrapping,
        Self::Truncate,
        Self::WriteTimeout,
        Self::ReadTimeout,
        Self::ReadFailure,
        Self::FunctionFailure,
        Self::WriteFailure,
        Self::CdcWriteFailure,
        Self::CasWriteUnknown,
        Self::Syntax,
        Self::Unauthorized,
        Self::Invalid,
        Self::Config,
        Self::AlreadyExists,
        Self::Unprepared,
    ];

    #[must_use]
    pub fn number(self) -> i32 {
        self as i32
    }

    /// # Errors
    /// [`ProtocolError::UnknownErrorCode`].
    pub fn from_number(code: i32) -> Result<Self, ProtocolError> {
        Self::ALL.into_iter().find(|known| known.number() == code).ok_or(ProtocolError::UnknownErrorCode { code })
    }
}
