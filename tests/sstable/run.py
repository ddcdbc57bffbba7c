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


def dump(directory):
    return normal(json.loads(run(ORACLE, "tool", "sstabledump", directory / DATA)))


def counts(directory):
    text = run(ORACLE, "tool", "sstablemetadata", "--scan", directory / DATA)
    names = ("Partitions", "Rows", "Cells", "totalColumnsSet", "totalRows", "Minimum timestamp", "Maximum timestamp",
             "Covered clusterings", "First token", "Last token")
    return {name: found.group(1) for name in names if (found := re.search(rf"^{name}: (.*)$", text, re.M))}


def check_tools(name, written, binary):
    original = GOLDEN / name
    if original.is_dir():
        expected, expected_counts = dump(original), counts(original)
    else:
        expected, expected_counts = normal(json.loads(run(binary, "dump", written))), None
    problems = []
    if dump(written) != expected:
        problems.append("sstabledump prints something else")
    found_counts = counts(written)
    if expected_counts is not None and found_counts != expected_counts:
        problems.append(f"sstablemetadata: expected {expected_counts}, found {found_counts}")
    return problems


def cql(ip, classpath, *statements):
    with tempfile.NamedTemporaryFile("w", suffix=".cql") as file:
        file.write("\n".join(statements))
        file.flush()
        return run("java", "-cp", classpath, GOLDEN / "Make.java", ip, file.name)


def check_in_node(names, work, ip):
    """Puts the files under a node's data directory: sstableverify needs to know the table."""
    node, classpath = work / "node", run(ORACLE, "classpath").strip()
    run(ORACLE, "start", "--dir", node, "--ip", ip, "--heap", "1G")
    for script in ("tables.cql", "samples.cql"):
        run("java", "-cp", classpath, GOLDEN / "Make.java", ip, GOLDEN / script)
    statements = [f"TRUNCATE golden.{name};" for name in names if (GOLDEN / name).is_dir()]
    cql(ip, classpath, *statements)
    run(ORACLE, "stop", "--dir", node)
    problems = {}
    for name in names:
        keyspace = "golden" if (GOLDEN / name).is_dir() else "samples"
        directory, = (node / "data" / keyspace).glob(f"{name}-*")
        for old in directory.glob("nb-*"):
            old.unlink()
        for component in (work / "written" / name).iterdir():
            shutil.copy(component, directory)
        done = subprocess.run([ORACLE, "tool", "--dir", str(node), "sstableverify", "-f", "-e", keyspace, name], capture_output=True, text=True)
        if done.returncode != 0 or "succeeded" not in done.stdout + done.stderr:
            problems[name] = [f"sstableverify -e: {(done.stdout + done.stderr)[-1000:]}"]
    return problems


def check_by_cql(names, work, ip):
    node, classpath = work / "node", run(ORACLE, "classpath").strip()
    run(ORACLE, "start", "--dir", node, "--ip", ip, "--heap", "1G")
    asked = [name for name in names if name in ROWS]
    try:
        keyspace = {name: "golden" if (GOLDEN / name).is_dir() else "samples" for name in asked}
        out = cql(ip, classpath, *[f"--count SELECT * FROM {keyspace[name]}.{name}" for name in asked if name != "natives"])
        found = dict(zip([name for name in asked if name != "natives"], re.findall(r"^count (\d+)$", out, re.M)))
        # The driver does not know vectors.
        out = cql(ip, classpath, *["--count SELECT k FROM golden.natives" for name in asked if name == "natives"])
        found |= dict(zip(["natives"], re.findall(r"^count (\d+)$", out, re.M)))
    finally:
        run(ORACLE, "stop", "--dir", node)
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
    for name in names:
        problems[name] = check_tools(name, written / name, binary)
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
