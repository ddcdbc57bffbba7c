//! ERROR: the codes, named once for the whole product, and the body that each code carries.
//!
//! An older client does not know every code; [`ErrorMessage::encode`] then writes the nearest one that it knows, as
//! Cassandra does (`ErrorMessage.getBackwardsCompatibleException`).
//!
//! Source: `native_protocol_v5.spec` section 9; Cassandra 5.0.9, `ErrorMessage.codec`, `ExceptionCode`, `WriteType`,
//! `RequestFailureReason`.

use std::net::IpAddr;

use bytes::{BufMut, Bytes, BytesMut};

use crate::consistency::Consistency;
use crate::primitives::{Reader, write_address, write_consistency, write_short_bytes, write_string, write_string_list};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

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

/// What kind of write timed out or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteType {
    Simple,
    Batch,
    UnloggedBatch,
    Counter,
    BatchLog,
    Cas,
    View,
    Cdc,
}

impl WriteType {
    const ALL: [Self; 8] = [
        Self::Simple,
        Self::Batch,
        Self::UnloggedBatch,
        Self::Counter,
        Self::BatchLog,
        Self::Cas,
        Self::View,
        Self::Cdc,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "SIMPLE",
            Self::Batch => "BATCH",
            Self::UnloggedBatch => "UNLOGGED_BATCH",
            Self::Counter => "COUNTER",
            Self::BatchLog => "BATCH_LOG",
            Self::Cas => "CAS",
            Self::View => "VIEW",
            Self::Cdc => "CDC",
        }
    }

    fn read(reader: &mut Reader) -> Result<Self, ProtocolError> {
        let value = reader.read_string()?;
        let known = Self::ALL.into_iter().find(|write_type| write_type.name() == value);
        known.ok_or(ProtocolError::UnknownName { value, enumeration: "WriteType" })
    }
}

/// Why a replica failed. A code of a newer server is kept as `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureReason {
    Unknown,
    ReadTooManyTombstones,
    Timeout,
    IncompatibleSchema,
    ReadSize,
    NodeDown,
    IndexNotAvailable,
    ReadTooManyIndexes,
    Other(u16),
}

impl FailureReason {
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Unknown => 0,
            Self::ReadTooManyTombstones => 1,
            Self::Timeout => 2,
            Self::IncompatibleSchema => 3,
            Self::ReadSize => 4,
            Self::NodeDown => 5,
            Self::IndexNotAvailable => 6,
            Self::ReadTooManyIndexes => 7,
            Self::Other(code) => code,
        }
    }

    #[must_use]
    pub fn from_code(code: u16) -> Self {
        match code {
            0 => Self::Unknown,
            1 => Self::ReadTooManyTombstones,
            2 => Self::Timeout,
            3 => Self::IncompatibleSchema,
            4 => Self::ReadSize,
            5 => Self::NodeDown,
            6 => Self::IndexNotAvailable,
            7 => Self::ReadTooManyIndexes,
            other => Self::Other(other),
        }
    }
}

/// How many replicas failed, and why. Version 4 and earlier carry the count only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaFailures {
    count: i32,
    reasons: Vec<(IpAddr, FailureReason)>,
}

impl ReplicaFailures {
    /// One entry a replica.
    #[must_use]
    pub fn new(reasons: Vec<(IpAddr, FailureReason)>) -> Self {
        let count = i32::try_from(reasons.len()).expect("a cluster has fewer replicas");
        Self { count, reasons }
    }

    #[must_use]
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Empty where a client speaks version 4 or earlier.
    #[must_use]
    pub fn reasons(&self) -> &[(IpAddr, FailureReason)] {
        &self.reasons
    }

    fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        out.put_i32(self.count);
        if ProtocolVersion::V5 <= version {
            for (replica, reason) in &self.reasons {
                write_address(out, *replica);
                out.put_u16(reason.code());
            }
        }
    }

    fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let count = reader.read_int()?;
        let mut reasons = Vec::new();
        if ProtocolVersion::V5 <= version {
            for _ in 0..count {
                reasons.push((reader.read_address()?, FailureReason::from_code(reader.read_short()?)));
            }
        }
        Ok(Self { count, reasons })
    }
}

/// What the coordinator had when it gave up: how many answers came, how many the consistency level asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Responses {
    pub consistency: Consistency,
    pub received: i32,
    pub block_for: i32,
}

impl Responses {
    fn encode(self, out: &mut BytesMut) {
        write_consistency(out, self.consistency);
        out.put_i32(self.received);
        out.put_i32(self.block_for);
    }

