//! Options after WITH.

use std::collections::BTreeSet;

use super::name::is_unreserved;
use super::{Parsed, Parser};
use crate::ast::definition::{ClusteringOrder, Property, PropertyValue};
use crate::ast::term::{Literal, Term};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `property (AND property)*`.
    pub(super) fn properties(&mut self) -> Parsed<Vec<Property>> {
        let mut properties = Vec::new();
        loop {
            self.property(&mut properties)?;
            if !self.accept(TokenKind::And) {
                return Ok(properties);
            }
        }
    }

    pub(super) fn property(&mut self, properties: &mut Vec<Property>) -> Parsed<()> {
        let name = self.identifier()?;
        self.expect(TokenKind::Eq)?;
        let value = match self.kind() {
            TokenKind::LeftBrace => PropertyValue::Map(self.literal_map()?),
            kind if is_unreserved(kind) => {
                let word = self.here().to_lowercase();
                self.at += 1;
                PropertyValue::Keyword(word.into_boxed_str())
            }
            _ => PropertyValue::Literal(self.literal()?),
        };
        if !self.property_names.insert(name.as_str().into()) {
            self.refuse(|| format!("Multiple definitions for property '{}'", name.as_str()));
        }
        properties.push(Property { name, value });
        Ok(())
    }

    /// `{key: value, …}` of constants.
    pub(super) fn literal_map(&mut self) -> Parsed<Vec<(Literal, Literal)>> {
        self.expect(TokenKind::LeftBrace)?;
        let entries = self.list_until(TokenKind::RightBrace, Self::map_entry)?;
        let mut literals: Vec<(Literal, Literal)> = Vec::with_capacity(entries.len());
        let mut keys: BTreeSet<Box<str>> = BTreeSet::new();
        for entry in entries {
            match entry {
                (Term::Literal(key), Term::Literal(value)) => {
                    if !keys.insert(key.text.clone()) {
                        self.refuse(|| format!("Multiple definition for property {}", key.text));
                    }
                    literals.push((key, value));
                }
                (Term::Literal(key), value) => {
                    self.refuse(|| {
                        let key = Term::Literal(key);
                        format!("Invalid property value: {value} for property: {key}{}", bind_remark(&value))
                    });
                    break;
                }
                (key, _) => {
                    self.refuse(|| format!("Invalid property name: {key}{}", bind_remark(&key)));
                    break;
                }
            }
        }
        Ok(literals)
    }

    /// `(column ASC | DESC, …)`.
    pub(super) fn clustering_order(&mut self) -> Parsed<Vec<ClusteringOrder>> {
        self.parenthesised(|parser| {
            let column = parser.identifier()?;
            let descending = parser.accept(TokenKind::Desc);
            if !descending {
                parser.expect(TokenKind::Asc)?;
            }
            Ok(ClusteringOrder { column, descending })
        })
    }
}

fn bind_remark(term: &Term) -> &'static str {
    match term {
        Term::Marker(_) => " (bind variables are not supported in DDL queries)",
        _ => "",
    }
}
