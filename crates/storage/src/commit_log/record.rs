//! Records of a commit log segment: several mutations that are applied together or not at all.

/// Where a record ends in the log of one shard. Segment ids rise, so positions are ordered as they were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LogPosition {
    pub segment_id: u64,
    /// Bytes from the start of the segment's file.
    pub offset: u32,
}

/// Whose bytes they are: part of every checksum, so that a misplaced or left-over block cannot pass for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentIdentity {
    pub shard: u32,
    pub segment_id: u64,
}

/// The head of a segment, format 1. Integers are little-endian.
///
/// ```text
/// offset  bytes  field
///      0      8  magic        "HELENLOG"
///      8      4  format       u32, 1
///     12      4  shard        u32, which shard wrote it
///     16      8  segment id   u64
///     24      4  shard count  u32, of the node when it was written
///     28      4  crc          CRC-32 (IEEE) of bytes 0..28
/// ```
pub(crate) const SEGMENT_HEADER_BYTES: u32 = 32;
const MAGIC: [u8; 8] = *b"HELENLOG";
const FORMAT: u32 = 1;

/// One record of a segment, format 1. Integers are little-endian, offsets count from the record's start.
///
/// ```text
/// offset  bytes  field
///      0      4  body_bytes    u32; 0 marks the unwritten rest of a preallocated segment, `SEALED` its regular end
///      4      4  synced_bytes  u32, so much of the segment was on the device when this record was written
///      8      4  header_crc    CRC-32 of shard ++ segment id ++ the record's offset in the segment ++ bytes 0..8
///     12      n  body          mutations, one after the other, as `data::codec` version 1 writes them
///   12+n      4  body_crc      CRC-32 of bytes 0..12+n; a seal has no body and none of this
/// ```
///
/// `synced_bytes` tells torn writes from damage: in the newest segment, what fails its checksum at or beyond every known
/// `synced_bytes` was never on the device whole, and ends replay; everything else was, and is damage. Older segments
/// are synced and sealed before the next one's first record is written.
///
/// History: `docs/formats/commit-log.md`.
pub(crate) const RECORD_HEADER_BYTES: u32 = 12;
const BODY_CRC_BYTES: u32 = 4;
/// What a record needs apart from its body.
pub(crate) const RECORD_OVERHEAD_BYTES: u32 = RECORD_HEADER_BYTES + BODY_CRC_BYTES;
const SEALED: u32 = u32::MAX;

pub(crate) fn encode_segment_header(identity: SegmentIdentity, shard_count: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(SEGMENT_HEADER_BYTES as usize);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&identity.shard.to_le_bytes());
    out.extend_from_slice(&identity.segment_id.to_le_bytes());
    out.extend_from_slice(&shard_count.to_le_bytes());
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    assert_eq!(out.len(), SEGMENT_HEADER_BYTES as usize, "the table above says 32");
    out
}

/// The identity that a segment says it has; `Err` says what was expected.
pub(crate) fn decode_segment_header(bytes: &[u8]) -> Result<SegmentIdentity, &'static str> {
    let header = bytes.first_chunk::<32>().ok_or("a segment header of 32 bytes")?;
    if header[..8] != MAGIC {
        return Err("the magic HELENLOG");
    }
    if u32_at(header, 28) != Some(crc32fast::hash(&header[..28])) {
        return Err("a segment header with a valid checksum");
    }
    if u32_at(header, 8) != Some(FORMAT) {
        return Err("segment format 1");
    }
    let segment_id = header[16..24].try_into().map(u64::from_le_bytes).map_err(|_| "a segment id")?;
    Ok(SegmentIdentity { shard: u32_at(header, 12).ok_or("a shard")?, segment_id })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|chunk| u32::from_le_bytes(*chunk))
}

/// Appends a record that will stand at `offset` of its segment.
pub(crate) fn encode_record(identity: SegmentIdentity, offset: u32, synced_bytes: u32, body: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let body_bytes = u32::try_from(body.len()).unwrap_or(SEALED);
    assert!(0 < body_bytes && body_bytes < SEALED, "the caller holds records to half a segment");
    put_header(identity, offset, synced_bytes, body_bytes, out);
    out.extend_from_slice(body);
    let crc = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
}

