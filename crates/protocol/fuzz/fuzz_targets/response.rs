//! Arbitrary bytes as a server's answer: no panic, and what was understood comes back; `cargo fuzz run response`.
#![no_main]

use bytes::BytesMut;
use helenus_protocol::{EnvelopeDecoder, MESSAGE_BYTES_MAX, ResponseMessage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = BytesMut::from(data);
    let mut decoder = EnvelopeDecoder::for_responses(MESSAGE_BYTES_MAX);
    while let Ok(Some(envelope)) = decoder.decode(&mut input) {
        let Ok(message) = ResponseMessage::decode(&envelope) else { continue };
        let mut encoded = BytesMut::new();
        message.encode(envelope.header.version, 0, &mut encoded).expect("what fitted a fuzzer's input fits an envelope");
        let again = decoder.decode(&mut encoded).expect("our own header").expect("a whole envelope");
        assert!(ResponseMessage::decode(&again).is_ok(), "{message:?}");
    }
});
