//! PREPARE: a statement's text to be kept on the server.

use bytes::{BufMut, BytesMut};

use crate::primitives::{Reader, Utf8Bytes, write_long_string, write_string};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

const KEYSPACE: i32 = 0x01;

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare {
    pub text: Utf8Bytes,
    /// Instead of the connection's keyspace; version 5 and later.
    pub keyspace: Option<Utf8Bytes>,
}

impl Prepare {
    pub(super) fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let text = reader.read_long_string()?;
        let has_keyspace = ProtocolVersion::V5 <= version && reader.read_int()? & KEYSPACE != 0;
        let keyspace = if has_keyspace { Some(reader.read_shared_string()?) } else { None };
        Ok(Self { text, keyspace })
    }

    pub(super) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        write_long_string(out, &self.text);
        if ProtocolVersion::V5 <= version {
            match &self.keyspace {
                None => out.put_i32(0),
                Some(keyspace) => {
                    out.put_i32(KEYSPACE);
                    write_string(out, keyspace);
                }
            }
        }
    }
}
