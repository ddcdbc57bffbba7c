//! Damaged and hostile bytes: errors with the right words, never a panic, never memory on the strength of a claim.

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use super::any_message::{any_versioned_request, any_versioned_response};
use crate::{
    Compression, Envelope, EnvelopeFlags, EnvelopeHeader, FrameEncoder, FrameFormat, Inbound, Opcode, ProtocolVersion,
    Rejection, Request, RequestMessage, ResponseMessage,
};

fn envelope(version: ProtocolVersion, opcode: Opcode, flags: u8, body: Bytes) -> Envelope {
    Envelope { header: EnvelopeHeader { version, flags: EnvelopeFlags(flags), stream: 0, opcode }, body }
}

/// A connection of version 5 behind its STARTUP.
fn framed() -> Inbound {
    let mut inbound = Inbound::for_requests(0x0c4c_3fd5);
    inbound.start(ProtocolVersion::V5, None);
    inbound.set_bytes_max(16 << 20);
    inbound
}

fn frame(envelopes: &[u8]) -> BytesMut {
    let mut out = BytesMut::new();
    FrameEncoder::new(FrameFormat::Plain).encode(envelopes, &mut out);
    out
}

/// A frame with a correct header and checksum around any payload, which need not be an envelope.
fn raw_frame(payload: &[u8], is_self_contained: bool) -> BytesMut {
    let fields = u32::try_from(payload.len()).unwrap() | u32::from(is_self_contained) << 17;
    let fields = &fields.to_le_bytes()[..3];
    let crc24 = &crate::crc::crc24(fields).to_le_bytes()[..3];
    let crc32 = crate::crc::crc32(payload).to_le_bytes();
    BytesMut::from(&[fields, crc24, payload, &crc32].concat()[..])
}

const OPTIONS: [u8; 9] = [5, 0, 0, 6, 5, 0, 0, 0, 0];

fn refusal(input: &mut BytesMut) -> Rejection {
    framed().next(input).unwrap_err()
}

proptest! {
    #[test]
    fn a_request_cut_anywhere_is_refused_or_understood((version, message) in any_versioned_request()) {
        let mut wire = BytesMut::new();
        message.encode(version, 0, &mut wire).unwrap();
        let (flags, body) = (wire[1], wire.split_off(9).freeze());
        for end in 0..body.len() {
            let _ = RequestMessage::decode(&envelope(version, message.request.opcode(), flags, body.slice(..end)));
        }
    }

    #[test]
    fn a_response_cut_anywhere_is_refused_or_understood((version, message) in any_versioned_response()) {
        let mut wire = BytesMut::new();
        message.encode(version, 0, &mut wire).unwrap();
        let (flags, body) = (wire[1], wire.split_off(9).freeze());
        for end in 0..body.len() {
            let _ = ResponseMessage::decode(&envelope(version, message.response.opcode(), flags, body.slice(..end)));
        }
    }

    #[test]
    fn random_bodies_never_panic(opcode in 0_u8..=16, flags: u8, body in vec(any::<u8>(), 0..100)) {
        for version in ProtocolVersion::ALL {
            let direction = crate::Direction::Request;
            let body = Bytes::from(body.clone());
            match Opcode::decode(opcode, direction) {
                Ok(opcode) => drop(RequestMessage::decode(&envelope(version, opcode, flags, body))),
                Err(_) => {
                    let opcode = Opcode::decode(opcode, crate::Direction::Response).unwrap();
                    let _ = ResponseMessage::decode(&envelope(version, opcode, flags, body));
                }
            }
        }
    }

    #[test]
    fn random_bytes_on_a_connection_never_panic(bytes in vec(any::<u8>(), 0..300), valid_crc: bool) {
        for compression in [None, Some(Compression::Lz4)] {
            for version in ProtocolVersion::ALL {
                let mut inbound = Inbound::for_requests(1);
                inbound.start(version, compression);
                let mut input = if valid_crc { raw_frame(&bytes, true) } else { BytesMut::from(&bytes[..]) };
                for _ in 0..20 {
                    match inbound.next(&mut input) {
                        Ok(None) => break,
                        Err(rejection) if rejection.is_fatal() => break,
                        Ok(Some(_)) | Err(_) => {}
                    }
                }
            }
        }
    }
}

