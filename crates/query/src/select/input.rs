//! Input rows: one stored row as selectors see it, nothing copied until a value is asked for.

use std::borrow::Cow;

use helenus_data::{Cell, ColumnData, ColumnId, ComplexColumn, Row, counter, remaining_ttl_secs};
use helenus_schema::{Column, ColumnKind};
use helenus_types::{CqlType, collection, value};

/// A column that a statement fetches.
#[derive(Clone, Debug)]
pub struct FetchedColumn {
    pub id: ColumnId,
    pub name: Box<str>,
    pub kind: ColumnKind,
    pub ty: CqlType,
}

impl FetchedColumn {
    #[must_use]
    pub fn new(column: &Column) -> Self {
        Self { id: column.id, name: column.name.clone(), kind: column.kind, ty: column.ty.clone() }
    }

    #[must_use]
    pub fn is_descending(&self) -> bool {
        matches!(self.kind, ColumnKind::Clustering { descending: true, .. })
    }
}

/// One row of a partition, or its static part alone.
#[derive(Clone, Copy)]
pub struct InputRow<'a> {
    pub columns: &'a [FetchedColumn],
    /// Values of the partition key columns.
    pub key: &'a [&'a [u8]],
    pub static_row: Option<&'a Row>,
    pub row: Option<&'a Row>,
    pub now_secs: i64,
}

/// A fetched column's content.
#[derive(Clone, Copy)]
pub enum Content<'a> {
    Missing,
    /// A key or clustering value.
    Raw(&'a [u8]),
    Cell(&'a Cell),
    Complex(&'a ComplexColumn),
}

impl<'a> InputRow<'a> {
    #[must_use]
    pub fn content(&self, index: usize) -> Content<'a> {
        let Some(column) = self.columns.get(index) else { return Content::Missing };
        let stored = |row: Option<&'a Row>| match row.and_then(|row| row.column(column.id)) {
            None => Content::Missing,
            Some(ColumnData::Simple(cell)) => Content::Cell(cell),
            Some(ColumnData::Complex(complex)) => Content::Complex(complex),
        };
        match column.kind {
            ColumnKind::PartitionKey { position } => {
                self.key.get(usize::from(position)).map_or(Content::Missing, |bytes| Content::Raw(bytes))
            }
            ColumnKind::Clustering { position, .. } => {
                let value = self.row.and_then(|row| row.clustering.values().nth(usize::from(position)));
                value.map_or(Content::Missing, Content::Raw)
            }
            ColumnKind::Static => stored(self.static_row),
            ColumnKind::Regular => stored(self.row),
        }
    }

    /// The column's serialised value.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<Cow<'a, [u8]>> {
        let ty = &self.columns.get(index)?.ty;
        match self.content(index) {
            Content::Missing => None,
            Content::Raw(bytes) => Some(Cow::Borrowed(bytes)),
            Content::Cell(cell) if ty.is_counter() => {
                Some(Cow::Owned(value::encode_bigint(counter::total(&cell.value))))
            }
            Content::Cell(cell) => Some(Cow::Borrowed(&cell.value)),
            Content::Complex(complex) => serialise(ty, complex).map(Cow::Owned),
        }
    }

    /// Write times or remaining ttls of the column's cells.
    #[must_use]
    pub fn times(&self, index: usize, kind: TimesKind) -> Times {
        let Some(column) = self.columns.get(index) else { return Times::None };
        let time = |cell: &Cell| match kind {
            TimesKind::WriteTime => Some(cell.timestamp),
            TimesKind::Ttl => remaining_ttl_secs(cell.ttl, cell.local_deletion_secs, self.now_secs).map(i64::from),
        };
        match (self.content(index), &column.ty) {
            (Content::Missing | Content::Raw(_), ty) if ty.is_multi_cell() => Times::Many(Vec::new()),
            (Content::Missing | Content::Raw(_), _) => Times::One(None),
            (Content::Cell(cell), _) => Times::One(time(cell)),
            (Content::Complex(complex), CqlType::Udt(udt, _)) => {
                let mut times = vec![None; udt.fields.len()];
                for (path, cell) in &complex.cells {
                    if let Some(slot) = field_index(path.raw()).and_then(|index| times.get_mut(index)) {
                        *slot = time(cell);
                    }
                }
                Times::Many(times)
            }
            (Content::Complex(complex), _) => Times::Many(complex.cells.iter().map(|(_, cell)| time(cell)).collect()),
        }
    }
}

