//! Canonical CQL of names, types, terms, selectors and relations.

use std::fmt::{self, Write};

use super::{CqlText, ToCql, write_list, write_separated, write_string};
use crate::ast::identifier::{Identifier, QualifiedName};
use crate::ast::relation::{InValues, Operator, Relation};
use crate::ast::selector::Selector;
use crate::ast::statement::BindMarker;
use crate::ast::term::{Literal, LiteralKind, Marker, Term};
use crate::ast::type_name::TypeName;
use crate::keyword::maybe_quote;

impl ToCql for Identifier {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str(&maybe_quote(self.as_str()))
    }
}

impl ToCql for QualifiedName {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        if let Some(keyspace) = &self.keyspace {
            keyspace.write_cql(out)?;
            out.write_char('.')?;
        }
        self.name.write_cql(out)
    }
}

impl ToCql for Literal {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self.kind {
            LiteralKind::String => write_string(out, &self.text),
            _ => out.write_str(&self.text),
        }
    }
}

impl ToCql for Marker {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match out.markers.get(usize::from(self.index)) {
            Some(marker) => marker.write_cql(out),
            None => out.write_char('?'),
        }
    }
}

impl ToCql for BindMarker {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match &self.name {
            None => out.write_char('?'),
            Some(name) => {
                out.write_char(':')?;
                name.write_cql(out)
            }
        }
    }
}

impl ToCql for TypeName {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Native(native) => out.write_str(native.name()),
            Self::List(element) => wrap(out, "list<", element),
            Self::Set(element) => wrap(out, "set<", element),
            Self::Frozen(inner) => wrap(out, "frozen<", inner),
            Self::Map(key, value) => {
                out.write_str("map<")?;
                key.write_cql(out)?;
                out.write_str(", ")?;
                value.write_cql(out)?;
                out.write_char('>')
            }
            Self::Tuple(elements) => {
                out.write_str("tuple<")?;
                write_list(out, elements)?;
                out.write_char('>')
            }
            Self::Vector(element, dimension) => {
                out.write_str("vector<")?;
                element.write_cql(out)?;
                write!(out, ", {dimension}>")
            }
            Self::UserType(name) => write_user_type(out, name),
            Self::Custom(class) => write_string(out, class),
        }
    }
}

/// Names of native types are words that need no quotes, except where a type is expected.
pub(super) fn write_user_type(out: &mut CqlText<'_>, name: &QualifiedName) -> fmt::Result {
    if let Some(keyspace) = &name.keyspace {
        keyspace.write_cql(out)?;
        out.write_char('.')?;
    }
    let text = name.name.as_str();
    if crate::grammar::is_user_type_word(text) {
        out.write_str(text)
    } else {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    }
}

fn wrap(out: &mut CqlText<'_>, open: &str, inner: &TypeName) -> fmt::Result {
    out.write_str(open)?;
    inner.write_cql(out)?;
    out.write_char('>')
}

fn write_call<T: ToCql>(out: &mut CqlText<'_>, name: &QualifiedName, arguments: &[T]) -> fmt::Result {
    write_function_name(out, name)?;
    out.write_char('(')?;
    write_list(out, arguments)?;
    out.write_char(')')
}

/// `token` is reserved and yet a function; other names are functions unquoted only if the grammar says so.
pub(super) fn write_function_name(out: &mut CqlText<'_>, name: &QualifiedName) -> fmt::Result {
    if let Some(keyspace) = &name.keyspace {
        keyspace.write_cql(out)?;
        out.write_char('.')?;
    }
    write_local_function_name(out, &name.name)
}

pub(super) fn write_local_function_name(out: &mut CqlText<'_>, name: &Identifier) -> fmt::Result {
    let text = name.as_str();
    if crate::grammar::is_function_word(text) {
        out.write_str(text)
    } else {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    }
}

fn write_entries<K: ToCql, V: ToCql>(out: &mut CqlText<'_>, entries: &[(K, V)]) -> fmt::Result {
    out.write_char('{')?;
    write_separated(out, entries, ", ", |out, (key, value)| {
        key.write_cql(out)?;
        out.write_str(": ")?;
        value.write_cql(out)
    })?;
    out.write_char('}')
}

fn write_bracketed<T: ToCql>(out: &mut CqlText<'_>, open: char, items: &[T], close: char) -> fmt::Result {
    out.write_char(open)?;
    write_list(out, items)?;
    out.write_char(close)
}

