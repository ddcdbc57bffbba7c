//! `speculative_retry` and `additional_write_policy`: parsed and printed in their canonical form.
//!
//! Source: Cassandra 5.0, `service.reads.SpeculativeRetryPolicy` and its implementations.

use super::{OptionError, config, java_double};

pub(super) fn parse(text: &str) -> Result<String, OptionError> {
    let upper = text.trim().to_ascii_uppercase();
    match upper.as_str() {
        "NEVER" | "NONE" => return Ok("NEVER".into()),
        "ALWAYS" => return Ok("ALWAYS".into()),
        _ => {}
    }
    if let Some(hybrid) = parse_hybrid(&upper, text)? {
        return Ok(hybrid);
    }
    if let Some(percentile) = parse_percentile(&upper, text)? {
        return Ok(percentile);
    }
    parse_fixed(&upper).ok_or_else(|| invalid(text))
}

fn invalid(text: &str) -> OptionError {
    config(format!("Invalid value {text} for option 'speculative_retry'"))
}

fn parse_hybrid(upper: &str, text: &str) -> Result<Option<String>, OptionError> {
    for function in ["MIN", "MAX"] {
        let arguments = upper.strip_prefix(function).map(str::trim);
        let arguments = arguments.and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
        let Some((left, right)) = arguments.and_then(|arguments| arguments.split_once(',')) else { continue };
        let (left, right) = (left.trim(), right.trim());
        let (percentile, fixed) = match (parse_percentile(left, text)?, parse_percentile(right, text)?) {
            (Some(percentile), None) => (percentile, parse_fixed(right)),
            (None, Some(percentile)) => (percentile, parse_fixed(left)),
            _ => return Err(invalid(text)),
        };
        let fixed = fixed.ok_or_else(|| invalid(text))?;
        return Ok(Some(format!("{function}({percentile},{fixed})")));
    }
    Ok(None)
}

fn parse_percentile(upper: &str, text: &str) -> Result<Option<String>, OptionError> {
    let number = upper.strip_suffix("PERCENTILE").or_else(|| upper.strip_suffix('P'));
    let Some(number) = number.filter(|number| is_decimal(number)) else { return Ok(None) };
    let Ok(value) = number.parse::<f64>() else { return Ok(None) };
    if !(0.0 < value && value < 100.0) {
        return Err(config(format!(
            "Invalid value {text} for PERCENTILE option 'speculative_retry': must be between (0.0 and 100.0)"
        )));
    }
    Ok(Some(format!("{}p", shortest(value))))
}

fn parse_fixed(upper: &str) -> Option<String> {
    let number = upper.strip_suffix("MS").filter(|number| is_decimal(number))?;
    let millis: f64 = number.parse().ok()?;
    Some(format!("{millis:.0}ms"))
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// At most four decimals, none when whole.
fn shortest(value: f64) -> String {
    let rounded = (value * 10_000.0).round() / 10_000.0;
    let text = java_double(rounded);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_kept_in_canonical_form() {
        let check = |written: &str, kept: &str| assert_eq!(parse(written).as_deref(), Ok(kept), "{written}");
        check("99p", "99p");
        check("99.5PERCENTILE", "99.5p");
        check("50MS", "50ms");
        check("none", "NEVER");
        check("MIN(99p, 50ms)", "MIN(99p,50ms)");
        check("max(50MS,99P)", "MAX(99p,50ms)");
    }

    #[test]
    fn other_words_and_percentiles_out_of_range_are_refused() {
        for text in ["sometimes", "101p", "-1ms", "x", "MIN(1p,2p)"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
