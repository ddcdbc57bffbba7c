//! Mathematical functions, with Java's narrowing: `exp` of an int is the int part of the double.
//!
//! Source: Cassandra 5.0, `cql3.functions.MathFcts`, `db.marshal.NumberType`.

use helenus_types::CqlType;
use helenus_types::value::{self, Decimal};
use num_traits::Signed;

use crate::error::{QueryError, Result};
use crate::functions::arbitrary_precision as precise;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MathKind {
    Abs,
    Exp,
    Log,
    Log10,
    Round,
}

pub fn evaluate(kind: MathKind, ty: &CqlType, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let result = match ty {
        CqlType::Tinyint => value::decode_tinyint(bytes).map(|number| {
            // Java widens to int, computes, and narrows back.
            let wide = match kind {
                MathKind::Abs => i32::from(number).abs(),
                MathKind::Round => i32::from(number),
                _ => double_to_i32(of_double(kind, f64::from(number))),
            };
            #[expect(clippy::cast_possible_truncation, reason = "Java's narrowing conversion")]
            let narrow = wide as i8;
            value::encode_tinyint(narrow)
        }),
        CqlType::Smallint => value::decode_smallint(bytes).map(|number| {
            let wide = match kind {
                MathKind::Abs => i32::from(number).abs(),
                MathKind::Round => i32::from(number),
                _ => double_to_i32(of_double(kind, f64::from(number))),
            };
            #[expect(clippy::cast_possible_truncation, reason = "Java's narrowing conversion")]
            let narrow = wide as i16;
            value::encode_smallint(narrow)
        }),
        CqlType::Int => value::decode_int(bytes).map(|number| {
            value::encode_int(match kind {
                MathKind::Abs => number.wrapping_abs(),
                MathKind::Round => number,
                _ => double_to_i32(of_double(kind, f64::from(number))),
            })
        }),
        CqlType::Bigint | CqlType::Counter => value::decode_bigint(bytes).map(|number| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "Java's conversions")]
            value::encode_bigint(match kind {
                MathKind::Abs => number.wrapping_abs(),
                MathKind::Round => number,
                _ => of_double(kind, number as f64) as i64,
            })
        }),
        CqlType::Float => value::decode_float(bytes).map(|number| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "Java's conversions")]
            value::encode_float(match kind {
                MathKind::Abs => number.abs(),
                // Math.round(float) answers an int.
                MathKind::Round => (f64::from(number) + 0.5).floor() as i32 as f32,
                _ => of_double(kind, f64::from(number)) as f32,
            })
        }),
        CqlType::Double => value::decode_double(bytes).map(|number| {
            value::encode_double(match kind {
                MathKind::Abs => number.abs(),
                MathKind::Round => java_round(number),
                _ => of_double(kind, number),
            })
        }),
        CqlType::Varint => match value::decode_varint(bytes) {
            None => None,
            Some(number) => Some(value::encode_varint(&match kind {
                MathKind::Abs => number.abs(),
                MathKind::Round => number,
                _ => {
                    let result = of_decimal(kind, &Decimal::new(number, 0))?;
                    precise::integer_part(&result)
                }
            })),
        },
        CqlType::Decimal => match value::decode_decimal(bytes) {
            None => None,
            Some(number) => Some(of_decimal(kind, &number)?.encode()),
        },
        _ => None,
    };
    Ok(result)
}

fn of_double(kind: MathKind, number: f64) -> f64 {
    match kind {
        MathKind::Abs => number.abs(),
        MathKind::Exp => number.exp(),
        MathKind::Log => number.ln(),
        // The processor's NaN, which Java does not replace by its own here.
        MathKind::Log10 if number < 0.0 => f64::from_bits(0xfff8_0000_0000_0000),
        MathKind::Log10 => number.log10(),
        MathKind::Round => java_round(number),
    }
}

/// Half up towards positive infinity, saturating at the limits of a long; NaN is 0.
fn java_round(number: f64) -> f64 {
    let floor = number.floor();
    let rounded = if 0.5 <= number - floor { floor + 1.0 } else { floor };
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "Java's conversions saturate too")]
    let through_long = rounded as i64 as f64;
    through_long
}

/// Java's narrowing of a double to an int saturates, as Rust's does; NaN is 0.
fn double_to_i32(number: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "saturating is what is wanted")]
    let narrow = number as i32;
    narrow
}

fn of_decimal(kind: MathKind, number: &Decimal) -> Result<Decimal> {
    let positive = number.unscaled.is_positive();
    let refuse = |text: &str| Err(QueryError::Server(format!("java.lang.ArithmeticException: {text}")));
    Ok(match kind {
        MathKind::Abs => Decimal::new(number.unscaled.abs(), number.scale),
        MathKind::Round => precise::round_to_integer(number),
        MathKind::Exp => precise::exp(number),
        MathKind::Log if !positive => return refuse("Natural log of number zero or less"),
        MathKind::Log => precise::ln(number),
        MathKind::Log10 if !positive => return refuse("Log10 of number zero or less"),
        MathKind::Log10 => precise::log10(number),
    })
}
