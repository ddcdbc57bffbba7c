//! Random tables and partitions are written, then read back in every way; the model is the partition in memory.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use helenus_data::read::{KeyRange, RingPosition, TableId};
use helenus_data::{
    Batch, Blob, Bound, Cell, CellPath, Clustering, ColumnData, ColumnId, ComplexColumn, DeletionTime, Direction,
    Liveness, Marker, NEVER_SECS, Partition, PartitionHeader, PartitionKey, Row, Side, Slice, Unfiltered,
};
use helenus_env::Env;
use helenus_env::real::{RealEnv, block_on};
use helenus_schema::{Column, ColumnKind, DroppedColumn, Table, TableParams};
use helenus_types::collection::{pack_list, pack_tuple};
use helenus_types::time::Ttl;
use helenus_types::{CqlType, UserType, UserTypeField};
use proptest::prelude::*;

use crate::{
    ChunkCache, Component, Descriptor, EncodingStats, EncodingStatsCollector, Generation, Labels, PartitionCursor,
    SsTable, SsTableError, SsTableWriter, WriterOptions, relabel,
};

/// Splitmix64: small, and a seed is a whole test case.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

fn point() -> UserType {
    let field = |name: &str, ty| UserTypeField { name: name.into(), ty };
    UserType {
        keyspace: "ks".into(),
        name: "point".into(),
        fields: vec![field("x", CqlType::Int), field("y", CqlType::Text)],
    }
}

fn key_types() -> Vec<CqlType> {
    vec![
        CqlType::Int,
        CqlType::Text,
        CqlType::Bigint,
        CqlType::Boolean,
        CqlType::Blob,
        CqlType::Smallint,
        CqlType::Varint,
    ]
}

fn value_types() -> Vec<CqlType> {
    let mut types = key_types();
    types.extend([
        CqlType::list(CqlType::Int),
        CqlType::set(CqlType::Text),
        CqlType::map(CqlType::Text, CqlType::Int),
        CqlType::map(CqlType::Bigint, CqlType::Blob),
        CqlType::Udt(Arc::new(point()), false),
        CqlType::list(CqlType::Int).frozen(),
        CqlType::vector(CqlType::Float, 3),
        CqlType::tuple([CqlType::Int, CqlType::Text]),
        CqlType::Timestamp,
        CqlType::Uuid,
    ]);
    types
}

fn value(ty: &CqlType, dice: &mut Dice) -> Vec<u8> {
    let bytes = |dice: &mut Dice, len: usize| (0..len).map(|_| dice.roll() as u8).collect::<Vec<u8>>();
    match ty {
        CqlType::Boolean => vec![dice.below(2) as u8],
        CqlType::Int => (dice.below(50) as i32 - 25).to_be_bytes().to_vec(),
        CqlType::Bigint | CqlType::Timestamp => (dice.below(50) as i64 - 25).to_be_bytes().to_vec(),
        CqlType::Smallint => (dice.below(50) as i16 - 25).to_be_bytes().to_vec(),
        CqlType::Varint => (dice.below(5000) as i16 - 2500).to_be_bytes().to_vec(),
        CqlType::Text => "abcdefgh"[..dice.below(9) as usize].repeat(1 + dice.below(3) as usize).into_bytes(),
        CqlType::Blob => {
            let len = if dice.one_in(40) { dice.below(4000) } else { dice.below(12) };
            bytes(dice, len as usize)
        }
        CqlType::Uuid => bytes(dice, 16),
        CqlType::Vector { .. } => bytes(dice, 12),
        CqlType::Tuple(_) => pack_tuple(&[Some(&[0, 0, 0, 1]), None]),
        CqlType::List { .. } => pack_list(&[Some(&[0, 0, 0, 7]), Some(&[0, 0, 0, 8])]),
        other => panic!("no values of {other}"),
    }
}

