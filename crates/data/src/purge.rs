//! Purge: drops tombstones that hide nothing any more, and turns what has expired into tombstones.
//!
//! Whether something older may still be elsewhere is asked by the caller, once, in `storage::compaction::purge`; its
//! answer comes in as [`PurgeBefore::timestamp`].
//!
//! Source: Cassandra 5.0, `db.partitions.PurgeFunction`, `db.rows.AbstractCell.purge`.

use crate::cell::Cell;
use crate::deletion::DeletionTime;
use crate::liveness::Liveness;
use crate::row::{ColumnData, ComplexColumn, Row};
use crate::unfiltered::Marker;

/// What may be purged of one partition at one moment.
#[derive(Clone, Copy, Debug)]
pub struct PurgeBefore {
    pub now_secs: i64,
    /// Tombstones written by a server before it are past their grace.
    pub gc_before_secs: i64,
    /// Only tombstones with a smaller timestamp (micros): whatever is not part of this merge is younger than that.
    pub timestamp: i64,
}

impl PurgeBefore {
    #[must_use]
    pub fn allows(&self, timestamp: i64, local_deletion_secs: u32) -> bool {
        i64::from(local_deletion_secs) < self.gc_before_secs && timestamp < self.timestamp
    }

    #[must_use]
    pub fn deletion(&self, deletion: DeletionTime) -> DeletionTime {
        let purge = !deletion.is_live() && self.allows(deletion.timestamp, deletion.local_secs);
        if purge { DeletionTime::LIVE } else { deletion }
    }

    /// What is left of `row`; an empty row means nothing.
    pub fn row(&self, row: &mut Row) {
        if !row.liveness.is_none()
            && !row.liveness.is_live(self.now_secs)
            && self.allows(row.liveness.timestamp, row.liveness.expires_secs)
        {
            row.liveness = Liveness::NONE;
        }
        row.deletion = self.deletion(row.deletion);
        row.columns.retain_mut(|column| match &mut column.data {
            ColumnData::Simple(cell) => self.keeps(cell),
            ColumnData::Complex(complex) => {
                self.complex(complex);
                !complex.is_empty()
            }
        });
    }

    fn complex(&self, complex: &mut ComplexColumn) {
        complex.deletion = self.deletion(complex.deletion);
        complex.cells.retain_mut(|(_, cell)| self.keeps(cell));
    }

    fn keeps(&self, cell: &mut Cell) -> bool {
        if cell.is_live(self.now_secs) {
            return true;
        }
        if self.allows(cell.timestamp, cell.local_deletion_secs) {
            return false;
        }
        if let Some(ttl) = cell.ttl.take() {
            // An expired cell was as good as deleted when it was written, so its grace began then.
            cell.local_deletion_secs = cell.local_deletion_secs.saturating_sub(ttl.secs());
            cell.value = crate::Blob::EMPTY;
            return !self.allows(cell.timestamp, cell.local_deletion_secs);
        }
        true
    }

    /// What is left of `marker`; `None` when both of its sides were purged.
    #[must_use]
    pub fn marker(&self, mut marker: Marker) -> Option<Marker> {
        let keep = |deletion: DeletionTime| !self.allows(deletion.timestamp, deletion.local_secs);
        marker.ends = marker.ends.filter(|deletion| keep(*deletion));
        marker.begins = marker.begins.filter(|deletion| keep(*deletion));
        (marker.ends.is_some() || marker.begins.is_some()).then_some(marker)
    }
}
