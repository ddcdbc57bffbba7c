//! Mutation: the changes of one partition of one table, as logged, sent and applied.

use crate::partition::Partition;
use crate::read::TableId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    pub table: TableId,
    /// Position of the metadata log by which the columns were resolved; a replica that is behind it catches up first.
    pub schema_epoch: u64,
    pub partition: Partition,
}
