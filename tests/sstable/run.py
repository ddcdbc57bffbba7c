#!/usr/bin/env python3
"""Asks Cassandra's own tools what they think of the SSTables that Helenus writes.

Every golden file of crates/sstable/golden is read and written anew by the example write_samples, which also makes a few
files of its own. Then, for each of them:

  - sstabledump prints the same as of the original (of our own ones: the same as our reader);
  - sstablemetadata --scan reads it and counts the same partitions, rows and cells as of the original;
  - sstableverify -e (extended) accepts it, in the data directory of a node that knows the table;
  - after that node's restart, a SELECT by CQL finds the rows.

usage: run.py [--ip 127.0.0.33] [--only NAME ...] [--keep DIR]

environment: HELENUS_ORACLE, the launcher of Cassandra (tests/oracle/cassandra); WRITE_SAMPLES, the built example.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "crates/sstable/golden"
ORACLE = os.environ.get("HELENUS_ORACLE", str(REPOSITORY / "tests/oracle/cassandra"))
DATA = "nb-1-big-Data.db"
# Rows that a SELECT must find; tables that are not named here are only verified.
ROWS = {"simple": 3, "natives": 1, "clustered": 5, "collections": 2, "expiring": 3, "deletions": 2, "counters": 2,
        "wide": 3001, "many": 2, "snappy": 200, "zstd": 200, "plain": 200, "many_partitions": 9000,
        "index_by_offsets": 20000, "mixed_deletions": 2}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"failed ({done.returncode}): {' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def write_samples():
    if "WRITE_SAMPLES" in os.environ:
        return os.environ["WRITE_SAMPLES"]
    run("cargo", "build", "-q", "-p", "helenus-sstable", "--example", "write_samples", cwd=REPOSITORY)
    target = os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")
    return Path(target) / "debug/examples/write_samples"


def normal(value):
    """Without what depends on the place in the file and on the moment."""
    if isinstance(value, dict):
        return {key: normal(part) for key, part in value.items() if key not in ("position", "expired")}
    return [normal(part) for part in value] if isinstance(value, list) else value


class Tools:
    """Cassandra's tools in one JVM; tests/oracle/Tools.java describes the exchange."""

    def __init__(self, *options):
        self.process = subprocess.Popen([ORACLE, "tools", *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def run(self, name, *words):
        """Answers (exit code, stdout, stderr)."""
        self.process.stdin.write("\t".join([f"org.apache.cassandra.tools.{name}", *map(str, words)]).encode() + b"\n")
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        if len(head) != 3:
            raise SystemExit(f"the JVM of Cassandra's tools ended in {name} {' '.join(map(str, words))}")
        code, *lengths = map(int, head)
        return code, *(self.process.stdout.read(length).decode() for length in lengths)

    def output(self, name, *words):
        """What it prints, when it succeeds; else the error, which is not what anybody expects."""
        code, out, err = self.run(name, *words)
        return out if code == 0 else f"exit code {code}: {err[-1000:]}"


def dump(tools, directory):
    text = tools.output("SSTableExport", directory / DATA)
    try:
        return normal(json.loads(text))
    except json.JSONDecodeError:
        return text


def counts(tools, directory):
    text = tools.output("SSTableMetadataViewer", "--scan", directory / DATA)
    names = ("Partitions", "Rows", "Cells", "totalColumnsSet", "totalRows", "Minimum timestamp", "Maximum timestamp",
             "Covered clusterings", "First token", "Last token")
    return {name: found.group(1) for name in names if (found := re.search(rf"^{name}: (.*)$", text, re.M))}


def check_tools(tools, name, written, binary):
    original = GOLDEN / name
    if original.is_dir():
        expected, expected_counts = dump(tools, original), counts(tools, original)
        if not isinstance(expected, list) or not expected_counts:
            return [f"Cassandra's tools do not read the original: {expected} {expected_counts}"]
    else:
        expected, expected_counts = normal(json.loads(run(binary, "dump", written))), None
    problems = []
    if dump(tools, written) != expected:
        problems.append("sstabledump prints something else")
    found_counts = counts(tools, written)
    if expected_counts is not None and found_counts != expected_counts:
        problems.append(f"sstablemetadata: expected {expected_counts}, found {found_counts}")
    return problems


def cql(ip, classpath, *statements):
    with tempfile.NamedTemporaryFile("w", suffix=".cql") as file:
        file.write("\n".join(statements))
        file.flush()
        return run("java", "-cp", classpath, GOLDEN / "Make.java", ip, file.name)


def tables():
    """The statements that make the tables, without those that fill them."""
    lines = [line for script in ("tables.cql", "samples.cql") for line in (GOLDEN / script).read_text().splitlines()]
    return [line for line in lines if re.match(r"(CREATE|ALTER|USE|--many )", line)]


def check_in_node(names, work, ip):
    """Puts the files under a node's data directory: sstableverify needs to know the table."""
    node, classpath = work / "node", run(ORACLE, "classpath").strip()
    run(ORACLE, "start", "--dir", node, "--ip", ip, "--heap", "1G", "--fast")
    cql(ip, classpath, *tables())
    run(ORACLE, "stop", "--dir", node)
    problems = {}
    with Tools("--dir", node) as tools:
        for name in names:
            keyspace = "golden" if (GOLDEN / name).is_dir() else "samples"
            directory, = (node / "data" / keyspace).glob(f"{name}-*")
            for component in (work / "written" / name).iterdir():
                shutil.copy(component, directory)
            code, out, err = tools.run("StandaloneVerifier", "-f", "-e", keyspace, name)
            if code != 0 or "succeeded" not in out + err:
                problems[name] = [f"sstableverify -e: {(out + err)[-1000:]}"]
    return problems


def check_by_cql(names, work, ip):
    node, classpath = work / "node", run(ORACLE, "classpath").strip()
    run(ORACLE, "start", "--dir", node, "--ip", ip, "--heap", "1G", "--fast")
    asked = [name for name in names if name in ROWS]
    # The driver does not know vectors, of which `natives` has one.
    tables = [("k FROM golden.natives" if name == "natives" else
               f"* FROM {'golden' if (GOLDEN / name).is_dir() else 'samples'}.{name}") for name in asked]
    try:
        out = cql(ip, classpath, *[f"--count SELECT {table}" for table in tables])
    finally:
        run(ORACLE, "stop", "--dir", node)
    found = dict(zip(asked, re.findall(r"^count (\d+)$", out, re.M)))
    return {name: [f"SELECT finds {found.get(name)} rows, expected {ROWS[name]}"]
            for name in asked if found.get(name) != str(ROWS[name])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ip", default="127.0.0.33", help="loopback address of the node")
    parser.add_argument("--only", nargs="*", help="names of golden files and samples")
    parser.add_argument("--keep", type=Path, help="work in this directory and leave everything there")
    arguments = parser.parse_args()
    work = arguments.keep or Path(tempfile.mkdtemp(prefix="sstable-"))
    binary = write_samples()
    written = work / "written"
    run(binary, "make", written)
    for original in sorted(path for path in GOLDEN.iterdir() if path.is_dir()):
        run(binary, "rewrite", original, written / original.name)
    names = [path.name for path in sorted(written.iterdir()) if not arguments.only or path.name in arguments.only]
    problems = {}
    with Tools() as tools:
        for name in names:
            problems[name] = check_tools(tools, name, written / name, binary)
            print(f"{'FAIL' if problems[name] else 'ok  '} tools   {name}", flush=True)
    for step, check in (("verify ", check_in_node), ("restart", check_by_cql)):
        found = check(names, work, arguments.ip)
        for name in names:
            problems[name] += found.get(name, [])
            print(f"{'FAIL' if name in found else 'ok  '} {step} {name}", flush=True)
    for name in names:
        for problem in problems[name]:
            print(f"{name}: {problem}", file=sys.stderr)
    if not arguments.keep:
        shutil.rmtree(work)
    return 1 if any(problems.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
