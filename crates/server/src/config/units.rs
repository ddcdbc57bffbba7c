//! Units of `cassandra.yaml`: durations, sizes and rates with their unit written out, and the smallest unit that a
//! setting takes.
//!
//! Texts of refusals are Cassandra's. Source: Cassandra 5.0.9, `config.DurationSpec`, `DataStorageSpec`,
//! `DataRateSpec`, called directly.

use std::time::Duration;

/// The smallest unit that a duration may be given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DurationUnit {
    Millis,
    Seconds,
    Minutes,
}

/// The smallest unit that a size may be given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeUnit {
    Bytes,
    Kibibytes,
    Mebibytes,
}

/// Text, Cassandra's name, milliseconds.
const DURATION_UNITS: [(&str, &str, u64); 5] = [
    ("ms", "MILLISECONDS", 1),
    ("s", "SECONDS", 1_000),
    ("m", "MINUTES", 60_000),
    ("h", "HOURS", 3_600_000),
    ("d", "DAYS", 86_400_000),
];

/// Text, Cassandra's name, bytes.
const SIZE_UNITS: [(&str, &str, u64); 4] =
    [("B", "BYTES", 1), ("KiB", "KIBIBYTES", 1 << 10), ("MiB", "MEBIBYTES", 1 << 20), ("GiB", "GIBIBYTES", 1 << 30)];

const RATE_UNITS: [(&str, u64); 3] = [("MiB/s", 1 << 20), ("KiB/s", 1 << 10), ("B/s", 1)];

/// Durations that Cassandra knows as units, though no setting here is finer than a millisecond.
const FINER_UNITS: [&str; 3] = ["ns", "us", "µs"];

/// `10ms`, `5s`, `3h`.
///
/// # Errors
/// What was expected, in Cassandra's words.
pub fn parse_duration(text: &str, smallest: DurationUnit) -> Result<Duration, String> {
    let units = &DURATION_UNITS[smallest as usize..];
    let names = units.iter().map(|(_, name, _)| *name).collect::<Vec<_>>().join(", ");
    let refusal = |end: &str| format!("Invalid duration: {text} Accepted units:[{names}]{end}");
    let malformed = || refusal(" where case matters and only non-negative values.");
    let (digits, unit) = split_number(text).ok_or_else(malformed)?;
    let known = DURATION_UNITS.iter().any(|(known, ..)| *known == unit) || FINER_UNITS.contains(&unit);
    if !known {
        return Err(malformed());
    }
    let (_, _, millis) = units.iter().find(|(known, ..)| *known == unit).ok_or_else(|| refusal(""))?;
    let smallest_millis = units[0].2;
    let max = u64::from(i32::MAX.cast_unsigned()) - 1;
    let total = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(*millis));
    match total.filter(|total| total / smallest_millis <= max) {
        Some(total) => Ok(Duration::from_millis(total)),
        None => {
            let name = units[0].1.to_lowercase();
            Err(format!("Invalid duration: {text}. It shouldn't be more than {max} in {name}"))
        }
    }
}

/// `64KiB`, `16MiB`; bytes.
///
/// # Errors
/// What was expected, in Cassandra's words.
pub fn parse_size(text: &str, smallest: SizeUnit) -> Result<u64, String> {
    let units = &SIZE_UNITS[smallest as usize..];
    let names = units.iter().map(|(_, name, _)| *name).collect::<Vec<_>>().join(", ");
    let refusal = |end: &str| format!("Invalid data storage: {text} Accepted units:[{names}]{end}");
    let malformed = || refusal(" where case matters and only non-negative values are accepted");
    let (digits, unit) = split_number(text).ok_or_else(malformed)?;
    if !SIZE_UNITS.iter().any(|(known, ..)| *known == unit) {
        return Err(malformed());
    }
    let (_, _, bytes) = units.iter().find(|(known, ..)| *known == unit).ok_or_else(|| refusal(""))?;
    let max = i64::MAX.cast_unsigned() - 1;
    let total = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(*bytes));
    total.filter(|total| *total <= max).ok_or_else(|| {
        let (_, name, unit_bytes) = units[0];
        let name = name.to_lowercase();
        format!("Invalid data storage: {text}. It shouldn't be more than {} in {name}", max / unit_bytes)
    })
}

