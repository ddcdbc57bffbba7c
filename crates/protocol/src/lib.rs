//! The native protocol of Cassandra, versions 3, 4 and 5: bytes to messages and back. No I/O, no clock.
//!
//! # A short tour
//!
//! A server feeds what it reads to an [`Inbound`], which cuts it into [`Envelope`]s in whatever framing the connection
//! agreed on, and turns each into a [`RequestMessage`]. Texts and bound values stay slices of the received frame.
//!
//! ```
//! use bytes::BytesMut;
//! use helenus_protocol::{Inbound, Request, RequestMessage, Response, ResponseMessage};
//!
//! let mut input = BytesMut::from(&[4, 0, 0, 7, 5, 0, 0, 0, 0][..]); // OPTIONS, version 4, stream 7.
//! let mut inbound = Inbound::for_requests(1);
//! let mut output = BytesMut::new();
//! match inbound.next(&mut input) {
//!     Ok(None) => {}      // Read more.
//!     Ok(Some(envelope)) => {
//!         let header = envelope.header;
//!         match RequestMessage::decode(&envelope) {
//!             Ok(message) => {
//!                 assert_eq!(message.request, Request::Options);
//!                 let answer = Response::Supported(helenus_protocol::Supported::cassandra());
//!                 ResponseMessage::plain(answer).encode(header.version, header.stream, &mut output).unwrap();
//!             }
//!             Err(rejection) => rejection.encode(&mut output),
//!         }
//!     }
//!     Err(rejection) => rejection.encode(&mut output), // And close when `rejection.is_fatal()`.
//! }
//! assert_eq!(output[..9], [0x84, 0, 0, 7, 6, 0, 0, 0, 0x66]);
//! ```
//!
//! After STARTUP was validated ([`Startup::validate`]) and READY or AUTHENTICATE has been answered, both halves switch:
//! [`Inbound::start`] and [`Outbound::start`]. With the client authenticated, [`Inbound::set_bytes_max`] raises the limit of
//! a message from [`MESSAGE_BYTES_MAX_BEFORE_AUTH`]. Answers are appended to an [`Outbound`], which compresses and frames.
//!
//! Results of rows are written by a [`RowsWriter`], cell by cell into the output buffer.
//!
//! Clients (tools, tests, simulation) use the same types the other way round: [`RequestMessage::encode`],
//! [`Inbound::for_responses`], [`ResponseMessage::decode`].

mod column_type;
mod compression;
mod consistency;
mod crc;
mod envelope;
mod envelope_writer;
mod error;
mod event;
mod frame;
mod inbound;
mod opcode;
mod outbound;
pub mod primitives;
mod rejection;
mod request;
mod response;
mod version;

#[cfg(test)]
mod tests;

pub use column_type::{read_type, write_type};
pub use compression::{Compression, CompressionError, decompress_envelope};
pub use consistency::Consistency;
pub use envelope::{
    Envelope, EnvelopeDecoder, EnvelopeFlags, EnvelopeHeader, HEADER_BYTES, MESSAGE_BYTES_MAX,
    MESSAGE_BYTES_MAX_BEFORE_AUTH,
};
pub use envelope_writer::EnvelopeWriter;
pub use error::{ErrorBody, ErrorCode, ErrorMessage, FailureReason, ReplicaFailures, Responses, WriteType};
pub use event::{
    EVENT_STREAM, Event, EventType, SchemaChange, SchemaChangeKind, SchemaChangeTarget, StatusChange, TopologyChange,
};
pub use frame::{Frame, FrameDecoder, FrameEncoder, FrameFormat, PAYLOAD_BYTES_MAX};
pub use inbound::Inbound;
pub use opcode::{Direction, Opcode};
pub use outbound::Outbound;
pub use primitives::{BytesMap, Utf8Bytes, Value};
pub use rejection::{FramePart, ProtocolError, Rejection, ReplyForm};
pub use request::{
    Batch, BatchKind, BatchStatement, BatchedQuery, BoundValue, BoundValues, Execute, Prepare, Query, QueryParameters,
    Request, RequestMessage, Startup,
};
pub use response::{
    ColumnSpec, Prepared, Response, ResponseExtras, ResponseMessage, ResultBody, ResultMetadata, RowRef, Rows,
    RowsHead, RowsWriter, Supported,
};
pub use version::ProtocolVersion;
