"""What suites need before they can run: builds and packages, each made once, in the background while cargo compiles.

A preparation is a list of commands that are quick when there is nothing to do. The order of the table is the order in
which they run: what only downloads comes first, what compiles comes last.
"""

import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Callable

from . import places
from .command import Command, run
from .places import DRIVERS, REPOSITORY

#: What a build on two cores from nothing may take.
LIMIT_SECS = 1500

#: Coverage for libFuzzer, by flags that the stable compiler has; cargo-fuzz would set the same ones.
FUZZ_FLAGS = " ".join(["--cfg fuzzing", "-Cpasses=sancov-module", "-Ccodegen-units=1", "-Cdebug-assertions"] + [
    f"-Cllvm-args=-sanitizer-coverage-{option}" for option in
    ("level=4", "inline-8bit-counters", "pc-table", "trace-compares")])


@dataclass(frozen=True)
class Preparation:
    tools: tuple
    commands: Callable  # () -> [Command]


def binary():
    yield Command(("cargo", "build", "--locked", "-p", "helenus-helenus"), REPOSITORY)


def unit_tests():
    yield Command(("cargo", "test", "--workspace", "--locked", "--no-run"), REPOSITORY)


def venv():
    if not (places.VENV / "bin" / "pip").exists():
        shutil.rmtree(places.VENV, ignore_errors=True)
        yield Command((sys.executable, "-m", "venv", str(places.VENV)), REPOSITORY)
    yield Command((places.python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement",
                   str(DRIVERS / "python" / "requirements.txt")), REPOSITORY)


def oracle():
    yield Command((sys.executable, str(places.TESTS / "oracle" / "cassandra"), "install"), REPOSITORY)


def npm():
    yield Command(("npm", "ci", "--no-audit", "--no-fund"), DRIVERS / "node")


def maven():
    yield Command(("mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={places.CACHE / 'maven'}", "compile",
                   "dependency:build-classpath"), DRIVERS / "java")


def demo():
    yield Command((sys.executable, str(places.TESTS / "demo" / "run.py"), "--prepare"), REPOSITORY)


def gocql(version):
    def commands():
        yield Command(("go", "mod", "download"), DRIVERS / f"gocql-{version}")
        yield Command(("go", "vet", "."), DRIVERS / f"gocql-{version}")
        yield Command(("go", "test", "-c", "-o", str(places.CACHE / "go" / f"gocql-{version}.test"), "."),
                      DRIVERS / f"gocql-{version}")
    return commands


def scylla():
    yield Command(("cargo", "build", "--locked"), DRIVERS / "rust-scylla", {"CARGO_TARGET_DIR": str(places.target() / "scylla")})


def fuzz_directories():
    return sorted(path.parent for path in (REPOSITORY / "crates").glob("*/fuzz/Cargo.toml"))


def host_triple():
    answer = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in answer.splitlines() if line.startswith("host:"))


def fuzz_targets():
    """[(path of the built target, its name)] of every fuzz crate."""
    built = places.target() / "fuzz" / host_triple() / "release"
    return [(built / source.stem, f"{directory.parent.name}-{source.stem}") for directory in fuzz_directories()
            for source in sorted((directory / "fuzz_targets").glob("*.rs"))]


def fuzz():
    for directory in fuzz_directories():
        # With --target the flags leave build scripts alone, which cannot link against the coverage runtime.
        yield Command(("cargo", "build", "--release", "--target", host_triple()), directory,
                      {"CARGO_TARGET_DIR": str(places.target() / "fuzz"), "RUSTFLAGS": FUZZ_FLAGS})


PREPARATIONS = {
    "venv": Preparation(("python",), venv),
    "npm": Preparation(("node",), npm),
    "gocql-v1": Preparation(("go",), gocql("v1")),
    "gocql-v2": Preparation(("go",), gocql("v2")),
    "oracle": Preparation(("java", "maven"), oracle),
    "maven": Preparation(("java", "maven"), maven),
    "demo": Preparation(("python", "go", "java", "maven"), demo),
    "binary": Preparation(("rust", "c++"), binary),
    "unit-tests": Preparation(("rust", "c++"), unit_tests),
    "scylla": Preparation(("rust", "c++"), scylla),
    "fuzz": Preparation(("rust", "c++"), fuzz),
}

#: Built into one target directory, which cargo locks: one after the other.
IN_WORKSPACE = ("binary", "unit-tests")


class Prepared:
    """Runs the named preparations in two threads: what cargo builds in the workspace, and beside it everything else."""

    def __init__(self, names, environment):
        self.environment = environment
        self.problems = {}  # Of those that failed.
        self.seconds = {}
        self.done = {name: threading.Event() for name in names}
        self.stopping = False
        ordered = [name for name in PREPARATIONS if name in names]
        for in_workspace in (True, False):
            group = [name for name in ordered if (name in IN_WORKSPACE) is in_workspace]
            threading.Thread(target=self._run_all, args=[group], daemon=True).start()

    def _run_all(self, names):
        for name in names:
            started = time.monotonic()
            try:
                self.problems[name] = None if not self.stopping else "interrupted"
                for command in PREPARATIONS[name].commands():
                    problem = run(command, self.environment, self.log(name), LIMIT_SECS)
                    if problem:
                        self.problems[name] = f"{' '.join(command.words[:3])}: {problem}"
                        break
            except Exception as error:  # Whatever it was: the suites that wait must hear of it.
                self.problems[name] = f"{type(error).__name__}: {error}"
            self.seconds[name] = time.monotonic() - started
            self.done[name].set()

    @staticmethod
    def log(name):
        return places.LOGS / f"prepare-{name}.log"

    def wait(self, name):
        """None when it is ready, else what failed."""
        self.done[name].wait()
        return self.problems[name]
