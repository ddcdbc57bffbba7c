//! Data definition: keyspaces, tables, types, indexes, views, functions, aggregates, triggers.

use super::identifier::{Identifier, QualifiedName};
use super::relation::Relation;
use super::select::SelectColumn;
use super::term::{Literal, Term};
use super::type_name::TypeName;

/// The value of an option after WITH.
#[derive(Clone, Debug, PartialEq)]
pub enum PropertyValue {
    Literal(Literal),
    /// An unreserved keyword used as a value, in lower case.
    Keyword(Box<str>),
    /// `{'key': 'value'}`: keys are unique, text as Cassandra keeps it (strings without quotes).
    Map(Vec<(Literal, Literal)>),
}

impl PropertyValue {
    /// The text of a simple value; `None` for a map.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Literal(literal) => Some(&literal.text),
            Self::Keyword(text) => Some(text),
            Self::Map(_) => None,
        }
    }
}

/// `name = value` after WITH; names are unique within a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    pub name: Identifier,
    pub value: PropertyValue,
}

/// One column in CLUSTERING ORDER BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusteringOrder {
    pub column: Identifier,
    pub descending: bool,
}

/// `MASKED WITH …`.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnMask {
    /// `MASKED WITH DEFAULT`.
    Default,
    Function {
        name: QualifiedName,
        arguments: Vec<Term>,
    },
}

/// `CREATE KEYSPACE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateKeyspace {
    pub name: Identifier,
    pub if_not_exists: bool,
    pub properties: Vec<Property>,
}

/// `ALTER KEYSPACE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterKeyspace {
    pub name: Identifier,
    pub if_exists: bool,
    pub properties: Vec<Property>,
}

/// `DROP KEYSPACE`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropKeyspace {
    pub name: Identifier,
    pub if_exists: bool,
}

/// One column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    pub name: Identifier,
    pub type_name: TypeName,
    pub is_static: bool,
    pub mask: Option<ColumnMask>,
}

/// `CREATE TABLE`.
///
/// `partition_keys` holds one entry for every PRIMARY KEY that was written, inline or apart: a valid table has exactly
/// one, and saying "none" or "more than one" is the reader's affair, as it is after the parse in Cassandra.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub table: QualifiedName,
    pub if_not_exists: bool,
    pub columns: Vec<ColumnDefinition>,
    pub partition_keys: Vec<Vec<Identifier>>,
    pub clustering_columns: Vec<Identifier>,
    pub properties: Vec<Property>,
    pub clustering_order: Vec<ClusteringOrder>,
    pub compact_storage: bool,
}

/// One column of ALTER TABLE … ADD.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedColumn {
    pub name: Identifier,
    pub type_name: TypeName,
    pub is_static: bool,
    pub mask: Option<ColumnMask>,
}

/// What ALTER TABLE changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableChange {
    /// `ALTER column TYPE type`: parses, and is refused afterwards.
    AlterType {
        column: Identifier,
        type_name: TypeName,
    },
    /// `ALTER [IF EXISTS] column MASKED WITH …`.
    Mask {
        column: Identifier,
        if_exists: bool,
        mask: ColumnMask,
    },
    /// `ALTER [IF EXISTS] column DROP MASKED`.
    Unmask {
        column: Identifier,
        if_exists: bool,
    },
    Add {
        columns: Vec<AddedColumn>,
        if_not_exists: bool,
    },
    /// `timestamp` is in microseconds, as USING TIMESTAMP gave it.
    Drop {
        columns: Vec<Identifier>,
        if_exists: bool,
        timestamp: Option<i64>,
    },
    Rename {
        renames: Vec<(Identifier, Identifier)>,
        if_exists: bool,
    },
    DropCompactStorage,
    Properties(Vec<Property>),
}

/// `ALTER TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub table: QualifiedName,
    pub if_exists: bool,
    pub change: AlterTableChange,
}

