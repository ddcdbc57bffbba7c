//! How a read or write fell short of its consistency level: who answered, who failed and why, what was being written.

use std::net::IpAddr;

use bytes::{BufMut, BytesMut};

use crate::consistency::Consistency;
use crate::primitives::{Reader, write_address, write_consistency};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// What kind of write timed out or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteType {
    Simple,
    Batch,
    UnloggedBatch,
    Counter,
    BatchLog,
    Cas,
    View,
    Cdc,
}

impl WriteType {
    const ALL: [Self; 8] = [
        Self::Simple,
        Self::Batch,
        Self::UnloggedBatch,
        Self::Counter,
        Self::BatchLog,
        Self::Cas,
        Self::View,
        Self::Cdc,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "SIMPLE",
            Self::Batch => "BATCH",
            Self::UnloggedBatch => "UNLOGGED_BATCH",
            Self::Counter => "COUNTER",
            Self::BatchLog => "BATCH_LOG",
            Self::Cas => "CAS",
            Self::View => "VIEW",
            Self::Cdc => "CDC",
        }
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProtocolError> {
        let value = reader.read_string()?;
        let known = Self::ALL.into_iter().find(|write_type| write_type.name() == value);
        known.ok_or(ProtocolError::UnknownName { value, enumeration: "WriteType" })
    }
}

/// Why a replica failed. A code of a newer server is kept as `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureReason {
    Unknown,
    ReadTooManyTombstones,
    Timeout,
    IncompatibleSchema,
    ReadSize,
    NodeDown,
    IndexNotAvailable,
    ReadTooManyIndexes,
    Other(u16),
}

impl FailureReason {
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Unknown => 0,
            Self::ReadTooManyTombstones => 1,
            Self::Timeout => 2,
            Self::IncompatibleSchema => 3,
            Self::ReadSize => 4,
            Self::NodeDown => 5,
            Self::IndexNotAvailable => 6,
            Self::ReadTooManyIndexes => 7,
            Self::Other(code) => code,
        }
    }

    #[must_use]
    pub fn from_code(code: u16) -> Self {
        match code {
            0 => Self::Unknown,
            1 => Self::ReadTooManyTombstones,
            2 => Self::Timeout,
            3 => Self::IncompatibleSchema,
            4 => Self::ReadSize,
            5 => Self::NodeDown,
            6 => Self::IndexNotAvailable,
            7 => Self::ReadTooManyIndexes,
            other => Self::Other(other),
        }
    }
}

/// How many replicas failed, and why. Version 4 and earlier carry the count only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaFailures {
    count: i32,
    reasons: Vec<(IpAddr, FailureReason)>,
}

impl ReplicaFailures {
    /// One entry a replica.
    #[must_use]
    pub fn new(reasons: Vec<(IpAddr, FailureReason)>) -> Self {
        let count = i32::try_from(reasons.len()).expect("a cluster has fewer replicas");
        Self { count, reasons }
    }

    #[must_use]
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Empty where a client speaks version 4 or earlier.
    #[must_use]
    pub fn reasons(&self) -> &[(IpAddr, FailureReason)] {
        &self.reasons
    }

    pub(super) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        out.put_i32(self.count);
        if ProtocolVersion::V5 <= version {
            for (replica, reason) in &self.reasons {
                write_address(out, *replica);
                out.put_u16(reason.code());
            }
        }
    }

    pub(super) fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let count = reader.read_int()?;
        let mut reasons = Vec::new();
        if ProtocolVersion::V5 <= version {
            for _ in 0..count {
                reasons.push((reader.read_address()?, FailureReason::from_code(reader.read_short()?)));
            }
        }
        Ok(Self { count, reasons })
    }
}

/// What the coordinator had when it gave up: how many answers came, how many the consistency level asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Responses {
    pub consistency: Consistency,
    pub received: i32,
    pub block_for: i32,
}

impl Responses {
    pub(super) fn encode(self, out: &mut BytesMut) {
        write_consistency(out, self.consistency);
        out.put_i32(self.received);
        out.put_i32(self.block_for);
    }

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, ProtocolError> {
        Ok(Self {
            consistency: reader.read_consistency()?,
            received: reader.read_int()?,
            block_for: reader.read_int()?,
        })
    }
}
