//! A node's life in the simulation: start, check what is there, write until the end comes.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helenus_cluster::{
    Boot, Cluster, Consistency, Founding, NodeAddress, ShardPort, Topology, WriteKind, replay_batchlog,
};
use helenus_data::read::{ColumnSelection, KeyRange, ReadCommand, ReadLimits, ReadTarget, RowFilter};
use helenus_data::{
    Blob, Cell, Clustering, ColumnId, Direction, Liveness, Mutation, Partition, PartitionKey, Slice, TableId,
};
use helenus_env::{Env, ShardConfig, shards};
use helenus_schema::{Column, ColumnKind, KeyspaceParams, SchemaChange, Table, TableParams};
use helenus_storage::{CommitLogSync, RequestContext, Storage, StorageConfig, StorageNode};
use helenus_types::CqlType;
use uuid::Uuid;

use crate::history::History;

const LEFT: ColumnId = ColumnId(1);
const RIGHT: ColumnId = ColumnId(2);
const WRITERS: i32 = 4;
/// Small, so that a life of some seconds flushes and compacts many times.
const MEMORY_BYTES: u64 = 1 << 20;
const VALUE_BYTES: usize = 600;

/// A deliberate defect, to see that the checker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    Nothing,
    AcknowledgeBeforeWriting,
}

#[derive(Clone, Copy)]
pub struct Plan {
    pub shard_count: u32,
    pub sync: CommitLogSync,
    pub planted: Planted,
    pub keep_writing: bool,
    pub life: u64,
}

/// Lives until it is killed; without `keep_writing` until everything was checked. Answers violations.
pub async fn live(env: Env, plan: Plan, history: Arc<Mutex<History>>, began: Duration) -> Vec<String> {
    let born = env.monotonic();
    let root = Path::new("/helenus");
    let founding = Founding { cluster_name: "Simulated".into(), num_tokens: 4, initial_tokens: Vec::new() };
    let boot = match Boot::open(&env, &root.join("metadata"), &founding).await {
        Ok(boot) => boot,
        Err(error) => return vec![format!("life {}: the metadata did not open: {error}", plan.life)],
    };
    let topology = Arc::new(topology(&boot));
    let schema = boot.schema();
    let (ports, _) = ShardPort::connect(plan.shard_count);
    let ports = Mutex::new(ports.into_iter().map(Some).collect::<Vec<_>>());
    let boot = Mutex::new(Some(boot));
    let storage_node = Arc::new(StorageNode::new(plan.shard_count));
    let recovered = Arc::new(tokio::sync::Barrier::new(plan.shard_count as usize));
    let problems = Arc::new(Mutex::new(Vec::new()));
    let config = ShardConfig { count: plan.shard_count, pin: false, name: "sim".into() };
    let shards = shards::start(&env, &config, |shard| {
        let port = ports.lock().expect("no panic")[shard.index()].take().expect("each shard once");
        let boot = if shard.index() == 0 { boot.lock().expect("no panic").take() } else { None };
        let mut storage_config = StorageConfig::new(root, plan.shard_count, MEMORY_BYTES);
        storage_config.node = Arc::clone(&storage_node);
        storage_config.commit_log_sync = plan.sync;
        storage_config.segment_bytes = 64 << 10;
        let (schema, topology) = (Arc::clone(&schema), Arc::clone(&topology));
        let (recovered, history, problems) = (Arc::clone(&recovered), Arc::clone(&history), Arc::clone(&problems));
        move |context| async move {
            let env = context.env;
            let opened =
                Storage::open(env.clone(), storage_config, context.shard, context.shard_count, Arc::clone(&schema))
                    .await;
            let storage = match opened {
                Ok(storage) => storage,
                Err(error) => return report(&problems, &plan, "storage did not open", &error),
            };
            if let Err(error) = storage.recover().await {
                return report(&problems, &plan, "the commit log did not replay", &error);
            }
            recovered.wait().await;
            let is_first = boot.is_some();
            let cluster = Cluster::start(env, port, storage, schema, topology, boot);
            if !is_first {
                std::future::pending::<()>().await;
            }
            if let Err(error) = work(&cluster, &plan, &history, began, born).await {
                problems.lock().expect("no panic").push(format!("life {}: {error}", plan.life));
            }
        }
    });
    let Ok(mut shards) = shards else { return vec!["the shards did not start".into()] };
    // The first shard to end is the one that worked, or one that could not start.
    shards.next_end().await;
    std::mem::take(&mut *problems.lock().expect("no panic"))
}

fn report(problems: &Mutex<Vec<String>>, plan: &Plan, what: &str, error: &dyn std::fmt::Display) {
    problems.lock().expect("no panic").push(format!("life {}: {what}: {error}", plan.life));
}

fn topology(boot: &Boot) -> Topology {
    let here = std::net::IpAddr::from([127, 0, 0, 1]);
    Topology {
        identity: boot.identity().clone(),
        address: NodeAddress {
            listen_address: here,
            listen_port: 7000,
            native_address: here,
            native_port: 9042,
            data_center: "datacenter1".into(),
            rack: "rack1".into(),
        },
        gossip_generation: 1,
    }
}

