//! Metadata: schema, identity and roles as one state machine fed by a log, from the first DDL of a single node on.

pub(crate) mod log;
mod record;
pub(crate) mod state;

pub use state::{Command, MetadataState, Role};
