//! Cassandra's own answers, one JSON array a line, against ours. `golden/README.md` says how they were got.

use serde_json::Value;

use crate::arithmetic::{self, Operation};
use crate::hex::{parse_hex, to_hex};
use crate::token::{Token, murmur3_x64_128};
use crate::{CqlType, cast, comparable};

const TYPES: &str = include_str!("../golden/types.jsonl");
const VALUES: &str = include_str!("../golden/values.jsonl");
const TEXTS: &str = include_str!("../golden/texts.jsonl");
const FUNCTIONS: &str = include_str!("../golden/functions.jsonl");
const TOKENS: &str = include_str!("../golden/tokens.jsonl");

/// The rows of a kind without the kind itself.
fn rows<'a>(file: &'a str, kind: &'a str) -> impl Iterator<Item = Vec<Value>> + 'a {
    file.lines().filter_map(move |line| {
        let row: Vec<Value> = serde_json::from_str(line).expect("golden rows are JSON arrays");
        (row[0] == kind).then(|| row[1..].to_vec())
    })
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string in the golden row")
}

fn ty(value: &Value) -> CqlType {
    CqlType::parse_java(text(value)).expect("a type that Cassandra printed")
}

fn bytes(value: &Value) -> Vec<u8> {
    parse_hex(text(value)).expect("hexadecimal in the golden row")
}

/// Collects differences, so that one run shows all.
#[derive(Default)]
struct Differences {
    rows: Vec<String>,
    seen: usize,
}

impl Differences {
    fn compare(&mut self, what: impl FnOnce() -> String, ours: &str, theirs: &str) {
        self.seen += 1;
        if ours != theirs {
            self.rows.push(format!("{}\n    ours   {ours}\n    theirs {theirs}", what()));
        }
    }
}

impl Drop for Differences {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(0 < self.seen, "the golden file has no such rows");
            assert!(self.rows.is_empty(), "{} of {} differ:\n{}", self.rows.len(), self.seen, self.rows.join("\n"));
        }
    }
}

/// Exception texts that are Java's own failures; only that we refuse too is asked of them.
fn is_accidental(answer: &str) -> bool {
    let ours_alone =
        ["Range [", "java.nio.HeapByteBuffer", "Error decoding JSON string", "Zero length BigInteger", "Cannot invoke"];
    answer == "!null" || ours_alone.iter().any(|text| answer.contains(text))
}

#[test]
fn types_have_cassandras_names_and_properties() {
    let mut differences = Differences::default();
    for row in rows(TYPES, "type") {
        let parsed = ty(&row[0]);
        let name = text(&row[0]);
        differences.compare(|| format!("java name of {name}"), &parsed.java_name(), name);
        differences.compare(|| format!("CQL name of {name}"), &parsed.to_string(), text(&row[1]));
        let fixed = parsed.fixed_len().map_or(-1, |len| i64::try_from(len).expect("short"));
        differences.compare(|| format!("fixed length of {name}"), &fixed.to_string(), &row[2].to_string());
        let empty_allowed = parsed.is_empty_allowed().to_string();
        differences.compare(|| format!("empty allowed in {name}"), &empty_allowed, &row[3].to_string());
        let meaningless = parsed.is_empty_meaningless().to_string();
        differences.compare(|| format!("empty meaningless in {name}"), &meaningless, &row[4].to_string());
        differences.compare(|| format!("multi-cell {name}"), &parsed.is_multi_cell().to_string(), &row[5].to_string());
        differences.compare(|| format!("frozen {name}"), &parsed.frozen().java_name(), text(&row[6]));
    }
}

#[test]
fn value_compatibility_is_cassandras() {
    let types: Vec<CqlType> = rows(TYPES, "type").map(|row| ty(&row[0])).collect();
    let compatible: Vec<(CqlType, CqlType)> = rows(TYPES, "compatible").map(|row| (ty(&row[0]), ty(&row[1]))).collect();
    let mut differences = Differences::default();
    for new in types.iter().filter(|ty| !matches!(ty, CqlType::Custom(_))) {
        for old in types.iter().filter(|ty| !matches!(ty, CqlType::Custom(_)) && *ty != new) {
            let theirs = compatible.iter().any(|(a, b)| a == new && b == old);
            let ours = new.is_value_compatible_with(old);
            differences.compare(|| format!("{new} with {old}"), &ours.to_string(), &theirs.to_string());
        }
    }
}

