"""The table of suites: a row a suite. To add one, add a row; whatever needs new packages gets a preparation."""

import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

from . import places
from .command import Command
from .places import DRIVERS, OWN_PYTHON, REPOSITORY, TESTS
from .preparations import fuzz_targets

LIMIT_SECS = 300
SOAK_LIMIT_SECS = 6 * 3600
FUZZ_SECS = 60  # All targets together, in an ordinary run.
FUZZ_SOAK_SECS_PER_TARGET = 1800


@dataclass(frozen=True)
class Suite:
    name: str
    what: str
    commands: Callable  # (soak: bool) -> [Command]
    prepare: tuple = ()
    server: Optional[str] = None  # "helenus" or "cassandra": its address is in HELENUS_HOST, HELENUS_PORT, HELENUS_ADMIN_PORT.
    directory: Path = REPOSITORY  # Must exist, or the suite is skipped.
    limit_secs: int = LIMIT_SECS
    lane: str = "nodes"  # Suites of one lane run one after another, in the order of the table.


def fixed(*words, directory=REPOSITORY, environment=None):
    """The same one command, whether it is a soak or not."""
    return lambda soak: [Command(tuple(map(str, words)), directory, environment or {})]


#: Always of the whole workspace: for a part of it cargo chooses other features, and builds all but everything once more.
WORKSPACE_TESTS = ("cargo", "test", "--workspace", "--locked")


def integration_tests(is_wanted):
    """Options that name the integration tests of those crates: `tests/NAME.rs` and `tests/NAME/main.rs`."""
    crates = REPOSITORY / "crates"
    found = [(path.relative_to(crates).parts[0], path.stem) for path in sorted(crates.glob("*/tests/*.rs"))]
    found += [(path.relative_to(crates).parts[0], path.parent.name) for path in sorted(crates.glob("*/tests/*/main.rs"))]
    names = [name for _, name in found]
    assert len(set(names)) == len(names), f"two crates have an integration test of one name: {sorted(names)}"
    return tuple(word for crate, name in found if is_wanted(crate) for word in ("--test", name))


def lint(soak):
    return [Command(("cargo", "fmt", "--all", "--check"), REPOSITORY),
            Command(("cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"), REPOSITORY)]


def licences(soak):
    script = str(TESTS / "licences" / "run.py")
    return [Command((OWN_PYTHON, script, "self-test"), REPOSITORY), Command((OWN_PYTHON, script), REPOSITORY)]


def conformance(soak):
    script = str(TESTS / "conformance" / "run.py")
    address = ("--host", "{HELENUS_HOST}", "--port", "{HELENUS_PORT}")
    return [Command((OWN_PYTHON, script, "self-test"), REPOSITORY),
            Command((OWN_PYTHON, script, "compare", *address), REPOSITORY)]


def oracle_tenth(soak):
    seed = os.environ.get("HELENUS_SEED", str(random.SystemRandom().randrange(1_000_000)))
    return [Command((OWN_PYTHON, str(TESTS / "conformance" / "run.py"), "verify-tenth", "--seed", seed, "--host",
                     "{HELENUS_HOST}", "--port", "{HELENUS_PORT}"), REPOSITORY)]


def pytest(name):
    return fixed(places.python(), "-m", "pytest", ".", directory=DRIVERS / name)


def gocql(version):
    return fixed(places.CACHE / "go" / f"gocql-{version}.test", "-test.v", "-test.timeout=280s", directory=DRIVERS / f"gocql-{version}")


def java(soak):
    classes = DRIVERS / "java" / "target"
    classpath = f"{classes / 'classes'}:{(classes / 'classpath').read_text().strip()}"
    return [Command(("java", "-cp", classpath, "helenus.driver.Main"), DRIVERS / "java")]


def crash(soak):
    kills, per_place = (1000, 200) if soak else (50, 10)  # Two and a half seconds a kill on two busy cores.
    return [Command((OWN_PYTHON, str(TESTS / "crash" / "run.py"), "--binary", str(places.binary()),
                     "--kills", str(kills), "--per-place", str(per_place)), REPOSITORY)]


def fuzz(soak):
    targets = max(1, len(fuzz_targets()))
    workers = min(targets, os.cpu_count() or 1)
    seconds = FUZZ_SOAK_SECS_PER_TARGET * targets // workers if soak else FUZZ_SECS
    return [Command((OWN_PYTHON, str(TESTS / "hostile" / "fuzz.py"), "--seconds", str(seconds)), REPOSITORY)]


