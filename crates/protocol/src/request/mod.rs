//! Requests: what clients ask. Decoded by the server without copying values or texts; encoded by our own tools and tests.
//!
//! Up to version 4 an envelope's body is the request; a custom payload stands before it when its flag is set.

mod batch;
mod execute;
mod parameters;
mod prepare;
mod startup;
mod values;

use bytes::{Bytes, BytesMut};

pub use batch::{Batch, BatchKind, BatchStatement, BatchedQuery};
pub use execute::Execute;
pub use parameters::QueryParameters;
pub use prepare::Prepare;
pub use startup::Startup;
pub use values::{BoundValue, BoundValues};

use crate::envelope::{Envelope, EnvelopeFlags};
use crate::envelope_writer::EnvelopeWriter;
use crate::event::EventType;
use crate::opcode::{Direction, Opcode};
use crate::primitives::{
    BytesMap, Reader, Utf8Bytes, write_bytes_map, write_long_string, write_string_list, write_value,
};
use crate::rejection::{ProtocolError, Rejection};
use crate::version::ProtocolVersion;

/// A request with what travels beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestMessage {
    pub request: Request,
    /// Whether the client asks for a trace.
    pub tracing: bool,
    pub payload: Option<BytesMap>,
}

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Startup(Startup),
    /// Also the heartbeat of every driver.
    Options,
    Query(Query),
    Prepare(Prepare),
    Execute(Execute),
    Batch(Batch),
    Register(Vec<EventType>),
    AuthResponse(Option<Bytes>),
}

/// QUERY: a statement as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub text: Utf8Bytes,
    pub parameters: QueryParameters,
}

impl Request {
    #[must_use]
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::Startup(_) => Opcode::Startup,
            Self::Options => Opcode::Options,
            Self::Query(_) => Opcode::Query,
            Self::Prepare(_) => Opcode::Prepare,
            Self::Execute(_) => Opcode::Execute,
            Self::Batch(_) => Opcode::Batch,
            Self::Register(_) => Opcode::Register,
            Self::AuthResponse(_) => Opcode::AuthResponse,
        }
    }

    fn decode(opcode: Opcode, version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        Ok(match opcode {
            Opcode::Startup => Self::Startup(Startup::decode(reader)?),
            Opcode::Options => Self::Options,
            Opcode::Query => Self::Query(Query {
                text: reader.read_long_string()?,
                parameters: QueryParameters::decode(version, reader)?,
            }),
            Opcode::Prepare => Self::Prepare(Prepare::decode(version, reader)?),
            Opcode::Execute => Self::Execute(Execute::decode(version, reader)?),
            Opcode::Batch => Self::Batch(Batch::decode(version, reader)?),
            Opcode::Register => {
                Self::Register(reader.read_list(|reader| EventType::from_name(&reader.read_string()?))?)
            }
            Opcode::AuthResponse => Self::AuthResponse(reader.read_bytes()?),
            Opcode::Credentials => return Err(ProtocolError::UnsupportedMessage),
            Opcode::Error
            | Opcode::Ready
            | Opcode::Authenticate
            | Opcode::Supported
            | Opcode::Result
            | Opcode::Event
            | Opcode::AuthChallenge
            | Opcode::AuthSuccess => {
                return Err(ProtocolError::WrongDirection {
                    opcode,
                    expected: Direction::Request,
                    found: Direction::Response,
                });
            }
        })
    }

    fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        match self {
            Self::Startup(startup) => startup.encode(out),
            Self::Options => {}
            Self::Query(query) => {
                write_long_string(out, &query.text);
                query.parameters.encode(version, out);
            }
            Self::Prepare(prepare) => prepare.encode(version, out),
            Self::Execute(execute) => execute.encode(version, out),
            Self::Batch(batch) => batch.encode(version, out),
            Self::Register(types) => {
                let names: Vec<&str> = types.iter().map(|event_type| event_type.name()).collect();
                write_string_list(out, &names);
            }
            Self::AuthResponse(token) => write_value(out, token.as_deref()),
        }
    }
}

impl RequestMessage {
    /// Neither traced nor with a payload.
    #[must_use]
    pub fn plain(request: Request) -> Self {
        Self { request, tracing: false, payload: None }
    }

    /// Reads a decompressed envelope. Bytes behind the request are ignored, as Cassandra does.
    ///
    /// # Errors
    /// The refusal, to be answered on the envelope's stream; the connection can go on.
    pub fn decode(envelope: &Envelope) -> Result<Self, Rejection> {
        Self::decode_body(envelope).map_err(|error| envelope.reject(error))
    }

    fn decode_body(envelope: &Envelope) -> Result<Self, ProtocolError> {
        let (version, flags) = (envelope.header.version, envelope.header.flags);
        let mut reader = Reader::new(envelope.body.clone());
        let mut payload = None;
        if flags.contains(EnvelopeFlags::CUSTOM_PAYLOAD) {
            payload = Some(reader.read_bytes_map()?);
            if version < ProtocolVersion::V4 {
                return Err(ProtocolError::PayloadBeforeVersion4);
            }
        }
        let request = Request::decode(envelope.header.opcode, version, &mut reader)?;
        Ok(Self { request, tracing: flags.contains(EnvelopeFlags::TRACING), payload })
    }

    /// Appends one whole envelope, not compressed. A payload is left out before version 4, which has none.
    ///
    /// # Errors
    /// [`ProtocolError::ResponseTooBig`] from 2 GiB on; nothing is appended then.
    pub fn encode(&self, version: ProtocolVersion, stream: i16, out: &mut BytesMut) -> Result<usize, ProtocolError> {
        let payload = self.payload.as_ref().filter(|_| ProtocolVersion::V4 <= version);
        let mut flags = EnvelopeFlags::NONE;
        if self.tracing {
            flags = flags | EnvelopeFlags::TRACING;
        }
        if payload.is_some() {
            flags = flags | EnvelopeFlags::CUSTOM_PAYLOAD;
        }
        let mut envelope = EnvelopeWriter::begin(out, version, flags, stream, self.request.opcode());
        if let Some(payload) = payload {
            write_bytes_map(envelope.body(), payload);
        }
        self.request.encode(version, envelope.body());
        envelope.finish()
    }
}
