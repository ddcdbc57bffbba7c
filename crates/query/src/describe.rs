//! DESCRIBE: lists of schema elements and the statements that make them.
//!
//! Source: Cassandra 5.0, `cql3.statements.DescribeStatement`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use helenus_cluster::Topology;
use helenus_cql::{Describe, DescribeTarget, Identifier, QualifiedName};
use helenus_protocol::{ColumnSpec, ResultMetadata, Rows};
use helenus_schema::describe::{self, Detail, quoted};
use helenus_schema::{Keyspace, SchemaSnapshot, Table};
use helenus_types::collection::{pack_list, pack_map};
use helenus_types::{CqlType, UserType};
use uuid::Uuid;

use crate::error::{QueryError, Result, ensure, invalid};

/// Length of a paging state: the schema's version and the number of rows that were answered.
const STATE_BYTES: usize = 24;

/// Keyspaces that DESCRIBE SCHEMA leaves out.
const SYSTEM_KEYSPACES: [&str; 7] = [
    "system",
    "system_auth",
    "system_distributed",
    "system_schema",
    "system_traces",
    "system_views",
    "system_virtual_schema",
];

/// What an answer is made from.
pub(crate) struct DescribeContext<'a> {
    pub schema: &'a SchemaSnapshot,
    pub topology: &'a Topology,
    /// The session's, whatever the request says.
    pub keyspace: Option<&'a str>,
    pub page_size: Option<usize>,
    pub paging_state: Option<&'a [u8]>,
}

#[derive(Clone, Copy)]
enum Element<'a> {
    Keyspace(&'a Keyspace),
    Type(&'a UserType),
    Table { table: &'a Table, is_virtual: bool },
}

impl Element<'_> {
    /// Keyspace, kind and name.
    fn identity(&self) -> [String; 3] {
        let (keyspace, kind, name) = match self {
            Element::Keyspace(keyspace) => (&keyspace.name, "keyspace", &keyspace.name),
            Element::Type(ty) => (&ty.keyspace, "type", &ty.name),
            Element::Table { table, .. } => (&table.keyspace, "table", &table.name),
        };
        [quoted(keyspace), kind.to_owned(), quoted(name)]
    }

    fn statement(&self, detail: Detail) -> String {
        match self {
            Element::Keyspace(keyspace) => describe::keyspace(keyspace),
            Element::Type(ty) => describe::user_type(ty),
            Element::Table { table, is_virtual } => describe::table(table, *is_virtual, detail),
        }
    }
}

/// # Errors
/// What is described does not exist; a paging state of another schema.
pub(crate) fn execute(context: &DescribeContext<'_>, statement: &Describe) -> Result<Rows> {
    let detail = if statement.with_internals { Detail::Internals } else { Detail::Plain };
    if statement.target == DescribeTarget::Cluster {
        return Ok(cluster(context));
    }
    let (elements, is_listing) = context.elements(&statement.target)?;
    let offset = context.offset()?;
    let page_size = context.page_size.unwrap_or(usize::MAX);
    let page = elements.iter().skip(offset).take(page_size);
    let rows: Vec<Vec<String>> = page
        .map(|element| {
            let mut row = Vec::from(element.identity());
            if !is_listing {
                row.push(element.statement(detail));
            }
            row
        })
        .collect();
    let names: &[&str] = if is_listing {
        &["keyspace_name", "type", "name"]
    } else {
        &["keyspace_name", "type", "name", "create_statement"]
    };
    let cells = rows.iter().map(|row| row.iter().map(|cell| Some(cell.as_bytes())));
    let mut result = Rows::from_cells(metadata(names.iter().map(|name| (*name, CqlType::Text))), cells);
    if rows.len() == page_size {
        result.paging_state = Some(state(context.schema.version, offset + page_size));
    }
    Ok(result)
}

fn metadata<'n>(columns: impl IntoIterator<Item = (&'n str, CqlType)>) -> Arc<ResultMetadata> {
    let (keyspace, table): (Arc<str>, Arc<str>) = ("system".into(), "describe".into());
    let specs = columns.into_iter().map(|(name, ty)| ColumnSpec {
        keyspace: Arc::clone(&keyspace),
        table: Arc::clone(&table),
        name: name.into(),
        ty,
    });
    Arc::new(ResultMetadata::new(specs.collect()))
}

fn state(version: Uuid, offset: usize) -> Bytes {
    let mut state = BytesMut::with_capacity(STATE_BYTES);
    state.put_slice(version.as_bytes());
    state.put_u64(offset as u64);
    state.freeze()
}

