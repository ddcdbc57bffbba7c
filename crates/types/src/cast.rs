//! `CAST(x AS t)`.
//!
//! ```text
//! from                                   to
//! numbers (counter included)             every other number but counter, ascii, text
//! ascii                                  text
//! boolean, inet, time, uuid              ascii, text
//! date, timestamp                        each other, ascii, text
//! timeuuid                               date, timestamp, ascii, text
//! ```
//!
//! A type casts to itself as it is. Numbers narrow as Java's `Number.byteValue` and its kin do.
//! Source: Cassandra 5.0, `cql3.functions.CastFcts`.

use num_bigint::BigInt;
use num_traits::ToPrimitive as _;

use crate::cql_type::CqlType;
use crate::decimal::Decimal;
use crate::error::MarshalError;
use crate::time::{self, MILLIS_PER_DAY};
use crate::value;

fn is_number(ty: &CqlType) -> bool {
    matches!(
        ty,
        CqlType::Tinyint
            | CqlType::Smallint
            | CqlType::Int
            | CqlType::Bigint
            | CqlType::Counter
            | CqlType::Float
            | CqlType::Double
            | CqlType::Varint
            | CqlType::Decimal
    )
}

/// Whether Cassandra has a function for this cast; also true from a type to itself.
pub fn cast_result_allowed(from: &CqlType, to: &CqlType) -> bool {
    use CqlType::{Ascii, Boolean, Counter, Date, Inet, Text, Time, Timestamp, Timeuuid, Uuid};
    if from == to {
        return true;
    }
    match (from, to) {
        (_, Counter) => false,
        (Ascii, Text) => true,
        (Boolean | Inet | Time | Uuid | Date | Timestamp | Timeuuid, Ascii | Text) => true,
        (Date, Timestamp) | (Timestamp, Date) | (Timeuuid, Date | Timestamp) => true,
        _ => is_number(from) && (is_number(to) || matches!(to, Ascii | Text)),
    }
}

