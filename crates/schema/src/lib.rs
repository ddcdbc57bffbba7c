//! Schema of Helenus: keyspaces, tables, columns and user types as immutable snapshots, and the changes between them.
//!
//! Pure: no I/O and no clock. Read in this order.

mod change;
pub mod system;
mod column;
mod keyspace;
mod params;
mod snapshot;
mod table;

pub use change::SchemaChange;
pub use column::{Column, ColumnKind, DroppedColumn};
pub use keyspace::{Keyspace, KeyspaceOrigin, KeyspaceParams};
pub use params::TableParams;
pub use snapshot::SchemaSnapshot;
pub use table::Table;