    fn decode(reader: &mut Reader) -> Result<Self, ProtocolError> {
        Ok(Self {
            consistency: reader.read_consistency()?,
            received: reader.read_int()?,
            block_for: reader.read_int()?,
        })
    }
}

/// A code with what its body carries behind the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorBody {
    Server,
    Protocol,
    BadCredentials,
    Unavailable {
        consistency: Consistency,
        required: i32,
        alive: i32,
    },
    Overloaded,
    Bootstrapping,
    Truncate,
    /// `contentions` only for a conditional write that lost too many rounds; version 5 shows it.
    WriteTimeout {
        responses: Responses,
        write_type: WriteType,
        contentions: Option<u16>,
    },
    ReadTimeout {
        responses: Responses,
        data_present: bool,
    },
    ReadFailure {
        responses: Responses,
        failures: ReplicaFailures,
        data_present: bool,
    },
    FunctionFailure {
        keyspace: String,
        function: String,
        argument_types: Vec<String>,
    },
    WriteFailure {
        responses: Responses,
        failures: ReplicaFailures,
        write_type: WriteType,
    },
    CdcWriteFailure,
    CasWriteUnknown {
        responses: Responses,
    },
    Syntax,
    Unauthorized,
    Invalid,
    Config,
    /// `table` is empty for a keyspace.
    AlreadyExists {
        keyspace: String,
        table: String,
    },
    Unprepared {
        id: Bytes,
    },
}

impl ErrorBody {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Server => ErrorCode::Server,
            Self::Protocol => ErrorCode::Protocol,
            Self::BadCredentials => ErrorCode::BadCredentials,
            Self::Unavailable { .. } => ErrorCode::Unavailable,
            Self::Overloaded => ErrorCode::Overloaded,
            Self::Bootstrapping => ErrorCode::Bootstrapping,
            Self::Truncate => ErrorCode::Truncate,
            Self::WriteTimeout { .. } => ErrorCode::WriteTimeout,
            Self::ReadTimeout { .. } => ErrorCode::ReadTimeout,
            Self::ReadFailure { .. } => ErrorCode::ReadFailure,
            Self::FunctionFailure { .. } => ErrorCode::FunctionFailure,
            Self::WriteFailure { .. } => ErrorCode::WriteFailure,
            Self::CdcWriteFailure => ErrorCode::CdcWriteFailure,
            Self::CasWriteUnknown { .. } => ErrorCode::CasWriteUnknown,
            Self::Syntax => ErrorCode::Syntax,
            Self::Unauthorized => ErrorCode::Unauthorized,
            Self::Invalid => ErrorCode::Invalid,
            Self::Config => ErrorCode::Config,
            Self::AlreadyExists { .. } => ErrorCode::AlreadyExists,
            Self::Unprepared { .. } => ErrorCode::Unprepared,
        }
    }

    /// The nearest form that a client of `version` knows; `None` when it knows this one.
    fn for_older(&self, version: ProtocolVersion) -> Option<Self> {
        let before_4 = version < ProtocolVersion::V4;
        let before_5 = version < ProtocolVersion::V5;
        match self {
            Self::ReadFailure { responses, data_present, .. } if before_4 => {
                Some(Self::ReadTimeout { responses: *responses, data_present: *data_present })
            }
            Self::WriteFailure { responses, write_type, .. } if before_4 => {
                Some(Self::WriteTimeout { responses: *responses, write_type: *write_type, contentions: None })
            }
            Self::FunctionFailure { .. } | Self::CdcWriteFailure if before_4 => Some(Self::Invalid),
            Self::CasWriteUnknown { responses } if before_5 => {
                Some(Self::WriteTimeout { responses: *responses, write_type: WriteType::Cas, contentions: None })
            }
            _ => None,
        }
    }
}

/// A whole ERROR message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorMessage {
    pub text: String,
    pub body: ErrorBody,
}

impl ErrorMessage {
    #[must_use]
    pub fn new(body: ErrorBody, text: impl Into<String>) -> Self {
        Self { text: text.into(), body }
    }

    /// Appends the body of an ERROR envelope. A text over 65535 bytes is cut.
    pub fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        let older = self.body.for_older(version);
        let body = older.as_ref().unwrap_or(&self.body);
        out.put_i32(body.code().number());
        write_string(out, &self.text);
        encode_details(body, version, out);
    }

    /// # Errors
    /// [`ProtocolError`] for a body that is cut off or has an unknown code.
    pub fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let code = ErrorCode::from_number(reader.read_int()?)?;
        let text = reader.read_string()?;
        Ok(Self { text, body: decode_details(code, version, reader)? })
    }
}

