"""Runs one command of a suite: in a process group of its own, into a log, up to a time limit."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path


#: What runs at this moment, in any thread; ended with the run.
RUNNING = set()


@dataclass(frozen=True)
class Command:
    words: tuple
    directory: Path
    environment: dict = field(default_factory=dict)  # Beside the one that all commands get.


def run(command, environment, log_path, limit_secs):
    """None when it succeeded, else in words how it failed. The log is appended to and opens with the command line."""
    started = time.monotonic()
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with log_path.open("ab") as log:
        log.write(f"$ cd {command.directory} && {' '.join(command.words)}\n".encode())
        log.flush()
        try:
            process = subprocess.Popen(command.words, cwd=command.directory, env={**environment, **command.environment},
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            return f"{command.words[0]}: {error.strerror}"
        RUNNING.add(process)
        try:
            code = process.wait(timeout=limit_secs)
        except subprocess.TimeoutExpired:
            end_group(process)
            return f"stopped after {time.monotonic() - started:.0f} s"
        finally:
            RUNNING.discard(process)
    return None if code == 0 else f"exit code {code}"


def end_all():
    for process in list(RUNNING):
        end_group(process)


def end_group(process):
    """Ends a process and all that it started; the second signal is for those that ignore the first."""
    for number, patience_secs in ((signal.SIGTERM, 5), (signal.SIGKILL, 30)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(timeout=patience_secs)
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(process.pid, signal.SIGKILL)  # Children that outlived their parent.
    except ProcessLookupError:
        pass
