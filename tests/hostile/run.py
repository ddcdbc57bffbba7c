#!/usr/bin/env python3
"""Hostile clients against a node of its own: errors or closed connections, never a crash, a hang or unbounded memory.

    tests/hostile/run.py [--binary target/debug/helenus] [--only NAME ...] [--seed N [--case N]] [--scale FACTOR]

One line a check, `N passed, N failed` at the end. Random cases print what replays them. Beside every scenario an
innocent client writes and reads; afterwards it must have got all its answers and the log must show no defect.
Needs Python's standard library only.
"""

import argparse
import os
import random
import resource
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

from hostile.bystander import Bystander, percentile  # noqa: E402
from hostile.client import Client  # noqa: E402
from hostile.node import Node, StartFailed  # noqa: E402
from hostile.report import Report  # noqa: E402
from hostile.scenarios import (claims, envelopes, logins, paging, prepared, readers, refusals, statements, stops,  # noqa: E402
                               streams)
from hostile.world import MEMORY_BYTES, World, create_schema  # noqa: E402

#: Scenarios on a node without authentication: name, seconds that it may use up, functions.
OPEN = [
    ("claims", 0, [claims.claimed_body_lengths_allocate_nothing, claims.strangers_may_send_64_kib,
                   claims.messages_over_the_limit_are_refused_and_the_connection_goes_on,
                   claims.lengths_inside_bodies_are_checked_before_memory_is_taken, claims.compressed_bombs_are_refused,
                   claims.broken_checksums_end_the_connection_with_cassandras_words]),
    ("envelopes", 15, [envelopes.every_envelope_is_answered_once_after_startup]),
    ("streams", 8, [streams.damaged_streams_end_in_an_error_or_a_closed_connection]),
    ("statements", 0, [statements.deep_and_long_statements_are_answered, statements.numbers_that_unfold_are_bounded,
                       statements.values_that_lie_about_their_contents_are_refused]),
    ("prepared", 0, prepared.SCENARIOS),
    ("paging", 6, paging.SCENARIOS),
    ("readers", 8, readers.SCENARIOS),
]

#: Scenarios on a node with PasswordAuthenticator.
GUARDED = [("logins", 5, logins.SCENARIOS)]

#: Scenarios that start nodes themselves.
ALONE = [("refusals", 0, refusals.SCENARIOS), ("stops", 0, stops.SCENARIOS)]


def main():
    options = parse_options()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # The storm of logins is a descriptor each.
    report = Report()
    seed = options.seed
    print(f"seed {seed}, {options.binary}")
    started = time.monotonic()
    wanted = [name for name, _, _ in OPEN + GUARDED + ALONE if not options.only or name in options.only]
    if any(name in wanted for name, _, _ in OPEN):
        run_group(options, report, [row for row in OPEN if row[0] in wanted], settings=prepared.SETTINGS)
    if any(name in wanted for name, _, _ in GUARDED):
        run_group(options, report, [row for row in GUARDED if row[0] in wanted], settings=logins.SETTINGS)
    for name, _, functions in ALONE:
        for function in functions if name in wanted else ():
            report.scenario = name
            guarded(report, lambda: function(options.binary, report))
    print(f"{time.monotonic() - started:.0f} s")
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    default = os.environ.get("HELENUS_BINARY", HERE.parent.parent / "target" / "debug" / "helenus")
    parser.add_argument("--binary", default=default, type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of scenarios")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("HELENUS_SEED", random.SystemRandom().randrange(10**6))))
    parser.add_argument("--case", type=int, help="only this random case of the one scenario named by --only")
    parser.add_argument("--scale", type=float, default=1.0, help="times the usual length of random scenarios and size of the storm")
    options = parser.parse_args()
    if not options.binary.exists():
        parser.error(f"{options.binary} does not exist: cargo build -p helenus-helenus")
    return options


def run_group(options, report, scenarios, settings):
    """The scenarios one after another on one node, started anew when one has killed it."""
    node = login = None
    try:
        for name, seconds, functions in scenarios:
            report.scenario = name
            if node is None or not node.is_alive():
                node and node.__exit__()
                node = Node(options.binary, settings, ["--memory", f"{MEMORY_BYTES >> 20}MiB"])
                node.start()
                login = logins.superuser(node) if settings is logins.SETTINGS else None
                with Client(node.port, timeout_secs=30) as client:
                    client.startup()
                    login and client.login(*login)
                    create_schema(client)
            bystander = Bystander(node.port, login)
            complaints = len(node.complaints())
            world = World(node, report, options.seed, name, seconds * options.scale, options.case, options.scale, login)
            world.bystander = bystander
            before = time.monotonic()
            for function in functions:
                guarded(report, lambda: function(world))
            bystander.stop()
            judge(report, node, bystander, complaints, time.monotonic() - before)
    except StartFailed as error:
        report.check("the node starts", False, error)
    finally:
        node and node.__exit__()


def judge(report, node, bystander, complaints, seconds):
    """What must hold after every scenario."""
    report.check("the process is alive", node.is_alive(), f"exit code {node.process.poll()}: {node.log_text()[-1500:]}")
    fresh = node.complaints()[complaints:]
    report.check("the log shows no defect", not fresh, f"{len(fresh)} lines, first: {(fresh or [''])[0][:500]}")
    latencies, problems = bystander.take()
    report.check("the innocent client got its answers", latencies and not problems, f"{len(problems)} problems: {problems[:2]}")
    report.note(f"{seconds:.0f} s, {len(latencies)} answers beside, p50 {percentile(latencies, 0.5) * 1000:.0f} ms, "
                f"p99 {percentile(latencies, 0.99) * 1000:.0f} ms, {node.rss_bytes() >> 20} MiB resident")


def guarded(report, call):
    """A scenario that breaks counts as failed and does not end the run."""
    try:
        call()
    except StartFailed as error:
        report.check("the node starts", False, error)
    except Exception as error:  # Whatever a hostile conversation raised in our own client: say it, go on.
        import traceback
        report.check("the scenario ran to its end", False, f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}")


if __name__ == "__main__":
    sys.exit(main())
