//! `describecluster` and `gossipinfo`: what all nodes have in common, and what they say of themselves.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::api::{Cluster, Gossip, Keyspace, Ring, State, Status, endpoint};

#[must_use]
pub fn describe_text(cluster: &Cluster, ring: &Ring, with_port: bool) -> String {
    let mut text = String::from("Cluster Information:\n");
    let _ = writeln!(text, "\tName: {}", cluster.name);
    let _ = writeln!(text, "\tSnitch: {}", cluster.snitch);
    let dynamic = if cluster.dynamic_snitch { "enabled" } else { "disabled" };
    let _ = writeln!(text, "\tDynamicEndPointSnitch: {dynamic}");
    let _ = writeln!(text, "\tPartitioner: {}", cluster.partitioner);
    text.push_str("\tSchema versions:\n");
    for version in &cluster.schema_versions {
        let endpoints: Vec<String> =
            version.endpoints.iter().map(|address| endpoint_of(address, ring, with_port)).collect();
        let _ = writeln!(text, "\t\t{}: [{}]\n", version.version, endpoints.join(", "));
    }
    describe_nodes(ring, &mut text);
    text.push_str("Keyspaces:\n");
    for keyspace in cluster.keyspaces.iter().filter(|keyspace| !keyspace.is_virtual) {
        let _ = writeln!(text, "\t{} -> Replication class: {}", keyspace.name, replication(keyspace));
    }
    if let Some(note) = &ring.note {
        let _ = writeln!(text, "\nNote: {note}");
    }
    text
}

fn endpoint_of(address: &str, ring: &Ring, with_port: bool) -> String {
    let node = ring.nodes.iter().find(|node| node.address == address);
    node.map_or_else(|| address.to_owned(), |node| node.endpoint(with_port))
}

fn describe_nodes(ring: &Ring, text: &mut String) {
    let in_state = |state| ring.nodes.iter().filter(|node| node.state == state).count();
    let in_status = |status| ring.nodes.iter().filter(|node| node.status == status).count();
    text.push_str("Stats for all nodes:\n");
    let _ = writeln!(text, "\tLive: {}", in_status(Status::Up));
    let _ = writeln!(text, "\tJoining: {}", in_state(State::Joining));
    let _ = writeln!(text, "\tMoving: {}", in_state(State::Moving));
    let _ = writeln!(text, "\tLeaving: {}", in_state(State::Leaving));
    let _ = writeln!(text, "\tUnreachable: {}", in_status(Status::Down));

    let mut centers: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for node in &ring.nodes {
        let (nodes, down) = centers.entry(&node.data_center).or_default();
        *nodes += 1;
        *down += usize::from(node.status == Status::Down);
        versions.entry(&node.release_version).or_default().push(node.endpoint(true));
    }
    text.push_str("\nData Centers: \n");
    for (center, (nodes, down)) in centers {
        let _ = writeln!(text, "\t{center} #Nodes: {nodes} #Down: {down}");
    }
    text.push_str("\nDatabase versions:\n");
    for (version, endpoints) in versions {
        let _ = writeln!(text, "\t{version}: [{}]\n", endpoints.join(", "));
    }
}

/// `SimpleStrategy {replication_factor=1}`
fn replication(keyspace: &Keyspace) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let class = keyspace.replication.get("class").map(word).unwrap_or_default();
    let class = class.rsplit('.').next().unwrap_or_default();
    let options = keyspace.replication.iter().filter(|(name, _)| *name != "class");
    let options: Vec<String> = options.map(|(name, value)| format!("{name}={}", word(value))).collect();
    format!("{class} {{{}}}", options.join(", "))
}

#[must_use]
pub fn gossip_text(gossip: &Gossip, with_port: bool) -> String {
    let mut text = String::new();
    for node in &gossip.endpoints {
        let _ = writeln!(text, "/{}", endpoint(&node.address, node.port, with_port));
        let _ = writeln!(text, "  generation:{}\n  heartbeat:{}", node.generation, node.heartbeat);
        for state in &node.states {
            let _ = writeln!(text, "  {}:{}:{}", state.name, state.version, state.value);
        }
    }
    text.push('\n');
    text
}
