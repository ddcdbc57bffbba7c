//! Records: metadata commands and state as JSON, the form in which log and snapshot hold them.
//!
//! These types are made for the disk alone; the inner ones know nothing of serialisation. CQL types stand as Cassandra's
//! marshal class names, which carry user types whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use helenus_data::{ColumnId, TableId};
use helenus_schema::{
    Column, ColumnKind, DroppedColumn, Keyspace, KeyspaceOrigin, KeyspaceParams, SchemaChange, Table, TableParams,
};
use helenus_types::token::Token;
use helenus_types::{CqlType, UserType, UserTypeField};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::metadata::state::{Command, MetadataState, Role};
use crate::topology::NodeIdentity;

/// What is wrong with a record.
pub type RecordError = String;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandRecord {
    Found(IdentityRecord),
    ChangeSchema { changes: Vec<ChangeRecord> },
    PutRole(RoleRecord),
}

#[derive(Serialize, Deserialize)]
pub struct StateRecord {
    epoch: u64,
    schema_epoch: u64,
    identity: Option<IdentityRecord>,
    roles: Vec<RoleRecord>,
    keyspaces: Vec<KeyspaceRecord>,
    system_params: BTreeMap<String, KeyspaceParamsRecord>,
}

#[derive(Serialize, Deserialize)]
pub struct IdentityRecord {
    cluster_name: String,
    host_id: String,
    tokens: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
pub struct RoleRecord {
    name: String,
    is_superuser: bool,
    can_login: bool,
    salted_hash: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeRecord {
    PutKeyspace { name: String, params: KeyspaceParamsRecord },
    DropKeyspace { name: String },
    PutTable { table: Box<TableRecord> },
    DropTable { keyspace: String, name: String },
    PutType { user_type: TypeRecord },
    DropType { keyspace: String, name: String },
}

#[derive(Serialize, Deserialize)]
pub struct KeyspaceParamsRecord {
    durable_writes: bool,
    replication: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct KeyspaceRecord {
    name: String,
    params: KeyspaceParamsRecord,
    types: Vec<TypeRecord>,
    tables: Vec<TableRecord>,
}

#[derive(Serialize, Deserialize)]
pub struct TypeRecord {
    keyspace: String,
    name: String,
    fields: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
pub struct TableRecord {
    id: String,
    keyspace: String,
    name: String,
    columns: Vec<ColumnRecord>,
    dropped: Vec<DroppedRecord>,
    next_column_id: u32,
    params: ParamsRecord,
}

#[derive(Serialize, Deserialize)]
struct ColumnRecord {
    id: u32,
    name: String,
    kind: KindRecord,
    #[serde(rename = "type")]
    ty: String,
}

#[derive(Serialize, Deserialize)]
struct DroppedRecord {
    column: ColumnRecord,
    dropped_micros: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindRecord {
    PartitionKey { position: u16 },
    Clustering { position: u16, descending: bool },
    Static,
    Regular,
}

#[derive(Serialize, Deserialize)]
struct ParamsRecord {
    additional_write_policy: String,
    allow_auto_snapshot: bool,
    bloom_filter_fp_chance: f64,
    caching: BTreeMap<String, String>,
    cdc: bool,
    comment: String,
    compaction: BTreeMap<String, String>,
    compression: BTreeMap<String, String>,
    memtable: String,
    crc_check_chance: f64,
    default_time_to_live: i32,
    extensions: BTreeMap<String, Vec<u8>>,
    gc_grace_seconds: i32,
    incremental_backups: bool,
    max_index_interval: i32,
    memtable_flush_period_in_ms: i32,
    min_index_interval: i32,
    read_repair: String,
    speculative_retry: String,
}

impl From<&Command> for CommandRecord {
    fn from(command: &Command) -> Self {
        match command {
            Command::Found(identity) => CommandRecord::Found(identity.into()),
            Command::ChangeSchema(changes) => {
                CommandRecord::ChangeSchema { changes: changes.iter().map(ChangeRecord::from).collect() }
            }
            Command::PutRole(role) => CommandRecord::PutRole(role.into()),
        }
    }
}

impl TryFrom<CommandRecord> for Command {
    type Error = RecordError;
    fn try_from(record: CommandRecord) -> Result<Self, RecordError> {
        Ok(match record {
            CommandRecord::Found(identity) => Command::Found(identity.try_into()?),
            CommandRecord::ChangeSchema { changes } => {
                Command::ChangeSchema(changes.into_iter().map(SchemaChange::try_from).collect::<Result<_, _>>()?)
            }
            CommandRecord::PutRole(role) => Command::PutRole(role.into()),
        })
    }
}

impl From<&MetadataState> for StateRecord {
    fn from(state: &MetadataState) -> Self {
        Self {
            epoch: state.epoch,
            schema_epoch: state.schema_epoch,
            identity: state.identity.as_ref().map(IdentityRecord::from),
            roles: state.roles.values().map(RoleRecord::from).collect(),
            keyspaces: state.keyspaces.values().map(KeyspaceRecord::from).collect(),
            system_params: state.system_params.iter().map(|(name, params)| (name.to_string(), params.into())).collect(),
        }
    }
}

impl TryFrom<StateRecord> for MetadataState {
    type Error = RecordError;
    fn try_from(record: StateRecord) -> Result<Self, RecordError> {
        let mut keyspaces = BTreeMap::new();
        for keyspace in record.keyspaces {
            let keyspace = Keyspace::try_from(keyspace)?;
            keyspaces.insert(keyspace.name.clone(), keyspace);
        }
        Ok(Self {
            epoch: record.epoch,
            schema_epoch: record.schema_epoch,
            identity: record.identity.map(NodeIdentity::try_from).transpose()?,
            roles: record.roles.into_iter().map(|role| (role.name.clone(), role.into())).collect(),
            keyspaces,
            system_params: record
                .system_params
                .into_iter()
                .map(|(name, params)| (name.into(), params.into()))
                .collect(),
        })
    }
}

impl From<&NodeIdentity> for IdentityRecord {
    fn from(identity: &NodeIdentity) -> Self {
        Self {
            cluster_name: identity.cluster_name.clone(),
            host_id: identity.host_id.to_string(),
            tokens: identity.tokens.iter().map(|token| token.value()).collect(),
        }
    }
}

impl TryFrom<IdentityRecord> for NodeIdentity {
    type Error = RecordError;
    fn try_from(record: IdentityRecord) -> Result<Self, RecordError> {
        Ok(Self {
            cluster_name: record.cluster_name,
            host_id: parse_uuid(&record.host_id)?,
            tokens: record.tokens.into_iter().map(Token).collect(),
        })
    }
}

impl From<&Role> for RoleRecord {
    fn from(role: &Role) -> Self {
        Self {
            name: role.name.clone(),
            is_superuser: role.is_superuser,
            can_login: role.can_login,
            salted_hash: role.salted_hash.clone(),
        }
    }
}

impl From<RoleRecord> for Role {
    fn from(record: RoleRecord) -> Self {
        Self {
            name: record.name,
            is_superuser: record.is_superuser,
            can_login: record.can_login,
            salted_hash: record.salted_hash,
        }
    }
}

impl From<&SchemaChange> for ChangeRecord {
    fn from(change: &SchemaChange) -> Self {
        match change {
            SchemaChange::PutKeyspace { name, params } => {
                ChangeRecord::PutKeyspace { name: name.to_string(), params: params.into() }
            }
            SchemaChange::DropKeyspace { name } => ChangeRecord::DropKeyspace { name: name.to_string() },
            SchemaChange::PutTable(table) => ChangeRecord::PutTable { table: Box::new(TableRecord::from(&**table)) },
            SchemaChange::DropTable { keyspace, name } => {
                ChangeRecord::DropTable { keyspace: keyspace.to_string(), name: name.to_string() }
            }
            SchemaChange::PutType(ty) => ChangeRecord::PutType { user_type: TypeRecord::from(&**ty) },
            SchemaChange::DropType { keyspace, name } => {
                ChangeRecord::DropType { keyspace: keyspace.to_string(), name: name.to_string() }
            }
        }
    }
}

impl TryFrom<ChangeRecord> for SchemaChange {
    type Error = RecordError;
    fn try_from(record: ChangeRecord) -> Result<Self, RecordError> {
        Ok(match record {
            ChangeRecord::PutKeyspace { name, params } => {
                SchemaChange::PutKeyspace { name: name.into(), params: params.into() }
            }
            ChangeRecord::DropKeyspace { name } => SchemaChange::DropKeyspace { name: name.into() },
            ChangeRecord::PutTable { table } => SchemaChange::PutTable(Arc::new(Table::try_from(*table)?)),
            ChangeRecord::DropTable { keyspace, name } => {
                SchemaChange::DropTable { keyspace: keyspace.into(), name: name.into() }
            }
            ChangeRecord::PutType { user_type } => SchemaChange::PutType(Arc::new(UserType::try_from(user_type)?)),
            ChangeRecord::DropType { keyspace, name } => {
                SchemaChange::DropType { keyspace: keyspace.into(), name: name.into() }
            }
        })
    }
}

impl From<&KeyspaceParams> for KeyspaceParamsRecord {
    fn from(params: &KeyspaceParams) -> Self {
        Self { durable_writes: params.durable_writes, replication: params.replication.clone() }
    }
}

impl From<KeyspaceParamsRecord> for KeyspaceParams {
    fn from(record: KeyspaceParamsRecord) -> Self {
        Self { durable_writes: record.durable_writes, replication: record.replication }
    }
}

impl From<&Keyspace> for KeyspaceRecord {
    fn from(keyspace: &Keyspace) -> Self {
        Self {
            name: keyspace.name.to_string(),
            params: (&keyspace.params).into(),
            types: keyspace.types.values().map(|ty| TypeRecord::from(&**ty)).collect(),
            tables: keyspace.tables.values().map(|table| TableRecord::from(&**table)).collect(),
        }
    }
}

impl TryFrom<KeyspaceRecord> for Keyspace {
    type Error = RecordError;
    fn try_from(record: KeyspaceRecord) -> Result<Self, RecordError> {
        let mut types = BTreeMap::new();
        for ty in record.types {
            let ty = UserType::try_from(ty)?;
            types.insert(ty.name.clone(), Arc::new(ty));
        }
        let mut tables = BTreeMap::new();
        for table in record.tables {
            let table = Table::try_from(table)?;
            tables.insert(table.name.clone(), Arc::new(table));
        }
        Ok(Self { name: record.name.into(), params: record.params.into(), origin: KeyspaceOrigin::User, tables, types })
    }
}

impl From<&UserType> for TypeRecord {
    fn from(ty: &UserType) -> Self {
        Self {
            keyspace: ty.keyspace.to_string(),
            name: ty.name.to_string(),
            fields: ty.fields.iter().map(|field| (field.name.to_string(), field.ty.java_name())).collect(),
        }
    }
}

impl TryFrom<TypeRecord> for UserType {
    type Error = RecordError;
    fn try_from(record: TypeRecord) -> Result<Self, RecordError> {
        let field = |(name, ty): (String, String)| -> Result<UserTypeField, RecordError> {
            Ok(UserTypeField { name: name.into(), ty: parse_type(&ty)? })
        };
        Ok(Self {
            keyspace: record.keyspace.into(),
            name: record.name.into(),
            fields: record.fields.into_iter().map(field).collect::<Result<_, _>>()?,
        })
    }
}

impl From<&Table> for TableRecord {
    fn from(table: &Table) -> Self {
        Self {
            id: table.id.0.to_string(),
            keyspace: table.keyspace.to_string(),
            name: table.name.to_string(),
            columns: table
                .columns()
                .iter()
                .map(|column| column_record(column.id, &column.name, column.kind, &column.ty))
                .collect(),
            dropped: table
                .dropped
                .iter()
                .map(|dropped| DroppedRecord {
                    column: column_record(dropped.id, &dropped.name, dropped.kind, &dropped.ty),
                    dropped_micros: dropped.dropped_micros,
                })
                .collect(),
            next_column_id: table.next_column_id.0,
            params: (&table.params).into(),
        }
    }
}

impl TryFrom<TableRecord> for Table {
    type Error = RecordError;
    fn try_from(record: TableRecord) -> Result<Self, RecordError> {
        let id = TableId(parse_uuid(&record.id)?);
        let columns = record.columns.into_iter().map(Column::try_from).collect::<Result<_, _>>()?;
        let mut table = Table::new(id, &record.keyspace, &record.name, columns, record.params.into());
        for dropped in record.dropped {
            let column = Column::try_from(dropped.column)?;
            table.dropped.push(DroppedColumn {
                id: column.id,
                name: column.name,
                kind: column.kind,
                ty: column.ty,
                dropped_micros: dropped.dropped_micros,
            });
        }
        table.next_column_id = ColumnId(record.next_column_id);
        Ok(table)
    }
}

fn column_record(id: ColumnId, name: &str, kind: ColumnKind, ty: &CqlType) -> ColumnRecord {
    let kind = match kind {
        ColumnKind::PartitionKey { position } => KindRecord::PartitionKey { position },
        ColumnKind::Clustering { position, descending } => KindRecord::Clustering { position, descending },
        ColumnKind::Static => KindRecord::Static,
        ColumnKind::Regular => KindRecord::Regular,
    };
    ColumnRecord { id: id.0, name: name.to_owned(), kind, ty: ty.java_name() }
}

impl TryFrom<ColumnRecord> for Column {
    type Error = RecordError;
    fn try_from(record: ColumnRecord) -> Result<Self, RecordError> {
        let kind = match record.kind {
            KindRecord::PartitionKey { position } => ColumnKind::PartitionKey { position },
            KindRecord::Clustering { position, descending } => ColumnKind::Clustering { position, descending },
            KindRecord::Static => ColumnKind::Static,
            KindRecord::Regular => ColumnKind::Regular,
        };
        Ok(Self { id: ColumnId(record.id), name: record.name.into(), kind, ty: parse_type(&record.ty)? })
    }
}

macro_rules! same_fields {
    ($($field:ident),* $(,)?) => {
        impl From<&TableParams> for ParamsRecord {
            fn from(params: &TableParams) -> Self {
                Self { $($field: params.$field.clone()),* }
            }
        }

        impl From<ParamsRecord> for TableParams {
            fn from(record: ParamsRecord) -> Self {
                Self { $($field: record.$field),* }
            }
        }
    };
}

same_fields!(
    additional_write_policy,
    allow_auto_snapshot,
    bloom_filter_fp_chance,
    caching,
    cdc,
    comment,
    compaction,
    compression,
    memtable,
    crc_check_chance,
    default_time_to_live,
    extensions,
    gc_grace_seconds,
    incremental_backups,
    max_index_interval,
    memtable_flush_period_in_ms,
    min_index_interval,
    read_repair,
    speculative_retry,
);

fn parse_uuid(text: &str) -> Result<Uuid, RecordError> {
    text.parse().map_err(|error| format!("{text:?} is no UUID: {error}"))
}

fn parse_type(text: &str) -> Result<CqlType, RecordError> {
    CqlType::parse_java(text).map_err(|error| format!("{text:?} is no type: {error}"))
}