/// `24MiB/s`; bytes a second.
///
/// # Errors
/// What was expected, in Cassandra's words.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    let names = RATE_UNITS.map(|(unit, _)| unit).join(", ");
    let refusal = || {
        format!(
            "Invalid data rate: {text} Accepted units: {names} where case matters and only non-negative values are valid"
        )
    };
    let (digits, unit) = split_number(text).ok_or_else(refusal)?;
    let (_, bytes) = RATE_UNITS.iter().find(|(known, _)| *known == unit).ok_or_else(refusal)?;
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(*bytes)).ok_or_else(refusal)
}

/// `4G`, `512M`, `2GiB`: sizes on the command line, as `--memory` takes them.
///
/// # Errors
/// What was expected.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    let expected = || format!("'{text}' is no size: expected a number with K, M, G or KiB, MiB, GiB, such as 4G");
    let (digits, unit) = split_number(text).ok_or_else(expected)?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(expected()),
    };
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift)).ok_or_else(expected)
}

/// Digits and what follows them; `None` without digits.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    (0 < end).then(|| text.split_at(end))
}

/// As people read sizes: `1.5 GiB`.
#[must_use]
pub fn show_bytes(bytes: u64) -> String {
    let (_, unit_name, unit) = [("", "B", 1), ("", "KiB", 1 << 10), ("", "MiB", 1 << 20), ("", "GiB", 1u64 << 30)]
        .into_iter()
        .rev()
        .find(|(_, _, unit)| *unit <= bytes)
        .unwrap_or(("", "B", 1));
    let tenths = u128::from(bytes) * 10 / u128::from(unit);
    if tenths % 10 == 0 || unit == 1 {
        format!("{} {unit_name}", tenths / 10)
    } else {
        format!("{}.{} {unit_name}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_refused_as_cassandra_does() {
        let parse = |text| parse_duration(text, DurationUnit::Millis);
        assert_eq!(parse("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse("3h"), Ok(Duration::from_secs(10_800)));
        assert_eq!(parse("2d"), Ok(Duration::from_secs(172_800)));
        let units = "Accepted units:[MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS]";
        for text in ["10", "-1ms", "5 s", "10S", "1.5s", ""] {
            let expected = format!("Invalid duration: {text} {units} where case matters and only non-negative values.");
            assert_eq!(parse(text), Err(expected));
        }
        assert_eq!(parse("1us"), Err(format!("Invalid duration: 1us {units}")));
        let too_long = "Invalid duration: 30000d. It shouldn't be more than 2147483646 in milliseconds";
        assert_eq!(parse("30000d"), Err(too_long.to_owned()));
        let coarse = parse_duration("10ms", DurationUnit::Seconds);
        assert_eq!(coarse, Err("Invalid duration: 10ms Accepted units:[SECONDS, MINUTES, HOURS, DAYS]".to_owned()));
    }

    #[test]
    fn sizes_and_rates_are_read_and_refused_as_cassandra_does() {
        assert_eq!(parse_size("10KiB", SizeUnit::Bytes), Ok(10_240));
        assert_eq!(parse_size("10GiB", SizeUnit::Mebibytes), Ok(10 << 30));
        let refusal = "Invalid data storage: 10B Accepted units:[MEBIBYTES, GIBIBYTES]";
        assert_eq!(parse_size("10B", SizeUnit::Mebibytes), Err(refusal.to_owned()));
        let refusal = "Invalid data storage: 10KB Accepted units:[KIBIBYTES, MEBIBYTES, GIBIBYTES] where case matters \
                       and only non-negative values are accepted";
        assert_eq!(parse_size("10KB", SizeUnit::Kibibytes), Err(refusal.to_owned()));
        assert_eq!(parse_rate("24MiB/s"), Ok(24 << 20));
        let refusal = "Invalid data rate: 24 Accepted units: MiB/s, KiB/s, B/s where case matters and only \
                       non-negative values are valid";
        assert_eq!(parse_rate("24"), Err(refusal.to_owned()));
    }

    #[test]
    fn memory_on_the_command_line_is_short() {
        assert_eq!(parse_memory("4G"), Ok(4 << 30));
        assert_eq!(parse_memory("512MiB"), Ok(512 << 20));
        assert!(parse_memory("4").is_err());
        assert_eq!(show_bytes(3 << 29), "1.5 GiB");
        assert_eq!(show_bytes(100), "100 B");
    }
}
