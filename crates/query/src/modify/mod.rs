//! INSERT, UPDATE, DELETE and BATCH: from statements to mutations, with conditions where they have some.
//!
//! `plan` prepares one statement, `operation` is one assignment or deletion, `update` builds the mutation, `prefetch` reads
//! what lists need to know first, `condition` and `compare_and_set` are IF, `batch` puts statements together.

mod attributes;
mod batch;
mod compare_and_set;
mod condition;
mod operation;
mod plan;
mod prefetch;
mod size;
mod update;

pub use batch::{BatchKind, BatchPlan, BatchStatementRef, execute_batch};
pub use plan::{ModifyPlan, PlanTarget};
pub use update::PrependClock;

use std::time::Duration;

use helenus_cluster::Consistency;

/// What an execution of a modification is asked for, apart from the bound values.
#[derive(Clone, Copy, Debug)]
pub struct ModifyRequest {
    pub consistency: Consistency,
    pub serial_consistency: Consistency,
    /// Microseconds: of the request when it carries one, else of the node.
    pub timestamp: i64,
    pub now_secs: i64,
    /// How long a conditional write waits for others of its partition.
    pub contention: Duration,
}