fn table(dice: &mut Dice) -> Table {
    let mut columns = Vec::new();
    let mut id = 0;
    let mut column = |name: String, ty: CqlType, kind: ColumnKind| {
        id += 1;
        columns.push(Column { id: ColumnId(id), name: name.into(), kind, ty });
    };
    for position in 0..1 + dice.below(2) as u16 {
        column(
            format!("p{position}"),
            dice.pick(&[CqlType::Int, CqlType::Text]),
            ColumnKind::PartitionKey { position },
        );
    }
    let clustering = dice.below(4) as u16;
    for position in 0..clustering {
        let kind = ColumnKind::Clustering { position, descending: dice.one_in(2) };
        column(format!("c{position}"), dice.pick(&key_types()), kind);
    }
    let statics = if 0 < clustering { dice.below(3) } else { 0 };
    let regulars = if dice.one_in(12) { 80 } else { dice.below(6) };
    for number in 0..statics {
        let name = format!("{}s{number}", dice.pick(&["a", "z", "m"]));
        column(name, dice.pick(&value_types()), ColumnKind::Static);
    }
    for number in 0..regulars {
        let name = format!("{}r{number}", dice.pick(&["a", "z", "m"]));
        column(name, dice.pick(&value_types()), ColumnKind::Regular);
    }
    let class =
        dice.pick(&["LZ4Compressor", "SnappyCompressor", "DeflateCompressor", "ZstdCompressor", "NoopCompressor", ""]);
    let mut compression = BTreeMap::from([("chunk_length_in_kb".to_owned(), dice.pick(&["1", "4", "16"]).to_owned())]);
    compression.insert("class".to_owned(), class.to_owned());
    if dice.one_in(4) {
        compression.insert("min_compress_ratio".to_owned(), "1.5".to_owned());
    }
    let min_index_interval = dice.pick(&[1, 3, 128]);
    let params = TableParams { compression, min_index_interval, ..TableParams::default() };
    Table::new(TableId(uuid::Uuid::nil()), "ks", "t", columns, params)
}

fn deletion(dice: &mut Dice) -> DeletionTime {
    DeletionTime { timestamp: 1_000 + dice.below(5_000) as i64, local_secs: 1_600_000_000 + dice.below(1000) as u32 }
}

fn cell(ty: &CqlType, dice: &mut Dice) -> Cell {
    let timestamp = 1_000 + dice.below(5_000) as i64;
    match dice.below(6) {
        0 => Cell::tombstone(timestamp, 1_600_000_000 + dice.below(500) as i64),
        1 => Cell::expiring(
            timestamp,
            Ttl::from_secs(1 + dice.below(500) as i64).unwrap(),
            1_600_000_000,
            Blob::from(value(ty, dice)),
        ),
        _ => Cell::live(timestamp, Blob::from(value(ty, dice))),
    }
}

fn complex(ty: &CqlType, dice: &mut Dice) -> ComplexColumn {
    let mut complex = ComplexColumn::default();
    if dice.one_in(2) {
        complex.deletion = deletion(dice);
    }
    for i in 0..1 + dice.below(4) as u16 {
        let (path, element) = match ty {
            CqlType::List { element, .. } => {
                let mut timeuuid = helenus_types::time::timeuuid(dice.below(1 << 40) as i64, 0, [7; 8]);
                timeuuid[15] = i as u8;
                (CellPath::new(&CqlType::Timeuuid, &timeuuid), (**element).clone())
            }
            CqlType::Set { element, .. } => (CellPath::new(element, &value(element, dice)), CqlType::Blob),
            CqlType::Map { key, value: element, .. } => (CellPath::new(key, &value(key, dice)), (**element).clone()),
            CqlType::Udt(udt, _) => {
                let field = i % udt.fields.len() as u16;
                (CellPath::field(field), udt.fields[usize::from(field)].ty.clone())
            }
            other => panic!("{other} is simple"),
        };
        let mut cell = cell(&element, dice);
        if matches!(ty, CqlType::Set { .. }) {
            cell.value = Blob::EMPTY;
        }
        if complex.cell(&path).is_none() {
            complex.add_cell(path, cell);
        }
    }
    complex
}

fn fill_row(row: &mut Row, columns: &[Column], dice: &mut Dice) {
    for column in columns {
        if dice.one_in(3) {
            continue;
        }
        if column.ty.is_multi_cell() {
            *row.complex_mut(column.id) = complex(&column.ty, dice);
        } else {
            row.add_cell(column.id, cell(&column.ty, dice));
        }
    }
}

