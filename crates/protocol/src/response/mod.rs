//! Responses: what a server answers. Encoded by the server into its output buffer, decoded by our own tools and tests.
//!
//! ```text
//! body   [uuid] of the trace           with flag 0x02
//!        [string list] of warnings     with flag 0x08, version 4 and later
//!        [bytes map] payload           with flag 0x04, version 4 and later
//!        the message
//! ```
//!
//! Rows have two ways out: [`RowsWriter`] puts cells straight into the output buffer, [`Rows`] holds them encoded.

mod metadata;
mod prepared;
mod rows;
mod rows_writer;
mod supported;

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

pub use metadata::{ColumnSpec, ResultMetadata};
pub use prepared::Prepared;
pub use rows::{RowRef, Rows};
pub use rows_writer::{RowsHead, RowsWriter};
pub use supported::Supported;

use crate::envelope::{Envelope, EnvelopeFlags};
use crate::envelope_writer::EnvelopeWriter;
use crate::error::ErrorMessage;
use crate::event::{Event, SchemaChange};
use crate::opcode::{Direction, Opcode};
use crate::primitives::{BytesMap, Reader, write_bytes_map, write_string, write_string_list, write_value};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// A response with what travels beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseMessage {
    pub response: Response,
    pub extras: ResponseExtras,
}

/// What stands before the message in a body.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ResponseExtras {
    pub tracing_id: Option<Uuid>,
    /// Dropped in version 3, which has none.
    pub warnings: Vec<String>,
    /// Dropped in version 3, which has none.
    pub payload: Option<BytesMap>,
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    Error(ErrorMessage),
    Ready,
    /// The name of the authenticator's Java class: drivers choose their side by it.
    Authenticate(String),
    Supported(Supported),
    Result(ResultBody),
    Event(Event),
    AuthChallenge(Option<Bytes>),
    AuthSuccess(Option<Bytes>),
}

/// The five kinds of RESULT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultBody {
    Void,
    Rows(Rows),
    SetKeyspace(String),
    Prepared(Prepared),
    SchemaChange(SchemaChange),
}

const KIND_VOID: i32 = 1;
const KIND_ROWS: i32 = 2;
const KIND_SET_KEYSPACE: i32 = 3;
const KIND_PREPARED: i32 = 4;
const KIND_SCHEMA_CHANGE: i32 = 5;

impl ResultBody {
    fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        match self {
            Self::Void => out.put_i32(KIND_VOID),
            Self::Rows(rows) => {
                out.put_i32(KIND_ROWS);
                rows.encode(version, out);
            }
            Self::SetKeyspace(keyspace) => {
                out.put_i32(KIND_SET_KEYSPACE);
                write_string(out, keyspace);
            }
            Self::Prepared(prepared) => {
                out.put_i32(KIND_PREPARED);
                prepared.encode(version, out);
            }
            Self::SchemaChange(change) => {
                out.put_i32(KIND_SCHEMA_CHANGE);
                change.encode(version, out);
            }
        }
    }

    fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        Ok(match reader.read_int()? {
            KIND_VOID => Self::Void,
            KIND_ROWS => Self::Rows(Rows::decode(reader)?),
            KIND_SET_KEYSPACE => Self::SetKeyspace(reader.read_string()?),
            KIND_PREPARED => Self::Prepared(Prepared::decode(version, reader)?),
            KIND_SCHEMA_CHANGE => Self::SchemaChange(SchemaChange::decode(reader)?),
            kind => return Err(ProtocolError::UnknownResultKind { kind }),
        })
    }
}

