//! `+ - * / %` and unary minus in CQL, on serialised values and with Java's semantics.
//!
//! ```text
//! result     integers of fixed size: the larger one (counter is bigint); with float: float up to int, double from bigint
//!            varint with integers: varint; varint with float or double, and anything with decimal: decimal
//!            text + text: concatenation; timestamp or date ± duration: timestamp or date
//! overflow   wraps around, as Java's does; floats have infinities
//! ```
//!
//! An empty operand makes the result null. Source: Cassandra 5.0, `cql3.functions.OperationFcts`, `db.marshal.NumberType`
//! and its subclasses, `cql3.Duration`.

use std::fmt;

use num_bigint::BigInt;
use num_traits::{ToPrimitive as _, Zero as _};

use crate::cql_type::CqlType;
use crate::decimal::Decimal;
use crate::duration::{Duration, NANOS_PER_MILLI};
use crate::time::{Civil, MILLIS_PER_DAY};
use crate::value;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operation {
    pub fn symbol(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Modulo => '%',
        }
    }

    /// The name of the native function behind the operator, `system._add` and so on, spelled as Cassandra spells it.
    pub fn function_name(self) -> &'static str {
        match self {
            Self::Add => "_add",
            Self::Subtract => "_substract",
            Self::Multiply => "_multiply",
            Self::Divide => "_divide",
            Self::Modulo => "_modulo",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.symbol())
    }
}

/// An operation that has no result, as Cassandra's `OperationExecutionException`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operation '{left} {operation} {right}' failed: {reason}")]
pub struct ArithmeticError {
    pub left: CqlType,
    pub operation: Operation,
    pub right: CqlType,
    pub reason: String,
}

/// What an operand is read as before the operation.
enum Number {
    Integer(i64),
    Float(f64),
    Varint(BigInt),
    Decimal(Decimal),
}

const TOO_LARGE: &str = "Overflow";

fn is_number(ty: &CqlType) -> bool {
    integer_rank(ty).is_some() || matches!(ty, CqlType::Float | CqlType::Double | CqlType::Varint | CqlType::Decimal)
}

/// Integers of fixed size by their width.
fn integer_rank(ty: &CqlType) -> Option<u32> {
    match ty {
        CqlType::Tinyint => Some(1),
        CqlType::Smallint => Some(2),
        CqlType::Int => Some(4),
        CqlType::Bigint | CqlType::Counter => Some(8),
        _ => None,
    }
}

/// The type of `left op right`; `None` when Cassandra has no such operation.
pub fn result_type(operation: Operation, left: &CqlType, right: &CqlType) -> Option<CqlType> {
    use CqlType::{
        Ascii, Bigint, Date, Decimal, Double, Duration, Float, Int, Smallint, Text, Timestamp, Tinyint, Varint,
    };
    match (left, right) {
        (Timestamp | Date, Duration) => matches!(operation, Operation::Add | Operation::Subtract).then(|| left.clone()),
        (Ascii, Ascii) => (operation == Operation::Add).then_some(Ascii),
        (Ascii | Text, Ascii | Text) => (operation == Operation::Add).then_some(Text),
        _ if !is_number(left) || !is_number(right) => None,
        (Decimal, _) | (_, Decimal) => Some(Decimal),
        (Varint, other) | (other, Varint) => Some(if matches!(other, Float | Double) { Decimal } else { Varint }),
        (Double, _) | (_, Double) => Some(Double),
        (Float, other) | (other, Float) => Some(if integer_rank(other) == Some(8) { Double } else { Float }),
        _ => match integer_rank(left).max(integer_rank(right)) {
            Some(1) => Some(Tinyint),
            Some(2) => Some(Smallint),
            Some(4) => Some(Int),
            _ => Some(Bigint),
        },
    }
}

