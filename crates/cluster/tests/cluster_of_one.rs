//! A whole node without its faces: shards, storage, metadata log, coordinator; on the real disk, in a temporary directory.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helenus_cluster::{
    Boot, Cluster, ClusterError, CompareAndSet, Consistency, Decision, Founding, NodeAddress, ShardPort, Topology,
    WriteKind, replay_batchlog,
};
use helenus_data::read::{
    ColumnSelection, KeyRange, ReadCommand, ReadLimits, ReadPosition, ReadResult, ReadTarget, RowFilter,
};
use helenus_data::{
    Blob, Cell, Clustering, ColumnId, Direction, Liveness, Mutation, Partition, PartitionKey, Slice, TableId,
};
use helenus_env::real::RealEnv;
use helenus_env::{Env, ShardConfig, shards};
use helenus_schema::{Column, ColumnKind, KeyspaceParams, SchemaChange, Table, TableParams};
use helenus_storage::{RequestContext, Storage, StorageConfig, StorageNode};
use helenus_types::CqlType;
use uuid::Uuid;

const VALUE: ColumnId = ColumnId(1);

const AGREED: CompareAndSet =
    CompareAndSet { serial: Consistency::Serial, commit: Consistency::One, contention: Duration::from_secs(10) };

/// Runs `scenario` on shard 0 of a node with `shard_count` shards over `directory`, then stops it.
fn run_node<F>(directory: &Path, shard_count: u32, scenario: impl FnOnce(Rc<Cluster>) -> F + Send + 'static)
where
    F: Future<Output = ()> + 'static,
{
    let env = RealEnv::start_default().expect("threads start");
    let founding = Founding { cluster_name: "Test Cluster".into(), num_tokens: 16, initial_tokens: Vec::new() };
    let metadata = directory.join("metadata");
    let boot = helenus_env::real::block_on({
        let env = env.clone();
        async move { Boot::open(&env, &metadata, &founding).await.expect("the metadata opens") }
    });
    let topology = Arc::new(topology(&boot, &env));
    let schema = boot.schema();
    let (ports, _links) = ShardPort::connect(shard_count);
    let ports = Mutex::new(ports.into_iter().map(Some).collect::<Vec<_>>());
    let boot = Mutex::new(Some(boot));
    let scenario = Mutex::new(Some(scenario));
    let node = Arc::new(StorageNode::new(shard_count));
    let config = ShardConfig { count: shard_count, pin: false, name: "test".into() };
    let recovered = Arc::new(tokio::sync::Barrier::new(shard_count as usize));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let stop = Mutex::new(Some(stop));
    let shards = shards::start(&env, &config, |shard| {
        let port = ports.lock().expect("no panic")[shard.index()].take().expect("each shard once");
        let is_first = shard.index() == 0;
        let boot = if is_first { boot.lock().expect("no panic").take() } else { None };
        let scenario = if is_first { scenario.lock().expect("no panic").take() } else { None };
        let stop = if is_first { stop.lock().expect("no panic").take() } else { None };
        let (schema, topology, recovered) = (Arc::clone(&schema), Arc::clone(&topology), Arc::clone(&recovered));
        let mut config = StorageConfig::new(directory, shard_count, 64 << 20);
        config.node = Arc::clone(&node);
        let mut stopped = stopped.clone();
        move |context| async move {
            let env = context.env;
            let storage =
                Storage::open(env.clone(), config, context.shard, context.shard_count, Arc::clone(&schema)).await;
            let storage = storage.expect("storage opens");
            storage.recover().await.expect("the commit log replays");
            recovered.wait().await;
            let cluster = Cluster::start(env, port, storage, schema, topology, boot);
            if let Some(scenario) = scenario {
                let context = RequestContext::internal(cluster.schema());
                replay_batchlog(&cluster, &context, std::time::Duration::ZERO).await.expect("the batchlog replays");
                scenario(Rc::clone(&cluster)).await;
                drop(stop);
            } else {
                let _ = stopped.changed().await;
            }
            cluster.storage().shutdown(false).await.expect("storage stops");
        }
    });
    for (shard, end) in shards.expect("shards start").wait() {
        assert_eq!(end, shards::ShardEnd::Finished, "shard {shard}");
    }
}

fn topology(boot: &Boot, env: &Env) -> Topology {
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
        gossip_generation: i32::try_from(env.wall_secs()).expect("before 2038"),
    }
}

