//! Bytes of a real Cassandra 5.0.9, recorded by `golden/capture.py`: what it sent and what it accepted must come out of our
//! encoders bit by bit.

use std::sync::Arc;

use bytes::BytesMut;

use crate::{
    Compression, Envelope, EnvelopeDecoder, ErrorBody, FrameDecoder, FrameEncoder, FrameFormat, Inbound,
    MESSAGE_BYTES_MAX, ProtocolVersion, Request, RequestMessage, Response, ResponseMessage, ResultBody, ResultMetadata,
    RowsHead, RowsWriter, Supported,
};

const RECORDED: &str = include_str!("../../golden/cassandra-5.0.9.txt");

struct Recorded {
    name: &'static str,
    version: ProtocolVersion,
    kind: &'static str,
    bytes: Vec<u8>,
}

fn recorded() -> Vec<Recorded> {
    let parse = |line: &'static str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, version, kind, hex] = fields[..] else { panic!("{line}") };
        let version = ProtocolVersion::from_number(version.parse().unwrap()).unwrap();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        Recorded { name, version, kind, bytes: (0..hex.len()).step_by(2).map(byte).collect() }
    };
    let all: Vec<Recorded> = RECORDED.lines().map(parse).collect();
    assert!(200 < all.len());
    all
}

fn envelope(mut decoder: EnvelopeDecoder, bytes: &[u8]) -> Envelope {
    decoder.set_bytes_max(MESSAGE_BYTES_MAX);
    let mut input = BytesMut::from(bytes);
    let envelope = decoder.decode(&mut input).unwrap().unwrap();
    assert!(input.is_empty());
    envelope
}

fn response(bytes: &[u8]) -> ResponseMessage {
    ResponseMessage::decode(&envelope(EnvelopeDecoder::for_responses(0), bytes)).unwrap()
}

#[test]
fn every_recorded_response_is_encoded_as_cassandra_encoded_it() {
    for recorded in recorded().into_iter().filter(|recorded| matches!(recorded.kind, "response" | "event")) {
        let envelope = envelope(EnvelopeDecoder::for_responses(0), &recorded.bytes);
        let message = ResponseMessage::decode(&envelope).unwrap();
        let mut out = BytesMut::new();
        message.encode(recorded.version, envelope.header.stream, &mut out).unwrap();
        assert_eq!(&out[..], recorded.bytes, "{} {}: {message:?}", recorded.name, recorded.version);
    }
}

#[test]
fn every_recorded_request_is_understood_and_encoded_alike() {
    for recorded in recorded().into_iter().filter(|recorded| recorded.kind == "request") {
        let envelope = envelope(EnvelopeDecoder::for_requests(), &recorded.bytes);
        let message = match RequestMessage::decode(&envelope) {
            Ok(message) => message,
            Err(rejection) => {
                assert_eq!(recorded.name, "error_protocol", "{rejection}");
                continue;
            }
        };
        let mut out = BytesMut::new();
        message.encode(recorded.version, envelope.header.stream, &mut out).unwrap();
        assert_eq!(&out[..], recorded.bytes, "{} {}: {message:?}", recorded.name, recorded.version);
    }
}

#[test]
fn the_rows_writer_writes_what_cassandra_wrote() {
    let (mut written_count, mut prepared) = (0, Arc::new(ResultMetadata::default()));
    for recorded in recorded().into_iter().filter(|recorded| recorded.kind == "response") {
        let stream = envelope(EnvelopeDecoder::for_responses(0), &recorded.bytes).header.stream;
        let ResponseMessage { response: Response::Result(result), extras } = response(&recorded.bytes) else {
            continue;
        };
        let rows = match result {
            ResultBody::Rows(rows) => rows,
            ResultBody::Prepared(answer) => {
                prepared = answer.result;
                continue;
            }
            ResultBody::Void | ResultBody::SetKeyspace(_) | ResultBody::SchemaChange(_) => continue,
        };
        let metadata = rows.metadata.as_ref().unwrap_or(&prepared); // Skipped only behind its own PREPARE.
        let head = RowsHead {
            version: recorded.version,
            stream,
            metadata,
            skip_metadata: rows.metadata.is_none(),
            new_metadata_id: rows.new_metadata_id.as_deref(),
        };
        let mut out = BytesMut::from(&b"before"[..]);
        let mut writer = RowsWriter::begin(&mut out, head);
        for row in rows.iter() {
            row.cells().iter().for_each(|cell| writer.write_value(cell.as_deref()));
            writer.end_row();
        }
        assert_eq!(writer.finish(rows.paging_state.as_deref(), &extras).unwrap(), 6);
        assert_eq!(&out[6..], recorded.bytes, "{} {}", recorded.name, recorded.version);
        written_count += 1;
    }
    assert!(20 < written_count, "{written_count}");
}

