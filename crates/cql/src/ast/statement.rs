//! The statement as a whole: one variant a statement form, and the questions that need no match.

use super::access::{
    AlterRole, AlterUser, CreateRole, CreateUser, DropRole, GrantPermissions, GrantRole, IdentityStatement,
    ListPermissions, ListRoles, Resource, RevokePermissions, RevokeRole,
};
use super::definition::{
    AlterKeyspace, AlterTable, AlterType, AlterView, CreateAggregate, CreateFunction, CreateIndex, CreateKeyspace,
    CreateTable, CreateTrigger, CreateType, CreateView, DropFunction, DropIndex, DropKeyspace, DropTable, DropTrigger,
    DropType, DropView,
};
use super::describe::Describe;
use super::identifier::{Identifier, QualifiedName};
use super::modification::{Batch, Delete, Insert, InsertJson, Update};
use super::select::Select;

/// A statement with its bind markers.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedStatement {
    pub statement: Statement,
    /// In order of appearance; [`Marker::index`](crate::Marker::index) points in here.
    pub markers: Vec<BindMarker>,
}

/// `?` or `:name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindMarker {
    pub name: Option<Identifier>,
}

/// One CQL statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Select(Select),
    Insert(Insert),
    InsertJson(InsertJson),
    Update(Update),
    Delete(Delete),
    Batch(Batch),
    Use(Identifier),
    Truncate(QualifiedName),
    CreateKeyspace(CreateKeyspace),
    AlterKeyspace(AlterKeyspace),
    DropKeyspace(DropKeyspace),
    CreateTable(CreateTable),
    AlterTable(AlterTable),
    DropTable(DropTable),
    CreateType(CreateType),
    AlterType(AlterType),
    DropType(DropType),
    CreateIndex(CreateIndex),
    DropIndex(DropIndex),
    CreateView(CreateView),
    AlterView(AlterView),
    DropView(DropView),
    CreateFunction(CreateFunction),
    DropFunction(DropFunction),
    CreateAggregate(CreateAggregate),
    DropAggregate(DropFunction),
    CreateTrigger(CreateTrigger),
    DropTrigger(DropTrigger),
    CreateRole(CreateRole),
    AlterRole(AlterRole),
    DropRole(DropRole),
    CreateUser(CreateUser),
    AlterUser(AlterUser),
    DropUser(DropRole),
    Identity(IdentityStatement),
    GrantPermissions(GrantPermissions),
    RevokePermissions(RevokePermissions),
    GrantRole(GrantRole),
    RevokeRole(RevokeRole),
    ListPermissions(ListPermissions),
    ListRoles(ListRoles),
    ListUsers,
    Describe(Describe),
}

/// The form of a statement, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatementKind {
    Select,
    Insert,
    InsertJson,
    Update,
    Delete,
    Batch,
    Use,
    Truncate,
    CreateKeyspace,
    AlterKeyspace,
    DropKeyspace,
    CreateTable,
    AlterTable,
    DropTable,
    CreateType,
    AlterType,
    DropType,
    CreateIndex,
    DropIndex,
    CreateView,
    AlterView,
    DropView,
    CreateFunction,
    DropFunction,
    CreateAggregate,
    DropAggregate,
    CreateTrigger,
    DropTrigger,
    CreateRole,
    AlterRole,
    DropRole,
    CreateUser,
    AlterUser,
    DropUser,
    Identity,
    GrantPermissions,
    RevokePermissions,
    GrantRole,
    RevokeRole,
    ListPermissions,
    ListRoles,
    ListUsers,
    Describe,
}

