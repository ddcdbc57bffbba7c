//! SELECT: from the clause's text to encoded rows.
//!
//! `selectable` resolves names and functions, `selection` decides types, `plan` checks the statement as a whole, `cursor`
//! reads pages, `execute` turns stored rows into results.

mod cursor;
mod execute;
mod grouping;
mod input;
mod ordering;
mod plan;
mod selectable;
mod selection;
mod selector;
mod tombstones;

pub use execute::SelectRequest;
pub use input::serialise;
pub use plan::SelectPlan;
pub use selection::{empty_metadata_id, plain_metadata_id};
pub use selector::element_of;

pub(crate) use input::{FetchedColumn, InputRow};
