#!/usr/bin/env python3
"""Kills a node under load, again and again, and checks what it kept.

Every acknowledged write must be there after the restart, each unacknowledged one whole or absent, nothing that was never
sent. Kills are aimed: inside a flush, inside a compaction, right after the switch to a new commit log segment, and at any
moment; the shard count changes between 1, 2 and 3 from start to start. Flushes and compactions are recognised by their
transaction logs in the data directory, segment switches by the new file.

    run.py [--binary target/debug/helenus] [--kills 50] [--per-place 10] [--seed N]

Prints how many kills hit each place and one line `N passed, N failed` at the end.
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from client import Connection, CqlError

REPOSITORY = Path(__file__).resolve().parents[2]
PLACES = ("flush", "compaction", "segment", "anywhere")
WRITERS = 3
IN_FLIGHT = 64
START_LIMIT_SECS = 60
#: How long the node may take to get to the place aimed at; then it is killed where it is.
AIM_LIMIT_SECS = 8.0
BATCH_ROWS = 3
#: New tables are made after at least so many kills, and some twenty times in a run. After each start the newest ones are
#: read whole, all of them at the end: reading everything every time would take most of the run.
TABLES_KILLS_MIN = 5


def value_of(key, column):
    """What column `column` of row `key` must hold: derived, so that a reader can tell torn and foreign rows."""
    digest = hashlib.blake2b(f"{key}/{column}".encode(), digest_size=32).digest()
    return digest * 8


class Node:
    """One process at a time on one data directory."""

    def __init__(self, binary, directory, rng):
        self.binary, self.directory, self.rng = binary, directory, rng
        self.process, self.port = None, None
        self.log_path = directory / "node.log"

    def start(self):
        shards = self.rng.choice((1, 2, 3))
        self.port = free_port()
        command = [
            str(self.binary), "start", "--data-dir", str(self.directory / "data"), "--address", "127.0.0.1",
            "--cql-port", str(self.port), "--admin-port", str(free_port()), "--shards", str(shards),
            "--memory", "256MiB", "--set", "commitlog_segment_size=1MiB", "--set", "memtable_heap_space=2MiB",
            "--set", "memtable_offheap_space=2MiB", "--set", "native_shard_aware_transport_port=0",
        ]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        deadline = time.monotonic() + START_LIMIT_SECS
        for line in self.process.stdout:
            if line.startswith(b"ready:"):
                threading.Thread(target=self._drain, daemon=True).start()
                return shards
            if time.monotonic() > deadline:
                break
        raise RuntimeError(f"the node did not start; see {self.log_path}:\n{tail(self.log_path)}")

    def _drain(self):
        for _ in self.process.stdout:
            pass

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def is_alive(self):
        return self.process.poll() is None

    def transactions(self, kind):
        """Open transaction logs of `kind`: begun and not committed."""
        found = []
        for path in (self.directory / "data").glob(f"**/*_txn_{kind}_*.log"):
            try:
                if "COMMIT" not in path.read_text():
                    found.append(path)
            except OSError:
                pass  # Ended meanwhile.
        return found

    def segments(self):
        return {path.name for path in (self.directory / "data").glob("**/CommitLog-*.log")}


class Writer(threading.Thread):
    """Writes unique rows and batches; remembers what was sent and what was acknowledged."""

    def __init__(self, number, port, generation, tables):
        super().__init__(daemon=True)
        self.number, self.port, self.generation, self.tables = number, port, generation, tables
        self.sent, self.acknowledged = set(), set()
        self.problem = None

    def run(self):
        try:
            self._write()
        except (ConnectionError, OSError, TimeoutError):
            pass  # The kill.
        except Exception as error:  # noqa: BLE001 -- anything else is a failed check, told by the main thread.
            self.problem = error

    def _write(self):
        connection = Connection("127.0.0.1", self.port)
        row = connection.prepare(f"INSERT INTO crash.rows_{self.tables} (k, a, b, c) VALUES (?, ?, ?, ?)")
        batch = connection.prepare(
            "BEGIN UNLOGGED BATCH " + " ".join(
                f"INSERT INTO crash.groups_{self.tables} (p, c, v) VALUES (:p{i}, {i}, :v{i});" for i in range(BATCH_ROWS)
            ) + " APPLY BATCH")
        pending = {}
        sequence = 0
        while True:
            while len(pending) < IN_FLIGHT:
                key = f"{self.generation}.{self.number}.{sequence}"
                sequence += 1
                if sequence % 8 == 0:
                    values = [part for i in range(BATCH_ROWS) for part in (key.encode(), value_of(key, i))]
                    name, statement = ("group", key), batch
                else:
                    values = [key.encode()] + [value_of(key, column) for column in "abc"]
                    name, statement = ("row", key), row
                self.sent.add(name)
                pending[connection.send_execute(statement, values)] = name
            stream, error = connection.receive()
            name = pending.pop(stream)
            if error is None:
                self.acknowledged.add(name)
            elif error.code not in (0x1001, 0x1100):  # Overloaded and write timeout are honest answers.
                raise error


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tail(path, lines=30):
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def aim(node, place, rng):
    """Waits until the node is at `place` and kills it there; answers whether it was."""
    deadline = time.monotonic() + AIM_LIMIT_SECS
    if place == "anywhere":
        time.sleep(rng.uniform(0.05, 1.5))
        node.kill()
        return True
    known = node.segments()
    # Let some writes in first, so that there is something to lose.
    threading.Event().wait(rng.uniform(0.05, 0.3))
    while time.monotonic() < deadline and node.is_alive():
        if place == "segment":
            if node.segments() - known:
                node.kill()
                return True
        elif node.transactions(place):
            threading.Event().wait(rng.uniform(0, 0.02))
            node.kill()
            return bool(node.transactions(place))
    node.kill()
    return False


class Writes:
    """What was sent to one pair of tables, and what of it was acknowledged."""

    def __init__(self, tables):
        self.tables = tables
        self.sent, self.acknowledged = set(), set()


def verify(port, writes):
    """Reads one pair of tables back; answers the list of violations."""
    connection = Connection("127.0.0.1", port, timeout=300)
    violations = []
    sent, acknowledged, seen = writes.sent, writes.acknowledged, set()
    for key, a, b, c in connection.all_rows(f"SELECT k, a, b, c FROM crash.rows_{writes.tables}"):
        key = key.decode()
        seen.add(("row", key))
        if ("row", key) not in sent:
            violations.append(f"row {key} was never sent")
        if (a, b, c) != tuple(value_of(key, column) for column in "abc"):
            violations.append(f"row {key} is torn or altered")
    groups = {}
    for key, position, value in connection.all_rows(f"SELECT p, c, v FROM crash.groups_{writes.tables}"):
        groups.setdefault(key.decode(), {})[struct.unpack(">i", position)[0]] = value
    for key, rows in groups.items():
        seen.add(("group", key))
        if ("group", key) not in sent:
            violations.append(f"group {key} was never sent")
        if rows != {i: value_of(key, i) for i in range(BATCH_ROWS)}:
            violations.append(f"group {key} is torn: rows {sorted(rows)} of {BATCH_ROWS}")
    violations += [f"{kind} {key} was acknowledged and is gone" for kind, key in sorted(acknowledged - seen)]
    connection.close()
    return violations


def self_test():
    """The checker must find a planted loss, a torn row and a foreign one."""
    writes = Writes(0)
    writes.sent = writes.acknowledged = {("row", "1"), ("row", "2")}

    class Fake:
        def __init__(self, *_args, **_kwargs):
            pass

        def all_rows(self, text):
            if "groups" in text:
                return [(b"9", struct.pack(">i", 0), value_of("9", 0))]
            return [(b"1", value_of("1", "a"), None, value_of("1", "c"))]

        def close(self):
            pass

    global Connection
    real, Connection = Connection, Fake
    try:
        found = verify(0, writes)
    finally:
        Connection = real
    kinds = ("torn or altered", "was never sent", "acknowledged and is gone", "is torn: rows")
    missing = [kind for kind in kinds if not any(kind in violation for violation in found)]
    assert not missing, f"the checker misses {missing}"


def make_tables(port, number):
    connection = Connection("127.0.0.1", port)
    for statement in (
        "CREATE KEYSPACE IF NOT EXISTS crash WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        f"CREATE TABLE crash.rows_{number} (k text PRIMARY KEY, a blob, b blob, c blob)",
        f"CREATE TABLE crash.groups_{number} (p text, c int, v blob, PRIMARY KEY (p, c))",
    ):
        connection.query(statement)
    connection.close()


def next_place(hits, per_place, rng):
    wanting = [place for place in PLACES[:3] if hits[place] < per_place]
    return rng.choice(wanting) if wanting else rng.choice(PLACES)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "target/debug/helenus")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--per-place", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="keep the data directory")
    options = parser.parse_args()
    self_test()
    rng = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="helenus-crash-"))
    node = Node(options.binary, directory, rng)
    hits = dict.fromkeys(PLACES, 0)
    writes = []
    failures = []
    kill = 0
    while not failures and (kill < options.kills or (min(hits[place] for place in PLACES[:3]) < options.per_place
                                                     and kill < 2 * options.kills)):
        shards = node.start()
        for newest in writes[-1:]:
            failures += verify(node.port, newest)
        if failures:
            break
        if kill % max(TABLES_KILLS_MIN, options.kills // 20) == 0:
            writes.append(Writes(len(writes)))
            make_tables(node.port, writes[-1].tables)
        writers = [Writer(number, node.port, kill, writes[-1].tables) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        place = next_place(hits, options.per_place, rng)
        hit = aim(node, place, rng)
        hits[place] += hit
        for writer in writers:
            writer.join(timeout=60)
            writes[-1].sent |= writer.sent
            writes[-1].acknowledged |= writer.acknowledged
            if writer.problem is not None:
                failures.append(f"writer {writer.number} of kill {kill}: {writer.problem}")
        print(f"kill {kill:3}: {place:10} {'hit' if hit else 'missed'}, {shards} shards, "
              f"{sum(len(one.acknowledged) for one in writes)} of {sum(len(one.sent) for one in writes)} writes acknowledged",
              flush=True)
        kill += 1
    if not failures:
        node.start()
        for one in writes:
            failures += verify(node.port, one)
        node.kill()
    elif node.process is not None:
        node.kill()
    print("kills by place: " + ", ".join(f"{place} {count}" for place, count in hits.items()))
    for place in PLACES[:3]:
        if hits[place] < min(options.per_place, options.kills):
            failures.append(f"only {hits[place]} of {options.per_place} kills hit a {place}")
    for failure in failures[:20]:
        print(f"FAILED: {failure}")
    if failures:
        print(f"the data stays in {directory}; end of the node's log:\n{tail(node.log_path)}")
    elif not options.keep:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{kill} passed, {1 if failures else 0} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
