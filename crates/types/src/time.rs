//! Time in CQL: texts of timestamps, dates and times, time-to-live, and version 1 UUIDs.
//!
//! Nothing here knows what time it is; callers pass it in. Texts without a time zone are UTC.
//!
//! Source: Cassandra 5.0, `serializers.TimestampSerializer`, `SimpleDateSerializer`, `TimeSerializer`,
//! `cql3.Attributes`, `utils.TimeUUID`; `java.time.format.DateTimeFormatter` for what its patterns accept.

use std::fmt::Write as _;
use std::num::NonZeroU32;

use crate::error::MarshalError;
use crate::value::DATE_EPOCH;

pub const MILLIS_PER_DAY: i64 = 86_400_000;
pub const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// How long a written value lives: from one second to twenty years.
///
/// "For ever" is `None::<Ttl>`, never a zero; `USING TTL 0` becomes `None` where values are bound.
/// Source: Cassandra 5.0, `cql3.Attributes.MAX_TTL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl {
    secs: NonZeroU32, // Invariant: <= MAX_SECS.
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a time to live of {requested} s is not between 1 and {max} s", max = Ttl::MAX_SECS)]
pub struct TtlOutOfRange {
    pub requested: i64,
}

impl Ttl {
    pub const MAX_SECS: u32 = 20 * 365 * 24 * 60 * 60;

    /// # Errors
    /// [`TtlOutOfRange`] below 1 and above [`Self::MAX_SECS`]; nothing is clamped in silence.
    pub fn from_secs(secs: i64) -> Result<Self, TtlOutOfRange> {
        let checked = u32::try_from(secs).ok().filter(|secs| *secs <= Self::MAX_SECS);
        checked.and_then(NonZeroU32::new).map(|secs| Self { secs }).ok_or(TtlOutOfRange { requested: secs })
    }

    pub fn secs(self) -> u32 {
        self.secs.get()
    }
}

/// A day of the proleptic Gregorian calendar; year 0 is 1 BCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Civil {
    pub year: i64,
    pub month: u32,
    pub day: u32,
}

/// Days from 0000-03-01 to the epoch, and the 400-year cycle that repeats the calendar.
const DAYS_TO_EPOCH: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;

