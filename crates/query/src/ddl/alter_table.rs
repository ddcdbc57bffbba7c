//! ALTER TABLE: columns added, dropped and renamed; options.
//!
//! Source: Cassandra 5.0, `AlterTableStatement`.

use std::sync::Arc;

use helenus_cql::{AddedColumn, AlterTable, AlterTableChange, Identifier};
use helenus_data::ColumnId;
use helenus_protocol::SchemaChangeKind;
use helenus_schema::{Column, ColumnKind, DroppedColumn, SchemaChange, Table};
use helenus_types::CqlType;

use crate::ddl::properties::to_options;
use crate::ddl::table::{check_nested, check_unmasked};
use crate::ddl::{DdlContext, DdlOutcome, table_event};
use crate::error::{QueryError, Result, ensure, invalid};
use crate::restrictions::{existing_column, quoted_name};
use crate::terms::resolve_type;

pub fn alter(context: &DdlContext<'_>, keyspace: &str, alter: &AlterTable) -> Result<DdlOutcome> {
    let name = alter.table.name.as_str();
    let mut warnings = Vec::new();
    let Some(table) = context.schema.table(keyspace, name) else {
        ensure!(alter.if_exists, "Table '{keyspace}.{name}' doesn't exist");
        return Ok(DdlOutcome::nothing());
    };
    let altered = match &alter.change {
        AlterTableChange::AlterType { .. } => return Err(invalid!("Altering column types is no longer supported")),
        AlterTableChange::Mask { .. } => {
            check_unmasked(true)?;
            return Ok(DdlOutcome::nothing());
        }
        AlterTableChange::Unmask { column, if_exists } => {
            let exists = table.column(column.as_str()).is_some();
            ensure!(exists || *if_exists, "Column with name '{}' doesn't exist on table '{name}'", column.as_str());
            return Ok(DdlOutcome::nothing());
        }
        AlterTableChange::Add { columns, if_not_exists } => add(context, table, columns, *if_not_exists)?,
        AlterTableChange::Drop { columns, if_exists, timestamp } => {
            let micros = timestamp.unwrap_or_else(|| context.env.next_timestamp_micros());
            drop_columns(table, columns, *if_exists, micros)?
        }
        AlterTableChange::Rename { renames, if_exists } => rename(table, renames, *if_exists)?,
        AlterTableChange::DropCompactStorage => {
            return Err(invalid!("Cannot DROP COMPACT STORAGE on table without COMPACT STORAGE"));
        }
        AlterTableChange::Properties(properties) => {
            let options = to_options(properties);
            if options.iter().any(|(name, _)| name == "id") {
                return Err(QueryError::Config("Cannot alter table id.".to_owned()));
            }
            let change = table.params.with_options(&options)?;
            ensure!(
                !(table.is_counter() && 0 < change.params.default_time_to_live),
                "Cannot set default_time_to_live on a table with counters"
            );
            warnings = change.warnings;
            let mut altered = Table::clone(table);
            altered.params = change.params;
            altered
        }
    };
    if altered == **table {
        return Ok(DdlOutcome { warnings, ..DdlOutcome::nothing() });
    }
    let updated = table_event(SchemaChangeKind::Updated, keyspace, name);
    Ok(DdlOutcome { warnings, ..DdlOutcome::one(SchemaChange::PutTable(Arc::new(altered)), updated) })
}

fn add(context: &DdlContext<'_>, table: &Table, added: &[AddedColumn], if_not_exists: bool) -> Result<Table> {
    let mut columns = table.columns().to_vec();
    let mut next_id = table.next_column_id.0;
    for new in added {
        let name = new.name.as_str();
        check_unmasked(new.mask.is_some())?;
        let ty = resolve_type(context.schema, &table.keyspace, &new.type_name)?;
        if columns.iter().any(|column| &*column.name == name) {
            ensure!(if_not_exists, "Column with name '{name}' already exists");
            continue;
        }
        ensure!(
            !(new.is_static && table.clustering().is_empty()),
            "Static columns are only useful (and thus allowed) if the table has at least one clustering column"
        );
        check_nested(
            &ty,
            &format!("Non-frozen UDTs with nested non-frozen collections are not supported for column {name}"),
        )?;
        check_dropped(table, name, &ty, new.is_static)?;
        check_counter(table, name, &ty)?;
        let kind = if new.is_static { ColumnKind::Static } else { ColumnKind::Regular };
        columns.push(Column { id: ColumnId(next_id), name: name.into(), kind, ty });
        next_id += 1;
    }
    Ok(table.with_columns(columns))
}

