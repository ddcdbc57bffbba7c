//! A table made from an SSTable alone, for offline tools that have no schema.
//!
//! Names of key columns are not in the file; they become `key`, `key1`, … and `clustering`, `clustering1`, … as
//! Cassandra's own tools invent them. Column ids count in file order.
//!
//! Source: Cassandra 5.0, `tools.Util.metadataFromSSTable`.

use std::path::Path;

use helenus_data::ColumnId;
use helenus_data::read::TableId;
use helenus_env::{Env, whole_file};
use helenus_schema::{Column, ColumnKind, Table, TableParams};
use helenus_types::CqlType;
use uuid::Uuid;

use crate::compression::CompressionInfo;
use crate::descriptor::{Component, Descriptor};
use crate::error::SsTableError;
use crate::header::HeaderColumn;
use crate::statistics::Statistics;

const COMPOSITE: &str = "org.apache.cassandra.db.marshal.CompositeType(";

/// The table of the SSTable of `descriptor`, as far as its header and compression tell.
///
/// # Errors
/// Damage, types that are not known, and whatever the disk answers.
pub async fn infer_table(env: &Env, descriptor: &Descriptor) -> Result<Table, SsTableError> {
    let path = descriptor.path(Component::Statistics);
    let bytes = whole_file::read(&**env.disk(), &path).await;
    let bytes = bytes.map_err(SsTableError::disk("read SSTable component", &path))?;
    let statistics = Statistics::get(&bytes).map_err(|error| error.in_file(&path, 0))?;
    let header = &statistics.header;
    let mut columns = Columns { path: &path, columns: Vec::new() };
    for (position, java_type) in (0u16..).zip(key_types(&header.key_type)) {
        columns.add(numbered("key", position), java_type, |_| ColumnKind::PartitionKey { position })?;
    }
    for (position, java_type) in (0u16..).zip(&header.clustering_types) {
        let kind = |descending| ColumnKind::Clustering { position, descending };
        columns.add(numbered("clustering", position), java_type, kind)?;
    }
    columns.add_all(&header.statics, ColumnKind::Static)?;
    columns.add_all(&header.regulars, ColumnKind::Regular)?;
    let params = TableParams {
        bloom_filter_fp_chance: statistics.false_positive_chance,
        compression: compression(env, descriptor).await?,
        ..TableParams::default()
    };
    Ok(Table::new(TableId(Uuid::nil()), "keyspace", "table", columns.columns, params))
}

async fn compression(
    env: &Env,
    descriptor: &Descriptor,
) -> Result<std::collections::BTreeMap<String, String>, SsTableError> {
    let path = descriptor.path(Component::CompressionInfo);
    let len = env.disk().file_len(&path).await.map_err(SsTableError::disk("measure SSTable component", &path))?;
    if len.is_none() {
        return Ok([("enabled".to_owned(), "false".to_owned())].into());
    }
    let bytes = whole_file::read(&**env.disk(), &path).await;
    let bytes = bytes.map_err(SsTableError::disk("read SSTable component", &path))?;
    let info = CompressionInfo::get(&bytes).map_err(|error| error.in_file(&path, 0))?;
    Ok(info.compression.params())
}

struct Columns<'a> {
    path: &'a Path,
    columns: Vec<Column>,
}

impl Columns<'_> {
    fn add(
        &mut self,
        name: String,
        java_type: &str,
        kind: impl FnOnce(bool) -> ColumnKind,
    ) -> Result<(), SsTableError> {
        let parsed = CqlType::parse_java_reversed(java_type);
        let mismatch = |what: String| SsTableError::SchemaMismatch { path: self.path.to_owned(), what };
        let (ty, descending) = parsed.map_err(|error| mismatch(error.to_string()))?;
        let id = u32::try_from(self.columns.len()).map_err(|_| mismatch("too many columns".to_owned()))?;
        self.columns.push(Column { id: ColumnId(id), name: name.into(), kind: kind(descending), ty });
        Ok(())
    }

    fn add_all(&mut self, columns: &[HeaderColumn], kind: ColumnKind) -> Result<(), SsTableError> {
        let names = |column: &HeaderColumn| String::from_utf8_lossy(&column.name).into_owned();
        columns.iter().try_for_each(|column| self.add(names(column), &column.java_type, |_| kind))
    }
}

fn numbered(name: &str, position: u16) -> String {
    if position == 0 { name.to_owned() } else { format!("{name}{position}") }
}

/// The types of the key's columns.
fn key_types(java_type: &str) -> Vec<&str> {
    let Some(inner) = java_type.strip_prefix(COMPOSITE).and_then(|rest| rest.strip_suffix(')')) else {
        return vec![java_type];
    };
    let mut depth = 0;
    let split = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    inner.split(split).collect()
}
