//! RESULT of PREPARE: the statement's id, what it binds and what it returns.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::metadata::ResultMetadata;
use crate::primitives::{Reader, write_short_bytes};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// MD5, 16 bytes.
    pub id: Bytes,
    /// Version 5 and later; MD5 too, that of nothing for a statement that returns no rows.
    pub result_metadata_id: Option<Bytes>,
    /// The bind markers.
    pub variables: Arc<ResultMetadata>,
    /// Which markers are the partition key's columns, in the key's order; empty when some are not markers. Drivers route by
    /// it. Version 4 and later.
    pub partition_key_indexes: Vec<u16>,
    /// The result's columns, none for a statement that returns no rows.
    pub result: Arc<ResultMetadata>,
}

impl Prepared {
    pub(super) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        write_short_bytes(out, &self.id);
        if ProtocolVersion::V5 <= version {
            write_short_bytes(out, self.result_metadata_id.as_deref().unwrap_or_default());
        }
        out.put_u32(self.variables.flags());
        out.put_i32(self.variables.count());
        if ProtocolVersion::V4 <= version {
            let count = self.partition_key_indexes.len();
            out.put_i32(i32::try_from(count).expect("a key has fewer columns"));
            self.partition_key_indexes.iter().for_each(|index| out.put_u16(*index));
        }
        self.variables.encode_columns(version, out);
        self.result.encode_bare(version, out);
    }

    pub(super) fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let id = reader.read_short_bytes()?;
        let has_metadata_id = ProtocolVersion::V5 <= version;
        let result_metadata_id = if has_metadata_id { Some(reader.read_short_bytes()?) } else { None };
        let flags = reader.read_int()?.cast_unsigned();
        let count = reader.read_count("variables")?;
        let mut partition_key_indexes = Vec::new();
        if ProtocolVersion::V4 <= version {
            for _ in 0..reader.read_count("partition key columns")? {
                partition_key_indexes.push(reader.read_short()?);
            }
        }
        let variables = Arc::new(ResultMetadata::decode_columns(flags, count, reader)?);
        let result = Arc::new(ResultMetadata::decode_bare(reader)?);
        Ok(Self { id, result_metadata_id, variables, partition_key_indexes, result })
    }
}
