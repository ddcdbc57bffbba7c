//! Cluster of Helenus: metadata log, coordinator and replica, on one node so far; a node is a cluster of one.
//!
//! Read in this order.

mod boot;
mod cluster;
mod consistency;
mod coordinator;
mod error;
mod metadata;
mod metrics;
mod replica;
mod ring;
mod shard_port;
mod topology;
pub mod virtual_tables;

pub use boot::{Boot, Founding};
pub use cluster::{Cluster, SchemaListener};
pub use consistency::Consistency;
pub use coordinator::{CompareAndSet, Decision, WriteKind, replay_batchlog};
pub use error::ClusterError;
pub use metadata::Role;
pub use metrics::{ClusterMetrics, Coordinated};
pub use shard_port::{ShardLinks, ShardPort};
pub use topology::{
    CQL_VERSION, NATIVE_PROTOCOL_VERSION, NodeAddress, NodeIdentity, PARTITIONER, RELEASE_VERSION, Topology,
};
pub use virtual_tables::{TableRows, VirtualTables};
