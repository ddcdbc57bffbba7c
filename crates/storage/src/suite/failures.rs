//! What a refusing disk must not do: bring deleted data back, lose what was acknowledged, stop the rest of the node.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use helenus_data::{Cell, Mutation, Partition, counter};
use helenus_env::real::block_on;
use helenus_env::{Env, whole_file};

use super::failing_disk::FailingDisk;
use super::logs::overwrite;
use super::world::{
    COUNTERS, ROWS, STATIC, Tweak, VALUE, World, calm, clustering, delete_partition, delete_row, deletion, insert, key,
    no_tweak, schema, schema_of, text,
};
use crate::config::{CommitLogSync, DamagePolicy};
use crate::error::StorageError;
use crate::transaction::{Transaction, TransactionKind};

fn on_a_failing_disk(scenario: impl AsyncFnOnce(Env, Arc<FailingDisk>, &Path)) {
    let (env, disk) = FailingDisk::start();
    let directory = tempfile::tempdir().unwrap();
    block_on(async { scenario(env, disk, directory.path()).await });
}

fn purging() -> helenus_schema::TableParams {
    let mut params = calm();
    params.gc_grace_seconds = 0;
    params
}

#[test]
fn an_old_file_that_cannot_be_removed_is_removed_at_the_next_start() {
    on_a_failing_disk(async |env, disk, root| {
        let past_secs = env.wall_secs() - 100;
        let world = World::start(&env, root, schema(purging())).await;
        world.write(insert(1, 0, 1_000, "deleted")).await;
        world.flush().await;
        world.write(delete_row(1, 0, 2_000, past_secs)).await;
        world.write(insert(2, 0, 1_000, "stays")).await;
        world.flush().await;
        disk.refuse("remove_file", "-Data.db", 1);
        world.compact().await;
        assert_eq!(disk.heal(), 0, "the compaction met the refusal");
        world.stop().await;
        let world = World::start(&env, root, schema(purging())).await;
        assert_eq!(world.live_rows().await, vec![(2, 0)]);
        assert_eq!(world.sstable_count(), 1);
        world.stop().await;
    });
}

#[test]
fn a_start_stops_at_a_transaction_that_it_cannot_finish() {
    on_a_failing_disk(async |env, disk, root| {
        let past_secs = env.wall_secs() - 100;
        let world = World::start(&env, root, schema(purging())).await;
        world.write(insert(1, 0, 1_000, "deleted")).await;
        world.flush().await;
        world.write(delete_row(1, 0, 2_000, past_secs)).await;
        world.flush().await;
        disk.refuse("remove_file", "-Data.db", 100);
        world.compact().await;
        world.stop().await;
        let refused = World::start_with(&env, root, schema(purging()), 1, no_tweak).await;
        assert!(matches!(refused, Err(StorageError::Disk { .. })));
        disk.heal();
        let world = World::start(&env, root, schema(purging())).await;
        assert_eq!(world.live_rows().await, vec![]);
        world.stop().await;
    });
}

#[test]
fn a_commit_that_was_lost_after_old_files_went_stops_the_start() {
    on_a_failing_disk(async |env, disk, root| {
        let world = World::start(&env, root, schema(calm())).await;
        for number in 0..2 {
            world.write(insert(number, 0, 1_000, "value")).await;
            world.flush().await;
        }
        disk.refuse("remove_file", "-TOC.txt", 100);
        world.compact().await;
        disk.heal();
        let directory = world.table_directory();
        world.stop().await;
        let log = env.disk().list(&directory).await.unwrap().into_iter().find(|entry| entry.name.contains("_txn_"));
        let log = directory.join(log.expect("the log stays while old files do").name);
        let whole = whole_file::read(&**env.disk(), &log).await.unwrap().to_vec();
        let text = String::from_utf8(whole.clone()).unwrap();
        overwrite(&env, &log, text.replace("COMMIT", "COMMIX").into_bytes()).await;
        let refused = World::start_with(&env, root, schema(calm()), 1, no_tweak).await;
        let Err(StorageError::Corrupt { path, .. }) = refused else {
            unreachable!("the new file would have been lost")
        };
        assert_eq!(path, log);
        overwrite(&env, &log, whole).await;
        let world = World::start(&env, root, schema(calm())).await;
        assert_eq!(world.live_rows().await, vec![(0, 0), (1, 0)]);
        world.stop().await;
    });
}

