"""Prepared statements that the node forgot, that belong elsewhere, or whose tables changed: one re-prepare, never a loop."""

from .. import bodies
from ..bodies import Prepared, Rows, int_value
from ..client import BATCH, ERROR, EXECUTE, PREPARE, RESULT
from ..world import MIB, grown

UNPREPARED = 0x2500

#: Small, so that evicting takes some hundred statements.
SETTINGS = ("prepared_statements_cache_size=1MiB",)
FLOOD = 1000

#: Some 20 and 80 KB of text each, a quarter of a MiB and a MiB once compiled.
#: (how many literals, how many statements, whether they are taken).
LARGE, LARGE_SLACK_BYTES = ((4_000, 100, True), (15_000, 10, False)), 48 * MIB
SLACK_BYTES = 96 * MIB


def prepare(client, text, keyspace=None):
    answer = client.ask(PREPARE, bodies.prepare(client.version, text, keyspace))
    if answer.opcode != RESULT:
        raise AssertionError(f"PREPARE {text}: {answer.text}")
    return Prepared(client.version, answer.body)


def execute(client, prepared, values=(), **rest):
    return client.ask(EXECUTE, bodies.execute(client.version, prepared, values, **rest))


def execute_as_drivers_do(client, text, prepared, values=()):
    """(answer, how often it had to prepare again). Gives up after three times."""
    for attempt in range(4):
        answer = execute(client, prepared, values)
        if answer.code != UNPREPARED:
            return answer, attempt
        prepared = prepare(client, text)
    return answer, attempt


def unknown_ids_are_named_in_the_error(world):
    for version in (3, 4, 5):
        with world.connect(version) as client:
            for statement_id in (b"", b"\1", bytes(16), b"\xff" * 16, b"x" * 60_000):
                class Unknown:
                    id, result_id = statement_id, b"\0" * 16
                answer = execute(client, Unknown)
                is_named = answer.code == UNPREPARED and answer.body.endswith(len(statement_id).to_bytes(2, "big") + statement_id)
                world.report.check(f"version {version}: an id of {len(statement_id)} bytes that nobody prepared", is_named, answer[4:])


def an_evicted_statement_is_prepared_again_once(world):
    report, node = world.report, world.node
    text = "SELECT v FROM hostile.p WHERE k = ? AND c = ?"
    before = node.reset_peak()
    with world.connect(5) as client, world.connect(5) as flooder:
        prepared = prepare(client, text)
        evicted = prepare(client, "SELECT c FROM hostile.p WHERE k = ?")
        for number in range(FLOOD):
            prepare(flooder, f"SELECT v AS a{number} FROM hostile.p WHERE k = ? AND c = {number}")
        report.check("a statement that was not used is evicted", execute(client, evicted, [int_value(1)]).code == UNPREPARED, "it is not")
        answer, again = execute_as_drivers_do(client, text, prepared, [int_value(1), int_value(2)])
        is_good = answer.opcode == RESULT and Rows(answer.body).rows == [(b"p1.2",)] and again <= 1
        report.check("it answers after one re-prepare at most", is_good, f"{again} times, {answer.text}")
        fresh = prepare(client, text)
        children = [(fresh.id, []), (evicted.id, [int_value(1)])]
        answer = client.ask(BATCH, bodies.batch(5, children))
        report.check("a batch of a SELECT and an evicted statement is refused", answer.opcode == ERROR and answer.code != 0, answer.text)
    report.check(f"memory of {FLOOD} prepared statements", node.peak_bytes < before + SLACK_BYTES, grown(before, node.peak_bytes))


def large_statements_are_held_within_the_budget(world):
    """Some that fit, but few at a time, and some that do not fit at all."""
    node = world.node
    for literals, count, is_taken in LARGE:
        before = node.reset_peak()
        numbers = ",".join(map(str, range(literals)))
        taken = 0
        with world.connect(4) as client:
            for number in range(count):
                text = f"SELECT v AS c{number} FROM hostile.p WHERE k = 1 AND c IN ({numbers})"
                answer = client.ask(PREPARE, bodies.prepare(4, text))
                taken += answer.opcode == RESULT
        world.report.check(f"statements with {literals} literals are {'prepared' if is_taken else 'refused'}", taken == count * is_taken, taken)
        world.report.check(f"memory of {count} of them", node.peak_bytes < before + LARGE_SLACK_BYTES, grown(before, node.peak_bytes))


def a_batch_with_a_forgotten_statement_needs_one_re_prepare(world):
    report = world.report
    known_text, lost_text = "INSERT INTO hostile.t (k, v) VALUES (?, 'known')", "INSERT INTO hostile.t (k, v) VALUES (?, 'lost')"
    with world.connect(5) as client, world.connect(4) as flooder:
        lost = prepare(client, lost_text)
        for number in range(FLOOD):
            prepare(flooder, f"SELECT v AS b{number} FROM hostile.p WHERE k = {number}")
        known = prepare(client, known_text)
        children = [(known.id, [int_value(500)]), (lost.id, [int_value(501)])]
        answer = client.ask(BATCH, bodies.batch(5, children))
        is_named = answer.code == UNPREPARED and answer.body.endswith(lost.id)
        report.check("a batch names the one statement that is unknown", is_named, answer[4:])
        prepare(client, lost_text)
        answer = client.ask(BATCH, bodies.batch(5, children))
        report.check("the batch is done after one re-prepare", answer.opcode == RESULT, answer.text)
        rows = Rows(client.query("SELECT k FROM hostile.t WHERE k IN (500, 501)")).rows
        report.check("and both rows are there", len(rows) == 2, rows)


