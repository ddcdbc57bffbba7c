//! `system.local` and `system.peers*`: this node and the others, projected from the topology.

use helenus_data::TableId;
use helenus_types::collection::pack_map;

use crate::topology::{CQL_VERSION, NATIVE_PROTOCOL_VERSION, PARTITIONER, RELEASE_VERSION};
use crate::virtual_tables::VirtualRead;
use crate::virtual_tables::rows::{RowValues, TableRows};

pub(super) fn local(read: &VirtualRead) -> TableRows {
    let topology = &read.topology;
    let address = &topology.address;
    let mut tokens: Vec<String> = topology.identity.tokens.iter().map(ToString::to_string).collect();
    tokens.sort();
    let mut rows = TableRows::new(&read.table);
    rows.push(
        &RowValues::new()
            .text("key", "local")
            .text("bootstrapped", "COMPLETED")
            .inet("broadcast_address", address.listen_address)
            .int("broadcast_port", i32::from(address.listen_port))
            .text("cluster_name", &topology.identity.cluster_name)
            .text("cql_version", CQL_VERSION)
            .text("data_center", &address.data_center)
            .int("gossip_generation", topology.gossip_generation)
            .uuid("host_id", topology.identity.host_id)
            .inet("listen_address", address.listen_address)
            .int("listen_port", i32::from(address.listen_port))
            .text("native_protocol_version", NATIVE_PROTOCOL_VERSION)
            .text("partitioner", PARTITIONER)
            .text("rack", &address.rack)
            .text("release_version", RELEASE_VERSION)
            .inet("rpc_address", address.native_address)
            .int("rpc_port", i32::from(address.native_port))
            .uuid("schema_version", read.schema.version)
            .texts("tokens", tokens.iter().map(String::as_str))
            .raw("truncated_at", truncations(&read.truncated)),
    );
    rows
}

/// `map<uuid, blob>`: table id to a commit log position (here always the log's begin: `i64` segment, `i32` offset) and the
/// time in milliseconds (`i64`).
fn truncations(truncated: &[(TableId, i64)]) -> Vec<u8> {
    let records: Vec<[u8; 20]> = truncated
        .iter()
        .map(|(_, micros)| {
            let mut record = [0; 20];
            record[12..].copy_from_slice(&(micros / 1000).to_be_bytes());
            record
        })
        .collect();
    let entries: Vec<(&[u8], &[u8])> =
        truncated.iter().zip(&records).map(|((table, _), record)| (&table.0.as_bytes()[..], &record[..])).collect();
    pack_map(&entries)
}

/// A cluster of one has no peers; a node never lists itself.
pub(super) fn peers(read: &VirtualRead) -> TableRows {
    TableRows::new(&read.table)
}