#[test]
fn a_drop_whose_snapshot_fails_removes_nothing() {
    on_a_failing_disk(async |env, disk, root| {
        let world = World::start(&env, root, schema(calm())).await;
        world.write(insert(1, 0, 1_000, "value")).await;
        world.flush().await;
        disk.refuse("hard_link", "-Data.db", 1);
        world.shards[0].set_schema(schema_of(Vec::new()));
        world.shards[0].shutdown(false).await.expect("it stops");
        assert_eq!(disk.heal(), 0);
        let names = world.names_in(&world.table_directory()).await;
        assert!(names.iter().any(|name| name.ends_with("-Data.db")), "{names:?}");
        world.kill().await;
        // The next start finishes it, with the snapshot.
        let world = World::start(&env, root, schema_of(Vec::new())).await;
        let names = world.names_in(&world.table_directory()).await;
        assert_eq!(names, vec!["snapshots".to_owned()]);
        let snapshots = crate::list_snapshots(&env, &[root.join("data")]).await.expect("snapshots are listed");
        assert!(snapshots[0].tag.starts_with("dropped-"), "{snapshots:?}");
        assert!(world.names_in(&snapshots[0].directory).await.iter().any(|name| name.ends_with("-Data.db")));
        world.stop().await;
    });
}

#[test]
fn a_flushed_file_is_read_and_compacted_although_its_checkpoint_failed() {
    on_a_failing_disk(async |env, disk, root| {
        let past_secs = env.wall_secs() - 100;
        let world = World::start(&env, root, schema(purging())).await;
        world.write(insert(1, 0, 1_000, "deleted later")).await;
        disk.refuse("rename", "Checkpoint-", 1);
        let flushed = world.shards[0].flush(None, crate::FlushReason::UserForced).await;
        assert!(flushed.is_err());
        assert_eq!(disk.heal(), 0);
        assert_eq!(world.sstable_count(), 1, "it stands, and everybody knows");
        assert_eq!(world.live_rows().await, vec![(1, 0)]);
        world.write(delete_row(1, 0, 2_000, past_secs)).await;
        world.flush().await;
        world.compact().await;
        assert_eq!(world.sstable_count(), 0);
        world.kill().await;
        let world = World::start(&env, root, schema(purging())).await;
        assert_eq!(world.live_rows().await, vec![]);
        world.stop().await;
    });
}

async fn increment(world: &World, delta: i64, timestamp: i64) {
    let mut partition = Partition::new(key(1));
    let cell = Cell::live(timestamp, helenus_data::Blob::from(delta.to_be_bytes()));
    partition.row_mut(&clustering(2)).add_cell(VALUE, cell);
    let mutation = Mutation { table: COUNTERS, schema_epoch: 1, partition };
    world.shards[0].apply_counter(&world.context(), mutation).await.expect("a counter is incremented");
}

#[test]
fn a_counter_begins_anew_after_each_kind_of_deletion() {
    on_a_failing_disk(async |env, _, root| {
        for flush in [false, true] {
            let world = World::start(&env, &root.join(format!("{flush}")), schema(calm())).await;
            let now_secs = env.wall_secs();
            let mut timestamp = 10;
            for kind in 0..3 {
                for delta in [5, 2] {
                    increment(&world, delta, timestamp).await;
                    timestamp += 10;
                }
                if flush {
                    world.flush().await;
                }
                let deleted = match kind {
                    0 => delete_partition(1, timestamp, now_secs),
                    1 => delete_row(1, 2, timestamp, now_secs),
                    _ => {
                        let mut partition = Partition::new(key(1));
                        partition.delete_range(helenus_data::Slice::all(), deletion(timestamp, now_secs));
                        partition
                    }
                };
                let mutation = Mutation { table: COUNTERS, schema_epoch: 1, partition: deleted };
                world.shards[0].apply(&world.context(), vec![mutation]).await.expect("a counter is deleted");
                timestamp += 10;
                assert_eq!(world.read_all(COUNTERS, now_secs).await.len(), 0);
                increment(&world, 1, timestamp).await;
                timestamp += 10;
                let rows = world.read_all(COUNTERS, now_secs).await;
                let cell = rows[0].rows[0].cell(VALUE).expect("the counter is there");
                assert_eq!(counter::total(&cell.value), 1, "deletion {kind}, flushed: {flush}");
                world.write(delete_partition(1, timestamp, now_secs)).await;
                let mutation =
                    Mutation { table: COUNTERS, schema_epoch: 1, partition: delete_partition(1, timestamp, now_secs) };
                world.shards[0].apply(&world.context(), vec![mutation]).await.expect("a counter is deleted");
                timestamp += 10;
            }
            world.stop().await;
        }
    });
}