fn clustering_values(table: &Table, dice: &mut Dice) -> Vec<Vec<u8>> {
    let types = table.clustering_types().columns();
    let empty_allowed = |ty: &CqlType| matches!(ty, CqlType::Text | CqlType::Blob);
    types
        .iter()
        .map(|c| if dice.one_in(10) && empty_allowed(&c.ty) { Vec::new() } else { value(&c.ty, dice) })
        .collect()
}

fn bound(table: &Table, dice: &mut Dice) -> Bound {
    let values = clustering_values(table, dice);
    let len = dice.below(values.len() as u64 + 1) as usize;
    table.clustering_types().bound(&values[..len], dice.pick(&[Side::Before, Side::After]))
}

fn slice(table: &Table, dice: &mut Dice) -> Slice {
    let (a, b) = (bound(table, dice), bound(table, dice));
    if a <= b { Slice { start: a, end: b } } else { Slice { start: b, end: a } }
}

fn partition(table: &Table, dice: &mut Dice) -> Partition {
    let values: Vec<Vec<u8>> = table.partition_key().iter().map(|column| value(&column.ty, dice)).collect();
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    let mut partition = Partition::new(PartitionKey::new(&helenus_types::composite::partition_key(&values).unwrap()));
    if dice.one_in(4) {
        partition.deletion = deletion(dice);
    }
    if table.has_statics() && dice.one_in(2) {
        fill_row(partition.static_row_mut(), table.statics(), dice);
        partition.static_row = partition.static_row.take().filter(|row| !row.is_empty());
    }
    for _ in 0..dice.pick(&[0, 1, 3, 200]) {
        let clustering = table.clustering_types().clustering(&clustering_values(table, dice));
        let row = partition.row_mut(&clustering);
        if !row.is_empty() {
            continue;
        }
        let ttl = if dice.one_in(3) { Ttl::from_secs(500).ok() } else { None };
        match dice.below(4) {
            0 => row.deletion = deletion(dice),
            _ => row.liveness = Liveness::new(1_000 + dice.below(5_000) as i64, ttl, 1_600_000_000),
        }
        fill_row(row, table.regulars(), dice);
    }
    if !table.clustering().is_empty() {
        for _ in 0..dice.pick(&[0, 0, 2, 30]) {
            partition.delete_range(slice(table, dice), deletion(dice));
        }
    }
    partition
}

fn header(partition: &Partition) -> PartitionHeader {
    PartitionHeader {
        key: partition.key.clone(),
        deletion: partition.deletion,
        static_row: partition.static_row.as_deref().cloned(),
    }
}

async fn write(
    env: &Env,
    descriptor: &Descriptor,
    table: &Arc<Table>,
    partitions: &BTreeMap<PartitionKey, Partition>,
    options: WriterOptions,
) {
    let mut writer = SsTableWriter::create(env, descriptor.clone(), Arc::clone(table), options).await.unwrap();
    for partition in partitions.values() {
        writer.start_partition(&header(partition)).await.unwrap();
        for item in partition.unfiltered(&Slice::all(), Direction::Forward, usize::MAX).items {
            writer.append(&item).await.unwrap();
        }
        writer.end_partition().await.unwrap();
    }
    writer.finish().await.unwrap();
}

/// Joins markers at the same position, as they stand where a batch was cut.
fn joined(items: Vec<Unfiltered>) -> Vec<Unfiltered> {
    let mut joined: Vec<Unfiltered> = Vec::new();
    for item in items {
        match (joined.last_mut(), item) {
            (Some(Unfiltered::Marker(last)), Unfiltered::Marker(next)) if last.position == next.position => {
                last.begins = next.begins;
            }
            (_, item) => joined.push(item),
        }
        if matches!(joined.last(), Some(Unfiltered::Marker(Marker { ends, begins, .. })) if ends == begins) {
            joined.pop();
        }
    }
    joined
}

/// Both sides of what an item says, the raw values that are not part of its order included.
fn assert_same(found: &[Unfiltered], expected: &[Unfiltered]) {
    assert_eq!(found, expected);
    for (found, expected) in found.iter().zip(expected) {
        if let (Unfiltered::Row(found), Unfiltered::Row(expected)) = (found, expected) {
            assert_eq!(found.clustering.raw(), expected.clustering.raw());
        }
    }
}

