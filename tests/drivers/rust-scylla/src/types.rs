//! Values of every CQL type, bound and read back.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use bigdecimal::BigDecimal;
use num_bigint::BigInt;
use scylla::client::session::Session;
use scylla::value::{Counter, CqlDate, CqlDuration, CqlTime, CqlTimestamp, CqlTimeuuid, MaybeUnset};
use scylla::{DeserializeValue, SerializeValue};
use uuid::Uuid;

use crate::Outcome;

/// Writes a value into a table of its own and reads it back.
macro_rules! check_scalar {
    ($session:expr, $name:literal, $type:ty, $value:expr) => {{
        let value: $type = $value;
        $session
            .query_unpaged(concat!("CREATE TABLE scalar_", $name, " (k int PRIMARY KEY, v ", $name, ")"), ())
            .await?;
        $session.query_unpaged(concat!("INSERT INTO scalar_", $name, " (k, v) VALUES (1, ?)"), (&value,)).await?;
        let rows = $session
            .query_unpaged(concat!("SELECT v FROM scalar_", $name, " WHERE k = 1"), ())
            .await?
            .into_rows_result()?;
        let (read,) = rows.single_row::<($type,)>()?;
        expect_equal($name, &value, &read);
    }};
}

fn expect_equal<T: PartialEq + Debug>(name: &str, value: &T, read: &T) {
    assert_eq!(value, read, "{name}");
}

pub async fn scalars_of_every_type_come_back_equal(session: Arc<Session>) -> Outcome {
    check_scalar!(session, "ascii", String, "plain".into());
    check_scalar!(session, "bigint", i64, i64::MIN);
    check_scalar!(session, "blob", Vec<u8>, vec![0, 255, 16]);
    check_scalar!(session, "boolean", bool, true);
    check_scalar!(session, "date", CqlDate, CqlDate((1 << 31) + 19_782));
    check_scalar!(session, "decimal", BigDecimal, BigDecimal::from_str("12345678901234567890.0001230")?);
    check_scalar!(session, "double", f64, -1.5e300);
    check_scalar!(session, "duration", CqlDuration, CqlDuration { months: 14, days: 3, nanoseconds: 123_456_789 });
    check_scalar!(session, "float", f32, 0.25);
    check_scalar!(session, "inet", IpAddr, "2001:db8::1".parse()?);
    check_scalar!(session, "int", i32, i32::MAX);
    check_scalar!(session, "smallint", i16, i16::MIN);
    check_scalar!(session, "text", String, "grüße 🌍".into());
    check_scalar!(session, "time", CqlTime, CqlTime(86_399_999_999_999));
    check_scalar!(session, "timestamp", CqlTimestamp, CqlTimestamp(1_296_705_906_789));
    check_scalar!(session, "timeuuid", CqlTimeuuid, CqlTimeuuid::from_str("d2177dd0-eaa2-11de-a572-001b779c76e3")?);
    check_scalar!(session, "tinyint", i8, i8::MIN);
    check_scalar!(session, "uuid", Uuid, Uuid::new_v4());
    check_scalar!(session, "varint", BigInt, BigInt::from_str("-123456789012345678901234567890")?);
    Ok(())
}

pub async fn collections_tuples_and_vectors_come_back_equal(session: Arc<Session>) -> Outcome {
    type Row =
        (Vec<i32>, HashSet<String>, HashMap<String, i32>, (i32, Option<String>), HashMap<String, Vec<i32>>, Vec<f32>);
    session
        .query_unpaged(
            "CREATE TABLE collections (k int PRIMARY KEY, l list<int>, s set<text>, m map<text, int>, t tuple<int, text>, \
             n map<text, frozen<list<int>>>, v vector<float, 3>)",
            (),
        )
        .await?;
    let row: Row = (
        vec![3, 1, 2],
        HashSet::from(["a".into(), "b".into()]),
        HashMap::from([("x".into(), 1)]),
        (7, None),
        HashMap::from([("a".into(), vec![1, 2]), ("b".into(), vec![])]),
        vec![0.5, -1.0, 2.0],
    );
    session.query_unpaged("INSERT INTO collections (k, l, s, m, t, n, v) VALUES (1, ?, ?, ?, ?, ?, ?)", &row).await?;
    let rows =
        session.query_unpaged("SELECT l, s, m, t, n, v FROM collections WHERE k = 1", ()).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<Row>()?, row);
    Ok(())
}

#[derive(SerializeValue, DeserializeValue, Debug, PartialEq, Clone)]
struct Address {
    street: String,
    number: i32,
    tags: Vec<String>,
}

pub async fn user_types_map_to_structs(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TYPE address (street text, number int, tags frozen<list<text>>)", ()).await?;
    session.query_unpaged("CREATE TABLE people (k int PRIMARY KEY, home frozen<address>, loose address)", ()).await?;
    let home = Address { street: "Long Street".into(), number: 7, tags: vec!["a".into()] };
    session.query_unpaged("INSERT INTO people (k, home, loose) VALUES (1, ?, ?)", (&home, &home)).await?;
    session.query_unpaged("UPDATE people SET loose.number = 8 WHERE k = 1", ()).await?;
    let rows = session.query_unpaged("SELECT home, loose FROM people WHERE k = 1", ()).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(Address, Address)>()?, (home.clone(), Address { number: 8, ..home }));
    Ok(())
}

pub async fn counters_add_up(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE counters (k int PRIMARY KEY, n counter)", ()).await?;
    for amount in [5, 10, -3] {
        session.query_unpaged("UPDATE counters SET n = n + ? WHERE k = 1", (Counter(amount),)).await?;
    }
    let rows = session.query_unpaged("SELECT n FROM counters WHERE k = 1", ()).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(Counter,)>()?.0, Counter(12));
    Ok(())
}

pub async fn unset_values_leave_columns_alone(session: Arc<Session>) -> Outcome {
    session.query_unpaged("CREATE TABLE unset (k int PRIMARY KEY, v text, w int)", ()).await?;
    let insert = session.prepare("INSERT INTO unset (k, v, w) VALUES (1, ?, ?)").await?;
    session.execute_unpaged(&insert, ("kept", 1)).await?;
    session.execute_unpaged(&insert, (MaybeUnset::<&str>::Unset, None::<i32>)).await?;
    let rows = session.query_unpaged("SELECT v, w FROM unset WHERE k = 1", ()).await?.into_rows_result()?;
    assert_eq!(rows.single_row::<(String, Option<i32>)>()?, ("kept".into(), None));
    Ok(())
}
