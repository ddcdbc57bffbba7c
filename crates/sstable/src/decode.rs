//! Bytes to rows and markers; layouts stand in `encode`.
//!
//! An item is decoded in two steps: its head (position and size), after which it may be skipped, and its body. A head
//! that the input cuts off answers [`DecodeError::Short`], so that the caller can bring more bytes and ask again.

use helenus_data::{
    Blob, Cell, CellPath, Clustering, Column, ColumnData, ComplexColumn, Liveness, Marker, NEVER_SECS, Row, Unfiltered,
};

use crate::clustering::{self, PrefixKind};
use crate::column_subset;
use crate::encode::{
    CELL_HAS_EMPTY_VALUE, CELL_IS_DELETED, CELL_IS_EXPIRING, CELL_USES_ROW_TIMESTAMP, CELL_USES_ROW_TTL,
    END_OF_PARTITION, EXTENDED_IS_STATIC, HAS_ALL_COLUMNS, HAS_COMPLEX_DELETION, HAS_DELETION, HAS_EXTENDED_FLAGS,
    HAS_TIMESTAMP, HAS_TTL, IS_MARKER,
};
use crate::input::{Decoded, Input};
use crate::layout::{ColumnLayout, ColumnShape, Layout, PathType};

/// Where an item stands and how long it is. `body_at` counts from the item's start.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) position: Position,
    pub(crate) body_at: usize,
    pub(crate) body_bytes: usize,
}

#[derive(Debug)]
pub(crate) enum Position {
    Row { flags: u8, clustering: Clustering },
    StaticRow { flags: u8 },
    Marker { kind: PrefixKind, bound: helenus_data::Bound },
}

impl Head {
    /// Bytes of the whole item.
    pub(crate) fn item_bytes(&self) -> usize {
        self.body_at + self.body_bytes
    }

    pub(crate) fn order(&self) -> &[u8] {
        match &self.position {
            Position::Row { clustering, .. } => clustering.order(),
            Position::StaticRow { .. } => &[],
            Position::Marker { bound, .. } => bound.order(),
        }
    }
}

/// The head of the item at the start of `bytes`; `None` at the end of the partition.
pub(crate) fn head(layout: &Layout, bytes: &[u8]) -> Decoded<Option<Head>> {
    let mut input = Input::new(bytes);
    let flags = input.u8()?;
    if flags & END_OF_PARTITION != 0 {
        return Ok(None);
    }
    let extended = if flags & HAS_EXTENDED_FLAGS != 0 { input.u8()? } else { 0 };
    let position = if flags & IS_MARKER != 0 {
        let (kind, bound) = clustering::get_bound(layout, &mut input)?;
        Position::Marker { kind, bound }
    } else if extended & EXTENDED_IS_STATIC != 0 {
        Position::StaticRow { flags }
    } else {
        Position::Row { flags, clustering: clustering::get_clustering(layout, &mut input)? }
    };
    let body_bytes = input.vint_len("the size of a row or marker")?;
    Ok(Some(Head { position, body_at: input.at(), body_bytes }))
}

/// The item of `head`; `body` is exactly its body. `None` when nothing is left of it without dropped columns.
pub(crate) fn item(layout: &Layout, head: Head, body: &[u8]) -> Decoded<Option<Unfiltered>> {
    match head.position {
        Position::Row { flags, clustering } => {
            let row = row_body(layout, flags, clustering, false, body)?;
            Ok((!row.is_empty()).then_some(Unfiltered::Row(row)))
        }
        Position::Marker { kind, bound } => marker_body(layout, kind, bound, body).map(Unfiltered::Marker).map(Some),
        Position::StaticRow { flags } => Input::new(body).malformed("a row or marker", format!("flags {flags:#x}")),
    }
}

/// The static row whose head was read; `None` when it holds nothing.
pub(crate) fn static_row(layout: &Layout, head: Head, body: &[u8]) -> Decoded<Option<Row>> {
    match head.position {
        Position::StaticRow { flags } => {
            let row = row_body(layout, flags, Clustering::empty(), true, body)?;
            Ok((!row.is_empty()).then_some(row))
        }
        Position::Row { .. } | Position::Marker { .. } => Input::new(body).malformed("a static row", "another item"),
    }
}

fn check_end(input: &Input<'_>) -> Decoded<()> {
    if input.is_at_end() {
        Ok(())
    } else {
        input.malformed("the end of a row or marker", format!("{} bytes more", input.left()))
    }
}

fn marker_body(layout: &Layout, kind: PrefixKind, position: helenus_data::Bound, body: &[u8]) -> Decoded<Marker> {
    let mut input = Input::new(body);
    let _previous_bytes = input.vint()?;
    let ends = if kind.ends() { Some(layout.stats.get_deletion(&mut input)?) } else { None };
    let begins = if kind.begins() { Some(layout.stats.get_deletion(&mut input)?) } else { None };
    check_end(&input)?;
    Ok(Marker { position, ends, begins })
}

