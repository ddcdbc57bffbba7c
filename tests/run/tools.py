"""The tools that a run needs from the machine, their oldest version that will do, and the line that installs each."""

import re
import shutil
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    title: str
    version_command: tuple
    version_at_least: tuple  # As many numbers as matter.
    install: str

    def problem(self):
        """None, or what is wrong: the tool is missing, too old, or does not start."""
        if shutil.which(self.version_command[0]) is None:
            return "is missing"
        answer = subprocess.run(self.version_command, capture_output=True, text=True)
        found = re.search(r"(\d+(?:\.\d+)*)", re.sub(r"\x1b\[[0-9;]*m", "", answer.stdout + answer.stderr))
        if answer.returncode != 0 or not found:
            return "does not start"
        version = tuple(int(number) for number in found.group(1).split("."))
        if version < self.version_at_least:
            return f"is {found.group(1)}, needed is {'.'.join(map(str, self.version_at_least))} or newer"
        return None


TOOLS = {
    "rust": Tool("Rust", ("cargo", "--version"), (1, 95), "curl https://sh.rustup.rs -sSf | sh -s -- -y"),
    "c++": Tool("a C++ compiler", ("c++", "--version"), (), "sudo apt-get install -y build-essential"),
    "python": Tool("Python", ("python3", "--version"), (3, 11), "sudo apt-get install -y python3 python3-venv"),
    "java": Tool("Java", ("javac", "-version"), (17,), "sudo apt-get install -y openjdk-17-jdk-headless"),
    "maven": Tool("Maven", ("mvn", "--version"), (3, 6), "sudo apt-get install -y maven"),
    "go": Tool("Go", ("go", "version"), (1, 24), "see https://go.dev/doc/install (1.24 or newer)"),
    "node": Tool("Node", ("node", "--version"), (20, 14), "see https://nodejs.org/en/download (20.14 or newer)"),
}


def missing(names):
    """{name: problem} of those that will not do."""
    problems = {name: TOOLS[name].problem() for name in sorted(names)}
    return {name: problem for name, problem in problems.items() if problem}
