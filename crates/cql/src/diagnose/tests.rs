//! What Cassandra says about broken statements, and that looking for it always ends.

use crate::grammar::parse_statement;

/// Statement, tab, message; `\n` is a line feed, `\\n` the two characters.
const FAULTS: &str = include_str!("../../golden/faults.tsv");

#[test]
fn broken_statements_are_refused_in_the_words_of_cassandra() {
    let mut wrong = Vec::new();
    for line in FAULTS.lines() {
        let (text, expected) = line.split_once('\t').expect("a fault has two columns");
        let answer = match parse_statement(&text.replace("\\n", "\n")) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string().replace('\\', "\\\\").replace('\n', "\\n"),
        };
        if answer != expected {
            wrong.push(format!("{text}\n  expected {expected}\n  answered {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), FAULTS.lines().count(), wrong.join("\n"));
}

#[test]
fn the_end_of_the_text_has_line_zero_and_column_minus_one() {
    let error = parse_statement("SELECT * FROM").expect_err("a table is missing");
    assert_eq!(error.line_and_column(), (0, -1));
    assert_eq!(error.to_string(), "line 0:-1 no viable alternative at input '<EOF>'");
}

#[test]
fn a_fault_after_many_statements_is_found_within_the_bounds_of_the_search() {
    let insert = "INSERT INTO ks.t (a, b, c) VALUES (1, 'x', {1: [2, 3], 4: [5]}); ";
    let text = format!("BEGIN BATCH {}APPLY", insert.repeat(1000));
    let error = parse_statement(&text).expect_err("BATCH is missing");
    assert_eq!(error.to_string(), "line 0:-1 mismatched input '<EOF>' expecting K_BATCH");
}

#[test]
fn nested_parentheses_do_not_multiply_the_work() {
    for text in ["SELECT ", "SELECT (int) ", "SELECT f("] {
        let text = format!("{text}{}1{} FRM t", "(".repeat(25), ")".repeat(25));
        let error = parse_statement(&text).expect_err("FROM is missing");
        assert!(error.position.is_some(), "{error}");
    }
}
