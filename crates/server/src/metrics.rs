//! Counters and histograms of one shard's requests; plain cells, gathered by message when somebody asks.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use helenus_protocol::{Consistency, ErrorCode};
use helenus_storage::Histogram;

/// What a statement does, as far as latencies are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatementKind {
    Read,
    Write,
    Batch,
    Truncate,
    Schema,
    Other,
}

impl StatementKind {
    /// By a statement's first word; comments in front make it `Other`, which costs a label and nothing else.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let word = text.trim_start().split(|character: char| !character.is_ascii_alphabetic()).next().unwrap_or("");
        let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
        if is(&["select"]) {
            Self::Read
        } else if is(&["insert", "update", "delete"]) {
            Self::Write
        } else if is(&["begin"]) {
            Self::Batch
        } else if is(&["truncate"]) {
            Self::Truncate
        } else if is(&["create", "alter", "drop"]) {
            Self::Schema
        } else {
            Self::Other
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Batch => "batch",
            Self::Truncate => "truncate",
            Self::Schema => "schema",
            Self::Other => "other",
        }
    }
}

/// One shard's.
#[derive(Default)]
pub struct ShardMetrics {
    latencies: RefCell<BTreeMap<(StatementKind, u16), Histogram>>,
    errors: RefCell<BTreeMap<i32, u64>>,
    pub overloaded: Cell<u64>,
    /// How often reading from a client was paused because of bytes in flight.
    pub reads_paused: Cell<u64>,
    /// Statements that came as text although they could have been prepared.
    pub unprepared: Cell<u64>,
    pub prepared: Cell<u64>,
    /// Reads without a page size.
    pub unpaged: Cell<u64>,
    /// Prepared requests that came to a shard which does not own their token.
    pub wrong_shard: Cell<u64>,
    pub right_shard: Cell<u64>,
    pub reversed: Cell<u64>,
    pub allow_filtering: Cell<u64>,
    pub authentication_successes: Cell<u64>,
    pub authentication_failures: Cell<u64>,
}

/// The same as plain numbers, to be sent to another thread.
#[derive(Clone, Debug, Default)]
pub struct MetricsSnapshot {
    pub latencies: BTreeMap<(StatementKind, u16), Histogram>,
    pub errors: BTreeMap<i32, u64>,
    pub overloaded: u64,
    pub reads_paused: u64,
    pub unprepared: u64,
    pub prepared: u64,
    pub unpaged: u64,
    pub wrong_shard: u64,
    pub right_shard: u64,
    pub reversed: u64,
    pub allow_filtering: u64,
    pub authentication_successes: u64,
    pub authentication_failures: u64,
}

impl ShardMetrics {
    pub fn count_error(&self, code: ErrorCode) {
        *self.errors.borrow_mut().entry(code.number()).or_default() += 1;
    }

    pub fn record(&self, kind: StatementKind, consistency: Consistency, latency: Duration) {
        self.latencies.borrow_mut().entry((kind, consistency.code())).or_default().record_micros(latency);
    }

    pub fn count(cell: &Cell<u64>) {
        cell.set(cell.get() + 1);
    }

    #[must_use]
    pub fn snapshot(&self) -> MetricsSnapshot {
        MetricsSnapshot {
            latencies: self.latencies.borrow().clone(),
            errors: self.errors.borrow().clone(),
            overloaded: self.overloaded.get(),
            reads_paused: self.reads_paused.get(),
            unprepared: self.unprepared.get(),
            prepared: self.prepared.get(),
            unpaged: self.unpaged.get(),
            wrong_shard: self.wrong_shard.get(),
            right_shard: self.right_shard.get(),
            reversed: self.reversed.get(),
            allow_filtering: self.allow_filtering.get(),
            authentication_successes: self.authentication_successes.get(),
            authentication_failures: self.authentication_failures.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_apart_by_their_first_word() {
        assert_eq!(StatementKind::of_text("  select * from t"), StatementKind::Read);
        assert_eq!(StatementKind::of_text("INSERT INTO t"), StatementKind::Write);
        assert_eq!(StatementKind::of_text("Begin batch"), StatementKind::Batch);
        assert_eq!(StatementKind::of_text("-- nothing"), StatementKind::Other);
        assert_eq!(StatementKind::of_text(""), StatementKind::Other);
    }

    #[test]
    fn a_snapshot_holds_what_was_counted() {
        let metrics = ShardMetrics::default();
        metrics.record(StatementKind::Read, Consistency::One, Duration::from_micros(300));
        metrics.count_error(ErrorCode::Invalid);
        ShardMetrics::count(&metrics.unpaged);
        let snapshot = metrics.snapshot();
        assert_eq!(snapshot.latencies[&(StatementKind::Read, 1)].count(), 1);
        assert_eq!(snapshot.errors[&0x2200], 1);
        assert_eq!(snapshot.unpaged, 1);
    }
}