impl Civil {
    /// Source: Howard Hinnant, "chrono-compatible low-level date algorithms".
    pub fn of_days(days_since_epoch: i64) -> Self {
        let days = days_since_epoch.saturating_add(DAYS_TO_EPOCH);
        let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153; // 0 is March.
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month: u32::try_from(month).unwrap_or(1), day: u32::try_from(day).unwrap_or(1) }
    }

    pub fn to_days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let month = i64::from(self.month);
        let shifted_month = if 2 < month { month - 3 } else { month + 9 };
        let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH
    }

    pub fn days_in_month(year: i64, month: u32) -> u32 {
        match month {
            2 if year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}

/// `2011-02-03T04:05:00.000Z`, as `getString` and `CAST` print a timestamp of milliseconds since the epoch.
///
/// The year is that of its era, as Java's `yyyy` has it: 1 BCE is printed as year 1, and years over 9999 carry a `+`.
pub fn timestamp_text(millis: i64) -> String {
    timestamp_text_with(millis, 'T')
}

/// `2011-02-03 04:05:00.000Z`, as JSON has it.
pub fn timestamp_json_text(millis: i64) -> String {
    timestamp_text_with(millis, ' ')
}

fn timestamp_text_with(millis: i64, separator: char) -> String {
    let civil = Civil::of_days(millis.div_euclid(MILLIS_PER_DAY));
    let millis_of_day = millis.rem_euclid(MILLIS_PER_DAY);
    let year_of_era = if 0 < civil.year { civil.year } else { 1 - civil.year };
    let plus = if 9_999 < year_of_era { "+" } else { "" };
    let (secs, millis) = (millis_of_day / 1_000, millis_of_day % 1_000);
    let (hour, minute, second) = (secs / 3_600, secs / 60 % 60, secs % 60);
    format!(
        "{plus}{year_of_era:04}-{month:02}-{day:02}{separator}{hour:02}:{minute:02}:{second:02}.{millis:03}Z",
        month = civil.month,
        day = civil.day
    )
}

/// A `date`'s text: `2011-02-03`, years before 0 with `-`, over 9999 with `+`.
pub fn date_text(date: u32) -> String {
    let civil = Civil::of_days(i64::from(date) - i64::from(DATE_EPOCH));
    let mut out = String::new();
    let year = civil.year.abs();
    let sign = if civil.year < 0 {
        "-"
    } else if 9_999 < civil.year {
        "+"
    } else {
        ""
    };
    let _ = write!(out, "{sign}{year:04}-{:02}-{:02}", civil.month, civil.day);
    out
}

/// A `time`'s text: `08:12:54.123456789`.
pub fn time_text(nanos: i64) -> String {
    let (secs, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let (hour, minute, second) = (secs / 3_600 % 24, secs / 60 % 60, secs % 60);
    let (milli, micro, nano) = (fraction / 1_000_000, fraction / 1_000 % 1_000, fraction % 1_000);
    // Zeros go before a sign: values outside the day are printed as Java's padding makes them.
    format!("{}:{}:{}.{}{}{}", pad(hour, 2), pad(minute, 2), pad(second, 2), pad(milli, 3), pad(micro, 3), pad(nano, 3))
}

/// Zeros before a number below 10 and, for three places, below 100; negative ones are below both.
fn pad(number: i64, width: usize) -> String {
    let zeros = if number < 10 { width - 1 } else { usize::from(number < 100 && width == 3) };
    format!("{}{number}", "0".repeat(zeros))
}

/// The text of a number of optional `-` and digits.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
}

/// Whether a timestamp's text asks for the current time, which only the caller knows.
pub fn is_now(text: &str) -> bool {
    text.eq_ignore_ascii_case("now")
}

/// Milliseconds since the epoch from a number of them or from any of Cassandra's patterns:
/// `y-M-d[T| ]H:m[:s][.fraction]` or `yyyy-MM-dd`, each with nothing, an offset (`Z`, `+01`, `+0100`, `+01:00`) or, after
/// a space, a zone's name. Without a zone it is UTC.
///
/// # Errors
/// Cassandra's texts. `now` is not known here, see [`is_now`].
pub fn parse_timestamp(text: &str) -> Result<i64, MarshalError> {
    if is_integer(text) {
        let too_large = |_| MarshalError::new(format!("Unable to make long (for date) from: '{text}'"));
        return text.parse().map_err(too_large);
    }
    let parsed = parse_date_time(text);
    parsed.ok_or_else(|| MarshalError::new(format!("Unable to parse a date/time from '{text}'")))
}

fn parse_date_time(text: &str) -> Option<i64> {
    let scan_start = text;
    let mut scan = Scan { rest: text };
    let year_digits = scan.rest.trim_start_matches(['+', '-']).bytes().take_while(u8::is_ascii_digit).count();
    let signed = scan.rest.starts_with(['+', '-']);
    let year = scan.signed_number()?;
    scan.literal('-')?;
    let (month, month_digits) = scan.number()?;
    scan.literal('-')?;
    let (day, day_digits) = scan.number()?;
    let with_time = scan.literal('T').is_some() || (scan.rest.starts_with(' ') && scan.time_follows());
    let year_fits = if with_time { 0 < year } else { 4 <= year_digits && month_digits == 2 && day_digits == 2 };
    let plus = scan_start.starts_with('+');
    let plus_fits = if with_time { !plus } else { signed || year_digits == 4 } && (!plus || 4 < year_digits);
    if !year_fits || !plus_fits || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let mut millis_of_day = 0;
    if with_time {
        scan.literal(' ');
        let (hour, _) = scan.number()?;
        scan.literal(':')?;
        let (minute, _) = scan.number()?;
        let with_second = scan.literal(':').is_some();
        let second = if with_second { scan.number()?.0 } else { 0 };
        let millis = if with_second && scan.literal('.').is_some() { scan.millis() } else { 0 };
        let end_of_day = hour == 24 && minute == 0 && second == 0 && millis == 0;
        if (23 < hour && !end_of_day) || 59 < minute || 59 < second {
            return None;
        }
        millis_of_day = ((hour * 60 + minute) * 60 + second) * 1_000 + millis;
    }
    // Java's smart resolver takes the month's last day for one that the month has not.
    let month = u32::try_from(month).ok()?;
    let day = u32::try_from(day).ok()?;
    let last = if year.abs() <= 999_999_999 { Civil::days_in_month(year, month) } else { return None };
    let local_days = Civil { year, month, day: day.min(last) }.to_days();
    let local = local_days.checked_mul(MILLIS_PER_DAY)?.checked_add(millis_of_day)?;
    zone_to_utc(scan.rest, local)
}

/// A local time's UTC milliseconds, given the text that is left after it.
fn zone_to_utc(zone: &str, local_millis: i64) -> Option<i64> {
    let name = zone.strip_prefix(' ').unwrap_or(zone);
    if name.is_empty() {
        return zone.is_empty().then_some(local_millis);
    }
    if let Some(offset) = parse_offset(name) {
        return local_millis.checked_sub(offset);
    }
    if zone.len() == name.len() {
        return None; // A zone's name needs a space before it.
    }
    for prefix in ["UTC", "GMT", "UT"] {
        match name.strip_prefix(prefix) {
            Some("") => return Some(local_millis),
            Some(offset) if offset.contains(':') => return local_millis.checked_sub(parse_offset(offset)?),
            _ => {}
        }
    }
    let known = ZONE_NAMES.lines().filter_map(|line| line.split_once('\t')).find(|(known, _)| *known == name);
    let name = known.map_or(name, |(_, zone)| zone);
    // The database would take a name in any case, Java takes the exact one.
    let zone = jiff::tz::TimeZoneDatabase::bundled().get(name).ok().filter(|zone| zone.iana_name() == Some(name))?;
    let local = jiff::Timestamp::from_millisecond(local_millis).ok()?.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    Some(zone.to_ambiguous_zoned(local).compatible().ok()?.timestamp().as_millisecond())
}

/// Milliseconds east of UTC: `Z`, `+HH`, `+HHmm`, `+HH:mm`.
fn parse_offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-'])?;
    let (hours, minutes) = match digits.len() {
        2 => (digits, "0"),
        4 => digits.split_at_checked(2)?,
        5 => digits.split_once(':')?,
        _ => return None,
    };
    if !hours.bytes().chain(minutes.bytes()).all(|c| c.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = hours * 60 + minutes;
    let valid = minutes <= 59 && total <= 18 * 60;
    valid.then_some(if negative { -total } else { total } * 60_000)
}

/// Names of zones that Java reads besides identifiers, such as `PST`: name, tab, the zone that it takes it for.
const ZONE_NAMES: &str = include_str!("../data/zone_names.tsv");

struct Scan<'a> {
    rest: &'a str,
}

