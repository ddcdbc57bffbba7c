//! The settings that work, in the order of `conf/helenus.yaml`, which a test holds against this table.
//!
//! Names, kinds, defaults and older spellings are those of Cassandra 5.0.9's `config.Config` where Cassandra has the
//! setting, got by reflection.

use super::setting::{Kind, Older, OlderMeaning, Setting};
use super::units::{DurationUnit, SizeUnit};

const FLAG: Kind = Kind::Flag;
const TEXT: Kind = Kind::Text;
const MILLIS: Kind = Kind::Duration(DurationUnit::Millis);
const SECONDS: Kind = Kind::Duration(DurationUnit::Seconds);
const BYTES: Kind = Kind::Size(SizeUnit::Bytes);
const KIB: Kind = Kind::Size(SizeUnit::Kibibytes);
const MIB: Kind = Kind::Size(SizeUnit::Mebibytes);
const PORT: Kind = Kind::Count { min: 0, max: 65_535 };
const COUNT: Kind = Kind::Count { min: 0, max: i64::MAX };
const POSITIVE: Kind = Kind::Count { min: 1, max: i64::MAX };
/// -1 is no limit.
const LIMIT: Kind = Kind::Count { min: -1, max: i64::MAX };

const fn setting(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind, default: Some(default), older: &[], meaning }
}

const fn unset(name: &'static str, kind: Kind, meaning: &'static str) -> Setting {
    Setting { name, kind, default: None, older: &[], meaning }
}

impl Setting {
    const fn was(mut self, older: &'static [Older]) -> Self {
        self.older = older;
        self
    }
}

const fn in_unit(name: &'static str, unit: &'static str) -> Older {
    Older { name, meaning: OlderMeaning::InUnit(unit) }
}

const fn in_unit_or_unset(name: &'static str, unit: &'static str) -> Older {
    Older { name, meaning: OlderMeaning::InUnitOrUnset(unit) }
}

/// One heading of the file with its settings.
#[derive(Debug)]
pub struct Section {
    pub title: &'static str,
    pub settings: &'static [Setting],
}

pub static SECTIONS: &[Section] = &[
    Section { title: "Who this node is", settings: IDENTITY },
    Section { title: "Where it listens", settings: ADDRESSES },
    Section { title: "Where its data is", settings: DIRECTORIES },
    Section { title: "Processor and memory", settings: RESOURCES },
    Section { title: "Who may connect", settings: AUTHENTICATION },
    Section { title: "Connections", settings: CONNECTIONS },
    Section { title: "Requests", settings: REQUESTS },
    Section { title: "Commit log", settings: COMMIT_LOG },
    Section { title: "Memtables, compaction, snapshots", settings: STORAGE },
    Section { title: "Logs and traces", settings: LOGS },
];

const IDENTITY: &[Setting] = &[
    setting(
        "cluster_name",
        TEXT,
        "Test Cluster",
        "Nodes of one cluster share it. The first start writes it into the data directory; a start with another name is refused.",
    ),
    setting(
        "num_tokens",
        Kind::Count { min: 1, max: 1536 },
        "16",
        "How many token ranges the node owns. Counts at the first start.",
    ),
    unset(
        "initial_token",
        TEXT,
        "The tokens themselves, separated by commas, instead of num_tokens. Counts at the first start.",
    ),
    setting(
        "partitioner",
        Kind::Class(&["Murmur3Partitioner"]),
        "org.apache.cassandra.dht.Murmur3Partitioner",
        "How keys become tokens. There is one partitioner.",
    ),
    setting(
        "endpoint_snitch",
        Kind::Class(&["SimpleSnitch", "GossipingPropertyFileSnitch"]),
        "SimpleSnitch",
        "Which data centre and rack the node is in. SimpleSnitch: datacenter1 and rack1. GossipingPropertyFileSnitch: dc and rack of the file cassandra-rackdc.properties beside the configuration file.",
    ),
];

