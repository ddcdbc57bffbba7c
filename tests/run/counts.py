"""Counts single tests in what a suite printed, whatever runner printed it."""

import re
from dataclasses import dataclass

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ (?:passed|failed|error|errors|skipped|xfailed|xpassed|deselected|warning|warnings)(?:, )?)+) in ",
                    re.MULTILINE)
GO = re.compile(r"^--- (PASS|FAIL|SKIP): ", re.MULTILINE)
NODE = re.compile(r"^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) (\d+)$", re.MULTILINE)
PLAIN = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)


@dataclass(frozen=True)
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    @property
    def total(self):
        return self.passed + self.failed + self.skipped


def count(text):
    """The sum over all summaries in `text`; zero of everything when no runner that we know wrote it."""
    text = ESCAPES.sub("", text)
    counts = Counts()
    for numbers in CARGO.findall(text):
        counts += Counts(*map(int, numbers))
    for summary in PYTEST.findall(text):
        words = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", summary)}
        counts += Counts(words.get("passed", 0), sum(words.get(word, 0) for word in ("failed", "error", "errors")),
                         words.get("skipped", 0))
    for outcome in GO.findall(text):
        counts += Counts(int(outcome == "PASS"), int(outcome == "FAIL"), int(outcome == "SKIP"))
    for outcome, number in NODE.findall(text):
        number = int(number)
        counts += Counts(number) if outcome == "pass" else Counts(0, number) if outcome in ("fail", "cancelled") else \
            Counts(0, 0, number)
    for passed, failed, skipped in PLAIN.findall(text):
        counts += Counts(int(passed), int(failed), int(skipped or 0))
    return counts