def a_changed_table_gives_a_new_result_metadata_id(world):
    report = world.report
    text = "SELECT * FROM hostile.changing WHERE k = ?"
    with world.connect(5) as one, world.connect(5) as two, world.connect(4) as old:
        one.query("CREATE TABLE hostile.changing (k int PRIMARY KEY, a text)")
        one.query("INSERT INTO hostile.changing (k, a) VALUES (1, 'a')")
        first, same, old_id = prepare(one, text), prepare(two, text), prepare(old, text)
        report.check("ids are the same on all connections", (first.id, first.result_id) == (same.id, same.result_id), "they differ")
        two.query("ALTER TABLE hostile.changing ADD z int")
        two.query("UPDATE hostile.changing SET z = 7 WHERE k = 1")
        answer = execute(two, same, [int_value(1)], skip_metadata=True)
        current = same
        if answer.code == UNPREPARED:
            current = prepare(two, text)
            report.check("the id stays, the result metadata id changes", current.id == same.id and current.result_id != same.result_id,
                         "it does not")
        # The other connection still sends the old result metadata id and asks to skip what it believes to know.
        answer = execute(one, first, [int_value(1)], skip_metadata=True)
        rows = Rows(answer.body)
        is_good = answer.opcode == RESULT and rows.new_metadata_id is not None and rows.names == ["k", "a", "z"]
        report.check("an old result metadata id is answered with the new one and the columns", is_good,
                     f"{answer.text} {rows.names} {rows.new_metadata_id}")
        first.result_id = rows.new_metadata_id or b""
        answer = execute(one, first, [int_value(1)], skip_metadata=True)
        rows = Rows(answer.body)
        is_good = rows.new_metadata_id is None and rows.names == [] and rows.rows == [(int_value(1), b"a", int_value(7))]
        report.check("with the new id the columns are left out", is_good, (answer.text, rows.names, rows.rows))
        first.result_id = b"\0" * 16
        report.check("a made-up result metadata id is corrected", Rows(execute(one, first, [int_value(1)]).body).new_metadata_id, "it is not")
        answer, again = execute_as_drivers_do(old, text, old_id, [int_value(1)])
        report.check("version 4 is served after one re-prepare at most", answer.opcode == RESULT and again <= 1, (again, answer.text))
        two.query("DROP TABLE hostile.changing")
        answer = execute(one, first, [int_value(1)])
        report.check("a dropped table is an error", answer.code in (UNPREPARED, 0x2200), answer.text)
        answer = one.ask(PREPARE, bodies.prepare(5, text))
        report.check("which preparing names", answer.code == 0x2200, answer.text)
        two.query("CREATE TABLE hostile.changing (k text PRIMARY KEY, y int)")
        two.query("INSERT INTO hostile.changing (k, y) VALUES ('abcd', 1)")
        answer, again = execute_as_drivers_do(one, text, first, [b"abcd"])
        is_good = answer.opcode == RESULT and again == 1 and len(Rows(answer.body).rows) == 1
        report.check("a table created anew needs one re-prepare", is_good, (again, answer.text))
        two.query("DROP TABLE hostile.changing")


def a_statement_keeps_the_keyspace_it_was_prepared_in(world):
    report = world.report
    text = "SELECT v FROM t WHERE k = 600"
    with world.connect(4) as one, world.connect(4) as two, world.connect(5) as new:
        one.query("INSERT INTO hostile.t (k, v) VALUES (600, 'of hostile')")
        one.query("INSERT INTO other.t (k, v) VALUES (600, 'of other')")
        answer = one.ask(PREPARE, bodies.prepare(4, text))
        report.check("without a keyspace it cannot be prepared", answer.code == 0x2200, answer.text)
        one.query("USE hostile")
        two.query("USE other")
        of_hostile, of_other = prepare(one, text), prepare(two, text)
        report.check("two keyspaces, two ids", of_hostile.id != of_other.id, "they are the same")
        for label, client in [("the other's connection", two), ("its own after USE", one)]:
            if client is one:
                one.query("USE other")
            answer = execute(client, of_hostile)
            rows = Rows(answer.body).rows if answer.opcode == RESULT else answer.text
            report.check(f"run on {label}, it reads its own table or is refused", rows == [(b"of hostile",)] or answer.code is not None, rows)
        named = prepare(new, text, "other")
        rows = Rows(execute(new, named).body).rows
        report.check("a keyspace named in PREPARE is the one", rows == [(b"of other",)], rows)


def wrong_numbers_and_sizes_of_values_are_errors(world):
    report = world.report
    for version in (3, 4, 5):
        with world.connect(version) as client:
            prepared = prepare(client, "SELECT v FROM hostile.p WHERE k = ? AND c = ?")
            found = []
            for values in ([], [int_value(1)], [int_value(1)] * 3, [b"", b""], [b"12345", int_value(1)], [None, int_value(1)],
                           [int_value(1)] * 65535, [b"x" * 70_000] * 2):
                answer = execute(client, prepared, values)
                found.append(answer.code)
            # An empty int is a value of Cassandra's; for a key it finds no row or is refused.
            is_good = all(code or index == 3 for index, code in enumerate(found))
            report.check(f"version {version}: wrong numbers and sizes of values", is_good, found)


SCENARIOS = [unknown_ids_are_named_in_the_error, an_evicted_statement_is_prepared_again_once,
             large_statements_are_held_within_the_budget, a_batch_with_a_forgotten_statement_needs_one_re_prepare, a_changed_table_gives_a_new_result_metadata_id,
             a_statement_keeps_the_keyspace_it_was_prepared_in, wrong_numbers_and_sizes_of_values_are_errors]
