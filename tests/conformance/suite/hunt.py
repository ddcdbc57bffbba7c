"""Looks for answers that differ: the same random statements to two live servers, side by side.

A round is one seed: a keyspace of its own on both, the statements of `generate`, all answers compared as `compare` does.
After a difference in a write the tables hold different rows, so the first difference of a round is the one to look at.
"""

import re
from concurrent.futures import ThreadPoolExecutor

from .generate import Generator
from .session import Session

# Defects of the first server (an exception of Java, a read that failed inside, a paging state of its own that it does not
# take back): nothing to be equal to.
DEFECT = re.compile(r"\s*(differs: )?error 0x(0000|1[35]00|000a 'Invalid value for the paging state') ?")


class Round:
    """What `Session` needs of a case."""

    extra_keyspaces = ()

    def __init__(self, seed, count):
        self.keyspace = f"hunt_{seed}"
        self.statements = list(Generator(seed).statements(count))


def hunt_round(seed, count, servers, timeout_secs):
    """[(statement, answer of the first, answer of the second)] of what differs, the round, and how many were refused."""
    case = Round(seed, count)
    with ThreadPoolExecutor(max_workers=2) as pool:
        runs = [pool.submit(Session(case, host, port, None, timeout_secs).run) for host, port in servers]
        first, second = [run.result() for run in runs]
    differing = [(statement, expected, actual)
                 for (statement, expected), (_, actual) in zip(first, second)
                 if _same_names(expected) != _same_names(actual) and not any(DEFECT.match(line) for line in expected)]
    refused = sum(lines[0].startswith("error") for _, lines in first)
    return case, differing, refused


def _same_names(lines):
    """Cassandra calls `to_json` by the name under which its process first heard of it."""
    return [line.replace("system.tojson(", "system.to_json(") for line in lines]
