//! CQL types and values: what a column may hold, how it is serialised, ordered, printed and hashed.
//!
//! Role: everything above asks here what bytes of a type mean. Values stay serialised; functions borrow them.
//!
//! Invariants
//! - No I/O and no clock: a current time comes in as an argument.
//! - Bytes and text from outside never panic; recursion follows the type, whose depth [`MAX_NESTING`] bounds.
//! - `validate`, `compare`, `write_comparable` and tokens allocate nothing but what they append to the caller's buffer.
//!
//! Source: Apache Cassandra 5.0, packages `db.marshal`, `serializers`, `cql3`, `utils.bytecomparable`. The golden files
//! under `golden/` hold its own answers.

mod cql_type;
mod error;
mod java_name;

pub mod collection;
pub mod composite;
pub mod hex;
pub mod value;

mod decimal;
mod duration;
mod float_text;
pub mod time;

mod compare;
mod json_parse;
mod json_print;
mod literal;
mod text;
mod validate;

pub mod arithmetic;
pub mod cast;
pub mod comparable;
pub mod token;

pub use cql_type::{CqlType, MAX_NESTING, UserType, UserTypeField};
pub use error::{MarshalError, TypeError};

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod order_tests;
