"""Runs the unmodified cqlsh from PyPI against HELENUS_HOST:HELENUS_PORT, by arguments or through a terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

HOST = os.environ.get("HELENUS_HOST", "127.0.0.1")
PORT = os.environ.get("HELENUS_PORT", "9042")
CQLSH = str(Path(sys.executable).parent / "cqlsh")
KEYSPACE = "drivers_cqlsh"
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|[()][A-Z0-9]|[=>])|\r")
SHELL_SECS = 60


class Shell:
    """cqlsh with a home directory of its own: no history, no cqlshrc of the person who runs the tests."""

    def __init__(self, home):
        self.home = home
        self.environment = {**os.environ, "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
        self.arguments = [CQLSH, "--no-color", "--request-timeout", "30", "--connect-timeout", "30"]

    def run(self, text, *arguments, keyspace=KEYSPACE, ok=True):
        """What cqlsh prints for these statements (output, errors); fails if it says anything on standard error."""
        chosen = ["-k", keyspace] if keyspace else []
        if text and not text.rstrip().endswith(";"):
            text += ";"
        done = subprocess.run([*self.arguments, *chosen, *arguments, HOST, PORT], input=text, cwd=self.home, text=True,
                              env=self.environment, capture_output=True, timeout=SHELL_SECS)
        errors = "\n".join(line for line in done.stderr.splitlines() if "cqlsh was built against" not in line).strip()
        output = "\n".join(line for line in done.stdout.splitlines() if "cqlsh was built against" not in line).strip("\n")
        if ok:
            assert (errors, done.returncode) == ("", 0), f"{errors}\n{output}"
            return output
        assert errors, f"no error, but:\n{output}"
        return errors

    def terminal(self):
        return Terminal([*self.arguments, "--disable-history", "-k", KEYSPACE, HOST, PORT], self.environment, self.home)


class Terminal:
    """cqlsh as a person sees it: a prompt, pages, and keys."""

    PROMPT = f"cqlsh:{KEYSPACE}> "

    def __init__(self, command, environment, home):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=home,
                                        close_fds=True, start_new_session=True)
        os.close(slave)
        self.seen = ""
        self.until(self.PROMPT)

    def until(self, words):
        """Reads up to and with `words`; answers everything that came before them."""
        deadline = time.monotonic() + SHELL_SECS
        while words not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"waited for {words!r}, saw {self.seen!r}")
            try:
                self.seen += ESCAPES.sub("", os.read(self.master, 65536).decode(errors="replace"))
            except OSError as error:
                raise AssertionError(f"cqlsh ended; it printed {self.seen!r}") from error
        before, _, self.seen = self.seen.partition(words)
        return before

    def ask(self, line, until=None):
        os.write(self.master, (line + "\n").encode())
        return self.until(until or self.PROMPT)

    def close(self):
        os.write(self.master, b"EXIT\n")
        try:
            return self.process.wait(timeout=20)
        finally:
            self.process.kill()
            os.close(self.master)


@pytest.fixture(scope="session")
def shell(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("home"))
    shell.run(f"""DROP KEYSPACE IF EXISTS {KEYSPACE};
        CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}};
        USE {KEYSPACE};
        CREATE TYPE address (street text, number int);
        CREATE TABLE people (id int PRIMARY KEY, name text, home frozen<address>, tags set<text>);
        INSERT INTO people (id, name, home, tags) VALUES (1, 'Ann', {{street: 'Long Street', number: 7}}, {{'a', 'b'}});
        INSERT INTO people (id, name) VALUES (2, 'Bob');
        CREATE TABLE readings (p int, c int, v text, PRIMARY KEY (p, c)) WITH CLUSTERING ORDER BY (c DESC)
            AND comment = 'for cqlsh';
        """ + "".join(f"INSERT INTO readings (p, c, v) VALUES (1, {c}, 'v{c}');" for c in range(130)), keyspace=None)
    yield shell
    shell.run(f"DROP KEYSPACE {KEYSPACE};", keyspace=None)
