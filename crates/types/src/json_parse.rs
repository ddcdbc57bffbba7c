//! Values from JSON: `INSERT JSON` and `fromJson`.
//!
//! Texts name Java's classes, since Cassandra's messages print what its JSON library made of the input.
//! Source: Cassandra 5.0, `fromJSONObject` of `db.marshal.*`, `utils.JsonUtils`.

use serde_json::Value;

use crate::collection::{pack_map, pack_tuple, pack_vector, push_value};
use crate::cql_type::{CqlType, UserType};
use crate::error::MarshalError;
use crate::{float_text, value};

/// What Jackson makes of a JSON number: an integer of the smallest fitting class, or a double.
enum JavaNumber {
    Integer(i32),
    Long(i64),
    BigInteger,
    Double(f64),
}

fn java_number(number: &serde_json::Number) -> JavaNumber {
    let text = number.to_string();
    if text.contains(['.', 'e', 'E']) {
        return JavaNumber::Double(text.parse().unwrap_or(f64::NAN));
    }
    match text.parse::<i64>() {
        Ok(number) => i32::try_from(number).map_or(JavaNumber::Long(number), JavaNumber::Integer),
        Err(_) => JavaNumber::BigInteger,
    }
}

/// The class that Jackson makes of a JSON value, with its package.
fn class_of(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "java.lang.Boolean",
        Value::Number(number) => match java_number(number) {
            JavaNumber::Integer(_) => "java.lang.Integer",
            JavaNumber::Long(_) => "java.lang.Long",
            JavaNumber::BigInteger => "java.math.BigInteger",
            JavaNumber::Double(_) => "java.lang.Double",
        },
        Value::String(_) => "java.lang.String",
        Value::Array(_) => "java.util.ArrayList",
        Value::Object(_) => "java.util.LinkedHashMap",
    }
}

fn simple_class_of(json: &Value) -> &'static str {
    let class = class_of(json);
    class.rsplit('.').next().unwrap_or(class)
}

/// Java's `toString` of what Jackson made of a JSON value.
fn java_text(json: &Value) -> String {
    match json {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match java_number(number) {
            JavaNumber::Double(number) => float_text::f64_text(number),
            JavaNumber::Integer(number) => number.to_string(),
            JavaNumber::Long(number) => number.to_string(),
            JavaNumber::BigInteger => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(elements) => {
            let texts: Vec<String> = elements.iter().map(java_text).collect();
            format!("[{}]", texts.join(", "))
        }
        Value::Object(entries) => {
            let texts: Vec<String> = entries.iter().map(|(key, value)| format!("{key}={}", java_text(value))).collect();
            format!("{{{}}}", texts.join(", "))
        }
    }
}

fn expected(what: &str, json: &Value) -> MarshalError {
    MarshalError::new(format!("Expected {what}, but got a {}: {}", simple_class_of(json), java_text(json)))
}

/// The string of a JSON string, or Cassandra's complaint.
fn text_of<'j>(what: &str, json: &'j Value) -> Result<&'j str, MarshalError> {
    json.as_str().ok_or_else(|| expected(what, json))
}

