//! Start and stop of a node, seen from the main thread.
//!
//! Role: judges configuration and directories, takes what must be had alone (lock file, ports), founds or opens the
//! metadata, starts the shards, moves them from phase to phase, waits for a signal, stops them.
//!
//! Invariants
//! - A start that is refused has changed nothing, and says what to do.
//! - After a stop everything acknowledged is on the device.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helenus_cluster::{Boot, Founding, NodeAddress, ShardPort, Topology};
use helenus_env::real::{RealEnv, block_on};
use helenus_env::shards::{self, ShardConfig, ShardEnd, Shards};
use helenus_env::{EntryKind, Env, LockGuard, Mailbox, Receiver};
use helenus_storage::{StorageConfig, StorageNode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::admin::{AdminServer, AdminState};
use crate::auth::AuthService;
use crate::config::units::show_bytes;
use crate::config::{Config, Directories, Layers};
use crate::cql::limits::Limits;
use crate::cql::listener::Listeners;
use crate::logging;
use crate::node::{Node, Phase};
use crate::server_port::ServerLinks;
use crate::shard::{self, Report, ShardPlan, chain};

/// Which program runs, for the summary and `helenus version`.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    pub version: &'static str,
    pub commit: &'static str,
}

/// Connections that wait for their shard to take them over.
const ACCEPTED_QUEUE: usize = 256;

/// Each phase of a stop takes this long at most; the parts within have shorter limits of their own.
const DRAIN_LIMIT: Duration = Duration::from_millis(4_500);
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// How a start or a run ended.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What is wrong and what to do about it.
    #[error("{0}")]
    Refused(String),
    /// The node ran and something in it broke.
    #[error("{0}")]
    Broken(String),
}

fn refused(text: impl Into<String>) -> StartError {
    StartError::Refused(text.into())
}

/// Runs a node until it is told to stop.
///
/// # Errors
/// [`StartError`].
pub fn run(layers: &Layers, build: Build) -> Result<(), StartError> {
    let env = RealEnv::start_default().map_err(|error| refused(format!("cannot start threads: {error}")))?;
    block_on(run_node(env, layers, build))
}

/// What only one process may have.
struct Holdings {
    _lock: Box<dyn LockGuard>,
    listeners: Listeners,
    admin: Option<std::net::TcpListener>,
}

async fn run_node(env: Env, layers: &Layers, build: Build) -> Result<(), StartError> {
    let mut signals = Signals::listen()?; // From here on a signal is a wish, not the end.
    let mut config = Config::load(&**env.disk(), layers).await.map_err(|error| refused(error.to_string()))?;
    let log = logging::start(&config.log_level, config.log_json).map_err(|error| refused(error.to_string()))?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let open_files_max = raise_open_files();
    prepare_directories(&env, &config).await?;
    let holdings = take_holdings(&env, &config).await?;
    if let Some(port) = holdings.listeners.port() {
        config.cql.set_port(port);
    }
    let founding = Founding {
        cluster_name: config.cluster_name.clone(),
        num_tokens: config.num_tokens,
        initial_tokens: config.initial_tokens.clone(),
    };
    let boot =
        Boot::open(&env, &config.directories.metadata(), &founding).await.map_err(|error| refused(chain(&error)))?;
    let topology = Arc::new(topology(&env, &config, &boot));
    let limits = Limits::new(&config.connections, open_files_max);
    let auth = AuthService::new(boot.roles());
    let node = Arc::new(Node::new(config, limits, auth, log, env.monotonic(), env.wall_secs()));
    print_summary(&node.config, &topology, build);

    let Holdings { _lock, listeners, admin } = holdings;
    let (mut shards, mut reports, links) = start_shards(&env, &node, &topology, boot, listeners)?;
    let admin_state =
        AdminState { env: env.clone(), node: Arc::clone(&node), links, topology: Arc::clone(&topology), build };
    let served = tokio::select! {
        served = bring_up(admin_state, admin, &mut shards, &mut reports) => served.map(Some),
        () = signals.told_to_stop() => Ok(None),
    };
    let was_serving = matches!(served, Ok(Some(_)));
    let outcome = match served {
        Ok(Some(admin)) => {
            let outcome = wait_for_end(&mut signals, &mut shards, &mut reports).await;
            tracing::info!("stopping");
            // Before the drain: what nodetool asks for meanwhile would only fail.
            drop(admin);
            outcome
        }
        Ok(None) => {
            tracing::info!("stopping before the start was complete");
            Ok(())
        }
        Err(error) => Err(error),
    };
    node.enter(Phase::Drain);
    if was_serving && outcome.is_ok() && env.timeout(DRAIN_LIMIT, node.all_drained()).await.is_err() {
        tracing::warn!("some requests were cut off by the stop");
    }
    node.enter(Phase::Stop);
    let ends = env.timeout(STOP_LIMIT, shards.join()).await;
    outcome?;
    match ends {
        Ok(ends) if ends.iter().all(|(_, end)| *end == ShardEnd::Finished) => {
            tracing::info!("stopped");
            Ok(())
        }
        _ => Err(StartError::Broken("a shard did not stop cleanly; the next start replays its commit log".to_owned())),
    }
}

