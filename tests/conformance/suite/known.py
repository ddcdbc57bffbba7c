"""Differences that are known: `differences.tsv` beside run.py.

    file <tab> kind <tab> statement <tab> reason

`kind` is `deliberate` (also a row of docs/differences.md) or `unfinished` (the list only ever shrinks). A statement stands as
the runner prints it, with $KS for the file's keyspace. What is listed and does not differ is an error, so that the list stays
true.
"""

from collections import Counter
from pathlib import Path

PATH = Path(__file__).resolve().parents[1] / "differences.tsv"
KINDS = ("deliberate", "unfinished")


class KnownDifferences:
    def __init__(self, kinds):
        self.kinds = kinds
        self.seen = Counter()

    @classmethod
    def read(cls):
        kinds = {}
        for number, line in enumerate(PATH.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) != 4 or fields[1] not in KINDS:
                raise SystemExit(f"differences.tsv:{number}: four fields are wanted, the second one of {', '.join(KINDS)}")
            kinds[fields[0], fields[2]] = fields[1]
        return cls(kinds)

    @property
    def met(self):
        return sum(self.seen.values())

    def without_listed(self, case, differences):
        """The differences that the list does not name; the others are counted."""
        rest = []
        for difference in differences:
            place = (case.name, key_of(case, difference[0]))
            if place in self.kinds:
                self.seen[place] += 1
            else:
                rest.append(difference)
        return rest

    def stale(self, names):
        """Listed places of the files in `names` that did not differ."""
        return sorted(place for place in self.kinds if place[0] in names and not self.seen[place])

    def summary(self):
        counts = Counter(self.kinds[place] for place in self.seen.elements())
        return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)


def key_of(case, statement):
    """The statement as the list names it: one line, the file's keyspace as $KS."""
    return " ".join(statement.key.replace(case.keyspace, "$KS").split())
