//! The storage's expectations as functions over an [`Env`]: run on a real directory by this crate's tests, and on the
//! simulated disk by the simulation.
//!
//! Each scenario panics when an expectation does not hold. It must run where tasks can be spawned on the current thread,
//! in a directory of its own.

mod logs;
mod model;
mod removals;
mod scenarios;
mod world;

pub use logs::{damage_in_the_log_is_found, replay_ends_at_a_torn_tail};
pub use model::{ModelOptions, random_operations_match_the_model};
pub use removals::{
    a_dropped_table_leaves_only_its_snapshot, purging_never_brings_data_back, tombstones_go_after_their_grace,
    truncated_data_stays_away,
};
pub use scenarios::{
    counters_count_each_increment_once, every_sync_mode_keeps_what_it_acknowledged, files_follow_the_shard_count,
    interrupted_transactions_are_cleaned_up, little_memory_flushes_and_loses_nothing, pages_add_up_to_the_whole,
    refusals_are_clear, snapshots_are_linked_listed_and_cleared, snapshots_go_when_their_time_is_over,
};

#[cfg(test)]
mod failing_disk;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod tests;
