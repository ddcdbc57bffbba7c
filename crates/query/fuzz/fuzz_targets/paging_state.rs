//! Arbitrary bytes as a paging state of a table with arbitrary clustering columns: no panic, what is accepted is exactly
//! what we would have written, and never for another statement; `cargo fuzz run paging_state`.
//!
//! The first two bytes choose clustering columns, the rest is the state; it brings its own statement hash, which a fuzzer
//! could not guess.
#![no_main]

#[path = "../../src/paging.rs"]
mod paging;

/// What `paging` knows of the crate that it was taken from.
mod error {
    #[derive(Debug)]
    pub enum QueryError {
        Protocol(String),
    }

    pub type Result<T> = std::result::Result<T, QueryError>;
}

use std::sync::Arc;

use error::QueryError;
use helenus_data::{ClusteringType, ClusteringTypes};
use helenus_types::CqlType;
use libfuzzer_sys::fuzz_target;
use paging::PagingState;

fuzz_target!(|data: &[u8]| {
    let [first, second, state @ ..] = data else { return };
    let columns = [*first, *second].into_iter().filter_map(clustering_column).collect();
    let clustering = ClusteringTypes::new(columns);
    let hash = state.get(1..9).map_or(0, |hash| u64::from_be_bytes(hash.try_into().expect("eight bytes")));
    match PagingState::decode(state, hash, &clustering) {
        Ok(decoded) => {
            assert_eq!(&decoded.encode()[..], state);
            assert!(PagingState::decode(state, hash ^ 1, &clustering).is_err(), "another statement's state");
        }
        Err(QueryError::Protocol(text)) => assert_eq!(text, "Invalid value for the paging state"),
    }
});

/// `None` for fewer columns.
fn clustering_column(choice: u8) -> Option<ClusteringType> {
    let number = usize::from(choice & 0x7F);
    let native = CqlType::NATIVES.get(number).map(|(_, ty)| ty.clone());
    let ty = native.or_else(|| match number {
        0x40 => Some(CqlType::List { element: Arc::new(CqlType::Decimal), frozen: true }),
        0x41 => Some(CqlType::Map { key: Arc::new(CqlType::Text), value: Arc::new(CqlType::Varint), frozen: true }),
        0x42 => Some(CqlType::Tuple([CqlType::Int, CqlType::Timeuuid].into())),
        0x43 => Some(CqlType::Vector { element: Arc::new(CqlType::Float), dimension: 3 }),
        _ => None,
    });
    // Types that Cassandra allows in no clustering column.
    let ty = ty.filter(|ty| !matches!(ty, CqlType::Counter | CqlType::Duration | CqlType::Empty))?;
    Some(ClusteringType { ty, descending: choice & 0x80 != 0 })
}
