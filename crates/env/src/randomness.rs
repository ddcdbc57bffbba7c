//! Randomness, and the UUIDs made of it.

use uuid::{Builder, Uuid};

/// A source of random bytes. Real: the operating system's generator. Simulated: a generator seeded by the run.
pub trait Randomness: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);

    fn next_u64(&self) -> u64 {
        let mut bytes = [0; size_of::<u64>()];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// 100 ns ticks between 1582-10-15 (the epoch of version 1 UUIDs) and 1970-01-01. Source: RFC 9562, section 5.1.
const GREGORIAN_TO_UNIX_TICKS: i64 = 0x01B2_1DD2_1381_4000;

/// The part of a version 1 UUID that tells processes apart: clock sequence and node id, drawn once per process.
///
/// Bytes 0..2 are the clock sequence, 2..8 the node id with its multicast bit set, which marks it as not a network
/// card's. Two processes on one machine, or one before and after a restart, differ in 61 random bits.
#[derive(Clone, Copy, Debug)]
pub struct TimeuuidOrigin {
    clock_sequence_and_node: [u8; 8],
}

impl TimeuuidOrigin {
    pub fn draw(randomness: &dyn Randomness) -> Self {
        let mut bytes = [0; 8];
        randomness.fill(&mut bytes);
        bytes[0] = (bytes[0] & 0x3F) | 0x80; // The RFC's variant bits.
        bytes[2] |= 0x01; // Multicast: random, not a MAC address.
        Self { clock_sequence_and_node: bytes }
    }

    /// The version 1 UUID of a Unix time in 100 ns ticks.
    pub fn timeuuid(self, unix_ticks: i64) -> Uuid {
        let ticks = unix_ticks.wrapping_add(GREGORIAN_TO_UNIX_TICKS).cast_unsigned();
        let mut bytes = [0; 16];
        bytes[0..4].copy_from_slice(&ticks.to_be_bytes()[4..8]); // time_low
        bytes[4..6].copy_from_slice(&ticks.to_be_bytes()[2..4]); // time_mid
        bytes[6..8].copy_from_slice(&ticks.to_be_bytes()[0..2]); // time_high
        bytes[6] = (bytes[6] & 0x0F) | 0x10; // Version 1.
        bytes[8..16].copy_from_slice(&self.clock_sequence_and_node);
        Uuid::from_bytes(bytes)
    }
}

/// A version 4 UUID.
pub fn random_uuid(randomness: &dyn Randomness) -> Uuid {
    let mut bytes = [0; 16];
    randomness.fill(&mut bytes);
    Builder::from_random_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sevens;

    impl Randomness for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0x77);
        }
    }

    #[test]
    fn timeuuid_of_the_unix_epoch_is_the_well_known_one() {
        let origin = TimeuuidOrigin::draw(&Sevens);
        assert_eq!(origin.timeuuid(0).to_string(), "13814000-1dd2-11b2-b777-777777777777");
    }

    #[test]
    fn random_uuid_carries_version_4_and_the_rfc_variant() {
        assert_eq!(random_uuid(&Sevens).to_string(), "77777777-7777-4777-b777-777777777777");
    }
}
