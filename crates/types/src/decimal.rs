//! Decimal numbers with Java's `BigDecimal` semantics: `unscaled * 10^-scale`, where 1.0 and 1.00 differ but compare equal.
//!
//! ```text
//! scale i32 big-endian, then the unscaled number in two's complement, big-endian
//! ```
//!
//! Limits: a scale comes from outside and may be anything, so nothing here expands a number by more than
//! [`DIGITS_MAX`] digits; where Java would exhaust its heap the answer is an error.
//!
//! Source: Cassandra 5.0, `serializers.DecimalSerializer`; `java.math.BigDecimal`.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_integer::Integer as _;
use num_traits::{One as _, Signed as _, ToPrimitive as _, Zero as _};

/// Digits that an operation may add to bring two numbers to one scale: 4 kilobytes and well below a millisecond.
pub const DIGITS_MAX: i64 = 10_000;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    pub unscaled: BigInt,
    pub scale: i32,
}

/// The unscaled number when it is small enough for the paths without allocation.
struct Small {
    negative: bool,
    magnitude: u128,
    scale: i32,
}

impl Decimal {
    pub fn new(unscaled: BigInt, scale: i32) -> Self {
        Self { unscaled, scale }
    }

    pub fn zero() -> Self {
        Self { unscaled: BigInt::zero(), scale: 0 }
    }

