//! Counter contexts: the value of a counter cell, one (clock, count) per node that ever led an increment.
//!
//! ```text
//! u16 n  n × i16 header element  shard ...        big-endian
//! header element: index of a shard, + 0x8000 when that shard is global (else it is local)
//! shard: 16 bytes counter id, i64 clock, i64 count; shards ascend by unsigned id
//! ```
//!
//! Helenus writes global shards only, as Cassandra does since 2.1; remote and local shards of older files are merged by
//! Cassandra's rules.
//!
//! Source: Cassandra 5.0, `db.context.CounterContext`.

use crate::Blob;

const SHARD_BYTES: usize = 32;
const GLOBAL_MARK: u16 = 0x8000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShardKind {
    Global,
    Local,
    Remote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    id: [u8; 16],
    clock: i64,
    count: i64,
    kind: ShardKind,
}

/// The context of one node's count.
#[must_use]
pub fn global_context(id: [u8; 16], clock: i64, count: i64) -> Blob {
    encode(&[Shard { id, clock, count, kind: ShardKind::Global }])
}

/// The counter's value; what cannot be read counts as 0.
#[must_use]
pub fn total(context: &[u8]) -> i64 {
    decode(context).iter().fold(0i64, |sum, shard| sum.wrapping_add(shard.count))
}

/// Clock and count of the shard of `id`, if it is there.
#[must_use]
pub fn shard_of(context: &[u8], id: &[u8; 16]) -> Option<(i64, i64)> {
    decode(context).iter().find(|shard| shard.id == *id).map(|shard| (shard.clock, shard.count))
}

/// Whether the bytes have the shape of a context.
#[must_use]
pub fn is_well_formed(context: &[u8]) -> bool {
    header_bytes(context).is_some_and(|header| (context.len() - header).is_multiple_of(SHARD_BYTES))
}

/// Merges two contexts: for each id the later clock wins, global shards beat the others, local ones add up.
#[must_use]
pub fn merge(left: &[u8], right: &[u8]) -> Blob {
    let (left, right) = (decode(left), decode(right));
    let mut merged = Vec::with_capacity(left.len().max(right.len()));
    let (mut at_left, mut at_right) = (0, 0);
    loop {
        match (left.get(at_left), right.get(at_right)) {
            (Some(a), Some(b)) if a.id == b.id => {
                merged.push(merge_shards(*a, *b));
                at_left += 1;
                at_right += 1;
            }
            (Some(a), Some(b)) if a.id < b.id => {
                merged.push(*a);
                at_left += 1;
            }
            (Some(a), None) => {
                merged.push(*a);
                at_left += 1;
            }
            (_, Some(b)) => {
                merged.push(*b);
                at_right += 1;
            }
            (None, None) => return encode(&merged),
        }
    }
}

fn merge_shards(a: Shard, b: Shard) -> Shard {
    use ShardKind::{Global, Local};
    match (a.kind, b.kind) {
        (Global, Global) => later(a, b),
        (Global, _) => a,
        (_, Global) => b,
        (Local, Local) => Shard { clock: a.clock.wrapping_add(b.clock), count: a.count.wrapping_add(b.count), ..a },
        (Local, _) => a,
        (_, Local) => b,
        _ => later(a, b),
    }
}

fn later(a: Shard, b: Shard) -> Shard {
    if (b.clock, b.count) > (a.clock, a.count) { b } else { a }
}

fn header_bytes(context: &[u8]) -> Option<usize> {
    let count = u16::from_be_bytes(*context.first_chunk::<2>()?);
    let bytes = 2 + 2 * usize::from(count);
    (bytes <= context.len()).then_some(bytes)
}

fn decode(context: &[u8]) -> Vec<Shard> {
    let Some(header) = header_bytes(context) else { return Vec::new() };
    let (header, body) = context.split_at(header);
    let kind_of = |index: usize| {
        let mut elements = header[2..].chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        elements.find(|element| usize::from(element & !GLOBAL_MARK) == index).map_or(ShardKind::Remote, |element| {
            if element & GLOBAL_MARK != 0 { ShardKind::Global } else { ShardKind::Local }
        })
    };
    body.chunks_exact(SHARD_BYTES)
        .enumerate()
        .map(|(index, shard)| {
            let (id, rest) = shard.split_at(16);
            let (clock, count) = rest.split_at(8);
            Shard {
                id: id.try_into().expect("split at 16"),
                clock: i64::from_be_bytes(clock.try_into().expect("split at 8")),
                count: i64::from_be_bytes(count.try_into().expect("8 of 32 bytes are left")),
                kind: kind_of(index),
            }
        })
        .collect()
}

fn encode(shards: &[Shard]) -> Blob {
    let marked = shards.iter().filter(|shard| shard.kind != ShardKind::Remote).count();
    let mut out = Vec::with_capacity(2 + 2 * marked + SHARD_BYTES * shards.len());
    out.extend_from_slice(&u16::try_from(marked).unwrap_or(u16::MAX).to_be_bytes());
    for (index, shard) in shards.iter().enumerate() {
        let index = u16::try_from(index).unwrap_or(u16::MAX);
        match shard.kind {
            ShardKind::Global => out.extend_from_slice(&(index | GLOBAL_MARK).to_be_bytes()),
            ShardKind::Local => out.extend_from_slice(&index.to_be_bytes()),
            ShardKind::Remote => {}
        }
    }
    for shard in shards {
        out.extend_from_slice(&shard.id);
        out.extend_from_slice(&shard.clock.to_be_bytes());
        out.extend_from_slice(&shard.count.to_be_bytes());
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_clock_of_each_node_wins_and_totals_add_up() {
        let a = global_context([1; 16], 3, 10);
        let b = global_context([1; 16], 4, 12);
        let c = global_context([2; 16], 1, 5);
        let merged = merge(&merge(&a, &b), &c);
        assert_eq!(total(&merged), 17);
        assert_eq!(shard_of(&merged, &[1; 16]), Some((4, 12)));
        assert_eq!(merged, merge(&c, &merge(&b, &a)));
        assert!(is_well_formed(&merged));
    }

    #[test]
    fn broken_contexts_count_as_nothing() {
        assert_eq!(total(&[]), 0);
        assert_eq!(total(&[0, 9, 1]), 0);
        assert!(!is_well_formed(&[0]));
    }
}
