//! Durations: months, days and nanoseconds, kept apart because months and days vary in length.
//!
//! ```text
//! months, days, nanoseconds: each a zigzag vint
//! ```
//!
//! Invariant: the three parts have one sign (zero has both). Source: Cassandra 5.0, `cql3.Duration`, `DurationSerializer`.

use std::fmt::Write as _;

use crate::collection::{decode_unsigned_vint, encode_unsigned_vint};
use crate::error::MarshalError;

pub const NANOS_PER_MICRO: i64 = 1_000;
pub const NANOS_PER_MILLI: i64 = 1_000_000;
pub const NANOS_PER_SECOND: i64 = 1_000_000_000;
pub const NANOS_PER_MINUTE: i64 = 60 * NANOS_PER_SECOND;
pub const NANOS_PER_HOUR: i64 = 60 * NANOS_PER_MINUTE;
const MONTHS_PER_YEAR: i64 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Duration {
    pub months: i32,
    pub days: i32,
    pub nanos: i64,
}

impl Duration {
    /// # Errors
    /// Cassandra's texts for too few bytes, parts out of range and mixed signs.
    pub fn decode(bytes: &[u8]) -> Result<Self, MarshalError> {
        if bytes.len() < 3 {
            return Err(MarshalError::new(format!("Expected at least 3 bytes for a duration ({})", bytes.len())));
        }
        let mut rest = bytes;
        let mut next = || -> Result<i64, MarshalError> {
            let (zigzag, used) = decode_unsigned_vint(rest).ok_or_else(|| MarshalError::new("Unexpected error"))?;
            rest = rest.get(used..).unwrap_or(&[]);
            Ok(((zigzag >> 1) as i64) ^ -((zigzag & 1) as i64))
        };
        let (months, days, nanos) = (next()?, next()?, next()?);
        let narrow = |part: i64, name: &str| {
            i32::try_from(part).map_err(|_| {
                MarshalError::new(format!("The duration {name} must be a 32 bits integer but was: {part}"))
            })
        };
        let (months, days) = (narrow(months, "months")?, narrow(days, "days")?);
        let duration = Self { months, days, nanos };
        if duration.has_one_sign() {
            Ok(duration)
        } else {
            Err(MarshalError::new(format!(
                "The duration months, days and nanoseconds must be all of the same sign ({months}, {days}, {nanos})"
            )))
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9);
        for part in [i64::from(self.months), i64::from(self.days), self.nanos] {
            encode_unsigned_vint(((part << 1) ^ (part >> 63)) as u64, &mut out);
        }
        out
    }

    fn has_one_sign(&self) -> bool {
        let positive = 0 <= self.months && 0 <= self.days && 0 <= self.nanos;
        positive || (self.months <= 0 && self.days <= 0 && self.nanos <= 0)
    }

    pub fn is_negative(&self) -> bool {
        self.months < 0 || self.days < 0 || self.nanos < 0
    }

    pub fn has_day_precision(&self) -> bool {
        self.nanos == 0
    }

    pub fn has_millisecond_precision(&self) -> bool {
        self.nanos % NANOS_PER_MILLI == 0
    }

    pub fn negate(&self) -> Self {
        Self { months: self.months.wrapping_neg(), days: self.days.wrapping_neg(), nanos: self.nanos.wrapping_neg() }
    }