/// The regular end of a full segment.
pub(crate) fn encode_seal(identity: SegmentIdentity, offset: u32, synced_bytes: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(RECORD_HEADER_BYTES as usize);
    put_header(identity, offset, synced_bytes, SEALED, &mut out);
    out
}

fn put_header(identity: SegmentIdentity, offset: u32, synced_bytes: u32, body_bytes: u32, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&body_bytes.to_le_bytes());
    out.extend_from_slice(&synced_bytes.to_le_bytes());
    let crc = header_crc(identity, offset, &out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
}

fn header_crc(identity: SegmentIdentity, offset: u32, first_bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&identity.shard.to_le_bytes());
    crc.update(&identity.segment_id.to_le_bytes());
    crc.update(&offset.to_le_bytes());
    crc.update(first_bytes);
    crc.finalize()
}

/// What stands at some offset of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// The given bytes end too early: at least so many from the record's start are needed.
    NeedsBytes(usize),
    /// Nothing was written here.
    Unwritten,
    Sealed {
        synced_bytes: u32,
    },
    /// `body` within the given bytes; the record takes `len` bytes.
    Record {
        body: std::ops::Range<usize>,
        len: usize,
        synced_bytes: u32,
    },
    Damaged {
        expected: &'static str,
    },
}

/// Looks at the record at `offset` of a segment; `bytes` begin there.
pub(crate) fn parse(identity: SegmentIdentity, offset: u32, bytes: &[u8]) -> Parsed {
    let Some(header) = bytes.first_chunk::<12>() else {
        let is_blank = bytes.iter().all(|byte| *byte == 0);
        return if is_blank && bytes.is_empty() { Parsed::Unwritten } else { Parsed::NeedsBytes(12) };
    };
    if header == &[0; 12] {
        return Parsed::Unwritten;
    }
    if u32_at(header, 8) != Some(header_crc(identity, offset, &header[..8])) {
        return Parsed::Damaged { expected: "a record header with a valid checksum" };
    }
    let (Some(body_bytes), Some(synced_bytes)) = (u32_at(header, 0), u32_at(header, 4)) else {
        return Parsed::Damaged { expected: "a record header" };
    };
    if body_bytes == SEALED {
        return Parsed::Sealed { synced_bytes };
    }
    let body_end = RECORD_HEADER_BYTES as usize + body_bytes as usize;
    let len = body_end + BODY_CRC_BYTES as usize;
    let Some(record) = bytes.get(..len) else { return Parsed::NeedsBytes(len) };
    if u32_at(record, body_end) != Some(crc32fast::hash(&record[..body_end])) {
        return Parsed::Damaged { expected: "a record body with a valid checksum" };
    }
    Parsed::Record { body: RECORD_HEADER_BYTES as usize..body_end, len, synced_bytes }
}

/// The largest `synced_bytes` of the intact records after `offset`; `rest` are the segment's bytes from `offset` on.
///
/// Used once, on damage, so it may look at every offset: a record's header names its place, none is found by accident.
pub(crate) fn synced_bytes_known_after(identity: SegmentIdentity, offset: u32, rest: &[u8]) -> u32 {
    let mut known = 0;
    let mut at = 1;
    while let Some((found_at, found)) = find_record(identity, offset, rest, at) {
        match found {
            Parsed::Record { len, synced_bytes, .. } => {
                known = known.max(synced_bytes);
                at = found_at + len;
            }
            // A power cut before the seal was synced may keep the seal and lose what stands before it.
            Parsed::Sealed { synced_bytes } => return known.max(synced_bytes),
            Parsed::NeedsBytes(_) | Parsed::Unwritten | Parsed::Damaged { .. } => return known,
        }
    }
    known
}

