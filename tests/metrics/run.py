#!/usr/bin/env python3
"""Does things to a node through the unmodified Python driver and sees the numbers of `/metrics` move.

Every family must be named here with what moves it, or among those that stand still in these tests, with the reason; a family
that is new, gone, without HELP and TYPE or without its shards fails.

    run.py [--binary target/debug/helenus]

Runs in the virtual environment of the driver suites. Prints a line a check and `N passed, N failed`.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from cassandra import ConsistencyLevel, InvalidRequest, ReadFailure
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.policies import WhiteListRoundRobinPolicy
from cassandra.protocol import SyntaxException
from cassandra.query import BatchStatement, SimpleStatement

REPOSITORY = Path(__file__).resolve().parents[2]
START_LIMIT_SECS = 60
#: A number that is gathered behind the answer may come a little later.
PATIENCE_SECS = 10
SHARDS = ("0", "1")
TOMBSTONES_MAX = 50
CONNECTIONS_MAX = 20

#: Families of the whole node; all others carry their shard.
OF_THE_NODE = {
    "build_info", "uptime_seconds", "memory_resident_bytes", "memory_limit_bytes", "connections_refused_total",
    "requests_in_flight_bytes", "logged_errors_total", "disk_total_bytes", "disk_free_bytes"}

#: What these tests do not move, and why.
STILL = {
    "requests_in_flight_bytes": "a gauge that is back at its start when it is read",
    "requests_in_flight": "likewise",
    "request_memory_bytes": "likewise",
    "compactions_running": "likewise",
    "compactions_pending": "likewise",
    "sstable_reads_queued": "likewise",
    "logged_errors_total": "an ERROR line is a defect",
    "task_panics_total": "a panic is a defect",
    "slow_polls_total": "depends on the machine",
    "longest_poll_microseconds": "depends on the machine",
    "timeouts_total": "needs a node that is stuck",
    "expired_requests_total": "needs a node that is stuck",
    "overloaded_requests_total": "tests/hostile does that",
    "reads_paused_total": "tests/hostile does that",
    "blocked_on_memory_total": "needs more writes than a disk can take",
    "disk_refused_writes_total": "needs a full disk",
    "commit_log_segments": "a segment is 32 MiB",
    "memory_resident_bytes": "the allocator's; looked at with the form of the page",
    "memory_limit_bytes": "a setting",
    "memtable_limit_bytes": "a setting",
    "compaction_shares": "a constant",
    "build_info": "a constant",
    "disk_total_bytes": "the machine's",
    "disk_free_bytes": "the machine's",
}


class Node:
    def __init__(self, binary, directory, *settings):
        self.directory = directory / "data"
        self.cql_port, self.admin_port = free_port(), free_port()
        command = [binary, "start", "--data-dir", self.directory, "--address", "127.0.0.1", "--cql-port", self.cql_port,
                   "--admin-port", self.admin_port, "--shards", len(SHARDS), "--memory", "512MiB",
                   "--set", "native_shard_aware_transport_port=0", *(word for setting in settings for word in ("--set", setting))]
        with (directory / "node.log").open("wb") as log:
            self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=log)
        watchdog = threading.Timer(START_LIMIT_SECS, self.process.kill)
        watchdog.start()
        is_ready = any(line.startswith(b"ready:") for line in self.process.stdout)
        watchdog.cancel()
        if not is_ready:
            sys.exit(f"the node did not start: {(directory / 'node.log').read_text(errors='replace')[-2000:]}")
        threading.Thread(target=lambda output: [None for _ in output], args=[self.process.stdout], daemon=True).start()

    def post(self, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.admin_port}/api/v1{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def page(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}/metrics", timeout=60) as answer:
            return answer.headers["Content-Type"], answer.read().decode()

    def metrics(self):
        return Metrics(self.page()[1])

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Metrics:
    """One page, parsed as strictly as Prometheus does; what is wrong with it stands in `problems`."""

    SAMPLE = re.compile(r'helenus_([a-z_0-9]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?[0-9.e+-]+|NaN|\+Inf)')
    LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')

    def __init__(self, text):
        self.types, self.samples, self.problems = {}, {}, []
        family = None
        helped = set()
        for line in text.splitlines():
            if line.startswith("# HELP "):
                family = line.split(" ", 3)[2].removeprefix("helenus_")
                if family in helped or len(line.split(" ", 3)[3]) < 5:
                    self.problems.append(f"{family}: HELP twice or empty")
                helped.add(family)
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                if name != f"helenus_{family}":
                    self.problems.append(f"{name}: TYPE without HELP above it")
                self.types[family] = kind
            else:
                self._sample(family, line)
        self._check_histograms()

    def _sample(self, family, line):
        match = self.SAMPLE.fullmatch(line)
        if not match:
            self.problems.append(f"no sample: {line}")
            return
        name, labels, value = match.groups()
        ends = ("_bucket", "_sum", "_count") if self.types.get(family) == "histogram" else ("",)
        if name not in {f"{family}{end}" for end in ends}:
            self.problems.append(f"{name} stands among the samples of {family}")
        if (self.types.get(family) == "counter") != name.endswith("_total"):
            self.problems.append(f"{name}: counters and nothing else end in _total")
        key = name, tuple(sorted(self.LABEL.findall(labels or "")))
        if key in self.samples:
            self.problems.append(f"twice: {line}")
        self.samples[key] = float(value)

    def _check_histograms(self):
        series = {}
        for (name, labels), value in self.samples.items():
            if name.endswith("_bucket"):
                rest = tuple(label for label in labels if label[0] != "le")
                border = float(dict(labels)["le"].replace("+Inf", "inf"))
                series.setdefault((name.removesuffix("_bucket"), rest), []).append((border, value))
        for (name, labels), buckets in series.items():
            counts = [count for _, count in sorted(buckets)]
            if counts != sorted(counts) or counts[-1] != self.samples.get((f"{name}_count", labels)):
                self.problems.append(f"{name} {labels}: buckets do not add up")

    def sum(self, name, **labels):
        """Over all series with these labels; 0 without any."""
        wanted = set(labels.items())
        return sum(value for (known, has), value in self.samples.items() if known == name and wanted <= set(has))

    def shards_of(self, family):
        starts = {family, f"{family}_count"}
        return {dict(labels).get("shard") for name, labels in self.samples if name in starts}


class Checks:
    def __init__(self):
        self.passed = self.failed = 0
        self.seen = set()

    def expect(self, what, holds, shown=""):
        print(f"{'ok    ' if holds else 'FAILED'} {what}{'' if holds else f': {shown}'}", flush=True)
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)

    def moves(self, node, what, action, **least):
        """Does it and waits until each number has moved by at least so much; `name__label__value` names a series.

        A bound is a number, below zero for gauges that fall, or a pair: at least, at most.
        """
        before = node.metrics()
        action()
        deadline = time.monotonic() + PATIENCE_SECS
        while True:
            after = node.metrics()
            moved = {}
            for key in least:
                name, *labels = key.split("__")
                wanted = dict(zip(labels[::2], labels[1::2]))
                moved[key] = after.sum(name, **wanted) - before.sum(name, **wanted)
                self.seen.add(re.sub(r"_(count|sum)$", "", name) if before.types.get(name) is None else name)
            if all(holds(bound, moved[key]) for key, bound in least.items()) or deadline < time.monotonic():
                break
            time.sleep(0.05)  # Between two looks, not in place of one.
        wrong = {key: (moved[key], bound) for key, bound in least.items() if not holds(bound, moved[key])}
        self.expect(what, not wrong, f"(moved, expected): {wrong}")


def holds(bound, moved):
    if isinstance(bound, tuple):
        return bound[0] <= moved <= bound[1]
    return bound <= moved if 0 <= bound else moved <= bound


def connect(node, **options):
    profile = ExecutionProfile(load_balancing_policy=WhiteListRoundRobinPolicy(["127.0.0.1"]), request_timeout=60,
                               consistency_level=ConsistencyLevel.ONE)
    return Cluster(["127.0.0.1"], port=node.cql_port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **options)


def check_form(checks, node):
    kind, text = node.page()
    checks.expect("the page is Prometheus text", kind == "text/plain; version=0.0.4; charset=utf-8" and text.endswith("\n"), kind)
    metrics = Metrics(text)
    checks.expect("every line fits the format", not metrics.problems, metrics.problems[:10])
    bare = [family for family in metrics.types if family not in OF_THE_NODE and metrics.shards_of(family) - {*SHARDS}]
    checks.expect("every family of shards is labelled by shard", not bare, bare)
    lacking = [family for family in metrics.types if family not in OF_THE_NODE | {"errors_total"}
               and metrics.shards_of(family) != {*SHARDS}]
    checks.expect("every shard has its numbers", not lacking, {family: metrics.shards_of(family) for family in lacking})
    checks.expect("what the node has is above zero", all(metrics.sum(name) > 0 for name in (
        "memory_resident_bytes", "memory_limit_bytes", "disk_total_bytes", "disk_free_bytes", "commit_log_segments",
        "memtable_limit_bytes", "compaction_shares")) and metrics.sum("build_info") == 1)


def check_requests(checks, node, session):
    checks.moves(node, "schema changes", lambda: [session.execute(statement) for statement in (
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE k.t (p int, c int, v text, PRIMARY KEY (p, c))", "CREATE TABLE k.wide (p int, c int, PRIMARY KEY (p, c))")],
                 request_duration_seconds_count__kind__schema=3, unprepared_requests_total=3)
    insert = session.prepare("INSERT INTO k.t (p, c, v) VALUES (?, ?, ?)")

    def write_all():
        for key in range(100):
            session.execute(insert, (key, 0, "x" * 1000))
    checks.moves(node, "prepared writes", write_all, prepared_requests_total=100,
                 request_duration_seconds_count__kind__write__consistency__ONE=100,
                 table_writes_total__keyspace__k__table__t=(100, 100), table_writes_total__table__t__shard__0=(20, 80),
                 token_aware_requests_total=(10, 100), not_token_aware_requests_total=(10, 90),
                 local_requests_total=10, cross_shard_requests_total=10, memtable_bytes=100_000,
                 table_memtable_bytes__table__t=100_000, commit_log_bytes=100_000, commit_log_records_total=100,
                 commit_log_syncs_total=1, commit_log_sync_duration_seconds_count=1, uptime_seconds=0.001)
    select = session.prepare("SELECT v FROM k.t WHERE p = ?")
    select.consistency_level = ConsistencyLevel.LOCAL_QUORUM
    checks.moves(node, "prepared reads", lambda: [session.execute(select, [key]) for key in range(50)],
                 table_reads_total__table__t=(50, 50),
                 request_duration_seconds_count__kind__read__consistency__LOCAL_QUORUM=(50, 50))
    batch = BatchStatement(consistency_level=ConsistencyLevel.QUORUM)
    for key in range(3):
        batch.add(insert, (key, 1, "b"))
    checks.moves(node, "a batch", lambda: session.execute(batch),
                 request_duration_seconds_count__kind__batch__consistency__QUORUM=(1, 1), table_writes_total__table__t=3)
    checks.moves(node, "a read without a page size",
                 lambda: session.execute(SimpleStatement("SELECT * FROM k.t WHERE p = 1", fetch_size=None)),
                 unpaged_requests_total=(1, 1), unprepared_requests_total=1)
    checks.moves(node, "a read against the clustering order",
                 lambda: session.execute("SELECT * FROM k.t WHERE p = 1 ORDER BY c DESC"), reversed_requests_total=(1, 1))
    checks.moves(node, "a read that filters", lambda: session.execute("SELECT * FROM k.t WHERE v = 'b' ALLOW FILTERING"),
                 allow_filtering_requests_total=(1, 1))
    checks.moves(node, "statements that are refused", lambda: [fails(session, text, kind) for text, kind in (
        ("SELEC", SyntaxException), ("SELECT * FROM k.nosuch", InvalidRequest), ("SELECT nosuch FROM k.t", InvalidRequest))],
                 errors_total__code__0x2000=(1, 1), errors_total__code__0x2200=(2, 2))
    checks.moves(node, "TRUNCATE", lambda: session.execute("TRUNCATE k.wide"), request_duration_seconds_count__kind__truncate=1)


def fails(session, text, kind):
    try:
        session.execute(text)
    except kind:
        return
    raise AssertionError(f"{text} was not refused")


def check_storage(checks, node, session):
    checks.moves(node, "a flush", lambda: node.post("/flush", {"keyspace": "k", "tables": ["t"]}), flushes_total=(2, 2),
                 table_sstables__table__t=(2, 2), table_disk_bytes__table__t=10_000, memtable_bytes=-100_000,
                 table_memtable_bytes__table__t=-100_000)
    read = "SELECT v FROM k.t WHERE p = {}"
    checks.moves(node, "first reads of files", lambda: [session.execute(read.format(key)) for key in range(100)],
                 chunk_cache_misses_total=2, chunk_cache_bytes=10_000)
    checks.moves(node, "the same reads again", lambda: [session.execute(read.format(key)) for key in range(100)],
                 chunk_cache_hits_total=50)

    def write_flush_and_compact():
        for key in range(50):
            session.execute(f"INSERT INTO k.t (p, c, v) VALUES ({key}, 2, 'again')")
        node.post("/flush", {"keyspace": "k", "tables": ["t"]})
        node.post("/compact", {"keyspace": "k", "tables": ["t"]})
    checks.moves(node, "a compaction", write_flush_and_compact, compactions_total=(2, 2), compacted_bytes_total=10_000,
                 compaction_cpu_seconds_total=0.000001, table_sstables__table__t=(0, 0), compaction_cpu_seconds_total__shard__0=1e-9)

    def read_from_the_device():
        for path in (node.directory / "data" / "k").rglob("*-Data.db"):
            with path.open("rb") as file:  # The kernel forgets its copy, so that the reads below must wait for the device.
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for key in range(100):
            session.execute(read.format(key))
    checks.moves(node, "reads that wait for the device", read_from_the_device, sstable_reads_queued_total=1)
    for row in range(TOMBSTONES_MAX * 2):
        session.execute(f"DELETE FROM k.wide WHERE p = 1 AND c = {row}")
    checks.moves(node, "a read of too many tombstones", lambda: fails(session, "SELECT * FROM k.wide WHERE p = 1", ReadFailure),
                 table_tombstone_failures_total__table__wide=(1, 1), errors_total__code__0x1300=(1, 1))


def check_connections(checks, node):
    held = []

    def open_one():
        cluster = connect(node)
        held.append(cluster)
        cluster.connect()
    checks.moves(node, "a driver's connections", open_one, connections=1)
    checks.moves(node, "their end", lambda: held.pop().shutdown(), connections=-1)

    def open_too_many():
        held.extend(socket.create_connection(("127.0.0.1", node.cql_port)) for _ in range(CONNECTIONS_MAX + 5))
    checks.moves(node, "connections beyond the limit", open_too_many, connections_refused_total=5)
    for one in held:
        one.close()


def check_logins(checks, node):
    password = (node.directory / "initial-superuser-password").read_text().strip()

    def log_in(word):
        cluster = connect(node, auth_provider=PlainTextAuthProvider("cassandra", word))
        try:
            cluster.connect()
        finally:
            cluster.shutdown()

    def log_in_wrongly():
        try:
            log_in("wrong")
        except NoHostAvailable:
            return
        raise AssertionError("a wrong password was taken")
    checks.moves(node, "a refused login", log_in_wrongly, authentication_failures_total=1, errors_total__code__0x0100=1)
    checks.moves(node, "a login", lambda: log_in(password), authentication_successes_total=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "target/debug/helenus")
    options = parser.parse_args()
    checks = Checks()
    directory = Path(tempfile.mkdtemp(prefix="helenus-metrics-"))
    (directory / "open").mkdir()
    (directory / "guarded").mkdir()
    nodes = [Node(options.binary, directory / "open", "commitlog_sync=batch", f"tombstone_failure_threshold={TOMBSTONES_MAX}",
                  f"native_transport_max_concurrent_connections={CONNECTIONS_MAX}"),
             Node(options.binary, directory / "guarded", "authenticator=PasswordAuthenticator")]
    try:
        with connect(nodes[0]) as cluster:
            session = cluster.connect()
            check_requests(checks, nodes[0], session)
            check_storage(checks, nodes[0], session)
            check_form(checks, nodes[0])
        check_connections(checks, nodes[0])
        check_logins(checks, nodes[1])
        families = nodes[0].metrics().types
        checks.expect("every family was moved here or has its reason to stand still", set(families) == checks.seen | set(STILL),
                      set(families) ^ (checks.seen | set(STILL)))
    finally:
        for node in nodes:
            node.stop()
    if checks.failed:
        print(f"kept {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
