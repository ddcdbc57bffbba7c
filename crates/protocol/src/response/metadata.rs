//! Metadata: names and types of a result's columns.
//!
//! ```text
//! flags           [int]   0x01 one table for all, 0x02 more pages, 0x04 no columns follow, 0x08 metadata changed
//! column count    [int]
//! paging state    [bytes] with 0x02
//! new metadata id [short bytes] with 0x08, version 5 and later
//! keyspace, table [string] each, with 0x01
//! columns         (keyspace, table without 0x01), name, type; none with 0x04
//! ```
//!
//! Source: `native_protocol_v5.spec` section 4.2.5.2; Cassandra 5.0.9, `ResultSet.ResultMetadata.Codec`.

use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use helenus_types::CqlType;

use crate::column_type::{read_type, write_type};
use crate::primitives::{Reader, write_string};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

pub(super) const GLOBAL_TABLE: u32 = 0x01;
pub(super) const HAS_MORE_PAGES: u32 = 0x02;
pub(super) const NO_METADATA: u32 = 0x04;
pub(super) const METADATA_CHANGED: u32 = 0x08;

/// A column of a result, or a bind marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    pub keyspace: Arc<str>,
    pub table: Arc<str>,
    pub name: Arc<str>,
    pub ty: CqlType,
}

/// The columns, and whether they are all of one table.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ResultMetadata {
    columns: Vec<ColumnSpec>,
    /// Invariant: set exactly when there are columns and all have the same keyspace and table.
    is_one_table: bool,
}

impl ResultMetadata {
    #[must_use]
    pub fn new(columns: Vec<ColumnSpec>) -> Self {
        let is_one_table = match columns.split_first() {
            None => false,
            Some((first, rest)) => {
                rest.iter().all(|column| column.keyspace == first.keyspace && column.table == first.table)
            }
        };
        Self { columns, is_one_table }
    }

    #[must_use]
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// The flag that depends on the columns alone.
    pub(super) fn flags(&self) -> u32 {
        if self.is_one_table { GLOBAL_TABLE } else { 0 }
    }

    pub(super) fn count(&self) -> i32 {
        i32::try_from(self.columns.len()).expect("a statement names fewer columns")
    }

    /// Names and types, without flags and count.
    pub(super) fn encode_columns(&self, version: ProtocolVersion, out: &mut BytesMut) {
        if let Some(first) = self.columns.first().filter(|_| self.is_one_table) {
            write_string(out, &first.keyspace);
            write_string(out, &first.table);
        }
        for column in &self.columns {
            if !self.is_one_table {
                write_string(out, &column.keyspace);
                write_string(out, &column.table);
            }
            write_string(out, &column.name);
            write_type(out, version, &column.ty);
        }
    }

    /// The counterpart of [`Self::encode_columns`], given flags and count.
    pub(super) fn decode_columns(flags: u32, count: usize, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let mut table_of_all = None;
        if flags & GLOBAL_TABLE != 0 {
            table_of_all = Some(read_table(reader)?);
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            let (keyspace, table) = match &table_of_all {
                Some(table) => table.clone(),
                None => read_table(reader)?,
            };
            columns.push(ColumnSpec { keyspace, table, name: reader.read_string()?.into(), ty: read_type(reader)? });
        }
        Ok(Self::new(columns))
    }

    /// As PREPARE answers it: flags and count in front. Without columns it says "no metadata", as for a statement that
    /// returns no rows.
    pub(super) fn encode_bare(&self, version: ProtocolVersion, out: &mut BytesMut) {
        out.put_u32(if self.columns.is_empty() { NO_METADATA } else { self.flags() });
        out.put_i32(self.count());
        self.encode_columns(version, out);
    }

    pub(super) fn decode_bare(reader: &mut Reader) -> Result<Self, ProtocolError> {
        let flags = reader.read_int()?.cast_unsigned();
        let count = reader.read_count("columns")?;
        if flags & NO_METADATA != 0 {
            return Ok(Self::default());
        }
        Self::decode_columns(flags, count, reader)
    }
}

type TableName = (Arc<str>, Arc<str>);

fn read_table(reader: &mut Reader) -> Result<TableName, ProtocolError> {
    Ok((reader.read_string()?.into(), reader.read_string()?.into()))
}