const ADDRESSES: &[Setting] = &[
    setting("listen_address", TEXT, "localhost", "The address that the node has towards other nodes."),
    setting("storage_port", PORT, "7000", "The port that the node shows for other nodes."),
    unset("broadcast_address", TEXT, "What is shown instead of listen_address."),
    setting(
        "rpc_address",
        TEXT,
        "localhost",
        "The address on which CQL clients connect. Anything but loopback needs PasswordAuthenticator, or allow_insecure.",
    ),
    unset("broadcast_rpc_address", TEXT, "What clients are told instead of rpc_address; needed when that is 0.0.0.0."),
    setting("native_transport_port", PORT, "9042", "The port on which CQL clients connect."),
    setting(
        "native_shard_aware_transport_port",
        PORT,
        "19042",
        "A second port for shard-aware drivers: the shard is the client's port modulo the number of shards. 0 turns it off.",
    ),
    setting(
        "admin_address",
        TEXT,
        "127.0.0.1",
        "The address of the admin API, which nodetool, metrics and the dashboard use. It asks for no password.",
    ),
    setting("admin_port", PORT, "7199", "The port of the admin API. 0 turns it off."),
];

const DIRECTORIES: &[Setting] = &[
    unset(
        "data_directory",
        TEXT,
        "Everything that the node keeps: data/, commitlog/, metadata/. Unset: the parent of data_file_directories, or else helenus-data in the working directory.",
    ),
    unset("data_file_directories", Kind::Texts, "Where SSTables are, one directory. Unset: data/ in data_directory."),
    unset("commitlog_directory", TEXT, "Unset: commitlog/ in data_directory. A device of its own makes it fast."),
    setting(
        "min_free_space_per_drive",
        MIB,
        "50MiB",
        "Writes are refused when the file system has less free space than this, so that compaction can make room.",
    )
    .was(&[in_unit("min_free_space_per_drive_in_mb", "MiB")]),
];

const RESOURCES: &[Setting] = &[
    unset(
        "shards",
        POSITIVE,
        "How many shards, each a thread that owns its part of the data. Unset: one for each core that the process may use.",
    ),
    setting("pin_shards", FLAG, "false", "Bind each shard to a core: only when the node has its cores for itself."),
    unset(
        "memory",
        Kind::Size(SizeUnit::Mebibytes),
        "What the node may use in all. Unset: a quarter of the machine's memory, or of the container's limit.",
    ),
    unset("memtable_heap_space", MIB, "Memory for writes that are not in SSTables yet. Unset: a third of memory.")
        .was(&[in_unit("memtable_heap_space_in_mb", "MiB")]),
    unset("file_cache_size", MIB, "Cache of decompressed pieces of SSTables. Unset: a quarter of memory.")
        .was(&[in_unit("file_cache_size_in_mb", "MiB")]),
    setting(
        "prepared_statements_cache_size",
        MIB,
        "10MiB",
        "Prepared statements kept on the node, with what a shard makes of them.",
    )
    .was(&[in_unit("prepared_statements_cache_size_mb", "MiB")]),
];

const AUTHENTICATION: &[Setting] = &[
    setting(
        "authenticator",
        Kind::Class(&["AllowAllAuthenticator", "PasswordAuthenticator"]),
        "AllowAllAuthenticator",
        "AllowAllAuthenticator asks for nothing, PasswordAuthenticator for a name and a password.",
    ),
    setting(
        "authorizer",
        Kind::Class(&["AllowAllAuthorizer"]),
        "AllowAllAuthorizer",
        "Who is logged in may do everything; there are no permissions yet.",
    ),
    setting(
        "role_manager",
        Kind::Class(&["CassandraRoleManager"]),
        "CassandraRoleManager",
        "Roles are kept with the schema.",
    ),
    setting(
        "network_authorizer",
        Kind::Class(&["AllowAllNetworkAuthorizer"]),
        "AllowAllNetworkAuthorizer",
        "There are no limits by data centre.",
    ),
    setting(
        "cidr_authorizer",
        Kind::Class(&["AllowAllCIDRAuthorizer"]),
        "AllowAllCIDRAuthorizer",
        "There are no limits by client address.",
    ),
    setting("allow_insecure", FLAG, "false", "Serve other addresses than loopback without asking for passwords."),
    unset(
        "auth_superuser_name",
        TEXT,
        "The first superuser of a cluster with PasswordAuthenticator, together with auth_superuser_salted_password. Unset: the first start makes the superuser cassandra with a random password and prints the path of the file, readable by its owner only, in which it stands.",
    ),
    unset(
        "auth_superuser_salted_password",
        TEXT,
        "The bcrypt hash of the superuser's password. A later start with another hash changes the password.",
    ),
    setting(
        "auth_default_superuser",
        FLAG,
        "false",
        "Make the superuser cassandra with the password cassandra, as Cassandra does. Everybody knows it: for tests only.",
    ),
];

