//! Topology: the nodes of the cluster, their tokens and addresses. One node so far.

use std::net::IpAddr;

use helenus_types::token::Token;
use uuid::Uuid;

/// What the metadata log keeps of a node for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeIdentity {
    pub cluster_name: String,
    pub host_id: Uuid,
    /// Ascending.
    pub tokens: Vec<Token>,
}

/// What a node says of itself at each start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    pub listen_address: IpAddr,
    pub listen_port: u16,
    pub native_address: IpAddr,
    pub native_port: u16,
    pub data_center: String,
    pub rack: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub identity: NodeIdentity,
    pub address: NodeAddress,
    /// Seconds since 1970 of this start.
    pub gossip_generation: i32,
}

/// The partitioner, as `system.local` names it.
pub const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";

/// The Cassandra version whose behaviour clients may expect.
pub const RELEASE_VERSION: &str = "5.0.9";
pub const CQL_VERSION: &str = "3.4.7";
pub const NATIVE_PROTOCOL_VERSION: &str = "5";