async fn prepare_directories(env: &Env, config: &Config) -> Result<(), StartError> {
    let disk = env.disk();
    let directories = &config.directories;
    check_foreign_data(env, directories).await?;
    for directory in [&directories.root, &directories.data, &directories.commit_log] {
        disk.create_dir_all(directory).await.map_err(|error| {
            let cure = match error.kind() {
                io::ErrorKind::PermissionDenied => "give this user write permission there, or name",
                _ => "name",
            };
            refused(format!(
                "cannot create the directory {}: {error}; {cure} another directory with --data-dir",
                directory.display()
            ))
        })?;
    }
    Ok(())
}

/// Data without metadata is left untouched: founding a cluster over it would make all of it unknown tables'.
async fn check_foreign_data(env: &Env, directories: &Directories) -> Result<(), StartError> {
    let disk = env.disk();
    let has_metadata = disk.list(&directories.metadata()).await.is_ok_and(|entries| !entries.is_empty());
    if has_metadata {
        return Ok(());
    }
    let keyspaces = disk.list(&directories.data).await.unwrap_or_default();
    let keyspaces: Vec<&str> = keyspaces
        .iter()
        .filter(|entry| entry.kind == EntryKind::Directory && entry.name != "lost+found")
        .map(|entry| entry.name.as_str())
        .collect();
    let segments = disk.list(&directories.commit_log).await.unwrap_or_default();
    let has_segments = segments.iter().any(|entry| entry.name.starts_with("CommitLog-"));
    // Somebody may have named Cassandra's data directory itself, or the one above it.
    let is_cassandras_own = disk.list(&directories.root).await.is_ok_and(|entries| {
        entries.iter().any(|entry| entry.kind == EntryKind::Directory && entry.name == "system_schema")
    });
    if is_cassandras_own || keyspaces.contains(&"system_schema") {
        return Err(refused(format!(
            "{} was written by Apache Cassandra and is left untouched, because this version cannot open it: start Helenus \
             with another --data-dir, and copy what you need with cqlsh's COPY",
            if is_cassandras_own { directories.root.display() } else { directories.data.display() }
        )));
    }
    if !keyspaces.is_empty() || has_segments {
        return Err(refused(format!(
            "there is data in {} or {}, but no metadata in {}, so its tables are unknown: restore that directory, or \
             start with another --data-dir",
            directories.data.display(),
            directories.commit_log.display(),
            directories.metadata().display()
        )));
    }
    Ok(())
}

async fn take_holdings(env: &Env, config: &Config) -> Result<Holdings, StartError> {
    let path = config.directories.lock_file();
    let lock = env.disk().lock_file(&path).await.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => refused(format!(
            "{} is in use by another Helenus process: stop that one, or give this one another --data-dir",
            config.directories.root.display()
        )),
        _ => refused(format!(
            "cannot lock {}: {error}; give this user write permission in {}",
            path.display(),
            config.directories.root.display()
        )),
    })?;
    let listeners = Listeners::bind(config.cql, config.shard_aware_port).map_err(|(address, error)| {
        let flag = match error.kind() {
            io::ErrorKind::AddrNotAvailable => "--address",
            _ if address == config.cql => "--cql-port",
            _ => "--set native_shard_aware_transport_port=PORT",
        };
        refused(format!("cannot listen on {address} for CQL: {}; choose another with {flag}", reason(&error)))
    })?;
    let admin = match config.admin {
        None => None,
        Some(address) => Some(std::net::TcpListener::bind(address).map_err(|error| {
            refused(format!(
                "cannot listen on {address} for the admin API: {}; choose another with --admin-port",
                reason(&error)
            ))
        })?),
    };
    Ok(Holdings { _lock: lock, listeners, admin })
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another process has the port".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
        io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege".to_owned(),
        _ => error.to_string(),
    }
}

