//! What simulated nodes are made to do, each with a checker that must be able to fail.

pub mod append_log;
