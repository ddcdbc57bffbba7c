//! Selectors.
//!
//! Invariant: what recurses hands boxes on. A selector by value takes a hundred and more bytes in every frame that it
//! passes, and the frames of all levels stand on the stack at once.

use super::name::is_identifier;
use super::term::multiplicative;
use super::{Parsed, Parser};
use crate::ast::identifier::QualifiedName;
use crate::ast::selector::{CellAttribute, Selector};
use crate::ast::term::{Arithmetic, Term};
use crate::ast::type_name::TypeName;
use crate::token::TokenKind;

/// What stands before parentheses, or needs none.
enum Simple {
    Selector(Box<Selector>),
    Call(Box<QualifiedName>),
}

impl Parser<'_> {
    pub(super) fn selector(&mut self) -> Parsed<Selector> {
        if is_identifier(self.kind()) && self.ends_selector(1) {
            return self.identifier().map(Selector::Column);
        }
        self.boxed_selector().map(|selector| *selector)
    }

    /// Whether nothing that continues a selector stands so far ahead.
    fn ends_selector(&self, ahead: usize) -> bool {
        matches!(self.kind_ahead(ahead), TokenKind::Comma | TokenKind::From | TokenKind::RightParen | TokenKind::As)
    }

    fn boxed_selector(&mut self) -> Parsed<Box<Selector>> {
        self.enter()?;
        let outcome = self.selector_inside();
        self.leave();
        outcome
    }

    /// Sums of products, both from left to right.
    fn selector_inside(&mut self) -> Parsed<Box<Selector>> {
        let mut sum: Option<(Box<Selector>, Arithmetic)> = None;
        let mut product = self.selector_group()?;
        loop {
            if let Some(operator) = multiplicative(self.kind()) {
                self.count_operator()?;
                let right = self.selector_group()?;
                product = binary(operator, product, right);
                continue;
            }
            if let Some((left, operator)) = sum.take() {
                product = binary(operator, left, product);
            }
            let operator = match self.kind() {
                TokenKind::Plus => Arithmetic::Add,
                TokenKind::Minus => Arithmetic::Subtract,
                _ => return Ok(product),
            };
            self.count_operator()?;
            sum = Some((product, operator));
            product = self.selector_group()?;
        }
    }

    fn selector_group(&mut self) -> Parsed<Box<Selector>> {
        if self.accept(TokenKind::Minus) {
            self.enter()?;
            let negated = self.selector_group();
            self.leave();
            return Ok(Box::new(Selector::Negation(negated?)));
        }
        let selector = self.plain_selector()?;
        self.selector_modifiers(selector)
    }

    /// `.field`, `[element]`, `[from..to]`, any number of them.
    fn selector_modifiers(&mut self, mut selector: Box<Selector>) -> Parsed<Box<Selector>> {
        loop {
            match self.kind() {
                TokenKind::Dot => {
                    self.count_operator()?;
                    let field = self.identifier()?;
                    selector = Box::new(Selector::Field { selector, field });
                }
                TokenKind::LeftBracket => {
                    self.count_operator()?;
                    selector = self.element_or_slice(selector)?;
                    self.expect(TokenKind::RightBracket)?;
                }
                _ => return Ok(selector),
            }
        }
    }

    fn element_or_slice(&mut self, selector: Box<Selector>) -> Parsed<Box<Selector>> {
        if self.accept(TokenKind::Range) {
            let to = Some(self.term()?);
            return Ok(Box::new(Selector::Slice { selector, from: None, to }));
        }
        let from = self.term()?;
        if !self.accept(TokenKind::Range) {
            return Ok(Box::new(Selector::Element { selector, element: from }));
        }
        let to = if self.is(TokenKind::RightBracket) { None } else { Some(self.term()?) };
        Ok(Box::new(Selector::Slice { selector, from: Some(from), to }))
    }

    /// A selector before any modifier.
    fn plain_selector(&mut self) -> Parsed<Box<Selector>> {
        match self.kind() {
            TokenKind::LeftParen => self.selector_hint_or_tuple(),
            TokenKind::LeftBracket => {
                self.at += 1;
                let elements = self.selectors_until(TokenKind::RightBracket)?;
                Ok(Box::new(Selector::List(elements)))
            }
            TokenKind::LeftBrace => self.selector_braces(),
            TokenKind::Cast if self.kind_ahead(1) == TokenKind::LeftParen => self.selector_cast(),
            _ => match self.simple_selector()? {
                Simple::Selector(selector) => Ok(selector),
                Simple::Call(name) => self.selector_call(name),
            },
        }
    }

    #[expect(clippy::boxed_local, reason = "keeps the frames of all levels small")]
    fn selector_call(&mut self, name: Box<QualifiedName>) -> Parsed<Box<Selector>> {
        let arguments = self.selectors_until(TokenKind::RightParen)?;
        Ok(Box::new(Selector::Function { name: *name, arguments }))
    }

    /// `(selector (',' selector)*)? close`.
    fn selectors_until(&mut self, close: TokenKind) -> Parsed<Vec<Selector>> {
        if self.accept(close) {
            return Ok(Vec::new());
        }
        let all = self.selectors()?;
        self.expect(close)?;
        Ok(all)
    }

    fn selectors(&mut self) -> Parsed<Vec<Selector>> {
        let mut all = Vec::new();
        loop {
            all.push(*self.boxed_selector()?);
            if !self.accept(TokenKind::Comma) {
                return Ok(all);
            }
        }
    }

    /// Columns, literals, markers, attributes of cells, and functions up to their parenthesis.
    fn simple_selector(&mut self) -> Parsed<Simple> {
        let kind = self.kind();
        let calls = self.kind_ahead(1) == TokenKind::LeftParen;
        let selector = match kind {
            TokenKind::Count if calls && self.kind_ahead(2) == TokenKind::Star => {
                self.at += 3;
                self.expect(TokenKind::RightParen)?;
                Selector::CountRows
            }
            TokenKind::Writetime if calls => self.cell_attribute(CellAttribute::WriteTime)?,
            TokenKind::Maxwritetime if calls => self.cell_attribute(CellAttribute::MaxWriteTime)?,
            TokenKind::Ttl if calls => self.cell_attribute(CellAttribute::Ttl)?,
            _ if self.starts_function(0) => {
                let name = self.function_name()?;
                self.expect(TokenKind::LeftParen)?;
                return Ok(Simple::Call(Box::new(name)));
            }
            _ if is_identifier(kind) => Selector::Column(self.identifier()?),
            TokenKind::Null => {
                self.at += 1;
                Selector::Term(Term::Null)
            }
            TokenKind::QuestionMark | TokenKind::Colon => Selector::Term(Term::Marker(self.marker()?)),
            _ => Selector::Term(Term::Literal(self.literal()?)),
        };
        Ok(Simple::Selector(Box::new(selector)))
    }

    fn cell_attribute(&mut self, attribute: CellAttribute) -> Parsed<Selector> {
        self.at += 2;
        let column = self.identifier().map(Selector::Column)?;
        let selector = self.selector_modifiers(Box::new(column))?;
        self.expect(TokenKind::RightParen)?;
        Ok(Selector::CellAttribute { attribute, selector })
    }

    fn selector_cast(&mut self) -> Parsed<Box<Selector>> {
        self.expect_all(&[TokenKind::Cast, TokenKind::LeftParen])?;
        let selector = self.boxed_selector()?;
        self.expect(TokenKind::As)?;
        let target = self.native_type()?;
        self.expect(TokenKind::RightParen)?;
        Ok(Box::new(Selector::Cast { selector, target }))
    }

    /// `(type) selector` when all of it matches, else `(selector, …)`.
    fn selector_hint_or_tuple(&mut self) -> Parsed<Box<Selector>> {
        let start = self.at;
        if !self.failed_hints.contains(&start) {
            if let Some(type_name) = self.attempt(Self::selector_hint)? {
                // `(x) AS y` is an alias, although AS may be a column's name.
                let is_alias = self.is(TokenKind::As) && is_identifier(self.kind_ahead(1));
                self.enter()?;
                let hinted = if is_alias { Ok(None) } else { self.attempt(Self::plain_selector) };
                self.leave();
                if let Some(selector) = hinted? {
                    return Ok(Box::new(Selector::TypeHint { type_name: *type_name, selector }));
                }
                self.at = start;
            }
            self.failed_hints.insert(start);
        }
        self.expect(TokenKind::LeftParen)?;
        let elements = self.selectors()?;
        self.expect(TokenKind::RightParen)?;
        Ok(Box::new(Selector::Tuple(elements)))
    }

    fn selector_hint(&mut self) -> Parsed<Box<TypeName>> {
        self.expect(TokenKind::LeftParen)?;
        let type_name = self.type_name()?;
        self.expect(TokenKind::RightParen)?;
        Ok(Box::new(type_name))
    }

    fn selector_braces(&mut self) -> Parsed<Box<Selector>> {
        self.expect(TokenKind::LeftBrace)?;
        if self.accept(TokenKind::RightBrace) {
            return Ok(Box::new(Selector::Set(Vec::new())));
        }
        let first = self.boxed_selector()?;
        let braces = if self.is(TokenKind::Colon) { self.map_after(first)? } else { self.set_after(first)? };
        self.expect(TokenKind::RightBrace)?;
        Ok(braces)
    }

    #[expect(clippy::boxed_local, reason = "keeps the frames of all levels small")]
    fn map_after(&mut self, mut key: Box<Selector>) -> Parsed<Box<Selector>> {
        let mut entries = Vec::new();
        loop {
            self.expect(TokenKind::Colon)?;
            let value = self.boxed_selector()?;
            entries.push((*key, *value));
            if !self.accept(TokenKind::Comma) {
                return Ok(Box::new(Selector::MapOrUserType(entries)));
            }
            key = self.boxed_selector()?;
        }
    }

    #[expect(clippy::boxed_local, reason = "keeps the frames of all levels small")]
    fn set_after(&mut self, first: Box<Selector>) -> Parsed<Box<Selector>> {
        let mut elements = vec![*first];
        while self.accept(TokenKind::Comma) {
            elements.push(*self.boxed_selector()?);
        }
        Ok(Box::new(Selector::Set(elements)))
    }
}

fn binary(operator: Arithmetic, left: Box<Selector>, right: Box<Selector>) -> Box<Selector> {
    Box::new(Selector::Binary { operator, left, right })
}