/// `left op right` as a value of [`result_type`]; `None` is null, the answer to an empty operand.
///
/// # Errors
/// [`ArithmeticError`] with Cassandra's reason: division by zero, NaN as a decimal, a duration too precise.
pub fn apply(
    operation: Operation,
    left: &CqlType,
    left_bytes: &[u8],
    right: &CqlType,
    right_bytes: &[u8],
) -> Result<Option<Vec<u8>>, ArithmeticError> {
    let fail = |reason: String| ArithmeticError { left: left.clone(), operation, right: right.clone(), reason };
    let Some(result) = result_type(operation, left, right) else {
        return Err(fail("there is no such operation".to_owned()));
    };
    if matches!(result, CqlType::Ascii | CqlType::Text) {
        return Ok(Some([left_bytes, right_bytes].concat()));
    }
    if left_bytes.is_empty() || right_bytes.is_empty() {
        return Ok(None);
    }
    if matches!(result, CqlType::Timestamp | CqlType::Date) {
        return shift_time(operation, &result, left_bytes, right_bytes).map(Some).map_err(fail);
    }
    let (Some(x), Some(y)) = (decode(left, left_bytes), decode(right, right_bytes)) else {
        return Err(fail("an operand is not a value of its type".to_owned()));
    };
    let computed = match result {
        CqlType::Float => compute_f32(operation, &x, &y),
        CqlType::Double => Ok(value::encode_double(compute_f64(operation, x.to_f64(), y.to_f64()))),
        CqlType::Varint => compute_varint(operation, &x.to_integer(), &y.to_integer()),
        CqlType::Decimal => compute_decimal(operation, &x, &y),
        _ => compute_integer(operation, &result, &x, &y),
    };
    computed.map(Some).map_err(fail)
}

/// `-value` in the value's own type; `None` for an empty value or a type without numbers.
pub fn negate(ty: &CqlType, bytes: &[u8]) -> Option<Vec<u8>> {
    match ty {
        CqlType::Tinyint => value::decode_tinyint(bytes).map(|number| value::encode_tinyint(number.wrapping_neg())),
        CqlType::Smallint => value::decode_smallint(bytes).map(|number| value::encode_smallint(number.wrapping_neg())),
        CqlType::Int => value::decode_int(bytes).map(|number| value::encode_int(number.wrapping_neg())),
        CqlType::Bigint | CqlType::Counter => {
            value::decode_bigint(bytes).map(|number| value::encode_bigint(number.wrapping_neg()))
        }
        CqlType::Float => value::decode_float(bytes).map(|number| value::encode_float(-number)),
        CqlType::Double => value::decode_double(bytes).map(|number| value::encode_double(-number)),
        CqlType::Varint => value::decode_varint(bytes).map(|number| value::encode_varint(&-number)),
        CqlType::Decimal => Decimal::decode(bytes).map(|number| number.negate().encode()),
        _ => None,
    }
}

fn decode(ty: &CqlType, bytes: &[u8]) -> Option<Number> {
    match ty {
        CqlType::Tinyint => value::decode_tinyint(bytes).map(|number| Number::Integer(number.into())),
        CqlType::Smallint => value::decode_smallint(bytes).map(|number| Number::Integer(number.into())),
        CqlType::Int => value::decode_int(bytes).map(|number| Number::Integer(number.into())),
        CqlType::Bigint | CqlType::Counter => value::decode_bigint(bytes).map(Number::Integer),
        CqlType::Float => value::decode_float(bytes).map(|number| Number::Float(number.into())),
        CqlType::Double => value::decode_double(bytes).map(Number::Float),
        CqlType::Varint => value::decode_varint(bytes).map(Number::Varint),
        CqlType::Decimal => Decimal::decode(bytes).map(Number::Decimal),
        _ => None,
    }
}

impl Number {
    fn to_f64(&self) -> f64 {
        match self {
            Self::Integer(number) => *number as f64,
            Self::Float(number) => *number,
            Self::Varint(number) => number.to_f64().unwrap_or(f64::NAN),
            Self::Decimal(number) => number.to_f64(),
        }
    }

    /// Rounded once: an integer goes to a float directly, not by way of a double.
    fn to_f32(&self) -> f32 {
        match self {
            Self::Integer(number) => *number as f32,
            other => other.to_f64() as f32,
        }
    }

    fn to_integer(&self) -> BigInt {
        match self {
            Self::Integer(number) => BigInt::from(*number),
            Self::Varint(number) => number.clone(),
            Self::Float(number) => BigInt::from(*number as i64), // Saturates, as Java's cast does.
            Self::Decimal(number) => number.to_integer().unwrap_or_default(),
        }
    }

    fn to_i64(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => other.to_f64() as i64,
        }
    }

    fn to_decimal(&self) -> Result<Decimal, String> {
        match self {
            Self::Varint(number) => Ok(Decimal::new(number.clone(), 0)),
            Self::Decimal(number) => Ok(number.clone()),
            // Integers take the way through a double too, so large bigints lose digits and all get a scale of 1.
            Self::Integer(number) => Ok(Decimal::from_f64(*number as f64).unwrap_or_else(Decimal::zero)),
            Self::Float(number) if number.is_nan() => Err("A NaN cannot be converted into a decimal".to_owned()),
            Self::Float(number) => Decimal::from_f64(*number)
                .ok_or_else(|| "An infinite number cannot be converted into a decimal".to_owned()),
        }
    }
}

