//! Layout: a file's header resolved against a table, so that rows are decoded without looking anything up by name.
//!
//! Invariants
//! - Columns stand in the header's order, which is the order of cells in rows.
//! - Lengths of values come from the *file's* types, identities and order of cell paths from the *table's*.

use std::path::Path;

use helenus_data::{ClusteringTypes, ColumnId};
use helenus_schema::{Column, ColumnKind, DroppedColumn, Table};
use helenus_types::CqlType;

use crate::encoding_stats::EncodingStats;
use crate::error::SsTableError;
use crate::header::{HeaderColumn, SerializationHeader, in_file_order};

#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) stats: EncodingStats,
    pub(crate) clustering: ClusteringTypes,
    /// Length of the values of each clustering column, when fixed.
    pub(crate) clustering_lens: Vec<Option<usize>>,
    pub(crate) statics: ColumnSet,
    pub(crate) regulars: ColumnSet,
}

/// The static or the regular columns of a file.
#[derive(Debug)]
pub(crate) struct ColumnSet {
    pub(crate) columns: Vec<ColumnLayout>,
    /// Position in `columns` by column id; `None` for ids that are not here.
    by_id: Vec<Option<u32>>,
    /// Whether the ids ascend in file order, so that decoded rows need no sorting.
    pub(crate) ids_ascend: bool,
}

#[derive(Debug)]
pub(crate) struct ColumnLayout {
    /// `None` for a dropped column, whose cells are skipped.
    pub(crate) id: Option<ColumnId>,
    pub(crate) shape: ColumnShape,
    /// Cells written up to then are cut: the column was dropped (and perhaps added again).
    pub(crate) dropped_micros: Option<i64>,
}

#[derive(Debug)]
pub(crate) enum ColumnShape {
    Simple { value_len: Option<usize> },
    Complex { path: PathType },
}

/// What the path of a complex column's cells is.
#[derive(Debug)]
pub(crate) enum PathType {
    Key(CqlType),
    Field,
}

impl ColumnSet {
    fn new(columns: Vec<ColumnLayout>) -> Self {
        let ids = || columns.iter().enumerate().filter_map(|(at, column)| Some((at, column.id?)));
        let ids_ascend = ids().zip(ids().skip(1)).all(|((_, a), (_, b))| a < b);
        let len = ids().map(|(_, id)| id.0 as usize + 1).max().unwrap_or(0);
        let mut by_id = vec![None; len];
        for (at, id) in ids() {
            by_id[id.0 as usize] = u32::try_from(at).ok();
        }
        Self { columns, by_id, ids_ascend }
    }

    pub(crate) fn position(&self, id: ColumnId) -> Option<usize> {
        self.by_id.get(id.0 as usize).copied().flatten().map(|at| at as usize)
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
}

impl Layout {
    /// The layout of a file that is about to be written.
    pub(crate) fn for_writing(table: &Table, stats: EncodingStats) -> Self {
        let set = |columns: &[Column]| {
            let columns = in_file_order(columns).into_iter().map(|column| ColumnLayout {
                id: Some(column.id),
                shape: ColumnShape::of(&column.ty, &column.ty),
                dropped_micros: None,
            });
            ColumnSet::new(columns.collect())
        };
        Self {
            stats,
            clustering: table.clustering_types().clone(),
            clustering_lens: clustering_lens(table),
            statics: set(table.statics()),
            regulars: set(table.regulars()),
        }
    }

    /// The layout of a file that exists.
    ///
    /// # Errors
    /// [`SsTableError::SchemaMismatch`] when a column is unknown or of a type that the table's cannot take the place of.
    pub(crate) fn for_reading(table: &Table, header: &SerializationHeader, path: &Path) -> Result<Self, SsTableError> {
        let resolver = Resolver { table, path };
        resolver.check_clustering(&header.clustering_types)?;
        let set = |columns: &[HeaderColumn], kind| {
            columns.iter().map(|column| resolver.column(column, kind)).collect::<Result<_, _>>().map(ColumnSet::new)
        };
        Ok(Self {
            stats: header.stats,
            clustering: table.clustering_types().clone(),
            clustering_lens: clustering_lens(table),
            statics: set(&header.statics, ColumnKind::Static)?,
            regulars: set(&header.regulars, ColumnKind::Regular)?,
        })
    }

    pub(crate) fn columns(&self, is_static: bool) -> &ColumnSet {
        if is_static { &self.statics } else { &self.regulars }
    }

