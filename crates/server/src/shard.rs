//! Shard: one shard of a running node, from opening its storage to closing it.
//!
//! ```text
//! Recover   open storage, replay the commit log          every shard, then
//! Join      serve the other shards; shard 0 replays the batchlog, makes the first superuser,
//!           and knows prepared statements again
//! Serve     connections
//! Drain     finish what clients asked for                every shard, then
//! Stop      close storage
//! ```
//!
//! The main thread moves the node from phase to phase once every shard has reported; see `start`.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use helenus_cluster::{Boot, Cluster, ShardPort, Topology};
use helenus_env::{Env, MemoryBudget, Receiver, Sender, ShardContext};
use helenus_protocol::Event;
use helenus_query::{QueryConfig, QueryProcessor, TimeLimits};
use helenus_schema::SchemaSnapshot;
use helenus_storage::{RequestContext, Storage, StorageConfig};

use crate::auth::superuser;
use crate::compaction_history;
use crate::cql::clients::Clients;
use crate::cql::listener::{Accepted, Listeners};
use crate::cql::traits::StatementTraits;
use crate::cql::{connection, events};
use crate::metrics::{ShardMetrics, StatementKind};
use crate::node::{Node, Phase, reached};
use crate::server_port::{ServerJob, ServerLinks};
use crate::virtual_tables;

/// Part of a shard's request memory that flushes and metadata keep for themselves.
const MEMORY_RESERVE_SHARE: u64 = 8;

/// A shard holds off its end for its connections this long; each has a limit of its own within it.
const CONNECTIONS_LIMIT: Duration = Duration::from_secs(4);

/// A server timestamp is not raised above replayed ones that lie further ahead: those came from clients with odd clocks.
const TIMESTAMP_AHEAD_MAX: Duration = Duration::from_secs(60);

/// What a shard tells the main thread.
#[derive(Debug)]
pub enum Report {
    Recovered { mutations: u64 },
    Joined { superuser_file: Option<PathBuf> },
    Serving,
    Drained,
    Failed { shard: u32, problem: String },
}

/// What a shard is given.
pub struct ShardPlan {
    pub node: Arc<Node>,
    pub storage: StorageConfig,
    pub schema: Arc<SchemaSnapshot>,
    pub topology: Arc<Topology>,
    pub port: ShardPort,
    pub boot: Option<Boot>,
    pub listeners: Option<Listeners>,
    pub connections: Receiver<Accepted>,
    /// Every shard's, for shard 0, which accepts.
    pub all_connections: Vec<Sender<Accepted>>,
    /// What the admin API asks of this shard.
    pub jobs: Receiver<ServerJob>,
    pub links: ServerLinks,
    pub reports: Sender<Report>,
}

/// The server's part of one shard.
pub(crate) struct ShardServer {
    pub env: Env,
    pub shard: u32,
    pub shard_count: u32,
    pub node: Arc<Node>,
    pub cluster: Rc<Cluster>,
    pub processor: Rc<QueryProcessor>,
    pub memory: MemoryBudget,
    pub clients: Clients,
    pub metrics: ShardMetrics,
    /// All shards' servers, for what is shown of the whole node.
    pub links: ServerLinks,
}

/// Runs a shard to its end. A failure is reported and ends it.
pub async fn run(context: ShardContext, plan: ShardPlan) {
    let reports = plan.reports.clone();
    let shard = context.shard.number();
    if let Err(problem) = run_phases(context, plan).await {
        // Without a main thread nobody could act on it.
        let _ = reports.send(Report::Failed { shard, problem }).await;
    }
}

