//! Error map: our errors to the protocol's ERROR messages, with Cassandra's codes and words. Nobody else does this.
//!
//! Both matches are exhaustive: a new error has to be placed here. "Timeout" is the answer wherever a write's outcome is
//! not known; refusals that changed nothing get a code that says so.

use std::net::SocketAddr;

use helenus_cluster::ClusterError;
use helenus_protocol::{Consistency, ErrorBody, ErrorMessage, FailureReason, ReplicaFailures, Responses, WriteType};
use helenus_query::QueryError;
use helenus_storage::StorageError;

/// What failed: an error's form depends on whether a read or a write had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write(WriteType),
    Truncate,
}

/// The request that failed.
#[derive(Clone, Copy, Debug)]
pub struct Failed {
    pub operation: Operation,
    pub consistency: Consistency,
    /// Of conditional writes.
    pub serial_consistency: Consistency,
    /// The replica, as Cassandra names it in texts: its address towards other nodes.
    pub replica: SocketAddr,
}

/// The ERROR that answers `error`.
#[must_use]
pub fn error_message(error: &QueryError, failed: &Failed) -> ErrorMessage {
    let plain = |body: ErrorBody| ErrorMessage { text: error.to_string(), body };
    match error {
        QueryError::Syntax(_) => plain(ErrorBody::Syntax),
        QueryError::Invalid(_) => plain(ErrorBody::Invalid),
        QueryError::Config(_) => plain(ErrorBody::Config),
        QueryError::Unauthorized(_) => plain(ErrorBody::Unauthorized),
        QueryError::AlreadyExists { keyspace, table, .. } => {
            plain(ErrorBody::AlreadyExists { keyspace: keyspace.clone(), table: table.clone() })
        }
        QueryError::Protocol(_) => plain(ErrorBody::Protocol),
        QueryError::Server(_) => plain(ErrorBody::Server),
        QueryError::Overloaded(_) => plain(ErrorBody::Overloaded),
        QueryError::Unprepared { id } => plain(ErrorBody::Unprepared { id: id.clone().into() }),
        QueryError::FunctionFailure { keyspace, function, argument_types, .. } => plain(ErrorBody::FunctionFailure {
            keyspace: keyspace.clone(),
            function: function.clone(),
            argument_types: argument_types.clone(),
        }),
        QueryError::Cluster(error) => cluster_message(error, failed),
        QueryError::Warned { error, .. } => error_message(error, failed),
    }
}

fn cluster_message(error: &ClusterError, failed: &Failed) -> ErrorMessage {
    let plain = |body: ErrorBody| ErrorMessage { text: error.to_string(), body };
    match error {
        ClusterError::Unavailable { consistency, required, alive, .. } => plain(ErrorBody::Unavailable {
            consistency: to_protocol(*consistency),
            required: count(*required),
            alive: count(*alive),
        }),
        ClusterError::Timeout { received, required, data_present, .. } => {
            timeout(failed, count(*received), count(*required), *data_present)
        }
        ClusterError::Contention { serial, required, contentions } => {
            let (consistency, block_for) = (to_protocol(*serial), count(*required));
            let responses = Responses { consistency, received: 0, block_for };
            let contentions = Some(*contentions);
            plain(ErrorBody::WriteTimeout { responses, write_type: WriteType::Cas, contentions })
        }
        ClusterError::Replica(error) => storage_message(error, failed),
        ClusterError::Overloaded { .. } => plain(ErrorBody::Overloaded),
        // Reads may be tried again; a write may or may not have been applied.
        ClusterError::ShardGone { .. } => match failed.operation {
            Operation::Read => failure(failed, FailureReason::Unknown),
            Operation::Write(_) | Operation::Truncate => timeout(failed, 0, 1, false),
        },
        ClusterError::Conflict { .. } => {
            ErrorMessage { text: "another schema change came first; try again".to_owned(), body: ErrorBody::Server }
        }
        ClusterError::MetadataDisk { .. } | ClusterError::MetadataCorrupt { .. } | ClusterError::Identity(_) => {
            plain(ErrorBody::Server)
        }
        ClusterError::UnknownTable => plain(ErrorBody::Invalid),
    }
}

