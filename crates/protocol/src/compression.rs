//! Compression of bodies (versions 3 and 4) and of segments (version 5).
//!
//! ```text
//! LZ4 in versions 3 and 4   uncompressed length, 4 bytes big-endian, then one LZ4 block; an empty body is 4 zeros and one more
//! Snappy                    one raw Snappy block, which starts with the uncompressed length as a varint
//! LZ4 in version 5          one LZ4 block, its lengths stand in the segment's header
//! ```
//!
//! Invariant: a claimed uncompressed length is believed, and memory taken for it, only below the caller's limit and below
//! 255 times the input: no LZ4 block grows by more (one byte of a length adds at most 255), nor does Snappy (64 a copy of 3).

use bytes::{Buf, BytesMut};

use crate::envelope::{Envelope, EnvelopeFlags, HEADER_BYTES, LENGTH_AT};
use crate::rejection::{ProtocolError, Rejection};

/// What a connection agreed on in STARTUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Lz4,
    Snappy,
}

/// Why a body or segment could not be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompressionError {
    #[error(
        "Compressed message of {input_bytes} bytes cannot hold {claimed_bytes} bytes, at most {max_bytes} are allowed"
    )]
    TooBig { input_bytes: usize, claimed_bytes: u64, max_bytes: u64 },
    #[error("Compressed message ends before its length")]
    NoLength,
    #[error("Cannot decompress message: {reason}")]
    Damaged { reason: String },
    #[error("Compressed lengths mismatch")]
    LengthMismatch,
}

/// By how much the formats can grow a byte at most.
const GROWTH_MAX: u64 = 255;

impl Compression {
    /// As in SUPPORTED and STARTUP.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
        }
    }

    /// Case does not matter.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Lz4, Self::Snappy].into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }

    /// Appends the compressed form of a body.
    fn compress(self, body: &[u8], out: &mut BytesMut) {
        let start = out.len();
        match self {
            Self::Lz4 => {
                let body_bytes = u32::try_from(body.len()).expect("an envelope is below 2 GiB");
                out.extend_from_slice(&body_bytes.to_be_bytes());
                compress_block(body, out);
            }
            Self::Snappy => {
                out.resize(start + snap::raw::max_compress_len(body.len()), 0);
                let mut encoder = snap::raw::Encoder::new();
                let written = encoder.compress(body, &mut out[start..]).expect("the output has the room it asks for");
                out.truncate(start + written);
            }
        }
    }

    /// # Errors
    /// [`CompressionError`]; nothing is allocated above `bytes_max`.
    pub fn decompress(self, body: &[u8], bytes_max: usize) -> Result<Vec<u8>, CompressionError> {
        match self {
            Self::Lz4 => {
                let mut block = body;
                let claimed = block.try_get_u32().map_err(|_| CompressionError::NoLength)?;
                if claimed == 0 {
                    return Ok(Vec::new()); // What follows is one zero, or nothing at all with older clients.
                }
                decompress_block(block, claimed, bytes_max)
            }
            Self::Snappy => {
                let damaged = |error: snap::Error| CompressionError::Damaged { reason: error.to_string() };
                let claimed = snap::raw::decompress_len(body).map_err(damaged)?;
                check_claim(body.len(), claimed as u64, bytes_max)?;
                snap::raw::Decoder::new().decompress_vec(body).map_err(damaged)
            }
        }
    }

    /// Replaces the body of the finished envelope at `start` in `out`, which must be the last one there, by its compressed
    /// form. Version 4 and earlier; every envelope after STARTUP is compressed, READY and empty bodies too.
    pub fn compress_envelope(self, out: &mut BytesMut, start: usize) {
        let body = out.split_off(start + HEADER_BYTES);
        self.compress(&body, out);
        let body_bytes =
            u32::try_from(out.len() - start - HEADER_BYTES).expect("incompressible bodies grow by 1 in 255");
        out[start + 1] |= EnvelopeFlags::COMPRESSED.0;
        out[start + LENGTH_AT..start + HEADER_BYTES].copy_from_slice(&body_bytes.to_be_bytes());
    }
}

