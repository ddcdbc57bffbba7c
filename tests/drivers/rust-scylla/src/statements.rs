//! Preparing, paging, batches, conditional writes, concurrency, tracing, warnings, errors.

use std::ops::ControlFlow;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use scylla::client::session::Session;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::response::PagingState;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::unprepared::Statement;
use scylla::statement::{Consistency, SerialConsistency};
use scylla::value::Counter;

use crate::{KEYSPACE, Outcome};

pub async fn a_prepared_statement_knows_table_key_and_token(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE composite (a int, b text, c int, v int, PRIMARY KEY ((a, b), c))", ()).await?;
    let insert = session.prepare("INSERT INTO composite (v, c, b, a) VALUES (?, ?, ?, ?)").await?;
    assert!(insert.is_token_aware(), "not token aware");
    assert_eq!((insert.get_keyspace_name(), insert.get_table_name()), (Some(KEYSPACE), Some("composite")));
    assert_eq!(insert.get_id().len(), 16);
    session.execute_unpaged(&insert, (1, 2, "x", 3)).await?;
    let rows = session.query_unpaged("SELECT token(a, b) FROM composite", ()).await?.into_rows_result()?;
    let (token,) = rows.single_row::<(i64,)>()?;
    assert_eq!(insert.calculate_token(&(1, 2, "x", 3))?.map(|token| token.value()), Some(token));
    Ok(())
}

pub async fn a_prepared_statement_follows_a_changed_table(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE growing (k int PRIMARY KEY, a int)", ()).await?;
    session.query_unpaged("INSERT INTO growing (k, a) VALUES (1, 2)", ()).await?;
    let select = session.prepare("SELECT * FROM growing WHERE k = ?").await?;
    assert_eq!(session.execute_unpaged(&select, (1,)).await?.into_rows_result()?.single_row::<(i32, i32)>()?, (1, 2));
    session.query_unpaged("ALTER TABLE growing ADD b text", ()).await?;
    session.query_unpaged("INSERT INTO growing (k, b) VALUES (1, 'new')", ()).await?;
    let rows = session.execute_unpaged(&select, (1,)).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(i32, i32, String)>()?, (1, 2, "new".into()));
    Ok(())
}

async fn fill(session: &Session, table: &str) -> Outcome {
    session.query_unpaged(format!("CREATE TABLE {table} (p int, c int, PRIMARY KEY (p, c))"), ()).await?;
    let insert = session.prepare(format!("INSERT INTO {table} (p, c) VALUES (0, ?)")).await?;
    let insert = &insert;
    stream::iter(0..250)
        .map(Ok)
        .try_for_each_concurrent(32, |c| async move { session.execute_unpaged(insert, (c,)).await.map(drop) })
        .await?;
    Ok(())
}

pub async fn pages_of_any_size_give_every_row_once(session: Arc<Session>) -> Outcome {
    fill(&session, "paged").await?;
    for size in [1, 7, 100, 5000] {
        let select = Statement::new("SELECT c FROM paged WHERE p = 0").with_page_size(size);
        let rows = session.query_iter(select, ()).await?.rows_stream::<(i32,)>()?;
        let seen: Vec<i32> = rows.map_ok(|(c,)| c).try_collect().await?;
        assert_eq!(seen, (0..250).collect::<Vec<_>>(), "page size {size}");
    }
    Ok(())
}

pub async fn a_paging_state_continues_where_it_stopped(session: Arc<Session>) -> Outcome {
    fill(&session, "continued").await?;
    let select = Statement::new("SELECT c FROM continued WHERE p = 0").with_page_size(10);
    let (mut state, mut seen) = (PagingState::start(), Vec::new());
    loop {
        let (page, next) = session.query_single_page(select.clone(), (), state).await?;
        let page = page.into_rows_result()?;
        seen.extend(page.rows::<(i32,)>()?.map(|row| row.map(|(c,)| c)).collect::<Result<Vec<_>, _>>()?);
        match next.into_paging_control_flow() {
            ControlFlow::Continue(more) => state = more,
            ControlFlow::Break(()) => break,
        }
    }
    assert_eq!(seen, (0..250).collect::<Vec<_>>());
    Ok(())
}

pub async fn batches_of_all_kinds_apply(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE batched (k int PRIMARY KEY, v text)", ()).await?;
    session.query_unpaged("CREATE TABLE clicks (k int PRIMARY KEY, n counter)", ()).await?;
    for (kind, key) in [(BatchType::Logged, 0), (BatchType::Unlogged, 10)] {
        let mut batch = Batch::new(kind);
        batch.append_statement(session.prepare("INSERT INTO batched (k, v) VALUES (?, ?)").await?);
        batch.append_statement("INSERT INTO batched (k, v) VALUES (?, 'simple')");
        session.batch(&batch, ((key, "prepared"), (key + 1,))).await?;
    }
    let mut counters = Batch::new(BatchType::Counter);
    counters.append_statement("UPDATE clicks SET n = n + ? WHERE k = 1");
    counters.append_statement("UPDATE clicks SET n = n + 3 WHERE k = 1");
    session.batch(&counters, ((Counter(2),), ())).await?;
    let rows = session.query_unpaged("SELECT count(*) FROM batched", ()).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(i64,)>()?.0, 4);
    let rows = session.query_unpaged("SELECT n FROM clicks WHERE k = 1", ()).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(Counter,)>()?.0, Counter(5));
    Ok(())
}

