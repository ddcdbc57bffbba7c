//! Request: what QUERY, PREPARE, EXECUTE and BATCH go through: context, execution, metrics, trace, answer.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use helenus_env::{Instant, SchedulingGroup};
use helenus_protocol::{
    BatchKind, BatchStatement, Consistency, EnvelopeHeader, ErrorBody, QueryParameters, Request, RequestMessage,
    Response, ResponseExtras, ResponseMessage, ResultBody, WriteType,
};
use helenus_query::{QueryError, QueryOutcome, QueryProcessor, QueryResult};
use helenus_storage::{RequestContext, RequestMemory, TraceSink};
use uuid::Uuid;

use super::connection::{Connection, Flight};
use super::error_map::{Failed, Operation, error_message};
use super::trace::{self, TracedRequest};
use super::traits::StatementTraits;
use crate::metrics::{ShardMetrics, StatementKind};
use crate::shard::ShardServer;

/// What a request costs beside its own bytes: its task, plan and the first rows of its answer.
const REQUEST_BYTES: u64 = 4 << 10;

/// As much of a statement as a log line shows: a batch may have megabytes.
const STATEMENT_BYTES_MAX: usize = 1_000;

/// One request may have this part of the node's memory for requests, so that others are served beside it.
const REQUEST_SHARE: u64 = 2;

/// Serves one request and answers it.
pub(super) async fn serve(
    connection: Rc<Connection>,
    header: EnvelopeHeader,
    message: RequestMessage,
    mut flight: Flight,
) {
    let server = &connection.server;
    let Ok(permit) = server.memory.try_acquire(REQUEST_BYTES + request_bytes(&message.request)) else {
        ShardMetrics::count(&server.metrics.overloaded);
        let text = "The node has no memory left for more requests".to_owned();
        connection.answer_error(header, ErrorBody::Overloaded, text);
        flight.answered();
        return;
    };
    let traits = traits_of(&connection, &message.request);
    let kind = traits.kind;
    count_traits(server, &message.request, traits);
    let started = server.env.monotonic();
    let traced = should_trace(server, message.tracing).then(|| server.env.new_timeuuid());
    let trace = if traced.is_some() { TraceSink::collecting(&server.env) } else { TraceSink::Off };
    let context = RequestContext {
        deadline: started + server.time_limit(kind),
        group: SchedulingGroup::Statement,
        schema: server.cluster.schema(),
        trace: trace.clone(),
        is_internal: false,
        role: connection.client.role.borrow().clone(),
        memory: Some(RequestMemory::new(permit, server.node.memory.total_bytes() / REQUEST_SHARE)),
    };
    let executing = execute(&connection, &message.request, context);
    let outcome = if kind == StatementKind::Read {
        tokio::select! {
            biased;
            outcome = executing => outcome,
            // Nobody will read the rows.
            () = connection.output.ended() => {
                flight.answered();
                return;
            }
        }
    } else {
        executing.await
    };
    let latency = server.env.monotonic() - started;
    let consistency = consistency_of(&message.request);
    if !matches!(message.request, Request::Prepare(_)) {
        server.metrics.record(kind, consistency, latency);
    }
    log_slow(server, &message.request, latency);
    // The id goes back only to who asked for it; a trace by probability is found in the tables.
    let tracing_id = traced.filter(|_| message.tracing);
    match outcome {
        Ok(outcome) => answer(&connection, header, tracing_id, outcome),
        Err(error) => {
            answer_failure(&connection, header, tracing_id, error, &message.request, traits);
            connection.expect_like(0);
        }
    }
    flight.answered();
    drop(flight);
    if let Some(session) = traced {
        let request = traced_request(&connection, &message.request, session, started, latency);
        trace::store(server, request, trace.take_events()).await;
    }
}

async fn execute(
    connection: &Connection,
    request: &Request,
    context: RequestContext,
) -> Result<QueryOutcome, QueryError> {
    let server = &connection.server;
    let processor = &server.processor;
    let mut session = connection.session.borrow().clone();
    let outcome = match request {
        Request::Query(query) => processor.query(&mut session, &query.text, &query.parameters, context).await,
        Request::Prepare(prepare) => {
            processor.prepare(&session, &prepare.text, prepare.keyspace.as_deref()).await.map(|prepared| {
                let keyspace = prepare.keyspace.as_deref().or(session.keyspace.as_deref());
                let traits = StatementTraits::of(&prepare.text, keyspace, &server.cluster.schema());
                server.node.prepared_traits.put(&prepared.id, traits);
                prepared.into()
            })
        }
        Request::Execute(execute) => {
            match processor.owner_shard(&execute.id, &execute.parameters) {
                Some(owner) if owner == server.shard => ShardMetrics::count(&server.metrics.right_shard),
                Some(_) => ShardMetrics::count(&server.metrics.wrong_shard),
                None => {}
            }
            let metadata_id = execute.result_metadata_id.as_deref();
            processor.execute(&mut session, &execute.id, metadata_id, &execute.parameters, context).await
        }
        Request::Batch(batch) => processor.batch(&mut session, batch, context).await,
        Request::Startup(_) | Request::Options | Request::Register(_) | Request::AuthResponse(_) => {
            Err(QueryError::Protocol("Unsupported message".to_owned()))
        }
    };
    if let Ok(QueryOutcome { result: QueryResult::SetKeyspace(keyspace), .. }) = &outcome {
        let keyspace: Arc<str> = keyspace.as_str().into();
        *connection.client.keyspace.borrow_mut() = Some(Arc::clone(&keyspace));
        connection.session.borrow_mut().keyspace = Some(keyspace);
    }
    outcome
}

