//! Generators of arbitrary messages.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use std::sync::Arc;

use helenus_types::{CqlType, UserType, UserTypeField};

use crate::{
    Batch, BatchKind, BatchStatement, BatchedQuery, BoundValues, BytesMap, ColumnSpec, Consistency, ErrorBody,
    ErrorMessage, Event, EventType, Execute, FailureReason, Prepare, Prepared, ProtocolVersion, Query, QueryParameters,
    ReplicaFailures, Request, RequestMessage, Response, ResponseExtras, ResponseMessage, Responses, ResultBody,
    ResultMetadata, Rows, SchemaChange, SchemaChangeKind, SchemaChangeTarget, Startup, StatusChange, Supported,
    TopologyChange, Utf8Bytes, Value, WriteType,
};

fn any_bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn any_id() -> impl Strategy<Value = Bytes> {
    any::<[u8; 16]>().prop_map(|id| Bytes::copy_from_slice(&id))
}

fn any_text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn any_utf8() -> impl Strategy<Value = Utf8Bytes> {
    any_text().prop_map(Utf8Bytes::from)
}

fn any_consistency() -> impl Strategy<Value = Consistency> + Clone {
    select(&Consistency::ALL[..])
}

fn any_payload() -> impl Strategy<Value = Option<BytesMap>> {
    option::of(vec((any_text(), option::of(any_bytes())), 0..3))
}

fn any_value(version: ProtocolVersion) -> impl Strategy<Value = Value<Bytes>> {
    prop_oneof![
        4 => any_bytes().prop_map(Value::Set),
        1 => Just(Value::Null),
        1 => Just(if version < ProtocolVersion::V4 { Value::Null } else { Value::Unset }),
    ]
}

fn borrow(value: &Value<Bytes>) -> Value<&[u8]> {
    match value {
        Value::Null => Value::Null,
        Value::Unset => Value::Unset,
        Value::Set(bytes) => Value::Set(bytes),
    }
}

fn any_positional(version: ProtocolVersion) -> impl Strategy<Value = BoundValues> {
    vec(any_value(version), 0..12).prop_map(|values| BoundValues::positional(values.iter().map(borrow)))
}

fn any_values(version: ProtocolVersion) -> impl Strategy<Value = BoundValues> {
    let named = vec((any_text(), any_value(version)), 0..12)
        .prop_map(|values| BoundValues::named(values.iter().map(|(name, value)| (name.as_str(), borrow(value)))));
    prop_oneof![any_positional(version), named]
}

fn any_parameters(version: ProtocolVersion) -> impl Strategy<Value = QueryParameters> {
    let since_5 = ProtocolVersion::V5 <= version;
    let consistency = (any_consistency(), option::of(any_consistency()));
    let paging = (any::<bool>(), option::of(any::<i32>()), option::of(any_bytes()));
    let rest = (option::of(i64::MIN + 1..), option::of(any_utf8()), option::of(any::<i32>()));
    (consistency, any_values(version), paging, rest).prop_map(move |(consistency, values, paging, rest)| {
        QueryParameters {
            consistency: consistency.0,
            values,
            skip_metadata: paging.0,
            page_size: paging.1,
            paging_state: paging.2,
            serial_consistency: consistency.1,
            default_timestamp: rest.0,
            keyspace: rest.1.filter(|_| since_5),
            now_in_seconds: rest.2.filter(|_| since_5),
        }
    })
}

fn any_batch(version: ProtocolVersion) -> impl Strategy<Value = Batch> {
    let statement = prop_oneof![any_utf8().prop_map(BatchStatement::Text), any_id().prop_map(BatchStatement::Prepared)];
    let query = (statement, any_positional(version)).prop_map(|(statement, values)| BatchedQuery { statement, values });
    let kind = select(vec![BatchKind::Logged, BatchKind::Unlogged, BatchKind::Counter]);
    (kind, vec(query, 0..5), any_parameters(version)).prop_map(|(kind, queries, parameters)| Batch {
        kind,
        queries,
        parameters,
    })
}

fn any_request(version: ProtocolVersion) -> impl Strategy<Value = Request> {
    let since_5 = ProtocolVersion::V5 <= version;
    let event_types = vec![EventType::TopologyChange, EventType::StatusChange, EventType::SchemaChange];
    prop_oneof![
        vec(("[A-Z_]{1,12}", any_text()), 0..4).prop_map(|options| Request::Startup(Startup { options })),
        Just(Request::Options),
        (any_utf8(), any_parameters(version)).prop_map(|(text, parameters)| Request::Query(Query { text, parameters })),
        (any_utf8(), option::of(any_utf8())).prop_map(move |(text, keyspace)| {
            Request::Prepare(Prepare { text, keyspace: keyspace.filter(|_| since_5) })
        }),
        (any_id(), any_id(), any_parameters(version)).prop_map(move |(id, metadata_id, parameters)| {
            let result_metadata_id = Some(metadata_id).filter(|_| since_5);
            Request::Execute(Execute { id, result_metadata_id, parameters })
        }),
        any_batch(version).prop_map(Request::Batch),
        vec(select(event_types), 0..4).prop_map(Request::Register),
        option::of(any_bytes()).prop_map(Request::AuthResponse),
    ]
}

