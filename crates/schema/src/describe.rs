//! DESCRIBE: keyspaces, tables and types as the CQL that makes them, in Cassandra's order and layout.
//!
//! Source: Cassandra 5.0, `schema.TableMetadata.toCqlString`, `cql3.CqlBuilder`; texts from its answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use helenus_types::UserType;

use crate::column::{Column, ColumnKind, DroppedColumn};
use crate::keyspace::Keyspace;
use crate::options::java_double;
use crate::params::TableParams;
use crate::snapshot::SchemaSnapshot;
use crate::table::Table;

/// What DESCRIBE … WITH INTERNALS adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Plain,
    /// Table ids and dropped columns, so that a snapshot can be restored.
    Internals,
}

/// Words that must be quoted as identifiers.
const RESERVED: [&str; 52] = [
    "add",
    "allow",
    "alter",
    "and",
    "apply",
    "asc",
    "authorize",
    "batch",
    "begin",
    "by",
    "columnfamily",
    "create",
    "default",
    "delete",
    "desc",
    "describe",
    "drop",
    "entries",
    "execute",
    "from",
    "full",
    "grant",
    "if",
    "in",
    "index",
    "infinity",
    "insert",
    "into",
    "is",
    "keyspace",
    "limit",
    "materialized",
    "mbean",
    "mbeans",
    "modify",
    "nan",
    "norecursive",
    "not",
    "null",
    "of",
    "on",
    "or",
    "order",
    "primary",
    "rename",
    "replace",
    "revoke",
    "schema",
    "select",
    "set",
    "table",
    "to",
];
const RESERVED_TOO: [&str; 10] =
    ["token", "truncate", "unlogged", "unset", "update", "use", "using", "view", "where", "with"];

