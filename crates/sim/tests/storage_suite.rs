//! The storage's own scenarios on a simulated disk: the same functions that its tests run on a real one.

use std::path::Path;

use helenus_env::Env;
use helenus_sim::SimWorld;
use helenus_storage::suite;

/// Runs a scenario as one process of one node. A panic in it fails the process, and with it the test.
fn check<F>(seed: u64, scenario: impl FnOnce(Env) -> F + 'static)
where
    F: Future<Output = ()> + 'static,
{
    SimWorld::run(seed, async move |world| {
        let node = world.add_node();
        let process = node.start(scenario);
        if let Err(end) = process.join().await {
            panic!("seed {seed}: the scenario ended: {end:?}");
        }
    });
}

const ROOT: &str = "/suite";

#[test]
fn every_sync_mode_keeps_what_it_acknowledged() {
    check(1, async |env| suite::every_sync_mode_keeps_what_it_acknowledged(env, Path::new(ROOT)).await);
}

#[test]
fn replay_ends_at_a_torn_tail() {
    check(2, async |env| suite::replay_ends_at_a_torn_tail(env, Path::new(ROOT)).await);
}

#[test]
fn damage_in_the_log_is_found() {
    check(3, async |env| suite::damage_in_the_log_is_found(env, Path::new(ROOT)).await);
}

#[test]
fn deleted_data_stays_away() {
    check(4, async |env| suite::truncated_data_stays_away(env, Path::new(ROOT)).await);
    check(5, async |env| suite::a_dropped_table_leaves_only_its_snapshot(env, Path::new(ROOT)).await);
    check(6, async |env| suite::tombstones_go_after_their_grace(env, Path::new(ROOT)).await);
    check(7, async |env| suite::purging_never_brings_data_back(env, Path::new(ROOT)).await);
}

#[test]
fn files_follow_the_shard_count_and_leftovers_go() {
    check(8, async |env| suite::files_follow_the_shard_count(env, Path::new(ROOT)).await);
    check(9, async |env| suite::interrupted_transactions_are_cleaned_up(env, Path::new(ROOT)).await);
}

#[test]
fn memory_pages_counters_snapshots_and_refusals() {
    check(10, async |env| suite::little_memory_flushes_and_loses_nothing(env, Path::new(ROOT)).await);
    check(11, async |env| suite::pages_add_up_to_the_whole(env, Path::new(ROOT)).await);
    check(12, async |env| suite::counters_count_each_increment_once(env, Path::new(ROOT)).await);
    check(13, async |env| suite::snapshots_are_linked_listed_and_cleared(env, Path::new(ROOT)).await);
    check(16, async |env| suite::snapshots_go_when_their_time_is_over(env, Path::new(ROOT)).await);
    check(14, async |env| suite::refusals_are_clear(env, Path::new(ROOT)).await);
}

#[test]
fn random_operations_match_the_model() {
    for seed in 100..104 {
        let options = suite::ModelOptions {
            seed,
            steps: 300,
            shard_count_max: 3,
            gc_grace_secs: if seed % 2 == 0 { 0 } else { 864_000 },
            auto_compaction: true,
        };
        check(seed, async move |env| suite::random_operations_match_the_model(env, Path::new(ROOT), options).await);
    }
}
