//! Partition in memory: one partition's changes or content, in the order in which files hold it.
//!
//! Role: a mutation carries one, a memtable holds one a key, virtual tables build them. Reading walks
//! [`Partition::unfiltered`]; shadowing (what a deletion hides) happens when sources are merged, not here.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};

use crate::Blob;
use crate::deletion::DeletionTime;
use crate::key::{Bound, Clustering, PartitionKey, Slice};
use crate::range_tombstones::{RangeTombstone, RangeTombstones};
use crate::reconcile::{self, CellRule};
use crate::row::Row;
use crate::unfiltered::{Direction, Marker, Unfiltered};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    pub key: PartitionKey,
    pub deletion: DeletionTime,
    /// Its clustering is [`Clustering::empty`].
    pub static_row: Option<Box<Row>>,
    pub rows: Rows,
    pub range_tombstones: RangeTombstones,
}

/// Rows in clustering order: most partitions of most tables have few, so few stand in a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    Few(Vec<Row>),
    Many(BTreeMap<Blob, Row>),
}

/// From here on a tree: a vector's insertion in the middle moves half of this many rows of about 120 bytes.
const FEW_ROWS_MAX: usize = 16;

/// So many range tombstones are in one batch at most: two markers each, as many as files cut at.
const BATCH_RANGES_MAX: usize = 512;

impl Default for Rows {
    fn default() -> Self {
        Rows::Few(Vec::new())
    }
}

impl Rows {
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Rows::Few(rows) => rows.len(),
            Rows::Many(rows) => rows.len(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn get(&self, clustering: &Clustering) -> Option<&Row> {
        match self {
            Rows::Few(rows) => rows.binary_search_by(|row| row.clustering.cmp(clustering)).ok().map(|at| &rows[at]),
            Rows::Many(rows) => rows.get(clustering.order()),
        }
    }

    pub fn iter(&self) -> Box<dyn DoubleEndedIterator<Item = &Row> + '_> {
        match self {
            Rows::Few(rows) => Box::new(rows.iter()),
            Rows::Many(rows) => Box::new(rows.values()),
        }
    }

    /// The rows inside `slice`, in order.
    pub fn between<'a>(&'a self, slice: &Slice) -> Box<dyn DoubleEndedIterator<Item = &'a Row> + 'a> {
        if slice.is_empty() {
            return Box::new(std::iter::empty());
        }
        match self {
            Rows::Few(rows) => {
                let start = rows.partition_point(|row| row.clustering.order() < slice.start.order());
                let end = rows.partition_point(|row| row.clustering.order() < slice.end.order());
                Box::new(rows[start..end].iter())
            }
            Rows::Many(rows) => Box::new(
                rows.range::<[u8], _>((Included(slice.start.order()), Excluded(slice.end.order()))).map(|(_, row)| row),
            ),
        }
    }

    /// The row at `clustering`, made empty when it is not there.
    pub fn get_or_insert(&mut self, clustering: &Clustering) -> &mut Row {
        if let Rows::Few(rows) = self
            && rows.len() == FEW_ROWS_MAX
            && rows.binary_search_by(|row| row.clustering.cmp(clustering)).is_err()
        {
            let rows = std::mem::take(rows);
            *self = Rows::Many(rows.into_iter().map(|row| (Blob::from(row.clustering.order()), row)).collect());
        }
        match self {
            Rows::Few(rows) => match rows.binary_search_by(|row| row.clustering.cmp(clustering)) {
                Ok(at) => &mut rows[at],
                Err(at) => {
                    rows.insert(at, Row::new(clustering.clone()));
                    &mut rows[at]
                }
            },
            Rows::Many(rows) => {
                rows.entry(Blob::from(clustering.order())).or_insert_with(|| Row::new(clustering.clone()))
            }
        }
    }

    fn into_rows(self) -> Vec<Row> {
        match self {
            Rows::Few(rows) => rows,
            Rows::Many(rows) => rows.into_values().collect(),
        }
    }

    fn slot_bytes(&self) -> usize {
        match self {
            Rows::Few(rows) => rows.capacity() * size_of::<Row>(),
            Rows::Many(rows) => rows.len() * (size_of::<(Blob, Row)>() + 8),
        }
    }
}