#[test]
fn values_are_validated_in_cassandras_words() {
    let mut differences = Differences::default();
    for row in rows(VALUES, "invalid") {
        let ours = ty(&row[0]).validate(&bytes(&row[1])).map_or_else(|error| error.to_string(), |()| "valid".into());
        let what = || format!("{} {}", ty(&row[0]), row[1]);
        match row[2].as_str() {
            Some(theirs) if !is_accidental(theirs) => differences.compare(what, &ours, theirs),
            _ => differences.compare(what, &(ours != "valid").to_string(), "true"),
        }
    }
    for row in rows(VALUES, "value") {
        let ours = ty(&row[0]).validate(&bytes(&row[1])).map_or_else(|error| error.to_string(), |()| "valid".into());
        differences.compare(|| format!("{} {}", ty(&row[0]), row[1]), &ours, "valid");
    }
}

#[test]
fn values_are_printed_as_cassandra_prints_them() {
    let mut differences = Differences::default();
    for row in rows(VALUES, "value") {
        let (ty, bytes) = (ty(&row[0]), bytes(&row[1]));
        let ours = [ty.to_string_form(&bytes), ty.to_cql_literal(&bytes), ty.to_json(&bytes)];
        for (ours, (what, theirs)) in ours.iter().zip(["getString", "literal", "JSON"].iter().zip(&row[2..5])) {
            if let Some(theirs) = theirs.as_str().filter(|theirs| !theirs.starts_with('!')) {
                differences.compare(|| format!("{what} of {ty} {}", row[1]), ours, theirs);
            }
        }
    }
}

#[test]
fn byte_comparable_forms_are_cassandras() {
    let mut differences = Differences::default();
    for row in rows(VALUES, "value") {
        let (ty, bytes) = (ty(&row[0]), bytes(&row[1]));
        if row[5].as_str().is_some_and(|theirs| theirs.starts_with('!')) {
            continue;
        }
        let mut ours = Vec::new();
        comparable::write_component(&ty, false, &bytes, &mut ours);
        let theirs = row[5].as_str().map_or_else(|| "3f".to_owned(), |form| format!("40{form}"));
        differences.compare(|| format!("{ty} {}", row[1]), &to_hex(&ours), &theirs);
    }
}

#[test]
fn values_are_ordered_as_cassandra_orders_them() {
    let mut differences = Differences::default();
    for row in rows(VALUES, "order") {
        let ty = ty(&row[0]);
        let classes = row[1].as_array().expect("classes of equal values");
        let ranked: Vec<(usize, Vec<u8>)> = classes
            .iter()
            .enumerate()
            .flat_map(|(rank, class)| class.as_array().expect("a class").iter().map(move |value| (rank, bytes(value))))
            .collect();
        for (a_rank, a) in &ranked {
            for (b_rank, b) in &ranked {
                let (ours, theirs) = (ty.compare(a, b), a_rank.cmp(b_rank));
                let what = || format!("{ty}: {} with {}", to_hex(a), to_hex(b));
                differences.compare(what, &format!("{ours:?}"), &format!("{theirs:?}"));
            }
        }
    }
}

#[test]
fn strings_are_parsed_as_cassandra_parses_them() {
    let mut differences = Differences::default();
    for row in rows(TEXTS, "string") {
        let parsed = ty(&row[0]).parse_string(text(&row[1]));
        compare_parsed(&mut differences, &row, parsed);
    }
}

#[test]
fn json_is_parsed_as_cassandra_parses_it() {
    let mut differences = Differences::default();
    for row in rows(TEXTS, "json") {
        let json: Value = serde_json::from_str(text(&row[1])).expect("golden JSON");
        let parsed = ty(&row[0]).parse_json(&json);
        compare_parsed(&mut differences, &row, parsed);
    }
}

fn compare_parsed(differences: &mut Differences, row: &[Value], parsed: Result<Vec<u8>, crate::MarshalError>) {
    let ours = parsed.map_or_else(|error| format!("!{error}"), |bytes| to_hex(&bytes));
    let what = || format!("{} from {}", ty(&row[0]), row[1]);
    match row[2].as_str() {
        Some(theirs) if is_accidental(theirs) => {
            differences.compare(what, &ours.starts_with('!').to_string(), "true");
        }
        Some(theirs) => differences.compare(what, &ours, theirs),
        None => differences.compare(what, &ours, ""),
    }
}