    /// Whether partitions hold a static row (perhaps an empty one).
    pub(crate) fn has_static_row(&self) -> bool {
        !self.statics.is_empty()
    }
}

impl ColumnShape {
    /// The shape of values of `file_type`; `ty` is the table's type, by which paths are ordered.
    fn of(file_type: &CqlType, ty: &CqlType) -> Self {
        if !file_type.is_multi_cell() {
            return ColumnShape::Simple { value_len: file_type.fixed_len() };
        }
        let path = match ty {
            CqlType::Set { element, .. } => PathType::Key((**element).clone()),
            CqlType::Map { key, .. } => PathType::Key((**key).clone()),
            CqlType::List { .. } => PathType::Key(CqlType::Timeuuid),
            CqlType::Udt(..) => PathType::Field,
            _ => PathType::Key(CqlType::Blob),
        };
        ColumnShape::Complex { path }
    }
}

fn clustering_lens(table: &Table) -> Vec<Option<usize>> {
    table.clustering_types().columns().iter().map(|column| column.ty.fixed_len()).collect()
}

struct Resolver<'a> {
    table: &'a Table,
    path: &'a Path,
}

impl Resolver<'_> {
    fn mismatch(&self, what: String) -> SsTableError {
        SsTableError::SchemaMismatch { path: self.path.to_owned(), what }
    }

    fn parse(&self, java_type: &str) -> Result<(CqlType, bool), SsTableError> {
        CqlType::parse_java_reversed(java_type).map_err(|error| self.mismatch(error.to_string()))
    }

    fn check_clustering(&self, java_types: &[String]) -> Result<(), SsTableError> {
        let columns = self.table.clustering_types().columns();
        if columns.len() != java_types.len() {
            let (expected, found) = (columns.len(), java_types.len());
            return Err(self.mismatch(format!("the table has {expected} clustering columns, the file {found}")));
        }
        for (column, java_type) in columns.iter().zip(java_types) {
            let (ty, descending) = self.parse(java_type)?;
            if descending != column.descending || !is_readable_as(&ty, &column.ty) {
                let expected = column.ty.java_name();
                return Err(
                    self.mismatch(format!("a clustering column is {expected} in the table, {java_type} in the file"))
                );
            }
        }
        Ok(())
    }

    fn column(&self, column: &HeaderColumn, kind: ColumnKind) -> Result<ColumnLayout, SsTableError> {
        let name = String::from_utf8_lossy(&column.name);
        let (file_type, _) = self.parse(&column.java_type)?;
        let current = self.table.column(&name).filter(|column| column.kind == kind);
        let dropped = self.dropped(&name, kind);
        let dropped_micros = dropped.map(|dropped| dropped.dropped_micros);
        match current {
            Some(current) if is_readable_as(&file_type, &current.ty) => Ok(ColumnLayout {
                id: Some(current.id),
                shape: ColumnShape::of(&file_type, &current.ty),
                dropped_micros,
            }),
            _ if dropped.is_some() => {
                Ok(ColumnLayout { id: None, shape: ColumnShape::of(&file_type, &file_type), dropped_micros })
            }
            Some(current) => {
                let (expected, found) = (current.ty.java_name(), &column.java_type);
                Err(self.mismatch(format!("column {name} is {expected} in the table, {found} in the file")))
            }
            None => Err(self.mismatch(format!("the table knows no {} {name}", kind_name(kind)))),
        }
    }

    /// The latest drop of a column of this name.
    fn dropped(&self, name: &str, kind: ColumnKind) -> Option<&DroppedColumn> {
        let same = self.table.dropped.iter().filter(|dropped| &*dropped.name == name && dropped.kind == kind);
        same.max_by_key(|dropped| dropped.dropped_micros)
    }
}

fn kind_name(kind: ColumnKind) -> &'static str {
    if kind == ColumnKind::Static { "static column" } else { "column" }
}

/// Whether values that a file wrote as `file_type` can be taken for values of `ty`.
fn is_readable_as(file_type: &CqlType, ty: &CqlType) -> bool {
    if file_type == ty {
        return true;
    }
    if file_type.is_multi_cell() != ty.is_multi_cell() {
        return false;
    }
    match (file_type, ty) {
        // Fields may have been added since, and names or nested types renamed or altered within Cassandra's rules.
        (CqlType::Udt(file, _), CqlType::Udt(table, _)) => file.name == table.name,
        (CqlType::Custom(_), _) | (_, CqlType::Custom(_)) => true,
        (CqlType::List { element: a, .. }, CqlType::List { element: b, .. })
        | (CqlType::Set { element: a, .. }, CqlType::Set { element: b, .. }) => {
            is_readable_as(&a.frozen(), &b.frozen())
        }
        (CqlType::Map { key: a, value: c, .. }, CqlType::Map { key: b, value: d, .. }) => {
            is_readable_as(&a.frozen(), &b.frozen()) && is_readable_as(&c.frozen(), &d.frozen())
        }
        (CqlType::Tuple(a), CqlType::Tuple(b)) => {
            a.len() <= b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_readable_as(&a.frozen(), &b.frozen()))
        }
        _ => ty.is_value_compatible_with(file_type),
    }
}
