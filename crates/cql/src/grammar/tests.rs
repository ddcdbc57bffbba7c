//! What is accepted, and as what.

use proptest::prelude::*;

use super::{NESTING_MAX, parse_statement, parse_term, parse_type};
use crate::ast::relation::Relation;
use crate::ast::statement::{Statement, StatementKind};
use crate::ast::term::{LiteralKind, Term};
use crate::print::ToCql;

const ACCEPTED: &str = include_str!("../../golden/accepted.cql");
const RAW: &str = include_str!("../../golden/raw.tsv");

/// Cassandra's raw text of a term, a type or the relations of a SELECT.
fn raw_text(kind: &str, text: &str) -> String {
    match kind {
        "term" => parse_term(text).expect(text).to_string(),
        "type" => parse_type(text).expect(text).to_string(),
        _ => match parse_statement(text).expect(text).statement {
            Statement::Select(select) => {
                select.relations.iter().map(Relation::to_string).collect::<Vec<_>>().join(" AND ")
            }
            other => panic!("not a SELECT: {other:?}"),
        },
    }
}

#[test]
fn statements_of_every_family_are_accepted() {
    for text in ACCEPTED.lines() {
        if let Err(error) = parse_statement(text) {
            panic!("{text}: {error}");
        }
    }
}

#[test]
fn terms_types_and_relations_print_as_cassandra_prints_them() {
    for line in RAW.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [kind, text, raw] = columns.as_slice() else { panic!("three columns: {line}") };
        assert_eq!(raw_text(kind, text), *raw, "{text}");
    }
}

#[test]
fn canonical_terms_keep_signs_apart() {
    for (text, canonical) in [
        ("'it''s'", "'it''s'"),
        ("{a:1,b:?}", "{a: 1, b: ?}"),
        ("-  3", "- 3"),
        ("- -3", "- -3"),
        ("1 - -3", "1 - -3"),
        ("(int)  -1", "(int) -1"),
        ("$$it's$$", "'it''s'"),
        ("CAST ( - 1 AS int)", "CAST(- 1 AS int)"),
    ] {
        match parse_term(text) {
            Ok(term) => {
                assert_eq!(term.to_cql(), canonical);
                assert_eq!(parse_term(canonical).as_ref(), Ok(&term));
            }
            // Cassandra casts only what has no sign of its own.
            Err(_) => assert!(text.starts_with("CAST")),
        }
    }
}

#[test]
fn selectors_print_as_result_column_names() {
    for (text, name) in [
        ("\"Col\"", "Col"),
        ("sum(d)", "system.sum(d)"),
        ("ks.f(a, 1)", "ks.f(a, 1)"),
        ("count(*)", "count"),
        ("CAST(a AS int)", "cast(a as int)"),
        ("a+b*-c", "a + b * -c"),
        ("m['k']", "m['k']"),
        ("m[1..]", "m[1..]"),
        ("TTL(d)", "ttl(d)"),
        ("writetime(u.f)", "writetime(u.f)"),
        ("(int) 3", "(int)3"),
        ("(a, [b], {c: 1})", "(a, [b], {c: 1})"),
    ] {
        let parsed = parse_statement(&format!("SELECT {text} FROM t")).expect(text);
        let Statement::Select(select) = parsed.statement else { panic!("a SELECT") };
        assert_eq!(select.columns[0].selector.to_string(), name);
    }
}

#[test]
fn markers_are_numbered_in_order_of_appearance() {
    let text = "UPDATE t USING TTL :ttl SET a = ?, b = b + :b WHERE k IN :\"Keys\" AND (x, y) > (?, ?) IF c = ?";
    let parsed = parse_statement(text).expect(text);
    let names: Vec<_> = parsed.markers.iter().map(|marker| marker.name.as_ref().map(ToString::to_string)).collect();
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(names, [named("ttl"), None, named("b"), named("Keys"), None, None, None]);
    assert!(parsed.to_cql().contains("k IN :\"Keys\""));
}

#[test]
fn a_select_clause_after_json_or_distinct_makes_them_keywords() {
    for (text, json, distinct) in [
        ("SELECT JSON a FROM t", true, false),
        ("SELECT json FROM t", false, false),
        ("SELECT json, a FROM t", false, false),
        ("SELECT JSON json FROM t", true, false),
        ("SELECT DISTINCT a FROM t", false, true),
        ("SELECT distinct FROM t", false, false),
        ("SELECT JSON DISTINCT a FROM t", true, true),
    ] {
        let Statement::Select(select) = parse_statement(text).expect(text).statement else { panic!("a SELECT") };
        assert_eq!((select.json, select.distinct), (json, distinct), "{text}");
    }
}

