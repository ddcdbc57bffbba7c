"""Fixtures: the server under test (HELENUS_HOST, HELENUS_PORT), a cluster object, a session, a keyspace of our own."""

import os

import pytest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import FallthroughRetryPolicy, TokenAwarePolicy, WhiteListRoundRobinPolicy

HOST = os.environ.get("HELENUS_HOST", "127.0.0.1")
PORT = int(os.environ.get("HELENUS_PORT", "9042"))
KEYSPACE = "drivers_python"
REQUEST_SECS = 30


def new_cluster(protocol_version=5, **settings):
    """A cluster object that knows only the node under test; with `protocol_version=None` the driver negotiates."""
    if protocol_version is not None:
        settings["protocol_version"] = protocol_version
    profile = ExecutionProfile(load_balancing_policy=TokenAwarePolicy(WhiteListRoundRobinPolicy([HOST])),
                               retry_policy=FallthroughRetryPolicy(), request_timeout=REQUEST_SECS)
    return Cluster([HOST], port=PORT, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=REQUEST_SECS,
                   control_connection_timeout=REQUEST_SECS, **settings)


class Client:
    """One cluster object and session for all tests, replaced when a test made the driver give up on the node: one
    failure must not fail what comes after it."""

    def __init__(self):
        self.cluster = self.session = None
        self.made = set()

    def connected(self):
        if self.session and not all(pool.is_shutdown for pool in self.session._pools.values()):
            return self
        fresh = self.cluster is None
        self.close()
        self.cluster = new_cluster()
        self.session = self.cluster.connect()
        if fresh:
            self.session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
            self.session.execute(f"CREATE KEYSPACE {KEYSPACE} WITH replication = "
                                 "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        self.session.set_keyspace(KEYSPACE)
        return self

    def once(self, name):
        """True the first time: the caller then makes the table of this name, which tests share."""
        fresh = name not in self.made
        self.made.add(name)
        return fresh

    def close(self):
        if self.cluster:
            self.cluster.shutdown()


@pytest.fixture(scope="session")
def client():
    client = Client()
    yield client
    client.connected().session.execute(f"DROP KEYSPACE {KEYSPACE}")
    client.close()


@pytest.fixture
def cluster(client):
    return client.connected().cluster


@pytest.fixture
def session(client):
    return client.connected().session


@pytest.fixture
def keyspace(client):
    client.connected()
    return KEYSPACE


@pytest.fixture
def numbers(client, session):
    """A table with 250 rows in one partition and 250 partitions of one row: (p, c, v)."""
    if client.once("numbers"):
        session.execute("CREATE TABLE numbers (p int, c int, v text, PRIMARY KEY (p, c))")
        insert = session.prepare("INSERT INTO numbers (p, c, v) VALUES (?, ?, ?)")
        waiting = [session.execute_async(insert, (0, c, f"v{c}")) for c in range(250)]
        waiting += [session.execute_async(insert, (p, 0, f"w{p}")) for p in range(1, 251)]
        for answer in waiting:
            answer.result()
    return "numbers"


@pytest.fixture
def pairs(client, session):
    if client.once("pairs"):
        session.execute("CREATE TABLE pairs (k int PRIMARY KEY, v text, w int)")
    return "pairs"
