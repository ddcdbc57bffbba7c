"""Paging states that nobody was given: damaged, of another statement, another table, another partition or version.

A state is a position in the client's hands, so each may end in an ERROR or continue somewhere; rows that the statement
did not ask for may never come back.
"""

import struct

from .. import bodies
from ..bodies import Rows, int_value
from ..client import ERROR, QUERY, RESULT, Closed, Nonsense, Silent
from ..world import PARTITIONS, ROWS
from .envelopes import damaged

#: label, statement, and what every row of its answer (k, c, v) must fulfil.
STATEMENTS = [
    ("a partition", "SELECT k, c, v FROM hostile.p WHERE k = 1", lambda k, c, v: k == 1 and v == f"p1.{c}"),
    ("a slice", "SELECT k, c, v FROM hostile.p WHERE k = 1 AND c > 3 AND c < 20",
     lambda k, c, v: k == 1 and 3 < c < 20 and v == f"p1.{c}"),
    ("a reversed slice", "SELECT k, c, v FROM hostile.p WHERE k = 2 AND c >= 5 ORDER BY c DESC",
     lambda k, c, v: k == 2 and 5 <= c and v == f"p2.{c}"),
    ("two partitions", "SELECT k, c, v FROM hostile.p WHERE k IN (0, 3)", lambda k, c, v: k in (0, 3) and v == f"p{k}.{c}"),
    ("single rows", "SELECT k, c, v FROM hostile.p WHERE k = 1 AND c IN (2, 4, 6, 8, 10)",
     lambda k, c, v: k == 1 and c in (2, 4, 6, 8, 10)),
    ("a scan", "SELECT k, c, v FROM hostile.p", lambda k, c, v: v == f"p{k}.{c}"),
    ("a filtered scan", "SELECT k, c, v FROM hostile.p WHERE c = 7 ALLOW FILTERING", lambda k, c, v: c == 7),
    ("a limit", "SELECT k, c, v FROM hostile.p WHERE k = 3 LIMIT 10", lambda k, c, v: k == 3),
    ("a range of tokens", "SELECT k, c, v FROM hostile.p WHERE token(k) > -3000000000000000000 AND token(k) <= 8000000000000000000",
     lambda k, c, v: v == f"p{k}.{c}"),
    ("several key columns", "SELECT b, b, v FROM hostile.x WHERE a = 'a' AND b = 1", lambda k, c, v: k == 1 and v.startswith("x1")),
    ("a scan of several key columns", "SELECT b, b, v FROM hostile.x", lambda k, c, v: v.startswith(f"x{k}")),
    ("another table", "SELECT k, c, v FROM hostile.q WHERE k = 1", lambda k, c, v: k == 1 and v == f"q1.{c}"),
]
PAGE = 3


def fetch(client, text, state=None, values=()):
    """(Rows or None, the ERROR's code)."""
    answer = client.ask(QUERY, bodies.query(client.version, text, values, PAGE, state))
    if answer.opcode == RESULT:
        return Rows(answer.body), None
    return None, answer.code


def checked(rows, is_asked):
    """The first row that the statement did not ask for, or None."""
    for k, c, v in rows.rows:
        row = struct.unpack(">i", k)[0], struct.unpack(">i", c)[0], v.decode(errors="replace")
        if not is_asked(*row):
            return row
    return None


def pages_put_together_are_the_whole(world):
    with world.connect() as client:
        for label, text, is_asked in STATEMENTS:
            state, rows, pages = None, [], 0
            while pages < 60:
                page, code = fetch(client, text, state)
                if page is None or checked(page, is_asked):
                    break
                rows += page.rows
                pages += 1
                state = page.paging_state
                if state is None:
                    break
            whole = Rows(client.ask(QUERY, bodies.query(4, text, page_size=1000)).body).rows
            world.report.check(f"pages of {label}", state is None and rows == whole, f"{len(rows)} rows of {len(whole)}, {pages} pages")


def states_of_other_statements_are_refused(world):
    states = {}
    with world.connect() as client:
        for label, text, _ in STATEMENTS:
            states[label] = fetch(client, text)[0].paging_state
        for label, text, is_asked in STATEMENTS:
            foreign, refused, given = None, 0, 0
            for other, state in states.items():
                if other == label or state is None:
                    continue
                given += 1
                rows, code = fetch(client, text, state)
                refused += bool(code)
                foreign = foreign or (rows and checked(rows, is_asked))
            world.report.check(f"{label}: states of other statements are refused", refused == given and not foreign,
                               f"{refused} of {given} refused; row {foreign}")


