//! Data model of Helenus: partitions, rows, cells and deletions; how versions of them reconcile; what reads ask for.
//!
//! Pure: no I/O, no clock (time comes in as an argument), no schema (columns are known by stable ids, clusterings and cell
//! paths by their byte-comparable order). Read in this order.

mod blob;
mod cell;
pub mod codec;
pub mod counter;
mod deletion;
pub mod in_memory;
mod key;
mod liveness;
pub mod merge;
mod mutation;
mod partition;
pub mod purge;
mod range_tombstones;
pub mod read;
pub mod reconcile;
mod row;
mod unfiltered;

pub use blob::Blob;
pub use cell::{Cell, CellPath, ColumnId, expiry_secs};
pub use deletion::{DeletionTime, NEVER_SECS};
pub use key::{Bound, Clustering, ClusteringType, ClusteringTypes, PartitionKey, RawValues, Side, Slice};
pub use liveness::{Liveness, NO_TIMESTAMP};
pub use mutation::Mutation;
pub use partition::{Batch, Partition, Rows};
pub use range_tombstones::{RangeTombstone, RangeTombstones};
pub use read::TableId;
pub use reconcile::CellRule;
pub use row::{Column, ColumnData, ComplexColumn, Row, remaining_ttl_secs};
pub use unfiltered::{Direction, Marker, PartitionHeader, Unfiltered};
