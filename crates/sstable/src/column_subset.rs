//! Which of the header's columns a row has.
//!
//! ```text
//! below 64 columns in the header   vint bitmap of the *missing* ones, lowest bit first; 0 when all are there
//! from 64 on                       vint count of the missing ones; 0 when all are there; otherwise vint positions
//!                                  of those present (when fewer than half are), or of those missing
//! ```
//!
//! Source: Cassandra 5.0, `db.Columns.Serializer.serializeSubset`.

use smallvec::SmallVec;

use crate::input::{Decoded, Input};
use crate::vint;

const BITMAP_COLUMNS_MAX: usize = 63;

/// Positions in the header, ascending.
pub(crate) type Positions = SmallVec<[u32; 16]>;

pub(crate) fn put(present: impl ExactSizeIterator<Item = usize> + Clone, header_count: usize, out: &mut Vec<u8>) {
    let present_count = present.len();
    if present_count == header_count {
        return vint::put(0, out);
    }
    if header_count <= BITMAP_COLUMNS_MAX {
        let all = (1u64 << header_count) - 1;
        let present = present.fold(0u64, |bits, at| bits | 1 << at);
        return vint::put(all & !present, out);
    }
    vint::put((header_count - present_count) as u64, out);
    if present_count < header_count / 2 {
        present.for_each(|at| vint::put(at as u64, out));
    } else {
        let mut present = present.peekable();
        for at in 0..header_count {
            if present.next_if_eq(&at).is_none() {
                vint::put(at as u64, out);
            }
        }
    }
}

pub(crate) fn get(header_count: usize, input: &mut Input<'_>) -> Decoded<Positions> {
    let encoded = input.vint()?;
    let all = || 0..header_count as u32;
    if encoded == 0 {
        return Ok(all().collect());
    }
    if header_count <= BITMAP_COLUMNS_MAX {
        if encoded >> header_count != 0 {
            return input.malformed("a bitmap of the header's columns", format!("{encoded:#b}"));
        }
        return Ok(all().filter(|at| encoded >> at & 1 == 0).collect());
    }
    let Some(present_count) = usize::try_from(encoded).ok().and_then(|missing| header_count.checked_sub(missing))
    else {
        return input.malformed("a count of missing columns", encoded);
    };
    if present_count < header_count / 2 {
        get_positions(present_count, header_count, input)
    } else {
        let missing = get_positions(header_count - present_count, header_count, input)?;
        let mut missing = missing.iter().peekable();
        Ok(all().filter(|at| missing.next_if_eq(&at).is_none()).collect())
    }
}

fn get_positions(count: usize, header_count: usize, input: &mut Input<'_>) -> Decoded<Positions> {
    let mut positions = Positions::new();
    for _ in 0..count {
        let at = input.vint()?;
        let is_next = at < header_count as u64 && positions.last().is_none_or(|last| u64::from(*last) < at);
        if !is_next {
            return input.malformed("ascending positions of the header's columns", at);
        }
        positions.push(at as u32);
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn missing_columns_are_the_bits_that_are_set() {
        let mut out = Vec::new();
        put([0usize, 2].into_iter(), 4, &mut out);
        assert_eq!(out, [0b1010]);
    }

    proptest! {
        #[test]
        fn subsets_come_back(header_count in 1usize..200, seed: u64, share in 0u64..=8) {
            let is_present = |at: &usize| (seed.rotate_left(*at as u32) ^ *at as u64).wrapping_mul(0x9E37_79B9) >> 8 & 7 < share;
            let present: Vec<usize> = (0..header_count).filter(is_present).collect();
            let mut out = Vec::new();
            put(present.iter().copied(), header_count, &mut out);
            let found = get(header_count, &mut Input::new(&out)).unwrap();
            prop_assert_eq!(found.iter().map(|at| *at as usize).collect::<Vec<_>>(), present);
        }
    }
}