    /// `None` when the four bytes of the scale are missing.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (scale, unscaled) = bytes.split_first_chunk::<4>()?;
        Some(Self { unscaled: BigInt::from_signed_bytes_be(unscaled), scale: i32::from_be_bytes(*scale) })
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.scale.to_be_bytes().to_vec();
        out.extend_from_slice(&self.unscaled.to_signed_bytes_be());
        out
    }

    /// `new BigDecimal(text)`.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (text.get(..at)?, parse_exponent(text.get(at + 1..)?)?),
            None => (text, 0),
        };
        let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|c| c.is_ascii_digit());
        if !all_digits || whole.len() + fraction.len() == 0 {
            return None;
        }
        let mut digits = String::with_capacity(mantissa.len() + 1);
        if mantissa.starts_with('-') {
            digits.push('-');
        }
        digits.push_str(whole);
        digits.push_str(fraction);
        let scale = i32::try_from(fraction.len() as i64 - exponent).ok()?;
        Some(Self { unscaled: digits.parse().ok()?, scale })
    }

    /// `BigDecimal.valueOf(double)`; `None` for NaN and infinities.
    pub fn from_f64(number: f64) -> Option<Self> {
        Self::parse(&crate::float_text::f64_text(number))
    }

    /// Count of decimal digits of the unscaled number; 1 for zero.
    pub fn precision(&self) -> i64 {
        precision_of(&self.unscaled)
    }

    pub fn is_zero(&self) -> bool {
        self.unscaled.is_zero()
    }

    /// `BigDecimal.stripTrailingZeros`.
    pub fn strip_trailing_zeros(mut self) -> Self {
        if self.unscaled.is_zero() {
            return Self::zero();
        }
        // Large powers first: one zero at a time would be quadratic in the digits.
        for zeros in [2_048, 256, 32, 4, 1] {
            let power = num_traits::pow(BigInt::from(10), usize::try_from(zeros).unwrap_or(1));
            while power.bits() <= self.unscaled.bits() {
                let (quotient, remainder) = self.unscaled.div_rem(&power);
                let Some(scale) = self.scale.checked_sub(zeros).filter(|_| remainder.is_zero()) else { break };
                self.unscaled = quotient;
                self.scale = scale;
            }
        }
        self
    }

    /// `BigDecimal.toString`.
    pub fn to_java_string(&self) -> String {
        let digits = self.unscaled.magnitude().to_string();
        let sign = if self.unscaled.is_negative() { "-" } else { "" };
        if self.scale == 0 {
            return format!("{sign}{digits}");
        }
        let adjusted = digits.len() as i64 - 1 - i64::from(self.scale);
        if 0 <= self.scale && -6 <= adjusted {
            return format!("{sign}{}", plain(&digits, i64::from(self.scale)));
        }
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        if adjusted == 0 {
            format!("{sign}{first}{point}{rest}")
        } else {
            format!("{sign}{first}{point}{rest}E{adjusted:+}")
        }
    }

    /// `None` when the scales are too far apart to add.
    pub fn add(&self, other: &Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        Some(Self { unscaled: self.unscaled_at(scale)? + other.unscaled_at(scale)?, scale })
    }

    pub fn subtract(&self, other: &Self) -> Option<Self> {
        self.add(&other.negate())
    }

    /// `None` when the scale leaves 32 bits.
    pub fn multiply(&self, other: &Self) -> Option<Self> {
        Some(Self { unscaled: &self.unscaled * &other.unscaled, scale: self.scale.checked_add(other.scale)? })
    }

    pub fn negate(&self) -> Self {
        Self { unscaled: -&self.unscaled, scale: self.scale }
    }

    /// `BigDecimal.divide(divisor, scale, HALF_UP)`; `None` for a zero divisor or too many digits.
    pub fn divide(&self, divisor: &Self, scale: i32) -> Option<Self> {
        if divisor.is_zero() {
            return None;
        }
        // self / divisor = (u1 / u2) * 10^(s2 - s1); we want it times 10^scale as an integer.
        let shift = i64::from(scale) + i64::from(divisor.scale) - i64::from(self.scale);
        let power = power_of_ten(shift.abs())?;
        let (numerator, denominator) = if 0 <= shift {
            (&self.unscaled * power, divisor.unscaled.clone())
        } else {
            (self.unscaled.clone(), &divisor.unscaled * power)
        };
        Some(Self { unscaled: divide_half_up(&numerator, &denominator), scale })
    }

    /// `BigDecimal.remainder`; `None` for a zero divisor or too many digits.
    pub fn remainder(&self, divisor: &Self) -> Option<Self> {
        if divisor.is_zero() {
            return None;
        }
        let preferred = i64::from(self.scale) - i64::from(divisor.scale);
        let scale = self.scale.max(divisor.scale);
        let (left, right) = (self.unscaled_at(scale)?, divisor.unscaled_at(scale)?);
        let (quotient, _) = left.div_rem(&right);
        let quotient_scale = if quotient.is_zero() {
            preferred
        } else {
            let stripped = Self { unscaled: quotient.clone(), scale: 0 }.strip_trailing_zeros();
            preferred.max(i64::from(stripped.scale))
        };
        let result_scale = i64::from(self.scale).max(quotient_scale + i64::from(divisor.scale));
        let remainder = Self { unscaled: left - quotient * right, scale };
        let result_scale = i32::try_from(result_scale).ok()?;
        Some(Self { unscaled: remainder.truncated_to(result_scale)?, scale: result_scale })
    }

    /// `BigDecimal.toBigInteger`: the fraction is cut off. `None` beyond [`DIGITS_MAX`] digits.
    pub fn to_integer(&self) -> Option<BigInt> {
        if self.is_zero() || (0 < self.scale && self.precision() <= i64::from(self.scale)) {
            return Some(BigInt::zero());
        }
        self.truncated_to(0)
    }

    pub fn to_f64(&self) -> f64 {
        self.to_java_string().parse().unwrap_or(f64::NAN)
    }

    pub fn to_f32(&self) -> f32 {
        self.to_java_string().parse().unwrap_or(f32::NAN)
    }

    fn unscaled_at(&self, scale: i32) -> Option<BigInt> {
        let up = i64::from(scale) - i64::from(self.scale);
        if self.is_zero() {
            return Some(BigInt::zero());
        }
        Some(&self.unscaled * power_of_ten(up)?)
    }

    fn truncated_to(&self, scale: i32) -> Option<BigInt> {
        let up = i64::from(scale) - i64::from(self.scale);
        if self.is_zero() {
            return Some(BigInt::zero());
        }
        if 0 <= up { self.unscaled_at(scale) } else { Some(&self.unscaled / power_of_ten(-up)?) }
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let valid = !unsigned.is_empty() && unsigned.len() <= 10 && unsigned.bytes().all(|c| c.is_ascii_digit());
    let exponent: i64 = if valid { unsigned.parse().ok()? } else { return None };
    let signed = if text.starts_with('-') { -exponent } else { exponent };
    i32::try_from(signed).ok().map(i64::from) // Java reads it as an int.
}

