//! SELECT.

use super::{Parsed, Parser};
use crate::ast::select::{Ordering, OrderingKey, Select, SelectColumn};
use crate::ast::term::Literal;
use crate::token::TokenKind;

/// DISTINCT and the selected columns; none for `*`.
struct SelectClause {
    distinct: bool,
    columns: Vec<SelectColumn>,
}

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Parsed<Select> {
        self.expect(TokenKind::Select)?;
        let (json, clause) = self.json_select_clause()?;
        self.expect(TokenKind::From)?;
        let table = self.table_name()?;
        let relations = if self.accept(TokenKind::Where) { self.where_clause()? } else { Vec::new() };
        let group_by = if self.is(TokenKind::Group) {
            self.expect_all(&[TokenKind::Group, TokenKind::By])?;
            self.comma_separated(Self::selector)?
        } else {
            Vec::new()
        };
        let order_by = if self.is(TokenKind::Order) {
            self.expect_all(&[TokenKind::Order, TokenKind::By])?;
            self.comma_separated(Self::ordering)?
        } else {
            Vec::new()
        };
        let per_partition_limit = if self.is(TokenKind::Per) {
            self.expect_all(&[TokenKind::Per, TokenKind::Partition, TokenKind::Limit])?;
            Some(self.int_value()?)
        } else {
            None
        };
        let limit = if self.accept(TokenKind::Limit) { Some(self.int_value()?) } else { None };
        let allow_filtering = self.is(TokenKind::Allow);
        if allow_filtering {
            self.expect_all(&[TokenKind::Allow, TokenKind::Filtering])?;
        }
        Ok(Select {
            json,
            distinct: clause.distinct,
            columns: clause.columns,
            table,
            relations,
            group_by,
            order_by,
            per_partition_limit,
            limit,
            allow_filtering,
            timeout: self.timeout()?,
        })
    }

    fn timeout(&mut self) -> Parsed<Option<Literal>> {
        if !self.is(TokenKind::Using) || !self.word_ahead(1).eq_ignore_ascii_case("timeout") {
            return Ok(None);
        }
        self.expect_all(&[TokenKind::Using, TokenKind::Ident])?;
        if self.is(TokenKind::DurationLiteral) { self.literal().map(Some) } else { self.reject() }
    }

    /// JSON is a keyword when a select clause follows it, else a column.
    fn json_select_clause(&mut self) -> Parsed<(bool, SelectClause)> {
        if self.is(TokenKind::Json) {
            let clause = self.attempt(|parser| {
                parser.expect(TokenKind::Json)?;
                parser.select_clause()
            })?;
            if let Some(clause) = clause {
                return Ok((true, clause));
            }
        }
        Ok((false, self.select_clause()?))
    }

    /// DISTINCT likewise.
    fn select_clause(&mut self) -> Parsed<SelectClause> {
        if self.is(TokenKind::Distinct) {
            let columns = self.attempt(|parser| {
                parser.expect(TokenKind::Distinct)?;
                parser.select_columns()
            })?;
            if let Some(columns) = columns {
                return Ok(SelectClause { distinct: true, columns });
            }
        }
        Ok(SelectClause { distinct: false, columns: self.select_columns()? })
    }

    pub(super) fn select_columns(&mut self) -> Parsed<Vec<SelectColumn>> {
        if self.accept(TokenKind::Star) {
            return Ok(Vec::new());
        }
        self.comma_separated(|parser| {
            let selector = parser.selector()?;
            let alias = if parser.accept(TokenKind::As) { Some(parser.identifier()?) } else { None };
            Ok(SelectColumn { selector, alias })
        })
    }

    fn ordering(&mut self) -> Parsed<Ordering> {
        let column = self.column()?;
        let key = if self.accept(TokenKind::Ann) {
            self.expect(TokenKind::Of)?;
            OrderingKey::NearestNeighbours { column, vector: self.term()? }
        } else {
            OrderingKey::Column(column)
        };
        let descending = self.accept(TokenKind::Desc);
        if !descending {
            self.accept(TokenKind::Asc);
        }
        Ok(Ordering { key, descending })
    }
}
