//! Whether bytes are a value of a type, in Cassandra's words when not.
//!
//! Source: Cassandra 5.0, the `validate` methods of `serializers.*`.

use crate::collection::{Walk, extraneous, not_enough, null_value};
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
            Self::Text => match std::str::from_utf8(bytes) {
                Ok(_) => Ok(()),
                Err(_) => Err(MarshalError::new("String didn't validate.")),
            },
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
                Err(MarshalError::new(format!("Expected 4 or 16 byte inetaddress; got {}", crate::text::hex(bytes))))
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
            let value = walk.vector_element(fixed_len).ok_or_else(|| not_enough(&self.to_string()))?;
            element.validate(value)?;
        }
        match walk.rest.len() {
            0 => Ok(()),
            extra => Err(MarshalError::new(format!("Unexpected {extra} extraneous bytes after {self} value"))),
        }
    }
}

fn check(valid: bool, text: &str, len: usize) -> Result<(), MarshalError> {
    if valid { Ok(()) } else { Err(MarshalError::new(format!("{text} ({len})"))) }
}

fn validate_timeuuid(bytes: &[u8]) -> Result<(), MarshalError> {
    match crate::value::uuid_version(bytes) {
        Some(1) => Ok(()),
        Some(version) => Err(MarshalError::new(format!("Invalid UUID version {version} for timeuuid"))),
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
