//! Whether bytes are a value of a type, in Cassandra's words when not.
//!
//! Source: Cassandra 5.0, the `validate` methods of `serializers.*`.

use crate::collection::{Walk, decode_unsigned_vint, extraneous, not_enough, null_value};
use crate::cql_type::{CqlType, UserType};
use crate::duration::Duration;
use crate::error::MarshalError;

impl CqlType {
    /// # Errors
    /// What Cassandra's `MarshalException` says. Nothing is allocated unless there is an error.
    pub fn validate(&self, bytes: &[u8]) -> Result<(), MarshalError> {
        let len = bytes.len();
        match self {
            Self::Ascii => match bytes.iter().find(|byte| !byte.is_ascii()) {
                Some(byte) => Err(MarshalError::new(format!("Invalid byte for ascii: {}", *byte as i8))),
                None => Ok(()),
            },
            Self::Text if is_text(bytes) => Ok(()),
            Self::Text => Err(MarshalError::new("String didn't validate.")),
            Self::Blob | Self::Custom(_) | Self::Varint => Ok(()),
            Self::Bigint | Self::Counter => check(len == 8 || len == 0, "Expected 8 or 0 byte long", len),
            Self::Boolean => check(len <= 1, "Expected 1 or 0 byte value", len),
            Self::Date => check(len == 4, "Expected 4 byte long for date", len),
            Self::Decimal => check(len == 0 || 4 <= len, "Expected 0 or at least 4 bytes", len),
            Self::Double => check(len == 8 || len == 0, "Expected 8 or 0 byte value for a double", len),
            Self::Duration => Duration::decode(bytes).map(drop),
            Self::Empty if len == 0 => Ok(()),
            Self::Empty => Err(MarshalError::new("EmptyType only accept empty values")),
            Self::Float => check(len == 4 || len == 0, "Expected 4 or 0 byte value for a float", len),
            Self::Inet if matches!(len, 0 | 4 | 16) => Ok(()),
            Self::Inet => {
                Err(MarshalError::new(format!("Expected 4 or 16 byte inetaddress; got {}", crate::hex::to_hex(bytes))))
            }
            Self::Int => check(len == 4 || len == 0, "Expected 4 or 0 byte int", len),
            Self::Smallint => check(len == 2, "Expected 2 bytes for a smallint", len),
            Self::Time => check(len == 8, "Expected 8 byte long for time", len),
            Self::Timestamp => check(len == 8 || len == 0, "Expected 8 or 0 byte long for date", len),
            Self::Tinyint => check(len == 1, "Expected 1 byte for a tinyint", len),
            Self::Uuid => check(len == 16 || len == 0, "UUID should be 16 or 0 bytes", len),
            Self::Timeuuid => validate_timeuuid(bytes),
            Self::List { element, .. } => validate_elements(bytes, "list", element),
            Self::Set { element, .. } => validate_elements(bytes, "set", element),
            Self::Map { key, value, .. } => validate_map(bytes, key, value),
            Self::Tuple(components) => validate_tuple(bytes, components),
            Self::Udt(udt, _) => validate_udt(bytes, udt),
            Self::Vector { element, dimension } => self.validate_vector(bytes, element, *dimension),
        }
    }

    fn validate_vector(&self, bytes: &[u8], element: &CqlType, dimension: u32) -> Result<(), MarshalError> {
        if bytes.is_empty() {
            return Err(MarshalError::new("Invalid empty vector value"));
        }
        let fixed_len = element.fixed_len();
        let mut walk = Walk::new(bytes);
        if self.fixed_len().is_some_and(|whole| bytes.len() < whole) {
            return Err(not_enough(&self.to_string()));
        }
        for _ in 0..dimension {
            let before = walk.rest;
            let at = bytes.len() - before.len();
            let value = walk.vector_element(fixed_len).ok_or_else(|| self.torn_element(before, at))?;
            element.validate(value)?;
        }
        match walk.rest.len() {
            0 => Ok(()),
            extra => Err(MarshalError::new(format!("Unexpected {extra} extraneous bytes after {self} value"))),
        }
    }
}

impl CqlType {
    /// Why no element of variable length can be read here, `at` bytes into the vector.
    fn torn_element(&self, rest: &[u8], at: usize) -> MarshalError {
        match decode_unsigned_vint(rest) {
            _ if rest.is_empty() => not_enough(&self.to_string()),
            None => {
                MarshalError::new(format!("Invalidate data at offset {at}; saw size of -1 but only >= 0 is expected"))
            }
            Some((len, _)) if i32::try_from(len).is_err() => {
                MarshalError::new(format!("{len} is out of range for a 32-bit integer"))
            }
            Some((len, used)) => {
                MarshalError::new(format!("Attempted to read {len}, but the size is {}", rest.len() - used))
            }
        }
    }
}

