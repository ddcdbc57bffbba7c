//! Damage in the commit log: torn tails end replay, everything else is found.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use helenus_env::{Env, OpenMode, whole_file};

use super::world::{World, calm, insert, no_tweak, schema};
use crate::config::DamagePolicy;
use crate::error::StorageError;

/// Writes `count` rows and kills the node; answers its newest log segment.
async fn killed_after(env: &Env, root: &Path, count: i32) -> PathBuf {
    let world = World::start(env, root, schema(calm())).await;
    for number in 0..count {
        world.write(insert(1, number, 1_000 + i64::from(number), "value")).await;
    }
    world.kill().await;
    newest_segment(env, &root.join("commitlog")).await
}

/// Where the records of a segment begin, and where the last one ends.
fn record_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![32];
    loop {
        let at = *starts.last().expect("never empty");
        let body = bytes.get(at..at + 4).and_then(|it| it.first_chunk::<4>()).map_or(0, |it| u32::from_le_bytes(*it));
        if body == 0 || body == u32::MAX {
            return starts;
        }
        starts.push(at + 16 + body as usize);
    }
}

pub(super) async fn overwrite(env: &Env, path: &Path, bytes: Vec<u8>) {
    let file = env.disk().open(path, OpenMode::CreateOrTruncate).await.expect("a segment can be replaced");
    file.write_at(0, Bytes::from(bytes)).await.expect("a segment can be written");
    file.sync().await.expect("a segment can be synced");
}

/// # Panics
/// When replay loses more than the torn record, or refuses to start.
pub async fn replay_ends_at_a_torn_tail(env: Env, root: &Path) {
    const COUNT: i32 = 6;
    for cut_in_record in 0..COUNT {
        for part in [1usize, 9, 14, 30] {
            let directory = root.join(format!("cut-{cut_in_record}-{part}"));
            let path = killed_after(&env, &directory, COUNT).await;
            let whole = whole_file::read(&**env.disk(), &path).await.expect("a segment can be read");
            let starts = record_starts(&whole);
            assert_eq!(starts.len(), usize::try_from(COUNT).expect("six") + 1, "a record a write");
            // The write reached the device up to the middle of a record; the rest of the segment is still zeros.
            let mut torn = whole.to_vec();
            let cut = starts[usize::try_from(cut_in_record).expect("small")] + part;
            torn[cut..].fill(0);
            overwrite(&env, &path, torn).await;
            let world = World::start(&env, &directory, schema(calm())).await;
            let rows: Vec<i32> = world.live_rows().await.into_iter().map(|(_, c)| c).collect();
            assert_eq!(rows, (0..cut_in_record).collect::<Vec<_>>(), "cut in record {cut_in_record} at {part}");
            assert_eq!(world.reports[0].torn_tails, 1);
            world.write(insert(2, 0, 5_000, "after")).await;
            world.kill().await;
            let again = World::start(&env, &directory, schema(calm())).await;
            assert_eq!(again.live_rows().await.len(), usize::try_from(cut_in_record).expect("small") + 1);
            again.stop().await;
        }
    }
}

/// # Panics
/// When a flipped bit goes unnoticed where it cannot be a torn write, or an intact record is lost.
pub async fn damage_in_the_log_is_found(env: Env, root: &Path) {
    const COUNT: i32 = 5;
    // Batch mode: each record says that all before it were on the device, so none but the last may be torn.
    let batch: super::world::Tweak = |config| config.commit_log_sync = crate::CommitLogSync::Batch;
    let quarantine: super::world::Tweak = |config| {
        config.commit_log_sync = crate::CommitLogSync::Batch;
        config.commit_log_damage = DamagePolicy::Quarantine;
    };
    for record in 0..COUNT {
        let directory = root.join(format!("flip-{record}"));
        let world = World::start_with(&env, &directory, schema(calm()), 1, batch).await.expect("a new directory opens");
        for number in 0..COUNT {
            world.write(insert(1, number, 1_000 + i64::from(number), "value")).await;
        }
        world.kill().await;
        let path = newest_segment(&env, &directory.join("commitlog")).await;
        let whole = whole_file::read(&**env.disk(), &path).await.expect("a segment can be read");
        let starts = record_starts(&whole);
        for at in [1usize, 5, 10, 20] {
            let mut flipped = whole.to_vec();
            flipped[starts[usize::try_from(record).expect("small")] + at] ^= 0x10;
            overwrite(&env, &path, flipped).await;
            let started = World::start_with(&env, &directory, schema(calm()), 1, batch).await;
            if record + 1 < COUNT {
                match started {
                    Err(StorageError::Corrupt { .. }) => {}
                    Err(other) => panic!("record {record}, byte {at}: {other}"),
                    Ok(_) => panic!("record {record}, byte {at}: damage went unnoticed"),
                }
            }
            overwrite(&env, &path, whole.to_vec()).await;
            if record + 1 == COUNT {
                break; // That one was a torn tail, as far as anybody can tell, and the start has removed the segment.
            }
        }
        if record + 1 == COUNT {
            continue;
        }
        let mut flipped = whole.to_vec();
        flipped[starts[usize::try_from(record).expect("small")] + 20] ^= 1;
        overwrite(&env, &path, flipped).await;
        let world = World::start_with(&env, &directory, schema(calm()), 1, quarantine).await;
        let world = world.expect("a damaged segment is moved away");
        let rows: Vec<i32> = world.live_rows().await.into_iter().map(|(_, c)| c).collect();
        assert_eq!(rows, (0..record).collect::<Vec<_>>(), "everything before the damage is replayed");
        assert_eq!(world.reports[0].quarantined.len(), 1);
        assert_eq!(world.names_in(&directory.join("commitlog/quarantine")).await.len(), 1);
        world.stop().await;
        World::start_with(&env, &directory, schema(calm()), 1, no_tweak)
            .await
            .expect("the next start is clean")
            .stop()
            .await;
    }
}

async fn newest_segment(env: &Env, directory: &Path) -> PathBuf {
    let mut newest = None;
    for entry in env.disk().list(directory).await.expect("the log's directory is there") {
        if entry.name.starts_with("CommitLog-") {
            let path = directory.join(&entry.name);
            let bytes = whole_file::read(&**env.disk(), &path).await.expect("a segment can be read");
            if bytes.iter().skip(32).take(12).any(|byte| *byte != 0) {
                newest = Some(path);
            }
        }
    }
    newest.expect("something was logged")
}
