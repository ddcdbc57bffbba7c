//! SELECT.

use super::identifier::{Identifier, QualifiedName};
use super::relation::Relation;
use super::selector::Selector;
use super::term::{Literal, Term};

/// One entry of the select clause.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectColumn {
    pub selector: Selector,
    pub alias: Option<Identifier>,
}

/// What ORDER BY sorts by.
#[derive(Clone, Debug, PartialEq)]
pub enum OrderingKey {
    Column(Identifier),
    /// `column ANN OF vector`.
    NearestNeighbours {
        column: Identifier,
        vector: Term,
    },
}

/// One entry of ORDER BY; ascending unless DESC was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordering {
    pub key: OrderingKey,
    pub descending: bool,
}

/// One entry of GROUP BY.
pub type Grouping = Selector;

/// A SELECT statement. `columns` is empty for `*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub json: bool,
    pub distinct: bool,
    pub columns: Vec<SelectColumn>,
    pub table: QualifiedName,
    pub relations: Vec<Relation>,
    pub group_by: Vec<Grouping>,
    pub order_by: Vec<Ordering>,
    /// `PER PARTITION LIMIT`: an integer literal or a marker.
    pub per_partition_limit: Option<Term>,
    /// `LIMIT`: an integer literal or a marker.
    pub limit: Option<Term>,
    pub allow_filtering: bool,
    /// `USING TIMEOUT`: a duration literal. Not in Cassandra's grammar; ScyllaDB's drivers end their own reads with it.
    pub timeout: Option<Literal>,
}
