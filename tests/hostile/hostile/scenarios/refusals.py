"""Starts that must be refused: at once, with exit code 1, in words that say what to do, and with the data left as it was."""

import socket
import subprocess
import tempfile
from pathlib import Path

from ..client import Client
from ..node import Node, command, free_port

LIMIT_SECS = 6


def start(binary, directory, extra=(), port=None, settings=()):
    return run(command(binary, directory, port or free_port(), settings, extra))


def run(words):
    """(exit code, or None when it did not end, what it printed)."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        printed, _ = process.communicate(timeout=LIMIT_SECS)
        return process.returncode, printed.decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        printed, _ = process.communicate()
        return None, printed.decode(errors="replace")


def check_refused(report, label, outcome, *expected):
    code, printed = outcome
    is_good = code in (1, 2) and all(words in printed for words in expected) and "panicked" not in printed
    report.check(label, is_good, f"exit code {code}, expected {expected} in: {printed[-600:]}")


def directories_and_ports_in_use_are_refused(binary, report):
    with Node(binary) as node:
        check_refused(report, "a second process on the same directory", start(binary, node.directory), "in use by another", "--data-dir")
        check_refused(report, "a taken port", start(binary, node.root / "new", port=node.port), str(node.port), "--cql-port")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            admin = command(binary, node.root / "new", free_port())
            admin[admin.index("--admin-port") + 1] = str(taken.getsockname()[1])
            check_refused(report, "a taken admin port", run(admin), "--admin-port")
        report.check("the node that runs is not disturbed", node.is_alive())
        code, _ = node.stop()
        report.check("and stops with exit code 0", code == 0, code)
        outcome = start(binary, node.directory, settings=["cluster_name=Elsewhere"])
        check_refused(report, "another cluster's name", outcome, "Saved cluster name Test Cluster != configured name Elsewhere")
        node.start()
        report.check("its own name starts it again", node.is_alive())


def data_of_cassandra_is_left_alone(binary, report):
    with tempfile.TemporaryDirectory(prefix="helenus-hostile-") as root:
        table = Path(root) / "data" / "system_schema" / "tables-afddfb9dbc1e30688056eed6c302ba09"
        table.mkdir(parents=True)
        (table / "nb-1-big-Data.db").write_bytes(b"x")
        before = sorted(path for path in Path(root).rglob("*") if path.is_file())
        check_refused(report, "a directory that Cassandra wrote", start(binary, root), "was written by Apache Cassandra")
        after = sorted(path for path in Path(root).rglob("*") if path.is_file() and path.name != "helenus.lock")
        report.check("its files are untouched", before == after, [str(path) for path in after])


def damaged_metadata_is_refused(binary, report):
    with Node(binary) as node:
        with Client(node.port).established() as client:
            client.query("CREATE KEYSPACE one WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            for number in range(5):
                client.query(f"CREATE TABLE one.t{number} (k int PRIMARY KEY)")
        node.stop()
        log = next((node.directory / "metadata").glob("log-*"))
        whole = log.read_bytes()
        for label, damaged in [("a flipped bit", whole[:len(whole) // 3] + bytes([whole[len(whole) // 3] ^ 1]) + whole[len(whole) // 3 + 1:]),
                               ("zeros in front", bytes(64) + whole[64:]), ("another file", b"#!/bin/sh\n" * 100)]:
            log.write_bytes(damaged)
            check_refused(report, f"a metadata log with {label}", start(binary, node.directory), "metadata")
            report.check("and it is left for whoever repairs it", log.read_bytes() == damaged, "it was changed")
        log.write_bytes(whole)
        node.start()
        report.check("the whole one starts", node.is_alive())


def data_is_not_served_to_everybody_unasked(binary, report):
    with tempfile.TemporaryDirectory(prefix="helenus-hostile-") as root:
        def everywhere(*settings):
            return run(command(binary, Path(root) / "data", free_port(), ("rpc_address=0.0.0.0", *settings), address=None))
        check_refused(report, "0.0.0.0 without an address for clients", everywhere(), "broadcast_rpc_address")
        check_refused(report, "0.0.0.0 without --insecure", everywhere("broadcast_rpc_address=127.0.0.1"), "--insecure")
        path = Path(root) / "open.yaml"
        path.write_text("# rpc_address of Cassandra's own file\nrpc_address: 0.0.0.0\nbroadcast_rpc_address: 127.0.0.1\n")
        words = command(binary, Path(root) / "data", free_port(), (), ["--config", str(path)], address=None)
        check_refused(report, "rpc_address 0.0.0.0 in the file", run(words), "open.yaml:2", "--insecure")
        words = command(binary, Path(root) / "data", free_port(), (), ["--insecure"], address="0.0.0.0")
        check_refused(report, "0.0.0.0 for clients and other nodes", run(words), "broadcast_rpc_address")
    with Node(binary, ["rpc_address=0.0.0.0", "broadcast_rpc_address=127.0.0.1"], ["--insecure"], address=None) as node:
        report.check("0.0.0.0 with --insecure is served", node.is_alive())


#: label, file, what the refusal must say beside the file's name.
WRONG = [
    ("a word for a number", "cluster_name: x\n\nnum_tokens: many\n", (":3:", "num_tokens", "many")),
    ("a number out of range", "num_tokens: 0\n", (":1:", "num_tokens")),
    ("an unknown unit", "# comment\nread_request_timeout: 5 parsecs\n", (":2:", "read_request_timeout", "5 parsecs")),
    ("a negative duration", "write_request_timeout: -2ms\n", (":1:", "write_request_timeout")),
    ("a list for a word", "cluster_name: [a, b]\n", (":1:", "cluster_name")),
    ("an unclosed bracket", "cluster_name: [x\n", (":",)),
    ("a tabulator", "a:\n\t- b\n", (":",)),
    ("a setting twice", "num_tokens: 1\nnum_tokens: 2\n", ("num_tokens",)),
    ("a file of zeros", "\0" * 100, ("",)),
    ("an unknown authenticator", "\nauthenticator: MyOwn\n", (":2:", "authenticator", "MyOwn")),
    ("brackets without end", "a: " + "[" * 100_000, ("",)),
    ("an alias bomb", "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9 if n else ['x'])}]\n" for n in range(12)), ("",)),
    ("a port out of range", "native_transport_port: 70000\n", ("native_transport_port",)),
    ("a size too large", "memory: 99999999999999999999GiB\n", ("memory",)),
]


def wrong_settings_are_refused_with_file_and_line(binary, report):
    with tempfile.TemporaryDirectory(prefix="helenus-hostile-") as root:
        path = Path(root) / "wrong.yaml"
        for label, text, expected in WRONG:
            path.write_text(text)
            check_refused(report, label, start(binary, Path(root) / "data", ["--config", str(path)]), "wrong.yaml", *expected)
        check_refused(report, "a file that does not exist", start(binary, Path(root) / "data", ["--config", f"{root}/none.yaml"]), "none.yaml")
        check_refused(report, "--set of an unknown name", start(binary, Path(root) / "data", settings=["nonsense=1"]), "nonsense")
        check_refused(report, "--set without a value", start(binary, Path(root) / "data", settings=["nonsense"]), "name=value")
        report.check("a refused start makes no data", not (Path(root) / "data" / "metadata").exists(), "it did")
        (Path(root) / "file").write_text("")
        check_refused(report, "a file for a directory", start(binary, Path(root) / "file"), "--data-dir")


def unknown_settings_are_warnings(binary, report):
    with tempfile.TemporaryDirectory(prefix="helenus-hostile-") as root:
        path = Path(root) / "odd.yaml"
        path.write_text("no_such_setting: 3\nread_request_timeout: 4s\n")
        with Node(binary, extra=["--config", str(path)]) as node:
            lines = [line for line in node.log_text().splitlines() if "no_such_setting" in line]
            report.check("an unknown setting is a warning with file and line", len(lines) == 1 and "WARN" in lines[0] and "odd.yaml:1" in lines[0],
                         lines)


SCENARIOS = [directories_and_ports_in_use_are_refused, data_of_cassandra_is_left_alone, damaged_metadata_is_refused,
             data_is_not_served_to_everybody_unasked, wrong_settings_are_refused_with_file_and_line, unknown_settings_are_warnings]
