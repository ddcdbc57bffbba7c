//! Statements against a whole node without its faces: what the conformance suite, which asks one client's questions one
//! by one, cannot see: prepared statements across clients and schema changes, damaged paging states, changes side by side.

// The futures of a whole request stand one in another, deeper than the compiler looks by itself.
#![recursion_limit = "256"]

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use helenus_cluster::{Boot, Cluster, Founding, NodeAddress, ShardPort, Topology};
use helenus_env::real::RealEnv;
use helenus_env::{Env, MemoryBudget, NodeMemory, ShardConfig, shards};
use helenus_protocol::{BoundValues, Consistency, Prepared, QueryParameters, Rows, Value};
use helenus_query::{PreparedRegistry, QueryConfig, QueryError, QueryOutcome, QueryProcessor, QueryResult, Session};
use helenus_storage::{RequestContext, RequestMemory, Storage, StorageConfig, StorageNode};

/// Runs `scenario` on shard 0 of a new node with two shards, then stops it.
fn run_node<F>(scenario: impl FnOnce(Rc<Cluster>) -> F + Send + 'static)
where
    F: Future<Output = ()> + 'static,
{
    const SHARDS: u32 = 2;
    let directory = tempfile::tempdir().expect("a directory");
    let path: &Path = directory.path();
    let env = RealEnv::start_default().expect("threads start");
    let founding = Founding { cluster_name: "Test Cluster".into(), num_tokens: 16, initial_tokens: Vec::new() };
    let metadata = path.join("metadata");
    let boot = helenus_env::real::block_on({
        let env = env.clone();
        async move { Boot::open(&env, &metadata, &founding).await.expect("the metadata opens") }
    });
    let topology = Arc::new(topology(&boot, &env));
    let schema = boot.schema();
    let (ports, _links) = ShardPort::connect(SHARDS);
    let ports = Mutex::new(ports.into_iter().map(Some).collect::<Vec<_>>());
    let boot = Mutex::new(Some(boot));
    let scenario = Mutex::new(Some(scenario));
    let node = Arc::new(StorageNode::new(SHARDS));
    let config = ShardConfig { count: SHARDS, pin: false, name: "test".into() };
    let recovered = Arc::new(tokio::sync::Barrier::new(SHARDS as usize));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let stop = Mutex::new(Some(stop));
    let shards = shards::start(&env, &config, |shard| {
        let port = ports.lock().expect("no panic")[shard.index()].take().expect("each shard once");
        let is_first = shard.index() == 0;
        let boot = if is_first { boot.lock().expect("no panic").take() } else { None };
        let scenario = if is_first { scenario.lock().expect("no panic").take() } else { None };
        let stop = if is_first { stop.lock().expect("no panic").take() } else { None };
        let (schema, topology, recovered) = (Arc::clone(&schema), Arc::clone(&topology), Arc::clone(&recovered));
        let mut config = StorageConfig::new(path, SHARDS, 64 << 20);
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

/// One connection.
struct Client {
    cluster: Rc<Cluster>,
    processor: Rc<QueryProcessor>,
    session: Session,
}

impl Client {
    fn new(cluster: &Rc<Cluster>, registry: &Arc<PreparedRegistry>, config: &QueryConfig) -> Self {
        let processor = QueryProcessor::new(Rc::clone(cluster), config.clone(), Arc::clone(registry));
        Self { cluster: Rc::clone(cluster), processor, session: Session::default() }
    }

    fn context(&self) -> RequestContext {
        RequestContext::internal(self.cluster.schema())
    }

    async fn ask(&mut self, text: &str) -> Result<QueryOutcome, QueryError> {
        self.ask_with(text, &QueryParameters::new(Consistency::One)).await
    }

    async fn ask_with(&mut self, text: &str, parameters: &QueryParameters) -> Result<QueryOutcome, QueryError> {
        let context = self.context();
        self.processor.query(&mut self.session, text, parameters, context).await
    }

    async fn run(&mut self, texts: &[&str]) {
        for text in texts {
            self.ask(text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    async fn prepare(&self, text: &str) -> Prepared {
        self.processor.prepare(&self.session, text, None).await.expect("it prepares").prepared
    }

    async fn execute(&mut self, prepared: &Prepared, values: BoundValues) -> Result<QueryOutcome, QueryError> {
        let mut parameters = QueryParameters::new(Consistency::One);
        parameters.values = values;
        parameters.skip_metadata = true;
        let context = self.context();
        let metadata = prepared.result_metadata_id.as_deref();
        self.processor.execute(&mut self.session, &prepared.id, metadata, &parameters, context).await
    }
}

/// A new node with a keyspace, a table and two clients.
fn run_clients<F>(scenario: impl FnOnce(Client, Client) -> F + Send + 'static)
where
    F: Future<Output = ()> + 'static,
{
    run_node(|cluster| async move {
        let registry = Arc::new(PreparedRegistry::default());
        let config = QueryConfig::default();
        let mut first = Client::new(&cluster, &registry, &config);
        let second = Client::new(&cluster, &registry, &config);
        first
            .run(&[
                "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
                "CREATE TABLE ks.t (k int, c int, v int, PRIMARY KEY (k, c))",
                "INSERT INTO ks.t (k, c, v) VALUES (1, 1, 10)",
            ])
            .await;
        scenario(first, second).await;
    });
}

fn rows(outcome: Result<QueryOutcome, QueryError>) -> Rows {
    match outcome.expect("no error").result {
        QueryResult::Rows(rows) => rows,
        other => panic!("no rows but {other:?}"),
    }
}

fn int(value: i32) -> [u8; 4] {
    value.to_be_bytes()
}

#[test]
fn a_statement_is_forgotten_when_its_table_changes() {
    run_clients(|mut first, mut second| async move {
        let text = "SELECT * FROM ks.t WHERE k = ?";
        let prepared = first.prepare(text).await;
        let values = || BoundValues::positional([Value::Set(&int(1)[..])]);
        assert!(rows(first.execute(&prepared, values()).await).metadata.is_none(), "known metadata is left out");
        second.run(&["ALTER TABLE ks.t ADD w int"]).await;
        let refused = first.execute(&prepared, values()).await.expect_err("forgotten");
        assert!(matches!(refused, QueryError::Unprepared { .. }), "{refused}");
        // Another client prepares it anew: who still knows the old columns is told.
        let anew = second.prepare(text).await;
        assert_eq!(anew.id, prepared.id);
        assert_ne!(anew.result_metadata_id, prepared.result_metadata_id);
        let told = rows(first.execute(&prepared, values()).await);
        assert_eq!(told.new_metadata_id, anew.result_metadata_id);
        assert_eq!(told.metadata.expect("sent along").columns().len(), 4);
        assert!(rows(second.execute(&anew, values()).await).metadata.is_none());
        second.run(&["DROP TABLE ks.t"]).await;
        let refused = second.execute(&anew, values()).await.expect_err("forgotten");
        assert!(matches!(refused, QueryError::Unprepared { .. }), "{refused}");
    });
}

#[test]
fn changes_that_statements_do_not_see_leave_them_alone() {
    run_clients(|mut first, mut second| async move {
        let prepared = first.prepare("UPDATE ks.t SET v = ? WHERE k = ? AND c = ?").await;
        second.run(&["ALTER TABLE ks.t WITH comment = 'changed'", "CREATE TABLE ks.other (k int PRIMARY KEY)"]).await;
        let values = [Value::Set(&int(11)[..]), Value::Set(&int(1)[..]), Value::Set(&int(1)[..])];
        first.execute(&prepared, BoundValues::positional(values)).await.expect("still known");
        assert_eq!(rows(first.ask("SELECT v FROM ks.t WHERE k = 1").await).cells.as_ref(), [0, 0, 0, 4, 0, 0, 0, 11]);
    });
}

#[test]
fn little_memory_forgets_what_was_not_executed_for_longest() {
    run_node(|cluster| async move {
        let registry = Arc::new(PreparedRegistry::default());
        let config = QueryConfig { prepared_cache_bytes: 64 << 10, ..QueryConfig::default() };
        let mut client = Client::new(&cluster, &registry, &config);
        let first = client.prepare("SELECT * FROM system.local").await;
        for number in 0..1000 {
            let text = format!("SELECT * FROM system.local WHERE key = 'local{number}'");
            let prepared = client.prepare(&text).await;
            rows(client.execute(&prepared, BoundValues::default()).await);
        }
        assert!(registry.len() < 100, "{} statements", registry.len());
        let refused = client.execute(&first, BoundValues::default()).await.expect_err("forgotten");
        assert!(matches!(refused, QueryError::Unprepared { .. }), "{refused}");
        let stored = rows(client.ask("SELECT prepared_id FROM system.prepared_statements").await);
        assert_eq!(stored.row_count as usize, registry.len(), "the table follows the registry");
        let large = "x".repeat(70 << 10);
        let text = format!("SELECT * FROM system.local WHERE key = '{large}'");
        let session = Session::default();
        let refused = client.processor.prepare(&session, &text, None).await.expect_err("too large");
        assert!(refused.to_string().contains("is larger than allowed maximum of 0 MB"), "{refused}");
    });
}

#[test]
fn prepared_statements_are_known_again_after_a_restart_unless_their_tables_changed() {
    run_clients(|mut first, mut second| async move {
        let text = "SELECT v FROM ks.t WHERE k = ? AND c = ?";
        let named = first.prepare(text).await;
        second.run(&["USE ks", "CREATE TABLE ks.gone (k int PRIMARY KEY)"]).await;
        let unnamed = second.prepare("SELECT v FROM t WHERE k = ? AND c = ?").await;
        let gone = second.prepare("SELECT * FROM gone").await;
        second.run(&["DROP TABLE ks.gone"]).await;
        second.processor.forget_outdated().await;
        let stored = rows(first.ask("SELECT logged_keyspace, query_string FROM system.prepared_statements").await);
        let mut stored: Vec<(String, String)> = stored
            .iter()
            .map(|row| {
                [0, 1].map(|index| row.cell(index).map_or("null".into(), |cell| String::from_utf8_lossy(cell).into()))
            })
            .map(|[keyspace, text]| (keyspace, text))
            .collect();
        stored.sort_unstable();
        let unnamed_text = "SELECT v FROM t WHERE k = ? AND c = ?";
        let expected = [("ks", unnamed_text), ("null", text), ("null", unnamed_text)];
        assert_eq!(stored, expected.map(|(keyspace, text)| (keyspace.to_owned(), text.to_owned())));

        // What a new process would have: an empty registry and the table.
        let registry = Arc::new(PreparedRegistry::default());
        let mut restarted = Client::new(&first.cluster, &registry, &QueryConfig::default());
        let preloaded = restarted.processor.preload().await.expect("the table is read");
        assert_eq!(preloaded.len(), 2, "{preloaded:?}");
        let values = || BoundValues::positional([Value::Set(&int(1)[..]), Value::Set(&int(1)[..])]);
        for prepared in [&named, &unnamed] {
            assert_eq!(rows(restarted.execute(prepared, values()).await).cells.as_ref(), [0, 0, 0, 4, 0, 0, 0, 10]);
        }
        let refused = restarted.execute(&gone, BoundValues::default()).await.expect_err("its table is gone");
        assert!(matches!(refused, QueryError::Unprepared { .. }), "{refused}");
        // The id without the keyspace cannot be compiled by itself, so its row goes, as in Cassandra.
        let stored = rows(first.ask("SELECT prepared_id FROM system.prepared_statements").await);
        assert_eq!(stored.row_count, 2);
    });
}

#[test]
fn a_result_that_outgrows_its_memory_is_refused_and_gives_everything_back() {
    run_clients(|mut first, _| async move {
        first.run(&["CREATE TABLE ks.wide (k int PRIMARY KEY, v text)"]).await;
        let large = "x".repeat(100 << 10);
        for k in 0..20 {
            first.run(&[&format!("INSERT INTO ks.wide (k, v) VALUES ({k}, '{large}')")]).await;
        }
        let budget = MemoryBudget::new(NodeMemory::new(8 << 20), 0).expect("there is memory");
        let mut ask = async |text: &str, bytes_max: u64| {
            let memory = RequestMemory::new(budget.try_acquire(4 << 10).expect("there is memory"), bytes_max);
            let context = RequestContext { memory: Some(memory), ..first.context() };
            let parameters = QueryParameters::new(Consistency::One);
            first.processor.query(&mut first.session, text, &parameters, context).await
        };
        let texts = [
            "SELECT v AS a, v AS b, v AS c FROM ks.wide",
            "SELECT JSON v AS a, v AS b, v AS c FROM ks.wide",
            "SELECT v AS a, v AS b, v AS c, k FROM ks.wide WHERE k IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)",
        ];
        for text in texts {
            let refused = ask(text, u64::MAX).await.expect_err("6 MB, and twice for a moment");
            assert!(matches!(refused, QueryError::Overloaded(_)), "{text}: {refused}");
            assert_eq!(budget.used_bytes(), 0);
        }
        let refused = ask("SELECT v FROM ks.wide", 1 << 20).await.expect_err("more than one request may have");
        assert!(matches!(refused, QueryError::Overloaded(_)), "{refused}");
        let outcome = ask("SELECT v FROM ks.wide", u64::MAX).await.expect("2 MB fit");
        let held = outcome.memory.as_ref().map_or(0, helenus_env::MemoryPermit::bytes);
        assert!((4_000_000..6_000_000).contains(&held), "{held} bytes are held for the answer");
        drop(outcome);
        assert_eq!(budget.used_bytes(), 0);
    });
}

#[test]
fn a_long_statement_is_compiled_as_a_short_one() {
    run_clients(|mut first, _| async move {
        let numbers = (0..20_000).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let text = format!("SELECT v FROM ks.t WHERE k = 1 AND c IN ({numbers})");
        assert_eq!(rows(first.ask(&text).await).row_count, 1);
        let error = first.ask(&format!("{text} AND")).await.expect_err("it does not end");
        assert!(matches!(error, QueryError::Syntax(_)), "{error}");
    });
}

#[test]
fn a_damaged_paging_state_is_refused_or_gives_rows_of_the_statement() {
    run_clients(|mut first, _| async move {
        for k in 0..5 {
            for c in 0..5 {
                first.run(&[&format!("INSERT INTO ks.t (k, c, v) VALUES ({k}, {c}, 0)")]).await;
            }
        }
        let text = "SELECT * FROM ks.t";
        let mut parameters = QueryParameters::new(Consistency::One);
        parameters.page_size = Some(7);
        let page = rows(first.ask_with(text, &parameters).await);
        let state = page.paging_state.expect("there are more rows");
        for at in 0..state.len() {
            for bit in 0..8 {
                let mut damaged = state.to_vec();
                damaged[at] ^= 1 << bit;
                parameters.paging_state = Some(damaged.into());
                match first.ask_with(text, &parameters).await {
                    Ok(outcome) => assert!(rows(Ok(outcome)).row_count <= 7),
                    Err(error) => assert_eq!(error.to_string(), "Invalid value for the paging state"),
                }
            }
        }
        for length in 0..state.len() {
            parameters.paging_state = Some(state.slice(..length));
            if let Err(error) = first.ask_with(text, &parameters).await {
                assert_eq!(error.to_string(), "Invalid value for the paging state");
            }
        }
        parameters.paging_state = Some(state.clone());
        let refused = first.ask_with("SELECT k FROM ks.t", &parameters).await.expect_err("another statement's");
        assert_eq!(refused.to_string(), "Invalid value for the paging state");
    });
}

#[test]
fn pages_of_every_size_add_up_to_the_whole() {
    run_clients(|mut first, _| async move {
        for k in 0..6 {
            for c in 0..k {
                first.run(&[&format!("INSERT INTO ks.t (k, c, v) VALUES ({k}, {c}, 0)")]).await;
            }
        }
        for text in [
            "SELECT * FROM ks.t",
            "SELECT * FROM ks.t WHERE k IN (1, 5, 3, 9)",
            "SELECT * FROM ks.t WHERE k = 5 ORDER BY c DESC",
            "SELECT * FROM ks.t PER PARTITION LIMIT 2",
            "SELECT * FROM ks.t LIMIT 9",
            "SELECT k, c, count(*) FROM ks.t GROUP BY k, c PER PARTITION LIMIT 3",
            "SELECT DISTINCT k FROM ks.t",
        ] {
            let whole = rows(first.ask(text).await);
            for page_size in 1..=12 {
                let mut parameters = QueryParameters::new(Consistency::One);
                parameters.page_size = Some(page_size);
                let mut cells = Vec::new();
                loop {
                    let page = rows(first.ask_with(text, &parameters).await);
                    assert!(page.row_count <= page_size.cast_unsigned(), "{text}");
                    cells.extend_from_slice(&page.cells);
                    parameters.paging_state = page.paging_state;
                    if parameters.paging_state.is_none() {
                        break;
                    }
                }
                assert_eq!(cells, whole.cells, "{text} in pages of {page_size}");
            }
        }
    });
}

#[test]
fn schema_changes_side_by_side_all_happen() {
    run_clients(|first, second| async move {
        let create = |mut client: Client, prefix: &'static str| async move {
            for number in 0..20 {
                client.run(&[&format!("CREATE TABLE ks.{prefix}{number} (k int PRIMARY KEY)")]).await;
            }
            client
        };
        let (first, _) = tokio::join!(create(first, "a"), create(second, "b"));
        assert_eq!(first.cluster.schema().keyspace("ks").expect("it is there").tables.len(), 41);
    });
}

#[test]
fn values_may_come_by_name() {
    run_clients(|mut first, _| async move {
        let mut parameters = QueryParameters::new(Consistency::One);
        parameters.values = BoundValues::named([("c", Value::Set(&int(1)[..])), ("k", Value::Set(&int(1)[..]))]);
        let text = "SELECT v FROM ks.t WHERE k = :k AND c = :c";
        assert_eq!(rows(first.ask_with(text, &parameters).await).row_count, 1);
        parameters.values = BoundValues::named([("k", Value::Set(&int(1)[..]))]);
        let refused = first.ask_with(text, &parameters).await.expect_err("a value is missing");
        assert_eq!(refused.to_string(), "Invalid amount of bind variables");
    });
}

#[test]
fn the_owner_of_a_prepared_statement_is_its_partitions() {
    run_clients(|first, _| async move {
        let prepared = first.prepare("SELECT * FROM ks.t WHERE c = ? AND k = ?").await;
        assert_eq!(prepared.partition_key_indexes, [1]);
        for number in 0..20 {
            let mut parameters = QueryParameters::new(Consistency::One);
            parameters.values = BoundValues::positional([Value::Set(&int(0)[..]), Value::Set(&int(number)[..])]);
            let token = helenus_data::PartitionKey::new(&int(number)).token();
            let owner = first.processor.owner_shard(&prepared.id, &parameters);
            assert_eq!(owner, Some(first.cluster.owner_of(token)));
        }
    });
}
