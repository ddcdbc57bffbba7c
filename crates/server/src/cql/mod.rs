//! CQL over the native protocol: the listener, connections, and what a request goes through.

pub mod clients;
pub(crate) mod connection;
mod deadline;
pub mod error_map;
pub mod events;
pub mod limits;
pub mod listener;
mod output;
mod request;
mod supported;
pub mod trace;
pub mod traits;
