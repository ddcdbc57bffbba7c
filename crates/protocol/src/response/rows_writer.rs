//! RowsWriter: a RESULT of rows written straight into the connection's output buffer, cell by cell.
//!
//! What is known only when the last row has been read (the paging state, warnings) stands before the rows. It is put in by
//! [`RowsWriter::finish`], which moves the rows up by so many bytes, once, and only where there is something to put in.

use bytes::{BufMut, BytesMut};

use super::ResponseExtras;
use super::metadata::{HAS_MORE_PAGES, METADATA_CHANGED, NO_METADATA, ResultMetadata};
use crate::envelope::EnvelopeFlags;
use crate::envelope_writer::EnvelopeWriter;
use crate::opcode::Opcode;
use crate::primitives::{write_short_bytes, write_value};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// What is known before the first row.
#[derive(Clone, Copy, Debug)]
pub struct RowsHead<'a> {
    pub version: ProtocolVersion,
    pub stream: i16,
    pub metadata: &'a ResultMetadata,
    /// Leave names and types out, as EXECUTE may ask. Has no effect where the metadata changed.
    pub skip_metadata: bool,
    /// The new id of metadata that changed since the client prepared. Has no effect before version 5.
    pub new_metadata_id: Option<&'a [u8]>,
}

/// One RESULT being written at the end of a buffer; ends with [`Self::finish`] or [`Self::cancel`].
#[derive(Debug)]
pub struct RowsWriter<'a> {
    envelope: EnvelopeWriter<'a>,
    version: ProtocolVersion,
    /// From the body's start, as the other two.
    flags_at: usize,
    paging_state_at: usize,
    row_count_at: usize,
    column_count: u32,
    /// Cells that the row being written still needs.
    cells_left: u32,
    row_count: u32,
}

impl<'a> RowsWriter<'a> {
    pub fn begin(out: &'a mut BytesMut, head: RowsHead<'_>) -> Self {
        let RowsHead { version, stream, metadata, .. } = head;
        let mut envelope = EnvelopeWriter::begin(out, version, EnvelopeFlags::NONE, stream, Opcode::Result);
        let new_metadata_id = head.new_metadata_id.filter(|_| ProtocolVersion::V5 <= version);
        let has_columns = !head.skip_metadata || new_metadata_id.is_some();
        let flag = |flag: u32, is_set: bool| if is_set { flag } else { 0 };
        let flags =
            metadata.flags() | flag(NO_METADATA, !has_columns) | flag(METADATA_CHANGED, new_metadata_id.is_some());
        envelope.body().put_i32(super::KIND_ROWS);
        let flags_at = envelope.body_bytes();
        envelope.body().put_u32(flags);
        envelope.body().put_i32(metadata.count());
        let paging_state_at = envelope.body_bytes();
        if let Some(id) = new_metadata_id {
            write_short_bytes(envelope.body(), id);
        }
        if has_columns {
            metadata.encode_columns(version, envelope.body());
        }
        let row_count_at = envelope.body_bytes();
        envelope.body().put_u32(0); // Filled in by `finish`.
        let column_count = metadata.count().cast_unsigned();
        let cells_left = column_count;
        Self { envelope, version, flags_at, paging_state_at, row_count_at, column_count, cells_left, row_count: 0 }
    }

    /// Appends the next cell of the row, null for `None`.
    #[inline]
    pub fn write_value(&mut self, value: Option<&[u8]>) {
        write_value(self.envelope.body(), value);
        self.cells_left = self.cells_left.wrapping_sub(1);
    }

    /// Ends a row.
    ///
    /// # Panics
    /// When the row did not get one cell a column: the client would read every later row wrong.
    #[inline]
    pub fn end_row(&mut self) {
        assert_eq!(self.cells_left, 0, "a row has as many cells as the result has columns");
        self.cells_left = self.column_count;
        self.row_count += 1;
    }

    /// Appends rows that are encoded already, one cell a column each.
    pub fn write_encoded_rows(&mut self, row_count: u32, cells: &[u8]) {
        assert_eq!(self.cells_left, self.column_count, "the row before has ended");
        self.envelope.body().put_slice(cells);
        self.row_count += row_count;
    }

    #[must_use]
    pub fn row_count(&self) -> u32 {
        self.row_count
    }

    /// What stands in the body so far, in bytes: a page may end early because of it.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.envelope.body_bytes()
    }

    /// Completes the envelope. `paging_state` is set when there are more pages. Returns where the envelope starts in the
    /// buffer.
    ///
    /// # Errors
    /// [`ProtocolError::ResponseTooBig`] from 2 GiB on; the buffer is then as it was before [`Self::begin`].
    pub fn finish(mut self, paging_state: Option<&[u8]>, extras: &ResponseExtras) -> Result<usize, ProtocolError> {
        assert_eq!(self.cells_left, self.column_count, "the last row has ended");
        let row_count = self.row_count.to_be_bytes();
        self.patch(self.row_count_at, row_count);
        if let Some(state) = paging_state {
            let mut encoded = BytesMut::with_capacity(size_of::<i32>() + state.len());
            write_value(&mut encoded, Some(state));
            self.insert(self.paging_state_at, &encoded);
            let flags_at = self.envelope.body_at() + self.flags_at;
            let lowest_byte_at = flags_at + size_of::<u32>() - 1;
            self.envelope.body()[lowest_byte_at] |= HAS_MORE_PAGES.to_be_bytes()[3];
        }
        let flags = extras.flags(self.version);
        if flags != EnvelopeFlags::NONE {
            let mut encoded = BytesMut::new();
            extras.encode(self.version, &mut encoded);
            self.insert(0, &encoded);
            self.envelope.add_flags(flags);
        }
        self.envelope.finish()
    }

    /// Takes everything back: an error came up while rows were being read.
    pub fn cancel(self) {
        self.envelope.cancel();
    }

    fn patch(&mut self, body_offset: usize, bytes: [u8; 4]) {
        let at = self.envelope.body_at() + body_offset;
        self.envelope.body()[at..at + bytes.len()].copy_from_slice(&bytes);
    }

    fn insert(&mut self, body_offset: usize, bytes: &[u8]) {
        let at = self.envelope.body_at() + body_offset;
        let out = self.envelope.body();
        let old_end = out.len();
        out.put_bytes(0, bytes.len());
        out.copy_within(at..old_end, at + bytes.len());
        out[at..at + bytes.len()].copy_from_slice(bytes);
    }
}
