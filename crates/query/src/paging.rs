//! Paging state: where a SELECT goes on, as an opaque token in the client's hands.
//!
//! ```text
//! offset  bytes  field                                                            integers are big-endian
//!      0      1  version, 0x68
//!      1      8  hash of keyspace, table id and statement text: another statement's token is refused
//!      9      4  rows of LIMIT that are left, 0xFFFFFFFF without LIMIT
//!     13      4  rows of the current partition that were answered
//!     17      1  what follows the key: 0 nothing (the partition is done), 1 bound before, 2 bound after
//!     18      2  key length n
//!     20      n  partition key
//!   20+n      m  raw clustering values of the bound, to the end
//! ```
//!
//! It is a position and no secret: any coordinator continues from it, and every byte is checked when it comes back.

use bytes::{BufMut, Bytes, BytesMut};
use helenus_data::read::ReadPosition;
use helenus_data::{ClusteringTypes, PartitionKey, Side};

use crate::error::{QueryError, Result};

const VERSION: u8 = 0x68;
const NO_LIMIT: u32 = u32::MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagingState {
    pub statement_hash: u64,
    /// Rows (groups, for GROUP BY) that LIMIT still allows.
    pub remaining: Option<u32>,
    pub position: ReadPosition,
}

impl PagingState {
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let key = self.position.key.bytes();
        let mut out = BytesMut::with_capacity(20 + key.len());
        out.put_u8(VERSION);
        out.put_u64(self.statement_hash);
        out.put_u32(self.remaining.unwrap_or(NO_LIMIT));
        out.put_u32(u32::try_from(self.position.rows_in_partition).unwrap_or(u32::MAX));
        out.put_u8(match self.position.after.as_ref().map(helenus_data::Bound::side) {
            None => 0,
            Some(Side::Before) => 1,
            Some(Side::After) => 2,
        });
        out.put_u16(u16::try_from(key.len()).unwrap_or(u16::MAX));
        out.put_slice(key);
        if let Some(after) = &self.position.after {
            out.put_slice(after.raw());
        }
        out.freeze()
    }

    /// # Errors
    /// Bytes that no page of this statement answered.
    pub fn decode(bytes: &[u8], statement_hash: u64, clustering: &ClusteringTypes) -> Result<Self> {
        let refused = || QueryError::Protocol("Invalid value for the paging state".to_owned());
        let state = Self::parse(bytes, clustering).ok_or_else(refused)?;
        if state.statement_hash == statement_hash { Ok(state) } else { Err(refused()) }
    }

    fn parse(bytes: &[u8], clustering: &ClusteringTypes) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (hash, rest) = rest.split_first_chunk::<8>()?;
        let (remaining, rest) = rest.split_first_chunk::<4>()?;
        let (rows, rest) = rest.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_first()?;
        let (key_bytes, rest) = rest.split_first_chunk::<2>()?;
        let (key, raw) = rest.split_at_checked(usize::from(u16::from_be_bytes(*key_bytes)))?;
        let after = match kind {
            0 if raw.is_empty() => None,
            1 => Some(clustering.bound_from_raw(raw, Side::Before)?),
            2 => Some(clustering.bound_from_raw(raw, Side::After)?),
            _ => return None,
        };
        let remaining = u32::from_be_bytes(*remaining);
        (*version == VERSION && !key.is_empty()).then(|| Self {
            statement_hash: u64::from_be_bytes(*hash),
            remaining: (remaining != NO_LIMIT).then_some(remaining),
            position: ReadPosition {
                key: PartitionKey::new(key),
                after,
                rows_in_partition: u64::from(u32::from_be_bytes(*rows)),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use helenus_data::ClusteringType;
    use helenus_types::CqlType;

    use super::*;

    fn clustering() -> ClusteringTypes {
        ClusteringTypes::new(vec![ClusteringType { ty: CqlType::Int, descending: false }])
    }

    #[test]
    fn a_state_comes_back_as_it_went_out() {
        let after = clustering().bound(&[5i32.to_be_bytes()], Side::After);
        let position = ReadPosition { key: PartitionKey::new(b"key"), after: Some(after), rows_in_partition: 7 };
        let state = PagingState { statement_hash: 42, remaining: Some(3), position };
        let encoded = state.encode();
        assert_eq!(PagingState::decode(&encoded, 42, &clustering()).expect("just encoded"), state);
        assert!(PagingState::decode(&encoded, 43, &clustering()).is_err(), "another statement's token");
    }

    #[test]
    fn garbage_is_refused_in_cassandra_s_words() {
        for garbage in [&b""[..], b"\x68", b"garbage that is long enough to be read", &[0; 64]] {
            let error = PagingState::decode(garbage, 0, &clustering()).expect_err("garbage");
            assert_eq!(error.to_string(), "Invalid value for the paging state");
        }
    }
}
