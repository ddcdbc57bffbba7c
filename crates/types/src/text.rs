//! Values as text: `fromString`, `getString` and CQL literals.
//!
//! Texts of bytes that validation would refuse are those bytes in hexadecimal: printing never fails.
//! Source: Cassandra 5.0, `db.marshal.*` (`fromString`, `getString`), `serializers.*` and `cql3.CQL3Type`
//! (`toCQLLiteral`).

use std::fmt::Write as _;

use crate::collection::{ListRef, MapRef, Walk, pack_tuple, push_value, vector_elements};
use crate::cql_type::{CqlType, UserType};
use crate::decimal::Decimal;
use crate::duration::Duration;
use crate::error::MarshalError;
use crate::{float_text, time, value};

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

pub(crate) fn write_hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        for half in [byte >> 4, byte & 0xF] {
            out.push(char::from(HEX_DIGITS.get(usize::from(half)).copied().unwrap_or(b'0')));
        }
    }
}

/// Bytes in lower-case hexadecimal, without a prefix.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    write_hex(bytes, &mut out);
    out
}

/// Bytes of an even number of hexadecimal digits.
pub fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

impl CqlType {
    /// `AbstractType.fromString`: what tools and keys on the command line are written in.
    ///
    /// # Errors
    /// Cassandra's texts.
    pub fn parse_string(&self, text: &str) -> Result<Vec<u8>, MarshalError> {
        let unable = |what: &str| MarshalError::new(format!("Unable to make {what} from '{text}'"));
        let empty_allowed = !matches!(
            self,
            Self::Ascii | Self::Text | Self::Boolean | Self::Date | Self::Time | Self::Tuple(_) | Self::Udt(..)
        );
        if text.is_empty() && empty_allowed {
            return Ok(Vec::new());
        }
        match self {
            Self::Ascii if text.is_ascii() => Ok(text.as_bytes().to_vec()),
            Self::Ascii => {
                let beyond_16_bits = text.chars().find(|c| !c.is_ascii()).is_some_and(|c| 0xFFFF < u32::from(c));
                let units = if beyond_16_bits { 2 } else { 1 };
                Err(MarshalError::new(format!(
                    "Invalid ASCII character in string literal: \
                     java.nio.charset.UnmappableCharacterException: Input length = {units}"
                )))
            }
            Self::Text => Ok(text.as_bytes().to_vec()),
            Self::Blob
            | Self::Custom(_)
            | Self::List { .. }
            | Self::Set { .. }
            | Self::Map { .. }
            | Self::Vector { .. } => {
                parse_hex(text).ok_or_else(|| MarshalError::new(format!("cannot parse '{text}' as hex bytes")))
            }
            Self::Boolean => match text.to_ascii_lowercase().as_str() {
                "" | "false" => Ok(value::encode_boolean(false)),
                "true" => Ok(value::encode_boolean(true)),
                _ => Err(unable("boolean")),
            },
            Self::Tinyint => text.parse().map(value::encode_tinyint).map_err(|_| unable("byte")),
            Self::Smallint => text.parse().map(value::encode_smallint).map_err(|_| unable("short")),
            Self::Int => text.parse().map(value::encode_int).map_err(|_| unable("int")),
            Self::Bigint => text.parse().map(value::encode_bigint).map_err(|_| unable("long")),
            Self::Counter => parse_hex(text).ok_or_else(|| {
                MarshalError::new(if text.len() % 2 == 1 {
                    "An hex string representing bytes must have an even length".to_owned()
                } else {
                    format!("Non-hex characters in {text}")
                })
            }),
            Self::Varint => match text.parse() {
                Ok(number) if !text.contains('_') => Ok(value::encode_varint(&number)),
                _ => Err(MarshalError::new(format!("unable to make int from '{text}'"))),
            },
            Self::Decimal => match Decimal::parse(text) {
                Some(number) => Ok(number.encode()),
                None => Err(MarshalError::new(format!("unable to make BigDecimal from '{text}'"))),
            },
            Self::Float => float_text::parse_f32(text).map(value::encode_float).ok_or_else(|| unable("float")),
            Self::Double => float_text::parse_f64(text).map(value::encode_double).ok_or_else(|| unable("double")),
            Self::Inet => parse_inet(text).map(value::encode_inet).ok_or_else(|| unable("inet address")),
            Self::Uuid => parse_uuid(text).map(Vec::from).ok_or_else(|| unable("UUID")),
            Self::Timeuuid => match parse_uuid(text) {
                None => Err(MarshalError::new(format!("Unknown timeuuid representation: {text}"))),
                Some(bytes) if value::uuid_version(&bytes) == Some(1) => Ok(bytes.to_vec()),
                Some(_) => Err(MarshalError::new("TimeUUID supports only version 1 UUIDs")),
            },
            Self::Timestamp => time::parse_timestamp(text).map(value::encode_bigint),
            Self::Date => time::parse_date(text).map(value::encode_date),
            Self::Time => time::parse_time(text).map(value::encode_bigint),
            Self::Duration => Duration::parse(text).map(|duration| duration.encode()),
            Self::Empty => Err(MarshalError::new(format!("'{text}' is not empty"))),
            Self::Tuple(components) => self.parse_tuple_string(text, &components.iter().collect::<Vec<_>>()),
            Self::Udt(udt, _) => {
                let types: Vec<&CqlType> = udt.fields.iter().map(|field| &field.ty).collect();
                self.parse_tuple_string(text, &types)
            }
        }
    }

