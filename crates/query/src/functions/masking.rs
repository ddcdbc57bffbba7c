//! Masking functions: values with their content hidden.
//!
//! Source: Cassandra 5.0, `cql3.functions.masking`, `AbstractType.getMaskedValue`.

use helenus_types::collection::{pack_list, pack_map, pack_tuple, pack_vector};
use helenus_types::{CqlType, value};
use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::error::{Result, ensure, invalid};
use crate::functions::time::min_timeuuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskKind {
    Null,
    Default,
    Replace,
    Hash,
    Inner,
    Outer,
}

impl MaskKind {
    /// By the function's name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "mask_null" => MaskKind::Null,
            "mask_default" => MaskKind::Default,
            "mask_replace" => MaskKind::Replace,
            "mask_hash" => MaskKind::Hash,
            "mask_inner" => MaskKind::Inner,
            "mask_outer" => MaskKind::Outer,
            _ => return None,
        })
    }
}

/// `ty` is that of the first argument.
///
/// # Errors
/// Unknown hash algorithms, paddings of more than one character.
pub fn mask(kind: MaskKind, name: &str, ty: &CqlType, arguments: &[Option<&[u8]>]) -> Result<Option<Vec<u8>>> {
    let argument = |index: usize| arguments.get(index).copied().flatten();
    match kind {
        MaskKind::Null => Ok(None),
        MaskKind::Default => Ok(masked_value(ty)),
        MaskKind::Replace => Ok(argument(1).map(<[u8]>::to_vec)),
        MaskKind::Hash => {
            let Some(bytes) = argument(0) else { return Ok(None) };
            let algorithm = argument(1).map_or_else(|| "SHA-256".into(), String::from_utf8_lossy);
            hash(&algorithm, bytes).map(Some).ok_or_else(|| invalid!("Hash algorithm not found: {algorithm}"))
        }
        MaskKind::Inner | MaskKind::Outer => {
            let Some(bytes) = argument(0) else { return Ok(None) };
            let count = |index| i64::from(argument(index).and_then(value::decode_int).unwrap_or(0));
            let padding = match argument(3) {
                None => '*',
                Some(bytes) => padding(name, &String::from_utf8_lossy(bytes))?,
            };
            let text = String::from_utf8_lossy(bytes);
            Ok(Some(partly(kind, &text, count(1), count(2), padding).into_bytes()))
        }
    }
}

fn padding(name: &str, text: &str) -> Result<char> {
    let mut chars = text.chars();
    let only = chars.next().filter(|_| chars.next().is_none());
    let count = text.encode_utf16().count();
    ensure!(
        count == 1,
        "The padding argument for function system.{name} should be single-character, but '{text}' has {count} characters."
    );
    Ok(only.unwrap_or('*'))
}

/// `begin` and `end` count the characters at both ends that are shown (inner) or hidden (outer).
fn partly(kind: MaskKind, text: &str, begin: i64, end: i64, padding: char) -> String {
    let count = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let last = count - 1 - end;
    let is_inside = |at: i64| begin <= at && at <= last;
    let hide = |(at, character): (i64, char)| match is_inside(at) == (kind == MaskKind::Inner) {
        true => padding,
        false => character,
    };
    (0..).zip(text.chars()).map(hide).collect()
}

fn hash(algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    Some(match algorithm.to_uppercase().as_str() {
        "MD5" => Md5::digest(bytes).to_vec(),
        "SHA-224" => Sha224::digest(bytes).to_vec(),
        "SHA-256" => Sha256::digest(bytes).to_vec(),
        "SHA-384" => Sha384::digest(bytes).to_vec(),
        "SHA-512" => Sha512::digest(bytes).to_vec(),
        _ => return None,
    })
}

/// What stands for every value of a type.
fn masked_value(ty: &CqlType) -> Option<Vec<u8>> {
    Some(match ty {
        CqlType::Ascii | CqlType::Text => b"****".to_vec(),
        CqlType::Blob | CqlType::Empty | CqlType::Custom(_) => Vec::new(),
        CqlType::Boolean | CqlType::Tinyint | CqlType::Varint => vec![0],
        CqlType::Smallint => vec![0; 2],
        CqlType::Duration => vec![0; 3],
        CqlType::Int | CqlType::Float | CqlType::Inet => vec![0; 4],
        CqlType::Decimal => vec![0; 5],
        CqlType::Date => vec![0x80, 0, 0, 0],
        CqlType::Bigint | CqlType::Counter | CqlType::Double | CqlType::Time | CqlType::Timestamp => vec![0; 8],
        CqlType::Uuid => vec![0; 16],
        CqlType::Timeuuid => min_timeuuid(0),
        CqlType::List { .. } | CqlType::Set { .. } => pack_list(&[]),
        CqlType::Map { .. } => pack_map(&[]),
        CqlType::Tuple(components) => pack_masked(components.iter()),
        CqlType::Udt(udt, _) => pack_masked(udt.fields.iter().map(|field| &field.ty)),
        CqlType::Vector { element, dimension } => {
            let masked = masked_value(element)?;
            pack_vector(element, &vec![masked.as_slice(); usize::try_from(*dimension).ok()?])
        }
    })
}

fn pack_masked<'t>(types: impl Iterator<Item = &'t CqlType>) -> Vec<u8> {
    let values: Vec<Option<Vec<u8>>> = types.map(masked_value).collect();
    let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
    pack_tuple(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_text_are_hidden() {
        assert_eq!(partly(MaskKind::Inner, "some text", 1, 2, '*'), "s******xt");
        assert_eq!(partly(MaskKind::Outer, "some text", 1, 2, '*'), "*ome te**");
        assert_eq!(partly(MaskKind::Inner, "", 1, 2, '*'), "");
        assert_eq!(partly(MaskKind::Inner, "ab", 5, 5, '*'), "ab");
    }

    #[test]
    fn every_type_has_a_mask_of_its_own_form() {
        let types = [CqlType::Decimal, CqlType::Inet, CqlType::Timeuuid, CqlType::Duration, CqlType::Date];
        for ty in types {
            let masked = masked_value(&ty).expect("a mask");
            assert!(ty.validate(&masked).is_ok(), "{ty}");
        }
    }
}
