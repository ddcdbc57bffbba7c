//! Arbitrary text as a value of every type: no panic, and what was parsed is a valid value; `cargo fuzz run text`.
#![no_main]

use helenus_types::CqlType;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for (_, ty) in CqlType::NATIVES {
        // Cassandra parses hexadecimal digits of any number for counters, and refuses them only when they are written.
        if let Ok(bytes) = ty.parse_string(text)
            && ty != CqlType::Counter
            && !(bytes.is_empty() && !ty.is_empty_allowed())
        {
            assert_eq!(ty.validate(&bytes), Ok(()), "{ty} from {text:?}");
            let _ = (ty.to_string_form(&bytes), ty.to_cql_literal(&bytes), ty.to_json(&bytes));
        }
    }
    if let Ok(ty) = CqlType::parse_java(text) {
        assert_eq!(CqlType::parse_java(&ty.java_name()), Ok(ty));
    }
});