fn check(seed: u64) {
    let dice = &mut Dice(seed);
    let table = Arc::new(table(dice));
    let mut partitions = BTreeMap::new();
    for _ in 0..1 + dice.below(12) {
        let partition = partition(&table, dice);
        partitions.insert(partition.key.clone(), partition);
    }
    let mut encoding = EncodingStatsCollector::default();
    let partition_items =
        partitions.values().flat_map(|p| p.unfiltered(&Slice::all(), Direction::Forward, usize::MAX).items);
    if dice.one_in(2) {
        partition_items.for_each(|item| encoding.add(&item));
    }
    let options = WriterOptions {
        keys_estimate: partitions.len() as u64,
        column_index_bytes: dice.pick(&[1, 100, 1_000, 65_536]),
        encoding: encoding.finish(),
        extra: [("seed".to_owned(), seed.to_string())].into(),
        ..WriterOptions::default()
    };
    let directory = tempfile::tempdir().unwrap();
    let env = RealEnv::start_default().unwrap();
    block_on(async move {
        let descriptor = Descriptor::new(directory.path(), Generation::Sequence(1));
        write(&env, &descriptor, &table, &partitions, options).await;
        let cache = ChunkCache::new(if dice.one_in(2) { 1 << 20 } else { 0 });
        let sstable = SsTable::open(&env, descriptor.clone(), Arc::clone(&table), cache).await.unwrap();
        let report = sstable.verify().await.unwrap();
        assert_eq!(report.partitions, partitions.len() as u64);
        assert_eq!(sstable.stats().partition_count(), partitions.len() as u64);
        assert_eq!(sstable.stats().extra["seed"], seed.to_string());

        for partition in partitions.values() {
            let mut cursor = sstable.partition(&partition.key, true).await.unwrap().unwrap();
            assert_eq!(*cursor.header(), header(partition));
            for _ in 0..4 {
                let slice = if dice.one_in(3) { Slice::all() } else { slice(&table, dice) };
                let direction = dice.pick(&[Direction::Forward, Direction::Reversed]);
                let rows_max = dice.pick(&[1, 2, 7, usize::MAX]);
                let mut items = Vec::new();
                let mut left = Some(slice.clone());
                while let Some(slice) = left {
                    let Batch { items: more, resume } = cursor.fill(&slice, direction, rows_max).await.unwrap();
                    items.extend(more);
                    left = resume;
                }
                let expected = partition.unfiltered(&slice, direction, usize::MAX).items;
                assert_same(&joined(items), &expected);
            }
        }

        let keys: Vec<&PartitionKey> = partitions.keys().collect();
        let start = RingPosition::beside_key(keys[dice.below(keys.len() as u64) as usize], Side::Before);
        let end = RingPosition::beside_key(keys[dice.below(keys.len() as u64) as usize], Side::After);
        for range in [KeyRange::all(), KeyRange { start, end }] {
            let mut scanner = sstable.scan(&range).await.unwrap();
            for partition in partitions.values().filter(|partition| range.contains(&partition.key)) {
                let mut cursor = scanner.next_partition().await.unwrap().unwrap();
                assert_eq!(*cursor.header(), header(partition));
                if dice.one_in(2) {
                    let items = cursor.whole(Direction::Forward).await.unwrap();
                    let expected = partition.unfiltered(&Slice::all(), Direction::Forward, usize::MAX).items;
                    assert_same(&joined(items), &expected);
                }
            }
            assert!(scanner.next_partition().await.unwrap().is_none());
        }
        let absent = PartitionKey::new(b"an absent key");
        assert!(sstable.partition(&absent, true).await.unwrap().is_none());
        check_damage(&env, &descriptor, &table, &partitions, dice).await;
    });
}

