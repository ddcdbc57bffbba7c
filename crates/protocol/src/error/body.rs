//! What an ERROR carries behind code and text.

use bytes::{BufMut, Bytes, BytesMut};

use super::code::ErrorCode;
use super::failure::{ReplicaFailures, Responses, WriteType};
use crate::consistency::Consistency;
use crate::primitives::{Reader, write_consistency, write_short_bytes, write_string, write_string_list};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

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
    pub(super) fn for_older(&self, version: ProtocolVersion) -> Option<Self> {
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

pub(super) fn encode_details(body: &ErrorBody, version: ProtocolVersion, out: &mut BytesMut) {
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

pub(super) fn decode_details(
    code: ErrorCode,
    version: ProtocolVersion,
    reader: &mut Reader,
) -> Result<ErrorBody, ProtocolError> {
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
