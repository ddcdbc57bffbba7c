//! Everything else that a shard promises.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use helenus_data::read::{ReadCommand, ReadLimits};
use helenus_data::{Blob, Cell, Mutation, Partition, counter};
use helenus_env::{Env, OpenMode};

use super::world::{
    COUNTERS, ROWS, Tweak, VALUE, World, all_rows, assert_same, calm, clustering, delete_row, insert, key, no_tweak,
    schema,
};
use crate::config::CommitLogSync;
use crate::error::StorageError;
use crate::snapshot::SnapshotOptions;

/// # Panics
/// When an acknowledged write is gone after a kill.
pub async fn every_sync_mode_keeps_what_it_acknowledged(env: Env, root: &Path) {
    let modes: [(&str, Tweak); 3] = [
        ("periodic", |config| {
            config.commit_log_sync = CommitLogSync::Periodic { period: Duration::from_millis(5) };
        }),
        ("batch", |config| config.commit_log_sync = CommitLogSync::Batch),
        ("group", |config| config.commit_log_sync = CommitLogSync::Group { window: Duration::from_millis(2) }),
    ];
    for (name, tweak) in modes {
        let directory = root.join(name);
        let world = World::start_with(&env, &directory, schema(calm()), 1, tweak).await.expect("it opens");
        // Enough for several segments of 64 KiB.
        let value = "v".repeat(2_000);
        for number in 0..120 {
            world.write(insert(number, 0, 1_000, &value)).await;
        }
        assert!(1 < world.shards[0].stats().commit_log_segments);
        world.kill().await;
        let world = World::start_with(&env, &directory, schema(calm()), 2, tweak).await.expect("it opens again");
        assert_eq!(world.live_rows().await.len(), 120, "{name}");
        let replayed: u64 = world.reports.iter().map(|report| report.mutations_applied).sum();
        assert_eq!(replayed, 120, "{name}");
        world.stop().await;
        let world = World::start(&env, &directory, schema(calm())).await;
        assert_eq!(world.live_rows().await.len(), 120, "{name}");
        assert_eq!(world.reports[0].mutations_applied, 0, "after a drained stop there is nothing to replay");
        world.stop().await;
    }
}

/// # Panics
/// When a row is lost or seen twice, or files of the old shard count stay.
pub async fn files_follow_the_shard_count(env: Env, root: &Path) {
    let params = helenus_schema::TableParams::default();
    let world = World::start(&env, root, schema(params.clone())).await;
    for number in 0..60 {
        world.write(insert(number, 0, 1_000, "value")).await;
        if number % 20 == 0 {
            world.flush().await;
        }
    }
    world.stop().await;
    for shard_count in [3, 2, 1] {
        let world =
            World::start_with(&env, root, schema(params.clone()), shard_count, no_tweak).await.expect("it opens");
        assert_eq!(world.live_rows().await.len(), 60, "{shard_count} shards");
        world.compact().await;
        assert_eq!(world.live_rows().await.len(), 60, "{shard_count} shards, rewritten");
        let names = world.names_in(&world.table_directory()).await;
        let files = names.iter().filter(|name| name.ends_with("-Data.db")).count();
        assert!(files <= usize::try_from(shard_count).expect("small"), "a file a shard is left: {names:?}");
        world.kill().await;
    }
}