impl CqlType {
    /// # Errors
    /// Cassandra's texts. JSON `null` has no value: callers handle it before; here it is an unexpected class.
    pub fn parse_json(&self, json: &Value) -> Result<Vec<u8>, MarshalError> {
        match self {
            Self::Ascii => self.parse_string(text_of("an ascii string", json)?),
            Self::Text => Ok(text_of("a UTF-8 string", json)?.as_bytes().to_vec()),
            Self::Blob | Self::Custom(_) => parse_blob(json),
            Self::Boolean => match json {
                Value::Bool(value) => Ok(value::encode_boolean(*value)),
                Value::String(text) => self.parse_string(text),
                other => Err(expected("a boolean value", other)),
            },
            Self::Tinyint | Self::Smallint => match json {
                Value::String(_) | Value::Number(_) => self.parse_string(&java_text(json)),
                other => Err(expected(if *self == Self::Tinyint { "a byte value" } else { "a short value" }, other)),
            },
            Self::Int => match json {
                Value::String(text) => self.parse_string(text),
                Value::Number(number) => match java_number(number) {
                    JavaNumber::Integer(number) => Ok(value::encode_int(number)),
                    _ => Err(expected("an int value", json)),
                },
                other => Err(expected("an int value", other)),
            },
            Self::Bigint => match json {
                Value::String(text) => self.parse_string(text),
                Value::Number(number) => match java_number(number) {
                    JavaNumber::Integer(number) => Ok(value::encode_bigint(number.into())),
                    JavaNumber::Long(number) => Ok(value::encode_bigint(number)),
                    _ => Err(expected("a bigint value", json)),
                },
                other => Err(expected("a bigint value", other)),
            },
            Self::Counter => Err(MarshalError::new("Counters cannot be written as JSON")),
            Self::Varint => self.parse_json_text(json).ok_or_else(|| not_valid(json, "varint")),
            Self::Decimal => self.parse_string(&java_text(json)).map_err(|_| not_valid(json, "decimal")),
            Self::Float => match json {
                Value::String(text) => self.parse_string(text),
                Value::Number(number) => Ok(value::encode_float(double_of(number) as f32)),
                other => Err(expected("a float value", other)),
            },
            Self::Double => match json {
                Value::String(text) => self.parse_string(text),
                Value::Number(number) => Ok(value::encode_double(double_of(number))),
                other => Err(expected("a double value", other)),
            },
            Self::Inet => self.parse_string(text_of("a string representation of an inet value", json)?),
            Self::Uuid => self.parse_string(text_of("a string representation of a uuid", json)?),
            Self::Timeuuid => self.parse_string(text_of("a string representation of a timeuuid", json)?),
            Self::Date => self.parse_string(text_of("a string representation of a date value", json)?),
            Self::Time => self.parse_string(text_of("a string representation of a time value", json)?),
            Self::Duration => self.parse_string(text_of("a string representation of a duration", json)?),
            Self::Timestamp => match json {
                Value::String(text) => self.parse_string(text),
                // A number that fits an int is none to Cassandra here, since Jackson makes an Integer of it.
                Value::Number(number) => match java_number(number) {
                    JavaNumber::Long(millis) => Ok(value::encode_bigint(millis)),
                    _ => Err(expected("a long or a datestring representation of a timestamp value", json)),
                },
                other => Err(expected("a long or a datestring representation of a timestamp value", other)),
            },
            Self::Empty => match json {
                Value::String(text) => self.parse_string(text),
                other => Err(MarshalError::new(format!("Expected an empty string, but got: {}", java_text(other)))),
            },
            Self::List { element, .. } => {
                let elements = parse_elements(json, element, "a list", "Invalid null element in list")?;
                Ok(pack_owned(&elements))
            }
            Self::Set { element, .. } => {
                let what = "a list (representing a set)";
                let mut elements = parse_elements(json, element, what, "Invalid null element in set")?;
                elements.sort_by(|a, b| element.compare(a, b));
                elements.dedup_by(|a, b| element.compare(a, b).is_eq());
                Ok(pack_owned(&elements))
            }
            Self::Map { key, value, .. } => parse_map(json, key, value),
            Self::Tuple(components) => parse_tuple(json, components),
            Self::Udt(udt, _) => parse_udt(json, udt),
            Self::Vector { element, dimension } => parse_vector(json, element, *dimension),
        }
    }

    /// Java's text of the JSON value as a value of this type; the empty text is none.
    fn parse_json_text(&self, json: &Value) -> Option<Vec<u8>> {
        let text = java_text(json);
        if text.is_empty() { None } else { self.parse_string(&text).ok() }
    }
}

fn not_valid(json: &Value, name: &str) -> MarshalError {
    MarshalError::new(format!("Value '{}' is not a valid representation of a {name} value", java_text(json)))
}

fn parse_blob(json: &Value) -> Result<Vec<u8>, MarshalError> {
    let text = java_text(json);
    let bad =
        |problem: String| MarshalError::new(format!("Value '{text}' is not a valid blob representation: {problem}"));
    let Value::String(string) = json else {
        let class = class_of(json);
        return Err(bad(format!(
            "class {class} cannot be cast to class java.lang.String \
             ({class} and java.lang.String are in module java.base of loader 'bootstrap')"
        )));
    };
    let Some(digits) = string.strip_prefix("0x") else {
        return Err(bad(format!("String representation of blob is missing 0x prefix: {text}")));
    };
    crate::hex::parse_hex(digits).ok_or_else(|| bad(format!("cannot parse '{digits}' as hex bytes")))
}

fn double_of(number: &serde_json::Number) -> f64 {
    number.to_string().parse().unwrap_or(f64::NAN)
}

/// A string holds JSON text again, as in the keys of maps: the decoded value, or `None` for other JSON.
fn decoded(json: &Value) -> Result<Option<Value>, MarshalError> {
    match json {
        Value::String(text) => serde_json::from_str(text)
            .map(Some)
            .map_err(|error| MarshalError::new(format!("Error decoding JSON string: {error}"))),
        _ => Ok(None),
    }
}

fn parse_elements(json: &Value, element: &CqlType, what: &str, null_text: &str) -> Result<Vec<Vec<u8>>, MarshalError> {
    let inner = decoded(json)?;
    let json = inner.as_ref().unwrap_or(json);
    let Value::Array(elements) = json else { return Err(expected(what, json)) };
    let parse = |json: &Value| {
        if json.is_null() { Err(MarshalError::new(null_text)) } else { element.parse_json(json) }
    };
    elements.iter().map(parse).collect()
}

