//! Names: one word as Cassandra stores it, and a word that may carry its keyspace.

use std::hash::{Hash, Hasher};

/// One name. Unquoted names are folded to lower case, quoted ones keep case and lose the quotes.
///
/// Equality and hashing look at the folded text only: `Users` and `"users"` are the same name.
#[derive(Clone, Debug)]
pub struct Identifier {
    text: Box<str>,
    quoted: bool,
}

impl Identifier {
    /// The name as written without quotes; folds ASCII and other letters as Cassandra does.
    #[must_use]
    pub fn unquoted(text: &str) -> Self {
        Self { text: text.to_lowercase().into_boxed_str(), quoted: false }
    }

    /// The content of a quoted name, doubled quotes already resolved. Also right for names that come from a schema.
    pub fn quoted(text: impl Into<Box<str>>) -> Self {
        Self { text: text.into(), quoted: true }
    }

    /// The name itself: folded, without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the statement spelled it in double quotes.
    #[must_use]
    pub fn is_quoted(&self) -> bool {
        self.quoted
    }
}

impl PartialEq for Identifier {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Identifier {}

impl Hash for Identifier {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl AsRef<str> for Identifier {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// `[keyspace.]name` of a table, view, type, index, function or aggregate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    pub keyspace: Option<Identifier>,
    pub name: Identifier,
}
