//! A node of a few shards in one thread, and the means to write to it and look at it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use helenus_data::in_memory;
use helenus_data::read::{ColumnSelection, KeyRange, PartitionRows, ReadCommand, ReadLimits, ReadTarget, RowFilter};
use helenus_data::{
    Blob, Cell, Clustering, ColumnId, Direction, Liveness, Mutation, Partition, PartitionKey, Row, Slice, TableId,
};
use helenus_env::{Env, ShardId};
use helenus_schema::{
    Column, ColumnKind, Keyspace, KeyspaceOrigin, KeyspaceParams, SchemaSnapshot, Table, TableParams,
};
use helenus_types::CqlType;
use helenus_types::token::shard_of;
use uuid::Uuid;

use crate::config::StorageConfig;
use crate::context::RequestContext;
use crate::error::StorageError;
use crate::metrics::RecoveryReport;
use crate::storage::Storage;

pub(super) const STATIC: ColumnId = ColumnId(2);
pub(super) const VALUE: ColumnId = ColumnId(3);
pub(super) const OTHER: ColumnId = ColumnId(4);

pub(super) const ROWS: TableId = TableId(Uuid::from_u128(0x1111_2222_3333_4444_5555_6666_7777_8888));
pub(super) const COUNTERS: TableId = TableId(Uuid::from_u128(0x9999_2222_3333_4444_5555_6666_7777_8888));
const KEYSPACE: &str = "ks";

/// A small deterministic generator (splitmix64), so that a failure is its seed.
pub(super) struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// The rows' table: `k int, c int, s text static, v text, w text, PRIMARY KEY (k, c)`.
pub(super) fn rows_table(params: TableParams) -> Table {
    let column = |id, name: &str, kind, ty| Column { id: ColumnId(id), name: name.into(), kind, ty };
    let columns = vec![
        column(0, "k", ColumnKind::PartitionKey { position: 0 }, CqlType::Int),
        column(1, "c", ColumnKind::Clustering { position: 0, descending: false }, CqlType::Int),
        column(2, "s", ColumnKind::Static, CqlType::Text),
        column(3, "v", ColumnKind::Regular, CqlType::Text),
        column(4, "w", ColumnKind::Regular, CqlType::Text),
    ];
    Table::new(ROWS, KEYSPACE, "rows", columns, params)
}

/// As the rows' table, under another name and id.
#[cfg(test)]
pub(super) fn rows_table_called(name: &str, id: u128) -> Table {
    let columns = rows_table(calm()).columns().to_vec();
    Table::new(TableId(Uuid::from_u128(id)), KEYSPACE, name, columns, calm())
}

fn counters_table() -> Table {
    let column = |id, name: &str, kind, ty| Column { id: ColumnId(id), name: name.into(), kind, ty };
    let columns = vec![
        column(0, "k", ColumnKind::PartitionKey { position: 0 }, CqlType::Int),
        column(1, "c", ColumnKind::Clustering { position: 0, descending: false }, CqlType::Int),
        column(3, "n", ColumnKind::Regular, CqlType::Counter),
    ];
    Table::new(COUNTERS, KEYSPACE, "counters", columns, TableParams::default())
}

pub(super) fn schema_of(tables: Vec<Table>) -> Arc<SchemaSnapshot> {
    let tables = tables.into_iter().map(|table| (table.name.clone(), Arc::new(table))).collect();
    let params = KeyspaceParams { durable_writes: true, replication: BTreeMap::new() };
    let keyspace =
        Keyspace { name: KEYSPACE.into(), params, origin: KeyspaceOrigin::User, tables, types: BTreeMap::new() };
    Arc::new(SchemaSnapshot::new(1, Uuid::nil(), [Arc::new(keyspace)]))
}

/// The same schema at another position of the metadata log.
#[cfg(test)]
pub(super) fn at_epoch(schema: &SchemaSnapshot, epoch: u64) -> Arc<SchemaSnapshot> {
    Arc::new(SchemaSnapshot::new(epoch, Uuid::nil(), schema.keyspaces().cloned()))
}

pub(super) fn schema(params: TableParams) -> Arc<SchemaSnapshot> {
    schema_of(vec![rows_table(params), counters_table()])
}

/// Table options without automatic compaction, so that a scenario decides itself.
pub(super) fn calm() -> TableParams {
    let mut params = TableParams::default();
    params.compaction.insert("enabled".to_owned(), "false".to_owned());
    params
}

