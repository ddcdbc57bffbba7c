//! A partition as JSON, in the shape of Cassandra's `sstabledump`, positions left out.
//!
//! Source: Cassandra 5.0, `tools.JsonTransformer`.

use helenus_data::{
    Cell, CellPath, ColumnData, DeletionTime, Liveness, Marker, PartitionHeader, RawValues, Row, Side, Unfiltered,
};
use helenus_schema::{Column, Table};
use helenus_types::time::Civil;
use helenus_types::{CqlType, composite};
use serde_json::{Map, Value, json};

use crate::header::in_file_order;

/// How a dump prints times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpTimes {
    /// `2024-01-31T12:00:00.000001Z`.
    Iso,
    /// Numbers as they are stored, micros or seconds.
    Raw,
}

/// Prints partitions of one table. `now_secs` (since 1970) decides what has expired.
pub struct Dump<'a> {
    pub table: &'a Table,
    pub times: DumpTimes,
    pub now_secs: i64,
}

impl Dump<'_> {
    /// One partition; `items` are all of it in forward order.
    #[must_use]
    pub fn partition(&self, header: &PartitionHeader, items: &[Unfiltered]) -> Value {
        let mut partition = Map::new();
        partition.insert("key".to_owned(), self.key(header.key.bytes()));
        self.put_deletion(header.deletion, &mut partition);
        let statics = header.static_row.iter().map(|row| self.row(row, true));
        let rows: Vec<Value> = statics.chain(items.iter().map(|item| self.item(item))).collect();
        json!({"table kind": "REGULAR", "partition": partition, "rows": rows})
    }

    fn key(&self, bytes: &[u8]) -> Value {
        let columns = self.table.partition_key();
        let values = composite::split_partition_key(bytes, columns.len()).unwrap_or_default();
        columns.iter().zip(values).map(|(column, value)| column.ty.to_string_form(value)).collect()
    }

    fn item(&self, item: &Unfiltered) -> Value {
        match item {
            Unfiltered::Row(row) => self.row(row, false),
            Unfiltered::Marker(marker) => self.marker(marker),
        }
    }

    fn row(&self, row: &Row, is_static: bool) -> Value {
        let mut out = Map::new();
        out.insert("type".to_owned(), if is_static { "static_block" } else { "row" }.into());
        if !is_static {
            self.put_clustering(row.clustering.values(), &mut out);
        }
        if !row.liveness.is_none() {
            let mut liveness = Map::new();
            liveness.insert("tstamp".to_owned(), self.micros(row.liveness.timestamp));
            if let Some(ttl) = row.liveness.ttl {
                self.put_expiry(ttl.secs(), row.liveness.expires_secs, &mut liveness);
            }
            out.insert("liveness_info".to_owned(), liveness.into());
        }
        self.put_deletion(row.deletion, &mut out);
        let columns = if is_static { self.table.statics() } else { self.table.regulars() };
        let mut cells = Vec::new();
        for column in in_file_order(columns) {
            match row.column(column.id) {
                None => {}
                Some(ColumnData::Simple(cell)) => cells.push(self.cell(column, None, cell, &row.liveness)),
                Some(ColumnData::Complex(complex)) => {
                    if !complex.deletion.is_live() {
                        let mut deleted = Map::new();
                        deleted.insert("name".to_owned(), name(column));
                        self.put_deletion(complex.deletion, &mut deleted);
                        cells.push(deleted.into());
                    }
                    let live =
                        complex.cells.iter().map(|(path, cell)| self.cell(column, Some(path), cell, &row.liveness));
                    cells.extend(live);
                }
            }
        }
        out.insert("cells".to_owned(), cells.into());
        out.into()
    }

    fn cell(&self, column: &Column, path: Option<&CellPath>, cell: &Cell, liveness: &Liveness) -> Value {
        let mut out = Map::new();
        out.insert("name".to_owned(), name(column));
        let mut ty = &column.ty;
        if let Some(path) = path {
            let (text, element) = self.element(&column.ty, path.raw());
            out.insert("path".to_owned(), json!([text]));
            ty = element;
        }
        if cell.is_tombstone() {
            let deleted = json!({"local_delete_time": self.secs(cell.local_deletion_secs)});
            out.insert("deletion_info".to_owned(), deleted);
        } else {
            out.insert("value".to_owned(), json_of(ty, &cell.value));
        }
        if liveness.is_none() || cell.timestamp != liveness.timestamp {
            out.insert("tstamp".to_owned(), self.micros(cell.timestamp));
        }
        if let Some(ttl) = cell.ttl.filter(|_| liveness.is_none() || cell.ttl != liveness.ttl) {
            self.put_expiry(ttl.secs(), cell.local_deletion_secs, &mut out);
        }
        out.into()
    }

    /// Text of a path and the type of the cell's value.
    fn element<'t>(&self, ty: &'t CqlType, path: &[u8]) -> (String, &'t CqlType) {
        match ty {
            CqlType::List { element, .. } => (CqlType::Timeuuid.to_string_form(path), element),
            CqlType::Set { element, .. } => (element.to_string_form(path), &CqlType::Empty),
            CqlType::Map { key, value, .. } => (key.to_string_form(path), value),
            CqlType::Udt(udt, _) => {
                let index = path.first_chunk().map_or(0, |index| usize::from(u16::from_be_bytes(*index)));
                udt.fields
                    .get(index)
                    .map_or((index.to_string(), &CqlType::Blob), |field| (field.name.to_string(), &field.ty))
            }
            _ => (CqlType::Blob.to_string_form(path), &CqlType::Blob),
        }
    }

    fn marker(&self, marker: &Marker) -> Value {
        let is_before = marker.position.side() == Side::Before;
        let bound = |is_inclusive: bool, deletion: DeletionTime| {
            let mut bound = Map::new();
            bound.insert("type".to_owned(), if is_inclusive { "inclusive" } else { "exclusive" }.into());
            self.put_clustering(marker.position.values(), &mut bound);
            self.put_deletion(deletion, &mut bound);
            bound
        };
        let is_boundary = marker.begins.is_some() && marker.ends.is_some();
        let mut out = Map::new();
        let kind = if is_boundary { "range_tombstone_boundary" } else { "range_tombstone_bound" };
        out.insert("type".to_owned(), kind.into());
        if let Some(deletion) = marker.begins {
            out.insert("start".to_owned(), bound(is_before, deletion).into());
        }
        if let Some(deletion) = marker.ends {
            out.insert("end".to_owned(), bound(!is_before, deletion).into());
        }
        out.into()
    }

    fn put_clustering(&self, values: RawValues<'_>, out: &mut Map<String, Value>) {
        let mut values: Vec<Value> =
            self.table.clustering().iter().zip(values).map(|(column, value)| json_of(&column.ty, value)).collect();
        if values.is_empty() {
            return;
        }
        values.resize(self.table.clustering().len(), "*".into());
        out.insert("clustering".to_owned(), values.into());
    }

    fn put_deletion(&self, deletion: DeletionTime, out: &mut Map<String, Value>) {
        if !deletion.is_live() {
            let (marked, local) = (self.micros(deletion.timestamp), self.secs(deletion.local_secs));
            out.insert("deletion_info".to_owned(), json!({"marked_deleted": marked, "local_delete_time": local}));
        }
    }

    fn put_expiry(&self, ttl_secs: u32, expires_secs: u32, out: &mut Map<String, Value>) {
        out.insert("ttl".to_owned(), ttl_secs.into());
        out.insert("expires_at".to_owned(), self.secs(expires_secs));
        out.insert("expired".to_owned(), (i64::from(expires_secs) <= self.now_secs).into());
    }

    fn micros(&self, micros: i64) -> Value {
        match self.times {
            DumpTimes::Raw => micros.to_string().into(),
            DumpTimes::Iso => iso(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000)).into(),
        }
    }

    fn secs(&self, secs: u32) -> Value {
        match self.times {
            DumpTimes::Raw => secs.to_string().into(),
            DumpTimes::Iso => iso(i64::from(secs), 0).into(),
        }
    }
}

