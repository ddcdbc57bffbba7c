//! exp, ln and log10 of decimals, to as many digits as Cassandra computes: 32, or as many as the argument has.
//!
//! Numbers are fixed-point here: a `BigInt` times 10^-digits, with enough guard digits that the last one kept is right.
//!
//! Source: Cassandra 5.0, `db.marshal.DecimalType` (digits, HALF_EVEN); series from Brent and Zimmermann, "Modern Computer
//! Arithmetic", 2010, chapter 4.

use helenus_types::value::Decimal;
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

const DIGITS_MIN: u32 = 32;
const DIGITS_MAX: u32 = 10_000;
const GUARD_DIGITS: u32 = 16;
/// e^x has about x / 2.3 digits before the point; beyond this the answer would not fit any frame.
const EXPONENT_MAX: i64 = 1_000_000;

fn digits_for(number: &Decimal) -> u32 {
    let precision = u32::try_from(number.precision().max(1)).unwrap_or(DIGITS_MAX);
    precision.clamp(DIGITS_MIN, DIGITS_MAX)
}

fn power_of_ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// `number` as a fixed-point integer of `digits` digits after the point.
fn to_fixed(number: &Decimal, digits: u32) -> BigInt {
    let shift = i64::from(digits) - i64::from(number.scale);
    let amount = u32::try_from(shift.unsigned_abs()).unwrap_or(u32::MAX).min(4 * DIGITS_MAX);
    if 0 <= shift { &number.unscaled * power_of_ten(amount) } else { &number.unscaled / power_of_ten(amount) }
}

/// A fixed-point integer as a decimal of `precision` significant digits, half even, without trailing zeros added.
fn from_fixed(fixed: &BigInt, digits: u32, precision: u32) -> Decimal {
    let scale = i32::try_from(digits).unwrap_or(i32::MAX);
    if fixed.is_zero() {
        return Decimal::zero();
    }
    let found = u32::try_from(fixed.abs().to_string().len()).unwrap_or(u32::MAX);
    if found <= precision {
        return Decimal::new(fixed.clone(), scale);
    }
    let drop = found - precision;
    let rounded = divide_half_even(fixed, &power_of_ten(drop));
    Decimal::new(rounded, scale - i32::try_from(drop).unwrap_or(0))
}

fn divide_half_even(number: &BigInt, divisor: &BigInt) -> BigInt {
    let quotient = number / divisor;
    let remainder = (number - &quotient * divisor).abs() * 2u32;
    let away = match remainder.cmp(&divisor.abs()) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => (&quotient % 2u32) != BigInt::zero(),
        std::cmp::Ordering::Greater => true,
    };
    if !away {
        quotient
    } else if number.is_negative() {
        quotient - 1
    } else {
        quotient + 1
    }
}

/// `number / count` at the scale of `number`, half even.
pub fn divide_at_scale(number: &Decimal, count: i64) -> Decimal {
    Decimal::new(divide_half_even(&number.unscaled, &BigInt::from(count)), number.scale)
}

/// Half up, to an integer.
pub fn round_to_integer(number: &Decimal) -> Decimal {
    if number.scale <= 0 {
        let shift = number.scale.unsigned_abs().min(DIGITS_MAX);
        return Decimal::new(&number.unscaled * power_of_ten(shift), 0);
    }
    let divisor = power_of_ten(number.scale.unsigned_abs().min(4 * DIGITS_MAX));
    let doubled: BigInt = &number.unscaled.abs() * 2u32 + &divisor;
    let magnitude = doubled / (&divisor * 2u32);
    Decimal::new(if number.unscaled.is_negative() { -magnitude } else { magnitude }, 0)
}

/// What `BigDecimal.toBigInteger` answers: the part before the point.
pub fn integer_part(number: &Decimal) -> BigInt {
    let amount = power_of_ten(number.scale.unsigned_abs().min(4 * DIGITS_MAX));
    if number.scale <= 0 { &number.unscaled * amount } else { &number.unscaled / amount }
}

pub fn exp(number: &Decimal) -> Decimal {
    if number.is_zero() {
        return Decimal::new(BigInt::one(), 0);
    }
    let precision = digits_for(number);
    let whole = integer_part(number).to_i64().unwrap_or(EXPONENT_MAX).clamp(-EXPONENT_MAX, EXPONENT_MAX);
    // A negative exponent loses leading digits after the point, a positive one multiplies the error.
    let extra = u32::try_from(whole.unsigned_abs() / 2).unwrap_or(0) + GUARD_DIGITS;
    let digits = precision + extra;
    let fixed = to_fixed(number, digits);
    from_fixed(&exp_fixed(&fixed, digits), digits, precision)
}

fn exp_fixed(x: &BigInt, digits: u32) -> BigInt {
    // e^x = (e^(x / 2^k))^(2^k), with the inner exponent below 2^-8 so that the series is short.
    let one = power_of_ten(digits);
    let halvings = u32::try_from((x.bits()).saturating_sub(one.bits())).unwrap_or(0) + 8;
    let guard = halvings / 3 + 4;
    let unit = power_of_ten(digits + guard);
    let reduced: BigInt = (x * power_of_ten(guard)) >> halvings;
    let mut sum = unit.clone();
    let mut term = unit.clone();
    let mut n = 1u32;
    while !term.is_zero() {
        term = term * &reduced / &unit / n;
        sum += &term;
        n += 1;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &unit;
    }
    sum / power_of_ten(guard)
}

