//! Bound values of one statement: where each lies in the frame, so that binding reads them from there.
//!
//! Invariant: every span lies within `body`; both are set together and never changed.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use smallvec::SmallVec;

use crate::primitives::{Reader, Utf8Bytes, Value, write_string, write_unset, write_value};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// A bound value, still in the frame.
pub type BoundValue<'a> = Value<&'a [u8]>;

/// Values in the order of the request, with their names when the client named them.
///
/// One reference to the frame for all of them: a value costs its two numbers.
#[derive(Clone, Default)]
pub struct BoundValues {
    body: Bytes,
    spans: SmallVec<[Value<Range<u32>>; 8]>,
    names: Option<Vec<Utf8Bytes>>,
}

impl BoundValues {
    /// For clients: values without names.
    #[must_use]
    pub fn positional<'a>(values: impl IntoIterator<Item = BoundValue<'a>>) -> Self {
        let mut body = BytesMut::new();
        let spans = values.into_iter().map(|value| store(&mut body, &value)).collect();
        Self { body: body.freeze(), spans, names: None }
    }

    /// For clients: values with names.
    #[must_use]
    pub fn named<'a>(values: impl IntoIterator<Item = (&'a str, BoundValue<'a>)>) -> Self {
        let mut body = BytesMut::new();
        let mut names = Vec::new();
        let spans = values.into_iter().map(|(name, value)| {
            names.push(Utf8Bytes::from(name));
            store(&mut body, &value)
        });
        let spans = spans.collect();
        Self { body: body.freeze(), spans, names: Some(names) }
    }

    pub(super) fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        Self::decode_with(version, reader, None)
    }

    pub(super) fn decode_named(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        Self::decode_with(version, reader, Some(Vec::new()))
    }

    fn decode_with(
        version: ProtocolVersion,
        reader: &mut Reader,
        mut names: Option<Vec<Utf8Bytes>>,
    ) -> Result<Self, ProtocolError> {
        let unset_allowed = ProtocolVersion::V4 <= version;
        let count = reader.read_short()?;
        let mut spans = SmallVec::new();
        for _ in 0..count {
            if let Some(names) = &mut names {
                names.push(reader.read_shared_string()?);
            }
            spans.push(match reader.read_value_range(unset_allowed)? {
                Value::Null => Value::Null,
                Value::Unset => Value::Unset,
                Value::Set(range) => Value::Set(narrow(range)),
            });
        }
        Ok(Self { body: reader.body().clone(), spans, names })
    }

    pub(super) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        out.put_u16(u16::try_from(self.len()).expect("a statement has at most 65535 markers"));
        for (index, value) in self.iter().enumerate() {
            if let Some(name) = self.names.as_ref().and_then(|names| names.get(index)) {
                write_string(out, name);
            }
            match value {
                Value::Unset if ProtocolVersion::V4 <= version => write_unset(out),
                Value::Null | Value::Unset => write_value(out, None),
                Value::Set(bytes) => write_value(out, Some(bytes)),
            }
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// One name a value, or `None` for positional values.
    #[must_use]
    pub fn names(&self) -> Option<&[Utf8Bytes]> {
        self.names.as_deref()
    }

    /// `None` beyond the last value.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<BoundValue<'_>> {
        self.spans.get(index).map(|span| self.resolve(span))
    }

    /// By name; with several of one name the last, as Cassandra binds them.
    #[must_use]
    pub fn get_named(&self, name: &str) -> Option<BoundValue<'_>> {
        let index = self.names.as_ref()?.iter().rposition(|known| known.as_str() == name)?;
        self.get(index)
    }

    /// The bytes of a set value as a slice that keeps the frame alive; `None` for null, unset and beyond the last.
    #[must_use]
    pub fn shared(&self, index: usize) -> Option<Bytes> {
        match self.spans.get(index)? {
            Value::Set(range) => Some(self.body.slice(widen(range))),
            Value::Null | Value::Unset => None,
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = BoundValue<'_>> {
        self.spans.iter().map(|span| self.resolve(span))
    }

    /// What the set values hold together, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let lengths = self.iter().map(|value| match value {
            Value::Set(bytes) => bytes.len(),
            Value::Null | Value::Unset => 0,
        });
        lengths.sum()
    }

    fn resolve(&self, span: &Value<Range<u32>>) -> BoundValue<'_> {
        match span {
            Value::Null => Value::Null,
            Value::Unset => Value::Unset,
            Value::Set(range) => Value::Set(&self.body[widen(range)]),
        }
    }
}

/// Equal when values and names are, wherever they lie.
impl PartialEq for BoundValues {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names && self.iter().eq(other.iter())
    }
}

impl Eq for BoundValues {}

impl std::fmt::Debug for BoundValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoundValues").field("names", &self.names).field("values", &Vec::from_iter(self.iter())).finish()
    }
}

fn store(body: &mut BytesMut, value: &BoundValue<'_>) -> Value<Range<u32>> {
    match value {
        Value::Null => Value::Null,
        Value::Unset => Value::Unset,
        Value::Set(bytes) => {
            let start = body.len();
            body.extend_from_slice(bytes);
            Value::Set(narrow(start..body.len()))
        }
    }
}

/// Bodies end below 2 GiB, so 32 bits hold every place in them.
fn narrow(range: Range<usize>) -> Range<u32> {
    let narrow = |at: usize| u32::try_from(at).expect("a body is below 2 GiB");
    narrow(range.start)..narrow(range.end)
}

fn widen(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}
