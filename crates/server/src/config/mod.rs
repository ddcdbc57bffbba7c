//! Configuration: `cassandra.yaml`, `--set` and flags made into what the node works with.
//!
//! Role: `Layers` says where settings come from, [`Config::load`] reads and judges them; everything else in the server
//! sees a [`Config`], whose numbers are final.
//!
//! Invariants
//! - Flags beat `--set`, which beats the file, which beats the defaults.
//! - A configuration that came through `load` can be started, as far as that can be said without touching the disk.

pub mod memory;
mod setting;
pub mod settings;
mod settings_file;
pub mod tree;
pub mod units;
pub mod values;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use helenus_env::Disk;
use helenus_env::whole_file;
use helenus_storage::{CommitLogSync, DamagePolicy};
use helenus_types::token::Token;

pub use settings_file::{settings_file, settings_table};
pub use values::{ConfigError, Origin, Values};

/// Where settings come from, weakest first.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub file: Option<PathBuf>,
    /// `--set name=value`, in order.
    pub sets: Vec<String>,
    /// Flags with a name of their own: flag, setting, value.
    pub flags: Vec<(&'static str, &'static str, String)>,
}

/// The node's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    pub cluster_name: String,
    pub num_tokens: u32,
    pub initial_tokens: Vec<Token>,
    pub data_center: String,
    pub rack: String,

    pub listen_address: IpAddr,
    pub storage_port: u16,
    /// Where the CQL listener binds.
    pub cql: SocketAddr,
    /// What clients are told.
    pub broadcast_cql_address: IpAddr,
    /// `None`: no shard-aware port.
    pub shard_aware_port: Option<u16>,
    /// `None`: no admin API.
    pub admin: Option<SocketAddr>,

    pub directories: Directories,
    pub disk_reserve_bytes: u64,

    pub shard_count: u32,
    pub pin_shards: bool,
    pub memory: Memory,

    pub authentication: Authentication,
    pub connections: Connections,
    pub requests: Requests,

    pub commit_log_sync: CommitLogSync,
    pub commit_log_damage: DamagePolicy,
    pub segment_bytes: u64,
    pub commit_log_bytes: u64,

    pub flush_writers: usize,
    pub flush_at_share: f64,
    pub compactors: usize,
    /// 0: no limit.
    pub compaction_bytes_per_sec: u64,
    pub column_index_bytes: u32,
    pub auto_snapshot: bool,

    pub log_level: String,
    pub log_json: bool,
    pub trace_ttl: Duration,
    pub slow_query: Option<Duration>,

    /// All settings as they were given, for `system_views.settings`.
    pub values: Values,
    /// What the operator should know.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// Holds the lock file, `metadata/` and, unless set apart, the two below.
    pub root: PathBuf,
    pub data: PathBuf,
    pub commit_log: PathBuf,
}

impl Directories {
    #[must_use]
    pub fn metadata(&self) -> PathBuf {
        self.root.join("metadata")
    }

    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.root.join("helenus.lock")
    }
}

/// The node's memory and its parts, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub total: u64,
    pub memtables: u64,
    pub chunk_cache: u64,
    pub prepared_statements: u64,
    /// Frames, results and intermediate values of requests.
    pub requests: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    pub method: AuthMethod,
    /// Name and salted hash.
    pub superuser: Option<(String, String)>,
    pub default_superuser: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    AllowAll,
    Password,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connections {
    pub keepalive: bool,
    pub older_protocols: bool,
    /// `None`: no limit.
    pub count_max: Option<u64>,
    pub count_per_ip_max: Option<u64>,
    /// `None`: never.
    pub idle_timeout: Option<Duration>,
    pub message_bytes_max: usize,
    pub bytes_in_flight_max: u64,
    pub bytes_in_flight_per_ip_max: u64,
    pub throw_on_overload: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    pub read: Duration,
    pub range: Duration,
    pub write: Duration,
    pub counter: Duration,
    pub conditional: Duration,
    pub truncate: Duration,
    pub other: Duration,
    pub longest: Duration,
    pub batch_warn_bytes: u64,
    pub batch_fail_bytes: u64,
    pub unlogged_batch_warn_partitions: u64,
    pub tombstone_warn: u64,
    pub tombstone_fail: u64,
}

