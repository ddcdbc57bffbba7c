//! `Helenus.db`: what we remember of a file beyond Cassandra's components.
//!
//! ```json
//! {"format":1,"checksum":"1f2e3d4c","extra":{"key":"value"}}
//! ```
//!
//! The checksum is the CRC-32 of `extra` as it is printed there. A file without the component has no extra metadata;
//! Cassandra neither reads nor lists it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::DecodeError;
use crate::input::Decoded;

const FORMAT: u64 = 1;
/// Far above what anybody stores; bounds what is read.
pub(crate) const BYTES_MAX: u64 = 1 << 20;

pub(crate) fn put(extra: &BTreeMap<String, String>) -> Vec<u8> {
    let extra = Value::Object(extra.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))).collect());
    let mut component = Map::new();
    component.insert("format".to_owned(), Value::from(FORMAT));
    component.insert("checksum".to_owned(), Value::String(checksum(&extra)));
    component.insert("extra".to_owned(), extra);
    Value::Object(component).to_string().into_bytes()
}

pub(crate) fn get(bytes: &[u8]) -> Decoded<BTreeMap<String, String>> {
    let malformed = |expected, found: String| Err(DecodeError::Malformed { at: 0, expected, found });
    let component: Value = match serde_json::from_slice(bytes) {
        Ok(component) => component,
        Err(error) => return malformed("JSON", error.to_string()),
    };
    if component["format"] != FORMAT {
        return malformed("format 1", component["format"].to_string());
    }
    let extra = &component["extra"];
    if component["checksum"] != checksum(extra).as_str() {
        return malformed("the checksum of its content", component["checksum"].to_string());
    }
    let Value::Object(extra) = extra else { return malformed("an object", extra.to_string()) };
    Ok(extra.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect())
}

fn checksum(extra: &Value) -> String {
    format!("{:08x}", crc32fast::hash(extra.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_metadata_comes_back_and_a_flipped_byte_is_found() {
        let extra: BTreeMap<String, String> =
            [("commit_log".to_owned(), "3:17".to_owned()), ("ü\"".to_owned(), String::new())].into();
        let mut bytes = put(&extra);
        assert_eq!(get(&bytes), Ok(extra));
        let at = bytes.iter().position(|byte| *byte == b'7').unwrap();
        bytes[at] = b'8';
        assert!(get(&bytes).is_err());
    }
}
