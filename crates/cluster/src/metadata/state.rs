//! Metadata state: what the commands of the log add up to. A deterministic function of them and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use helenus_schema::{Keyspace, KeyspaceOrigin, KeyspaceParams, SchemaChange, SchemaSnapshot, Table};
use helenus_types::UserType;
use uuid::Uuid;

use crate::topology::NodeIdentity;

/// One entry of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The first one of every log.
    Found(NodeIdentity),
    ChangeSchema(Vec<SchemaChange>),
    PutRole(Role),
}

/// A role that may log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub name: String,
    pub is_superuser: bool,
    pub can_login: bool,
    /// bcrypt, as Cassandra stores it; `None`: no password.
    pub salted_hash: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct MetadataState {
    /// Index of the last command applied, from 1.
    pub epoch: u64,
    pub identity: Option<NodeIdentity>,
    pub roles: BTreeMap<String, Role>,
    /// The clients' keyspaces.
    pub keyspaces: BTreeMap<Box<str>, Keyspace>,
    /// Altered replication of system keyspaces.
    pub system_params: BTreeMap<Box<str>, KeyspaceParams>,
    /// Epoch of the last command that changed the schema.
    pub schema_epoch: u64,
}

impl MetadataState {
    pub fn apply(&mut self, command: &Command) {
        self.epoch += 1;
        match command {
            Command::Found(identity) => self.identity = Some(identity.clone()),
            Command::PutRole(role) => {
                self.roles.insert(role.name.clone(), role.clone());
            }
            Command::ChangeSchema(changes) => {
                self.schema_epoch = self.epoch;
                changes.iter().for_each(|change| self.change(change));
            }
        }
    }

    fn change(&mut self, change: &SchemaChange) {
        match change {
            SchemaChange::PutKeyspace { name, params } => self.put_keyspace(name, params),
            SchemaChange::DropKeyspace { name } => {
                self.keyspaces.remove(name);
            }
            SchemaChange::PutTable(table) => {
                if let Some(keyspace) = self.keyspaces.get_mut(&table.keyspace) {
                    keyspace.tables.insert(table.name.clone(), Arc::clone(table));
                }
            }
            SchemaChange::DropTable { keyspace, name } => {
                if let Some(keyspace) = self.keyspaces.get_mut(keyspace) {
                    keyspace.tables.remove(name);
                }
            }
            SchemaChange::PutType(ty) => {
                if let Some(keyspace) = self.keyspaces.get_mut(&ty.keyspace) {
                    put_type(keyspace, ty);
                }
            }
            SchemaChange::DropType { keyspace, name } => {
                if let Some(keyspace) = self.keyspaces.get_mut(keyspace) {
                    keyspace.types.remove(name);
                }
            }
        }
    }

    fn put_keyspace(&mut self, name: &str, params: &KeyspaceParams) {
        if is_system_keyspace(name) {
            self.system_params.insert(name.into(), params.clone());
            return;
        }
        match self.keyspaces.get_mut(name) {
            Some(keyspace) => keyspace.params = params.clone(),
            None => {
                let keyspace = Keyspace {
                    name: name.into(),
                    params: params.clone(),
                    origin: KeyspaceOrigin::User,
                    tables: BTreeMap::new(),
                    types: BTreeMap::new(),
                };
                self.keyspaces.insert(name.into(), keyspace);
            }
        }
    }

    /// The schema as requests see it: the system's keyspaces and the clients'.
    #[must_use]
    pub fn snapshot(&self) -> SchemaSnapshot {
        let system = helenus_schema::system::keyspaces().into_iter().map(|mut keyspace| {
            if let Some(params) = self.system_params.get(&keyspace.name) {
                Arc::make_mut(&mut keyspace).params = params.clone();
            }
            keyspace
        });
        let user = self.keyspaces.values().cloned().map(Arc::new);
        // Any UUID serves that is equal on all nodes with the same schema; the epoch of its last change is.
        let version = Uuid::from_u128(u128::from(self.schema_epoch.max(1)));
        SchemaSnapshot::new(self.schema_epoch, version, system.chain(user))
    }
}

fn is_system_keyspace(name: &str) -> bool {
    helenus_schema::system::keyspaces().iter().any(|keyspace| &*keyspace.name == name)
}

fn put_type(keyspace: &mut Keyspace, ty: &Arc<UserType>) {
    for table in keyspace.tables.values_mut() {
        let uses =
            |table: &Table| table.columns().iter().any(|column| column.ty.references_user_type(&ty.keyspace, &ty.name));
        if uses(table) {
            let mut columns = table.columns().to_vec();
            columns.iter_mut().for_each(|column| column.ty = column.ty.with_user_type(ty));
            *table = Arc::new(table.with_columns(columns));
        }
    }
    let users: Vec<Arc<UserType>> = keyspace
        .types
        .values()
        .filter(|other| other.name != ty.name)
        .filter(|other| other.fields.iter().any(|field| field.ty.references_user_type(&ty.keyspace, &ty.name)))
        .cloned()
        .collect();
    keyspace.types.insert(ty.name.clone(), Arc::clone(ty));
    for user in users {
        let mut user = (*user).clone();
        user.fields.iter_mut().for_each(|field| field.ty = field.ty.with_user_type(ty));
        put_type(keyspace, &Arc::new(user));
    }
}
