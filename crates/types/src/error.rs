//! What can be wrong with a value or with a type's name. Texts are Cassandra's own, because tools match on them.

/// A value that contradicts its type, as Cassandra's `MarshalException`; the text goes to the client unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct MarshalError {
    text: Box<str>,
}

impl MarshalError {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into().into_boxed_str() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A Java type name that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    #[error("Syntax error parsing '{text}' at char {at}: {problem}")]
    Syntax { text: Box<str>, at: usize, problem: &'static str },
    #[error("type '{text}' nests deeper than {limit} levels")]
    TooDeep { text: Box<str>, limit: usize },
}