/// Digits with a point `scale` places from the right.
fn plain(digits: &str, scale: i64) -> String {
    let scale = usize::try_from(scale).unwrap_or(0);
    if scale == 0 {
        return digits.to_owned();
    }
    if scale < digits.len() {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        return format!("{whole}.{fraction}");
    }
    format!("0.{}{digits}", "0".repeat(scale - digits.len()))
}

fn power_of_ten(exponent: i64) -> Option<BigInt> {
    if !(0..=DIGITS_MAX).contains(&exponent) {
        return None;
    }
    Some(num_traits::pow(BigInt::from(10), usize::try_from(exponent).ok()?))
}

fn divide_half_up(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    let (quotient, remainder) = numerator.div_rem(denominator);
    let twice = remainder.magnitude() << 1u32;
    if &twice < denominator.magnitude() {
        return quotient;
    }
    let negative = (numerator.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus);
    if negative { quotient - BigInt::one() } else { quotient + BigInt::one() }
}

fn precision_of(unscaled: &BigInt) -> i64 {
    match unscaled.magnitude().to_u128() {
        Some(small) => digit_count(small),
        None => unscaled.magnitude().to_string().len() as i64,
    }
}

fn digit_count(number: u128) -> i64 {
    i64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

impl Small {
    /// `None` when the number needs more than 128 bits or the scale is missing.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (scale, unscaled) = bytes.split_first_chunk::<4>()?;
        let mut padded = if unscaled.first().is_some_and(|byte| 0x80 <= *byte) { [0xFF; 16] } else { [0; 16] };
        padded.get_mut(16usize.checked_sub(unscaled.len())?..)?.copy_from_slice(unscaled);
        let number = i128::from_be_bytes(padded);
        Some(Self { negative: number < 0, magnitude: number.unsigned_abs(), scale: i32::from_be_bytes(*scale) })
    }

    fn signum(&self) -> i32 {
        i32::from(self.magnitude != 0) * if self.negative { -1 } else { 1 }
    }

    /// Where the first digit stands before the point.
    fn whole_digits(&self) -> i64 {
        digit_count(self.magnitude) - i64::from(self.scale)
    }
}

/// `BigDecimal.compareTo` on serialised numbers of at least four bytes; does not allocate below 128 bits.
pub(crate) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    if let (Some(a), Some(b)) = (Small::decode(left), Small::decode(right)) {
        return compare_small(&a, &b);
    }
    let (Some(a), Some(b)) = (Decimal::decode(left), Decimal::decode(right)) else {
        return left.len().cmp(&right.len());
    };
    let by_sign = a.unscaled.sign().cmp(&b.unscaled.sign());
    if by_sign.is_ne() || a.is_zero() {
        return by_sign;
    }
    let whole = |x: &Decimal| x.precision() - i64::from(x.scale);
    let by_magnitude = whole(&a).cmp(&whole(&b)).then_with(|| {
        // Equal whole digits: the scales differ by as much as the precisions, which the values' own lengths bound.
        let scale = a.scale.max(b.scale);
        let at = |x: &Decimal| {
            let up = i64::from(scale) - i64::from(x.scale);
            x.unscaled.magnitude() * num_traits::pow(num_bigint::BigUint::from(10u32), usize::try_from(up).unwrap_or(0))
        };
        at(&a).cmp(&at(&b))
    });
    if a.unscaled.is_negative() { by_magnitude.reverse() } else { by_magnitude }
}

