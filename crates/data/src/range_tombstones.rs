//! Range tombstones of one partition in memory: disjoint, in order, each position under the deletion that wins there.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::Blob;
use crate::deletion::DeletionTime;
use crate::key::{Bound, Clustering, Slice};

/// Deletes the rows between two bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    pub slice: Slice,
    pub deletion: DeletionTime,
}

/// Invariant: keyed by the order of their start; no two overlap; none is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeTombstones(BTreeMap<Blob, RangeTombstone>);

impl RangeTombstones {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &RangeTombstone> {
        self.0.values()
    }

    /// Those that overlap `slice`, in order.
    pub fn overlapping(&self, slice: &Slice) -> impl DoubleEndedIterator<Item = &RangeTombstone> + use<'_> {
        let end = if slice.is_empty() { &slice.start } else { &slice.end };
        let before = self.0.range::<[u8], _>((Unbounded, Excluded(slice.start.order()))).next_back();
        let before = before.map(|(_, tombstone)| tombstone).filter(|tombstone| slice.start < tombstone.slice.end);
        let before = before.filter(|_| !slice.is_empty());
        let inside = self.0.range::<[u8], _>((Included(slice.start.order()), Excluded(end.order())));
        before.into_iter().chain(inside.map(|(_, tombstone)| tombstone))
    }

    /// What deletes the row at `clustering`.
    #[must_use]
    pub fn deletion_at(&self, clustering: &Clustering) -> DeletionTime {
        let before = self.0.range::<[u8], _>((Unbounded, Included(clustering.order()))).next_back();
        let covering = before.filter(|(_, tombstone)| clustering.order() < tombstone.slice.end.order());
        covering.map_or(DeletionTime::LIVE, |(_, tombstone)| tombstone.deletion)
    }

    /// Adds a deletion; where it overlaps others the superseding one stays. Answers by how many bytes the heap grew
    /// (negative: shrank).
    pub fn insert(&mut self, new: RangeTombstone) -> isize {
        if new.slice.is_empty() {
            return 0;
        }
        let mut grown = 0;
        let overlapped: Vec<RangeTombstone> = self.overlapping(&new.slice).cloned().collect();
        for old in &overlapped {
            let removed = self.0.remove(old.slice.start.order());
            grown -= removed.map_or(0, |removed| entry_bytes(&removed));
        }
        let mut cursor = new.slice.start.clone();
        for old in overlapped {
            if old.slice.start < new.slice.start {
                grown += self.put(&old.slice.start, &new.slice.start, old.deletion);
            }
            if cursor < old.slice.start {
                grown += self.put(&cursor, &old.slice.start, new.deletion);
                cursor = old.slice.start.clone();
            }
            let overlap_end = old.slice.end.clone().min(new.slice.end.clone());
            grown += self.put(&cursor, &overlap_end, old.deletion.max(new.deletion));
            cursor = overlap_end;
            if new.slice.end < old.slice.end {
                grown += self.put(&new.slice.end, &old.slice.end, old.deletion);
            }
        }
        if cursor < new.slice.end {
            grown += self.put(&cursor, &new.slice.end, new.deletion);
        }
        grown
    }

    fn put(&mut self, start: &Bound, end: &Bound, deletion: DeletionTime) -> isize {
        if end <= start {
            return 0;
        }
        let previous = self.0.range_mut::<[u8], _>((Unbounded, Excluded(start.order()))).next_back();
        if let Some((_, previous)) = previous
            && previous.slice.end == *start
            && previous.deletion == deletion
        {
            let before = entry_bytes(previous);
            previous.slice.end = end.clone();
            return entry_bytes(previous) - before;
        }
        let tombstone = RangeTombstone { slice: Slice { start: start.clone(), end: end.clone() }, deletion };
        let grown = entry_bytes(&tombstone);
        let replaced = self.0.insert(Blob::from(start.order()), tombstone);
        grown - replaced.map_or(0, |replaced| entry_bytes(&replaced))
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        usize::try_from(self.0.values().map(entry_bytes).sum::<isize>()).unwrap_or(0)
    }
}

/// In the tree and on the heap.
fn entry_bytes(tombstone: &RangeTombstone) -> isize {
    let slice = &tombstone.slice;
    let bytes = size_of::<(Blob, RangeTombstone)>() + 2 * slice.start.heap_bytes() + slice.end.heap_bytes();
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{ClusteringType, ClusteringTypes, Side};
    use helenus_types::CqlType;

    fn bound(value: i32) -> Bound {
        let types = ClusteringTypes::new(vec![ClusteringType { ty: CqlType::Int, descending: false }]);
        types.bound(&[value.to_be_bytes()], Side::Before)
    }

    fn check(inserts: &[(i32, i32, i64)], expected: &[(i32, i32, i64)]) {
        let mut tombstones = RangeTombstones::default();
        for &(start, end, timestamp) in inserts {
            let slice = Slice { start: bound(start), end: bound(end) };
            tombstones.insert(RangeTombstone { slice, deletion: DeletionTime { timestamp, local_secs: 1 } });
        }
        let expected: Vec<_> =
            expected.iter().map(|&(start, end, timestamp)| (bound(start), bound(end), timestamp)).collect();
        let found: Vec<_> = tombstones
            .iter()
            .map(|tombstone| (tombstone.slice.start.clone(), tombstone.slice.end.clone(), tombstone.deletion.timestamp))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_newer_range_cuts_the_older_ones_it_overlaps() {
        check(&[(0, 10, 1), (3, 5, 2)], &[(0, 3, 1), (3, 5, 2), (5, 10, 1)]);
        check(&[(3, 5, 2), (0, 10, 1)], &[(0, 3, 1), (3, 5, 2), (5, 10, 1)]);
    }

    #[test]
    fn an_older_range_fills_only_the_gaps() {
        check(&[(0, 2, 5), (4, 6, 5), (1, 8, 3)], &[(0, 2, 5), (2, 4, 3), (4, 6, 5), (6, 8, 3)]);
    }

    #[test]
    fn neighbours_with_the_same_deletion_join() {
        check(&[(0, 2, 5), (2, 6, 5)], &[(0, 6, 5)]);
        check(&[(0, 9, 5), (2, 6, 5)], &[(0, 9, 5)]);
    }
}
