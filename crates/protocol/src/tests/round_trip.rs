//! What one side encodes the other decodes: messages in every version, connections in every framing.

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use super::any_message::{any_response_message, any_type, any_version, any_versioned_request, any_versioned_response};
use crate::{
    Compression, EnvelopeDecoder, Inbound, MESSAGE_BYTES_MAX, Outbound, ProtocolVersion, RequestMessage, Response,
    ResponseExtras, ResponseMessage, read_type, write_type,
};

const STREAM: i16 = -300;

proptest! {
    #[test]
    fn requests_come_back((version, message) in any_versioned_request()) {
        let mut wire = BytesMut::new();
        message.encode(version, STREAM, &mut wire).unwrap();
        let mut decoder = EnvelopeDecoder::for_requests();
        decoder.set_bytes_max(MESSAGE_BYTES_MAX);
        let envelope = decoder.decode(&mut wire).unwrap().unwrap();
        prop_assert!(wire.is_empty());
        prop_assert_eq!((envelope.header.version, envelope.header.stream), (version, STREAM));
        prop_assert_eq!(RequestMessage::decode(&envelope).unwrap(), message);
    }

    #[test]
    fn responses_come_back((version, message) in any_versioned_response()) {
        let mut wire = BytesMut::new();
        message.encode(version, STREAM, &mut wire).unwrap();
        let envelope = EnvelopeDecoder::for_responses(MESSAGE_BYTES_MAX).decode(&mut wire).unwrap().unwrap();
        prop_assert!(wire.is_empty());
        // Types that have no id in this version come back the same, by the name of their class.
        prop_assert_eq!(ResponseMessage::decode(&envelope).unwrap(), message);
    }

    #[test]
    fn types_come_back(version in any_version(), ty in any_type()) {
        let mut wire = BytesMut::new();
        write_type(&mut wire, version, &ty);
        let mut reader = crate::primitives::Reader::new(wire.freeze());
        prop_assert_eq!(read_type(&mut reader), Ok(ty));
        prop_assert_eq!(reader.remaining(), 0);
    }

    #[test] // The socket may cut the bytes anywhere, and answers may be sealed singly or together.
    fn a_connection_carries_its_responses(
        messages in vec((any_response_message(ProtocolVersion::V4), any::<bool>()), 0..6),
        sizes in vec(0_usize..300_000, 0..3),
        compression in select(vec![None, Some(Compression::Lz4), Some(Compression::Snappy)]),
        has_frames in any::<bool>(),
        cut in 1_usize..200_000,
    ) {
        let version = if has_frames { ProtocolVersion::V5 } else { ProtocolVersion::V4 };
        let (mut outbound, mut inbound) = (Outbound::new(), Inbound::for_responses(MESSAGE_BYTES_MAX));
        let ready = ResponseMessage::plain(Response::Ready);
        let mut sent = vec![ready.clone()];
        ready.encode(version, 0, outbound.buffer()).unwrap();
        outbound.start(version, compression);

        let large = sizes.into_iter().map(|size| (large_message(size), false));
        // Only what version 4 and 5 encode alike.
        let alike = messages.into_iter().filter(|(message, _)| is_alike_in_4_and_5(message));
        for (message, is_sealed) in alike.chain(large) {
            message.encode(version, 0, outbound.buffer()).unwrap();
            sent.push(message);
            if is_sealed {
                outbound.seal();
            }
        }
        outbound.seal();
        let wire = outbound.take().freeze();
        prop_assert_eq!(outbound.waiting_bytes(), 0);

        if !has_frames {
            inbound.start(version, compression);
        }
        let mut received = Vec::new();
        let mut input = BytesMut::new();
        for part in wire.chunks(cut) {
            input.extend_from_slice(part);
            while let Some(envelope) = inbound.next(&mut input).unwrap() {
                received.push(ResponseMessage::decode(&envelope).unwrap());
                if inbound.version().is_none() {
                    inbound.start(version, compression);
                }
            }
        }
        prop_assert!(input.is_empty());
        prop_assert_eq!(received, sent);
    }
}

fn large_message(size: usize) -> ResponseMessage {
    let token: Vec<u8> = (0..size).map(|at| u8::try_from(at % 251).expect("below 251")).collect();
    ResponseMessage::plain(Response::AuthSuccess(Some(Bytes::from(token))))
}

fn is_alike_in_4_and_5(message: &ResponseMessage) -> bool {
    let encode = |version| {
        let mut wire = BytesMut::new();
        message.encode(version, 0, &mut wire).unwrap();
        wire[1..].to_vec()
    };
    encode(ProtocolVersion::V4) == encode(ProtocolVersion::V5)
}

#[test]
fn version_3_drops_warnings_and_payloads() {
    let extras = ResponseExtras {
        tracing_id: Some(uuid::Uuid::from_bytes([7; 16])),
        warnings: vec!["careful".into()],
        payload: Some(vec![("key".into(), None)]),
    };
    let message = ResponseMessage { response: Response::Ready, extras };
    let mut wire = BytesMut::new();
    message.encode(ProtocolVersion::V3, 1, &mut wire).unwrap();
    assert_eq!(wire[..9], [0x83, 0x02, 0, 1, 2, 0, 0, 0, 16]);
    assert_eq!(wire.len(), 9 + 16);
}

#[test]
fn version_4_orders_trace_warnings_and_payload() {
    let extras = ResponseExtras {
        tracing_id: Some(uuid::Uuid::from_bytes([7; 16])),
        warnings: vec!["w".into()],
        payload: Some(vec![("k".into(), None)]),
    };
    let message = ResponseMessage { response: Response::Ready, extras };
    let mut wire = BytesMut::new();
    message.encode(ProtocolVersion::V4, 1, &mut wire).unwrap();
    assert_eq!(wire[1], 0x0E);
    let expected = [&[7; 16][..], &[0, 1, 0, 1, b'w'], &[0, 1, 0, 1, b'k', 0xFF, 0xFF, 0xFF, 0xFF]].concat();
    assert_eq!(wire[9..], expected);
}