#[test]
fn tokens_are_those_of_cassandras_partitioner() {
    let mut differences = Differences::default();
    for row in rows(TOKENS, "token") {
        let key = bytes(&row[0]);
        differences.compare(|| format!("token of {}", row[0]), &Token::of_key(&key).to_string(), text(&row[1]));
        let (h1, h2) = murmur3_x64_128(&key, 0);
        differences.compare(
            || format!("hash of {}", row[0]),
            &format!("{h1} {h2}"),
            &format!("{} {}", text(&row[2]), text(&row[3])),
        );
    }
}

fn operation(symbol: &Value) -> Operation {
    let all = [Operation::Add, Operation::Subtract, Operation::Multiply, Operation::Divide, Operation::Modulo];
    let found = all.into_iter().find(|operation| operation.symbol().to_string() == text(symbol));
    found.expect("one of the five operators")
}

fn answer(result: Result<Option<Vec<u8>>, String>) -> String {
    match result {
        Ok(Some(bytes)) => to_hex(&bytes),
        Ok(None) => "null".to_owned(),
        Err(error) => format!("!{error}"),
    }
}

#[test]
fn operators_have_cassandras_result_types() {
    let theirs: Vec<(Operation, CqlType, CqlType, CqlType)> =
        rows(FUNCTIONS, "result").map(|row| (operation(&row[0]), ty(&row[1]), ty(&row[2]), ty(&row[3]))).collect();
    let mut differences = Differences::default();
    for op in [Operation::Add, Operation::Subtract, Operation::Multiply, Operation::Divide, Operation::Modulo] {
        for (_, left) in CqlType::NATIVES {
            for (_, right) in CqlType::NATIVES {
                let found = theirs.iter().find(|(theirs_op, l, r, _)| *theirs_op == op && *l == left && *r == right);
                let ours = arithmetic::result_type(op, &left, &right);
                let what = || format!("{left} {op} {right}");
                differences.compare(what, &format!("{ours:?}"), &format!("{:?}", found.map(|(.., result)| result)));
            }
        }
    }
}

#[test]
fn operators_compute_what_cassandra_computes() {
    let mut differences = Differences::default();
    for row in rows(FUNCTIONS, "arithmetic") {
        let (op, left, right) = (operation(&row[0]), ty(&row[1]), ty(&row[3]));
        let ours = arithmetic::apply(op, &left, &bytes(&row[2]), &right, &bytes(&row[4]));
        let ours = answer(ours.map_err(|error| error.to_string()));
        let what = || format!("{left} {} {op} {right} {}", row[2], row[4]);
        differences.compare(what, &ours, row[5].as_str().unwrap_or("null"));
    }
    for row in rows(FUNCTIONS, "negate") {
        let ours = answer(Ok(arithmetic::negate(&ty(&row[0]), &bytes(&row[1]))));
        differences.compare(|| format!("-{} {}", row[0], row[1]), &ours, row[3].as_str().unwrap_or("null"));
    }
}

#[test]
fn casts_are_those_of_cassandra() {
    let theirs: Vec<(CqlType, CqlType)> = rows(FUNCTIONS, "castable").map(|row| (ty(&row[0]), ty(&row[1]))).collect();
    let mut differences = Differences::default();
    for (_, from) in CqlType::NATIVES {
        for (_, to) in CqlType::NATIVES.into_iter().filter(|(_, to)| *to != from) {
            let allowed = theirs.iter().any(|(a, b)| *a == from && *b == to);
            let ours = cast::cast_result_allowed(&from, &to);
            differences.compare(|| format!("{from} as {to}"), &ours.to_string(), &allowed.to_string());
        }
    }
    for row in rows(FUNCTIONS, "cast") {
        let (from, to) = (ty(&row[0]), ty(&row[1]));
        let theirs = row[3].as_str().unwrap_or("null");
        if is_accidental(theirs) {
            continue;
        }
        let ours = answer(cast::apply(&from, &to, &bytes(&row[2])).map_err(|error| error.to_string()));
        differences.compare(|| format!("cast({from} {} as {to})", row[2]), &ours, theirs);
    }
}
