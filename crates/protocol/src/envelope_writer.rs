//! Writes one envelope straight into an output buffer: the header first, the body behind it, the length at the end.

use bytes::{BufMut, BytesMut};

use crate::envelope::{EnvelopeFlags, HEADER_BYTES, LENGTH_AT};
use crate::opcode::Opcode;
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// One envelope being written at the end of `out`.
///
/// Dropping it without [`Self::finish`] leaves a header without a length behind; [`Self::cancel`] takes all back.
#[derive(Debug)]
pub struct EnvelopeWriter<'a> {
    out: &'a mut BytesMut,
    start: usize,
}

impl<'a> EnvelopeWriter<'a> {
    /// Writes the header; USE_BETA is added for a beta version.
    pub fn begin(
        out: &'a mut BytesMut,
        version: ProtocolVersion,
        flags: EnvelopeFlags,
        stream: i16,
        opcode: Opcode,
    ) -> Self {
        let start = out.len();
        let beta = if version.is_beta() { EnvelopeFlags::USE_BETA } else { EnvelopeFlags::NONE };
        out.reserve(HEADER_BYTES);
        out.put_u8(version.number() | opcode.direction().bit());
        out.put_u8((flags | beta).0);
        out.put_i16(stream);
        out.put_u8(opcode.code());
        out.put_u32(0); // Filled in by `finish`.
        Self { out, start }
    }

    /// The buffer; the body is what is appended.
    pub fn body(&mut self) -> &mut BytesMut {
        self.out
    }

    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.out.len() - self.body_at()
    }

    pub(crate) fn body_at(&self) -> usize {
        self.start + HEADER_BYTES
    }

    pub(crate) fn add_flags(&mut self, flags: EnvelopeFlags) {
        self.out[self.start + 1] |= flags.0;
    }

    /// Fills in the length. Returns where the envelope starts in the buffer.
    ///
    /// # Errors
    /// [`ProtocolError::ResponseTooBig`] from 2 GiB on; the buffer is then as it was before [`Self::begin`].
    pub fn finish(self) -> Result<usize, ProtocolError> {
        let body_bytes = self.body_bytes();
        match i32::try_from(body_bytes) {
            Ok(length) => {
                let length_at = self.start + LENGTH_AT;
                self.out[length_at..length_at + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
                Ok(self.start)
            }
            Err(_) => {
                self.cancel();
                Err(ProtocolError::ResponseTooBig { body_bytes })
            }
        }
    }

    /// Takes everything back that was written since [`Self::begin`].
    pub fn cancel(self) {
        self.out.truncate(self.start);
    }
}
