//! Any text: no panic, and what parses prints as text with the same tree.
//!
//! Run in `crates/cql`: `cargo +nightly fuzz run parse -- -dict=fuzz/cql.dict -max_len=4096`. The lines of
//! `golden/accepted.cql` make a good first corpus.
#![no_main]

use helenus_cql::{ToCql, parse_statement, parse_term, parse_type};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(tree) = parse_statement(text) {
        let printed = tree.to_cql();
        assert_eq!(parse_statement(&printed), Ok(tree), "{printed}");
    }
    if let Ok(term) = parse_term(text) {
        assert_eq!(parse_term(&term.to_cql()).map(|again| again.to_cql()), Ok(term.to_cql()));
    }
    if let Ok(type_name) = parse_type(text) {
        assert_eq!(parse_type(&type_name.to_cql()), Ok(type_name));
    }
});
