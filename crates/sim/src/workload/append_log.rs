//! An append-only log: the smallest program that promises durability, and the test of the simulation itself.
//!
//! A process appends numbered records to segments of a few records each, syncs, and only then acknowledges. It is
//! killed and loses power at any moment; the next process recovers and goes on. The planted bugs are those that storage
//! engines have shipped: acknowledging without a sync, forgetting to sync the directory of a new file, and building
//! upon what the page cache still shows after a failed sync and a restart.
//!
//! ```text
//! segment file "/data/log/<number, ten digits>":  record record ...
//! record, 16 bytes: number u64 | check u64 over segment and number, both little-endian
//! ```

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use helenus_env::{Env, OpenMode, whole_file};

use crate::disk::SimDisk;
use crate::faults::{FaultPlan, FaultStats, Rate};
use crate::random::SeededRandom;
use crate::world::{Outcome, SimWorld};

const DATA: &str = "/data";
const DIRECTORY: &str = "/data/log";
const RECORD_BYTES: usize = 16;

/// Few, so that segments, and with them directory changes, are common.
const RECORDS_PER_SEGMENT: u64 = 8;

const ROUNDS: u64 = 6;

/// The program, and what somebody may have forgotten in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Sound,
    AcknowledgesWithoutSync,
    ForgetsToSyncTheDirectory,
    /// Recovery syncs what it read, but after a failed sync the kernel takes those pages for clean and writes nothing.
    TrustsThePageCache,
}

/// An acknowledged record that recovery did not find, or one that it should not have found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub recovered: Vec<u64>,
    pub acknowledged: u64,
}

/// Plays rounds of append, crash and recovery. `Err` is a violation: expected of the planted bugs, of some seeds.
pub fn run(seed: u64, variant: Variant) -> Outcome<Result<FaultStats, Violation>> {
    SimWorld::run(seed, async move |world| {
        let node = world.add_node();
        node.disk().prepare_dir(Path::new(DATA)).expect("the root of an empty disk takes a directory");
        let acknowledged = Rc::new(RefCell::new(0));
        for _ in 0..ROUNDS {
            set_faults(node.disk(), world.random_within(0..3));
            let counter = Rc::clone(&acknowledged);
            let appender = node.start(move |env| async move { append(&env, variant, &counter).await });
            world.sleep(Duration::from_millis(world.random_within(0..400))).await;
            if world.random_within(0..3) == 0 {
                node.kill().await
            } else {
                node.power_cut().await
            }
            drop(appender); // Whether it was killed or had stopped at an error: what counts is on the disk.
            node.disk().set_plan(FaultPlan::default());
            let recovery = node.start(move |env| async move { recover(&env, variant).await });
            let recovered = recovery.join().await.expect("recovery is not killed").expect("the disk is healthy");
            check(recovered, *acknowledged.borrow())?;
            node.kill().await;
        }
        Ok(node.disk().stats())
    })
}

/// Every third round the disk is ill, and every third it is nearly full.
fn set_faults(disk: &SimDisk, choice: u64) {
    let ill = FaultPlan {
        write_errors: Rate::per_thousand(20),
        sync_errors: Rate::per_thousand(20),
        name_errors: Rate::per_thousand(20),
        ..FaultPlan::default()
    };
    let full = FaultPlan { capacity_bytes: Some(700), ..FaultPlan::default() };
    disk.set_plan([FaultPlan::default(), ill, full][usize::try_from(choice).unwrap_or(0)].clone());
}

/// Records are numbered from 1 without gaps; up to `acknowledged` all must be there.
fn check(recovered: Vec<u64>, acknowledged: u64) -> Result<(), Violation> {
    let is_gapless = recovered.iter().copied().eq(1..=recovered.len() as u64);
    if is_gapless && acknowledged <= recovered.len() as u64 {
        return Ok(());
    }
    Err(Violation { recovered, acknowledged })
}

/// Appends until the disk refuses, counting what is acknowledged. After an error nothing more is acknowledged.
async fn append(env: &Env, variant: Variant, acknowledged: &RefCell<u64>) -> io::Result<()> {
    let disk = env.disk();
    disk.create_dir_all(Path::new(DIRECTORY)).await?;
    disk.sync_dir(Path::new(DATA)).await?;
    let mut number = recover(env, variant).await?.len() as u64 + 1;
    loop {
        let segment = next_segment(env).await?;
        let file = disk.open(&segment_path(segment), OpenMode::CreateNew).await?;
        if variant != Variant::ForgetsToSyncTheDirectory {
            disk.sync_dir(Path::new(DIRECTORY)).await?;
        }
        for slot in 0..RECORDS_PER_SEGMENT {
            file.write_at(slot * RECORD_BYTES as u64, encode(segment, number)).await?;
            if variant != Variant::AcknowledgesWithoutSync {
                file.sync().await?;
            }
            *acknowledged.borrow_mut() = number;
            number += 1;
        }
    }
}