impl Scan<'_> {
    fn literal(&mut self, expected: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    /// The digits here as a number and how many they are; at most 10, which is more than any field holds.
    fn number(&mut self) -> Option<(i64, usize)> {
        let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at_checked(len)?;
        if !(1..=10).contains(&len) {
            return None;
        }
        self.rest = rest;
        Some((digits.parse().ok()?, len))
    }

    fn signed_number(&mut self) -> Option<i64> {
        let negative = self.literal('-').is_some();
        if !negative {
            self.literal('+');
        }
        let (number, _) = self.number()?;
        Some(if negative { -number } else { number })
    }

    /// The first three of up to nine digits of a fraction.
    fn millis(&mut self) -> i64 {
        let len = self.rest.bytes().take_while(u8::is_ascii_digit).count().min(9);
        let (digits, rest) = self.rest.split_at(len);
        self.rest = rest;
        let padded = digits.bytes().chain(std::iter::repeat(b'0')).take(3);
        padded.fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
    }

    /// Whether ` H:` stands here, rather than a space and a zone.
    fn time_follows(&self) -> bool {
        let after = self.rest.trim_start_matches(' ').trim_start_matches(|c: char| c.is_ascii_digit());
        self.rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) && after.starts_with(':')
    }
}

/// A `date` from its number or from `yyyy-MM-dd`, years of more than four digits signed.
///
/// # Errors
/// Cassandra's texts.
pub fn parse_date(text: &str) -> Result<u32, MarshalError> {
    if is_integer(text) {
        let number = text.parse::<i64>().ok().filter(|number| (0..=i64::from(u32::MAX)).contains(number));
        let number = number.and_then(|number| u32::try_from(number).ok());
        return number
            .ok_or_else(|| MarshalError::new(format!("Unable to make unsigned int (for date) from: '{text}'")));
    }
    let unreadable = || MarshalError::new(format!("Unable to coerce '{text}' to a formatted date (long)"));
    let days = parse_iso_date(text).ok_or_else(unreadable)?;
    let shifted = days + i64::from(DATE_EPOCH);
    u32::try_from(shifted).map_err(|_| {
        MarshalError::new(if shifted < 0 {
            format!("Input date {text} is less than min supported date -5877641-06-23T00:00Z")
        } else {
            format!("Input date {text} is greater than max supported date +5881580-07-11T00:00Z")
        })
    })
}

