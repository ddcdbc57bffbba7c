#!/usr/bin/env python3
"""Runs every command of `helenus nodetool` against a node with data, as an operator's script would.

Texts are compared where they do not depend on the machine; the rest must have Cassandra 5.0's lines, columns and units.
By default a node is started on a fresh directory; with --admin-port a running one is asked, which must have no data yet.

    run.py [--binary target/debug/helenus] [--address 127.0.0.1] [--admin-port PORT --cql-port PORT] [--keep]

Prints each check that fails, and at the end how many are known to fail and `N passed, N failed`.
"""

import argparse
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/crash"))
from client import Connection  # noqa: E402  (a small CQL client without dependencies)

START_LIMIT_SECS = 60
#: Checks that fail until the node can do more, and why. One that passes must leave this list.
KNOWN = {}
SEE = "See 'nodetool help' or 'nodetool help <command>'.\n"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
SIZE = r"\d+(\.\d{1,2})? (bytes|KiB|MiB|GiB|TiB)"
TOKEN = r"-?\d{1,19}"
PERCENTILES = ["50%", "75%", "95%", "98%", "99%", "Min", "Max"]
INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"

TABLE_LINES = """SSTable count|Old SSTable count|Max SSTable size|Space used (live)|Space used (total)
    Space used by snapshots (total)|Off heap memory used (total)|SSTable Compression Ratio
    Number of partitions (estimate)|Memtable cell count|Memtable data size|Memtable off heap memory used
    Memtable switch count|Speculative retries|Local read count|Local read latency|Local write count|Local write latency
    Local read/write ratio|Pending flushes|Percent repaired|Bytes repaired|Bytes unrepaired|Bytes pending repair
    Bloom filter false positives|Bloom filter false ratio|Bloom filter space used|Bloom filter off heap memory used
    Index summary off heap memory used|Compression metadata off heap memory used|Compacted partition minimum bytes
    Compacted partition maximum bytes|Compacted partition mean bytes|Average live cells per slice (last five minutes)
    Maximum live cells per slice (last five minutes)|Average tombstones per slice (last five minutes)
    Maximum tombstones per slice (last five minutes)|Droppable tombstone ratio""".replace("\n    ", "|").split("|")