/// The numbers of all records, in order of segments. A segment ends at its first torn record.
async fn recover(env: &Env, variant: Variant) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for segment in segments(env).await? {
        let content = whole_file::read(&**env.disk(), &segment_path(segment)).await?;
        let records = content.chunks_exact(RECORD_BYTES).map_while(|record| decode(segment, record));
        numbers.extend(records);
        // What a dead process had written but not synced may yet vanish; whoever builds upon it makes it durable.
        let file = env.disk().open(&segment_path(segment), OpenMode::ReadWrite).await?;
        if variant != Variant::TrustsThePageCache {
            file.write_at(0, content).await?;
        }
        file.sync().await?;
    }
    Ok(numbers)
}

async fn segments(env: &Env) -> io::Result<Vec<u64>> {
    match env.disk().list(Path::new(DIRECTORY)).await {
        Ok(entries) => Ok(entries.iter().filter_map(|entry| entry.name.parse().ok()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn next_segment(env: &Env) -> io::Result<u64> {
    Ok(segments(env).await?.last().map_or(1, |last| last + 1))
}

fn segment_path(segment: u64) -> PathBuf {
    Path::new(DIRECTORY).join(format!("{segment:010}"))
}

fn encode(segment: u64, number: u64) -> Bytes {
    [number.to_le_bytes(), check_of(segment, number).to_le_bytes()].concat().into()
}

fn decode(segment: u64, record: &[u8]) -> Option<u64> {
    let (number, check) = record.split_at_checked(8)?;
    let number = u64::from_le_bytes(number.try_into().ok()?);
    (check == check_of(segment, number).to_le_bytes()).then_some(number)
}

fn check_of(segment: u64, number: u64) -> u64 {
    SeededRandom::new(segment).stream("record", number).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: std::ops::Range<u64> = 0..150;

    fn caught(variant: Variant) -> usize {
        SEEDS.filter(|seed| run(*seed, variant).answer.is_err()).count()
    }

    #[test]
    fn a_sound_log_loses_nothing_that_it_acknowledged() {
        let mut total = FaultStats::default();
        for seed in SEEDS {
            let outcome = run(seed, Variant::Sound);
            let stats =
                outcome.answer.unwrap_or_else(|violation| panic!("seed {seed}: {violation:?}\n{}", outcome.trace));
            total.power_cuts += stats.power_cuts;
            total.pages_lost += stats.pages_lost;
            total.names_lost += stats.names_lost;
            total.write_errors += stats.write_errors;
            total.sync_errors += stats.sync_errors;
            total.name_errors += stats.name_errors;
            total.out_of_space += stats.out_of_space;
        }
        // Otherwise nothing was tested.
        assert!(0 < total.power_cuts && 0 < total.pages_lost && 0 < total.names_lost, "{total:?}");
        assert!(0 < total.write_errors && 0 < total.sync_errors && 0 < total.name_errors, "{total:?}");
        assert!(0 < total.out_of_space, "{total:?}");
    }

    #[test]
    fn a_log_that_acknowledges_without_sync_is_caught() {
        assert!(SEEDS.end as usize / 4 < caught(Variant::AcknowledgesWithoutSync));
    }

    #[test]
    fn a_log_that_forgets_to_sync_the_directory_is_caught() {
        assert!(SEEDS.end as usize / 4 < caught(Variant::ForgetsToSyncTheDirectory));
    }

    #[test]
    fn a_log_that_trusts_the_page_cache_after_a_restart_is_caught() {
        assert!(0 < caught(Variant::TrustsThePageCache));
    }

    #[test]
    fn the_same_seed_gives_the_same_events_and_another_seed_others() {
        let (first, again, other) = (run(42, Variant::Sound), run(42, Variant::Sound), run(43, Variant::Sound));
        assert_eq!(first.digest, again.digest);
        assert_eq!(first.trace, again.trace);
        assert_ne!(first.digest, other.digest);
        assert!(100 < first.digest.event_count);
    }
}
