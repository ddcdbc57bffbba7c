"""Servers for the suites: one Helenus node that they share, and a Cassandra as oracle. Both start when first asked for."""

import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from . import places
from .command import end_group

START_LIMIT_SECS = 60
ORACLE_START_LIMIT_SECS = 240


class StartFailed(Exception):
    pass


def free_port(address="127.0.0.1"):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Helenus:
    """A node of the debug build on free ports, with its data in a temporary directory."""

    title = "helenus"

    def __init__(self, environment, host="127.0.0.1", fixed_port=None):
        self.environment = environment
        self.directory = self.process = self.log = None
        self.host, self.port, self.admin_port = host, fixed_port, 0
        self.fixed_port = fixed_port

    def variables(self):
        return {"HELENUS_HOST": self.host, "HELENUS_PORT": str(self.port), "HELENUS_ADMIN_PORT": str(self.admin_port)}

    def start(self):
        if self.is_alive():
            return
        self.stop()
        self.directory = Path(tempfile.mkdtemp(prefix="helenus-tests-"))
        self.port, self.admin_port = self.fixed_port or free_port(self.host), free_port(self.host)
        self.log = places.LOGS / "node-helenus.log"
        command = [str(places.binary()), "start", "--data-dir", str(self.directory / "data"), "--address", self.host,
                   "--cql-port", str(self.port), "--admin-port", str(self.admin_port),
                   "--set", f"native_shard_aware_transport_port={free_port(self.host)}"]
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            try:
                self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL,
                                                env=self.environment, start_new_session=True)
            except OSError as error:
                raise StartFailed(f"{command[0]}: {error.strerror}") from error
        watchdog = threading.Timer(START_LIMIT_SECS, end_group, [self.process])
        watchdog.start()
        ready = any(line.startswith(b"ready:") for line in self.process.stdout)
        watchdog.cancel()
        if not ready:
            self.process.wait()
            raise StartFailed(f"Helenus did not get ready (exit code {self.process.returncode})")
        threading.Thread(target=lambda: [None for _ in self.process.stdout], daemon=True).start()

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Ends the node as an operator would; answers in words what was wrong with that, or None."""
        problem = None
        if self.process is not None:
            if self.process.poll() is not None:
                problem = f"the node ended by itself (exit code {self.process.returncode})"
            else:
                self.process.terminate()
                try:
                    code = self.process.wait(timeout=30)
                    problem = None if code == 0 else f"the node stopped with exit code {code}"
                except subprocess.TimeoutExpired:
                    problem = "the node did not stop within 30 s"
            end_group(self.process)
            self.process = None
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
        return problem


class Cassandra:
    """The oracle: a real Cassandra from tests/oracle/cassandra on a loopback address that nobody uses."""

    title = "cassandra"

    def __init__(self, environment):
        self.environment = environment
        self.directory = None
        self.host, self.port = None, 9042
        self.log = places.LOGS / "node-cassandra.log"

    def variables(self):
        return {"HELENUS_HOST": self.host, "HELENUS_PORT": str(self.port)}

    def start(self):
        if self.directory is not None:
            return
        self.host = free_address()
        self.directory = Path(tempfile.mkdtemp(prefix="helenus-oracle-"))
        command = ["python3", str(places.TESTS / "oracle" / "cassandra"), "start", "--dir", str(self.directory), "--ip", self.host,
                   "--fast", "--set", "auto_snapshot=false", "--wait", str(ORACLE_START_LIMIT_SECS)]
        with self.log.open("ab") as log:
            if subprocess.run(command, stdout=log, stderr=log, env=self.environment).returncode != 0:
                raise StartFailed("Cassandra did not start")

    def is_alive(self):
        return self.directory is not None

    def stop(self):
        if self.directory is not None:
            with self.log.open("ab") as log:
                subprocess.run(["python3", str(places.TESTS / "oracle" / "cassandra"), "stop", "--dir", str(self.directory)],
                               stdout=log, stderr=log, env=self.environment)
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None
        return None


def free_address():
    """A loopback address on which neither CQL nor Cassandra's own ports are taken."""
    for number in range(200, 250):
        address = f"127.0.0.{number}"
        try:
            for port in (9042, 7000):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind((address, port))
            return address
        except OSError:
            continue
    raise StartFailed("no free loopback address for Cassandra")
