//! Printing and parsing are inverse to each other.

use super::ToCql;
use crate::grammar::parse_statement;

/// One statement a line.
const ACCEPTED: &str = include_str!("../../golden/accepted.cql");

#[test]
fn every_accepted_statement_prints_as_one_with_the_same_tree() {
    for text in ACCEPTED.lines() {
        let tree = parse_statement(text).expect(text);
        let printed = tree.to_cql();
        let again = parse_statement(&printed).unwrap_or_else(|error| panic!("{text}\n{printed}\n{error}"));
        assert_eq!(tree, again, "{text}\n{printed}");
        assert_eq!(again.to_cql(), printed);
    }
}
