//! A bound value: null, "leave it alone", or serialised bytes.

use std::borrow::Cow;

use helenus_data::Blob;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Null,
    /// Not set: the protocol's way (since version 4) to leave a column untouched.
    Unset,
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Value<'a> {
    #[must_use]
    pub fn from_option(bytes: Option<Vec<u8>>) -> Self {
        bytes.map_or(Value::Null, |bytes| Value::Bytes(Cow::Owned(bytes)))
    }

    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Null | Value::Unset => None,
        }
    }

    #[must_use]
    pub fn into_blob(self) -> Option<Blob> {
        match self {
            Value::Bytes(bytes) => Some(Blob::from(&*bytes)),
            Value::Null | Value::Unset => None,
        }
    }

    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    #[must_use]
    pub fn is_unset(&self) -> bool {
        matches!(self, Value::Unset)
    }
}