/// The field that a cell path of a user type names.
#[must_use]
pub fn field_index(path: &[u8]) -> Option<usize> {
    path.try_into().ok().map(|index: [u8; 2]| usize::from(u16::from_be_bytes(index)))
}

/// A non-frozen collection or user type as one value; `None` when there are no cells.
#[must_use]
pub fn serialise(ty: &CqlType, complex: &ComplexColumn) -> Option<Vec<u8>> {
    if complex.cells.is_empty() {
        return None;
    }
    Some(match ty {
        CqlType::Set { .. } => {
            let elements: Vec<Option<&[u8]>> = complex.cells.iter().map(|(path, _)| Some(path.raw())).collect();
            collection::pack_list(&elements)
        }
        CqlType::Map { .. } => {
            let entries: Vec<(&[u8], &[u8])> =
                complex.cells.iter().map(|(path, cell)| (path.raw(), &*cell.value)).collect();
            collection::pack_map(&entries)
        }
        CqlType::Udt(udt, _) => {
            let mut fields: Vec<Option<&[u8]>> = vec![None; udt.fields.len()];
            for (path, cell) in &complex.cells {
                if let Some(slot) = field_index(path.raw()).and_then(|index| fields.get_mut(index)) {
                    *slot = Some(&cell.value);
                }
            }
            collection::pack_tuple(&fields)
        }
        _ => {
            let elements: Vec<Option<&[u8]>> = complex.cells.iter().map(|(_, cell)| Some(&*cell.value)).collect();
            collection::pack_list(&elements)
        }
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimesKind {
    WriteTime,
    Ttl,
}

/// Timestamps of one or several cells.
///
/// Source: Cassandra 5.0, `cql3.selection.ColumnTimestamps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    None,
    One(Option<i64>),
    Many(Vec<Option<i64>>),
}

impl Times {
    /// Of one element or field.
    #[must_use]
    pub fn at(self, index: usize) -> Self {
        match self {
            Times::Many(times) => match times.get(index) {
                Some(time) => Times::One(*time),
                None => Times::None,
            },
            other => other,
        }
    }

    /// Of a range of elements.
    #[must_use]
    pub fn slice(self, range: std::ops::Range<usize>) -> Self {
        match self {
            _ if range.is_empty() => Times::None,
            Times::Many(times) => Times::Many(times.get(range).map_or_else(Vec::new, <[_]>::to_vec)),
            other => other,
        }
    }

    #[must_use]
    pub fn max(self) -> Self {
        match self {
            Times::Many(times) => match times.into_iter().max() {
                Some(time) => Times::One(time),
                None => Times::None,
            },
            other => other,
        }
    }

    #[must_use]
    pub fn encode(self, kind: TimesKind) -> Option<Vec<u8>> {
        let one = |time: i64| match kind {
            TimesKind::WriteTime => value::encode_bigint(time),
            TimesKind::Ttl => value::encode_int(i32::try_from(time).unwrap_or(i32::MAX)),
        };
        match self {
            Times::None => None,
            Times::One(time) => time.map(one),
            Times::Many(times) if times.is_empty() => None,
            Times::Many(times) => {
                let encoded: Vec<Option<Vec<u8>>> = times.into_iter().map(|time| time.map(one)).collect();
                let elements: Vec<Option<&[u8]>> = encoded.iter().map(Option::as_deref).collect();
                Some(collection::pack_list(&elements))
            }
        }
    }
}