#[test]
fn draining_the_log_ends_while_others_write() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start(&env, root, schema(calm())).await;
        let stopped = Rc::new(std::cell::Cell::new(false));
        let mut writers = Vec::new();
        for writer in 0..8 {
            let (shard, context) = (Rc::clone(&world.shards[0]), world.context());
            let stopped = Rc::clone(&stopped);
            writers.push(env.spawn("writer", async move {
                let mut number = 0;
                while !stopped.get() {
                    number += 1;
                    let mutation =
                        Mutation { table: ROWS, schema_epoch: 1, partition: insert(writer, number % 50, 1, "v") };
                    shard.apply(&context, vec![mutation]).await.expect("a healthy node takes a write");
                }
            }));
        }
        for _ in 0..20 {
            let flushed = env.timeout(Duration::from_secs(20), world.flush()).await;
            assert!(flushed.is_ok(), "a flush must end under load");
        }
        stopped.set(true);
        for mut writer in writers {
            writer.join().await.expect("a writer ends");
        }
        world.stop().await;
    });
}

#[test]
fn all_queued_writes_are_refused_at_once_when_no_segment_can_be_made() {
    on_a_failing_disk(async |env, disk, root| {
        let batch: Tweak = |config| config.commit_log_sync = CommitLogSync::Batch;
        let world = World::start_with(&env, root, schema(calm()), 1, batch).await.expect("it opens");
        let value = "v".repeat(20_000);
        world.write(insert(0, 0, 1, &value)).await;
        env.sleep(Duration::from_millis(50)).await; // The spare segment is there.
        disk.refuse("open", "CommitLog-", 10_000);
        let started = env.monotonic();
        let mut writers = Vec::new();
        for number in 0..60 {
            let (shard, context) = (Rc::clone(&world.shards[0]), world.context());
            let partition = insert(number, 0, 2, &value);
            writers.push(env.spawn("writer", async move {
                shard.apply(&context, vec![Mutation { table: ROWS, schema_epoch: 1, partition }]).await.is_ok()
            }));
        }
        let mut taken = 0;
        for mut writer in writers {
            taken += u32::from(writer.join().await.expect("a writer ends"));
        }
        assert!(taken < 10, "two segments hold only a few of them: {taken}");
        assert!(env.monotonic() - started < Duration::from_secs(4), "took {:?}", env.monotonic() - started);
        disk.heal();
        world.write(insert(100, 0, 2, &value)).await;
        world.stop().await;
    });
}

#[test]
fn group_mode_moves_everything_that_waits_in_one_window() {
    on_a_failing_disk(async |env, _, root| {
        let group: Tweak = |config| {
            config.commit_log_sync = CommitLogSync::Group { window: Duration::from_millis(300) };
            config.segment_bytes = 8 << 20;
        };
        let world = World::start_with(&env, root, schema(calm()), 1, group).await.expect("it opens");
        world.write(insert(0, 0, 1, "first")).await;
        let value = "v".repeat(100_000);
        let started = env.monotonic();
        let mut writers = Vec::new();
        for number in 0..15 {
            let (shard, context) = (Rc::clone(&world.shards[0]), world.context());
            let partition = insert(number, 0, 2, &value);
            writers.push(env.spawn("writer", async move {
                let mutation = Mutation { table: ROWS, schema_epoch: 1, partition };
                shard.apply(&context, vec![mutation]).await.expect("a healthy node takes a write");
            }));
        }
        for mut writer in writers {
            writer.join().await.expect("a writer ends");
        }
        let took = env.monotonic() - started;
        assert!(took < Duration::from_millis(900), "one window, not one for every 256 KiB: {took:?}");
        world.stop().await;
    });
}

