//! The API's description for programs, made from the handlers themselves.

use axum::Json;
use utoipa::OpenApi;

use super::routes::{clients, cluster, compactions, control, node, pools, snapshots, tables};

#[derive(OpenApi)]
#[openapi(
    info(title = "Helenus admin API", description = "Rules and meanings stand in docs/admin-api.md.", version = "1"),
    paths(
        node::node,
        node::gossip,
        cluster::cluster,
        cluster::ring,
        tables::tables,
        tables::table_histograms,
        tables::histograms,
        tables::flush,
        tables::compact,
        pools::thread_pools,
        compactions::compactions,
        compactions::history,
        compactions::stop,
        compactions::throughput,
        compactions::set_throughput,
        compactions::auto_compaction,
        compactions::set_auto_compaction,
        snapshots::snapshots,
        snapshots::take,
        snapshots::remove,
        clients::clients,
        control::logging,
        control::set_logging,
        control::trace_probability,
        control::set_trace_probability,
        control::settings,
        control::drain
    )
)]
struct Description;

pub(super) async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(Description::openapi())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_names_every_path_of_the_contract() {
        let text = Description::openapi().to_json().unwrap();
        let contract = [
            "node",
            "cluster",
            "ring",
            "gossip",
            "tables",
            "tables/{keyspace}/{table}/histograms",
            "histograms",
            "flush",
            "compact",
            "threadpools",
            "compactions",
            "snapshots",
            "drain",
            "logging",
            "trace-probability",
        ];
        for path in contract {
            assert!(text.contains(&format!("\"/api/v1/{path}\"")), "{path}");
        }
    }
}
