//! Positions between partition keys on the ring, and ranges of them.

use std::cmp::Ordering;

use helenus_types::token::Token;

use crate::Blob;
use crate::key::{PartitionKey, Side};

/// A position between keys; no key stands exactly at one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RingPosition {
    pub token: Token,
    pub rank: RankInToken,
}

/// Where among the keys of one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankInToken {
    BeforeKeys,
    AtKey { bytes: Blob, side: Side },
    AfterKeys,
}

impl RankInToken {
    fn parts(&self) -> (u8, &[u8], u8) {
        match self {
            RankInToken::BeforeKeys => (0, &[], 0),
            RankInToken::AtKey { bytes, side: Side::Before } => (1, bytes, 0),
            RankInToken::AtKey { bytes, side: Side::After } => (1, bytes, 1),
            RankInToken::AfterKeys => (2, &[], 0),
        }
    }
}

impl PartialOrd for RankInToken {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RankInToken {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl RingPosition {
    /// Before all keys of `token`.
    #[must_use]
    pub fn before_token(token: Token) -> Self {
        Self { token, rank: RankInToken::BeforeKeys }
    }

    /// After all keys of `token`.
    #[must_use]
    pub fn after_token(token: Token) -> Self {
        Self { token, rank: RankInToken::AfterKeys }
    }

    #[must_use]
    pub fn beside_key(key: &PartitionKey, side: Side) -> Self {
        Self { token: key.token(), rank: RankInToken::AtKey { bytes: Blob::from(key.bytes()), side } }
    }

    /// Whether this position stands before `key`.
    #[must_use]
    pub fn is_before(&self, key: &PartitionKey) -> bool {
        let by_token = self.token.cmp(&key.token());
        let order = by_token.then_with(|| match &self.rank {
            RankInToken::BeforeKeys => Ordering::Less,
            RankInToken::AfterKeys => Ordering::Greater,
            RankInToken::AtKey { bytes, side } => bytes.as_slice().cmp(key.bytes()).then(match side {
                Side::Before => Ordering::Less,
                Side::After => Ordering::Greater,
            }),
        });
        order == Ordering::Less
    }
}

/// The keys between two positions; does not wrap, empty when `end <= start`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub start: RingPosition,
    pub end: RingPosition,
}

impl KeyRange {
    #[must_use]
    pub fn all() -> Self {
        Self { start: RingPosition::before_token(Token::MIN), end: RingPosition::after_token(Token::MAX) }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end <= self.start
    }

    #[must_use]
    pub fn contains(&self, key: &PartitionKey) -> bool {
        self.start.is_before(key) && !self.end.is_before(key)
    }
}