/// The value as one of `to`; `None` is null, the answer to an empty value.
///
/// # Errors
/// A cast that is not allowed, bytes that are no value of `from`, and NaN or infinity as a decimal.
pub fn apply(from: &CqlType, to: &CqlType, bytes: &[u8]) -> Result<Option<Vec<u8>>, MarshalError> {
    if !cast_result_allowed(from, to) {
        return Err(MarshalError::new(format!("{from} cannot be cast to {to}")));
    }
    if from == to || *from == CqlType::Ascii {
        return Ok(Some(bytes.to_vec()));
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let invalid = || MarshalError::new(format!("Invalid bytes for type {from}"));
    let cast = match to {
        CqlType::Ascii | CqlType::Text => from.scalar_text(bytes).ok_or_else(invalid)?.into_bytes(),
        CqlType::Date => {
            let millis = match from {
                CqlType::Timeuuid => time::timeuuid_millis(bytes),
                _ => value::decode_timestamp(bytes),
            };
            // Java's Duration.toDays cuts towards zero, so a moment before the epoch is on the epoch's day.
            let days = millis.ok_or_else(invalid)? / MILLIS_PER_DAY;
            value::encode_date((days as u32).wrapping_add(value::DATE_EPOCH))
        }
        CqlType::Timestamp => {
            let millis = match from {
                CqlType::Timeuuid => time::timeuuid_millis(bytes),
                _ => value::decode_date_days(bytes).map(|days| days * MILLIS_PER_DAY),
            };
            value::encode_bigint(millis.ok_or_else(invalid)?)
        }
        number => cast_number(from, number, bytes, &invalid)?,
    };
    Ok(Some(cast))
}

fn cast_number(
    from: &CqlType,
    to: &CqlType,
    bytes: &[u8],
    invalid: &dyn Fn() -> MarshalError,
) -> Result<Vec<u8>, MarshalError> {
    match from {
        CqlType::Float if *to == CqlType::Decimal => {
            let number = value::decode_float(bytes).ok_or_else(invalid)?;
            // A float becomes the decimal that its own text shows, not that of the double nearest to it.
            let decimal = Decimal::parse(&crate::float_text::f32_text(number));
            decimal.map_or_else(|| cast_float(number.into(), to), |decimal| Ok(decimal.encode()))
        }
        CqlType::Float | CqlType::Double => {
            let number = match from {
                CqlType::Float => value::decode_float(bytes).map(f64::from),
                _ => value::decode_double(bytes),
            };
            cast_float(number.ok_or_else(invalid)?, to)
        }
        CqlType::Decimal => cast_decimal(&Decimal::decode(bytes).ok_or_else(invalid)?, to),
        CqlType::Varint => Ok(cast_integer(&value::decode_varint(bytes).ok_or_else(invalid)?, to)),
        _ => {
            let minimal = match from {
                CqlType::Tinyint => value::decode_tinyint(bytes).map(i64::from),
                CqlType::Smallint => value::decode_smallint(bytes).map(i64::from),
                CqlType::Int => value::decode_int(bytes).map(i64::from),
                _ => value::decode_bigint(bytes),
            };
            Ok(cast_integer(&BigInt::from(minimal.ok_or_else(invalid)?), to))
        }
    }
}

/// The low bits of an integer of any size, as `BigInteger.longValue` answers them.
fn low_bits(number: &BigInt) -> i64 {
    let mask = BigInt::from(u64::MAX);
    (number & mask).to_u64().unwrap_or(0) as i64
}

fn cast_integer(number: &BigInt, to: &CqlType) -> Vec<u8> {
    let low = low_bits(number);
    match to {
        CqlType::Tinyint => value::encode_tinyint(low as i8),
        CqlType::Smallint => value::encode_smallint(low as i16),
        CqlType::Int => value::encode_int(low as i32),
        CqlType::Bigint => value::encode_bigint(low),
        // Rounded once from the integer itself: by way of a double a float could be rounded twice.
        CqlType::Float => value::encode_float(number.to_f32().unwrap_or(f32::NAN)),
        CqlType::Double => value::encode_double(number.to_f64().unwrap_or(f64::NAN)),
        CqlType::Decimal => Decimal::new(number.clone(), 0).encode(),
        _ => value::encode_varint(number),
    }
}

/// Java narrows a float to int or long, saturating, and cuts smaller ones out of the int.
fn cast_float(number: f64, to: &CqlType) -> Result<Vec<u8>, MarshalError> {
    Ok(match to {
        CqlType::Tinyint => value::encode_tinyint(number as i32 as i8),
        CqlType::Smallint => value::encode_smallint(number as i32 as i16),
        CqlType::Int => value::encode_int(number as i32),
        CqlType::Bigint => value::encode_bigint(number as i64),
        CqlType::Float => value::encode_float(number as f32),
        CqlType::Double => value::encode_double(number),
        CqlType::Decimal => match Decimal::from_f64(number) {
            Some(decimal) => decimal.encode(),
            None => {
                let first = if number.is_nan() { 'N' } else { 'I' };
                return Err(MarshalError::new(format!(
                    "Character {first} is neither a decimal digit number, decimal point, nor \"e\" notation exponential mark."
                )));
            }
        },
        _ => value::encode_varint(&BigInt::from(number as i64)),
    })
}

fn cast_decimal(number: &Decimal, to: &CqlType) -> Result<Vec<u8>, MarshalError> {
    match to {
        CqlType::Float => Ok(value::encode_float(number.to_f32())),
        CqlType::Double => Ok(value::encode_double(number.to_f64())),
        CqlType::Decimal => Ok(number.encode()),
        _ => {
            // The low 64 bits of 10^64 and its multiples are zero, so those powers need not be computed.
            let whole = if number.scale <= -64 { Some(BigInt::ZERO) } else { number.to_integer() };
            let whole = whole.ok_or_else(|| MarshalError::new("The decimal has too many digits for an integer"))?;
            Ok(cast_integer(&BigInt::from(low_bits(&whole)), to)) // Cassandra goes through a long, to varint too.
        }
    }
}