pub async fn conditional_writes_answer_with_what_was_there(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE guarded (k int PRIMARY KEY, v text)", ()).await?;
    let insert = session.prepare("INSERT INTO guarded (k, v) VALUES (?, 'mine') IF NOT EXISTS").await?;
    let rows = session.execute_unpaged(&insert, (1,)).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(bool,)>()?, (true,));
    let rows = session.execute_unpaged(&insert, (1,)).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(bool, i32, String)>()?, (false, 1, "mine".into()));
    let mut update = Statement::new("UPDATE guarded SET v = 'b' WHERE k = 1 IF v = 'other'");
    update.set_serial_consistency(Some(SerialConsistency::LocalSerial));
    let rows = session.query_unpaged(update, ()).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(bool, String)>()?, (false, "mine".into()));
    Ok(())
}

pub async fn two_thousand_requests_at_once_are_answered_each_with_its_own_row(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE busy (k int PRIMARY KEY, v int)", ()).await?;
    let insert = &session.prepare("INSERT INTO busy (k, v) VALUES (?, ?)").await?;
    let select = &session.prepare("SELECT v FROM busy WHERE k = ?").await?;
    let session = &session;
    stream::iter(0..1000)
        .map(Ok::<i32, Box<dyn std::error::Error + Send + Sync>>)
        .try_for_each_concurrent(200, |k| async move {
            session.execute_unpaged(insert, (k, 2 * k)).await?;
            let rows = session.execute_unpaged(select, (k,)).await?.into_rows_result()?;
            assert_eq!(rows.single_row::<(i32,)>()?.0, 2 * k);
            Ok(())
        })
        .await
}

pub async fn a_blob_of_three_megabytes_survives(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE big (k int PRIMARY KEY, b blob)", ()).await?;
    let bytes: Vec<u8> = (0..3_000_000_usize).map(|index| (index % 251) as u8).collect();
    session.query_unpaged("INSERT INTO big (k, b) VALUES (1, ?)", (&bytes,)).await?;
    let rows = session.query_unpaged("SELECT b FROM big WHERE k = 1", ()).await?.into_rows_result()?;
    assert!(rows.single_row::<(Vec<u8>,)>()?.0 == bytes, "the bytes differ");
    Ok(())
}

pub async fn timestamps_and_times_to_live_are_readable(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE timed (k int PRIMARY KEY, v text)", ()).await?;
    let mut insert = Statement::new("INSERT INTO timed (k, v) VALUES (1, 'x') USING TTL 1000");
    insert.set_timestamp(Some(12345));
    session.query_unpaged(insert, ()).await?;
    let rows =
        session.query_unpaged("SELECT writetime(v), ttl(v) FROM timed WHERE k = 1", ()).await?.into_rows_result()?;
    let (written, ttl) = rows.single_row::<(i64, i32)>()?;
    assert_eq!(written, 12345);
    assert!((990..=1000).contains(&ttl), "{ttl}");
    Ok(())
}

pub async fn a_trace_tells_who_did_what(session: Arc<Session>) -> Outcome {
    let mut select = Statement::new("SELECT key FROM system.local");
    select.set_tracing(true);
    let id = session.query_unpaged(select, ()).await?.tracing_id().ok_or("no tracing id")?;
    let trace = session.get_tracing_info(&id).await?;
    assert_eq!(trace.request.as_deref(), Some("Execute CQL3 query"));
    assert!(trace.events.len() >= 2, "{:?}", trace.events);
    Ok(())
}

pub async fn warnings_reach_the_client(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE warned (k int PRIMARY KEY)", ()).await?;
    let result = session.query_unpaged("SELECT count(*) FROM warned", ()).await?;
    assert_eq!(result.warnings().collect::<Vec<_>>(), ["Aggregation query used without partition key"]);
    Ok(())
}

pub async fn errors_have_codes_and_words(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE erroneous (k int PRIMARY KEY, v text)", ()).await?;
    let undefined = format!("Undefined column name nope in table {KEYSPACE}.erroneous");
    let exists = DbError::AlreadyExists { keyspace: KEYSPACE.into(), table: "erroneous".into() };
    for (statement, expected, words) in [
        ("SELEKT 1", DbError::SyntaxError, "line 1:0 no viable alternative at input 'SELEKT'"),
        ("SELECT nope FROM erroneous", DbError::Invalid, undefined.as_str()),
        ("SELECT * FROM nope", DbError::Invalid, "table nope does not exist"),
        ("SELECT * FROM erroneous WHERE v = 'x'", DbError::Invalid, "use ALLOW FILTERING"),
        ("CREATE TABLE erroneous (k int PRIMARY KEY)", exists, "erroneous"),
        ("ALTER TABLE erroneous WITH gc_grace_seconds = -1", DbError::ConfigError, "gc_grace_seconds"),
        ("CREATE TABLE system.x (k int PRIMARY KEY)", DbError::Unauthorized, "system keyspace is not user-modifiable"),
    ] {
        match session.query_unpaged(statement, ()).await {
            Err(ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, message))) => {
                assert_eq!(error, expected, "{statement}");
                assert!(message.contains(words), "{statement}: {message}");
            }
            other => return Err(format!("{statement}: {other:?}").into()),
        }
    }
    Ok(())
}

pub async fn an_unreachable_consistency_is_unavailable_with_its_numbers(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE remote (k int PRIMARY KEY)", ()).await?;
    let mut select = Statement::new("SELECT * FROM remote WHERE k = 1");
    select.set_consistency(Consistency::Three);
    match session.query_unpaged(select, ()).await {
        Err(ExecutionError::LastAttemptError(RequestAttemptError::DbError(
            DbError::Unavailable { required: 3, alive: 1, .. },
            _,
        ))) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}