#[test]
fn a_damaged_file_does_not_keep_other_tables_from_compaction() {
    on_a_failing_disk(async |env, _, root| {
        let params = helenus_schema::TableParams::default();
        let world = World::start(&env, root, schema(params)).await;
        for round in 0..3 {
            world.write(insert(round, 0, 1_000, "value")).await;
            world.flush().await;
        }
        let names = world.names_in(&world.table_directory()).await;
        let damaged = names.iter().find(|name| name.ends_with("-Data.db")).expect("a file was flushed");
        let path = world.table_directory().join(damaged);
        let mut bytes = whole_file::read(&**env.disk(), &path).await.unwrap().to_vec();
        let at = bytes.len() / 2;
        bytes[at] ^= 0xFF;
        overwrite(&env, &path, bytes).await;
        world.write(insert(3, 0, 1_000, "the fourth file makes a bucket")).await;
        world.flush().await;
        for round in 0..4 {
            increment(&world, 1, 1_000 + round).await;
            world.flush().await;
        }
        let deadline = env.monotonic() + Duration::from_secs(8);
        while world.shards[0].table_stats(COUNTERS).compactions == 0 {
            assert!(env.monotonic() < deadline, "the other table waits for the damaged one");
            env.sleep(Duration::from_millis(20)).await;
        }
        world.stop().await;
    });
}

#[test]
fn a_throttled_compaction_stops_at_once() {
    on_a_failing_disk(async |env, _, root| {
        let slow: Tweak = |config| config.compaction_bytes_per_sec = 1_000;
        let world = World::start_with(&env, root, schema(calm()), 1, slow).await.expect("it opens");
        for number in 0..2_000 {
            world.write(insert(1, number, 1_000, "a value of some bytes, so that the partition is large")).await;
        }
        world.flush().await;
        let shard = Rc::clone(&world.shards[0]);
        let mut compaction = env.spawn("compaction", async move { shard.compact(ROWS).await.is_err() });
        env.sleep(Duration::from_millis(200)).await;
        assert_eq!(world.shards[0].compactions().len(), 1, "two minutes of work at this pace");
        let started = env.monotonic();
        world.shards[0].stop_compactions().await;
        assert!(env.monotonic() - started < Duration::from_secs(2));
        assert!(compaction.join().await.expect("it ends"), "it was stopped");
        world.stop().await;
    });
}

#[test]
fn a_read_of_rows_that_are_all_deleted_keeps_its_deadline() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start(&env, root, schema(calm())).await;
        for number in 0..20_000 {
            world.write(insert(1, number, 1_000, "v")).await;
        }
        world.write(delete_partition(1, 2_000, env.wall_secs())).await;
        let mut context = world.context();
        context.deadline = env.monotonic() + Duration::from_micros(500);
        let command = super::world::all_rows(ROWS, env.wall_secs());
        let read = world.shards[0].read(&context, &command).await;
        assert!(matches!(read, Err(StorageError::DeadlineExceeded)), "{read:?}");
        world.stop().await;
    });
}

#[test]
fn a_read_of_a_partition_sees_each_mutation_whole() {
    on_a_failing_disk(async |env, _, root| {
        const LAST: i32 = 2_500;
        let world = World::start(&env, root, schema(calm())).await;
        for number in 0..=LAST {
            world.write(insert(1, number, 1, "0")).await;
        }
        let stopped = Rc::new(std::cell::Cell::new(false));
        let (shard, context, stop) = (Rc::clone(&world.shards[0]), world.context(), Rc::clone(&stopped));
        let writer_env = env.clone();
        let mut writer = env.spawn("writer", async move {
            let mut round = 1;
            while !stop.get() {
                round += 1;
                let mut partition = insert(1, 0, round, &round.to_string());
                partition.row_mut(&clustering(LAST)).add_cell(VALUE, Cell::live(round, text(&round.to_string())));
                partition.static_row_mut().add_cell(STATIC, Cell::live(round, text(&round.to_string())));
                let mutation = Mutation { table: ROWS, schema_epoch: 1, partition };
                shard.apply(&context, vec![mutation]).await.expect("a healthy node takes a write");
                writer_env.yield_now().await;
            }
            round
        });
        env.sleep(Duration::from_millis(5)).await;
        let command = helenus_data::read::ReadCommand {
            target: helenus_data::read::ReadTarget::Partition(key(1)),
            ..super::world::all_rows(ROWS, env.wall_secs())
        };
        for _ in 0..40 {
            let read = world.shards[0].read(&world.context(), &command).await.expect("it is read");
            let partition = &read.partitions[0];
            assert_eq!(partition.rows.len(), usize::try_from(LAST).unwrap() + 1);
            let static_row = partition.static_row.as_ref().expect("it is there");
            let seen = static_row.cell(STATIC).map(|cell| cell.value.clone());
            for row in [partition.rows.first(), partition.rows.last()] {
                assert_eq!(row.and_then(|row| row.cell(VALUE)).map(|cell| cell.value.clone()), seen);
            }
        }
        stopped.set(true);
        assert!(40 < writer.join().await.expect("it ends"), "the writer wrote meanwhile");
        world.stop().await;
    });
}