fn encode_details(body: &ErrorBody, version: ProtocolVersion, out: &mut BytesMut) {
    match body {
        ErrorBody::Server
        | ErrorBody::Protocol
        | ErrorBody::BadCredentials
        | ErrorBody::Overloaded
        | ErrorBody::Bootstrapping
        | ErrorBody::Truncate
        | ErrorBody::CdcWriteFailure
        | ErrorBody::Syntax
        | ErrorBody::Unauthorized
        | ErrorBody::Invalid
        | ErrorBody::Config => {}
        ErrorBody::Unavailable { consistency, required, alive } => {
            write_consistency(out, *consistency);
            out.put_i32(*required);
            out.put_i32(*alive);
        }
        ErrorBody::WriteTimeout { responses, write_type, contentions } => {
            responses.encode(out);
            write_string(out, write_type.name());
            if let Some(contentions) = contentions.filter(|_| ProtocolVersion::V5 <= version) {
                out.put_u16(contentions);
            }
        }
        ErrorBody::ReadTimeout { responses, data_present } => {
            responses.encode(out);
            out.put_u8(u8::from(*data_present));
        }
        ErrorBody::ReadFailure { responses, failures, data_present } => {
            responses.encode(out);
            failures.encode(version, out);
            out.put_u8(u8::from(*data_present));
        }
        ErrorBody::FunctionFailure { keyspace, function, argument_types } => {
            write_string(out, keyspace);
            write_string(out, function);
            write_string_list(out, argument_types);
        }
        ErrorBody::WriteFailure { responses, failures, write_type } => {
            responses.encode(out);
            failures.encode(version, out);
            write_string(out, write_type.name());
        }
        ErrorBody::CasWriteUnknown { responses } => responses.encode(out),
        ErrorBody::AlreadyExists { keyspace, table } => {
            write_string(out, keyspace);
            write_string(out, table);
        }
        ErrorBody::Unprepared { id } => write_short_bytes(out, id),
    }
}

fn decode_details(code: ErrorCode, version: ProtocolVersion, reader: &mut Reader) -> Result<ErrorBody, ProtocolError> {
    Ok(match code {
        ErrorCode::Server => ErrorBody::Server,
        ErrorCode::Protocol => ErrorBody::Protocol,
        ErrorCode::BadCredentials => ErrorBody::BadCredentials,
        ErrorCode::Overloaded => ErrorBody::Overloaded,
        ErrorCode::Bootstrapping => ErrorBody::Bootstrapping,
        ErrorCode::Truncate => ErrorBody::Truncate,
        ErrorCode::CdcWriteFailure => ErrorBody::CdcWriteFailure,
        ErrorCode::Syntax => ErrorBody::Syntax,
        ErrorCode::Unauthorized => ErrorBody::Unauthorized,
        ErrorCode::Invalid => ErrorBody::Invalid,
        ErrorCode::Config => ErrorBody::Config,
        ErrorCode::Unavailable => ErrorBody::Unavailable {
            consistency: reader.read_consistency()?,
            required: reader.read_int()?,
            alive: reader.read_int()?,
        },
        ErrorCode::WriteTimeout => decode_write_timeout(version, reader)?,
        ErrorCode::ReadTimeout => {
            ErrorBody::ReadTimeout { responses: Responses::decode(reader)?, data_present: reader.read_byte()? != 0 }
        }
        ErrorCode::ReadFailure => ErrorBody::ReadFailure {
            responses: Responses::decode(reader)?,
            failures: ReplicaFailures::decode(version, reader)?,
            data_present: reader.read_byte()? != 0,
        },
        ErrorCode::FunctionFailure => ErrorBody::FunctionFailure {
            keyspace: reader.read_string()?,
            function: reader.read_string()?,
            argument_types: reader.read_string_list()?,
        },
        ErrorCode::WriteFailure => ErrorBody::WriteFailure {
            responses: Responses::decode(reader)?,
            failures: ReplicaFailures::decode(version, reader)?,
            write_type: WriteType::read(reader)?,
        },
        ErrorCode::CasWriteUnknown => ErrorBody::CasWriteUnknown { responses: Responses::decode(reader)? },
        ErrorCode::AlreadyExists => {
            ErrorBody::AlreadyExists { keyspace: reader.read_string()?, table: reader.read_string()? }
        }
        ErrorCode::Unprepared => ErrorBody::Unprepared { id: reader.read_short_bytes()? },
    })
}

