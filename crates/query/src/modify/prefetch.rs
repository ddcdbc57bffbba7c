//! Prefetch: the stored rows that list operations by position or value must know before they write.

use helenus_cluster::{Cluster, Consistency};
use helenus_data::read::{ColumnSelection, ReadCommand, ReadLimits, ReadResult, ReadTarget, RowFilter};
use helenus_data::{Clustering, ColumnId, Direction, PartitionKey, Row, Side, Slice};
use helenus_schema::Table;
use helenus_storage::RequestContext;

use crate::error::{Result, ensure};

/// The rows of one partition as they are stored.
#[derive(Default)]
pub struct Prefetched {
    result: ReadResult,
}

impl Prefetched {
    /// Reads `columns` of the rows at `clusterings`, and of the static row.
    ///
    /// # Errors
    /// A consistency level that reads do not have, and what the cluster refuses.
    #[expect(clippy::too_many_arguments, reason = "what a read consists of")]
    pub async fn read(
        cluster: &Cluster,
        context: &RequestContext,
        consistency: Consistency,
        table: &Table,
        key: &PartitionKey,
        clusterings: &[Clustering],
        columns: Vec<ColumnId>,
        now_secs: i64,
    ) -> Result<Self> {
        ensure!(
            consistency != Consistency::Any,
            "Write operation require a read but consistency ANY is not supported on reads"
        );
        let command = row_command(table, key, clusterings, ColumnSelection::Only(columns), now_secs);
        Ok(Self { result: cluster.read(context, consistency, command).await? })
    }

    /// What a conditional write has read anyway.
    #[must_use]
    pub fn of(result: ReadResult) -> Self {
        Self { result }
    }

    #[must_use]
    pub fn row(&self, clustering: &Clustering) -> Option<&Row> {
        let mut rows = self.result.partitions.iter().flat_map(|partition| &partition.rows);
        rows.find(|row| row.clustering == *clustering)
    }

    #[must_use]
    pub fn static_row(&self) -> Option<&Row> {
        self.result.partitions.iter().find_map(|partition| partition.static_row.as_ref())
    }
}

/// A read of single rows; without clusterings of the first row, which brings the static row along.
#[must_use]
pub fn row_command(
    table: &Table,
    key: &PartitionKey,
    clusterings: &[Clustering],
    columns: ColumnSelection,
    now_secs: i64,
) -> ReadCommand {
    let slices = if clusterings.is_empty() || table.clustering().is_empty() {
        vec![Slice::all()]
    } else {
        let around = |clustering: &Clustering| Slice {
            start: clustering.as_bound(Side::Before),
            end: clustering.as_bound(Side::After),
        };
        clusterings.iter().map(around).collect()
    };
    let rows = if clusterings.is_empty() { 1 } else { u64::MAX };
    ReadCommand {
        table: table.id,
        target: ReadTarget::Partition(key.clone()),
        slices,
        direction: Direction::Forward,
        columns,
        filter: RowFilter::default(),
        limits: ReadLimits { rows, ..ReadLimits::NONE },
        now_secs,
        resume: None,
    }
}
