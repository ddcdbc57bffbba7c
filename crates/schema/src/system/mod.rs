//! System keyspaces: the tables that every node has, as clients of Cassandra 5.0 read them.
//!
//! `tables.txt` lists them, got from `system_schema` and `system_virtual_schema` of a running 5.0.9. Two tables that
//! Scylla's drivers read before they use sharding are added; they are not shown by DESCRIBE.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use helenus_data::{ColumnId, TableId};
use helenus_types::CqlType;
use md5::{Digest, Md5};
use uuid::Uuid;

use crate::column::{Column, ColumnKind};
use crate::keyspace::{Keyspace, KeyspaceOrigin, KeyspaceParams};
use crate::params::TableParams;
use crate::table::Table;

const TABLES: &str = include_str!("tables.txt");

const SCYLLA_TABLES: &str = "\
table scylla_keyspaces
  keyspace_name partition_key text
  initial_tablets regular int
table scylla_tables
  keyspace_name partition_key text
  table_name clustering text
  partitioner regular text
";

/// Tables of `system_schema` that exist for Scylla's drivers only.
pub const HIDDEN_TABLES: [(&str, &str); 2] =
    [("system_schema", "scylla_keyspaces"), ("system_schema", "scylla_tables")];

/// Keyspaces whose tables' contents only the node itself writes.
pub const LOCAL_KEYSPACES: [&str; 2] = ["system", "system_schema"];

/// Keyspaces that are replicated and whose replication operators may alter.
pub const REPLICATED_KEYSPACES: [&str; 3] = ["system_auth", "system_distributed", "system_traces"];

/// All keyspaces that every node has.
#[must_use]
pub fn keyspaces() -> Vec<Arc<Keyspace>> {
    static PARSED: OnceLock<Vec<Arc<Keyspace>>> = OnceLock::new();
    PARSED.get_or_init(parse_all).clone()
}

/// The id of a system table: a version 3 UUID of its names. Source: Cassandra 5.0, `schema.TableId.forSystemTable`.
#[must_use]
pub fn table_id(keyspace: &str, table: &str) -> TableId {
    let mut hash: [u8; 16] = Md5::digest(format!("{keyspace}{table}").as_bytes()).into();
    hash[6] = (hash[6] & 0x0F) | 0x30;
    hash[8] = (hash[8] & 0x3F) | 0x80;
    TableId(Uuid::from_bytes(hash))
}

fn parse_all() -> Vec<Arc<Keyspace>> {
    let mut keyspaces: Vec<Keyspace> = Vec::new();
    let mut pending: Option<PendingTable> = None;
    for line in TABLES.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["keyspace", name, ..] => {
                finish(&mut keyspaces, pending.take());
                keyspaces.push(replicated_keyspace(name, line));
            }
            ["virtual", "keyspace", name] => {
                finish(&mut keyspaces, pending.take());
                keyspaces.push(keyspace(name, KeyspaceOrigin::Virtual, BTreeMap::new()));
            }
            ["table", name, ..] => {
                finish(&mut keyspaces, pending.take());
                pending = Some(PendingTable { name, params: TableParams::default(), columns: Vec::new() });
            }
            ["option", ..] => {
                let table = pending.as_mut().expect("options follow a table");
                let option = line.trim_start_matches("option ");
                let (name, value) = option.split_once(" = ").expect("an option has a value");
                set_option(&mut table.params, name, value);
            }
            [_, _, ..] => pending.as_mut().expect("columns follow a table").add_column(line),
            _ => {}
        }
    }
    finish(&mut keyspaces, pending);
    let schema = keyspaces.iter_mut().find(|keyspace| &*keyspace.name == "system_schema");
    add_scylla_tables(schema.expect("tables.txt lists system_schema"));
    keyspaces.into_iter().map(Arc::new).collect()
}

fn add_scylla_tables(system_schema: &mut Keyspace) {
    let mut pending: Option<PendingTable> = None;
    for line in SCYLLA_TABLES.lines() {
        if let Some(name) = line.strip_prefix("table ") {
            if let Some(table) =
                pending.replace(PendingTable { name, params: TableParams::default(), columns: Vec::new() })
            {
                table.add_to(system_schema);
            }
        } else if let Some(table) = &mut pending {
            table.add_column(line);
        }
    }
    pending.into_iter().for_each(|table| table.add_to(system_schema));
}

fn finish(keyspaces: &mut [Keyspace], table: Option<PendingTable>) {
    if let (Some(keyspace), Some(table)) = (keyspaces.last_mut(), table) {
        table.add_to(keyspace);
    }
}

fn keyspace(name: &str, origin: KeyspaceOrigin, replication: BTreeMap<String, String>) -> Keyspace {
    Keyspace {
        name: name.into(),
        params: KeyspaceParams { durable_writes: true, replication },
        origin,
        tables: BTreeMap::new(),
        types: BTreeMap::new(),
    }
}

/// `keyspace system | durable_writes=true | class:...,replication_factor:...`
fn replicated_keyspace(name: &str, line: &str) -> Keyspace {
    let replication = line.rsplit(" | ").next().unwrap_or_default();
    keyspace(name, KeyspaceOrigin::System, parse_map(replication))
}

