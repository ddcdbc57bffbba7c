#!/usr/bin/env python3
"""Holds the dependencies against deny.toml: their licences and where they come from, as `cargo deny check` would.

    run.py              all packages of Cargo.lock
    run.py self-test    the reader of licence expressions against examples

Prints what is not allowed, and at the end `N passed, N failed`.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
EXAMPLES = (
    ("MIT", True), ("GPL-3.0", False), ("MIT OR GPL-3.0", True), ("MIT AND GPL-3.0", False), ("MIT/GPL-3.0", True),
    ("(MIT OR GPL-3.0) AND ISC", True), ("(GPL-2.0 OR GPL-3.0) AND ISC", False), ("Apache-2.0 WITH LLVM-exception", True),
    ("GPL-2.0 WITH Classpath-exception-2.0 OR MIT", True), ("GPL-3.0 OR MIT AND GPL-3.0", False), ("", False),
)


def is_allowed(expression, allowed):
    """An SPDX expression; the older `A/B` means `A OR B`. AND binds tighter than OR."""
    words = re.findall(r"[()]|[A-Za-z0-9.+-]+", expression.replace("/", " OR "))[::-1]

    def licence():
        if not words:
            return False
        word = words.pop()
        if word == "(":
            inner = alternatives()
            return words.pop() == ")" and inner
        if words and words[-1] == "WITH":
            words.pop()
            word = f"{word} WITH {words.pop()}"
        return word in allowed

    def together():
        holds = licence()
        while words and words[-1] == "AND":
            words.pop()
            holds = licence() and holds
        return holds

    def alternatives():
        holds = together()
        while words and words[-1] == "OR":
            words.pop()
            holds = together() or holds
        return holds

    return alternatives() and not words


def main():
    allowed = set(tomllib.loads((REPOSITORY / "deny.toml").read_text())["licenses"]["allow"])
    if sys.argv[1:] == ["self-test"]:
        checks = [(f"self-test: '{text}'", is_allowed(text, allowed) == expected) for text, expected in EXAMPLES]
    else:
        command = ["cargo", "metadata", "--format-version", "1", "--locked"]
        described = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
        packages = [package for package in json.loads(described)["packages"] if package["source"] is not None]
        checks = [(f"{package['name']} {package['version']}: licence {package['license']}, from {package['source']}",
                   is_allowed(package["license"] or "", allowed) and package["source"] == REGISTRY) for package in packages]
    for what, holds in checks:
        if not holds:
            print(f"FAILED {what}")
    failed = sum(not holds for _, holds in checks)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