#[test]
fn huge_counts_and_lengths_end_with_the_body() {
    let huge: [&[u8]; 6] = [
        b"\x7f\xff\xff\xff",                            // A query of 2 GiB.
        b"\0\0\0\x01a\0\x01\x01\xff\xff",               // 65535 values.
        b"\0\0\0\x01a\0\x01\x01\0\x01\x7f\xff\xff\xff", // A value of 2 GiB.
        b"\0\0\0\x01a\0\x01\x08\x7f\xff\xff\xff",       // A paging state of 2 GiB.
        b"\0\0\0\x01a\0\x01\x41\xff\xff\xff\xff",       // A name of 64 KiB.
        b"\xff\xff\xff\xff",                            // A query of negative length.
    ];
    for body in huge {
        let envelope = envelope(ProtocolVersion::V4, Opcode::Query, 0, Bytes::from_static(body));
        assert!(RequestMessage::decode(&envelope).is_err(), "{body:?}");
    }
    // A result of 2^31 - 1 rows of 2^31 - 1 columns without metadata.
    let rows = b"\0\0\0\x02\0\0\0\x04\x7f\xff\xff\xff\x7f\xff\xff\xff";
    let envelope = envelope(ProtocolVersion::V4, Opcode::Result, 0, Bytes::from_static(rows));
    assert!(ResponseMessage::decode(&envelope).is_err());
}

#[test]
fn deeply_nested_types_are_refused() {
    let mut body = b"\0\0\0\x02\0\0\0\0\0\0\0\x01\0\x01k\0\x01t\0\x01c".to_vec();
    body.extend([0, 0x20].repeat(100_000));
    let refused = ResponseMessage::decode(&envelope(ProtocolVersion::V4, Opcode::Result, 0, body.into())).unwrap_err();
    assert_eq!(refused.to_string(), "A type is nested more than 64 deep");
}

#[test]
fn checksum_errors_have_the_words_of_cassandra() {
    // As a node answered to this very frame, OPTIONS on stream 6 with its last byte replaced by EE.
    let mut broken_body = frame(&OPTIONS);
    *broken_body.last_mut().unwrap() = 0xEE;
    let rejection = refusal(&mut broken_body);
    assert_eq!(
        rejection.error.to_string(),
        "0c4c3fd5 invalid, unrecoverable CRC mismatch detected in frame body. Read -294558451, Computed -1687067379"
    );
    assert!(rejection.is_fatal() && rejection.stream == 0);

    let mut broken_header = frame(&OPTIONS);
    broken_header[0] ^= 1;
    assert_eq!(
        refusal(&mut broken_header).error.to_string(),
        "0c4c3fd5 invalid, unrecoverable CRC mismatch detected in frame header. Read 12699812, Computed 11118780"
    );
}

#[test]
fn a_broken_envelope_in_a_sound_frame_leaves_the_connection_alive() {
    for (broken, text) in [
        (
            [4, 0, 0, 6, 5, 0, 0, 0, 0],
            "Invalid message version. Got 4/v4 but previousmessages on this connection had version 5/v5",
        ),
        ([5, 0, 0, 6, 32, 0, 0, 0, 0], "Unknown opcode 32"),
    ] {
        let mut inbound = framed();
        let mut input = frame(&[broken, OPTIONS].concat());
        let rejection = inbound.next(&mut input).unwrap_err();
        assert_eq!((rejection.stream, rejection.error.to_string().as_str()), (6, text));
        assert!(!rejection.is_fatal());
        assert!(inbound.next(&mut input).unwrap().is_some());
    }
}

