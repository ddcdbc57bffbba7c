//! Frames (the specification also says segments): what carries envelopes in version 5, checksummed and perhaps compressed.
//!
//! ```text
//! uncompressed                                  LZ4
//! offset  bytes  field                          offset  bytes  field
//!      0      3  bits 0-16 payload length            0      5  bits 0-16 length on the wire
//!                bit 17 self-contained                         bits 17-33 length uncompressed, 0: payload is not compressed
//!      3      3  CRC-24 of bytes 0..3                          bit 34 self-contained
//!      6      n  payload                             5      3  CRC-24 of bytes 0..5
//!    6+n      4  CRC-32 of payload                   8      n  payload
//!                                                  8+n      4  CRC-32 of payload, as on the wire
//! ```
//!
//! All integers are little-endian. A self-contained frame holds whole envelopes, as many as fit; an envelope larger than a
//! payload is cut over frames that are not self-contained and hold nothing else.
//!
//! Source: `native_protocol_v5.spec` section 2; behaviour of Cassandra 5.0.9's `FrameDecoder`.

use bytes::{BufMut, Bytes, BytesMut};

use crate::compression::{compress_block, decompress_block};
use crate::crc::{crc24, crc32};
use crate::envelope::{HEADER_BYTES, body_bytes_of};
use crate::rejection::{FramePart, ProtocolError};

/// How much a frame can carry, 17 bits.
pub const PAYLOAD_BYTES_MAX: usize = 128 * 1024 - 1;

const LENGTH_BITS: u32 = 17;
const LENGTH_MASK: u64 = PAYLOAD_BYTES_MAX as u64;
const CRC24_BYTES: usize = 3;
const CRC32_BYTES: usize = 4;

/// Whether frames are compressed. Version 5 knows LZ4 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFormat {
    Plain,
    Lz4,
}

impl FrameFormat {
    /// Bytes before the CRC-24.
    fn fields_bytes(self) -> usize {
        match self {
            Self::Plain => 3,
            Self::Lz4 => 5,
        }
    }

    fn header_bytes(self) -> usize {
        self.fields_bytes() + CRC24_BYTES
    }

    fn self_contained_bit(self) -> u32 {
        match self {
            Self::Plain => LENGTH_BITS,
            Self::Lz4 => 2 * LENGTH_BITS,
        }
    }
}

/// A frame's payload, checked and decompressed.
///
/// The payload is cut off the input, not copied; as a `BytesMut`, so that envelopes can be cut off it in turn.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub payload: BytesMut,
    pub is_self_contained: bool,
}

/// Cuts frames off the front of a buffer.
#[derive(Debug)]
pub struct FrameDecoder {
    format: FrameFormat,
    /// Shown in error texts, see [`ProtocolError::CrcMismatch`].
    connection: u32,
}

/// What a header says.
struct FrameHeader {
    wire_bytes: usize,
    /// 0 when the payload is not compressed.
    uncompressed_bytes: u32,
    is_self_contained: bool,
}

impl FrameDecoder {
    #[must_use]
    pub fn new(format: FrameFormat, connection: u32) -> Self {
        Self { format, connection }
    }

    /// The next frame, or `None` until more bytes have come; at most 128 KiB and a header are ever waited for.
    ///
    /// # Errors
    /// [`ProtocolError::CrcMismatch`] and damage of the compressed form: both leave the connection useless.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, ProtocolError> {
        let header_bytes = self.format.header_bytes();
        if input.len() < header_bytes {
            return Ok(None);
        }
        let header = self.decode_header(&input[..header_bytes])?;
        let frame_bytes = header_bytes + header.wire_bytes + CRC32_BYTES;
        if input.len() < frame_bytes {
            return Ok(None);
        }
        let mut frame = input.split_to(frame_bytes);
        let trailer = frame.split_off(header_bytes + header.wire_bytes);
        let payload = frame.split_off(header_bytes);
        self.check_payload(&payload, &trailer)?;
        let payload = decompress_payload(payload, header.uncompressed_bytes)?;
        Ok(Some(Frame { payload, is_self_contained: header.is_self_contained }))
    }

    fn decode_header(&self, bytes: &[u8]) -> Result<FrameHeader, ProtocolError> {
        let (fields, crc) = bytes.split_at(self.format.fields_bytes());
        let (read, computed) = (little_endian(crc), u64::from(crc24(fields)));
        if read != computed {
            return Err(self.crc_mismatch(FramePart::Header, read, computed));
        }
        let fields = little_endian(fields);
        let uncompressed = match self.format {
            FrameFormat::Plain => 0,
            FrameFormat::Lz4 => fields >> LENGTH_BITS & LENGTH_MASK,
        };
        Ok(FrameHeader {
            wire_bytes: usize::try_from(fields & LENGTH_MASK).expect("17 bits"),
            uncompressed_bytes: u32::try_from(uncompressed).expect("17 bits"),
            is_self_contained: fields >> self.format.self_contained_bit() & 1 == 1,
        })
    }

    fn check_payload(&self, payload: &[u8], trailer: &[u8]) -> Result<(), ProtocolError> {
        let (read, computed) = (little_endian(trailer), u64::from(crc32(payload)));
        if read == computed { Ok(()) } else { Err(self.crc_mismatch(FramePart::Body, read, computed)) }
    }

    fn crc_mismatch(&self, part: FramePart, read: u64, computed: u64) -> ProtocolError {
        // Java shows the 32 bits as a signed number.
        let signed = |crc: u64| u32::try_from(crc).expect("at most 32 bits").cast_signed();
        ProtocolError::CrcMismatch { connection: self.connection, part, read: signed(read), computed: signed(computed) }
    }
}

