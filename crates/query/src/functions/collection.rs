//! Functions over serialised collections.
//!
//! Source: Cassandra 5.0, `cql3.functions.CollectionFcts`.

use helenus_types::{CqlType, collection, value};

use crate::error::Result;
use crate::functions::aggregate::{Accumulator, AggregateKind};

/// The number of elements or entries, which leads every collection.
pub fn count(bytes: &[u8]) -> Vec<u8> {
    let count = bytes.first_chunk::<4>().map_or(0, |count| i32::from_be_bytes(*count));
    value::encode_int(count)
}

pub fn map_keys(bytes: &[u8]) -> Result<Vec<u8>> {
    let keys: Vec<Option<&[u8]>> = collection::MapRef::parse(bytes)?.iter().map(|(key, _)| Some(key)).collect();
    Ok(collection::pack_list(&keys))
}

pub fn map_values(bytes: &[u8]) -> Result<Vec<u8>> {
    let values: Vec<Option<&[u8]>> = collection::MapRef::parse(bytes)?.iter().map(|(_, value)| Some(value)).collect();
    Ok(collection::pack_list(&values))
}

/// An aggregate function applied to the elements of a list or set.
pub fn aggregate(kind: AggregateKind, element: &CqlType, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut accumulator = Accumulator::new(kind, element);
    for value in collection::ListRef::parse(bytes)?.iter() {
        accumulator.add(value)?;
    }
    accumulator.result()
}