def free_port(address):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Node:
    """A node of our own, gone at the end."""

    def __init__(self, binary, address, directory):
        self.admin_port, self.cql_port = free_port("127.0.0.1"), free_port(address)
        command = [binary, "start", "--data-dir", directory / "data", "--address", address, "--cql-port", self.cql_port,
                   "--admin-port", self.admin_port, "--shards", 2, "--memory", "512MiB",
                   "--set", "native_shard_aware_transport_port=0", *(["--insecure"] if address != "127.0.0.1" else [])]
        self.log = (directory / "node.log").open("wb")
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=self.log)
        started = threading.Event()
        threading.Thread(target=self._read, args=(started,), daemon=True).start()
        if not started.wait(START_LIMIT_SECS):
            self.process.kill()
            sys.exit(f"the node did not start; see {directory}/node.log")

    def _read(self, started):
        for line in self.process.stdout:
            if line.startswith(b"ready:"):
                started.set()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Checks:
    def __init__(self, binary, port):
        self.binary, self.port = binary, port
        self.passed, self.failed, self.known = 0, 0, 0

    def run(self, line, port=None):
        command = [str(self.binary), "nodetool", "-p", str(port or self.port), *line.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def expect(self, what, holds, shown=""):
        if what in KNOWN and not holds:
            self.known += 1
            return
        if what in KNOWN:
            holds, shown = False, "passes, but is still listed as known to fail"
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        if not holds:
            print(f"FAILED {what}\n{shown}")

    def prints(self, line, expected, exit_code=0, errors=""):
        """The whole answer, to the byte."""
        found = self.run(line)
        self.expect(line or "(no command)", found == (exit_code, expected, errors), repr(found))

    def matches(self, line, *patterns):
        """The answer's lines, each against its pattern; a pattern `...` swallows any number of lines."""
        exit_code, out, errors = self.run(line)
        pattern = "".join(r"(?:.*\n)*?" if part == "..." else f"{part}\n" for part in patterns)
        self.expect(line, exit_code == 0 and not errors and re.fullmatch(pattern, out), f"{exit_code}\n{out}{errors}")
        return out

    def document(self, line):
        exit_code, out, errors = self.run(line)
        try:
            answer = json.loads(out)
            self.expect(line, exit_code == 0 and not errors, out + errors)
            return answer
        except ValueError:
            self.expect(line, False, f"{exit_code}\n{out}{errors}")
            return {}


def fill(address, cql_port):
    connection = Connection(address, cql_port)
    for statement in (
            "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE shop.orders (id int, line int, v text, PRIMARY KEY (id, line))",
            "CREATE TABLE shop.lcs (id int PRIMARY KEY, v text) WITH compaction = {'class': 'LeveledCompactionStrategy'}",
            "CREATE TABLE shop.empty (id int PRIMARY KEY, v text)"):
        connection.query(statement)
    for key in range(200):
        connection.query(f"INSERT INTO shop.orders (id, line, v) VALUES ({key % 50}, {key}, '{'x' * 100}')")
        connection.query(f"INSERT INTO shop.lcs (id, v) VALUES ({key}, 'v')")
    for key in range(20):
        connection.query(f"SELECT * FROM shop.orders WHERE id = {key}")


def check_cluster(checks, address):
    ip = re.escape(address)
    title = r"--  Address +Load +Tokens  Owns \(effective\)  Host ID +Rack *"
    row = rf"UN  {ip}  {SIZE} +\d+ +100\.0% +{UUID}  rack1"
    head = ["Datacenter: datacenter1", "=======================", "Status=Up/Down",
            r"\|/ State=Normal/Leaving/Joining/Moving"]
    checks.matches("status shop", *head, title, row, "")
    checks.matches("status -pp shop", *head, title, row.replace(ip, rf"{ip}:\d+"), "")
    checks.prints("status nosuch", "\nError: The keyspace nosuch, does not exist\n", 1)
    local = "Note: Ownership values for keyspaces with LocalStrategy are meaningless"
    checks.matches("status system", *head, title.replace(r" \(effective\)", ""), row.replace(r"100\.0%", r"\?"), "", local)
    row_of_ring = rf"{ip} +rack1 +Up     Normal  {SIZE} +%s +{TOKEN} *"
    checks.matches("ring system", "", "Datacenter: datacenter1", "==========", "Address .*", "...", row_of_ring % r"\?",
                   "...", f"  {local}")
    code, out, _ = checks.run("ring shop")
    tokens = re.findall(rf"(?m)^{ip} +rack1 +Up     Normal  {SIZE} +100\.00% +({TOKEN}) *$", out)
    tokens = [int(token[-1] if isinstance(token, tuple) else token) for token in tokens]
    checks.expect("ring shop", code == 0 and tokens == sorted(tokens) and tokens, out)
    checks.matches("info", f"ID                     : {UUID}", "Gossip active          : (true|false)",
                   "Native Transport active: true", f"Load                   : {SIZE}",
                   f"Uncompressed load      : {SIZE}", r"Generation No          : \d+",
                   r"Uptime \(seconds\)       : \d+", r"Heap Memory \(MB\)       : [\d.]+ / [\d.]+",
                   r"Off Heap Memory \(MB\)   : [\d.]+", "Data Center            : datacenter1",
                   "Rack                   : rack1", r"Exceptions             : \d+", "...",
                   r"Percent Repaired       : [\d.]+%",
                   r"Token                  : \(invoke with -T/--tokens to see all \d+ tokens\)",
                   "Bootstrap state        : COMPLETED", "Bootstrap failed       : false",
                   "Decommissioning        : false", "Decommission failed    : false")
    listed = re.findall(rf"(?m)^Token +: ({TOKEN})$", checks.run("info -T")[1])
    checks.expect("info -T lists the tokens of ring", [int(token) for token in listed] == tokens, listed)
    checks.prints("version", "ReleaseVersion: 5.0.9\n")
    checks.matches("describecluster", "Cluster Information:", "\tName: .+", "\tSnitch: [A-Za-z.]+",
                   "\tDynamicEndPointSnitch: (enabled|disabled)",
                   r"\tPartitioner: org\.apache\.cassandra\.dht\.Murmur3Partitioner", "\tSchema versions:",
                   rf"\t\t{UUID}: \[{ip}\]", "", "Stats for all nodes:", "\tLive: 1", "\tJoining: 0", "\tMoving: 0",
                   "\tLeaving: 0", "\tUnreachable: 0", "", "Data Centers: ", "\tdatacenter1 #Nodes: 1 #Down: 0", "",
                   "Database versions:", rf"\t5\.0\.9: \[{ip}:\d+\]", "", "Keyspaces:", "...",
                   r"\tshop -> Replication class: SimpleStrategy \{replication_factor=1\}", "...")
    checks.matches("gossipinfo", f"/{ip}", r"  generation:\d+", r"  heartbeat:\d+", r"  STATUS:\d+:NORMAL,.*", "...",
                   r"  RELEASE_VERSION:\d+:5\.0\.9", "...", rf"  HOST_ID:\d+:{UUID}", "...", r"  TOKENS:\d+:<hidden>", "")


def check_tables(checks):
    checks.prints("flush shop", "")
    out = checks.run("tablestats shop.orders")[1].split("\n")
    names = [line.strip().partition(": ")[0] for line in out if line.startswith("\t\t")]
    checks.expect("tablestats has Cassandra's lines", names == ["Table", *TABLE_LINES], "\n".join(out))
    checks.expect("tablestats begins and ends as Cassandra's",
                  out[:3] == ["Total number of tables: 1", "----------------", "Keyspace: shop"]
                  and out[-3:] == ["", "----------------", ""], out)
    numbers = dict(line.strip().split(": ", 1) for line in out if ": " in line)
    checks.expect("tablestats counts", numbers.get("Local write count") == "200"
                  and numbers.get("Local read count") == "20" and int(numbers.get("SSTable count", 0)) >= 1, numbers)
    table = checks.document("tablestats -F json shop").get("shop", {}).get("tables", {})
    checks.expect("tablestats -F json", set(table) == {"orders", "lcs", "empty"}
                  and table["lcs"]["local_write_count"] == 200 and table["empty"]["local_read_latency_ms"] == "NaN", table)
    checks.matches("tablestats -H -s writes -t 1 shop", r"Total number of tables: 3 \(showing top 1 by writes\)",
                   "----------------", r"\tTable: shop\.(orders|lcs)", "...", rf"\tSpace used \(live\): {SIZE}", "...",
                   "", "----------------")
    checks.prints("tablestats nosuch", "nodetool: Unknown keyspace: nosuch\n" + SEE, 1)
    checks.prints("tablestats shop.nosuch", "nodetool: Unknown tables: [nosuch] in keyspace: shop\n" + SEE, 1)
    head = [r"Percentile      Read Latency     Write Latency          SSTables    Partition Size        Cell Count",
            r"                    \(micros\)          \(micros\)                             \(bytes\)                  "]
    rows = [rf"{name:<10}(?= *[\d.]+ ).{{54}} *\d+ *\d+" for name in PERCENTILES]
    checks.matches("tablehistograms shop orders", "shop/orders histograms", *head, *rows, "")
    checks.matches("tablehistograms shop.empty", "No SSTables exists, unable to .*", "shop/empty histograms", *head,
                   *[f"{name:<10}.{{54}}{'NaN':>18}{'NaN':>18}" for name in PERCENTILES], "")
    checks.prints("tablehistograms shop.nosuch", "nodetool: Unknown table shop.nosuch\n" + SEE, 1)
    checks.matches("proxyhistograms", "proxy histograms", "Percentile .*View Write Latency", r"(?: +\(micros\)){6}",
                   *[rf"{name:<10}(?: *\d+\.\d\d){{6}}" for name in PERCENTILES], "")
    checks.prints("compact shop orders", "")
    checks.prints("compact nosuch", "nodetool: Keyspace [nosuch] does not exist.\n" + SEE, 1)
    checks.prints("flush nosuch", "nodetool: Keyspace [nosuch] does not exist.\n" + SEE, 1)
    checks.prints("flush system_views", "nodetool: Keyspace [system_views] does not exist.\n" + SEE, 1)
    checks.prints("compact shop nosuch", "", 2, "error: Unknown keyspace/cf pair (shop.nosuch)\n")
    checks.prints("flush shop nosuch", "", 2, "error: Unknown keyspace/cf pair (shop.nosuch)\n")


def check_background(checks):
    checks.matches("tpstats", "Pool Name +Active Pending Completed Blocked All time blocked", "...",
                   r"ReadStage +\d+ +\d+ +\d+ +\d+ +\d+ *", "...", "",
                   r"Latencies waiting in queue \(micros\) per dropped message types",
                   "Message type +Dropped     50% +95% +99% +Max *", "...")
    checks.expect("tpstats -F json", "ReadStage" in checks.document("tpstats -F json").get("ThreadPools", {}))
    checks.matches("compactionstats", r"concurrent compactors            \d+ *", r"pending tasks                    \d+ *",
                   "...", r"compactions completed            \d+ *", r"data compacted                   \d+ *",
                   r"compressed data compacted        \d+ *", r"compactions aborted              \d+ *",
                   r"compactions reduced              \d+ *", r"sstables dropped from compaction \d+ *",
                   r"15 minute rate                   \d+\.\d\d/minute *", r"mean rate                        \d+\.\d\d/hour *",
                   r"compaction throughput \(MiB/s\)    .*", "...")
    checks.expect("compactionstats --format json", "active" in checks.document("compactionstats --format json"))


def check_compactions(checks):
    checks.prints("getcompactionthroughput", "Current compaction throughput: 64 MB/s\n")
    checks.prints("setcompactionthroughput 16", "")
    checks.prints("getcompactionthroughput -d", "Current compaction throughput: 16.0 MiB/s\n")
    checks.prints("setcompactionthroughput -1", "nodetool: Invalid data rate: value must be non-negative\n" + SEE, 1)
    checks.prints("setcompactionthroughput 64", "")
    checks.prints("disableautocompaction", "")
    checks.prints("statusautocompaction", "not running\n")
    checks.prints("enableautocompaction", "")
    checks.prints("statusautocompaction", "running\n")
    checks.matches("compactionhistory", "Compaction History: ", "id +keyspace_name columnfamily_name compacted_at .*", "...",
                   rf"{UUID} shop +orders +{INSTANT.removesuffix('Z')} \d+ +\d+ +{{}} +{{compaction_type:Major compaction}} *",
                   "...")
    history = checks.document("compactionhistory -F json").get("CompactionHistory", [{}])
    checks.expect("compactionhistory -F json has Cassandra's names",
                  set(history[0]) == {"id", "keyspace_name", "columnfamily_name", "compacted_at", "bytes_in", "bytes_out",
                                      "rows_merged", "compaction_properties"}, history)
    checks.prints("stop COMPACTION", "")
    checks.prints("stop -id 5", "", 2, "nodetool: stop of a single compaction is not in Helenus yet\n")
    checks.prints("statusbinary", "running\n")
    checks.prints("statusgossip", "running\n")


def check_snapshots(checks):
    checks.matches("listsnapshots", "Snapshot Details: ", "...")
    checks.prints("snapshot -t one shop", "Requested creating snapshot(s) for [shop] with snapshot name [one] and options "
                  "{skipFlush=false}\nSnapshot directory: one\n")
    checks.prints("snapshot -t one shop", "Requested creating snapshot(s) for [shop] with snapshot name [one] and options "
                  "{skipFlush=false}\n", 2, "error: Snapshot one already exists.\n")
    checks.prints("snapshot -t two -kt shop.orders,shop.lcs", "Requested creating snapshot(s) for [shop.orders,shop.lcs] "
                  "with snapshot name [two] and options {skipFlush=false}\nSnapshot directory: two\n")
    checks.prints("snapshot -t four -kt shop", "Requested creating snapshot(s) for [shop] with snapshot name [four] and options "
                  "{skipFlush=false}\nSnapshot directory: four\n")
    checks.prints("snapshot -t a/b shop", "", 2, "error: Snapshot name cannot contain /\n")
    checks.prints("snapshot -t three nosuch", "Requested creating snapshot(s) for [nosuch] with snapshot name [three] and "
                  f"options {{skipFlush=false}}\nnodetool: Keyspace nosuch does not exist\n{SEE}", 1)
    title = "Snapshot name Keyspace name Column family name +True size +Size on disk Creation time +Expiration time *"
    row = rf"%s +shop +%s +{SIZE} +{SIZE} +{INSTANT} *"
    checks.matches("listsnapshots", "Snapshot Details: ", title, "...", row % ("one", "orders"), "...",
                   row % ("two", "orders"), "...", "", f"Total TrueDiskSpaceUsed: {SIZE}", "")
    checks.prints("snapshot -t short --ttl 5s shop", "Requested creating snapshot(s) for [shop] with snapshot name [short] and "
                  f"options {{skipFlush=false, ttl=5s}}\nnodetool: ttl for snapshot must be at least 60 seconds\n{SEE}", 1)
    checks.prints("snapshot -t two-hours -sf --ttl 2h shop", "Requested creating snapshot(s) for [shop] with snapshot name "
                  "[two-hours] and options {skipFlush=true, ttl=2h}\nSnapshot directory: two-hours\n")
    expiring = row % ("two-hours", "orders") + rf"{INSTANT}"
    checks.matches("listsnapshots", "Snapshot Details: ", title, "...", expiring, "...", "", f"Total TrueDiskSpaceUsed: {SIZE}", "")
    without = checks.run("listsnapshots -nt")[1]
    checks.expect("listsnapshots -nt", "two-hours" not in without and "one" in without, without)
    checks.prints("clearsnapshot -t two-hours", "Requested clearing snapshot(s) for [all keyspaces] with snapshot name [two-hours]\n")
    checks.prints("clearsnapshot -t one", "Requested clearing snapshot(s) for [all keyspaces] with snapshot name [one]\n")
    tags = {row["tag"] for row in checks.document("listsnapshots --format json").get("snapshots", [])}
    checks.expect("clearsnapshot -t removes one tag", tags == {"two", "four"}, tags)
    checks.prints("clearsnapshot --all shop", "Requested clearing snapshot(s) for [shop] with [all snapshots]\n")
    checks.prints("listsnapshots", "Snapshot Details: \nThere are no snapshots\n")
    checks.prints("clearsnapshot", "nodetool: Specify snapshot name or --all\n" + SEE, 1)


def check_switches(checks):
    checks.matches("getlogginglevels", "", f"{'Logger Name':<50} Log Level", rf"{'ROOT':<50} +[A-Z]+", "...")
    checks.prints("setlogginglevel helenus_storage DEBUG", "")
    checks.matches("getlogginglevels", "...", rf"{'helenus_storage':<50} +DEBUG", "...")
    checks.prints("setlogginglevel", "")
    checks.prints("settraceprobability 0.25", "")
    checks.prints("gettraceprobability", "Current trace probability: 0.25\n")
    checks.prints("settraceprobability 0", "")
    checks.prints("settraceprobability 2", "nodetool: Trace probability must be between 0 and 1\n" + SEE, 1)
    checks.prints("nosuchcommand", "nodetool: Found unexpected parameters: [nosuchcommand]\n" + SEE, 1)
    checks.prints("repair shop", "", 2, "nodetool: repair is not in Helenus yet\n")
    dead = free_port("127.0.0.1")
    found = checks.run("status", port=dead)
    refused = f"nodetool: Failed to connect to '127.0.0.1:{dead}' - ConnectException: 'Connection refused (Connection refused)'.\n"
    checks.expect("status of a dead node", found == (1, "", refused), found)
    code, out, _ = checks.run("help")
    checks.expect("help", code == 0 and "tablestats" in out, out)


def check_drain(checks):
    """Last, because nothing works behind it."""
    checks.prints("drain", "")
    checks.matches("info", "...", "Native Transport active: false", "...")
    checks.prints("flush", "", 2, "error: MemtablePostFlush has shut down\n")
    checks.prints("drain", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "target/debug/helenus")
    parser.add_argument("--address", default="127.0.0.1", help="of the node's CQL")
    parser.add_argument("--admin-port", type=int)
    parser.add_argument("--cql-port", type=int, default=9042)
    parser.add_argument("--keep", action="store_true", help="keep the node's directory")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="helenus-nodetool-"))
    node = None if arguments.admin_port else Node(arguments.binary, arguments.address, directory)
    checks = Checks(arguments.binary, arguments.admin_port or node.admin_port)
    began = time.monotonic()
    try:
        fill(arguments.address, node.cql_port if node else arguments.cql_port)
        check_cluster(checks, arguments.address)
        check_tables(checks)
        check_background(checks)
        check_compactions(checks)
        check_snapshots(checks)
        check_switches(checks)
        check_drain(checks)
    finally:
        if node:
            node.stop()
        if arguments.keep or checks.failed:
            print(f"kept {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    duration = time.monotonic() - began
    print(f"{checks.known} known to fail, in {duration:.0f} s")
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
