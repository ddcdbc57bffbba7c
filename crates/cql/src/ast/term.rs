//! Terms: everything that stands for a value in WHERE, VALUES, SET and IF.

use super::identifier::{Identifier, QualifiedName};
use super::type_name::{NativeType, TypeName};

/// What the text of a literal looked like; its CQL type is decided where it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LiteralKind {
    String,
    Integer,
    Uuid,
    Float,
    Boolean,
    Hex,
    Duration,
}

impl LiteralKind {
    /// Cassandra's name of the kind, as its messages print it (`Invalid STRING constant (x) for …`).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "STRING",
            Self::Integer => "INTEGER",
            Self::Uuid => "UUID",
            Self::Float => "FLOAT",
            Self::Boolean => "BOOLEAN",
            Self::Hex => "HEX",
            Self::Duration => "DURATION",
        }
    }
}

/// A constant. `text` is the content of a string, doubled quotes resolved; everything else as it was written,
/// apart from `NaN`, `-NaN` (both `NaN`), `Infinity` and `-Infinity`, which have one spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    pub kind: LiteralKind,
    pub text: Box<str>,
}

/// A bind marker by its position in [`ParsedStatement::markers`](crate::ParsedStatement::markers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Marker {
    pub index: u16,
}

/// The five arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    /// The operator's sign.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Modulo => '%',
        }
    }

    /// The native function that Cassandra evaluates the operator with.
    #[must_use]
    pub fn function_name(self) -> &'static str {
        match self {
            Self::Add => "_add",
            Self::Subtract => "_substract",
            Self::Multiply => "_multiply",
            Self::Divide => "_divide",
            Self::Modulo => "_modulo",
        }
    }
}

/// A value as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    Literal(Literal),
    Null,
    Marker(Marker),
    /// `[a, b]`: a list or a vector.
    List(Vec<Term>),
    /// `{a, b}`; `{}` is a set here and may turn out to be a map.
    Set(Vec<Term>),
    Map(Vec<(Term, Term)>),
    /// `{field: value}`.
    UserType(Vec<(Identifier, Term)>),
    /// `(a, b)`; also a single term in parentheses, which Cassandra takes for a tuple unless the type says otherwise.
    Tuple(Vec<Term>),
    Function {
        name: QualifiedName,
        arguments: Vec<Term>,
    },
    /// `(type) term`.
    TypeHint {
        type_name: TypeName,
        term: Box<Term>,
    },
    /// `CAST(term AS type)`.
    Cast {
        term: Box<Term>,
        target: NativeType,
    },
    Binary {
        operator: Arithmetic,
        left: Box<Term>,
        right: Box<Term>,
    },
    Negation(Box<Term>),
}