fn parse_map(json: &Value, key: &CqlType, value: &CqlType) -> Result<Vec<u8>, MarshalError> {
    let inner = decoded(json)?;
    let json = inner.as_ref().unwrap_or(json);
    let Value::Object(entries) = json else { return Err(expected("a map", json)) };
    let mut parsed: Vec<(Vec<u8>, Vec<u8>)> = Vec::with_capacity(entries.len());
    for (name, json) in entries {
        if json.is_null() {
            return Err(MarshalError::new("Invalid null value in map"));
        }
        parsed.push((key.parse_json(&Value::String(name.clone()))?, value.parse_json(json)?));
    }
    parsed.sort_by(|(a, _), (b, _)| key.compare(a, b));
    // Of equal keys the last one written wins, as in Java's map.
    parsed.reverse();
    parsed.dedup_by(|(a, _), (b, _)| key.compare(a, b).is_eq());
    parsed.reverse();
    let entries: Vec<(&[u8], &[u8])> = parsed.iter().map(|(k, v)| (&**k, &**v)).collect();
    Ok(pack_map(&entries))
}

fn parse_tuple(json: &Value, components: &[CqlType]) -> Result<Vec<u8>, MarshalError> {
    let inner = decoded(json)?;
    let json = inner.as_ref().unwrap_or(json);
    let Value::Array(elements) = json else { return Err(expected("a list representation of a tuple", json)) };
    let count = components.len();
    if count < elements.len() {
        let text = java_text(json);
        return Err(MarshalError::new(format!("Tuple contains extra items (expected {count}): {text}")));
    }
    if elements.len() < count {
        return Err(MarshalError::new(format!("Tuple is missing items (expected {count}): {}", java_text(json))));
    }
    let mut parsed = Vec::with_capacity(count);
    for (component, json) in components.iter().zip(elements) {
        parsed.push(if json.is_null() { None } else { Some(component.parse_json(json)?) });
    }
    Ok(pack_tuple(&parsed.iter().map(Option::as_deref).collect::<Vec<_>>()))
}

/// A JSON name in quotes within the string is case-sensitive, others are lower case.
fn field_name(json_name: &str) -> String {
    match json_name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => json_name.to_lowercase(),
    }
}

fn parse_udt(json: &Value, udt: &UserType) -> Result<Vec<u8>, MarshalError> {
    let inner = decoded(json)?;
    let json = inner.as_ref().unwrap_or(json);
    let Value::Object(entries) = json else { return Err(expected("a map", json)) };
    let mut parsed: Vec<Option<Vec<u8>>> = vec![None; udt.fields.len()];
    let named: Vec<(String, &Value)> = entries.iter().map(|(name, json)| (field_name(name), json)).collect();
    for (field, slot) in udt.fields.iter().zip(&mut parsed) {
        let json = named.iter().rev().find(|(name, _)| **name == *field.name).map(|(_, json)| *json);
        if let Some(json) = json.filter(|json| !json.is_null()) {
            *slot = Some(field.ty.parse_json(json)?);
        }
    }
    if let Some((unknown, _)) = named.iter().find(|(name, _)| udt.field_index(name).is_none()) {
        return Err(MarshalError::new(format!("Unknown field '{unknown}' in value of user defined type {}", udt.name)));
    }
    Ok(pack_tuple(&parsed.iter().map(Option::as_deref).collect::<Vec<_>>()))
}

fn parse_vector(json: &Value, element: &CqlType, dimension: u32) -> Result<Vec<u8>, MarshalError> {
    let inner = decoded(json)?;
    let json = inner.as_ref().unwrap_or(json);
    let Value::Array(elements) = json else { return Err(expected("a list", json)) };
    if usize::try_from(dimension) != Ok(elements.len()) {
        return Err(MarshalError::new(format!(
            "List had incorrect size: expected {dimension} but given {}; {}",
            elements.len(),
            java_text(json)
        )));
    }
    let parsed = parse_elements(json, element, "a list", "Invalid null element in list")?;
    let meaningless =
        |bytes: &Vec<u8>| bytes.is_empty() && !matches!(element, CqlType::Ascii | CqlType::Text | CqlType::Blob);
    if parsed.iter().any(meaningless) {
        return Err(MarshalError::new("null is not supported inside vectors"));
    }
    Ok(pack_vector(element, &parsed.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

/// Builds a list value from parsed elements, for callers that own them.
fn pack_owned(elements: &[Vec<u8>]) -> Vec<u8> {
    let count = i32::try_from(elements.len()).unwrap_or(i32::MAX);
    let mut out = count.to_be_bytes().to_vec();
    for element in elements {
        push_value(Some(element), &mut out);
    }
    out
}
