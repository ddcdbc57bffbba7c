//! Size-tiered compaction: files of about the same size are merged once there are enough of them.
//!
//! Pure: from what is on disk to what to compact.
//!
//! Source: Cassandra 5.0, `db.compaction.SizeTieredCompactionStrategy`, `SizeTieredCompactionStrategyOptions`.

use std::collections::BTreeMap;

/// What a strategy knows of a file that may be compacted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// On disk.
    pub bytes: u64,
    /// Seconds since 1970 at which the file was written.
    pub created_secs: i64,
    /// Estimated part of its cells that are tombstones past their grace.
    pub droppable_ratio: f64,
    /// Whether purging could drop them: nothing older overlaps the file.
    pub can_drop_tombstones: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SizeTiered {
    pub enabled: bool,
    bucket_low: f64,
    bucket_high: f64,
    min_sstable_bytes: u64,
    min_threshold: usize,
    max_threshold: usize,
    tombstone_threshold: f64,
    tombstone_interval_secs: i64,
    unchecked_tombstones: bool,
}

/// Indexes into the candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Merge(Vec<usize>),
    DropTombstones(usize),
}

impl SizeTiered {
    /// Options that cannot be read have their defaults: whoever set them was told so by CREATE TABLE.
    pub fn of_options(options: &BTreeMap<String, String>) -> Self {
        let number = |name: &str, default: f64| {
            options.get(name).and_then(|text| text.parse::<f64>().ok()).filter(|it| it.is_finite()).unwrap_or(default)
        };
        let count = |name: &str, default: usize| {
            options.get(name).and_then(|text| text.parse::<usize>().ok()).unwrap_or(default)
        };
        let is_set =
            |name: &str, default: bool| options.get(name).map_or(default, |text| text.eq_ignore_ascii_case("true"));
        Self {
            enabled: is_set("enabled", true) && 0 < count("max_threshold", 32),
            bucket_low: number("bucket_low", 0.5),
            bucket_high: number("bucket_high", 1.5),
            min_sstable_bytes: count("min_sstable_size", 50 << 20) as u64,
            min_threshold: count("min_threshold", 4).max(2),
            max_threshold: count("max_threshold", 32).max(2),
            tombstone_threshold: number("tombstone_threshold", 0.2),
            tombstone_interval_secs: number("tombstone_compaction_interval", 86_400.0) as i64,
            unchecked_tombstones: is_set("unchecked_tombstone_compaction", false),
        }
    }

    /// What to compact next: the bucket of the smallest files that is full, else the file with most droppable tombstones.
    pub fn choose(&self, candidates: &[Candidate], now_secs: i64) -> Option<Choice> {
        let full = self.full_buckets(candidates);
        let smallest = full.into_iter().min_by_key(|bucket| {
            let bytes: u64 = bucket.iter().map(|index| candidates[*index].bytes).sum();
            bytes / bucket.len() as u64
        });
        if let Some(mut bucket) = smallest {
            bucket.truncate(self.max_threshold);
            return Some(Choice::Merge(bucket));
        }
        let droppable = candidates.iter().enumerate().filter(|(_, candidate)| {
            self.tombstone_threshold < candidate.droppable_ratio
                && candidate.created_secs + self.tombstone_interval_secs < now_secs
                && (self.unchecked_tombstones || candidate.can_drop_tombstones)
        });
        droppable
            .max_by(|(_, a), (_, b)| a.droppable_ratio.total_cmp(&b.droppable_ratio))
            .map(|(index, _)| Choice::DropTombstones(index))
    }

    /// How many merges are due.
    pub fn pending(&self, candidates: &[Candidate]) -> usize {
        self.full_buckets(candidates).iter().map(|bucket| bucket.len().div_ceil(self.max_threshold)).sum()
    }

    fn full_buckets(&self, candidates: &[Candidate]) -> Vec<Vec<usize>> {
        let mut buckets = self.buckets(candidates);
        buckets.retain(|bucket| self.min_threshold <= bucket.len());
        buckets
    }

    /// Files of similar size, smallest first, and within a bucket likewise.
    fn buckets(&self, candidates: &[Candidate]) -> Vec<Vec<usize>> {
        let mut by_size: Vec<usize> = (0..candidates.len()).collect();
        by_size.sort_by_key(|index| (candidates[*index].bytes, *index));
        let mut buckets: Vec<(f64, Vec<usize>)> = Vec::new();
        for index in by_size {
            let bytes = candidates[index].bytes as f64;
            let small = self.min_sstable_bytes as f64;
            let fits = |average: f64| {
                (average * self.bucket_low < bytes && bytes < average * self.bucket_high)
                    || (bytes < small && average < small)
            };
            match buckets.iter_mut().find(|(average, _)| fits(*average)) {
                Some((average, bucket)) => {
                    let count = bucket.len() as f64;
                    *average = (*average * count + bytes) / (count + 1.0);
                    bucket.push(index);
                }
                None => buckets.push((bytes, vec![index])),
            }
        }
        buckets.into_iter().map(|(_, bucket)| bucket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn files(megabytes: &[u64]) -> Vec<Candidate> {
        let file = |mib: &u64| Candidate {
            bytes: mib * MIB,
            created_secs: 0,
            droppable_ratio: 0.0,
            can_drop_tombstones: true,
        };
        megabytes.iter().map(file).collect()
    }

    fn strategy(options: &[(&str, &str)]) -> SizeTiered {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        SizeTiered::of_options(&options.iter().map(owned).collect())
    }

    #[test]
    fn four_files_of_like_size_are_merged_and_three_are_not() {
        let defaults = strategy(&[]);
        assert_eq!(defaults.choose(&files(&[100, 110, 90]), 0), None);
        assert_eq!(defaults.choose(&files(&[100, 110, 90, 1_000, 120]), 0), Some(Choice::Merge(vec![2, 0, 1, 4])));
        assert_eq!(defaults.pending(&files(&[100, 110, 90, 1_000, 120])), 1);
    }

    #[test]
    fn files_below_the_minimum_size_are_one_bucket_and_come_first() {
        let mixed = files(&[200, 200, 200, 200, 1, 40, 3, 20]);
        assert_eq!(strategy(&[]).choose(&mixed, 0), Some(Choice::Merge(vec![4, 6, 7, 5])));
    }

    #[test]
    fn no_more_than_the_maximum_are_merged_at_once() {
        let many = files(&[10; 40]);
        let Some(Choice::Merge(chosen)) = strategy(&[("max_threshold", "8")]).choose(&many, 0) else {
            unreachable!("forty files of one size make a full bucket")
        };
        assert_eq!(chosen.len(), 8);
    }

    #[test]
    fn a_lone_file_full_of_old_tombstones_is_rewritten_once_a_day() {
        let mut lone = files(&[100]);
        lone[0].droppable_ratio = 0.5;
        assert_eq!(strategy(&[]).choose(&lone, 86_400), None);
        assert_eq!(strategy(&[]).choose(&lone, 86_401), Some(Choice::DropTombstones(0)));
        lone[0].can_drop_tombstones = false;
        assert_eq!(strategy(&[]).choose(&lone, 90_000), None);
        let unchecked = strategy(&[("unchecked_tombstone_compaction", "true")]);
        assert_eq!(unchecked.choose(&lone, 90_000), Some(Choice::DropTombstones(0)));
    }

    #[test]
    fn a_table_may_switch_compaction_off() {
        assert!(strategy(&[]).enabled);
        assert!(!strategy(&[("enabled", "false")]).enabled);
    }
}