fn parse_map(text: &str) -> BTreeMap<String, String> {
    text.split(',')
        .filter_map(|entry| entry.split_once(':'))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

fn set_option(params: &mut TableParams, name: &str, value: &str) {
    let number = || value.parse().expect("tables.txt holds numbers where the option is one");
    match name {
        "comment" => value.clone_into(&mut params.comment),
        "compaction" => params.compaction = parse_map(value),
        "caching" => params.caching = parse_map(value),
        "compression" => params.compression = parse_map(value),
        "default_time_to_live" => params.default_time_to_live = number(),
        "gc_grace_seconds" => params.gc_grace_seconds = number(),
        "memtable_flush_period_in_ms" => params.memtable_flush_period_in_ms = number(),
        other => panic!("tables.txt sets {other}, which no system table of 5.0 does"),
    }
}

struct PendingTable<'t> {
    name: &'t str,
    params: TableParams,
    columns: Vec<Column>,
}

impl PendingTable<'_> {
    /// `name kind [desc] type`, in the order of positions.
    fn add_column(&mut self, line: &str) {
        let (name, rest) = line.trim().split_once(' ').expect("a column has a name");
        let (kind, rest) = rest.split_once(' ').expect("a column has a kind");
        let (descending, ty) = rest.strip_prefix("desc ").map_or((false, rest), |ty| (true, ty));
        let position = |matches: fn(ColumnKind) -> bool, columns: &[Column]| {
            u16::try_from(columns.iter().filter(|column| matches(column.kind)).count()).expect("few columns")
        };
        let kind = match kind {
            "partition_key" => ColumnKind::PartitionKey {
                position: position(|kind| matches!(kind, ColumnKind::PartitionKey { .. }), &self.columns),
            },
            "clustering" => ColumnKind::Clustering {
                position: position(|kind| matches!(kind, ColumnKind::Clustering { .. }), &self.columns),
                descending,
            },
            "static" => ColumnKind::Static,
            _ => ColumnKind::Regular,
        };
        let id = ColumnId(u32::try_from(self.columns.len()).expect("few columns"));
        self.columns.push(Column { id, name: name.into(), kind, ty: parse_type(ty) });
    }

    fn add_to(self, keyspace: &mut Keyspace) {
        let id = table_id(&keyspace.name, self.name);
        let table = Table::new(id, &keyspace.name, self.name, self.columns, self.params);
        keyspace.tables.insert(self.name.into(), Arc::new(table));
    }
}

/// The few type texts that system tables use.
fn parse_type(text: &str) -> CqlType {
    let text = text.trim();
    let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>');
    if let Some(inner) = inner("frozen") {
        return parse_type(inner).frozen();
    }
    if let Some(element) = inner("set") {
        return CqlType::Set { element: Arc::new(parse_type(element)), frozen: false };
    }
    if let Some(element) = inner("list") {
        return CqlType::List { element: Arc::new(parse_type(element)), frozen: false };
    }
    if let Some(entry) = inner("map") {
        let comma = top_level_comma(entry).expect("a map has two types");
        let (key, value) = (parse_type(&entry[..comma]), parse_type(&entry[comma + 1..]));
        return CqlType::Map { key: Arc::new(key), value: Arc::new(value), frozen: false };
    }
    if let Some(components) = inner("tuple") {
        let mut rest = components;
        let mut types = Vec::new();
        while let Some(comma) = top_level_comma(rest) {
            types.push(parse_type(&rest[..comma]));
            rest = &rest[comma + 1..];
        }
        types.push(parse_type(rest));
        return CqlType::Tuple(types.into());
    }
    scalar_type(text)
}

fn scalar_type(text: &str) -> CqlType {
    match text {
        "ascii" => CqlType::Ascii,
        "bigint" => CqlType::Bigint,
        "blob" => CqlType::Blob,
        "boolean" => CqlType::Boolean,
        "counter" => CqlType::Counter,
        "date" => CqlType::Date,
        "decimal" => CqlType::Decimal,
        "double" => CqlType::Double,
        "duration" => CqlType::Duration,
        "float" => CqlType::Float,
        "inet" => CqlType::Inet,
        "int" => CqlType::Int,
        "smallint" => CqlType::Smallint,
        "text" => CqlType::Text,
        "time" => CqlType::Time,
        "timestamp" => CqlType::Timestamp,
        "timeuuid" => CqlType::Timeuuid,
        "tinyint" => CqlType::Tinyint,
        "uuid" => CqlType::Uuid,
        "varint" => CqlType::Varint,
        other => panic!("tables.txt names the type {other}, which is none of CQL's"),
    }
}

fn top_level_comma(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    text.char_indices().find_map(|(at, character)| {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_table_has_the_id_that_cassandra_gives_it() {
        let listed: Vec<(&str, &str)> =
            TABLES.lines().filter_map(|line| line.strip_prefix("table ")?.split_once(" | ")).collect();
        let local = listed.iter().find(|(name, _)| *name == "local").expect("system.local is listed");
        assert_eq!(table_id("system", "local").0.to_string(), local.1);
        assert_eq!(listed.len(), 48);
    }

    #[test]
    fn all_keyspaces_parse_and_key_columns_keep_their_order() {
        let keyspaces = keyspaces();
        let names: Vec<&str> = keyspaces.iter().map(|keyspace| &*keyspace.name).collect();
        assert_eq!(
            names,
            [
                "system",
                "system_auth",
                "system_distributed",
                "system_schema",
                "system_traces",
                "system_views",
                "system_virtual_schema"
            ]
        );
        let peers = &keyspaces[0].tables["peers_v2"];
        assert_eq!(&*peers.partition_key()[0].name, "peer");
        assert_eq!(&*peers.clustering()[0].name, "peer_port");
        assert!(keyspaces[3].tables.contains_key("scylla_tables"));
    }
}
