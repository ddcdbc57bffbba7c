//! Randomness from a seed: every part of the world has its own stream, so that one more draw in one part does not
//! change what happens in all others.
//!
//! Source of the generator: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014
//! (SplitMix64).

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use helenus_env::Randomness;

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: u64,
}

impl SeededRandom {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A stream of its own for the part called `label`, the `number`-th of its kind. Does not advance this one.
    pub fn stream(&self, label: &str, number: u64) -> Self {
        let labelled = label.bytes().fold(self.state ^ number.wrapping_mul(GOLDEN_GAMMA), |state, byte| {
            mix(state.wrapping_add(GOLDEN_GAMMA) ^ u64::from(byte))
        });
        Self { state: mix(labelled) }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// Evenly from a range, which must not be empty.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "a draw needs something to draw from");
        range.start + self.next_u64() % (range.end - range.start)
    }

    /// An index into something with `count` elements.
    pub fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.within(0..count as u64)).expect("the index is below a usize")
    }

    /// True `parts` times in a million.
    pub fn happens(&mut self, parts_per_million: u32) -> bool {
        self.within(0..1_000_000) < u64::from(parts_per_million)
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(size_of::<u64>()) {
            let drawn = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
    }
}

fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// The randomness of one simulated process.
pub struct SimRandomness {
    stream: Mutex<SeededRandom>,
}

impl SimRandomness {
    pub fn new(stream: SeededRandom) -> Self {
        Self { stream: Mutex::new(stream) }
    }
}

impl Randomness for SimRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_label_and_number_and_repeat_by_seed() {
        let draw = |seed, label, number| SeededRandom::new(seed).stream(label, number).next_u64();
        assert_eq!(draw(1, "disk", 0), draw(1, "disk", 0));
        assert_ne!(draw(1, "disk", 0), draw(1, "disk", 1));
        assert_ne!(draw(1, "disk", 0), draw(1, "node", 0));
        assert_ne!(draw(1, "disk", 0), draw(2, "disk", 0));
    }

    #[test]
    fn draws_stay_in_their_range_and_reach_all_of_it() {
        let mut random = SeededRandom::new(7);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[random.index(5)] = true);
        assert_eq!(seen, [true; 5]);
        assert!(!random.happens(0) && random.happens(1_000_000));
    }
}
