//! The tokens of a faulty text, and how many of them Cassandra's parser had read when it gave up.
//!
//! Invariant: `fetched` only grows; it is the index of the last token in the reader's buffer, hidden ones included,
//! and one past the last token for the end of the text.

use std::cell::Cell;

use crate::error::Position;
use crate::lexer::{LexError, Token, lex};
use crate::token::TokenKind;

/// All tokens of a text and the visible ones among them.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// Indexes into `tokens`.
    visible: Vec<usize>,
    error: Option<LexError>,
    fetched: Cell<usize>,
}

/// The reader came to what is not a token.
#[derive(Debug)]
pub(super) struct NotAToken;

impl<'a> Stream<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let lexed = lex(text, |_| true);
        let visible = (0..lexed.tokens.len()).filter(|index| !lexed.tokens[*index].kind.is_hidden()).collect();
        Self { text, tokens: lexed.tokens, visible, error: lexed.error, fetched: Cell::new(0) }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn lex_error(&self) -> Option<&LexError> {
        self.error.as_ref()
    }

    /// The kind of a visible token, read into the buffer.
    pub(super) fn fetch(&self, visible: usize) -> Result<TokenKind, NotAToken> {
        match self.visible.get(visible) {
            Some(index) => {
                self.fetched.set(self.fetched.get().max(*index));
                Ok(self.tokens[*index].kind)
            }
            None if self.error.is_some() => Err(NotAToken),
            None => {
                self.fetched.set(self.tokens.len());
                Ok(TokenKind::EndOfInput)
            }
        }
    }

    /// Index among all tokens.
    pub(super) fn index_of(&self, visible: usize) -> usize {
        self.visible.get(visible).copied().unwrap_or(self.tokens.len())
    }

    /// Tokens in the buffer, the end of the text counting as one.
    pub(super) fn buffered(&self) -> usize {
        self.fetched.get() + 1
    }

    /// A token by its index among all; `None` is the end of the text.
    pub(super) fn token(&self, index: usize) -> Option<Token> {
        self.tokens.get(index).copied()
    }

    /// What a token stands for, as Cassandra keeps it: strings and quoted names without quotes.
    pub(super) fn content(&self, token: Token) -> String {
        let written = self.text.get(token.start as usize..token.end as usize).unwrap_or("");
        match token.kind {
            TokenKind::StringLiteral => crate::grammar::string_content(written).into(),
            TokenKind::QuotedName => crate::grammar::unquote(written, '"').into(),
            _ => written.to_owned(),
        }
    }

    /// How a message shows a visible token.
    pub(super) fn shown(&self, visible: usize) -> String {
        let Some(token) = self.token(self.index_of(visible)) else { return "<EOF>".to_owned() };
        self.content(token).replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
    }

    pub(super) fn position(&self, visible: usize) -> Position {
        self.token(self.index_of(visible)).map_or(Position::END, |token| Position::of(self.text, token.start as usize))
    }
}