/// Flips a byte of a component, cuts or loses it, then reads everything: an error or the truth, never a panic.
async fn check_damage(
    env: &Env,
    descriptor: &Descriptor,
    table: &Arc<Table>,
    partitions: &BTreeMap<PartitionKey, Partition>,
    dice: &mut Dice,
) {
    let components = [
        Component::Data,
        Component::Index,
        Component::Summary,
        Component::Filter,
        Component::Statistics,
        Component::CompressionInfo,
        Component::Crc,
        Component::Helenus,
    ];
    let path = descriptor.path(dice.pick(&components));
    if env.disk().file_len(&path).await.unwrap().is_none() {
        return;
    }
    let mut bytes = helenus_env::whole_file::read(&**env.disk(), &path).await.unwrap().to_vec();
    if bytes.is_empty() {
        return;
    }
    let at = dice.below(bytes.len() as u64) as usize;
    match dice.below(8) {
        0 => env.disk().remove_file(&path).await.unwrap(),
        1 | 2 => {
            bytes.truncate(at);
            helenus_env::whole_file::replace(&**env.disk(), &path, bytes.into()).await.unwrap();
        }
        _ => {
            bytes[at] ^= 1 << dice.below(8);
            helenus_env::whole_file::replace(&**env.disk(), &path, bytes.into()).await.unwrap();
        }
    }
    let Ok(sstable) = SsTable::open(env, descriptor.clone(), Arc::clone(table), ChunkCache::new(0)).await else {
        return;
    };
    let _ = sstable.verify().await;
    for partition in partitions.values() {
        match sstable.partition(&partition.key, true).await {
            Ok(Some(cursor)) => check_truth(cursor, partition).await,
            Ok(None) => panic!("damage of {} hides a partition from a read", path.display()),
            Err(_) => {}
        }
    }
    let mut scanner = sstable.scan(&KeyRange::all()).await.unwrap();
    let mut expected = partitions.values();
    loop {
        match scanner.next_partition().await {
            Ok(Some(cursor)) => check_truth(cursor, expected.next().unwrap()).await,
            Ok(None) => break assert_eq!(expected.next(), None, "damage of {} hides partitions", path.display()),
            Err(_) => break,
        }
    }
}

/// What a cursor answers is what was written, or an error.
async fn check_truth(mut cursor: PartitionCursor, partition: &Partition) {
    assert_eq!(*cursor.header(), header(partition));
    for direction in [Direction::Forward, Direction::Reversed] {
        let mut items = Vec::new();
        let mut left = Some(Slice::all());
        while let Some(slice) = left {
            match cursor.fill(&slice, direction, 10).await {
                Ok(batch) => {
                    items.extend(batch.items);
                    left = batch.resume;
                }
                Err(_) => return,
            }
        }
        let expected = partition.unfiltered(&Slice::all(), direction, usize::MAX).items;
        assert_same(&joined(items), &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_is_read_back_in_every_way(seed: u64) {
        check(seed);
    }
}

fn simple_table(dropped: Vec<DroppedColumn>) -> Table {
    let column = |id, name: &str, ty, kind| Column { id: ColumnId(id), name: name.into(), kind, ty };
    let columns = vec![
        column(1, "k", CqlType::Int, ColumnKind::PartitionKey { position: 0 }),
        column(2, "a", CqlType::Text, ColumnKind::Regular),
        column(3, "b", CqlType::Text, ColumnKind::Regular),
    ];
    let mut table = Table::new(TableId(uuid::Uuid::nil()), "ks", "t", columns, TableParams::default());
    table.dropped = dropped;
    table
}

fn simple_partition(key: i32, timestamp: i64) -> Partition {
    let mut partition = Partition::new(PartitionKey::new(&key.to_be_bytes()));
    let row = partition.row_mut(&Clustering::empty());
    row.add_cell(ColumnId(2), Cell::live(timestamp, Blob::from(&b"a"[..])));
    row.add_cell(ColumnId(3), Cell::live(timestamp + 1, Blob::from(&b"b"[..])));
    partition
}

fn with_simple_file(test: impl AsyncFnOnce(Env, Descriptor, Arc<Table>)) {
    let env = RealEnv::start_default().unwrap();
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let table = Arc::new(simple_table(Vec::new()));
        let descriptor = Descriptor::new(directory.path(), Generation::Sequence(7));
        let partitions = (0..3).map(|key| simple_partition(key, 100)).map(|p| (p.key.clone(), p)).collect();
        write(&env, &descriptor, &table, &partitions, WriterOptions::default()).await;
        test(env, descriptor, table).await;
    });
}

