//! Selectors.

use super::name::is_identifier;
use super::term::{literal_kind, multiplicative};
use super::{Parsed, Parser};
use crate::ast::selector::{CellAttribute, Selector};
use crate::ast::term::{Arithmetic, Term};
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn selector(&mut self) -> Parsed<Selector> {
        self.nested(Self::selector_addition)
    }

    fn selector_addition(&mut self) -> Parsed<Selector> {
        let mut left = self.selector_multiplication()?;
        loop {
            let operator = match self.kind() {
                TokenKind::Plus => Arithmetic::Add,
                TokenKind::Minus => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            self.count_operator()?;
            let right = self.selector_multiplication()?;
            left = Selector::Binary { operator, left: Box::new(left), right: Box::new(right) };
        }
    }

    fn selector_multiplication(&mut self) -> Parsed<Selector> {
        let mut left = self.selector_group()?;
        while let Some(operator) = multiplicative(self.kind()) {
            self.at += 1;
            self.count_operator()?;
            let right = self.selector_group()?;
            left = Selector::Binary { operator, left: Box::new(left), right: Box::new(right) };
        }
        Ok(left)
    }

    fn selector_group(&mut self) -> Parsed<Selector> {
        if self.accept(TokenKind::Minus) {
            return Ok(Selector::Negation(Box::new(self.nested(Self::selector_group)?)));
        }
        let selector = self.plain_selector()?;
        self.selector_modifiers(selector)
    }

    /// `.field`, `[element]`, `[from..to]`, any number of them.
    fn selector_modifiers(&mut self, mut selector: Selector) -> Parsed<Selector> {
        loop {
            match self.kind() {
                TokenKind::Dot => {
                    self.at += 1;
                    self.count_operator()?;
                    selector = Selector::Field { selector: Box::new(selector), field: self.identifier()? };
                }
                TokenKind::LeftBracket => {
                    self.at += 1;
                    self.count_operator()?;
                    selector = self.element_or_slice(selector)?;
                    self.expect(TokenKind::RightBracket)?;
                }
                _ => return Ok(selector),
            }
        }
    }

    fn element_or_slice(&mut self, selector: Selector) -> Parsed<Selector> {
        let selector = Box::new(selector);
        if self.accept(TokenKind::Range) {
            return Ok(Selector::Slice { selector, from: None, to: Some(self.term()?) });
        }
        let from = self.term()?;
        if !self.accept(TokenKind::Range) {
            return Ok(Selector::Element { selector, element: from });
        }
        let to = if self.is(TokenKind::RightBracket) { None } else { Some(self.term()?) };
        Ok(Selector::Slice { selector, from: Some(from), to })
    }

    /// A selector before any modifier.
    fn plain_selector(&mut self) -> Parsed<Selector> {
        let kind = self.kind();
        let calls = self.kind_ahead(1) == TokenKind::LeftParen;
        match kind {
            TokenKind::LeftParen => self.selector_hint_or_tuple(),
            TokenKind::LeftBracket => {
                self.at += 1;
                self.list_until(TokenKind::RightBracket, Self::selector).map(Selector::List)
            }
            TokenKind::LeftBrace => self.selector_braces(),
            TokenKind::Count if calls && self.kind_ahead(2) == TokenKind::Star => {
                self.expect_all(&[TokenKind::Count, TokenKind::LeftParen, TokenKind::Star, TokenKind::RightParen])?;
                Ok(Selector::CountRows)
            }
            TokenKind::Writetime if calls => self.cell_attribute(CellAttribute::WriteTime),
            TokenKind::Maxwritetime if calls => self.cell_attribute(CellAttribute::MaxWriteTime),
            TokenKind::Ttl if calls => self.cell_attribute(CellAttribute::Ttl),
            TokenKind::Cast if calls => self.selector_cast(),
            _ if self.starts_function(0) => self.selector_function(),
            _ if is_identifier(kind) => self.identifier().map(Selector::Column),
            TokenKind::Null => {
                self.at += 1;
                Ok(Selector::Term(Term::Null))
            }
            TokenKind::QuestionMark | TokenKind::Colon => Ok(Selector::Term(Term::Marker(self.marker()?))),
            _ if literal_kind(kind).is_some() => Ok(Selector::Term(Term::Literal(self.literal()?))),
            _ => self.reject(),
        }
    }

    fn cell_attribute(&mut self, attribute: CellAttribute) -> Parsed<Selector> {
        self.at += 2;
        let column = self.identifier().map(Selector::Column)?;
        let selector = Box::new(self.selector_modifiers(column)?);
        self.expect(TokenKind::RightParen)?;
        Ok(Selector::CellAttribute { attribute, selector })
    }

    fn selector_cast(&mut self) -> Parsed<Selector> {
        self.expect_all(&[TokenKind::Cast, TokenKind::LeftParen])?;
        let selector = Box::new(self.selector()?);
        self.expect(TokenKind::As)?;
        let target = self.native_type()?;
        self.expect(TokenKind::RightParen)?;
        Ok(Selector::Cast { selector, target })
    }

    fn selector_function(&mut self) -> Parsed<Selector> {
        let name = self.function_name()?;
        self.expect(TokenKind::LeftParen)?;
        let arguments = self.list_until(TokenKind::RightParen, Self::selector)?;
        Ok(Selector::Function { name, arguments })
    }

    /// `(type) selector` when all of it matches, else `(selector, …)`.
    fn selector_hint_or_tuple(&mut self) -> Parsed<Selector> {
        let start = self.at;
        if !self.failed_hints.contains(&start) {
            let hint = self.attempt(|parser| {
                parser.expect(TokenKind::LeftParen)?;
                let type_name = parser.type_name()?;
                parser.expect(TokenKind::RightParen)?;
                let selector = Box::new(parser.nested(Self::plain_selector)?);
                Ok(Selector::TypeHint { type_name, selector })
            })?;
            if let Some(hint) = hint {
                return Ok(hint);
            }
            self.failed_hints.insert(start);
        }
        self.parenthesised(Self::selector).map(Selector::Tuple)
    }

    fn selector_braces(&mut self) -> Parsed<Selector> {
        self.expect(TokenKind::LeftBrace)?;
        if self.accept(TokenKind::RightBrace) {
            return Ok(Selector::Set(Vec::new()));
        }
        let first = self.selector()?;
        if self.accept(TokenKind::Colon) {
            let mut entries = vec![(first, self.selector()?)];
            while self.accept(TokenKind::Comma) {
                let key = self.selector()?;
                self.expect(TokenKind::Colon)?;
                entries.push((key, self.selector()?));
            }
            self.expect(TokenKind::RightBrace)?;
            return Ok(Selector::MapOrUserType(entries));
        }
        let mut elements = vec![first];
        while self.accept(TokenKind::Comma) {
            elements.push(self.selector()?);
        }
        self.expect(TokenKind::RightBrace)?;
        Ok(Selector::Set(elements))
    }
}
