//! Deletion: everything up to a timestamp is gone; the local time says when the tombstone itself may go.

/// Local deletion time (seconds since 1970) of what was never deleted.
pub const NEVER_SECS: u32 = u32::MAX;

/// A stored deletion of a partition, row, range or complex column.
///
/// Source: Cassandra 5.0, `db.DeletionTime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeletionTime {
    /// Microseconds: data written at or before it is deleted.
    pub timestamp: i64,
    /// Seconds since 1970 of the server that deleted; counts for `gc_grace_seconds` only.
    pub local_secs: u32,
}

impl DeletionTime {
    /// Deletes nothing.
    pub const LIVE: DeletionTime = DeletionTime { timestamp: i64::MIN, local_secs: NEVER_SECS };

    #[must_use]
    pub fn is_live(&self) -> bool {
        self.timestamp == i64::MIN && self.local_secs == NEVER_SECS
    }

    #[must_use]
    pub fn deletes(&self, timestamp: i64) -> bool {
        !self.is_live() && timestamp <= self.timestamp
    }

    /// Whether this deletion wins over `other`: later timestamp, then later local time.
    #[must_use]
    pub fn supersedes(&self, other: &DeletionTime) -> bool {
        (self.timestamp, !self.is_live(), self.local_secs) > (other.timestamp, !other.is_live(), other.local_secs)
    }

    #[must_use]
    pub fn max(self, other: DeletionTime) -> DeletionTime {
        if other.supersedes(&self) { other } else { self }
    }
}

impl Default for DeletionTime {
    fn default() -> Self {
        DeletionTime::LIVE
    }
}