/// Whether an intact record or seal stands anywhere in a segment.
pub(crate) fn has_record(identity: SegmentIdentity, segment: &[u8]) -> bool {
    find_record(identity, 0, segment, 0).is_some()
}

/// The first intact record or seal at or after `at` of `rest`, which begins at `offset` of its segment.
fn find_record(identity: SegmentIdentity, offset: u32, rest: &[u8], mut at: usize) -> Option<(usize, Parsed)> {
    while at + RECORD_HEADER_BYTES as usize <= rest.len() {
        let place = offset.saturating_add(u32::try_from(at).ok()?);
        match parse(identity, place, &rest[at..]) {
            found @ (Parsed::Record { .. } | Parsed::Sealed { .. }) => return Some((at, found)),
            // Over the zeros, to where a header could begin that ends in the next other byte.
            Parsed::Unwritten => {
                let zeros = rest[at..].iter().position(|byte| *byte != 0)?;
                at += zeros.saturating_sub(RECORD_HEADER_BYTES as usize - 1).max(1);
            }
            Parsed::NeedsBytes(_) | Parsed::Damaged { .. } => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: SegmentIdentity = SegmentIdentity { shard: 1, segment_id: 7 };

    #[test]
    fn a_record_is_read_back_where_it_was_written_and_nowhere_else() {
        let mut bytes = Vec::new();
        encode_record(IDENTITY, 32, 0, b"body", &mut bytes);
        assert_eq!(parse(IDENTITY, 32, &bytes), Parsed::Record { body: 12..16, len: 20, synced_bytes: 0 });
        assert!(matches!(parse(IDENTITY, 33, &bytes), Parsed::Damaged { .. }));
        let other = SegmentIdentity { segment_id: 8, ..IDENTITY };
        assert!(matches!(parse(other, 32, &bytes), Parsed::Damaged { .. }));
        assert_eq!(parse(IDENTITY, 32, &bytes[..15]), Parsed::NeedsBytes(20));
        assert_eq!(parse(IDENTITY, 32, &[0; 40]), Parsed::Unwritten);
        assert_eq!(parse(IDENTITY, 32, &encode_seal(IDENTITY, 32, 32)), Parsed::Sealed { synced_bytes: 32 });
    }

    #[test]
    fn every_flipped_bit_of_a_record_is_noticed() {
        let mut bytes = Vec::new();
        encode_record(IDENTITY, 32, 5, b"some body", &mut bytes);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let parsed = parse(IDENTITY, 32, &flipped);
            assert!(matches!(parsed, Parsed::Damaged { .. } | Parsed::NeedsBytes(_)), "bit {bit}: {parsed:?}");
        }
    }

    #[test]
    fn later_records_say_what_was_synced_before_them() {
        let mut bytes = Vec::new();
        encode_record(IDENTITY, 32, 0, b"first", &mut bytes);
        let second_at = 32 + u32::try_from(bytes.len()).unwrap();
        encode_record(IDENTITY, second_at, 53, b"second", &mut bytes);
        bytes[14] ^= 1;
        assert_eq!(synced_bytes_known_after(IDENTITY, 32, &bytes), 53);
    }

    #[test]
    fn a_seal_proves_no_more_than_what_was_synced_when_it_was_written() {
        let mut bytes = Vec::new();
        encode_record(IDENTITY, 32, 0, b"a record that the power cut tore", &mut bytes);
        let sealed_at = 32 + u32::try_from(bytes.len()).unwrap();
        bytes.extend(encode_seal(IDENTITY, sealed_at, 32));
        bytes[14] ^= 1;
        assert_eq!(synced_bytes_known_after(IDENTITY, 32, &bytes), 32);
    }

    #[test]
    fn segment_headers_are_checked() {
        let header = encode_segment_header(IDENTITY, 2);
        assert_eq!(decode_segment_header(&header), Ok(IDENTITY));
        for at in 0..header.len() {
            let mut broken = header.clone();
            broken[at] ^= 0x10;
            assert!(decode_segment_header(&broken).is_err(), "byte {at}");
        }
    }
}
