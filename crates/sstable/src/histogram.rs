//! Estimated histogram: counts of values in buckets that grow by a fifth each; partition sizes and cells per partition.
//!
//! ```text
//! i32 buckets, then a bucket: i64 largest value of the bucket before (of the first, for the first), i64 count
//! ```
//!
//! Source: Cassandra 5.0, `utils.EstimatedHistogram`.

use crate::input::{Decoded, Input};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstimatedHistogram {
    /// Largest value of each bucket but the last one, which holds everything above.
    offsets: Vec<i64>,
    counts: Vec<i64>,
}

impl EstimatedHistogram {
    #[must_use]
    pub fn new(bucket_count: usize) -> Self {
        let mut offsets = Vec::with_capacity(bucket_count);
        let mut last = 1i64;
        offsets.push(last);
        while offsets.len() < bucket_count {
            let next = (last as f64 * 1.2 + 0.5).floor() as i64;
            last = if next == last { next + 1 } else { next };
            offsets.push(last);
        }
        let counts = vec![0; offsets.len() + 1];
        Self { offsets, counts }
    }

    pub fn add(&mut self, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        let bucket = self.offsets.partition_point(|offset| *offset < value);
        self.counts[bucket] += 1;
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0u64, |sum, count| sum.saturating_add(count.unsigned_abs()))
    }

    /// Mean of the values, each taken as the largest of its bucket.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let (mut sum, mut count) = (0f64, 0f64);
        for (offset, bucket) in self.offsets.iter().zip(&self.counts) {
            sum += *offset as f64 * *bucket as f64;
            count += *bucket as f64;
        }
        if count == 0.0 { 0.0 } else { sum / count }
    }

    /// Largest value of the bucket in which `share` (0 to 1) of all values lie; 0 without values.
    #[must_use]
    pub fn percentile(&self, share: f64) -> u64 {
        let wanted = (self.count() as f64 * share).ceil();
        let mut seen = 0f64;
        for (offset, count) in self.offsets.iter().zip(&self.counts) {
            seen += *count as f64;
            if 0.0 < seen && wanted <= seen {
                return offset.unsigned_abs();
            }
        }
        if self.count() == 0 { 0 } else { u64::MAX }
    }

    pub fn max(&self) -> u64 {
        self.percentile(1.0)
    }

    /// Smallest value that the first bucket with anything in it may hold; 0 without values.
    #[must_use]
    pub fn min(&self) -> u64 {
        match self.counts.iter().position(|count| 0 < *count) {
            None | Some(0) => 0,
            Some(bucket) => self.offsets[bucket - 1].unsigned_abs().saturating_add(1),
        }
    }

    /// Adds another one's values, each taken as the largest of its bucket where the buckets differ.
    pub fn merge(&mut self, other: &EstimatedHistogram) {
        for (at, count) in other.counts.iter().enumerate().filter(|(_, count)| 0 < **count) {
            let bucket = match other.offsets.get(at) {
                _ if self.offsets == other.offsets => at,
                Some(offset) => self.offsets.partition_point(|own| own < offset),
                None => self.offsets.len(),
            };
            self.counts[bucket] = self.counts[bucket].saturating_add(*count);
        }
    }

    /// Non-empty buckets: largest value (`u64::MAX` for the overflow), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let offsets = self.offsets.iter().map(|offset| offset.unsigned_abs()).chain(std::iter::once(u64::MAX));
        offsets.zip(self.counts.iter().map(|count| count.unsigned_abs())).filter(|(_, count)| 0 < *count)
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&i32::try_from(self.counts.len()).unwrap_or(i32::MAX).to_be_bytes());
        for (at, count) in self.counts.iter().enumerate() {
            out.extend_from_slice(&self.offsets[at.saturating_sub(1)].to_be_bytes());
            out.extend_from_slice(&count.to_be_bytes());
        }
    }

    pub(crate) fn get(input: &mut Input<'_>) -> Decoded<Self> {
        let bucket_count = input.i32_count_of(16, "a count of buckets that fits the file")?;
        if bucket_count < 2 {
            return input.malformed("at least two buckets", bucket_count);
        }
        let mut offsets = vec![0; bucket_count - 1];
        let mut counts = vec![0; bucket_count];
        for at in 0..bucket_count {
            offsets[at.saturating_sub(1)] = input.i64()?;
            counts[at] = input.i64()?.max(0);
        }
        Ok(Self { offsets, counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_the_bucket_whose_largest_value_is_not_below_them() {
        let mut histogram = EstimatedHistogram::new(10);
        assert_eq!(histogram.offsets, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12]);
        [0, 1, 9, 10, 11, 1000].into_iter().for_each(|value| histogram.add(value));
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets, [(1, 2), (10, 2), (12, 1), (u64::MAX, 1)]);
        assert_eq!(histogram.percentile(0.5), 10);
        assert_eq!(histogram.min(), 0);

        let mut other = EstimatedHistogram::new(20);
        other.add(9);
        other.add(13);
        assert_eq!(other.min(), 9);
        histogram.merge(&other);
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets, [(1, 2), (10, 3), (12, 1), (u64::MAX, 2)]);

        let mut bytes = Vec::new();
        histogram.put(&mut bytes);
        assert_eq!(EstimatedHistogram::get(&mut Input::new(&bytes)), Ok(histogram));
    }
}