impl ToCql for Term {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => literal.write_cql(out),
            Self::Null => out.write_str("NULL"),
            Self::Marker(marker) => marker.write_cql(out),
            Self::List(elements) => write_bracketed(out, '[', elements, ']'),
            Self::Set(elements) => write_bracketed(out, '{', elements, '}'),
            Self::Map(entries) => write_entries(out, entries),
            Self::UserType(fields) => write_entries(out, fields),
            Self::Tuple(elements) => write_bracketed(out, '(', elements, ')'),
            Self::Function { name, arguments } => write_call(out, name, arguments),
            Self::TypeHint { type_name, term } => {
                out.write_char('(')?;
                type_name.write_cql(out)?;
                out.write_str(") ")?;
                term.write_cql(out)
            }
            Self::Cast { term, target } => {
                out.write_str("CAST(")?;
                term.write_cql(out)?;
                write!(out, " AS {})", target.name())
            }
            Self::Binary { operator, left, right } => {
                left.write_cql(out)?;
                write!(out, " {} ", operator.sign())?;
                right.write_cql(out)
            }
            // The space keeps the sign apart from a number: "-3" is one token, "--" a comment.
            Self::Negation(term) => {
                out.write_str("- ")?;
                term.write_cql(out)
            }
        }
    }
}

impl ToCql for InValues {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Marker(marker) => marker.write_cql(out),
            Self::Terms(terms) => write_bracketed(out, '(', terms, ')'),
        }
    }
}

fn write_comparison(out: &mut CqlText<'_>, operator: Operator, value: &Term) -> fmt::Result {
    write!(out, " {} ", operator.text())?;
    value.write_cql(out)
}

impl ToCql for Relation {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Column { column, operator, value } => {
                column.write_cql(out)?;
                write_comparison(out, *operator, value)
            }
            Self::IsNotNull { column } => {
                column.write_cql(out)?;
                out.write_str(" IS NOT NULL")
            }
            Self::In { column, values } => {
                column.write_cql(out)?;
                out.write_str(" IN ")?;
                values.write_cql(out)
            }
            Self::MapEntry { column, key, operator, value } => {
                column.write_cql(out)?;
                out.write_char('[')?;
                key.write_cql(out)?;
                out.write_char(']')?;
                write_comparison(out, *operator, value)
            }
            Self::Token { columns, operator, value } => {
                out.write_str("token")?;
                write_bracketed(out, '(', columns, ')')?;
                write_comparison(out, *operator, value)
            }
            Self::Tuple { columns, operator, value } => {
                write_bracketed(out, '(', columns, ')')?;
                write_comparison(out, *operator, value)
            }
            Self::TupleIn { columns, values } => {
                write_bracketed(out, '(', columns, ')')?;
                out.write_str(" IN ")?;
                values.write_cql(out)
            }
            Self::IndexExpression { index, value } => {
                out.write_str("expr(")?;
                index.write_cql(out)?;
                out.write_str(", ")?;
                value.write_cql(out)?;
                out.write_char(')')
            }
        }
    }
}

impl ToCql for Selector {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => column.write_cql(out),
            Self::Term(term) => term.write_cql(out),
            Self::CountRows => out.write_str("count(*)"),
            Self::CellAttribute { attribute, selector } => {
                write!(out, "{}(", attribute.name())?;
                selector.write_cql(out)?;
                out.write_char(')')
            }
            Self::Cast { selector, target } => {
                out.write_str("CAST(")?;
                selector.write_cql(out)?;
                write!(out, " AS {})", target.name())
            }
            Self::Function { name, arguments } => write_call(out, name, arguments),
            Self::Binary { operator, left, right } => {
                left.write_cql(out)?;
                write!(out, " {} ", operator.sign())?;
                right.write_cql(out)
            }
            Self::Negation(selector) => {
                out.write_str("- ")?;
                selector.write_cql(out)
            }
            Self::Field { selector, field } => {
                selector.write_cql(out)?;
                out.write_char('.')?;
                field.write_cql(out)
            }
            Self::Element { selector, element } => {
                selector.write_cql(out)?;
                out.write_char('[')?;
                element.write_cql(out)?;
                out.write_char(']')
            }
            Self::Slice { selector, from, to } => {
                selector.write_cql(out)?;
                out.write_char('[')?;
                if let Some(from) = from {
                    from.write_cql(out)?;
                }
                // Spaces: "1.." would read the dot as part of a number after a float.
                out.write_str(" .. ")?;
                if let Some(to) = to {
                    to.write_cql(out)?;
                }
                out.write_char(']')
            }
            Self::TypeHint { type_name, selector } => {
                out.write_char('(')?;
                type_name.write_cql(out)?;
                out.write_str(") ")?;
                selector.write_cql(out)
            }
            Self::Tuple(elements) => write_bracketed(out, '(', elements, ')'),
            Self::List(elements) => write_bracketed(out, '[', elements, ']'),
            Self::Set(elements) => write_bracketed(out, '{', elements, '}'),
            Self::MapOrUserType(entries) => write_entries(out, entries),
        }
    }
}
