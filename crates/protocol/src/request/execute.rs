//! EXECUTE: a prepared statement, by its id.

use bytes::{Bytes, BytesMut};

use super::parameters::QueryParameters;
use crate::primitives::{Reader, write_short_bytes};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execute {
    pub id: Bytes,
    /// The result metadata that the client knows; version 5 and later, `None` before.
    pub result_metadata_id: Option<Bytes>,
    pub parameters: QueryParameters,
}

impl Execute {
    pub(super) fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let id = reader.read_short_bytes()?;
        let has_metadata_id = ProtocolVersion::V5 <= version;
        let result_metadata_id = if has_metadata_id { Some(reader.read_short_bytes()?) } else { None };
        Ok(Self { id, result_metadata_id, parameters: QueryParameters::decode(version, reader)? })
    }

    pub(super) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        write_short_bytes(out, &self.id);
        if ProtocolVersion::V5 <= version {
            write_short_bytes(out, self.result_metadata_id.as_deref().unwrap_or_default());
        }
        self.parameters.encode(version, out);
    }
}