/// Undoes the compression of an envelope of version 4 or earlier. Without one agreed on, the flag means nothing, as in
/// Cassandra.
///
/// # Errors
/// The refusal of the envelope; the connection can go on.
pub fn decompress_envelope(
    mut envelope: Envelope,
    compression: Option<Compression>,
    bytes_max: usize,
) -> Result<Envelope, Rejection> {
    let compression = compression.filter(|_| envelope.header.flags.contains(EnvelopeFlags::COMPRESSED));
    let Some(compression) = compression else { return Ok(envelope) };
    match compression.decompress(&envelope.body, bytes_max) {
        Ok(body) => {
            envelope.body = body.into();
            envelope.header.flags = envelope.header.flags.without(EnvelopeFlags::COMPRESSED);
            Ok(envelope)
        }
        Err(error) => Err(envelope.reject(ProtocolError::Compression(error))),
    }
}

/// Appends one LZ4 block without any prefix.
pub(crate) fn compress_block(input: &[u8], out: &mut BytesMut) {
    let start = out.len();
    out.resize(start + lz4_flex::block::get_maximum_output_size(input.len()), 0);
    let written =
        lz4_flex::block::compress_into(input, &mut out[start..]).expect("the output has the room it asks for");
    out.truncate(start + written);
}

/// Undoes one LZ4 block that must give exactly `claimed` bytes.
pub(crate) fn decompress_block(block: &[u8], claimed: u32, bytes_max: usize) -> Result<Vec<u8>, CompressionError> {
    check_claim(block.len(), u64::from(claimed), bytes_max)?;
    let mut out = vec![0; claimed as usize];
    let written = lz4_flex::block::decompress_into(block, &mut out)
        .map_err(|error| CompressionError::Damaged { reason: error.to_string() })?;
    if written == out.len() { Ok(out) } else { Err(CompressionError::LengthMismatch) }
}

fn check_claim(input_bytes: usize, claimed_bytes: u64, bytes_max: usize) -> Result<(), CompressionError> {
    let max_bytes = (bytes_max as u64).min((input_bytes as u64).saturating_mul(GROWTH_MAX));
    if claimed_bytes <= max_bytes {
        Ok(())
    } else {
        Err(CompressionError::TooBig { input_bytes, claimed_bytes, max_bytes })
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{Compression, CompressionError};

    fn compress(algorithm: Compression, body: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        algorithm.compress(body, &mut out);
        out
    }

    #[test]
    fn an_empty_body_has_the_bytes_that_cassandra_sends() {
        assert_eq!(&compress(Compression::Lz4, b"")[..], [0, 0, 0, 0, 0]);
        assert_eq!(&compress(Compression::Snappy, b"")[..], [0]);
    }

    #[test]
    fn a_claim_beyond_what_the_format_can_do_is_not_believed() {
        let claim = Compression::Lz4.decompress(&[0x7F, 0xFF, 0xFF, 0xFF, 0, 0], usize::MAX);
        assert_eq!(
            claim,
            Err(CompressionError::TooBig { input_bytes: 2, claimed_bytes: 0x7FFF_FFFF, max_bytes: 2 * 255 })
        );
        let claim = Compression::Snappy.decompress(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0], 1 << 20);
        assert!(matches!(claim, Err(CompressionError::TooBig { max_bytes: 1530, .. })), "{claim:?}");
    }

    #[test]
    fn the_best_compressible_body_stays_within_the_growth_that_is_believed() {
        let body = vec![7; 16 << 20];
        for algorithm in [Compression::Lz4, Compression::Snappy] {
            let compressed = compress(algorithm, &body);
            assert_eq!(algorithm.decompress(&compressed, body.len()).as_deref(), Ok(&body[..]));
            assert!(algorithm.decompress(&compressed, body.len() - 1).is_err(), "the caller's limit holds too");
        }
    }

    proptest! {
        #[test]
        fn what_was_compressed_comes_back(body in proptest::collection::vec(any::<u8>(), 0..2000)) {
            for algorithm in [Compression::Lz4, Compression::Snappy] {
                let compressed = compress(algorithm, &body);
                prop_assert_eq!(algorithm.decompress(&compressed, body.len()), Ok(body.clone()));
            }
        }

        #[test]
        fn damage_is_an_error_and_never_a_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            for algorithm in [Compression::Lz4, Compression::Snappy] {
                let _ = algorithm.decompress(&body, 1 << 20);
            }
        }
    }
}
