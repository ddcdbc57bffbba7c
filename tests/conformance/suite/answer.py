"""What a server said, as lines of text: the form in which answers are recorded, reviewed and compared.

Role: `render` turns one response into lines; two answers are the same exactly when their lines are. What a client can
see is in there: outcome, metadata, every value as text and as bytes, warnings, custom payload, error code and words.
What no client may rely on is not: stream ids, paging state bytes, tracing ids, result metadata ids.

Of syntax errors only code, position and the verb are kept ("line 1:7 no viable alternative"): the token lists behind
them come from a parser generator.
"""

import hashlib
import re

from .connection import ERROR, RESULT
from .cqltype import quote, read_type
from .wire import Reader, Truncated

SYNTAX_ERROR = 0x2000
_SYNTAX = re.compile(r"line (-?\d+:-?\d+) (no viable alternative|mismatched input|mismatched character|missing \S+|"
                     r"extraneous input|required \(\.\.\.\)\+ loop did not match|rule \S+ failed predicate)")
_SIGNATURES = re.compile(r"((?:known type|following) signatures: )(.*?)(\)(?:: use type casts to disambiguate)?)$")
_CONSISTENCY_BODIED = {0x1000: "unavailable", 0x1100: "write timeout", 0x1200: "read timeout"}
_LONG_TEXT = 8000  # a longer value is shown by its beginning, length and digest
_TEXT_TYPES = ("varchar", "ascii", "blob")  # their canonical text is the bytes


class Answer:
    """`lines` without rows, `rows` as lines, and what the next request needs (paging state, prepared ids)."""

    def __init__(self):
        self.lines = []
        self.rows = []
        self.is_rows = False
        self.paging_state = None
        self.prepared_id = None
        self.result_id = b""
        self.schema_columns = None

    def all_lines(self):
        return self.lines + self.rows


def render(response, version, statement, known_columns=None):
    """`known_columns`: of an EXECUTE that asked to skip metadata, those of its PREPARE."""
    answer = Answer()
    try:
        if response.tracing is not None:
            answer.lines.append("tracing id")
        if response.opcode == ERROR:
            answer.lines.append(_error(Reader(response.body)))
        elif response.opcode == RESULT:
            _result(Reader(response.body), version, statement, answer, known_columns)
        else:
            answer.lines.append(f"opcode {response.opcode:#04x}")
    except (Truncated, UnicodeDecodeError) as error:
        answer.lines.append(f"undecodable: {error}")
    answer.lines += [f"warning {quote(text)}" for text in response.warnings]
    answer.lines += [f"payload {key} 0x{(raw or b'').hex()}" for key, raw in sorted(response.payload.items())]
    for mask in statement.masks:
        answer.lines = [mask.sub(_masked, line) for line in answer.lines]
        answer.rows = [mask.sub(_masked, line) for line in answer.rows]
    return answer


def _masked(match):
    """`<*>`, after the first group where the mask has one: `(could not read: ).*` keeps the words before the colon."""
    return (match.group(1) if match.re.groups else "") + "<*>"


def _error(reader):
    code, message = reader.int(), reader.string()
    syntax = _SYNTAX.match(message) if code == SYNTAX_ERROR else None
    if syntax:
        return f"error {code:#06x} line {syntax.group(1)} {syntax.group(2)}"
    line = f"error {code:#06x} {quote(_SIGNATURES.sub(_sorted_signatures, message))}"
    if code == 0x2400:
        line += f" keyspace={quote(reader.string())} table={quote(reader.string())}"
    elif code == 0x2500:
        line += f" id={reader.short_bytes().hex()}"
    elif code in _CONSISTENCY_BODIED:
        line += f" consistency={reader.short()} {reader.int()}/{reader.int()} rest=0x{reader.rest().hex()}"
    elif code == 0x1400:
        line += f" function={reader.string()}.{reader.string()} arguments={reader.string_list()}"
    elif reader.at < len(reader.raw):
        line += f" rest=0x{reader.rest().hex()}"
    return line


def _sorted_signatures(match):
    """Cassandra lists the signatures of an overloaded function in the order of a hash map, another in each process."""
    return match.group(1) + ", ".join(sorted(re.split(r", (?=[\w\"]+\.)", match.group(2)))) + match.group(3)


