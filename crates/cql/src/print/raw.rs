//! Cassandra's raw text: what its messages and result column names print.
//!
//! Source: `getText`, `toString` and `toCQLString` of `cql3.Term.Raw`, `Relation`, `CQL3Type.Raw`, `selection.Selectable`
//! in Cassandra 5.0. Strings are not escaped and markers are bare `?`, so the text is for people only.

use std::fmt::{self, Display, Formatter};

use crate::ast::identifier::{Identifier, QualifiedName};
use crate::ast::relation::{InValues, Operator, Relation};
use crate::ast::selector::Selector;
use crate::ast::term::{Arithmetic, Literal, LiteralKind, Marker, Term};
use crate::ast::type_name::{NativeType, TypeName};
use crate::keyword::maybe_quote;
use crate::print::hash_order::hash_order;

fn list<T: Display>(f: &mut Formatter<'_>, open: &str, items: &[T], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        item.fmt(f)?;
    }
    f.write_str(close)
}

/// The name without quotes, as messages print it; `to_cql` quotes.
impl Display for Identifier {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `keyspace.name` without quotes.
impl Display for QualifiedName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(keyspace) = &self.keyspace {
            write!(f, "{keyspace}.")?;
        }
        self.name.fmt(f)
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            LiteralKind::String => write!(f, "'{}'", self.text),
            _ => f.write_str(&self.text),
        }
    }
}

impl Display for Marker {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("?")
    }
}

impl Display for NativeType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Whether the type stands where everything must be frozen: inside a frozen collection or a tuple.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Frozen,
}

impl Display for TypeName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_type(f, self, Place::Free)
    }
}

/// Freezing reaches inwards, and Cassandra prints it at every collection and user type that it reaches. Tuples freeze
/// their elements, vectors leave theirs alone, and neither says that it is frozen itself.
fn write_type(f: &mut Formatter<'_>, type_name: &TypeName, place: Place) -> fmt::Result {
    match type_name {
        TypeName::Native(native) => native.fmt(f),
        TypeName::Custom(class) => write!(f, "'{class}'"),
        TypeName::Frozen(inner) => write_type(f, inner, Place::Frozen),
        TypeName::Vector(element, dimension) => {
            f.write_str("vector<")?;
            write_type(f, element, Place::Free)?;
            write!(f, ", {dimension}>")
        }
        TypeName::Tuple(elements) => {
            f.write_str("tuple<")?;
            for (index, element) in elements.iter().enumerate() {
                f.write_str(if index > 0 { ", " } else { "" })?;
                write_type(f, element, Place::Frozen)?;
            }
            f.write_str(">")
        }
        TypeName::UserType(name) if place == Place::Frozen => write!(f, "frozen<{name}>"),
        TypeName::UserType(name) => name.fmt(f),
        TypeName::List(element) => write_collection(f, "list", &[element], place),
        TypeName::Set(element) => write_collection(f, "set", &[element], place),
        TypeName::Map(key, value) => write_collection(f, "map", &[key, value], place),
    }
}

fn write_collection(f: &mut Formatter<'_>, name: &str, parameters: &[&TypeName], place: Place) -> fmt::Result {
    f.write_str(if place == Place::Frozen { "frozen<" } else { "" })?;
    write!(f, "{name}<")?;
    for (index, parameter) in parameters.iter().enumerate() {
        f.write_str(if index > 0 { ", " } else { "" })?;
        write_type(f, parameter, place)?;
    }
    f.write_str(if place == Place::Frozen { ">>" } else { ">" })
}

