"""The case format: a plain-text file of CQL statements with directives, parsed into `Statement`s.

    # A free comment of the case file.
    -- pages: 1, 2, 100
    SELECT * FROM t WHERE k = 1;

A line that starts with `#` is a comment, one that starts with `--` outside of a statement is a directive for the next
statement (an unknown one is an error, so that a typing mistake does not silently compare less). A statement ends at a
line that ends with `;` (which is not sent); `BEGIN ... BATCH` ends at its `APPLY BATCH;`. README.md lists the directives.

Invariant: `Statement.key` names the statement and everything that changes its answer, so a golden answer can never be
compared with a statement that has been edited since.
"""

import re
from pathlib import Path

from .connection import BATCH_KIND, CONSISTENCY
from .literal import BadLiteral, parse_values

KEYSPACE_PREFIX = "conf_"
KEYSPACE_NAME_MAX = 48  # Cassandra's limit
DEFAULT_PROTOCOL = 5

_VALUED = ("rule", "protocol", "page", "pages", "consistency", "serial", "timestamp", "keyspace", "now", "bind", "any",
           "mask", "filter", "batch", "extra-keyspaces", "payload")
_FLAGS = ("prepare", "raw", "exclusive", "unordered", "skip-metadata", "tracing", "no-keyspace")
_NOT_IN_KEY = ("rule", "mask")


class BadCase(ValueError):
    """A case file does not follow the format; the text names file and line."""


def expand(text):
    """`$TIMES(x, 3)` -> `xxx`, `$SEQ(1, 4)` -> `1, 2, 3, 4`: large statements in a readable file."""
    text = re.sub(r"\$TIMES\((.*?), (\d+)\)", lambda found: found.group(1) * int(found.group(2)), text)
    return re.sub(r"\$SEQ\((\d+), (\d+)\)", lambda found: ", ".join(
        str(number) for number in range(int(found.group(1)), int(found.group(2)) + 1)), text)


class Statement:
    """One statement with its directives. `children` is set for a BATCH message of the protocol."""

    def __init__(self, text, line, directives, defaults):
        self.text = expand(text)
        self.line = line
        self.directives = directives
        merged = {**defaults, **{name: values for name, values in directives.items()}}
        single = {name: values[-1] for name, values in merged.items()}
        self.rules = [rule.strip() for value in merged.get("rule", []) for rule in value.split(",")]
        self.protocol = int(single.get("protocol", DEFAULT_PROTOCOL))
        self.pinned_protocol = bool({"protocol", "keyspace", "now"} & set(merged))  # the last two need version 5
        self.prepare = "prepare" in single
        self.binds = [parse_values(value) for value in merged.get("bind", [])]
        self.page_size = int(single["page"]) if "page" in single else None
        pages = single.get("pages", "none")
        self.page_sizes = [] if pages == "none" else [int(size) for size in pages.split(",")]
        self.consistency = single.get("consistency", "ONE")
        self.serial = single.get("serial")
        self.timestamp = int(single["timestamp"]) if "timestamp" in single else None
        self.now_in_seconds = int(single["now"]) if "now" in single else None
        self.keyspace = single.get("keyspace")
        self.any_columns = {name.strip() for value in merged.get("any", []) for name in value.split(",")}
        self.masks = [re.compile(value) for value in merged.get("mask", [])]
        self.filter = single.get("filter")
        self.unordered = "unordered" in single
        self.no_keyspace = "no-keyspace" in single
        self.skip_metadata = "skip-metadata" in single
        self.tracing = "tracing" in single
        self.payload = {"key": single["payload"].encode()} if "payload" in single else None
        self.batch_kind = single.get("batch")
        self.children = _parse_children(self.text) if self.batch_kind else None
        for level in filter(None, (self.consistency, self.serial)):
            if level not in CONSISTENCY:
                raise BadLiteral(f"consistency {level}")
        if self.batch_kind and self.batch_kind not in BATCH_KIND:
            raise BadLiteral(f"batch {self.batch_kind}")
        shown = [f"[{name}{': ' if value else ''}{value}]" for name, values in merged.items()
                 if name not in _NOT_IN_KEY for value in values if value != "none"]
        self.key = " ".join(shown + [re.sub(r"\s*\n\s*", " ", text)])


