//! The one error of this crate: why a text is not CQL, in the words of Cassandra's parser.

use std::fmt;

/// A statement, term or type that does not parse.
///
/// `Display` is the whole message that a client gets: `line 1:7 no viable alternative at input 'x' (…)`, or just the
/// message when Cassandra gives no position (rules that its parser checks beside the grammar).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// Counts from 1. 0 with column -1 is the end of the text, as Cassandra says it; `None`: the message has no position.
    pub position: Option<Position>,
    pub message: String,
}

/// Where in the text, as Cassandra counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Counts from 1; 0 is the end of the text.
    pub line: u32,
    /// UTF-16 units from the start of the line, from 0; -1 is the end of the text.
    pub column: i32,
}

impl Position {
    /// How Cassandra points at the end of the text.
    pub const END: Self = Self { line: 0, column: -1 };

    /// The position of a byte offset.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.get(line_start..).unwrap_or("").encode_utf16().count();
        Self { line: u32::try_from(line).unwrap_or(u32::MAX), column: i32::try_from(column).unwrap_or(i32::MAX) }
    }
}

impl SyntaxError {
    /// A refusal without a position.
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Self { position: None, message: message.into() }
    }

    /// Line and column as Cassandra counts them, 0 and -1 when there is no position.
    #[must_use]
    pub fn line_and_column(&self) -> (u32, i32) {
        let position = self.position.unwrap_or(Position::END);
        (position.line, position.column)
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(Position { line, column }) => write!(f, "line {line}:{column} {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
