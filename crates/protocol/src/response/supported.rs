//! SUPPORTED: what a server can do, in answer to OPTIONS.

use bytes::BytesMut;

use crate::compression::Compression;
use crate::primitives::{Reader, StringMultimap, write_string_multimap};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// The CQL version of Cassandra 5.0.
pub const CQL_VERSION: &str = "3.4.7";

/// Options by name, in the order in which they are sent.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Supported {
    pub options: StringMultimap,
}

impl Supported {
    /// Exactly what Cassandra 5.0 answers, whatever version asks. The server adds the sharding keys.
    #[must_use]
    pub fn cassandra() -> Self {
        let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        let versions = ProtocolVersion::ALL.map(ProtocolVersion::description);
        let compressions = [Compression::Snappy.name(), Compression::Lz4.name()];
        Self {
            options: vec![
                ("PROTOCOL_VERSIONS".into(), list(&versions)),
                ("COMPRESSION".into(), list(&compressions)),
                ("CQL_VERSION".into(), list(&[CQL_VERSION])),
            ],
        }
    }

    /// Adds an option of one value.
    pub fn add(&mut self, key: &str, value: impl Into<String>) {
        self.options.push((key.to_owned(), vec![value.into()]));
    }

    pub(super) fn encode(&self, out: &mut BytesMut) {
        write_string_multimap(out, &self.options);
    }

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, ProtocolError> {
        Ok(Self { options: reader.read_string_multimap()? })
    }
}
