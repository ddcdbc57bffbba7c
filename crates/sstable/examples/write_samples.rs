//! Writes SSTables for Cassandra's own tools to judge; driven by `tests/sstable/run.py`.
//!
//! ```text
//! write_samples rewrite SOURCE TARGET   reads SOURCE (the directory of one SSTable nb-1-big) and writes it anew
//! write_samples make TARGET             writes samples of what no golden file holds, a directory each
//! write_samples dump SOURCE             prints the SSTable as JSON, as sstabledump does
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use helenus_data::read::{KeyRange, TableId};
use helenus_data::{
    Blob, Cell, CellPath, ColumnId, DeletionTime, Direction, Partition, PartitionHeader, PartitionKey, Side, Slice,
};
use helenus_env::Env;
use helenus_env::real::{RealEnv, block_on};
use helenus_schema::{Column, ColumnKind, Table, TableParams};
use helenus_sstable::{
    ChunkCache, Descriptor, Dump, DumpTimes, Generation, SsTable, SsTableError, SsTableWriter, WriterOptions,
    infer_table,
};
use helenus_types::CqlType;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let env = match RealEnv::start_default() {
        Ok(env) => env,
        Err(error) => return failed(&error),
    };
    let done = block_on(async {
        match arguments.as_slice() {
            ["rewrite", source, target] => rewrite(&env, Path::new(source), Path::new(target)).await,
            ["make", target] => make(&env, Path::new(target)).await,
            ["dump", source] => dump(&env, Path::new(source)).await,
            _ => {
                eprintln!("usage: write_samples rewrite SOURCE TARGET | make TARGET | dump SOURCE");
                Ok(())
            }
        }
    });
    done.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("write_samples: {error}");
    ExitCode::FAILURE
}

fn descriptor(directory: &Path) -> Descriptor {
    Descriptor::new(directory, Generation::Sequence(1))
}

async fn open(env: &Env, source: &Path) -> Result<std::rc::Rc<SsTable>, SsTableError> {
    let table = infer_table(env, &descriptor(source)).await?;
    SsTable::open(env, descriptor(source), Arc::new(table), ChunkCache::new(1 << 20)).await
}

async fn rewrite(env: &Env, source: &Path, target: &Path) -> Result<(), SsTableError> {
    let sstable = open(env, source).await?;
    let keys_estimate = sstable.stats().partition_count();
    let extra = [("origin".to_owned(), "write_samples".to_owned())].into();
    let options = WriterOptions { keys_estimate, extra, ..WriterOptions::default() };
    let mut writer = create(env, target, Arc::clone(sstable.table()), options).await?;
    let mut scanner = sstable.scan(&KeyRange::all()).await?;
    while let Some(mut cursor) = scanner.next_partition().await? {
        writer.start_partition(&cursor.header().clone()).await?;
        for item in cursor.whole(Direction::Forward).await? {
            writer.append(&item).await?;
        }
        writer.end_partition().await?;
    }
    writer.finish().await.map(|_| ())
}

async fn dump(env: &Env, source: &Path) -> Result<(), SsTableError> {
    let sstable = open(env, source).await?;
    let dump = Dump { table: sstable.table(), times: DumpTimes::Iso, now_secs: env.wall_secs() };
    let mut partitions = Vec::new();
    let mut scanner = sstable.scan(&KeyRange::all()).await?;
    while let Some(mut cursor) = scanner.next_partition().await? {
        let items = cursor.whole(Direction::Forward).await?;
        partitions.push(dump.partition(cursor.header(), &items));
    }
    println!("{}", serde_json::Value::from(partitions));
    Ok(())
}

async fn create(
    env: &Env,
    target: &Path,
    table: Arc<Table>,
    options: WriterOptions,
) -> Result<SsTableWriter, SsTableError> {
    let created = env.disk().create_dir_all(target).await;
    created.map_err(|source| SsTableError::Disk { action: "create directory", path: target.to_owned(), source })?;
    SsTableWriter::create(env, descriptor(target), table, options).await
}

async fn make(env: &Env, target: &Path) -> Result<(), SsTableError> {
    write(env, target.join("index_by_offsets"), wide_table(), vec![wide_partition(0, 20_000)], 1_024).await?;
    let partitions = (0..3_000).map(|key| wide_partition(key, 3)).collect();
    write(env, target.join("many_partitions"), wide_table(), partitions, 65_536).await?;
    write(env, target.join("mixed_deletions"), complex_table(), vec![complex_partition()], 65_536).await
}

