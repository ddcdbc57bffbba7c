//! CREATE TABLE and DROP TABLE.
//!
//! Source: Cassandra 5.0, `CreateTableStatement`, `schema.TableMetadata.validate`.

use std::sync::Arc;

use helenus_cql::{CreateTable, DropTable, Identifier, QualifiedName};
use helenus_data::{ColumnId, TableId};
use helenus_protocol::SchemaChangeKind;
use helenus_schema::options::OptionValue;
use helenus_schema::{Column, ColumnKind, SchemaChange, Table, TableParams};
use helenus_types::CqlType;
use uuid::Uuid;

use crate::ddl::properties::{text_of, to_options};
use crate::ddl::{DdlContext, DdlOutcome, is_word, table_event};
use crate::error::{QueryError, Result, ensure, invalid};
use crate::terms::resolve_type;

/// Longest table name: with the id it must make a file name of 255 characters.
const TABLE_NAME_CHARS_MAX: usize = 222;

fn display(name: &QualifiedName) -> String {
    match &name.keyspace {
        Some(keyspace) => format!("{}.{}", keyspace.as_str(), name.name.as_str()),
        None => name.name.as_str().to_owned(),
    }
}

/// What the declaration itself must be, whatever the schema.
pub fn check_declaration(create: &CreateTable) -> Result<()> {
    let table = display(&create.table);
    for (at, column) in create.columns.iter().enumerate() {
        ensure!(
            !create.columns[..at].iter().any(|other| other.name == column.name),
            "Duplicate column '{}' declaration for table '{table}'",
            column.name.as_str()
        );
    }
    ensure!(
        create.partition_keys.len() < 2,
        "Multiple PRIMARY KEY specified for table '{table}' (exactly one required)"
    );
    for (at, order) in create.clustering_order.iter().enumerate() {
        ensure!(
            !create.clustering_order[..at].iter().any(|other| other.column == order.column),
            "Duplicate column '{}' in CLUSTERING ORDER BY clause for table '{table}'",
            order.column.as_str()
        );
    }
    // Upstream's typo.
    ensure!(!create.partition_keys.is_empty(), "No PRIMARY KEY specifed for table '{table}' (exactly one required)");
    Ok(())
}

pub fn create(context: &DdlContext<'_>, keyspace: &str, create: &CreateTable) -> Result<DdlOutcome> {
    let name = create.table.name.as_str();
    let mut options = to_options(&create.properties);
    let id = take_id(&mut options)?;
    let change = TableParams::default().with_options(&options);
    let found = context.schema.keyspace(keyspace).ok_or_else(|| invalid!("Keyspace '{keyspace}' doesn't exist"))?;
    if found.tables.contains_key(name) {
        if create.if_not_exists {
            return Ok(DdlOutcome::nothing());
        }
        return Err(QueryError::AlreadyExists {
            keyspace: keyspace.to_owned(),
            table: name.to_owned(),
            message: format!("Cannot add already existing table \"{name}\" to keyspace \"{keyspace}\""),
        });
    }
    let change = change?;
    if create.compact_storage {
        return Err(QueryError::unsupported("COMPACT STORAGE"));
    }
    let columns = columns(context, keyspace, create, &change.params)?;
    check_name(keyspace, name)?;
    let id = id.unwrap_or_else(|| TableId(context.env.new_timeuuid()));
    let table = Arc::new(Table::new(id, keyspace, name, columns, change.params));
    let created = table_event(SchemaChangeKind::Created, keyspace, name);
    Ok(DdlOutcome { warnings: change.warnings, ..DdlOutcome::one(SchemaChange::PutTable(table), created) })
}

fn check_name(keyspace: &str, name: &str) -> Result<()> {
    if !is_word(name) {
        return Err(QueryError::Config(format!(
            "{keyspace}.{name}: Table name must not be empty or not contain non-alphanumeric-underscore characters (got \
             \"{name}\")"
        )));
    }
    let chars = name.chars().count();
    if TABLE_NAME_CHARS_MAX < chars {
        return Err(QueryError::Config(format!(
            "{keyspace}.{name}: Table name must not be more than {TABLE_NAME_CHARS_MAX} characters long (got {chars} characters \
             for \"{name}\")"
        )));
    }
    Ok(())
}

/// `WITH id = …`, which restores a table under its old identity.
fn take_id(options: &mut Vec<(String, OptionValue)>) -> Result<Option<TableId>> {
    let id = match text_of(options, "id")? {
        None => None,
        Some(text) => {
            let id = Uuid::parse_str(text).map_err(|_| QueryError::Config("Invalid table id".to_owned()))?;
            Some(TableId(id))
        }
    };
    options.retain(|(name, _)| name != "id");
    Ok(id)
}

