//! Who is connected.

use std::cell::RefCell;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::Answer;
use crate::admin::Shared;
use crate::admin::api;
use crate::cql::clients::Client;
use crate::shard::ShardServer;

/// All connections, by shard and then in the order in which they came.
#[utoipa::path(get, path = "/api/v1/clients", responses((status = 200, body = api::Clients)))]
pub(in crate::admin) async fn clients(State(state): State<Shared>) -> Answer<api::Clients> {
    let by_shard = state.links.run_on_all(|server| async move {
        server.clients.list().iter().map(|client| shown(&server, client)).collect::<Vec<_>>()
    });
    let clients = by_shard.await?.into_iter().flatten().collect();
    Ok(Json(api::Clients { clients }))
}

fn shown(server: &ShardServer, client: &Client) -> api::Client {
    let text = |text: &RefCell<Option<Arc<str>>>| text.borrow().as_deref().map(ToOwned::to_owned);
    api::Client {
        address: client.address.ip().to_string(),
        port: client.address.port(),
        shard: server.shard,
        stage: client.stage.get().name().to_owned(),
        protocol_version: client.version.get().map(helenus_protocol::ProtocolVersion::number),
        username: text(&client.role),
        keyspace: text(&client.keyspace),
        driver_name: client.option("DRIVER_NAME"),
        driver_version: client.option("DRIVER_VERSION"),
        requests: client.request_count.get(),
        in_flight: client.in_flight.get(),
        options: client.options.borrow().clone(),
        connected_secs: (server.env.monotonic() - client.connected).as_secs(),
    }
}
