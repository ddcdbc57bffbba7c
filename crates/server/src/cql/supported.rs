//! SUPPORTED of this node: Cassandra's options and the six sharding keys by which Scylla's drivers find the shard.
//!
//! Source: ScyllaDB, `docs/dev/protocol-extensions.md`, "Intranode sharding".

use helenus_cluster::PARTITIONER;
use helenus_protocol::Supported;

/// As ScyllaDB: the token's high bits after dropping so many say the shard. `types::token::shard_of` does the same.
const IGNORED_MSB: u32 = 12;

#[must_use]
pub(super) fn supported(shard: u32, shard_count: u32, shard_aware_port: Option<u16>) -> Supported {
    let mut supported = Supported::cassandra();
    supported.add("SCYLLA_SHARD", shard.to_string());
    supported.add("SCYLLA_NR_SHARDS", shard_count.to_string());
    supported.add("SCYLLA_PARTITIONER", PARTITIONER);
    supported.add("SCYLLA_SHARDING_ALGORITHM", "biased-token-round-robin");
    supported.add("SCYLLA_SHARDING_IGNORE_MSB", IGNORED_MSB.to_string());
    if let Some(port) = shard_aware_port {
        supported.add("SCYLLA_SHARD_AWARE_PORT", port.to_string());
    }
    supported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_told_its_own_shard() {
        let supported = supported(3, 8, Some(19042));
        let value = |key: &str| {
            let found = supported.options.iter().find(|(name, _)| name == key);
            found.map(|(_, values)| values.join(","))
        };
        assert_eq!(value("SCYLLA_SHARD").as_deref(), Some("3"));
        assert_eq!(value("SCYLLA_PARTITIONER").as_deref(), Some("org.apache.cassandra.dht.Murmur3Partitioner"));
        assert_eq!(value("CQL_VERSION").as_deref(), Some("3.4.7"));
    }
}