const CONFIG_BYTES_MAX: u64 = 4 << 20;
const MEMORY_MIN: u64 = 128 << 20;
/// When the machine does not say how much it has.
const MEMORY_FALLBACK: u64 = 1 << 30;
const COMMIT_LOG_BYTES_MAX: u64 = 8 << 30;

/// What the machine offers; read once, so that everything else is a function of its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub memory_bytes: Option<u64>,
    pub cores: u32,
}

impl Machine {
    pub async fn look(disk: &dyn Disk) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        Self { memory_bytes: memory::available_bytes(disk).await, cores: u32::try_from(cores).unwrap_or(1) }
    }
}

impl Config {
    /// Reads all layers and judges them.
    ///
    /// # Errors
    /// [`ConfigError`], which names the place and what was expected there.
    pub async fn load(disk: &dyn Disk, layers: &Layers) -> Result<Self, ConfigError> {
        let mut values = Values::default();
        let mut rack_properties = None;
        if let Some(path) = &layers.file {
            let text = read_file(disk, path).await?;
            let entries = tree::parse(&text).map_err(|(line, problem)| ConfigError::InFile {
                path: path.clone(),
                line,
                problem,
            })?;
            check_seeds(path, &entries)?;
            values.set_file(path, &entries)?;
            rack_properties = Some(path.with_file_name("cassandra-rackdc.properties"));
        }
        for set in &layers.sets {
            let Some((name, value)) = set.split_once('=') else {
                let problem = "expected name=value".to_owned();
                return Err(ConfigError::OnCommandLine { argument: format!("--set {set}"), problem });
            };
            values.set_argument("--set", name.trim(), value.trim())?;
        }
        for (flag, name, value) in &layers.flags {
            values.set_argument(flag, name, value)?;
        }
        let place = match values.text("endpoint_snitch") {
            Some("GossipingPropertyFileSnitch") => {
                let path = rack_properties.unwrap_or_else(|| PathBuf::from("cassandra-rackdc.properties"));
                rack_and_dc(&path, &read_file(disk, &path).await?)?
            }
            _ => ("datacenter1".to_owned(), "rack1".to_owned()),
        };
        let machine = Machine::look(disk).await;
        Self::from_values(values, machine, place)
    }