async fn run_phases(context: ShardContext, plan: ShardPlan) -> Result<(), String> {
    let ShardContext { shard, shard_count, env } = context;
    let ShardPlan { node, reports, mut connections, mut jobs, .. } = plan;
    let mut phase = node.phase();
    let report = async |report: Report| drop(reports.send(report).await);

    let open = Storage::open(env.clone(), plan.storage, shard, shard_count, Arc::clone(&plan.schema));
    let storage = open.await.map_err(|error| chain(&error))?;
    let recovery = storage.recover().await.map_err(|error| chain(&error))?;
    if let Some(floor) = recovery.timestamp_max_micros {
        let ahead_max = i64::try_from(TIMESTAMP_AHEAD_MAX.as_micros()).unwrap_or(i64::MAX);
        env.raise_timestamp_floor(floor.min(env.wall_micros().saturating_add(ahead_max)));
    }
    report(Report::Recovered { mutations: recovery.mutations_applied }).await;

    reached(&mut phase, Phase::Join).await;
    let stopping = || Phase::Drain <= *node.phase().borrow();
    if stopping() {
        return storage.shutdown(false).await.map_err(|error| chain(&error));
    }
    let cluster = Cluster::start(env.clone(), plan.port, Rc::clone(&storage), plan.schema, plan.topology, plan.boot);
    let processor = QueryProcessor::new(Rc::clone(&cluster), query_config(&node), Arc::clone(&node.prepared));
    let mut superuser_file = None;
    if shard.number() == 0 {
        let context = RequestContext::internal(cluster.schema());
        let replayed = helenus_cluster::replay_batchlog(&cluster, &context, Duration::ZERO)
            .await
            .map_err(|error| chain(&error))?;
        if 0 < replayed {
            tracing::info!(batches = replayed, "interrupted batches were completed");
        }
        superuser_file = first_superuser(&env, &node, &cluster).await?;
        recall_prepared(&env, &node, &cluster, &processor).await?;
    }
    report(Report::Joined { superuser_file }).await;

    reached(&mut phase, Phase::Serve).await;
    if stopping() {
        return storage.shutdown(false).await.map_err(|error| chain(&error));
    }
    let server = start_server(env.clone(), shard_count, &node, cluster, processor, plan.links)?;
    publish_schema_changes(&server);
    virtual_tables::register(&server);
    compaction_history::keep(&server);
    let job_server = Rc::clone(&server);
    let job_task = env.spawn("take administration's jobs", async move {
        while let Some(job) = jobs.recv().await {
            job_server.env.spawn("administration", job(Rc::clone(&job_server))).detach();
        }
    });
    let connection_server = Rc::clone(&server);
    let connection_task = env.spawn("start connections", async move {
        while let Some(accepted) = connections.recv().await {
            let serving = connection::serve(Rc::clone(&connection_server), accepted);
            connection_server.env.spawn("serve a connection", serving).detach();
        }
    });
    let mut listener_task = None;
    if let Some(listeners) = plan.listeners {
        let accepting = listeners.accept(env.clone(), Arc::clone(&node), plan.all_connections);
        listener_task = Some(env.spawn("listen", accepting));
    }
    env.yield_now().await; // The listener listens before the node says that it serves.
    report(Report::Serving).await;

    reached(&mut phase, Phase::Drain).await;
    if let Some(mut task) = listener_task {
        // Ends by itself in this phase.
        let _ = task.join().await;
    }
    connection_task.stop().await;
    let none_left = async {
        while 0 < server.clients.count() {
            env.sleep(Duration::from_millis(2)).await;
        }
    };
    if env.timeout(CONNECTIONS_LIMIT, none_left).await.is_err() {
        tracing::warn!(connections = server.clients.count(), "connections were cut off by the stop");
    }
    node.shard_drained();
    report(Report::Drained).await;

    // Other shards may still need this one for their last requests.
    reached(&mut phase, Phase::Stop).await;
    job_task.stop().await;
    storage.shutdown(false).await.map_err(|error| chain(&error))
}