#[test]
fn a_snapshot_tag_is_taken_once() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start_with(&env, root, schema(calm()), 2, no_tweak).await.expect("it opens");
        for round in 0..2 {
            world.write(insert(round, 0, 1_000, "value")).await;
            for shard in &world.shards {
                shard
                    .snapshot("tag", &[ROWS], crate::SnapshotOptions::now(&env))
                    .await
                    .expect("each shard adds its files");
            }
            for shard in &world.shards {
                let again = shard.snapshot("tag", &[ROWS], crate::SnapshotOptions::now(&env)).await;
                assert!(matches!(again, Err(StorageError::Invalid(_))), "{again:?}");
            }
            let cleared = crate::clear_snapshots(&env, &[root.join("data")], Some("tag"), &[]).await;
            assert_eq!(cleared.expect("it is cleared"), 1);
        }
        world.write(insert(9, 0, 1_000, "value")).await;
        for shard in &world.shards {
            shard.snapshot("tag", &[ROWS], crate::SnapshotOptions::now(&env)).await.expect("each shard adds its files");
        }
        world.stop().await;
        let world = World::start_with(&env, root, schema(calm()), 2, no_tweak).await.expect("it opens");
        let again = world.shards[0].snapshot("tag", &[ROWS], crate::SnapshotOptions::now(&env)).await;
        assert!(matches!(again, Err(StorageError::Invalid(_))), "also after a restart");
        world.stop().await;
    });
}

#[test]
fn recovery_reports_the_newest_timestamp_of_files_and_log() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start(&env, root, schema(calm())).await;
        world.write(insert(1, 0, 5_000_000, "value")).await;
        world.stop().await;
        let world = World::start(&env, root, schema(calm())).await;
        assert_eq!(world.reports[0].mutations_applied, 0, "nothing was left to replay");
        assert_eq!(world.reports[0].timestamp_max_micros, Some(5_000_000));
        world.stop().await;
    });
}

#[test]
fn a_damaged_file_stops_the_start_or_is_moved_away_by_the_setting() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start_with(&env, root, schema(calm()), 2, no_tweak).await.expect("it opens");
        for number in 0..20 {
            world.write(insert(number, 0, 1_000, "value")).await;
        }
        world.flush().await;
        let directory = world.table_directory();
        let names = world.names_in(&directory).await;
        let statistics =
            names.iter().find(|name| name.ends_with("-Statistics.db")).expect("a file was flushed").clone();
        world.stop().await;
        overwrite(&env, &directory.join(&statistics), b"not statistics".to_vec()).await;
        let refused = World::start_with(&env, root, schema(calm()), 2, no_tweak).await;
        let Err(error) = refused else { unreachable!("the default is to stop") };
        assert!(error.to_string().contains(&statistics), "{error}");
        let quarantine: Tweak = |config| config.commit_log_damage = DamagePolicy::Quarantine;
        let world = World::start_with(&env, root, schema(calm()), 2, quarantine).await.expect("it starts without it");
        let left = world.live_rows().await.len();
        assert!(0 < left && left < 20, "the other file is there: {left}");
        assert!(!world.names_in(&directory).await.contains(&statistics));
        assert!(world.names_in(&directory.join("quarantine")).await.contains(&statistics));
        world.stop().await;
    });
}