    /// # Errors
    /// [`ConfigError`] for values that cannot go together.
    pub fn from_values(
        values: Values,
        machine: Machine,
        (data_center, rack): (String, String),
    ) -> Result<Self, ConfigError> {
        let cql_address = address(&values, "rpc_address")?;
        let broadcast_cql_address = match values.text("broadcast_rpc_address") {
            Some(_) => address(&values, "broadcast_rpc_address")?,
            None if cql_address.is_unspecified() => {
                let problem = format!(
                    "rpc_address is {cql_address}, which clients cannot connect to: set broadcast_rpc_address to the \
                     address that they should use"
                );
                return Err(values.origin("rpc_address").error(problem));
            }
            None => cql_address,
        };
        let listen = if values.text("broadcast_address").is_some() { "broadcast_address" } else { "listen_address" };
        let shard_count = match values.count("shards") {
            Some(count) => u32::try_from(count)
                .ok()
                .filter(|count| *count <= SHARDS_MAX)
                .ok_or_else(|| values.origin("shards").error(format!("shards: {count} are more than {SHARDS_MAX}")))?,
            None => machine.cores.clamp(1, SHARDS_MAX),
        };
        let memory = memory_parts(&values, machine)?;
        let authentication = authentication(&values)?;
        check_open_door(&values, cql_address, &authentication)?;
        check_commit_log_sync(&values)?;
        let initial_tokens = initial_tokens(&values)?;
        check_token_count(&values, initial_tokens.len())?;
        let listen_address = address(&values, listen)?;
        if listen_address.is_unspecified() {
            let problem = format!("{listen} cannot be a wildcard address ({listen_address})!");
            return Err(values.origin(listen).error(problem));
        }
        let admin_port = values.port("admin_port");
        let admin = match admin_port {
            0 => None,
            port => Some(SocketAddr::new(address(&values, "admin_address")?, port)),
        };
        let shard_aware_port = Some(values.port("native_shard_aware_transport_port")).filter(|port| *port != 0);
        let segment_bytes = values.bytes("commitlog_segment_size").unwrap_or(32 << 20);
        if !SEGMENT_BYTES.contains(&segment_bytes) {
            let problem = "commitlog_segment_size: expected a size from 1MiB to 2047MiB";
            return Err(values.origin("commitlog_segment_size").error(problem.to_owned()));
        }
        let flush_writers = match values.number("memtable_flush_writers") {
            0 => 2,
            count => usize::try_from(count).unwrap_or(2),
        };
        let config = Self {
            cluster_name: values.text("cluster_name").unwrap_or_default().to_owned(),
            num_tokens: u32::try_from(values.number("num_tokens")).unwrap_or(16),
            initial_tokens,
            data_center,
            rack,
            listen_address,
            storage_port: values.port("storage_port"),
            cql: SocketAddr::new(cql_address, values.port("native_transport_port")),
            broadcast_cql_address,
            shard_aware_port,
            admin,
            directories: directories(&values)?,
            disk_reserve_bytes: values.bytes("min_free_space_per_drive").unwrap_or(0),
            shard_count,
            pin_shards: values.flag("pin_shards"),
            connections: connections(&values, &memory),
            memory,
            authentication,
            requests: requests(&values),
            commit_log_sync: match values.text("commitlog_sync") {
                Some("batch") => CommitLogSync::Batch,
                Some("group") => CommitLogSync::Group { window: values.duration("commitlog_sync_group_window") },
                _ => CommitLogSync::Periodic { period: values.duration("commitlog_sync_period") },
            },
            commit_log_damage: match values.text("commit_failure_policy") {
                Some("ignore") => DamagePolicy::Quarantine,
                _ => DamagePolicy::Stop,
            },
            segment_bytes,
            commit_log_bytes: values.bytes("commitlog_total_space").unwrap_or(COMMIT_LOG_BYTES_MAX),
            flush_writers,
            flush_at_share: values.share("memtable_cleanup_threshold").unwrap_or(1.0 / (flush_writers as f64 + 1.0)),
            compactors: values
                .count("concurrent_compactors")
                .map_or(1, |count| usize::try_from(count).unwrap_or(1).div_ceil(shard_count as usize).max(1)),
            compaction_bytes_per_sec: values.bytes("compaction_throughput").unwrap_or(0),
            column_index_bytes: u32::try_from(values.bytes("column_index_size").unwrap_or(4 << 10)).unwrap_or(4 << 10),
            auto_snapshot: values.flag("auto_snapshot"),
            log_level: values.text("log_level").unwrap_or("info").to_owned(),
            log_json: values.text("log_format") == Some("json"),
            trace_ttl: values.duration("trace_type_query_ttl"),
            slow_query: Some(values.duration("slow_query_log_timeout")).filter(|limit| !limit.is_zero()),
            warnings: values.warnings(),
            values,
        };
        Ok(config)
    }
}

/// As Cassandra bounds it: places in a segment are counted in 31 bits.
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=2047 << 20;

/// Tokens give a shard 52 bits; the protocol's sharding keys are read as small integers by drivers.
const SHARDS_MAX: u32 = 1024;

async fn read_file(disk: &dyn Disk, path: &Path) -> Result<String, ConfigError> {
    let unreadable = |reason: String| ConfigError::Unreadable { path: path.to_owned(), reason };
    match disk.file_len(path).await {
        Ok(Some(bytes)) if CONFIG_BYTES_MAX < bytes => Err(unreadable(format!("{bytes} bytes are too many"))),
        Ok(None) => Err(unreadable("no such file".to_owned())),
        Ok(Some(_)) => {
            let bytes = whole_file::read(disk, path).await.map_err(|error| unreadable(error.to_string()))?;
            String::from_utf8(bytes.to_vec()).map_err(|_| unreadable("it is not UTF-8".to_owned()))
        }
        Err(error) => Err(unreadable(error.to_string())),
    }
}

