//! Relations: the conjuncts of a WHERE clause.

use super::identifier::{Identifier, QualifiedName};
use super::term::{Marker, Term};

/// A comparison between a column, map entry, tuple or token and one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    Like,
    Contains,
    ContainsKey,
}

impl Operator {
    /// The operator as Cassandra prints it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::NotEq => "!=",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
            Self::Like => "LIKE",
            Self::Contains => "CONTAINS",
            Self::ContainsKey => "CONTAINS KEY",
        }
    }
}

/// The right side of IN.
#[derive(Clone, Debug, PartialEq)]
pub enum InValues {
    /// `IN ?`: one marker that stands for the whole list.
    Marker(Marker),
    /// `IN (a, b)`; may be empty. After a tuple of columns every term is a [`Term::Tuple`] or a [`Term::Marker`].
    Terms(Vec<Term>),
}

/// One conjunct of WHERE. Parentheses around a relation leave no trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// `column operator value`; every [`Operator`] may stand here.
    Column { column: Identifier, operator: Operator, value: Term },
    /// `column IS NOT NULL`.
    IsNotNull { column: Identifier },
    /// `column IN …`.
    In { column: Identifier, values: InValues },
    /// `column[key] operator value`.
    MapEntry { column: Identifier, key: Term, operator: Operator, value: Term },
    /// `token(columns) operator value`.
    Token { columns: Vec<Identifier>, operator: Operator, value: Term },
    /// `(columns) operator value`; the value is a [`Term::Tuple`] or a [`Term::Marker`].
    Tuple { columns: Vec<Identifier>, operator: Operator, value: Term },
    /// `(columns) IN …`.
    TupleIn { columns: Vec<Identifier>, values: InValues },
    /// `expr(index, value)`: an expression for a custom index.
    IndexExpression { index: QualifiedName, value: Term },
}
