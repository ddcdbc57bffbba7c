//! Envelopes: one message with its 9-byte header, as it stands on the wire up to version 4 and inside segments since.
//!
//! ```text
//! offset  bytes  field
//!      0      1  version; top bit set in responses
//!      1      1  flags
//!      2      2  stream, signed big-endian; events have -1
//!      4      1  opcode
//!      5      4  body length, big-endian
//!      9      n  body
//! ```
//!
//! [`EnvelopeDecoder`] cuts envelopes off a buffer without copying; `envelope_writer` is its counterpart.
//!
//! Invariants of the decoder
//! - Nothing is allocated for a claimed length; a body over the limit is discarded as it arrives, then refused once.
//! - After a refusal that is not fatal the broken envelope is gone from the input and the next one starts at its front.
//!
//! Source: `native_protocol_v5.spec` section 2, behaviour of Cassandra 5.0.9's `Envelope.Decoder`.

use std::ops::BitOr;

use bytes::{Buf, Bytes, BytesMut};

use crate::opcode::{Direction, Opcode};
use crate::rejection::{ProtocolError, Rejection, ReplyForm};
use crate::version::ProtocolVersion;

/// How large a message may be before the client has authenticated, header included: STARTUP and AUTH_RESPONSE are small,
/// and nobody unknown may make us hold more.
pub const MESSAGE_BYTES_MAX_BEFORE_AUTH: usize = 64 * 1024;

/// The default of `native_transport_max_message_size`, 16 MiB.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

pub const HEADER_BYTES: usize = 9;
const OPCODE_AT: usize = 4;
pub(crate) const LENGTH_AT: usize = 5;

/// Versions 1 and 2: the stream in one byte, see [`Rejection::encode`].
const OLD_STREAM_AT: usize = 2;
const OLD_HEADER_BYTES: usize = 8;

/// The flags byte. Unknown bits are kept and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EnvelopeFlags(pub u8);

impl EnvelopeFlags {
    pub const NONE: Self = Self(0);
    pub const COMPRESSED: Self = Self(0x01);
    pub const TRACING: Self = Self(0x02);
    pub const CUSTOM_PAYLOAD: Self = Self(0x04);
    pub const WARNING: Self = Self(0x08);
    pub const USE_BETA: Self = Self(0x10);

    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for EnvelopeFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What stands before a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvelopeHeader {
    pub version: ProtocolVersion,
    pub flags: EnvelopeFlags,
    pub stream: i16,
    pub opcode: Opcode,
}

/// One message, its body still encoded. The body shares the memory of the buffer that it was received in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub header: EnvelopeHeader,
    pub body: Bytes,
}

impl Envelope {
    /// A refusal of this envelope, on its own stream and in its own version.
    #[must_use]
    pub fn reject(&self, error: ProtocolError) -> Rejection {
        Rejection { stream: self.header.stream, reply: ReplyForm::Version(self.header.version), error }
    }
}

/// Cuts envelopes off the front of a buffer.
#[derive(Debug)]
pub struct EnvelopeDecoder {
    direction: Direction,
    bytes_max: usize,
    /// Set by STARTUP; from then on every envelope must have it.
    version: Option<ProtocolVersion>,
    discarding: Option<Discarding>,
}

/// A refused envelope whose rest has not arrived yet.
#[derive(Debug)]
struct Discarding {
    bytes_left: u64,
    rejection: Rejection,
}

impl EnvelopeDecoder {
    /// For the server's side; starts with the limit for unknown clients.
    #[must_use]
    pub fn for_requests() -> Self {
        Self::new(Direction::Request, MESSAGE_BYTES_MAX_BEFORE_AUTH)
    }

    /// For a client; `bytes_max` limits one response.
    #[must_use]
    pub fn for_responses(bytes_max: usize) -> Self {
        Self::new(Direction::Response, bytes_max)
    }

    fn new(direction: Direction, bytes_max: usize) -> Self {
        Self { direction, bytes_max, version: None, discarding: None }
    }

