//! A node as its operator and its clients meet it: a process of its own, real sockets, real signals.

mod support;

use std::time::Duration;

use helenus_protocol::{
    Consistency, ErrorBody, ErrorCode, EventType, Execute, Prepare, ProtocolVersion, Query, QueryParameters, Request,
    Response, ResultBody, Startup,
};
use support::{Client, Node};

fn query(text: &str) -> Request {
    Request::Query(Query { text: text.into(), parameters: QueryParameters::new(Consistency::One) })
}

fn rows_of(response: &Response) -> u32 {
    match response {
        Response::Result(ResultBody::Rows(rows)) => rows.row_count,
        other => panic!("expected rows: {other:?}"),
    }
}

fn code_of(response: &Response) -> ErrorCode {
    match response {
        Response::Error(error) => error.body.code(),
        other => panic!("expected an error: {other:?}"),
    }
}

const KEYSPACE: &str =
    "CREATE KEYSPACE IF NOT EXISTS k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
const TABLE: &str = "CREATE TABLE IF NOT EXISTS k.t (p int, c int, v text, PRIMARY KEY (p, c))";

#[test]
fn this_process_is_the_node_if_asked() {
    support::be_the_node_if_asked();
}

#[test]
fn what_was_written_is_read_in_every_version_and_survives_a_kill_and_a_stop() {
    let mut node = Node::start(&[]);
    for version in [ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5] {
        let mut client = Client::connect(node.cql());
        client.start(version, &[]);
        client.ask(&query(KEYSPACE));
        client.ask(&query(TABLE));
        let insert = format!("INSERT INTO k.t (p, c, v) VALUES (1, {}, 'x')", version.number());
        assert_eq!(client.ask(&query(&insert)), Response::Result(ResultBody::Void));
    }
    node.kill();
    node.start_again();
    let mut client = Client::connect(node.cql());
    client.start(ProtocolVersion::V5, &[("COMPRESSION", "lz4")]);
    assert_eq!(rows_of(&client.ask(&query("SELECT * FROM k.t WHERE p = 1"))), 3);
    assert_eq!(node.stop(Duration::from_secs(5)), Some(0));
    node.start_again();
    let mut client = Client::connect(node.cql());
    client.start(ProtocolVersion::V4, &[("COMPRESSION", "snappy")]);
    assert_eq!(rows_of(&client.ask(&query("SELECT * FROM k.t"))), 3);
}

#[test]
fn a_prepared_statement_is_executed_by_its_id_after_a_restart() {
    let mut node = Node::start(&[]);
    let mut client = Client::connect(node.cql());
    client.start(ProtocolVersion::V4, &[]);
    for text in [KEYSPACE, TABLE, "INSERT INTO k.t (p, c, v) VALUES (1, 1, 'x')"] {
        client.ask(&query(text));
    }
    let text = "SELECT v FROM k.t WHERE p = 1".to_owned();
    let prepare = Request::Prepare(Prepare { text: text.as_str().into(), keyspace: None });
    let id = match client.ask(&prepare) {
        Response::Result(ResultBody::Prepared(prepared)) => prepared.id,
        other => panic!("expected a prepared statement: {other:?}"),
    };
    let parameters = QueryParameters::new(Consistency::One);
    let execute = Request::Execute(Execute { id, result_metadata_id: None, parameters });
    for is_killed in [false, true] {
        if is_killed {
            node.kill();
        } else {
            assert_eq!(node.stop(Duration::from_secs(5)), Some(0));
        }
        node.start_again();
        let mut client = Client::connect(node.cql());
        client.start(ProtocolVersion::V4, &[]);
        assert_eq!(rows_of(&client.ask(&execute)), 1);
    }
}

#[test]
fn requests_of_one_connection_run_side_by_side_and_keep_their_streams() {
    let node = Node::start(&[]);
    let mut client = Client::connect(node.cql());
    client.start(ProtocolVersion::V5, &[]);
    client.ask(&query(KEYSPACE));
    client.ask(&query(TABLE));
    for stream in 0..300i16 {
        client.send(stream, &query(&format!("INSERT INTO k.t (p, c, v) VALUES ({}, {stream}, 'x')", stream % 7)));
    }
    let mut streams: Vec<i16> = (0..300)
        .map(|_| {
            let (stream, response) = client.receive();
            assert_eq!(response, Response::Result(ResultBody::Void));
            stream
        })
        .collect();
    streams.sort_unstable();
    assert!(streams.into_iter().eq(0..300));
    assert_eq!(rows_of(&client.ask(&query("SELECT * FROM k.t"))), 300);
}

#[test]
fn the_handshake_keeps_its_order_and_its_deadline() {
    let node = Node::start(&[]);
    let mut client = Client::connect(node.cql());
    let Response::Supported(supported) = client.ask(&Request::Options) else { panic!("OPTIONS is always answered") };
    let has = |key: &str| supported.options.iter().any(|(name, _)| name == key);
    assert!(has("SCYLLA_SHARD") && has("SCYLLA_SHARD_AWARE_PORT") && has("PROTOCOL_VERSIONS"));
    let refused = client.ask(&query("SELECT * FROM system.local"));
    assert_eq!(code_of(&refused), ErrorCode::Protocol);

    let mut client = Client::connect(node.cql());
    let options = vec![("CQL_VERSION".to_owned(), "abc".to_owned())];
    let refused = client.ask(&Request::Startup(Startup { options }));
    assert_eq!(code_of(&refused), ErrorCode::Protocol);

    let mut unknown = Client::connect(node.cql());
    unknown.send_bytes(&[66, 0, 0, 0, 5, 0, 0, 0, 0]);
    let (_, response) = unknown.receive();
    let Response::Error(error) = response else { panic!("an unknown version is refused") };
    assert!(error.text.starts_with("Invalid or unsupported protocol version (66)"), "{}", error.text);

    let mut silent = Client::connect(node.cql());
    assert!(silent.is_closed_within(Duration::from_secs(12)), "a client that says nothing is sent away");
}