async fn write(
    env: &Env,
    target: PathBuf,
    table: Table,
    mut partitions: Vec<Partition>,
    block_bytes: u32,
) -> Result<(), SsTableError> {
    partitions.sort_by(|a, b| a.key.cmp(&b.key));
    let keys_estimate = partitions.len() as u64;
    let options = WriterOptions { keys_estimate, column_index_bytes: block_bytes, ..WriterOptions::default() };
    let mut writer = create(env, &target, Arc::new(table), options).await?;
    for partition in partitions {
        let items = partition.unfiltered(&Slice::all(), Direction::Forward, usize::MAX).items;
        let static_row = partition.static_row.map(|row| *row);
        let header = PartitionHeader { key: partition.key, deletion: partition.deletion, static_row };
        writer.start_partition(&header).await?;
        for item in &items {
            writer.append(item).await?;
        }
        writer.end_partition().await?;
    }
    writer.finish().await.map(|_| ())
}

fn table(columns: &[(&str, CqlType, ColumnKind)]) -> Table {
    let columns = (0u32..).zip(columns).map(|(id, (name, ty, kind))| Column {
        id: ColumnId(id),
        name: (*name).into(),
        kind: *kind,
        ty: ty.clone(),
    });
    Table::new(TableId(uuid::Uuid::nil()), "ks", "t", columns.collect(), TableParams::default())
}

fn wide_table() -> Table {
    table(&[
        ("k", CqlType::Int, ColumnKind::PartitionKey { position: 0 }),
        ("c", CqlType::Bigint, ColumnKind::Clustering { position: 0, descending: true }),
        ("v", CqlType::Text, ColumnKind::Regular),
    ])
}

/// Rows, some of them deleted by ranges that touch each other.
fn wide_partition(key: i32, rows: i64) -> Partition {
    let types = wide_table().clustering_types().clone();
    let mut partition = Partition::new(PartitionKey::new(&key.to_be_bytes()));
    for row in 0..rows {
        let clustering = types.clustering(&[row.to_be_bytes()]);
        let value = format!("value {row} of partition {key}");
        partition.row_mut(&clustering).add_cell(ColumnId(2), Cell::live(2_000_000, Blob::from(value.into_bytes())));
    }
    let at = |value: i64, side| types.bound(&[value.to_be_bytes()], side);
    for (timestamp, from, to) in [(1_000_000, rows / 4, rows / 2), (1_000_001, rows / 2, rows / 2 + rows / 4)] {
        let slice = Slice { start: at(to, Side::Before), end: at(from, Side::After) }; // Descending.
        partition.delete_range(slice, DeletionTime { timestamp, local_secs: 1_700_000_000 });
    }
    partition
}

fn complex_table() -> Table {
    table(&[
        ("k", CqlType::Int, ColumnKind::PartitionKey { position: 0 }),
        ("c", CqlType::Text, ColumnKind::Clustering { position: 0, descending: false }),
        ("m", CqlType::map(CqlType::Text, CqlType::Int), ColumnKind::Regular),
        ("s", CqlType::set(CqlType::Int), ColumnKind::Regular),
        ("t", CqlType::list(CqlType::Int), ColumnKind::Static),
        ("v", CqlType::Text, ColumnKind::Regular),
    ])
}

/// A row in which one collection was replaced and another only added to, and one that was deleted and written again.
fn complex_partition() -> Partition {
    let types = complex_table().clustering_types().clone();
    let mut partition = Partition::new(PartitionKey::new(&1i32.to_be_bytes()));
    let deletion = |timestamp| DeletionTime { timestamp, local_secs: 1_700_000_000 };
    let row = partition.row_mut(&types.clustering(&[b"mixed"]));
    row.complex_mut(ColumnId(2)).deletion = deletion(999);
    row.complex_mut(ColumnId(2)).add_cell(CellPath::new(&CqlType::Text, b"a"), live(1_000, &1i32.to_be_bytes()));
    row.complex_mut(ColumnId(3)).add_cell(CellPath::new(&CqlType::Int, &5i32.to_be_bytes()), live(1_001, b""));
    let row = partition.row_mut(&types.clustering(&[b"again"]));
    row.deletion = deletion(500);
    row.add_cell(ColumnId(5), live(501, b"written again"));
    row.complex_mut(ColumnId(3)).deletion = deletion(502);
    let timeuuid = helenus_types::time::timeuuid(1_700_000_000_000_000, 0, [1; 8]);
    let list = partition.static_row_mut().complex_mut(ColumnId(4));
    list.add_cell(CellPath::new(&CqlType::Timeuuid, &timeuuid), live(1_002, &9i32.to_be_bytes()));
    partition
}

fn live(timestamp: i64, value: &[u8]) -> Cell {
    Cell::live(timestamp, Blob::from(value))
}