/// `name`, in double quotes unless it is a plain lower-case identifier and no reserved word.
#[must_use]
pub fn quoted(name: &str) -> String {
    let mut bytes = name.bytes();
    let is_plain = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if is_plain && !RESERVED.contains(&name) && !RESERVED_TOO.contains(&name) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[must_use]
pub fn keyspace(keyspace: &Keyspace) -> String {
    let name = quoted(&keyspace.name);
    if keyspace.is_virtual() {
        return virtual_comment("Keyspace", &keyspace.name, &format!("VIRTUAL KEYSPACE {name};"));
    }
    let mut replication = keyspace.params.replication.clone();
    if let Some(class) = replication.get_mut("class")
        && let Some(simple) = class.strip_prefix("org.apache.cassandra.locator.")
    {
        *class = simple.to_owned();
    }
    format!(
        "CREATE KEYSPACE {name} WITH replication = {}  AND durable_writes = {};",
        map_literal(&replication),
        keyspace.params.durable_writes
    )
}

#[must_use]
pub fn user_type(ty: &UserType) -> String {
    let fields: Vec<String> =
        ty.fields.iter().map(|field| format!("    {} {}", quoted(&field.name), field.ty)).collect();
    format!("CREATE TYPE {}.{} (\n{}\n);", quoted(&ty.keyspace), quoted(&ty.name), fields.join(",\n"))
}

/// The statement that makes `table`; `is_virtual` when it belongs to a virtual keyspace.
#[must_use]
pub fn table(table: &Table, is_virtual: bool, detail: Detail) -> String {
    let name = format!("{}.{}", quoted(&table.keyspace), quoted(&table.name));
    if is_virtual {
        let mut text = format!("VIRTUAL TABLE {name} (\n");
        write_columns(table, Detail::Plain, &mut text);
        text.push_str(") WITH ");
        write_clustering_order(table, &mut text);
        let _ = write!(text, "comment = {};", string_literal(&table.params.comment));
        return virtual_comment("Table", &table.full_name(), &text);
    }
    let mut text = format!("CREATE TABLE {name} (\n");
    write_columns(table, detail, &mut text);
    text.push_str(") WITH ");
    if detail == Detail::Internals {
        let _ = write!(text, "ID = {}\n    AND ", table.id.0);
    }
    write_clustering_order(table, &mut text);
    write_params(&table.params, &mut text);
    text.push(';');
    if detail == Detail::Internals {
        write_dropped(table, &name, &mut text);
    }
    text
}

/// The `schema.cql` of a table's snapshot: its user types, then the table with its id and dropped columns, each a statement
/// that leaves alone what is there.
///
/// Source: Cassandra 5.0, `db.SchemaCQLHelper.reCreateStatementsForSchemaCql`.
#[must_use]
pub fn for_restore(schema: &SchemaSnapshot, described: &Table) -> String {
    let mut text = String::new();
    if let Some(keyspace) = schema.keyspace(&described.keyspace) {
        let used = described.columns().iter().map(|column| &column.ty);
        let used: Vec<_> = used.chain(described.dropped.iter().map(|dropped| &dropped.ty)).collect();
        let is_used = |ty: &&Arc<UserType>| used.iter().any(|it| it.references_user_type(&ty.keyspace, &ty.name));
        let mut waiting: Vec<&Arc<UserType>> = keyspace.types.values().filter(is_used).collect();
        // Types do not contain each other in circles, so there is always one that needs none of the others.
        while !waiting.is_empty() {
            let needs = |ty: &UserType, other: &UserType| {
                ty.fields.iter().any(|field| field.ty.references_user_type(&other.keyspace, &other.name))
            };
            let next = waiting.iter().position(|ty| !waiting.iter().any(|other| needs(ty, other)));
            let statement = user_type(waiting.remove(next.unwrap_or(0)));
            let _ = writeln!(text, "{}", statement.replacen("CREATE TYPE ", "CREATE TYPE IF NOT EXISTS ", 1));
        }
    }
    let statement = table(described, false, Detail::Internals);
    let _ = writeln!(text, "{}", statement.replacen("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1));
    text
}

fn virtual_comment(what: &str, name: &str, structure: &str) -> String {
    let kind = what.to_ascii_lowercase();
    format!(
        "/*\nWarning: {what} {name} is a virtual {kind} and cannot be recreated with CQL.\nStructure, for \
         reference:\n{structure}\n*/"
    )
}

fn write_columns(table: &Table, detail: Detail, text: &mut String) {
    let has_single_key = table.partition_key().len() == 1 && table.clustering().is_empty();
    let dropped: &[DroppedColumn] = if detail == Detail::Internals { &table.dropped } else { &[] };
    // A column that came back under the same name is made as it was dropped, dropped, and added again.
    let is_made_first = |column: &&&Column| !dropped.iter().any(|dropped| dropped.name == column.name);
    let columns = creation_order(table);
    let mut lines: Vec<String> =
        columns.iter().filter(is_made_first).map(|column| column_line(column, has_single_key)).collect();
    for dropped in dropped {
        let suffix = if dropped.kind == ColumnKind::Static { " static" } else { "" };
        lines.push(format!("    {} {}{suffix}", quoted(&dropped.name), dropped.ty));
    }
    if !has_single_key {
        lines.push(format!("    PRIMARY KEY ({})", primary_key(table)));
    }
    text.push_str(&lines.join(",\n"));
    text.push('\n');
}

/// Key columns, then statics, then regulars; of both the simple ones before collections and the like.
fn creation_order(table: &Table) -> Vec<&Column> {
    let mut columns: Vec<&Column> = table.partition_key().iter().chain(table.clustering()).collect();
    for group in [table.statics(), table.regulars()] {
        let (complex, simple): (Vec<&Column>, Vec<&Column>) =
            group.iter().partition(|column| column.ty.is_multi_cell());
        columns.extend(simple);
        columns.extend(complex);
    }
    columns
}

fn column_line(column: &Column, is_only_key: bool) -> String {
    let suffix = match column.kind {
        ColumnKind::PartitionKey { .. } if is_only_key => " PRIMARY KEY",
        ColumnKind::Static => " static",
        ColumnKind::PartitionKey { .. } | ColumnKind::Clustering { .. } | ColumnKind::Regular => "",
    };
    format!("    {} {}{suffix}", quoted(&column.name), column.ty)
}

fn primary_key(table: &Table) -> String {
    let names = |columns: &[Column]| columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ");
    let partition = names(table.partition_key());
    let partition = if table.partition_key().len() == 1 { partition } else { format!("({partition})") };
    if table.clustering().is_empty() { partition } else { format!("{partition}, {}", names(table.clustering())) }
}

fn write_clustering_order(table: &Table, text: &mut String) {
    if table.clustering().is_empty() {
        return;
    }
    let order: Vec<String> = table
        .clustering()
        .iter()
        .map(|column| {
            let descending = matches!(column.kind, ColumnKind::Clustering { descending: true, .. });
            format!("{} {}", quoted(&column.name), if descending { "DESC" } else { "ASC" })
        })
        .collect();
    let _ = write!(text, "CLUSTERING ORDER BY ({})\n    AND ", order.join(", "));
}

fn write_params(params: &TableParams, text: &mut String) {
    let extensions: Vec<String> = params
        .extensions
        .iter()
        .map(|(key, value)| {
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{}: 0x{hex}", string_literal(key))
        })
        .collect();
    let options: [(&str, String); 19] = [
        ("additional_write_policy", string_literal(&params.additional_write_policy)),
        ("allow_auto_snapshot", params.allow_auto_snapshot.to_string()),
        ("bloom_filter_fp_chance", java_double(params.bloom_filter_fp_chance)),
        ("caching", map_literal(&params.caching)),
        ("cdc", params.cdc.to_string()),
        ("comment", string_literal(&params.comment)),
        ("compaction", map_literal(&params.compaction)),
        ("compression", map_literal(&params.compression)),
        ("memtable", string_literal(&params.memtable)),
        ("crc_check_chance", java_double(params.crc_check_chance)),
        ("default_time_to_live", params.default_time_to_live.to_string()),
        ("extensions", format!("{{{}}}", extensions.join(", "))),
        ("gc_grace_seconds", params.gc_grace_seconds.to_string()),
        ("incremental_backups", params.incremental_backups.to_string()),
        ("max_index_interval", params.max_index_interval.to_string()),
        ("memtable_flush_period_in_ms", params.memtable_flush_period_in_ms.to_string()),
        ("min_index_interval", params.min_index_interval.to_string()),
        ("read_repair", string_literal(&params.read_repair)),
        ("speculative_retry", string_literal(&params.speculative_retry)),
    ];
    let options: Vec<String> = options.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    text.push_str(&options.join("\n    AND "));
}

fn write_dropped(table: &Table, name: &str, text: &mut String) {
    for dropped in &table.dropped {
        let column = quoted(&dropped.name);
        let _ = write!(text, "\nALTER TABLE {name} DROP {column} USING TIMESTAMP {};", dropped.dropped_micros);
        if let Some(back) = table.column(&dropped.name) {
            let suffix = if back.kind == ColumnKind::Static { " static" } else { "" };
            let _ = write!(text, "\nALTER TABLE {name} ADD {column} {}{suffix};", back.ty);
        }
    }
}

fn string_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn map_literal(map: &BTreeMap<String, String>) -> String {
    let entries: Vec<String> =
        map.iter().map(|(key, value)| format!("{}: {}", string_literal(key), string_literal(value))).collect();
    format!("{{{}}}", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use helenus_data::{ColumnId, TableId};
    use helenus_types::{CqlType, UserTypeField};

    use super::*;
    use crate::keyspace::{KeyspaceOrigin, KeyspaceParams};

    #[test]
    fn identifiers_are_quoted_only_where_they_must_be() {
        let check = |name: &str, expected: &str| assert_eq!(quoted(name), expected);
        check("plain_1", "plain_1");
        check("Upper", "\"Upper\"");
        check("c d", "\"c d\"");
        check("select", "\"select\"");
        check("a\"b", "\"a\"\"b\"");
        check("1a", "\"1a\"");
    }

    #[test]
    fn a_snapshots_schema_has_the_types_that_the_table_needs_before_it() {
        let ty = |name: &str, fields: Vec<UserTypeField>| {
            Arc::new(UserType { keyspace: "k".into(), name: name.into(), fields })
        };
        let field = |name: &str, ty: CqlType| UserTypeField { name: name.into(), ty };
        let inner = ty("z_inner", vec![field("a", CqlType::Int)]);
        let outer = ty("a_outer", vec![field("i", CqlType::Udt(Arc::clone(&inner), true))]);
        let other = ty("other", vec![field("a", CqlType::Int)]);
        let column = |id, name: &str, kind, ty| Column { id: ColumnId(id), name: name.into(), kind, ty };
        let columns = vec![
            column(1, "p", ColumnKind::PartitionKey { position: 0 }, CqlType::Int),
            column(2, "o", ColumnKind::Regular, CqlType::Udt(Arc::clone(&outer), true)),
        ];
        let described = Table::new(TableId(uuid::Uuid::from_u128(7)), "k", "t", columns, TableParams::default());
        let keyspace = Keyspace {
            name: "k".into(),
            params: KeyspaceParams { durable_writes: true, replication: BTreeMap::new() },
            origin: KeyspaceOrigin::User,
            tables: BTreeMap::new(),
            types: [inner, outer, other].map(|ty| (ty.name.clone(), ty)).into(),
        };
        let schema = SchemaSnapshot::new(1, uuid::Uuid::nil(), [Arc::new(keyspace)]);
        let text = for_restore(&schema, &described);
        let wanted = "CREATE TYPE IF NOT EXISTS k.z_inner (\n    a int\n);\nCREATE TYPE IF NOT EXISTS k.a_outer (\n    i \
                      frozen<z_inner>\n);\nCREATE TABLE IF NOT EXISTS k.t (\n    p int PRIMARY KEY,\n    o \
                      frozen<a_outer>\n) WITH ID = 00000000-0000-0000-0000-000000000007\n    AND ";
        assert!(text.starts_with(wanted), "{text}");
        assert!(text.ends_with(";\n"));
    }

    #[test]
    fn a_virtual_table_is_described_as_a_comment() {
        let keyspaces = crate::system::keyspaces();
        let keyspace = keyspaces.iter().find(|keyspace| &*keyspace.name == "system_virtual_schema").expect("built in");
        let text = table(&keyspace.tables["keyspaces"], true, Detail::Plain);
        assert_eq!(
            text,
            "/*\nWarning: Table system_virtual_schema.keyspaces is a virtual table and cannot be recreated with \
             CQL.\nStructure, for reference:\nVIRTUAL TABLE system_virtual_schema.keyspaces (\n    keyspace_name text \
             PRIMARY KEY\n) WITH comment = 'virtual keyspace definitions';\n*/"
        );
    }
}
