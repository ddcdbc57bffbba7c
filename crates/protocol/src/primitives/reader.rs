//! Takes primitives off a body, front to back, without copying and without trusting a single length.
//!
//! Invariant: nothing is allocated on the strength of a claimed count or length; lists grow with what was really read.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use bytes::Bytes;
use uuid::Uuid;

use super::utf8::{Utf8Bytes, not_utf8};
use super::{BytesMap, StringMap, StringMultimap};
use crate::consistency::Consistency;
use crate::rejection::ProtocolError;

/// A cursor over one body. Slices handed out share the body's memory.
///
/// # Errors
/// Every `read_` method fails with the [`ProtocolError`] that names what it could not read; the cursor is then of no use.
#[derive(Debug)]
pub struct Reader {
    body: Bytes,
    at: usize,
}

/// A bound value: `[value]` of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<T> {
    Null,
    /// Left as it was (version 4 and later).
    Unset,
    Set(T),
}

const NULL_LENGTH: i32 = -1;
const UNSET_LENGTH: i32 = -2;

impl Reader {
    #[must_use]
    pub fn new(body: Bytes) -> Self {
        Self { body, at: 0 }
    }

    #[must_use]
    pub fn remaining(&self) -> usize {
        self.body.len() - self.at
    }

    /// The whole body, also what was already read.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Everything that is left.
    pub fn take_rest(&mut self) -> Bytes {
        let rest = self.body.slice(self.at..);
        self.at = self.body.len();
        rest
    }

