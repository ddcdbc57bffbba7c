#!/usr/bin/env python3
"""Runs every test of the project and prints one summary. Sets up what it needs in .venv, .cache and target by itself.

    run.py                     all suites, in lanes side by side
    run.py --only NAME,...     these
    run.py --list              their names
    run.py --soak              the long runs: crash loops, simulation and fuzzing for hours

The suites of a lane run one after another; what cargo runs and what needs nodes are lanes of their own, so that both of
two cores have work. Each suite's output is in target/test-logs/NAME.log; when it fails its end is printed. The last line is
`N passed, N failed, N skipped` over single tests. With CI=true in the environment a skipped test is a failed run.
"""

import argparse
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
if sys.version_info < (3, 11):
    sys.exit("run.py: Python 3.11 or newer is needed: sudo apt-get install -y python3 python3-venv")

from run import command, places, tools  # noqa: E402
from run.command import Command  # noqa: E402
from run.counts import Counts, count  # noqa: E402
from run.node import Cassandra, Helenus, StartFailed  # noqa: E402
from run.preparations import PREPARATIONS, Prepared  # noqa: E402
from run.suites import SOAK_LIMIT_SECS, SUITES  # noqa: E402

SOAKED = ("crash", "simulation", "fuzz")
TAIL_LINES = 60


@dataclass
class Result:
    name: str
    outcome: str  # "ok", "FAILED" or "SKIPPED"
    reason: str
    seconds: float
    counts: Counts


