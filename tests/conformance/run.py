#!/usr/bin/env python3
"""Records and compares the conformance suite; see README.md beside this file.

    run.py record        [FILES] --host H [--port P]      write golden files from a live Apache Cassandra
    run.py compare       [FILES] --host H [--port P]      run the cases, report what differs from the golden files
    run.py rules                                          cases per grammar rule; fails below three
    run.py verify-tenth  --seed S --host H [--port P]     random files, a tenth of the statements, from a live Cassandra
    run.py hunt --oracle O --seed S --rounds N --host H   random statements to a live Cassandra and to H, answers compared
    run.py self-test                                      plant differences; the comparer must report each of them
"""

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

sys.path.insert(0, str(Path(__file__).resolve().parent))

from suite import rules as grammar  # noqa: E402
from suite.answer import render  # noqa: E402
from suite.case import DEFAULT_PROTOCOL, BadCase, Case  # noqa: E402
from suite.connection import Connection, ConnectionLost  # noqa: E402
from suite.golden import BadGolden, Golden, compare  # noqa: E402
from suite.hunt import hunt_round  # noqa: E402
from suite.known import KnownDifferences  # noqa: E402
from suite.selftest import self_test  # noqa: E402
from suite.session import Session  # noqa: E402

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"
CAUSES_SHOWN = 60
# Answers of Cassandra that nobody should be held to; `record` complains about them.
SUSPICIOUS = re.compile(
    r"lost|(  differs: )?error 0x(0000|1[1-3]00)|.*Invalid value for the paging state|.*\b(java\.lang|fasterxml)\b")
LATER = CASES / "later"  # features that Helenus does not have yet; run only when named


def find_cases(names):
    """All case files that count, or those named (files or folders, also of `later`)."""
    if not names:
        paths = [path for path in sorted(CASES.rglob("*.cql")) if LATER not in path.parents]
    else:
        paths = []
        for name in names:
            path = next((p for p in (Path(name), CASES / name, CASES / f"{name}.cql") if p.exists()), None)
            if path is None:
                sys.exit(f"run.py: no case file '{name}'")
            paths += sorted(path.rglob("*.cql")) if path.is_dir() else [path]
    return [Case(path.resolve(), CASES) for path in paths]


def run_cases(cases, arguments):
    """[(case, answers, seconds)]; files side by side, except those that ask to be alone, which come last."""
    def run_one(case):
        started = time.monotonic()
        answers = Session(case, arguments.host, arguments.port, arguments.protocol, arguments.timeout).run()
        return case, answers, time.monotonic() - started

    together = [case for case in cases if not case.exclusive]
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        results = list(pool.map(run_one, together))
    return results + [run_one(case) for case in cases if case.exclusive]


def open_connection(arguments):
    return Connection(arguments.host, arguments.port, arguments.protocol or DEFAULT_PROTOCOL, arguments.timeout)


def release_version(arguments):
    class Plain:
        masks, filter, unordered, any_columns = (), None, False, ()

    connection = open_connection(arguments)
    response = connection.query("SELECT release_version FROM system.local WHERE key = 'local'")
    answer = render(response, connection.version, Plain)
    connection.close()
    if len(answer.rows) != 1:
        sys.exit(f"run.py: no release_version: {answer.all_lines()}")
    return answer.rows[0].removeprefix("| ").strip("'")


def command_record(arguments):
    version = release_version(arguments)
    lost = 0
    for case, answers, seconds in run_cases(find_cases(arguments.files), arguments):
        Golden.write(case.golden_path, version, answers)
        bad = [f"  line {statement.line}: {line[:200]}"
               for statement, lines in answers for line in lines if SUSPICIOUS.match(line)]
        lost += len(bad)
        print(f"{case.name}: {len(answers)} recorded in {seconds:.1f} s", *bad, sep="\n")
    print(f"recorded from {version}; {lost} suspicious answers")
    return 1 if lost else 0


def command_compare(arguments):
    cases = find_cases(arguments.files)
    open_connection(arguments).close()  # no server, no report
    return report(run_cases(cases, arguments), arguments, KnownDifferences.read())


