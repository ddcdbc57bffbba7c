//! ERROR: a code, a text, and the body that each code carries.
//!
//! An older client does not know every code; [`ErrorMessage::encode`] then writes the nearest one that it knows, as
//! Cassandra does (`ErrorMessage.getBackwardsCompatibleException`).
//!
//! Source: `native_protocol_v5.spec` section 9; Cassandra 5.0.9, `ErrorMessage.codec`, `ExceptionCode`, `WriteType`,
//! `RequestFailureReason`.

mod body;
mod code;
mod failure;

use bytes::{BufMut, BytesMut};

pub use body::ErrorBody;
pub use code::ErrorCode;
pub use failure::{FailureReason, ReplicaFailures, Responses, WriteType};

use body::{decode_details, encode_details};

use crate::primitives::{Reader, write_string};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

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