async fn only_row(sstable: &Rc<SsTable>) -> Vec<ColumnId> {
    let mut cursor = sstable.partition(&simple_partition(1, 0).key, true).await.unwrap().unwrap();
    let items = cursor.fill(&Slice::all(), Direction::Forward, 10).await.unwrap().items;
    items
        .iter()
        .flat_map(|item| match item {
            Unfiltered::Row(row) => row.columns.iter().map(|column| column.id).collect(),
            Unfiltered::Marker(_) => Vec::new(),
        })
        .collect()
}

#[test]
fn cells_of_dropped_columns_are_cut_by_the_time_of_the_drop() {
    with_simple_file(async |env, descriptor, table| {
        let sstable = SsTable::open(&env, descriptor, table, ChunkCache::new(1 << 20)).await.unwrap();
        assert_eq!(only_row(&sstable).await, [ColumnId(2), ColumnId(3)]);
        let dropped = |name: &str, dropped_micros| DroppedColumn {
            id: ColumnId(9),
            name: name.into(),
            kind: ColumnKind::Regular,
            ty: CqlType::Text,
            dropped_micros,
        };
        // Added again since: what came after the drop stays.
        let table = simple_table(vec![dropped("a", 100), dropped("b", 100)]);
        assert_eq!(only_row(&sstable.with_table(Arc::new(table)).unwrap()).await, [ColumnId(3)]);
        // Gone: nothing of it is read, whenever it was written.
        let table = simple_table(vec![dropped("b", 1)]);
        let columns = table.columns().iter().filter(|column| &*column.name != "b").cloned().collect();
        assert_eq!(only_row(&sstable.with_table(Arc::new(table.with_columns(columns))).unwrap()).await, [ColumnId(2)]);
        // Never heard of.
        let columns = table.columns().iter().filter(|column| &*column.name != "a").cloned().collect();
        let refused = sstable.with_table(Arc::new(table.with_columns(columns)));
        assert!(matches!(refused, Err(SsTableError::SchemaMismatch { .. })));
    });
}

#[test]
fn a_flipped_byte_of_data_is_found_by_its_chunk_and_by_verification() {
    with_simple_file(async |env, descriptor, table| {
        let path = descriptor.path(Component::Data);
        let mut bytes = helenus_env::whole_file::read(&**env.disk(), &path).await.unwrap().to_vec();
        bytes[10] ^= 4;
        helenus_env::whole_file::replace(&**env.disk(), &path, bytes.into()).await.unwrap();
        let sstable = SsTable::open(&env, descriptor, table, ChunkCache::new(0)).await.unwrap();
        assert!(sstable.verify().await.unwrap_err().is_damage());
        let key = simple_partition(1, 0).key;
        assert!(sstable.partition(&key, true).await.err().unwrap().to_string().contains("checksum"));
    });
}

#[test]
fn compressed_data_without_its_chunk_offsets_is_not_taken_for_plain() {
    with_simple_file(async |env, descriptor, table| {
        env.disk().remove_file(&descriptor.path(Component::CompressionInfo)).await.unwrap();
        let opened = SsTable::open(&env, descriptor, table, ChunkCache::new(0)).await;
        assert!(opened.err().unwrap().to_string().contains("CompressionInfo.db"));
    });
}

/// Swaps the keys 0 and 1 of a file of three, wherever they stand.
async fn swap_first_keys(env: &Env, descriptor: &Descriptor, component: Component, keys: &[[u8; 4]; 2]) {
    let path = descriptor.path(component);
    let mut bytes = helenus_env::whole_file::read(&**env.disk(), &path).await.unwrap().to_vec();
    let places = keys.map(|key| {
        let marked = [&[0, 4], &key[..]].concat();
        bytes.windows(6).position(|window| window == marked).unwrap() + 2
    });
    for (place, key) in places.into_iter().zip([keys[1], keys[0]]) {
        bytes[place..place + 4].copy_from_slice(&key);
    }
    helenus_env::whole_file::replace(&**env.disk(), &path, bytes.into()).await.unwrap();
}

