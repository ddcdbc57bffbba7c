//! Mutation codec, version 1: the bytes in which mutations stand in commit log, hints, batchlog and messages.
//!
//! ```text
//! mutation    u8 version=1  u8[16] table id  varint schema epoch  partition
//! partition   blob key  deletion  u8 has static row  [row body]
//!             varint n  n × (blob order  blob raw  row body)
//!             varint n  n × (blob start order  blob start raw  blob end order  blob end raw  deletion)
//! deletion    u8 0 = live, or 1  i64 timestamp  u32 local seconds
//! row body    u8 flags (1 liveness, 2 deletion)  [i64 timestamp  u32 ttl  u32 expiry]  [deletion]
//!             varint n  n × (varint column id  u8 0 simple: cell | 1 complex: deletion  varint n  n × (path  cell))
//! cell        u8 flags (1 value, 2 ttl, 4 local deletion time)  i64 timestamp  [u32 ttl]  [u32 secs]  [blob value]
//! path        u8 0: blob (order and raw are the same) | 1: blob order  blob raw
//! blob        varint length  bytes
//! ```
//! Fixed-width integers are little-endian, varints LEB128. Columns are named by their stable ids and positions carry their
//! byte-comparable form, so that decoding needs no schema. Checksums are the container's. History: `docs/formats/mutation.md`.

use helenus_types::time::Ttl;
use uuid::Uuid;

use crate::Blob;
use crate::cell::{Cell, CellPath, ColumnId};
use crate::deletion::{DeletionTime, NEVER_SECS};
use crate::key::{Bound, Clustering, PartitionKey, Slice};
use crate::liveness::Liveness;
use crate::mutation::Mutation;
use crate::partition::Partition;
use crate::range_tombstones::RangeTombstone;
use crate::read::TableId;
use crate::row::{ColumnData, ComplexColumn, Row};

const VERSION: u8 = 1;

const ROW_HAS_LIVENESS: u8 = 1;
const ROW_HAS_DELETION: u8 = 2;
const CELL_HAS_VALUE: u8 = 1;
const CELL_HAS_TTL: u8 = 2;
const CELL_HAS_LOCAL_DELETION: u8 = 4;

/// The bytes are not a mutation of a known version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    #[error("mutation of unknown version {0}; this node writes and reads version {VERSION}")]
    UnknownVersion(u8),
    #[error("mutation ends or breaks at byte {at}: expected {expected}")]
    Malformed { at: usize, expected: &'static str },
}

pub fn encode(mutation: &Mutation, out: &mut Vec<u8>) {
    out.push(VERSION);
    out.extend_from_slice(mutation.table.0.as_bytes());
    put_varint(mutation.schema_epoch, out);
    put_partition(&mutation.partition, out);
}