fn storage_message(error: &StorageError, failed: &Failed) -> ErrorMessage {
    let plain = |body: ErrorBody| ErrorMessage { text: error.to_string(), body };
    match error {
        StorageError::Corrupt { .. }
        | StorageError::SsTable { .. }
        | StorageError::UnknownFormat { .. }
        | StorageError::Disk { .. }
        | StorageError::CommitLogFailed { .. } => failure(failed, FailureReason::Unknown),
        StorageError::TooManyTombstones { .. } => failure(failed, FailureReason::ReadTooManyTombstones),
        // Nothing was changed, and another node may have room.
        StorageError::DiskReserve { .. } | StorageError::MemtablesFull { .. } => plain(ErrorBody::Overloaded),
        StorageError::MutationTooLarge { .. } => plain(ErrorBody::Invalid),
        StorageError::DeadlineExceeded => timeout(failed, 0, 1, false),
        StorageError::UnknownTable(_) => {
            ErrorMessage { text: "unconfigured table".to_owned(), body: ErrorBody::Invalid }
        }
        StorageError::Invalid(_) => plain(ErrorBody::Invalid),
        StorageError::ShuttingDown => {
            ErrorMessage { text: "Server is shutting down".to_owned(), body: ErrorBody::Overloaded }
        }
    }
}

fn timeout(failed: &Failed, received: i32, required: i32, data_present: bool) -> ErrorMessage {
    let responses = Responses { consistency: failed.consistency, received, block_for: required };
    let received_only = format!("Operation timed out - received only {received} responses.");
    match failed.operation {
        Operation::Read => {
            ErrorMessage { text: received_only, body: ErrorBody::ReadTimeout { responses, data_present } }
        }
        Operation::Write(WriteType::Cas) => {
            let responses = Responses { consistency: failed.serial_consistency, ..responses };
            let text = format!(
                "CAS operation timed out: received {received} of {required} required responses after 0 contention retries"
            );
            let body = ErrorBody::WriteTimeout { responses, write_type: WriteType::Cas, contentions: Some(0) };
            ErrorMessage { text, body }
        }
        Operation::Write(write_type) => {
            let body = ErrorBody::WriteTimeout { responses, write_type, contentions: None };
            ErrorMessage { text: received_only, body }
        }
        Operation::Truncate => {
            let message = "Error during truncate: Truncate timed out - received only 0 responses".to_owned();
            ErrorMessage { text: message, body: ErrorBody::Truncate }
        }
    }
}

fn failure(failed: &Failed, reason: FailureReason) -> ErrorMessage {
    let name = match reason {
        FailureReason::Unknown | FailureReason::Other(_) => "UNKNOWN",
        FailureReason::ReadTooManyTombstones => "READ_TOO_MANY_TOMBSTONES",
        FailureReason::Timeout => "TIMEOUT",
        FailureReason::IncompatibleSchema => "INCOMPATIBLE_SCHEMA",
        FailureReason::ReadSize => "READ_SIZE",
        FailureReason::NodeDown => "NODE_DOWN",
        FailureReason::IndexNotAvailable => "INDEX_NOT_AVAILABLE",
        FailureReason::ReadTooManyIndexes => "READ_TOO_MANY_INDEXES",
    };
    let message = format!("Operation failed - received 0 responses and 1 failures: {name} from /{}", failed.replica);
    let responses = Responses { consistency: failed.consistency, received: 0, block_for: 1 };
    let failures = ReplicaFailures::new(vec![(failed.replica.ip(), reason)]);
    let body = match failed.operation {
        Operation::Read => ErrorBody::ReadFailure { responses, failures, data_present: false },
        Operation::Write(write_type) => ErrorBody::WriteFailure { responses, failures, write_type },
        Operation::Truncate => ErrorBody::Truncate,
    };
    ErrorMessage { text: message, body }
}