/// As many open files as the process may have; what it has then.
fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 20);
    // Refused in some containers; the soft limit then stays.
    if setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limit.maximum }).is_ok() {
        most
    } else {
        limit.current.unwrap_or(1024)
    }
}

fn topology(env: &Env, config: &Config, boot: &Boot) -> Topology {
    Topology {
        identity: boot.identity().clone(),
        address: NodeAddress {
            listen_address: config.listen_address,
            listen_port: config.storage_port,
            native_address: config.broadcast_cql_address,
            native_port: config.cql.port(),
            data_center: config.data_center.clone(),
            rack: config.rack.clone(),
        },
        gossip_generation: i32::try_from(env.wall_secs()).unwrap_or(i32::MAX),
    }
}

type Started = (Shards, Receiver<Report>, ServerLinks);

fn start_shards(
    env: &Env,
    node: &Arc<Node>,
    topology: &Arc<Topology>,
    boot: Boot,
    listeners: Listeners,
) -> Result<Started, StartError> {
    let count = node.config.shard_count;
    let schema = boot.schema();
    let storage = storage_config(&node.config, topology);
    let (ports, _) = ShardPort::connect(count);
    let (links, jobs) = ServerLinks::connect(count);
    let (report_sender, reports) = Mailbox::bounded(4 * count as usize + 4);
    let mut connection_senders = Vec::new();
    let mut receivers = Vec::new();
    for _ in 0..count {
        let (connection_sender, connections) = Mailbox::bounded(ACCEPTED_QUEUE);
        connection_senders.push(connection_sender);
        receivers.push(connections);
    }
    let mut boot = Some(boot);
    let mut listeners = Some(listeners);
    let mut plans = Vec::new();
    for ((port, jobs), connections) in ports.into_iter().zip(jobs).zip(receivers) {
        let is_first = plans.is_empty();
        plans.push(Some(ShardPlan {
            node: Arc::clone(node),
            storage: storage.clone(),
            schema: Arc::clone(&schema),
            topology: Arc::clone(topology),
            port,
            boot: boot.take(),
            listeners: listeners.take(),
            connections,
            all_connections: if is_first { connection_senders.clone() } else { Vec::new() },
            jobs,
            links: links.clone(),
            reports: report_sender.clone(),
        }));
    }
    let plans = std::sync::Mutex::new(plans);
    let shard_config = ShardConfig { count, pin: node.config.pin_shards, name: "helenus-shard".to_owned() };
    let shards = shards::start(env, &shard_config, |shard| {
        let plan = plans.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[shard.index()].take();
        let plan = plan.expect("each shard is started once");
        move |context| shard::run(context, plan)
    });
    let shards = shards.map_err(|error| refused(format!("cannot start the shards' threads: {error}")))?;
    Ok((shards, reports, links))
}

fn storage_config(config: &Config, topology: &Topology) -> StorageConfig {
    let shards = u64::from(config.shard_count);
    let base = StorageConfig::new(&config.directories.root, config.shard_count, config.memory.memtables / shards);
    StorageConfig {
        node: Arc::new(StorageNode::new(config.shard_count)),
        data_directories: vec![config.directories.data.clone()],
        commit_log_directory: config.directories.commit_log.clone(),
        commit_log_sync: config.commit_log_sync,
        commit_log_damage: config.commit_log_damage,
        segment_bytes: config.segment_bytes,
        commit_log_bytes: (config.commit_log_bytes / shards).max(2 * config.segment_bytes),
        flush_at_share: config.flush_at_share,
        flush_writers: config.flush_writers,
        chunk_cache_bytes: config.memory.chunk_cache / shards,
        column_index_bytes: config.column_index_bytes,
        compactors: config.compactors,
        compaction_bytes_per_sec: config.compaction_bytes_per_sec / shards,
        disk_reserve_bytes: config.disk_reserve_bytes,
        tombstone_warn_threshold: config.requests.tombstone_warn,
        tombstone_failure_threshold: config.requests.tombstone_fail,
        auto_snapshot: config.auto_snapshot,
        counter_id: *topology.identity.host_id.as_bytes(),
        describe_table: Arc::new(helenus_schema::describe::for_restore),
        ..base
    }
}