/// A name that is made or removed takes some milliseconds at most, simulated ones included.
const KILL_SETTLES: Duration = Duration::from_millis(30);

/// A running node.
pub(super) struct World {
    pub env: Env,
    pub root: PathBuf,
    pub shards: Vec<Rc<Storage>>,
    pub schema: Arc<SchemaSnapshot>,
    pub reports: Vec<RecoveryReport>,
}

pub(super) type Tweak = fn(&mut StorageConfig);

pub(super) fn no_tweak(_: &mut StorageConfig) {}

impl World {
    pub async fn start(env: &Env, root: &Path, schema: Arc<SchemaSnapshot>) -> Self {
        Self::start_with(env, root, schema, 1, no_tweak).await.expect("a healthy directory opens")
    }

    pub async fn start_with(
        env: &Env,
        root: &Path,
        schema: Arc<SchemaSnapshot>,
        shard_count: u32,
        tweak: Tweak,
    ) -> Result<Self, StorageError> {
        let mut config = StorageConfig::new(root, shard_count, 8 << 20);
        config.segment_bytes = 64 << 10;
        config.commit_log_bytes = 1 << 20;
        config.disk_reserve_bytes = 0;
        config.compaction_bytes_per_sec = 0;
        config.counter_id = [7; 16];
        tweak(&mut config);
        let mut world =
            Self { env: env.clone(), root: root.to_owned(), shards: Vec::new(), schema, reports: Vec::new() };
        for number in 0..shard_count {
            let shard = ShardId::new(number);
            let opened =
                Storage::open(env.for_shard(shard), config.clone(), shard, shard_count, Arc::clone(&world.schema));
            world.shards.push(opened.await?);
        }
        for shard in &world.shards {
            world.reports.push(shard.recover().await?);
        }
        Ok(world)
    }

    /// A killed process: what is in the kernel stays, everything else is gone. Unlike a real kill this one leaves disk
    /// operations under way that finish later; it waits for them, so that they do not meddle with the next life.
    pub async fn kill(self) {
        drop(self.shards);
        self.env.sleep(KILL_SETTLES).await;
    }

    pub async fn stop(self) {
        for shard in &self.shards {
            shard.shutdown(true).await.expect("a healthy node stops");
        }
        drop(self.shards);
        self.env.yield_now().await;
    }

    pub fn context(&self) -> RequestContext {
        let mut context = RequestContext::internal(Arc::clone(&self.schema));
        context.deadline = self.env.monotonic() + Duration::from_secs(60);
        context
    }

    pub fn shard_of(&self, key: &PartitionKey) -> &Rc<Storage> {
        let shard_count = u32::try_from(self.shards.len()).expect("a handful of shards");
        &self.shards[shard_of(key.token(), shard_count) as usize]
    }

    #[cfg(test)]
    pub async fn write_to(&self, id: u128, partition: Partition) {
        let mutation = Mutation { table: TableId(Uuid::from_u128(id)), schema_epoch: 1, partition };
        let shard = Rc::clone(self.shard_of(&mutation.partition.key));
        shard.apply(&self.context(), vec![mutation]).await.expect("a healthy node takes a write");
    }

    pub async fn try_write(&self, partition: Partition) -> Result<(), StorageError> {
        let mutation = Mutation { table: ROWS, schema_epoch: 1, partition };
        let shard = Rc::clone(self.shard_of(&mutation.partition.key));
        shard.apply(&self.context(), vec![mutation]).await
    }

    pub async fn write(&self, partition: Partition) {
        self.try_write(partition).await.expect("a healthy node takes a write");
    }

    pub async fn flush(&self) {
        for shard in &self.shards {
            shard.flush(None, crate::FlushReason::UserForced).await.expect("a healthy node flushes");
        }
    }

    pub async fn compact(&self) {
        for shard in &self.shards {
            shard.compact(ROWS).await.expect("a healthy node compacts");
        }
    }

    /// All live partitions of a table, over all shards, in ring order.
    pub async fn read_all(&self, table: TableId, now_secs: i64) -> Vec<PartitionRows> {
        let command = all_rows(table, now_secs);
        let mut partitions = Vec::new();
        for shard in &self.shards {
            let read = shard.read(&self.context(), &command).await.expect("a healthy node answers a read");
            assert!(read.next.is_none(), "nothing limits the read");
            partitions.extend(read.partitions);
        }
        partitions.sort_by(|a, b| a.key.cmp(&b.key));
        partitions
    }