fn tables(keyspace: &Keyspace) -> impl Iterator<Item = Element<'_>> {
    let is_virtual = keyspace.is_virtual();
    by_name(&keyspace.tables).map(move |table| Element::Table { table, is_virtual })
}

/// As DESCRIBE sorts: whatever the case.
fn by_name<V>(named: &BTreeMap<Box<str>, Arc<V>>) -> impl Iterator<Item = &V> {
    let mut entries: Vec<(&Box<str>, &Arc<V>)> = named.iter().collect();
    entries.sort_by_key(|(name, _)| name.to_lowercase());
    entries.into_iter().map(|(_, value)| &**value)
}

/// The keyspace itself, its types (those that others use first) and its tables.
fn whole(keyspace: &Keyspace) -> impl Iterator<Item = Element<'_>> {
    let mut types = Vec::with_capacity(keyspace.types.len());
    for ty in keyspace.types.values() {
        add_type(keyspace, ty, &mut types);
    }
    std::iter::once(Element::Keyspace(keyspace)).chain(types.into_iter().map(Element::Type)).chain(tables(keyspace))
}

fn add_type<'k>(keyspace: &'k Keyspace, ty: &'k UserType, types: &mut Vec<&'k UserType>) {
    if types.iter().any(|known| known.name == ty.name) {
        return;
    }
    for field in &ty.fields {
        add_types_of(keyspace, &field.ty, types);
    }
    types.push(ty);
}

fn add_types_of<'k>(keyspace: &'k Keyspace, ty: &CqlType, types: &mut Vec<&'k UserType>) {
    if let CqlType::Udt(used, _) = ty
        && let Some(known) = keyspace.types.get(&used.name)
    {
        return add_type(keyspace, known, types);
    }
    ty.sub_types().into_iter().for_each(|sub| add_types_of(keyspace, sub, types));
}

impl<'a> DescribeContext<'a> {
    /// What is described, in order, and whether only the names are asked for.
    fn elements(&self, target: &DescribeTarget) -> Result<(Vec<Element<'a>>, bool)> {
        let elements = match target {
            // Answered before.
            DescribeTarget::Cluster => Vec::new(),
            DescribeTarget::Keyspaces => {
                return Ok((self.schema.keyspaces().map(|keyspace| Element::Keyspace(keyspace)).collect(), true));
            }
            DescribeTarget::Tables => return Ok((self.listed()?.into_iter().flat_map(tables).collect(), true)),
            DescribeTarget::Types => {
                let types = |keyspace: &'a Keyspace| by_name(&keyspace.types).map(Element::Type);
                return Ok((self.listed()?.into_iter().flat_map(types).collect(), true));
            }
            DescribeTarget::Functions | DescribeTarget::Aggregates => {
                self.listed()?;
                return Ok((Vec::new(), true));
            }
            DescribeTarget::Schema { full } => {
                let keyspaces = self.schema.keyspaces().filter(|keyspace| *full || !is_system(&keyspace.name));
                keyspaces.flat_map(|keyspace| whole(keyspace)).collect()
            }
            DescribeTarget::Keyspace { name, only } => {
                let keyspace = self.keyspace_of(name.as_ref())?;
                if *only { vec![Element::Keyspace(keyspace)] } else { whole(keyspace).collect() }
            }
            DescribeTarget::Table(name) => {
                vec![table_of(self.keyspace_of(name.keyspace.as_ref())?, name.name.as_str())?]
            }
            DescribeTarget::Type(name) => {
                let keyspace = self.keyspace_of(name.keyspace.as_ref())?;
                let ty = keyspace
                    .types
                    .get(name.name.as_str())
                    .ok_or_else(|| not_found("User defined type", name, keyspace));
                vec![Element::Type(ty?)]
            }
            DescribeTarget::Index(name) => {
                let keyspace = self.keyspace_of(name.keyspace.as_ref())?;
                return Err(not_found("Table for existing index", name, keyspace));
            }
            DescribeTarget::View(name) => {
                let keyspace = self.keyspace_of(name.keyspace.as_ref())?;
                return Err(not_found("Materialized view", name, keyspace));
            }
            DescribeTarget::Function(name) => {
                let keyspace = self.keyspace_of(name.keyspace.as_ref())?;
                return Err(not_found("User defined function", name, keyspace));
            }
            DescribeTarget::Aggregate(name) => {
                let keyspace = self.keyspace_of(name.keyspace.as_ref())?;
                return Err(not_found("User defined aggregate", name, keyspace));
            }
            DescribeTarget::Any(name) => self.any(name)?,
        };
        Ok((elements, false))
    }

