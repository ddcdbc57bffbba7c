//! Canonical CQL of schema definitions.

use std::fmt::{self, Write};

use super::select::{write_columns, write_where};
use super::term::{write_function_name, write_local_function_name, write_user_type};
use super::{CqlText, ToCql, write_if, write_list, write_separated, write_string};
use crate::ast::definition::{
    AddedColumn, AlterKeyspace, AlterTable, AlterTableChange, AlterType, AlterTypeChange, AlterView, ClusteringOrder,
    ColumnDefinition, ColumnMask, CreateAggregate, CreateFunction, CreateIndex, CreateKeyspace, CreateTable,
    CreateTrigger, CreateType, CreateView, DropFunction, DropIndex, DropKeyspace, DropTable, DropTrigger, DropType,
    DropView, IndexTarget, IndexTargetKind, Property, PropertyValue,
};
use crate::ast::identifier::Identifier;
use crate::ast::term::Literal;
use crate::ast::type_name::TypeName;

const IF_NOT_EXISTS: &str = "IF NOT EXISTS ";
const IF_EXISTS: &str = "IF EXISTS ";

/// `{'key': value}`.
pub(super) fn write_literal_map(out: &mut CqlText<'_>, entries: &[(Literal, Literal)]) -> fmt::Result {
    out.write_str("{")?;
    write_separated(out, entries, ", ", |out, (key, value)| {
        key.write_cql(out)?;
        out.write_str(": ")?;
        value.write_cql(out)
    })?;
    out.write_str("}")
}

impl ToCql for Property {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        self.name.write_cql(out)?;
        out.write_str(" = ")?;
        match &self.value {
            PropertyValue::Literal(literal) => literal.write_cql(out),
            PropertyValue::Keyword(word) => out.write_str(word),
            PropertyValue::Map(entries) => write_literal_map(out, entries),
        }
    }
}

/// ` WITH …`: special options first, then the ordinary ones, or nothing.
fn write_options(
    out: &mut CqlText<'_>,
    compact_storage: bool,
    order: &[ClusteringOrder],
    properties: &[Property],
) -> fmt::Result {
    let mut separator = " WITH ";
    if compact_storage {
        write!(out, "{separator}COMPACT STORAGE")?;
        separator = " AND ";
    }
    if !order.is_empty() {
        write!(out, "{separator}CLUSTERING ORDER BY (")?;
        write_separated(out, order, ", ", |out, one| {
            one.column.write_cql(out)?;
            out.write_str(if one.descending { " DESC" } else { " ASC" })
        })?;
        out.write_str(")")?;
        separator = " AND ";
    }
    for property in properties {
        out.write_str(separator)?;
        property.write_cql(out)?;
        separator = " AND ";
    }
    Ok(())
}

impl ToCql for CreateKeyspace {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("CREATE KEYSPACE ")?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        self.name.write_cql(out)?;
        write_options(out, false, &[], &self.properties)
    }
}

impl ToCql for AlterKeyspace {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("ALTER KEYSPACE ")?;
        write_if(out, self.if_exists, IF_EXISTS)?;
        self.name.write_cql(out)?;
        write_options(out, false, &[], &self.properties)
    }
}

/// `DROP what [IF EXISTS] name`.
fn write_drop(out: &mut CqlText<'_>, what: &str, if_exists: bool, name: &impl ToCql) -> fmt::Result {
    write!(out, "DROP {what} ")?;
    write_if(out, if_exists, IF_EXISTS)?;
    name.write_cql(out)
}

impl ToCql for DropKeyspace {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_drop(out, "KEYSPACE", self.if_exists, &self.name)
    }
}

impl ToCql for ColumnMask {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Default => out.write_str("MASKED WITH DEFAULT"),
            Self::Function { name, arguments } => {
                out.write_str("MASKED WITH ")?;
                write_function_name(out, name)?;
                out.write_str("(")?;
                write_list(out, arguments)?;
                out.write_str(")")
            }
        }
    }
}

/// `name type [STATIC] [MASKED WITH …]`.
fn write_column(
    out: &mut CqlText<'_>,
    name: &Identifier,
    type_name: &TypeName,
    is_static: bool,
    mask: Option<&ColumnMask>,
) -> fmt::Result {
    name.write_cql(out)?;
    out.write_str(" ")?;
    type_name.write_cql(out)?;
    write_if(out, is_static, " STATIC")?;
    if let Some(mask) = mask {
        out.write_str(" ")?;
        mask.write_cql(out)?;
    }
    Ok(())
}

impl ToCql for ColumnDefinition {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_column(out, &self.name, &self.type_name, self.is_static, self.mask.as_ref())
    }
}

impl ToCql for AddedColumn {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_column(out, &self.name, &self.type_name, self.is_static, self.mask.as_ref())
    }
}

