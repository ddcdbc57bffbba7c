//! Cell: one column's value (or tombstone) with the timestamp that decides who wins.

use helenus_types::time::Ttl;

use crate::Blob;
use crate::deletion::NEVER_SECS;

/// Stable identity of a column within its table; given once by the metadata log, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u32);

/// Seconds since 1970 at which something written at `now_secs` with `ttl` expires.
///
/// Saturates below [`NEVER_SECS`]; the policy for dates past 2038 is applied where a ttl is bound.
#[must_use]
pub fn expiry_secs(now_secs: i64, ttl: Ttl) -> u32 {
    let expiry = now_secs.saturating_add(i64::from(ttl.secs()));
    u32::try_from(expiry.max(0)).unwrap_or(NEVER_SECS - 1).min(NEVER_SECS - 1)
}

/// A value, an expiring value, or a tombstone.
///
/// ```text
///             ttl    local_deletion_secs   value
/// live        None   NEVER_SECS            as written
/// expiring    Some   expiry                as written
/// tombstone   None   when deleted          empty
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Microseconds.
    pub timestamp: i64,
    pub ttl: Option<Ttl>,
    /// Seconds since 1970.
    pub local_deletion_secs: u32,
    pub value: Blob,
}

impl Cell {
    #[must_use]
    pub fn live(timestamp: i64, value: Blob) -> Self {
        Self { timestamp, ttl: None, local_deletion_secs: NEVER_SECS, value }
    }

    #[must_use]
    pub fn expiring(timestamp: i64, ttl: Ttl, now_secs: i64, value: Blob) -> Self {
        Self { timestamp, ttl: Some(ttl), local_deletion_secs: expiry_secs(now_secs, ttl), value }
    }

    #[must_use]
    pub fn tombstone(timestamp: i64, now_secs: i64) -> Self {
        let local_deletion_secs = u32::try_from(now_secs.max(0)).unwrap_or(NEVER_SECS - 1);
        Self { timestamp, ttl: None, local_deletion_secs, value: Blob::EMPTY }
    }

    #[must_use]
    pub fn is_tombstone(&self) -> bool {
        self.ttl.is_none() && self.local_deletion_secs != NEVER_SECS
    }

    #[must_use]
    pub fn is_live(&self, now_secs: i64) -> bool {
        self.local_deletion_secs == NEVER_SECS || (self.ttl.is_some() && now_secs < i64::from(self.local_deletion_secs))
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.value.heap_bytes()
    }
}

/// Key of one cell of a complex column: a map key, set element, list position (timeuuid) or UDT field index (`i16`).
///
/// `order` is the byte-comparable form that sorts the cells; `raw` what was bound. For field indexes both are the same.
#[derive(Clone, Debug)]
pub struct CellPath {
    order: Blob,
    raw: Blob,
}

impl CellPath {
    #[must_use]
    pub fn new(ty: &helenus_types::CqlType, raw: &[u8]) -> Self {
        let raw_blob = Blob::from(raw);
        if ty.is_byte_order_comparable() {
            return Self { order: raw_blob.clone(), raw: raw_blob };
        }
        let mut order = Vec::with_capacity(raw.len() + 2);
        ty.write_comparable(raw, &mut order);
        Self { order: order.into(), raw: raw_blob }
    }

    /// The path of field `index` of a non-frozen UDT.
    #[must_use]
    pub fn field(index: u16) -> Self {
        let raw = Blob::from(index.to_be_bytes());
        Self { order: raw.clone(), raw }
    }

    #[must_use]
    pub fn order(&self) -> &[u8] {
        &self.order
    }

    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.order.heap_bytes() + self.raw.heap_bytes()
    }

    pub(crate) fn from_parts(order: Blob, raw: Blob) -> Self {
        Self { order, raw }
    }
}

impl PartialEq for CellPath {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for CellPath {}
