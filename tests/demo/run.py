#!/usr/bin/env python3
"""The main job on real input: a fresh node, unmodified cqlsh, gocql and Java clients, and a SIGKILL in the middle.

    menu        what needs ALLOW FILTERING, asked through cqlsh
    ids         partner ids and ids matched both ways, with gocql
    stocks      a million rows loaded by cqlsh's COPY, counted, grouped and read back
    key-value   a million partitions of 100 to 200 words, half reads, half writes, through the Java driver; the node is
                killed in the middle and started again; every acknowledged write must be there

    run.py [--binary target/release/helenus] [--rows 1000000] [--partitions 1000000] [--seconds 60] [--keep]
    run.py --small      the same with 20,000 rows and partitions, in a minute or two
    run.py --prepare    only builds the clients

Needs Python 3, Go, Java 17 and Maven; the clients come from their registries. Ends with a table of what took how long and
`N passed, N failed`.
"""

import argparse
import csv
import datetime
import os
import random
import re
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
sys.path.insert(0, str(HERE.parent))

from run import places, tools  # noqa: E402

START_LIMIT_SECS = 120
FILTERING = ("Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. "
             "If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING")
#: Condition, and the names that it answers; one that is refused is asked again with ALLOW FILTERING.
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
FIRST_DAY = datetime.date(2000, 1, 1)


class DemoFailed(Exception):
    """The rest cannot run."""


class Report:
    def __init__(self):
        self.passed = self.failed = 0
        self.rows = []

    def check(self, holds, what, shown=""):
        """`shown` says what was found when it does not hold."""
        print(f"  {'ok    ' if holds else 'FAILED'} {what}", flush=True)
        if not holds and shown:
            print(f"         {shown.strip()[-2000:]}", flush=True)
        self.passed += bool(holds)
        self.failed += not holds

    def figure(self, job, what, text):
        self.rows.append((job, what, text))
        print(f"         {what}: {text}", flush=True)

    def summarise(self):
        widths = [max(len(row[column]) for row in self.rows) for column in range(2)]
        print()
        for job, what, text in self.rows:
            print(f"{job:<{widths[0]}}  {what:<{widths[1]}}  {text}")
        print(f"\n{self.passed} passed, {self.failed} failed", flush=True)


