//! Deleted data stays deleted: TRUNCATE, DROP, purging.

use std::path::Path;
use std::sync::Arc;

use helenus_env::Env;

use super::world::{ROWS, World, calm, delete_partition, delete_row, insert, no_tweak, schema, schema_of};

/// # Panics
/// When a row from before a TRUNCATE is seen after it, or one from after it is lost.
pub async fn truncated_data_stays_away(env: Env, root: &Path) {
    for flush_first in [false, true] {
        let directory = root.join(format!("truncate-{flush_first}"));
        let world = World::start_with(&env, &directory, schema(calm()), 2, no_tweak).await.expect("it opens");
        for number in 0..40 {
            world.write(insert(number, 0, 1_000, "before")).await;
        }
        if flush_first {
            world.flush().await;
            world.write(insert(100, 0, 1_000, "before, in memory")).await;
        }
        for shard in &world.shards {
            shard.truncate(ROWS, 2_000_000).await.expect("a healthy node truncates");
        }
        assert_eq!(world.live_rows().await, vec![]);
        // Older than what was truncated, and yet written after it: it stays.
        world.write(insert(7, 7, 500, "after")).await;
        world.kill().await;
        let world = World::start_with(&env, &directory, schema(calm()), 3, no_tweak).await.expect("it opens again");
        assert_eq!(world.live_rows().await, vec![(7, 7)], "flushed before: {flush_first}");
        assert_eq!(world.shards[0].truncated_at(ROWS), Some(2_000_000));
        let snapshots = crate::list_snapshots(&env, &[directory.join("data")]).await.expect("snapshots are listed");
        assert_eq!(snapshots.len(), 1, "TRUNCATE takes a snapshot of what was there");
        assert_eq!(snapshots[0].tag, "truncated-2000-rows");
        world.stop().await;
    }
}

/// # Panics
/// When anything but the snapshot is left of a dropped table, or its log is replayed.
pub async fn a_dropped_table_leaves_only_its_snapshot(env: Env, root: &Path) {
    let world = World::start_with(&env, root, schema(calm()), 2, no_tweak).await.expect("it opens");
    for number in 0..20 {
        world.write(insert(number, 0, 1_000, "value")).await;
    }
    world.flush().await;
    for number in 20..30 {
        world.write(insert(number, 0, 1_000, "in memory")).await;
    }
    let empty = schema_of(Vec::new());
    for shard in &world.shards {
        shard.set_schema(Arc::clone(&empty));
    }
    let refused = world.try_write(insert(1, 1, 1, "late")).await;
    assert!(matches!(refused, Err(crate::StorageError::UnknownTable(_))));
    for shard in &world.shards {
        shard.shutdown(false).await.expect("a healthy node stops");
    }
    assert_eq!(world.names_in(&world.table_directory()).await, vec!["snapshots".to_owned()]);
    let snapshots = crate::list_snapshots(&env, &[root.join("data")]).await.expect("snapshots are listed");
    assert_eq!(snapshots.len(), 1, "one for all shards");
    assert!(snapshots[0].tag.starts_with("dropped-") && snapshots[0].tag.ends_with("-rows"));
    assert_eq!(snapshots[0].bytes, snapshots[0].true_bytes, "nothing else holds the files");
    world.kill().await;
    let again = World::start_with(&env, root, empty, 2, no_tweak).await.expect("it opens again");
    assert_eq!(again.reports.iter().map(|report| report.mutations_applied).sum::<u64>(), 0);
    again.stop().await;
}

/// # Panics
/// When a tombstone stays after its grace, or goes before.
pub async fn tombstones_go_after_their_grace(env: Env, root: &Path) {
    for (gc_grace_secs, goes) in [(0, true), (10_000, false)] {
        let mut params = calm();
        params.gc_grace_seconds = gc_grace_secs;
        let directory = root.join(format!("grace-{gc_grace_secs}"));
        let world = World::start(&env, &directory, schema(params)).await;
        let past_secs = env.wall_secs() - 100;
        for number in 0..10 {
            world.write(insert(number, 0, 1_000, "value")).await;
        }
        world.flush().await;
        for number in 0..10 {
            world.write(delete_row(number, 0, 2_000, past_secs)).await;
        }
        world.flush().await;
        assert_eq!(world.live_rows().await, vec![]);
        world.compact().await;
        assert_eq!(world.live_rows().await, vec![]);
        assert_eq!(world.sstable_count(), u64::from(!goes), "gc_grace_seconds {gc_grace_secs}");
        world.stop().await;
    }
}

/// # Panics
/// When purging a tombstone brings back what it hid, wherever that was.
pub async fn purging_never_brings_data_back(env: Env, root: &Path) {
    let mut params = calm();
    params.gc_grace_seconds = 0;
    let past_secs = env.wall_secs() - 100;

    // The older data is in a memtable that is flushed after the compaction.
    let world = World::start(&env, &root.join("memtable"), schema(params.clone())).await;
    world.write(delete_partition(1, 2_000, past_secs)).await;
    world.write(insert(2, 0, 1, "so that the file is not empty")).await;
    world.flush().await;
    world.write(insert(1, 0, 1_000, "older, in the memtable")).await;
    world.compact().await;
    assert_eq!(world.live_rows().await, vec![(2, 0)]);
    world.flush().await;
    assert_eq!(world.live_rows().await, vec![(2, 0)]);
    world.compact().await;
    assert_eq!(world.live_rows().await, vec![(2, 0)]);
    world.kill().await;

    // The log still holds the deleted row when the tombstone was purged: the checkpoint keeps it away.
    let directory = root.join("log");
    let world = World::start(&env, &directory, schema(params.clone())).await;
    world.write(insert(1, 0, 1_000, "deleted soon")).await;
    world.flush().await;
    world.write(delete_row(1, 0, 2_000, past_secs)).await;
    world.flush().await;
    world.compact().await;
    assert_eq!(world.sstable_count(), 0, "row and tombstone are both gone");
    world.kill().await;
    let world = World::start(&env, &directory, schema(params.clone())).await;
    assert_eq!(world.live_rows().await, vec![]);
    assert!(0 < world.reports[0].mutations_covered, "the log did hold them");
    world.kill().await;

    // Two shards share a file; one rewrites its part, purges later, and the node is killed before the other is done.
    let directory = root.join("shared");
    let world = World::start(&env, &directory, schema(params.clone())).await;
    for number in 0..40 {
        world.write(insert(number, 0, 1_000, "in the shared file")).await;
    }
    world.stop().await;
    let two = World::start_with(&env, &directory, schema(params.clone()), 2, no_tweak).await.expect("it opens");
    let shard = std::rc::Rc::clone(&two.shards[0]);
    for number in 0..40 {
        two.write(delete_row(number, 0, 2_000, past_secs)).await;
    }
    two.flush().await;
    shard.compact(ROWS).await.expect("it compacts");
    shard.compact(ROWS).await.expect("it compacts");
    drop(shard);
    two.kill().await;
    let two = World::start_with(&env, &directory, schema(params), 2, no_tweak).await.expect("it opens");
    assert_eq!(two.live_rows().await, vec![], "the shared file came back, and so must what deletes it");
    two.compact().await;
    two.compact().await;
    assert_eq!(two.live_rows().await, vec![]);
    two.stop().await;
}
