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

#[test]
fn of_two_expiring_cells_the_one_with_the_shorter_ttl_wins_whatever_the_values() {
    let (long, short) = (Ttl::from_secs(100).expect("in range"), Ttl::from_secs(50).expect("in range"));
    let first = Cell::expiring(1, long, 1_000, Blob::from([b'z']));
    let second = Cell::expiring(1, short, 1_050, Blob::from([b'a']));
    assert_eq!(first.local_deletion_secs, second.local_deletion_secs);
    assert_eq!(reconciled(first, second.clone(), CellRule::Regular), second);
}

fn counter_row(clock: i64, count: i64, timestamp: i64) -> Row {
    let mut row = Row::new(crate::Clustering::empty());
    row.add_cell(crate::ColumnId(3), Cell::live(timestamp, counter::global_context([7; 16], clock, count)));
    row
}

fn deleted_row(timestamp: i64) -> Row {
    let deletion = DeletionTime { timestamp, local_secs: 1 };
    Row { deletion, ..Row::new(crate::Clustering::empty()) }
}

#[test]
fn a_deleted_count_does_not_come_back_with_a_later_increment() {
    let rule = CellRule::Counter;
    let expected = {
        let mut row = counter_row(1, 1, 30);
        row.deletion = DeletionTime { timestamp: 20, local_secs: 1 };
        row
    };
    let mut row = counter_row(7, 5, 10);
    merge_row(&mut row, deleted_row(20), DeletionTime::LIVE, rule);
    merge_row(&mut row, counter_row(1, 1, 30), DeletionTime::LIVE, rule);
    assert_eq!(row, expected, "the row is deleted between the increments");
    let mut row = counter_row(1, 1, 30);
    merge_row(&mut row, deleted_row(20), DeletionTime::LIVE, rule);
    merge_row(&mut row, counter_row(7, 5, 10), DeletionTime::LIVE, rule);
    assert_eq!(row, expected, "the newest comes first");
    let mut row = counter_row(7, 5, 10);
    merge_row(&mut row, counter_row(1, 1, 30), DeletionTime { timestamp: 20, local_secs: 1 }, rule);
    assert_eq!(row, counter_row(1, 1, 30), "a range or the partition is deleted");
}

#[test]
fn a_small_change_of_a_large_collection_is_merged_in_place() {
    let types = helenus_types::CqlType::Int;
    let path = |number: i32| CellPath::new(&types, &number.to_be_bytes());
    let row_of = |numbers: std::ops::Range<i32>, timestamp: i64| {
        let mut row = Row::new(crate::Clustering::empty());
        let complex = row.complex_mut(crate::ColumnId(4));
        numbers.for_each(|number| complex.add_cell(path(number), Cell::live(timestamp, Blob::from(vec![7; 40]))));
        row
    };
    let mut row = row_of(0..1_000, 1);
    let before = row.heap_bytes();
    let grown = merge_row(&mut row, row_of(999..1_002, 2), DeletionTime::LIVE, CellRule::Regular);
    assert_eq!(before.checked_add_signed(grown), Some(row.heap_bytes()));
    let cells = &row.complex(crate::ColumnId(4)).expect("it is there").cells;
    assert_eq!(cells.len(), 1_002);
    assert!(cells.windows(2).all(|pair| pair[0].0.order() < pair[1].0.order()));
    assert_eq!(cells.iter().filter(|(_, cell)| cell.timestamp == 2).count(), 3);
}