def command_verify_tenth(arguments):
    cases = find_cases([])
    random.Random(arguments.seed).shuffle(cases)
    tenth, chosen = sum(len(case.statements) for case in cases) / 10, []
    while sum(len(case.statements) for case in chosen) < tenth:
        chosen.append(cases.pop())
    version = release_version(arguments)
    stale = [case.name for case in chosen if Golden.read(case.golden_path).release_version != version]
    if stale:
        print(f"recorded from another version than {version}: {', '.join(stale)}")
    return report(run_cases(chosen, arguments), arguments, KnownDifferences({})) or (1 if stale else 0)


def report(results, arguments, known):
    """Prints what differs, then a table by file, then one line of sums. Answers 1 when anything differs that
    `differences.tsv` does not list, or when it lists what does not differ any more."""
    table, passed, failed, records = [], 0, 0, []
    for case, answers, seconds in results:
        try:
            golden = Golden.read(case.golden_path)
        except (OSError, BadGolden) as error:
            golden = Golden("none", [])
            print(f"{case.name}: {error}")
        differences = known.without_listed(case, compare(golden, answers))
        for statement, expected, actual in differences:
            if not arguments.quiet:
                print_difference(case, statement, expected, actual, arguments.list_failures)
        table.append((case.name, len(answers) - len(differences), len(differences), seconds))
        passed, failed = passed + len(answers) - len(differences), failed + len(differences)
        records.append((case, answers, differences, seconds))
    if arguments.causes:
        print_causes(records)
    if arguments.json:
        write_json(arguments.json, records)
    if arguments.junit:
        write_junit(arguments.junit, records)
    width = max((len(row[0]) for row in table), default=4)
    print(f"\n{'file':<{width}}  passed  failed  seconds")
    for name, good, bad, seconds in table:
        print(f"{name:<{width}}  {good:>6}  {bad:>6}  {seconds:>7.1f}")
    stale = known.stale({case.name for case, *_ in records})
    for name, key in stale:
        print(f"differences.tsv: {name}: {key}: does not differ any more, take it out")
    print(f"differences listed: {known.summary()}")
    print(f"{passed - known.met} passed, {failed + len(stale)} failed")
    return 1 if failed or stale or not passed else 0


def print_causes(records):
    """What the server under test answered instead, most frequent first: one missing feature fails many statements."""
    causes, example = Counter(), {}
    for case, _, differences, _ in records:
        for statement, expected, actual in differences:
            new = [line for line in actual if line not in (expected or [])]
            line = new[0] if new else "(lines missing or in another order)"
            shown = re.sub(case.keyspace, "$KS", line)[:160]
            causes[shown] += 1
            example.setdefault(shown, f"{case.name}:{statement.line}")
    print()
    for shown, count in causes.most_common(CAUSES_SHOWN):
        print(f"{count:>6}  {shown}   e.g. {example[shown]}")


def print_difference(case, statement, expected, actual, short):
    print(f"{case.path.relative_to(HERE)}:{statement.line}: {statement.key[:300]}")
    if short:
        return
    expected = ["(not recorded)"] if expected is None else expected
    only_expected = [line for line in expected if line not in actual]
    only_actual = [line for line in actual if line not in expected]
    if not only_expected and not only_actual:
        only_expected, only_actual = expected, actual
    for sign, lines in (("-", only_expected), ("+", only_actual)):
        for line in lines[:12]:
            print(f"    {sign} {line[:1000]}")
        if len(lines) > 12:
            print(f"    {sign} ... {len(lines) - 12} more lines")


def write_json(path, records):
    Path(path).write_text(json.dumps([
        {"file": case.name, "passed": len(answers) - len(differences), "seconds": round(seconds, 3), "failures": [
            {"line": statement.line, "statement": statement.key, "expected": expected, "actual": actual}
            for statement, expected, actual in differences]}
        for case, answers, differences, seconds in records], indent=1))


