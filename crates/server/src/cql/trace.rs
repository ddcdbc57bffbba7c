//! Traces: what a traced request did, written to `system_traces` as Cassandra's drivers and cqlsh read it.
//!
//! The session's duration is written last, after the events: drivers poll until it is there.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use helenus_cluster::{ClusterError, WriteKind};
use helenus_data::{Blob, Cell, CellPath, Clustering, Liveness, Mutation, Partition, PartitionKey};
use helenus_protocol::Consistency;
use helenus_schema::Table;
use helenus_storage::{RequestContext, TraceEvent};
use helenus_types::CqlType;
use helenus_types::time::Ttl;
use uuid::Uuid;

use crate::shard::ShardServer;

/// As much of a bound value as a trace shows; statements are not cut. Source: Cassandra 5.0,
/// `transport.messages.ExecuteMessage.traceQuery`.
const VALUE_CHARS_MAX: usize = 1_000;

/// Ends a trace's writes: they must never hold up a stop.
const WRITE_LIMIT: Duration = Duration::from_secs(2);

pub(super) struct TracedRequest {
    pub session: Uuid,
    pub client: IpAddr,
    /// "Execute CQL3 query".
    pub title: &'static str,
    pub text: Option<String>,
    /// Of a prepared statement: markers' names and the literals bound to them.
    pub values: Vec<(Box<str>, String)>,
    pub consistency: Option<Consistency>,
    pub serial_consistency: Option<Consistency>,
    pub page_size: Option<i32>,
    pub started_micros: i64,
    pub duration: Duration,
}

/// Writes a finished request's trace. A failure is logged: the request itself was answered long ago.
pub(super) async fn store(server: &ShardServer, request: TracedRequest, events: Vec<TraceEvent>) {
    let schema = server.cluster.schema();
    let tables = ["events", "sessions"].map(|name| schema.table("system_traces", name).cloned());
    let [Some(events_table), Some(sessions_table)] = tables else { return };
    let mut context = RequestContext::internal(schema);
    context.deadline = server.env.monotonic() + WRITE_LIMIT;
    let writer = Writer::new(server);
    let mut events_mutation = writer.empty(&events_table, request.session);
    for event in &events {
        writer.add_event(&mut events_mutation, &events_table, event);
    }
    let session = writer.session(&sessions_table, &request);
    let duration = writer.duration(&sessions_table, &request);
    for mutation in [events_mutation, session, duration] {
        if mutation.partition.is_empty() {
            continue;
        }
        if let Err(error) = write(server, &context, mutation).await {
            tracing::warn!(session = %request.session, %error, "a trace could not be written");
            return;
        }
    }
}

async fn write(server: &ShardServer, context: &RequestContext, mutation: Mutation) -> Result<(), ClusterError> {
    server.cluster.write(context, helenus_cluster::Consistency::Any, WriteKind::Simple, vec![mutation]).await
}

struct Writer<'a> {
    server: &'a ShardServer,
    node: SocketAddr,
    timestamp: i64,
    now_secs: i64,
    ttl: Option<Ttl>,
}

impl<'a> Writer<'a> {
    fn new(server: &'a ShardServer) -> Self {
        let config = &server.node.config;
        let ttl_secs = i64::try_from(config.trace_ttl.as_secs()).unwrap_or(0);
        Self {
            server,
            node: SocketAddr::new(config.listen_address, config.storage_port),
            timestamp: server.env.next_timestamp_micros(),
            now_secs: server.env.wall_secs(),
            ttl: Ttl::from_secs(ttl_secs).ok(),
        }
    }

    fn empty(&self, table: &Table, session: Uuid) -> Mutation {
        let partition = Partition::new(PartitionKey::new(session.as_bytes()));
        Mutation { table: table.id, schema_epoch: self.server.cluster.schema().epoch, partition }
    }

    fn cell(&self, value: Vec<u8>) -> Cell {
        match self.ttl {
            Some(ttl) => Cell::expiring(self.timestamp, ttl, self.now_secs, Blob::from(value)),
            None => Cell::live(self.timestamp, Blob::from(value)),
        }
    }

