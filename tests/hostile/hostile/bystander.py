"""Bystander: an innocent client beside every scenario, which must keep getting its answers."""

import threading
import time

from .bodies import Rows
from .client import Client, Closed, Nonsense, Refused, Silent

PAUSE_SECS = 0.01

#: An answer that takes longer than this counts as none. Debug builds on two busy cores are slow, hangs are much slower.
ANSWER_LIMIT_SECS = 8


class Bystander:
    """Writes and reads back one row again and again until it is stopped."""

    def __init__(self, port, login=None):
        self.port = port
        self.login = login
        self.latencies = []
        self.problems = []
        self.lock = threading.Lock()
        self.stopping = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def take(self):
        """(seconds each answer took, problems) since the last call."""
        with self.lock:
            taken = self.latencies, self.problems
            self.latencies, self.problems = [], []
        return taken

    def stop(self):
        self.stopping = True
        self.thread.join(ANSWER_LIMIT_SECS + 2)

    def _run(self):
        number = 0
        client = None
        while not self.stopping:
            started = time.monotonic()
            try:
                if client is None:
                    client = self._connect()
                number += 1
                if number % 4 == 0:
                    client.query(f"INSERT INTO hostile.t (k, v) VALUES (-1, 'bystander {number}')")
                else:
                    rows = Rows(client.query("SELECT v FROM hostile.t WHERE k = -1")).rows
                    expected = f"bystander {number - number % 4}".encode()
                    if 4 < number and rows != [(expected,)]:
                        self._problem(f"read {rows}, wrote {expected}")
                with self.lock:
                    self.latencies.append(time.monotonic() - started)
            except (Closed, Silent, Nonsense, Refused) as error:
                if not self.stopping:
                    self._problem(f"{type(error).__name__} after {time.monotonic() - started:.1f} s: {error}")
                client, number = None, 0
                time.sleep(0.2)
            time.sleep(PAUSE_SECS)

    def _connect(self):
        client = Client(self.port, timeout_secs=ANSWER_LIMIT_SECS)
        client.startup()
        if self.login:
            answer = client.login(*self.login)
            if answer.code is not None:
                raise Refused(answer)
        return client

    def _problem(self, text):
        with self.lock:
            self.problems.append(text)


def percentile(values, share):
    """0.0 without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
