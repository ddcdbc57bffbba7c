//! The quotation after a message: up to ten tokens before the blamed one and two after it, as far as they were read.
//!
//! Source: Cassandra's `cql3.ErrorCollector`; lengths are UTF-16 units of a token's content, quotes not counted, which
//! is why strings are cut short.

use super::stream::Stream;
use crate::error::Position;
use crate::lexer::Token;

const TOKENS_BEFORE: usize = 10;
const TOKENS_AFTER: usize = 2;

/// Cassandra's own slip: a token of several lines ends beyond the line that it starts in.
#[derive(Debug)]
pub(super) struct OutOfBounds {
    pub index: usize,
    pub length: usize,
}

/// A token's place: line from 0, start and end in UTF-16 units.
struct Place {
    line: usize,
    start: usize,
    end: usize,
}

/// ` (…before [blamed] after…)`, or nothing when the end of the text is among the tokens to quote.
pub(super) fn snippet(stream: &Stream<'_>, blamed: usize) -> Result<String, OutOfBounds> {
    let index = stream.index_of(blamed);
    let last = stream.buffered() - 1;
    let places = [index.saturating_sub(TOKENS_BEFORE), last.min(index + TOKENS_AFTER), index.min(last)]
        .map(|index| stream.token(index).map(|token| place(stream, token)));
    let [Some(from), Some(to), Some(blamed)] = places else { return Ok(String::new()) };
    let mut lines = split_lines(stream.text());
    let line_count = lines.len();
    let last_line_length = lines.last().map_or(0, Vec::len);
    let from_start = from.line == 0 && from.start == 0;
    let to_end = to.line + 1 == line_count && to.end == last_line_length;
    // In Cassandra's order: cut the end, mark the token, cut the start.
    if let Some(line) = lines.get_mut(to.line) {
        line.truncate(to.end);
    }
    if let Some(line) = lines.get_mut(blamed.line) {
        insert(line, blamed.end, ']')?;
        insert(line, blamed.start, '[')?;
    }
    if let Some(line) = lines.get_mut(from.line) {
        line.drain(..from.start.min(line.len()));
    }
    let mut quoted = String::from(if from_start { " (" } else { " (..." });
    for line in lines.iter().take(to.line + 1).skip(from.line) {
        quoted.push_str(&String::from_utf16_lossy(line));
    }
    quoted.push_str(if to_end { ")" } else { "...)" });
    Ok(quoted)
}

fn place(stream: &Stream<'_>, token: Token) -> Place {
    let Position { line, column } = Position::of(stream.text(), token.start as usize);
    let start = usize::try_from(column).unwrap_or(0);
    let length = stream.content(token).encode_utf16().count();
    Place { line: usize::try_from(line).unwrap_or(1).saturating_sub(1), start, end: start + length }
}

/// Lines without their ends; empty ones at the end of the text do not count.
fn split_lines(text: &str) -> Vec<Vec<u16>> {
    let mut lines: Vec<Vec<u16>> = text.split('\n').map(|line| line.encode_utf16().collect()).collect();
    while lines.len() > 1 && lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

fn insert(line: &mut Vec<u16>, at: usize, mark: char) -> Result<(), OutOfBounds> {
    if at > line.len() {
        return Err(OutOfBounds { index: at, length: line.len() });
    }
    let mut units = [0; 2];
    line.splice(at..at, mark.encode_utf16(&mut units).iter().copied());
    Ok(())
}
