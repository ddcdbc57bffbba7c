//! Floating point numbers as Java prints and parses them.
//!
//! Java writes `1.0E10` where Rust writes `10000000000`: plain between 10^-3 and 10^7, else with an exponent, and always
//! a digit after the point. Its digits, up to Java 18, are nearly but not always the shortest ones (`2.0E-3` is, but 1e23
//! is printed as `1.0E23` and its neighbour as `9.999999999999999E22`); Cassandra 5.0 runs on such a Java, and its texts
//! are compared, so the digits are made the same way here: free-format generation after Steele and White.
//!
//! Source: Java 17, `Double.toString`, `Float.toString`; G. L. Steele and J. L. White, "How to print floating-point
//! numbers accurately", PLDI 1990.

use num_bigint::BigUint;
use num_integer::Integer as _;
use num_traits::{ToPrimitive as _, Zero as _};

/// Bits of a double's significand without the hidden one; floats are widened to it.
const SIGNIFICAND_BITS: i32 = 52;
const FLOAT_SIGNIFICAND_BITS: i32 = 23;
/// Binary exponents for which an integral number is printed from its integer.
const INTEGRAL_EXPONENTS: std::ops::RangeInclusive<i32> = -21..=62;

/// `Double.toString`.
pub(crate) fn f64_text(number: f64) -> String {
    let bits = number.abs().to_bits();
    let fraction = bits & ((1 << SIGNIFICAND_BITS) - 1);
    let exponent = i32::try_from(bits >> SIGNIFICAND_BITS).unwrap_or(0);
    finite_or_special(number, fraction == 0 && exponent == 0, || {
        if exponent != 0 {
            return digits(exponent - 1_023, fraction | 1 << SIGNIFICAND_BITS, SIGNIFICAND_BITS + 1);
        }
        let shift = fraction.leading_zeros() as i32 - (63 - SIGNIFICAND_BITS); // Subnormal: brought to full width.
        digits(1 - shift - 1_023, fraction << shift, 64 - fraction.leading_zeros() as i32)
    })
}

/// `Float.toString`.
pub(crate) fn f32_text(number: f32) -> String {
    let bits = number.abs().to_bits();
    let fraction = bits & ((1 << FLOAT_SIGNIFICAND_BITS) - 1);
    let exponent = i32::try_from(bits >> FLOAT_SIGNIFICAND_BITS).unwrap_or(0);
    let widen = |fraction: u32| u64::from(fraction) << (SIGNIFICAND_BITS - FLOAT_SIGNIFICAND_BITS);
    finite_or_special(f64::from(number), fraction == 0 && exponent == 0, || {
        if exponent != 0 {
            return digits(exponent - 127, widen(fraction | 1 << FLOAT_SIGNIFICAND_BITS), FLOAT_SIGNIFICAND_BITS + 1);
        }
        let shift = fraction.leading_zeros() as i32 - (31 - FLOAT_SIGNIFICAND_BITS);
        digits(1 - shift - 127, widen(fraction << shift), 32 - fraction.leading_zeros() as i32)
    })
}

/// A positive number's decimal digits: it is `0.DDDD * 10^exponent`.
struct Digits {
    digits: Vec<u8>,
    exponent: i32,
}

fn finite_or_special(number: f64, is_zero: bool, digits: impl FnOnce() -> Digits) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    if is_zero {
        return format!("{sign}0.0");
    }
    format!("{sign}{}", digits().to_text())
}

impl Digits {
    /// Plain between 10^-3 and 10^7, else with an exponent.
    fn to_text(&self) -> String {
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        let or_zero = |fraction: &str| if fraction.is_empty() { "0".to_owned() } else { fraction.to_owned() };
        match usize::try_from(self.exponent) {
            Ok(whole_len @ 1..=7) => {
                let padded = format!("{digits:0<whole_len$}");
                let (whole, fraction) = padded.split_at(whole_len);
                format!("{whole}.{}", or_zero(fraction))
            }
            _ if (-2..=0).contains(&self.exponent) => {
                let zeros = "0".repeat(self.exponent.unsigned_abs() as usize);
                format!("0.{zeros}{digits}")
            }
            _ => {
                let (first, fraction) = digits.split_at(1);
                format!("{first}.{}E{}", or_zero(fraction), self.exponent - 1)
            }
        }
    }
}

/// Digits of `significand * 2^(exponent - 52)`, of which `significant_bits` bits are known.
fn digits(exponent: i32, significand: u64, significant_bits: i32) -> Digits {
    let trailing_zeros = significand.trailing_zeros() as i32;
    let fraction_bits = SIGNIFICAND_BITS + 1 - trailing_zeros;
    let bits_below_point = (fraction_bits - exponent - 1).max(0);
    if bits_below_point == 0 && INTEGRAL_EXPONENTS.contains(&exponent) {
        return integral_digits(exponent, significand, significant_bits);
    }
    generate(exponent, significand >> trailing_zeros, fraction_bits, bits_below_point, significant_bits)
}