const CONNECTIONS: &[Setting] = &[
    setting("rpc_keepalive", FLAG, "true", "TCP keep-alive on client connections."),
    setting("native_transport_allow_older_protocols", FLAG, "true", "Serve versions 3 and 4 of the native protocol beside 5."),
    setting("native_transport_max_concurrent_connections", LIMIT, "-1", "Client connections in all; -1 is no limit but that of the operating system on open files."),
    setting("native_transport_max_concurrent_connections_per_ip", LIMIT, "-1", "Client connections from one address."),
    setting("native_transport_idle_timeout", MILLIS, "0ms", "Close connections on which nothing was asked for so long; 0 never does.").was(&[in_unit("native_transport_idle_timeout_in_ms", "ms")]),
    setting("native_transport_max_message_size", BYTES, "16MiB", "The largest request. 64 KiB until the client has authenticated."),
    unset("native_transport_max_request_data_in_flight", BYTES, "Requests that are being worked on, in bytes. Unset: a tenth of memory. Beyond it connections are not read, or answered OVERLOADED when they asked for that.").was(&[in_unit_or_unset("native_transport_max_concurrent_requests_in_bytes", "B")]),
    unset("native_transport_max_request_data_in_flight_per_ip", BYTES, "The same for one client address. Unset: a fortieth of memory.").was(&[in_unit_or_unset("native_transport_max_concurrent_requests_in_bytes_per_ip", "B")]),
    setting("native_transport_throw_on_overload", FLAG, "false", "Answer OVERLOADED also to clients that did not ask for it."),
];

const REQUESTS: &[Setting] = &[
    setting("read_request_timeout", MILLIS, "5000ms", "Reads of one partition.")
        .was(&[in_unit("read_request_timeout_in_ms", "ms")]),
    setting("range_request_timeout", MILLIS, "10000ms", "Reads of token ranges.")
        .was(&[in_unit("range_request_timeout_in_ms", "ms")]),
    setting("write_request_timeout", MILLIS, "2000ms", "Writes.").was(&[in_unit("write_request_timeout_in_ms", "ms")]),
    setting("counter_write_request_timeout", MILLIS, "5000ms", "Writes of counters.")
        .was(&[in_unit("counter_write_request_timeout_in_ms", "ms")]),
    setting(
        "cas_contention_timeout",
        MILLIS,
        "1800ms",
        "How long a conditional write waits for others of its partition.",
    )
    .was(&[in_unit("cas_contention_timeout_in_ms", "ms")]),
    setting("truncate_request_timeout", MILLIS, "60000ms", "TRUNCATE, which may take a snapshot first.")
        .was(&[in_unit("truncate_request_timeout_in_ms", "ms")]),
    setting("request_timeout", MILLIS, "10000ms", "Everything else.").was(&[in_unit("request_timeout_in_ms", "ms")]),
    setting("native_transport_timeout", MILLIS, "12000ms", "No request is worked on longer than this."),
    setting(
        "batch_size_warn_threshold",
        KIB,
        "5KiB",
        "Batches of several statements that are larger are warned about.",
    )
    .was(&[in_unit("batch_size_warn_threshold_in_kb", "KiB")]),
    setting("batch_size_fail_threshold", KIB, "50KiB", "Batches of several statements that are larger are refused.")
        .was(&[in_unit("batch_size_fail_threshold_in_kb", "KiB")]),
    setting(
        "unlogged_batch_across_partitions_warn_threshold",
        COUNT,
        "10",
        "Unlogged batches over more partitions are warned about.",
    ),
    setting("tombstone_warn_threshold", COUNT, "1000", "Reads that meet more tombstones are warned about."),
    setting("tombstone_failure_threshold", COUNT, "100000", "Reads that meet more tombstones fail."),
];

