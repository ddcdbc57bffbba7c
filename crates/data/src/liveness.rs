//! Liveness: what an INSERT says of the row itself, apart from its cells.

use helenus_types::time::Ttl;

use crate::deletion::{DeletionTime, NEVER_SECS};

/// Timestamp of a row that no INSERT made: it lives only as long as one of its cells does.
pub const NO_TIMESTAMP: i64 = i64::MIN;

/// Primary key liveness of a row.
///
/// Source: Cassandra 5.0, `db.LivenessInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// Microseconds, or [`NO_TIMESTAMP`].
    pub timestamp: i64,
    pub ttl: Option<Ttl>,
    /// Seconds since 1970 from which on an expiring row is gone; [`NEVER_SECS`] without a ttl.
    pub expires_secs: u32,
}

impl Liveness {
    pub const NONE: Liveness = Liveness { timestamp: NO_TIMESTAMP, ttl: None, expires_secs: NEVER_SECS };

    #[must_use]
    pub fn new(timestamp: i64, ttl: Option<Ttl>, now_secs: i64) -> Self {
        let expires_secs = ttl.map_or(NEVER_SECS, |ttl| crate::cell::expiry_secs(now_secs, ttl));
        Self { timestamp, ttl, expires_secs }
    }

    #[must_use]
    pub fn is_none(&self) -> bool {
        self.timestamp == NO_TIMESTAMP
    }

    #[must_use]
    pub fn is_live(&self, now_secs: i64) -> bool {
        !self.is_none() && (self.ttl.is_none() || now_secs < i64::from(self.expires_secs))
    }

    /// Whether this liveness wins over `other`: later timestamp, then an expiring one, then the later expiry.
    #[must_use]
    pub fn supersedes(&self, other: &Liveness) -> bool {
        if self.timestamp != other.timestamp {
            return self.timestamp > other.timestamp;
        }
        if self.ttl.is_some() != other.ttl.is_some() {
            return self.ttl.is_some();
        }
        (self.expires_secs, other.ttl) > (other.expires_secs, self.ttl)
    }

    /// What is left of it under a deletion.
    #[must_use]
    pub fn under(self, deletion: DeletionTime) -> Liveness {
        if !self.is_none() && deletion.deletes(self.timestamp) { Liveness::NONE } else { self }
    }
}

impl Default for Liveness {
    fn default() -> Self {
        Liveness::NONE
    }
}
