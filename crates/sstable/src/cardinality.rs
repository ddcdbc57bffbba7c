//! How many different partition keys a file holds: a HyperLogLog++ sketch in the form of the stream-lib library, which
//! compactions merge to size their bloom filters.
//!
//! ```text
//! i32 -2, p (varint), sp (varint)
//! sparse  varint 1, count, then the encoded hashes in order, each as difference to the one before
//! dense   varint 0, bytes of what follows, 1366 × i32: six registers of five bits each, the first one lowest
//! encoded hash (sparse): 25 bits of index and a 0; or, when the bits between p and sp are all zero,
//!                        index, 6 bits of inverted run length and a 1
//! ```
//!
//! varint: seven bits a byte, least significant first. Source: stream-lib 2.5.2, `HyperLogLogPlus(13, 25)`; keys are
//! hashed by MurmurHash 2 (64 bits), `utils.MurmurHash.hash2_64` of Cassandra 5.0.

use std::collections::BTreeSet;

const P: u32 = 13;
const SP: u32 = 25;
const REGISTERS: usize = 1 << P;
const REGISTERS_PER_WORD: usize = 6;
const REGISTER_BITS: usize = 5;
/// stream-lib reserves one word more than complete ones.
const WORDS: usize = REGISTERS / REGISTERS_PER_WORD + 1;
/// A larger sparse set becomes dense.
const SPARSE_MAX: usize = REGISTERS / 4 * 3;

pub(crate) struct Cardinality(Sketch);

enum Sketch {
    /// By (index, encoded hash).
    Sparse(BTreeSet<(u32, u32)>),
    Dense(Vec<u32>),
}

impl Cardinality {
    pub(crate) fn new() -> Self {
        Self(Sketch::Sparse(BTreeSet::new()))
    }

    pub(crate) fn add_key(&mut self, key: &[u8]) {
        self.add_hash(murmur2_64(key));
    }

    fn add_hash(&mut self, hash: u64) {
        match &mut self.0 {
            Sketch::Sparse(set) => {
                let encoded = encode_hash(hash);
                let index = sparse_index(encoded);
                // One entry an index: the one with the longer run, which has the smaller encoding.
                let rival = set.range((index, 0)..=(index, u32::MAX)).next().copied();
                match rival {
                    Some((_, known)) if known <= encoded => return,
                    Some(known) => {
                        set.remove(&known);
                        set.insert((index, encoded));
                    }
                    None => {
                        set.insert((index, encoded));
                    }
                }
                if SPARSE_MAX < set.len() {
                    self.0 = Sketch::Dense(dense_of(set));
                }
            }
            Sketch::Dense(words) => {
                raise(words, (hash >> (64 - P)) as usize, run_length(hash));
            }
        }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(-2i32).to_be_bytes());
        put_varint(P, out);
        put_varint(SP, out);
        match &self.0 {
            Sketch::Sparse(set) => {
                put_varint(1, out);
                put_varint(set.len() as u32, out);
                let mut before = 0u32;
                for (_, encoded) in set {
                    put_varint(encoded.wrapping_sub(before), out);
                    before = *encoded;
                }
            }
            Sketch::Dense(words) => {
                put_varint(0, out);
                put_varint((words.len() * 4) as u32, out);
                words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
            }
        }
    }
}

fn put_varint(mut value: u32, out: &mut Vec<u8>) {
    while 0x7F < value {
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// One more than the zeros after the first `P` bits.
fn run_length(hash: u64) -> u32 {
    (hash << P | 1 << (P - 1)).leading_zeros() + 1
}

fn encode_hash(hash: u64) -> u32 {
    let index = (hash >> (64 - SP)) as u32;
    if index << (32 - SP + P) == 0 { (index << 6 | (run_length(hash) ^ 63)) << 1 | 1 } else { index << 1 }
}

fn sparse_index(encoded: u32) -> u32 {
    if encoded & 1 == 1 { encoded >> 7 } else { encoded >> 1 }
}

fn dense_of(set: &BTreeSet<(u32, u32)>) -> Vec<u32> {
    let mut words = vec![0; WORDS];
    for (index, encoded) in set {
        let run =
            if encoded & 1 == 1 { (encoded >> 1 & 63) ^ 63 } else { (encoded << (P + 31 - SP)).leading_zeros() + 1 };
        raise(&mut words, (index >> (SP - P)) as usize, run);
    }
    words
}

fn raise(words: &mut [u32], register: usize, value: u32) {
    let shift = REGISTER_BITS * (register % REGISTERS_PER_WORD);
    let mask = 0x1F << shift;
    if let Some(word) = words.get_mut(register / REGISTERS_PER_WORD) {
        let known = (*word & mask) >> shift;
        *word = *word & !mask | known.max(value.min(0x1F)) << shift;
    }
}

/// MurmurHash 2, 64 bits, seed 0.
fn murmur2_64(bytes: &[u8]) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut hash = M.wrapping_mul(bytes.len() as u64);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> R;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        // As in Java, where bytes are signed and the sign spreads upwards.
        for (at, byte) in tail.iter().enumerate() {
            hash ^= (i64::from(*byte as i8) as u64) << (8 * at);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> R;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> R
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys, length and CRC-32 of what stream-lib 2.5.2 serialises for them after `HyperLogLogPlus.offerHashed` of
    /// Cassandra's `MurmurHash.hash2_64`.
    #[test]
    fn sketches_are_those_of_stream_lib_byte_for_byte() {
        let golden: [(usize, usize, u32); 6] = [
            (0, 8, 974_759_724),
            (1, 12, 3_318_755_257),
            (10, 45, 746_017_920),
            (1_000, 2_799, 3_194_849_015),
            (1_500, 4_065, 1_679_421_394),
            (20_000, 5_473, 2_950_821_320),
        ];
        for (keys, bytes, checksum) in golden {
            let mut cardinality = Cardinality::new();
            (0..keys).for_each(|i| cardinality.add_key(format!("key-{i}-ü").as_bytes()));
            let mut out = Vec::new();
            cardinality.put(&mut out);
            assert_eq!((keys, out.len(), crc32fast::hash(&out)), (keys, bytes, checksum));
        }
    }
}
