//! How many tombstones (and expiring cells) become droppable when: at most 100 points in time, near ones merged.
//!
//! ```text
//! i32 bins, i32 bins, then a bin: f64 local deletion time (seconds since 1970), i64 count
//! ```
//!
//! Source: Cassandra 5.0, `utils.streamhist.StreamingTombstoneHistogramBuilder`; Ben-Haim and Tom-Tov, "A Streaming
//! Parallel Decision Tree Algorithm", JMLR 11, 2010.

use std::collections::BTreeMap;

use crate::encoding_stats::{local_secs_of_nb, nb_local_secs};
use crate::input::{Decoded, Input};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TombstoneHistogram {
    bins: BTreeMap<u32, u64>,
}

const BINS_MAX: usize = 100;
const ROUND_SECS: u32 = 60;

impl TombstoneHistogram {
    pub(crate) fn add(&mut self, local_secs: u32) {
        let rounded = local_secs.div_ceil(ROUND_SECS).saturating_mul(ROUND_SECS);
        *self.bins.entry(rounded).or_default() += 1;
        // Collected with slack, so that the search for the nearest pair is paid for by many values.
        if 4 * BINS_MAX < self.bins.len() {
            self.shrink();
        }
    }

    pub(crate) fn shrink(&mut self) {
        while BINS_MAX < self.bins.len() {
            let pairs = self.bins.iter().zip(self.bins.iter().skip(1));
            let nearest = pairs.map(|((a, n), (b, m))| (b - a, *a, *n, *b, *m)).min();
            let Some((gap, a, n, b, m)) = nearest else { return };
            self.bins.remove(&a);
            self.bins.remove(&b);
            // The weighted mean, moved up to a full minute so that no tombstone is taken for droppable too early.
            let share = u64::from(gap).saturating_mul(m) / n.saturating_add(m).max(1);
            let mean = a.saturating_add(u32::try_from(share).unwrap_or(gap));
            let point = mean.div_ceil(ROUND_SECS).saturating_mul(ROUND_SECS).min(b);
            *self.bins.entry(point).or_default() += n + m;
        }
    }

    /// About how many were deleted (or expire) before `secs`.
    #[must_use]
    pub fn droppable_before(&self, secs: u32) -> f64 {
        self.bins.range(..=secs).map(|(_, count)| *count as f64).sum()
    }

    /// Seconds since 1970, count.
    pub fn bins(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.bins.iter().map(|(secs, count)| (*secs, *count))
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let count = i32::try_from(self.bins.len()).unwrap_or(i32::MAX).to_be_bytes();
        out.extend_from_slice(&count);
        out.extend_from_slice(&count);
        for (secs, count) in &self.bins {
            out.extend_from_slice(&(nb_local_secs(*secs) as f64).to_be_bytes());
            out.extend_from_slice(&i64::try_from(*count).unwrap_or(i64::MAX).to_be_bytes());
        }
    }

    pub(crate) fn get(input: &mut Input<'_>) -> Decoded<Self> {
        let _bins_max = input.i32()?;
        let count = input.i32_count_of(16, "a count of bins that fits the file")?;
        let mut bins = BTreeMap::new();
        for _ in 0..count {
            let secs = input.f64()?;
            let count = input.i64()?;
            let bin: &mut u64 = bins.entry(local_secs_of_nb(secs as i64)).or_default();
            *bin = bin.saturating_add(count.max(0).unsigned_abs());
        }
        Ok(Self { bins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_points_merge_and_none_is_lost() {
        let mut histogram = TombstoneHistogram::default();
        (0..10_000u32).for_each(|i| histogram.add(1_700_000_000 + i * 77));
        histogram.shrink();
        assert_eq!(histogram.bins().count(), BINS_MAX);
        assert_eq!(histogram.bins().map(|(_, count)| count).sum::<u64>(), 10_000);
        assert_eq!(histogram.droppable_before(1_600_000_000), 0.0);

        let mut bytes = Vec::new();
        histogram.put(&mut bytes);
        assert_eq!(TombstoneHistogram::get(&mut Input::new(&bytes)), Ok(histogram));
    }
}