/// Nodes do not join each other yet: a seed elsewhere means that a second, separate cluster would be founded.
fn check_seeds(path: &Path, entries: &[(String, tree::Placed)]) -> Result<(), ConfigError> {
    let Some((_, provider)) = entries.iter().find(|(name, _)| name == "seed_provider") else { return Ok(()) };
    let mut texts = Vec::new();
    collect_seeds(provider, &mut texts);
    for (seeds, line) in texts {
        for seed in seeds.split(',').map(str::trim).filter(|seed| !seed.is_empty()) {
            let host = seed.rsplit_once(':').map_or(seed, |(host, port)| if port.contains(']') { seed } else { host });
            let own = entries.iter().any(|(name, value)| {
                matches!(name.as_str(), "listen_address" | "broadcast_address" | "rpc_address")
                    && value.node.to_string() == host
            });
            let is_loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            if !own && !is_loopback {
                let problem = format!(
                    "seed_provider: {host} is not this node, and joining a cluster is not supported yet; name only \
                     this node's own address to start a cluster of one"
                );
                return Err(ConfigError::InFile { path: path.to_owned(), line, problem });
            }
        }
    }
    Ok(())
}

fn collect_seeds(value: &tree::Placed, found: &mut Vec<(String, u64)>) {
    match &value.node {
        tree::Node::Map(entries) => {
            for (key, entry) in entries {
                if key == "seeds" {
                    found.push((entry.node.to_string(), entry.line));
                } else {
                    collect_seeds(entry, found);
                }
            }
        }
        tree::Node::List(items) => items.iter().for_each(|item| collect_seeds(item, found)),
        tree::Node::Null | tree::Node::Text(_) => {}
    }
}