async fn first_superuser(env: &Env, node: &Node, cluster: &Cluster) -> Result<Option<PathBuf>, String> {
    let settings = &node.config.authentication;
    if settings.method == crate::config::AuthMethod::AllowAll {
        return Ok(None);
    }
    let root = &node.config.directories.root;
    superuser::ensure(env, cluster, &node.auth, settings, root).await.map_err(|error| chain(&error))
}

/// Knows again what clients prepared before the stop, and from now on forgets what the schema's changes make outdated.
async fn recall_prepared(
    env: &Env,
    node: &Node,
    cluster: &Cluster,
    processor: &Rc<QueryProcessor>,
) -> Result<(), String> {
    let preloaded = processor.preload().await.map_err(|error| chain(&error))?;
    for statement in &preloaded {
        let traits = StatementTraits::of(&statement.text, statement.keyspace.as_deref(), &cluster.schema());
        node.prepared_traits.put(&statement.id, traits);
    }
    if !preloaded.is_empty() {
        tracing::info!(statements = preloaded.len(), "prepared statements are known again");
    }
    let (env, processor) = (env.clone(), Rc::downgrade(processor));
    cluster.on_schema_change(Box::new(move |_| {
        if let Some(processor) = processor.upgrade() {
            env.spawn("forget outdated statements", async move { processor.forget_outdated().await }).detach();
        }
    }));
    Ok(())
}

/// Every shard adopts a change before it is acknowledged, so clients hear of it before the one that asked, as with Cassandra.
fn publish_schema_changes(server: &Rc<ShardServer>) {
    let before = RefCell::new(server.cluster.schema());
    let listener = Rc::downgrade(server);
    server.cluster.on_schema_change(Box::new(move |after| {
        let before = before.replace(Arc::clone(after));
        let Some(server) = listener.upgrade() else { return };
        for change in events::schema_changes(&before, after) {
            events::publish(&server.clients, &Event::Schema(change));
        }
    }));
}

fn start_server(
    env: Env,
    shard_count: u32,
    node: &Arc<Node>,
    cluster: Rc<Cluster>,
    processor: Rc<QueryProcessor>,
    links: ServerLinks,
) -> Result<Rc<ShardServer>, String> {
    let reserve = node.config.memory.requests / u64::from(shard_count) / MEMORY_RESERVE_SHARE;
    let memory = MemoryBudget::new(Arc::clone(&node.memory), reserve).map_err(|error| error.to_string())?;
    Ok(Rc::new(ShardServer {
        env,
        shard: cluster.shard().number(),
        shard_count,
        node: Arc::clone(node),
        cluster,
        processor,
        memory,
        clients: Clients::default(),
        metrics: ShardMetrics::default(),
        links,
    }))
}

fn query_config(node: &Node) -> QueryConfig {
    let requests = &node.config.requests;
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    QueryConfig {
        time_limits: TimeLimits {
            read: requests.read,
            range: requests.range,
            write: requests.write,
            counter: requests.counter,
            contention: requests.conditional,
        },
        batch_warn_bytes: bytes(requests.batch_warn_bytes),
        batch_fail_bytes: bytes(requests.batch_fail_bytes),
        unlogged_batch_partitions_warn: bytes(requests.unlogged_batch_warn_partitions),
        tombstone_warn_threshold: requests.tombstone_warn,
        prepared_cache_bytes: bytes(node.config.memory.prepared_statements),
    }
}

impl ShardServer {
    /// How long a request may take, before it is known whether it reads one partition or many, or adds to counters.
    pub fn time_limit(&self, kind: StatementKind) -> Duration {
        let requests = &self.node.config.requests;
        let limit = match kind {
            // The query's own limit comes with its plan.
            StatementKind::Read => requests.read.max(requests.range),
            StatementKind::Write | StatementKind::Batch => requests.write.max(requests.counter),
            StatementKind::Truncate => return requests.truncate,
            StatementKind::Schema | StatementKind::Other => requests.other,
        };
        limit.min(requests.longest)
    }
}

/// An error with its causes, as one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
