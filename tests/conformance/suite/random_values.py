"""Random CQL types and literals of them, for `hunt`: few values per type, so that keys meet and comparisons hit, and most
of them corners (empty, least, greatest, NaN, equal decimals of another scale).

A type is a `Kind`; its `name` is CQL. Everything is drawn from the `random.Random` that is handed in.
"""

import json

def _words(text):
    return text.split(" ")


NATIVE = {
    "int": _words("0 1 -1 2 3 7 2147483647 -2147483648"),
    "bigint": _words("0 1 -1 2 9223372036854775807 -9223372036854775808"),
    "smallint": _words("0 1 -1 2 32767 -32768"),
    "tinyint": _words("0 1 -1 2 127 -128"),
    "varint": _words("0 1 -1 2 128 -129 123456789012345678901234567890 -170141183460469231731687303715884105728"),
    "decimal": _words("0 1 1.0 1.00 -1 2.5 -0.0 1E+3 1E-10 123456789012345678901234567890.123 0.1"),
    "float": _words("0 -0.0 1 1.5 -2.25 NaN Infinity -Infinity 1e10 3.4028235e38 0.1"),
    "double": _words("0 -0.0 1 1.5 -2.25 NaN Infinity -Infinity 1e300 0.1 3"),
    "boolean": ["true", "false"],
    "text": ["''", "'a'", "'b'", "'ab'", "'B'", "'é'", "'it''s'", "'€'", "'𝄞'", "' '", "'1'"],
    "ascii": _words("'' 'a' 'b' 'ab' 'B' '~'"),
    "blob": _words("0x 0x00 0x01 0xff 0x0100 0xcafe 0x00000001"),
    "timestamp": ["0", "1", "-1", "'2020-01-01'", "'2020-02-29T12:34:56.789Z'", "'1969-12-31 23:59:59.999+0000'",
                  "'2020-01-01 00:00+0100'"],
    "date": _words("'1970-01-01' '2020-02-29' '1969-12-31' '0001-01-01' 2147483648 0"),
    "time": _words("'00:00:00' '23:59:59.999999999' '12:34:56.789' 1 '01:00:00.5'"),
    "uuid": _words("00000000-0000-0000-0000-000000000000 123e4567-e89b-42d3-a456-426655440000 "
                   "ffffffff-ffff-ffff-ffff-ffffffffffff 50554d6e-29bb-11e5-b345-feff819cdc9f"),
    "timeuuid": _words("50554d6e-29bb-11e5-b345-feff819cdc9f 50554d6f-29bb-11e5-8080-808080808080 "
                       "00000000-0000-1000-8080-808080808080 d2177dd0-eaa2-11de-a572-001b779c76e3"),
    "inet": _words("'127.0.0.1' '::1' '10.0.0.1' '255.255.255.255' '::ffff:1.2.3.4' 'fe80::1'"),
    "duration": _words("1d 1mo 1y2mo3d -1h P1DT1H 24h 0s 1us"),
}
KEY_NATIVE = [name for name in NATIVE if name != "duration"]
UNLIKE = [name for name in KEY_NATIVE if name not in ("date", "decimal", "double", "float", "timestamp")]  # no value has two texts
NUMERIC = ("int", "bigint", "smallint", "tinyint", "varint", "decimal", "float", "double")
# Values of types that `literal.encode` understands, for bind markers.
BOUND = {
    "int": [0, 1, -1, 2, 3, 2147483647], "bigint": [0, 1, -1, 2, 9223372036854775807], "smallint": [0, 1, -1, 32767],
    "tinyint": [0, 1, -1, 127], "varint": [0, 1, -1, 128, -129], "decimal": ["0", "1", "1.0", "1.00", "2.5", "1E+3"],
    "float": [0, 1.5, -2.25, 1], "double": [0, 1.5, -2.25, 3], "boolean": [True, False], "text": ["", "a", "b", "ab", "é"],
    "ascii": ["", "a", "b"], "blob": ["", "00", "cafe"], "timestamp": [0, 1, -1, 1577836800000], "date": [0, -1, 18321],
    "time": [0, 1, 86399999999999], "uuid": ["00000000-0000-0000-0000-000000000000", "123e4567-e89b-42d3-a456-426655440000"],
    "timeuuid": ["50554d6e-29bb-11e5-b345-feff819cdc9f"], "inet": ["127.0.0.1", "::1"], "duration": [[1, 2, 3], [0, 0, 0]],
}