/// `PRIMARY KEY ((a, b), c)`.
fn write_primary_key(out: &mut CqlText<'_>, partition: &[Identifier], clustering: &[Identifier]) -> fmt::Result {
    out.write_str("PRIMARY KEY (")?;
    if let [single] = partition {
        single.write_cql(out)?;
    } else {
        out.write_str("(")?;
        write_list(out, partition)?;
        out.write_str(")")?;
    }
    for column in clustering {
        out.write_str(", ")?;
        column.write_cql(out)?;
    }
    out.write_str(")")
}

impl ToCql for CreateTable {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("CREATE TABLE ")?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        self.table.write_cql(out)?;
        out.write_str(" (")?;
        write_list(out, &self.columns)?;
        let mut separator = if self.columns.is_empty() { "" } else { ", " };
        // Every key that was written; all but one are an error that the reader reports.
        let mut clustering: &[Identifier] = &self.clustering_columns;
        for partition in &self.partition_keys {
            out.write_str(separator)?;
            write_primary_key(out, partition, clustering)?;
            (separator, clustering) = (", ", &[]);
        }
        out.write_str(")")?;
        write_options(out, self.compact_storage, &self.clustering_order, &self.properties)
    }
}

/// `one` or `(one, two)`.
fn write_one_or_more<T: ToCql>(out: &mut CqlText<'_>, items: &[T]) -> fmt::Result {
    if let [single] = items {
        return single.write_cql(out);
    }
    out.write_str("(")?;
    write_list(out, items)?;
    out.write_str(")")
}

fn write_renames(out: &mut CqlText<'_>, renames: &[(Identifier, Identifier)]) -> fmt::Result {
    write_separated(out, renames, " AND ", |out, (from, to)| {
        from.write_cql(out)?;
        out.write_str(" TO ")?;
        to.write_cql(out)
    })
}

impl ToCql for AlterTableChange {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::AlterType { column, type_name } => {
                out.write_str("ALTER ")?;
                column.write_cql(out)?;
                out.write_str(" TYPE ")?;
                type_name.write_cql(out)
            }
            Self::Mask { column, if_exists, mask } => {
                out.write_str("ALTER ")?;
                write_if(out, *if_exists, IF_EXISTS)?;
                column.write_cql(out)?;
                out.write_str(" ")?;
                mask.write_cql(out)
            }
            Self::Unmask { column, if_exists } => {
                out.write_str("ALTER ")?;
                write_if(out, *if_exists, IF_EXISTS)?;
                column.write_cql(out)?;
                out.write_str(" DROP MASKED")
            }
            Self::Add { columns, if_not_exists } => {
                out.write_str("ADD ")?;
                write_if(out, *if_not_exists, IF_NOT_EXISTS)?;
                write_one_or_more(out, columns)
            }
            Self::Drop { columns, if_exists, timestamp } => {
                out.write_str("DROP ")?;
                write_if(out, *if_exists, IF_EXISTS)?;
                write_one_or_more(out, columns)?;
                match timestamp {
                    Some(timestamp) => write!(out, " USING TIMESTAMP {timestamp}"),
                    None => Ok(()),
                }
            }
            Self::Rename { renames, if_exists } => {
                out.write_str("RENAME ")?;
                write_if(out, *if_exists, IF_EXISTS)?;
                write_renames(out, renames)
            }
            Self::DropCompactStorage => out.write_str("DROP COMPACT STORAGE"),
            Self::Properties(properties) => {
                out.write_str("WITH ")?;
                write_separated(out, properties, " AND ", |out, property| property.write_cql(out))
            }
        }
    }
}

impl ToCql for AlterTable {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("ALTER TABLE ")?;
        write_if(out, self.if_exists, IF_EXISTS)?;
        self.table.write_cql(out)?;
        out.write_str(" ")?;
        self.change.write_cql(out)
    }
}

impl ToCql for DropTable {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_drop(out, "TABLE", self.if_exists, &self.table)
    }
}

fn write_typed(out: &mut CqlText<'_>, (name, type_name): &(Identifier, TypeName)) -> fmt::Result {
    write_column(out, name, type_name, false, None)
}

impl ToCql for CreateType {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("CREATE TYPE ")?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        write_user_type(out, &self.name)?;
        out.write_str(" (")?;
        write_separated(out, &self.fields, ", ", write_typed)?;
        out.write_str(")")
    }
}

impl ToCql for AlterType {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("ALTER TYPE ")?;
        write_if(out, self.if_exists, IF_EXISTS)?;
        write_user_type(out, &self.name)?;
        match &self.change {
            AlterTypeChange::AlterField { field, type_name } => {
                out.write_str(" ALTER ")?;
                field.write_cql(out)?;
                out.write_str(" TYPE ")?;
                type_name.write_cql(out)
            }
            AlterTypeChange::Add { field, type_name, if_not_exists } => {
                out.write_str(" ADD ")?;
                write_if(out, *if_not_exists, IF_NOT_EXISTS)?;
                write_column(out, field, type_name, false, None)
            }
            AlterTypeChange::Rename { renames, if_exists } => {
                out.write_str(" RENAME ")?;
                write_if(out, *if_exists, IF_EXISTS)?;
                write_renames(out, renames)
            }
        }
    }
}

