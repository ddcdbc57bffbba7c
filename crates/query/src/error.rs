//! The one error of this crate, grouped by the CQL error code that it becomes; texts are Cassandra's.
//!
//! `server::cql::error_map` turns it into an ERROR message. Most refusals are [`QueryError::Invalid`]: its text is made
//! where the rule is checked, because it names what the rule looked at.

use helenus_cluster::ClusterError;

#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// 0x2000: not CQL, or an unknown table option.
    #[error("{0}")]
    Syntax(String),
    /// 0x2200: CQL that cannot be done.
    #[error("{0}")]
    Invalid(String),
    /// 0x2300: a table or keyspace option without sense.
    #[error("{0}")]
    Config(String),
    /// 0x2100.
    #[error("{0}")]
    Unauthorized(String),
    /// 0x2400; `table` is empty for a keyspace.
    #[error("{message}")]
    AlreadyExists { keyspace: String, table: String, message: String },
    /// 0x000A: what the client sent along with the statement is broken, such as a paging state.
    #[error("{0}")]
    Protocol(String),
    /// 0x0000: Cassandra fails with an internal error here, and so do we.
    #[error("{0}")]
    Server(String),
    /// 0x1001: what the request would hold does not fit into the memory that is left.
    #[error("{0}")]
    Overloaded(String),
    /// 0x2500.
    #[error(
        "Prepared query with ID {} not found (either the query was not prepared on this host (maybe the host has been \
         restarted?) or you have prepared too many queries and it has been evicted from the internal cache)",
        hex(id)
    )]
    Unprepared { id: Vec<u8> },
    /// 0x1400: a function or operation failed on a value.
    #[error("{message}")]
    FunctionFailure { keyspace: String, function: String, argument_types: Vec<String>, message: String },
    /// Any of the others, with the warnings that the client would have got with an answer.
    #[error("{error}")]
    Warned { error: Box<QueryError>, warnings: Vec<String> },
    /// Unavailable, timeout, failure, overload: what became of the request in the cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl QueryError {
    /// The refusal of a statement form that Cassandra has and we have not.
    #[must_use]
    pub fn unsupported(what: &str) -> Self {
        Self::Invalid(format!("{what} is not supported by Helenus yet"))
    }

    /// This error with warnings that come before those it has.
    #[must_use]
    pub(crate) fn warned(self, mut warnings: Vec<String>) -> Self {
        if warnings.is_empty() {
            return self;
        }
        match self {
            Self::Warned { error, warnings: later } => {
                warnings.extend(later);
                Self::Warned { error, warnings }
            }
            error => Self::Warned { error: Box::new(error), warnings },
        }
    }

    /// The error itself, and what goes with it.
    #[must_use]
    pub fn into_parts(self) -> (Self, Vec<String>) {
        match self {
            Self::Warned { error, warnings } => (*error, warnings),
            error => (error, Vec::new()),
        }
    }
}

impl From<helenus_types::MarshalError> for QueryError {
    fn from(error: helenus_types::MarshalError) -> Self {
        Self::Invalid(error.text().to_owned())
    }
}

impl From<helenus_cql::SyntaxError> for QueryError {
    fn from(error: helenus_cql::SyntaxError) -> Self {
        Self::Syntax(error.to_string())
    }
}

pub type Result<T, E = QueryError> = std::result::Result<T, E>;

/// Lower-case hexadecimal digits, without `0x`.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An [`QueryError::Invalid`] with a formatted text.
macro_rules! invalid {
    ($($format:tt)+) => { $crate::error::QueryError::Invalid(format!($($format)+)) };
}

/// Returns an [`QueryError::Invalid`] unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($format:tt)+) => {
        if !$condition {
            return Err($crate::error::QueryError::Invalid(format!($($format)+)));
        }
    };
}

pub(crate) use {ensure, invalid};
