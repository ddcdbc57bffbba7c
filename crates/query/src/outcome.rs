//! What a connection keeps between requests, and what a request comes to.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use helenus_env::MemoryPermit;
use helenus_protocol::{Prepared, Rows, SchemaChange};

/// What the requests of one connection share. Clones share the warning's memory, so that it comes once a connection.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Chosen with USE.
    pub keyspace: Option<Arc<str>>,
    /// Who is logged in; `None` when nobody has to be.
    pub role: Option<Arc<str>>,
    pub protocol_version: u8,
    pub(crate) has_warned_of_use: Rc<Cell<bool>>,
}

impl Session {
    /// The session of a request that names its own keyspace. It warns for itself, as Cassandra's copy of it does.
    #[must_use]
    pub(crate) fn with_keyspace(&self, keyspace: &str) -> Self {
        Self { keyspace: Some(keyspace.into()), has_warned_of_use: Rc::default(), ..self.clone() }
    }

    /// Once a session.
    pub(crate) fn warn_of_use(&self, id: &[u8], statement_keyspace: Option<&str>, warnings: &mut Vec<String>) {
        if self.has_warned_of_use.replace(true) {
            return;
        }
        warnings.push(format!(
            "`USE <keyspace>` with prepared statements is considered to be an anti-pattern due to ambiguity in \
             non-qualified table names. Please consider removing instances of `Session#setKeyspace(<keyspace>)`, \
             `Session#execute(\"USE <keyspace>\")` and `cluster.newSession(<keyspace>)` from your code, and always use \
             fully qualified table names (e.g. <keyspace>.<table>). Keyspace used: {}, statement keyspace: {}, statement \
             id: {}",
            self.keyspace.as_deref().unwrap_or("null"),
            statement_keyspace.unwrap_or("null"),
            crate::error::hex(id)
        ));
    }
}

#[derive(Debug)]
pub struct QueryOutcome {
    pub result: QueryResult,
    pub warnings: Vec<String>,
    /// What the request was granted, its rows among it: to be kept for as long as they are.
    pub memory: Option<MemoryPermit>,
}

#[derive(Debug)]
pub enum QueryResult {
    Void,
    Rows(Rows),
    SetKeyspace(String),
    SchemaChange(SchemaChange),
    Prepared(Prepared),
}

/// The answer to PREPARE.
#[derive(Debug)]
pub struct PreparedOutcome {
    pub prepared: Prepared,
    pub warnings: Vec<String>,
}

impl std::ops::Deref for PreparedOutcome {
    type Target = Prepared;

    fn deref(&self) -> &Prepared {
        &self.prepared
    }
}

impl From<PreparedOutcome> for QueryOutcome {
    fn from(outcome: PreparedOutcome) -> Self {
        Self { result: QueryResult::Prepared(outcome.prepared), warnings: outcome.warnings, memory: None }
    }
}