    fn any(&self, name: &QualifiedName) -> Result<Vec<Element<'a>>> {
        let text = name.name.as_str();
        let keyspace = match &name.keyspace {
            Some(keyspace) => keyspace.as_str(),
            None => {
                if let Some(keyspace) = self.schema.keyspace(text) {
                    return Ok(whole(keyspace).collect());
                }
                self.keyspace.unwrap_or(text)
            }
        };
        let found = self.existing(keyspace)?;
        let table =
            tables(found).find(|element| matches!(element, Element::Table { table, .. } if *table.name == *text));
        Ok(vec![table.ok_or_else(|| invalid!("'{text}' not found in keyspace '{keyspace}'"))?])
    }

    /// The session's keyspace, or all.
    fn listed(&self) -> Result<Vec<&'a Keyspace>> {
        match self.keyspace {
            Some(keyspace) => Ok(vec![self.existing(keyspace)?]),
            None => Ok(self.schema.keyspaces().map(|keyspace| &**keyspace).collect()),
        }
    }

    fn existing(&self, name: &str) -> Result<&'a Keyspace> {
        let keyspace = self.schema.keyspace(name).ok_or_else(|| invalid!("'{name}' not found in keyspaces"))?;
        Ok(&**keyspace)
    }

    fn keyspace_of(&self, name: Option<&Identifier>) -> Result<&'a Keyspace> {
        let name = name.map(Identifier::as_str).or(self.keyspace);
        self.existing(name.ok_or_else(|| invalid!("No keyspace specified and no current keyspace"))?)
    }

    /// How many rows earlier pages had.
    fn offset(&self) -> Result<usize> {
        let Some(state) = self.paging_state else { return Ok(0) };
        let refused = || QueryError::Invalid("Invalid paging state.".to_owned());
        let (version, offset) = state.split_first_chunk::<16>().ok_or_else(refused)?;
        let offset: [u8; 8] = offset.try_into().map_err(|_| refused())?;
        ensure!(
            version == self.schema.version.as_bytes(),
            "The schema has changed since the previous page of the DESCRIBE statement result. Please retry the DESCRIBE \
             statement."
        );
        Ok(usize::try_from(u64::from_be_bytes(offset)).unwrap_or(usize::MAX))
    }
}

fn is_system(keyspace: &str) -> bool {
    SYSTEM_KEYSPACES.contains(&keyspace)
}

fn table_of<'k>(keyspace: &'k Keyspace, name: &str) -> Result<Element<'k>> {
    let table = keyspace
        .tables
        .get(name)
        .ok_or_else(|| invalid!("Table '{name}' not found in keyspace '{}'", keyspace.name))?;
    Ok(Element::Table { table, is_virtual: keyspace.is_virtual() })
}

fn not_found(what: &str, name: &QualifiedName, keyspace: &Keyspace) -> QueryError {
    invalid!("{what} '{}' not found in '{}'", name.name.as_str(), keyspace.name)
}

/// Name, partitioner and snitch; with a keyspace in use also who holds which range, by the range's end.
fn cluster(context: &DescribeContext<'_>) -> Rows {
    let identity = &context.topology.identity;
    let address = &context.topology.address;
    let mut columns = vec![("cluster", CqlType::Text), ("partitioner", CqlType::Text), ("snitch", CqlType::Text)];
    let mut cells = vec![
        identity.cluster_name.clone().into_bytes(),
        b"Murmur3Partitioner".to_vec(),
        b"DynamicEndpointSnitch".to_vec(),
    ];
    if context.keyspace.is_some_and(|keyspace| !is_system(keyspace)) {
        let owners = CqlType::List { element: Arc::new(CqlType::Text), frozen: true };
        let ranges = CqlType::Map { key: Arc::new(CqlType::Text), value: Arc::new(owners), frozen: true };
        columns.push(("range_ownership", ranges));
        let endpoint = format!("/{}:{}", address.listen_address, address.listen_port);
        let owners = pack_list(&[Some(endpoint.as_bytes())]);
        let mut ends: Vec<String> = identity.tokens.iter().map(|token| token.value().to_string()).collect();
        ends.sort_unstable();
        let entries: Vec<(&[u8], &[u8])> = ends.iter().map(|end| (end.as_bytes(), &*owners)).collect();
        cells.push(pack_map(&entries));
    }
    let row = cells.iter().map(|cell| Some(cell.as_slice()));
    Rows::from_cells(metadata(columns), [row])
}
