//! Logged batches over several shards: written to `system.batches` first, removed once every shard has its part.
//!
//! A crash, a refusal or a timeout in between leaves the entry; the next start or the replay task applies it again, which is
//! harmless because every cell carries its timestamp.

use std::collections::BTreeMap;
use std::time::Duration;

use helenus_data::codec;
use helenus_data::read::{ColumnSelection, KeyRange, ReadCommand, ReadLimits, ReadTarget, RowFilter};
use helenus_data::{
    Blob, Cell, CellPath, Clustering, ColumnData, DeletionTime, Direction, Liveness, Mutation, Partition, PartitionKey,
    Slice,
};
use helenus_schema::Table;
use helenus_storage::RequestContext;
use helenus_types::CqlType;
use helenus_types::time::timeuuid_micros;

use crate::cluster::Cluster;
use crate::consistency::Consistency;
use crate::error::ClusterError;

/// `system.batches.version` of entries whose mutations are in `data::codec` form.
const ENTRY_VERSION: i32 = 1;

impl Cluster {
    pub(super) async fn write_logged_batch(
        &self,
        context: &RequestContext,
        by_shard: BTreeMap<u32, Vec<Mutation>>,
    ) -> Result<(), ClusterError> {
        let table = context.schema.table("system", "batches").cloned().ok_or(ClusterError::UnknownTable)?;
        let entry = self.batchlog_entry(&table, by_shard.values().flatten());
        let key = entry.partition.key.clone();
        // In the log before the first part is applied, or a crash could leave half a batch.
        self.apply_on(self.owner_of(key.token()), context, vec![entry]).await?;
        for (shard, mutations) in by_shard {
            self.apply_on(shard, context, mutations).await?;
        }
        let removal = self.batchlog_removal(&table, key.clone());
        self.apply_on(self.owner_of(key.token()), context, vec![removal]).await
    }

    fn batchlog_entry<'m>(&self, table: &Table, mutations: impl Iterator<Item = &'m Mutation>) -> Mutation {
        let timestamp = self.env.next_timestamp_micros();
        let id = self.env.new_timeuuid();
        let mut partition = Partition::new(PartitionKey::new(id.as_bytes()));
        let row = partition.row_mut(&Clustering::empty());
        row.liveness = Liveness::new(timestamp, None, 0);
        if let Some(column) = table.column("version") {
            row.add_cell(column.id, Cell::live(timestamp, Blob::from(ENTRY_VERSION.to_be_bytes())));
        }
        if let Some(column) = table.column("mutations") {
            let list = row.complex_mut(column.id);
            for mutation in mutations {
                let mut bytes = Vec::new();
                codec::encode(mutation, &mut bytes);
                let path = CellPath::new(&CqlType::Timeuuid, self.env.new_timeuuid().as_bytes());
                list.add_cell(path, Cell::live(timestamp, Blob::from(bytes)));
            }
        }
        Mutation { table: table.id, schema_epoch: self.schema().epoch, partition }
    }

    fn batchlog_removal(&self, table: &Table, key: PartitionKey) -> Mutation {
        let mut partition = Partition::new(key);
        let local_secs = u32::try_from(self.env.wall_secs()).unwrap_or(0);
        partition.deletion = DeletionTime { timestamp: self.env.next_timestamp_micros(), local_secs };
        Mutation { table: table.id, schema_epoch: self.schema().epoch, partition }
    }
}

/// Applies the batches that a stop, a refusal or a timeout left half done and that are older than `age_min`; run on one
/// shard, with no minimum once all shards have recovered, then from time to time. Answers how many.
///
/// What was written before its table was truncated is left out.
///
/// # Errors
/// See [`ClusterError`]; entries not yet applied stay for the next time.
pub async fn replay_batchlog(
    cluster: &Cluster,
    context: &RequestContext,
    age_min: Duration,
) -> Result<usize, ClusterError> {
    let table = context.schema.table("system", "batches").cloned().ok_or(ClusterError::UnknownTable)?;
    let command = ReadCommand {
        table: table.id,
        target: ReadTarget::Range(KeyRange::all()),
        slices: vec![Slice::all()],
        direction: Direction::Forward,
        columns: ColumnSelection::All,
        filter: RowFilter::default(),
        limits: ReadLimits::NONE,
        now_secs: cluster.env().wall_secs(),
        resume: None,
    };
    let entries = cluster.read(context, Consistency::One, command).await?;
    let mut replayed = 0;
    let age_min_micros = i64::try_from(age_min.as_micros()).unwrap_or(i64::MAX);
    for entry in entries.partitions {
        let written_micros = timeuuid_micros(entry.key.bytes()).unwrap_or(i64::MIN);
        if cluster.env().wall_micros() < written_micros.saturating_add(age_min_micros) {
            continue;
        }
        let mutations_id = table.column("mutations").map(|column| column.id);
        let data = entry.rows.first().zip(mutations_id).and_then(|(row, id)| row.column(id));
        if let Some(ColumnData::Complex(list)) = data {
            for (_, cell) in &list.cells {
                let mutation = match codec::decode(&cell.value) {
                    Ok((mutation, _)) => mutation,
                    Err(error) => {
                        tracing::error!(%error, "an entry of the batchlog cannot be read and is left out");
                        continue;
                    }
                };
                let truncated_micros = cluster.storage().truncated_at(mutation.table).unwrap_or(i64::MIN);
                if context.schema.table_by_id(mutation.table).is_some() && truncated_micros < written_micros {
                    let shard = cluster.owner_of(mutation.partition.key.token());
                    cluster.apply_on(shard, context, vec![mutation]).await?;
                }
            }
            replayed += 1;
        }
        let shard = cluster.owner_of(entry.key.token());
        let removal = cluster.batchlog_removal(&table, entry.key);
        cluster.apply_on(shard, context, vec![removal]).await?;
    }
    Ok(replayed)
}
