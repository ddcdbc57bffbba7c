//! Outbound: the sending half of one connection, from finished envelopes to bytes in whatever framing was agreed on.
//!
//! ```text
//! before STARTUP, and version 3 and 4 without compression   envelopes go straight into `ready`
//! version 3 and 4 with compression                          straight into `ready`, compressed in place by `seal`
//! version 5                                                 into `pending`; `seal` packs them into frames
//! ```
//!
//! Use: append an envelope to [`Outbound::buffer`], call [`Outbound::seal`], as often as there are answers; then hand
//! [`Outbound::take`] to the socket. Sealing late lets small answers share a frame.

use bytes::BytesMut;

use crate::compression::Compression;
use crate::envelope::{HEADER_BYTES, body_bytes_of};
use crate::frame::{FrameEncoder, FrameFormat};
use crate::version::ProtocolVersion;

/// The first version whose header has nine bytes.
const NINE_BYTE_HEADERS_SINCE: u8 = 3;

/// A connection keeps buffers up to this size; larger ones go with the answers that needed them.
const RETAINED_BYTES_MAX: usize = 256 << 10;

/// Whether an envelope in the form of versions 1 and 2 (eight bytes of header) comes first.
fn has_old_header(envelopes: &[u8]) -> bool {
    envelopes.first().is_some_and(|version| version & 0x7F < NINE_BYTE_HEADERS_SINCE)
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct Outbound {
    /// What the socket may have, then envelopes that are not sealed.
    ready: BytesMut,
    sealed_bytes: usize,
    compression: Option<Compression>,
    frames: Option<FrameEncoder>,
    /// Version 5: envelopes waiting for their frame.
    pending: BytesMut,
}

impl Outbound {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where whole envelopes are appended. Nothing else may be done to what is there.
    pub fn buffer(&mut self) -> &mut BytesMut {
        if self.frames.is_some() { &mut self.pending } else { &mut self.ready }
    }

    /// What STARTUP agreed on. Comes when the answer to STARTUP stands in [`Self::buffer`] and everything before it is
    /// sealed: that answer is already compressed in version 3 and 4, but is a bare envelope still in version 5.
    pub fn start(&mut self, version: ProtocolVersion, compression: Option<Compression>) {
        if version.has_frames() {
            self.seal();
            let format = if compression.is_some() { FrameFormat::Lz4 } else { FrameFormat::Plain };
            self.frames = Some(FrameEncoder::new(format));
        } else {
            self.compression = compression;
            self.seal();
        }
    }

    /// Makes everything in [`Self::buffer`] ready to be sent.
    ///
    /// # Panics
    /// When the buffer does not end with a whole envelope.
    pub fn seal(&mut self) {
        if let Some(frames) = &self.frames {
            frames.encode(&self.pending, &mut self.ready);
            self.pending.clear();
            if RETAINED_BYTES_MAX < self.pending.capacity() {
                self.pending = BytesMut::new();
            }
        } else if let Some(compression) = self.compression {
            let mut plain = self.ready.split_off(self.sealed_bytes);
            while !plain.is_empty() {
                let start = self.ready.len();
                if has_old_header(&plain) {
                    // The refusal of a version before 3, after which the connection ends: no compression was agreed for it.
                    self.ready.extend_from_slice(&plain);
                    break;
                }
                let envelope = plain.split_to(HEADER_BYTES + body_bytes_of(&plain) as usize);
                self.ready.extend_from_slice(&envelope);
                compression.compress_envelope(&mut self.ready, start);
            }
        }
        self.sealed_bytes = self.ready.len();
    }

    /// Bytes that [`Self::take`] would give.
    #[must_use]
    pub fn sealed_bytes(&self) -> usize {
        self.sealed_bytes
    }

    /// Bytes not yet handed to the socket, sealed or not.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.ready.len() + self.pending.len()
    }

    /// Everything sealed so far, for the socket. The memory comes back to the buffer once what was taken is dropped, unless it
    /// is so much that the connection should not keep it.
    pub fn take(&mut self) -> BytesMut {
        let sealed_bytes = std::mem::take(&mut self.sealed_bytes);
        if RETAINED_BYTES_MAX < sealed_bytes && sealed_bytes == self.ready.len() {
            return std::mem::take(&mut self.ready);
        }
        self.ready.split_to(sealed_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_of_an_old_version_leaves_a_compressed_connection_as_it_is() {
        let mut outbound = Outbound::new();
        outbound.start(ProtocolVersion::V4, Some(Compression::Lz4));
        let refusal = [0x82, 0, 0, 0, 0, 0, 0, 2, 9, 9];
        outbound.buffer().extend_from_slice(&refusal);
        outbound.seal();
        assert_eq!(outbound.take(), &refusal[..]);
    }
}
