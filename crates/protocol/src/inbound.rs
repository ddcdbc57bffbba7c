//! Inbound: the receiving half of one connection, from bytes to envelopes in whatever framing was agreed on.
//!
//! Role: starts with bare envelopes; [`Inbound::start`] follows a successful STARTUP and switches to what it agreed on:
//! compressed bodies up to version 4, frames from version 5 on.
//!
//! Invariant: what is kept between calls is bounded by the message limit, whatever the peer claims.

use bytes::BytesMut;

use crate::compression::{Compression, decompress_envelope};
use crate::envelope::{Envelope, EnvelopeDecoder, HEADER_BYTES, body_bytes_of, stream_of};
use crate::frame::{Frame, FrameDecoder, FrameFormat};
use crate::rejection::{ProtocolError, Rejection};
use crate::version::ProtocolVersion;

/// See the module's text.
#[derive(Debug)]
pub struct Inbound {
    envelopes: EnvelopeDecoder,
    compression: Option<Compression>,
    framing: Option<Framing>,
    /// Shown in error texts, see [`ProtocolError::CrcMismatch`].
    connection: u32,
}

/// State of the frames of version 5.
#[derive(Debug)]
struct Framing {
    frames: FrameDecoder,
    /// The rest of the self-contained frame that is being emptied.
    contained: BytesMut,
    large: LargeMessage,
}

/// An envelope that comes in several frames.
#[derive(Debug, Default)]
struct LargeMessage {
    received: BytesMut,
    /// Set once the envelope was found too big: what is still to come, and how to answer then.
    skipping: Option<(u64, Rejection)>,
}

impl Inbound {
    /// The server's side. `connection` is any number that tells this connection from others in error texts.
    #[must_use]
    pub fn for_requests(connection: u32) -> Self {
        Self::new(EnvelopeDecoder::for_requests(), connection)
    }

    /// The client's side; `bytes_max` limits one response.
    #[must_use]
    pub fn for_responses(bytes_max: usize) -> Self {
        Self::new(EnvelopeDecoder::for_responses(bytes_max), 0)
    }

    fn new(envelopes: EnvelopeDecoder, connection: u32) -> Self {
        Self { envelopes, compression: None, framing: None, connection }
    }

    /// The limit of one message in bytes; raise it to `native_transport_max_message_size` after authentication.
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.envelopes.set_bytes_max(bytes_max);
    }

    /// The version that STARTUP settled on, `None` before.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.envelopes.version()
    }

    /// Bytes kept between calls, of a message whose end has not come.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.framing.as_ref().map_or(0, |framing| framing.contained.len() + framing.large.received.len())
    }

    /// What STARTUP agreed on; bytes that come after it are read accordingly. A server calls it when it answers STARTUP. A
    /// client calls it behind the answer in version 5 and before it in version 3 and 4, where the answer is compressed.
    pub fn start(&mut self, version: ProtocolVersion, compression: Option<Compression>) {
        self.envelopes.pin_version(version);
        if version.has_frames() {
            let format = if compression.is_some() { FrameFormat::Lz4 } else { FrameFormat::Plain };
            let frames = FrameDecoder::new(format, self.connection);
            self.framing = Some(Framing { frames, contained: BytesMut::new(), large: LargeMessage::default() });
        } else {
            self.compression = compression;
        }
    }

    /// The next envelope, decompressed, or `None` until more bytes have been appended to `input`.
    ///
    /// # Errors
    /// A [`Rejection`] to be answered; when it is fatal the connection must be closed behind the answer, otherwise the next
    /// call goes on with the next envelope.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<Option<Envelope>, Rejection> {
        let Some(framing) = &mut self.framing else {
            let envelope = self.envelopes.decode(input)?;
            let bytes_max = self.envelopes.bytes_max();
            return envelope.map(|envelope| decompress_envelope(envelope, self.compression, bytes_max)).transpose();
        };
        loop {
            if !framing.contained.is_empty() {
                return contained_envelope(&mut self.envelopes, &mut framing.contained).map(Some);
            }
            let frame = framing.frames.decode(input).map_err(|error| fatal_rejection(&self.envelopes, error))?;
            let Some(frame) = frame else { return Ok(None) };
            if let Some(envelope) = framing.accept(&mut self.envelopes, frame)? {
                return Ok(Some(envelope));
            }
        }
    }
}