pub(super) fn any_request_message(version: ProtocolVersion) -> impl Strategy<Value = RequestMessage> {
    let payload = any_payload().prop_map(move |payload| payload.filter(|_| ProtocolVersion::V4 <= version));
    (any_request(version), any::<bool>(), payload).prop_map(|(request, tracing, payload)| RequestMessage {
        request,
        tracing,
        payload,
    })
}

pub(super) fn any_type() -> impl Strategy<Value = CqlType> {
    let simple = select(vec![
        CqlType::Ascii,
        CqlType::Bigint,
        CqlType::Blob,
        CqlType::Boolean,
        CqlType::Counter,
        CqlType::Date,
        CqlType::Decimal,
        CqlType::Double,
        CqlType::Duration,
        CqlType::Empty,
        CqlType::Float,
        CqlType::Inet,
        CqlType::Int,
        CqlType::Smallint,
        CqlType::Text,
        CqlType::Time,
        CqlType::Timestamp,
        CqlType::Timeuuid,
        CqlType::Tinyint,
        CqlType::Uuid,
        CqlType::Varint,
        CqlType::Vector { element: Arc::new(CqlType::Float), dimension: 3 },
    ]);
    simple.prop_recursive(4, 16, 4, |inner| {
        let field =
            ("[a-z]{1,5}", inner.clone()).prop_map(|(name, ty)| UserTypeField { name: name.as_str().into(), ty });
        prop_oneof![
            inner.clone().prop_map(|element| CqlType::List { element: Arc::new(element), frozen: false }),
            inner.clone().prop_map(|element| CqlType::Set { element: Arc::new(element), frozen: false }),
            (inner.clone(), inner.clone()).prop_map(|(key, value)| CqlType::Map {
                key: Arc::new(key),
                value: Arc::new(value),
                frozen: false
            }),
            vec(inner, 0..4).prop_map(|elements| CqlType::Tuple(elements.into())),
            ("[a-z]{1,5}", "[a-z]{1,5}", vec(field, 0..4)).prop_map(|(keyspace, name, fields)| {
                let user_type = UserType { keyspace: keyspace.as_str().into(), name: name.as_str().into(), fields };
                CqlType::Udt(Arc::new(user_type), false)
            }),
        ]
    })
}

/// At least one column when `at_least_one`; all of one table in about half of the cases.
fn any_metadata(at_least_one: bool) -> impl Strategy<Value = Arc<ResultMetadata>> {
    let column = ("[ab]", "[t]{1,2}", any_text(), any_type());
    (any::<bool>(), vec(column, usize::from(at_least_one)..5)).prop_map(|(is_one_table, columns)| {
        let columns = columns.into_iter().map(|(keyspace, table, name, ty)| ColumnSpec {
            keyspace: if is_one_table { "k".into() } else { keyspace.into() },
            table: if is_one_table { "t".into() } else { table.into() },
            name: name.into(),
            ty,
        });
        Arc::new(ResultMetadata::new(columns.collect()))
    })
}

fn any_rows(version: ProtocolVersion) -> impl Strategy<Value = Rows> {
    let since_5 = ProtocolVersion::V5 <= version;
    let rest = (any::<bool>(), option::of(any_bytes()), option::of(any_id()));
    let cells = vec(vec(option::of(any_bytes()), 4), 0..4);
    (any_metadata(true), cells, rest).prop_map(move |(metadata, cells, (skip, paging_state, new_id))| {
        let column_count = metadata.columns().len();
        let cells = cells.iter().map(|row| row.iter().take(column_count).map(|cell| cell.as_deref()));
        let mut rows = Rows::from_cells(metadata, cells);
        rows.paging_state = paging_state;
        rows.new_metadata_id = new_id.filter(|_| since_5);
        if skip { rows.without_metadata() } else { rows }
    })
}

fn any_prepared(version: ProtocolVersion) -> impl Strategy<Value = Prepared> {
    (any_id(), any_id(), any_metadata(false), vec(any::<u16>(), 0..3), any_metadata(false)).prop_map(
        move |(id, metadata_id, variables, indexes, result)| Prepared {
            id,
            result_metadata_id: Some(metadata_id).filter(|_| ProtocolVersion::V5 <= version),
            variables,
            partition_key_indexes: if ProtocolVersion::V4 <= version { indexes } else { vec![] },
            result,
        },
    )
}

fn any_schema_change(version: ProtocolVersion) -> impl Strategy<Value = SchemaChange> {
    let kind = select(vec![SchemaChangeKind::Created, SchemaChangeKind::Updated, SchemaChangeKind::Dropped]);
    let target = (0..if version < ProtocolVersion::V4 { 3 } else { 5 }, any_text(), vec(any_text(), 0..3)).prop_map(
        |(which, name, argument_types)| match which {
            0 => SchemaChangeTarget::Keyspace,
            1 => SchemaChangeTarget::Table { name },
            2 => SchemaChangeTarget::Type { name },
            3 => SchemaChangeTarget::Function { name, argument_types },
            _ => SchemaChangeTarget::Aggregate { name, argument_types },
        },
    );
    (kind, any_text(), target).prop_map(|(kind, keyspace, target)| SchemaChange { kind, keyspace, target })
}