/// A whole number below 2^63: its digits, less those that lie below its precision.
fn integral_digits(exponent: i32, significand: u64, significant_bits: i32) -> Digits {
    let mut number = if exponent < SIGNIFICAND_BITS {
        significand >> (SIGNIFICAND_BITS - exponent)
    } else {
        significand << (exponent - SIGNIFICAND_BITS)
    };
    let unknown_bits = exponent - significant_bits - 1;
    // Digits of 2^unknown_bits: floor(bits * log10(2)).
    let insignificant = if 1 < unknown_bits { (unknown_bits as u32 * 30_103) / 100_000 } else { 0 };
    if 0 < insignificant {
        let power = 10u64.pow(insignificant);
        let residue = number % power;
        number /= power;
        if power / 2 <= residue {
            number += 1;
        }
    }
    let mut digits: Vec<u8> = number.to_string().bytes().map(|digit| digit - b'0').collect();
    let exponent = digits.len() as i32 + insignificant as i32;
    while 1 < digits.len() && digits.last() == Some(&0) {
        digits.pop();
    }
    Digits { digits, exponent }
}

/// Bits of 5^n, for powers that Java keeps in a table.
const BITS_OF_POWER_OF_5: [i32; 27] =
    [0, 3, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28, 31, 33, 35, 38, 40, 42, 45, 47, 49, 52, 54, 56, 59, 61];

fn bits_of_power_of_5(power: i32) -> i32 {
    let known = usize::try_from(power).ok().and_then(|power| BITS_OF_POWER_OF_5.get(power));
    known.copied().unwrap_or(power * 3)
}

/// Generates digits until the number is told from its neighbours: `rest / scale` is what is left, `margin / scale` half
/// the distance to the next number.
fn generate(exponent: i32, odd: u64, fraction_bits: i32, bits_below_point: i32, significant_bits: i32) -> Digits {
    let mut decimal_exponent = estimate_exponent(odd << (SIGNIFICAND_BITS + 1 - fraction_bits), exponent);
    let rest_fives = (-decimal_exponent).max(0);
    let mut rest_twos = rest_fives + bits_below_point + exponent;
    let scale_fives = decimal_exponent.max(0);
    let mut scale_twos = scale_fives + bits_below_point;
    let mut margin_twos = rest_twos - significant_bits;
    rest_twos -= fraction_bits - 1;
    let common = rest_twos.min(scale_twos);
    rest_twos -= common;
    scale_twos -= common;
    margin_twos -= common;
    if fraction_bits == 1 {
        margin_twos -= 1; // A power of two has its lower neighbour at half the distance.
    }
    if margin_twos < 0 {
        rest_twos -= margin_twos;
        scale_twos -= margin_twos;
        margin_twos = 0;
    }
    let rest_bits = fraction_bits + rest_twos + bits_of_power_of_5(rest_fives);
    let tens_bits = scale_twos + 1 + bits_of_power_of_5(scale_fives + 1);
    // Java has three paths by size. Its int and long wrap around; the widest one counts a tie with the upper neighbour as
    // reached. Both show in the digits.
    let word = match rest_bits.max(tens_bits) {
        ..32 => Word::Int,
        32..64 => Word::Long,
        _ => Word::Unbounded,
    };

    let power = |fives: i32, twos: i32| BigUint::from(5u32).pow(fives.unsigned_abs()) << twos.unsigned_abs();
    let mut rest = BigUint::from(odd) * power(rest_fives, rest_twos);
    let scale = power(scale_fives, scale_twos);
    let mut margin = power(rest_fives, margin_twos);
    let tens = &scale * 10u32;

    let mut digits = Vec::with_capacity(20);
    let (mut low, mut high) = (false, false);
    let mut first = true;
    while first || (!low && !high) {
        let (digit, remainder) = rest.div_rem(&scale);
        rest = remainder * 10u32;
        margin *= 10u32;
        (low, high) = word.reached(&rest, &margin, &tens, first);
        if first && digit.is_zero() && !high {
            decimal_exponent -= 1; // The estimate was one too high.
        } else {
            digits.push(digit.to_u8().unwrap_or(9));
        }
        if first && !(-3..8).contains(&decimal_exponent) {
            (low, high) = (false, false); // A form with an exponent has two digits at least.
        }
        first = false;
    }
    let exponent = decimal_exponent + 1;
    let remainder_side = word.compare_doubled(&rest, &tens);
    let odd_last = digits.last().is_some_and(|digit| digit % 2 == 1);
    let up = high && (!low || remainder_side.is_gt() || (remainder_side.is_eq() && odd_last));
    let mut result = Digits { digits, exponent };
    if up {
        result.round_up();
    }
    result
}

/// In what Java computes the digits of this number.
#[derive(Clone, Copy)]
enum Word {
    Int,
    Long,
    Unbounded,
}

