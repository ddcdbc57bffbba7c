#!/usr/bin/env python3
"""A node that is written to as fast as it can stays within its memory: resident size below --memory and a tenth.

    tests/memory/run.py [--binary target/debug/helenus] [--seconds 60] [--memory 256] [--writers 4] [--set NAME=VALUE]
                        [--watch SECONDS]

Starts a node of its own and writers as processes of their own, each with many requests under way on several connections.
They write different things, because each kind has its own share of overhead in a memtable: large values, tiny rows in
wide partitions, rows of many columns, values over values, collections, deletions. The highest resident size is the
kernel's own count (VmHWM). At the end everything that was acknowledged is counted, the node stops, starts again from its
files and commit log, and must stay within its memory while it recovers, too. Needs Python's standard library only.
"""

import argparse
import itertools
import multiprocessing
import os
import random
import struct
import sys
import time
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "hostile"), str(HERE.parent / "conformance")]

from hostile import bodies  # noqa: E402
from hostile.client import EXECUTE, PREPARE, RESULT, Client, Closed, Silent  # noqa: E402
from hostile.node import Node, free_port  # noqa: E402
from hostile.report import Report  # noqa: E402

MIB = 1 << 20

#: Gauges of /metrics that are parts of the resident size.
SHOWN = ("helenus_request_memory_bytes", "helenus_memtable_bytes", "helenus_chunk_cache_bytes", "helenus_sstable_memory_bytes")
TOLERANCE = 1.1
IN_FLIGHT = 128
CONNECTIONS = 2

#: What the node answers when it cannot take more just now: not a failure of this test.
OVERLOADED, WRITE_TIMEOUT = 0x1001, 0x1100

SCHEMA = [
    "CREATE KEYSPACE m WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE m.large (k bigint PRIMARY KEY, v blob)",
    "CREATE TABLE m.tiny (k int, c bigint, v int, PRIMARY KEY (k, c))",
    "CREATE TABLE m.many (k bigint PRIMARY KEY, " + ", ".join(f"c{number} int" for number in range(20)) + ")",
    "CREATE TABLE m.collected (k int PRIMARY KEY, s map<text, text>)",
]


def long_value(number):
    return struct.pack(">q", number)


#: Name, statement, values of the n-th write by a given source of chance.
WORKLOADS = [
    ("large values", "INSERT INTO m.large (k, v) VALUES (?, ?)",
     lambda number, chance: [long_value(number), chance.randbytes(900)]),
    ("tiny rows in wide partitions", "INSERT INTO m.tiny (k, c, v) VALUES (?, ?, ?)",
     lambda number, chance: [bodies.int_value(chance.randrange(50)), long_value(number), bodies.int_value(1)]),
    ("rows of many columns", "INSERT INTO m.many (k, " + ", ".join(f"c{number}" for number in range(20)) + ") VALUES (?"
     + ", ?" * 20 + ")", lambda number, chance: [long_value(number)] + [bodies.int_value(number & 0xFFFF)] * 20),
    ("elements of collections", "UPDATE m.collected SET s[?] = ? WHERE k = ?",
     lambda number, chance: [b"key %d" % number, chance.randbytes(20).hex().encode(), bodies.int_value(chance.randrange(20_000))]),
    ("values over values", "INSERT INTO m.large (k, v) VALUES (?, ?)",
     lambda number, chance: [long_value(-1 - chance.randrange(1000)), chance.randbytes(10_000)]),
    ("deletions of rows", "DELETE FROM m.tiny WHERE k = ? AND c = ?",
     lambda number, chance: [bodies.int_value(chance.randrange(50)), long_value(-number)]),
]


class Pipeline:
    """One connection with many requests under way. Encodes and counts by itself: the general client would be the bottleneck."""

    def __init__(self, port, text):
        self.client = Client(port, 4, timeout_secs=60).established()
        prepared = bodies.Prepared(4, self.client.ask(PREPARE, bodies.prepare(4, text)).body)
        self.head = struct.pack(">H", len(prepared.id)) + prepared.id + struct.pack(">HB", bodies.ONE, 0x01)
        self.under_way, self.written, self.refused = 0, 0, 0
        self.received = bytearray()

    def fill(self, next_values):
        out = []
        while self.under_way < IN_FLIGHT:
            values = next_values()
            parts = [self.head, struct.pack(">H", len(values))]
            for value in values:
                parts += (struct.pack(">i", len(value)), value)
            body = b"".join(parts)
            out += (struct.pack(">BBhBI", 4, 0, self.under_way, EXECUTE, len(body)), body)
            self.under_way += 1
        self.client.send(b"".join(out))

    def empty(self):
        """Reads until half of the requests are answered; the other half keeps the node busy. Raises what was not expected."""
        while IN_FLIGHT // 2 < self.under_way:
            more = self.client.socket.recv(1 << 16)
            if not more:
                raise Closed("end of stream")
            self.received += more
            at, received = 0, self.received
            while at + 9 <= len(received):
                end = at + 9 + int.from_bytes(received[at + 5:at + 9], "big")
                if len(received) < end:
                    break
                if received[at + 4] == RESULT:
                    self.written += 1
                else:
                    self.refuse(bytes(received[at + 9:end]))
                self.under_way -= 1
                at = end
            del received[:at]

    def refuse(self, body):
        code = int.from_bytes(body[:4], "big")
        if code not in (OVERLOADED, WRITE_TIMEOUT):
            raise Closed(f"0x{code:04x} {body[6:200]}")
        self.refused += 1


