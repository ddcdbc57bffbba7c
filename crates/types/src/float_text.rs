//! Floating point numbers as Java prints and parses them.
//!
//! Java writes `1.0E10` where Rust writes `10000000000`: plain between 10^-3 and 10^7, else with an exponent, and always
//! a digit after the point. The digits are the shortest that read back as the same number, at least two.
//!
//! Source: Java, `Double.toString` as specified since version 19; older ones print a digit too many now and then.

/// Appends `number` as `Double.toString` has it.
pub(crate) fn write_f64(number: f64, out: &mut String) {
    if write_special(number.is_nan(), number.is_infinite(), number == 0.0, number.is_sign_negative(), out) {
        return;
    }
    let shortest = format!("{:e}", number.abs());
    let digits = if shortest.contains('.') { shortest } else { format!("{:.1e}", number.abs()) };
    write_digits(&digits, out);
}

/// Appends `number` as `Float.toString` has it.
pub(crate) fn write_f32(number: f32, out: &mut String) {
    if write_special(number.is_nan(), number.is_infinite(), number == 0.0, number.is_sign_negative(), out) {
        return;
    }
    let shortest = format!("{:e}", number.abs());
    let digits = if shortest.contains('.') { shortest } else { format!("{:.1e}", number.abs()) };
    write_digits(&digits, out);
}

/// Writes the sign, and the whole number when it has no digits of its own; then the answer is true.
fn write_special(nan: bool, infinite: bool, zero: bool, negative: bool, out: &mut String) -> bool {
    if nan {
        out.push_str("NaN");
        return true;
    }
    if negative {
        out.push('-');
    }
    if infinite {
        out.push_str("Infinity");
    } else if zero {
        out.push_str("0.0");
    }
    infinite || zero
}

/// `text` is Rust's `d.ddde±x` of a positive number.
fn write_digits(text: &str, out: &mut String) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    while 1 < digits.len() && digits.ends_with('0') {
        digits.pop();
    }
    if (0..7).contains(&exponent) {
        let whole_len = usize::try_from(exponent).unwrap_or(0) + 1;
        while digits.len() < whole_len {
            digits.push('0');
        }
        let (whole, fraction) = digits.split_at(whole_len);
        out.push_str(whole);
        out.push('.');
        out.push_str(if fraction.is_empty() { "0" } else { fraction });
    } else if (-3..0).contains(&exponent) {
        out.push_str("0.");
        for _ in exponent + 1..0 {
            out.push('0');
        }
        out.push_str(&digits);
    } else {
        let (whole, fraction) = digits.split_at(1);
        out.push_str(whole);
        out.push('.');
        out.push_str(if fraction.is_empty() { "0" } else { fraction });
        out.push('E');
        out.push_str(&exponent.to_string());
    }
}

pub(crate) fn f64_text(number: f64) -> String {
    let mut out = String::new();
    write_f64(number, &mut out);
    out
}

pub(crate) fn f32_text(number: f32) -> String {
    let mut out = String::new();
    write_f32(number, &mut out);
    out
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