fn operator_call(f: &mut Formatter<'_>, operator: Arithmetic, left: &Term, right: &Term) -> fmt::Result {
    write!(f, "system.\"{}\"({left}, {right})", operator.function_name())
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => literal.fmt(f),
            Self::Null => f.write_str("NULL"),
            Self::Marker(marker) => marker.fmt(f),
            Self::List(elements) => list(f, "[", elements, "]"),
            Self::Set(elements) => list(f, "{", elements, "}"),
            Self::Map(entries) => entry_list(f, entries),
            Self::UserType(fields) => entry_list(f, hash_order(fields, |(name, _)| name.as_str())),
            Self::Tuple(elements) => list(f, "(", elements, ")"),
            Self::Function { name, arguments } => {
                if name.keyspace.is_some() || name.name.as_str() != "token" {
                    if let Some(keyspace) = &name.keyspace {
                        write!(f, "{}.", maybe_quote(keyspace.as_str()))?;
                    }
                    f.write_str(&maybe_quote(name.name.as_str()))?;
                } else {
                    f.write_str("token")?;
                }
                list(f, "(", arguments, ")")
            }
            Self::TypeHint { type_name, term } => write!(f, "({type_name}){term}"),
            Self::Cast { term, target } => write!(f, "system.cast_as_{target}({term})"),
            Self::Binary { operator, left, right } => operator_call(f, *operator, left, right),
            Self::Negation(term) => write!(f, "system.\"_negate\"({term})"),
        }
    }
}

fn entry_list<'e, K: Display + 'e, V: Display + 'e>(
    f: &mut Formatter<'_>,
    entries: impl IntoIterator<Item = &'e (K, V)>,
) -> fmt::Result {
    f.write_str("{")?;
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{key}: {value}")?;
    }
    f.write_str("}")
}

impl Display for InValues {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Marker(marker) => marker.fmt(f),
            Self::Terms(terms) => list(f, "(", terms, ")"),
        }
    }
}

/// Columns as a tuple, quoted where CQL needs it.
struct Columns<'a>(&'a [Identifier]);

impl Display for Columns<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let quoted: Vec<_> = self.0.iter().map(|column| maybe_quote(column.as_str())).collect();
        list(f, "(", &quoted, ")")
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column { column, operator, value } => {
                write!(f, "{} {operator} {value}", maybe_quote(column.as_str()))
            }
            Self::IsNotNull { column } => write!(f, "{} IS NOT NULL", maybe_quote(column.as_str())),
            Self::In { column, values } => write!(f, "{} IN {values}", maybe_quote(column.as_str())),
            Self::MapEntry { column, key, operator, value } => {
                write!(f, "{}[{key}] {operator} {value}", maybe_quote(column.as_str()))
            }
            Self::Token { columns, operator, value } => write!(f, "token{} {operator} {value}", Columns(columns)),
            Self::Tuple { columns, operator, value } => write!(f, "{} {operator} {value}", Columns(columns)),
            Self::TupleIn { columns, values } => write!(f, "{} IN {values}", Columns(columns)),
            Self::IndexExpression { index, value } => {
                f.write_str("expr(")?;
                if let Some(keyspace) = &index.keyspace {
                    write!(f, "{}.", maybe_quote(keyspace.as_str()))?;
                }
                write!(f, "{},{value})", maybe_quote(index.name.as_str()))
            }
        }
    }
}

/// The result column name, functions without a keyspace taken for native ones: `system.sum(d)`.
impl Display for Selector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => column.fmt(f),
            Self::Term(term) => term.fmt(f),
            Self::CountRows => f.write_str("count"),
            Self::CellAttribute { attribute, selector } => write!(f, "{}({selector})", attribute.name()),
            Self::Cast { selector, target } => write!(f, "cast({selector} as {target})"),
            Self::Function { name, arguments } => {
                match &name.keyspace {
                    Some(keyspace) => write!(f, "{keyspace}.{}", name.name)?,
                    None => write!(f, "system.{}", name.name)?,
                }
                list(f, "(", arguments, ")")
            }
            Self::Binary { operator, left, right } => write!(f, "{left} {} {right}", operator.sign()),
            Self::Negation(selector) => write!(f, "-{selector}"),
            Self::Field { selector, field } => write!(f, "{selector}.{field}"),
            Self::Element { selector, element } => write!(f, "{selector}[{element}]"),
            Self::Slice { selector, from, to } => {
                write!(f, "{selector}[")?;
                if let Some(from) = from {
                    from.fmt(f)?;
                }
                f.write_str("..")?;
                if let Some(to) = to {
                    to.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::TypeHint { type_name, selector } => write!(f, "({type_name}){selector}"),
            Self::Tuple(elements) => list(f, "(", elements, ")"),
            Self::List(elements) => list(f, "[", elements, "]"),
            Self::Set(elements) => list(f, "{", elements, "}"),
            Self::MapOrUserType(entries) => entry_list(f, entries),
        }
    }
}