fn address(values: &Values, name: &'static str) -> Result<IpAddr, ConfigError> {
    let text = values.text(name).unwrap_or_default();
    if text == "localhost" || text.is_empty() {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let unresolved = || values.origin(name).error(format!("{name}: '{text}' is no IP address and no known host name"));
    // Before the shards run; nothing is held up.
    let mut found = (text, 0).to_socket_addrs().map_err(|_| unresolved())?;
    found.next().map(|address| address.ip()).ok_or_else(unresolved)
}

fn initial_tokens(values: &Values) -> Result<Vec<Token>, ConfigError> {
    let Some(text) = values.text("initial_token") else { return Ok(Vec::new()) };
    let parse = |part: &str| part.trim().parse::<i64>().ok().filter(|token| *token != i64::MIN).map(Token::of_hash);
    let tokens: Option<Vec<Token>> = text.split(',').map(parse).collect();
    tokens.ok_or_else(|| {
        let problem = format!("initial_token: '{text}' is not a list of whole numbers separated by commas");
        values.origin("initial_token").error(problem)
    })
}

fn directories(values: &Values) -> Result<Directories, ConfigError> {
    let data = match values.texts("data_file_directories") {
        None | Some([]) => None,
        Some([one]) => Some(PathBuf::from(one)),
        Some(several) => {
            let problem = format!(
                "data_file_directories: {} directories are given, one is supported; put them together with RAID 0 or \
                 LVM",
                several.len()
            );
            return Err(values.origin("data_file_directories").error(problem));
        }
    };
    let is_flag = |name| matches!(values.origin(name), Origin::CommandLine { .. });
    // `--data-dir` beats the file's directories, too.
    let by_flag = is_flag("data_directory");
    let data = data.filter(|_| !by_flag || is_flag("data_file_directories"));
    let commit_log = values.text("commitlog_directory").map(PathBuf::from);
    let commit_log = commit_log.filter(|_| !by_flag || is_flag("commitlog_directory"));
    let root = match (values.text("data_directory"), &data) {
        (Some(root), _) => PathBuf::from(root),
        (None, Some(data)) => {
            data.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
        }
        (None, None) => PathBuf::from("helenus-data"),
    };
    Ok(Directories {
        data: data.unwrap_or_else(|| root.join("data")),
        commit_log: commit_log.unwrap_or_else(|| root.join("commitlog")),
        root,
    })
}

fn memory_parts(values: &Values, machine: Machine) -> Result<Memory, ConfigError> {
    let total = match values.bytes("memory") {
        Some(bytes) if bytes < MEMORY_MIN => {
            let problem = format!("memory: at least {} are needed", units::show_bytes(MEMORY_MIN));
            return Err(values.origin("memory").error(problem));
        }
        Some(bytes) => bytes,
        None => (machine.memory_bytes.unwrap_or(4 * MEMORY_FALLBACK) / 4).max(MEMORY_MIN),
    };
    let memtables = values.bytes("memtable_heap_space").unwrap_or(total / 3);
    let chunk_cache = values.bytes("file_cache_size").unwrap_or(total / 4);
    let prepared_statements = values.bytes("prepared_statements_cache_size").unwrap_or(10 << 20);
    if total * 9 / 10 < memtables.saturating_add(chunk_cache) {
        let problem = format!(
            "memtable_heap_space and file_cache_size together are {}, which leaves too little of memory ({})",
            units::show_bytes(memtables.saturating_add(chunk_cache)),
            units::show_bytes(total)
        );
        return Err(values.origin("memtable_heap_space").error(problem));
    }
    // What is left once the process itself has its share of a twentieth.
    let requests = (total - memtables - chunk_cache).saturating_sub(total / 20);
    Ok(Memory { total, memtables, chunk_cache, prepared_statements, requests })
}

fn authentication(values: &Values) -> Result<Authentication, ConfigError> {
    let method = match values.text("authenticator") {
        Some("PasswordAuthenticator") => AuthMethod::Password,
        _ => AuthMethod::AllowAll,
    };
    let name = values.text("auth_superuser_name");
    let hash = values.text("auth_superuser_salted_password");
    let superuser = match (name, hash) {
        (Some(name), Some(hash)) => {
            if hash.parse::<bcrypt::HashParts>().is_err() {
                let problem = "auth_superuser_salted_password: expected a bcrypt hash as Cassandra's hash_password prints it: \
                               $2a$, the cost, and 53 letters, digits, dots and slashes";
                return Err(values.origin("auth_superuser_salted_password").error(problem.to_owned()));
            }
            Some((name.to_owned(), hash.to_owned()))
        }
        (None, None) => None,
        (Some(_), None) => {
            let problem = "auth_superuser_name needs auth_superuser_salted_password beside it";
            return Err(values.origin("auth_superuser_name").error(problem.to_owned()));
        }
        (None, Some(_)) => {
            let problem = "auth_superuser_salted_password needs auth_superuser_name beside it";
            return Err(values.origin("auth_superuser_salted_password").error(problem.to_owned()));
        }
    };
    Ok(Authentication { method, superuser, default_superuser: values.flag("auth_default_superuser") })
}

/// Source of the words: Cassandra 5.0, `config.DatabaseDescriptor.applySimpleConfig`.
fn check_commit_log_sync(values: &Values) -> Result<(), ConfigError> {
    let is_set = |name| *values.origin(name) != Origin::Default;
    match values.text("commitlog_sync") {
        Some("batch") if is_set("commitlog_sync_period") => {
            let problem = "Batch sync specified, but commitlog_sync_period found.";
            Err(values.origin("commitlog_sync_period").error(problem.to_owned()))
        }
        Some("group") if values.duration("commitlog_sync_group_window").is_zero() => {
            let problem = "Missing value for commitlog_sync_group_window.";
            Err(values.origin("commitlog_sync_group_window").error(problem.to_owned()))
        }
        Some("group") if is_set("commitlog_sync_period") => {
            let problem = "Group sync specified, but commitlog_sync_period found. Only specify commitlog_sync_group_window \
                           when using group sync.";
            Err(values.origin("commitlog_sync_period").error(problem.to_owned()))
        }
        _ => Ok(()),
    }
}

/// The number of tokens is told by one of the two, or by both alike.
fn check_token_count(values: &Values, initial: usize) -> Result<(), ConfigError> {
    let count = values.number("num_tokens");
    if initial == 0 || *values.origin("num_tokens") == Origin::Default || count == initial as u64 {
        return Ok(());
    }
    let problem = format!(
        "The number of initial tokens (by initial_token) specified ({initial}) is different from num_tokens value ({count})"
    );
    Err(values.origin("initial_token").error(problem))
}

/// Serving everybody who can reach the port must be asked for by name.
fn check_open_door(values: &Values, cql: IpAddr, authentication: &Authentication) -> Result<(), ConfigError> {
    if cql.is_loopback() || authentication.method == AuthMethod::Password || values.flag("allow_insecure") {
        return Ok(());
    }
    let problem = format!(
        "rpc_address is {cql}, where everybody who can reach it could read and change all data: set authenticator to \
         PasswordAuthenticator, or say --insecure (allow_insecure: true) if that is what you want"
    );
    Err(values.origin("rpc_address").error(problem))
}

fn connections(values: &Values, memory: &Memory) -> Connections {
    let limit = |name| values.count(name).and_then(|count| u64::try_from(count).ok());
    let positive = |name| values.bytes(name).filter(|bytes| 0 < *bytes);
    let message_bytes = values.bytes("native_transport_max_message_size").unwrap_or(16 << 20);
    Connections {
        keepalive: values.flag("rpc_keepalive"),
        older_protocols: values.flag("native_transport_allow_older_protocols"),
        count_max: limit("native_transport_max_concurrent_connections"),
        count_per_ip_max: limit("native_transport_max_concurrent_connections_per_ip"),
        idle_timeout: Some(values.duration("native_transport_idle_timeout")).filter(|idle| !idle.is_zero()),
        message_bytes_max: usize::try_from(message_bytes).unwrap_or(16 << 20),
        bytes_in_flight_max: positive("native_transport_max_request_data_in_flight").unwrap_or(memory.total / 10),
        bytes_in_flight_per_ip_max: positive("native_transport_max_request_data_in_flight_per_ip")
            .unwrap_or(memory.total / 40),
        throw_on_overload: values.flag("native_transport_throw_on_overload"),
    }
}

fn requests(values: &Values) -> Requests {
    Requests {
        read: values.duration("read_request_timeout"),
        range: values.duration("range_request_timeout"),
        write: values.duration("write_request_timeout"),
        counter: values.duration("counter_write_request_timeout"),
        conditional: values.duration("cas_contention_timeout"),
        truncate: values.duration("truncate_request_timeout"),
        other: values.duration("request_timeout"),
        longest: values.duration("native_transport_timeout"),
        batch_warn_bytes: values.bytes("batch_size_warn_threshold").unwrap_or(0),
        batch_fail_bytes: values.bytes("batch_size_fail_threshold").unwrap_or(0),
        unlogged_batch_warn_partitions: values.number("unlogged_batch_across_partitions_warn_threshold"),
        tombstone_warn: values.number("tombstone_warn_threshold"),
        tombstone_fail: values.number("tombstone_failure_threshold"),
    }
}

/// `dc=` and `rack=` of `cassandra-rackdc.properties`.
fn rack_and_dc(path: &Path, text: &str) -> Result<(String, String), ConfigError> {
    let value_of = |wanted: &str| {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let mut pairs = lines.filter_map(|line| line.split_once('='));
        let found = pairs.find(|(key, _)| key.trim() == wanted).map(|(_, value)| value.trim().to_owned());
        found.filter(|value| !value.is_empty()).ok_or_else(|| ConfigError::InFile {
            path: path.to_owned(),
            line: 1,
            problem: format!("expected a line {wanted}=NAME"),
        })
    };
    Ok((value_of("dc")?, value_of("rack")?))
}

#[cfg(test)]
mod tests;
