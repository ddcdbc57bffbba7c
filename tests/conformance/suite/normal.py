"""Which statements count as distinct: those that differ in more than their literals, letter case or white space.

`INSERT INTO t (k, v) VALUES (1, 'a')` and `insert into T(k,v) values (2, 'b')` are one statement. Bind markers are not
literals; a statement that is prepared, or a child of a BATCH message, is another than the same text sent as a query.
"""

import re

_LITERALS = re.compile(
    r"""(?P<text>'(?:[^']|'')*'|\$\$.*?\$\$)
      | (?P<name>"(?:[^"]|"")*")
      | (?P<number>(?<![\w"])(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
          | 0x[0-9a-f]*
          | -?P\d[\w:.-]*
          | -?\d+(?:\.\d*)?(?:e[+-]?\d+)?\w*
          | -?\b(?:nan|infinity)\b))
    """, re.I | re.S | re.X)


def _replace(match):
    if match.group("name"):
        return match.group("name")
    return "'?'" if match.group("text") else "0?"


def normalise(text):
    quoted = [piece for piece in re.split(r'("(?:[^"]|"")*")', _LITERALS.sub(_replace, text))]
    plain = "".join(piece if piece.startswith('"') else piece.lower() for piece in quoted)
    plain = re.sub(r"\s+", " ", plain).strip()
    return re.sub(r" ?([(),;:=<>\[\]{}]) ?", r"\1", plain)


def distinct_key(statement):
    if statement.children is not None:
        kind, texts = statement.batch_kind, [text for text, _, _ in statement.children]
        return ("message batch " + kind, " ; ".join(map(normalise, texts)))
    return ("prepared" if statement.prepare else "bound" if statement.binds else "query", normalise(statement.text))


def without_literals(text):
    """For the classifier of `rules`: string contents gone, everything else as written."""
    return re.sub(r"'(?:[^']|'')*'|\$\$.*?\$\$", "'s'", text, flags=re.S)
