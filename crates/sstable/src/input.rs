//! Input: bytes being decoded, with a position and errors instead of panics.

use crate::error::DecodeError;
use crate::vint;

#[derive(Clone)]
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

pub(crate) type Decoded<T> = Result<T, DecodeError>;

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.left() == 0
    }

    pub(crate) fn malformed<T>(&self, expected: &'static str, found: impl ToString) -> Decoded<T> {
        Err(DecodeError::Malformed { at: self.at, expected, found: found.to_string() })
    }

    pub(crate) fn take(&mut self, len: usize) -> Decoded<&'a [u8]> {
        let wanted = self.at.checked_add(len);
        let taken = wanted.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(DecodeError::Short { wanted: wanted.unwrap_or(usize::MAX) })?;
        self.at += len;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let taken = self.take(N)?;
        Ok(*taken.first_chunk::<N>().expect("N bytes were taken"))
    }

    pub(crate) fn u8(&mut self) -> Decoded<u8> {
        let byte = self.bytes.get(self.at).copied().ok_or(DecodeError::Short { wanted: self.at + 1 })?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn boolean(&mut self) -> Decoded<bool> {
        Ok(self.u8()? != 0)
    }

    pub(crate) fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn i32(&mut self) -> Decoded<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Decoded<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Decoded<f64> {
        Ok(f64::from_be_bytes(self.array()?))
    }

    pub(crate) fn vint(&mut self) -> Decoded<u64> {
        let rest = &self.bytes[self.at..];
        let (value, len) = vint::get(rest).map_err(|wanted| DecodeError::Short { wanted: self.at + wanted })?;
        self.at += len;
        Ok(value)
    }

    pub(crate) fn signed_vint(&mut self) -> Decoded<i64> {
        self.vint().map(vint::unzigzag)
    }

    /// A length or count in memory; refuses what no file of ours can hold.
    pub(crate) fn vint_len(&mut self, expected: &'static str) -> Decoded<usize> {
        let value = self.vint()?;
        match usize::try_from(value).ok().filter(|len| *len <= LEN_MAX) {
            Some(len) => Ok(len),
            None => self.malformed(expected, value),
        }
    }

    /// `vint length, bytes`.
    pub(crate) fn vint_bytes(&mut self, expected: &'static str) -> Decoded<&'a [u8]> {
        let len = self.vint_len(expected)?;
        self.take(len)
    }

    /// `u16 length, bytes`.
    pub(crate) fn u16_bytes(&mut self) -> Decoded<&'a [u8]> {
        let len = usize::from(self.u16()?);
        self.take(len)
    }

    /// `i32 length, bytes`.
    pub(crate) fn i32_bytes(&mut self, expected: &'static str) -> Decoded<&'a [u8]> {
        let len = self.i32_count(expected)?;
        self.take(len)
    }

    /// A count or length that must not be negative.
    pub(crate) fn i32_count(&mut self, expected: &'static str) -> Decoded<usize> {
        let count = self.i32()?;
        match usize::try_from(count) {
            Ok(count) => Ok(count),
            Err(_) => self.malformed(expected, count),
        }
    }

    /// A count of things that take at least `each_bytes` bytes, all of which must be here.
    pub(crate) fn i32_count_of(&mut self, each_bytes: usize, expected: &'static str) -> Decoded<usize> {
        let count = self.i32_count(expected)?;
        if self.left() / each_bytes < count { self.malformed(expected, count) } else { Ok(count) }
    }

    /// Java's `writeUTF`; names and options are ASCII in practice, where it equals UTF-8.
    pub(crate) fn java_utf(&mut self, expected: &'static str) -> Decoded<&'a str> {
        let bytes = self.u16_bytes()?;
        std::str::from_utf8(bytes).or_else(|_| self.malformed(expected, "bytes that are not UTF-8"))
    }
}

/// Longest value or row, far above Cassandra's `max_value_size` (256 MiB) and `max_mutation_size`.
pub(crate) const LEN_MAX: usize = 1 << 30;

/// Java's `writeUTF`, for short ASCII.
pub(crate) fn put_java_utf(text: &str, out: &mut Vec<u8>) {
    let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&text.as_bytes()[..usize::from(len)]);
}