fn row_body(layout: &Layout, flags: u8, clustering: Clustering, is_static: bool, body: &[u8]) -> Decoded<Row> {
    let mut input = Input::new(body);
    let _previous_bytes = input.vint()?;
    let mut row = Row::new(clustering);
    if flags & HAS_TIMESTAMP != 0 {
        row.liveness =
            Liveness { timestamp: layout.stats.get_timestamp(&mut input)?, ttl: None, expires_secs: NEVER_SECS };
        if flags & HAS_TTL != 0 {
            row.liveness.ttl = layout.stats.get_ttl(&mut input)?;
            row.liveness.expires_secs = layout.stats.get_local_secs(&mut input)?;
        }
    }
    if flags & HAS_DELETION != 0 {
        row.deletion = layout.stats.get_deletion(&mut input)?;
    }
    let set = layout.columns(is_static);
    let mut cells = Cells { layout, liveness: row.liveness, has_complex_deletion: flags & HAS_COMPLEX_DELETION != 0 };
    if flags & HAS_ALL_COLUMNS != 0 {
        row.columns.reserve_exact(set.len());
        set.columns.iter().try_for_each(|column| cells.get_column(column, &mut row, &mut input))?;
    } else {
        let positions = column_subset::get(set.len(), &mut input)?;
        row.columns.reserve_exact(positions.len());
        for position in positions {
            cells.get_column(&set.columns[position as usize], &mut row, &mut input)?;
        }
    }
    check_end(&input)?;
    if !set.ids_ascend {
        row.columns.sort_unstable_by_key(|column| column.id);
    }
    Ok(row)
}

/// What the cells of one row share.
struct Cells<'l> {
    layout: &'l Layout,
    liveness: Liveness,
    has_complex_deletion: bool,
}

impl Cells<'_> {
    fn get_column(&mut self, column: &ColumnLayout, row: &mut Row, input: &mut Input<'_>) -> Decoded<()> {
        let is_cut = |timestamp: i64| column.dropped_micros.is_some_and(|dropped| timestamp <= dropped);
        match &column.shape {
            ColumnShape::Simple { value_len } => {
                let (_, cell) = self.get_cell(None, *value_len, input)?;
                if let Some(id) = column.id.filter(|_| !is_cut(cell.timestamp)) {
                    row.columns.push(Column { id, data: ColumnData::Simple(cell) });
                }
            }
            ColumnShape::Complex { path } => {
                let mut complex = self.get_complex(path, input)?;
                let Some(id) = column.id else { return Ok(()) };
                if column.dropped_micros.is_some() {
                    complex.cells.retain(|(_, cell)| !is_cut(cell.timestamp));
                    if is_cut(complex.deletion.timestamp) {
                        complex.deletion = helenus_data::DeletionTime::LIVE;
                    }
                }
                if !complex.is_empty() {
                    row.columns.push(Column { id, data: ColumnData::Complex(Box::new(complex)) });
                }
            }
        }
        Ok(())
    }

    fn get_complex(&mut self, path: &PathType, input: &mut Input<'_>) -> Decoded<ComplexColumn> {
        let mut complex = ComplexColumn::default();
        if self.has_complex_deletion {
            complex.deletion = self.layout.stats.get_deletion(input)?;
        }
        let count = input.vint_len("a count of cells")?;
        if input.left() < count {
            return input.malformed("a count of cells that fits the row", count);
        }
        complex.cells.reserve_exact(count.min(CELLS_RESERVED_MAX));
        let mut is_sorted = true;
        for _ in 0..count {
            let (path, cell) = self.get_cell(Some(path), None, input)?;
            let path = path.unwrap_or_else(|| CellPath::field(0)); // Asked for, so it is there.
            is_sorted &= complex.cells.last().is_none_or(|(last, _)| last.order() < path.order());
            complex.cells.push((path, cell));
        }
        if !is_sorted {
            complex.cells.sort_by(|(a, _), (b, _)| a.order().cmp(b.order()));
        }
        Ok(complex)
    }

    fn get_cell(
        &mut self,
        path: Option<&PathType>,
        value_len: Option<usize>,
        input: &mut Input<'_>,
    ) -> Decoded<(Option<CellPath>, Cell)> {
        let stats = &self.layout.stats;
        let flags = input.u8()?;
        let has = |bit: u8| flags & bit != 0;
        let is_expiring = has(CELL_IS_EXPIRING);
        let timestamp =
            if has(CELL_USES_ROW_TIMESTAMP) { self.liveness.timestamp } else { stats.get_timestamp(input)? };
        let mut local_deletion_secs = NEVER_SECS;
        let mut ttl = None;
        if has(CELL_USES_ROW_TTL) {
            local_deletion_secs = self.liveness.expires_secs;
            ttl = self.liveness.ttl;
        } else {
            if has(CELL_IS_DELETED) || is_expiring {
                local_deletion_secs = stats.get_local_secs(input)?;
            }
            if is_expiring {
                ttl = stats.get_ttl(input)?;
            }
        }
        let path = match path {
            None => None,
            Some(path) => {
                let raw = input.vint_bytes("the length of a cell path")?;
                Some(match (path, raw) {
                    (PathType::Key(ty), raw) => CellPath::new(ty, raw),
                    (PathType::Field, [high, low]) => CellPath::field(u16::from_be_bytes([*high, *low])),
                    (PathType::Field, raw) => return input.malformed("a field index of 2 bytes", raw.len()),
                })
            }
        };
        let value = match value_len {
            _ if has(CELL_HAS_EMPTY_VALUE) => Blob::EMPTY,
            Some(len) => Blob::from(input.take(len)?),
            None => Blob::from(input.vint_bytes("the length of a value")?),
        };
        Ok((path, Cell { timestamp, ttl, local_deletion_secs, value }))
    }
}

/// Cells reserved ahead; a damaged count must not reserve what the row cannot hold.
const CELLS_RESERVED_MAX: usize = 256;
