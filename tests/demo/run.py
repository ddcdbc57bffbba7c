#!/usr/bin/env python3
"""The main job on real input: a fresh node, unmodified cqlsh, gocql and Java clients, and a SIGKILL in the middle.

    menu        what needs ALLOW FILTERING, asked through cqlsh
    ids         partner ids matched both ways, with gocql
    stocks      a million rows loaded by cqlsh's COPY, counted and read back
    key-value   a million partitions, half reads, half writes, through the Java driver; the node is killed in the middle
                and started again; every acknowledged write must be there

    run.py [--binary target/release/helenus] [--rows 1000000] [--partitions 1000000] [--seconds 60]
"""

import argparse
import csv
import datetime
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
VENV = REPOSITORY / ".venv"
FILTERING = ("Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. "
             "If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING")
#: Query, and the names that it answers; a query that is refused is asked again with ALLOW FILTERING.
ANSWERED = (
    ("category = 'starters' AND position = 3", ["beetroot salad"]),
    ("category = 'soups'", ["sour rye soup", "tomato soup"]),
)
REFUSED = (
    ("price <= 10", ["beetroot salad", "sour rye soup", "tomato soup"]),
    ("name = 'sour rye soup'", ["sour rye soup"]),
    ("position = 1 AND price = 10.5", ["pickled herring"]),
    ("category = 'starters' AND price <= 10", ["beetroot salad"]),
)
SYMBOLS = 400


class Node:
    def __init__(self, binary, directory):
        self.binary, self.directory = binary, directory
        self.port = free_port()
        self.admin_port = free_port()
        self.process = None

    def start(self):
        command = [str(self.binary), "start", "--data-dir", str(self.directory), "--address", "127.0.0.1",
                   "--cql-port", str(self.port), "--admin-port", str(self.admin_port),
                   "--set", "native_shard_aware_transport_port=0"]
        began = time.monotonic()
        with open(self.directory.parent / "node.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        for line in self.process.stdout:
            if line.startswith(b"ready:"):
                threading.Thread(target=lambda: [None for _ in self.process.stdout], daemon=True).start()
                return time.monotonic() - began
        raise SystemExit(f"the node did not start; see {self.directory.parent / 'node.log'}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check(holds, what):
    print(f"  {'ok    ' if holds else 'FAILED'} {what}", flush=True)
    if not holds:
        check.failed += 1
    check.passed += bool(holds)


check.failed = check.passed = 0


def cqlsh(node, *arguments, text=None):
    command = [str(VENV / "bin/cqlsh"), "127.0.0.1", str(node.port), "--request-timeout=300", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def menu(node):
    print("menu (cqlsh)")
    loaded = cqlsh(node, "-f", str(HERE / "menu.cql"))
    check(loaded.returncode == 0, f"schema and rows are loaded {loaded.stderr.strip()}")

    def ask(where):
        return cqlsh(node, "-e", f"SELECT name FROM demo.menu WHERE {where};")

    def names(answer):
        lines = answer.stdout.splitlines()
        return sorted(line.strip() for line in lines[3:] if line.strip() and not line.startswith("("))

    for where, expected in ANSWERED:
        check(names(ask(where)) == expected, f"answered without filtering: {where}")
    for where, expected in REFUSED:
        refused = ask(where)
        check(refused.returncode != 0 and FILTERING in refused.stderr, f"refused in Cassandra's words: {where}")
        check(names(ask(f"{where} ALLOW FILTERING")) == expected, f"answered with ALLOW FILTERING: {where}")


def stocks(node, rows):
    print(f"stocks ({rows} rows by cqlsh COPY)")
    created = cqlsh(node, "-e", "CREATE TABLE IF NOT EXISTS demo.stocks (symbol text, day date, open double, high double, "
                                "low double, close double, volume bigint, PRIMARY KEY ((symbol), day))")
    check(created.returncode == 0, f"the table is made {created.stderr.strip()}")
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "stocks.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            first = datetime.date(2000, 1, 1)
            for number in range(rows):
                symbol, day = number % SYMBOLS, number // SYMBOLS
                price = rng.uniform(5, 500)
                writer.writerow([f"S{symbol:04}", first + datetime.timedelta(days=day), f"{price:.2f}", f"{price * 1.02:.2f}",
                                 f"{price * 0.98:.2f}", f"{price * 1.01:.2f}", rng.randrange(1, 10_000_000)])
        began = time.monotonic()
        copied = cqlsh(node, "-e", f"COPY demo.stocks (symbol, day, open, high, low, close, volume) FROM '{path}' "
                                   "WITH NUMPROCESSES=2 AND MAXBATCHSIZE=50")
        spent = time.monotonic() - began
    print(f"  {rows / spent:.0f} rows/s")
    check(f"{rows} rows imported" in copied.stdout, f"COPY imported {rows} rows {copied.stderr.strip()[-300:]}")
    count = cqlsh(node, "-e", "SELECT count(*) FROM demo.stocks")
    check(str(rows) in count.stdout, f"count(*) is {rows} {count.stderr.strip()[-200:]}")
    last = cqlsh(node, "-e", "SELECT day FROM demo.stocks WHERE symbol = 'S0000' ORDER BY day DESC LIMIT 1")
    expected = datetime.date(2000, 1, 1) + datetime.timedelta(days=(rows - 1) // SYMBOLS)
    check(str(expected) in last.stdout, "the newest day of a symbol is the last one loaded")


def ids(node):
    print("ids (gocql)")
    built = subprocess.run(["go", "run", "."], cwd=HERE / "gocql", capture_output=True, text=True,
                           env={**__import__("os").environ, "HELENUS_ADDRESS": f"127.0.0.1:{node.port}"})
    for line in built.stdout.splitlines():
        print(f"  {line}")
    check(built.returncode == 0, f"both tables answer their questions in both directions {built.stderr.strip()[-500:]}")


def keyvalue(node, partitions, seconds):
    print(f"key-value ({partitions} partitions, Java driver, SIGKILL in the middle)")
    built = subprocess.run(["mvn", "-q", "-B", "package", "dependency:copy-dependencies"], cwd=HERE / "java",
                           capture_output=True, text=True)
    if built.returncode:
        check(False, f"the Java client builds: {built.stdout[-800:]}")
        return
    command = ["java", "-cp", f"{HERE / 'java/target'}/demo-1.jar:{HERE / 'java/target/dependency'}/*", "demo.KeyValue",
               "127.0.0.1", str(node.port), str(partitions), str(seconds)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    result = None
    for line in client.stdout:
        print(f"  {line.rstrip()}", flush=True)
        if line.startswith("running"):
            time.sleep(seconds / 2)
            node.kill()
            print(f"  killed; ready again after {node.start():.2f} s", flush=True)
        if line.startswith("result:"):
            result = line
    client.wait()
    check(client.returncode == 0 and result is not None, "every acknowledged write is there after the kill")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "target/release/helenus")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    if not (VENV / "bin/cqlsh").exists():
        subprocess.run(["make", "-s", ".venv/bin/cqlsh"], cwd=REPOSITORY, check=True)
    directory = Path(tempfile.mkdtemp(prefix="helenus-demo-"))
    node = Node(options.binary, directory / "data")
    print(f"ready after {node.start():.2f} s in {directory}")
    menu(node)
    ids(node)
    stocks(node, options.rows)
    keyvalue(node, options.partitions, options.seconds)
    check(node.stop() == 0, "SIGTERM ends the node with exit code 0")
    print(f"{check.passed} passed, {check.failed} failed")
    if check.failed:
        print(f"the data stays in {directory}")
        return 1
    shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