def write(port, writer, until, results):
    """One process: its workload on all its connections until the time is over; puts (workload, written, refused, problem)."""
    name, text, values = WORKLOADS[writer % len(WORKLOADS)]
    chance = random.Random(writer)
    numbers = itertools.count(writer << 40)
    pipelines, problem = [], None
    try:
        pipelines = [Pipeline(port, text) for _ in range(CONNECTIONS)]
        while time.time() < until:
            for pipeline in pipelines:
                pipeline.fill(lambda: values(next(numbers), chance))
            for pipeline in pipelines:
                pipeline.empty()
    except (Closed, Silent, OSError) as error:
        problem = repr(error)
    written = sum(pipeline.written for pipeline in pipelines)
    results.put((name, written, sum(pipeline.refused for pipeline in pipelines), problem))


def peak_bytes(node):
    """The highest resident size that the kernel has seen."""
    for line in Path(f"/proc/{node.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def cpu_seconds(node):
    """Of the process, so far."""
    fields = Path(f"/proc/{node.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def breakdown(node):
    """What the node and the kernel say of its memory, in MiB."""
    sums = {}
    try:
        text = urllib.request.urlopen(f"http://127.0.0.1:{node.admin_port}/metrics", timeout=5).read().decode()
    except OSError as error:
        return f"no metrics: {error}"
    for line in text.splitlines():
        name, _, number = line.partition(" ") if "{" not in line else (line[:line.index("{")], "", line.rsplit(" ", 1)[1])
        if name in SHOWN:
            sums[name] = sums.get(name, 0) + float(number)
    status = Path(f"/proc/{node.process.pid}/status").read_text().splitlines()
    kernel = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in status if line.startswith("Rss")}
    words = [f"{name.removeprefix('helenus_').removesuffix('_bytes')} {number / MIB:.0f}" for name, number in {**kernel, **sums}.items()]
    return ", ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    default = os.environ.get("HELENUS_BINARY", HERE.parent.parent / "target" / "debug" / "helenus")
    parser.add_argument("--binary", default=default, type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--memory", type=int, default=256, help="of the node, in MiB")
    parser.add_argument("--writers", type=int, default=len(WORKLOADS), help="processes")
    parser.add_argument("--set", action="append", default=[], help="a setting of the node, name=value")
    parser.add_argument("--watch", type=float, default=0, help="print what the memory is made of every so many seconds")
    options = parser.parse_args()
    report = Report()
    report.scenario = "memory"
    limit = int(options.memory * MIB * TOLERANCE)
    node = Node(options.binary, options.set, ["--memory", f"{options.memory}MiB"], admin_port=free_port())
    with node:
        idle = node.rss_bytes()
        with Client(node.port, timeout_secs=60).established() as client:
            for statement in SCHEMA:
                client.query(statement)
        results = multiprocessing.Queue()
        until = time.time() + options.seconds
        writers = [multiprocessing.Process(target=write, args=[node.port, writer, until, results]) for writer in range(options.writers)]
        for writer in writers:
            writer.start()
        samples = []
        while time.time() < until and node.is_alive():
            time.sleep(min(1, max(0.01, until - time.time())))
            samples.append(node.rss_bytes())
            if options.watch and len(samples) % max(1, int(options.watch)) == 0:
                report.note(breakdown(node))
        made_of = breakdown(node) if node.is_alive() else ""
        outcomes = [results.get(timeout=120) for _ in writers]
        for writer in writers:
            writer.join()
        report.check("the node is alive", node.is_alive(), node.log_text()[-1500:])
        if not node.is_alive():
            return finish(report)
        peak, cpu = peak_bytes(node), cpu_seconds(node)
        for name, written, refused, problem in sorted(outcomes):
            report.check(f"writing {name}: {written / options.seconds:.0f} a second, {refused} refused", written and problem is None, problem)
        micros = 1e6 * cpu / max(1, sum(outcome[1] for outcome in outcomes))
        samples.sort()
        report.note(f"idle {idle / MIB:.0f} MiB, median {samples[len(samples) // 2] / MIB:.0f} MiB, peak {peak / MIB:.0f} MiB "
                    f"of {options.memory} MiB, {micros:.0f} us of CPU a write")
        report.check(f"resident size under writes is below {limit / MIB:.0f} MiB", peak < limit, f"{peak / MIB:.0f} MiB; in the end {made_of}")
        complaints = node.complaints()
        report.check("the log shows no defect", not complaints, complaints[:3])
        node.process.kill()
        node.process.wait()
        node.start()
        with Client(node.port, timeout_secs=60).established() as client:
            client.query("SELECT * FROM m.large", page_size=1000)
        peak = peak_bytes(node)
        report.check(f"resident size while it recovers and reads is below {limit / MIB:.0f} MiB", peak < limit, f"{peak / MIB:.0f} MiB")
        report.note(f"peak {peak / MIB:.0f} MiB after a kill and a start")
    return finish(report)


def finish(report):
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