/// # Panics
/// When a leftover file is opened, or a file that stands is removed.
pub async fn interrupted_transactions_are_cleaned_up(env: Env, root: &Path) {
    let world = World::start(&env, root, schema(calm())).await;
    world.write(insert(1, 0, 1_000, "stays")).await;
    world.flush().await;
    world.write(insert(2, 0, 1_000, "never committed")).await;
    world.flush().await;
    let directory = world.table_directory();
    let mut names: Vec<String> =
        world.names_in(&directory).await.into_iter().filter(|name| name.ends_with("-Data.db")).collect();
    names.sort_by_key(|name| name.len());
    assert_eq!(names.len(), 2, "{names:?}");
    world.stop().await;
    let base = directory.join(names[1].trim_end_matches("-Data.db"));
    let mut crc = crc32fast::Hasher::new();
    crc.update(base.display().to_string().as_bytes());
    crc.update(b"ADD");
    crc.update(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8]);
    let line = format!("ADD:[{},0,8][{}]\nCOMM", base.display(), crc.finalize());
    let log = directory.join("nb_txn_flush_0123456789abcdef0123456789abcdef.log");
    let file = env.disk().open(&log, OpenMode::CreateNew).await.expect("a log can be made");
    file.write_at(0, Bytes::from(line)).await.expect("a log can be written");
    drop(file);
    let world = World::start(&env, root, schema(calm())).await;
    assert_eq!(world.live_rows().await, vec![(1, 0)]);
    let left = world.names_in(&directory).await;
    assert!(left.iter().all(|name| !name.contains("_txn_") && !name.starts_with(names[1].trim_end_matches("Data.db"))));
    world.stop().await;
}

/// # Panics
/// When memory is not bounded or a row is lost.
pub async fn little_memory_flushes_and_loses_nothing(env: Env, root: &Path) {
    let tweak: Tweak = |config| config.memory_bytes = 200 << 10;
    let mut params = helenus_schema::TableParams::default();
    params.compression.clear();
    params.compression.insert("enabled".to_owned(), "false".to_owned());
    let world = World::start_with(&env, root, schema(params), 1, tweak).await.expect("it opens");
    let value = "v".repeat(5_000);
    for number in 0..400 {
        world.write(insert(number % 100, number / 100, 1_000, &value)).await;
        let stats = world.shards[0].stats();
        assert!(stats.memtable_bytes < (200 << 10) + 20_000, "{} bytes in memtables", stats.memtable_bytes);
    }
    assert_eq!(world.live_rows().await.len(), 400);
    let stats = world.shards[0].stats();
    assert!(3 < stats.flushes, "two megabytes do not fit into 200 KiB");
    assert!(stats.commit_log_bytes <= 2 << 20, "the log is bounded, too: {}", stats.commit_log_bytes);
    world.kill().await;
    let world = World::start(&env, root, schema(calm())).await;
    assert_eq!(world.live_rows().await.len(), 400);
    world.stop().await;
}

/// # Panics
/// When pages overlap, or leave something out.
pub async fn pages_add_up_to_the_whole(env: Env, root: &Path) {
    let world = World::start(&env, root, schema(calm())).await;
    let now_secs = env.wall_secs();
    for number in 0..120 {
        world.write(insert(number % 7, number, 1_000, "value")).await;
        if number % 30 == 29 {
            world.flush().await;
        }
        if number % 10 == 3 {
            world.write(delete_row(number % 7, number - 1, 2_000, now_secs)).await;
        }
    }
    let whole = world.read_all(ROWS, now_secs).await;
    for page_rows in [1, 3, 10, 1_000] {
        let mut pages = Vec::new();
        let mut resume = None;
        loop {
            let limits = ReadLimits { rows: page_rows, ..ReadLimits::NONE };
            let command = ReadCommand { limits, resume: resume.take(), ..all_rows(ROWS, now_secs) };
            let page = world.shards[0].read(&world.context(), &command).await.expect("a page is read");
            for partition in page.partitions {
                match pages.last_mut() {
                    Some(last) if is_same_key(last, &partition) => append_rows(last, partition),
                    _ => pages.push(partition),
                }
            }
            match page.next {
                Some(next) => resume = Some(next),
                None => break,
            }
        }
        assert_same(&pages, &whole, &format!("pages of {page_rows}"));
    }
    world.stop().await;
}

fn is_same_key(a: &helenus_data::read::PartitionRows, b: &helenus_data::read::PartitionRows) -> bool {
    a.key == b.key
}

fn append_rows(into: &mut helenus_data::read::PartitionRows, more: helenus_data::read::PartitionRows) {
    into.rows.extend(more.rows);
}

