#!/usr/bin/env python3
"""Runs the integration tests that two drivers ship with themselves, against Cassandra and against Helenus, and compares.

    gocql    the tests of gocql v2, from the module of which tests/drivers/gocql-v2 pins the version
    scylla   the tests of the Rust driver, from the crate of which tests/drivers/rust-scylla pins the version

    run.py [--only gocql,scylla] [--filter NAMES] [--cassandra IP] [--helenus IP]

Without addresses it starts a Cassandra and a debug build of Helenus of its own, fresh ones for each driver, because the tests
leave keyspaces behind that another driver cannot read; with addresses the servers listen on port 9042.
The sources are copied below .cache/upstream, never into the repository. What fails on Cassandra (tests for more nodes, for
ScyllaDB, for containers) is left out. Prints for each driver: passed on Cassandra, of those passed on Helenus, percentage,
and which failed. Logs: target/test-logs/upstream-DRIVER-SERVER.log.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from run import places  # noqa: E402
from run.command import Command, run  # noqa: E402
from run.node import Cassandra, Helenus, free_address  # noqa: E402
from run.preparations import PREPARATIONS  # noqa: E402

PORT = 9042
CASSANDRA_VERSION = "5.0.9"
LIMIT_SECS = 1800
TEST_LIMIT_SECS = 900  # gocql stops itself then, and says where it hung.


def fresh_copy(source, name):
    """The driver's sources below .cache, writable, without what an earlier run left."""
    copy = places.CACHE / "upstream" / name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    return copy


class Gocql:
    name = "gocql"

    def prepare(self, environment):
        listed = subprocess.run(["go", "mod", "download", "-json", "github.com/apache/cassandra-gocql-driver/v2"],
                                cwd=places.DRIVERS / "gocql-v2", env=environment, capture_output=True, text=True, check=True)
        module = json.loads(listed.stdout)
        self.directory = fresh_copy(Path(module["Dir"]), f"gocql-{module['Version']}")

    def command(self, address, only):
        chosen = ("-run", only) if only else ()
        return Command(("go", "test", "-json", "-tags", "cassandra", f"-timeout={TEST_LIMIT_SECS}s", *chosen, ".", "-proto=5", "-rf=1",
                        "-clusterSize=1", "-autowait=2000ms", "-gocql.timeout=60s", f"-gocql.cversion={CASSANDRA_VERSION}",
                        f"-cluster={address}"), self.directory)

    @staticmethod
    def outcomes(text):
        """{test: passed} of the top-level tests."""
        found = {}
        for line in text.splitlines():
            if line.startswith("{"):
                event = json.loads(line)
                if event["Action"] in ("pass", "fail") and "/" not in event.get("Test", "/"):
                    found[event["Test"]] = event["Action"] == "pass"
        return found


class Scylla:
    name = "scylla"

    def prepare(self, environment):
        described = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=places.DRIVERS / "rust-scylla",
                                   env=environment, capture_output=True, text=True, check=True)
        crate = next(package for package in json.loads(described.stdout)["packages"] if package["name"] == "scylla")
        self.directory = fresh_copy(Path(crate["manifest_path"]).parent, f"scylla-{crate['version']}")
        main = self.directory / "tests" / "integration" / "main.rs"
        main.write_text(main.read_text().replace("pub(crate) mod ccm;\n", ""))  # It starts clusters by a tool that is not here.
        with (self.directory / "Cargo.toml").open("a") as manifest:
            manifest.write("\n[workspace]\n")  # Or cargo takes it for a member of the repository around it.

    def command(self, address, only):
        return Command(("cargo", "test", "--features", "full-serialization", "--test", "integration", "--", *([only] if only else []),
                        "--test-threads", "2"), self.directory,
                       {"SCYLLA_URI": f"{address}:{PORT}", "CARGO_TARGET_DIR": str(places.target() / "upstream")})

    @staticmethod
    def outcomes(text):
        return {name: outcome == "ok" for name, outcome in re.findall(r"^test (\S+) \.\.\. (?:.*\s)?(ok|FAILED)$", text, re.MULTILINE)}


def run_suite(driver, server, address, only, environment):
    log = places.LOGS / f"upstream-{driver.name}-{server}.log"
    log.unlink(missing_ok=True)
    problem = run(driver.command(address, only), environment, log, LIMIT_SECS)
    found = driver.outcomes(log.read_text(errors="replace"))
    if not found:
        print(f"{driver.name} on {server}: no test ran ({problem}); see {log}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="gocql,scylla")
    parser.add_argument("--filter", default="", help="a regular expression for gocql, a part of the name for scylla")
    parser.add_argument("--cassandra", metavar="IP")
    parser.add_argument("--helenus", metavar="IP")
    arguments = parser.parse_args()
    environment = places.environment()
    drivers = [driver for driver in (Gocql(), Scylla()) if driver.name in arguments.only.split(",")]
    if not arguments.cassandra:
        for command in PREPARATIONS["oracle"].commands():
            run(command, environment, places.LOGS / "prepare-oracle.log", LIMIT_SECS)
    below = 0
    for driver in drivers:
        driver.prepare(environment)
        expected = outcomes_on(Cassandra(environment), driver, arguments.cassandra, arguments.filter, environment)
        actual = outcomes_on(Helenus(environment, free_address(), PORT), driver, arguments.helenus, arguments.filter, environment)
        wanted = sorted(test for test, passed in expected.items() if passed)
        failed = [test for test in wanted if not actual.get(test)]
        share = 100 * (len(wanted) - len(failed)) / len(wanted) if wanted else 0
        print(f"{driver.name}: {len(wanted)} passed on Cassandra, of those {len(wanted) - len(failed)} on Helenus ({share:.1f} %)")
        for test in failed:
            print(f"    {test}{'' if test in actual else ' (did not run)'}")
        below += len(failed) + (not wanted)
    return 1 if below else 0


def outcomes_on(server, driver, address, only, environment):
    """{test: passed} on the server at `address`, or on `server`, which is started and stopped for it."""
    if address:
        return run_suite(driver, server.title, address, only, environment)
    try:
        server.start()
        return run_suite(driver, server.title, server.host, only, environment)
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
