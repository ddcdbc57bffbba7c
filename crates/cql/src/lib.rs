//! Room `cql` of Helenus: the text of a CQL statement becomes a syntax tree, and a tree becomes text again.
//!
//! Role: [`parse_statement`] accepts exactly the language of Cassandra 5.0 and refuses the rest in Cassandra's own words.
//! Nothing in here knows a schema, performs I/O or panics on any input.
//!
//! # The tree, from the top
//! - [`ParsedStatement`] is a [`Statement`] plus its [`BindMarker`]s, numbered in order of appearance in the text.
//! - [`Statement`] has one variant a statement form, each a plain struct: [`Select`], [`Insert`], [`InsertJson`],
//!   [`Update`], [`Delete`], [`Batch`], [`CreateTable`], [`AlterTable`], … . [`Statement::kind`], [`Statement::table`]
//!   and [`Statement::keyspace`] answer the common questions without a match.
//! - Names are [`Identifier`] (one word: folded to lower case unless quoted, equal when the folded text is),
//!   [`QualifiedName`] (`[keyspace.]name`: tables, types, indexes, functions).
//! - Values in WHERE, VALUES and SET are [`Term`]s; what a SELECT clause names are [`Selector`]s; conditions on rows are
//!   [`Relation`]s in WHERE and [`Condition`]s after IF; types are [`TypeName`]s.
//! - A literal keeps its [`LiteralKind`] and the text it was written in: giving it a type is the reader's affair.
//!
//! # Two ways back to text
//! - `Display` of [`Term`], [`Selector`], [`Relation`], [`TypeName`] is Cassandra's own raw text, as result column names
//!   and error messages quote it (`system.sum(d)`, `m['k']`, `a + b`). It is for people and need not parse again.
//! - [`ToCql::to_cql`] is canonical CQL: parsing it gives an equal tree.
//!
//! # Limits
//! [`NESTING_MAX`] nested literals, selectors, terms or types; [`MARKERS_MAX`] bind markers.

mod ast;
mod diagnose;
mod error;
mod grammar;
mod keyword;
mod lexer;
mod print;
mod token;

pub use ast::access::{
    AlterRole, AlterUser, CreateRole, CreateUser, DatacenterAccess, DropRole, GrantPermissions, GrantRole, Grantee,
    IdentityStatement, ListPermissions, ListRoles, Permission, PermissionSet, Resource, RevokePermissions, RevokeRole,
    RoleOption, RoleOptions,
};
pub use ast::definition::{
    AddedColumn, AlterKeyspace, AlterTable, AlterTableChange, AlterType, AlterTypeChange, AlterView, ClusteringOrder,
    ColumnDefinition, ColumnMask, CreateAggregate, CreateFunction, CreateIndex, CreateKeyspace, CreateTable,
    CreateTrigger, CreateType, CreateView, DropFunction, DropIndex, DropKeyspace, DropTable, DropTrigger, DropType,
    DropView, IndexTarget, IndexTargetKind, Property, PropertyValue,
};
pub use ast::describe::{Describe, DescribeTarget};
pub use ast::identifier::{Identifier, QualifiedName};
pub use ast::modification::{
    Assignment, Batch, BatchKind, Condition, ConditionPath, ConditionTest, Conditions, Delete, Deletion, Insert,
    InsertJson, JsonValue, Modification, Operation, Update, Using,
};
pub use ast::relation::{InValues, Operator, Relation};
pub use ast::select::{Grouping, Ordering, OrderingKey, Select, SelectColumn};
pub use ast::selector::{CellAttribute, Selector};
pub use ast::statement::{BindMarker, ParsedStatement, Statement, StatementKind};
pub use ast::term::{Arithmetic, Literal, LiteralKind, Marker, Term};
pub use ast::type_name::{NativeType, TypeName};
pub use error::{Position, SyntaxError};
pub use grammar::{MARKERS_MAX, NESTING_MAX, parse_statement, parse_term, parse_type};
pub use keyword::{is_reserved, maybe_quote};
pub use print::{CqlText, ToCql, hash_order};
