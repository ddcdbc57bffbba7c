//! `system_schema` and `system_virtual_schema`: projections of the schema snapshot.
//!
//! Source: Cassandra 5.0, `schema.SchemaKeyspace`.

use std::sync::Arc;

use helenus_data::ColumnId;
use helenus_schema::system::HIDDEN_TABLES;
use helenus_schema::{Column, ColumnKind, Keyspace, Table};
use helenus_types::collection::pack_map;

use crate::virtual_tables::VirtualRead;
use crate::virtual_tables::rows::{RowValues, TableRows};

pub(super) fn none(read: &VirtualRead) -> TableRows {
    TableRows::new(&read.table)
}

fn project(
    read: &VirtualRead,
    is_virtual: bool,
    mut of_keyspace: impl FnMut(&Arc<Keyspace>, &mut TableRows),
) -> TableRows {
    let mut rows = TableRows::new(&read.table);
    for keyspace in read.schema.keyspaces().filter(|keyspace| keyspace.is_virtual() == is_virtual) {
        of_keyspace(keyspace, &mut rows);
    }
    rows
}

/// Tables but those that are for the eyes of ScyllaDB's drivers only, which read them without looking here first.
fn shown(keyspace: &Keyspace) -> impl Iterator<Item = &Arc<Table>> {
    let is_hidden = |table: &Table| HIDDEN_TABLES.contains(&(&*table.keyspace, &*table.name));
    keyspace.tables.values().filter(move |table| !is_hidden(table))
}

pub(super) fn keyspaces(read: &VirtualRead) -> TableRows {
    project(read, false, |keyspace, rows| {
        rows.push(
            &RowValues::new()
                .text("keyspace_name", &keyspace.name)
                .boolean("durable_writes", keyspace.params.durable_writes)
                .text_map("replication", &keyspace.params.replication),
        );
    })
}

pub(super) fn tables(read: &VirtualRead) -> TableRows {
    project(read, false, |keyspace, rows| {
        shown(keyspace).for_each(|table| rows.push(&table_row(table)));
    })
}

fn table_row(table: &Table) -> RowValues {
    let params = &table.params;
    let extensions: Vec<(&[u8], &[u8])> =
        params.extensions.iter().map(|(key, value)| (key.as_bytes(), value.as_slice())).collect();
    let flags: &[&str] = if table.is_counter() { &["compound", "counter"] } else { &["compound"] };
    let mut row = RowValues::new()
        .text("keyspace_name", &table.keyspace)
        .text("table_name", &table.name)
        .text("additional_write_policy", &params.additional_write_policy)
        .double("bloom_filter_fp_chance", params.bloom_filter_fp_chance)
        .text_map("caching", &params.caching)
        .text("comment", &params.comment)
        .text_map("compaction", &params.compaction)
        .text_map("compression", &params.compression)
        .double("crc_check_chance", params.crc_check_chance)
        .double("dclocal_read_repair_chance", 0.0)
        .int("default_time_to_live", params.default_time_to_live)
        .raw("extensions", pack_map(&extensions))
        .texts("flags", flags.iter().copied())
        .int("gc_grace_seconds", params.gc_grace_seconds)
        .uuid("id", table.id.0)
        .int("max_index_interval", params.max_index_interval)
        .int("memtable_flush_period_in_ms", params.memtable_flush_period_in_ms)
        .int("min_index_interval", params.min_index_interval)
        .text("read_repair", &params.read_repair)
        .double("read_repair_chance", 0.0)
        .text("speculative_retry", &params.speculative_retry);
    // These three are null unless they differ from their defaults, so that older nodes can read the rows.
    if params.memtable != "default" {
        row = row.text("memtable", &params.memtable);
    }
    if !params.allow_auto_snapshot {
        row = row.boolean("allow_auto_snapshot", false);
    }
    if !params.incremental_backups {
        row = row.boolean("incremental_backups", false);
    }
    row
}

pub(super) fn columns(read: &VirtualRead) -> TableRows {
    column_rows(read, false)
}

pub(super) fn virtual_columns(read: &VirtualRead) -> TableRows {
    column_rows(read, true)
}

fn column_rows(read: &VirtualRead, is_virtual: bool) -> TableRows {
    project(read, is_virtual, |keyspace, rows| {
        for table in shown(keyspace) {
            for column in table.columns() {
                rows.push(&column_row(table, column));
            }
        }
    })
}

fn column_row(table: &Table, column: &Column) -> RowValues {
    let (kind, position, order) = match column.kind {
        ColumnKind::PartitionKey { position } => ("partition_key", i32::from(position), "none"),
        ColumnKind::Clustering { position, descending } => {
            ("clustering", i32::from(position), if descending { "desc" } else { "asc" })
        }
        ColumnKind::Static => ("static", -1, "none"),
        ColumnKind::Regular => ("regular", -1, "none"),
    };
    RowValues::new()
        .text("keyspace_name", &table.keyspace)
        .text("table_name", &table.name)
        .text("column_name", &column.name)
        .text("clustering_order", order)
        .raw("column_name_bytes", column.name.as_bytes().to_vec())
        .text("kind", kind)
        .int("position", position)
        .text("type", &column.ty.to_string())
}

pub(super) fn dropped_columns(read: &VirtualRead) -> TableRows {
    project(read, false, |keyspace, rows| {
        for table in keyspace.tables.values() {
            for dropped in latest_drops(table) {
                let kind = if dropped.kind == ColumnKind::Static { "static" } else { "regular" };
                rows.push(
                    &RowValues::new()
                        .text("keyspace_name", &table.keyspace)
                        .text("table_name", &table.name)
                        .text("column_name", &dropped.name)
                        .bigint("dropped_time", dropped.dropped_micros / 1000)
                        .text("kind", kind)
                        .text("type", &dropped.ty.to_string()),
                );
            }
        }
    })
}

/// One row a name: a column that was dropped, added and dropped again shows its last drop.
fn latest_drops(table: &Table) -> impl Iterator<Item = &helenus_schema::DroppedColumn> {
    let is_latest = |id: ColumnId, name: &str| table.dropped.iter().all(|other| *other.name != *name || other.id <= id);
    table.dropped.iter().filter(move |dropped| is_latest(dropped.id, &dropped.name))
}

pub(super) fn types(read: &VirtualRead) -> TableRows {
    project(read, false, |keyspace, rows| {
        for ty in keyspace.types.values() {
            let types: Vec<String> = ty.fields.iter().map(|field| field.ty.to_string()).collect();
            rows.push(
                &RowValues::new()
                    .text("keyspace_name", &ty.keyspace)
                    .text("type_name", &ty.name)
                    .texts("field_names", ty.fields.iter().map(|field| &*field.name))
                    .texts("field_types", types.iter().map(String::as_str)),
            );
        }
    })
}

pub(super) fn virtual_keyspaces(read: &VirtualRead) -> TableRows {
    project(read, true, |keyspace, rows| {
        rows.push(&RowValues::new().text("keyspace_name", &keyspace.name));
    })
}

pub(super) fn virtual_tables(read: &VirtualRead) -> TableRows {
    project(read, true, |keyspace, rows| {
        for table in keyspace.tables.values() {
            rows.push(
                &RowValues::new()
                    .text("keyspace_name", &table.keyspace)
                    .text("table_name", &table.name)
                    .text("comment", &table.params.comment),
            );
        }
    })
}