def _result(reader, version, statement, answer, known_columns):
    kind = reader.int()
    if kind == 1:
        answer.lines.append("void")
    elif kind == 2:
        _rows(reader, version, statement, answer, known_columns)
    elif kind == 3:
        answer.lines.append(f"set_keyspace {reader.string()}")
    elif kind == 4:
        _prepared(reader, version, answer)
    elif kind == 5:
        change, target = reader.string(), reader.string()
        names = [reader.string() for _ in range(1 if target == "KEYSPACE" else 2)]
        arguments = f" {reader.string_list()}" if target in ("FUNCTION", "AGGREGATE") else ""
        answer.lines.append(f"schema_change {change} {target} {'.'.join(names)}{arguments}")
    else:
        answer.lines.append(f"result kind {kind}")
    if reader.at < len(reader.raw):
        answer.lines.append(f"{len(reader.raw) - reader.at} bytes too many")


def _columns(reader, flags, count):
    table = f"{reader.string()}.{reader.string()}" if flags & 0x01 and count else None
    columns = []
    for _ in range(count):
        own = table or f"{reader.string()}.{reader.string()}"
        columns.append((own, reader.string(), read_type(reader)))
    return columns


def describe_columns(columns):
    """`ks.t: k int, v varchar`; where the table changes between columns it is named again."""
    out, current = [], None
    for table, name, kind in columns:
        shown = name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace("\n", "\\n") + '"'
        out.append((f"{table}: " if table != current else "") + f"{shown} {kind}")
        current = table
    return ", ".join(out)


def _rows(reader, version, statement, answer, known_columns):
    answer.is_rows = True
    flags, count = reader.int(), reader.int()
    answer.paging_state = reader.bytes() if flags & 0x02 else None
    if version >= 5 and flags & 0x08:
        reader.short_bytes()
        answer.lines.append("metadata changed")
    if flags & 0x04:
        columns = known_columns or []
        answer.lines.append(f"columns not sent ({count})")
        if len(columns) != count:
            raise Truncated("rows without metadata that nobody sent before")
    else:
        columns = _columns(reader, flags, count)
        answer.lines.append(f"columns {describe_columns(columns)}")
    wanted = _filter(statement, columns)
    for _ in range(reader.int()):
        cells = [reader.bytes() for _ in columns]
        if wanted(cells):
            answer.rows.append(_row(columns, cells, statement.any_columns))
    if statement.unordered:
        answer.rows.sort()


def _filter(statement, columns):
    """`-- filter: COLUMN REGEX` keeps only the rows whose column matches: for answers that name other keyspaces too."""
    if not statement.filter:
        return lambda cells: True
    name, pattern = statement.filter.split(None, 1)
    index = next((at for at, column in enumerate(columns) if column[1] == name), None)
    if index is None:
        return lambda cells: True
    return lambda cells: re.search(pattern, (cells[index] or b"").decode("utf-8", "replace")) is not None


def _row(columns, cells, any_columns):
    shown = []
    for (_, name, kind), raw in zip(columns, cells):
        text = kind.text(raw)
        if raw is None:
            shown.append("null")
        elif name in any_columns:
            shown.append("*")
        elif len(raw) > _LONG_TEXT:
            shown.append(f"{text[:40]}... {len(raw)} bytes, SHA-256 {hashlib.sha256(raw).hexdigest()}")
        elif kind.name in _TEXT_TYPES and text != "malformed":
            shown.append(text)
        else:
            shown.append(f"{text} <{bytes(raw).hex()}>")
    return "| " + " | ".join(shown)


def _prepared(reader, version, answer):
    answer.prepared_id = bytes(reader.short_bytes())
    if version >= 5:
        answer.result_id = bytes(reader.short_bytes())
    flags, count = reader.int(), reader.int()
    keys = [reader.short() for _ in range(reader.int())] if version >= 4 else None
    binds = _columns(reader, flags, count)
    answer.lines.append(f"prepared {answer.prepared_id.hex()}")
    answer.lines.append(f"binds {describe_columns(binds) or 'none'}" + (f" keys={keys}" if keys is not None else ""))
    result_flags, result_count = reader.int(), reader.int()
    if result_flags & 0x02:
        reader.bytes()
    columns = [] if result_flags & 0x04 else _columns(reader, result_flags, result_count)
    answer.schema_columns = columns
    shown = f"not sent ({result_count})" if result_flags & 0x04 else describe_columns(columns) or "none"
    answer.lines.append(f"returns {shown}")
