//! Keyspace: replication, tables and types.

use std::collections::BTreeMap;
use std::sync::Arc;

use helenus_types::UserType;

use crate::table::Table;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyspace {
    pub name: Box<str>,
    pub params: KeyspaceParams,
    /// Where its tables' contents come from.
    pub origin: KeyspaceOrigin,
    pub tables: BTreeMap<Box<str>, Arc<Table>>,
    pub types: BTreeMap<Box<str>, Arc<UserType>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyspaceParams {
    pub durable_writes: bool,
    /// `class` (full class name) and the strategy's options, as `system_schema.keyspaces.replication` shows them.
    pub replication: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyspaceOrigin {
    /// Made by a client.
    User,
    /// Shipped with the node, in ordinary tables or projected from the metadata log.
    System,
    /// Computed when read: `system_views`, `system_virtual_schema`.
    Virtual,
}

impl Keyspace {
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.origin == KeyspaceOrigin::Virtual
    }
}
