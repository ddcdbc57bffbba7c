//! Trees back to text, in two dialects: Cassandra's raw text (`Display`) and canonical CQL ([`ToCql`]).

mod access;
mod definition;
pub mod hash_order;
mod modification;
mod raw;
mod select;
mod statement;
mod term;

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use crate::ast::statement::BindMarker;

/// Canonical CQL: one spelling a tree, and parsing it gives an equal tree.
///
/// Invariant: unquoted keywords are upper case, names are quoted only where they must be, one space between words.
pub trait ToCql {
    /// Appends the canonical text.
    ///
    /// # Errors
    /// None of its own: the result is what `write!` wants.
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result;

    /// The canonical text. Markers are `?`, except in a whole [`ParsedStatement`](crate::ParsedStatement), which knows
    /// their names.
    fn to_cql(&self) -> String {
        let mut out = CqlText { text: String::new(), markers: &[] };
        self.write_cql(&mut out).expect("writing to a String does not fail");
        out.text
    }
}

/// Text under construction, and the names of the markers in it.
#[derive(Debug)]
pub struct CqlText<'a> {
    text: String,
    markers: &'a [BindMarker],
}

impl Write for CqlText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        Ok(())
    }
}

/// `a, b, c`.
fn write_list<T: ToCql>(out: &mut CqlText<'_>, items: &[T]) -> fmt::Result {
    write_separated(out, items, ", ", |out, item| item.write_cql(out))
}

fn write_separated<T>(
    out: &mut CqlText<'_>,
    items: &[T],
    separator: &str,
    mut write_one: impl FnMut(&mut CqlText<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.write_str(separator)?;
        }
        write_one(out, item)?;
    }
    Ok(())
}

/// `'text'` with quotes doubled.
fn write_string(out: &mut CqlText<'_>, text: &str) -> fmt::Result {
    write!(out, "'{}'", text.replace('\'', "''"))
}

/// ` WORD` when it applies.
fn write_if(out: &mut CqlText<'_>, applies: bool, words: &str) -> fmt::Result {
    if applies { out.write_str(words) } else { Ok(()) }
}
