//! Scalars taken out of their bytes, for functions and arithmetic.
//!
//! Decoders answer `None` for bytes that validation would refuse or that are empty; encoders write what Cassandra writes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use num_bigint::BigInt;

pub use crate::decimal::Decimal;
pub use crate::duration::Duration;

/// The `date` of the epoch's day, 1970-01-01: dates are unsigned and count from -5877641-06-23.
pub const DATE_EPOCH: u32 = 1 << 31;

macro_rules! fixed_codec {
    ($decode:ident, $encode:ident, $number:ty) => {
        pub fn $decode(bytes: &[u8]) -> Option<$number> {
            bytes.try_into().ok().map(<$number>::from_be_bytes)
        }

        pub fn $encode(number: $number) -> Vec<u8> {
            number.to_be_bytes().to_vec()
        }
    };
}

fixed_codec!(decode_tinyint, encode_tinyint, i8);
fixed_codec!(decode_smallint, encode_smallint, i16);
fixed_codec!(decode_int, encode_int, i32);
fixed_codec!(decode_bigint, encode_bigint, i64);
fixed_codec!(decode_float, encode_float, f32);
fixed_codec!(decode_double, encode_double, f64);
// Days since -5877641-06-23, so that unsigned byte order is the order of days.
fixed_codec!(decode_date, encode_date, u32);

/// Milliseconds since the epoch.
pub fn decode_timestamp(bytes: &[u8]) -> Option<i64> {
    decode_bigint(bytes)
}

/// Nanoseconds since midnight.
pub fn decode_time(bytes: &[u8]) -> Option<i64> {
    decode_bigint(bytes)
}

/// Days since the epoch of a serialised date.
pub fn decode_date_days(bytes: &[u8]) -> Option<i64> {
    decode_date(bytes).map(|raw| i64::from(raw) - i64::from(DATE_EPOCH))
}

/// A date from days since the epoch; `None` outside what 32 bits hold.
pub fn encode_date_days(days: i64) -> Option<Vec<u8>> {
    u32::try_from(days.checked_add(i64::from(DATE_EPOCH))?).ok().map(encode_date)
}

/// Any byte but zero is true, as Cassandra reads it.
pub fn decode_boolean(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [byte] => Some(*byte != 0),
        _ => None,
    }
}

pub fn encode_boolean(value: bool) -> Vec<u8> {
    vec![u8::from(value)]
}

pub fn decode_varint(bytes: &[u8]) -> Option<BigInt> {
    (!bytes.is_empty()).then(|| BigInt::from_signed_bytes_be(bytes))
}

pub fn encode_varint(number: &BigInt) -> Vec<u8> {
    number.to_signed_bytes_be()
}

pub fn decode_decimal(bytes: &[u8]) -> Option<Decimal> {
    Decimal::decode(bytes)
}

pub fn decode_duration(bytes: &[u8]) -> Option<Duration> {
    Duration::decode(bytes).ok()
}

/// Sixteen bytes that map an IPv4 address are that address, as Java reads them.
pub fn decode_inet(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::V4(Ipv4Addr::from(four)));
    }
    let six = Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
    Some(six.to_ipv4_mapped().map_or(IpAddr::V6(six), IpAddr::V4))
}

pub fn encode_inet(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or_else(|| six.octets().to_vec(), |four| four.octets().to_vec()),
    }
}

pub fn decode_uuid(bytes: &[u8]) -> Option<uuid::Uuid> {
    uuid::Uuid::from_slice(bytes).ok()
}

/// The version of serialised UUID bytes: the high half of byte 6.
pub fn uuid_version(bytes: &[u8]) -> Option<u8> {
    if bytes.len() == 16 { bytes.get(6).map(|byte| byte >> 4) } else { None }
}
