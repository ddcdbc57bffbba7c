//! `Summary.db`: every n-th partition key with its place in Index.db, held in memory for binary search.
//!
//! ```text
//! i32 n (min_index_interval), i32 entries, i64 bytes of offsets and entries, i32 sampling level (128: nothing was
//! left out since), i32 entries at full sampling
//! an entry: its offset, u32 little-endian, from the start of these offsets
//! an entry: key, u64 little-endian position in Index.db
//! i32 length, first key, i32 length, last key
//! ```
//!
//! Source: Cassandra 5.0, `io.sstable.indexsummary.IndexSummary`.

use helenus_data::PartitionKey;
use helenus_types::token::Token;

use crate::error::DecodeError;
use crate::input::{Decoded, Input};

const FULL_SAMPLING: i32 = 128;
const POSITION_BYTES: usize = 8;

/// Collects every n-th key of a file being written.
#[derive(Debug)]
pub(crate) struct SummaryBuilder {
    interval: u64,
    keys: u64,
    summary: Summary,
}

#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// How many keys of the file stand between two entries.
    interval: u64,
    tokens: Vec<Token>,
    /// Where in `bytes` the key of an entry starts; it ends 8 bytes before the next entry.
    starts: Vec<u32>,
    /// Keys and positions as they stand in the file.
    bytes: Vec<u8>,
}

impl SummaryBuilder {
    pub(crate) fn new(interval: i32) -> Self {
        let interval = u64::try_from(interval).unwrap_or(0).max(1);
        Self { interval, keys: 0, summary: Summary { interval, ..Summary::default() } }
    }

    pub(crate) fn add(&mut self, key: &PartitionKey, index_position: u64) {
        let is_sampled = self.keys.is_multiple_of(self.interval);
        self.keys += 1;
        if is_sampled && let Ok(start) = u32::try_from(self.summary.bytes.len()) {
            self.summary.tokens.push(key.token());
            self.summary.starts.push(start);
            self.summary.bytes.extend_from_slice(key.bytes());
            self.summary.bytes.extend_from_slice(&index_position.to_le_bytes());
        }
    }

    pub(crate) fn finish(self) -> Summary {
        self.summary
    }

    pub(crate) fn put(&self, first: &[u8], last: &[u8], out: &mut Vec<u8>) {
        let i32_of = |number: u64| i32::try_from(number).unwrap_or(i32::MAX).to_be_bytes();
        let summary = &self.summary;
        let offsets_bytes = 4 * summary.starts.len();
        out.extend_from_slice(&i32_of(self.interval));
        out.extend_from_slice(&i32_of(summary.starts.len() as u64));
        out.extend_from_slice(&((offsets_bytes + summary.bytes.len()) as u64).to_be_bytes());
        out.extend_from_slice(&FULL_SAMPLING.to_be_bytes());
        out.extend_from_slice(&i32_of(self.keys.div_ceil(self.interval)));
        for start in &summary.starts {
            out.extend_from_slice(
                &start.saturating_add(u32::try_from(offsets_bytes).unwrap_or(u32::MAX)).to_le_bytes(),
            );
        }
        out.extend_from_slice(&summary.bytes);
        for key in [first, last] {
            out.extend_from_slice(&i32_of(key.len() as u64));
            out.extend_from_slice(key);
        }
    }
}

impl Summary {
    /// The summary and the file's first and last key.
    pub(crate) fn get(bytes: &[u8]) -> Decoded<(Self, PartitionKey, PartitionKey)> {
        let mut input = Input::new(bytes);
        let interval = u64::try_from(input.i32()?).unwrap_or(0).max(1);
        let count = input.i32_count("a count of entries")?;
        let body_bytes = input.i64()?;
        let sampling = u64::try_from(input.i32()?).unwrap_or(0).max(1);
        let _full_count = input.i32()?;
        let entries_bytes = usize::try_from(body_bytes).ok().and_then(|bytes| bytes.checked_sub(count.checked_mul(4)?));
        let Some(entries_bytes) = entries_bytes.filter(|_| 0 < count) else {
            return input.malformed("entries and their size", format!("{count} entries of {body_bytes} bytes"));
        };
        let offsets = input.take(4 * count)?;
        let entries = input.take(entries_bytes)?;
        let mut summary = Summary {
            interval: interval.saturating_mul(FULL_SAMPLING.unsigned_abs().into()) / sampling,
            tokens: Vec::with_capacity(count),
            starts: Vec::with_capacity(count),
            bytes: entries.to_vec(),
        };
        for offset in offsets.as_chunks::<4>().0 {
            let start = u32::from_le_bytes(*offset).checked_sub((4 * count) as u32);
            let Some(start) = start.filter(|start| summary.starts.last().is_none_or(|last| last < start)) else {
                return input.malformed("ascending offsets of entries", format!("{offset:?}"));
            };
            summary.starts.push(start);
        }
        for entry in 0..count {
            let key = summary.key(entry).ok_or(DecodeError::Malformed {
                at: input.at(),
                expected: "an entry of a key and 8 bytes",
                found: format!("entry {entry}"),
            })?;
            summary.tokens.push(Token::of_key(key));
        }
        let first = PartitionKey::new(input.i32_bytes("the first key's length")?);
        let last = PartitionKey::new(input.i32_bytes("the last key's length")?);
        Ok((summary, first, last))
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * 4 + self.tokens.capacity() * 8
    }

