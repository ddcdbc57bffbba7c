//! Absent: dropping what cannot be there yet, because nothing makes it: indexes, views, functions, aggregates, triggers.
//!
//! `IF EXISTS` then does nothing, as scripts that tidy up expect.

use helenus_cql::{DropFunction, QualifiedName, Statement};

use super::{DdlOutcome, keyspace_of};
use crate::error::{Result, ensure, invalid};

/// The outcome of a statement that drops such a thing; `None` for every other statement.
///
/// # Errors
/// That it does not exist, in Cassandra's words.
pub fn drop(statement: &Statement, session: Option<&str>) -> Option<Result<DdlOutcome>> {
    let refused = match statement {
        Statement::DropIndex(drop) => {
            // The odd quotation mark is Cassandra's.
            refuse(&drop.name, session, drop.if_exists, |keyspace, name| {
                format!("Index '{keyspace}.{name}' doesn't exist'")
            })
        }
        Statement::DropView(drop) => refuse(&drop.view, session, drop.if_exists, |keyspace, name| {
            format!("Materialized view '{keyspace}.{name}' doesn't exist")
        }),
        Statement::DropFunction(drop) => refuse_function("Function", drop, session),
        Statement::DropAggregate(drop) => refuse_function("Aggregate", drop, session),
        Statement::DropTrigger(drop) => refuse(&drop.table, session, drop.if_exists, |keyspace, table| {
            format!("Trigger '{}' on '{keyspace}.{table}' doesn't exist", drop.name.as_str())
        }),
        _ => return None,
    };
    Some(refused)
}

fn refuse_function(kind: &str, drop: &DropFunction, session: Option<&str>) -> Result<DdlOutcome> {
    let types = drop.argument_types.as_ref().map_or_else(String::new, |types| {
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        format!("({})", types.join(", "))
    });
    let keyspace = keyspace_of(&drop.name, session)?;
    ensure!(!matches!(keyspace, "system" | "system_schema"), "System keyspace '{keyspace}' is not user-modifiable");
    refuse(&drop.name, session, drop.if_exists, |keyspace, name| {
        format!("{kind} '{keyspace}.{name}{types}' doesn't exist")
    })
}

fn refuse(
    name: &QualifiedName,
    session: Option<&str>,
    if_exists: bool,
    words: impl FnOnce(&str, &str) -> String,
) -> Result<DdlOutcome> {
    let keyspace = keyspace_of(name, session)?;
    if if_exists {
        return Ok(DdlOutcome::nothing());
    }
    Err(invalid!("{}", words(keyspace, name.name.as_str())))
}
