//! Terms and constants.

use super::name::{is_column, is_identifier};
use super::{Parsed, Parser, Reject, string_content};
use crate::ast::term::{Arithmetic, Literal, LiteralKind, Term};
use crate::token::TokenKind;

impl Term {
    fn binary(operator: Arithmetic, left: Self, right: Self) -> Self {
        Self::Binary { operator, left: Box::new(left), right: Box::new(right) }
    }
}

impl Parser<'_> {
    pub(super) fn term(&mut self) -> Parsed<Term> {
        self.enter()?;
        let outcome = self.term_inside();
        self.leave();
        outcome
    }

    /// Sums of products, both from left to right. One function for both levels keeps the stack shallow.
    fn term_inside(&mut self) -> Parsed<Term> {
        let mut sum: Option<(Term, Arithmetic)> = None;
        let mut product = self.term_group()?;
        loop {
            if let Some(operator) = multiplicative(self.kind()) {
                self.count_operator()?;
                product = Term::binary(operator, product, self.term_group()?);
                continue;
            }
            let operator = match self.kind() {
                // In "c = [1] + c" the plus belongs to the assignment.
                TokenKind::Plus if self.is_bare_column(1) => None,
                TokenKind::Plus => Some(Arithmetic::Add),
                TokenKind::Minus => Some(Arithmetic::Subtract),
                _ => None,
            };
            product = match sum.take() {
                Some((left, operator)) => Term::binary(operator, left, product),
                None => product,
            };
            let Some(operator) = operator else { return Ok(product) };
            self.count_operator()?;
            sum = Some((product, operator));
            product = self.term_group()?;
        }
    }

    fn term_group(&mut self) -> Parsed<Term> {
        if self.accept(TokenKind::Minus) {
            return Ok(Term::Negation(Box::new(self.simple_term()?)));
        }
        self.simple_term()
    }

    fn simple_term(&mut self) -> Parsed<Term> {
        match self.kind() {
            TokenKind::LeftParen => self.hint_or_tuple(),
            TokenKind::LeftBracket => {
                self.at += 1;
                self.list_until(TokenKind::RightBracket, Self::term).map(Term::List)
            }
            TokenKind::LeftBrace => self.braces(),
            TokenKind::Null => {
                self.at += 1;
                Ok(Term::Null)
            }
            TokenKind::Cast if self.kind_ahead(1) == TokenKind::LeftParen => self.term_cast(),
            _ if self.starts_function(0) => self.term_function(),
            TokenKind::QuestionMark | TokenKind::Colon => self.marker().map(Term::Marker),
            _ => self.literal().map(Term::Literal),
        }
    }

    fn nested_simple_term(&mut self) -> Parsed<Term> {
        self.enter()?;
        let outcome = self.simple_term();
        self.leave();
        outcome
    }

    fn term_function(&mut self) -> Parsed<Term> {
        let name = self.function_name()?;
        self.expect(TokenKind::LeftParen)?;
        let arguments = self.list_until(TokenKind::RightParen, Self::term)?;
        Ok(Term::Function { name, arguments })
    }

    fn term_cast(&mut self) -> Parsed<Term> {
        self.expect_all(&[TokenKind::Cast, TokenKind::LeftParen])?;
        let term = self.nested_simple_term()?;
        self.expect(TokenKind::As)?;
        let target = self.native_type()?;
        self.expect(TokenKind::RightParen)?;
        Ok(Term::Cast { term: Box::new(term), target })
    }

    /// `(type) term` or `(term, …)`. The hint is tried first: what follows the closing parenthesis decides.
    fn hint_or_tuple(&mut self) -> Parsed<Term> {
        let start = self.at;
        let hint = self.attempt(|parser| {
            parser.expect(TokenKind::LeftParen)?;
            let type_name = parser.type_name()?;
            parser.expect(TokenKind::RightParen)?;
            if parser.starts_simple_term() { Ok(type_name) } else { parser.reject() }
        })?;
        if let Some(type_name) = hint {
            let term = self.nested_simple_term()?;
            return Ok(Term::TypeHint { type_name, term: Box::new(term) });
        }
        self.at = start;
        self.tuple_literal()
    }

    pub(super) fn tuple_literal(&mut self) -> Parsed<Term> {
        self.parenthesised(Self::term).map(Term::Tuple)
    }

    fn starts_simple_term(&self) -> bool {
        let kind = self.kind();
        literal_kind(kind).is_some()
            || matches!(
                kind,
                TokenKind::LeftParen
                    | TokenKind::LeftBracket
                    | TokenKind::LeftBrace
                    | TokenKind::Null
                    | TokenKind::QuestionMark
            )
            // In `{('a'): 1}` the colon stands between key and value.
            || (kind == TokenKind::Colon && is_identifier(self.kind_ahead(1)))
            || (kind == TokenKind::Cast && self.kind_ahead(1) == TokenKind::LeftParen)
            || self.starts_function(0)
    }

    fn braces(&mut self) -> Parsed<Term> {
        self.expect(TokenKind::LeftBrace)?;
        if self.accept(TokenKind::RightBrace) {
            return Ok(Term::Set(Vec::new()));
        }
        if is_identifier(self.kind()) && self.kind_ahead(1) == TokenKind::Colon {
            let fields = self.comma_separated(|parser| {
                let field = parser.identifier()?;
                parser.expect(TokenKind::Colon)?;
                Ok((field, parser.term()?))
            })?;
            self.expect(TokenKind::RightBrace)?;
            return Ok(Term::UserType(fields));
        }
        let first = self.term()?;
        if self.accept(TokenKind::Colon) {
            let mut entries = vec![(first, self.term()?)];
            while self.accept(TokenKind::Comma) {
                entries.push(self.map_entry()?);
            }
            self.expect(TokenKind::RightBrace)?;
            return Ok(Term::Map(entries));
        }
        let mut elements = vec![first];
        while self.accept(TokenKind::Comma) {
            elements.push(self.term()?);
        }
        self.expect(TokenKind::RightBrace)?;
        Ok(Term::Set(elements))
    }

    pub(super) fn map_entry(&mut self) -> Parsed<(Term, Term)> {
        let key = self.term()?;
        self.expect(TokenKind::Colon)?;
        Ok((key, self.term()?))
    }

    pub(super) fn literal(&mut self) -> Parsed<Literal> {
        let token = self.kind();
        let Some(kind) = literal_kind(token) else { return self.reject() };
        let written = self.here();
        // Upstream compares the literal with its double to find its type, and fails on infinity.
        if token == TokenKind::FloatLiteral && written.parse::<f64>().is_ok_and(f64::is_infinite) {
            return Err(Reject::Thrown(format!(
                "Failed parsing statement: [{}] reason: NumberFormatException Character I is neither a decimal digit number, \
                 decimal point, nor \"e\" notation exponential mark.",
                self.text
            )));
        }
        self.at += 1;
        let text = match token {
            TokenKind::StringLiteral => string_content(written),
            TokenKind::PositiveNan | TokenKind::NegativeNan => "NaN".into(),
            TokenKind::PositiveInfinity => "Infinity".into(),
            TokenKind::NegativeInfinity => "-Infinity".into(),
            _ => written.into(),
        };
        Ok(Literal { kind, text })
    }

    /// An integer literal or a marker.
    pub(super) fn int_value(&mut self) -> Parsed<Term> {
        if self.starts_marker() {
            return self.marker().map(Term::Marker);
        }
        if self.is(TokenKind::Integer) { self.literal().map(Term::Literal) } else { self.reject() }
    }

    /// Whether a column stands `ahead` tokens from here, as opposed to the start of a function call.
    pub(super) fn is_bare_column(&self, ahead: usize) -> bool {
        is_column(self.kind_ahead(ahead))
            && !matches!(self.kind_ahead(ahead + 1), TokenKind::LeftParen | TokenKind::Dot)
    }
}

/// `*`, `/` and `%`.
pub(super) fn multiplicative(kind: TokenKind) -> Option<Arithmetic> {
    match kind {
        TokenKind::Star => Some(Arithmetic::Multiply),
        TokenKind::Slash => Some(Arithmetic::Divide),
        TokenKind::Percent => Some(Arithmetic::Modulo),
        _ => None,
    }
}

pub(super) fn literal_kind(kind: TokenKind) -> Option<LiteralKind> {
    match kind {
        TokenKind::StringLiteral => Some(LiteralKind::String),
        TokenKind::Integer => Some(LiteralKind::Integer),
        TokenKind::FloatLiteral
        | TokenKind::PositiveNan
        | TokenKind::NegativeNan
        | TokenKind::PositiveInfinity
        | TokenKind::NegativeInfinity => Some(LiteralKind::Float),
        TokenKind::BooleanLiteral => Some(LiteralKind::Boolean),
        TokenKind::DurationLiteral => Some(LiteralKind::Duration),
        TokenKind::UuidLiteral => Some(LiteralKind::Uuid),
        TokenKind::HexNumber => Some(LiteralKind::Hex),
        _ => None,
    }
}
