//! Server: one node: configuration, shards, CQL listener, authentication, admin API, metrics. Read in this order.

pub mod config;
mod logging;

mod start;
mod node;
mod shard;
mod server_port;

mod auth;
mod cql;
mod metrics;
mod work;
mod virtual_tables;

mod admin;

pub use start::{Build, StartError, run};
