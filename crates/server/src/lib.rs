//! Server: one node: configuration, shards, CQL listener, authentication, admin API, metrics. Read in this order.

pub mod config;
mod logging;

mod node;
mod server_port;
mod shard;
mod start;

mod auth;
mod compaction_history;
mod cql;
mod metrics;
mod virtual_tables;
mod work;

mod admin;

pub use start::{Build, StartError, run};
