//! `Helenus.db`: what we remember of a file beyond Cassandra's components.
//!
//! ```json
//! {"format":2,"checksum":"1f2e3d4c","content":{"extra":{"key":"value"},"components":{"Index.db":{"bytes":21,"crc32":"0a1b2c3d"}}}}
//! ```
//!
//! The checksum is the CRC-32 of `content` as it is printed there. `components` has those that carry no checksum of their
//! own: without it a flipped bit of an index, a summary or a filter hides partitions instead of being noticed. A file
//! without the component has no extra metadata and is not checked so; Cassandra neither reads nor lists it. Format 1, which is
//! read and not written any more, had `extra` alone in the place of `content`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::component_check::ComponentCheck;
use crate::descriptor::Component;
use crate::error::DecodeError;
use crate::input::Decoded;

const FORMAT: u64 = 2;
const FORMAT_WITHOUT_COMPONENTS: u64 = 1;
/// Bounds what is read: eight bytes a page of Index.db make this an index of 128 GiB.
pub(crate) const BYTES_MAX: u64 = 64 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnMetadata {
    pub(crate) extra: BTreeMap<String, String>,
    pub(crate) checks: BTreeMap<Component, ComponentCheck>,
}

impl OwnMetadata {
    pub(crate) fn put(&self) -> Vec<u8> {
        let checks = self.checks.iter().map(|(component, check)| {
            let check = json!({ "bytes": check.bytes, "crc32": check.hex() });
            (component.file_suffix().to_owned(), check)
        });
        let content = json!({ "extra": self.extra, "components": Value::Object(checks.collect()) });
        json!({ "format": FORMAT, "checksum": checksum(&content), "content": content }).to_string().into_bytes()
    }

    pub(crate) fn get(bytes: &[u8]) -> Decoded<Self> {
        let malformed = |expected, found: String| Err(DecodeError::Malformed { at: 0, expected, found });
        let stored: Value = match serde_json::from_slice(bytes) {
            Ok(stored) => stored,
            Err(error) => return malformed("JSON", error.to_string()),
        };
        let nothing = Value::Object(serde_json::Map::new());
        let (checked, extra, components) = match stored["format"].as_u64() {
            Some(FORMAT) => {
                let content = &stored["content"];
                (content, &content["extra"], &content["components"])
            }
            Some(FORMAT_WITHOUT_COMPONENTS) => (&stored["extra"], &stored["extra"], &nothing),
            _ => return malformed("format 1 or 2", stored["format"].to_string()),
        };
        if stored["checksum"] != checksum(checked).as_str() {
            return malformed("the checksum of its content", stored["checksum"].to_string());
        }
        let (Value::Object(extra), Value::Object(components)) = (extra, components) else {
            return malformed("extra metadata and components", checked.to_string());
        };
        let extra = extra.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
        let mut checks = BTreeMap::new();
        for (suffix, check) in components {
            let component = Component::ALL.into_iter().find(|component| component.file_suffix() == suffix);
            let parsed = check["bytes"].as_u64().zip(check["crc32"].as_str());
            let parsed = parsed.and_then(|(bytes, hex)| ComponentCheck::parse(bytes, hex));
            let Some((component, check)) = component.zip(parsed) else {
                return malformed("a component, its bytes and checksums", format!("{suffix}: {check}"));
            };
            checks.insert(component, check);
        }
        Ok(Self { extra, checks })
    }
}

fn checksum(content: &Value) -> String {
    format!("{:08x}", crc32fast::hash(content.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_1_is_still_read() {
        let bytes = br#"{"format":1,"checksum":"a8b5089c","extra":{"shard":"0","shard_count":"2"}}"#;
        let own = OwnMetadata::get(bytes).unwrap();
        assert_eq!((own.extra["shard_count"].as_str(), own.checks.len()), ("2", 0));
        assert!(OwnMetadata::get(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn metadata_comes_back_and_a_flipped_byte_is_found() {
        let own = OwnMetadata {
            extra: [("commit_log".to_owned(), "3:17".to_owned()), ("ü\"".to_owned(), String::new())].into(),
            checks: [(Component::Index, ComponentCheck::of(&[7; 40_000]))].into(),
        };
        let bytes = own.put();
        assert_eq!(OwnMetadata::get(&bytes), Ok(own));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(OwnMetadata::get(&flipped).is_err(), "byte {at}");
        }
    }
}
