//! Serialization header: the types and columns that a file was written with, and the bases of its deltas.
//!
//! ```text
//! encoding stats   3 vints
//! key type         vint length, class name; CompositeType(..) for several columns
//! clustering       vint count, then class names; ReversedType(..) for descending columns
//! statics          vint count, then name (vint length), class name
//! regulars         likewise; within both: simple columns by name, then multi-cell ones by name
//! ```
//!
//! Source: Cassandra 5.0, `db.SerializationHeader.Serializer`, `schema.ColumnMetadata` for the order.

use helenus_schema::{Column, Table};

use crate::encoding_stats::EncodingStats;
use crate::input::{Decoded, Input};
use crate::vint;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SerializationHeader {
    pub(crate) stats: EncodingStats,
    pub(crate) key_type: String,
    pub(crate) clustering_types: Vec<String>,
    pub(crate) statics: Vec<HeaderColumn>,
    pub(crate) regulars: Vec<HeaderColumn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderColumn {
    pub(crate) name: Vec<u8>,
    pub(crate) java_type: String,
}

/// More columns than any table has; only bounds what a damaged count makes us reserve.
const COLUMNS_MAX: usize = 1 << 16;

impl SerializationHeader {
    /// The header of a file that may hold every column of `table`.
    pub(crate) fn of_table(table: &Table, stats: EncodingStats) -> Self {
        let key_types: Vec<String> = table.partition_key().iter().map(|column| column.ty.java_name()).collect();
        let key_type = match key_types.as_slice() {
            [only] => only.clone(),
            several => format!("org.apache.cassandra.db.marshal.CompositeType({})", several.join(",")),
        };
        let clustering = table.clustering_types().columns().iter().map(|column| {
            let name = column.ty.java_name();
            if column.descending { format!("org.apache.cassandra.db.marshal.ReversedType({name})") } else { name }
        });
        Self {
            stats,
            key_type,
            clustering_types: clustering.collect(),
            statics: in_file_order(table.statics()).into_iter().map(HeaderColumn::of).collect(),
            regulars: in_file_order(table.regulars()).into_iter().map(HeaderColumn::of).collect(),
        }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        self.stats.put(out);
        put_text(self.key_type.as_bytes(), out);
        vint::put(self.clustering_types.len() as u64, out);
        self.clustering_types.iter().for_each(|ty| put_text(ty.as_bytes(), out));
        for columns in [&self.statics, &self.regulars] {
            vint::put(columns.len() as u64, out);
            for column in columns {
                put_text(&column.name, out);
                put_text(column.java_type.as_bytes(), out);
            }
        }
    }

    pub(crate) fn get(input: &mut Input<'_>) -> Decoded<Self> {
        let stats = EncodingStats::get(input)?;
        let key_type = get_type(input)?;
        let clustering_count = get_count(input)?;
        let clustering_types = (0..clustering_count).map(|_| get_type(input)).collect::<Decoded<_>>()?;
        let statics = get_columns(input)?;
        let regulars = get_columns(input)?;
        Ok(Self { stats, key_type, clustering_types, statics, regulars })
    }
}

impl HeaderColumn {
    fn of(column: &Column) -> Self {
        Self { name: column.name.as_bytes().to_vec(), java_type: column.ty.java_name() }
    }
}

/// The order of columns in headers and rows: simple ones by name, then multi-cell ones by name.
pub(crate) fn in_file_order(columns: &[Column]) -> Vec<&Column> {
    let mut ordered: Vec<&Column> = columns.iter().collect();
    ordered.sort_by(|a, b| (a.ty.is_multi_cell(), a.name.as_bytes()).cmp(&(b.ty.is_multi_cell(), b.name.as_bytes())));
    ordered
}

fn put_text(text: &[u8], out: &mut Vec<u8>) {
    vint::put(text.len() as u64, out);
    out.extend_from_slice(text);
}

fn get_count(input: &mut Input<'_>) -> Decoded<usize> {
    let count = input.vint_len("a count of columns")?;
    if COLUMNS_MAX < count { input.malformed("a count of columns", count) } else { Ok(count) }
}

fn get_type(input: &mut Input<'_>) -> Decoded<String> {
    let bytes = input.vint_bytes("the length of a class name")?;
    match String::from_utf8(bytes.to_vec()) {
        Ok(name) => Ok(name),
        Err(_) => input.malformed("a class name", "bytes that are not UTF-8"),
    }
}

fn get_columns(input: &mut Input<'_>) -> Decoded<Vec<HeaderColumn>> {
    let count = get_count(input)?;
    let mut columns = Vec::new();
    for _ in 0..count {
        let name = input.vint_bytes("the length of a column name")?.to_vec();
        columns.push(HeaderColumn { name, java_type: get_type(input)? });
    }
    Ok(columns)
}