fn answer(connection: &Connection, header: EnvelopeHeader, tracing_id: Option<Uuid>, outcome: QueryOutcome) {
    let extras = ResponseExtras { tracing_id, warnings: outcome.warnings, payload: None };
    let result = match outcome.result {
        QueryResult::Void => ResultBody::Void,
        QueryResult::Rows(rows) => ResultBody::Rows(rows),
        QueryResult::SetKeyspace(keyspace) => ResultBody::SetKeyspace(keyspace),
        QueryResult::SchemaChange(change) => ResultBody::SchemaChange(change),
        QueryResult::Prepared(prepared) => ResultBody::Prepared(prepared),
    };
    let message = ResponseMessage { response: Response::Result(result), extras };
    let mut refused = None;
    connection.answer_request(outcome.memory, |out| refused = message.encode(header.version, header.stream, out).err());
    if let Some(error) = refused {
        connection.answer_error(header, ErrorBody::Server, error.to_string());
    }
}

fn answer_failure(
    connection: &Connection,
    header: EnvelopeHeader,
    tracing_id: Option<Uuid>,
    error: QueryError,
    request: &Request,
    traits: StatementTraits,
) {
    let (error, warnings) = error.into_parts();
    let config = &connection.server.node.config;
    let failed = Failed {
        // Only what became of a request in the cluster is told differently for reads and writes.
        operation: match error {
            QueryError::Cluster(_) => operation_of(connection, request, traits),
            _ => Operation::Read,
        },
        consistency: consistency_of(request),
        serial_consistency: parameters_of(request)
            .and_then(|parameters| parameters.serial_consistency)
            .unwrap_or(Consistency::Serial),
        replica: SocketAddr::new(config.listen_address, config.storage_port),
    };
    let message = error_message(&error, &failed);
    if message.body == ErrorBody::Server {
        tracing::error!(client = %connection.client.address, %error, "a request failed");
    }
    connection.answer_failure(header, message, ResponseExtras { tracing_id, warnings, payload: None });
}

fn request_bytes(request: &Request) -> u64 {
    let bytes = match request {
        Request::Query(query) => query.text.len() + query.parameters.values.bytes(),
        Request::Prepare(prepare) => prepare.text.len(),
        Request::Execute(execute) => execute.parameters.values.bytes(),
        Request::Batch(batch) => batch.queries.iter().map(|query| query.values.bytes()).sum(),
        Request::Startup(_) | Request::Options | Request::Register(_) | Request::AuthResponse(_) => 0,
    };
    bytes as u64
}

fn traits_of(connection: &Connection, request: &Request) -> StatementTraits {
    let server = &connection.server;
    match request {
        Request::Query(query) => {
            let session = connection.session.borrow();
            let keyspace = query.parameters.keyspace.as_deref().or(session.keyspace.as_deref());
            StatementTraits::at_a_glance(&query.text, keyspace, &server.cluster.schema())
        }
        Request::Execute(execute) => server.node.prepared_traits.get(&execute.id),
        Request::Batch(batch) => StatementTraits {
            kind: StatementKind::Batch,
            write_type: match batch.kind {
                BatchKind::Logged => WriteType::Batch,
                BatchKind::Unlogged => WriteType::UnloggedBatch,
                BatchKind::Counter => WriteType::Counter,
            },
            ..StatementTraits::UNKNOWN
        },
        Request::Prepare(_)
        | Request::Startup(_)
        | Request::Options
        | Request::Register(_)
        | Request::AuthResponse(_) => StatementTraits::UNKNOWN,
    }
}

fn count_traits(server: &ShardServer, request: &Request, traits: StatementTraits) {
    let metrics = &server.metrics;
    let page_size = match request {
        Request::Query(query) => {
            ShardMetrics::count(&metrics.unprepared);
            query.parameters.page_size
        }
        Request::Execute(execute) => {
            ShardMetrics::count(&metrics.prepared);
            execute.parameters.page_size
        }
        _ => return,
    };
    if traits.kind == StatementKind::Read && page_size.is_none_or(|rows| rows <= 0) {
        ShardMetrics::count(&metrics.unpaged);
    }
    if traits.is_reversed {
        ShardMetrics::count(&metrics.reversed);
    }
    if traits.allows_filtering {
        ShardMetrics::count(&metrics.allow_filtering);
    }
}

fn consistency_of(request: &Request) -> Consistency {
    parameters_of(request).map_or(Consistency::One, |parameters| parameters.consistency)
}

