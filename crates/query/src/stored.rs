//! Stored statements: `system.prepared_statements`, through which prepared statements survive a restart.
//!
//! Columns as in Cassandra: `prepared_id` is the id that clients are told, `logged_keyspace` the keyspace that the id is
//! made with (null for the id of the text alone), `query_string` the text. The table follows the registry: it is written
//! after a statement was put there and before the client is answered.
//!
//! Source: Cassandra 5.0, `SystemKeyspace.writePreparedStatement`, `removePreparedStatement`, `loadPreparedStatements`.

use std::sync::Arc;

use helenus_cluster::{Cluster, ClusterError, Consistency, WriteKind};
use helenus_data::read::{ColumnSelection, KeyRange, ReadCommand, ReadLimits, ReadTarget, RowFilter};
use helenus_data::{
    Blob, Cell, Clustering, DeletionTime, Direction, Liveness, Mutation, Partition, PartitionKey, Row, Slice,
};
use helenus_schema::Table;
use helenus_storage::RequestContext;

use crate::registry::{PreparedEntry, PreparedId};

/// Statements may be megabytes long; a read stops after the one that makes its answer this large.
const CHUNK_BYTES: usize = 1 << 20;

/// A statement that was prepared before the node was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preloaded {
    pub id: PreparedId,
    pub text: String,
    pub keyspace: Option<String>,
}

/// What became different in the registry.
#[derive(Default)]
pub(crate) struct Changes {
    pub added: Vec<(PreparedId, Arc<PreparedEntry>)>,
    pub removed: Vec<PreparedId>,
}

/// Brings the table up to date. A failure is logged: the statements work all the same, until the next restart.
pub(crate) async fn write(cluster: &Cluster, changes: Changes) {
    let schema = cluster.schema();
    let Some(table) = schema.table("system", "prepared_statements").cloned() else { return };
    let context = RequestContext::internal(schema);
    let added = changes.added.iter().map(|(id, entry)| addition(cluster, &table, id, entry));
    let removed = changes.removed.iter().map(|id| removal(cluster, &table, id));
    for mutation in added.chain(removed) {
        if let Err(error) = cluster.write(&context, Consistency::One, WriteKind::Simple, vec![mutation]).await {
            tracing::warn!(%error, "prepared statements could not be stored; clients prepare them again after a restart");
            return;
        }
    }
}

/// Everything that is stored.
///
/// # Errors
/// See [`ClusterError`].
pub(crate) async fn read(cluster: &Cluster) -> Result<Vec<Preloaded>, ClusterError> {
    let schema = cluster.schema();
    let table = schema.table("system", "prepared_statements").cloned().ok_or(ClusterError::UnknownTable)?;
    let context = RequestContext::internal(schema);
    let mut command = ReadCommand {
        table: table.id,
        target: ReadTarget::Range(KeyRange::all()),
        slices: vec![Slice::all()],
        direction: Direction::Forward,
        columns: ColumnSelection::All,
        filter: RowFilter::default(),
        limits: ReadLimits { bytes: CHUNK_BYTES, ..ReadLimits::NONE },
        now_secs: cluster.env().wall_secs(),
        resume: None,
    };
    let mut found = Vec::new();
    loop {
        let chunk = cluster.read(&context, Consistency::One, command.clone()).await?;
        for partition in &chunk.partitions {
            let text_of = |name: &str| text(&table, partition.rows.first()?, name);
            if let (Ok(id), Some(text)) = (PreparedId::try_from(partition.key.bytes()), text_of("query_string")) {
                found.push(Preloaded { id, text, keyspace: text_of("logged_keyspace") });
            }
        }
        if chunk.next.is_none() {
            return Ok(found);
        }
        command.resume = chunk.next;
    }
}

fn text(table: &Table, row: &Row, name: &str) -> Option<String> {
    let cell = row.cell(table.column(name)?.id)?;
    String::from_utf8(cell.value.to_vec()).ok()
}

fn addition(cluster: &Cluster, table: &Table, id: &PreparedId, entry: &PreparedEntry) -> Mutation {
    let timestamp = cluster.env().next_timestamp_micros();
    let mut partition = Partition::new(PartitionKey::new(id));
    let row = partition.row_mut(&Clustering::empty());
    row.liveness = Liveness::new(timestamp, None, 0);
    let keyspace = entry.logged_keyspace.as_deref().map(str::as_bytes);
    for (name, value) in [("logged_keyspace", keyspace), ("query_string", Some(entry.text.as_bytes()))] {
        if let (Some(column), Some(value)) = (table.column(name), value) {
            row.add_cell(column.id, Cell::live(timestamp, Blob::from(value)));
        }
    }
    Mutation { table: table.id, schema_epoch: cluster.schema().epoch, partition }
}

fn removal(cluster: &Cluster, table: &Table, id: &PreparedId) -> Mutation {
    let mut partition = Partition::new(PartitionKey::new(id));
    let local_secs = u32::try_from(cluster.env().wall_secs()).unwrap_or(0);
    partition.deletion = DeletionTime { timestamp: cluster.env().next_timestamp_micros(), local_secs };
    Mutation { table: table.id, schema_epoch: cluster.schema().epoch, partition }
}