class Kind:
    """`outer` is a native type, list, set, map, tuple, vector or udt; `fields` are a user type's names."""

    def __init__(self, outer, inner=(), frozen=False, fields=(), label=None, dimension=0):
        self.outer, self.inner, self.frozen = outer, list(inner), frozen
        self.fields, self.label, self.dimension = list(fields), label, dimension

    @property
    def is_multi_cell(self):
        return self.outer in ("list", "set", "map", "udt") and not self.frozen

    @property
    def name(self):
        if self.outer == "udt":
            text = self.label
        elif self.outer == "vector":
            text = f"vector<{self.inner[0].name}, {self.dimension}>"
        elif self.inner:
            text = f"{self.outer}<{', '.join(kind.name for kind in self.inner)}>"
        else:
            return self.outer
        return f"frozen<{text}>" if self.frozen else text

    def literal(self, rng, depth=0):
        if self.outer in NATIVE:
            return rng.choice(NATIVE[self.outer])
        if self.outer == "counter":
            return rng.choice(("0", "1", "-1", "5"))
        count = rng.choice((0, 1, 1, 2, 2, 3))
        if self.outer == "map":
            # Which of two equal keys wins is left to the addresses of objects upstream: there must be none.
            count = count if self.inner[0].outer in UNLIKE else min(count, 1)
            pairs = {self.inner[0].literal(rng, 1): self.inner[1].literal(rng, 1) for _ in range(count)}
            return "{" + ", ".join(f"{key}: {value}" for key, value in pairs.items()) + "}"
        if self.outer in ("list", "set"):
            items = ", ".join(self.inner[0].literal(rng, 1) for _ in range(count))
            return f"[{items}]" if self.outer == "list" else "{" + items + "}"
        if self.outer == "vector":
            return "[" + ", ".join(self.inner[0].literal(rng, 1) for _ in range(self.dimension)) + "]"
        shown = len(self.inner) if rng.random() < 0.8 else rng.randint(1, len(self.inner))
        items = ["null" if rng.random() < 0.15 else kind.literal(rng, 1) for kind in self.inner[:shown]]
        if self.outer == "udt":
            pairs = list(zip(self.fields, items))
            rng.shuffle(pairs)
            return "{" + ", ".join(f"{name}: {item}" for name, item in pairs) + "}"
        return "(" + ", ".join(items) + ")"

    def bound(self, rng):
        """A value for `-- bind:`; null and unset are the caller's choice."""
        if self.outer == "blob":
            return "0x" + rng.choice(BOUND["blob"])
        return f"{self._bound_type()} {json.dumps(self._bound_json(rng), ensure_ascii=False)}"

    def _bound_type(self):
        if self.outer in ("tuple", "udt"):
            return f"tuple<{', '.join(kind._bound_type() for kind in self.inner)}>"
        if self.outer == "vector":
            return f"vector<{self.inner[0]._bound_type()}, {self.dimension}>"
        return f"{self.outer}<{', '.join(kind._bound_type() for kind in self.inner)}>" if self.inner else self.outer

    def _bound_json(self, rng):
        if self.outer in BOUND:
            return rng.choice(BOUND[self.outer])
        count = rng.choice((0, 1, 2))
        if self.outer == "map":  # JSON's keys are texts; only those of simple types can be read back
            count = count if self.inner[0].outer in BOUND and self.inner[0].outer != "duration" else 0
            return {str(self.inner[0]._bound_json(rng)): self.inner[1]._bound_json(rng) for _ in range(count)}
        if self.outer == "list":
            return [self.inner[0]._bound_json(rng) for _ in range(count)]
        if self.outer == "set":
            return [self.inner[0]._bound_json(rng) for _ in range(min(count, 1))]
        if self.outer == "vector":
            return [self.inner[0]._bound_json(rng) for _ in range(self.dimension)]
        return [None if rng.random() < 0.2 else kind._bound_json(rng) for kind in self.inner]


def random_kind(rng, depth=0, frozen=False, user_type=None):
    """Any type; inside another one it is frozen where it can be."""
    draw = rng.random()
    if draw < (0.55 if depth == 0 else 0.8):
        return Kind(rng.choice(list(NATIVE)))
    inner = lambda native=False: random_kind(rng, depth + 1, True, user_type) if depth < 2 and not native else Kind(rng.choice(KEY_NATIVE))  # noqa: E731
    freeze = frozen or rng.random() < 0.25
    outer = rng.choice(("list", "set", "map", "list", "set", "map", "tuple", "vector", "udt"))
    if outer == "udt" and user_type is not None:
        return Kind("udt", user_type.inner, freeze, user_type.fields, user_type.label)
    if outer == "list":
        return Kind("list", [inner()], freeze)
    if outer == "set":
        return Kind("set", [_without_duration(rng, inner())], freeze)
    if outer == "map":
        return Kind("map", [_without_duration(rng, inner()), inner()], freeze)
    if outer == "vector":
        size = rng.choice((1, 2, 3))
        element = inner()  # never a user type: upstream forgets vectors when it alters one
        element = element if "frozen<u>" not in element.name else Kind("float")
        return Kind("vector", [rng.choice((Kind("float"), element))], False, dimension=size)
    return Kind("tuple", [inner() for _ in range(rng.choice((1, 2, 3)))], False)


def _without_duration(rng, kind):
    return kind if "duration" not in kind.name else Kind(rng.choice(KEY_NATIVE))


def random_key_kind(rng, user_type=None):
    if rng.random() < 0.8:
        return Kind(rng.choice(KEY_NATIVE))
    kind = random_kind(rng, 1, True, user_type)
    return _without_duration(rng, kind)