fn table() -> Table {
    let column = |id, name: &str, kind, ty| Column { id: ColumnId(id), name: name.into(), kind, ty };
    let columns = vec![
        column(0, "k", ColumnKind::PartitionKey { position: 0 }, CqlType::Int),
        column(1, "v", ColumnKind::Regular, CqlType::Int),
    ];
    Table::new(TableId(Uuid::from_u128(77)), "ks", "t", columns, TableParams::default())
}

async fn create_schema(cluster: &Cluster) {
    let replication = [("class", "org.apache.cassandra.locator.SimpleStrategy"), ("replication_factor", "1")];
    let replication = replication.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let keyspace =
        SchemaChange::PutKeyspace { name: "ks".into(), params: KeyspaceParams { durable_writes: true, replication } };
    let changes = vec![keyspace, SchemaChange::PutTable(Arc::new(table()))];
    cluster.change_schema(cluster.schema().epoch, changes).await.expect("the first change");
}

fn key(number: i32) -> PartitionKey {
    PartitionKey::new(&number.to_be_bytes())
}

fn put(cluster: &Cluster, number: i32, value: i32) -> Mutation {
    let timestamp = cluster.env().next_timestamp_micros();
    let mut partition = Partition::new(key(number));
    let row = partition.row_mut(&Clustering::empty());
    row.liveness = Liveness::new(timestamp, None, 0);
    row.add_cell(VALUE, Cell::live(timestamp, Blob::from(value.to_be_bytes())));
    Mutation { table: table().id, schema_epoch: cluster.schema().epoch, partition }
}

fn read(target: ReadTarget, rows: u64, resume: Option<ReadPosition>) -> ReadCommand {
    ReadCommand {
        table: table().id,
        target,
        slices: vec![Slice::all()],
        direction: Direction::Forward,
        columns: ColumnSelection::All,
        filter: RowFilter::default(),
        limits: ReadLimits { rows, ..ReadLimits::NONE },
        now_secs: 0,
        resume,
    }
}

fn values(result: &ReadResult) -> Vec<(i32, i32)> {
    let int = |bytes: &[u8]| i32::from_be_bytes(bytes.try_into().expect("an int"));
    result
        .partitions
        .iter()
        .map(|partition| {
            let cell = partition.rows[0].cell(VALUE).expect("v is set");
            (int(partition.key.bytes()), int(&cell.value))
        })
        .collect()
}

fn data_directory() -> (tempfile::TempDir, PathBuf) {
    let guard = tempfile::tempdir().expect("a temporary directory");
    let path = guard.path().to_owned();
    (guard, path)
}

#[test]
fn what_was_written_is_read_on_all_shards_and_after_a_restart_with_others() {
    let (_guard, directory) = data_directory();
    run_node(&directory, 2, |cluster| async move {
        create_schema(&cluster).await;
        let internal = RequestContext::internal(cluster.schema());
        let context = RequestContext { is_internal: false, ..RequestContext::internal(cluster.schema()) };
        for (context, is_counted) in [(&internal, false), (&context, true)] {
            for number in 0..50 {
                let mutation = put(&cluster, number, number * 10);
                cluster.write(context, Consistency::One, WriteKind::Simple, vec![mutation]).await.expect("written");
            }
            let counted = cluster.metrics.cross_shard_requests.get();
            assert_eq!(
                0 < counted,
                is_counted,
                "some keys belong to the other shard; the node's own work is not counted"
            );
        }
    });
    for shard_count in [3, 1] {
        run_node(&directory, shard_count, |cluster| async move {
            let context = RequestContext::internal(cluster.schema());
            assert!(cluster.schema().table("ks", "t").is_some(), "the schema came from the log");
            for number in 0..50 {
                let command = read(ReadTarget::Partition(key(number)), u64::MAX, None);
                let result = cluster.read(&context, Consistency::Quorum, command).await.expect("read");
                assert_eq!(values(&result), [(number, number * 10)]);
            }
        });
    }
}

#[test]
fn a_range_read_comes_in_token_order_whatever_the_page_size() {
    let (_guard, directory) = data_directory();
    run_node(&directory, 3, |cluster| async move {
        create_schema(&cluster).await;
        let context = RequestContext::internal(cluster.schema());
        let mutations = (0..40).map(|number| put(&cluster, number, number)).collect();
        cluster.write(&context, Consistency::One, WriteKind::LoggedBatch, mutations).await.expect("written");
        let mut expected: Vec<PartitionKey> = (0..40).map(key).collect();
        expected.sort();
        for page_rows in [1, 2, 7, 1000] {
            let mut found = Vec::new();
            let mut resume = None;
            loop {
                let command = read(ReadTarget::Range(KeyRange::all()), page_rows, resume);
                let page = cluster.read(&context, Consistency::One, command).await.expect("read");
                assert!(page.row_count() <= page_rows);
                found.extend(page.partitions.into_iter().map(|partition| partition.key));
                resume = page.next;
                if resume.is_none() {
                    break;
                }
            }
            assert_eq!(found, expected, "pages of {page_rows}");
        }
    });
}