/// `DROP TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropTable {
    pub table: QualifiedName,
    pub if_exists: bool,
}

/// `CREATE TYPE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    pub name: QualifiedName,
    pub if_not_exists: bool,
    pub fields: Vec<(Identifier, TypeName)>,
}

/// What ALTER TYPE changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterTypeChange {
    /// `ALTER field TYPE type`: parses, and is refused afterwards.
    AlterField {
        field: Identifier,
        type_name: TypeName,
    },
    Add {
        field: Identifier,
        type_name: TypeName,
        if_not_exists: bool,
    },
    Rename {
        renames: Vec<(Identifier, Identifier)>,
        if_exists: bool,
    },
}

/// `ALTER TYPE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterType {
    pub name: QualifiedName,
    pub if_exists: bool,
    pub change: AlterTypeChange,
}

/// `DROP TYPE`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropType {
    pub name: QualifiedName,
    pub if_exists: bool,
}

/// What part of a column an index covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexTargetKind {
    /// A bare column: values of a collection, the value itself otherwise.
    Simple,
    Values,
    Keys,
    Entries,
    Full,
}

/// One target of CREATE INDEX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexTarget {
    pub kind: IndexTargetKind,
    pub column: Identifier,
}

/// `CREATE [CUSTOM] INDEX`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    pub custom: bool,
    pub if_not_exists: bool,
    /// Without a name the reader makes one; it lives in the table's keyspace.
    pub name: Option<Identifier>,
    pub table: QualifiedName,
    /// May be empty: custom indexes on a whole row.
    pub targets: Vec<IndexTarget>,
    /// `USING 'class'`.
    pub using: Option<Box<str>>,
    pub properties: Vec<Property>,
}

/// `DROP INDEX`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropIndex {
    pub name: QualifiedName,
    pub if_exists: bool,
}

/// `CREATE MATERIALIZED VIEW`; `columns` is empty for `*`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub view: QualifiedName,
    pub if_not_exists: bool,
    pub columns: Vec<SelectColumn>,
    pub base: QualifiedName,
    pub relations: Vec<Relation>,
    pub partition_key: Vec<Identifier>,
    pub clustering_columns: Vec<Identifier>,
    pub properties: Vec<Property>,
    pub clustering_order: Vec<ClusteringOrder>,
}

/// `ALTER MATERIALIZED VIEW`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterView {
    pub view: QualifiedName,
    pub if_exists: bool,
    pub properties: Vec<Property>,
}

/// `DROP MATERIALIZED VIEW`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropView {
    pub view: QualifiedName,
    pub if_exists: bool,
}

/// `CREATE FUNCTION`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    pub name: QualifiedName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub arguments: Vec<(Identifier, TypeName)>,
    /// `CALLED ON NULL INPUT`, as opposed to `RETURNS NULL ON NULL INPUT`.
    pub called_on_null_input: bool,
    pub return_type: TypeName,
    /// In lower case.
    pub language: Box<str>,
    pub body: Box<str>,
}

/// `CREATE AGGREGATE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateAggregate {
    pub name: QualifiedName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub argument_types: Vec<TypeName>,
    pub state_function: Identifier,
    pub state_type: TypeName,
    pub final_function: Option<Identifier>,
    pub initial_condition: Option<Term>,
}

/// `DROP FUNCTION` and `DROP AGGREGATE`. `argument_types` is `None` when no parentheses were written.
#[derive(Clone, Debug, PartialEq)]
pub struct DropFunction {
    pub name: QualifiedName,
    pub if_exists: bool,
    pub argument_types: Option<Vec<TypeName>>,
}

/// `CREATE TRIGGER`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    pub name: Identifier,
    pub if_not_exists: bool,
    pub table: QualifiedName,
    pub class: Box<str>,
}

/// `DROP TRIGGER`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropTrigger {
    pub name: Identifier,
    pub if_exists: bool,
    pub table: QualifiedName,
}
