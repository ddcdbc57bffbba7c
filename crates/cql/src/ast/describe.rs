//! DESCRIBE.

use super::identifier::{Identifier, QualifiedName};

/// What is described.
#[derive(Clone, Debug, PartialEq)]
pub enum DescribeTarget {
    Cluster,
    Schema {
        full: bool,
    },
    Keyspaces,
    /// Without a name: the session's keyspace. `only`: without its tables.
    Keyspace {
        name: Option<Identifier>,
        only: bool,
    },
    Tables,
    Table(QualifiedName),
    Index(QualifiedName),
    View(QualifiedName),
    Types,
    Type(QualifiedName),
    Functions,
    Function(QualifiedName),
    Aggregates,
    Aggregate(QualifiedName),
    /// A bare name: keyspace, table, index or view, whichever exists.
    Any(QualifiedName),
}

/// `DESCRIBE target [WITH INTERNALS]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Describe {
    pub target: DescribeTarget,
    pub with_internals: bool,
}
