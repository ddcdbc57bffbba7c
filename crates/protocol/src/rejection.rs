//! What is wrong with received bytes, and how that is answered.
//!
//! Role: every decoder of this crate fails with a [`ProtocolError`]; where the envelope is known, a [`Rejection`] adds the
//! stream and the form of header in which the client can read the answer.
//!
//! The texts are those of Cassandra 5.0.9, taken from a running node: drivers and their tests match on them. Where
//! Cassandra lets a Java exception through (a body that ends too early), the text is our own.

use bytes::BytesMut;

use crate::compression::CompressionError;
use crate::envelope::EnvelopeFlags;
use crate::envelope_writer::EnvelopeWriter;
use crate::error::ErrorCode;
use crate::opcode::{Direction, Opcode};
use crate::primitives::write_string;
use crate::version::ProtocolVersion;

/// Bytes that break the protocol. `Display` is the text that the client gets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    // The envelope's header.
    #[error("{}", ProtocolVersion::refusal(*number))]
    UnsupportedVersion { number: u8 },
    #[error("Beta version of the protocol used ({version}), but USE_BETA flag is unset")]
    BetaFlagUnset { version: ProtocolVersion },
    /// The missing blank is Cassandra's.
    #[error("Invalid message version. Got {found} but previousmessages on this connection had version {expected}")]
    VersionChanged { found: ProtocolVersion, expected: ProtocolVersion },
    #[error("Unknown opcode {code}")]
    UnknownOpcode { code: u8 },
    #[error("Wrong protocol direction (expected {expected}, got {found}) for opcode {} ({opcode})", opcode.code())]
    WrongDirection { opcode: Opcode, expected: Direction, found: Direction },
    /// `total_bytes` counts the header. The client may go on: the message was skipped.
    #[error("Request is too big: length {total_bytes} exceeds maximum allowed length {max_bytes}.")]
    RequestTooBig { total_bytes: u64, max_bytes: u64 },
    #[error("Received frame with CUSTOM_PAYLOAD flag for native protocol version < 4")]
    PayloadBeforeVersion4,

    // The segments of version 5.
    /// `connection` is the connection's number, which the text shows as Cassandra shows a channel.
    #[error(
        "{connection:08x} invalid, unrecoverable CRC mismatch detected in frame {part}. Read {read}, Computed {computed}"
    )]
    CrcMismatch { connection: u32, part: FramePart, read: i32, computed: i32 },
    /// `body_bytes` does not count the header. The client may go on: the message was skipped.
    #[error("CQL Message of size {body_bytes} bytes exceeds allowed maximum of {max_bytes} bytes")]
    MessageTooBig { body_bytes: u64, max_bytes: u64 },
    #[error("Invalid value for envelope header body length field: {length}")]
    NegativeBodyLength { length: i32 },
    #[error("A self-contained frame ends {missing_bytes} bytes before its last envelope")]
    EnvelopeCutOff { missing_bytes: u64 },
    #[error("A frame of a large message was followed by a self-contained frame before the message was complete")]
    LargeMessageInterrupted,

    // Compression.
    #[error("{0}")]
    Compression(CompressionError),
    /// Whose envelopes were in the frame is not known, so their streams cannot be answered.
    #[error("{0}")]
    FrameCompression(CompressionError),

    // Primitives of a body.
    #[error("Not enough bytes to read an UTF8 serialized string preceded by its 2 bytes length")]
    ShortStringCutOff,
    #[error("Not enough bytes to read an UTF8 serialized string preceded by its 4 bytes length")]
    LongStringCutOff,
    #[error("Not enough bytes to read a byte array preceded by its 2 bytes length")]
    ShortBytesCutOff,
    #[error("Cannot read value of length {length}, only {remaining} bytes remaining in the message")]
    ValueCutOff { length: i32, remaining: usize },
    #[error("Not enough bytes to read {what}, only {remaining} bytes remaining in the message")]
    CutOff { what: &'static str, remaining: usize },
    #[error("Invalid ByteBuf length {length}")]
    NegativeValueLength { length: i32 },
    /// `hex` shows the start of the string.
    #[error("Cannot decode string as UTF8: '{hex}'; java.nio.charset.MalformedInputException: Input length = 1")]
    NotUtf8 { hex: String },
    #[error("Unknown code {code} for a consistency level")]
    UnknownConsistency { code: u16 },
    #[error("Invalid value '{value}' for {enumeration}")]
    UnknownName { value: String, enumeration: &'static str },
    #[error("Invalid IP address of {length} bytes while deserializing inet address")]
    AddressLength { length: u8 },

    // Requests.
    #[error("Unsupported message")]
    UnsupportedMessage,
    #[error("Unexpected message {found}, expecting STARTUP or OPTIONS")]
    BeforeStartup { found: Opcode },
    #[error("Unexpected message {found}, expecting SASL_RESPONSE")]
    BeforeAuthentication { found: Opcode },
    #[error("Unexpected message STARTUP, the connection is already initialized")]
    AlreadyInitialized,
    #[error("Out of bound timestamp, must be in [{}, {}] (got {micros})", i64::MIN + 1, i64::MAX)]
    TimestampOutOfBounds { micros: i64 },
    #[error("Invalid BATCH message type {code}")]
    UnknownBatchType { code: i8 },
    #[error("Invalid query kind in BATCH messages. Must be 0 or 1 but got {kind}")]
    UnknownBatchQueryKind { kind: i8 },
    #[error("Missing value CQL_VERSION in STARTUP message")]
    MissingCqlVersion,
    #[error("Invalid version value: {value}")]
    MalformedCqlVersion { value: String },
    #[error("CQL version {value} is not supported by the binary protocol (supported version are >= 3.0.0)")]
    CqlVersionTooOld { value: String },
    #[error("Unknown compression algorithm: {name}")]
    UnknownCompression { name: String },
    #[error("Snappy compression is not supported in protocol V5")]
    SnappyWithFrames,

    // Responses, as a client reads them.
    #[error("Unknown error code {code:#06x}")]
    UnknownErrorCode { code: i32 },
    #[error("Unknown RESULT kind {kind}")]
    UnknownResultKind { kind: i32 },
    #[error("Unknown option id {id:#06x} for a type")]
    UnknownTypeId { id: u16 },
    #[error("Cannot read type '{name}'")]
    UnknownTypeName { name: String },
    #[error("A type is nested more than {max} deep")]
    TypeTooDeep { max: usize },
    #[error("Negative count {count} of {what}")]
    NegativeCount { what: &'static str, count: i32 },

    // Encoding.
    #[error("A response of {body_bytes} bytes is larger than the protocol can carry")]
    ResponseTooBig { body_bytes: usize },
}

/// The part of a segment whose checksum is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePart {
    Header,
    Body,
}

impl std::fmt::Display for FramePart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Body => "body",
        })
    }
}

