//! Bloom filter of partition keys: `Filter.db`.
//!
//! ```text
//! hash count (i32), words (i32), words × 8 bytes; bit i is bit i % 8 of byte i / 8
//! ```
//!
//! The i-th bit of a key is `|(h2 + i·h1) % bits|`, of the two halves of the key's murmur3 hash.
//! Source: Cassandra 5.0, `utils.BloomFilter`, `utils.BloomCalculations`, `utils.obs.OffHeapBitSet`.

use helenus_data::PartitionKey;
use helenus_types::token::murmur3_x64_128;

use crate::input::{Decoded, Input};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BloomFilter {
    hash_count: u32,
    bits: Vec<u8>,
}

/// False positives by bits per key and number of hashes (from 1), as Cassandra tabulates them.
const PROBABILITIES: [&[f64]; 19] = [
    &[0.393, 0.400],
    &[0.283, 0.237, 0.253],
    &[0.221, 0.155, 0.147, 0.160],
    &[0.181, 0.109, 0.092, 0.092, 0.101],
    &[0.154, 0.0804, 0.0609, 0.0561, 0.0578, 0.0638],
    &[0.133, 0.0618, 0.0423, 0.0359, 0.0347, 0.0364],
    &[0.118, 0.0489, 0.0306, 0.024, 0.0217, 0.0216, 0.0229],
    &[0.105, 0.0397, 0.0228, 0.0166, 0.0141, 0.0133, 0.0135, 0.0145],
    &[0.0952, 0.0329, 0.0174, 0.0118, 0.00943, 0.00844, 0.00819, 0.00846],
    &[0.0869, 0.0276, 0.0136, 0.00864, 0.0065, 0.00552, 0.00513, 0.00509],
    &[0.08, 0.0236, 0.0108, 0.00646, 0.00459, 0.00371, 0.00329, 0.00314],
    &[0.074, 0.0203, 0.00875, 0.00492, 0.00332, 0.00255, 0.00217, 0.00199, 0.00194],
    &[0.0689, 0.0177, 0.00718, 0.00381, 0.00244, 0.00179, 0.00146, 0.00129, 0.00121, 0.0012],
    &[0.0645, 0.0156, 0.00596, 0.003, 0.00183, 0.00128, 0.001, 0.000852, 0.000775, 0.000744],
    &[0.0606, 0.0138, 0.005, 0.00239, 0.00139, 0.000935, 0.000702, 0.000574, 0.000505, 0.00047, 0.000459],
    &[0.0571, 0.0123, 0.00423, 0.00193, 0.00107, 0.000692, 0.000499, 0.000394, 0.000335, 0.000302, 0.000287, 0.000284],
    &[0.054, 0.0111, 0.00362, 0.00158, 0.000839, 0.000519, 0.00036, 0.000275, 0.000226, 0.000198, 0.000183, 0.000176],
    &[
        0.0513, 0.00998, 0.00312, 0.0013, 0.000663, 0.000394, 0.000264, 0.000194, 0.000155, 0.000132, 0.000118,
        0.000111, 0.000109,
    ],
    &[
        0.0488, 0.00906, 0.0027, 0.00108, 0.00053, 0.000303, 0.000196, 0.00014, 0.000108, 8.89e-05, 7.77e-05, 7.12e-05,
        6.79e-05, 6.71e-05,
    ],
];
/// Bits per key of the first row above.
const BITS_PER_KEY_MIN: u64 = 2;
const EXCESS_BITS: u64 = 20;
const HASH_COUNT_MAX: u32 = 64;

impl BloomFilter {
    /// An empty filter for about `keys` keys; `None` when the chance is 1, which asks for no filter.
    pub(crate) fn new(keys: u64, false_positive_chance: f64) -> Option<Self> {
        if 1.0 <= false_positive_chance {
            return None;
        }
        let (hash_count, bits_per_key) = choose(false_positive_chance);
        let bits = keys.max(1).saturating_mul(bits_per_key).saturating_add(EXCESS_BITS);
        let bytes = usize::try_from(bits.div_ceil(64).saturating_mul(8)).ok()?;
        Some(Self { hash_count, bits: vec![0; bytes] })
    }