impl Partition {
    #[must_use]
    pub fn new(key: PartitionKey) -> Self {
        Self {
            key,
            deletion: DeletionTime::LIVE,
            static_row: None,
            rows: Rows::default(),
            range_tombstones: RangeTombstones::default(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deletion.is_live() && self.static_row.is_none() && self.rows.is_empty() && self.range_tombstones.is_empty()
    }

    pub fn static_row_mut(&mut self) -> &mut Row {
        self.static_row.get_or_insert_with(|| Box::new(Row::new(Clustering::empty())))
    }

    pub fn row_mut(&mut self, clustering: &Clustering) -> &mut Row {
        self.rows.get_or_insert(clustering)
    }

    pub fn delete_range(&mut self, slice: Slice, deletion: DeletionTime) {
        self.range_tombstones.insert(RangeTombstone { slice, deletion });
    }

    /// Merges `new`, a partition of the same key; answers by how many bytes the heap grew (negative: shrank).
    pub fn absorb(&mut self, new: Partition, rule: CellRule) -> isize {
        let mut grown = 0isize;
        let signed = |bytes: usize| isize::try_from(bytes).unwrap_or(isize::MAX);
        self.deletion = self.deletion.max(new.deletion);
        for tombstone in new.range_tombstones.iter() {
            grown += self.range_tombstones.insert(tombstone.clone());
        }
        if let Some(row) = new.static_row {
            match &mut self.static_row {
                None => {
                    grown += signed(size_of::<Row>() + row.heap_bytes());
                    self.static_row = Some(row);
                }
                Some(existing) => grown += reconcile::merge_row(existing, *row, self.deletion, rule),
            }
        }
        let slots_before = self.rows.slot_bytes();
        for row in new.rows.into_rows() {
            let outer = match rule {
                CellRule::Regular => DeletionTime::LIVE,
                CellRule::Counter => self.deletion.max(self.range_tombstones.deletion_at(&row.clustering)),
            };
            let rows_before = self.rows.len();
            let existing = self.rows.get_or_insert(&row.clustering);
            let own_before = existing.heap_bytes();
            grown += reconcile::merge_row(existing, row, outer, rule);
            if rows_before < self.rows.len() {
                grown += signed(own_before);
            }
        }
        grown + signed(self.rows.slot_bytes()) - signed(slots_before)
    }

    /// Rows and markers of one slice in reading direction, at most `rows_max` rows and `BATCH_RANGES_MAX` range
    /// tombstones; markers are clipped to the slice.
    ///
    /// The answer's `resume` is where to go on ([`Slice`] shrunk to what is left), `None` when the slice is exhausted.
    /// A cut batch closes its open marker at the cut and the next one opens it again.
    #[must_use]
    pub fn unfiltered(&self, slice: &Slice, direction: Direction, rows_max: usize) -> Batch {
        let cut = self.ranges_cut(slice, direction);
        let within = match (direction, &cut) {
            (_, None) => slice.clone(),
            (Direction::Forward, Some(cut)) => Slice { start: slice.start.clone(), end: cut.clone() },
            (Direction::Reversed, Some(cut)) => Slice { start: cut.clone(), end: slice.end.clone() },
        };
        let mut rows = self.rows.between(&within);
        let taken: Vec<&Row> = match direction {
            Direction::Forward => rows.by_ref().take(rows_max).collect(),
            Direction::Reversed => rows.by_ref().rev().take(rows_max).collect(),
        };
        let more = match direction {
            Direction::Forward => rows.next().is_some(),
            Direction::Reversed => rows.next_back().is_some(),
        };
        let rest_after_cut = cut.map(|cut| match direction {
            Direction::Forward => Slice { start: cut, end: slice.end.clone() },
            Direction::Reversed => Slice { start: slice.start.clone(), end: cut },
        });
        let mut covered = within;
        let resume = taken.last().filter(|_| more).map(|last| {
            let mut rest = slice.clone();
            match direction {
                Direction::Forward => {
                    covered.end = last.clustering.as_bound(crate::key::Side::After);
                    rest.start = covered.end.clone();
                }
                Direction::Reversed => {
                    covered.start = last.clustering.as_bound(crate::key::Side::Before);
                    rest.end = covered.start.clone();
                }
            }
            rest
        });
        let markers = self.markers(&covered, direction);
        Batch { items: interleave(taken, markers, direction), resume: resume.or(rest_after_cut) }
    }

    /// Where a batch ends because more range tombstones than one may hold follow.
    fn ranges_cut(&self, slice: &Slice, direction: Direction) -> Option<Bound> {
        if self.range_tombstones.len() <= BATCH_RANGES_MAX {
            return None;
        }
        let mut overlapping = self.range_tombstones.overlapping(slice);
        match direction {
            Direction::Forward => overlapping.nth(BATCH_RANGES_MAX).map(|first| first.slice.start.clone()),
            Direction::Reversed => overlapping.nth_back(BATCH_RANGES_MAX).map(|first| first.slice.end.clone()),
        }
    }

    fn markers(&self, slice: &Slice, direction: Direction) -> Vec<Marker> {
        if self.range_tombstones.is_empty() || slice.is_empty() {
            return Vec::new();
        }
        let clip = |tombstone: &RangeTombstone| {
            let start = tombstone.slice.start.clone().max(slice.start.clone());
            let end = tombstone.slice.end.clone().min(slice.end.clone());
            match direction {
                Direction::Forward => (start, end, tombstone.deletion),
                Direction::Reversed => (end, start, tombstone.deletion),
            }
        };
        let ranges: Vec<(Bound, Bound, DeletionTime)> = match direction {
            Direction::Forward => self.range_tombstones.overlapping(slice).map(clip).collect(),
            Direction::Reversed => self.range_tombstones.overlapping(slice).rev().map(clip).collect(),
        };
        let mut markers: Vec<Marker> = Vec::with_capacity(2 * ranges.len());
        for (begin, end, deletion) in ranges {
            match markers.last_mut() {
                Some(last) if last.position == begin => last.begins = Some(deletion),
                _ => markers.push(Marker { position: begin, ends: None, begins: Some(deletion) }),
            }
            markers.push(Marker { position: end, ends: Some(deletion), begins: None });
        }
        markers
    }

    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.key.heap_bytes()
            + self.static_row.as_ref().map_or(0, |row| size_of::<Row>() + row.heap_bytes())
            + self.rows.slot_bytes()
            + self.rows.iter().map(Row::heap_bytes).sum::<usize>()
            + self.range_tombstones.heap_bytes()
    }
}

/// A run of rows and markers; see [`Partition::unfiltered`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub items: Vec<Unfiltered>,
    pub resume: Option<Slice>,
}

fn interleave(rows: Vec<&Row>, markers: Vec<Marker>, direction: Direction) -> Vec<Unfiltered> {
    let mut items = Vec::with_capacity(rows.len() + markers.len());
    let mut markers = markers.into_iter().peekable();
    for row in rows {
        while let Some(marker) =
            markers.next_if(|marker| direction.compare(marker.position.order(), row.clustering.order()).is_lt())
        {
            items.push(Unfiltered::Marker(marker));
        }
        items.push(Unfiltered::Row(row.clone()));
    }
    items.extend(markers.map(Unfiltered::Marker));
    items
}