#[test]
fn a_data_file_of_an_unknown_version_stops_the_start() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start(&env, root, schema(calm())).await;
        world.write(insert(1, 0, 1_000, "value")).await;
        world.flush().await;
        let newer = world.table_directory().join("zz-1-big-Data.db");
        world.stop().await;
        overwrite(&env, &newer, b"of a newer version".to_vec()).await;
        let refused = World::start_with(&env, root, schema(calm()), 2, no_tweak).await;
        let Err(error) = refused else { unreachable!("it would not read the file") };
        assert!(error.to_string().contains("zz-1-big-Data.db"), "{error}");
    });
}

#[test]
fn a_write_by_a_newer_schema_waits_for_it() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start(&env, root, schema(calm())).await;
        let mutation = Mutation { table: ROWS, schema_epoch: 2, partition: insert(1, 0, 1_000, "value") };
        let mut context = world.context();
        context.deadline = env.monotonic() + Duration::from_millis(50);
        let refused = world.shards[0].apply(&context, vec![mutation.clone()]).await;
        assert!(matches!(refused, Err(StorageError::DeadlineExceeded)), "{refused:?}");
        let (shard, context) = (Rc::clone(&world.shards[0]), world.context());
        let mut write = env.spawn("write", async move { shard.apply(&context, vec![mutation]).await });
        env.sleep(Duration::from_millis(20)).await;
        assert_eq!(world.live_rows().await, vec![]);
        world.shards[0].set_schema(super::world::at_epoch(&world.schema, 2));
        write.join().await.expect("it ends").expect("the schema came");
        assert_eq!(world.live_rows().await, vec![(1, 0)]);
        world.stop().await;
    });
}

#[test]
fn a_table_made_again_under_its_old_id_begins_empty_also_after_a_kill() {
    on_a_failing_disk(async |env, _, root| {
        for shard_count in [1, 2] {
            let root = root.join(format!("{shard_count}"));
            let world = World::start_with(&env, &root, schema(calm()), shard_count, no_tweak).await.expect("it opens");
            for number in 0..20 {
                world.write(insert(number, 0, 1_000, "dropped")).await;
            }
            for _ in 0..2 {
                for schema in [schema_of(Vec::new()), schema(calm())] {
                    world.shards.iter().for_each(|shard| shard.set_schema(Arc::clone(&schema)));
                    env.sleep(Duration::from_millis(100)).await; // Files go in the background; nobody waits for them.
                }
                assert_eq!(world.live_rows().await, vec![]);
            }
            world.write(insert(7, 7, 500, "kept")).await;
            world.flush().await;
            world.write(insert(8, 8, 500, "kept, in memory")).await;
            world.kill().await;
            let world = World::start_with(&env, &root, schema(calm()), shard_count, no_tweak).await.expect("it opens");
            assert_eq!(world.live_rows().await, vec![(7, 7), (8, 8)]);
            world.stop().await;
        }
    });
}

#[test]
fn late_records_of_a_dropped_table_do_not_hold_up_the_log() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start(&env, root, schema(calm())).await;
        let (shard, context) = (Rc::clone(&world.shards[0]), world.context());
        let mutation = Mutation { table: ROWS, schema_epoch: 1, partition: insert(1, 0, 1_000, "late") };
        // It is in the log's queue when the table goes, and reaches the log afterwards.
        let mut write = env.spawn("write", async move { shard.apply(&context, vec![mutation]).await });
        env.yield_now().await;
        world.shards[0].set_schema(schema_of(Vec::new()));
        let _ = write.join().await.expect("it ends");
        world.shards[0].set_schema(schema_of(vec![super::world::rows_table_called("others", 77)]));
        for number in 0..200 {
            world.write_to(77, insert(1, number, 1_000, &"x".repeat(1_000))).await;
        }
        world.flush().await;
        assert_eq!(world.shards[0].stats().commit_log_segments, 1, "the one that is written to");
        world.stop().await;
    });
}

