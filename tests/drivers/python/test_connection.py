"""Connecting: versions, compression, heartbeats, and what the driver learns about the node."""

import socket
import struct

import pytest
from cassandra import InvalidRequest
from cassandra.cluster import NoHostAvailable
from cassandra.connection import DefaultEndPoint
from cassandra.protocol import OptionsMessage, QueryMessage, SupportedMessage
from conftest import HOST, PORT, new_cluster


def test_default_protocol_version_is_negotiated_down_to_5():
    cluster = new_cluster(protocol_version=None)
    try:
        cluster.connect()
        assert cluster.protocol_version == 5
    finally:
        cluster.shutdown()


@pytest.mark.parametrize("version, compression", [(3, False), (3, "lz4"), (3, "snappy"), (4, False), (4, "lz4"),
                                                  (4, "snappy"), (5, False), (5, "lz4")])
def test_each_version_answers_with_each_compression_it_has(version, compression):
    cluster = new_cluster(protocol_version=version, compression=compression)
    try:
        session = cluster.connect()
        rows = session.execute("SELECT keyspace_name, table_name, column_name, type FROM system_schema.columns").all()
        assert len(rows) > 100
        assert cluster.control_connection._connection._compression_type == (compression or None)
    finally:
        cluster.shutdown()


def test_supported_lists_versions_compressions_and_cql_version(cluster):
    connection = cluster.connection_factory(DefaultEndPoint(HOST, PORT))
    try:
        answer = connection.wait_for_response(OptionsMessage(), timeout=10)
        assert isinstance(answer, SupportedMessage)
        assert answer.options["PROTOCOL_VERSIONS"] == ["3/v3", "4/v4", "5/v5", "6/v6-beta"]
        assert sorted(answer.options["COMPRESSION"]) == ["lz4", "snappy"]
        assert answer.cql_versions == ["3.4.7"]
    finally:
        connection.close()


def test_many_requests_share_one_connection(cluster):
    connection = cluster.connection_factory(DefaultEndPoint(HOST, PORT))
    query = QueryMessage("SELECT key FROM system.local WHERE key = 'local'", 1)
    try:
        answers = connection.wait_for_responses(*[query] * 500, timeout=30)
        assert [answer.parsed_rows for answer in answers] == [[("local",)]] * 500
    finally:
        connection.close()


def test_unsupported_version_is_refused_in_a_version_5_error():
    with socket.create_connection((HOST, PORT), timeout=10) as client:
        client.sendall(struct.pack(">BBhBi", 66, 0, 0, 5, 0))
        header = client.recv(9, socket.MSG_WAITALL)
        version, _, _, opcode, length = struct.unpack(">BBhBi", header)
        body = client.recv(length, socket.MSG_WAITALL)
    assert (version, opcode, body[:4]) == (0x85, 0, b"\0\0\0\x0a")
    assert b"Invalid or unsupported protocol version (66)" in body


def test_unknown_keyspace_is_refused_at_connect():
    cluster = new_cluster()  # One of its own: the driver gives up on the node for this cluster object.
    try:
        with pytest.raises((InvalidRequest, NoHostAvailable), match="no_such_keyspace"):
            cluster.connect("no_such_keyspace")
    finally:
        cluster.shutdown()


def test_metadata_describes_the_one_node(cluster, session):
    metadata = cluster.metadata
    host = metadata.get_host(HOST, PORT)
    assert [host] == metadata.all_hosts()
    assert host.is_up and host.datacenter == "datacenter1" and host.rack == "rack1"
    assert host.release_version.startswith("5.0")
    assert host.host_id is not None
    assert metadata.partitioner == "org.apache.cassandra.dht.Murmur3Partitioner"
    assert metadata.cluster_name


def test_token_map_routes_every_key_to_the_node(cluster, session, keyspace):
    host = cluster.metadata.get_host(HOST, PORT)
    for key in (b"", b"\0\0\0\1", b"some longer key"):
        assert cluster.metadata.get_replicas(keyspace, key) == [host]
    tokens = [token.value for token in cluster.metadata.token_map.ring]
    assert tokens == sorted(set(tokens)) and tokens


def test_system_tables_that_tools_read_have_their_columns(session):
    local = session.execute("SELECT * FROM system.local").one()._asdict()
    for column in ("key bootstrapped broadcast_address cluster_name cql_version data_center host_id listen_address "
                   "native_protocol_version partitioner rack release_version rpc_address schema_version tokens").split():
        assert local[column] is not None, column
    assert session.execute("SELECT * FROM system.peers").all() == []
    assert session.execute("SELECT * FROM system.peers_v2").all() == []
    keyspaces = {row.keyspace_name for row in session.execute("SELECT keyspace_name FROM system_schema.keyspaces")}
    assert keyspaces >= {"system", "system_auth", "system_distributed", "system_schema", "system_traces"}
    virtual = {row.keyspace_name for row in session.execute("SELECT keyspace_name FROM system_virtual_schema.keyspaces")}
    assert virtual >= {"system_views", "system_virtual_schema"}


def test_a_version_3_session_reads_what_a_version_5_session_wrote(session, keyspace):
    session.execute("CREATE TABLE across (k int PRIMARY KEY, t tuple<int, text>, m map<text, frozen<list<int>>>)")
    session.execute("INSERT INTO across (k, t, m) VALUES (1, (2, 'x'), {'a': [1, 2]})")
    cluster = new_cluster(protocol_version=3)
    try:
        row = cluster.connect(keyspace).execute("SELECT t, m FROM across WHERE k = 1").one()
        assert row.t == (2, "x") and dict(row.m) == {"a": [1, 2]}
    finally:
        cluster.shutdown()
