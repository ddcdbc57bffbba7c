"""Statements, output forms and shell commands that send something to the server."""

import os
import re
import subprocess

from conftest import HOST, KEYSPACE, PORT


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_select_prints_a_table_with_types_formatted(shell):
    assert lines(shell.run("SELECT * FROM people WHERE id = 1;")) == [
        "id | home                               | name | tags",
        "----+------------------------------------+------+------------",
        "1 | {street: 'Long Street', number: 7} |  Ann | {'a', 'b'}",
        "(1 rows)",
    ]


def test_every_type_is_printed(shell):
    shell.run("""CREATE TABLE every (k int PRIMARY KEY, a ascii, b bigint, c blob, d boolean, e date, f decimal, g double,
        h duration, i float, j inet, l smallint, m text, n time, o timestamp, p timeuuid, q tinyint, r uuid, s varint,
        t list<int>, u map<text, int>, v tuple<int, text>, w vector<float, 2>);
        INSERT INTO every (k, a, b, c, d, e, f, g, h, i, j, l, m, n, o, p, q, r, s, t, u, v, w) VALUES (1, 'x', 2, 0x0aff, true,
        '2024-02-29', 1.50, 2.5, 1h2m, 0.5, '10.0.0.1', 3, 'ü', '12:34:56.789', '2024-02-29 01:02:03.004+0000',
        d2177dd0-eaa2-11de-a572-001b779c76e3, 4, 62c36092-82a1-3a00-93d1-46196ee77204, 123456789012345678901234567890,
        [1, 2], {'a': 1}, (1, 'b'), [0.5, 1]);""")
    printed = shell.run("EXPAND ON; SELECT * FROM every;")
    values = dict(re.findall(r"^ *(\w) \| (.*?) *$", printed, re.MULTILINE))
    assert values == {
        "k": "1", "a": "x", "b": "2", "c": "0x0aff", "d": "True", "e": "2024-02-29", "f": "1.50", "g": "2.5", "h": "1h2m",
        "i": "0.5", "j": "10.0.0.1", "l": "3", "m": "ü", "n": "12:34:56.789000000", "o": "2024-02-29 01:02:03.004000+0000",
        "p": "d2177dd0-eaa2-11de-a572-001b779c76e3", "q": "4", "r": "62c36092-82a1-3a00-93d1-46196ee77204",
        "s": "123456789012345678901234567890", "t": "[1, 2]", "u": "{'a': 1}", "v": "(1, 'b')", "w": "[0.5, 1]"}


def test_expand_prints_a_row_a_block(shell):
    printed = shell.run("EXPAND ON; SELECT id, name FROM people WHERE id = 2;")
    assert "@ Row 1" in printed and lines(printed)[-3:] == ["id   | 2", "name | Bob", "(1 rows)"]


def test_execute_option_runs_one_statement(shell):
    assert "130" in shell.run(None, "-e", "SELECT count(*) FROM readings WHERE p = 1")


def test_file_option_and_source_read_statements_from_a_file(shell, tmp_path):
    script = tmp_path / "script.cql"
    script.write_text("-- a comment\nINSERT INTO people (id, name)\n  VALUES (30, 'from ''a'' file');\nSELECT name FROM people WHERE id = 30;\n")
    assert "from 'a' file" in shell.run(None, "-f", str(script))
    assert "from 'a' file" in shell.run(f"SOURCE '{script}'")


def test_capture_writes_results_into_a_file(shell, tmp_path):
    target = tmp_path / "captured.txt"
    printed = shell.run(f"CAPTURE '{target}';\nSELECT name FROM people WHERE id = 1;")
    assert "Ann" in target.read_text() and "Ann" not in printed


def test_consistency_is_shown_set_and_used(shell):
    printed = shell.run("CONSISTENCY;\nCONSISTENCY QUORUM;\nSELECT name FROM people WHERE id = 1;\nSERIAL CONSISTENCY LOCAL_SERIAL;\n"
                        "INSERT INTO people (id, name) VALUES (1, 'x') IF NOT EXISTS;")
    assert "Current consistency level is ONE." in printed and "Consistency level set to QUORUM." in printed
    assert "Serial consistency level set to LOCAL_SERIAL." in printed
    assert "Ann" in printed and "False" in printed


def test_consistency_out_of_reach_names_required_and_alive_replicas(shell):
    errors = shell.run("CONSISTENCY TWO;\nSELECT name FROM people WHERE id = 1;", ok=False)
    assert "NoHostAvailable" in errors and "Cannot achieve consistency level TWO" in errors
    assert "'required_replicas': 2, 'alive_replicas': 1" in errors.replace("\\", "")


