//! The notations of the protocol's specification: `[int]`, `[string]`, `[bytes]`, `[inet]` and their kind.
//!
//! [`Reader`] takes them off a body without copying, [`write_string`] and its sisters append them to a buffer.

mod reader;
mod utf8;
mod writer;

pub use reader::{Reader, Value};
pub use utf8::Utf8Bytes;
pub(crate) use writer::write_list;
pub use writer::{
    write_address, write_bytes_map, write_consistency, write_inet, write_long_string, write_short_bytes, write_string,
    write_string_list, write_string_map, write_string_multimap, write_unset, write_value,
};

/// `[bytes map]`: custom payloads. In the order of the wire; a key that stands twice stays twice.
pub type BytesMap = Vec<(String, Option<bytes::Bytes>)>;

/// `[string map]`, in the order of the wire.
pub type StringMap = Vec<(String, String)>;

/// `[string multimap]`, in the order of the wire.
pub type StringMultimap = Vec<(String, Vec<String>)>;
