//! INSERT, UPDATE, DELETE and BATCH.

use super::identifier::{Identifier, QualifiedName};
use super::relation::{InValues, Operator, Relation};
use super::term::{Marker, Term};

/// `USING TIMESTAMP … AND TTL …`: integer literals or markers. Of a repeated attribute the last one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Using {
    pub timestamp: Option<Term>,
    pub ttl: Option<Term>,
}

/// `INSERT INTO table (columns) VALUES (values)`. The two lists may differ in length: the reader checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub table: QualifiedName,
    pub columns: Vec<Identifier>,
    pub values: Vec<Term>,
    pub if_not_exists: bool,
    pub using: Using,
}

/// The document of INSERT … JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue {
    Text(Box<str>),
    Marker(Marker),
}

/// `INSERT INTO table JSON value [DEFAULT NULL | UNSET]`.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertJson {
    pub table: QualifiedName,
    pub value: JsonValue,
    /// `DEFAULT UNSET`: columns that the document leaves out keep their value instead of becoming null.
    pub default_unset: bool,
    pub if_not_exists: bool,
    pub using: Using,
}

/// What one assignment does to its column.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `c = value`.
    Set(Term),
    /// `c = c + value` and `c += value`; `c = c - 3` without a space before the 3 adds the literal `-3`.
    Add(Term),
    /// `c = c - value` and `c -= value`.
    Subtract(Term),
    /// `c = value + c`.
    Prepend(Term),
    /// `c[key] = value`.
    SetElement { key: Term, value: Term },
    /// `c.field = value`.
    SetField { field: Identifier, value: Term },
}

/// One entry of UPDATE … SET.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub column: Identifier,
    pub operation: Operation,
}

/// Which part of its column a condition looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionPath {
    Whole,
    Element(Term),
    Field(Identifier),
}

/// What a condition asks.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionTest {
    /// A comparison; `Contains` and `ContainsKey` only of a whole column, `Like` never.
    Compare {
        operator: Operator,
        value: Term,
    },
    In(InValues),
}

/// One conjunct after IF.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub column: Identifier,
    pub path: ConditionPath,
    pub test: ConditionTest,
}

/// The IF clause of UPDATE and DELETE.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Conditions {
    #[default]
    None,
    IfExists,
    /// At least one.
    If(Vec<Condition>),
}

/// `UPDATE table SET assignments WHERE relations`.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub table: QualifiedName,
    pub using: Using,
    pub assignments: Vec<Assignment>,
    pub relations: Vec<Relation>,
    pub conditions: Conditions,
}

/// One thing that DELETE removes from each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Deletion {
    Column(Identifier),
    Element { column: Identifier, key: Term },
    Field { column: Identifier, field: Identifier },
}

impl Deletion {
    /// The column that loses something.
    #[must_use]
    pub fn column(&self) -> &Identifier {
        match self {
            Self::Column(column) | Self::Element { column, .. } | Self::Field { column, .. } => column,
        }
    }
}

/// `DELETE deletions FROM table WHERE relations`; no deletions means whole rows. `using.ttl` is never set.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub deletions: Vec<Deletion>,
    pub table: QualifiedName,
    pub using: Using,
    pub relations: Vec<Relation>,
    pub conditions: Conditions,
}

/// What may stand in a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Modification {
    Insert(Insert),
    InsertJson(InsertJson),
    Update(Update),
    Delete(Delete),
}

impl Modification {
    /// The table that it writes.
    #[must_use]
    pub fn table(&self) -> &QualifiedName {
        match self {
            Self::Insert(insert) => &insert.table,
            Self::InsertJson(insert) => &insert.table,
            Self::Update(update) => &update.table,
            Self::Delete(delete) => &delete.table,
        }
    }
}

/// How a batch is made atomic, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BatchKind {
    Logged,
    Unlogged,
    Counter,
}

/// `BEGIN BATCH … APPLY BATCH`, perhaps empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub kind: BatchKind,
    pub using: Using,
    pub statements: Vec<Modification>,
}
