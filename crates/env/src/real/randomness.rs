//! The operating system's random generator, asked for some bytes in advance.

use std::sync::{Mutex, PoisonError};

use crate::randomness::Randomness;

/// One system call (some 200 ns) then serves 32 calls of `next_u64`.
const STOCK_BYTES: usize = 256;

struct Stock {
    bytes: [u8; STOCK_BYTES],
    used_bytes: usize,
}

pub(super) struct RealRandomness {
    stock: Mutex<Stock>,
}

impl Default for RealRandomness {
    fn default() -> Self {
        Self { stock: Mutex::new(Stock { bytes: [0; STOCK_BYTES], used_bytes: STOCK_BYTES }) }
    }
}

impl Randomness for RealRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        if STOCK_BYTES < bytes.len() {
            return ask_the_system(bytes);
        }
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        if STOCK_BYTES - stock.used_bytes < bytes.len() {
            ask_the_system(&mut stock.bytes);
            stock.used_bytes = 0;
        }
        let from = stock.used_bytes;
        let to = from + bytes.len();
        bytes.copy_from_slice(&stock.bytes[from..to]);
        stock.bytes[from..to].fill(0); // Given out once; a memory dump shows no nonce that is in use.
        stock.used_bytes = to;
    }
}

/// # Panics
/// When the system has no randomness. Going on with a weak substitute would make duplicate ids.
fn ask_the_system(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("Linux has random bytes for every process once it has booted");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bytes_are_given_out_twice() {
        let randomness = RealRandomness::default();
        let mut seen: Vec<u64> = (0..1_000).map(|_| randomness.next_u64()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1_000);
        let mut large = vec![0; 1_000];
        randomness.fill(&mut large);
        assert!(large.iter().any(|byte| *byte != 0));
    }
}
