//! The order in which Java's `HashMap` lists names. Cassandra keeps fields of literals and columns of tables in such maps,
//! so that the order shows: in messages, and in which of two mistakes is found first.
//!
//! Source: `java.util.HashMap` (16 buckets, doubled when three quarters full), `java.nio.ByteBuffer.hashCode`.

/// Buckets of a map with few entries.
pub const BUCKETS_MIN: u32 = 16;

/// `items` as a `HashMap` of their names would list them that got them in this order.
#[must_use]
pub fn hash_order<T>(items: &[T], name: impl Fn(&T) -> &str) -> Vec<&T> {
    let mut buckets = BUCKETS_MIN;
    // A map that grows splits each bucket in order, so that only the final size counts.
    while u64::from(buckets) * 3 / 4 < items.len() as u64 && buckets < 1 << 30 {
        buckets *= 2;
    }
    let mut ordered: Vec<&T> = items.iter().collect();
    ordered.sort_by_key(|item| bucket(hash(name(item).as_bytes()), buckets));
    ordered
}

/// The hash of a byte buffer.
#[must_use]
pub fn hash(bytes: &[u8]) -> u32 {
    let signed = |byte: u8| i32::from(byte.cast_signed()).cast_unsigned();
    bytes.iter().rev().fold(1u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(signed(*byte)))
}

/// Where a map of so many buckets keeps something of this hash.
#[must_use]
pub fn bucket(hash: u32, buckets: u32) -> u32 {
    (hash ^ (hash >> 16)) & (buckets - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_their_buckets() {
        let order = |names: &[&'static str]| hash_order(names, |name| name).into_iter().copied().collect::<Vec<_>>();
        assert_eq!(order(&["p0", "c0", "c1"]), ["p0", "c1", "c0"]);
        assert_eq!(order(&["f0", "f2", "f1"]), ["f2", "f1", "f0"]);
    }
}