impl ProtocolError {
    /// The code of the ERROR message that answers it: PROTOCOL_ERROR, except for a message over the limit.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::RequestTooBig { .. } | Self::MessageTooBig { .. } => ErrorCode::Invalid,
            Self::ResponseTooBig { .. } => ErrorCode::Server,
            _ => ErrorCode::Protocol,
        }
    }

    /// Whether the connection must be closed after the answer, mostly because it is no longer known where the next
    /// message starts. After any other error the broken message has been skipped and the next one can be read.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::CrcMismatch { .. }
            | Self::FrameCompression(_)
            | Self::NegativeBodyLength { .. }
            | Self::EnvelopeCutOff { .. }
            | Self::LargeMessageInterrupted
            | Self::BeforeStartup { .. } => true,
            Self::UnsupportedVersion { number } => *number < ProtocolVersion::V3.number(),
            _ => false,
        }
    }
}

/// The form of header that a client understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyForm {
    Version(ProtocolVersion),
    /// A client of version 1 or 2: eight bytes of header, the stream in one of them.
    Old {
        version: u8,
    },
}

/// A refused envelope: what to say, on which stream, in which form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stream {stream}: {error}")]
pub struct Rejection {
    /// The stream to answer on, 0 when the envelope's own is not known.
    pub stream: i16,
    pub reply: ReplyForm,
    pub error: ProtocolError,
}

/// The 8-byte header of versions 1 and 2.
///
/// ```text
/// offset  bytes  field
///      0      1  version, with the response bit
///      1      1  flags
///      2      1  stream
///      3      1  opcode
///      4      4  body length, big-endian
/// ```
const OLD_LENGTH_AT: usize = 4;

impl Rejection {
    /// See [`ProtocolError::is_fatal`].
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.error.is_fatal()
    }

    /// Appends the ERROR envelope that answers it, uncompressed and without a segment.
    pub fn encode(&self, out: &mut BytesMut) {
        match self.reply {
            ReplyForm::Version(version) => {
                let mut envelope = EnvelopeWriter::begin(out, version, EnvelopeFlags::NONE, self.stream, Opcode::Error);
                self.encode_body(envelope.body());
                envelope.finish().expect("an error text is cut at 64 KiB");
            }
            ReplyForm::Old { version } => self.encode_old(version, out),
        }
    }

    fn encode_old(&self, version: u8, out: &mut BytesMut) {
        let stream = self.stream.to_be_bytes()[1];
        let start = out.len();
        out.extend_from_slice(&[version | Direction::RESPONSE_BIT, 0, stream, Opcode::Error.code(), 0, 0, 0, 0]);
        let body_at = out.len();
        self.encode_body(out);
        let body_bytes = u32::try_from(out.len() - body_at).expect("an error text is cut at 64 KiB");
        out[start + OLD_LENGTH_AT..body_at].copy_from_slice(&body_bytes.to_be_bytes());
    }

    fn encode_body(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.error.code().number().to_be_bytes());
        write_string(out, &self.error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::{ProtocolError, Rejection, ReplyForm};
    use crate::version::ProtocolVersion;

    fn encode(reply: ReplyForm, number: u8) -> BytesMut {
        let mut out = BytesMut::new();
        Rejection { stream: 0, reply, error: ProtocolError::UnsupportedVersion { number } }.encode(&mut out);
        out
    }

    #[test]
    fn an_unknown_version_is_answered_in_version_5() {
        let out = encode(ReplyForm::Version(ProtocolVersion::V5), 66);
        let head = [0x85, 0, 0, 0, 0, 0, 0, 0, 0x68, 0, 0, 0, 0x0A, 0, 0x62];
        assert_eq!(&out[..head.len()], head);
        assert_eq!(out.len(), 9 + 0x68);
    }

    #[test]
    fn a_client_of_version_1_is_answered_with_its_own_header() {
        let out = encode(ReplyForm::Old { version: 1 }, 1);
        assert_eq!(&out[..14], [0x81, 0, 0, 0, 0, 0, 0, 0x67, 0, 0, 0, 0x0A, 0, 0x61]);
        assert_eq!(out.len(), 8 + 0x67);
    }
}
