//! Selectors: what a SELECT or GROUP BY clause computes from a row.

use super::identifier::{Identifier, QualifiedName};
use super::term::{Arithmetic, Term};
use super::type_name::{NativeType, TypeName};

/// Which attribute of a cell a selector reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellAttribute {
    WriteTime,
    MaxWriteTime,
    Ttl,
}

impl CellAttribute {
    /// The function's CQL name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteTime => "writetime",
            Self::MaxWriteTime => "maxwritetime",
            Self::Ttl => "ttl",
        }
    }
}

/// One selected expression, without its alias.
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    Column(Identifier),
    /// A [`Term::Literal`], [`Term::Null`] or [`Term::Marker`]; composed literals have variants of their own below.
    Term(Term),
    /// `count(*)`.
    CountRows,
    /// `writetime(column…)`: `selector` is a column, perhaps with element, slice or field selections on it.
    CellAttribute {
        attribute: CellAttribute,
        selector: Box<Selector>,
    },
    Cast {
        selector: Box<Selector>,
        target: NativeType,
    },
    Function {
        name: QualifiedName,
        arguments: Vec<Selector>,
    },
    Binary {
        operator: Arithmetic,
        left: Box<Selector>,
        right: Box<Selector>,
    },
    Negation(Box<Selector>),
    /// `selector.field`.
    Field {
        selector: Box<Selector>,
        field: Identifier,
    },
    /// `selector[element]`.
    Element {
        selector: Box<Selector>,
        element: Term,
    },
    /// `selector[from..to]`, either end may be open (not both).
    Slice {
        selector: Box<Selector>,
        from: Option<Term>,
        to: Option<Term>,
    },
    /// `(type) selector`.
    TypeHint {
        type_name: TypeName,
        selector: Box<Selector>,
    },
    /// `(a, b)`; with one element either parentheses or a tuple, as the expected type decides.
    Tuple(Vec<Selector>),
    List(Vec<Selector>),
    /// `{a, b}`, also `{}`.
    Set(Vec<Selector>),
    /// `{a: b}`: a map, or a user type when every key is a [`Selector::Column`].
    MapOrUserType(Vec<(Selector, Selector)>),
}
