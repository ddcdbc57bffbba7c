//! Clusterings and bounds as rows, markers and index entries hold them.
//!
//! ```text
//! values   per 32 columns: a vint header of two bits a column (1: empty value, 2: null), then the values that are
//!          neither, each as its type is written: bare when of fixed length, else after a vint length
//! row      values of all clustering columns
//! bound    kind (1 byte), count (u16), values
//! prefix   kind 4 and values, or a bound
//! ```
//!
//! Source: Cassandra 5.0, `db.ClusteringPrefix.Serializer`, `db.ClusteringBoundOrBoundary.Serializer`.

use helenus_data::{Bound, Clustering, Marker, RawValues, Side, Unfiltered};
use smallvec::SmallVec;

use crate::input::{Decoded, Input};
use crate::layout::Layout;
use crate::vint;

/// Ordinals of `ClusteringPrefix.Kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefixKind {
    ExclusiveEnd = 0,
    InclusiveStart = 1,
    ExclusiveEndInclusiveStart = 2,
    Clustering = 4,
    InclusiveEndExclusiveStart = 5,
    InclusiveEnd = 6,
    ExclusiveStart = 7,
}

const COLUMNS_PER_HEADER: usize = 32;
const VALUE_BYTES_MAX: usize = u16::MAX as usize;

type Values<'a> = SmallVec<[&'a [u8]; 4]>;

impl PrefixKind {
    pub(crate) fn of_marker(marker: &Marker) -> Option<Self> {
        match (marker.ends.is_some(), marker.begins.is_some(), marker.position.side()) {
            (true, false, Side::Before) => Some(PrefixKind::ExclusiveEnd),
            (true, false, Side::After) => Some(PrefixKind::InclusiveEnd),
            (false, true, Side::Before) => Some(PrefixKind::InclusiveStart),
            (false, true, Side::After) => Some(PrefixKind::ExclusiveStart),
            (true, true, Side::Before) => Some(PrefixKind::ExclusiveEndInclusiveStart),
            (true, true, Side::After) => Some(PrefixKind::InclusiveEndExclusiveStart),
            (false, false, _) => None,
        }
    }

    fn get(input: &mut Input<'_>) -> Decoded<Self> {
        let at = input.clone();
        Ok(match input.u8()? {
            0 => PrefixKind::ExclusiveEnd,
            1 => PrefixKind::InclusiveStart,
            2 => PrefixKind::ExclusiveEndInclusiveStart,
            4 => PrefixKind::Clustering,
            5 => PrefixKind::InclusiveEndExclusiveStart,
            6 => PrefixKind::InclusiveEnd,
            7 => PrefixKind::ExclusiveStart,
            other => return at.malformed("the kind of a clustering prefix", other),
        })
    }

    pub(crate) fn side(self) -> Side {
        match self {
            PrefixKind::ExclusiveEnd | PrefixKind::InclusiveStart | PrefixKind::ExclusiveEndInclusiveStart => {
                Side::Before
            }
            PrefixKind::Clustering
            | PrefixKind::InclusiveEndExclusiveStart
            | PrefixKind::InclusiveEnd
            | PrefixKind::ExclusiveStart => Side::After,
        }
    }

    pub(crate) fn ends(self) -> bool {
        matches!(
            self,
            PrefixKind::ExclusiveEnd
                | PrefixKind::InclusiveEnd
                | PrefixKind::ExclusiveEndInclusiveStart
                | PrefixKind::InclusiveEndExclusiveStart
        )
    }

    pub(crate) fn begins(self) -> bool {
        !self.ends() && self != PrefixKind::Clustering
            || matches!(self, PrefixKind::ExclusiveEndInclusiveStart | PrefixKind::InclusiveEndExclusiveStart)
    }
}

