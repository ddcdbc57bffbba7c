//! The API's description for programs, made from the handlers themselves.

use axum::Json;
use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder};

use super::api;
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
    ),
    components(schemas(api::Problem))
)]
struct Description;

pub(super) async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(description())
}

/// Beside what the handlers say: every response needs a description, and any call may be refused.
fn description() -> utoipa::openapi::OpenApi {
    let mut description = Description::openapi();
    for path in description.paths.paths.values_mut() {
        let operations = [&mut path.get, &mut path.put, &mut path.post, &mut path.delete];
        operations.into_iter().flatten().for_each(complete);
    }
    description
}

fn complete(operation: &mut Operation) {
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            "Done, or what was asked for.".clone_into(&mut response.description);
        }
    }
    let problem = Content::new(Some(Ref::from_schema_name("Problem")));
    let refusal = ResponseBuilder::new().description("Why not.").content("application/json", problem).build();
    operation.responses.responses.insert("default".to_owned(), refusal.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_names_every_path_of_the_contract() {
        let text = description().to_json().unwrap();
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

    #[test] // What validators of OpenAPI 3.1 found missing.
    fn every_response_is_described_and_every_reference_leads_somewhere() {
        let document = serde_json::to_value(description()).unwrap();
        let mut references = Vec::new();
        walk(&document, &mut |object| {
            references.extend(object.get("$ref").and_then(serde_json::Value::as_str).map(ToOwned::to_owned));
            for response in object.get("responses").and_then(|found| found.as_object()).into_iter().flatten() {
                assert!(response.1.get("description").is_some_and(|text| text != ""), "{response:?}");
            }
        });
        for (path, operations) in document["paths"].as_object().unwrap() {
            for parameter in operations.as_object().unwrap().values().filter_map(|one| one.get("parameters")) {
                for parameter in parameter.as_array().unwrap() {
                    let named = path.contains(&format!("{{{}}}", parameter["name"].as_str().unwrap()));
                    assert_eq!(parameter["in"] == "path", named, "{path}: {parameter}");
                }
            }
        }
        assert!(references.iter().any(|reference| reference == "#/components/schemas/Problem"));
        for reference in references {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
    }

    fn walk(value: &serde_json::Value, visit: &mut impl FnMut(&serde_json::Map<String, serde_json::Value>)) {
        match value {
            serde_json::Value::Object(object) => {
                visit(object);
                object.values().for_each(|inner| walk(inner, visit));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
            _ => {}
        }
    }
}
