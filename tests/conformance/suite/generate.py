"""Random statements from a seed, for `hunt`: a few tables of random shape, then writes, reads and changes of the schema.

Most statements are meant to be accepted; the rest break one rule or another, because refusals are answers too. What the
clock would decide is left out: plain tables are written with timestamps of a small range (so that writes tie) and read at
a given second (so that TTLs are exact); tables for conditional writes have neither.

Same seed, same statements, on every Python 3.11.
"""

import random

from .case import Statement
from .random_values import KEY_NATIVE, NUMERIC, UNLIKE, Kind, random_key_kind, random_kind

NOW = 1_700_000_000
FUNCTIONS_OF_ONE = (
    "abs exp log log10 round map_keys map_values collection_count collection_min collection_max collection_sum "
    "collection_avg to_json to_date to_timestamp to_unix_timestamp min_timeuuid max_timeuuid token mask_default "
    "mask_null mask_hash mask_inner").split()
AGGREGATES = "count min max sum avg".split()
CAST_TARGETS = ("ascii bigint blob boolean date decimal double float int inet smallint text time timestamp timeuuid "
                "tinyint uuid varint duration").split()
COMPARISONS = ("=", "=", "<", "<=", ">", ">=", "!=")


class Table:
    def __init__(self, name, partition, clustering, statics, regulars, descending):
        self.name, self.partition, self.clustering = name, partition, clustering
        self.statics, self.regulars, self.descending = statics, regulars, descending
        self.is_conditional = self.is_counter = False

    @property
    def columns(self):
        return [*self.partition, *self.clustering, *self.statics, *self.regulars]

    def kind(self, name):
        return dict(self.columns)[name]

    def ddl(self):
        columns = [f"{name} {kind.name}{' static' if (name, kind) in self.statics else ''}" for name, kind in self.columns]
        key = ", ".join(name for name, _ in self.partition)
        key = f"({key})" if len(self.partition) > 1 else key
        key = ", ".join([key, *(name for name, _ in self.clustering)])
        text = f"CREATE TABLE {self.name} ({', '.join(columns)}, PRIMARY KEY ({key}))"
        if any(self.descending):
            order = ", ".join(f"{name} {'DESC' if down else 'ASC'}" for (name, _), down in zip(self.clustering, self.descending))
            text += f" WITH CLUSTERING ORDER BY ({order})"
        return text