/// Decodes one mutation from the front of `bytes`; answers how many bytes it took.
///
/// # Errors
/// [`CodecError`]; memory is never reserved beyond what `bytes` can hold.
pub fn decode(bytes: &[u8]) -> Result<(Mutation, usize), CodecError> {
    let mut reader = Reader { bytes, at: 0 };
    let version = reader.u8()?;
    if version != VERSION {
        return Err(CodecError::UnknownVersion(version));
    }
    let table = TableId(Uuid::from_bytes(reader.array("a table id")?));
    let schema_epoch = reader.varint()?;
    let partition = reader.partition()?;
    Ok((Mutation { table, schema_epoch, partition }, reader.at))
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7F;
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

fn put_blob(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_deletion(deletion: DeletionTime, out: &mut Vec<u8>) {
    if deletion.is_live() {
        out.push(0);
        return;
    }
    out.push(1);
    out.extend_from_slice(&deletion.timestamp.to_le_bytes());
    out.extend_from_slice(&deletion.local_secs.to_le_bytes());
}

fn put_partition(partition: &Partition, out: &mut Vec<u8>) {
    put_blob(partition.key.bytes(), out);
    put_deletion(partition.deletion, out);
    out.push(u8::from(partition.static_row.is_some()));
    if let Some(row) = &partition.static_row {
        put_row_body(row, out);
    }
    put_varint(partition.rows.len() as u64, out);
    for row in partition.rows.iter() {
        put_blob(row.clustering.order(), out);
        put_blob(row.clustering.raw(), out);
        put_row_body(row, out);
    }
    put_varint(partition.range_tombstones.len() as u64, out);
    for tombstone in partition.range_tombstones.iter() {
        for bound in [&tombstone.slice.start, &tombstone.slice.end] {
            put_blob(bound.order(), out);
            put_blob(bound.raw(), out);
        }
        put_deletion(tombstone.deletion, out);
    }
}

fn put_row_body(row: &Row, out: &mut Vec<u8>) {
    let liveness = if row.liveness.is_none() { 0 } else { ROW_HAS_LIVENESS };
    let deletion = if row.deletion.is_live() { 0 } else { ROW_HAS_DELETION };
    out.push(liveness | deletion);
    if liveness != 0 {
        out.extend_from_slice(&row.liveness.timestamp.to_le_bytes());
        out.extend_from_slice(&row.liveness.ttl.map_or(0, Ttl::secs).to_le_bytes());
        out.extend_from_slice(&row.liveness.expires_secs.to_le_bytes());
    }
    if deletion != 0 {
        put_deletion(row.deletion, out);
    }
    put_varint(row.columns.len() as u64, out);
    for column in &row.columns {
        put_varint(u64::from(column.id.0), out);
        match &column.data {
            ColumnData::Simple(cell) => {
                out.push(0);
                put_cell(cell, out);
            }
            ColumnData::Complex(complex) => {
                out.push(1);
                put_deletion(complex.deletion, out);
                put_varint(complex.cells.len() as u64, out);
                for (path, cell) in &complex.cells {
                    put_path(path, out);
                    put_cell(cell, out);
                }
            }
        }
    }
}

fn put_path(path: &CellPath, out: &mut Vec<u8>) {
    if path.order() == path.raw() {
        out.push(0);
        put_blob(path.raw(), out);
    } else {
        out.push(1);
        put_blob(path.order(), out);
        put_blob(path.raw(), out);
    }
}

fn put_cell(cell: &Cell, out: &mut Vec<u8>) {
    let value = if cell.value.is_empty() { 0 } else { CELL_HAS_VALUE };
    let ttl = if cell.ttl.is_some() { CELL_HAS_TTL } else { 0 };
    let local = if cell.local_deletion_secs == NEVER_SECS { 0 } else { CELL_HAS_LOCAL_DELETION };
    out.push(value | ttl | local);
    out.extend_from_slice(&cell.timestamp.to_le_bytes());
    if let Some(ttl) = cell.ttl {
        out.extend_from_slice(&ttl.secs().to_le_bytes());
    }
    if local != 0 {
        out.extend_from_slice(&cell.local_deletion_secs.to_le_bytes());
    }
    if value != 0 {
        put_blob(&cell.value, out);
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn malformed(&self, expected: &'static str) -> CodecError {
        CodecError::Malformed { at: self.at, expected }
    }

    fn take(&mut self, len: usize, expected: &'static str) -> Result<&'a [u8], CodecError> {
        let taken = self.bytes[self.at..].get(..len).ok_or(self.malformed(expected))?;
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], CodecError> {
        self.take(N, expected)?.try_into().map_err(|_| self.malformed(expected))
    }

    fn u8(&mut self) -> Result<u8, CodecError> {
        Ok(self.array::<1>("a byte")?[0])
    }

    fn u32(&mut self) -> Result<u32, CodecError> {
        Ok(u32::from_le_bytes(self.array("four bytes")?))
    }

    fn i64(&mut self) -> Result<i64, CodecError> {
        Ok(i64::from_le_bytes(self.array("eight bytes")?))
    }

    fn varint(&mut self) -> Result<u64, CodecError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.malformed("a varint of at most ten bytes"))
    }

    /// A count of things that take at least one byte each.
    fn count(&mut self) -> Result<usize, CodecError> {
        let count = self.varint()?;
        let left = self.bytes.len() - self.at;
        usize::try_from(count).ok().filter(|count| *count <= left).ok_or(self.malformed("a count that fits the rest"))
    }

    fn blob(&mut self) -> Result<Blob, CodecError> {
        let len = self.count()?;
        Ok(Blob::from(self.take(len, "bytes")?))
    }

    fn deletion(&mut self) -> Result<DeletionTime, CodecError> {
        match self.u8()? {
            0 => Ok(DeletionTime::LIVE),
            1 => Ok(DeletionTime { timestamp: self.i64()?, local_secs: self.u32()? }),
            _ => Err(self.malformed("0 or 1 before a deletion")),
        }
    }

    fn ttl(&mut self) -> Result<Option<Ttl>, CodecError> {
        match self.u32()? {
            0 => Ok(None),
            secs => Ttl::from_secs(i64::from(secs)).map(Some).map_err(|_| self.malformed("a ttl")),
        }
    }

    fn partition(&mut self) -> Result<Partition, CodecError> {
        let key = PartitionKey::new(&self.blob()?);
        let mut partition = Partition::new(key);
        partition.deletion = self.deletion()?;
        if self.u8()? == 1 {
            let mut row = Row::new(Clustering::empty());
            self.row_body(&mut row)?;
            partition.static_row = Some(Box::new(row));
        }
        for _ in 0..self.count()? {
            let clustering = Clustering::from_parts(self.blob()?, self.blob()?);
            self.row_body(partition.rows.get_or_insert(&clustering))?;
        }
        for _ in 0..self.count()? {
            let start = Bound::from_parts(self.blob()?, self.blob()?);
            let end = Bound::from_parts(self.blob()?, self.blob()?);
            let deletion = self.deletion()?;
            partition.range_tombstones.insert(RangeTombstone { slice: Slice { start, end }, deletion });
        }
        Ok(partition)
    }

    fn row_body(&mut self, row: &mut Row) -> Result<(), CodecError> {
        let flags = self.u8()?;
        if flags & ROW_HAS_LIVENESS != 0 {
            row.liveness = Liveness { timestamp: self.i64()?, ttl: self.ttl()?, expires_secs: self.u32()? };
        }
        if flags & ROW_HAS_DELETION != 0 {
            row.deletion = self.deletion()?;
        }
        for _ in 0..self.count()? {
            let id = u32::try_from(self.varint()?).map_err(|_| self.malformed("a column id"))?;
            match self.u8()? {
                0 => {
                    let cell = self.cell()?;
                    row.add_cell(ColumnId(id), cell);
                }
                1 => {
                    let complex = self.complex()?;
                    *row.complex_mut(ColumnId(id)) = complex;
                }
                _ => return Err(self.malformed("0 or 1 before a column")),
            }
        }
        Ok(())
    }

    fn complex(&mut self) -> Result<ComplexColumn, CodecError> {
        let deletion = self.deletion()?;
        let count = self.count()?;
        let mut cells: Vec<(CellPath, Cell)> = Vec::new();
        for _ in 0..count {
            let path = match self.u8()? {
                0 => {
                    let raw = self.blob()?;
                    CellPath::from_parts(raw.clone(), raw)
                }
                1 => CellPath::from_parts(self.blob()?, self.blob()?),
                _ => return Err(self.malformed("0 or 1 before a path")),
            };
            if cells.last().is_some_and(|(last, _)| path.order() <= last.order()) {
                return Err(self.malformed("paths in ascending order"));
            }
            cells.push((path, self.cell()?));
        }
        Ok(ComplexColumn { deletion, cells })
    }

    fn cell(&mut self) -> Result<Cell, CodecError> {
        let flags = self.u8()?;
        let timestamp = self.i64()?;
        let ttl = if flags & CELL_HAS_TTL != 0 { self.ttl()? } else { None };
        let local_deletion_secs = if flags & CELL_HAS_LOCAL_DELETION != 0 { self.u32()? } else { NEVER_SECS };
        let value = if flags & CELL_HAS_VALUE != 0 { self.blob()? } else { Blob::EMPTY };
        Ok(Cell { timestamp, ttl, local_deletion_secs, value })
    }
}

#[cfg(test)]
mod tests;