/// Days since the epoch of ISO 8601's `yyyy-MM-dd`, strictly.
fn parse_iso_date(text: &str) -> Option<i64> {
    let mut scan = Scan { rest: text };
    let sign = text.chars().next().filter(|c| matches!(c, '+' | '-'));
    let digits = text.trim_start_matches(['+', '-']).bytes().take_while(u8::is_ascii_digit).count();
    let year = scan.signed_number()?;
    scan.literal('-')?;
    let (month, month_digits) = scan.number()?;
    scan.literal('-')?;
    let (day, day_digits) = scan.number()?;
    let year_fits = match sign {
        None => digits == 4,
        Some('+') => 4 < digits,
        Some(_) => 4 <= digits && year != 0,
    };
    let month = u32::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
    let day = u32::try_from(day).ok()?;
    let valid = year_fits
        && month_digits == 2
        && day_digits == 2
        && year.abs() <= 999_999_999
        && (1..=Civil::days_in_month(year, month)).contains(&day)
        && scan.rest.is_empty();
    valid.then(|| Civil { year, month, day }.to_days())
}

/// Nanoseconds since midnight from a number of them or from `hh:mm:ss[.fffffffff]`.
///
/// # Errors
/// Cassandra's texts.
pub fn parse_time(text: &str) -> Result<i64, MarshalError> {
    if is_integer(text) {
        let number = text.parse::<i64>().ok().filter(|nanos| (0..NANOS_PER_DAY).contains(nanos));
        return number.ok_or_else(|| MarshalError::new(format!("Unable to make long (for time) from: '{text}'")));
    }
    parse_clock(text.trim())
        .ok_or_else(|| MarshalError::new(format!("(TimeType) Unable to coerce '{text}' to a formatted time (long)")))
}

fn parse_clock(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (second, fraction) = rest.split_once('.').map_or((rest, None), |(second, fraction)| (second, Some(fraction)));
    let field = |text: &str, limit: i64| text.parse::<i64>().ok().filter(|number| (0..limit).contains(number));
    let (hour, minute, second) = (field(hour, 24)?, field(minute, 60)?, field(second, 60)?);
    let mut nanos = 0;
    if let Some(fraction) = fraction {
        if !(1..=9).contains(&fraction.len()) || !fraction.bytes().all(|c| c.is_ascii_digit()) {
            return None;
        }
        nanos = format!("{fraction:0<9}").parse().ok()?;
    }
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nanos)
}

/// Units of 100 ns from 1582-10-15, where version 1 UUIDs count from, to the epoch.
const UUID_EPOCH_OFFSET: i64 = 0x01B2_1DD2_1381_4000;
const TICKS_PER_MICRO: i64 = 10;
const TICKS_PER_MILLI: i64 = 10_000;

/// A version 1 UUID of this many 100 ns ticks since 1582 with these clock sequence and node bytes.
fn timeuuid_of_ticks(ticks: i64, clock_and_node: [u8; 8]) -> [u8; 16] {
    let ticks = ticks as u64; // The format keeps the low 60 bits.
    let high = (ticks << 32) | ((ticks >> 16) & 0xFFFF_0000) | 0x1000 | ((ticks >> 48) & 0x0FFF);
    let mut out = [0; 16];
    let (first, second) = out.split_at_mut(8);
    first.copy_from_slice(&high.to_be_bytes());
    second.copy_from_slice(&clock_and_node);
    out
}