class Generator:
    """`statements(count)` yields `Statement`s; the first ones make the schema."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.line = 0
        self.user_type = None
        self.tables = []
        self.added = 0
        self.pending = []  # values of the statement under construction; None where no marker may stand

    def statements(self, count):
        for text in self._schema():
            yield self._statement(text)
        for _ in range(len(self.tables) * 8):  # something to read first
            table = self.rng.choice(self.tables)
            yield self._plain(table, self._update(table) if table.is_counter else self._insert(table, 0.0))
        for _ in range(count):
            yield self._any()

    # Schema.

    def _schema(self):
        rng = self.rng
        fields = [(f"f{at}", random_kind(rng, 1, rng.random() < 0.7)) for at in range(rng.randint(1, 3))]
        fields = [(name, Kind(kind.outer, kind.inner, True) if kind.is_multi_cell else kind) for name, kind in fields]
        yield f"CREATE TYPE u ({', '.join(f'{name} {kind.name}' for name, kind in fields)})"
        self.user_type = Kind("udt", [kind for _, kind in fields], False, [name for name, _ in fields], "u")
        for at in range(3):
            table = self._table(f"t{at}")
            self.tables.append(table)
            yield table.ddl()
        conditional = self._table("c")
        conditional.is_conditional = True
        counters = Table("n", [("k", Kind("int"))], [("c", Kind("text"))], [("s", Kind("counter"))],
                         [("n", Kind("counter")), ("m", Kind("counter"))], [rng.random() < 0.5])
        counters.is_counter = True
        self.tables += [conditional, counters]
        yield conditional.ddl()
        yield counters.ddl()

    def _table(self, name):
        rng = self.rng
        partition = [(f"p{at}", random_key_kind(rng, self.user_type)) for at in range(rng.choice((1, 1, 1, 2)))]
        clustering = [(f"c{at}", random_key_kind(rng, self.user_type)) for at in range(rng.choice((0, 1, 1, 2, 2, 3)))]
        statics = [(f"s{at}", self._kind()) for at in range(rng.choice((0, 1, 2)) if clustering else 0)]
        regulars = [(f"v{at}", self._kind()) for at in range(rng.choice((1, 2, 3, 4)))]
        return Table(name, partition, clustering, statics, regulars, [rng.random() < 0.4 for _ in clustering])

    def _kind(self):
        return random_kind(self.rng, 0, False, self.user_type)

    # One statement with its directives.

    def _statement(self, text, **directives):
        self.line += 1
        if "JSON '" in text:  # the words of a parser of JSON
            directives["mask"] = r"(Error decoding JSON string: ).*"
        shown = {name: value if isinstance(value, list) else [value] for name, value in directives.items() if value is not None}
        return Statement(text, self.line, shown, {})

    def _plain(self, table, text):
        """Timed as the table needs it, with the values that its markers need."""
        now = None if table.is_conditional else str(NOW + self.rng.choice((0, 0, 5, 20)))
        extra = {"prepare": [""], "bind": ["; ".join(self.pending)]} if self.pending else {}
        self.pending = []
        # DISTINCT with GROUP BY comes on one page, whatever its size; after IN () static rows make empty pages.
        paged = (" DISTINCT " not in text or " GROUP BY " not in text) and " IN ()" not in text
        if text.startswith("SELECT") and paged and self.rng.random() < 0.4:
            extra["pages"] = "1, 2, 100"
        return self._statement(text, now=now, **extra)

    def _any(self):
        rng = self.rng
        table = rng.choice(self.tables)
        self.pending = []
        draw = rng.random()
        if table.is_counter:
            # No DELETE: what a counter is after it is undefined upstream.
            text = self._select(table) if draw < 0.5 else self._update(table)
        elif draw < 0.50:
            text = self._select(table)
        elif draw < 0.64:
            text = self._insert(table, 0.1)
        elif draw < 0.78:
            text = self._update(table)
        elif draw < 0.88:
            text = self._delete(table)
        elif draw < 0.93:
            text = self._batch(table)
        elif draw < 0.97:
            text = self._insert_json(table)
        else:
            text = self._alter(table)
        return self._plain(table, text)

    # Terms.

    def _term(self, kind, wrong=0.04, bind=0.25, null=0.05):
        """A literal, a marker, null, a function or an operation: a term for a receiver of this type."""
        rng = self.rng
        if rng.random() < bind and self.pending is not None and "counter" not in kind.name:
            draw = rng.random()
            self.pending.append("null" if draw < null else "unset" if draw < 2 * null else kind.bound(rng))
            return "?"
        if rng.random() < null:
            return "null"
        if rng.random() < wrong:
            return random_kind(rng, 0, False, self.user_type).literal(rng)
        if kind.outer in NUMERIC and rng.random() < 0.15:
            return f"{kind.literal(rng)} {rng.choice('+-*/%')} {kind.literal(rng)}"
        if rng.random() < 0.06 and kind.outer not in ("udt",):
            return f"({kind.name}){kind.literal(rng)}"
        if kind.outer == "blob" and rng.random() < 0.3:
            other = rng.choice(KEY_NATIVE)
            return f"{other}_as_blob({Kind(other).literal(rng)})" if other != "blob" else "0x12"
        if rng.random() < 0.03:
            return f"from_json('{rng.choice(('1', 'null', '[1]', '{}'))}')"
        return kind.literal(rng)

    def _timestamp(self):
        return str(self.rng.randint(1, 6))

    def _using(self, table, allow_ttl=True):
        if table.is_conditional or table.is_counter:
            return ""
        rng = self.rng
        parts = [f"TIMESTAMP {self._timestamp()}"]
        if allow_ttl and rng.random() < 0.25:
            parts.append(f"TTL {rng.choice(('10', '10', '100', '0', '15'))}")
            rng.shuffle(parts)
        return f" USING {' AND '.join(parts)}"

    # Writes.

    def _insert(self, table, missing):
        rng = self.rng
        columns = []
        for name, kind in table.columns:
            is_key = (name, kind) in table.partition or (name, kind) in table.clustering
            if rng.random() < (missing * 0.15 if is_key else 0.25):
                continue
            columns.append((name, kind))
        if table.statics and rng.random() < 0.1:
            columns = [column for column in table.columns if column in table.partition or column in table.statics]
        if not columns:
            columns = table.columns
        is_key = lambda column: column in table.partition or column in table.clustering  # noqa: E731
        values = [self._term(kind, wrong=0.01 if is_key((name, kind)) else 0.03, null=0.01 if is_key((name, kind)) else 0.08,
                             bind=0.1) for name, kind in columns]
        names = ", ".join(name for name, _ in columns)
        has_row = all(column in columns for column in table.clustering)
        condition = " IF NOT EXISTS" if table.is_conditional and has_row and rng.random() < 0.5 else ""
        return f"INSERT INTO {table.name} ({names}) VALUES ({', '.join(values)}){condition}{self._using(table)}"

    def _insert_json(self, table):
        rng = self.rng
        if table.is_counter:
            return self._select(table)
        pairs = []
        for name, kind in table.columns:
            if rng.random() < 0.15 and (name, kind) not in table.partition:
                continue
            pairs.append(f'"{name}": {_json(rng, kind)}')
        text = "{" + ", ".join(pairs) + "}"
        default = rng.choice(("", "", " DEFAULT NULL", " DEFAULT UNSET"))
        condition = " IF NOT EXISTS" if table.is_conditional and rng.random() < 0.4 else ""
        return f"INSERT INTO {table.name} JSON '{text}'{default}{condition}{self._using(table)}"

    def _key(self, table, whole=0.9):
        rng = self.rng
        parts = [f"{name} = {self._term(kind, wrong=0.01, null=0.01, bind=0.1)}" if rng.random() < 0.9
                 else f"{name} IN ({self._term(kind, 0.01, 0.0, 0.01)}, {self._term(kind, 0.01, 0.0, 0.01)})"
                 for name, kind in table.partition]
        for name, kind in table.clustering:
            draw = rng.random()
            if draw < whole:
                parts.append(f"{name} = {self._term(kind, wrong=0.01, null=0.01, bind=0.1)}")
            elif draw < whole + (1 - whole) / 2:
                parts.append(f"{name} {rng.choice(('<', '>=', '>', '<=', 'IN'))} " + self._term(kind, 0.02, 0.1, 0.02))
        return " AND ".join(parts)

    def _assignment(self, name, kind):
        rng = self.rng
        draw = rng.random()
        if kind.outer == "counter":
            amount = rng.choice(("1", "2", "5", "-1", "9223372036854775807"))
            return f"{name} {rng.choice('+-')}= {amount}" if draw < 0.4 else f"{name} = {name} {rng.choice('+-')} {amount}"
        if kind.outer in ("list", "set") and draw < 0.6:
            element = kind.inner[0]
            if draw < 0.25:
                return f"{name} = {name} + {self._term(kind)}"
            if draw < 0.35:
                return f"{name} = {name} - {self._term(kind)}"
            if draw < 0.45:
                return f"{name} {rng.choice('+-')}= {self._term(kind)}"
            if draw < 0.52 and kind.outer == "list":
                return f"{name} = {self._term(kind)} + {name}"
            return f"{name}[{rng.choice(('0', '1', '-1', '2', 'null'))}] = {self._term(element)}"
        if kind.outer == "map" and draw < 0.6:
            if draw < 0.2:
                return f"{name} = {name} + {self._term(kind)}"
            if draw < 0.35:
                return f"{name} {rng.choice('-+')}= {self._term(Kind('set', [kind.inner[0]]))}"
            return f"{name}[{self._term(kind.inner[0])}] = {self._term(kind.inner[1])}"
        if kind.outer == "udt" and draw < 0.5:
            at = rng.randrange(len(kind.fields))
            return f"{name}.{kind.fields[at]} = {self._term(kind.inner[at])}"
        if kind.outer in (*NUMERIC, "text") and draw < 0.1:
            return f"{name} {rng.choice('+-')}= {self._term(kind)}"
        return f"{name} = {self._term(kind)}"

    def _update(self, table):
        rng = self.rng
        candidates = table.regulars + table.statics
        chosen = rng.sample(candidates, min(len(candidates), rng.choice((1, 1, 2))))
        if rng.random() < 0.04:
            chosen.append(rng.choice(table.columns))
        using = self._using(table)
        assignments = ", ".join(self._assignment(name, kind) for name, kind in chosen)
        key = self._key(table, 0.97)
        if table.statics and all(column in table.statics for column in chosen) and rng.random() < 0.5:
            key = " AND ".join(f"{name} = {self._term(kind, 0.01, 0.1, 0.01)}" for name, kind in table.partition)
        condition = self._condition(table)
        if condition == " IF EXISTS" and chosen[0] in table.statics:
            condition = ""  # which row is shown beside the static columns is left open, see ROADMAP.md
        return f"UPDATE {table.name}{using} SET {assignments} WHERE {key}{condition}"

    def _condition(self, table):
        rng = self.rng
        if not table.is_conditional or rng.random() < 0.35:
            return ""
        if rng.random() < 0.25:
            return " IF EXISTS"
        parts = []
        for name, kind in rng.sample(table.regulars + table.statics, 1 if rng.random() < 0.7 else min(2, len(table.regulars))):
            draw = rng.random()
            if kind.outer in ("list", "map") and draw < 0.4:
                index = rng.choice(("0", "1", "5", "-1")) if kind.outer == "list" else self._term(kind.inner[0])
                element = kind.inner[-1]
                parts.append(f"{name}[{index}] {rng.choice(COMPARISONS)} {self._term(element)}")
            elif kind.outer == "udt" and draw < 0.4:
                at = rng.randrange(len(kind.fields))
                parts.append(f"{name}.{kind.fields[at]} {rng.choice(COMPARISONS)} {self._term(kind.inner[at])}")
            elif draw < 0.55:
                parts.append(f"{name} IN ({self._term(kind)}, {self._term(kind)})")
            elif draw < 0.6 and kind.outer in ("list", "set", "map"):
                parts.append(f"{name} CONTAINS {self._term(kind.inner[-1])}")
            else:
                parts.append(f"{name} {rng.choice(COMPARISONS)} {self._term(kind, null=0.2)}")
        return " IF " + " AND ".join(parts)

    def _delete(self, table):
        rng = self.rng
        targets = []
        if rng.random() < 0.5 and table.regulars:
            for name, kind in rng.sample(table.regulars + table.statics, 1):
                if kind.outer in ("list", "set", "map") and rng.random() < 0.6:
                    element = Kind("int") if kind.outer == "list" else kind.inner[0]
                    targets.append(f"{name}[{self._term(element)}]")
                elif kind.outer == "udt" and rng.random() < 0.6:
                    targets.append(f"{name}.{rng.choice(kind.fields)}")
                else:
                    targets.append(name)
        using = "" if table.is_conditional or table.is_counter else f" USING TIMESTAMP {self._timestamp()}"
        key = self._key(table, 0.95 if targets else 0.6)
        if not targets and rng.random() < 0.2:
            key = self._where(table, 0.95)
        return f"DELETE {', '.join(targets)}{' ' if targets else ''}FROM {table.name}{using} WHERE {key}{self._condition(table)}"

    def _batch(self, table):
        rng = self.rng
        saved, self.pending = self.pending, None  # markers would have to be in order
        kind = rng.choice(("", "UNLOGGED ", "COUNTER ")) if rng.random() < 0.3 else ""
        children = []
        for _ in range(rng.randint(1, 4)):
            target = table if rng.random() < 0.7 else rng.choice(self.tables)
            forms = (self._insert_plain, self._update, self._update if target.is_counter else self._delete)
            children.append(rng.choice(forms)(target))
        self.pending = saved
        return f"BEGIN {kind}BATCH {'; '.join(children)}; APPLY BATCH"

    def _insert_plain(self, table):
        return self._insert(table, 0.0)

    def _alter(self, table):
        rng = self.rng
        draw = rng.random()
        self.added += 1
        if draw < 0.35 and not table.is_counter:
            kind = self._kind()
            static = " static" if rng.random() < 0.2 else ""
            name = f"a{self.added}"
            if not static or table.clustering:
                (table.statics if static else table.regulars).append((name, kind))
            return f"ALTER TABLE {table.name} ADD {name} {kind.name}{static}"
        if draw < 0.5 and len(table.regulars) > 1:
            name, kind = rng.choice(table.regulars)
            if not (kind.outer == "udt" and kind.is_multi_cell):
                table.regulars.remove((name, kind))
            return f"ALTER TABLE {table.name} DROP {name}{' USING TIMESTAMP 3' if not table.is_conditional else ''}"
        if draw < 0.65 and self.user_type:
            name, kind = f"g{self.added}", Kind(rng.choice(KEY_NATIVE))
            return f"ALTER TYPE u ADD {name} {kind.name}"  # users of `u` see it as a field that nobody sets
        if draw < 0.75:
            return f"DESCRIBE TABLE {table.name}"
        if draw < 0.85:
            return f"TRUNCATE {table.name}" if table.is_conditional else f"SELECT * FROM {table.name}"
        grace = rng.choice(("864000", "777600", "-1"))  # with none, a compaction drops what the real clock calls expired
        return f"ALTER TABLE {table.name} WITH comment = 'c{self.added}' AND gc_grace_seconds = {grace}"

    # Reads.

    def _select(self, table):
        rng = self.rng
        is_json = "JSON " if rng.random() < 0.08 else ""
        distinct = ""
        if rng.random() < 0.06:
            distinct = "DISTINCT "
            columns = ", ".join(name for name, _ in table.partition + (table.statics if rng.random() < 0.5 else []))
        elif rng.random() < 0.35:
            columns = "*"
        else:
            columns = ", ".join(self._selector(table) for _ in range(rng.choice((1, 1, 2, 3))))
        text = f"SELECT {is_json}{distinct}{columns} FROM {table.name}"
        where = self._where(table, 0.6)
        text += f" WHERE {where}" if where else ""
        if rng.random() < 0.12:
            text += f" GROUP BY {', '.join(self._group(table))}"
        if table.clustering and rng.random() < 0.2:
            order = [f"{name}{rng.choice((' ASC', ' DESC', ''))}" for name, _ in table.clustering[:rng.randint(1, len(table.clustering))]]
            if rng.random() < 0.5:
                flip = rng.random() < 0.5
                order = [f"{name} {'DESC' if down != flip else 'ASC'}" for (name, _), down in zip(table.clustering, table.descending)]
            text += f" ORDER BY {', '.join(order)}"
        if rng.random() < 0.15:
            text += f" PER PARTITION LIMIT {rng.choice(('1', '2', '0', '3'))}"
        if rng.random() < 0.2:
            text += f" LIMIT {rng.choice(('1', '2', '3', '10', '0', '-1'))}"
        if rng.random() < 0.45:
            text += " ALLOW FILTERING"
        return text

    def _group(self, table):
        rng = self.rng
        names = [name for name, _ in table.partition + table.clustering]
        chosen = names[:rng.randint(1, len(names))]
        if rng.random() < 0.1:
            rng.shuffle(chosen)
        return chosen

    def _selector(self, table, depth=0):
        rng = self.rng
        name, kind = rng.choice(table.columns)
        draw = rng.random()
        if depth == 0 and rng.random() < 0.06:
            return f"{self._selector(table, 1)} AS {rng.choice(('x', 'y', 'k', 'p0'))}"
        if draw < 0.3 or depth > 2:
            return name
        if draw < 0.36:
            function = rng.choice(("writetime", "ttl", "maxwritetime"))
            return f"{function}({name})" if not table.is_conditional and not table.is_counter or function == "ttl" else name
        if draw < 0.43:
            return f"CAST({self._selector(table, 2)} AS {rng.choice(CAST_TARGETS)})"
        if draw < 0.51:
            right = rng.choice((rng.choice(table.columns)[0], kind.literal(rng) if kind.outer != "counter" else "1", "2"))
            return f"{name} {rng.choice('+-*/%')} {right}"
        if draw < 0.54:
            return f"-{name}"
        if draw < 0.62:
            return f"{rng.choice(AGGREGATES)}({self._selector(table, 2) if rng.random() < 0.5 else name})"
        if draw < 0.65:
            return "count(*)"
        if draw < 0.75:
            return f"{rng.choice(FUNCTIONS_OF_ONE)}({self._selector(table, depth + 1)})"
        if draw < 0.79:
            other = rng.choice(KEY_NATIVE)
            return f"{other}_as_blob({name})" if rng.random() < 0.5 else f"blob_as_{other}({name})"
        if draw < 0.86 and kind.outer in ("list", "set", "map"):
            element = kind.inner[0] if kind.outer != "list" else Kind("int")
            low, high = element.literal(rng), element.literal(rng)
            return f"{name}[{rng.choice((low, low + '..' + high, '..' + high, low + '..'))}]"
        if draw < 0.92 and kind.outer == "udt":
            return f"{name}.{rng.choice(kind.fields)}"
        if draw < 0.94 and kind.outer == "vector":
            return f"similarity_{rng.choice(('cosine', 'euclidean', 'dot_product'))}({name}, {kind.literal(rng)})"
        if draw < 0.96:
            literal_kind = random_kind(rng, 0, False, None)
            return f"({literal_kind.name}){literal_kind.literal(rng)}"
        if draw < 0.98:
            return f"token({', '.join(key for key, _ in table.partition)})"
        return rng.choice((f"({name}, {rng.choice(table.columns)[0]})", f"[{name}, {name}]", "{" + f"{name}: {name}" + "}",
                           "'text'", "5", f"mask_replace({name}, {kind.literal(rng) if kind.outer != 'counter' else 1})"))

    def _where(self, table, key):
        rng = self.rng
        parts = []
        if rng.random() < 0.07:
            names = ", ".join(name for name, _ in table.partition)
            right = rng.choice(("0", "-9223372036854775808", "token"))
            if right == "token":
                right += f"({', '.join(self._term(kind) for _, kind in table.partition)})"
            parts.append(f"token({names}) {rng.choice(COMPARISONS)} {right}")
        elif rng.random() < key:
            parts += [self._relation(name, kind, 0.75, 0.2) for name, kind in table.partition]
        if table.clustering and rng.random() < 0.5:
            if rng.random() < 0.3:
                names = table.clustering[:rng.randint(1, len(table.clustering))]
                operator = rng.choice(("=", "<", ">", ">=", "<=", "IN"))
                tuples = ["(" + ", ".join(self._term(kind, 0.01, 0.1, 0.02) for _, kind in names) + ")"
                          for _ in range(2 if operator == "IN" else 1)]
                right = f"({', '.join(tuples)})" if operator == "IN" else tuples[0]
                parts.append(f"({', '.join(name for name, _ in names)}) {operator} {right}")
            else:
                for name, kind in table.clustering[:rng.randint(1, len(table.clustering))]:
                    parts.append(self._relation(name, kind, 0.5, 0.2))
        if rng.random() < 0.25:
            parts.append(self._relation(*rng.choice(table.columns), 0.4, 0.1))
        return " AND ".join(parts)

    def _relation(self, name, kind, equal, within):
        rng = self.rng
        term = lambda kind: self._term(kind, wrong=0.02, bind=0.15, null=0.03)  # noqa: E731
        draw = rng.random()
        if kind.outer in ("list", "set", "map") and rng.random() < 0.6:
            if kind.outer == "map" and draw < 0.35:
                return f"{name}[{term(kind.inner[0])}] {rng.choice(COMPARISONS)} {term(kind.inner[1])}"
            if kind.outer == "map" and draw < 0.6:
                return f"{name} CONTAINS KEY {term(kind.inner[0])}"
            return f"{name} CONTAINS {term(kind.inner[-1])}"
        if draw < equal:
            return f"{name} = {term(kind)}"
        if draw < equal + within:
            return f"{name} IN ({', '.join(term(kind) for _ in range(rng.choice((0, 1, 2, 2, 3))))})"
        if draw > 0.97:
            operator = rng.choice(("IS NOT NULL", "LIKE 'a%'", "!="))
            return f"{name} {operator}{' ' + term(kind) if operator == '!=' else ''}"
        relation = f"{name} {rng.choice(('<', '<=', '>', '>='))} {term(kind)}"
        if rng.random() < 0.3:
            relation += f" AND {name} {rng.choice(('<', '<=', '>', '>='))} {term(kind)}"
        return relation


def _json(rng, kind, depth=0):
    """JSON text for a value, inside a CQL string: apostrophes would have to be doubled, so there are none."""
    if rng.random() < 0.05:
        return "null"
    if rng.random() < 0.02:
        return rng.choice(('"x"', "1", "true", "[]", "{}", "1.5"))
    count = rng.choice((0, 1, 2))
    if kind.outer in ("list", "set"):
        return "[" + ", ".join(_json(rng, kind.inner[0], 1) for _ in range(count)) + "]"
    if kind.outer in ("tuple", "vector"):
        inner = kind.inner if kind.outer == "tuple" else kind.inner * kind.dimension
        return "[" + ", ".join(_json(rng, one, 1) for one in inner) + "]"
    if kind.outer == "udt":
        return "{" + ", ".join(f'"{name}": {_json(rng, one, 1)}' for name, one in zip(kind.fields, kind.inner)) + "}"
    if kind.outer == "map":
        count = count if kind.inner[0].outer in UNLIKE else min(count, 1)
        return "{" + ", ".join(f"{_json_key(rng, kind.inner[0])}: {_json(rng, kind.inner[1], 1)}" for _ in range(count)) + "}"
    text = kind.literal(rng)
    if text.startswith("'"):
        return '"' + text[1:-1].replace("''", "") + '"'
    if kind.outer in (*NUMERIC, "boolean") and text not in ("NaN", "Infinity", "-Infinity"):
        return f'"{text}"' if rng.random() < 0.15 else text
    return text if kind.outer in ("timestamp", "time", "date") and rng.random() < 0.5 else f'"{text}"'


def _json_key(rng, kind):
    text = _json(rng, kind, 1)
    if text.startswith('"'):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
