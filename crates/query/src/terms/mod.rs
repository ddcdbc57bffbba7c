//! Terms: from what stands for a value in a statement to serialised bytes.
//!
//! `receiver` is the place that wants a value and names its type, `assignment` asks whether a raw term fits there, `prepare`
//! resolves it, and [`Term`] is the result: bound many times without looking at the statement again.

mod assignment;
mod json;
mod prepare;
mod receiver;
mod term;
mod type_name;
mod value;

pub use assignment::{
    Argument, Assignment, Scope, common_type, component_types, function_name, test_all, test_list, test_map, test_set,
    test_tuple, test_type,
};
pub use json::parse_document;
pub use prepare::{Markers, prepare, prepare_in_values, prepare_tuple, prepare_tuple_in_values};
pub use receiver::Receiver;
pub use term::{Bind, InTerms, InValues, JsonColumn, Term, TupleInTerms, TupleTerm};
pub use type_name::{display_resolved_type_name, native_type, resolve_type};
pub use value::Value;