pub fn ln(number: &Decimal) -> Decimal {
    let precision = digits_for(number);
    let digits = precision + GUARD_DIGITS;
    from_fixed(&ln_fixed(number, digits), digits, precision)
}

/// Two more digits than the answer has; the quotient of two rounded logarithms, as upstream: log10 of a thousand is not an
/// integer there.
pub fn log10(number: &Decimal) -> Decimal {
    let precision = digits_for(number);
    let inner = precision + 2;
    let digits = inner + GUARD_DIGITS;
    let rounded_ln = |number: &Decimal| from_fixed(&ln_fixed(number, digits), digits, inner);
    let ten = Decimal::new(BigInt::from(10), 0);
    let divisor = rounded_ln(&ten);
    if is_one(number) {
        return Decimal::new(BigInt::zero(), divisor.scale.wrapping_neg());
    }
    let quotient = divide(&rounded_ln(number), &divisor, inner);
    round_to_precision(&quotient, precision)
}

fn is_one(number: &Decimal) -> bool {
    (0..=4 * DIGITS_MAX.cast_signed()).contains(&number.scale)
        && number.unscaled == power_of_ten(number.scale.unsigned_abs())
}

/// `BigDecimal.divide`: an exact quotient loses zeros until it has the difference of the scales, others are rounded to
/// `precision` digits.
fn divide(number: &Decimal, divisor: &Decimal, precision: u32) -> Decimal {
    let preferred = number.scale - divisor.scale;
    let shift = 2 * precision;
    let numerator = &number.unscaled * power_of_ten(shift);
    let mut quotient = Decimal::new(&numerator / &divisor.unscaled, preferred + shift.cast_signed());
    if !(&numerator % &divisor.unscaled).is_zero() {
        return round_to_precision(&quotient, precision);
    }
    let ten = BigInt::from(10);
    while preferred < quotient.scale && (&quotient.unscaled % &ten).is_zero() {
        quotient = Decimal::new(&quotient.unscaled / &ten, quotient.scale - 1);
    }
    quotient
}

fn round_to_precision(number: &Decimal, precision: u32) -> Decimal {
    let found = u32::try_from(number.unscaled.abs().to_string().len()).unwrap_or(u32::MAX);
    let drop = found.saturating_sub(precision);
    if drop == 0 {
        return number.clone();
    }
    Decimal::new(divide_half_even(&number.unscaled, &power_of_ten(drop)), number.scale - drop.cast_signed())
}

/// Newton's iteration on `exp`, started from the double's logarithm: each step doubles the right digits.
fn ln_fixed(number: &Decimal, digits: u32) -> BigInt {
    let digits_before = i64::from(u32::try_from(number.precision().max(1)).unwrap_or(1)) - i64::from(number.scale);
    // number = mantissa * 10^digits_before with the mantissa in [0.1, 1).
    let scale = i32::try_from(number.precision().max(1)).unwrap_or(i32::MAX);
    let mantissa = Decimal::new(number.unscaled.clone(), scale);
    let work = digits + 8;
    let unit = power_of_ten(work);
    let target = to_fixed(&mantissa, work);
    let logarithm = ln_of_unit(&target, mantissa.to_f64(), work, &unit);
    let tens = if digits_before == 0 {
        BigInt::zero()
    } else {
        let ten = ln_of_unit(&(&unit * 5u32 / 10u32), 0.5, work, &unit); // ln 0.5
        let fifth = ln_of_unit(&(&unit * 2u32 / 10u32), 0.2, work, &unit); // ln 0.2
        -(ten + fifth) * digits_before // ln 10 = -(ln 0.5 + ln 0.2)
    };
    (logarithm + tens) / power_of_ten(8)
}

fn ln_of_unit(target: &BigInt, estimate: f64, digits: u32, unit: &BigInt) -> BigInt {
    let start = Decimal::parse(&format!("{:.17}", estimate.ln())).unwrap_or_else(Decimal::zero);
    let mut y = to_fixed(&start, digits);
    // 16 right digits to begin with, doubled each time; one step more for safety.
    let mut right = 15u32;
    loop {
        let e = exp_fixed(&y, digits);
        // Halley: y += 2 (t - e) / (t + e)
        let step = (target - &e) * 2u32 * unit / (target + &e);
        y += step;
        if digits <= right {
            return y;
        }
        right = right.saturating_mul(3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).expect("a number")
    }

    #[test]
    fn thirty_two_digits_are_right() {
        assert_eq!(exp(&decimal("1")).to_java_string(), "2.7182818284590452353602874713527");
        assert_eq!(ln(&decimal("2")).to_java_string(), "0.69314718055994530941723212145818");
        assert_eq!(log10(&decimal("2")).to_java_string(), "0.30102999566398119521373889472449");
        assert_eq!(exp(&decimal("0")).to_java_string(), "1");
    }

    #[test]
    fn log10_of_powers_of_ten_has_the_digits_that_cassandra_finds() {
        let of = |text: &str| log10(&decimal(text)).to_java_string();
        assert_eq!(of("1000"), "3.0000000000000000000000000000000");
        assert_eq!(of("0.001"), "-3.0000000000000000000000000000000");
        assert_eq!([of("10"), of("100.0"), of("1E+10"), of("1.0")], ["1", "2", "1E+1", "0E+33"]);
    }

    #[test]
    fn rounding_is_half_up() {
        assert_eq!(round_to_integer(&decimal("2.5")).to_java_string(), "3");
        assert_eq!(round_to_integer(&decimal("-2.5")).to_java_string(), "-3");
        assert_eq!(round_to_integer(&decimal("2.49")).to_java_string(), "2");
    }
}