fn compute_integer(operation: Operation, result: &CqlType, x: &Number, y: &Number) -> Result<Vec<u8>, String> {
    let (x, y) = (x.to_i64(), y.to_i64());
    if y == 0 && matches!(operation, Operation::Divide | Operation::Modulo) {
        return Err("/ by zero".to_owned());
    }
    // Narrower results are the low bits of the wide ones; only division could differ, and it does not.
    let wide = match operation {
        Operation::Add => x.wrapping_add(y),
        Operation::Subtract => x.wrapping_sub(y),
        Operation::Multiply => x.wrapping_mul(y),
        Operation::Divide => x.wrapping_div(y),
        Operation::Modulo => x.wrapping_rem(y),
    };
    Ok(match result {
        CqlType::Tinyint => value::encode_tinyint(wide as i8),
        CqlType::Smallint => value::encode_smallint(wide as i16),
        CqlType::Int => value::encode_int(wide as i32),
        _ => value::encode_bigint(wide),
    })
}

fn compute_f64(operation: Operation, x: f64, y: f64) -> f64 {
    match operation {
        Operation::Add => x + y,
        Operation::Subtract => x - y,
        Operation::Multiply => x * y,
        Operation::Divide => x / y,
        Operation::Modulo => x % y,
    }
}

fn compute_f32(operation: Operation, x: &Number, y: &Number) -> Result<Vec<u8>, String> {
    let (x, y) = (x.to_f32(), y.to_f32());
    Ok(value::encode_float(match operation {
        Operation::Add => x + y,
        Operation::Subtract => x - y,
        Operation::Multiply => x * y,
        Operation::Divide => x / y,
        Operation::Modulo => x % y,
    }))
}

fn compute_varint(operation: Operation, x: &BigInt, y: &BigInt) -> Result<Vec<u8>, String> {
    if y.is_zero() && matches!(operation, Operation::Divide | Operation::Modulo) {
        return Err("BigInteger divide by zero".to_owned());
    }
    Ok(value::encode_varint(&match operation {
        Operation::Add => x + y,
        Operation::Subtract => x - y,
        Operation::Multiply => x * y,
        Operation::Divide => x / y,
        Operation::Modulo => x % y,
    }))
}

/// Digits after the point that a decimal quotient has at least and at most. Source: `DecimalType.divide`.
const QUOTIENT_SCALE_MIN: i64 = 32;
const QUOTIENT_SCALE_MAX: i64 = 1_000;

fn compute_decimal(operation: Operation, x: &Number, y: &Number) -> Result<Vec<u8>, String> {
    let (x, y) = (x.to_decimal()?, y.to_decimal()?);
    let computed = match operation {
        Operation::Add => x.add(&y),
        Operation::Subtract => x.subtract(&y),
        Operation::Multiply => x.multiply(&y),
        Operation::Divide => return divide_decimals(&x, &y),
        Operation::Modulo if y.is_zero() && x.is_zero() => return Err("Division undefined".to_owned()),
        Operation::Modulo if y.is_zero() => return Err("Division by zero".to_owned()),
        Operation::Modulo => x.remainder(&y),
    };
    computed.map(|number| number.encode()).ok_or_else(|| TOO_LARGE.to_owned())
}

fn divide_decimals(x: &Decimal, y: &Decimal) -> Result<Vec<u8>, String> {
    let (x_scale, y_scale) = (i64::from(x.scale), i64::from(y.scale));
    let quotient_digits = (x.precision() - x_scale) - (y.precision() - y_scale);
    let scale = (QUOTIENT_SCALE_MIN - quotient_digits).max(x_scale).max(y_scale);
    let scale = scale.clamp(QUOTIENT_SCALE_MIN, QUOTIENT_SCALE_MAX);
    if y.is_zero() {
        // Java's text depends on whether the scaled dividend fits a long.
        let raise = u32::try_from(scale + y_scale - x_scale).unwrap_or(0);
        let dividend = x.unscaled.to_i64().zip(10i64.checked_pow(raise)).and_then(|(x, power)| x.checked_mul(power));
        return Err(if dividend.is_some() { "/ by zero" } else { "BigInteger divide by zero" }.to_owned());
    }
    let quotient = i32::try_from(scale).ok().and_then(|scale| x.divide(y, scale));
    quotient.map(|number| number.strip_trailing_zeros().encode()).ok_or_else(|| TOO_LARGE.to_owned())
}

