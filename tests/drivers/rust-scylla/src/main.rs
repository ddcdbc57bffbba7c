//! Drives a server with the unmodified Rust driver `scylla`: each check is a behaviour that applications rely on.
//!
//! The server is `HELENUS_HOST:HELENUS_PORT`. With `HELENUS_ADMIN_PORT` set, the shard checks also read the server's
//! metrics. Ends with `N passed, N failed`.

mod connection;
mod shards;
mod statements;
mod types;

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

pub const KEYSPACE: &str = "drivers_rust";

pub type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

pub fn variable(name: &str, otherwise: &str) -> String {
    env::var(name).unwrap_or_else(|_| otherwise.to_owned())
}

pub fn builder() -> SessionBuilder {
    SessionBuilder::new().known_node(format!(
        "{}:{}",
        variable("HELENUS_HOST", "127.0.0.1"),
        variable("HELENUS_PORT", "9042")
    ))
}

async fn connect() -> Result<Session, Box<dyn Error + Send + Sync>> {
    let session = builder().build().await?;
    session.query_unpaged(format!("DROP KEYSPACE IF EXISTS {KEYSPACE}"), ()).await?;
    session
        .query_unpaged(
            format!(
                "CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
            ),
            (),
        )
        .await?;
    session.use_keyspace(KEYSPACE, false).await?;
    Ok(session)
}

/// Runs each named check in a task of its own, so that a panic is that check's failure.
macro_rules! run_checks {
    ($session:expr, $passed:ident, $failed:ident, $($module:ident :: $check:ident),+ $(,)?) => {
        $(
            match tokio::spawn($module::$check(Arc::clone(&$session))).await {
                Ok(Ok(())) => {
                    $passed += 1;
                    println!("ok      {}", stringify!($check));
                }
                Ok(Err(error)) => {
                    $failed += 1;
                    println!("FAILED  {}: {error}", stringify!($check));
                }
                Err(panic) => {
                    $failed += 1;
                    println!("FAILED  {}: {panic}", stringify!($check));
                }
            }
        )+
    };
}

#[tokio::main]
async fn main() -> ExitCode {
    let session = match connect().await {
        Ok(session) => Arc::new(session),
        Err(error) => {
            println!("cannot connect: {error}\n0 passed, 1 failed");
            return ExitCode::FAILURE;
        }
    };
    let (mut passed, mut failed) = (0, 0);
    run_checks!(
        session,
        passed,
        failed,
        connection::the_one_node_is_connected_and_described,
        connection::frames_may_be_compressed_by_lz4_and_by_snappy,
        connection::an_unknown_keyspace_is_refused,
        connection::the_schema_is_agreed_upon,
        connection::table_metadata_has_keys_and_types,
        types::scalars_of_every_type_come_back_equal,
        types::collections_tuples_and_vectors_come_back_equal,
        types::user_types_map_to_structs,
        types::counters_add_up,
        types::unset_values_leave_columns_alone,
        statements::a_prepared_statement_knows_table_key_and_token,
        statements::a_prepared_statement_follows_a_changed_table,
        statements::pages_of_any_size_give_every_row_once,
        statements::a_paging_state_continues_where_it_stopped,
        statements::batches_of_all_kinds_apply,
        statements::conditional_writes_answer_with_what_was_there,
        statements::two_thousand_requests_at_once_are_answered_each_with_its_own_row,
        statements::a_blob_of_three_megabytes_survives,
        statements::timestamps_and_times_to_live_are_readable,
        statements::a_trace_tells_who_did_what,
        statements::warnings_reach_the_client,
        statements::errors_have_codes_and_words,
        statements::an_unreachable_consistency_is_unavailable_with_its_numbers,
        shards::the_driver_knows_the_shards_of_a_sharded_server,
        shards::single_partition_statements_reach_their_shard_directly,
    );
    if let Err(error) = session.query_unpaged(format!("DROP KEYSPACE {KEYSPACE}"), ()).await {
        println!("cannot clean up: {error}");
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
