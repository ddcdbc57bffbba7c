//! Each test is a text: sources with their rows and deletions on clusterings of one `int` column, and what the merge of
//! them must print.

use helenus_types::CqlType;

use super::*;
use crate::key::{Bound, ClusteringType, ClusteringTypes, PartitionKey, Side, Slice};
use crate::partition::Partition;
use crate::{Blob, Cell, ColumnId};

const COLUMN: ColumnId = ColumnId(7);

fn types() -> ClusteringTypes {
    ClusteringTypes::new(vec![ClusteringType { ty: CqlType::Int, descending: false }])
}

fn bound(value: i32, side: Side) -> Bound {
    types().bound(&[value.to_be_bytes()], side)
}

/// `row 3 v @30` or `delete [1,5) @20` (either bracket at either end).
fn add(partition: &mut Partition, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let timestamp: i64 = words.last().expect("a line").trim_start_matches('@').parse().expect("@timestamp");
    match words[0] {
        "row" => {
            let clustering = types().clustering(&[words[1].parse::<i32>().expect("a number").to_be_bytes()]);
            partition.row_mut(&clustering).add_cell(COLUMN, Cell::live(timestamp, Blob::from(words[2].as_bytes())));
        }
        "delete" => {
            let (start, end) = words[1].split_once(',').expect("two ends");
            let start_side = if start.starts_with('[') { Side::Before } else { Side::After };
            let end_side = if end.ends_with(']') { Side::After } else { Side::Before };
            let number = |text: &str| text.trim_matches(['[', ']', '(', ')']).parse::<i32>().expect("a number");
            let slice = Slice { start: bound(number(start), start_side), end: bound(number(end), end_side) };
            partition.delete_range(slice, DeletionTime { timestamp, local_secs: 1 });
        }
        "partition" => partition.deletion = DeletionTime { timestamp, local_secs: 1 },
        other => panic!("no such line: {other}"),
    }
}

fn position(bound: &Bound) -> String {
    let value = bound.values().next().expect("one column");
    let number = i32::from_be_bytes(value.try_into().expect("an int"));
    format!("{}{number}", if bound.side() == Side::Before { "<" } else { ">" })
}

fn print(item: &Unfiltered) -> String {
    match item {
        Unfiltered::Row(row) => {
            let value = row.clustering.values().next().expect("one column");
            let cell = row.cell(COLUMN).expect("its cell");
            let text = String::from_utf8_lossy(&cell.value).into_owned();
            format!("row {} {text} @{}", i32::from_be_bytes(value.try_into().expect("an int")), cell.timestamp)
        }
        Unfiltered::Marker(marker) => {
            let time = |deletion: Option<DeletionTime>| deletion.map_or("-".into(), |d| d.timestamp.to_string());
            format!("marker {} {}→{}", position(&marker.position), time(marker.ends), time(marker.begins))
        }
    }
}

/// Sources are separated by `---`; batches of one row each, so that every hand-over between batches is exercised.
fn check(direction: Direction, sources: &str, expected: &str) {
    let partitions: Vec<Partition> = sources
        .split("---")
        .map(|source| {
            let mut partition = Partition::new(PartitionKey::new(b"k"));
            let lines = source.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.for_each(|line| add(&mut partition, line));
            partition
        })
        .collect();
    let deletion = partitions.iter().fold(DeletionTime::LIVE, |deletion, partition| deletion.max(partition.deletion));
    let mut merger = Merger::new(partitions.len(), deletion, direction, CellRule::Regular);
    let mut left: Vec<Option<Slice>> = vec![Some(Slice::all()); partitions.len()];
    let mut printed = Vec::new();
    loop {
        match merger.step() {
            MergeStep::NeedsInput(input) => match left[input].take() {
                Some(slice) => {
                    let batch = partitions[input].unfiltered(&slice, direction, 1);
                    merger.feed(input, batch.items);
                    left[input] = batch.resume;
                }
                None => merger.finish(input),
            },
            MergeStep::Item(item) => printed.push(print(&item)),
            MergeStep::Done => break,
        }
    }
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(printed, expected);
}

#[test]
fn range_tombstone_hides_older_rows_and_keeps_newer_ones() {
    check(
        Direction::Forward,
        "delete [1,5) @20
         ---
         row 2 old @10
         row 3 new @30",
        "marker <1 -→20
         row 3 new @30
         marker <5 20→-",
    );
}

#[test]
fn overlapping_deletions_of_several_sources_give_way_to_the_newest() {
    check(
        Direction::Forward,
        "delete [1,10] @20
         ---
         delete (3,5] @30
         row 7 seven @25",
        "marker <1 -→20
         marker >3 20→30
         marker >5 30→20
         row 7 seven @25
         marker >10 20→-",
    );
}

#[test]
fn reversed_reading_meets_the_same_rows_and_ends_from_the_other_side() {
    check(
        Direction::Reversed,
        "delete [1,10] @20
         row 2 a @30
         row 9 b @30
         ---
         delete (3,5] @30
         row 4 hidden @25
         row 7 seven @25",
        "marker >10 -→20
         row 9 b @30
         row 7 seven @25
         marker >5 20→30
         marker >3 30→20
         row 2 a @30
         marker <1 20→-",
    );
}

#[test]
fn a_partition_deletion_swallows_rows_and_ranges_that_it_covers() {
    check(
        Direction::Forward,
        "partition @50
         ---
         delete [1,5) @20
         row 2 old @50
         row 3 new @51",
        "row 3 new @51",
    );
}

#[test]
fn the_same_row_in_several_sources_comes_out_once() {
    check(
        Direction::Forward,
        "row 1 a @1
         row 2 b @2
         ---
         row 1 z @3
         ---
         row 2 c @1",
        "row 1 z @3
         row 2 b @2",
    );
}

#[test]
fn a_partition_with_many_range_tombstones_is_read_in_batches() {
    for direction in [Direction::Forward, Direction::Reversed] {
        let mut partition = Partition::new(PartitionKey::new(b"k"));
        for number in 0..2_000 {
            add(&mut partition, &format!("delete [{number},{number}] @{}", 20 + number % 2));
            add(&mut partition, &format!("row {number} v @{}", if number % 10 == 0 { 30 } else { 1 }));
        }
        let mut merger = Merger::new(1, DeletionTime::LIVE, direction, CellRule::Regular);
        let (mut rest, mut batches) = (Some(Slice::all()), 0);
        while let Some(slice) = rest {
            let batch = partition.unfiltered(&slice, direction, usize::MAX);
            assert!(batch.items.len() < 2_000, "{} items", batch.items.len());
            merger.feed(0, batch.items);
            rest = batch.resume;
            batches += 1;
        }
        merger.finish(0);
        assert!(3 < batches);
        let (mut rows, mut markers) = (0, 0);
        loop {
            match merger.step() {
                MergeStep::Item(Unfiltered::Row(_)) => rows += 1,
                MergeStep::Item(Unfiltered::Marker(_)) => markers += 1,
                MergeStep::NeedsInput(_) => unreachable!("everything was fed"),
                MergeStep::Done => break,
            }
        }
        assert_eq!(rows, 200);
        assert!(2_000 <= markers, "{markers}");
    }
}
