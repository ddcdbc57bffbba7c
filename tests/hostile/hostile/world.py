"""World: what a scenario is given: a served node, a report, seeded randomness and its share of the time."""

import random
import time

from .client import Client

MIB = 1 << 20

#: What the nodes may use.
MEMORY_BYTES = 512 * MIB

SCHEMA = [
    "CREATE KEYSPACE hostile WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE hostile.t (k int PRIMARY KEY, v text)",
    "CREATE TABLE other.t (k int PRIMARY KEY, v text)",
    "CREATE TABLE hostile.p (k int, c int, v text, PRIMARY KEY (k, c))",
    "CREATE TABLE hostile.q (k int, c int, v text, PRIMARY KEY (k, c))",
    "CREATE TABLE hostile.x (a text, b int, c decimal, d inet, v text, PRIMARY KEY ((a, b), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC)",
    "CREATE TABLE hostile.b (k int PRIMARY KEY, b blob)",
    "CREATE TABLE hostile.w (k int PRIMARY KEY, l list<int>, s set<text>, m map<int, text>, t frozen<tuple<int, text>>, "
    "d decimal, i varint, n vector<float, 3>, u uuid, a inet, e duration)",
]

PARTITIONS, ROWS = 4, 25


class World:
    def __init__(self, node, report, seed, name, seconds, case, scale=1.0, login=None):
        self.node = node
        self.report = report
        self.seed = seed
        self.name = name
        self.seconds = seconds
        self.only_case = case
        self.scale = scale
        self.login = login

    def connect(self, version=4, compression=None, **rest):
        """A client that may send requests."""
        client = Client(self.node.port, version, compression, **rest)
        client.startup()
        if self.login:
            client.login(*self.login)
        return client

    def random(self, case):
        """Randomness of one case alone, so that a case can be replayed without those before it."""
        return random.Random(f"{self.seed}/{self.name}/{case}")

    def cases(self, seconds=None):
        """Numbers of cases until the time is over, or the one that is asked for."""
        if self.only_case is not None:
            yield self.only_case
            return
        until = time.monotonic() + (self.seconds if seconds is None else seconds)
        number = 0
        while time.monotonic() < until:
            yield number
            number += 1

    def replay(self, case):
        return f"replay with --seed {self.seed} --only {self.name} --case {case}"


def create_schema(client):
    for statement in SCHEMA:
        client.query(statement)
    for table in "pq":
        for k in range(PARTITIONS):
            for c in range(ROWS):
                client.query(f"INSERT INTO hostile.{table} (k, c, v) VALUES ({k}, {c}, '{table}{k}.{c}')")
    for b in range(2):
        for c in range(10):
            client.query(f"INSERT INTO hostile.x (a, b, c, d, v) VALUES ('a', {b}, {c - 5}.5, '127.0.0.{c}', 'x{b}.{c}')")


def grown(before, after):
    return f"{before / MIB:.0f} MiB before, {after / MIB:.0f} MiB after"
