//! A string that still lies in the frame it came in.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use bytes::Bytes;

use crate::rejection::ProtocolError;

/// UTF-8 text without a copy: query texts, names of bound values.
///
/// Invariant: the bytes are valid UTF-8; only the checking constructors make one.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utf8Bytes {
    bytes: Bytes,
}

/// As much of a broken string as an error text shows.
const HEX_BYTES_MAX: usize = 256;

impl Utf8Bytes {
    /// # Errors
    /// [`ProtocolError::NotUtf8`].
    pub fn from_bytes(bytes: Bytes) -> Result<Self, ProtocolError> {
        match std::str::from_utf8(&bytes) {
            Ok(_) => Ok(Self { bytes }),
            Err(_) => Err(not_utf8(&bytes)),
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("checked by the constructor")
    }

    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

pub(super) fn not_utf8(bytes: &[u8]) -> ProtocolError {
    let shown = bytes.get(..HEX_BYTES_MAX).unwrap_or(bytes);
    ProtocolError::NotUtf8 { hex: shown.iter().map(|byte| format!("{byte:02x}")).collect() }
}

impl From<&str> for Utf8Bytes {
    fn from(text: &str) -> Self {
        Self { bytes: Bytes::copy_from_slice(text.as_bytes()) }
    }
}

impl From<String> for Utf8Bytes {
    fn from(text: String) -> Self {
        Self { bytes: Bytes::from(text.into_bytes()) }
    }
}

impl Deref for Utf8Bytes {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Utf8Bytes {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl Hash for Utf8Bytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state); // As `str` does, or looking up by `&str` would miss.
    }
}

impl fmt::Debug for Utf8Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Utf8Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
