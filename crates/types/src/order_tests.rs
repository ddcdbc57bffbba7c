//! Laws of order: the byte-comparable form of random values of random types sorts as the values do.

use std::cmp::Ordering;
use std::sync::Arc;

use proptest::prelude::*;

use crate::collection::{pack_list, pack_map, pack_tuple, pack_vector};
use crate::{CqlType, UserType, UserTypeField, comparable};

/// Choices drawn from random bytes, which proptest shrinks; when they run out every choice is the first one.
struct Draw<'a> {
    bytes: &'a [u8],
}

impl Draw<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    fn many(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }

    /// Bytes of an alphabet in which zeros, escapes and extremes are common.
    fn awkward(&mut self, count: usize) -> Vec<u8> {
        let alphabet = [0, 0, 0xFE, 0xFF, 1, 0x7F, 0x80, b'a'];
        (0..count).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }

    fn ty(&mut self, depth: usize) -> CqlType {
        let scalars = [
            CqlType::Int,
            CqlType::Ascii,
            CqlType::Bigint,
            CqlType::Blob,
            CqlType::Boolean,
            CqlType::Date,
            CqlType::Decimal,
            CqlType::Double,
            CqlType::Duration,
            CqlType::Float,
            CqlType::Inet,
            CqlType::Smallint,
            CqlType::Text,
            CqlType::Time,
            CqlType::Timestamp,
            CqlType::Timeuuid,
            CqlType::Tinyint,
            CqlType::Uuid,
            CqlType::Varint,
        ];
        let kind = self.below(if depth == 0 { 19 } else { 25 });
        match kind {
            0..19 => scalars[kind].clone(),
            19 => CqlType::list(self.ty(depth - 1)),
            20 => CqlType::set(self.ty(depth - 1)),
            21 => CqlType::map(self.ty(depth - 1), self.ty(depth - 1)),
            22 => CqlType::tuple([self.ty(depth - 1), self.ty(depth - 1), self.ty(depth - 1)]),
            23 => {
                let fields = ["a", "b"].map(|name| UserTypeField { name: name.into(), ty: self.ty(depth - 1) });
                CqlType::Udt(
                    Arc::new(UserType { keyspace: "ks".into(), name: "t".into(), fields: fields.into() }),
                    true,
                )
            }
            _ => CqlType::vector(self.ty(depth - 1), 2),
        }
        .frozen()
    }

    /// A valid value; not empty when `filled`, as inside vectors and tuples.
    fn value(&mut self, ty: &CqlType, filled: bool) -> Vec<u8> {
        if !filled && ty.is_empty_allowed() && self.below(8) == 0 {
            return Vec::new();
        }
        match ty {
            CqlType::Ascii | CqlType::Text => {
                let count = 1 + self.below(4);
                self.awkward(count).into_iter().map(|byte| byte & 0x7F).collect()
            }
            CqlType::Blob => {
                let count = 1 + self.below(5);
                self.awkward(count)
            }
            CqlType::Boolean => vec![self.byte() & 1],
            CqlType::Tinyint => self.awkward(1),
            CqlType::Smallint => self.awkward(2),
            CqlType::Int | CqlType::Date => self.awkward(4),
            CqlType::Bigint | CqlType::Counter | CqlType::Time | CqlType::Timestamp => {
                let shift = self.below(64);
                let raw: [u8; 8] = self.many(8).try_into().expect("eight bytes");
                (i64::from_be_bytes(raw) >> shift).to_be_bytes().to_vec()
            }
            // NaN is left out: it is last in Cassandra's order, yet its form follows its sign.
            CqlType::Float => {
                let number = f32::from_be_bytes(self.many(4).try_into().expect("four bytes"));
                (if number.is_nan() { -0.0 } else { number }).to_be_bytes().to_vec()
            }
            CqlType::Double => {
                let number = f64::from_be_bytes(self.many(8).try_into().expect("eight bytes"));
                (if number.is_nan() { -0.0 } else { number }).to_be_bytes().to_vec()
            }
            CqlType::Varint => {
                let count = 1 + self.below(12);
                self.awkward(count)
            }
            CqlType::Decimal => {
                let scale = i32::from(self.byte() as i8) >> self.below(8);
                let count = 1 + self.below(20);
                [&scale.to_be_bytes()[..], &self.awkward(count)].concat()
            }
            CqlType::Duration => [0, self.byte() & 0x7E, self.byte() & 0x7E].to_vec(),
            CqlType::Inet if self.below(2) == 0 => self.awkward(4),
            CqlType::Inet => self.awkward(16),
            CqlType::Uuid => self.awkward(16),
            CqlType::Timeuuid => {
                let mut bytes = self.awkward(16);
                bytes[6] = bytes[6] & 0x0F | 0x10;
                bytes
            }
            CqlType::List { element, .. } | CqlType::Set { element, .. } => {
                let values: Vec<Vec<u8>> = (0..self.below(4)).map(|_| self.value(element, false)).collect();
                pack_list(&values.iter().map(|value| Some(value.as_slice())).collect::<Vec<_>>())
            }
            CqlType::Map { key, value, .. } => {
                let entries: Vec<(Vec<u8>, Vec<u8>)> =
                    (0..self.below(3)).map(|_| (self.value(key, false), self.value(value, false))).collect();
                pack_map(&entries.iter().map(|(k, v)| (k.as_slice(), v.as_slice())).collect::<Vec<_>>())
            }
            CqlType::Tuple(components) => self.components(components.iter()),
            CqlType::Udt(udt, _) => self.components(udt.fields.iter().map(|field| &field.ty)),
            CqlType::Vector { element, dimension } => {
                let values: Vec<Vec<u8>> = (0..*dimension).map(|_| self.value(element, true)).collect();
                pack_vector(element, &values.iter().map(Vec::as_slice).collect::<Vec<_>>())
            }
            CqlType::Empty | CqlType::Custom(_) => Vec::new(),
        }
    }

    fn components<'t>(&mut self, types: impl Iterator<Item = &'t CqlType>) -> Vec<u8> {
        let mut values: Vec<Option<Vec<u8>>> = Vec::new();
        for ty in types {
            values.push(if self.below(4) == 0 { None } else { Some(self.value(ty, true)) });
        }
        let kept = 1 + self.below(values.len());
        pack_tuple(&values.iter().take(kept).map(Option::as_deref).collect::<Vec<_>>())
    }
}

