"""Node: one Helenus process of our own, with its data in a temporary directory, and what /proc tells about it."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

START_LIMIT_SECS = 60


class StartFailed(Exception):
    """The process ended, or said nothing, before it was ready."""


def free_port(address="127.0.0.1"):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def command(binary, directory, port, settings=(), extra=(), address="127.0.0.1", admin_port=0):
    words = [str(binary), "start", "--data-dir", str(directory), *(["--address", address] if address else []), "--cql-port", str(port),
             "--admin-port", str(admin_port), "--set", "native_shard_aware_transport_port=0"]
    for setting in settings:
        words += ["--set", setting]
    return words + list(extra)


class Node:
    def __init__(self, binary, settings=(), extra=(), address="127.0.0.1", admin_port=0):
        self.binary = binary
        self.settings = settings
        self.extra = extra
        self.address = address
        self.root = Path(tempfile.mkdtemp(prefix="helenus-hostile-"))
        self.directory = self.root / "data"
        self.log_path = self.root / "log"
        self.port = free_port()
        self.admin_port = admin_port
        self.process = None
        self.peak_bytes = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def start(self):
        words = command(self.binary, self.directory, self.port, self.settings, self.extra, self.address, self.admin_port)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        skipped = self.log_text().count("\nready:")
        until = time.monotonic() + START_LIMIT_SECS
        while self.log_text().count("\nready:") == skipped:
            if self.process.poll() is not None or until < time.monotonic():
                raise StartFailed(f"the node did not get ready (exit code {self.process.poll()}):\n{self.log_text()[-3000:]}")
            time.sleep(0.02)
        threading.Thread(target=self._sample, args=[self.process], daemon=True).start()

    def _sample(self, process):
        while process.poll() is None:
            self.peak_bytes = max(self.peak_bytes, self.rss_bytes())
            time.sleep(0.05)

    def reset_peak(self):
        self.peak_bytes = 0
        return self.rss_bytes()

    def is_alive(self):
        return self.process.poll() is None

    def rss_bytes(self):
        """Resident memory; 0 once the process is gone."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def open_files(self):
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except OSError:
            return 0

    def log_text(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def complaints(self):
        """Log lines that no hostile client may cause: panics and defects of the server."""
        words = ("panicked", "ERROR", "defect of Helenus", "failed inside the server")
        return [line for line in self.log_text().splitlines()
                if any(word in line for word in words) and "java.lang.ArithmeticException" not in line]

    def stop(self, limit_secs=30):
        """SIGTERM; answers (exit code or None when it did not end in time, seconds it took)."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(limit_secs)
        except subprocess.TimeoutExpired:
            code = None
            self.process.kill()
            self.process.wait()
        return code, time.monotonic() - started