impl StatementKind {
    /// The statement's leading keywords.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert | Self::InsertJson => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Batch => "BATCH",
            Self::Use => "USE",
            Self::Truncate => "TRUNCATE",
            Self::CreateKeyspace => "CREATE KEYSPACE",
            Self::AlterKeyspace => "ALTER KEYSPACE",
            Self::DropKeyspace => "DROP KEYSPACE",
            Self::CreateTable => "CREATE TABLE",
            Self::AlterTable => "ALTER TABLE",
            Self::DropTable => "DROP TABLE",
            Self::CreateType => "CREATE TYPE",
            Self::AlterType => "ALTER TYPE",
            Self::DropType => "DROP TYPE",
            Self::CreateIndex => "CREATE INDEX",
            Self::DropIndex => "DROP INDEX",
            Self::CreateView => "CREATE MATERIALIZED VIEW",
            Self::AlterView => "ALTER MATERIALIZED VIEW",
            Self::DropView => "DROP MATERIALIZED VIEW",
            Self::CreateFunction => "CREATE FUNCTION",
            Self::DropFunction => "DROP FUNCTION",
            Self::CreateAggregate => "CREATE AGGREGATE",
            Self::DropAggregate => "DROP AGGREGATE",
            Self::CreateTrigger => "CREATE TRIGGER",
            Self::DropTrigger => "DROP TRIGGER",
            Self::CreateRole => "CREATE ROLE",
            Self::AlterRole => "ALTER ROLE",
            Self::DropRole => "DROP ROLE",
            Self::CreateUser => "CREATE USER",
            Self::AlterUser => "ALTER USER",
            Self::DropUser => "DROP USER",
            Self::Identity => "IDENTITY",
            Self::GrantPermissions | Self::GrantRole => "GRANT",
            Self::RevokePermissions | Self::RevokeRole => "REVOKE",
            Self::ListPermissions => "LIST PERMISSIONS",
            Self::ListRoles => "LIST ROLES",
            Self::ListUsers => "LIST USERS",
            Self::Describe => "DESCRIBE",
        }
    }
}

impl Statement {
    /// Which form it has.
    #[must_use]
    pub fn kind(&self) -> StatementKind {
        match self {
            Self::Select(_) => StatementKind::Select,
            Self::Insert(_) => StatementKind::Insert,
            Self::InsertJson(_) => StatementKind::InsertJson,
            Self::Update(_) => StatementKind::Update,
            Self::Delete(_) => StatementKind::Delete,
            Self::Batch(_) => StatementKind::Batch,
            Self::Use(_) => StatementKind::Use,
            Self::Truncate(_) => StatementKind::Truncate,
            Self::CreateKeyspace(_) => StatementKind::CreateKeyspace,
            Self::AlterKeyspace(_) => StatementKind::AlterKeyspace,
            Self::DropKeyspace(_) => StatementKind::DropKeyspace,
            Self::CreateTable(_) => StatementKind::CreateTable,
            Self::AlterTable(_) => StatementKind::AlterTable,
            Self::DropTable(_) => StatementKind::DropTable,
            Self::CreateType(_) => StatementKind::CreateType,
            Self::AlterType(_) => StatementKind::AlterType,
            Self::DropType(_) => StatementKind::DropType,
            Self::CreateIndex(_) => StatementKind::CreateIndex,
            Self::DropIndex(_) => StatementKind::DropIndex,
            Self::CreateView(_) => StatementKind::CreateView,
            Self::AlterView(_) => StatementKind::AlterView,
            Self::DropView(_) => StatementKind::DropView,
            Self::CreateFunction(_) => StatementKind::CreateFunction,
            Self::DropFunction(_) => StatementKind::DropFunction,
            Self::CreateAggregate(_) => StatementKind::CreateAggregate,
            Self::DropAggregate(_) => StatementKind::DropAggregate,
            Self::CreateTrigger(_) => StatementKind::CreateTrigger,
            Self::DropTrigger(_) => StatementKind::DropTrigger,
            Self::CreateRole(_) => StatementKind::CreateRole,
            Self::AlterRole(_) => StatementKind::AlterRole,
            Self::DropRole(_) => StatementKind::DropRole,
            Self::CreateUser(_) => StatementKind::CreateUser,
            Self::AlterUser(_) => StatementKind::AlterUser,
            Self::DropUser(_) => StatementKind::DropUser,
            Self::Identity(_) => StatementKind::Identity,
            Self::GrantPermissions(_) => StatementKind::GrantPermissions,
            Self::RevokePermissions(_) => StatementKind::RevokePermissions,
            Self::GrantRole(_) => StatementKind::GrantRole,
            Self::RevokeRole(_) => StatementKind::RevokeRole,
            Self::ListPermissions(_) => StatementKind::ListPermissions,
            Self::ListRoles(_) => StatementKind::ListRoles,
            Self::ListUsers => StatementKind::ListUsers,
            Self::Describe(_) => StatementKind::Describe,
        }
    }

