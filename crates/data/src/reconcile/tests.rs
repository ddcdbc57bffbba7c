use std::cmp::Ordering;

use helenus_types::time::Ttl;
use proptest::prelude::*;

use super::*;
use crate::Blob;

fn any_cell() -> impl Strategy<Value = Cell> {
    let value = prop::collection::vec(0u8..3, 0..3).prop_map(Blob::from);
    (0i64..3, 0u32..3, 0i64..4, value).prop_map(|(timestamp, kind, secs, value)| match kind {
        0 => Cell::live(timestamp, value),
        1 => Cell::tombstone(timestamp, secs),
        _ => Cell::expiring(timestamp, Ttl::from_secs(secs + 1).expect("in range"), secs, value),
    })
}

fn reconciled(mut into: Cell, new: Cell, rule: CellRule) -> Cell {
    merge_cell(&mut into, new, rule);
    into
}

#[test]
fn a_tombstone_beats_data_and_data_that_expires_at_the_same_timestamp() {
    let ttl = Ttl::from_secs(10).expect("in range");
    let live = Cell::live(5, Blob::from([1]));
    let expiring = Cell::expiring(5, ttl, 100, Blob::from([2]));
    let tombstone = Cell::tombstone(5, 100);
    assert_eq!(reconciled(live.clone(), tombstone.clone(), CellRule::Regular), tombstone);
    assert_eq!(reconciled(expiring.clone(), tombstone.clone(), CellRule::Regular), tombstone);
    assert_eq!(reconciled(live, expiring.clone(), CellRule::Regular), expiring);
}

#[test]
fn the_larger_value_wins_a_tie() {
    let small = Cell::live(5, Blob::from([1]));
    let large = Cell::live(5, Blob::from([1, 0]));
    assert_eq!(compare_cells(&small, &large), Ordering::Less);
}

proptest! {
    #[test] // Replicas answer in any order, some twice: the reconciled cell must not depend on it.
    fn reconciliation_is_commutative_associative_and_idempotent(a in any_cell(), b in any_cell(), c in any_cell()) {
        let rule = CellRule::Regular;
        prop_assert_eq!(reconciled(a.clone(), b.clone(), rule), reconciled(b.clone(), a.clone(), rule));
        prop_assert_eq!(reconciled(a.clone(), a.clone(), rule), a.clone());
        let left = reconciled(reconciled(a.clone(), b.clone(), rule), c.clone(), rule);
        let right = reconciled(a, reconciled(b, c, rule), rule);
        prop_assert_eq!(left, right);
    }
}
