use proptest::prelude::*;

use super::*;
use crate::key::{ClusteringType, ClusteringTypes, Side};
use helenus_types::CqlType;

fn types() -> ClusteringTypes {
    ClusteringTypes::new(vec![
        ClusteringType { ty: CqlType::Text, descending: true },
        ClusteringType { ty: CqlType::Int, descending: false },
    ])
}

fn any_cell() -> impl Strategy<Value = Cell> {
    (any::<i64>(), 0u32..3, 0i64..1_000_000, prop::collection::vec(any::<u8>(), 0..40)).prop_map(
        |(timestamp, kind, secs, value)| match kind {
            0 => Cell::live(timestamp, value.into()),
            1 => Cell::tombstone(timestamp, secs),
            _ => Cell::expiring(timestamp, Ttl::from_secs(secs + 1).expect("in range"), secs, value.into()),
        },
    )
}

prop_compose! {
    fn any_row()(
        cells in prop::collection::vec((0u32..6, any_cell()), 0..5),
        paths in prop::collection::vec((any::<i32>(), any_cell()), 0..4),
        liveness in prop::option::of((0i64..99, 0i64..99)),
        deletion in prop::option::of((any::<i64>(), 0u32..99)),
    ) -> Row {
        let mut row = Row::new(Clustering::empty());
        cells.into_iter().for_each(|(id, cell)| row.add_cell(ColumnId(id), cell));
        for (path, cell) in paths {
            row.complex_mut(ColumnId(9)).add_cell(CellPath::new(&CqlType::Int, &path.to_be_bytes()), cell);
        }
        if let Some((timestamp, secs)) = liveness {
            row.liveness = Liveness::new(timestamp, Ttl::from_secs(secs).ok(), secs);
        }
        if let Some((timestamp, local_secs)) = deletion {
            row.deletion = DeletionTime { timestamp, local_secs };
        }
        row
    }
}

prop_compose! {
    fn any_mutation()(
        key in prop::collection::vec(any::<u8>(), 1..30),
        rows in prop::collection::vec(("[a-c]{0,3}", any::<i32>(), any_row()), 0..20),
        static_row in prop::option::of(any_row()),
        ranges in prop::collection::vec(("[a-c]{0,3}", "[a-c]{0,3}", 0i64..99), 0..3),
        epoch in any::<u64>(),
    ) -> Mutation {
        let mut partition = Partition::new(PartitionKey::new(&key));
        for (text, number, row) in rows {
            let values: [&[u8]; 2] = [text.as_bytes(), &number.to_be_bytes()];
            let clustering = types().clustering(&values);
            *partition.row_mut(&clustering) = Row { clustering: clustering.clone(), ..row };
        }
        partition.static_row = static_row.map(Box::new);
        for (start, end, timestamp) in ranges {
            let slice = Slice {
                start: types().bound(&[start.as_bytes()], Side::Before),
                end: types().bound(&[end.as_bytes()], Side::After),
            };
            partition.delete_range(slice, DeletionTime { timestamp, local_secs: 1 });
        }
        Mutation { table: TableId(Uuid::from_u128(5)), schema_epoch: epoch, partition }
    }
}

proptest! {
    #[test]
    fn decoding_gives_back_what_was_encoded(mutation in any_mutation()) {
        let mut bytes = Vec::new();
        encode(&mutation, &mut bytes);
        let len = bytes.len();
        bytes.extend_from_slice(b"the next one");
        prop_assert_eq!(decode(&bytes), Ok((mutation, len)));
    }

    #[test]
    fn a_cut_mutation_is_refused(mutation in any_mutation(), cut in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        encode(&mutation, &mut bytes);
        bytes.truncate(cut.index(bytes.len()));
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut with_version = vec![VERSION];
        with_version.extend_from_slice(&bytes);
        let _ = decode(&with_version);
        let _ = decode(&bytes);
    }
}

#[test]
fn an_unknown_version_is_named() {
    assert_eq!(decode(&[9]), Err(CodecError::UnknownVersion(9)));
}