    /// Keys (as the `int` that they are) and clusterings of all live rows.
    pub async fn live_rows(&self) -> Vec<(i32, i32)> {
        let partitions = self.read_all(ROWS, self.env.wall_secs()).await;
        let mut rows: Vec<(i32, i32)> = partitions
            .iter()
            .flat_map(|partition| {
                let key = int_of(partition.key.bytes());
                partition.rows.iter().map(move |row| (key, row.clustering.values().next().map_or(0, int_of)))
            })
            .collect();
        rows.sort_unstable();
        rows
    }

    pub fn sstable_count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.table_stats(ROWS).sstables).sum()
    }

    pub fn table_directory(&self) -> PathBuf {
        self.root.join("data").join(KEYSPACE).join(format!("rows-{}", ROWS.0.simple()))
    }

    pub async fn names_in(&self, directory: &Path) -> Vec<String> {
        match self.env.disk().list(directory).await {
            Ok(entries) => entries.into_iter().map(|entry| entry.name).collect(),
            Err(_) => Vec::new(),
        }
    }
}

fn int_of(bytes: &[u8]) -> i32 {
    bytes.first_chunk::<4>().map_or(0, |bytes| i32::from_be_bytes(*bytes))
}

pub(super) fn all_rows(table: TableId, now_secs: i64) -> ReadCommand {
    ReadCommand {
        table,
        target: ReadTarget::Range(KeyRange::all()),
        slices: vec![Slice::all()],
        direction: Direction::Forward,
        columns: ColumnSelection::All,
        filter: RowFilter::default(),
        limits: ReadLimits::NONE,
        now_secs,
        resume: None,
    }
}

/// What the same read of the plain model answers.
pub(super) fn expected(model: &BTreeMap<PartitionKey, Partition>, command: &ReadCommand) -> Vec<PartitionRows> {
    in_memory::read(model, command, in_memory::KeyOrder::Token).partitions
}

pub(super) fn key(number: i32) -> PartitionKey {
    PartitionKey::new(&number.to_be_bytes())
}

pub(super) fn clustering(number: i32) -> Clustering {
    rows_table(TableParams::default()).clustering_types().clustering(&[number.to_be_bytes()])
}

pub(super) fn text(text: &str) -> Blob {
    Blob::from(text.as_bytes())
}

/// `INSERT INTO rows (k, c, v) VALUES (.., .., ..) USING TIMESTAMP ..`
pub(super) fn insert(k: i32, c: i32, timestamp: i64, value: &str) -> Partition {
    let mut partition = Partition::new(key(k));
    let row = partition.row_mut(&clustering(c));
    row.liveness = Liveness::new(timestamp, None, 0);
    row.add_cell(VALUE, Cell::live(timestamp, text(value)));
    partition
}

/// `DELETE FROM rows USING TIMESTAMP .. WHERE k = .. AND c = ..`
pub(super) fn delete_row(k: i32, c: i32, timestamp: i64, now_secs: i64) -> Partition {
    let mut partition = Partition::new(key(k));
    partition.row_mut(&clustering(c)).deletion = deletion(timestamp, now_secs);
    partition
}

pub(super) fn delete_partition(k: i32, timestamp: i64, now_secs: i64) -> Partition {
    let mut partition = Partition::new(key(k));
    partition.deletion = deletion(timestamp, now_secs);
    partition
}

pub(super) fn deletion(timestamp: i64, now_secs: i64) -> helenus_data::DeletionTime {
    let local_secs = u32::try_from(now_secs).expect("the clock stands after 1970 and before 2106");
    helenus_data::DeletionTime { timestamp, local_secs }
}

/// Rows without the deletions that a compaction may have purged from under them.
fn live_part(rows: &[Row]) -> Vec<Row> {
    rows.iter().cloned().map(|row| Row { deletion: helenus_data::DeletionTime::LIVE, ..row }).collect()
}

/// Compares what reads answered, row by row, with a message that names the first difference.
#[track_caller]
pub(super) fn assert_same(found: &[PartitionRows], wanted: &[PartitionRows], what: &str) {
    for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert_eq!(found.key, wanted.key, "{what}: key of partition {index}");
        assert_eq!(found.static_row, wanted.static_row, "{what}: static row of partition {index}");
        assert_eq!(live_part(&found.rows), live_part(&wanted.rows), "{what}: rows of partition {index}");
    }
    let keys = |partitions: &[PartitionRows]| partitions.iter().map(|it| int_of(it.key.bytes())).collect::<Vec<_>>();
    assert_eq!(keys(found), keys(wanted), "{what}: partitions");
}