fn any_event(version: ProtocolVersion) -> impl Strategy<Value = Event> {
    let topology = select(vec![TopologyChange::NewNode, TopologyChange::RemovedNode, TopologyChange::MovedNode]);
    let status = select(vec![StatusChange::Up, StatusChange::Down]);
    prop_oneof![
        (topology, any::<std::net::SocketAddrV4>())
            .prop_map(|(change, node)| Event::Topology { change, node: node.into() }),
        (status, any::<std::net::Ipv6Addr>(), any::<u16>())
            .prop_map(|(change, address, port)| Event::Status { change, node: (address, port).into() }),
        any_schema_change(version).prop_map(Event::Schema),
    ]
}

fn any_error(version: ProtocolVersion) -> impl Strategy<Value = ErrorMessage> {
    let responses = (any_consistency(), any::<i32>(), any::<i32>())
        .prop_map(|(consistency, received, block_for)| Responses { consistency, received, block_for });
    let failures = vec((any::<std::net::IpAddr>(), any::<u16>().prop_map(FailureReason::from_code)), 0..3);
    let plain = select(vec![ErrorBody::Server, ErrorBody::Overloaded, ErrorBody::Syntax, ErrorBody::Invalid]);
    let body = prop_oneof![
        plain,
        (any_consistency(), any::<i32>(), any::<i32>())
            .prop_map(|(consistency, required, alive)| ErrorBody::Unavailable { consistency, required, alive }),
        (responses.clone(), any::<bool>())
            .prop_map(|(responses, data_present)| ErrorBody::ReadTimeout { responses, data_present }),
        responses.clone().prop_map(|responses| ErrorBody::WriteTimeout {
            responses,
            write_type: WriteType::UnloggedBatch,
            contentions: None
        }),
        (responses, failures, any::<bool>()).prop_map(move |(responses, failures, data_present)| {
            // Earlier versions lose the reasons or the whole error: `error::tests` has those.
            if version < ProtocolVersion::V5 {
                return ErrorBody::ReadTimeout { responses, data_present };
            }
            ErrorBody::ReadFailure { responses, failures: ReplicaFailures::new(failures), data_present }
        }),
        (any_text(), any_text()).prop_map(|(keyspace, table)| ErrorBody::AlreadyExists { keyspace, table }),
        any_id().prop_map(|id| ErrorBody::Unprepared { id }),
    ];
    (any_text(), body).prop_map(|(text, body)| ErrorMessage { text, body })
}

fn any_response(version: ProtocolVersion) -> impl Strategy<Value = Response> {
    prop_oneof![
        any_error(version).prop_map(Response::Error),
        Just(Response::Ready),
        any_text().prop_map(Response::Authenticate),
        vec((any_text(), vec(any_text(), 0..3)), 0..3).prop_map(|options| Response::Supported(Supported { options })),
        Just(Response::Result(ResultBody::Void)),
        any_rows(version).prop_map(|rows| Response::Result(ResultBody::Rows(rows))),
        any_text().prop_map(|keyspace| Response::Result(ResultBody::SetKeyspace(keyspace))),
        any_prepared(version).prop_map(|prepared| Response::Result(ResultBody::Prepared(prepared))),
        any_schema_change(version).prop_map(|change| Response::Result(ResultBody::SchemaChange(change))),
        any_event(version).prop_map(Response::Event),
        option::of(any_bytes()).prop_map(Response::AuthChallenge),
        option::of(any_bytes()).prop_map(Response::AuthSuccess),
    ]
}

pub(super) fn any_response_message(version: ProtocolVersion) -> impl Strategy<Value = ResponseMessage> {
    let since_4 = ProtocolVersion::V4 <= version;
    let tracing_id = option::of(any::<[u8; 16]>().prop_map(uuid::Uuid::from_bytes));
    let warnings = vec(any_text(), 0..3);
    (any_response(version), tracing_id, warnings, any_payload()).prop_map(
        move |(response, tracing_id, warnings, payload)| ResponseMessage {
            response,
            extras: ResponseExtras {
                tracing_id,
                warnings: if since_4 { warnings } else { vec![] },
                payload: payload.filter(|_| since_4),
            },
        },
    )
}

pub(super) fn any_version() -> impl Strategy<Value = ProtocolVersion> {
    select(&ProtocolVersion::ALL[..])
}

/// A version and a request that it can carry.
pub(super) fn any_versioned_request() -> impl Strategy<Value = (ProtocolVersion, RequestMessage)> {
    any_version().prop_flat_map(|version| (Just(version), any_request_message(version)))
}

/// A version and a response that it can carry.
pub(super) fn any_versioned_response() -> impl Strategy<Value = (ProtocolVersion, ResponseMessage)> {
    any_version().prop_flat_map(|version| (Just(version), any_response_message(version)))
}