def test_show_names_host_and_versions(shell):
    assert re.search(rf"Connected to .+ at {re.escape(HOST)}:{PORT}", shell.run("SHOW HOST"))
    assert re.search(r"\[cqlsh 6\.2\.2 \| Cassandra 5\.0\.\S+ \| CQL spec 3\.4\.7 \| Native protocol v5\]", shell.run("SHOW VERSION"))


def test_older_protocol_versions_are_spoken_when_asked(shell):
    for version in ("3", "4"):
        assert f"Native protocol v{version}" in shell.run("SHOW VERSION", "--protocol-version", version)


def test_tracing_prints_the_session_of_each_request(shell):
    printed = shell.run("TRACING ON;\nSELECT name FROM people WHERE id = 1;")
    assert "TRACING set to ON" in printed and "Ann" in printed
    session = re.search(r"Tracing session: ([0-9a-f-]{36})", printed).group(1)
    for words in ("activity", "source_elapsed", "Execute CQL3 query", "Request complete"):
        assert words in printed
    assert "Request complete" in shell.run(f"SHOW SESSION {session}")


def test_batch_and_conditional_batch(shell):
    printed = shell.run("""BEGIN BATCH
          INSERT INTO readings (p, c, v) VALUES (7, 1, 'one');
          INSERT INTO readings (p, c, v) VALUES (7, 2, 'two');
        APPLY BATCH;
        BEGIN BATCH UPDATE readings SET v = 'three' WHERE p = 7 AND c = 1 IF v = 'nine'; APPLY BATCH;
        SELECT c, v FROM readings WHERE p = 7;""")
    assert "[applied]" in printed and "False" in printed
    assert "2 | two" in printed and "1 | one" in printed


def test_warnings_are_printed(shell):
    assert "Aggregation query used without partition key" in shell.run("SELECT count(*) FROM readings;")


def test_json_and_functions(shell):
    printed = shell.run("SELECT JSON id, name FROM people WHERE id = 1; SELECT token(id), writetime(name) FROM people WHERE id = 1;")
    assert '{"id": 1, "name": "Ann"}' in printed and "system.token(id)" in printed and "-4069959284402364209" in printed


# Errors

def test_syntax_error_has_line_and_position(shell):
    assert "SyntaxException: line 1:0 no viable alternative at input 'SELEKT'" in shell.run("SELEKT * FROM people;", ok=False)


def test_invalid_statements_name_what_is_wrong(shell):
    errors = shell.run("SELECT nope FROM people;\nSELECT * FROM nope;\nUSE nope;\nDROP TABLE nope;\n"
                       "INSERT INTO people (id) VALUES ('x');\nCREATE TABLE people (id int PRIMARY KEY);", ok=False)
    for words in (f"InvalidRequest: Error from server: code=2200 [Invalid query] message=\"Undefined column name nope in table {KEYSPACE}.people\"",
                  'message="table nope does not exist"', "message=\"Keyspace 'nope' does not exist\"",
                  f"message=\"Table '{KEYSPACE}.nope' doesn't exist\"",
                  'message="Invalid STRING constant (x) for "id" of type int"',
                  f"AlreadyExists: Table '{KEYSPACE}.people' already exists"):
        assert words in errors, errors


def test_failing_script_ends_with_exit_code_2(shell):
    done = subprocess.run([*shell.arguments, "-k", KEYSPACE, "-e", "SELECT nope FROM people", HOST, PORT], env=shell.environment,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "Undefined column name nope" in done.stderr


# At a terminal

def test_terminal_pages_long_results(shell):
    terminal = shell.terminal()
    assert "Page size: 20" in terminal.ask("PAGING 20")
    first = terminal.ask("SELECT c FROM readings WHERE p = 1;", until="---MORE---")
    assert "129" in first and "110" in first and "109" not in first
    second = terminal.ask("", until="---MORE---")
    assert "109" in second and "90" in second
    rest = "".join(terminal.ask("", until="---MORE---") for _ in range(4)) + terminal.ask("")
    assert "(130 rows)" in rest
    assert "PAGING set to OFF" in terminal.ask("PAGING OFF")
    assert "(130 rows)" in terminal.ask("SELECT c FROM readings WHERE p = 1;")
    assert terminal.close() == 0


def test_terminal_continues_statements_over_lines_and_survives_errors(shell):
    terminal = shell.terminal()
    terminal.ask("SELECT name", until="... ")
    assert "Ann" in terminal.ask("FROM people WHERE id = 1;")
    assert "no viable alternative" in terminal.ask("SELEKT 1;")
    assert "Bob" in terminal.ask("SELECT name FROM people WHERE id = 2;")
    assert terminal.close() == 0


def test_terminal_completes_names_from_the_schema(shell):
    terminal = shell.terminal()
    os.write(terminal.master, b"SELECT v FROM readi\t")
    terminal.until("readings")
    assert "v129" in terminal.ask("WHERE p = 1 LIMIT 1;")
    assert terminal.close() == 0
