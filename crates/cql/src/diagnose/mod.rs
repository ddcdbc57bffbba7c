//! Diagnosis: what exactly Cassandra says about a text that is not CQL.
//!
//! Role: when the grammar refuses, the text is walked again over a transition network that decides where Cassandra's
//! generated parser decides, and with its lookahead. The walk ends at the fault that Cassandra reports first: line,
//! column, wording and the snippet around it.
//!
//! Invariants
//! - Off the fast path: nothing here runs for a text that parses.
//! - Bounded by [`walk::STEPS_MAX`] and [`walk::PREDICTION_STEPS_MAX`]; a text too tangled for that gets the plainer message of the tree builder.
//!
//! Neighbours: `productions.txt` is the network as text, `network` reads it, `predict` decides, `walk` moves,
//! `snippet` quotes.
//!
//! Source: LL(*) prediction as published by Parr and Fisher, "LL(*): the foundation of the ANTLR parser generator",
//! PLDI 2011, and observation of Cassandra 5.0.9.

mod network;
mod predict;
mod snippet;
mod stream;
mod walk;

#[cfg(test)]
mod tests;

use self::network::NETWORK;
use self::stream::Stream;
use self::walk::{Fault, Walk};
use crate::error::{Position, SyntaxError};
use crate::lexer::{LexError, LexReason};

/// Finds the first fault of `text` as the rule named `entry`, and the index of the visible token where it was noticed.
/// `None`: no fault within the bounds of the search.
pub(crate) fn diagnose(text: &str, entry: &str) -> Option<(usize, SyntaxError)> {
    let stream = Stream::new(text);
    let mut walk = Walk::new(&NETWORK, stream);
    let fault = walk.run(entry)?;
    let stream = walk.stream();
    Some(match fault {
        Fault::Lexical { noticed } => (noticed, lexical(text, stream.lex_error()?)),
        Fault::Mismatch { at, expected } => {
            let message = format!("mismatched input '{}' expecting {expected}", stream.shown(at));
            (at, faulty(&stream, at, at, message))
        }
        Fault::NoViableAlternative { start, at } => {
            let message = format!("no viable alternative at input '{}'", stream.shown(at));
            (start, faulty(&stream, start, at, message))
        }
    })
}

/// `start` is where the snippet points, `at` where the message does.
fn faulty(stream: &Stream<'_>, start: usize, at: usize, mut message: String) -> SyntaxError {
    match snippet::snippet(stream, start) {
        Ok(quoted) => message.push_str(&quoted),
        Err(snippet::OutOfBounds { index, length }) => {
            return SyntaxError::plain(format!(
                "Failed parsing statement: [{}] reason: StringIndexOutOfBoundsException begin 0, end {index}, length {length}",
                stream.text()
            ));
        }
    }
    SyntaxError { position: Some(stream.position(at)), message }
}

/// A fault below the grammar: no snippet.
pub(crate) fn lexical(text: &str, error: &LexError) -> SyntaxError {
    let found = match text.get(error.offset..).and_then(|rest| rest.chars().next()) {
        None => "<EOF>".to_owned(),
        Some('\n') => "\\n".to_owned(),
        Some('\r') => "\\r".to_owned(),
        Some('\t') => "\\t".to_owned(),
        // Cassandra quotes half of a character beyond the basic plane, which no client can show.
        Some(found) => found.to_string(),
    };
    let message = match error.reason {
        LexReason::NoViableAlternative => format!("no viable alternative at character '{found}'"),
        LexReason::Expected(expected) => format!("mismatched character '{found}' expecting {expected}"),
        LexReason::EmptyLoop => format!("required (...)+ loop did not match anything at character '{found}'"),
    };
    SyntaxError { position: Some(Position::of(text, error.offset)), message }
}
