//! `system_views.clients`: the connections of all shards.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use helenus_cluster::TableRows;
use helenus_cluster::virtual_tables::{RowValues, VirtualRead};

use super::caches::signed;
use crate::cql::clients::Client;
use crate::server_port::Stopping;
use crate::shard::ShardServer;

/// Who a client is where nobody has to log in.
const ANONYMOUS: &str = "anonymous";

struct Shown {
    address: SocketAddr,
    stage: &'static str,
    version: Option<u8>,
    role: Option<Arc<str>>,
    keyspace: Option<Arc<str>>,
    options: BTreeMap<String, String>,
    request_count: u64,
}

pub(super) async fn rows(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let by_shard = server.links.run_on_all(|server| async move {
        server.clients.list().iter().map(|client| shown(client)).collect::<Vec<_>>()
    });
    let mut rows = TableRows::new(&read.table);
    by_shard.await?.iter().flatten().for_each(|client| rows.push(&row(client)));
    Ok(rows)
}

fn shown(client: &Client) -> Shown {
    Shown {
        address: client.address,
        stage: client.stage.get().name(),
        version: client.version.get().map(helenus_protocol::ProtocolVersion::number),
        role: client.role.borrow().clone(),
        keyspace: client.keyspace.borrow().clone(),
        options: client.options.borrow().clone(),
        request_count: client.request_count.get(),
    }
}

fn row(client: &Shown) -> RowValues {
    let address = client.address.ip();
    let hostname = if address.is_loopback() { "localhost".to_owned() } else { address.to_string() };
    let mut row = RowValues::new()
        .inet("address", address)
        .int("port", i32::from(client.address.port()))
        .text_map("client_options", &client.options)
        .text("connection_stage", client.stage)
        .text("hostname", &hostname)
        .bigint("request_count", signed(client.request_count))
        .boolean("ssl_enabled", false)
        .text("username", client.role.as_deref().unwrap_or(ANONYMOUS));
    if let Some(version) = client.version {
        row = row.int("protocol_version", i32::from(version));
    }
    if let Some(keyspace) = &client.keyspace {
        row = row.text("keyspace_name", keyspace);
    }
    for (column, option) in [("driver_name", "DRIVER_NAME"), ("driver_version", "DRIVER_VERSION")] {
        if let Some(value) = client.options.get(option) {
            row = row.text(column, value);
        }
    }
    row
}