#[test]
fn the_shard_aware_port_serves_the_shard_that_the_client_chose() {
    let node = Node::start(&["shards=3"]);
    for _ in 0..6 {
        let mut client = Client::connect(node.shard_aware());
        let expected = u32::from(client.local_port()) % 3;
        let Response::Supported(supported) = client.ask(&Request::Options) else { panic!("OPTIONS is answered") };
        let shard =
            supported.options.iter().find(|(name, _)| name == "SCYLLA_SHARD").map(|(_, values)| values.join(""));
        assert_eq!(shard, Some(expected.to_string()));
    }
}

#[test]
fn registered_clients_hear_of_schema_changes_made_on_other_shards() {
    let node = Node::start(&["shards=2"]);
    let mut listeners: Vec<Client> = (0..2).map(|_| Client::connect(node.cql())).collect();
    for listener in &mut listeners {
        listener.start(ProtocolVersion::V5, &[]);
        assert_eq!(listener.ask(&Request::Register(vec![EventType::SchemaChange])), Response::Ready);
    }
    let mut client = Client::connect(node.cql());
    client.start(ProtocolVersion::V4, &[]);
    client.ask(&query(KEYSPACE));
    for listener in &mut listeners {
        let (stream, response) = listener.receive();
        assert_eq!(stream, helenus_protocol::EVENT_STREAM);
        assert!(matches!(response, Response::Event(helenus_protocol::Event::Schema(_))), "{response:?}");
    }
}

#[test]
fn a_password_is_asked_for_and_guessing_gets_slower() {
    let node = Node::start(&["authenticator=PasswordAuthenticator"]);
    let password = node.read("initial-superuser-password");
    let token = |password: &str| Request::AuthResponse(Some(format!("\0cassandra\0{password}").into_bytes().into()));
    let mut client = Client::connect(node.cql());
    let answer = client.start(ProtocolVersion::V5, &[]);
    assert!(matches!(answer, Response::Authenticate(class) if class.ends_with(".PasswordAuthenticator")));
    assert_eq!(code_of(&client.ask(&query("SELECT * FROM system.local"))), ErrorCode::Protocol);
    let refused = client.ask(&token("wrong"));
    let Response::Error(error) = &refused else { panic!("a wrong password is refused: {refused:?}") };
    assert_eq!(error.body, ErrorBody::BadCredentials);
    assert_eq!(error.text, "Provided username cassandra and/or password are incorrect");
    assert_eq!(client.ask(&token(password.trim())), Response::AuthSuccess(None));
    assert_eq!(rows_of(&client.ask(&query("SELECT * FROM system.local"))), 1);
}

#[test]
fn a_start_that_cannot_be_is_refused_with_a_reason() {
    let node = Node::start(&[]);
    let refused = |settings: &[&str], expected: &str| {
        let (code, text) = support::refused(settings);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
    };
    refused(&[&format!("data_directory={}", node.directory())], "is in use by another Helenus process");
    let other = tempfile::tempdir().expect("the machine has a temporary directory");
    let other = format!("data_directory={}", other.path().display());
    let port = format!("native_transport_port={}", node.cql().port());
    refused(&[&other, &port], "another process has the port");
    refused(&[&other, "rpc_address=192.0.2.1"], "where everybody who can reach it");
    refused(&["nonsense=1"], "there is no setting nonsense");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what another version left behind comes from outside the node")]
fn files_of_a_newer_format_stop_the_start_and_are_named() {
    let mut node = Node::start(&[]);
    let mut client = Client::connect(node.cql());
    client.start(ProtocolVersion::V5, &[]);
    client.ask(&query(KEYSPACE));
    assert_eq!(node.stop(Duration::from_secs(5)), Some(0));
    let root = std::path::PathBuf::from(node.directory());
    for newer in [root.join("commitlog/CommitLog-2-0-7.log"), root.join("metadata/log-v2.bin")] {
        std::fs::write(&newer, b"of a newer version").expect("the node has stopped");
        let (code, text) = support::refused(&[&format!("data_directory={}", root.display())]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(&*newer.to_string_lossy()), "{text}");
        std::fs::remove_file(&newer).expect("the test wrote it");
    }
    node.start_again();
}

#[test]
fn data_without_metadata_is_left_untouched() {
    let directory = tempfile::tempdir().expect("the machine has a temporary directory");
    let root = format!("data_directory={}", directory.path().display());
    let cases = [
        ("data/system_schema", "was written by Apache Cassandra"),
        ("system_schema", "was written by Apache Cassandra"),
        ("data/shop", "but no metadata in"),
    ];
    for (name, expected) in cases {
        let path = directory.path().join(name);
        std::process::Command::new("mkdir").arg("-p").arg(&path).status().expect("mkdir is everywhere");
        let (code, text) = support::refused(&[&root]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(!directory.path().join("metadata").exists());
        std::process::Command::new("rmdir").arg(&path).status().expect("rmdir is everywhere");
    }
}