/// Moves all shards to serving. The admin API comes up before clients do.
async fn bring_up(
    admin: AdminState,
    admin_listener: Option<std::net::TcpListener>,
    shards: &mut Shards,
    reports: &mut Receiver<Report>,
) -> Result<Option<AdminServer>, StartError> {
    let node = Arc::clone(&admin.node);
    let count = node.config.shard_count;
    let recovered = await_reports(shards, reports, count, |report| matches!(report, Report::Recovered { .. })).await?;
    let mutations: u64 =
        recovered.iter().map(|report| if let Report::Recovered { mutations } = report { *mutations } else { 0 }).sum();
    if 0 < mutations {
        tracing::info!(mutations, "the commit log was replayed");
    }
    node.enter(Phase::Join);
    let joined = await_reports(shards, reports, count, |report| matches!(report, Report::Joined { .. })).await?;
    for report in joined {
        if let Report::Joined { superuser_file: Some(path) } = report {
            println!("  superuser   cassandra; its password stands in {}", path.display());
        }
    }
    let admin = admin_listener.map(|listener| AdminServer::start(listener, admin)).transpose();
    let admin = admin.map_err(|error| refused(format!("cannot start the admin API: {error}")))?;
    node.enter(Phase::Serve);
    await_reports(shards, reports, count, |report| matches!(report, Report::Serving)).await?;
    println!("ready: CQL on {}", node.config.cql);
    // A closed standard output is the caller's choice.
    let _ = io::stdout().flush();
    Ok(admin)
}

/// Waits until `count` shards have sent what `is_wanted` says; a failure or a shard's end comes first.
async fn await_reports(
    shards: &mut Shards,
    reports: &mut Receiver<Report>,
    count: u32,
    is_wanted: impl Fn(&Report) -> bool,
) -> Result<Vec<Report>, StartError> {
    let mut seen = Vec::new();
    while seen.len() < count as usize {
        // In this order: a failing shard reports before it ends.
        tokio::select! {
            biased;
            report = reports.recv() => match report {
                Some(Report::Failed { shard, problem }) => return Err(refused(format!("shard {shard}: {problem}"))),
                Some(report) if is_wanted(&report) => seen.push(report),
                Some(_) => {}
                None => return Err(StartError::Broken("the shards went away".to_owned())),
            },
            end = shards.next_end() => return Err(broken_by(end)),
        }
    }
    Ok(seen)
}

fn broken_by(end: Option<(helenus_env::ShardId, ShardEnd)>) -> StartError {
    match end {
        Some((shard, ShardEnd::Panicked { message })) => {
            StartError::Broken(format!("shard {shard} panicked: {message}; this is a defect of Helenus"))
        }
        Some((shard, _)) => StartError::Broken(format!("shard {shard} ended by itself")),
        None => StartError::Broken("all shards ended".to_owned()),
    }
}

/// SIGTERM and Ctrl-C.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self, StartError> {
        let failed = |error: io::Error| StartError::Broken(format!("cannot wait for signals: {error}"));
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
        })
    }

    async fn told_to_stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Until somebody wants the end, or until a shard breaks.
async fn wait_for_end(
    signals: &mut Signals,
    shards: &mut Shards,
    reports: &mut Receiver<Report>,
) -> Result<(), StartError> {
    loop {
        tokio::select! {
            () = signals.told_to_stop() => return Ok(()),
            end = shards.next_end() => return Err(broken_by(end)),
            Some(report) = reports.recv() => match report {
                Report::Failed { shard, problem } => {
                    return Err(StartError::Broken(format!("shard {shard}: {problem}")));
                }
                // An operator drains the node; it stays until it is told to stop.
                Report::Drained | Report::Recovered { .. } | Report::Joined { .. } | Report::Serving => {}
            },
        }
    }
}

fn print_summary(config: &Config, topology: &Topology, build: Build) {
    let absolute = |path: &Path| -> PathBuf { std::path::absolute(path).unwrap_or_else(|_| path.to_owned()) };
    let shard_aware = config.shard_aware_port.map(|port| format!(", shard-aware on port {port}")).unwrap_or_default();
    let admin = config.admin.map_or_else(|| "off".to_owned(), |address| format!("http://{address}"));
    println!("Helenus {} ({}), speaks as Cassandra {}", build.version, build.commit, helenus_cluster::RELEASE_VERSION);
    println!("  cluster     {}, node {}", topology.identity.cluster_name, topology.identity.host_id);
    println!("  shards      {}", config.shard_count);
    println!("  memory      {} (change it with --memory)", show_bytes(config.memory.total));
    println!("  data        {}", absolute(&config.directories.root).display());
    println!("  CQL         {}{shard_aware}", config.cql);
    println!("  admin API   {admin}");
    println!("  try         cqlsh {} {}", config.broadcast_cql_address, config.cql.port());
    // As above.
    let _ = io::stdout().flush();
}
