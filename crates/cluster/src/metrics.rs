//! Counters of the coordinator on one shard; plain cells, gathered by message.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use helenus_data::TableId;
use helenus_schema::SchemaSnapshot;
use helenus_storage::Histogram;

/// What a coordinator's latencies are kept apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coordinated {
    /// Of one partition.
    Read,
    /// Of a range of partitions.
    Scan,
    Write,
}

#[derive(Default)]
pub struct ClusterMetrics {
    /// Requests sent to another shard of this node because their token belongs there.
    pub cross_shard_requests: Cell<u64>,
    pub local_requests: Cell<u64>,
    pub timeouts: Cell<u64>,
    latency_micros: RefCell<BTreeMap<(TableId, Coordinated), Histogram>>,
}

impl ClusterMetrics {
    pub(crate) fn count(cell: &Cell<u64>) {
        cell.set(cell.get() + 1);
    }

    /// `schema` tells which tables still are: others are forgotten when a table is seen for the first time.
    pub(crate) fn record(&self, table: TableId, what: Coordinated, latency: Duration, schema: &SchemaSnapshot) {
        let mut latencies = self.latency_micros.borrow_mut();
        if let Some(known) = latencies.get_mut(&(table, what)) {
            known.record_micros(latency);
            return;
        }
        latencies.retain(|(table, _), _| schema.table_by_id(*table).is_some());
        latencies.entry((table, what)).or_default().record_micros(latency);
    }

    /// How long requests to each table took here, from the coordinator's point of view.
    #[must_use]
    pub fn latency_micros(&self, what: Coordinated) -> BTreeMap<TableId, Histogram> {
        let latencies = self.latency_micros.borrow();
        let of_kind = latencies.iter().filter(|((_, kind), _)| *kind == what);
        of_kind.map(|((table, _), histogram)| (*table, histogram.clone())).collect()
    }
}