    /// The table (base table for index, trigger and view creation; view for ALTER and DROP of a view) that it is about.
    /// A batch has many: ask its statements.
    #[must_use]
    pub fn table(&self) -> Option<&QualifiedName> {
        match self {
            Self::Select(statement) => Some(&statement.table),
            Self::Insert(statement) => Some(&statement.table),
            Self::InsertJson(statement) => Some(&statement.table),
            Self::Update(statement) => Some(&statement.table),
            Self::Delete(statement) => Some(&statement.table),
            Self::Truncate(table) => Some(table),
            Self::CreateTable(statement) => Some(&statement.table),
            Self::AlterTable(statement) => Some(&statement.table),
            Self::DropTable(statement) => Some(&statement.table),
            Self::CreateIndex(statement) => Some(&statement.table),
            Self::CreateView(statement) => Some(&statement.base),
            Self::AlterView(statement) => Some(&statement.view),
            Self::DropView(statement) => Some(&statement.view),
            Self::CreateTrigger(statement) => Some(&statement.table),
            Self::DropTrigger(statement) => Some(&statement.table),
            Self::GrantPermissions(GrantPermissions { resource: Resource::Table(table), .. })
            | Self::RevokePermissions(RevokePermissions { resource: Resource::Table(table), .. })
            | Self::ListPermissions(ListPermissions { resource: Some(Resource::Table(table)), .. }) => Some(table),
            _ => None,
        }
    }

    /// The keyspace that the statement names, if it names one; otherwise the session's applies.
    #[must_use]
    pub fn keyspace(&self) -> Option<&Identifier> {
        match self {
            Self::Use(keyspace) => Some(keyspace),
            Self::CreateKeyspace(statement) => Some(&statement.name),
            Self::AlterKeyspace(statement) => Some(&statement.name),
            Self::DropKeyspace(statement) => Some(&statement.name),
            Self::CreateType(statement) => statement.name.keyspace.as_ref(),
            Self::AlterType(statement) => statement.name.keyspace.as_ref(),
            Self::DropType(statement) => statement.name.keyspace.as_ref(),
            Self::DropIndex(statement) => statement.name.keyspace.as_ref(),
            Self::CreateFunction(statement) => statement.name.keyspace.as_ref(),
            Self::CreateAggregate(statement) => statement.name.keyspace.as_ref(),
            Self::DropFunction(statement) | Self::DropAggregate(statement) => statement.name.keyspace.as_ref(),
            _ => self.table().and_then(|table| table.keyspace.as_ref()),
        }
    }

    /// Whether it changes the schema: keyspaces, tables, types, indexes, views, functions, triggers.
    #[must_use]
    pub fn is_schema_change(&self) -> bool {
        matches!(
            self.kind(),
            StatementKind::CreateKeyspace
                | StatementKind::AlterKeyspace
                | StatementKind::DropKeyspace
                | StatementKind::CreateTable
                | StatementKind::AlterTable
                | StatementKind::DropTable
                | StatementKind::CreateType
                | StatementKind::AlterType
                | StatementKind::DropType
                | StatementKind::CreateIndex
                | StatementKind::DropIndex
                | StatementKind::CreateView
                | StatementKind::AlterView
                | StatementKind::DropView
                | StatementKind::CreateFunction
                | StatementKind::DropFunction
                | StatementKind::CreateAggregate
                | StatementKind::DropAggregate
                | StatementKind::CreateTrigger
                | StatementKind::DropTrigger
        )
    }
}
