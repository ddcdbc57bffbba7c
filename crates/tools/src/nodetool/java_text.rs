//! Numbers and tables as the Java formatters behind Cassandra's nodetool write them, to the character.
//!
//! Source: observed on Cassandra 5.0.9 with Java 17; the rules are those of `java.lang.Double.toString`,
//! `java.util.Formatter` (`%.2f` rounds the shortest decimal half up) and `java.text.DecimalFormat` (half to even).

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

const KIB: f64 = 1024.0;

/// `Double.toString`: always with a point, with an exponent below a thousandth and from ten million on.
#[must_use]
pub fn double(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value < 0.0 { "-Infinity".to_owned() } else { "Infinity".to_owned() }
    } else if value == 0.0 || (1e-3..1e7).contains(&size) {
        format!("{value:?}")
    } else {
        let text = format!("{value:E}");
        let (mantissa, exponent) = text.split_once('E').unwrap_or((text.as_str(), "0"));
        let point = if mantissa.contains('.') { "" } else { ".0" };
        format!("{mantissa}{point}E{exponent}")
    }
}

/// `%.<digits>f`.
#[must_use]
pub fn fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return double(value);
    }
    // Rust prints the shortest decimal that reads back as the same number; what is rounded is that, not the binary value.
    let shortest = format!("{}", value.abs());
    let (whole, fraction) = shortest.split_once('.').unwrap_or((shortest.as_str(), ""));
    let kept: String = fraction.chars().chain(std::iter::repeat('0')).take(digits).collect();
    let mut decimal: Vec<u8> = whole.bytes().chain(kept.bytes()).collect();
    if fraction.as_bytes().get(digits).is_some_and(|next| b'5' <= *next) {
        increment(&mut decimal);
    }
    let point = decimal.len() - digits;
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in decimal.iter().enumerate() {
        if index == point {
            text.push('.');
        }
        text.push(char::from(*digit));
    }
    text
}

/// Adds one to a number in decimal digits.
fn increment(decimal: &mut Vec<u8>) {
    for digit in decimal.iter_mut().rev() {
        if *digit == b'9' {
            *digit = b'0';
        } else {
            *digit += 1;
            return;
        }
    }
    decimal.insert(0, b'1');
}

/// `DecimalFormat("0.##")`: at most two digits behind the point, half to even.
fn at_most_two_digits(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A size with a unit: `0 bytes`, `117.5 KiB`, `1 TiB`. Source: Cassandra 5.0, `FileUtils.stringifyFileSize`.
#[must_use]
pub fn file_size(bytes: u64) -> String {
    let value = bytes as f64;
    let units = [("TiB", KIB.powi(4)), ("GiB", KIB.powi(3)), ("MiB", KIB.powi(2)), ("KiB", KIB)];
    let unit = units.iter().find(|(_, unit)| *unit <= value);
    unit.map_or_else(|| format!("{bytes} bytes"), |(name, unit)| format!("{} {name}", at_most_two_digits(value / unit)))
}

/// The other size with a unit: `724B`, `13.066KiB`. Source: Cassandra 5.0, `FBUtilities.prettyPrintMemory`.
#[must_use]
pub fn memory_size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = None;
    for name in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if value < KIB {
            break;
        }
        value /= KIB;
        unit = Some(name);
    }
    unit.map_or_else(|| format!("{bytes}B"), |unit| format!("{}{unit}", fixed(value, 3)))
}

/// `DecimalFormat("##0.0%")` with as many digits: `100.0%`.
#[must_use]
pub fn percent(share: f64, digits: usize) -> String {
    format!("{:.digits$}%", share * 100.0)
}

/// `2026-11-21T00:29:17.439Z`, of microseconds since 1970; nothing for what no calendar has.
#[must_use]
pub fn instant(micros: i64) -> String {
    let printer = DateTimePrinter::new().precision(Some(3));
    Timestamp::from_microsecond(micros).map_or_else(|_| String::new(), |time| printer.timestamp_to_string(&time))
}

/// Left-aligned columns with a gap between them; the last one is padded as well. A row may have fewer cells.
pub struct Table {
    gap: &'static str,
    rows: Vec<Vec<String>>,
}

impl Default for Table {
    fn default() -> Self {
        Self::separated_by(" ")
    }
}

impl Table {
    #[must_use]
    pub fn separated_by(gap: &'static str) -> Self {
        Self { gap, rows: Vec::new() }
    }

    pub fn add<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &self.rows {
            let cells = row.iter().map(String::as_str).chain(std::iter::repeat("")).zip(&widths);
            for (index, (cell, width)) in cells.enumerate() {
                let gap = if index == 0 { "" } else { self.gap };
                write!(formatter, "{gap}{cell:<width$}")?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // Both columns were printed by Cassandra 5.0.9's own classes.
    fn sizes_are_written_as_cassandra_writes_them() {
        for (bytes, file, memory) in [
            (0, "0 bytes", "0B"),
            (1023, "1023 bytes", "1023B"),
            (1024, "1 KiB", "1.000KiB"),
            (1025, "1 KiB", "1.001KiB"),
            (1100, "1.07 KiB", "1.074KiB"),
            (1536, "1.5 KiB", "1.500KiB"),
            (10240, "10 KiB", "10.000KiB"),
            (117_444, "114.69 KiB", "114.691KiB"),
            (1_048_575, "1024 KiB", "1023.999KiB"),
            (1_200_000, "1.14 MiB", "1.144MiB"),
            (5_000_000_000, "4.66 GiB", "4.657GiB"),
            (1_099_511_627_776, "1 TiB", "1.000TiB"),
            (1_125_899_906_842_624, "1024 TiB", "1.000PiB"),
        ] {
            assert_eq!((file_size(bytes).as_str(), memory_size(bytes).as_str()), (file, memory));
        }
    }

    #[test]
    fn doubles_are_written_as_java_writes_them() {
        for (value, text) in [
            (0.222_833_333_333_333_36, "0.22283333333333336"),
            (0.000_123, "1.23E-4"),
            (1e7, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (9_999_999.5, "9999999.5"),
            (100.0, "100.0"),
            (0.0, "0.0"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn fixed_digits_round_half_up_and_percentages_half_to_even() {
        assert_eq!((fixed(0.125, 2), fixed(0.375, 2), fixed(0.25, 1)), ("0.13".into(), "0.38".into(), "0.3".into()));
        assert_eq!((fixed(9.999, 2), fixed(-1.5, 0), fixed(f64::NAN, 2)), ("10.00".into(), "-2".into(), "NaN".into()));
        assert_eq!((fixed(5.0, 3), fixed(1e21, 1)), ("5.000".into(), "1000000000000000000000.0".into()));
        assert_eq!((percent(1.0, 1), percent(0.5, 2)), ("100.0%".into(), "50.00%".into()));
    }

    #[test]
    fn short_rows_are_filled_up_with_blanks() {
        let mut table = Table::default();
        table.add(["a", "bb", "c"]);
        table.add(["long"]);
        assert_eq!(table.to_string(), "a    bb c\nlong     \n");
    }
}