/// A broken frame belongs to no stream.
fn fatal_rejection(envelopes: &EnvelopeDecoder, error: ProtocolError) -> Rejection {
    envelopes.reject(0, error)
}

/// The next envelope of a self-contained frame that is not empty.
fn contained_envelope(envelopes: &mut EnvelopeDecoder, contained: &mut BytesMut) -> Result<Envelope, Rejection> {
    let header = contained.get(..HEADER_BYTES).map(|header| (stream_of(header), body_bytes_of(header)));
    let (stream, body_bytes) = header.unwrap_or_default();
    let total_bytes = HEADER_BYTES as u64 + u64::from(body_bytes);
    if let Some(missing_bytes) = total_bytes.checked_sub(contained.len() as u64).filter(|missing| 0 < *missing) {
        contained.clear();
        let error = match i32::try_from(body_bytes) {
            Ok(_) => ProtocolError::EnvelopeCutOff { missing_bytes },
            Err(_) => ProtocolError::NegativeBodyLength { length: body_bytes.cast_signed() },
        };
        return Err(envelopes.reject(stream, error));
    }
    let mut whole = contained.split_to(usize::try_from(total_bytes).expect("not more than is there"));
    let envelope = envelopes.decode(&mut whole)?;
    Ok(envelope.expect("an envelope that is whole is returned or refused"))
}

impl Framing {
    fn accept(&mut self, envelopes: &mut EnvelopeDecoder, frame: Frame) -> Result<Option<Envelope>, Rejection> {
        if !frame.is_self_contained {
            return self.large.accept(envelopes, &frame.payload);
        }
        if self.large.is_incomplete() {
            return Err(fatal_rejection(envelopes, ProtocolError::LargeMessageInterrupted));
        }
        self.contained = frame.payload;
        Ok(None)
    }
}

impl LargeMessage {
    fn is_incomplete(&self) -> bool {
        !self.received.is_empty() || self.skipping.is_some()
    }

    fn accept(&mut self, envelopes: &mut EnvelopeDecoder, payload: &[u8]) -> Result<Option<Envelope>, Rejection> {
        if let Some((bytes_left, rejection)) = self.skipping.take() {
            return self.skip(bytes_left, rejection, payload.len());
        }
        self.received.extend_from_slice(payload);
        let Some(header) = self.received.get(..HEADER_BYTES) else { return Ok(None) };
        let (stream, body_bytes, max_bytes) = (stream_of(header), body_bytes_of(header), envelopes.bytes_max() as u64);
        let total_bytes = HEADER_BYTES as u64 + u64::from(body_bytes);
        if max_bytes < total_bytes {
            let error = ProtocolError::MessageTooBig { body_bytes: u64::from(body_bytes), max_bytes };
            let received_bytes = std::mem::take(&mut self.received).len();
            return self.skip(total_bytes, envelopes.reject(stream, error), received_bytes);
        }
        if (self.received.len() as u64) < total_bytes {
            return Ok(None);
        }
        let mut whole = std::mem::take(&mut self.received); // Bytes behind the envelope have no business here: dropped.
        envelopes.decode(&mut whole)
    }

    fn skip(&mut self, bytes_left: u64, rejection: Rejection, here: usize) -> Result<Option<Envelope>, Rejection> {
        match bytes_left.checked_sub(here as u64).filter(|left| 0 < *left) {
            Some(left) => {
                self.skipping = Some((left, rejection));
                Ok(None)
            }
            None => Err(rejection),
        }
    }
}