#[test]
fn conditional_writes_of_one_partition_happen_one_after_the_other() {
    let (_guard, directory) = data_directory();
    run_node(&directory, 2, |cluster| async move {
        create_schema(&cluster).await;
        let context = RequestContext::internal(cluster.schema());
        let first = put(&cluster, 1, 0);
        cluster.write(&context, Consistency::One, WriteKind::Simple, vec![first]).await.expect("written");
        let mut waiting = Vec::new();
        for _ in 0..20 {
            let cluster = Rc::clone(&cluster);
            let env = cluster.env().clone();
            waiting.push(env.spawn("increment", async move {
                let context = RequestContext::internal(cluster.schema());
                let command = read(ReadTarget::Partition(key(1)), u64::MAX, None);
                let increment = |current: &ReadResult, timestamp: i64| -> Result<Decision<()>, ClusterError> {
                    let mut mutation = put(&cluster, 1, values(current)[0].1 + 1);
                    let row = mutation.partition.row_mut(&Clustering::empty());
                    row.columns.clear();
                    let next = values(current)[0].1 + 1;
                    row.add_cell(VALUE, Cell::live(timestamp, Blob::from(next.to_be_bytes())));
                    Ok(Decision::Apply(vec![mutation], ()))
                };
                cluster.compare_and_set(&context, AGREED, command, increment).await.expect("applied");
            }));
        }
        for mut task in waiting {
            task.join().await.expect("no panic");
        }
        let command = read(ReadTarget::Partition(key(1)), u64::MAX, None);
        let result = cluster.read(&context, Consistency::One, command).await.expect("read");
        assert_eq!(values(&result), [(1, 20)]);
    });
}

#[test]
fn a_conditional_write_waits_only_so_long_for_others_of_its_partition() {
    let (_guard, directory) = data_directory();
    run_node(&directory, 1, |cluster| async move {
        create_schema(&cluster).await;
        let held = cluster.storage().lock_partition(table().id, &key(1)).await;
        let context = RequestContext::internal(cluster.schema());
        let attempt = async || {
            let command = read(ReadTarget::Partition(key(1)), u64::MAX, None);
            let terms = CompareAndSet { contention: Duration::from_millis(5), ..AGREED };
            let write = |_: &ReadResult, _| Ok::<_, ClusterError>(Decision::Apply(vec![put(&cluster, 1, 7)], ()));
            cluster.compare_and_set(&context, terms, command, write).await
        };
        let refused = attempt().await.expect_err("the partition is taken");
        assert!(matches!(refused, ClusterError::Contention { required: 1, .. }), "{refused}");
        drop(held);
        attempt().await.expect("nobody is in the way");
    });
}

#[test]
fn a_schema_change_computed_from_an_older_snapshot_is_refused() {
    let (_guard, directory) = data_directory();
    run_node(&directory, 1, |cluster| async move {
        let old = cluster.schema().epoch;
        create_schema(&cluster).await;
        let drop_table = SchemaChange::DropTable { keyspace: "ks".into(), name: "t".into() };
        let refused = cluster.change_schema(old, vec![drop_table.clone()]).await;
        assert!(matches!(refused, Err(ClusterError::Conflict { .. })), "{refused:?}");
        let dropped = cluster.change_schema(cluster.schema().epoch, vec![drop_table]).await.expect("computed anew");
        assert!(dropped.table("ks", "t").is_none());
    });
}

#[test]
fn a_directory_of_another_cluster_is_refused_by_name() {
    let (_guard, directory) = data_directory();
    let env = RealEnv::start_default().expect("threads start");
    helenus_env::real::block_on(async move {
        let founding = |name: &str| Founding { cluster_name: name.into(), num_tokens: 4, initial_tokens: Vec::new() };
        let first = Boot::open(&env, &directory, &founding("one")).await.expect("founded");
        let identity = first.identity().clone();
        drop(first);
        let again = Boot::open(&env, &directory, &founding("one")).await.expect("opened");
        assert_eq!(*again.identity(), identity);
        assert!(!again.is_new());
        drop(again);
        let Err(error) = Boot::open(&env, &directory, &founding("two")).await else { panic!("opened") };
        assert!(error.to_string().contains("Saved cluster name one != configured name two"), "{error}");
    });
}