    /// Components between colons; `@` is null, `\:` and `\@` stand for the characters themselves.
    fn parse_tuple_string(&self, text: &str, types: &[&CqlType]) -> Result<Vec<u8>, MarshalError> {
        let fields = split_unescaped(text);
        if types.len() < fields.len() {
            return Err(MarshalError::new(format!(
                "Invalid tuple literal: too many elements. Type {self} expects {} but got {}",
                types.len(),
                fields.len()
            )));
        }
        let mut components = Vec::with_capacity(fields.len());
        for (field, ty) in fields.iter().zip(types) {
            components.push(match *field {
                "@" => None,
                field => Some(ty.parse_string(&field.replace("\\:", ":").replace("\\@", "@"))?),
            });
        }
        Ok(pack_tuple(&components.iter().map(Option::as_deref).collect::<Vec<_>>()))
    }

    /// `AbstractType.getString`, as `sstabledump` and warnings print values.
    pub fn to_string_form(&self, bytes: &[u8]) -> String {
        match self {
            Self::Blob | Self::Counter | Self::Custom(_) | Self::Vector { .. } => hex(bytes),
            Self::List { .. } | Self::Set { .. } | Self::Map { .. } => hex(bytes),
            Self::Tuple(components) => tuple_string(bytes, components.iter()),
            Self::Udt(udt, _) => tuple_string(bytes, udt.fields.iter().map(|field| &field.ty)),
            native => native.scalar_text(bytes).unwrap_or_else(|| hex(bytes)),
        }
    }