fn compare_small(a: &Small, b: &Small) -> Ordering {
    let by_sign = a.signum().cmp(&b.signum());
    if by_sign.is_ne() || a.magnitude == 0 {
        return by_sign;
    }
    let by_magnitude = a.whole_digits().cmp(&b.whole_digits()).then_with(|| {
        let up = a.scale.abs_diff(b.scale); // At most 38: both have as many whole digits and at most 39 digits.
        let scaled = |number: u128| 10u128.checked_pow(up).and_then(|power| number.checked_mul(power));
        if a.scale < b.scale {
            scaled(a.magnitude).map_or(Ordering::Greater, |a| a.cmp(&b.magnitude))
        } else {
            scaled(b.magnitude).map_or(Ordering::Less, |b| a.magnitude.cmp(&b))
        }
    });
    if a.negative { by_magnitude.reverse() } else { by_magnitude }
}

const HEADER_POSITIVE: u8 = 0x80;
const HEADER_EXPONENT: i32 = 0x40;
const DIGITS_END: u8 = 0x00;

/// Appends the byte-comparable form of a serialised decimal of at least four bytes.
///
/// ```text
/// zero      80
/// others    sign and exponent length (1 byte), exponent of 100, pairs of digits + 0x80 (rounded down), 00
/// ```
///
/// Source: Cassandra 5.0, `DecimalType.asComparableBytes`.
pub(crate) fn write_comparable(bytes: &[u8], out: &mut Vec<u8>) {
    let mut buffer = [0u8; 40];
    if let Some(small) = Small::decode(bytes) {
        let mut at = buffer.len();
        let mut rest = small.magnitude;
        while rest != 0 {
            at -= 1;
            if let Some(digit) = buffer.get_mut(at) {
                *digit = (rest % 10) as u8; // Below 10.
            }
            rest /= 10;
        }
        let digits = buffer.get(at..).unwrap_or(&[]);
        write_comparable_digits(small.negative, digits, small.scale, out);
    } else if let Some(large) = Decimal::decode(bytes) {
        let digits = large.unscaled.magnitude().to_radix_be(10);
        write_comparable_digits(large.unscaled.is_negative(), &digits, large.scale, out);
    }
}

/// `digits` has no leading zeros; none at all is zero.
fn write_comparable_digits(negative: bool, digits: &[u8], scale: i32, out: &mut Vec<u8>) {
    let last = digits.iter().rposition(|digit| *digit != 0);
    let Some(stripped) = last.and_then(|last| digits.get(..=last)) else {
        out.push(HEADER_POSITIVE);
        return;
    };
    // The number is 0.DDDD * 10^whole; the exponent counts in hundreds, so an odd one puts a zero before the digits.
    let whole = digits.len() as i64 - i64::from(scale);
    let exponent = (whole + 1) >> 1;
    let leading_zero = whole & 1 != 0;
    let modulated = if negative { -exponent } else { exponent };
    let exponent_bytes = 4 - (modulated.unsigned_abs() as u32).leading_zeros() / 8;
    let length = i32::try_from(exponent_bytes).unwrap_or(0);
    let header = HEADER_EXPONENT + if 0 <= modulated { length } else { -length };
    out.push(u8::try_from(header).unwrap_or(0) + if negative { 0 } else { HEADER_POSITIVE });
    let raw = (modulated as i32).to_be_bytes(); // Truncation is the format's own.
    out.extend_from_slice(raw.get(raw.len() - exponent_bytes as usize..).unwrap_or(&[]));

    let zero: &[u8] = if leading_zero { &[0] } else { &[] };
    let mut pairs = zero.iter().chain(stripped);
    let mut pair_count = (zero.len() + stripped.len()).div_ceil(2);
    let mut first = true;
    while let Some(high) = pairs.next() {
        let low = pairs.next().copied().unwrap_or(0);
        let pair = i32::from(*high * 10 + low);
        pair_count -= 1;
        // A negative number's digits are those of its floor: the first pair is -(pair + 1), the rest complements to 100.
        let borrow = i32::from(negative && 0 < pair_count);
        let digit = match (negative, first) {
            (false, _) => pair,
            (true, true) => -pair - borrow,
            (true, false) => 100 - pair - borrow,
        };
        out.push(u8::try_from(0x80 + digit).unwrap_or(0x80));
        first = false;
    }
    out.push(DIGITS_END);
}
