//! Traits: what a statement is, as far as metrics, time limits and the form of errors ask. Found once when it is prepared.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use helenus_cql::{Conditions, Modification, Ordering, OrderingKey, QualifiedName, Select, Statement, parse_statement};
use helenus_protocol::WriteType;
use helenus_schema::{ColumnKind, SchemaSnapshot, Table};

use crate::metrics::StatementKind;

/// A statement this long takes about a millisecond to parse.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementTraits {
    pub kind: StatementKind,
    /// Of a write.
    pub write_type: WriteType,
    /// A read against the table's clustering order.
    pub is_reversed: bool,
    pub allows_filtering: bool,
}

impl StatementTraits {
    /// What is known of a statement that was never seen, which the request itself will find out.
    pub const UNKNOWN: Self = Self::plain(StatementKind::Other);

    const fn plain(kind: StatementKind) -> Self {
        Self { kind, write_type: WriteType::Simple, is_reversed: false, allows_filtering: false }
    }

    /// Cheap: the first word, and the whole statement only where it says ORDER BY or ALLOW FILTERING and is not long.
    #[must_use]
    pub fn at_a_glance(text: &str, keyspace: Option<&str>, schema: &SchemaSnapshot) -> Self {
        let plain = Self::plain(StatementKind::of_text(text));
        if plain.kind != StatementKind::Read || TEXT_BYTES_MAX < text.len() {
            return plain;
        }
        let lower = text.to_ascii_lowercase();
        let is_plain = !lower.contains("order by") && !lower.contains("filtering");
        if is_plain { plain } else { Self::of(text, keyspace, schema) }
    }

    /// Everything, by parsing. Of a long statement no more than its first word tells: parsing it once more would hold up
    /// the shard.
    #[must_use]
    pub fn of(text: &str, keyspace: Option<&str>, schema: &SchemaSnapshot) -> Self {
        let plain = Self::plain(StatementKind::of_text(text));
        if TEXT_BYTES_MAX < text.len() {
            return plain;
        }
        let Ok(parsed) = parse_statement(text) else { return plain };
        let table_of = |name: &QualifiedName| {
            let keyspace = name.keyspace.as_ref().map(helenus_cql::Identifier::as_str).or(keyspace)?;
            schema.table(keyspace, name.name.as_str())
        };
        let write = |is_conditional: bool, table: &QualifiedName| {
            let is_counter = table_of(table).is_some_and(|table| table.is_counter());
            let write_type = match (is_conditional, is_counter) {
                (true, _) => WriteType::Cas,
                (false, true) => WriteType::Counter,
                (false, false) => WriteType::Simple,
            };
            Self { write_type, ..Self::plain(StatementKind::Write) }
        };
        match &parsed.statement {
            Statement::Select(select) => Self {
                is_reversed: table_of(&select.table).is_some_and(|table| is_reversed(select, table)),
                allows_filtering: select.allow_filtering,
                ..Self::plain(StatementKind::Read)
            },
            Statement::Insert(insert) => write(insert.if_not_exists, &insert.table),
            Statement::InsertJson(insert) => write(insert.if_not_exists, &insert.table),
            Statement::Update(update) => write(is_conditional(&update.conditions), &update.table),
            Statement::Delete(delete) => write(is_conditional(&delete.conditions), &delete.table),
            Statement::Batch(batch) => {
                let is_cas = batch.statements.iter().any(|statement| match statement {
                    Modification::Insert(insert) => insert.if_not_exists,
                    Modification::InsertJson(insert) => insert.if_not_exists,
                    Modification::Update(update) => is_conditional(&update.conditions),
                    Modification::Delete(delete) => is_conditional(&delete.conditions),
                });
                let write_type = match (is_cas, batch.kind) {
                    (true, _) => WriteType::Cas,
                    (false, helenus_cql::BatchKind::Logged) => WriteType::Batch,
                    (false, helenus_cql::BatchKind::Unlogged) => WriteType::UnloggedBatch,
                    (false, helenus_cql::BatchKind::Counter) => WriteType::Counter,
                };
                Self { write_type, ..Self::plain(StatementKind::Batch) }
            }
            _ => plain,
        }
    }
}

fn is_conditional(conditions: &Conditions) -> bool {
    !matches!(conditions, Conditions::None)
}

/// Whether the first ordered column goes against its clustering order; the others follow, or the statement is refused.
fn is_reversed(select: &Select, table: &Table) -> bool {
    select.order_by.iter().any(|ordering: &Ordering| match &ordering.key {
        OrderingKey::Column(name) => {
            let column = table.clustering().iter().find(|column| *column.name == *name.as_str());
            column.is_some_and(|column| {
                let is_descending = matches!(column.kind, ColumnKind::Clustering { descending: true, .. });
                is_descending != ordering.descending
            })
        }
        OrderingKey::NearestNeighbours { .. } => false,
    })
}

/// Traits of prepared statements by id, for the whole node: a statement is executed on other shards than it was prepared on.
#[derive(Debug, Default)]
pub struct PreparedTraits {
    by_id: Mutex<BTreeMap<Vec<u8>, StatementTraits>>,
}

/// Some 100 bytes each: 5 MB. Beyond it all are forgotten, and count as unknown until they are prepared again.
const PREPARED_MAX: usize = 50_000;

impl PreparedTraits {
    pub fn put(&self, id: &[u8], traits: StatementTraits) {
        let mut by_id = self.lock();
        if PREPARED_MAX <= by_id.len() {
            by_id.clear();
        }
        by_id.insert(id.to_vec(), traits);
    }

    #[must_use]
    pub fn get(&self, id: &[u8]) -> StatementTraits {
        self.lock().get(id).copied().unwrap_or(StatementTraits::UNKNOWN)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, StatementTraits>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn check(text: &str) -> StatementTraits {
        let system = helenus_schema::system::keyspaces();
        StatementTraits::of(text, Some("system_traces"), &SchemaSnapshot::new(1, Uuid::nil(), system))
    }

    #[test]
    fn reads_are_known_by_order_and_filtering() {
        assert!(!check("SELECT * FROM events ORDER BY event_id").is_reversed);
        assert!(check("SELECT * FROM events WHERE session_id = ? ORDER BY event_id DESC").is_reversed);
        assert!(check("select * from events where thread = 'x' allow filtering").allows_filtering);
        assert_eq!(check("SELECT * FROM events").kind, StatementKind::Read);
    }

    #[test]
    fn writes_are_known_by_what_their_errors_are_called() {
        assert_eq!(check("INSERT INTO events (session_id) VALUES (?)").write_type, WriteType::Simple);
        assert_eq!(check("INSERT INTO events (session_id) VALUES (?) IF NOT EXISTS").write_type, WriteType::Cas);
        assert_eq!(check("DELETE FROM events WHERE session_id = ? IF EXISTS").write_type, WriteType::Cas);
        let batch = check("BEGIN UNLOGGED BATCH DELETE FROM events WHERE session_id = ?; APPLY BATCH");
        assert_eq!((batch.kind, batch.write_type), (StatementKind::Batch, WriteType::UnloggedBatch));
    }
}
