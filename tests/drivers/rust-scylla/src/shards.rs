//! Shard awareness: a server that advertises its shards gets every single-partition request on the shard that owns it.
//!
//! Against a server without shards (Cassandra) there is nothing to hold it to, and both checks pass at once.

use std::env;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use scylla::client::session::Session;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Outcome, variable};

/// Three requests each.
const PARTITIONS: i32 = 1000;

pub async fn the_driver_knows_the_shards_of_a_sharded_server(session: Arc<Session>) -> Outcome {
    let state = session.get_cluster_state();
    match state.get_nodes_info()[0].sharder() {
        Some(sharder) => assert!(sharder.nr_shards.get() >= 1),
        None => assert!(env::var("HELENUS_ADMIN_PORT").is_err(), "the server does not advertise its shards"),
    }
    Ok(())
}

pub async fn single_partition_statements_reach_their_shard_directly(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE sharded (p int, c text, v int, PRIMARY KEY (p, c))", ()).await?;
    let insert = &session.prepare("INSERT INTO sharded (p, c, v) VALUES (?, 'row', ?)").await?;
    let select = &session.prepare("SELECT v FROM sharded WHERE p = ?").await?;
    let update = &session.prepare("UPDATE sharded SET v = ? WHERE p = ? AND c = 'row'").await?;
    let session = &session;
    let before = cross_shard_requests().await?;
    stream::iter(0..PARTITIONS)
        .map(Ok::<i32, Box<dyn std::error::Error + Send + Sync>>)
        .try_for_each_concurrent(64, |p| async move {
            session.execute_unpaged(insert, (p, p)).await?;
            session.execute_unpaged(update, (p + 1, p)).await?;
            let rows = session.execute_unpaged(select, (p,)).await?.into_rows_result()?;
            assert_eq!(rows.single_row::<(i32,)>()?.0, p + 1);
            Ok(())
        })
        .await?;
    let gone_astray = cross_shard_requests().await? - before;
    if gone_astray != 0 {
        return Err(format!("of {} requests {gone_astray} came to the wrong shard", 3 * PARTITIONS).into());
    }
    Ok(())
}

/// The sum over all shards of the metric that counts requests which arrived on a shard that does not own their partition.
/// 0 without an admin port.
async fn cross_shard_requests() -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    let Ok(port) = env::var("HELENUS_ADMIN_PORT") else { return Ok(0) };
    let metric = variable("HELENUS_CROSS_SHARD_METRIC", "helenus_cross_shard_requests_total");
    let host = variable("HELENUS_ADMIN_HOST", "127.0.0.1"); // The admin API listens on loopback alone.
    let mut stream = TcpStream::connect(format!("{host}:{port}")).await?;
    stream.write_all(format!("GET /metrics HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let samples: Vec<f64> = answer
        .lines()
        .filter(|line| line.strip_prefix(metric.as_str()).is_some_and(|rest| rest.starts_with(['{', ' '])))
        .filter_map(|line| line.rsplit(' ').next()?.parse().ok())
        .collect();
    if samples.is_empty() {
        return Err(format!("/metrics has no {metric}").into());
    }
    Ok(samples.iter().sum::<f64>() as u64)
}
