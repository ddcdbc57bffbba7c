//! Arbitrary bytes as a value of an arbitrary type: no panic, and valid values come back from their parts.
//!
//! The input is a type's Java name, a zero byte, and two values; `cargo fuzz run value`.
#![no_main]

use helenus_types::collection::{ListRef, MapRef, pack_list, pack_map};
use helenus_types::token::Token;
use helenus_types::{CqlType, arithmetic, cast, comparable, composite};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(name), Some(values)) = (parts.next(), parts.next()) else { return };
    let Ok(ty) = CqlType::parse_java(&String::from_utf8_lossy(name)) else { return };
    let (a, b) = values.split_at(values.len() / 2);

    let valid = ty.validate(a).is_ok();
    assert_eq!(ty.compare(a, b), ty.compare(b, a).reverse());
    let mut form = Vec::new();
    comparable::write_component(&ty, false, a, &mut form);
    comparable::write_component(&ty, true, b, &mut form);
    let _ = (ty.to_string_form(a), ty.to_cql_literal(a), Token::of_key(a), composite::unpack(a));

    let json = ty.to_json(a);
    if valid && let Ok(json) = serde_json::from_str(&json) {
        let _ = ty.parse_json(&json);
    }
    if valid && let Ok(list) = ListRef::parse(a) {
        // Any negative length is a null, -1 is what we write.
        let elements: Vec<_> = list.iter().collect();
        if !elements.contains(&None) {
            assert_eq!(pack_list(&elements), a);
        }
    }
    if let Ok(map) = MapRef::parse(a) {
        assert_eq!(pack_map(&map.iter().collect::<Vec<_>>()), a);
    }
    for (_, other) in CqlType::NATIVES {
        let _ = cast::apply(&ty, &other, a);
        let _ = arithmetic::apply(arithmetic::Operation::Divide, &ty, a, &other, b);
        let _ = arithmetic::apply(arithmetic::Operation::Modulo, &ty, a, &other, b);
    }
});
