"""Golden files: what Apache Cassandra answered, beside the case file, one block a statement.

    release_version 5.0.9

    > SELECT * FROM t WHERE k = 1
    columns conf_x.t: k int, v varchar
    | 1 <00000001> | 'a'

A block is found by the statement's key and, where the same statement stands in a file more than once, by its turn.
"""

from collections import defaultdict


class BadGolden(ValueError):
    """A golden file that this module did not write."""


class Golden:
    def __init__(self, release_version, blocks):
        self.release_version = release_version
        self.blocks = blocks  # [(key, lines)] in the order of the case file
        self._by_key = defaultdict(list)
        for key, lines in blocks:
            self._by_key[key].append(lines)

    def lines_of(self, key, turn):
        """The recorded lines for the `turn`-th (from 0) statement with this key, None when there are none."""
        recorded = self._by_key.get(key, [])
        return recorded[turn] if turn < len(recorded) else None

    @classmethod
    def read(cls, path):
        release_version, blocks = None, []
        for line in path.read_text().split("\n"):
            if line.startswith("> "):
                blocks.append((line[2:], []))
            elif line.startswith("release_version "):
                release_version = line.split(" ", 1)[1]
            elif line and blocks:
                blocks[-1][1].append(line)
            elif line:
                raise BadGolden(f"{path}: '{line}' stands outside of a block")
        if release_version is None:
            raise BadGolden(f"{path}: no release_version")
        return cls(release_version, blocks)

    @staticmethod
    def write(path, release_version, answers):
        """`answers`: [(statement, lines)] as `Session.run` returns them."""
        parts = [f"release_version {release_version}\n"]
        for statement, lines in answers:
            parts.append("\n".join([f"\n> {statement.key}", *lines]) + "\n")
        path.write_text("".join(parts))


def compare(golden, answers):
    """[(statement, expected lines, actual lines)] of all that differ; expected is None where nothing was recorded."""
    turns = defaultdict(int)
    differences = []
    for statement, actual in answers:
        expected = golden.lines_of(statement.key, turns[statement.key])
        turns[statement.key] += 1
        if expected != actual:
            differences.append((statement, expected, actual))
    return differences
