//! The syntax tree: plain owned data, no lifetimes, no behaviour beyond answering what was written.

pub(crate) mod access;
pub(crate) mod definition;
pub(crate) mod describe;
pub(crate) mod identifier;
pub(crate) mod modification;
pub(crate) mod relation;
pub(crate) mod select;
pub(crate) mod selector;
pub(crate) mod statement;
pub(crate) mod term;
pub(crate) mod type_name;
