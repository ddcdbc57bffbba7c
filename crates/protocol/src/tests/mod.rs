//! Tests that go through the whole crate; what concerns one module alone stands in it.

mod any_message;
mod golden;
mod robustness;
mod round_trip;
