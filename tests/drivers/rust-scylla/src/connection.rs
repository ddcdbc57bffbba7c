//! Connecting, compression, and what the driver learns about the node and its schema.

use std::sync::Arc;

use scylla::client::Compression;
use scylla::client::session::Session;
use scylla::cluster::metadata::ColumnKind;

use crate::{KEYSPACE, Outcome, builder};

pub async fn the_one_node_is_connected_and_described(session: Arc<Session>) -> Outcome {
    let state = session.get_cluster_state();
    let [node] = state.get_nodes_info() else { return Err("not exactly one node".into()) };
    assert!(node.is_connected(), "not connected");
    assert_eq!((node.datacenter.as_deref(), node.rack.as_deref()), (Some("datacenter1"), Some("rack1")));
    assert!(!state.cluster_name().is_empty(), "no cluster name");
    Ok(())
}

pub async fn frames_may_be_compressed_by_lz4_and_by_snappy(_: Arc<Session>) -> Outcome {
    for compression in [Compression::Lz4, Compression::Snappy] {
        let other = builder().compression(Some(compression)).build().await?;
        let columns =
            other.query_unpaged("SELECT keyspace_name, table_name, column_name FROM system_schema.columns", ()).await?;
        assert!(columns.into_rows_result()?.rows_num() > 100, "few columns");
    }
    Ok(())
}

pub async fn an_unknown_keyspace_is_refused(session: Arc<Session>) -> Outcome {
    let error = session.query_unpaged("USE no_such_keyspace", ()).await.expect_err("the keyspace does not exist");
    assert!(error.to_string().contains("Keyspace 'no_such_keyspace' does not exist"), "{error}");
    Ok(())
}

pub async fn the_schema_is_agreed_upon(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE agreed (k int PRIMARY KEY)", ()).await?;
    assert!(session.check_schema_agreement().await?.is_some(), "no agreement");
    Ok(())
}

pub async fn table_metadata_has_keys_and_types(session: Arc<Session>) -> Outcome {
    session
        .query_unpaged(
            "CREATE TABLE described (a int, b text, c timeuuid, s text STATIC, m map<text, frozen<set<int>>>, \
             PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC)",
            (),
        )
        .await?;
    session.refresh_metadata().await?;
    let state = session.get_cluster_state();
    let table = &state.get_keyspace(KEYSPACE).ok_or("the keyspace is not known")?.tables["described"];
    assert_eq!(table.partition_key, ["a", "b"]);
    assert_eq!(table.clustering_key, ["c"]);
    assert_eq!(table.columns["s"].kind, ColumnKind::Static);
    assert_eq!(table.columns.len(), 5);
    Ok(())
}