async fn work(
    cluster: &Rc<Cluster>,
    plan: &Plan,
    history: &Arc<Mutex<History>>,
    began: Duration,
    born: helenus_env::Instant,
) -> Result<(), helenus_cluster::ClusterError> {
    if cluster.schema().table("ks", "t").is_none() {
        cluster.change_schema(cluster.schema().epoch, schema_changes()).await?;
    }
    let context = RequestContext::internal(cluster.schema());
    replay_batchlog(cluster, &context, Duration::ZERO).await?;
    let now = {
        let cluster = Rc::clone(cluster);
        move || began + (cluster.env().monotonic() - born)
    };
    check(cluster, history, now()).await?;
    if !plan.keep_writing {
        return Ok(());
    }
    let first = history.lock().expect("no panic").next_key();
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let (cluster, history, now, planted) = (Rc::clone(cluster), Arc::clone(history), now.clone(), plan.planted);
        let env = cluster.env().clone();
        writers.push(env.spawn("writer", async move {
            let mut key = first + writer;
            loop {
                write(&cluster, &history, key, planted, &now).await;
                key += WRITERS;
            }
        }));
    }
    std::future::pending().await
}

async fn write(
    cluster: &Rc<Cluster>,
    history: &Mutex<History>,
    key: i32,
    planted: Planted,
    now: &impl Fn() -> Duration,
) {
    history.lock().expect("no panic").send(key);
    if planted == Planted::AcknowledgeBeforeWriting {
        history.lock().expect("no panic").acknowledge(key, now());
    }
    let context = RequestContext::internal(cluster.schema());
    let mutation = mutation(cluster, key);
    if cluster.write(&context, Consistency::One, WriteKind::Simple, vec![mutation]).await.is_ok() {
        history.lock().expect("no panic").acknowledge(key, now());
    }
    cluster.env().sleep(Duration::from_millis(1 + cluster.env().random_u64() % 4)).await;
}

/// Both columns are made from the key, so that a torn row shows.
fn value(key: i32, column: ColumnId) -> Blob {
    let seed = key.to_be_bytes();
    Blob::from(
        (0..VALUE_BYTES).map(|at| seed[at % 4] ^ at.to_le_bytes()[0] ^ column.0.to_le_bytes()[0]).collect::<Vec<_>>(),
    )
}

fn mutation(cluster: &Cluster, key: i32) -> Mutation {
    let timestamp = cluster.env().next_timestamp_micros();
    let mut partition = Partition::new(PartitionKey::new(&key.to_be_bytes()));
    let row = partition.row_mut(&Clustering::empty());
    row.liveness = Liveness::new(timestamp, None, 0);
    row.add_cell(LEFT, Cell::live(timestamp, value(key, LEFT)));
    row.add_cell(RIGHT, Cell::live(timestamp, value(key, RIGHT)));
    Mutation { table: table_id(), schema_epoch: cluster.schema().epoch, partition }
}

async fn check(cluster: &Cluster, history: &Mutex<History>, at: Duration) -> Result<(), helenus_cluster::ClusterError> {
    let context = RequestContext::internal(cluster.schema());
    let (mut found, mut torn) = (BTreeSet::new(), BTreeSet::new());
    let mut resume = None;
    loop {
        let command = ReadCommand {
            table: table_id(),
            target: ReadTarget::Range(KeyRange::all()),
            slices: vec![Slice::all()],
            direction: Direction::Forward,
            columns: ColumnSelection::All,
            filter: RowFilter::default(),
            limits: ReadLimits { rows: 100, ..ReadLimits::NONE },
            now_secs: 0,
            resume,
        };
        let page = cluster.read(&context, Consistency::One, command).await?;
        for partition in page.partitions {
            let key = partition.key.bytes().try_into().map(i32::from_be_bytes).unwrap_or(i32::MIN);
            let whole = partition.rows.first().is_some_and(|row| {
                let has = |column| row.cell(column).is_some_and(|cell| cell.value == value(key, column));
                has(LEFT) && has(RIGHT)
            });
            if whole {
                found.insert(key)
            } else {
                torn.insert(key)
            };
        }
        resume = page.next;
        if resume.is_none() {
            break;
        }
    }
    history.lock().expect("no panic").judge(&found, &torn, at);
    Ok(())
}

fn table_id() -> TableId {
    TableId(Uuid::from_u128(77))
}

fn schema_changes() -> Vec<SchemaChange> {
    let column = |id, name: &str, kind| Column { id, name: name.into(), kind, ty: CqlType::Blob };
    let columns = vec![
        column(ColumnId(0), "k", ColumnKind::PartitionKey { position: 0 }),
        column(LEFT, "l", ColumnKind::Regular),
        column(RIGHT, "r", ColumnKind::Regular),
    ];
    let table = Table::new(table_id(), "ks", "t", columns, TableParams::default());
    let replication = [("class", "org.apache.cassandra.locator.SimpleStrategy"), ("replication_factor", "1")];
    let replication = replication.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    vec![
        SchemaChange::PutKeyspace { name: "ks".into(), params: KeyspaceParams { durable_writes: true, replication } },
        SchemaChange::PutTable(Arc::new(table)),
    ]
}