def states_survive_no_change_of_their_table(world):
    with world.connect() as client:
        client.query("CREATE TABLE hostile.gone (k int, c int, v text, PRIMARY KEY (k, c))")
        for c in range(10):
            client.query(f"INSERT INTO hostile.gone (k, c, v) VALUES (1, {c}, 'x')")
        text = "SELECT k, c, v FROM hostile.gone WHERE k = 1"
        state = fetch(client, text)[0].paging_state
        client.query("DROP TABLE hostile.gone")
        client.query("CREATE TABLE hostile.gone (k int, c text, v text, PRIMARY KEY (k, c))")
        client.query("INSERT INTO hostile.gone (k, c, v) VALUES (1, 'abc', 'y')")
        rows, code = fetch(client, text, state)
        world.report.check("the state of a dropped table is refused", code, rows and rows.rows)
        client.query("DROP TABLE hostile.gone")


def states_work_in_every_version_or_are_refused(world):
    label, text, is_asked = STATEMENTS[0]
    found = []
    for one in (3, 4, 5):
        with world.connect(one) as client:
            first, _ = fetch(client, text)
        for two in (3, 4, 5):
            with world.connect(two) as client:
                rows, code = fetch(client, text, first.paging_state)
                found.append(bool(code) or rows.rows[0][1] == int_value(PAGE))
    world.report.check("a state of one version in another", all(found), found)


def bound_values_keep_their_meaning(world):
    """The state of k = 0 with k = 1 bound: rows of k = 1, or an error."""
    text = "SELECT k, c, v FROM hostile.p WHERE k = ?"
    with world.connect() as client:
        state = fetch(client, text, values=[int_value(0)])[0].paging_state
        for k in range(1, PARTITIONS):
            rows, code = fetch(client, text, state, [int_value(k)])
            foreign = rows and checked(rows, lambda got, c, v: got == k)
            world.report.check(f"a state of partition 0 with {k} bound", code or not foreign, foreign)


def damaged_states_never_bring_foreign_rows(world):
    report = world.report
    sent = refused = 0
    states = {}
    client = world.connect()
    for number, (label, text, _) in enumerate(STATEMENTS):
        states[number] = fetch(client, text)[0].paging_state
    for case in world.cases():
        rng = world.random(case)
        number = rng.randrange(len(STATEMENTS))
        label, text, is_asked = STATEMENTS[number]
        state = tampered(rng, states[number] or rng.randbytes(30), case)
        try:
            rows, code = fetch(client, text, state)
        except (Closed, Silent, Nonsense) as error:
            report.check("a damaged state is answered", False, f"{error!r}; {text} with {state.hex()}; {world.replay(case)}")
            if not world.node.is_alive():
                return
            client = world.connect()
            continue
        sent += 1
        refused += bool(code)
        foreign = rows and checked(rows, is_asked)
        if foreign or code == 0:
            report.check("a damaged state brings no foreign rows", False,
                         f"row {foreign}, code {code}; {text} with {state.hex()}; {world.replay(case)}")
    client.close()
    report.note(f"{sent} states, {refused} refused")
    report.check("damaged states never bring foreign rows", 0 < sent and world.node.is_alive(), "none was sent")


def tampered(rng, state, case):
    if case % 8 == 0:
        return rng.randbytes(rng.randrange(80))
    if case % 8 < 4 and 9 < len(state):
        # The head with the statement's hash stays, so that what lies behind is looked at.
        return state[:9] + damaged(rng, state[9:])
    if case % 8 == 4:
        # Another partition's key in place of its own, which a clever client may well write.
        return state.replace(int_value(1), int_value(rng.randrange(-1, PARTITIONS + 1)))
    return damaged(rng, state)


def long_states_are_refused(world):
    with world.connect() as client:
        for size in (0, 1, 65_535, 1 << 20, 8 << 20):
            rows, code = fetch(client, STATEMENTS[0][1], b"\x68" * size)
            # An empty state is the first page in Cassandra too.
            world.report.check(f"a state of {size} bytes", code or size == 0 and len(rows.rows) == PAGE, rows and rows.rows)


def page_sizes_out_of_range_are_answered(world):
    with world.connect() as client:
        for size in (0, -1, -0x80000000, 0x7FFFFFFF):
            answer = client.ask(QUERY, bodies.query(4, "SELECT k, c, v FROM hostile.p", page_size=size))
            is_good = answer.code or answer.opcode == RESULT and len(Rows(answer.body).rows) == PARTITIONS * ROWS
            world.report.check(f"page size {size}", is_good, answer.text)


SCENARIOS = [pages_put_together_are_the_whole, states_of_other_statements_are_refused, states_survive_no_change_of_their_table,
             states_work_in_every_version_or_are_refused, bound_values_keep_their_meaning, long_states_are_refused,
             page_sizes_out_of_range_are_answered, damaged_states_never_bring_foreign_rows]