fn columns(
    context: &DdlContext<'_>,
    keyspace: &str,
    create: &CreateTable,
    params: &TableParams,
) -> Result<Vec<Column>> {
    let table = create.table.name.as_str();
    let mut declared: Vec<(&Identifier, CqlType, bool)> = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        check_unmasked(column.mask.is_some())?;
        let ty = resolve_type(context.schema, keyspace, &column.type_name)?;
        check_nested(&ty, "Non-frozen UDTs with nested non-frozen collections are not supported")?;
        declared.push((&column.name, ty, column.is_static));
    }
    let partition_key: Vec<&Identifier> = create.partition_keys.iter().flatten().collect();
    let mut key: Vec<&Identifier> = Vec::new();
    for name in partition_key.iter().copied().chain(&create.clustering_columns) {
        let text = name.as_str();
        let Some((_, ty, is_static)) = declared.iter().find(|(column, ..)| *column == name) else {
            return Err(invalid!("Unknown column '{text}' referenced in PRIMARY KEY for table '{table}'"));
        };
        ensure!(!key.contains(&name), "Duplicate column '{text}' in PRIMARY KEY clause for table '{table}'");
        key.push(name);
        check_key_type(text, ty, keyspace)?;
        ensure!(!is_static, "Static column '{text}' cannot be part of the PRIMARY KEY");
    }
    check_clustering_order(create)?;
    let has_statics = create.columns.iter().any(|column| column.is_static);
    ensure!(
        !create.clustering_columns.is_empty() || !has_statics,
        "Static columns are only useful (and thus allowed) if the table has at least one clustering column"
    );
    if declared.iter().any(|(_, ty, _)| ty.is_counter()) {
        let only_counters = declared.iter().all(|(name, ty, _)| ty.is_counter() || key.contains(name));
        ensure!(only_counters, "Cannot mix counter and non counter columns in the same table");
        ensure!(params.default_time_to_live <= 0, "Cannot set default_time_to_live on a table with counters");
    }
    let position_in = |names: &[&Identifier], name: &Identifier| {
        names.iter().position(|known| *known == name).and_then(|at| u16::try_from(at).ok())
    };
    let clustering: Vec<&Identifier> = create.clustering_columns.iter().collect();
    let columns = declared.into_iter().zip(0..).map(|((name, ty, is_static), id)| {
        let descending = create.clustering_order.iter().any(|order| order.column == *name && order.descending);
        let kind = match (position_in(&partition_key, name), position_in(&clustering, name)) {
            (Some(position), _) => ColumnKind::PartitionKey { position },
            (None, Some(position)) => ColumnKind::Clustering { position, descending },
            (None, None) if is_static => ColumnKind::Static,
            (None, None) => ColumnKind::Regular,
        };
        Column { id: ColumnId(id), name: name.as_str().into(), kind, ty }
    });
    Ok(columns.collect())
}

/// # Errors
/// Masks, which are switched off as in Cassandra's stock configuration.
pub fn check_unmasked(has_mask: bool) -> Result<()> {
    ensure!(
        !has_mask,
        "Cannot mask columns because dynamic data masking is not enabled. You can enable it with the \
         dynamic_data_masking_enabled property on cassandra.yaml"
    );
    Ok(())
}

/// A non-frozen user type must not hold non-frozen collections itself.
pub fn check_nested(ty: &CqlType, text: &str) -> Result<()> {
    if let CqlType::Udt(udt, false) = ty {
        ensure!(!udt.fields.iter().any(|field| field.ty.is_multi_cell()), "{text}");
    }
    Ok(())
}

fn check_key_type(name: &str, ty: &CqlType, keyspace: &str) -> Result<()> {
    if ty.is_multi_cell() {
        return Err(match ty {
            CqlType::Udt(udt, _) => {
                invalid!(
                    "Invalid non-frozen user-defined type \"{keyspace}.{}\" for PRIMARY KEY column '{name}'",
                    udt.name
                )
            }
            other => invalid!("Invalid non-frozen collection type {other} for PRIMARY KEY column '{name}'"),
        });
    }
    ensure!(!ty.is_counter(), "counter type is not supported for PRIMARY KEY column '{name}'");
    ensure!(!ty.references_duration(), "duration type is not supported for PRIMARY KEY column '{name}'");
    Ok(())
}

fn check_clustering_order(create: &CreateTable) -> Result<()> {
    let others: Vec<&str> = create
        .clustering_order
        .iter()
        .filter(|order| !create.clustering_columns.contains(&order.column))
        .map(|order| order.column.as_str())
        .collect();
    ensure!(
        others.is_empty(),
        "Only clustering key columns can be defined in CLUSTERING ORDER directive: [{}] are not clustering columns",
        others.join(", ")
    );
    for (order, expected) in create.clustering_order.iter().zip(&create.clustering_columns) {
        if order.column == *expected {
            continue;
        }
        let (expected, found) = (expected.as_str(), order.column.as_str());
        let is_named_later = create.clustering_order.iter().any(|order| order.column.as_str() == expected);
        return Err(if is_named_later {
            invalid!(
                "The order of columns in the CLUSTERING ORDER directive must match that of the clustering columns ({expected} \
                 must appear before {found})"
            )
        } else {
            invalid!("Missing CLUSTERING ORDER for column {expected}")
        });
    }
    Ok(())
}

pub fn drop(context: &DdlContext<'_>, keyspace: &str, drop: &DropTable) -> Result<DdlOutcome> {
    let name = drop.table.name.as_str();
    if context.schema.table(keyspace, name).is_none() {
        ensure!(drop.if_exists, "Table '{keyspace}.{name}' doesn't exist");
        return Ok(DdlOutcome::nothing());
    }
    let change = SchemaChange::DropTable { keyspace: keyspace.into(), name: name.into() };
    Ok(DdlOutcome::one(change, table_event(SchemaChangeKind::Dropped, keyspace, name)))
}