fn name(column: &Column) -> Value {
    let is_plain = column.name.starts_with(|c: char| c.is_ascii_lowercase())
        && column.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain { (*column.name).into() } else { format!("\"{}\"", column.name.replace('"', "\"\"")).into() }
}

fn json_of(ty: &CqlType, value: &[u8]) -> Value {
    if *ty == CqlType::Empty {
        return "".into(); // What Cassandra prints for the nothing that a set's cells hold.
    }
    if *ty == CqlType::Counter {
        // Cassandra prints the front of the context as a number, and tools compare with what it prints.
        return value.first_chunk().map_or(Value::Null, |front| i64::from_be_bytes(*front).into());
    }
    let text = ty.to_json(value);
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Java's `Instant.toString`: no fraction, or 3 or 6 digits of it.
fn iso(secs: i64, micros: i64) -> String {
    let civil = Civil::of_days(secs.div_euclid(86_400));
    let second = secs.rem_euclid(86_400);
    let fraction = match micros {
        0 => String::new(),
        micros if micros % 1_000 == 0 => format!(".{:03}", micros / 1_000),
        micros => format!(".{micros:06}"),
    };
    let (year, month, day) = (civil.year, civil.month, civil.day);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}{fraction}Z", second / 3600, second / 60 % 60, second % 60)
}
