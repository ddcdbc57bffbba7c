//! The suite on a real directory.

use std::path::Path;

use helenus_env::Env;
use helenus_env::real::{RealEnv, block_on};

use super::*;

fn on_a_real_disk(scenario: impl AsyncFnOnce(Env, &Path)) {
    let env = RealEnv::start_default().unwrap();
    let directory = tempfile::tempdir().unwrap();
    block_on(async { scenario(env, directory.path()).await });
}

#[test]
fn every_sync_mode_keeps_what_it_acknowledged_on_disk() {
    on_a_real_disk(async |env, root| every_sync_mode_keeps_what_it_acknowledged(env, root).await);
}

#[test]
fn replay_ends_at_a_torn_tail_on_disk() {
    on_a_real_disk(async |env, root| replay_ends_at_a_torn_tail(env, root).await);
}

#[test]
fn damage_in_the_log_is_found_on_disk() {
    on_a_real_disk(async |env, root| damage_in_the_log_is_found(env, root).await);
}

#[test]
fn truncated_data_stays_away_on_disk() {
    on_a_real_disk(async |env, root| truncated_data_stays_away(env, root).await);
}

#[test]
fn a_dropped_table_leaves_only_its_snapshot_on_disk() {
    on_a_real_disk(async |env, root| a_dropped_table_leaves_only_its_snapshot(env, root).await);
}

#[test]
fn tombstones_go_after_their_grace_on_disk() {
    on_a_real_disk(async |env, root| tombstones_go_after_their_grace(env, root).await);
}

#[test]
fn purging_never_brings_data_back_on_disk() {
    on_a_real_disk(async |env, root| purging_never_brings_data_back(env, root).await);
}

#[test]
fn files_follow_the_shard_count_on_disk() {
    on_a_real_disk(async |env, root| files_follow_the_shard_count(env, root).await);
}

#[test]
fn interrupted_transactions_are_cleaned_up_on_disk() {
    on_a_real_disk(async |env, root| interrupted_transactions_are_cleaned_up(env, root).await);
}

#[test]
fn little_memory_flushes_and_loses_nothing_on_disk() {
    on_a_real_disk(async |env, root| little_memory_flushes_and_loses_nothing(env, root).await);
}

#[test]
fn pages_add_up_to_the_whole_on_disk() {
    on_a_real_disk(async |env, root| pages_add_up_to_the_whole(env, root).await);
}

#[test]
fn counters_count_each_increment_once_on_disk() {
    on_a_real_disk(async |env, root| counters_count_each_increment_once(env, root).await);
}

#[test]
fn snapshots_are_linked_listed_and_cleared_on_disk() {
    on_a_real_disk(async |env, root| snapshots_are_linked_listed_and_cleared(env, root).await);
}

#[test]
fn refusals_are_clear_on_disk() {
    on_a_real_disk(async |env, root| refusals_are_clear(env, root).await);
}

fn check_model(options: ModelOptions) {
    on_a_real_disk(async |env, root| random_operations_match_the_model(env, root, options).await);
}

#[test]
fn one_shard_matches_the_model_through_flushes_compactions_and_kills() {
    for seed in 1..4 {
        check_model(ModelOptions {
            seed,
            steps: 400,
            shard_count_max: 1,
            gc_grace_secs: 864_000,
            auto_compaction: false,
        });
    }
}

#[test]
fn changing_shard_counts_match_the_model() {
    for seed in 10..13 {
        check_model(ModelOptions {
            seed,
            steps: 300,
            shard_count_max: 3,
            gc_grace_secs: 864_000,
            auto_compaction: true,
        });
    }
}

#[test]
fn purging_at_once_matches_the_model() {
    for seed in 20..24 {
        check_model(ModelOptions { seed, steps: 300, shard_count_max: 2, gc_grace_secs: 0, auto_compaction: true });
    }
}