class Run:
    def __init__(self, suites, soak):
        self.suites, self.soak = suites, soak
        self.environment = None
        self.servers = {}
        self.prepared = None
        self.results = []
        self.lock = threading.Lock()  # Of the results and of what is printed together.
        self.started = time.monotonic()

    def go(self):
        wanted = {name for suite in self.suites if suite.directory.exists() for name in suite.prepare}
        needed = {tool for name in wanted for tool in PREPARATIONS[name].tools} | {"rust"}
        missing = tools.missing(needed)
        for name, problem in missing.items():
            print(f"{tools.TOOLS[name].title} {problem}. Install it with:\n    {tools.TOOLS[name].install}", flush=True)
        if "rust" in missing:
            return 1
        self.environment = places.environment()
        self.servers = {server.title: server for server in (Helenus(self.environment), Cassandra(self.environment))}
        places.LOGS.mkdir(parents=True, exist_ok=True)
        for name in [suite.name for suite in self.suites] + [f"prepare-{name}" for name in wanted] + [
                f"node-{server}" for server in self.servers]:
            (places.LOGS / f"{name}.log").unlink(missing_ok=True)
        self.lacking = {name: [tool for tool in PREPARATIONS[name].tools if tool in missing] for name in wanted}
        self.prepared = Prepared({name for name, tools_ in self.lacking.items() if not tools_}, self.environment)
        try:
            lanes = [threading.Thread(target=self.run_lane, args=[lane], daemon=True)
                     for lane in dict.fromkeys(suite.lane for suite in self.suites)]
            for lane in lanes:
                lane.start()
            for lane in lanes:
                lane.join()
        finally:
            self.prepared.stopping = True
            command.end_all()
            stopped = [problem for problem in (server.stop() for server in self.servers.values()) if problem]
        if stopped and not any("the node ended" in result.reason for result in self.results):
            self.record(Result("shutdown", "FAILED", "; ".join(stopped), 0.0, Counts(failed=1)))
        return self.summarise()

    def run_lane(self, lane):
        suites = [suite for suite in self.suites if suite.lane == lane]
        for number, suite in enumerate(suites):
            if self.prepared.stopping:
                return
            try:
                result = self.run_suite(suite)
            except Exception as error:  # Whatever it was: the run must not end as if the suite had passed.
                result = Result(suite.name, "FAILED", f"{type(error).__name__}: {error}", 0.0, Counts(failed=1))
            self.record(result)
            server = self.servers.get(suite.server)
            if suite.server == Cassandra.title and all(later.server != suite.server for later in suites[number + 1:]):
                server.stop()  # A JVM takes memory and time also when nobody asks it.

    def run_suite(self, suite):
        if not suite.directory.exists():
            return self.skipped(suite, f"{suite.directory.relative_to(places.REPOSITORY)} does not exist")
        for name in suite.prepare:
            if self.lacking[name]:
                return self.skipped(suite, " and ".join(tools.TOOLS[tool].title for tool in self.lacking[name]) + " missing")
        for name in suite.prepare:
            problem = self.prepared.wait(name)
            if problem:
                self.print_tail(Prepared.log(name))
                return Result(suite.name, "FAILED", f"preparing {name}: {problem}", 0.0, Counts(failed=1))
        server = self.servers.get(suite.server)
        started = time.monotonic()
        print(f"{suite.name}: {suite.what} ...", flush=True)
        try:
            if server:
                server.start()
        except StartFailed as error:
            self.print_tail(server.log)
            return Result(suite.name, "FAILED", str(error), time.monotonic() - started, Counts(failed=1))
        log = places.LOGS / f"{suite.name}.log"
        problem = self.run_commands(suite, server, log)
        counts = count(log.read_text(errors="replace")) if log.exists() else Counts()
        if server and not server.is_alive():
            problem = f"the node ended during the suite{'; ' + problem if problem else ''}"
            self.print_tail(server.log)
        if not problem and counts.failed:
            problem = f"{counts.failed} tests failed"
        if problem:
            self.print_tail(log)
            counts += Counts(failed=0 if counts.failed else 1)
        elif counts.total == 0:
            counts = Counts(passed=1)
        return Result(suite.name, "FAILED" if problem else "ok", problem or "", time.monotonic() - started, counts)

    def run_commands(self, suite, server, log):
        """Runs the suite's commands until one fails; the time limit is for all together."""
        variables = server.variables() if server else {}
        deadline = time.monotonic() + (SOAK_LIMIT_SECS if self.soak else suite.limit_secs)
        commands = suite.commands(self.soak)
        if not commands:
            return "nothing to run"
        problems = []
        for one in commands:
            words = tuple(word.format(**variables) if word.startswith("{HELENUS_") else word for word in one.words)
            filled = Command(words, one.directory, {**one.environment, **variables})
            problem = command.run(filled, self.environment, log, max(1.0, deadline - time.monotonic()))
            if problem:
                problems.append(problem)
        return "; ".join(dict.fromkeys(problems)) or None

    @staticmethod
    def skipped(suite, reason):
        return Result(suite.name, "SKIPPED", reason, 0.0, Counts(skipped=1))

    def record(self, result):
        took = f" in {result.seconds:.0f} s" if result.outcome != "SKIPPED" else ""
        with self.lock:
            self.results.append(result)
            print(f"{result.name}: {result.outcome}{took} {result.reason}".rstrip(), flush=True)

    def print_tail(self, path):
        if not path.exists():
            return
        lines = path.read_text(errors="replace").splitlines()
        with self.lock:
            print(f"--- the end of {path.relative_to(places.REPOSITORY)}")
            print(*lines[-TAIL_LINES:], sep="\n")
            print("---", flush=True)

    def summarise(self):
        order = {suite.name: number for number, suite in enumerate(SUITES)}
        self.results.sort(key=lambda result: order.get(result.name, len(order)))
        rows = [("suite", "result", "passed", "failed", "skipped", "seconds", "")]
        rows += [(result.name, result.outcome, str(result.counts.passed), str(result.counts.failed), str(result.counts.skipped),
                  f"{result.seconds:.1f}", result.reason) for result in self.results]
        rows += [(f"(prepare {name})", "FAILED" if self.prepared.problems[name] else "ok", "", "", "", f"{seconds:.1f}",
                  self.prepared.problems[name] or "") for name, seconds in sorted(self.prepared.seconds.items())]
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        print()
        for row in rows:
            left = f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}"
            print(left, *(f"{row[column]:>{widths[column]}}" for column in range(2, 6)), row[6], sep="  ")
        total = sum((result.counts for result in self.results), Counts())
        in_ci = os.environ.get("CI") == "true"
        print(f"\n{(time.monotonic() - self.started) / 60:.1f} minutes")
        if in_ci and total.skipped:
            print("a skipped test is a failure in CI")
        print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
        return 1 if total.failed or any(result.outcome == "FAILED" for result in self.results) or (in_ci and total.skipped) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME,...", help="run only these suites")
    parser.add_argument("--list", action="store_true", help="print the suites and end")
    parser.add_argument("--soak", action="store_true", help=f"only {', '.join(SOAKED)}, for hours")
    arguments = parser.parse_args()
    if arguments.list:
        width = max(len(suite.name) for suite in SUITES)
        for suite in SUITES:
            print(f"{suite.name:<{width}}  {suite.what}")
        return 0
    names = arguments.only.split(",") if arguments.only else [suite.name for suite in SUITES if not arguments.soak or suite.name in SOAKED]
    unknown = set(names) - {suite.name for suite in SUITES}
    if unknown:
        parser.error(f"no suite named {', '.join(sorted(unknown))}; see --list")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ends nodes and builds, as Ctrl-C does.
    try:
        return Run([suite for suite in SUITES if suite.name in names], arguments.soak).go()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