#[test]
fn an_envelope_that_its_frame_cuts_off_ends_the_connection() {
    let rejection = refusal(&mut raw_frame(&[5, 0, 0, 6, 5, 0, 0, 0, 100], true));
    assert!(rejection.is_fatal());
    assert_eq!(rejection.stream, 6);
    let rejection = refusal(&mut raw_frame(&[5, 0, 0, 6, 5, 0x80, 0, 0, 0], true));
    assert_eq!(rejection.error.to_string(), "Invalid value for envelope header body length field: -2147483648");
    assert!(refusal(&mut raw_frame(&[5, 0, 0], true)).is_fatal());
}

#[test]
fn a_large_message_over_the_limit_is_skipped_frame_by_frame() {
    let mut inbound = framed();
    let mut large = vec![5, 0, 0, 6, 7];
    large.extend(17_000_000_u32.to_be_bytes());
    large.resize(9 + 17_000_000, b'x');
    let mut input = frame(&large);
    input.extend_from_slice(&frame(&OPTIONS));
    let rejection = inbound.next(&mut input).unwrap_err();
    assert_eq!(
        rejection.error.to_string(),
        "CQL Message of size 17000000 bytes exceeds allowed maximum of 16777216 bytes"
    );
    assert_eq!((rejection.stream, rejection.error.code().number()), (6, 0x2200));
    assert!(inbound.next(&mut input).unwrap().is_some());
}

#[test]
fn a_self_contained_frame_may_not_interrupt_a_large_message() {
    let mut inbound = framed();
    let mut input = raw_frame(&[5, 0, 0, 6, 7, 0, 0, 0, 9, 1], false);
    input.extend_from_slice(&frame(&OPTIONS));
    assert!(inbound.next(&mut input).unwrap_err().is_fatal());
}

#[test]
fn bodies_are_refused_in_the_words_of_cassandra() {
    let check = |opcode: Opcode, body: &'static [u8], text: &str| {
        let refused = RequestMessage::decode(&envelope(ProtocolVersion::V4, opcode, 0, Bytes::from_static(body)));
        assert_eq!(refused.unwrap_err().error.to_string(), text);
    };
    check(Opcode::Register, b"\0\x01\0\x03foo", "Invalid value 'foo' for Type");
    check(Opcode::Batch, b"\x07\0\0\0\x01\0", "Invalid BATCH message type 7");
    check(Opcode::Batch, b"\0\0\x01\x05\0\x01\0", "Invalid query kind in BATCH messages. Must be 0 or 1 but got 5");
    check(Opcode::Query, b"\0\0\0\x01a\0\x01\x01\0\x01\xff\xff\xff\xf0", "Invalid ByteBuf length -16");
    check(
        Opcode::Query,
        b"\0\0\0\x01a\0\x01\x20\x80\0\0\0\0\0\0\0",
        "Out of bound timestamp, must be in [-9223372036854775807, 9223372036854775807] (got -9223372036854775808)",
    );
    check(Opcode::Query, b"\0\0\0\x01a\0\x4d\0", "Unknown code 77 for a consistency level");
    check(Opcode::Credentials, b"", "Unsupported message");
    let payload = envelope(ProtocolVersion::V3, Opcode::Options, 4, Bytes::from_static(b"\0\0"));
    assert_eq!(
        RequestMessage::decode(&payload).unwrap_err().error.to_string(),
        "Received frame with CUSTOM_PAYLOAD flag for native protocol version < 4"
    );
}

#[test]
fn values_and_texts_stay_in_the_frame() {
    let body = Bytes::from_static(b"\0\0\0\x05query\0\x01\x01\0\x01\0\0\0\x05value");
    let envelope = envelope(ProtocolVersion::V4, Opcode::Query, 0, body.clone());
    let Request::Query(query) = RequestMessage::decode(&envelope).unwrap().request else { panic!() };
    let range = body.as_ptr_range();
    assert!(range.contains(&query.text.as_ptr()));
    assert!(range.contains(&query.parameters.values.shared(0).unwrap().as_ptr()));
}
