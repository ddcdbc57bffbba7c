//! Query of Helenus: CQL statements become plans, plans become results over `helenus_cluster::Cluster`.
//!
//! A statement travels `processor` → `compile` (text → `cql` → plan) → `execution` → `select`, `modify`, `ddl` or `describe`
//! → cluster, and its answer comes back by return values. Prepared statements skip everything before the plan: plans hold
//! column ids, marker indexes and types, and bind straight from the request's bytes. Read in this order.

mod compile;
mod config;
mod ddl;
mod describe;
mod error;
mod execution;
mod functions;
mod modify;
mod outcome;
mod paging;
mod processor;
mod registry;
mod restrictions;
mod select;
mod stored;
mod terms;

pub use config::{QueryConfig, TimeLimits};
pub use error::{QueryError, Result};
pub use outcome::{PreparedOutcome, QueryOutcome, QueryResult, Session};
pub use processor::QueryProcessor;
pub use registry::PreparedRegistry;
pub use stored::Preloaded;
