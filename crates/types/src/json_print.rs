//! Values as JSON: `SELECT JSON` and `toJson`.
//!
//! Bytes that validation would refuse become strings of hexadecimal: printing never fails.
//! Source: Cassandra 5.0, `toJSONString` of `db.marshal.*`, `utils.JsonUtils.quoteAsJsonString`.

use crate::collection::{ListRef, MapRef, Walk, unpack_tuple, vector_elements};
use crate::cql_type::{CqlType, UserType};
use crate::hex::write_hex;
use crate::{time, value};

impl CqlType {
    /// `AbstractType.toJSONString`.
    pub fn to_json(&self, bytes: &[u8]) -> String {
        let mut out = String::new();
        self.write_json(bytes, &mut out);
        out
    }

    fn write_json(&self, bytes: &[u8], out: &mut String) {
        match self {
            Self::Ascii | Self::Text => {
                out.push('"');
                write_json_escaped(&String::from_utf8_lossy(bytes), out);
                out.push('"');
            }
            Self::Blob | Self::Custom(_) => {
                out.push_str("\"0x");
                write_hex(bytes, out);
                out.push('"');
            }
            Self::List { element, .. } | Self::Set { element, .. } => write_list(bytes, element, out),
            Self::Map { key, value, .. } => write_map(bytes, key, value, out),
            Self::Tuple(components) => write_tuple(bytes, components, out),
            Self::Udt(udt, _) => write_udt(bytes, udt, out),
            Self::Vector { element, dimension } => {
                out.push('[');
                for (i, value) in vector_elements(element, *dimension, bytes).enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    element.write_json(value, out);
                }
                out.push(']');
            }
            _ if bytes.is_empty() => out.push_str("\"\""),
            Self::Float | Self::Double => {
                let number = match self {
                    Self::Float => value::decode_float(bytes).map(|number| number.is_finite()),
                    _ => value::decode_double(bytes).map(|number| number.is_finite()),
                };
                match (number, self.scalar_text(bytes)) {
                    (Some(true), Some(text)) => out.push_str(&text),
                    _ => out.push_str("null"), // JSON has no NaN and no infinities.
                }
            }
            Self::Boolean
            | Self::Tinyint
            | Self::Smallint
            | Self::Int
            | Self::Bigint
            | Self::Counter
            | Self::Varint
            | Self::Decimal => match self.scalar_text(bytes) {
                Some(text) => out.push_str(&text),
                None => write_hex_string(bytes, out),
            },
            Self::Timestamp => match value::decode_timestamp(bytes) {
                Some(millis) => {
                    out.push('"');
                    out.push_str(&time::timestamp_json_text(millis));
                    out.push('"');
                }
                None => write_hex_string(bytes, out),
            },
            Self::Inet | Self::Uuid | Self::Timeuuid | Self::Date | Self::Time | Self::Duration | Self::Empty => {
                match self.scalar_text(bytes) {
                    Some(text) => {
                        out.push('"');
                        out.push_str(&text);
                        out.push('"');
                    }
                    None => write_hex_string(bytes, out),
                }
            }
        }
    }
}

fn write_hex_string(bytes: &[u8], out: &mut String) {
    out.push_str("\"0x");
    write_hex(bytes, out);
    out.push('"');
}

/// Jackson's escapes within a JSON string.
fn write_json_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => out.push_str(&format!("\\u{:04X}", u32::from(control))),
            other => out.push(other),
        }
    }
}

fn write_list(bytes: &[u8], element: &CqlType, out: &mut String) {
    let Ok(list) = ListRef::parse_lenient(bytes) else { return write_hex_string(bytes, out) };
    out.push('[');
    for (i, value) in list.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        match value {
            Some(value) => element.write_json(value, out),
            None => out.push_str("null"),
        }
    }
    out.push(']');
}

fn write_map(bytes: &[u8], key: &CqlType, value: &CqlType, out: &mut String) {
    let Ok(map) = MapRef::parse_lenient(bytes) else { return write_hex_string(bytes, out) };
    out.push('{');
    for (i, (k, v)) in map.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        let name = key.to_json(k);
        if name.starts_with('"') {
            out.push_str(&name);
        } else {
            out.push('"');
            write_json_escaped(&name, out);
            out.push('"');
        }
        out.push_str(": ");
        value.write_json(v, out);
    }
    out.push('}');
}

fn write_tuple(bytes: &[u8], components: &[CqlType], out: &mut String) {
    let mut walk = Walk::new(bytes);
    out.push('[');
    for (i, component) in components.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        match walk.value().flatten() {
            Some(value) => component.write_json(value, out),
            None => out.push_str("null"),
        }
    }
    out.push(']');
}

fn write_udt(bytes: &[u8], udt: &UserType, out: &mut String) {
    out.push('{');
    for (i, (field, value)) in udt.fields.iter().zip(unpack_tuple(bytes, udt.fields.len())).enumerate() {
        out.push_str(if i == 0 { "\"" } else { ", \"" });
        if field.name.to_lowercase() == *field.name {
            write_json_escaped(&field.name, out);
        } else {
            write_json_escaped(&format!("\"{}\"", field.name), out);
        }
        out.push_str("\": ");
        match value {
            Some(value) => field.ty.write_json(value, out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
}
