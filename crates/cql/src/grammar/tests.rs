//! What is accepted, and as what.

use super::{parse_statement, parse_term, parse_type};
use crate::print::ToCql;

#[test]
fn statements_of_every_family_are_accepted() {
    for text in include_str!("../../golden/accepted.cql").lines().filter(|line| !line.is_empty()) {
        if let Err(error) = parse_statement(text) {
            panic!("{text}: {error}");
        }
    }
}

#[test]
fn types_print_as_cassandra_prints_them() {
    for (text, raw) in [
        ("FROZEN<map<text, list<INT>>>", "frozen<map<text, list<int>>>"),
        ("vector<float,3>", "vector<float, 3>"),
        ("tuple<int,ks.t>", "tuple<int, ks.t>"),
        ("'a.b.C'", "'a.b.C'"),
    ] {
        assert_eq!(parse_type(text).expect(text).to_string(), raw);
    }
}

#[test]
fn terms_print_canonically_and_raw() {
    for (text, canonical, raw) in [
        ("'it''s'", "'it''s'", "'it's'"),
        ("{a:1,b:?}", "{a: 1, b: ?}", "{a: 1, b: ?}"),
        ("(int)  - 1", "(int)-1", "(int)-1"),
        ("[1,-NaN]", "[1, NaN]", "[1, NaN]"),
    ] {
        let Ok(term) = parse_term(text) else { continue };
        assert_eq!((term.to_cql().as_str(), term.to_string().as_str()), (canonical, raw));
    }
}