def hostile(soak):
    """The same cases in every ordinary run; others, and ten times as many, in a soak."""
    rest = ("--scale", "10") if soak else ("--seed", "1")
    return [Command((OWN_PYTHON, str(TESTS / "hostile" / "run.py"), "--binary", str(places.binary()), *rest), REPOSITORY)]


def memory(soak):
    return [Command((OWN_PYTHON, str(TESTS / "memory" / "run.py"), "--binary", str(places.binary()), "--seconds", "600" if soak else "60"),
                    REPOSITORY)]


def simulation(soak):
    if soak:
        return [Command(("cargo", "test", "-p", "helenus-sim", "--locked", "--release"), REPOSITORY, {"HELENUS_SOAK": "1"})]
    return [Command((*WORKSPACE_TESTS, *integration_tests(lambda crate: crate == "sim")), REPOSITORY)]


SUITES = [
    Suite("rust", "unit, property and golden tests of all crates",
          fixed(*WORKSPACE_TESTS, "--lib", "--bins", *integration_tests(lambda crate: crate != "sim")), ("unit-tests",),
          lane="cargo"),
    Suite("simulation", "seeded worlds with faults", simulation, ("unit-tests",), lane="cargo"),
    Suite("lint", "formatting and clippy, warnings denied", lint, ("unit-tests",), limit_secs=2 * LIMIT_SECS, lane="cargo"),
    Suite("licences", "dependencies may be used and come from crates.io", licences, lane="cargo"),
    Suite("fuzz", "decoders fed with arbitrary bytes", fuzz, ("fuzz",), lane="cargo"),
    Suite("conformance", "the answers that Cassandra 5.0.9 gave, byte for byte", conformance, ("binary",), "helenus"),
    Suite("oracle-tenth", "a random tenth of those answers again, from a live Cassandra", oracle_tenth, ("oracle",), "cassandra"),
    Suite("cqlsh", "unmodified cqlsh", pytest("cqlsh"), ("binary", "venv"), "helenus", DRIVERS / "cqlsh"),
    Suite("python", "unmodified Python driver", pytest("python"), ("binary", "venv"), "helenus", DRIVERS / "python"),
    Suite("java", "unmodified Java driver", java, ("binary", "maven"), "helenus", DRIVERS / "java"),
    Suite("gocql-v1", "unmodified gocql v1", gocql("v1"), ("binary", "gocql-v1"), "helenus", DRIVERS / "gocql-v1"),
    Suite("gocql-v2", "unmodified gocql v2", gocql("v2"), ("binary", "gocql-v2"), "helenus", DRIVERS / "gocql-v2"),
    Suite("node", "unmodified Node driver", fixed("npm", "test", "--silent", directory=DRIVERS / "node"),
          ("binary", "npm"), "helenus", DRIVERS / "node"),
    Suite("rust-scylla", "unmodified Rust driver, and its shard awareness",
          lambda soak: [Command((str(places.target() / "scylla" / "debug" / "helenus-driver-scylla"),), DRIVERS / "rust-scylla")],
          ("binary", "scylla"), "helenus", DRIVERS / "rust-scylla"),
    Suite("sstable", "files exchanged with Cassandra and its tools", fixed(OWN_PYTHON, TESTS / "sstable" / "run.py"),
          ("binary", "oracle"), directory=TESTS / "sstable"),
    Suite("nodetool", "nodetool against a node", fixed(OWN_PYTHON, TESTS / "nodetool" / "run.py", "--binary", places.binary()),
          ("binary",), directory=TESTS / "nodetool"),
    Suite("metrics", "every number of /metrics moves when it should",
          fixed(places.python(), TESTS / "metrics" / "run.py", "--binary", places.binary()),
          ("binary", "venv"), directory=TESTS / "metrics"),
    Suite("memory", "a node written to without a pause stays within its memory", memory, ("binary",)),
    Suite("hostile", "a node stays up and serves others under hostile clients", hostile, ("binary",)),
    Suite("demo", "the main job in small, with a kill in the middle",
          fixed(OWN_PYTHON, TESTS / "demo" / "run.py", "--small", "--binary", places.binary()),
          ("binary", "venv", "demo"), directory=TESTS / "demo"),
    Suite("crash", "a node killed under load keeps what it acknowledged", crash, ("binary",), directory=TESTS / "crash"),
]