fn parameters_of(request: &Request) -> Option<&QueryParameters> {
    match request {
        Request::Query(query) => Some(&query.parameters),
        Request::Execute(execute) => Some(&execute.parameters),
        Request::Batch(batch) => Some(&batch.parameters),
        Request::Prepare(_)
        | Request::Startup(_)
        | Request::Options
        | Request::Register(_)
        | Request::AuthResponse(_) => None,
    }
}

/// A failed statement that came as text is parsed once more, to say which kind of write failed.
fn operation_of(connection: &Connection, request: &Request, traits: StatementTraits) -> Operation {
    let traits = match request {
        Request::Query(query) => {
            let session = connection.session.borrow();
            let keyspace = query.parameters.keyspace.as_deref().or(session.keyspace.as_deref());
            StatementTraits::of(&query.text, keyspace, &connection.server.cluster.schema())
        }
        _ => traits,
    };
    match traits.kind {
        StatementKind::Write | StatementKind::Batch => Operation::Write(traits.write_type),
        StatementKind::Truncate => Operation::Truncate,
        StatementKind::Read | StatementKind::Schema | StatementKind::Other => Operation::Read,
    }
}

fn should_trace(server: &ShardServer, asked: bool) -> bool {
    let probability = server.node.trace_probability();
    if asked || probability <= 0.0 {
        return asked;
    }
    // 53 bits are what an f64 holds exactly.
    let drawn = (server.env.random_u64() >> 11) as f64 / (1u64 << 53) as f64;
    drawn < probability
}

fn log_slow(server: &ShardServer, request: &Request, latency: Duration) {
    let Some(limit) = server.node.config.slow_query else { return };
    if limit <= latency {
        let statement = statement_text(&server.processor, request);
        tracing::info!(?latency, opcode = %request.opcode(), statement, "a slow request");
    }
}

/// What a log line names a request by: its statement, those of a batch one after the other, all cut where they get long.
fn statement_text(processor: &QueryProcessor, request: &Request) -> String {
    let of_id = |id: &[u8]| processor.prepared_text(id).unwrap_or_else(|| "(not prepared)".into());
    match request {
        Request::Query(query) => shorten(&query.text).to_owned(),
        Request::Prepare(prepare) => shorten(&prepare.text).to_owned(),
        Request::Execute(execute) => shorten(&of_id(&execute.id)).to_owned(),
        Request::Batch(batch) => {
            let mut text = String::new();
            for query in &batch.queries {
                if !text.is_empty() {
                    text.push_str("; ");
                }
                match &query.statement {
                    BatchStatement::Text(statement) => text.push_str(shorten(statement)),
                    BatchStatement::Prepared(id) => text.push_str(shorten(&of_id(id))),
                }
                if STATEMENT_BYTES_MAX <= text.len() {
                    break;
                }
            }
            shorten(&text).to_owned()
        }
        Request::Startup(_) | Request::Options | Request::Register(_) | Request::AuthResponse(_) => String::new(),
    }
}

/// A statement's text, cut where it gets long.
fn shorten(text: &str) -> &str {
    let mut end = STATEMENT_BYTES_MAX.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn traced_request(
    connection: &Connection,
    request: &Request,
    session: Uuid,
    started: Instant,
    latency: Duration,
) -> TracedRequest {
    let processor = &connection.server.processor;
    let mut values = Vec::new();
    let (title, text, parameters) = match request {
        Request::Query(query) => ("Execute CQL3 query", Some(query.text.as_str().to_owned()), Some(&query.parameters)),
        Request::Prepare(prepare) => ("Preparing CQL3 query", Some(prepare.text.as_str().to_owned()), None),
        Request::Execute(execute) => {
            let text = processor.prepared_text(&execute.id).map(|text| text.as_ref().to_owned());
            values = processor.bound_literals(&execute.id, &execute.parameters);
            ("Execute CQL3 prepared query", text, Some(&execute.parameters))
        }
        Request::Batch(batch) => ("Execute batch of CQL3 queries", None, Some(&batch.parameters)),
        Request::Startup(_) | Request::Options | Request::Register(_) | Request::AuthResponse(_) => ("", None, None),
    };
    let env = &connection.server.env;
    let since = env.monotonic() - started;
    let started_micros = env.wall_micros() - i64::try_from(since.as_micros()).unwrap_or(0);
    TracedRequest {
        session,
        client: connection.client.address.ip(),
        title,
        text,
        values,
        consistency: parameters.map(|parameters| parameters.consistency),
        serial_consistency: parameters.and_then(|parameters| parameters.serial_consistency),
        page_size: parameters.and_then(|parameters| parameters.page_size),
        started_micros,
        duration: latency,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_are_cut_between_characters() {
        assert_eq!(shorten("select"), "select");
        let long = "é".repeat(STATEMENT_BYTES_MAX);
        assert_eq!(shorten(&long).len(), STATEMENT_BYTES_MAX);
        assert_eq!(shorten(&format!("x{long}")).len(), STATEMENT_BYTES_MAX - 1);
    }
}