impl Response {
    #[must_use]
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::Error(_) => Opcode::Error,
            Self::Ready => Opcode::Ready,
            Self::Authenticate(_) => Opcode::Authenticate,
            Self::Supported(_) => Opcode::Supported,
            Self::Result(_) => Opcode::Result,
            Self::Event(_) => Opcode::Event,
            Self::AuthChallenge(_) => Opcode::AuthChallenge,
            Self::AuthSuccess(_) => Opcode::AuthSuccess,
        }
    }

    fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        match self {
            Self::Error(error) => error.encode(version, out),
            Self::Ready => {}
            Self::Authenticate(class) => write_string(out, class),
            Self::Supported(supported) => supported.encode(out),
            Self::Result(result) => result.encode(version, out),
            Self::Event(event) => event.encode(version, out),
            Self::AuthChallenge(token) | Self::AuthSuccess(token) => write_value(out, token.as_deref()),
        }
    }

    fn decode(opcode: Opcode, version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        Ok(match opcode {
            Opcode::Error => Self::Error(ErrorMessage::decode(version, reader)?),
            Opcode::Ready => Self::Ready,
            Opcode::Authenticate => Self::Authenticate(reader.read_string()?),
            Opcode::Supported => Self::Supported(Supported::decode(reader)?),
            Opcode::Result => Self::Result(ResultBody::decode(version, reader)?),
            Opcode::Event => Self::Event(Event::decode(reader)?),
            Opcode::AuthChallenge => Self::AuthChallenge(reader.read_bytes()?),
            Opcode::AuthSuccess => Self::AuthSuccess(reader.read_bytes()?),
            Opcode::Startup
            | Opcode::Credentials
            | Opcode::Options
            | Opcode::Query
            | Opcode::Prepare
            | Opcode::Execute
            | Opcode::Register
            | Opcode::Batch
            | Opcode::AuthResponse => {
                return Err(ProtocolError::WrongDirection {
                    opcode,
                    expected: Direction::Response,
                    found: Direction::Request,
                });
            }
        })
    }
}

impl ResponseExtras {
    /// The flags that announce them.
    pub(crate) fn flags(&self, version: ProtocolVersion) -> EnvelopeFlags {
        let flag = |flag: EnvelopeFlags, is_set: bool| if is_set { flag } else { EnvelopeFlags::NONE };
        let since_4 = ProtocolVersion::V4 <= version;
        flag(EnvelopeFlags::TRACING, self.tracing_id.is_some())
            | flag(EnvelopeFlags::WARNING, since_4 && !self.warnings.is_empty())
            | flag(EnvelopeFlags::CUSTOM_PAYLOAD, since_4 && self.payload.is_some())
    }

    pub(crate) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        let flags = self.flags(version);
        if let Some(tracing_id) = self.tracing_id {
            out.put_slice(tracing_id.as_bytes());
        }
        if flags.contains(EnvelopeFlags::WARNING) {
            write_string_list(out, &self.warnings);
        }
        if let Some(payload) = self.payload.as_ref().filter(|_| flags.contains(EnvelopeFlags::CUSTOM_PAYLOAD)) {
            write_bytes_map(out, payload);
        }
    }

    fn decode(flags: EnvelopeFlags, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let mut extras = Self::default();
        if flags.contains(EnvelopeFlags::TRACING) {
            extras.tracing_id = Some(reader.read_uuid()?);
        }
        if flags.contains(EnvelopeFlags::WARNING) {
            extras.warnings = reader.read_string_list()?;
        }
        if flags.contains(EnvelopeFlags::CUSTOM_PAYLOAD) {
            extras.payload = Some(reader.read_bytes_map()?);
        }
        Ok(extras)
    }
}

impl ResponseMessage {
    /// Without trace, warnings and payload.
    #[must_use]
    pub fn plain(response: Response) -> Self {
        Self { response, extras: ResponseExtras::default() }
    }

    /// Appends one whole envelope, neither compressed nor framed. Returns where it starts in the buffer.
    ///
    /// # Errors
    /// [`ProtocolError::ResponseTooBig`] from 2 GiB on; nothing is appended then.
    pub fn encode(&self, version: ProtocolVersion, stream: i16, out: &mut BytesMut) -> Result<usize, ProtocolError> {
        let flags = self.extras.flags(version);
        let mut envelope = EnvelopeWriter::begin(out, version, flags, stream, self.response.opcode());
        self.extras.encode(version, envelope.body());
        self.response.encode(version, envelope.body());
        envelope.finish()
    }

    /// Reads a decompressed envelope.
    ///
    /// # Errors
    /// [`ProtocolError`] for a body that is cut off or holds what this crate does not know.
    pub fn decode(envelope: &Envelope) -> Result<Self, ProtocolError> {
        let mut reader = Reader::new(envelope.body.clone());
        let extras = ResponseExtras::decode(envelope.header.flags, &mut reader)?;
        let response = Response::decode(envelope.header.opcode, envelope.header.version, &mut reader)?;
        Ok(Self { response, extras })
    }
}