/// # Panics
/// When an increment is lost or counted twice, by restarts and compactions, too.
pub async fn counters_count_each_increment_once(env: Env, root: &Path) {
    let mut world = World::start(&env, root, schema(calm())).await;
    let mut total = 0i64;
    for round in 0..30i64 {
        let mut partition = Partition::new(key(1));
        let delta = round - 10;
        let cell = Cell::live(1_000 + round, Blob::from(delta.to_be_bytes()));
        partition.row_mut(&clustering(2)).add_cell(VALUE, cell);
        let mutation = Mutation { table: COUNTERS, schema_epoch: 1, partition };
        world.shards[0].apply_counter(&world.context(), mutation).await.expect("a counter is incremented");
        total += delta;
        if round % 5 == 2 {
            world.flush().await;
        }
        if round % 9 == 4 {
            world.shards[0].compact(COUNTERS).await.expect("counters are compacted");
        }
        if round % 7 == 6 {
            world.kill().await;
            world = World::start(&env, root, schema(calm())).await;
        }
        let rows = world.read_all(COUNTERS, env.wall_secs()).await;
        let cell = rows[0].rows[0].cell(VALUE).expect("the counter is there");
        assert_eq!(counter::total(&cell.value), total, "round {round}");
    }
    world.stop().await;
}

/// # Panics
/// When a snapshot is not complete, or does not survive what it was taken for.
pub async fn snapshots_are_linked_listed_and_cleared(env: Env, root: &Path) {
    let world = World::start_with(&env, root, schema(calm()), 2, no_tweak).await.expect("it opens");
    for number in 0..20 {
        world.write(insert(number, 0, 1_000, "value")).await;
    }
    let options = SnapshotOptions::now(&env);
    for shard in &world.shards {
        shard.snapshot("tag", &[ROWS], options).await.expect("a snapshot is taken");
        let refused = shard.snapshot("../out", &[ROWS], options).await;
        assert!(matches!(refused, Err(StorageError::Invalid(_))));
    }
    let data = [root.join("data")];
    let before = crate::list_snapshots(&env, &data).await.expect("snapshots are listed");
    assert_eq!((before.len(), before[0].tag.as_str(), before[0].table.as_str()), (1, "tag", "rows"));
    let names = world.names_in(&before[0].directory).await;
    assert_eq!(names.iter().filter(|name| name.ends_with("-Data.db")).count(), 2, "one a shard: {names:?}");
    assert!(names.contains(&"manifest.json".to_owned()) && names.contains(&"schema.cql".to_owned()));
    let created = before[0].created_at.clone().expect("the manifest says when");
    assert!(created.ends_with('Z') && created.len() == "2024-05-01T12:30:00.123Z".len(), "{created}");
    for shard in &world.shards {
        shard.truncate(ROWS, env.wall_micros()).await.expect("it truncates");
    }
    let after = crate::list_snapshots(&env, &data).await.expect("snapshots are listed");
    let kept = after.iter().find(|snapshot| snapshot.tag == "tag").expect("it is still there");
    assert_eq!(kept.true_bytes, kept.bytes, "only the snapshot holds the files now");
    let cleared = crate::clear_snapshots(&env, &data, Some("tag"), &["ks".to_owned()]).await;
    assert_eq!(cleared.expect("snapshots are cleared"), 1);
    world.stop().await;
}