    fn put(&self, mutation: &mut Mutation, table: &Table, clustering: &Clustering, values: Vec<(&str, Vec<u8>)>) {
        let row = mutation.partition.row_mut(clustering);
        row.liveness = Liveness::new(self.timestamp, self.ttl, self.now_secs);
        for (name, value) in values {
            if let Some(column) = table.column(name) {
                row.add_cell(column.id, self.cell(value));
            }
        }
    }

    fn add_event(&self, mutation: &mut Mutation, table: &Table, event: &TraceEvent) {
        let id = self.server.env.new_timeuuid();
        let clustering = table.clustering_types().clustering(&[id.as_bytes()]);
        let thread = event.shard.map_or_else(|| "helenus".to_owned(), |shard| format!("shard-{shard}"));
        let values = vec![
            ("activity", event.activity.clone().into_bytes()),
            ("source", address_bytes(self.node.ip())),
            ("source_port", int(i64::from(self.node.port()))),
            ("source_elapsed", int(i64::try_from(event.elapsed_micros).unwrap_or(i64::MAX))),
            ("thread", thread.into_bytes()),
        ];
        self.put(mutation, table, &clustering, values);
    }

    fn session(&self, table: &Table, request: &TracedRequest) -> Mutation {
        let mut mutation = self.empty(table, request.session);
        let values = vec![
            ("client", address_bytes(request.client)),
            ("command", b"QUERY".to_vec()),
            ("coordinator", address_bytes(self.node.ip())),
            ("coordinator_port", int(i64::from(self.node.port()))),
            ("request", request.title.as_bytes().to_vec()),
            ("started_at", (request.started_micros / 1_000).to_be_bytes().to_vec()),
        ];
        self.put(&mut mutation, table, &Clustering::empty(), values);
        if let Some(column) = table.column("parameters") {
            let map = mutation.partition.row_mut(&Clustering::empty()).complex_mut(column.id);
            for (key, value) in parameters(request) {
                map.add_cell(CellPath::new(&CqlType::Text, key.as_bytes()), self.cell(value.into_bytes()));
            }
        }
        mutation
    }

    fn duration(&self, table: &Table, request: &TracedRequest) -> Mutation {
        let mut mutation = self.empty(table, request.session);
        let micros = i64::try_from(request.duration.as_micros()).unwrap_or(i64::MAX);
        self.put(&mut mutation, table, &Clustering::empty(), vec![("duration", int(micros))]);
        mutation
    }
}

fn parameters(request: &TracedRequest) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    let mut add = |name: &str, value: String| parameters.push((name.to_owned(), value));
    if let Some(level) = request.consistency {
        add("consistency_level", level.name().to_owned());
        let serial = request.serial_consistency.unwrap_or(Consistency::Serial);
        add("serial_consistency_level", serial.name().to_owned());
    }
    if let Some(rows) = request.page_size.filter(|rows| 0 < *rows) {
        add("page_size", rows.to_string());
    }
    if let Some(text) = &request.text {
        add("query", text.clone());
    }
    for (index, (name, literal)) in request.values.iter().enumerate() {
        add(&format!("bound_var_{index}_{name}"), shorten(literal));
    }
    parameters
}

/// A bound value as Cassandra shows it: its first characters (of UTF-16, as Java counts), dots, and a quote of whatever type.
fn shorten(literal: &str) -> String {
    if literal.len() <= VALUE_CHARS_MAX {
        return literal.to_owned(); // No text has more characters than bytes.
    }
    let mut units = 0;
    let end = literal.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        VALUE_CHARS_MAX < units
    });
    end.map_or_else(|| literal.to_owned(), |(end, _)| format!("{}...'", &literal[..end]))
}

/// A CQL int; larger numbers are the largest one.
fn int(number: i64) -> Vec<u8> {
    i32::try_from(number).unwrap_or(i32::MAX).to_be_bytes().to_vec()
}

fn address_bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_after_a_thousand_characters() {
        assert_eq!(shorten("'x'"), "'x'");
        let long = "é".repeat(VALUE_CHARS_MAX);
        assert_eq!(shorten(&long), long);
        assert_eq!(shorten(&format!("x{long}")), format!("x{}...'", "é".repeat(VALUE_CHARS_MAX - 1)));
    }
}
