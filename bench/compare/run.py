#!/usr/bin/env python3
"""Helenus beside Cassandra 5.0.9 on this machine, key-value work, the same client and data for both.

The servers run one after the other, alternating `--rounds` times. Each one is loaded with the same rows, warmed up (the JVM
for 60 s), then measured: throughput with 128 requests in flight, latency at a fixed rate, CPU microseconds of the server
process per operation (from /proc). Prints medians, spread and ratios; `--output` appends the table to a file.

    bench/compare/run.py [--rounds 3] [--seconds 20] [--rows 100000] [--only write,read] [--output bench/RESULTS.md]

The client is latte (cargo install latte-cli --version 0.29.0 --locked), installed into .cache on first use.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("HELENUS_CACHE", REPOSITORY / ".cache"))
WORKLOAD = Path(__file__).with_name("keyvalue.rn")
LATTE_VERSION = "0.29.0"
IN_FLIGHT = 128
#: name, functions with weights, Zipf
WORKS = (
    ("write", ("write:1",), 0),
    ("read, uniform", ("read:1",), 0),
    ("read, Zipfian", ("read:1",), 1),
    ("50/50, uniform", ("read:1", "write:1"), 0),
    ("50/50, Zipfian", ("read:1", "write:1"), 1),
)
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
#: Latte's list of percentiles: Min, 1, 2, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.9, 99.99, Max.
P50, P99 = 6, 11


def latte():
    found = os.environ.get("LATTE") or shutil.which("latte") or str(CACHE / "latte/bin/latte")
    if not Path(found).exists():
        print(f"installing latte {LATTE_VERSION} (some minutes, once)", file=sys.stderr)
        subprocess.run(["cargo", "install", "latte-cli", "--version", LATTE_VERSION, "--locked",
                        "--root", str(CACHE / "latte")], check=True)
    return found


class Helenus:
    name = "Helenus"
    warmup_secs = 5

    def __init__(self, options):
        self.options = options

    def start(self, directory):
        port = 9042
        command = [str(self.options.binary), "start", "--data-dir", str(directory), "--address", "127.0.0.50",
                   "--cql-port", str(port), "--admin-port", str(free_port()), "--memory", f"{self.options.memory_mib}MiB"]
        began = time.monotonic()
        self.process = subprocess.Popen(command + ["--insecure"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in self.process.stdout:
            if line.startswith(b"ready:"):
                break
        self.start_secs = time.monotonic() - began
        return f"127.0.0.50:{port}", self.process.pid

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


class Cassandra:
    name = "Cassandra 5.0.9"
    warmup_secs = 60

    def __init__(self, options):
        self.options = options
        self.launcher = REPOSITORY / "tests/oracle/cassandra"
        subprocess.run([str(self.launcher), "install"], check=True)

    def start(self, directory):
        self.directory = directory
        began = time.monotonic()
        answer = subprocess.run(
            [str(self.launcher), "start", "--dir", str(directory), "--ip", "127.0.0.51",
             "--heap", f"{self.options.memory_mib}M", "--jvm=-XX:+AlwaysPreTouch"],
            check=True, capture_output=True, text=True)
        self.start_secs = time.monotonic() - began
        return "127.0.0.51:9042", int(answer.stdout.split()[-1])

    def stop(self):
        subprocess.run([str(self.launcher), "stop", "--dir", str(self.directory)], check=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_secs(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def rss_mib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def run_latte(address, options, functions, zipf, seconds, rate=None):
    """Runs one work; answers latte's statistics."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        command = [latte(), "--log-dir", directory, "run", str(WORKLOAD), address, "-q", "-t", "1", "-p", str(IN_FLIGHT),
                   "--warmup", "1s", "-d", f"{seconds}s", "--consistency", "LOCAL_ONE", "-o", str(report),
                   "-P", f"rows={options.rows}", "-P", f"value_bytes={options.value_bytes}", "-P", f"zipf={zipf}"]
        command += [part for function in functions for part in ("-f", function)]
        if rate:
            command += ["-r", str(rate)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return json.loads(report.read_text())["result"]


def measure(server, options):
    """One round of one server: {work: {ops, cpu_us, client_us, p50_ms, p99_ms}}."""
    directory = Path(tempfile.mkdtemp(prefix="helenus-bench-"))
    figures = {}
    address, pid = server.start(directory / "data")
    try:
        figures["start"] = {"secs": server.start_secs, "idle_mib": rss_mib(pid)}
        params = ["-P", f"rows={options.rows}", "-P", f"value_bytes={options.value_bytes}"]
        logs = ["--log-dir", str(directory)]
        subprocess.run([latte(), *logs, "schema", str(WORKLOAD), *params, address], check=True, capture_output=True)
        subprocess.run([latte(), *logs, "load", str(WORKLOAD), *params, "-q", address], check=True, capture_output=True)
        run_latte(address, options, ("read:1", "write:1"), 0, server.warmup_secs)
        for name, functions, zipf in WORKS:
            if options.only and not any(word in name for word in options.only.split(",")):
                continue
            before = cpu_secs(pid)
            stats = run_latte(address, options, functions, zipf, options.seconds)
            spent = cpu_secs(pid) - before
            # The warm-up second is in the CPU time, too: spread it over the operations of both.
            operations = stats["request_count"] * (options.seconds + 1) / options.seconds
            paced = run_latte(address, options, functions, zipf, options.seconds, rate=options.rate)
            latency = paced["request_latency"]["percentiles"]
            figures[name] = {
                "ops": stats["req_throughput"]["value"],
                "cpu_us": spent / operations * 1e6,
                "client_us": stats["cpu_time_s"] / operations * 1e6,
                "p50_ms": latency[P50]["value"],
                "p99_ms": latency[P99]["value"],
                "errors": stats["error_count"],
            }
            print(f"  {server.name:16} {name:16} {figures[name]['ops']:8.0f} ops/s  {figures[name]['cpu_us']:6.1f} µs CPU  "
                  f"p99 {figures[name]['p99_ms']:.2f} ms", flush=True)
        figures["end"] = {"rss_mib": rss_mib(pid)}
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    return figures


def table(rounds, options):
    """Markdown: medians with min–max, and ratios."""
    lines = [
        f"{options.rounds} rounds, {options.rows} rows of {options.value_bytes} bytes, {IN_FLIGHT} in flight, periodic commit log, "
        f"{options.memory_mib} MiB, LOCAL_ONE, latte {LATTE_VERSION} on the same cores; p50/p99 at {options.rate} ops/s",
        "",
        f"Command: `bench/compare/run.py {' '.join(sys.argv[1:])}`",
        "",
        "| work | server | ops/s | CPU µs/op | client µs/op | p50 ms | p99 ms |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    names = list(rounds)
    works = [work for work, _, _ in WORKS if work in rounds[names[0]][0]]

    def figure(server, work, field):
        values = [one[work][field] for one in rounds[server]]
        return statistics.median(values), min(values), max(values)

    def cell(server, work, field, digits):
        middle, low, high = figure(server, work, field)
        return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"

    for work in works:
        for server in names:
            lines.append(f"| {work} | {server} | {cell(server, work, 'ops', 0)} | {cell(server, work, 'cpu_us', 1)} | "
                         f"{cell(server, work, 'client_us', 1)} | {cell(server, work, 'p50_ms', 2)} | "
                         f"{cell(server, work, 'p99_ms', 2)} |")
        if len(names) == 2:
            ratio = {field: figure(names[0], work, field)[0] / figure(names[1], work, field)[0]
                     for field in ("ops", "cpu_us", "p50_ms", "p99_ms")}
            lines.append(f"| {work} | **ratio** | {ratio['ops']:.2f}× | {ratio['cpu_us']:.2f}× | | {ratio['p50_ms']:.2f}× | "
                         f"{ratio['p99_ms']:.2f}× |")
    lines.append("")
    for server in names:
        starts = [one["start"] for one in rounds[server]]
        secs = statistics.median(start["secs"] for start in starts)
        idle = statistics.median(start["idle_mib"] for start in starts)
        lines.append(f"- {server}: start to ready {secs:.2f} s on an empty directory, {idle:.0f} MiB resident then, "
                     f"{statistics.median(one['end']['rss_mib'] for one in rounds[server]):.0f} MiB at the end")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "target/release/helenus")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--value-bytes", type=int, default=900)
    parser.add_argument("--rate", type=int, default=10_000, help="operations a second for the latency figures")
    parser.add_argument("--memory-mib", type=int, default=4096)
    parser.add_argument("--only", help="works whose name has one of these words, comma-separated")
    parser.add_argument("--servers", default="helenus,cassandra")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    kinds = {"helenus": Helenus, "cassandra": Cassandra}
    servers = [kinds[name](options) for name in options.servers.split(",")]
    rounds = {server.name: [] for server in servers}
    for number in range(options.rounds):
        for server in servers:
            print(f"round {number + 1} of {options.rounds}: {server.name}", flush=True)
            rounds[server.name].append(measure(server, options))
    text = table(rounds, options)
    print(text)
    if options.output:
        with open(options.output, "a", encoding="utf-8") as file:
            file.write(f"\n## Key-value, {time.strftime('%Y-%m-%d')}\n\n{text}\n")


if __name__ == "__main__":
    main()
