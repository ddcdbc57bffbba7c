//! `system.size_estimates` and `system.table_estimates`: how many partitions of which size the files hold in each of this
//! node's ranges. Connectors of Spark and Hadoop cut tables by them.
//!
//! Computed when read, where Cassandra writes them down every five minutes. What is in memory alone is not counted, by
//! Cassandra neither. Source: Cassandra 5.0, `db.SizeEstimatesRecorder`.

use std::rc::Rc;
use std::sync::Arc;

use helenus_cluster::TableRows;
use helenus_cluster::virtual_tables::{RowValues, VirtualRead};
use helenus_schema::{SchemaSnapshot, Table};
use helenus_storage::RangeEstimate;
use helenus_types::token::Token;

use super::caches::signed;
use crate::server_port::Stopping;
use crate::shard::ShardServer;

/// The ranges of the node's own tokens among all nodes, and among those of its data centre.
const RANGE_TYPES: [&str; 2] = ["local_primary", "primary"];

/// Keyspaces of the node alone have no ranges.
const LOCAL_STRATEGY: &str = "LocalStrategy";

pub(super) async fn size_estimates(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let mut rows = TableRows::new(&read.table);
    for_each_range(&server, &read, |row| rows.push(&row)).await?;
    Ok(rows)
}

pub(super) async fn table_estimates(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let mut rows = TableRows::new(&read.table);
    for_each_range(&server, &read, |row| {
        // The only node is all of its data centre.
        for range_type in RANGE_TYPES {
            rows.push(&row.clone().text("range_type", range_type));
        }
    })
    .await?;
    Ok(rows)
}

async fn for_each_range(
    server: &ShardServer,
    read: &VirtualRead,
    mut push: impl FnMut(RowValues),
) -> Result<(), Stopping> {
    let tables = distributed_tables(&read.schema);
    let ranges: Arc<[(Token, Token)]> = primary_ranges(&read.topology.identity.tokens).into();
    let ids: Arc<[_]> = tables.iter().map(|table| table.id).collect();
    let wanted = Arc::clone(&ranges);
    let job = move |server: Rc<ShardServer>| {
        let (ids, ranges) = (Arc::clone(&ids), Arc::clone(&wanted));
        async move {
            let mut estimates = Vec::with_capacity(ids.len());
            for id in ids.iter() {
                estimates.push(server.cluster.storage().estimate_ranges(*id, &ranges));
                server.env.yield_now().await; // There may be many tables.
            }
            estimates
        }
    };
    let by_shard = server.links.run_on_all(job).await?;
    for (index, table) in tables.iter().enumerate() {
        for (range, (start, end)) in ranges.iter().enumerate() {
            let mut estimate = RangeEstimate::default();
            let of_shards = by_shard.iter().filter_map(|tables| tables.get(index)?.get(range));
            of_shards.for_each(|of_shard| estimate.merge(of_shard));
            // Cassandra writes the ring's end as its begin.
            let end = if *end == Token::MAX { Token::MIN } else { *end };
            push(
                RowValues::new()
                    .text("keyspace_name", &table.keyspace)
                    .text("table_name", &table.name)
                    .text("range_start", &start.to_string())
                    .text("range_end", &end.to_string())
                    .bigint("mean_partition_size", signed(estimate.mean_partition_bytes()))
                    .bigint("partitions_count", signed(estimate.partitions)),
            );
        }
    }
    Ok(())
}

fn distributed_tables(schema: &SchemaSnapshot) -> Vec<Arc<Table>> {
    let keyspaces = schema.keyspaces().filter(|keyspace| !keyspace.is_virtual());
    let distributed = keyspaces.filter(|keyspace| {
        keyspace.params.replication.get("class").is_some_and(|class| !class.ends_with(LOCAL_STRATEGY))
    });
    distributed.flat_map(|keyspace| keyspace.tables.values().cloned()).collect()
}

/// The ranges that end at `tokens`, left ends excluded; the one around the ring's end in two parts.
fn primary_ranges(tokens: &[Token]) -> Vec<(Token, Token)> {
    let mut tokens = tokens.to_vec();
    tokens.sort_unstable();
    tokens.dedup();
    let mut ranges = Vec::with_capacity(tokens.len() + 1);
    let mut start = Token::MIN;
    for token in tokens {
        if start < token {
            ranges.push((start, token));
        }
        start = token;
    }
    if start < Token::MAX {
        ranges.push((start, Token::MAX));
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_around_the_end_of_the_ring_comes_in_two_parts() {
        let ranges = |tokens: &[i64]| primary_ranges(&tokens.iter().copied().map(Token).collect::<Vec<_>>());
        let token = Token;
        assert_eq!(ranges(&[10, -10]), [(Token::MIN, token(-10)), (token(-10), token(10)), (token(10), Token::MAX)]);
        assert_eq!(ranges(&[Token::MIN.0]), [(Token::MIN, Token::MAX)]);
        assert_eq!(ranges(&[Token::MAX.0]), [(Token::MIN, Token::MAX)]);
    }
}