/// # Panics
/// When a snapshot that skips the flush has what was not flushed, or one does not go when its time is over. Only for a
/// simulated clock: it waits for minutes.
pub async fn snapshots_go_when_their_time_is_over(env: Env, root: &Path) {
    let world = World::start_with(&env, root, schema(calm()), 2, no_tweak).await.expect("it opens");
    for number in 0..20 {
        world.write(insert(number, 0, 1_000, "value")).await;
    }
    let lasting = SnapshotOptions { skip_flush: true, ..SnapshotOptions::now(&env) };
    let expiring = SnapshotOptions {
        expires_at_micros: Some(lasting.created_at_micros + 90_000_000),
        ..SnapshotOptions::now(&env)
    };
    for shard in &world.shards {
        shard.snapshot("lasting", &[ROWS], lasting).await.expect("a snapshot is taken");
    }
    for shard in &world.shards {
        shard.snapshot("expiring", &[ROWS], expiring).await.expect("a snapshot is taken");
    }
    let data = [root.join("data")];
    let found = crate::list_snapshots(&env, &data).await.expect("snapshots are listed");
    let mut tags = Vec::new();
    for info in &found {
        let names = world.names_in(&info.directory).await;
        tags.push((info.tag.as_str(), names.iter().filter(|name| name.ends_with("-Data.db")).count()));
    }
    tags.sort_unstable();
    assert_eq!(tags, [("expiring", 2), ("lasting", 0)]);
    let tags_after = async |wait_secs| {
        env.sleep(Duration::from_secs(wait_secs)).await;
        let found = crate::list_snapshots(&env, &data).await.expect("snapshots are listed");
        found.into_iter().map(|info| info.tag).collect::<Vec<_>>()
    };
    assert_eq!(tags_after(80).await.len(), 2);
    assert_eq!(tags_after(80).await, ["lasting"]);
    // One that the node made for itself does not outlive it.
    let manifest = data[0].join("ks").join(format!("rows-{}", ROWS.0.simple())).join("snapshots/lasting/manifest.json");
    let text = helenus_env::whole_file::read(&**env.disk(), &manifest).await.expect("there is a manifest");
    let text = String::from_utf8_lossy(&text).replace("\"ephemeral\": false", "\"ephemeral\": true");
    helenus_env::whole_file::replace(&**env.disk(), &manifest, text.into_bytes().into()).await.expect("it is written");
    assert_eq!(tags_after(80).await, ["lasting"]);
    world.stop().await;
    let world = World::start_with(&env, root, schema(calm()), 2, no_tweak).await.expect("it opens");
    assert_eq!(tags_after(10).await, Vec::<String>::new());
    world.stop().await;
}

/// # Panics
/// When a refusal is missing or says something else.
pub async fn refusals_are_clear(env: Env, root: &Path) {
    let full: Tweak = |config| config.disk_reserve_bytes = u64::MAX / 4;
    let world = World::start_with(&env, &root.join("full"), schema(calm()), 1, full).await.expect("it opens");
    let refused = world.try_write(insert(1, 1, 1, "no room")).await;
    assert!(matches!(refused, Err(StorageError::DiskReserve { .. })), "{refused:?}");
    assert_eq!(world.live_rows().await, vec![], "reads go on");
    world.kill().await;

    let strict: Tweak = |config| config.tombstone_failure_threshold = 10;
    let world = World::start_with(&env, &root.join("strict"), schema(calm()), 1, strict).await.expect("it opens");
    for number in 0..11 {
        world.write(delete_row(1, number, 1_000, env.wall_secs())).await;
    }
    let read = world.shards[0].read(&world.context(), &all_rows(ROWS, env.wall_secs())).await;
    assert!(matches!(read, Err(StorageError::TooManyTombstones { tombstones: 11, .. })), "{read:?}");
    let too_large = world.try_write(insert(1, 1, 1, &"v".repeat(40 << 10))).await;
    assert!(matches!(too_large, Err(StorageError::MutationTooLarge { bytes_max: 32_768, .. })), "{too_large:?}");
    let mut late = world.context();
    late.deadline = helenus_env::Instant::ZERO;
    let expired = world.shards[0].read(&late, &all_rows(ROWS, env.wall_secs())).await;
    assert!(matches!(expired, Err(StorageError::DeadlineExceeded)));
    world.shards[0].shutdown(false).await.expect("it stops");
    let closed = world.try_write(insert(1, 1, 1, "too late")).await;
    assert!(matches!(closed, Err(StorageError::ShuttingDown)));
    world.kill().await;
}
