//! Where a partition stands on the ring: Cassandra's Murmur3 token of its key, and the shard that owns a token.
//!
//! The hash is MurmurHash3 x64 128 with one deviation that all data on disk depends on: the bytes of the tail are
//! sign-extended, because Java's bytes are signed. Source: Cassandra 5.0, `utils.MurmurHash.hash3_x64_128` and
//! `dht.Murmur3Partitioner`; shards: ScyllaDB's protocol extension `biased-token-round-robin`.

use std::fmt;

/// A position on the ring. `i64::MIN` is the ring's minimum and never the token of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub i64);

/// Most significant token bits that do not choose a shard, so that vnodes of neighbouring tokens spread over shards.
pub const SHARDING_IGNORE_MSB: u32 = 12;

impl Token {
    /// The ring's minimum: smaller than every key's token.
    pub const MIN: Self = Self(i64::MIN);
    pub const MAX: Self = Self(i64::MAX);

    /// The token of a raw partition key. An empty key has the minimum, as in Cassandra.
    pub fn of_key(key: &[u8]) -> Self {
        if key.is_empty() {
            return Self::MIN;
        }
        Self::of_hash(murmur3_x64_128(key, 0).0)
    }

    /// The token of a key's first hash half: the minimum is moved away, since no key may have it.
    pub fn of_hash(hash: i64) -> Self {
        if hash == i64::MIN { Self::MAX } else { Self(hash) }
    }

    pub fn value(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.0)
    }
}

/// The shard that owns a token, below `shard_count` (at least 1).
pub fn shard_of(token: Token, shard_count: u32) -> u32 {
    let biased = (token.0 as u64).wrapping_add(1 << 63);
    let shifted = biased << SHARDING_IGNORE_MSB;
    let product = u128::from(shifted) * u128::from(shard_count);
    (product >> 64) as u32 // Below shard_count, since shifted is below 2^64.
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// Both halves of the hash; the first one makes the token, both serve bloom filters.
pub fn murmur3_x64_128(bytes: &[u8], seed: u64) -> (i64, i64) {
    let (mut h1, mut h2) = (seed, seed);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let (low, high) = halves(block);
        h1 ^= mix_k1(low);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix_k2(high);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }

    let (mut k1, mut k2) = (0u64, 0u64);
    for (i, byte) in tail.iter().enumerate() {
        let extended = (*byte as i8) as i64 as u64; // Java's signed byte: Cassandra's deviation.
        if i < 8 { k1 ^= extended << (8 * i) } else { k2 ^= extended << (8 * (i - 8)) }
    }
    if 8 < tail.len() {
        h2 ^= mix_k2(k2);
    }
    if !tail.is_empty() {
        h1 ^= mix_k1(k1);
    }

    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finalize(h1);
    h2 = finalize(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1 as i64, h2 as i64)
}

fn halves(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

fn mix_k1(k1: u64) -> u64 {
    k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix_k2(k2: u64) -> u64 {
    k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finalize(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_hash_becomes_the_largest_token() {
        assert_eq!(Token::of_hash(i64::MIN), Token::MAX);
        assert_eq!(Token::of_key(b""), Token::MIN);
    }

    #[test]
    fn shards_follow_the_bits_after_the_ignored_ones() {
        assert_eq!(shard_of(Token(i64::MIN), 4), 0);
        assert_eq!(shard_of(Token(i64::MAX), 4), 3);
        assert_eq!(shard_of(Token(0), 1), 0);
        assert_eq!(shard_of(Token(i64::MIN + (1 << 51)), 2), 1);
    }
}
