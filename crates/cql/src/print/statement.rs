//! Canonical CQL of whole statements and of DESCRIBE.

use std::fmt::{self, Write};

use super::access::write_drop_user;
use super::definition::write_drop_function;
use super::term::{write_function_name, write_user_type};
use super::{CqlText, ToCql, write_if};
use crate::ast::describe::{Describe, DescribeTarget};
use crate::ast::statement::{ParsedStatement, Statement};

/// With the names of its markers.
impl ToCql for ParsedStatement {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        let mut own = CqlText { text: String::new(), markers: &self.markers };
        self.statement.write_cql(&mut own)?;
        out.write_str(&own.text)
    }
}

impl ToCql for Statement {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Select(statement) => statement.write_cql(out),
            Self::Insert(statement) => statement.write_cql(out),
            Self::InsertJson(statement) => statement.write_cql(out),
            Self::Update(statement) => statement.write_cql(out),
            Self::Delete(statement) => statement.write_cql(out),
            Self::Batch(statement) => statement.write_cql(out),
            Self::Use(keyspace) => {
                out.write_str("USE ")?;
                keyspace.write_cql(out)
            }
            Self::Truncate(table) => {
                out.write_str("TRUNCATE TABLE ")?;
                table.write_cql(out)
            }
            Self::CreateKeyspace(statement) => statement.write_cql(out),
            Self::AlterKeyspace(statement) => statement.write_cql(out),
            Self::DropKeyspace(statement) => statement.write_cql(out),
            Self::CreateTable(statement) => statement.write_cql(out),
            Self::AlterTable(statement) => statement.write_cql(out),
            Self::DropTable(statement) => statement.write_cql(out),
            Self::CreateType(statement) => statement.write_cql(out),
            Self::AlterType(statement) => statement.write_cql(out),
            Self::DropType(statement) => statement.write_cql(out),
            Self::CreateIndex(statement) => statement.write_cql(out),
            Self::DropIndex(statement) => statement.write_cql(out),
            Self::CreateView(statement) => statement.write_cql(out),
            Self::AlterView(statement) => statement.write_cql(out),
            Self::DropView(statement) => statement.write_cql(out),
            Self::CreateFunction(statement) => statement.write_cql(out),
            Self::DropFunction(statement) => write_drop_function(out, "FUNCTION", statement),
            Self::CreateAggregate(statement) => statement.write_cql(out),
            Self::DropAggregate(statement) => write_drop_function(out, "AGGREGATE", statement),
            Self::CreateTrigger(statement) => statement.write_cql(out),
            Self::DropTrigger(statement) => statement.write_cql(out),
            Self::CreateRole(statement) => statement.write_cql(out),
            Self::AlterRole(statement) => statement.write_cql(out),
            Self::DropRole(statement) => statement.write_cql(out),
            Self::CreateUser(statement) => statement.write_cql(out),
            Self::AlterUser(statement) => statement.write_cql(out),
            Self::DropUser(statement) => write_drop_user(out, statement),
            Self::Identity(statement) => statement.write_cql(out),
            Self::GrantPermissions(statement) => statement.write_cql(out),
            Self::RevokePermissions(statement) => statement.write_cql(out),
            Self::GrantRole(statement) => statement.write_cql(out),
            Self::RevokeRole(statement) => statement.write_cql(out),
            Self::ListPermissions(statement) => statement.write_cql(out),
            Self::ListRoles(statement) => statement.write_cql(out),
            Self::ListUsers => out.write_str("LIST USERS"),
            Self::Describe(statement) => statement.write_cql(out),
        }
    }
}

impl ToCql for DescribeTarget {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        let (words, name) = match self {
            Self::Cluster => return out.write_str("CLUSTER"),
            Self::Schema { full: true } => return out.write_str("FULL SCHEMA"),
            Self::Schema { full: false } => return out.write_str("SCHEMA"),
            Self::Keyspaces => return out.write_str("KEYSPACES"),
            Self::Tables => return out.write_str("TABLES"),
            Self::Types => return out.write_str("TYPES"),
            Self::Functions => return out.write_str("FUNCTIONS"),
            Self::Aggregates => return out.write_str("AGGREGATES"),
            Self::Keyspace { name, only } => {
                out.write_str(if *only { "ONLY KEYSPACE" } else { "KEYSPACE" })?;
                let Some(name) = name else { return Ok(()) };
                out.write_str(" ")?;
                return name.write_cql(out);
            }
            Self::Type(name) => {
                out.write_str("TYPE ")?;
                return write_user_type(out, name);
            }
            Self::Function(name) => {
                out.write_str("FUNCTION ")?;
                return write_function_name(out, name);
            }
            Self::Aggregate(name) => {
                out.write_str("AGGREGATE ")?;
                return write_function_name(out, name);
            }
            Self::Table(name) => ("TABLE ", name),
            Self::Index(name) => ("INDEX ", name),
            Self::View(name) => ("MATERIALIZED VIEW ", name),
            Self::Any(name) => return write_any(out, name),
        };
        out.write_str(words)?;
        name.write_cql(out)
    }
}

/// A bare name must not be taken for one of the words above: it is always quoted.
fn write_any(out: &mut CqlText<'_>, name: &crate::ast::identifier::QualifiedName) -> fmt::Result {
    if let Some(keyspace) = &name.keyspace {
        write!(out, "\"{}\".", keyspace.as_str().replace('"', "\"\""))?;
    }
    write!(out, "\"{}\"", name.name.as_str().replace('"', "\"\""))
}

impl ToCql for Describe {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("DESCRIBE ")?;
        self.target.write_cql(out)?;
        write_if(out, self.with_internals, " WITH INTERNALS")
    }
}
