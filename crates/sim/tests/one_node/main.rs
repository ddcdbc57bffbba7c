//! One whole node on a simulated disk and clock: writes go on until a kill or a power cut at a random moment, then the next
//! life of the node, with another shard count, must have kept what was promised.
//!
//! The promise depends on the sync mode. `batch`: whatever was acknowledged. `periodic`: whatever was acknowledged, after
//! a kill; after a power cut, whatever was acknowledged longer ago than the sync period and the sync that was under way
//! then. In both: a write that was not
//! acknowledged is there whole or not at all, and nothing is there that was never sent.

mod history;
mod node;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use helenus_sim::{FaultStats, SimWorld};
use helenus_storage::CommitLogSync;

use history::{End, History};

/// `periodic` syncs follow each other; this is how long a write may stay unsynced at most.
const SYNC_PERIOD: Duration = Duration::from_millis(500);

const VIOLATIONS_SHOWN: usize = 5;

struct Run {
    violations: Vec<String>,
    acknowledged: usize,
    faults: FaultStats,
}

fn run(seed: u64, sync: CommitLogSync, planted: node::Planted) -> Run {
    let outcome = SimWorld::run(seed, async move |world| {
        let node = world.add_node();
        let history = Arc::new(Mutex::new(History::default()));
        let mut violations = Vec::new();
        let lives = 2 + world.random_within(0..3);
        for life in 0..=lives {
            let is_last = life == lives;
            let shard_count = 1 + u32::try_from(world.random_within(0..3)).expect("below 3");
            let plan = node::Plan { shard_count, sync, planted, keep_writing: !is_last, life };
            let (process_history, began) = (Arc::clone(&history), world.elapsed());
            let process = node.start(move |env| node::live(env, plan, process_history, began));
            if is_last {
                match process.join().await {
                    Ok(found) => violations.extend(found),
                    Err(end) => violations.push(format!("the last life ended: {end:?}")),
                }
                node.kill().await;
                break;
            }
            world.sleep(Duration::from_micros(world.random_within(1_000..3_000_000))).await;
            let end = if world.random_within(0..2) == 0 { End::Kill } else { End::PowerCut };
            eprintln!("life {life} of {shard_count} shards: {end:?} at {:?}", world.elapsed());
            history.lock().expect("no panic").ends(end, world.elapsed(), sync);
            match end {
                End::Kill => node.kill().await,
                End::PowerCut => node.power_cut().await,
            }
            if let Ok(found) = process.join().await {
                violations.extend(found);
                break;
            }
        }
        let history = history.lock().expect("no panic");
        violations.extend(history.violations.iter().cloned());
        Run { violations, acknowledged: history.acknowledged_count(), faults: node.disk().stats() }
    });
    outcome.answer
}

fn check(seeds: std::ops::Range<u64>, sync: CommitLogSync) {
    let mut acknowledged = 0;
    let (mut kills, mut power_cuts, mut pages_lost, mut names_lost) = (0, 0, 0, 0);
    for seed in seeds {
        let run = run(seed, sync, node::Planted::Nothing);
        let shown = run.violations.len().min(VIOLATIONS_SHOWN);
        let (first, count) = (&run.violations[..shown], run.violations.len());
        assert!(run.violations.is_empty(), "seed {seed}, {sync:?}: {count} violations, the first: {first:#?}");
        acknowledged += run.acknowledged;
        kills += run.faults.kills;
        power_cuts += run.faults.power_cuts;
        pages_lost += run.faults.pages_lost;
        names_lost += run.faults.names_lost;
    }
    println!(
        "{sync:?}: {acknowledged} acknowledged writes, {kills} kills, {power_cuts} power cuts, {pages_lost} pages and \
         {names_lost} names lost"
    );
    assert!(0 < acknowledged && 0 < kills && 0 < power_cuts && 0 < pages_lost, "a run without faults proves nothing");
}

/// Replays one seed with the node's log on stderr: `HELENUS_SIM_SEED=101 cargo test -p helenus-sim --test one_node replay`.
#[test]
fn replay_of_one_seed() {
    let Some(seed) = std::env::var("HELENUS_SIM_SEED").ok().and_then(|seed| seed.parse().ok()) else { return };
    tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG).without_time().init();
    let batch = std::env::var("HELENUS_SIM_SYNC").is_ok_and(|mode| mode == "batch");
    let sync = if batch { CommitLogSync::Batch } else { CommitLogSync::Periodic { period: SYNC_PERIOD } };
    check(seed..seed + 1, sync);
}

#[test]
fn batch_mode_keeps_every_acknowledged_write_through_kills_and_power_cuts() {
    check(0..10, CommitLogSync::Batch);
}

#[test]
fn periodic_mode_keeps_what_is_older_than_the_period_through_power_cuts_and_everything_through_kills() {
    check(100..110, CommitLogSync::Periodic { period: SYNC_PERIOD });
}

#[test]
fn a_node_that_acknowledges_before_the_log_is_caught() {
    let caught = (0..20).any(|seed| {
        let run = run(seed, CommitLogSync::Batch, node::Planted::AcknowledgeBeforeWriting);
        run.violations.iter().any(|violation| violation.contains("acknowledged and is gone"))
    });
    assert!(caught, "the checker must notice lost writes");
}

#[test]
fn the_same_seed_makes_the_same_history() {
    let digest = |seed| {
        let outcome = SimWorld::run(seed, async move |world| {
            let node = world.add_node();
            let history = Arc::new(Mutex::new(History::default()));
            let sync = CommitLogSync::Periodic { period: SYNC_PERIOD };
            let plan =
                node::Plan { shard_count: 2, sync, planted: node::Planted::Nothing, keep_writing: true, life: 0 };
            let process_history = Arc::clone(&history);
            drop(node.start(move |env| node::live(env, plan, process_history, Duration::ZERO)));
            world.sleep(Duration::from_millis(700)).await;
            node.power_cut().await;
            history.lock().expect("no panic").acknowledged_count()
        });
        (outcome.answer, outcome.digest)
    };
    assert_eq!(digest(7), digest(7));
}