#[test]
fn recorded_frames_are_decoded_and_encoded_alike() {
    let frames: Vec<Recorded> = recorded().into_iter().filter(|recorded| recorded.kind == "segment").collect();
    assert_eq!(frames.len(), 2);
    for recorded in frames {
        let mut input = BytesMut::from(&recorded.bytes[..]);
        let frame = FrameDecoder::new(FrameFormat::Plain, 0).decode(&mut input).unwrap().unwrap();
        assert!(frame.is_self_contained && input.is_empty());
        let mut out = BytesMut::new();
        FrameEncoder::new(FrameFormat::Plain).encode(&frame.payload, &mut out);
        assert_eq!(&out[..], recorded.bytes);
    }
}

#[test]
fn recorded_compressed_answers_are_understood() {
    let mut understood_count = 0;
    for algorithm in [Compression::Lz4, Compression::Snappy] {
        let of_algorithm: Vec<Recorded> =
            recorded().into_iter().filter(|recorded| recorded.kind == algorithm.name()).collect();
        for version in [ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5] {
            let mut inbound = Inbound::for_responses(MESSAGE_BYTES_MAX);
            if !version.has_frames() {
                inbound.start(version, Some(algorithm));
            }
            for recorded in of_algorithm.iter().filter(|recorded| recorded.version == version) {
                let envelope = inbound.next(&mut BytesMut::from(&recorded.bytes[..])).unwrap().unwrap();
                let expected = match recorded.name {
                    "ready" => Response::Ready,
                    _ => Response::Supported(Supported::cassandra()),
                };
                assert_eq!(ResponseMessage::decode(&envelope).unwrap(), ResponseMessage::plain(expected));
                if version.has_frames() && recorded.name == "ready" {
                    inbound.start(version, Some(algorithm));
                }
                understood_count += 1;
            }
        }
    }
    assert_eq!(understood_count, 8);
}

#[test]
fn recorded_answers_say_what_they_should() {
    let find = |name: &str, version: ProtocolVersion, kind: &str| {
        let all = recorded();
        let found = all.iter().find(|one| one.name == name && one.version == version && one.kind == kind);
        found.map(|one| one.bytes.clone()).unwrap()
    };
    let v5 = ProtocolVersion::V5;

    let supported = response(&find("options", v5, "response")).response;
    let Response::Supported(supported) = supported else { panic!("{supported:?}") };
    assert_eq!(supported, Supported::cassandra());

    let warned = response(&find("warning", v5, "response")).extras;
    assert_eq!(warned.warnings, ["Aggregation query used without partition key"]);

    let unavailable = response(&find("error_unavailable", v5, "response")).response;
    let Response::Error(unavailable) = unavailable else { panic!("{unavailable:?}") };
    assert_eq!(unavailable.text, "Cannot achieve consistency level TWO");
    assert_eq!(
        unavailable.body,
        ErrorBody::Unavailable { consistency: crate::Consistency::Two, required: 2, alive: 1 }
    );

    let changed = response(&find("execute_metadata_changed", v5, "response")).response;
    let Response::Result(ResultBody::Rows(rows)) = changed else { panic!("{changed:?}") };
    assert!(rows.new_metadata_id.is_some() && rows.metadata.is_some() && rows.paging_state.is_some());

    let named = envelope(EnvelopeDecoder::for_requests(), &find("values_named", v5, "request"));
    let Request::Query(query) = RequestMessage::decode(&named).unwrap().request else { panic!() };
    let names: Vec<&str> = query.parameters.values.names().unwrap().iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["v", "c", "k"]);
    assert_eq!(query.parameters.values.get_named("v"), Some(crate::Value::Null));
}