/// The two rooms name the same levels; the codes are the protocol's in both.
#[must_use]
pub fn to_protocol(consistency: helenus_cluster::Consistency) -> Consistency {
    Consistency::from_code(consistency.code()).expect("both list the levels of the protocol")
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use helenus_protocol::ErrorCode;

    use super::*;

    fn check(error: impl Into<QueryError>, operation: Operation, code: ErrorCode, text: &str) {
        let replica = SocketAddr::from(([127, 0, 0, 1], 7000));
        let failed =
            Failed { operation, consistency: Consistency::Quorum, serial_consistency: Consistency::Serial, replica };
        let message = error_message(&error.into(), &failed);
        assert_eq!((message.body.code(), message.text.as_str()), (code, text));
    }

    fn storage(error: StorageError) -> QueryError {
        QueryError::Cluster(ClusterError::Replica(error))
    }

    const WRITE: Operation = Operation::Write(WriteType::Simple);

    #[test]
    fn refusals_keep_their_text() {
        let read = Operation::Read;
        check(QueryError::Syntax("line 1:0".to_owned()), read, ErrorCode::Syntax, "line 1:0");
        check(QueryError::Invalid("no".to_owned()), read, ErrorCode::Invalid, "no");
        check(QueryError::Config("no".to_owned()), read, ErrorCode::Config, "no");
        check(QueryError::Unauthorized("no".to_owned()), read, ErrorCode::Unauthorized, "no");
        check(QueryError::Protocol("no".to_owned()), read, ErrorCode::Protocol, "no");
        check(QueryError::Server("no".to_owned()), read, ErrorCode::Server, "no");
        let exists = QueryError::AlreadyExists {
            keyspace: "k".to_owned(),
            table: String::new(),
            message: "Cannot add existing keyspace \"k\"".to_owned(),
        };
        check(exists, read, ErrorCode::AlreadyExists, "Cannot add existing keyspace \"k\"");
        let text = "Prepared query with ID 0a not found (either the query was not prepared on this host (maybe the \
                    host has been restarted?) or you have prepared too many queries and it has been evicted from the \
                    internal cache)";
        check(QueryError::Unprepared { id: vec![10] }, read, ErrorCode::Unprepared, text);
    }

    #[test]
    fn what_became_of_a_request_in_the_cluster_has_cassandras_words() {
        let level = helenus_cluster::Consistency::Two;
        let unavailable = ClusterError::Unavailable { consistency: level, required: 2, alive: 1, data_center: None };
        check(unavailable, WRITE, ErrorCode::Unavailable, "Cannot achieve consistency level TWO");
        let timed_out = "Operation timed out - received only 0 responses.";
        check(storage(StorageError::DeadlineExceeded), Operation::Read, ErrorCode::ReadTimeout, timed_out);
        check(storage(StorageError::DeadlineExceeded), WRITE, ErrorCode::WriteTimeout, timed_out);
        check(ClusterError::ShardGone { shard: 1 }, WRITE, ErrorCode::WriteTimeout, timed_out);
        let tombstones =
            StorageError::TooManyTombstones { table: "k.t".to_owned(), tombstones: 2, live_rows: 0, threshold: 1 };
        let text =
            "Operation failed - received 0 responses and 1 failures: READ_TOO_MANY_TOMBSTONES from /127.0.0.1:7000";
        check(storage(tombstones), Operation::Read, ErrorCode::ReadFailure, text);
        let failed = StorageError::CommitLogFailed { reason: "x".into() };
        let text = "Operation failed - received 0 responses and 1 failures: UNKNOWN from /127.0.0.1:7000";
        check(storage(failed), WRITE, ErrorCode::WriteFailure, text);
        let (keyspace, largest_keys) = ("k".to_owned(), "t.1, t.2".to_owned());
        let large = StorageError::MutationTooLarge { bytes: 20, bytes_max: 10, keyspace, largest_keys };
        let text = "Rejected an oversized mutation (20/10) for keyspace: k. Top keys are: t.1, t.2";
        check(storage(large), WRITE, ErrorCode::Invalid, text);
        let reserve = StorageError::DiskReserve { free_bytes: 1, reserve_bytes: 2 };
        check(storage(reserve), WRITE, ErrorCode::Overloaded, "disk reserve reached: 1 bytes free, 2 reserved");
    }

    #[test]
    fn levels_have_the_same_codes_in_both_rooms() {
        for level in helenus_cluster::Consistency::ALL {
            assert_eq!(to_protocol(level).name(), level.to_string());
        }
    }
}
