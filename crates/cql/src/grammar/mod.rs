//! Grammar: recursive descent over the tokens of one statement, a file a family of statements.
//!
//! Role: builds the tree and decides what is accepted. On refusal the tree builder says only where it stopped; the wording
//! is found afterwards, off the fast path.
//!
//! Invariants
//! - Recursion is bounded by [`NESTING_MAX`], the depth of the tree by that plus [`OPERATORS_MAX`]: no input exhausts
//!   the stack, here or when the tree is dropped, cloned or printed.
//! - Text is looked at again only after a failed guess at a type hint, and such a guess is remembered: time grows with
//!   length times a constant.
//!
//! Source: the grammar of Cassandra 5.0.9.

mod access;
mod definition;
mod describe;
mod modification;
mod name;
mod property;
mod relation;
mod select;
mod selector;
mod statement;
mod term;
mod type_name;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub(crate) use name::{is_function_word, is_user_type_word};

use crate::ast::statement::{BindMarker, ParsedStatement};
use crate::ast::term::{Marker, Term};
use crate::ast::type_name::TypeName;
use crate::diagnose::{diagnose, lexical};
use crate::error::{Position, SyntaxError};
use crate::lexer::{LexError, Lexed, Token, lex};
use crate::token::TokenKind;

/// How deep literals, terms, selectors, types and parentheses may nest.
///
/// A level costs at most eight stack frames of the parser; 32 levels stay far below 256 KiB even without optimisation.
/// Cassandra has no limit of its own and fails by stack overflow.
pub const NESTING_MAX: u32 = 32;

/// Bind markers of one statement: the protocol counts them in 16 bits.
pub const MARKERS_MAX: usize = 65_535;

/// Arithmetic operators and selections (`.field`, `[element]`) in one outermost expression. Each adds a level to the tree.
const OPERATORS_MAX: u32 = 512;

/// Statement texts longer than this are refused: token offsets have 32 bits.
const TEXT_BYTES_MAX: usize = u32::MAX as usize - 1;

/// Parses one statement, with any number of `;` after it.
///
/// # Errors
/// [`SyntaxError`] as Cassandra words it; also beyond [`NESTING_MAX`] and [`MARKERS_MAX`].
pub fn parse_statement(text: &str) -> Result<ParsedStatement, SyntaxError> {
    run(text, "query", |parser| {
        let statement = parser.statement()?;
        while parser.accept(TokenKind::Semicolon) {}
        parser.expect(TokenKind::EndOfInput)?;
        Ok(statement)
    })
    .map(|(statement, markers)| ParsedStatement { statement, markers })
}

/// Parses a type, as DDL and `system_schema` write it: `frozen<map<text, int>>`.
///
/// # Errors
/// [`SyntaxError`] when the text is not exactly one type.
pub fn parse_type(text: &str) -> Result<TypeName, SyntaxError> {
    run(text, "type_name", |parser| {
        let type_name = parser.type_name()?;
        parser.expect(TokenKind::EndOfInput)?;
        Ok(type_name)
    })
    .map(|(type_name, _)| type_name)
}

/// Parses a term, such as an aggregate's initial condition: `{'a': 1}`.
///
/// # Errors
/// [`SyntaxError`] when the text is not exactly one term.
pub fn parse_term(text: &str) -> Result<Term, SyntaxError> {
    run(text, "term", |parser| {
        let term = parser.term()?;
        parser.expect(TokenKind::EndOfInput)?;
        Ok(term)
    })
    .map(|(term, _)| term)
}

fn run<T>(
    text: &str,
    entry: &str,
    parse: impl FnOnce(&mut Parser<'_>) -> Parsed<T>,
) -> Result<(T, Vec<BindMarker>), SyntaxError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(SyntaxError::plain(format!("Statement of {} bytes is too long", text.len())));
    }
    let Lexed { tokens, error } = lex(text, |kind| !kind.is_hidden());
    let mut parser = Parser::new(text, &tokens);
    let outcome = parse(&mut parser);
    match outcome {
        Ok(value) if error.is_none() && parser.refusal.is_none() => {
            let count = parser.markers.len();
            if count > MARKERS_MAX {
                return Err(SyntaxError::plain(format!(
                    "Too many markers(?). {count} markers exceed the allowed maximum of {MARKERS_MAX}"
                )));
            }
            Ok((value, parser.markers))
        }
        Err(Reject::Thrown(message)) => Err(SyntaxError::plain(message)),
        Err(Reject::TooDeep) => Err(SyntaxError {
            position: Some(parser.position()),
            message: format!(
                "nested too deeply: at most {NESTING_MAX} levels and {OPERATORS_MAX} operators are supported"
            ),
        }),
        _ => Err(explain(&parser, entry, error.as_ref())),
    }
}