    /// About how many of the file's `keys` have tokens up to `token`. Between two entries, tokens are taken to lie evenly,
    /// as hashes do.
    pub(crate) fn keys_up_to(&self, token: Token, last: Token, keys: u64) -> u64 {
        if last <= token {
            return keys;
        }
        let after = self.tokens.partition_point(|entry| *entry <= token);
        let Some(before) = after.checked_sub(1) else { return 0 };
        // An entry is itself up to its token.
        let rank = |entry: usize| (entry as u64).saturating_mul(self.interval).saturating_add(1).min(keys);
        let (low, low_rank) = (self.tokens[before], rank(before));
        let (high, high_rank) = self.tokens.get(after).map_or((last, keys), |high| (*high, rank(after)));
        let share = low.0.abs_diff(token.0) as f64 / low.0.abs_diff(high.0).max(1) as f64;
        low_rank + (share * high_rank.saturating_sub(low_rank) as f64) as u64
    }

    /// Bytes from the start of an entry to its end, its position included.
    fn entry(&self, entry: usize) -> Option<&[u8]> {
        let start = *self.starts.get(entry)? as usize;
        let end = self.starts.get(entry + 1).map_or(self.bytes.len(), |next| *next as usize);
        self.bytes.get(start..end)
    }

    fn key(&self, entry: usize) -> Option<&[u8]> {
        let entry = self.entry(entry)?;
        entry.len().checked_sub(POSITION_BYTES).map(|len| &entry[..len])
    }

    fn position(&self, entry: usize) -> Option<u64> {
        let position = self.entry(entry)?.last_chunk::<POSITION_BYTES>()?;
        Some(u64::from_le_bytes(*position))
    }

    /// Where in Index.db the block of keys starts that holds `key` if the file does, and where it ends (`None`: with the
    /// file); nothing when the key stands before all.
    pub(crate) fn block_of(&self, key: &PartitionKey) -> Option<(u64, Option<u64>)> {
        let after = self.count_where(|token, bytes| (token, bytes) <= (key.token(), key.bytes()));
        let entry = after.checked_sub(1)?;
        Some((self.position(entry)?, self.position(after)))
    }

    /// How many of the first entries satisfy a condition that holds for a prefix of them.
    pub(crate) fn count_where(&self, mut holds: impl FnMut(Token, &[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let key = self.key(middle).unwrap_or_default();
            if holds(self.tokens[middle], key) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The place of an entry in Index.db; the first place for one before all entries.
    pub(crate) fn position_or_start(&self, entry: Option<usize>) -> u64 {
        entry.and_then(|entry| self.position(entry)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_up_to_a_token_are_counted_by_entries_and_evenly_between_them() {
        let mut keys: Vec<_> = (0..1_000u32).map(|i| PartitionKey::new(&i.to_be_bytes())).collect();
        keys.sort();
        let mut builder = SummaryBuilder::new(128);
        for (position, key) in (0..).zip(&keys) {
            builder.add(key, position);
        }
        let mut bytes = Vec::new();
        builder.put(keys[0].bytes(), keys[999].bytes(), &mut bytes);
        let (read, first, last) = Summary::get(&bytes).expect("a summary");
        let count = |token: Token| read.keys_up_to(token, last.token(), 1_000);
        assert_eq!(count(Token(first.token().0 - 1)), 0);
        assert_eq!((count(first.token()), count(last.token()), count(Token::MAX)), (1, 1_000, 1_000));
        for (rank, key) in (1..).zip(&keys) {
            assert!(count(key.token()).abs_diff(rank) <= 32, "{rank}: {}", count(key.token()));
        }
        assert_eq!(count(keys[256].token()), 257, "an entry's rank is known");
    }

    #[test]
    fn a_key_is_looked_for_in_the_block_whose_sample_is_the_last_not_after_it() {
        let mut keys: Vec<_> = (0..10u32).map(|i| PartitionKey::new(&i.to_be_bytes())).collect();
        keys.sort();
        let mut builder = SummaryBuilder::new(4);
        keys.iter().enumerate().for_each(|(i, key)| builder.add(key, 100 * i as u64));
        let mut bytes = Vec::new();
        builder.put(keys[0].bytes(), keys[9].bytes(), &mut bytes);
        let (summary, first, last) = Summary::get(&bytes).unwrap();
        assert_eq!((&first, &last), (&keys[0], &keys[9]));
        assert_eq!(summary.block_of(&keys[0]), Some((0, Some(400))));
        assert_eq!(summary.block_of(&keys[3]), Some((0, Some(400))));
        assert_eq!(summary.block_of(&keys[4]), Some((400, Some(800))));
        assert_eq!(summary.block_of(&keys[9]), Some((800, None)));
        for cut in 0..bytes.len() {
            assert!(Summary::get(&bytes[..cut]).is_err());
        }
    }
}