impl ToCql for DropType {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("DROP TYPE ")?;
        write_if(out, self.if_exists, IF_EXISTS)?;
        write_user_type(out, &self.name)
    }
}

impl ToCql for IndexTarget {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        let function = match self.kind {
            IndexTargetKind::Simple => return self.column.write_cql(out),
            IndexTargetKind::Values => "values",
            IndexTargetKind::Keys => "keys",
            IndexTargetKind::Entries => "entries",
            IndexTargetKind::Full => "full",
        };
        write!(out, "{function}(")?;
        self.column.write_cql(out)?;
        out.write_str(")")
    }
}

impl ToCql for CreateIndex {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str(if self.custom { "CREATE CUSTOM INDEX " } else { "CREATE INDEX " })?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        if let Some(name) = &self.name {
            name.write_cql(out)?;
            out.write_str(" ")?;
        }
        out.write_str("ON ")?;
        self.table.write_cql(out)?;
        out.write_str(" (")?;
        write_list(out, &self.targets)?;
        out.write_str(")")?;
        if let Some(class) = &self.using {
            out.write_str(" USING ")?;
            write_string(out, class)?;
        }
        write_options(out, false, &[], &self.properties)
    }
}

impl ToCql for DropIndex {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_drop(out, "INDEX", self.if_exists, &self.name)
    }
}

impl ToCql for CreateView {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("CREATE MATERIALIZED VIEW ")?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        self.view.write_cql(out)?;
        out.write_str(" AS SELECT ")?;
        write_columns(out, &self.columns)?;
        out.write_str(" FROM ")?;
        self.base.write_cql(out)?;
        write_where(out, &self.relations)?;
        out.write_str(" ")?;
        write_primary_key(out, &self.partition_key, &self.clustering_columns)?;
        write_options(out, false, &self.clustering_order, &self.properties)
    }
}

impl ToCql for AlterView {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("ALTER MATERIALIZED VIEW ")?;
        write_if(out, self.if_exists, IF_EXISTS)?;
        self.view.write_cql(out)?;
        write_options(out, false, &[], &self.properties)
    }
}

impl ToCql for DropView {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_drop(out, "MATERIALIZED VIEW", self.if_exists, &self.view)
    }
}

impl ToCql for CreateFunction {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str(if self.or_replace { "CREATE OR REPLACE FUNCTION " } else { "CREATE FUNCTION " })?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        write_function_name(out, &self.name)?;
        out.write_str("(")?;
        write_separated(out, &self.arguments, ", ", write_typed)?;
        out.write_str(if self.called_on_null_input { ") CALLED" } else { ") RETURNS NULL" })?;
        out.write_str(" ON NULL INPUT RETURNS ")?;
        self.return_type.write_cql(out)?;
        write!(out, " LANGUAGE {} AS ", self.language)?;
        write_string(out, &self.body)
    }
}

impl ToCql for CreateAggregate {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str(if self.or_replace { "CREATE OR REPLACE AGGREGATE " } else { "CREATE AGGREGATE " })?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        write_function_name(out, &self.name)?;
        out.write_str("(")?;
        write_list(out, &self.argument_types)?;
        out.write_str(") SFUNC ")?;
        write_local_function_name(out, &self.state_function)?;
        out.write_str(" STYPE ")?;
        self.state_type.write_cql(out)?;
        if let Some(function) = &self.final_function {
            out.write_str(" FINALFUNC ")?;
            write_local_function_name(out, function)?;
        }
        if let Some(term) = &self.initial_condition {
            out.write_str(" INITCOND ")?;
            term.write_cql(out)?;
        }
        Ok(())
    }
}

/// `what` is FUNCTION or AGGREGATE.
pub(super) fn write_drop_function(out: &mut CqlText<'_>, what: &str, drop: &DropFunction) -> fmt::Result {
    write!(out, "DROP {what} ")?;
    write_if(out, drop.if_exists, IF_EXISTS)?;
    write_function_name(out, &drop.name)?;
    match &drop.argument_types {
        Some(types) => {
            out.write_str("(")?;
            write_list(out, types)?;
            out.write_str(")")
        }
        None => Ok(()),
    }
}

impl ToCql for CreateTrigger {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("CREATE TRIGGER ")?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        self.name.write_cql(out)?;
        out.write_str(" ON ")?;
        self.table.write_cql(out)?;
        out.write_str(" USING ")?;
        write_string(out, &self.class)
    }
}

impl ToCql for DropTrigger {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_drop(out, "TRIGGER", self.if_exists, &self.name)?;
        out.write_str(" ON ")?;
        self.table.write_cql(out)
    }
}