#[test]
fn partitions_out_of_order_in_files_of_other_origin_are_damage() {
    let env = RealEnv::start_default().unwrap();
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let mut table = simple_table(Vec::new());
        table.params.compression = [("enabled".to_owned(), "false".to_owned())].into();
        table.params.crc_check_chance = 0.0;
        let table = Arc::new(table);
        let descriptor = Descriptor::new(directory.path(), Generation::Sequence(7));
        let partitions: BTreeMap<_, _> =
            (0..3).map(|key| simple_partition(key, 100)).map(|p| (p.key.clone(), p)).collect();
        write(&env, &descriptor, &table, &partitions, WriterOptions::default()).await;
        env.disk().remove_file(&descriptor.path(Component::Helenus)).await.unwrap();
        let keys: Vec<[u8; 4]> = partitions.keys().map(|key| *key.bytes().first_chunk().unwrap()).collect();
        for component in [Component::Data, Component::Index] {
            swap_first_keys(&env, &descriptor, component, &[keys[0], keys[1]]).await;
        }
        let sstable = SsTable::open(&env, descriptor, table, ChunkCache::new(0)).await.unwrap();
        let mut scanner = sstable.scan(&KeyRange::all()).await.unwrap();
        assert!(scanner.next_partition().await.unwrap().is_some());
        assert!(scanner.next_partition().await.err().unwrap().is_damage());
    });
}

#[test]
fn an_index_that_ends_early_is_damage_and_not_the_end_of_the_data() {
    with_simple_file(async |env, descriptor, table| {
        env.disk().remove_file(&descriptor.path(Component::Helenus)).await.unwrap();
        let path = descriptor.path(Component::Index);
        let mut bytes = helenus_env::whole_file::read(&**env.disk(), &path).await.unwrap().to_vec();
        bytes.truncate(bytes.len() / 3 * 2); // Three entries of the same size.
        helenus_env::whole_file::replace(&**env.disk(), &path, bytes.into()).await.unwrap();
        let sstable = SsTable::open(&env, descriptor, table, ChunkCache::new(0)).await.unwrap();
        let mut scanner = sstable.scan(&KeyRange::all()).await.unwrap();
        assert!(scanner.next_partition().await.unwrap().is_some());
        assert!(scanner.next_partition().await.unwrap().is_some());
        assert!(scanner.next_partition().await.err().unwrap().is_damage());
    });
}

#[test]
fn batches_of_large_rows_are_cut_by_their_bytes_and_add_up_to_the_whole() {
    let env = RealEnv::start_default().unwrap();
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let column = |id, name: &str, ty, kind| Column { id: ColumnId(id), name: name.into(), kind, ty };
        let columns = vec![
            column(1, "k", CqlType::Int, ColumnKind::PartitionKey { position: 0 }),
            column(2, "c", CqlType::Int, ColumnKind::Clustering { position: 0, descending: false }),
            column(3, "v", CqlType::Blob, ColumnKind::Regular),
        ];
        let table = Arc::new(Table::new(TableId(uuid::Uuid::nil()), "ks", "t", columns, TableParams::default()));
        let mut partition = Partition::new(PartitionKey::new(&1i32.to_be_bytes()));
        for number in 0..40i32 {
            let bytes = if number % 10 == 0 { 400 << 10 } else { 30 << 10 };
            let row = partition.row_mut(&table.clustering_types().clustering(&[number.to_be_bytes()]));
            row.add_cell(ColumnId(3), Cell::live(7, Blob::from(vec![number as u8; bytes])));
        }
        partition.delete_range(Slice::all(), DeletionTime { timestamp: 5, local_secs: 1_000 });
        let descriptor = Descriptor::new(directory.path(), Generation::Sequence(1));
        let partitions = [(partition.key.clone(), partition.clone())].into();
        write(&env, &descriptor, &table, &partitions, WriterOptions::default()).await;
        let sstable = SsTable::open(&env, descriptor, table, ChunkCache::new(0)).await.unwrap();
        for direction in [Direction::Forward, Direction::Reversed] {
            let mut cursor = sstable.partition(&partition.key, true).await.unwrap().unwrap();
            let (mut items, mut left) = (Vec::new(), Some(Slice::all()));
            while let Some(slice) = left {
                let batch = cursor.fill(&slice, direction, usize::MAX).await.unwrap();
                let rows = batch.items.iter().filter(|item| matches!(item, Unfiltered::Row(_))).count();
                assert!((1..=9).contains(&rows), "{rows} rows of at least 30 KiB");
                items.extend(batch.items);
                left = batch.resume;
            }
            assert_same(&joined(items), &partition.unfiltered(&Slice::all(), direction, usize::MAX).items);
        }
    });
}