fn decompress_payload(payload: BytesMut, uncompressed_bytes: u32) -> Result<BytesMut, ProtocolError> {
    if uncompressed_bytes == 0 {
        return Ok(payload);
    }
    let decompressed = decompress_block(&payload, uncompressed_bytes, PAYLOAD_BYTES_MAX);
    decompressed.map(|bytes| Bytes::from(bytes).into()).map_err(ProtocolError::FrameCompression)
}

/// At most eight bytes.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Packs finished envelopes into frames.
#[derive(Debug)]
pub struct FrameEncoder {
    format: FrameFormat,
}

impl FrameEncoder {
    #[must_use]
    pub fn new(format: FrameFormat) -> Self {
        Self { format }
    }

    /// Appends frames for `envelopes`, which are whole and stand one behind the other: as many as fit share a frame.
    ///
    /// # Panics
    /// When `envelopes` does not end where its last envelope ends: only our own encoders fill it.
    pub fn encode(&self, envelopes: &[u8], out: &mut BytesMut) {
        let overhead_bytes = self.format.header_bytes() + CRC32_BYTES;
        // At once: a buffer that doubles step by step would hold a large answer three times.
        out.reserve(envelopes.len() + (envelopes.len() / PAYLOAD_BYTES_MAX + 1) * overhead_bytes);
        let mut rest = envelopes;
        while !rest.is_empty() {
            let first_bytes = envelope_bytes(rest);
            if PAYLOAD_BYTES_MAX < first_bytes {
                let (large, behind) = rest.split_at(first_bytes);
                large.chunks(PAYLOAD_BYTES_MAX).for_each(|part| self.encode_frame(part, false, out));
                rest = behind;
            } else {
                let (group, behind) = rest.split_at(group_bytes(rest));
                self.encode_frame(group, true, out);
                rest = behind;
            }
        }
    }

    fn encode_frame(&self, payload: &[u8], is_self_contained: bool, out: &mut BytesMut) {
        let start = out.len();
        out.reserve(self.format.header_bytes() + payload.len() + CRC32_BYTES);
        out.put_bytes(0, self.format.header_bytes()); // Filled in below, once the length on the wire is known.
        let uncompressed_bytes = self.encode_payload(payload, out);
        let payload_at = start + self.format.header_bytes();
        let crc = crc32(&out[payload_at..]);
        let wire_bytes = (out.len() - payload_at) as u64;
        out.put_u32_le(crc);

        let self_contained = u64::from(is_self_contained) << self.format.self_contained_bit();
        let fields = wire_bytes | uncompressed_bytes << LENGTH_BITS | self_contained;
        let (header_fields, header_crc) = out[start..payload_at].split_at_mut(self.format.fields_bytes());
        header_fields.copy_from_slice(&fields.to_le_bytes()[..header_fields.len()]);
        header_crc.copy_from_slice(&crc24(header_fields).to_le_bytes()[..CRC24_BYTES]);
    }

    /// Returns the header's uncompressed length: 0 for a payload that stands there as it is.
    fn encode_payload(&self, payload: &[u8], out: &mut BytesMut) -> u64 {
        if self.format == FrameFormat::Lz4 {
            let payload_at = out.len();
            compress_block(payload, out);
            if out.len() - payload_at < payload.len() {
                return payload.len() as u64;
            }
            out.truncate(payload_at); // Compression does not pay.
        }
        out.put_slice(payload);
        0
    }
}

/// Length of the envelope at the front, with its header.
fn envelope_bytes(envelopes: &[u8]) -> usize {
    assert!(HEADER_BYTES <= envelopes.len(), "an envelope has a header");
    let total_bytes = HEADER_BYTES + body_bytes_of(envelopes) as usize;
    assert!(total_bytes <= envelopes.len(), "an envelope is whole");
    total_bytes
}

/// Length of the envelopes at the front that fit one frame together; the first one does.
fn group_bytes(envelopes: &[u8]) -> usize {
    let mut end = 0;
    while end < envelopes.len() {
        let next_end = end + envelope_bytes(&envelopes[end..]);
        if PAYLOAD_BYTES_MAX < next_end {
            break;
        }
        end = next_end;
    }
    end
}
