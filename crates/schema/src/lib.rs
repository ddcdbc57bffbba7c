//! Schema of Helenus: keyspaces, tables, columns and user types as immutable snapshots, and the changes between them.
//!
//! Pure: no I/O and no clock. Read in this order.

mod change;
mod column;
pub mod describe;
mod keyspace;
pub mod options;
mod params;
mod snapshot;
pub mod system;
mod table;

pub use change::SchemaChange;
pub use column::{Column, ColumnKind, DroppedColumn};
pub use keyspace::{Keyspace, KeyspaceOrigin, KeyspaceParams};
pub use params::TableParams;
pub use snapshot::SchemaSnapshot;
pub use table::Table;