/// UTF-8 as Cassandra accepts it: surrogates, zero as C0 80 and four-byte forms up to F7 pass, and the second byte after
/// E0 and F0 is checked only for being overlong. Source: Cassandra 5.0, `UTF8Serializer.UTF8Validator`.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() || is_lenient_text(bytes)
}

fn is_lenient_text(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let continues = |byte: &u8| byte & 0xC0 == 0x80;
    loop {
        rest = match rest {
            [] => return true,
            [0..=0x7F, rest @ ..] | [0xC0, 0x80, rest @ ..] => rest,
            [0xC2..=0xDF, second, rest @ ..] if continues(second) => rest,
            [0xE0, second, third, rest @ ..] if second & 0xE0 != 0x80 && continues(third) => rest,
            [0xE1..=0xEF, second, third, rest @ ..] if continues(second) && continues(third) => rest,
            [0xF0, second, third, fourth, rest @ ..] if second & 0x30 != 0 && continues(third) && continues(fourth) => {
                rest
            }
            [0xF1..=0xF7, second, third, fourth, rest @ ..]
                if continues(second) && continues(third) && continues(fourth) =>
            {
                rest
            }
            _ => return false,
        };
    }
}

fn check(valid: bool, text: &str, len: usize) -> Result<(), MarshalError> {
    if valid { Ok(()) } else { Err(MarshalError::new(format!("{text} ({len})"))) }
}

fn validate_timeuuid(bytes: &[u8]) -> Result<(), MarshalError> {
    match crate::value::uuid_version(bytes) {
        Some(1) => Ok(()),
        // Cassandra prints the first digit of the UUID where it means the version.
        Some(_) => Err(MarshalError::new(format!(
            "Invalid version for TimeUUID type: 0x{:x}",
            bytes.first().map_or(0, |byte| byte >> 4)
        ))),
        None if bytes.is_empty() => Ok(()),
        None => Err(MarshalError::new(format!("UUID should be 16 or 0 bytes ({})", bytes.len()))),
    }
}

fn validate_elements(bytes: &[u8], kind: &str, element: &CqlType) -> Result<(), MarshalError> {
    let mut walk = Walk::new(bytes);
    let count = walk.i32().ok_or_else(|| not_enough(kind))?;
    for _ in 0..count {
        let value = walk.value().ok_or_else(|| not_enough(kind))?.ok_or_else(null_value)?;
        element.validate(value)?;
    }
    if walk.rest.is_empty() { Ok(()) } else { Err(extraneous(kind)) }
}

fn validate_map(bytes: &[u8], key: &CqlType, value: &CqlType) -> Result<(), MarshalError> {
    let mut walk = Walk::new(bytes);
    let count = walk.i32().ok_or_else(|| not_enough("map"))?;
    for _ in 0..count {
        for ty in [key, value] {
            let part = walk.value().ok_or_else(|| not_enough("map"))?.ok_or_else(null_value)?;
            ty.validate(part)?;
        }
    }
    if walk.rest.is_empty() { Ok(()) } else { Err(extraneous("map")) }
}

fn validate_tuple(bytes: &[u8], components: &[CqlType]) -> Result<(), MarshalError> {
    let mut walk = Walk::new(bytes);
    for (i, component) in components.iter().enumerate() {
        if walk.rest.is_empty() {
            return Ok(()); // Missing components are null.
        }
        if walk.rest.len() < 4 {
            return Err(MarshalError::new(format!("Not enough bytes to read size of {i}th component")));
        }
        let value = walk.value();
        let value = value.ok_or_else(|| MarshalError::new(format!("Not enough bytes to read {i}th component")))?;
        if let Some(value) = value {
            component.validate(value)?;
        }
    }
    if walk.rest.is_empty() {
        Ok(())
    } else {
        Err(MarshalError::new("Invalid remaining data after end of tuple value"))
    }
}

fn validate_udt(bytes: &[u8], udt: &UserType) -> Result<(), MarshalError> {
    let mut walk = Walk::new(bytes);
    for (i, field) in udt.fields.iter().enumerate() {
        if walk.rest.is_empty() {
            return Ok(()); // Fields that were added later are null.
        }
        let name = &field.name;
        if walk.rest.len() < 4 {
            return Err(MarshalError::new(format!("Not enough bytes to read size of {i}th field {name}")));
        }
        let value = walk.value();
        let value = value.ok_or_else(|| MarshalError::new(format!("Not enough bytes to read {i}th field {name}")))?;
        if let Some(value) = value {
            field
                .ty
                .validate(value)
                .map_err(|error| MarshalError::new(format!("Failure validating the {i}th field {name}; {error}")))?;
        }
    }
    if walk.rest.is_empty() { Ok(()) } else { Err(MarshalError::new("Invalid remaining data after end of UDT value")) }
}