    pub(crate) fn add(&mut self, key: &PartitionKey) {
        let (hashes, bits) = (murmur3_x64_128(key.bytes(), 0), self.bits.len() as i64 * 8);
        for bit in positions(hashes, self.hash_count, bits) {
            self.bits[(bit >> 3) as usize] |= 1 << (bit & 7);
        }
    }

    pub(crate) fn may_contain(&self, key: &PartitionKey) -> bool {
        let (hashes, bits) = (murmur3_x64_128(key.bytes(), 0), self.bits.len() as i64 * 8);
        positions(hashes, self.hash_count, bits).all(|bit| self.bits[(bit >> 3) as usize] & 1 << (bit & 7) != 0)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bits.len()
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash_count.to_be_bytes());
        out.extend_from_slice(&i32::try_from(self.bits.len() / 8).unwrap_or(i32::MAX).to_be_bytes());
        out.extend_from_slice(&self.bits);
    }

    pub(crate) fn get(bytes: &[u8]) -> Decoded<Self> {
        let mut input = Input::new(bytes);
        let hash_count = input.u32()?;
        if !(1..=HASH_COUNT_MAX).contains(&hash_count) {
            return input.malformed("a count of hashes", hash_count);
        }
        let words = input.i32_count_of(8, "a count of words that fits the file")?;
        if words == 0 {
            return input.malformed("at least one word", words);
        }
        let bits = input.take(words * 8)?.to_vec();
        Ok(Self { hash_count, bits })
    }
}

fn positions((increment, base): (i64, i64), count: u32, bits: i64) -> impl Iterator<Item = u64> {
    (0..i64::from(count)).map(move |i| (base.wrapping_add(increment.wrapping_mul(i)) % bits).unsigned_abs())
}

/// Number of hashes and bits per key.
fn choose(chance: f64) -> (u32, u64) {
    let best = |row: &[f64]| {
        let first_best = (0..row.len()).min_by(|a, b| row[*a].total_cmp(&row[*b]));
        first_best.unwrap_or(0)
    };
    if PROBABILITIES[0][0] <= chance {
        return (2, 2);
    }
    let last = PROBABILITIES.len() - 1;
    let row = (0..last).find(|row| PROBABILITIES[*row][best(PROBABILITIES[*row])] <= chance).unwrap_or(last);
    let mut hashes = best(PROBABILITIES[row]);
    while 0 < hashes && PROBABILITIES[row][hashes - 1] <= chance {
        hashes -= 1;
    }
    (hashes as u32 + 1, row as u64 + BITS_PER_KEY_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_chance_takes_five_hashes_and_ten_bits() {
        assert_eq!(choose(0.01), (5, 10));
        assert_eq!(choose(0.1), (3, 5));
        assert_eq!(choose(0.5), (2, 2));
        assert_eq!(choose(0.000_067_1), (14, 20));
        assert!(BloomFilter::new(10, 1.0).is_none());
    }

    #[test]
    fn added_keys_are_found_and_few_others_are() {
        let key = |i: u32| PartitionKey::new(&i.to_be_bytes());
        let mut filter = BloomFilter::new(1000, 0.01).unwrap();
        (0..1000).for_each(|i| filter.add(&key(i)));
        assert!((0..1000).all(|i| filter.may_contain(&key(i))));
        let wrong = (1000..11_000).filter(|i| filter.may_contain(&key(*i))).count();
        assert!(wrong < 200, "{wrong} of 10000");

        let mut bytes = Vec::new();
        filter.put(&mut bytes);
        assert_eq!(BloomFilter::get(&bytes), Ok(filter));
    }
}