impl Word {
    /// The number as it stands in a Java variable of this width.
    fn wrap(self, number: &BigUint) -> i64 {
        let low = number.iter_u64_digits().next().unwrap_or(0) as i64;
        if matches!(self, Self::Int) { i64::from(low as i32) } else { low }
    }

    /// Whether the digits so far already tell the number from its lower and from its upper neighbour.
    fn reached(self, rest: &BigUint, margin: &BigUint, tens: &BigUint, first: bool) -> (bool, bool) {
        if matches!(self, Self::Unbounded) {
            return (rest < margin, *tens <= rest + margin);
        }
        let wrapped_margin = self.wrap(margin);
        if !first && wrapped_margin <= 0 {
            return (true, true);
        }
        (self.wrap(rest) < wrapped_margin, self.wrap(tens) < self.wrap(&(rest + margin)))
    }

    /// Twice the rest against ten: which of two digits is nearer.
    fn compare_doubled(self, rest: &BigUint, tens: &BigUint) -> std::cmp::Ordering {
        let doubled = rest << 1u32;
        match self {
            Self::Unbounded => doubled.cmp(tens),
            Self::Long => self.wrap(&doubled).wrapping_sub(self.wrap(tens)).cmp(&0),
            Self::Int => (self.wrap(&doubled) as i32).wrapping_sub(self.wrap(tens) as i32).cmp(&0),
        }
    }
}

impl Digits {
    fn round_up(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.exponent += 1; // All were nines.
        if let Some(first) = self.digits.first_mut() {
            *first = 1;
        }
    }
}

/// The decimal exponent, at most one too high.
#[expect(clippy::approx_constant, reason = "the estimate must be Java's own, rounding included")]
fn estimate_exponent(significand: u64, exponent: i32) -> i32 {
    let unit = f64::from_bits((1_023 << SIGNIFICAND_BITS) | (significand & ((1 << SIGNIFICAND_BITS) - 1)));
    let estimate = (unit - 1.5) * 0.289_529_654 + 0.176_091_259 + f64::from(exponent) * 0.301_029_995_663_981;
    estimate.floor() as i32
}

/// `Double.parseDouble` without hexadecimal forms.
pub(crate) fn parse_f64(text: &str) -> Option<f64> {
    match special(text)? {
        Special::Number(digits) => digits.parse().ok(),
        Special::NaN => Some(f64::NAN),
        Special::Infinity { negative } => Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
    }
}

/// `Float.parseFloat` without hexadecimal forms.
pub(crate) fn parse_f32(text: &str) -> Option<f32> {
    match special(text)? {
        Special::Number(digits) => digits.parse().ok(),
        Special::NaN => Some(f32::NAN),
        Special::Infinity { negative } => Some(if negative { f32::NEG_INFINITY } else { f32::INFINITY }),
    }
}

enum Special<'a> {
    Number(&'a str),
    NaN,
    Infinity { negative: bool },
}

fn special(text: &str) -> Option<Special<'_>> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    match unsigned {
        "NaN" => return Some(Special::NaN),
        "Infinity" => return Some(Special::Infinity { negative: trimmed.starts_with('-') }),
        _ => {}
    }
    let number = trimmed.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(trimmed);
    let plain = number.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'E' | b'+' | b'-'));
    (plain && number.bytes().any(|c| c.is_ascii_digit())).then_some(Special::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_printed_as_java_prints_them() {
        for (number, text) in [
            (1e10, "1.0E10"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (-123.456, "-123.456"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (-0.0, "-0.0"),
            (f64::INFINITY, "Infinity"),
        ] {
            assert_eq!(f64_text(number), text);
        }
        assert_eq!(f32_text(3.4e38), "3.4E38");
        assert_eq!(f32_text(f32::from_bits(1)), "1.4E-45");
        // Not the shortest digits, and once not even the nearest ones: a Java long overflows.
        assert_eq!(f32_text(f32::from_bits(0x527a_419c)), "2.68710642E11");
        assert_eq!(f32_text(f32::from_bits(0x6900_0000)), "9.6714065E24");
    }

    proptest::proptest! {
        #[test] // Whatever the digits, they must read back as the same number.
        fn printed_numbers_read_back(bits in proptest::prelude::any::<u64>()) {
            let double = f64::from_bits(bits);
            let float = f32::from_bits(bits as u32);
            if double.is_finite() {
                proptest::prop_assert_eq!(parse_f64(&f64_text(double)).map(f64::to_bits), Some(bits));
            }
            if float.is_finite() {
                proptest::prop_assert_eq!(parse_f32(&f32_text(float)).map(f32::to_bits), Some(bits as u32));
            }
        }
    }

    #[test]
    fn only_javas_spellings_are_parsed() {
        assert_eq!(parse_f64(" 1.5d "), Some(1.5));
        assert_eq!(parse_f64("-Infinity"), Some(f64::NEG_INFINITY));
        for text in ["inf", "nan", "", "e5", "1_0"] {
            assert_eq!(parse_f64(text), None, "{text}");
        }
    }
}
