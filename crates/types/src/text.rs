//! Values as plain text: `fromString` and `getString`, as tools and keys on a command line have them.
//!
//! Texts of bytes that validation would refuse are those bytes in hexadecimal: printing never fails.
//! Source: Cassandra 5.0, `fromString` and `getString` of `db.marshal.*`.

use crate::collection::{Walk, pack_tuple};
use crate::cql_type::CqlType;
use crate::decimal::Decimal;
use crate::duration::Duration;
use crate::error::MarshalError;
use crate::hex::{parse_hex, to_hex};
use crate::{float_text, time, value};

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
            Self::Blob | Self::Counter | Self::Custom(_) | Self::Vector { .. } => to_hex(bytes),
            Self::List { .. } | Self::Set { .. } | Self::Map { .. } => to_hex(bytes),
            Self::Tuple(components) => tuple_string(bytes, components.iter()),
            Self::Udt(udt, _) => tuple_string(bytes, udt.fields.iter().map(|field| &field.ty)),
            native => native.scalar_text(bytes).unwrap_or_else(|| to_hex(bytes)),
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