/// A version 1 UUID for microseconds since the epoch and up to nine further ticks of 100 ns.
pub fn timeuuid(unix_micros: i64, extra_ticks: u8, clock_and_node: [u8; 8]) -> [u8; 16] {
    let ticks = unix_micros.wrapping_mul(TICKS_PER_MICRO).wrapping_add(i64::from(extra_ticks));
    timeuuid_of_ticks(ticks.wrapping_add(UUID_EPOCH_OFFSET), clock_and_node)
}

/// The smallest timeuuid of a millisecond in the order of `timeuuid`, whose second half is compared by signed bytes.
pub fn min_timeuuid(unix_millis: i64) -> [u8; 16] {
    let ticks = unix_millis.wrapping_mul(TICKS_PER_MILLI).wrapping_add(UUID_EPOCH_OFFSET);
    timeuuid_of_ticks(ticks, [0x80; 8])
}

/// The largest timeuuid of a millisecond.
pub fn max_timeuuid(unix_millis: i64) -> [u8; 16] {
    let ticks = unix_millis.wrapping_add(1).wrapping_mul(TICKS_PER_MILLI).wrapping_sub(1);
    timeuuid_of_ticks(ticks.wrapping_add(UUID_EPOCH_OFFSET), [0x7F; 8])
}

/// Ticks of 100 ns since the epoch in a version 1 UUID; `None` for other bytes.
fn timeuuid_ticks(bytes: &[u8]) -> Option<i64> {
    if crate::value::uuid_version(bytes) != Some(1) {
        return None;
    }
    let (high, _) = bytes.split_first_chunk::<8>()?;
    let reordered = crate::compare::reorder_timestamp(u64::from_be_bytes(*high)) & 0x0FFF_FFFF_FFFF_FFFF;
    Some(reordered as i64 - UUID_EPOCH_OFFSET)
}

/// Microseconds since the epoch in a version 1 UUID; `None` for other bytes.
pub fn timeuuid_micros(bytes: &[u8]) -> Option<i64> {
    timeuuid_ticks(bytes).map(|ticks| ticks.div_euclid(TICKS_PER_MICRO))
}

/// Milliseconds since the epoch in a version 1 UUID; `None` for other bytes.
pub fn timeuuid_millis(bytes: &[u8]) -> Option<i64> {
    timeuuid_ticks(bytes).map(|ticks| ticks / TICKS_PER_MILLI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_civil_dates_agree() {
        for days in [-719_528, -1, 0, 59, 18_321, 2_932_896, i64::from(i32::MIN), i64::from(i32::MAX)] {
            assert_eq!(Civil::of_days(days).to_days(), days);
        }
        assert_eq!(Civil::of_days(0), Civil { year: 1970, month: 1, day: 1 });
    }

    #[test]
    fn timestamps_are_read_in_every_pattern() {
        for text in [
            "2011-02-03 04:05:00+0000",
            "2011-02-03T04:05Z",
            "2011-02-03 04:05",
            "2011-2-3 4:5",
            "2011-02-03 05:05:00.000+01",
            "2011-02-03T05:05:00+01:00",
            "2011-02-03 04:05 UTC",
            "2011-02-03 05:05:00 Europe/Berlin",
            "2011-02-02 20:05 PST",
            "1296705900000",
        ] {
            assert_eq!(parse_timestamp(text), Ok(1_296_705_900_000), "{text}");
        }
        assert_eq!(timestamp_text(1_296_705_900_000), "2011-02-03T04:05:00.000Z");
    }

    #[test]
    fn timeuuids_give_back_their_time() {
        let bytes = timeuuid(1_700_000_000_123_456, 0, [0x80; 8]);
        assert_eq!(timeuuid_micros(&bytes), Some(1_700_000_000_123_456));
        assert!(crate::CqlType::Timeuuid.compare(&min_timeuuid(1_000), &max_timeuuid(1_000)).is_lt());
    }

    #[test]
    fn a_ttl_is_between_a_second_and_twenty_years() {
        assert!(Ttl::from_secs(0).is_err());
        assert!(Ttl::from_secs(i64::from(Ttl::MAX_SECS) + 1).is_err());
        assert_eq!(Ttl::from_secs(1).map(Ttl::secs), Ok(1));
    }
}