fn decode_write_timeout(version: ProtocolVersion, reader: &mut Reader) -> Result<ErrorBody, ProtocolError> {
    let responses = Responses::decode(reader)?;
    let write_type = WriteType::read(reader)?;
    let has_contentions = ProtocolVersion::V5 <= version && write_type == WriteType::Cas && 0 < reader.remaining();
    let contentions = if has_contentions { Some(reader.read_short()?) } else { None };
    Ok(ErrorBody::WriteTimeout { responses, write_type, contentions })
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};

    use super::{ErrorBody, ErrorMessage, FailureReason, ReplicaFailures, Responses, WriteType};
    use crate::consistency::Consistency;
    use crate::primitives::Reader;
    use crate::version::ProtocolVersion;

    const RESPONSES: Responses = Responses { consistency: Consistency::Quorum, received: 1, block_for: 2 };

    fn one_of_each() -> Vec<ErrorBody> {
        let failures = || {
            ReplicaFailures::new(vec![
                ("127.0.0.1".parse().unwrap(), FailureReason::Timeout),
                ("::1".parse().unwrap(), FailureReason::ReadTooManyTombstones),
            ])
        };
        vec![
            ErrorBody::Server,
            ErrorBody::Protocol,
            ErrorBody::BadCredentials,
            ErrorBody::Unavailable { consistency: Consistency::All, required: 3, alive: 2 },
            ErrorBody::Overloaded,
            ErrorBody::Bootstrapping,
            ErrorBody::Truncate,
            ErrorBody::WriteTimeout { responses: RESPONSES, write_type: WriteType::Simple, contentions: None },
            ErrorBody::WriteTimeout { responses: RESPONSES, write_type: WriteType::Cas, contentions: Some(7) },
            ErrorBody::ReadTimeout { responses: RESPONSES, data_present: true },
            ErrorBody::ReadFailure { responses: RESPONSES, failures: failures(), data_present: false },
            ErrorBody::FunctionFailure {
                keyspace: "k".into(),
                function: "f".into(),
                argument_types: vec!["int".into()],
            },
            ErrorBody::WriteFailure {
                responses: RESPONSES,
                failures: failures(),
                write_type: WriteType::UnloggedBatch,
            },
            ErrorBody::CdcWriteFailure,
            ErrorBody::CasWriteUnknown { responses: RESPONSES },
            ErrorBody::Syntax,
            ErrorBody::Unauthorized,
            ErrorBody::Invalid,
            ErrorBody::Config,
            ErrorBody::AlreadyExists { keyspace: "k".into(), table: String::new() },
            ErrorBody::Unprepared { id: Bytes::from_static(&[5; 16]) },
        ]
    }

    fn reread(body: ErrorBody, version: ProtocolVersion) -> ErrorMessage {
        let mut out = BytesMut::new();
        ErrorMessage::new(body, "text").encode(version, &mut out);
        let mut reader = Reader::new(out.freeze());
        let message = ErrorMessage::decode(version, &mut reader).unwrap();
        assert_eq!(reader.remaining(), 0);
        message
    }

    #[test]
    fn every_error_comes_back_in_version_5() {
        for body in one_of_each() {
            assert_eq!(reread(body.clone(), ProtocolVersion::V5), ErrorMessage::new(body, "text"));
        }
    }

    #[test]
    fn older_clients_get_the_nearest_error_that_they_know() {
        for body in one_of_each() {
            for version in [ProtocolVersion::V3, ProtocolVersion::V4] {
                let got = reread(body.clone(), version).body;
                match (&body, version) {
                    (ErrorBody::CasWriteUnknown { .. }, _)
                    | (ErrorBody::WriteFailure { .. }, ProtocolVersion::V3)
                    | (ErrorBody::WriteTimeout { .. }, _) => {
                        assert!(matches!(got, ErrorBody::WriteTimeout { contentions: None, .. }), "{got:?}");
                    }
                    (ErrorBody::ReadFailure { .. }, ProtocolVersion::V3) => {
                        assert!(matches!(got, ErrorBody::ReadTimeout { .. }), "{got:?}");
                    }
                    (ErrorBody::FunctionFailure { .. } | ErrorBody::CdcWriteFailure, ProtocolVersion::V3) => {
                        assert_eq!(got, ErrorBody::Invalid);
                    }
                    (ErrorBody::ReadFailure { failures, .. } | ErrorBody::WriteFailure { failures, .. }, _) => {
                        let (ErrorBody::ReadFailure { failures: read, .. }
                        | ErrorBody::WriteFailure { failures: read, .. }) = &got
                        else {
                            panic!("{got:?}");
                        };
                        assert_eq!((read.count(), read.reasons()), (failures.count(), &[][..]));
                    }
                    _ => assert_eq!(got, body),
                }
            }
        }
    }
}