#[test]
fn statements_name_their_kind_table_and_keyspace() {
    for (text, kind, table, keyspace) in [
        ("SELECT * FROM ks.t", StatementKind::Select, Some("t"), Some("ks")),
        ("DROP TABLE T", StatementKind::DropTable, Some("t"), None),
        ("USE \"Ks\"", StatementKind::Use, None, Some("Ks")),
        ("CREATE TYPE ks.u (a int)", StatementKind::CreateType, None, Some("ks")),
        ("LIST USERS", StatementKind::ListUsers, None, None),
    ] {
        let statement = parse_statement(text).expect(text).statement;
        assert_eq!(statement.kind(), kind);
        assert_eq!(statement.table().map(|table| table.name.as_str()), table);
        assert_eq!(statement.keyspace().map(crate::Identifier::as_str), keyspace);
    }
}

#[test]
fn literals_keep_their_kind_and_text() {
    for (text, kind, content) in [
        ("-12", LiteralKind::Integer, "-12"),
        ("1.5E+3", LiteralKind::Float, "1.5E+3"),
        ("-nan", LiteralKind::Float, "NaN"),
        ("TRUE", LiteralKind::Boolean, "TRUE"),
        ("0xAb", LiteralKind::Hex, "0xAb"),
        ("1Y2mo", LiteralKind::Duration, "1Y2mo"),
        ("-P1Y2M3DT4H", LiteralKind::Duration, "-P1Y2M3DT4H"),
        ("12345678-1234-1234-1234-123456789abc", LiteralKind::Uuid, "12345678-1234-1234-1234-123456789abc"),
        ("$$a'$b$$", LiteralKind::String, "a'$b"),
    ] {
        let Ok(Term::Literal(literal)) = parse_term(text) else { panic!("{text} is a literal") };
        assert_eq!((literal.kind, &*literal.text), (kind, content));
    }
}

#[test]
fn nesting_is_refused_beyond_its_limit_and_accepted_at_it() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let deepest = NESTING_MAX as usize - 1;
    assert!(parse_term(&nested(deepest)).is_ok());
    let error = parse_term(&nested(deepest + 1)).expect_err("one too many");
    assert!(error.to_string().contains("nested too deeply"), "{error}");
}

/// Runs on a thread with a small stack: the limit must hold where stacks are small, and without optimisation.
#[test]
fn ten_thousand_brackets_do_not_exhaust_a_small_stack() {
    const STACK_BYTES: usize = 256 * 1024;
    let texts: Vec<String> = ["[", "(", "{", "- ", "f(", "(int)", "{1:", "(((", "cast(", "list<", "m[", "a + ", "a."]
        .iter()
        .flat_map(|open| {
            let deep = open.repeat(10_000);
            [
                format!("SELECT {deep}"),
                format!("SELECT * FROM t WHERE a = {deep}"),
                format!("SELECT * FROM t WHERE {deep}"),
                format!("SELECT {deep}a FROM t"),
                format!("CREATE TABLE t (a {deep}"),
                format!("UPDATE t SET a = {deep}1 WHERE k = 1"),
            ]
        })
        .collect();
    let run = move || texts.iter().filter(|text| parse_statement(text).is_ok()).count();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).expect("threads can be started");
    assert_eq!(thread.join().expect("no stack overflow, no panic"), 0);
}

#[test]
fn more_markers_than_the_protocol_can_count_are_refused() {
    let list = |count: usize| format!("SELECT * FROM t WHERE k IN ({})", vec!["?"; count].join(","));
    assert!(parse_statement(&list(65_535)).is_ok());
    let error = parse_statement(&list(65_536)).expect_err("one too many");
    assert_eq!(error.to_string(), "Too many markers(?). 65536 markers exceed the allowed maximum of 65535");
}

/// Words and signs from which almost-statements are made.
fn any_word() -> impl Strategy<Value = &'static str> {
    let words: Vec<&'static str> =
        ACCEPTED.split_inclusive([' ', '(', ')', ',', '[', ']', '{', '}', '.', ':']).collect();
    prop::sample::select(words)
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = parse_statement(&text);
        let _ = parse_type(&text);
        let _ = parse_term(&text);
    }

    #[test]
    fn what_parses_prints_as_text_with_the_same_tree(words in prop::collection::vec(any_word(), 1..20)) {
        let text = words.concat();
        if let Ok(tree) = parse_statement(&text) {
            let printed = tree.to_cql();
            prop_assert_eq!(parse_statement(&printed), Ok(tree), "{}", printed);
        }
    }

    #[test]
    fn a_statement_with_two_words_exchanged_is_answered_and_prints_back(
        line in prop::sample::select(ACCEPTED.lines().collect::<Vec<_>>()),
        one in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        let mut words: Vec<&str> = line.split_inclusive(' ').collect();
        let (one, other) = (one.index(words.len()), other.index(words.len()));
        words.swap(one, other);
        let text = words.concat();
        match parse_statement(&text) {
            Ok(tree) => prop_assert_eq!(parse_statement(&tree.to_cql()), Ok(tree)),
            Err(error) => prop_assert!(!error.message.is_empty()),
        }
    }
}