fn shift_time(operation: Operation, ty: &CqlType, bytes: &[u8], duration: &[u8]) -> Result<Vec<u8>, String> {
    let duration = Duration::decode(duration).map_err(|error| error.to_string())?;
    let signed = if operation == Operation::Subtract { duration.negate() } else { duration };
    let invalid = || "an operand is not a value of its type".to_owned();
    if *ty == CqlType::Date {
        if !duration.has_day_precision() {
            return Err(format!("The duration must have a day precision. Was: {}", duration.to_text()));
        }
        let days = value::decode_date_days(bytes).ok_or_else(invalid)?;
        let shifted = add_duration(days.wrapping_mul(MILLIS_PER_DAY), signed) / MILLIS_PER_DAY;
        // Java adds the shift of dates in 32 bits, so dates wrap around.
        return Ok(value::encode_date((shifted as u32).wrapping_add(value::DATE_EPOCH)));
    }
    if !duration.has_millisecond_precision() {
        return Err(format!("The duration must have a millisecond precision. Was: {}", duration.to_text()));
    }
    let millis = value::decode_timestamp(bytes).ok_or_else(invalid)?;
    Ok(value::encode_bigint(add_duration(millis, signed)))
}

/// `Duration.addTo`: months by the calendar, then days and milliseconds.
pub fn add_duration(millis: i64, duration: Duration) -> i64 {
    let days = i64::from(duration.days).wrapping_mul(MILLIS_PER_DAY);
    let duration_millis = duration.nanos / NANOS_PER_MILLI;
    if duration.months == 0 {
        return millis.wrapping_add(days).wrapping_add(duration_millis);
    }
    let (day, millis_of_day) = (millis.div_euclid(MILLIS_PER_DAY), millis.rem_euclid(MILLIS_PER_DAY));
    let moved = add_months(day, duration.months).wrapping_mul(MILLIS_PER_DAY).wrapping_add(millis_of_day);
    // Java's calendar takes the milliseconds as an int.
    moved.wrapping_add(days).wrapping_add(i64::from(duration_millis as i32))
}

/// 1582-10-15 in days since the epoch. Java's calendar, which does the months, is Julian before it.
const GREGORIAN_START: i64 = -141_427;

/// The same day of the month some months later, or that month's last day.
fn add_months(day: i64, months: i32) -> i64 {
    let civil = if GREGORIAN_START <= day { Civil::of_days(day) } else { julian_of_days(day) };
    let month_index = civil.year * 12 + i64::from(civil.month) - 1 + i64::from(months);
    let (year, month) = (month_index.div_euclid(12), u32::try_from(month_index.rem_euclid(12) + 1).unwrap_or(1));
    let julian_leap = year < 1582 && month == 2 && year.rem_euclid(4) == 0;
    let last = if julian_leap { 29 } else { Civil::days_in_month(year, month) };
    let moved = Civil { year, month, day: civil.day.min(last) };
    let gregorian = (1582, 10, 15) <= (moved.year, moved.month, moved.day);
    if gregorian { moved.to_days() } else { julian_to_days(moved) }
}

/// Days from 0000-03-01 of the Julian calendar to the epoch, and its cycle of four years.
const JULIAN_DAYS_TO_EPOCH: i64 = 719_470;
const JULIAN_CYCLE_DAYS: i64 = 1_461;

fn julian_of_days(days: i64) -> Civil {
    let shifted = days.saturating_add(JULIAN_DAYS_TO_EPOCH);
    let (cycle, day_of_cycle) = (shifted.div_euclid(JULIAN_CYCLE_DAYS), shifted.rem_euclid(JULIAN_CYCLE_DAYS));
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460) / 365;
    let day_of_year = day_of_cycle - 365 * year_of_cycle;
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = cycle * 4 + year_of_cycle + i64::from(month <= 2);
    Civil { year, month: u32::try_from(month).unwrap_or(1), day: u32::try_from(day).unwrap_or(1) }
}

fn julian_to_days(civil: Civil) -> i64 {
    let year = civil.year - i64::from(civil.month <= 2);
    let (cycle, year_of_cycle) = (year.div_euclid(4), year.rem_euclid(4));
    let month = i64::from(civil.month);
    let shifted_month = if 2 < month { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(civil.day) - 1;
    cycle * JULIAN_CYCLE_DAYS + year_of_cycle * 365 + day_of_year - JULIAN_DAYS_TO_EPOCH
}