class Node:
    def __init__(self, binary, directory):
        self.binary, self.directory = binary, directory
        self.log = directory / "node.log"
        self.port, self.admin_port = free_port(), free_port()
        self.process = None

    def start(self):
        """Seconds until it serves."""
        command = [str(self.binary), "start", "--data-dir", str(self.directory / "data"), "--address", "127.0.0.1",
                   "--cql-port", str(self.port), "--admin-port", str(self.admin_port),
                   "--set", f"native_shard_aware_transport_port={free_port()}"]
        began = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        watchdog = threading.Timer(START_LIMIT_SECS, self.process.kill)
        watchdog.start()
        is_ready = any(line.startswith(b"ready:") for line in self.process.stdout)
        watchdog.cancel()
        if not is_ready:
            raise DemoFailed(f"the node did not start; see {self.log}\n{self.log.read_text(errors='replace')[-2000:]}")
        threading.Thread(target=lambda output: [None for _ in output], args=[self.process.stdout], daemon=True).start()
        return time.monotonic() - began

    def status(self, name):
        """A line of /proc/PID/status, in MiB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"(?m)^{name}:\s+(\d+) kB", text).group(1)) // 1024

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cqlsh(node, *arguments):
    command = [str(places.VENV / "bin/cqlsh"), "127.0.0.1", str(node.port), "--request-timeout=300", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def cells(answer):
    """The rows that cqlsh printed, as lists of texts."""
    rows = [line for line in answer.stdout.splitlines() if line.startswith(" ") and not line.startswith("  (")]
    return [[cell.strip() for cell in row.split("|")] for row in rows[1:]]


def menu(node, report):
    loaded = cqlsh(node, "-f", str(HERE / "menu.cql"))
    report.check(loaded.returncode == 0, "schema and rows are loaded", loaded.stderr)

    def names(where):
        answer = cqlsh(node, "-e", f"SELECT name FROM demo.menu WHERE {where};")
        return sorted(row[0] for row in cells(answer)), answer.stderr

    for where, expected in ANSWERED:
        found, errors = names(where)
        report.check(found == expected, f"answered without filtering: {where}", f"{found} {errors}")
    for where, expected in REFUSED:
        found, errors = names(where)
        is_refused = not found and FILTERING in " ".join(errors.split())  # cqlsh breaks long lines.
        report.check(is_refused, f"refused in Cassandra's words: {where}", f"{found} {errors}")
        found, errors = names(f"{where} ALLOW FILTERING")
        report.check(found == expected, f"answered with ALLOW FILTERING: {where}", f"{found} {errors}")


def ids(node, report, partners):
    command = [str(gocql_client()), "-address", f"127.0.0.1:{node.port}", "-partners", str(partners)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    follow(client, report, "ids")
    report.check(client.wait() == 0, "both tables answer their questions in both directions")


def follow(client, report, job, on_line=lambda line: None):
    """Prints what a client says; `figure NAME: TEXT` goes into the summary."""
    for line in client.stdout:
        on_line(line.rstrip())
        if line.startswith("figure "):
            report.figure(job, *line.rstrip().removeprefix("figure ").split(": ", 1))
        else:
            print(f"         {line.rstrip()}", flush=True)


def stocks(node, report, rows, directory):
    created = cqlsh(node, "-e", "CREATE TABLE demo.stocks (symbol text, day date, open double, high double, low double, "
                                "close double, volume bigint, PRIMARY KEY ((symbol), day))")
    report.check(created.returncode == 0, "the table is made", created.stderr)
    path = directory / "stocks.csv"
    highest = write_series(path, rows)
    began = time.monotonic()
    copied = cqlsh(node, "-e", f"COPY demo.stocks (symbol, day, open, high, low, close, volume) FROM '{path}' "
                               "WITH NUMPROCESSES=2")
    spent = time.monotonic() - began
    report.check(copied.returncode == 0 and f"{rows} rows imported" in copied.stdout, f"COPY imports {rows} rows",
                 copied.stdout + copied.stderr)
    report.figure("stocks", "COPY FROM", f"{spent:.1f} s, {rows / spent:.0f} rows/s")
    began = time.monotonic()
    counted = cqlsh(node, "-e", "SELECT count(*) FROM demo.stocks")
    report.figure("stocks", "count(*)", f"{time.monotonic() - began:.1f} s")
    report.check(cells(counted) == [[str(rows)]], f"count(*) is {rows}", counted.stdout + counted.stderr)
    began = time.monotonic()
    grouped = cqlsh(node, "-e", "SELECT symbol, count(*), max(high) FROM demo.stocks GROUP BY symbol")
    report.figure("stocks", "GROUP BY symbol", f"{time.monotonic() - began:.1f} s")
    found = {row[0]: (int(row[1]), float(row[2])) for row in cells(grouped) if len(row) == 3 and row[1].isdigit()}
    report.check(found == highest, "count and highest price of each symbol are those of the file",
                 grouped.stdout + grouped.stderr)
    last = FIRST_DAY + datetime.timedelta(days=(rows - 1) // SYMBOLS)
    newest = cqlsh(node, "-e", "SELECT day FROM demo.stocks WHERE symbol = 'S0000' ORDER BY day DESC LIMIT 1")
    report.check(cells(newest) == [[str(last)]], "the newest day of a symbol is the last one loaded",
                 newest.stdout + newest.stderr)
    eighth = FIRST_DAY + datetime.timedelta(days=7)
    week = cqlsh(node, "-e", f"SELECT day FROM demo.stocks WHERE symbol = 'S0007' AND day < '{eighth}'")
    expected = [[str(FIRST_DAY + datetime.timedelta(days=day))] for day in range(7)]
    report.check(cells(week) == expected, "the first week of a symbol comes in order", week.stdout + week.stderr)
    path.unlink()


def write_series(path, rows):
    """Writes the file; answers {symbol: (rows, highest price)}."""
    rng = random.Random(3)
    highest = {}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for number in range(rows):
            symbol, price = f"S{number % SYMBOLS:04}", rng.uniform(5, 500)
            day = FIRST_DAY + datetime.timedelta(days=number // SYMBOLS)
            high = round(price * 1.02, 2)
            writer.writerow([symbol, day, f"{price:.2f}", high, f"{price * 0.98:.2f}", f"{price * 1.01:.2f}",
                             rng.randrange(1, 10_000_000)])
            count, before = highest.get(symbol, (0, 0.0))
            highest[symbol] = (count + 1, max(before, high))
    return highest


def keyvalue(node, report, partitions, seconds):
    built = HERE / "java" / "target"
    classpath = f"{built / 'classes'}:{(built / 'classpath').read_text().strip()}"
    command = ["java", "-Xmx1g", "-cp", classpath, "demo.KeyValue", "127.0.0.1", str(node.port), str(partitions), str(seconds)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    results = []
    problems = []

    def kill_and_start():
        report.figure("key-value", "memory before the kill", f"{node.status('VmRSS')} MiB, at most {node.status('VmHWM')} MiB")
        node.kill()
        try:
            report.figure("key-value", "SIGKILL, then ready again", f"{node.start():.2f} s")
        except DemoFailed as problem:
            problems.append(str(problem))
            client.kill()

    killer = threading.Timer(seconds / 2, kill_and_start)

    def on_line(line):
        if line == "running":
            killer.start()
        if line.startswith("result: "):
            results.append(line)

    follow(client, report, "key-value", on_line)
    client.wait()
    if killer.ident is not None:
        killer.join()
    if problems:
        raise DemoFailed(problems[0])
    is_whole = killer.ident is not None and client.returncode == 0 and results
    report.check(is_whole, "every acknowledged write is there after the kill")


def gocql_client():
    return places.CACHE / "go" / "demo-gocql"


def prepare():
    """Builds the clients and gets cqlsh; quick when there is nothing to do."""
    missing = tools.missing({"python", "go", "java", "maven"})
    for name, problem in missing.items():
        print(f"{tools.TOOLS[name].title} {problem}. Install it with:\n    {tools.TOOLS[name].install}", flush=True)
    if missing:
        raise DemoFailed("tools are missing")
    environment = {**os.environ, **places.caches()}
    if not (places.VENV / "bin/cqlsh").exists():
        subprocess.run(["make", "-s", ".venv/bin/cqlsh"], cwd=places.REPOSITORY, check=True)
    subprocess.run(["go", "build", "-o", str(gocql_client()), "."], cwd=HERE / "gocql", env=environment, check=True)
    subprocess.run(["mvn", "--batch-mode", "--quiet", "-Dstyle.color=never", f"-Dmaven.repo.local={places.CACHE / 'maven'}",
                    "compile", "dependency:build-classpath"], cwd=HERE / "java", env=environment, check=True)


def play(options, node, report, directory):
    def job(name, what, work):
        print(f"{name}: {what}", flush=True)
        began = time.monotonic()
        work()
        report.rows.append((name, "in all", f"{time.monotonic() - began:.1f} s"))

    report.figure("node", "ready after", f"{node.start():.2f} s")
    job("menu", "what needs ALLOW FILTERING, through cqlsh", lambda: menu(node, report))
    job("ids", "matched both ways, with gocql", lambda: ids(node, report, options.partners))
    job("stocks", f"{options.rows} rows by cqlsh's COPY", lambda: stocks(node, report, options.rows, directory))
    job("key-value", f"{options.partitions} partitions, half reads, half writes for {options.seconds} s, a SIGKILL in the middle",
        lambda: keyvalue(node, report, options.partitions, options.seconds))
    counted = cqlsh(node, "-e", "SELECT count(*) FROM demo.stocks")
    report.check(cells(counted) == [[str(options.rows)]], "the rows that were loaded before the kill are there, too",
                 counted.stdout + counted.stderr)
    size = sum(path.stat().st_size for path in (directory / "data").rglob("*") if path.is_file())
    report.figure("node", "files on the disk", f"{size >> 20} MiB")
    began = time.monotonic()
    report.check(node.stop() == 0, "SIGTERM ends the node with exit code 0")
    report.figure("node", "SIGTERM, then gone", f"{time.monotonic() - began:.2f} s")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, help="by default the release build")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=1_000_000)
    parser.add_argument("--partners", type=int, default=20_000, help="partner ids that are matched with 12 ids each")
    parser.add_argument("--seconds", type=int, default=60, help="of reads and writes")
    parser.add_argument("--small", action="store_true", help="everything in a minute or two")
    parser.add_argument("--prepare", action="store_true", help="only build the clients")
    parser.add_argument("--keep", action="store_true", help="keep the data")
    options = parser.parse_args()
    if options.small:
        options.rows, options.partitions, options.partners, options.seconds = 20_000, 20_000, 500, 10
    return options


def main():
    options = parse()
    if options.binary is None and not options.prepare:
        options.binary = places.target() / "release" / "helenus"
    try:
        prepare()
    except (DemoFailed, subprocess.CalledProcessError) as problem:
        print(f"FAILED {problem}")
        return 1
    if options.prepare:
        return 0
    directory = Path(tempfile.mkdtemp(prefix="helenus-demo-"))
    node, report = Node(options.binary, directory), Report()
    try:
        play(options, node, report, directory)
    except DemoFailed as problem:
        report.check(False, str(problem))
    finally:
        if node.process is not None and node.process.poll() is None:
            node.kill()
    report.summarise()
    if report.failed or options.keep:
        print(f"the data stays in {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