#[test]
fn a_lost_data_file_is_missed() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start(&env, root, schema(calm())).await;
        world.write(insert(1, 0, 1_000, "value")).await;
        world.flush().await;
        let directory = world.table_directory();
        let names = world.names_in(&directory).await;
        world.stop().await;
        let data = names.iter().find(|name| name.ends_with("-Data.db")).expect("a file was flushed");
        env.disk().remove_file(&directory.join(data)).await.expect("it goes");
        let refused = World::start_with(&env, root, schema(calm()), 1, no_tweak).await;
        let Err(error) = refused else { unreachable!("its rows would be gone without a word") };
        assert!(error.to_string().contains(data), "{error}");
        let quarantine: Tweak = |config| config.commit_log_damage = DamagePolicy::Quarantine;
        let world = World::start_with(&env, root, schema(calm()), 1, quarantine).await.expect("it starts without it");
        world.write(insert(2, 0, 1_000, "value")).await;
        world.flush().await;
        let (left, kept) = (world.names_in(&directory.join("quarantine")).await, world.names_in(&directory).await);
        assert!(left.iter().all(|name| !kept.contains(name)), "no name is given again: {left:?}, {kept:?}");
        world.stop().await;
    });
}

#[test]
fn a_truncated_table_stays_empty_although_an_old_file_would_not_go() {
    on_a_failing_disk(async |env, disk, root| {
        let two: Tweak = |config| {
            config.data_directories = ["a", "b"].map(|name| config.commit_log_directory.with_file_name(name)).to_vec();
        };
        let world = World::start_with(&env, root, schema(calm()), 1, two).await.expect("it opens");
        world.write(insert(1, 0, 1_000, "truncated")).await;
        world.flush().await;
        world.stop().await;
        // What is compacted in another directory is removed by itself.
        let turned: Tweak = |config| {
            config.data_directories = ["b", "a"].map(|name| config.commit_log_directory.with_file_name(name)).to_vec();
        };
        let world = World::start_with(&env, root, schema(calm()), 1, turned).await.expect("it opens");
        disk.refuse("open", "/a/ks/", 1);
        world.compact().await;
        assert_eq!(disk.heal(), 0);
        world.shards[0].truncate(ROWS, 2_000_000).await.expect("a healthy disk truncates");
        world.stop().await;
        let world = World::start_with(&env, root, schema(calm()), 1, turned).await.expect("it opens");
        assert_eq!(world.live_rows().await, vec![]);
        world.stop().await;
    });
}

#[test]
fn a_truncation_that_failed_is_made_good_by_the_next_one() {
    on_a_failing_disk(async |env, disk, root| {
        for (operation, path_has) in [("rename", "Checkpoint-"), ("open", "_txn_")] {
            let root = root.join(operation);
            let mut params = calm();
            params.allow_auto_snapshot = false;
            let world = World::start(&env, &root, schema(params.clone())).await;
            world.write(insert(1, 0, 1_000, "truncated")).await;
            world.flush().await;
            world.write(insert(2, 0, 1_000, "truncated, in memory")).await;
            disk.refuse(operation, path_has, 1);
            assert!(world.shards[0].truncate(ROWS, 2_000_000).await.is_err());
            assert_eq!(disk.heal(), 0);
            world.shards[0].truncate(ROWS, 3_000_000).await.expect("a healthy disk truncates");
            world.kill().await;
            let world = World::start(&env, &root, schema(params)).await;
            assert_eq!(world.live_rows().await, vec![], "{operation}");
            world.stop().await;
        }
    });
}

#[test]
fn an_undecided_transaction_does_not_stop_the_start_after_a_truncation() {
    on_a_failing_disk(async |env, _, root| {
        let world = World::start(&env, root, schema(calm())).await;
        world.write(insert(1, 0, 1_000, "truncated")).await;
        world.flush().await;
        let directory = world.table_directory();
        // As a compaction leaves it whose commit failed: nobody knows whether it stands.
        let begun = Transaction::begin(&env, &directory, TransactionKind::Compaction).await;
        let mut undecided = begun.expect("a healthy disk");
        undecided.add("nb-99-big").await.expect("a healthy disk");
        undecided.remove("nb-1-big").await.expect("a healthy disk");
        drop(undecided);
        assert!(world.names_in(&directory).await.contains(&"nb-1-big-Data.db".to_owned()));
        world.shards[0].truncate(ROWS, 2_000_000).await.expect("a healthy disk truncates");
        world.stop().await;
        let world = World::start(&env, root, schema(calm())).await;
        assert_eq!(world.live_rows().await, vec![]);
        let names = world.names_in(&directory).await;
        assert!(!names.iter().any(|name| name.contains("_txn_")), "{names:?}");
        world.stop().await;
    });
}
