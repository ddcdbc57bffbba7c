//! Blob: an immutable value of bytes, short ones in place, long ones shared.
//!
//! Role: cell values, keys and clusterings are kept, cloned into read results and sent between shards; most are a few
//! bytes long. A `Blob` is 24 bytes, holds up to 22 bytes without an allocation and clones in constant time.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

const INLINE_BYTES_MAX: usize = 22;

/// Immutable bytes; compares and hashes as the byte slice it dereferences to.
#[derive(Clone)]
pub struct Blob(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE_BYTES_MAX] },
    Shared(Arc<[u8]>),
}

const _: () = assert!(size_of::<Blob>() == 24, "the module comment says 24");

impl Blob {
    pub const EMPTY: Blob = Blob(Repr::Inline { len: 0, bytes: [0; INLINE_BYTES_MAX] });

    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Shared(bytes) => bytes,
        }
    }

    /// Bytes on the heap, for memory accounting; shared bytes count at every holder.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Inline { .. } => 0,
            Repr::Shared(bytes) => bytes.len() + 2 * size_of::<usize>(),
        }
    }
}

impl From<&[u8]> for Blob {
    fn from(from: &[u8]) -> Self {
        match u8::try_from(from.len()) {
            Ok(len) if from.len() <= INLINE_BYTES_MAX => {
                let mut bytes = [0; INLINE_BYTES_MAX];
                bytes[..from.len()].copy_from_slice(from);
                Blob(Repr::Inline { len, bytes })
            }
            _ => Blob(Repr::Shared(Arc::from(from))),
        }
    }
}

impl From<Vec<u8>> for Blob {
    fn from(from: Vec<u8>) -> Self {
        Blob::from(from.as_slice())
    }
}

impl<const N: usize> From<[u8; N]> for Blob {
    fn from(from: [u8; N]) -> Self {
        Blob::from(from.as_slice())
    }
}

impl Default for Blob {
    fn default() -> Self {
        Blob::EMPTY
    }
}

impl Deref for Blob {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Borrow<[u8]> for Blob {
    fn borrow(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for Blob {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Blob {}

impl PartialOrd for Blob {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Blob {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for Blob {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_compare_as_their_bytes_whether_inline_or_shared() {
        let short = Blob::from(&[1u8, 2][..]);
        let long = Blob::from(vec![1u8; 40]);
        assert!(long < short);
        assert_eq!(long.heap_bytes(), 40 + 16);
        assert_eq!(short.heap_bytes(), 0);
        assert_eq!(Blob::from(vec![7u8; 22]).len(), 22);
    }
}