    /// A scalar's text; `None` for bytes that are not a value of it. Empty bytes have the empty text.
    pub(crate) fn scalar_text(&self, bytes: &[u8]) -> Option<String> {
        if bytes.is_empty() {
            return Some(String::new());
        }
        match self {
            Self::Ascii => bytes.is_ascii().then(|| String::from_utf8_lossy(bytes).into_owned()),
            Self::Text => std::str::from_utf8(bytes).ok().map(str::to_owned),
            Self::Boolean => value::decode_boolean(bytes).map(|value| value.to_string()),
            Self::Tinyint => value::decode_tinyint(bytes).map(|number| number.to_string()),
            Self::Smallint => value::decode_smallint(bytes).map(|number| number.to_string()),
            Self::Int => value::decode_int(bytes).map(|number| number.to_string()),
            Self::Bigint | Self::Counter => value::decode_bigint(bytes).map(|number| number.to_string()),
            Self::Varint => value::decode_varint(bytes).map(|number| number.to_string()),
            Self::Decimal => Decimal::decode(bytes).map(|number| number.to_java_string()),
            Self::Float => value::decode_float(bytes).map(float_text::f32_text),
            Self::Double => value::decode_double(bytes).map(float_text::f64_text),
            Self::Inet => value::decode_inet(bytes).map(inet_text),
            Self::Uuid | Self::Timeuuid => value::decode_uuid(bytes).map(|uuid| uuid.to_string()),
            Self::Timestamp => value::decode_timestamp(bytes).map(time::timestamp_text),
            Self::Date => value::decode_date(bytes).map(time::date_text),
            Self::Time => value::decode_time(bytes).map(time::time_text),
            Self::Duration => value::decode_duration(bytes).map(|duration| duration.to_text()),
            _ => None,
        }
    }

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
        let _ = write!(out, "{}{}: ", if i == 0 { "" } else { ", " }, crate::cql_type::MaybeQuoted(&field.name));
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

fn tuple_string<'t>(bytes: &[u8], components: impl Iterator<Item = &'t CqlType>) -> String {
    let mut walk = Walk::new(bytes);
    let mut out = String::new();
    for (i, component) in components.enumerate() {
        let Some(value) = walk.value() else { break };
        out.push_str(if i == 0 { "" } else { ":" });
        match value {
            Some(value) => {
                let text = component.to_string_form(value);
                out.push_str(&text.replace(':', "\\:").replace('@', "\\@"));
            }
            None => out.push('@'),
        }
    }
    out
}

/// Splits at colons that no backslash precedes.
fn split_unescaped(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let (mut start, mut previous) = (0, ' ');
    for (at, c) in text.char_indices() {
        if c == ':' && previous != '\\' {
            parts.push(text.get(start..at).unwrap_or(""));
            start = at + 1;
        }
        previous = c;
    }
    parts.push(text.get(start..).unwrap_or(""));
    parts
}

/// Java's `getHostAddress`: eight groups without the `::` shortening.
pub(crate) fn inet_text(address: std::net::IpAddr) -> String {
    match address {
        std::net::IpAddr::V4(four) => four.to_string(),
        std::net::IpAddr::V6(six) => {
            let groups: Vec<String> = six.segments().iter().map(|group| format!("{group:x}")).collect();
            groups.join(":")
        }
    }
}

/// An address as `InetAddress.getByName` reads it without asking a name server: IPv6 also in brackets, IPv4 also with
/// fewer parts, the last of which then fills the bytes that are left.
pub(crate) fn parse_inet(text: &str) -> Option<std::net::IpAddr> {
    if let Some(inner) = text.strip_prefix('[') {
        return inner.strip_suffix(']')?.parse::<std::net::Ipv6Addr>().ok().map(std::net::IpAddr::V6);
    }
    if text.contains(':') {
        return text.parse().ok();
    }
    let parts: Vec<&str> = text.split('.').collect();
    let (last, leading) = parts.split_last()?;
    if 3 < leading.len() {
        return None;
    }
    let number = |text: &str| text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let mut address = 0u64;
    for part in leading {
        address = address << 8 | number(part).filter(|part| *part <= 0xFF)?;
    }
    let last_bits = 8 * (4 - leading.len());
    let last = number(last).filter(|last| *last < 1 << last_bits)?;
    let address = u32::try_from(address << last_bits | last).ok()?;
    Some(std::net::IpAddr::V4(address.into()))
}

/// The 36 characters of a hyphenated UUID only.
pub(crate) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    if text.len() != 36 {
        return None;
    }
    uuid::Uuid::try_parse(text).ok().map(uuid::Uuid::into_bytes)
}

/// Builds a list value from parsed elements, for callers that own them.
pub(crate) fn pack_owned(elements: &[Vec<u8>]) -> Vec<u8> {
    let count = i32::try_from(elements.len()).unwrap_or(i32::MAX);
    let mut out = count.to_be_bytes().to_vec();
    for element in elements {
        push_value(Some(element), &mut out);
    }
    out
}