#[test]
fn a_missing_summary_is_made_anew_from_the_index() {
    with_simple_file(async |env, descriptor, table| {
        env.disk().remove_file(&descriptor.path(Component::Summary)).await.unwrap();
        let sstable = SsTable::open(&env, descriptor, table, ChunkCache::new(0)).await.unwrap();
        assert_eq!(sstable.verify().await.unwrap().partitions, 3);
    });
}

#[test]
fn level_and_repair_state_can_be_changed_afterwards() {
    with_simple_file(async |env, descriptor, table| {
        let labels = Labels { level: 3, repaired_at: 1_700_000_000_000, pending_repair: Some(uuid::Uuid::max()) };
        relabel(&env, &descriptor, labels).await.unwrap();
        let sstable = SsTable::open(&env, descriptor, table, ChunkCache::new(0)).await.unwrap();
        let stats = sstable.stats();
        let found = Labels { level: stats.level, repaired_at: stats.repaired_at, pending_repair: stats.pending_repair };
        assert_eq!(found, labels);
        assert_eq!(sstable.verify().await.unwrap().rows, 3);
        assert_eq!(EncodingStats::of_sources([stats]).timestamp_min, 100);
        assert!(stats.report().contains("Level: 3"));
    });
}

#[test]
fn what_comes_out_of_order_is_refused_and_an_abort_leaves_nothing() {
    let env = RealEnv::start_default().unwrap();
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let table = Arc::new(simple_table(Vec::new()));
        let descriptor = Descriptor::new(directory.path(), Generation::Sequence(1));
        let mut writer = SsTableWriter::create(&env, descriptor, table, WriterOptions::default()).await.unwrap();
        let partition = simple_partition(1, 5);
        writer.start_partition(&header(&partition)).await.unwrap();
        let items = partition.unfiltered(&Slice::all(), Direction::Forward, 1).items;
        writer.append(&items[0]).await.unwrap();
        assert!(matches!(writer.append(&items[0]).await, Err(SsTableError::Refused { .. })));
        writer.end_partition().await.unwrap();
        assert!(matches!(writer.start_partition(&header(&partition)).await, Err(SsTableError::Refused { .. })));
        writer.abort().await;
        assert!(env.disk().list(directory.path()).await.unwrap().is_empty());
    });
}

#[test]
fn expiry_past_2038_is_cut_to_what_the_version_can_hold() {
    let env = RealEnv::start_default().unwrap();
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let table = Arc::new(simple_table(Vec::new()));
        let descriptor = Descriptor::new(directory.path(), Generation::Sequence(1));
        let mut partition = simple_partition(1, 5);
        let ttl = Ttl::from_secs(i64::from(Ttl::MAX_SECS)).unwrap();
        let cell =
            Cell { timestamp: 900, ttl: Some(ttl), local_deletion_secs: NEVER_SECS - 1, value: Blob::from(&b"x"[..]) };
        *partition.row_mut(&Clustering::empty()) = Row::new(Clustering::empty());
        partition.row_mut(&Clustering::empty()).add_cell(ColumnId(2), cell);
        let partitions = [(partition.key.clone(), partition.clone())].into();
        write(&env, &descriptor, &table, &partitions, WriterOptions::default()).await;
        let sstable = SsTable::open(&env, descriptor, table, ChunkCache::new(0)).await.unwrap();
        let mut cursor = sstable.partition(&partition.key, true).await.unwrap().unwrap();
        let batch = cursor.fill(&Slice::all(), Direction::Forward, 1).await.unwrap();
        let Unfiltered::Row(row) = &batch.items[0] else { panic!("a row was written") };
        let ColumnData::Simple(cell) = &row.columns[0].data else { panic!("text is simple") };
        assert_eq!((cell.local_deletion_secs, cell.ttl), (i32::MAX as u32 - 1, Some(ttl)));
    });
}