class Case:
    """A parsed file. `keyspace` is derived from its path below cases/: `select/limit.cql` -> `conf_select_limit`."""

    def __init__(self, path, root):
        self.path = Path(path)
        self.name = self.path.relative_to(root).with_suffix("").as_posix()
        self.keyspace = KEYSPACE_PREFIX + re.sub(r"\W", "_", self.name.lower())
        if len(self.keyspace) > KEYSPACE_NAME_MAX - 4:
            raise BadCase(f"{path}: keyspace {self.keyspace} leaves no room for a suffix; use a shorter file name")
        self.golden_path = self.path.with_suffix(".golden")
        self.exclusive = False
        self.extra_keyspaces = []
        self.statements = []
        self._parse(self.path.read_text())

    def _parse(self, source):
        defaults, directives, lines, start = {}, {}, [], 0
        for number, line in enumerate(source.split("\n"), 1):
            between = not lines and "raw" not in directives
            if between and (not line.strip() or line.startswith("#")):
                continue
            if between and line.startswith("-- "):
                self._directive(line[3:].strip(), number, defaults, directives)
                continue
            if not lines:
                start = number
            lines.append(line)
            ended = self._ended(lines, directives)
            if ended is not None:
                self._add(ended, start, directives, defaults)
                directives, lines = {}, []
        if lines or directives:
            raise BadCase(f"{self.path}:{start}: the last statement does not end with ';'")

    @staticmethod
    def _ended(lines, directives):
        last = lines[-1].rstrip()
        if "raw" in directives:
            return "\n".join(lines[:-1]) if last == ";;" else None
        if "batch" in directives:
            return "\n".join(lines[:-1]) if last == "APPLY;" else None
        if not last.endswith(";"):
            return None
        is_batch = re.match(r"\s*begin\s+((un)?logged\s+|counter\s+)?batch\b", lines[0], re.I)
        if is_batch and not re.search(r"\bapply\s+batch\s*;$", last, re.I):
            return None
        return "\n".join(lines).rstrip()[:-1].rstrip()

    def _directive(self, text, number, defaults, directives):
        every = text.startswith("every ")
        found = re.match(r"([a-z-]+)(?::\s*(.*))?$", text[6:] if every else text)
        name, value = (found.group(1), found.group(2)) if found else ("", None)
        ends_flag = every and name in _FLAGS and value == "none"
        if name not in _VALUED + _FLAGS or ((value is None) != (name in _FLAGS) and not ends_flag):
            raise BadCase(f"{self.path}:{number}: unknown directive '{text}'")
        value = (value or "").replace("$KS", self.keyspace)
        if name == "exclusive":
            self.exclusive = True
        elif name == "extra-keyspaces":
            self.extra_keyspaces += value.split()
        elif every:
            defaults[name] = [value]
        else:
            directives.setdefault(name, []).append(value)

    def _add(self, text, line, directives, defaults):
        defaults = {name: values for name, values in defaults.items() if values != ["none"]}
        try:
            self.statements.append(Statement(text.replace("$KS", self.keyspace), line, directives, defaults))
        except (BadLiteral, ValueError, re.error) as error:
            raise BadCase(f"{self.path}:{line}: {error}") from error


def _parse_children(text):
    """Lines `[prepared:] STATEMENT [<< VALUES]` -> (text, is prepared, values)."""
    children = []
    for line in text.splitlines():
        statement, _, values = line.strip().partition(" << ")
        prepared = statement.startswith("prepared: ")
        children.append((statement.removeprefix("prepared: "), prepared, parse_values(values)))
    return children
