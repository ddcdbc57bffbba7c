#!/usr/bin/env python3
"""Builds and runs the fuzz targets of all crates (crates/*/fuzz) for a while each, from seeds that it makes itself.

    tests/hostile/fuzz.py [--seconds 60] [--only NAME ...] [--build-only]

Works from a clean clone with the stable compiler and a C++ compiler: libFuzzer comes with its crate, coverage by flags of
rustc that need no nightly. What was found before is kept in .cache/fuzz and tried first. One line a target, then
`N passed, N failed`; a crash prints the input in hex and the command that replays it.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "conformance")]

from run import places, preparations  # noqa: E402  (the package tests/run, not run.py beside this file)

from hostile import seeds  # noqa: E402

#: An input that takes longer than this hangs; memory beyond this is a leak or a length that was believed.
INPUT_SECS, MEMORY_MIB, INPUT_BYTES = 10, 1024, 16384
DICTIONARIES = {"cql-parse": places.REPOSITORY / "crates" / "cql" / "fuzz" / "cql.dict"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60, help="all targets together")
    parser.add_argument("--only", nargs="*", help="names of targets, such as protocol-inbound")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--log", type=Path, default=places.LOGS / "fuzz.log", help="where the compiler's words go")
    options = parser.parse_args()
    if not build(options.log):
        print("0 passed, 1 failed")
        return 1
    if options.build_only:
        return 0
    targets = [(path, name) for path, name in preparations.fuzz_targets() if not options.only or name in options.only]
    workers = max(1, min(len(targets), os.cpu_count() or 1))
    seconds = max(3, int(options.seconds * workers / max(1, len(targets))))
    with ThreadPoolExecutor(workers) as pool:
        outcomes = list(pool.map(lambda target: fuzz(*target, seconds), targets))
    print(f"{outcomes.count(True)} passed, {outcomes.count(False)} failed")
    return 0 if all(outcomes) else 1


def build(log_path):
    log_path.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    for command in preparations.fuzz():
        with log_path.open("ab") as log:
            done = subprocess.run(command.words, cwd=command.directory, env={**places.environment(), **command.environment},
                                  stdout=log, stderr=log)
        if done.returncode != 0:
            print(f"FAILED  {' '.join(command.words)} in {command.directory}:")
            print(log_path.read_text(errors="replace")[-3000:])
            return False
    print(f"built in {time.monotonic() - started:.0f} s", flush=True)
    return True


def fuzz(path, name, seconds):
    """Runs one target; answers whether it found nothing."""
    corpus = places.CACHE / "fuzz" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for raw in seeds.inputs(name, places.REPOSITORY / "crates"):
        (corpus / hashlib.sha1(raw).hexdigest()).write_bytes(raw)
    places.LOGS.mkdir(parents=True, exist_ok=True)
    artifacts = places.LOGS / f"fuzz-{name}-"
    words = [str(path), f"-max_total_time={seconds}", f"-timeout={INPUT_SECS}", f"-rss_limit_mb={MEMORY_MIB}",
             f"-malloc_limit_mb={MEMORY_MIB // 2}", f"-max_len={INPUT_BYTES}", "-print_final_stats=1", f"-artifact_prefix={artifacts}"]
    if name in DICTIONARIES:
        words.append(f"-dict={DICTIONARIES[name]}")
    done = subprocess.run([*words, str(corpus)], cwd=places.REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=places.environment())
    printed = done.stdout.decode(errors="replace")
    runs = re.search(r"number_of_executed_units: (\d+)", printed)
    covered = re.findall(r" cov: (\d+)", printed)
    if done.returncode == 0:
        print(f"ok      {name}: {runs.group(1) if runs else '?'} inputs in {seconds} s, {covered[-1] if covered else '?'} edges covered",
              flush=True)
        return True
    print(f"FAILED  {name}: exit code {done.returncode}\n{printed[-2500:]}")
    for artifact in re.findall(r"Test unit written to (\S+)", printed):
        print(f"        input {Path(artifact).read_bytes()[:2000].hex()}; replay with {path} {artifact}", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main())
