"""Where things lie: sources, caches, logs, build output. Everything that a run makes is below .venv, .cache and target."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "tests"
DRIVERS = TESTS / "drivers"
VENV = REPOSITORY / ".venv"
CACHE = Path(os.environ.get("HELENUS_CACHE", REPOSITORY / ".cache"))
LOGS = REPOSITORY / "target" / "test-logs"


@functools.cache
def target():
    """Cargo's target directory, which CARGO_TARGET_DIR or a configuration file may have moved."""
    described = subprocess.run(["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"], cwd=REPOSITORY,
                               capture_output=True, text=True, check=True)
    return Path(json.loads(described.stdout)["target_directory"])


def binary():
    return target() / "debug" / "helenus"


def caches():
    """Variables that keep what Go and Node download below .cache."""
    go_flags = f"{os.environ.get('GOFLAGS', '')} -modcacherw".strip()  # Or `rm -rf .cache` fails on read-only files.
    return {"GOMODCACHE": str(CACHE / "go" / "modules"), "GOCACHE": str(CACHE / "go" / "build"), "GOFLAGS": go_flags,
            "npm_config_cache": str(CACHE / "npm")}


def environment():
    """The environment of every command: caches below .cache, nothing coloured, nothing rewritten."""
    return {**os.environ, **caches(), "HELENUS_CACHE": str(CACHE), "CARGO_TERM_COLOR": "never", "NO_COLOR": "1",
            "INSTA_UPDATE": "no", "PYTHONDONTWRITEBYTECODE": "1", "HELENUS_BINARY": str(binary())}


def python():
    """The Python of the virtual environment, in which the drivers' suites run."""
    return str(VENV / "bin" / "python")


OWN_PYTHON = sys.executable