/// A table has counters only, or none.
fn check_counter(table: &Table, name: &str, ty: &CqlType) -> Result<()> {
    let refused = |text: String| Err(QueryError::Config(format!("{}.{}: {text}", table.keyspace, table.name)));
    match (table.is_counter(), ty.is_counter()) {
        (true, false) => refused(format!("Cannot have a non counter column (\"{name}\") in a counter table")),
        (false, true) => refused(format!("Cannot have a counter column (\"{name}\") in a non counter table")),
        _ => Ok(()),
    }
}

/// A column that comes back must be able to read what files still hold of it.
fn check_dropped(table: &Table, name: &str, ty: &CqlType, is_static: bool) -> Result<()> {
    let Some(dropped) = table.dropped.iter().rev().find(|dropped| &*dropped.name == name) else { return Ok(()) };
    let old = &dropped.ty;
    let compatible = ty.is_value_compatible_with(old)
        && ty.fixed_len() == old.fixed_len()
        && ty.is_multi_cell() == old.is_multi_cell();
    ensure!(
        compatible,
        "Cannot add a column '{name}' of type {ty}, incompatible with previously dropped column '{name}' of type {old}"
    );
    let was_static = dropped.kind == ColumnKind::Static;
    let kind = |is_static: bool| if is_static { "STATIC" } else { "REGULAR" };
    ensure!(
        was_static == is_static,
        "Cannot re-add previously dropped column '{name}' of kind {}, incompatible with previous kind {}",
        kind(is_static),
        kind(was_static)
    );
    ensure!(!table.is_counter(), "Cannot re-add previously dropped counter column {name}");
    Ok(())
}

fn drop_columns(table: &Table, names: &[Identifier], if_exists: bool, dropped_micros: i64) -> Result<Table> {
    let mut columns = table.columns().to_vec();
    let mut dropped = table.dropped.clone();
    for name in names {
        let text = name.as_str();
        let Some(at) = columns.iter().position(|column| &*column.name == text) else {
            ensure!(if_exists, "Column {text} was not found in table '{}'", quoted_name(table));
            continue;
        };
        let column = columns.remove(at);
        ensure!(!column.kind.is_primary_key(), "Cannot drop PRIMARY KEY column {text}");
        ensure!(
            !(column.ty.is_udt() && column.ty.is_multi_cell()),
            "Cannot drop non-frozen column {text} of user type {}",
            column.ty
        );
        let Column { id, name, kind, ty } = column;
        dropped.push(DroppedColumn { id, name, kind, ty, dropped_micros });
    }
    let mut altered = table.with_columns(columns);
    altered.dropped = dropped;
    Ok(altered)
}

fn rename(table: &Table, renames: &[(Identifier, Identifier)], _if_exists: bool) -> Result<Table> {
    let mut columns = table.columns().to_vec();
    for (old, new) in renames {
        // Upstream looks the column up with the method that refuses, so that IF EXISTS does not help here.
        let column = existing_column(table, old)?;
        let (old, new) = (old.as_str(), new.as_str());
        ensure!(column.kind.is_primary_key(), "Cannot rename non PRIMARY KEY column {old}");
        ensure!(
            table.column(new).is_none(),
            "Cannot rename column {old} to {new} in table '{}'; another column with that name already exists",
            quoted_name(table)
        );
        if let Some(renamed) = columns.iter_mut().find(|known| known.id == column.id) {
            renamed.name = new.into();
        }
    }
    Ok(table.with_columns(columns))
}