    /// The text as Cassandra prints it: `1y2mo3d4h5m6s7ms8us9ns`, empty for zero.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        if self.is_negative() {
            out.push('-');
        }
        let mut append = |amount: u64, unit_size: i64, unit: &str| -> u64 {
            let unit_size = unit_size.unsigned_abs();
            if amount < unit_size || amount == 0 {
                return amount;
            }
            let _ = write!(out, "{}{unit}", amount / unit_size);
            amount % unit_size
        };
        let rest = append(u64::from(self.months.unsigned_abs()), MONTHS_PER_YEAR, "y");
        append(rest, 1, "mo");
        append(u64::from(self.days.unsigned_abs()), 1, "d");
        let mut rest = self.nanos.unsigned_abs();
        for (size, unit) in [
            (NANOS_PER_HOUR, "h"),
            (NANOS_PER_MINUTE, "m"),
            (NANOS_PER_SECOND, "s"),
            (NANOS_PER_MILLI, "ms"),
            (NANOS_PER_MICRO, "us"),
            (1, "ns"),
        ] {
            rest = append(rest, size, unit);
        }
        out
    }

    /// The standard form `1y2mo…` with units in descending order, ISO 8601 `P1Y2M3DT4H5M6S` and `P1W`, and its
    /// alternative `P0001-02-03T04:05:06`; a leading `-` negates.
    ///
    /// # Errors
    /// Cassandra's texts for unknown forms, repeated or unordered units, and totals out of range.
    pub fn parse(text: &str) -> Result<Self, MarshalError> {
        let negative = text.starts_with('-');
        let source = text.strip_prefix('-').unwrap_or(text);
        let mut builder = Builder { negative, months: 0, days: 0, nanos: 0, last_unit: None };
        let complete = if source.starts_with('P') {
            if source.ends_with('W') {
                builder.iso_week(source)?
            } else if source.contains('-') {
                builder.iso_alternative(source)?
            } else {
                builder.iso(source)?
            }
        } else {
            builder.standard(source)?
        };
        if complete.is_none() {
            return Err(MarshalError::new(format!("Unable to convert '{source}' to a duration")));
        }
        Ok(builder.build())
    }
}

/// Units from large to small, with the part that they add to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Years,
    Months,
    Weeks,
    Days,
    Hours,
    Minutes,
    Seconds,
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Years => "years",
            Self::Months => "months",
            Self::Weeks => "weeks",
            Self::Days => "days",
            Self::Hours => "hours",
            Self::Minutes => "minutes",
            Self::Seconds => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
            Self::Nanos => "nanoseconds",
        }
    }

    fn of_symbol(symbol: &str) -> Option<Self> {
        match symbol.to_ascii_lowercase().as_str() {
            "y" => Some(Self::Years),
            "mo" => Some(Self::Months),
            "w" => Some(Self::Weeks),
            "d" => Some(Self::Days),
            "h" => Some(Self::Hours),
            "m" => Some(Self::Minutes),
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Millis),
            "us" | "µs" => Some(Self::Micros),
            "ns" => Some(Self::Nanos),
            _ => None,
        }
    }
}

struct Builder {
    negative: bool,
    months: i64,
    days: i64,
    nanos: i64,
    last_unit: Option<Unit>,
}

/// `Ok(None)` says that the text has not the form that is being tried.
type Parsed = Result<Option<()>, MarshalError>;

impl Builder {
    fn build(&self) -> Duration {
        let months = i32::try_from(self.months).unwrap_or(i32::MAX);
        let days = i32::try_from(self.days).unwrap_or(i32::MAX);
        let duration = Duration { months, days, nanos: self.nanos };
        if self.negative { duration.negate() } else { duration }
    }

    fn add(&mut self, amount: i64, unit: Unit) -> Result<(), MarshalError> {
        if let Some(last) = self.last_unit {
            if last == unit {
                return Err(MarshalError::new(format!(
                    "Invalid duration. The {} are specified multiple times",
                    unit.name()
                )));
            }
            if unit < last {
                return Err(MarshalError::new(format!(
                    "Invalid duration. The {} should be after {}",
                    last.name(),
                    unit.name()
                )));
            }
        }
        self.last_unit = Some(unit);
        let (total, size, limit, name) = match unit {
            Unit::Years => (&mut self.months, MONTHS_PER_YEAR, i64::from(i32::MAX), "months"),
            Unit::Months => (&mut self.months, 1, i64::from(i32::MAX), "months"),
            Unit::Weeks => (&mut self.days, 7, i64::from(i32::MAX), "days"),
            Unit::Days => (&mut self.days, 1, i64::from(i32::MAX), "days"),
            Unit::Hours => (&mut self.nanos, NANOS_PER_HOUR, i64::MAX, "nanoseconds"),
            Unit::Minutes => (&mut self.nanos, NANOS_PER_MINUTE, i64::MAX, "nanoseconds"),
            Unit::Seconds => (&mut self.nanos, NANOS_PER_SECOND, i64::MAX, "nanoseconds"),
            Unit::Millis => (&mut self.nanos, NANOS_PER_MILLI, i64::MAX, "nanoseconds"),
            Unit::Micros => (&mut self.nanos, NANOS_PER_MICRO, i64::MAX, "nanoseconds"),
            Unit::Nanos => (&mut self.nanos, 1, i64::MAX, "nanoseconds"),
        };
        if (limit - *total) / size < amount {
            return Err(MarshalError::new(format!(
                "Invalid duration. The total number of {name} must be less or equal to {}",
                i32::MAX // Cassandra names this limit for nanoseconds too.
            )));
        }
        *total += amount * size;
        Ok(())
    }

