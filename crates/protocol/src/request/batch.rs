//! BATCH: several modifications at once.

use bytes::{BufMut, Bytes, BytesMut};

use super::parameters::QueryParameters;
use super::values::BoundValues;
use crate::primitives::{Reader, Utf8Bytes, write_list, write_long_string, write_short_bytes};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// What the batch promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BatchKind {
    Logged = 0,
    Unlogged = 1,
    Counter = 2,
}

/// A statement of a batch: text or the id of a prepared one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchStatement {
    Text(Utf8Bytes),
    Prepared(Bytes),
}

/// One statement with its values, which are never named in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchedQuery {
    pub statement: BatchStatement,
    pub values: BoundValues,
}

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub kind: BatchKind,
    pub queries: Vec<BatchedQuery>,
    /// Its values and paging mean nothing here.
    pub parameters: QueryParameters,
}

const TEXT: u8 = 0;
const PREPARED: u8 = 1;

impl Batch {
    pub(super) fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let kind = reader.read_byte()?; // Judged last, as Cassandra does: whichever error it would name comes first here too.
        let queries = reader.read_list(|reader| decode_query(version, reader))?;
        let parameters = QueryParameters::decode(version, reader)?;
        Ok(Self { kind: decode_kind(kind)?, queries, parameters })
    }

    pub(super) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        out.put_u8(self.kind as u8);
        write_list(out, &self.queries, |out, query| {
            match &query.statement {
                BatchStatement::Text(text) => {
                    out.put_u8(TEXT);
                    write_long_string(out, text);
                }
                BatchStatement::Prepared(id) => {
                    out.put_u8(PREPARED);
                    write_short_bytes(out, id);
                }
            }
            query.values.encode(version, out);
        });
        self.parameters.encode(version, out);
    }
}

fn decode_kind(code: u8) -> Result<BatchKind, ProtocolError> {
    match code {
        0 => Ok(BatchKind::Logged),
        1 => Ok(BatchKind::Unlogged),
        2 => Ok(BatchKind::Counter),
        _ => Err(ProtocolError::UnknownBatchType { code: code.cast_signed() }),
    }
}

fn decode_query(version: ProtocolVersion, reader: &mut Reader) -> Result<BatchedQuery, ProtocolError> {
    let statement = match reader.read_byte()? {
        TEXT => BatchStatement::Text(reader.read_long_string()?),
        PREPARED => BatchStatement::Prepared(reader.read_short_bytes()?),
        kind => return Err(ProtocolError::UnknownBatchQueryKind { kind: kind.cast_signed() }),
    };
    Ok(BatchedQuery { statement, values: BoundValues::decode(version, reader)? })
}
