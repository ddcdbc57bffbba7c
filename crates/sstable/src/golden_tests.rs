//! Files that Cassandra 5.0.9 wrote are read, and dumped exactly as Cassandra dumps them. See `golden/README.md`.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use helenus_data::read::KeyRange;
use helenus_data::{Direction, PartitionKey, Slice, Unfiltered};
use helenus_env::Env;
use helenus_env::real::{RealEnv, block_on};
use serde_json::Value;

use crate::{ChunkCache, Descriptor, Dump, DumpTimes, Generation, SsTable, VerifyReport, infer_table};

fn golden(table: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(table)
}

async fn open(env: &Env, table: &str) -> Rc<SsTable> {
    let descriptor = Descriptor::new(golden(table), Generation::Sequence(1));
    let inferred = infer_table(env, &descriptor).await.unwrap();
    SsTable::open(env, descriptor, inferred.into(), ChunkCache::new(1 << 20)).await.unwrap()
}

/// Reads everything, backwards too, and answers it as JSON.
async fn dump(sstable: &Rc<SsTable>) -> Value {
    let dump = Dump { table: sstable.table(), times: DumpTimes::Iso, now_secs: 0 };
    let mut partitions = Vec::new();
    let mut scanner = sstable.scan(&KeyRange::all()).await.unwrap();
    while let Some(mut cursor) = scanner.next_partition().await.unwrap() {
        let items = cursor.whole(Direction::Forward).await.unwrap();
        let mut backwards = cursor.whole(Direction::Reversed).await.unwrap();
        backwards.reverse();
        for item in &mut backwards {
            if let Unfiltered::Marker(marker) = item {
                std::mem::swap(&mut marker.begins, &mut marker.ends);
            }
        }
        assert_eq!(items, backwards);
        partitions.push(dump.partition(cursor.header(), &items));
    }
    Value::Array(partitions)
}

/// Takes out what depends on the place in the file and on the moment of dumping.
fn normalise(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("position");
            map.remove("expired");
            map.values_mut().for_each(normalise);
        }
        Value::Array(values) => values.iter_mut().for_each(normalise),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "a test reads its expectation")]
fn check(table: &str) {
    let env = RealEnv::start_default().unwrap();
    block_on(async {
        let sstable = open(&env, table).await;
        let report = sstable.verify().await.unwrap();
        assert!(report.has_digest);
        let expected = std::fs::read(golden(table).join("dump.json")).unwrap();
        let mut expected: Value = serde_json::from_slice(&expected).unwrap();
        let mut found = dump(&sstable).await;
        normalise(&mut expected);
        normalise(&mut found);
        assert_eq!(found, expected);
    });
}

#[test]
fn simple_cells_empty_values_and_tombstones() {
    check("simple");
}

#[test]
fn every_native_type() {
    check("natives");
}

#[test]
fn several_clustering_columns_in_both_directions_and_static_rows() {
    check("clustered");
}

#[test]
fn multi_cell_collections_and_user_types() {
    check("collections");
}

#[test]
fn expiring_rows_and_cells() {
    check("expiring");
}

#[test]
fn deletions_of_partitions_rows_and_ranges() {
    check("deletions");
}

#[test]
fn counters() {
    check("counters");
}

#[test]
fn more_columns_than_a_bitmap_holds() {
    check("many");
}

#[test]
fn chunks_that_are_stored_plain_because_they_do_not_shrink() {
    check("ratio");
    check("dropped");
}

fn check_values(table: &str, expected: VerifyReport) {
    let env = RealEnv::start_default().unwrap();
    block_on(async {
        let sstable = open(&env, table).await;
        assert_eq!(sstable.verify().await.unwrap(), expected);
        for key in [0i32, 17, 199] {
            let key_bytes = PartitionKey::new(&key.to_be_bytes());
            let mut cursor = sstable.partition(&key_bytes, true).await.unwrap().unwrap();
            let items = cursor.fill(&Slice::all(), Direction::Forward, 10).await.unwrap().items;
            let [Unfiltered::Row(row)] = items.as_slice() else { panic!("{items:?}") };
            let cell = row.cell(sstable.table().regulars()[0].id).unwrap();
            assert_eq!(cell.value.as_slice(), format!("value {key}").as_bytes());
        }
        assert!(sstable.partition(&PartitionKey::new(&200i32.to_be_bytes()), true).await.unwrap().is_none());
    });
}

#[test]
fn every_compressor_and_none() {
    let report = VerifyReport { partitions: 200, rows: 200, markers: 0, chunks: 1, has_digest: true };
    for table in ["snappy", "deflate", "zstd", "plain"] {
        check_values(table, report);
    }
}

#[test]
fn a_wide_partition_is_searched_by_its_index_in_both_directions() {
    let env = RealEnv::start_default().unwrap();
    block_on(async {
        let sstable = open(&env, "wide").await;
        let report = sstable.verify().await.unwrap();
        assert_eq!((report.partitions, report.rows, report.markers), (2, 3001, 2));
        let key = PartitionKey::new(&1i32.to_be_bytes());
        let clustering = sstable.table().clustering_types().clone();
        let at = |value: i32, side| clustering.bound(&[value.to_be_bytes()], side);
        use helenus_data::Side::{After, Before};
        for (first, last) in [(0, 2999), (2400, 2410), (499, 502), (2990, 2999), (1500, 1500)] {
            let slice = Slice { start: at(first, Before), end: at(last, After) };
            for direction in [Direction::Forward, Direction::Reversed] {
                let mut cursor = sstable.partition(&key, true).await.unwrap().unwrap();
                let batch = cursor.fill(&slice, direction, 5).await.unwrap();
                let found: Vec<i32> = batch
                    .items
                    .iter()
                    .filter_map(|item| match item {
                        Unfiltered::Row(row) => row.clustering.values().next()?.try_into().ok().map(i32::from_be_bytes),
                        Unfiltered::Marker(_) => None,
                    })
                    .collect();
                let expected: Vec<i32> = match direction {
                    Direction::Forward => (first..=last).take(5).collect(),
                    Direction::Reversed => (first..=last).rev().take(5).collect(),
                };
                assert_eq!(found, expected);
                let is_in_range_tombstone = 501 <= expected[0] && expected[0] <= 2499;
                let opens = matches!(&batch.items[0], Unfiltered::Marker(marker) if marker.begins.is_some());
                assert_eq!(opens, is_in_range_tombstone, "{first} {last} {direction:?}");
            }
        }
    });
}