const COMMIT_LOG: &[Setting] = &[
    setting(
        "commitlog_sync",
        Kind::Choice(&["periodic", "batch", "group"]),
        "periodic",
        "When a write is acknowledged. periodic: once the kernel has it, so that a crash of the process loses nothing; it is synced to the device all the time, and writers wait when a write is older than commitlog_sync_period. batch: once it is on the device. group: as batch, for all writes of a commitlog_sync_group_window together.",
    ),
    setting("commitlog_sync_period", MILLIS, "10000ms", "See commitlog_sync.")
        .was(&[in_unit("commitlog_sync_period_in_ms", "ms")]),
    setting("commitlog_sync_group_window", MILLIS, "10ms", "See commitlog_sync.")
        .was(&[in_unit("commitlog_sync_group_window_in_ms", "ms")]),
    setting("commitlog_segment_size", MIB, "32MiB", "A single write takes half of it at most.")
        .was(&[in_unit("commitlog_segment_size_in_mb", "MiB")]),
    unset(
        "commitlog_total_space",
        MIB,
        "Beyond it, tables with old writes are flushed. Unset: 8 GiB, or a quarter of the file system if that is less.",
    )
    .was(&[in_unit("commitlog_total_space_in_mb", "MiB")]),
    setting(
        "commit_failure_policy",
        Kind::Choice(&["die", "stop", "stop_commit", "ignore"]),
        "stop",
        "What a start does about a damaged segment. ignore: move it to quarantine/ after replaying what is before the damage. Anything else: refuse the start and name the place.",
    ),
];

const STORAGE: &[Setting] = &[
    unset(
        "memtable_cleanup_threshold",
        Kind::Share,
        "Part of memtable_heap_space from which on the largest memtable is flushed. Unset: 1 / (memtable_flush_writers + 1).",
    ),
    setting("memtable_flush_writers", COUNT, "0", "Tables that a shard flushes at the same time; 0 chooses."),
    unset(
        "concurrent_compactors",
        POSITIVE,
        "Compactions at the same time, over all shards. Unset: one for each shard.",
    ),
    setting(
        "compaction_throughput",
        Kind::Rate,
        "64MiB/s",
        "What compaction reads, over all shards; 0MiB/s is no limit.",
    )
    .was(&[in_unit("compaction_throughput_mb_per_sec", "MiB/s")]),
    setting("column_index_size", KIB, "4KiB", "How much of a partition one entry of its index covers in new SSTables.")
        .was(&[in_unit("column_index_size_in_kb", "KiB")]),
    setting("auto_snapshot", FLAG, "true", "Take a snapshot before TRUNCATE and DROP TABLE."),
];

const LOGS: &[Setting] = &[
    setting("log_level", TEXT, "info", "error, warn, info, debug or trace; by part: info,helenus_storage=debug."),
    setting("log_format", Kind::Choice(&["text", "json"]), "text", "How log lines look."),
    setting("trace_type_query_ttl", SECONDS, "1d", "How long traces of requests are kept.")
        .was(&[in_unit("tracetype_query_ttl", "s")]),
    setting("slow_query_log_timeout", MILLIS, "500ms", "Requests that take longer are logged; 0ms turns it off.")
        .was(&[in_unit("slow_query_log_timeout_in_ms", "ms")]),
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().flat_map(|section| section.settings)
}

/// The setting that has or had this name, and the older spelling if it is one.
#[must_use]
pub fn find(name: &str) -> Option<(&'static Setting, Option<&'static Older>)> {
    all().find_map(|setting| {
        if setting.name == name {
            return Some((setting, None));
        }
        setting.older.iter().find(|older| older.name == name).map(|older| (setting, Some(older)))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::tree::Node;

    #[test]
    fn every_default_is_valid_and_every_name_is_unique() {
        let mut names = BTreeSet::new();
        for setting in all() {
            assert!(names.insert(setting.name), "{} stands twice", setting.name);
            for older in setting.older {
                assert!(names.insert(older.name), "{} stands twice", older.name);
            }
            if let Some(default) = setting.default {
                let read = setting.kind.read(&Node::Text(default.to_owned()));
                assert!(matches!(read, Ok(Some(_))), "{}: {read:?}", setting.name);
            }
        }
    }
}
