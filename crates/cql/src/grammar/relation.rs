//! WHERE: relations.

use super::name::is_column;
use super::{Parsed, Parser};
use crate::ast::identifier::{Identifier, QualifiedName};
use crate::ast::relation::{InValues, Operator, Relation};
use crate::ast::term::Term;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `relation (AND relation)*`.
    pub(super) fn where_clause(&mut self) -> Parsed<Vec<Relation>> {
        let mut relations = vec![self.relation_or_expression()?];
        while self.accept(TokenKind::And) {
            relations.push(self.relation_or_expression()?);
        }
        Ok(relations)
    }

    fn relation_or_expression(&mut self) -> Parsed<Relation> {
        if !self.accept(TokenKind::ExprParen) {
            return self.relation();
        }
        let name = self.name_not_bound("index")?;
        self.expect(TokenKind::Comma)?;
        let value = self.term()?;
        self.expect(TokenKind::RightParen)?;
        Ok(Relation::IndexExpression { index: QualifiedName { keyspace: None, name }, value })
    }

    fn relation(&mut self) -> Parsed<Relation> {
        match self.kind() {
            TokenKind::Token => {
                self.at += 1;
                let columns = self.parenthesised(Self::column)?;
                let operator = self.comparison()?;
                Ok(Relation::Token { columns, operator, value: self.term()? })
            }
            TokenKind::LeftParen if self.starts_tuple_of_columns() => self.tuple_relation(),
            TokenKind::LeftParen => {
                self.at += 1;
                self.enter()?;
                let relation = self.relation();
                self.leave();
                let relation = relation?;
                self.expect(TokenKind::RightParen)?;
                Ok(relation)
            }
            _ => self.column_relation(),
        }
    }

    fn starts_tuple_of_columns(&self) -> bool {
        is_column(self.kind_ahead(1)) && matches!(self.kind_ahead(2), TokenKind::Comma | TokenKind::RightParen)
    }

    fn column_relation(&mut self) -> Parsed<Relation> {
        let column = self.column()?;
        match self.kind() {
            TokenKind::Is => {
                self.expect_all(&[TokenKind::Is, TokenKind::Not, TokenKind::Null])?;
                Ok(Relation::IsNotNull { column })
            }
            TokenKind::In => {
                self.at += 1;
                Ok(Relation::In { column, values: self.in_values()? })
            }
            TokenKind::LeftBracket => {
                self.at += 1;
                let key = self.term()?;
                self.expect(TokenKind::RightBracket)?;
                let operator = self.comparison()?;
                Ok(Relation::MapEntry { column, key, operator, value: self.term()? })
            }
            TokenKind::Like => {
                self.at += 1;
                Ok(Relation::Column { column, operator: Operator::Like, value: self.term()? })
            }
            TokenKind::Contains => {
                let operator = self.contains()?;
                Ok(Relation::Column { column, operator, value: self.term()? })
            }
            _ => {
                let operator = self.comparison()?;
                Ok(Relation::Column { column, operator, value: self.term()? })
            }
        }
    }

    fn tuple_relation(&mut self) -> Parsed<Relation> {
        let columns: Vec<Identifier> = self.parenthesised(Self::column)?;
        if self.accept(TokenKind::In) {
            return Ok(Relation::TupleIn { columns, values: self.tuple_in_values()? });
        }
        let operator = self.comparison()?;
        let value = if self.starts_marker() { self.marker().map(Term::Marker)? } else { self.tuple_literal()? };
        Ok(Relation::Tuple { columns, operator, value })
    }

    /// `?`, `()`, tuples only, or markers only.
    fn tuple_in_values(&mut self) -> Parsed<InValues> {
        if self.starts_marker() {
            return self.marker().map(InValues::Marker);
        }
        self.expect(TokenKind::LeftParen)?;
        let terms = if self.starts_marker() {
            self.list_until(TokenKind::RightParen, |parser| parser.marker().map(Term::Marker))?
        } else {
            self.list_until(TokenKind::RightParen, Self::tuple_literal)?
        };
        Ok(InValues::Terms(terms))
    }

    /// `?` or `(a, b)`.
    pub(super) fn in_values(&mut self) -> Parsed<InValues> {
        if self.starts_marker() {
            return self.marker().map(InValues::Marker);
        }
        self.expect(TokenKind::LeftParen)?;
        self.list_until(TokenKind::RightParen, Self::term).map(InValues::Terms)
    }

    pub(super) fn contains(&mut self) -> Parsed<Operator> {
        self.expect(TokenKind::Contains)?;
        Ok(if self.accept(TokenKind::Key) { Operator::ContainsKey } else { Operator::Contains })
    }

    pub(super) fn comparison(&mut self) -> Parsed<Operator> {
        let operator = match self.kind() {
            TokenKind::Eq => Operator::Eq,
            TokenKind::NotEq => Operator::NotEq,
            TokenKind::Lt => Operator::Lt,
            TokenKind::LtEq => Operator::LtEq,
            TokenKind::Gt => Operator::Gt,
            TokenKind::GtEq => Operator::GtEq,
            _ => return self.reject(),
        };
        self.at += 1;
        Ok(operator)
    }
}
