//! Reserved words, and when a name must be quoted to be read back as itself.
//!
//! Source: Cassandra 5.0, `cql3/reserved_keywords.txt` and `cql3.ColumnIdentifier.maybeQuote`.

use std::borrow::Cow;

/// Sorted for binary search, in lower case. Not every keyword of the grammar: unreserved ones may be names.
const RESERVED: [&str; 57] = [
    "add",
    "allow",
    "alter",
    "and",
    "apply",
    "asc",
    "authorize",
    "batch",
    "begin",
    "by",
    "columnfamily",
    "create",
    "delete",
    "desc",
    "describe",
    "drop",
    "entries",
    "execute",
    "from",
    "full",
    "grant",
    "if",
    "in",
    "index",
    "infinity",
    "insert",
    "into",
    "is",
    "keyspace",
    "limit",
    "materialized",
    "modify",
    "nan",
    "norecursive",
    "not",
    "null",
    "of",
    "on",
    "or",
    "order",
    "primary",
    "rename",
    "revoke",
    "schema",
    "select",
    "set",
    "table",
    "to",
    "token",
    "truncate",
    "unlogged",
    "update",
    "use",
    "using",
    "view",
    "where",
    "with",
];

/// Whether the word may not stand as an unquoted name, in whatever case it is written.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    // The longest reserved word has 12 letters; longer ones need no folding.
    word.len() <= 12 && RESERVED.binary_search(&word.to_ascii_lowercase().as_str()).is_ok()
}

/// The name as CQL text: unchanged where an unquoted word reads back as itself, else in double quotes.
#[must_use]
pub fn maybe_quote(name: &str) -> Cow<'_, str> {
    if is_plain(name) && !is_reserved(name) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    }
}

/// Lower-case letter first, then lower-case letters, digits and underscores.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_sorted_and_known_in_any_case() {
        assert!(RESERVED.is_sorted());
        assert!(is_reserved("Select") && is_reserved("norecursive"));
        assert!(!is_reserved("ttl") && !is_reserved("sélect"));
    }

    #[test]
    fn only_names_that_would_not_read_back_are_quoted() {
        for (name, quoted) in [
            ("a_1", "a_1"),
            ("Users", "\"Users\""),
            ("1a", "\"1a\""),
            ("select", "\"select\""),
            ("a\"b", "\"a\"\"b\""),
            ("", "\"\""),
            ("_add", "\"_add\""),
        ] {
            assert_eq!(maybe_quote(name), quoted);
        }
    }
}