/// What Cassandra reports first: a broken rule beside the grammar, or the fault that the diagnosis finds.
fn explain(parser: &Parser<'_>, entry: &str, lex_error: Option<&LexError>) -> SyntaxError {
    let refused = parser.refusal.as_ref().map(|(at, message)| (*at, SyntaxError::plain(message.clone())));
    let (refused_at, refusal) = refused.unzip();
    match (diagnose(parser.text, entry), refusal) {
        (Some((noticed, _)), Some(refusal)) if refused_at <= Some(noticed) => refusal,
        (Some((_, fault)), _) => fault,
        (None, Some(refusal)) => refusal,
        (None, None) => plain_fault(parser, lex_error),
    }
}

/// The message when the diagnosis gave up: where the tree builder stopped.
fn plain_fault(parser: &Parser<'_>, lex_error: Option<&LexError>) -> SyntaxError {
    if let Some(error) = lex_error {
        return lexical(parser.text, error);
    }
    let end = TokenKind::EndOfInput.display_name();
    let found = parser.tokens.get(parser.furthest).map_or(end, |token| parser.text_of(*token));
    SyntaxError { position: Some(parser.position()), message: format!("no viable alternative at input '{found}'") }
}

/// Why a rule did not match.
#[derive(Debug)]
enum Reject {
    /// The next token does not continue any rule.
    Grammar,
    /// A limit of ours.
    TooDeep,
    /// An exception that Cassandra throws in the midst of parsing; nothing else is reported then.
    Thrown(String),
}

type Parsed<T> = Result<T, Reject>;

