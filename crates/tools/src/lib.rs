//! Tools: clients of a node and of its files. `nodetool` speaks to the admin API and holds no rules of its own.

pub mod nodetool;