/// A clustering key of one column.
fn form(ty: &CqlType, reversed: bool, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    comparable::write_component(ty, reversed, value, &mut out);
    out.push(comparable::TERMINATOR);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn forms_sort_as_values_do(entropy in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut draw = Draw { bytes: &entropy };
        let ty = draw.ty(2);
        let (a, b) = (draw.value(&ty, false), draw.value(&ty, false));
        prop_assert!(ty.validate(&a).is_ok(), "{ty}: {:02x?}", a);
        let order = ty.compare(&a, &b);
        prop_assert_eq!(form(&ty, false, &a).cmp(&form(&ty, false, &b)), order, "{}: {:02x?} {:02x?}", ty, a, b);
        prop_assert_eq!(form(&ty, true, &b).cmp(&form(&ty, true, &a)), order, "{} desc: {:02x?} {:02x?}", ty, a, b);
        prop_assert_eq!(ty.compare(&b, &a), order.reverse());
        prop_assert_eq!(ty.compare(&a, &a), Ordering::Equal);
    }

    #[test] // No form is another's prefix, or the next component would decide what this one should.
    fn keys_of_two_columns_sort_column_by_column(entropy in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut draw = Draw { bytes: &entropy };
        let types = [draw.ty(1), draw.ty(1)];
        let reversed = [draw.byte() & 1 == 1, draw.byte() & 1 == 1];
        let a = types.each_ref().map(|ty| draw.value(ty, false));
        let b = types.each_ref().map(|ty| draw.value(ty, false));
        let key = |values: &[Vec<u8>; 2]| {
            let mut out = Vec::new();
            for i in 0..2 {
                comparable::write_component(&types[i], reversed[i], &values[i], &mut out);
            }
            out.push(comparable::TERMINATOR);
            out
        };
        let column = |i: usize| {
            let order = types[i].compare(&a[i], &b[i]);
            if reversed[i] { order.reverse() } else { order }
        };
        prop_assert_eq!(key(&a).cmp(&key(&b)), column(0).then(column(1)), "{:?} {:02x?} {:02x?}", types, a, b);
    }

    #[test]
    fn hostile_bytes_neither_panic_nor_hang(
        entropy in proptest::collection::vec(any::<u8>(), 0..60),
        a in proptest::collection::vec(any::<u8>(), 0..40),
        b in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let ty = Draw { bytes: &entropy }.ty(2);
        let _ = (ty.validate(&a), ty.compare(&a, &b), form(&ty, true, &a));
        let _ = (ty.to_string_form(&a), ty.to_cql_literal(&a), ty.to_json(&a), ty.is_value_compatible_with(&ty));
        let _ = ty.parse_string(&String::from_utf8_lossy(&a));
        prop_assert_eq!(CqlType::parse_java(&ty.java_name()), Ok(ty));
    }
}
