"""COPY TO and FROM: many connections, prepared inserts, token ranges."""

import csv

TYPES = "k int PRIMARY KEY, t text, d double, b blob, l list<int>, m map<text, int>, s set<text>, ts timestamp, u uuid, bo boolean"


def test_ten_thousand_rows_go_in_and_out_unchanged(shell, tmp_path):
    source, target = tmp_path / "source.csv", tmp_path / "target.csv"
    rows = {str(n): [str(n), f"value {n}", str(n * n)] for n in range(10_000)}
    with source.open("w", newline="") as file:
        csv.writer(file).writerows(rows.values())
    shell.run("CREATE TABLE copied (id int PRIMARY KEY, v text, n bigint);")
    printed = shell.run(f"COPY copied (id, v, n) FROM '{source}' WITH NUMPROCESSES = 2;")
    assert "10000 rows imported from 1 files" in printed
    printed = shell.run(f"COPY copied (id, v, n) TO '{target}' WITH NUMPROCESSES = 2;")
    assert "10000 rows exported to 1 files" in printed
    with target.open(newline="") as file:
        assert {row[0]: row for row in csv.reader(file)} == rows


def test_values_of_all_kinds_survive_a_round_trip(shell, tmp_path):
    target = tmp_path / "kinds.csv"
    shell.run(f"""CREATE TABLE kinds ({TYPES}); CREATE TABLE kinds_again ({TYPES});
        INSERT INTO kinds (k, t, d, b, l, m, s, ts, u, bo) VALUES (1, 'comma, "quote" and ünï', 0.1, 0x00ff, [1, 2], {{'a': 1}},
            {{'x', 'y'}}, '2024-02-29 01:02:03.004+0000', 62c36092-82a1-3a00-93d1-46196ee77204, true);
        INSERT INTO kinds (k, t) VALUES (2, 'nulls beside');""")
    shell.run(f"COPY kinds TO '{target}' WITH HEADER = true;\nCOPY kinds_again FROM '{target}' WITH HEADER = true AND NUMPROCESSES = 1;")
    first, second = (shell.run(f"SELECT JSON * FROM {table};") for table in ("kinds", "kinds_again"))
    assert first == second and "nulls beside" in first and "ünï" in first


def test_rows_that_do_not_parse_are_counted_and_the_others_go_in(shell, tmp_path):
    source = tmp_path / "bad.csv"
    source.write_text("1,good\nnot a number,bad\n3,good too\n")
    shell.run("CREATE TABLE partly (id int PRIMARY KEY, v text);")
    errors = shell.run(f"COPY partly (id, v) FROM '{source}' WITH NUMPROCESSES = 1 AND ERRFILE = '{tmp_path}/bad.err';", ok=False)
    assert "Failed to import 1 rows" in errors
    assert '2' in shell.run("SELECT count(id) FROM partly;")


def test_options_choose_delimiter_null_and_token_range(shell, tmp_path):
    target = tmp_path / "part.csv"
    shell.run("INSERT INTO people (id) VALUES (40);")
    shell.run(f"COPY people (id, name) TO '{target}' WITH DELIMITER = '|' AND NULL = 'none' AND BEGINTOKEN = '-9223372036854775808'"
              " AND ENDTOKEN = '9223372036854775807';")
    assert {"1|Ann", "40|none"} <= set(target.read_text().splitlines())


def test_counters_are_loaded_as_increments(shell, tmp_path):
    source = tmp_path / "counters.csv"
    source.write_text("1,5\n2,7\n")
    shell.run("CREATE TABLE counted (k int PRIMARY KEY, n counter);")
    shell.run(f"COPY counted (k, n) FROM '{source}' WITH NUMPROCESSES = 1;\nCOPY counted (k, n) FROM '{source}' WITH NUMPROCESSES = 1;")
    printed = shell.run("SELECT * FROM counted;")
    assert "1 | 10" in printed and "2 | 14" in printed