    /// The limit of one message in bytes, header included.
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// The version that STARTUP settled on.
    pub fn pin_version(&mut self, version: ProtocolVersion) {
        self.version = Some(version);
    }

    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.version
    }

    /// The next envelope, or `None` until more bytes have come.
    ///
    /// # Errors
    /// A [`Rejection`] to be answered; see [`ProtocolError::is_fatal`] for whether to go on.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Envelope>, Rejection> {
        if let Some(discarding) = self.discarding.take() {
            return self.discard(discarding, input);
        }
        let Some(&first_byte) = input.first() else { return Ok(None) };
        let Some(version) = self.check_version(first_byte, input)? else { return Ok(None) };
        if input.len() < HEADER_BYTES {
            return Ok(None);
        }
        let stream = stream_of(input);
        let total_bytes = HEADER_BYTES as u64 + u64::from(body_bytes_of(input));
        match self.check_header(version, input, total_bytes) {
            Err(error) => {
                self.discard(Discarding { bytes_left: total_bytes, rejection: self.reject(stream, error) }, input)
            }
            Ok(header) => Ok(cut_off(header, input, total_bytes)),
        }
    }

    /// Looks at the first byte before a whole header is there: versions 1 and 2 have a shorter one. `None` waits for it.
    fn check_version(&self, first_byte: u8, input: &mut BytesMut) -> Result<Option<ProtocolVersion>, Rejection> {
        let number = first_byte & !Direction::RESPONSE_BIT;
        let known = ProtocolVersion::from_number(number);
        if known.is_some() {
            return Ok(known);
        }
        let error = ProtocolError::UnsupportedVersion { number };
        if ProtocolVersion::V3.number() <= number {
            if input.len() < STREAM_END {
                return Ok(None);
            }
            // Its stream is taken to stand where ours does; what has come beyond is dropped, as Cassandra does.
            let stream = stream_of(input);
            input.clear();
            return Err(self.reject(stream, error));
        }
        if input.len() < OLD_HEADER_BYTES {
            return Ok(None);
        }
        let stream = i16::from(input[OLD_STREAM_AT].cast_signed());
        input.clear();
        Err(Rejection { stream, reply: ReplyForm::Old { version: number }, error })
    }

    fn check_header(
        &self,
        version: ProtocolVersion,
        input: &BytesMut,
        total_bytes: u64,
    ) -> Result<EnvelopeHeader, ProtocolError> {
        let flags = EnvelopeFlags(input[1]);
        if version.is_beta() && !flags.contains(EnvelopeFlags::USE_BETA) {
            return Err(ProtocolError::BetaFlagUnset { version });
        }
        let found = Direction::of_first_byte(input[0]);
        let opcode = Opcode::decode(input[OPCODE_AT], found)?;
        if found != self.direction {
            return Err(ProtocolError::WrongDirection { opcode, expected: self.direction, found });
        }
        if let Some(expected) = self.version.filter(|expected| *expected != version) {
            return Err(ProtocolError::VersionChanged { found: version, expected });
        }
        let max_bytes = self.bytes_max as u64;
        if max_bytes < total_bytes {
            return Err(ProtocolError::RequestTooBig { total_bytes, max_bytes });
        }
        Ok(EnvelopeHeader { version, flags, stream: stream_of(input), opcode })
    }

    fn discard(&mut self, mut discarding: Discarding, input: &mut BytesMut) -> Result<Option<Envelope>, Rejection> {
        let here = usize::try_from(discarding.bytes_left).unwrap_or(usize::MAX).min(input.len());
        input.advance(here);
        discarding.bytes_left -= here as u64;
        if discarding.bytes_left == 0 {
            return Err(discarding.rejection);
        }
        self.discarding = Some(discarding);
        Ok(None)
    }

    /// Answers in the connection's version, before STARTUP in the current one.
    pub(crate) fn reject(&self, stream: i16, error: ProtocolError) -> Rejection {
        let version = match error {
            ProtocolError::BetaFlagUnset { version } => version, // A beta client reads its own header only.
            _ => self.version.unwrap_or(ProtocolVersion::CURRENT),
        };
        Rejection { stream, reply: ReplyForm::Version(version), error }
    }
}

/// Where the stream's bytes end.
const STREAM_END: usize = 4;

/// `input` has at least [`STREAM_END`] bytes.
pub(crate) fn stream_of(input: &[u8]) -> i16 {
    i16::from_be_bytes([input[2], input[3]])
}

/// `input` has at least a header.
pub(crate) fn body_bytes_of(input: &[u8]) -> u32 {
    u32::from_be_bytes([input[LENGTH_AT], input[LENGTH_AT + 1], input[LENGTH_AT + 2], input[LENGTH_AT + 3]])
}