    fn advance(&mut self, count: usize) -> Option<Range<usize>> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.body.len())?;
        let range = self.at..end;
        self.at = end;
        Some(range)
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], ProtocolError> {
        let cut_off = ProtocolError::CutOff { what, remaining: self.remaining() };
        let range = self.advance(N).ok_or(cut_off)?;
        Ok(self.body[range].try_into().expect("the range is N long"))
    }

    pub fn read_byte(&mut self) -> Result<u8, ProtocolError> {
        self.take::<1>("a [byte]").map(|[byte]| byte)
    }

    pub fn read_short(&mut self) -> Result<u16, ProtocolError> {
        self.take("a [short]").map(u16::from_be_bytes)
    }

    pub fn read_int(&mut self) -> Result<i32, ProtocolError> {
        self.take("an [int]").map(i32::from_be_bytes)
    }

    pub fn read_long(&mut self) -> Result<i64, ProtocolError> {
        self.take("a [long]").map(i64::from_be_bytes)
    }

    pub fn read_uuid(&mut self) -> Result<Uuid, ProtocolError> {
        self.take("a [uuid]").map(Uuid::from_bytes)
    }

    /// An `[int]` that counts something.
    pub fn read_count(&mut self, what: &'static str) -> Result<usize, ProtocolError> {
        let count = self.read_int()?;
        usize::try_from(count).map_err(|_| ProtocolError::NegativeCount { what, count })
    }

    /// A `[string]`, copied.
    pub fn read_string(&mut self) -> Result<String, ProtocolError> {
        let range = self.short_range().ok_or(ProtocolError::ShortStringCutOff)?;
        let bytes = &self.body[range];
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| not_utf8(bytes))
    }

    /// A `[string]` that stays in the frame.
    pub fn read_shared_string(&mut self) -> Result<Utf8Bytes, ProtocolError> {
        let range = self.short_range().ok_or(ProtocolError::ShortStringCutOff)?;
        Utf8Bytes::from_bytes(self.body.slice(range))
    }

    /// A `[long string]` that stays in the frame.
    pub fn read_long_string(&mut self) -> Result<Utf8Bytes, ProtocolError> {
        let range = self.long_range().ok_or(ProtocolError::LongStringCutOff)?;
        Utf8Bytes::from_bytes(self.body.slice(range))
    }

    pub fn read_short_bytes(&mut self) -> Result<Bytes, ProtocolError> {
        let range = self.short_range().ok_or(ProtocolError::ShortBytesCutOff)?;
        Ok(self.body.slice(range))
    }

    fn short_range(&mut self) -> Option<Range<usize>> {
        let length = self.read_short().ok()?;
        self.advance(usize::from(length))
    }

    fn long_range(&mut self) -> Option<Range<usize>> {
        let length = self.read_int().ok()?;
        self.advance(usize::try_from(length).ok()?)
    }

    /// A `[bytes]`; any negative length is null.
    pub fn read_bytes(&mut self) -> Result<Option<Bytes>, ProtocolError> {
        let range = self.read_bytes_range()?;
        Ok(range.map(|range| self.body.slice(range)))
    }

    /// Where a `[bytes]` lies in the body: what [`Self::read_bytes`] would slice, for those who want no reference count.
    pub fn read_bytes_range(&mut self) -> Result<Option<Range<usize>>, ProtocolError> {
        let length = self.read_int()?;
        match usize::try_from(length) {
            Err(_) => Ok(None),
            Ok(count) => self.value_range(length, count).map(Some),
        }
    }

    /// Where a bound `[value]` lies in the body. `unset_allowed` from version 4 on; before it, any negative length is null.
    pub(crate) fn read_value_range(&mut self, unset_allowed: bool) -> Result<Value<Range<usize>>, ProtocolError> {
        let length = self.read_int()?;
        match usize::try_from(length) {
            Ok(count) => self.value_range(length, count).map(Value::Set),
            Err(_) if !unset_allowed || length == NULL_LENGTH => Ok(Value::Null),
            Err(_) if length == UNSET_LENGTH => Ok(Value::Unset),
            Err(_) => Err(ProtocolError::NegativeValueLength { length }),
        }
    }

    fn value_range(&mut self, length: i32, count: usize) -> Result<Range<usize>, ProtocolError> {
        let remaining = self.remaining();
        self.advance(count).ok_or(ProtocolError::ValueCutOff { length, remaining })
    }

    pub fn read_consistency(&mut self) -> Result<Consistency, ProtocolError> {
        Consistency::from_code(self.read_short()?)
    }

    pub fn read_string_list(&mut self) -> Result<Vec<String>, ProtocolError> {
        self.read_list(Self::read_string)
    }

    pub fn read_string_map(&mut self) -> Result<StringMap, ProtocolError> {
        self.read_list(|reader| Ok((reader.read_string()?, reader.read_string()?)))
    }

    pub fn read_string_multimap(&mut self) -> Result<StringMultimap, ProtocolError> {
        self.read_list(|reader| Ok((reader.read_string()?, reader.read_string_list()?)))
    }

    pub fn read_bytes_map(&mut self) -> Result<BytesMap, ProtocolError> {
        self.read_list(|reader| Ok((reader.read_string()?, reader.read_bytes()?)))
    }

    /// A `[short]` n, then n items.
    pub(crate) fn read_list<T>(
        &mut self,
        mut read_item: impl FnMut(&mut Self) -> Result<T, ProtocolError>,
    ) -> Result<Vec<T>, ProtocolError> {
        let count = self.read_short()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(read_item(self)?);
        }
        Ok(items)
    }

    /// `[inetaddr]`: an address without a port.
    pub fn read_address(&mut self) -> Result<IpAddr, ProtocolError> {
        match self.read_byte()? {
            4 => self.take::<4>("an [inetaddr]").map(IpAddr::from),
            16 => self.take::<16>("an [inetaddr]").map(IpAddr::from),
            length => Err(ProtocolError::AddressLength { length }),
        }
    }

    /// `[inet]`: an address and a port. A port over 65535 is refused.
    pub fn read_inet(&mut self) -> Result<SocketAddr, ProtocolError> {
        let address = self.read_address()?;
        let port = self.read_int()?;
        let port = u16::try_from(port).map_err(|_| ProtocolError::NegativeCount { what: "a port", count: port })?;
        Ok(SocketAddr::new(address, port))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{Reader, Value};
    use crate::rejection::ProtocolError;

    fn reader(bytes: &'static [u8]) -> Reader {
        Reader::new(Bytes::from_static(bytes))
    }

    #[test]
    fn a_string_that_ends_early_is_refused_in_the_words_of_cassandra() {
        let short = reader(b"\x00\x05ab").read_string().unwrap_err();
        assert_eq!(
            short.to_string(),
            "Not enough bytes to read an UTF8 serialized string preceded by its 2 bytes length"
        );
        let long = reader(b"\x7f\xff\xff\xffab").read_long_string().unwrap_err();
        assert_eq!(
            long.to_string(),
            "Not enough bytes to read an UTF8 serialized string preceded by its 4 bytes length"
        );
    }

    #[test]
    fn broken_utf8_is_shown_in_hex() {
        let error = reader(b"\x00\x02\xff\xfe").read_string().unwrap_err();
        assert_eq!(error, ProtocolError::NotUtf8 { hex: "fffe".into() });
    }

    #[test]
    fn minus_two_is_unset_only_where_unset_exists() {
        assert_eq!(reader(b"\xff\xff\xff\xfe").read_value_range(true), Ok(Value::Unset));
        assert_eq!(reader(b"\xff\xff\xff\xfe").read_value_range(false), Ok(Value::Null));
        assert_eq!(reader(b"\xff\xff\xff\xff").read_value_range(true), Ok(Value::Null));
        let error = reader(b"\xff\xff\xff\xf0").read_value_range(true).unwrap_err();
        assert_eq!(error.to_string(), "Invalid ByteBuf length -16");
    }

    #[test]
    fn a_value_beyond_the_end_says_how_much_is_left() {
        let error = reader(b"\x00\x00\x00\xf0ab").read_bytes().unwrap_err();
        assert_eq!(error.to_string(), "Cannot read value of length 240, only 2 bytes remaining in the message");
    }
}