def write_junit(path, records):
    out = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for case, answers, differences, seconds in records:
        out.append(f'<testsuite name={quoteattr(case.name)} tests="{len(answers)}" failures="{len(differences)}" '
                   f'time="{seconds:.3f}">')
        different = {id(statement): (expected, actual) for statement, expected, actual in differences}
        for statement, _ in answers:
            name = quoteattr(f"{statement.line}: {printable(statement.key[:120])}")
            if id(statement) not in different:
                out.append(f"<testcase classname={quoteattr(case.name)} name={name}/>")
                continue
            expected, actual = different[id(statement)]
            text = "\n".join(["expected:", *(expected or ["(not recorded)"]), "actual:", *actual])
            out.append(f"<testcase classname={quoteattr(case.name)} name={name}>"
                       f"<failure>{escape(printable(text))}</failure></testcase>")
        out.append("</testsuite>")
    Path(path).write_text("\n".join([*out, "</testsuites>", ""]))


def printable(text):
    """XML 1.0 has no place for control characters."""
    return "".join(char if char >= " " or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


def command_rules(_):
    cases = find_cases([])
    statements = [statement for case in cases for statement in case.statements]
    table, distinct, below = grammar.count(statements)
    for name, number in table:
        print(f"{name:<42} {number:>5}{'  <-- too few' if name in below else ''}")
    print(f"{len(cases)} files, {len(statements)} statements, {distinct} distinct; "
          f"{len(table)} rules, {len(below)} below {grammar.CASES_PER_RULE_MIN}")
    return 1 if below else 0


def command_hunt(arguments):
    """Rounds from --seed on; what differs is printed as in `compare`, Cassandra's lines with a minus."""
    servers = [(arguments.oracle, 9042), (arguments.host, arguments.port)]
    if not arguments.oracle:
        sys.exit("run.py: hunt needs --oracle, the address of a live Cassandra (CQL on port 9042)")
    compared = different = refused = 0
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        case, differing, refusals = hunt_round(seed, arguments.count, servers, arguments.timeout)
        compared, different, refused = compared + len(case.statements), different + len(differing), refused + refusals
        for statement, expected, actual in differing:
            print(f"seed {seed}, statement {statement.line}: {statement.key[:1000]}")
            for sign, lines, others in (("-", expected, actual), ("+", actual, expected)):
                for line in [line for line in lines if line not in others][:12]:
                    print(f"    {sign} {line[:1000]}")
    print(f"seeds {arguments.seed} to {arguments.seed + arguments.rounds - 1}: {compared} statements "
          f"({refused} refused by both or by Cassandra), {different} differ")
    return 1 if different else 0


def command_self_test(_):
    problems = self_test()
    print(*problems, f"self-test: {len(problems)} problems", sep="\n")
    return 1 if problems else 0


COMMANDS = {"record": command_record, "compare": command_compare, "rules": command_rules,
            "verify-tenth": command_verify_tenth, "self-test": command_self_test, "hunt": command_hunt}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("files", nargs="*", help="case files or folders, as paths or as names below cases/")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9042)
    parser.add_argument("--protocol", type=int, choices=(3, 4, 5), help="for statements that do not ask for a version")
    parser.add_argument("--jobs", type=int, default=4, help="files side by side")
    parser.add_argument("--timeout", type=float, default=30, help="seconds to wait for an answer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--oracle", help="hunt: address of a live Cassandra")
    parser.add_argument("--rounds", type=int, default=20, help="hunt: seeds to try")
    parser.add_argument("--count", type=int, default=200, help="hunt: random statements a seed, beside those that prepare it")
    parser.add_argument("--list-failures", action="store_true", help="print only which statements differ")
    parser.add_argument("--causes", action="store_true", help="print which answers came instead, most frequent first")
    parser.add_argument("--quiet", action="store_true", help="print only the table")
    parser.add_argument("--json", help="write the differences to this file")
    parser.add_argument("--junit", help="write a JUnit report to this file")
    arguments = parser.parse_args()
    try:
        sys.exit(COMMANDS[arguments.command](arguments))
    except (BadCase, ConnectionLost) as error:
        sys.exit(f"run.py: {error}")


if __name__ == "__main__":
    main()
