//! Rows as a value: a page of a result whose cells are encoded already, to be sent later or as a client received it.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::metadata::{GLOBAL_TABLE, HAS_MORE_PAGES, METADATA_CHANGED, NO_METADATA, ResultMetadata};
use crate::primitives::{Reader, write_short_bytes, write_value};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// One page. `cells` are `row_count` times `column_count` `[bytes]`, row by row.
///
/// Invariant of a decoded one: `cells` holds exactly so many cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// `None` when the client asked to skip it.
    pub metadata: Option<Arc<ResultMetadata>>,
    pub column_count: u32,
    /// Whether all columns are of one table. Counts only where `metadata` is skipped: Cassandra sets the flag there too.
    pub is_one_table: bool,
    /// Set when there are more pages.
    pub paging_state: Option<Bytes>,
    /// The new id of metadata that changed since the client prepared; version 5 and later, metadata is then not skipped.
    pub new_metadata_id: Option<Bytes>,
    pub row_count: u32,
    pub cells: Bytes,
}

impl Rows {
    /// A last page with its metadata.
    #[must_use]
    pub fn new(metadata: Arc<ResultMetadata>, row_count: u32, cells: Bytes) -> Self {
        Self {
            column_count: metadata.count().cast_unsigned(),
            is_one_table: metadata.flags() != 0,
            metadata: Some(metadata),
            paging_state: None,
            new_metadata_id: None,
            row_count,
            cells,
        }
    }

    /// For results made in memory: system answers, `[applied]`, tests. Each row must have a cell a column.
    #[must_use]
    pub fn from_cells<'a, R>(metadata: Arc<ResultMetadata>, rows: impl IntoIterator<Item = R>) -> Self
    where
        R: IntoIterator<Item = Option<&'a [u8]>>,
    {
        let mut cells = BytesMut::new();
        let mut row_count = 0;
        for row in rows {
            row.into_iter().for_each(|cell| write_value(&mut cells, cell));
            row_count += 1;
        }
        Self::new(metadata, row_count, cells.freeze())
    }

    /// Leaves names and types out of the answer, as EXECUTE may ask.
    #[must_use]
    pub fn without_metadata(mut self) -> Self {
        self.metadata = None;
        self
    }

    pub(super) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        let new_metadata_id = self.new_metadata_id.as_ref().filter(|_| ProtocolVersion::V5 <= version);
        let flag = |flag: u32, is_set: bool| if is_set { flag } else { 0 };
        let is_one_table = self.metadata.as_ref().map_or(self.is_one_table, |metadata| metadata.flags() != 0);
        out.put_u32(
            flag(GLOBAL_TABLE, is_one_table)
                | flag(HAS_MORE_PAGES, self.paging_state.is_some())
                | flag(NO_METADATA, self.metadata.is_none())
                | flag(METADATA_CHANGED, new_metadata_id.is_some()),
        );
        out.put_u32(self.column_count);
        if let Some(state) = &self.paging_state {
            write_value(out, Some(state));
        }
        if let Some(id) = new_metadata_id {
            write_short_bytes(out, id);
        }
        if let Some(metadata) = &self.metadata {
            metadata.encode_columns(version, out);
        }
        out.put_u32(self.row_count);
        out.put_slice(&self.cells);
    }

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, ProtocolError> {
        let flags = reader.read_int()?.cast_unsigned();
        let column_count = reader.read_count("columns")?;
        let paging_state = if flags & HAS_MORE_PAGES != 0 { reader.read_bytes()? } else { None };
        let new_metadata_id = if flags & METADATA_CHANGED != 0 { Some(reader.read_short_bytes()?) } else { None };
        let mut metadata = None;
        if flags & NO_METADATA == 0 {
            metadata = Some(Arc::new(ResultMetadata::decode_columns(flags, column_count, reader)?));
        }
        let row_count = reader.read_count("rows")?;
        let cells = reader.take_rest();
        let mut check = Reader::new(cells.clone());
        if 0 < column_count {
            // Without columns a row has no bytes, and any number of them would fit.
            for _ in 0..(row_count as u64).saturating_mul(column_count as u64) {
                check.read_bytes_range()?;
            }
        }
        let cells = cells.slice(..cells.len() - check.remaining());
        Ok(Self {
            metadata,
            column_count: u32::try_from(column_count).expect("read as 31 bits"),
            is_one_table: flags & GLOBAL_TABLE != 0,
            paging_state,
            new_metadata_id,
            row_count: u32::try_from(row_count).expect("read as 31 bits"),
            cells,
        })
    }

    /// Row by row.
    pub fn iter(&self) -> impl Iterator<Item = RowRef> {
        let mut reader = Reader::new(self.cells.clone());
        let column_count = self.column_count;
        (0..self.row_count).map_while(move |_| {
            let cells = (0..column_count).map(|_| reader.read_bytes().ok());
            cells.collect::<Option<Vec<_>>>().map(|cells| RowRef { cells })
        })
    }
}

/// The cells of one row; they share the page's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRef {
    cells: Vec<Option<Bytes>>,
}

impl RowRef {
    /// `None` for null and beyond the last column.
    #[must_use]
    pub fn cell(&self, index: usize) -> Option<&Bytes> {
        self.cells.get(index)?.as_ref()
    }

    #[must_use]
    pub fn cells(&self) -> &[Option<Bytes>] {
        &self.cells
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::{Bytes, BytesMut};

    use super::Rows;
    use crate::primitives::Reader;
    use crate::response::ResultMetadata;
    use crate::version::ProtocolVersion;

    #[test]
    fn rows_without_columns_name_no_table() {
        let mut rows = Rows::new(Arc::new(ResultMetadata::default()), 0, Bytes::new());
        rows.is_one_table = true; // As a server may claim.
        let mut out = BytesMut::new();
        rows.encode(ProtocolVersion::V4, &mut out);
        let again = Rows::decode(&mut Reader::new(out.freeze())).unwrap();
        assert!(!again.is_one_table && again.iter().next().is_none());
    }
}
