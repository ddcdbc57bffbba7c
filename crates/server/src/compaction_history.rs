//! `system.compaction_history`: what each compaction did, kept for a week.
//!
//! Source: Cassandra 5.0, `db.SystemKeyspace.updateCompactionHistory`.

use std::rc::Rc;

use helenus_cluster::{Consistency, WriteKind};
use helenus_data::{Blob, Cell, CellPath, Clustering, Liveness, Mutation, Partition, PartitionKey};
use helenus_schema::Table;
use helenus_storage::{CompactionRecord, RequestContext};
use helenus_types::CqlType;
use helenus_types::collection::pack_map;
use helenus_types::time::Ttl;

use crate::admin::compaction_kind_name;
use crate::shard::ShardServer;

const KEYSPACE: &str = "system";
const TABLE: &str = "compaction_history";

/// From now on writes down what this shard compacts.
pub(crate) fn keep(server: &Rc<ShardServer>) {
    // Storage holds the listener, and the server holds the storage.
    let weak = Rc::downgrade(server);
    server.cluster.storage().on_compaction_end(Box::new(move |record| {
        // A compaction of the history that is written into the history would go on for ever.
        if (record.keyspace.as_str(), record.table.as_str()) == (KEYSPACE, TABLE) {
            return;
        }
        let Some(server) = weak.upgrade() else { return };
        let record = record.clone();
        let env = server.env.clone();
        env.spawn("note a compaction", async move { write(&server, &record).await }).detach();
    }));
}

/// A failure is logged: the compaction itself is done.
async fn write(server: &ShardServer, record: &CompactionRecord) {
    let schema = server.cluster.schema();
    let Some(table) = schema.table(KEYSPACE, TABLE).cloned() else { return };
    let mutation = mutation(server, &table, schema.epoch, record);
    let context = RequestContext::internal(schema);
    if let Err(error) = server.cluster.write(&context, Consistency::Any, WriteKind::Simple, vec![mutation]).await {
        tracing::info!(%error, table = %record.table, "a compaction could not be noted in system.compaction_history");
    }
}

fn mutation(server: &ShardServer, table: &Table, schema_epoch: u64, record: &CompactionRecord) -> Mutation {
    let timestamp = server.env.next_timestamp_micros();
    let now_secs = server.env.wall_secs();
    let ttl = Ttl::from_secs(i64::from(table.params.default_time_to_live)).ok();
    let cell = |value: &[u8]| match ttl {
        Some(ttl) => Cell::expiring(timestamp, ttl, now_secs, Blob::from(value)),
        None => Cell::live(timestamp, Blob::from(value)),
    };
    let bigint = |number: u64| i64::try_from(number).unwrap_or(i64::MAX).to_be_bytes();
    let kind = compaction_kind_name(record.kind);
    let properties = pack_map(&[(b"compaction_type".as_slice(), kind.as_bytes())]);
    let mut partition = Partition::new(PartitionKey::new(record.id.as_bytes()));
    let row = partition.row_mut(&Clustering::empty());
    row.liveness = Liveness::new(timestamp, ttl, now_secs);
    let values: [(&str, &[u8]); 6] = [
        ("keyspace_name", record.keyspace.as_bytes()),
        ("columnfamily_name", record.table.as_bytes()),
        ("compacted_at", &(record.compacted_at_micros / 1_000).to_be_bytes()),
        ("bytes_in", &bigint(record.bytes_in)),
        ("bytes_out", &bigint(record.bytes_out)),
        ("compaction_properties", &properties),
    ];
    for (name, value) in values {
        if let Some(column) = table.column(name) {
            row.add_cell(column.id, cell(value));
        }
    }
    if let Some(column) = table.column("rows_merged") {
        let map = row.complex_mut(column.id);
        for (sources, partitions) in &record.partitions_by_sources {
            let path = CellPath::new(&CqlType::Int, &sources.to_be_bytes());
            map.add_cell(path, cell(&bigint(*partitions)));
        }
    }
    Mutation { table: table.id, schema_epoch, partition }
}