fn cut_off(header: EnvelopeHeader, input: &mut BytesMut, total_bytes: u64) -> Option<Envelope> {
    let total_bytes = usize::try_from(total_bytes).ok().filter(|total_bytes| *total_bytes <= input.len())?;
    let mut whole = input.split_to(total_bytes).freeze();
    Some(Envelope { header, body: whole.split_off(HEADER_BYTES) })
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::{Envelope, EnvelopeDecoder, HEADER_BYTES, MESSAGE_BYTES_MAX};
    use crate::opcode::Opcode;
    use crate::rejection::{Rejection, ReplyForm};
    use crate::version::ProtocolVersion;

    fn decode(decoder: &mut EnvelopeDecoder, bytes: &[u8]) -> Result<Option<Envelope>, Rejection> {
        decoder.decode(&mut BytesMut::from(bytes))
    }

    fn check_refused(bytes: &[u8], text: &str) -> Rejection {
        let refusal = decode(&mut EnvelopeDecoder::for_requests(), bytes).unwrap_err();
        assert_eq!(refusal.error.to_string(), text);
        refusal
    }

    #[test]
    fn an_envelope_is_cut_off_once_its_last_byte_is_there() {
        let bytes = [4, 2, 0, 7, 5, 0, 0, 0, 2, 0xAA, 0xBB, 4];
        let mut decoder = EnvelopeDecoder::for_requests();
        let mut input = BytesMut::new();
        for byte in &bytes[..10] {
            input.extend_from_slice(&[*byte]);
            assert_eq!(decoder.decode(&mut input), Ok(None));
        }
        input.extend_from_slice(&bytes[10..]);
        let envelope = decoder.decode(&mut input).unwrap().unwrap();
        assert_eq!((envelope.header.stream, envelope.header.opcode), (7, Opcode::Options));
        assert_eq!(&envelope.body[..], [0xAA, 0xBB]);
        assert_eq!(&input[..], [4], "the next envelope's first byte stays");
    }

    #[test]
    fn unknown_versions_are_refused_as_cassandra_refuses_them() {
        let text = "Invalid or unsupported protocol version (66); supported versions are (3/v3, 4/v4, 5/v5, 6/v6-beta)";
        let refusal = check_refused(&[66, 0, 0, 5, 5, 0, 0, 0, 0], text);
        assert_eq!((refusal.stream, refusal.reply), (5, ReplyForm::Version(ProtocolVersion::V5)));
        let text = "Invalid or unsupported protocol version (2); supported versions are (3/v3, 4/v4, 5/v5, 6/v6-beta)";
        let refusal = check_refused(&[2, 0, 5, 5, 0, 0, 0, 0], text);
        assert_eq!((refusal.stream, refusal.reply), (5, ReplyForm::Old { version: 2 }));
        assert!(refusal.is_fatal());
    }

    #[test]
    fn a_beta_version_needs_its_flag() {
        let text = "Beta version of the protocol used (6/v6-beta), but USE_BETA flag is unset";
        let refusal = check_refused(&[6, 0, 0, 5, 5, 0, 0, 0, 0], text);
        assert_eq!((refusal.stream, refusal.reply), (5, ReplyForm::Version(ProtocolVersion::V6)));
        let served = decode(&mut EnvelopeDecoder::for_requests(), &[6, 0x10, 0, 5, 5, 0, 0, 0, 0]);
        assert_eq!(served.unwrap().unwrap().header.version, ProtocolVersion::V6);
    }

    #[test]
    fn opcodes_are_refused_in_the_words_of_cassandra() {
        check_refused(&[4, 0, 0, 5, 32, 0, 0, 0, 0], "Unknown opcode 32");
        check_refused(
            &[4, 0, 0, 5, 8, 0, 0, 0, 0],
            "Wrong protocol direction (expected RESPONSE, got REQUEST) for opcode 8 (RESULT)",
        );
        check_refused(
            &[0x84, 0, 0, 5, 5, 0, 0, 0, 0],
            "Wrong protocol direction (expected REQUEST, got RESPONSE) for opcode 5 (OPTIONS)",
        );
    }

    #[test]
    fn another_version_than_that_of_startup_is_refused_and_skipped() {
        let mut decoder = EnvelopeDecoder::for_requests();
        decoder.pin_version(ProtocolVersion::V4);
        let refusal = decode(&mut decoder, &[3, 0, 0, 6, 5, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(
            refusal.error.to_string(),
            "Invalid message version. Got 3/v3 but previousmessages on this connection had version 4/v4"
        );
        assert_eq!(refusal.reply, ReplyForm::Version(ProtocolVersion::V4));
        assert!(decode(&mut decoder, &[4, 0, 0, 6, 5, 0, 0, 0, 0]).unwrap().is_some());
    }

    #[test]
    fn a_message_over_the_limit_is_skipped_and_the_next_one_is_served() {
        let mut decoder = EnvelopeDecoder::for_requests();
        decoder.set_bytes_max(MESSAGE_BYTES_MAX);
        let body_bytes = 17_000_000_u32;
        let mut input = BytesMut::from(&[4, 0, 0, 5, 7][..]);
        input.extend_from_slice(&body_bytes.to_be_bytes());
        let mut bytes_left = body_bytes as usize;
        while 0 < bytes_left {
            assert_eq!(decoder.decode(&mut input), Ok(None));
            assert!(input.is_empty(), "what is too big is not kept");
            let here = bytes_left.min(1 << 20);
            input.resize(here, b'x');
            bytes_left -= here;
        }
        input.extend_from_slice(&[4, 0, 0, 6, 5, 0, 0, 0, 0]);
        let refusal = decoder.decode(&mut input).unwrap_err();
        assert_eq!(
            refusal.error.to_string(),
            "Request is too big: length 17000009 exceeds maximum allowed length 16777216."
        );
        assert!(!refusal.is_fatal());
        assert_eq!(decoder.decode(&mut input).unwrap().unwrap().header.stream, 6);
    }

    #[test]
    fn an_unknown_client_may_not_send_much() {
        let mut input = BytesMut::from(&[4, 0, 0, 5, 7, 0xFF, 0xFF, 0xFF, 0xFF][..]);
        assert_eq!(EnvelopeDecoder::for_requests().decode(&mut input), Ok(None));
        assert!(input.is_empty() && input.capacity() <= 1024, "a claimed length allocates nothing");
        assert_eq!(HEADER_BYTES, 9);
    }
}