    fn standard(&mut self, source: &str) -> Parsed {
        let mut rest = source;
        if rest.is_empty() {
            return Ok(None);
        }
        while !rest.is_empty() {
            let digit_count = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, after) = rest.split_at(digit_count);
            let symbol_len = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let (symbol, after) = after.split_at(symbol_len);
            let Some(unit) = Unit::of_symbol(symbol).filter(|_| !digits.is_empty()) else { return Ok(None) };
            let too_large = |_| MarshalError::new(format!("For input string: \"{digits}\""));
            let amount = digits.parse().map_err(too_large)?;
            self.add(amount, unit)?;
            rest = after;
        }
        Ok(Some(()))
    }

    fn iso_week(&mut self, source: &str) -> Parsed {
        let digits = source.strip_prefix('P').and_then(|rest| rest.strip_suffix('W'));
        let Some(amount) = digits.and_then(parse_digits) else { return Ok(None) };
        self.add(amount, Unit::Weeks).map(Some)
    }

    fn iso_alternative(&mut self, source: &str) -> Parsed {
        let bytes = source.as_bytes();
        let shape: &[u8] = b"P0000-00-00T00:00:00";
        let fits = bytes.len() == shape.len()
            && bytes.iter().zip(shape).all(|(c, form)| if *form == b'0' { c.is_ascii_digit() } else { c == form });
        if !fits {
            return Ok(None);
        }
        let units = [Unit::Years, Unit::Months, Unit::Days, Unit::Hours, Unit::Minutes, Unit::Seconds];
        let fields = source.split(|c: char| !c.is_ascii_digit()).filter(|field| !field.is_empty());
        for (field, unit) in fields.zip(units) {
            self.add(parse_digits(field).unwrap_or(0), unit)?;
        }
        Ok(Some(()))
    }

    fn iso(&mut self, source: &str) -> Parsed {
        let Some(body) = source.strip_prefix('P') else { return Ok(None) };
        let (date, time) = body.split_once('T').map_or((body, None), |(date, time)| (date, Some(time)));
        let date_units = [('Y', Unit::Years), ('M', Unit::Months), ('D', Unit::Days)];
        let time_units = [('H', Unit::Hours), ('M', Unit::Minutes), ('S', Unit::Seconds)];
        for (mut rest, units) in [(date, date_units), (time.unwrap_or(""), time_units)] {
            let mut allowed = units.iter();
            while !rest.is_empty() {
                let digit_count = rest.bytes().take_while(u8::is_ascii_digit).count();
                let (digits, after) = rest.split_at(digit_count);
                let mut chars = after.chars();
                let designator = chars.next();
                let unit = allowed.find(|(letter, _)| Some(*letter) == designator);
                let (Some(amount), Some((_, unit))) = (parse_digits(digits), unit) else { return Ok(None) };
                self.add(amount, *unit)?;
                rest = chars.as_str();
            }
        }
        Ok(Some(()))
    }
}

fn parse_digits(text: &str) -> Option<i64> {
    if text.bytes().all(|c| c.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_parsed() {
        for (text, printed) in [
            ("1y2mo3d4h5m6s7ms8us9ns", "1y2mo3d4h5m6s7ms8us9ns"),
            ("-2w", "-14d"),
            ("P1Y2M3DT4H5M6S", "1y2mo3d4h5m6s"),
            ("P3W", "21d"),
            ("P0001-02-03T04:05:06", "1y2mo3d4h5m6s"),
            ("3µs", "3us"),
            ("PT1M", "1m"),
        ] {
            assert_eq!(Duration::parse(text).expect(text).to_text(), printed);
        }
    }

    #[test]
    fn wrong_forms_are_refused_in_cassandras_words() {
        for (text, error) in [
            ("1d1y", "Invalid duration. The days should be after years"),
            ("1d1d", "Invalid duration. The days are specified multiple times"),
            ("178956971y", "Invalid duration. The total number of months must be less or equal to 2147483647"),
            ("x", "Unable to convert 'x' to a duration"),
            ("", "Unable to convert '' to a duration"),
        ] {
            assert_eq!(Duration::parse(text).expect_err(text).text(), error);
        }
    }
}
