//! Values as CQL literals, as they stand in `DESCRIBE`, in warnings and in audit logs.
//!
//! Bytes that validation would refuse become blob literals: printing never fails.
//! Source: Cassandra 5.0, `serializers.TypeSerializer.toCQLLiteral`, `cql3.CQL3Type.toCQLLiteral`.

use std::fmt::Write as _;

use crate::collection::{ListRef, MapRef, Walk, vector_elements};
use crate::cql_type::{CqlType, MaybeQuoted, UserType};
use crate::hex::write_hex;

impl CqlType {
    /// The value as a CQL literal, `null` for an empty one of a type in which empty means nothing.
    pub fn to_cql_literal(&self, bytes: &[u8]) -> String {
        let mut out = String::new();
        self.write_cql_literal(bytes, &mut out);
        out
    }

    fn write_cql_literal(&self, bytes: &[u8], out: &mut String) {
        match self {
            Self::Ascii | Self::Text => match self.scalar_text(bytes) {
                Some(text) => write_quoted(&text, out),
                None => write_blob(bytes, out),
            },
            Self::Blob | Self::Custom(_) => write_blob(bytes, out),
            Self::List { element, .. } => write_list_literal(bytes, element, ['[', ']'], out),
            Self::Set { element, .. } => write_list_literal(bytes, element, ['{', '}'], out),
            Self::Map { key, value, .. } => write_map_literal(bytes, key, value, out),
            Self::Tuple(components) => write_tuple_literal(bytes, components, out),
            Self::Udt(udt, _) => write_udt_literal(bytes, udt, out),
            Self::Vector { element, dimension } => {
                out.push('[');
                for (i, value) in vector_elements(element, *dimension, bytes).enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    element.write_cql_literal(value, out);
                }
                out.push(']');
            }
            _ if bytes.is_empty() => out.push_str("null"),
            Self::Date | Self::Time | Self::Timestamp | Self::Inet => match self.scalar_text(bytes) {
                Some(text) => {
                    let _ = write!(out, "'{text}'");
                }
                None => write_blob(bytes, out),
            },
            native => match native.scalar_text(bytes) {
                Some(text) => out.push_str(&text),
                None => write_blob(bytes, out),
            },
        }
    }
}

fn write_blob(bytes: &[u8], out: &mut String) {
    out.push_str("0x");
    write_hex(bytes, out);
}

fn write_quoted(text: &str, out: &mut String) {
    out.push('\'');
    out.push_str(&text.replace('\'', "''"));
    out.push('\'');
}

fn write_list_literal(bytes: &[u8], element: &CqlType, brackets: [char; 2], out: &mut String) {
    let [open, close] = brackets;
    let Ok(list) = ListRef::parse_lenient(bytes) else { return write_blob_or_null(bytes, out) };
    out.push(open);
    for (i, value) in list.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        match value {
            Some(value) => element.write_cql_literal(value, out),
            None => out.push_str("null"),
        }
    }
    out.push(close);
}

fn write_map_literal(bytes: &[u8], key: &CqlType, value: &CqlType, out: &mut String) {
    let Ok(map) = MapRef::parse_lenient(bytes) else { return write_blob_or_null(bytes, out) };
    out.push('{');
    for (i, (k, v)) in map.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        key.write_cql_literal(k, out);
        out.push_str(": ");
        value.write_cql_literal(v, out);
    }
    out.push('}');
}

fn write_tuple_literal(bytes: &[u8], components: &[CqlType], out: &mut String) {
    out.push('(');
    let mut walk = Walk::new(bytes);
    for (i, component) in components.iter().enumerate() {
        let Some(value) = walk.value() else { break };
        out.push_str(if i == 0 { "" } else { ", " });
        match value {
            Some(value) => component.write_cql_literal(value, out),
            None => out.push_str("null"),
        }
    }
    out.push(')');
}

fn write_udt_literal(bytes: &[u8], udt: &UserType, out: &mut String) {
    out.push('{');
    let mut walk = Walk::new(bytes);
    for (i, field) in udt.fields.iter().enumerate() {
        let Some(value) = walk.value() else { break };
        let _ = write!(out, "{}{}: ", if i == 0 { "" } else { ", " }, MaybeQuoted(&field.name));
        match value {
            Some(value) => field.ty.write_cql_literal(value, out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
}

fn write_blob_or_null(bytes: &[u8], out: &mut String) {
    if bytes.is_empty() { out.push_str("null") } else { write_blob(bytes, out) }
}