struct Parser<'a> {
    text: &'a str,
    /// Without hidden tokens.
    tokens: &'a [Token],
    at: usize,
    /// The token that stopped the parser furthest to the right.
    furthest: usize,
    markers: Vec<BindMarker>,
    nesting: u32,
    operators: u32,
    /// The first rule beside the grammar that the statement breaks, and where. Cassandra parses on, and so do we.
    refusal: Option<(usize, String)>,
    /// Where a guess at a type hint failed.
    failed_hints: BTreeSet<usize>,
    /// Options named so far: there is one list of them in a statement.
    property_names: BTreeSet<Box<str>>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        Self {
            text,
            tokens,
            at: 0,
            furthest: 0,
            markers: Vec::new(),
            nesting: 0,
            operators: 0,
            refusal: None,
            failed_hints: BTreeSet::new(),
            property_names: BTreeSet::new(),
        }
    }

    fn text_of(&self, token: Token) -> &'a str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    fn position(&self) -> Position {
        self.tokens.get(self.furthest).map_or(Position::END, |token| Position::of(self.text, token.start as usize))
    }

    fn kind_ahead(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::EndOfInput, |token| token.kind)
    }

    fn kind(&self) -> TokenKind {
        self.kind_ahead(0)
    }

    fn is(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn word_ahead(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| self.text_of(*token))
    }

    /// The text of the next token, quotes and all.
    fn here(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| self.text_of(*token))
    }

    fn accept(&mut self, kind: TokenKind) -> bool {
        let accepted = self.is(kind);
        if accepted {
            self.at += 1;
        }
        accepted
    }

    /// Takes all the kinds in a row or none.
    fn accept_all(&mut self, kinds: &[TokenKind]) -> bool {
        let accepted = kinds.iter().enumerate().all(|(ahead, kind)| self.kind_ahead(ahead) == *kind);
        if accepted {
            self.at += kinds.len();
        }
        accepted
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<()> {
        if self.accept(kind) { Ok(()) } else { self.reject() }
    }

    fn expect_all(&mut self, kinds: &[TokenKind]) -> Parsed<()> {
        kinds.iter().try_for_each(|kind| self.expect(*kind))
    }

    fn reject<T>(&mut self) -> Parsed<T> {
        self.furthest = self.furthest.max(self.at);
        Err(Reject::Grammar)
    }

    /// Remembers the first rule that is broken beside the grammar.
    fn refuse(&mut self, message: impl FnOnce() -> String) {
        if self.refusal.is_none() {
            self.refusal = Some((self.at, message()));
        }
    }

    /// One level deeper, until [`Self::leave`].
    fn enter(&mut self) -> Parsed<()> {
        if self.nesting == 0 {
            self.operators = 0;
        }
        if self.nesting == NESTING_MAX {
            self.furthest = self.at;
            return Err(Reject::TooDeep);
        }
        self.nesting += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.nesting -= 1;
    }

    /// Takes an operator or a selection.
    fn count_operator(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            self.furthest = self.at;
            return Err(Reject::TooDeep);
        }
        self.at += 1;
        Ok(())
    }

    /// `parse` or, when the grammar refuses, nothing and back to where we stood.
    fn attempt<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<Option<T>> {
        let (at, markers, operators, refused) = (self.at, self.markers.len(), self.operators, self.refusal.is_some());
        match parse(self) {
            Ok(value) => Ok(Some(value)),
            Err(Reject::Grammar) => {
                self.at = at;
                self.markers.truncate(markers);
                self.operators = operators;
                if !refused {
                    self.refusal = None;
                }
                Ok(None)
            }
            Err(reject) => Err(reject),
        }
    }

    /// `one (',' one)*`.
    fn comma_separated<T>(&mut self, mut one: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.accept(TokenKind::Comma) {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// `'(' one (',' one)* ')'`.
    fn parenthesised<T>(&mut self, one: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect(TokenKind::LeftParen)?;
        let all = self.comma_separated(one)?;
        self.expect(TokenKind::RightParen)?;
        Ok(all)
    }

    /// `(one (',' one)*)? close`.
    fn list_until<T>(&mut self, close: TokenKind, one: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        if self.accept(close) {
            return Ok(Vec::new());
        }
        let all = self.comma_separated(one)?;
        self.expect(close)?;
        Ok(all)
    }

    /// `IF NOT EXISTS`, all or nothing.
    fn if_not_exists(&mut self) -> Parsed<bool> {
        let found = self.is(TokenKind::If);
        if found {
            self.expect_all(&[TokenKind::If, TokenKind::Not, TokenKind::Exists])?;
        }
        Ok(found)
    }

    /// `IF EXISTS`, all or nothing.
    fn if_exists(&mut self) -> Parsed<bool> {
        let found = self.is(TokenKind::If);
        if found {
            self.expect_all(&[TokenKind::If, TokenKind::Exists])?;
        }
        Ok(found)
    }

    fn new_marker(&mut self, name: Option<crate::ast::identifier::Identifier>) -> Marker {
        // Beyond the limit the statement is refused as a whole once all markers are counted.
        let index = u16::try_from(self.markers.len()).unwrap_or(u16::MAX);
        self.markers.push(BindMarker { name });
        Marker { index }
    }

    fn string_literal(&mut self) -> Parsed<Box<str>> {
        if !self.is(TokenKind::StringLiteral) {
            return self.reject();
        }
        let content = string_content(self.here());
        self.at += 1;
        Ok(content)
    }
}

/// What a string literal stands for, `'…'` with doubled quotes or `$$…$$`.
pub(crate) fn string_content(literal: &str) -> Box<str> {
    if let Some(body) = literal.strip_prefix("$$").and_then(|rest| rest.strip_suffix("$$")) {
        return body.into();
    }
    unquote(literal, '\'')
}

/// Strips the outer quotes and resolves doubled ones.
pub(crate) fn unquote(literal: &str, quote: char) -> Box<str> {
    let body = literal.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).unwrap_or(literal);
    if !body.contains(quote) {
        return body.into();
    }
    let mut content = String::with_capacity(body.len());
    let mut chars = body.chars();
    while let Some(next) = chars.next() {
        content.push(next);
        if next == quote {
            chars.next();
        }
    }
    content.into_boxed_str()
}
