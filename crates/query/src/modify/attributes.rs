//! USING TIMESTAMP and TTL.
//!
//! Source: Cassandra 5.0, `cql3.Attributes`, `db.ExpirationDateOverflowHandling`.

use helenus_cql::Using;
use helenus_schema::Table;
use helenus_types::time::Ttl;
use helenus_types::{CqlType, value};

use crate::error::{Result, ensure, hex, invalid};
use crate::terms::{Bind, Markers, Receiver, Scope, Term, Value, prepare};

/// The last second that SSTables of version `nb` can say that something expires at: 2038-01-19T03:14:06.
pub const EXPIRY_SECS_MAX: i64 = 0x7FFF_FFFE;

#[derive(Clone, Debug, Default)]
pub struct Attributes {
    pub timestamp: Option<Term>,
    pub ttl: Option<Term>,
}

impl Attributes {
    /// # Errors
    /// Terms of another type.
    pub fn prepare(
        scope: &Scope<'_>,
        keyspace: &str,
        table: &str,
        using: &Using,
        markers: &mut Markers,
    ) -> Result<Self> {
        let mut term = |raw: &Option<helenus_cql::Term>, name: &str, ty: CqlType| {
            let receiver = Receiver::new(keyspace, table, name, ty);
            raw.as_ref().map(|raw| prepare(scope, raw, &receiver, markers)).transpose()
        };
        let timestamp = term(&using.timestamp, "[timestamp]", CqlType::Bigint)?;
        Ok(Self { timestamp, ttl: term(&using.ttl, "[ttl]", CqlType::Int)? })
    }

    /// Microseconds; `default` when the statement sets none.
    ///
    /// # Errors
    /// Null.
    pub fn bind_timestamp(&self, default: i64, bind: &Bind<'_>) -> Result<i64> {
        let Some(term) = &self.timestamp else { return Ok(default) };
        match term.bind(bind)? {
            Value::Unset => Ok(default),
            Value::Null => Err(invalid!("Invalid null value of timestamp")),
            Value::Bytes(bytes) => {
                value::decode_bigint(&bytes).ok_or_else(|| invalid!("Invalid timestamp value: {}", hex(&bytes)))
            }
        }
    }

    /// # Errors
    /// Out of range, or an expiry that files cannot hold.
    pub fn bind_ttl(&self, table: &Table, now_secs: i64, bind: &Bind<'_>) -> Result<Option<Ttl>> {
        let default = table.params.default_time_to_live;
        let Some(term) = &self.ttl else { return check_ttl(table, i64::from(default), now_secs, "default ") };
        match term.bind(bind)? {
            Value::Null => Ok(None),
            Value::Unset => Ok(Ttl::from_secs(i64::from(default)).ok()),
            Value::Bytes(bytes) if bytes.is_empty() => Ok(None),
            Value::Bytes(bytes) => {
                let secs = value::decode_int(&bytes).ok_or_else(|| invalid!("Invalid TTL value: {}", hex(&bytes)))?;
                ensure!(0 <= secs, "A TTL must be greater or equal to 0, but was {secs}");
                ensure!(
                    i64::from(secs) <= i64::from(Ttl::MAX_SECS),
                    "ttl is too large. requested ({secs}) maximum ({})",
                    Ttl::MAX_SECS
                );
                check_ttl(table, i64::from(secs), now_secs, "")
            }
        }
    }
}

fn check_ttl(table: &Table, secs: i64, now_secs: i64, kind: &str) -> Result<Option<Ttl>> {
    let Ok(ttl) = Ttl::from_secs(secs) else { return Ok(None) };
    ensure!(
        now_secs + secs <= EXPIRY_SECS_MAX,
        "Request on table {}.{} with {kind}ttl of {secs} seconds exceeds maximum supported expiration date of \
         2038-01-19T03:14:06+00:00. In order to avoid this use a lower TTL, change the expiration date overflow policy or \
         upgrade to a version where this limitation is fixed. See CASSANDRA-14092 and CASSANDRA-14227 for more details.",
        table.keyspace,
        table.name
    );
    Ok(Some(ttl))
}
