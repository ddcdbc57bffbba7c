//! Snapshot: the whole schema at one position of the metadata log; immutable, shared by all requests that began under it.

use std::collections::BTreeMap;
use std::sync::Arc;

use helenus_data::TableId;
use uuid::Uuid;

use crate::keyspace::Keyspace;
use crate::table::Table;

#[derive(Clone, Debug)]
pub struct SchemaSnapshot {
    /// Index of the last metadata command in it.
    pub epoch: u64,
    /// What `system.local.schema_version` says; a function of the content, equal on all nodes.
    pub version: Uuid,
    keyspaces: BTreeMap<Box<str>, Arc<Keyspace>>,
    by_id: BTreeMap<TableId, Arc<Table>>,
}

impl SchemaSnapshot {
    #[must_use]
    pub fn new(epoch: u64, version: Uuid, keyspaces: impl IntoIterator<Item = Arc<Keyspace>>) -> Self {
        let keyspaces: BTreeMap<Box<str>, Arc<Keyspace>> =
            keyspaces.into_iter().map(|keyspace| (keyspace.name.clone(), keyspace)).collect();
        let by_id = keyspaces
            .values()
            .flat_map(|keyspace| keyspace.tables.values())
            .map(|table| (table.id, Arc::clone(table)))
            .collect();
        Self { epoch, version, keyspaces, by_id }
    }

    /// All keyspaces by name, the system's included.
    pub fn keyspaces(&self) -> impl Iterator<Item = &Arc<Keyspace>> {
        self.keyspaces.values()
    }

    #[must_use]
    pub fn keyspace(&self, name: &str) -> Option<&Arc<Keyspace>> {
        self.keyspaces.get(name)
    }

    #[must_use]
    pub fn table(&self, keyspace: &str, name: &str) -> Option<&Arc<Table>> {
        self.keyspace(keyspace)?.tables.get(name)
    }

    #[must_use]
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        self.by_id.get(&id)
    }

    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.by_id.values()
    }
}