pub(crate) fn put_values(layout: &Layout, values: RawValues<'_>, out: &mut Vec<u8>) {
    let values: Values<'_> = values.collect();
    let lens = &layout.clustering_lens;
    for (values, lens) in values.chunks(COLUMNS_PER_HEADER).zip(lens.chunks(COLUMNS_PER_HEADER)) {
        let header = values.iter().enumerate().filter(|(_, value)| value.is_empty());
        vint::put(header.fold(0u64, |header, (at, _)| header | 1 << (2 * at)), out);
        for (value, fixed_len) in values.iter().zip(lens).filter(|(value, _)| !value.is_empty()) {
            if fixed_len.is_none() {
                vint::put(value.len() as u64, out);
            }
            out.extend_from_slice(value);
        }
    }
}

pub(crate) fn put_bound(layout: &Layout, kind: PrefixKind, bound: &Bound, out: &mut Vec<u8>) {
    out.push(kind as u8);
    let count = u16::try_from(bound.values().count()).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_be_bytes());
    put_values(layout, bound.values(), out);
}

/// The position of `item` as index entries hold it.
pub(crate) fn put_prefix(layout: &Layout, item: &Unfiltered, out: &mut Vec<u8>) {
    match item {
        Unfiltered::Row(row) => {
            out.push(PrefixKind::Clustering as u8);
            put_values(layout, row.clustering.values(), out);
        }
        Unfiltered::Marker(marker) => {
            if let Some(kind) = PrefixKind::of_marker(marker) {
                put_bound(layout, kind, &marker.position, out);
            }
        }
    }
}

fn get_values<'a>(layout: &Layout, count: usize, input: &mut Input<'a>) -> Decoded<Values<'a>> {
    let mut values = Values::new();
    let Some(lens) = layout.clustering_lens.get(..count) else {
        return input.malformed("at most as many values as clustering columns", count);
    };
    for lens in lens.chunks(COLUMNS_PER_HEADER) {
        let header = input.vint()?;
        for (at, fixed_len) in lens.iter().enumerate() {
            let is_absent = header >> (2 * at) & 0b11 != 0; // Empty, or null in tables of COMPACT STORAGE.
            let value = match fixed_len {
                _ if is_absent => &[],
                Some(len) => input.take(*len)?,
                None => input.vint_bytes("the length of a clustering value")?,
            };
            if VALUE_BYTES_MAX < value.len() {
                return input.malformed("a clustering value of at most 65535 bytes", value.len());
            }
            values.push(value);
        }
    }
    Ok(values)
}

pub(crate) fn get_clustering(layout: &Layout, input: &mut Input<'_>) -> Decoded<Clustering> {
    if layout.clustering_lens.is_empty() {
        return Ok(Clustering::empty());
    }
    let values = get_values(layout, layout.clustering_lens.len(), input)?;
    Ok(layout.clustering.clustering(&values))
}

/// A bound or boundary, its kind included.
pub(crate) fn get_bound(layout: &Layout, input: &mut Input<'_>) -> Decoded<(PrefixKind, Bound)> {
    let kind = PrefixKind::get(input)?;
    if kind == PrefixKind::Clustering {
        return input.malformed("the kind of a bound", "that of a row");
    }
    Ok((kind, get_bound_values(layout, kind, input)?))
}

fn get_bound_values(layout: &Layout, kind: PrefixKind, input: &mut Input<'_>) -> Decoded<Bound> {
    let count = usize::from(input.u16()?);
    let values = get_values(layout, count, input)?;
    Ok(layout.clustering.bound(&values, kind.side()))
}

/// The byte-comparable position of an index entry's prefix.
pub(crate) fn get_prefix_order(layout: &Layout, input: &mut Input<'_>) -> Decoded<Vec<u8>> {
    match PrefixKind::get(input)? {
        PrefixKind::Clustering => Ok(get_clustering(layout, input)?.order().to_vec()),
        kind => Ok(get_bound_values(layout, kind, input)?.order().to_vec()),
    }
}
