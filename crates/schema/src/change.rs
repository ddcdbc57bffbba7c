//! Schema change: one command of the metadata log and what it does to a snapshot.
//!
//! A change carries whole new objects, computed from the snapshot it names in `based_on`; when another change was logged
//! in between it is refused and computed again, so that replaying the log is deterministic and needs no validation.

use std::sync::Arc;

use helenus_types::UserType;

use crate::keyspace::KeyspaceParams;
use crate::table::Table;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaChange {
    PutKeyspace {
        name: Box<str>,
        params: KeyspaceParams,
    },
    DropKeyspace {
        name: Box<str>,
    },
    /// Creates or replaces a table.
    PutTable(Arc<Table>),
    DropTable {
        keyspace: Box<str>,
        name: Box<str>,
    },
    /// Creates or replaces a type; replacing also replaces it inside the tables and types that use it.
    PutType(Arc<UserType>),
    DropType {
        keyspace: Box<str>,
        name: Box<str>,
    },
}

impl SchemaChange {
    #[must_use]
    pub fn keyspace(&self) -> &str {
        match self {
            SchemaChange::PutKeyspace { name, .. } | SchemaChange::DropKeyspace { name } => name,
            SchemaChange::PutTable(table) => &table.keyspace,
            SchemaChange::PutType(ty) => &ty.keyspace,
            SchemaChange::DropTable { keyspace, .. } | SchemaChange::DropType { keyspace, .. } => keyspace,
        }
    }
}
