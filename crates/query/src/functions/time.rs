//! Functions of time: now in its forms, conversions, floor.
//!
//! Source: Cassandra 5.0, `cql3.functions.TimeFcts`, `cql3.Duration.floorTimestamp`.

use helenus_env::Env;
use helenus_types::time::{self, Civil, MILLIS_PER_DAY, NANOS_PER_DAY};
use helenus_types::{CqlType, value};

use crate::error::{Result, ensure};
use crate::functions::Function;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NowKind {
    Timeuuid,
    Timestamp,
    Date,
    Time,
}

impl NowKind {
    #[must_use]
    pub fn returns(self) -> CqlType {
        match self {
            NowKind::Timeuuid => CqlType::Timeuuid,
            NowKind::Timestamp => CqlType::Timestamp,
            NowKind::Date => CqlType::Date,
            NowKind::Time => CqlType::Time,
        }
    }
}

pub fn now(kind: NowKind, env: &Env) -> Vec<u8> {
    let millis = env.wall_micros().div_euclid(1_000);
    match kind {
        NowKind::Timeuuid => env.new_timeuuid().as_bytes().to_vec(),
        NowKind::Timestamp => value::encode_bigint(millis),
        NowKind::Date => date_of_millis(millis).unwrap_or_default(),
        NowKind::Time => value::encode_bigint((env.wall_micros() * 1_000).rem_euclid(NANOS_PER_DAY)),
    }
}

pub fn min_timeuuid(millis: i64) -> Vec<u8> {
    time::min_timeuuid(millis).to_vec()
}

pub fn max_timeuuid(millis: i64) -> Vec<u8> {
    time::max_timeuuid(millis).to_vec()
}

/// Milliseconds since the epoch of a timeuuid, timestamp or date.
pub fn to_millis(ty: &CqlType, bytes: &[u8]) -> Option<i64> {
    match ty {
        CqlType::Timeuuid => time::timeuuid_millis(bytes),
        CqlType::Date => value::decode_date_days(bytes)?.checked_mul(MILLIS_PER_DAY),
        _ => value::decode_timestamp(bytes),
    }
}

/// Whole seconds are cut towards the past, whole days towards 1970: upstream asks a `Duration` for its days.
pub fn date_of_millis(millis: i64) -> Option<Vec<u8>> {
    const SECONDS_PER_DAY: i64 = 24 * 60 * 60;
    value::encode_date_days(millis.div_euclid(1_000) / SECONDS_PER_DAY)
}

pub fn floor(function: &Function, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>> {
    let [first, duration, rest @ ..] = arguments else { return Ok(None) };
    let (Some(ty), Some(duration)) = (function.arguments.first(), value::decode_duration(duration)) else {
        return Ok(None);
    };
    if *ty == CqlType::Time {
        let Some(nanos) = value::decode_time(first) else { return Ok(None) };
        ensure!(!duration.is_negative(), "Negative durations are not supported by the floor function");
        ensure!(
            duration.months == 0 && duration.days == 0 && duration.nanos <= NANOS_PER_DAY,
            "For time values, the floor can only be computed for durations smaller that a day"
        );
        let delta = if duration.nanos == 0 { 0 } else { nanos % duration.nanos };
        return Ok(Some(value::encode_bigint(nanos - delta)));
    }
    if *ty == CqlType::Date {
        ensure!(
            duration.nanos == 0,
            "The floor on date values cannot be computed for the {} duration as precision is below 1 day",
            duration.to_text()
        );
    } else {
        ensure!(
            duration.has_millisecond_precision(),
            "The floor cannot be computed for the {} duration as precision is below 1 millisecond",
            duration.to_text()
        );
    }
    let start = match (rest.first(), function.arguments.get(2)) {
        (Some(start), Some(ty)) => to_millis(ty, start).unwrap_or(0),
        _ => 0,
    };
    let Some(millis) = to_millis(ty, first) else { return Ok(None) };
    let floor = floor_millis(millis, &duration, start)?;
    Ok(if function.returns == CqlType::Date { date_of_millis(floor) } else { Some(value::encode_bigint(floor)) })
}

/// The largest `start + n * duration` that is not after `millis`.
fn floor_millis(millis: i64, duration: &value::Duration, start: i64) -> Result<i64> {
    ensure!(start <= millis, "The floor function starting time is greater than the provided time");
    ensure!(!duration.is_negative(), "Negative durations are not supported by the floor function");
    if duration.months == 0 {
        let step = i64::from(duration.days) * MILLIS_PER_DAY + duration.nanos / 1_000_000;
        return Ok(if step == 0 { millis } else { millis - (millis - start) % step });
    }
    let months = |millis: i64| {
        let civil = Civil::of_days(millis.div_euclid(MILLIS_PER_DAY));
        civil.year * 12 + i64::from(civil.month) - 1
    };
    let mut multiplier = (months(millis) - months(start)) / i64::from(duration.months);
    while 0 <= multiplier {
        let floor = add_times(start, duration, multiplier);
        if floor <= millis {
            return Ok(floor);
        }
        multiplier -= 1;
    }
    Ok(start)
}

/// `start + n * duration`: months first, then days, then milliseconds, as a calendar adds them.
fn add_times(start: i64, duration: &value::Duration, n: i64) -> i64 {
    let civil = Civil::of_days(start.div_euclid(MILLIS_PER_DAY));
    let months = civil.year * 12 + i64::from(civil.month) - 1 + n * i64::from(duration.months);
    let year = months.div_euclid(12);
    let month = u32::try_from(months.rem_euclid(12) + 1).unwrap_or(1);
    let day = civil.day.min(Civil::days_in_month(year, month));
    let days = Civil { year, month, day }.to_days() + n * i64::from(duration.days);
    days * MILLIS_PER_DAY + start.rem_euclid(MILLIS_PER_DAY) + n * (duration.nanos / 1_000_000)
}
