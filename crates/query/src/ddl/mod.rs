//! Data definition: CREATE, ALTER and DROP of keyspaces, tables and types.
//!
//! A statement is a pure function from a schema snapshot to the changes of the metadata log ([`plan`]); when the log moved on
//! meanwhile it is computed again from the newer snapshot. An outcome without changes is a no-op: IF [NOT] EXISTS.
//!
//! Source: Cassandra 5.0, `cql3.statements.schema`.

mod absent;
mod alter_table;
mod keyspace;
mod properties;
mod table;
mod user_type;

use helenus_cql::{QualifiedName, Statement};
use helenus_env::Env;
use helenus_protocol::{SchemaChange as SchemaEvent, SchemaChangeKind, SchemaChangeTarget};
use helenus_schema::{SchemaChange, SchemaSnapshot};

use crate::error::{QueryError, Result, ensure, invalid};

/// Longest keyspace name, in characters.
const KEYSPACE_NAME_CHARS_MAX: usize = 48;

/// What a DDL statement looks at.
#[derive(Clone, Copy)]
pub struct DdlContext<'a> {
    pub schema: &'a SchemaSnapshot,
    pub env: &'a Env,
    /// The only data centre so far.
    pub data_center: &'a str,
    pub node_count: u32,
}

#[derive(Debug, Default)]
pub struct DdlOutcome {
    pub changes: Vec<SchemaChange>,
    pub event: Option<SchemaEvent>,
    pub warnings: Vec<String>,
}

impl DdlOutcome {
    fn nothing() -> Self {
        Self::default()
    }

    fn one(change: SchemaChange, event: SchemaEvent) -> Self {
        Self { changes: vec![change], event: Some(event), warnings: Vec::new() }
    }
}

fn event(kind: SchemaChangeKind, keyspace: &str, target: SchemaChangeTarget) -> SchemaEvent {
    SchemaEvent { kind, keyspace: keyspace.to_owned(), target }
}

fn table_event(kind: SchemaChangeKind, keyspace: &str, name: &str) -> SchemaEvent {
    event(kind, keyspace, SchemaChangeTarget::Table { name: name.to_owned() })
}

fn type_event(kind: SchemaChangeKind, keyspace: &str, name: &str) -> SchemaEvent {
    event(kind, keyspace, SchemaChangeTarget::Type { name: name.to_owned() })
}

/// The keyspace that a name says, or the session's.
///
/// # Errors
/// Neither is there.
pub fn keyspace_of<'a>(name: &'a QualifiedName, session: Option<&'a str>) -> Result<&'a str> {
    name.keyspace.as_ref().map(helenus_cql::Identifier::as_str).or(session).ok_or_else(|| {
        invalid!("No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename")
    })
}

/// What a statement changes, and how resources are called when they are protected.
#[derive(Clone, Copy)]
enum Action<'a> {
    CreateKeyspace,
    AlterKeyspace,
    DropKeyspace,
    /// Of any table or type.
    InAllTables(&'static str),
    Table(&'static str, &'a str),
}

/// Computes a statement's changes.
///
/// # Errors
/// Everything that DDL may do wrong, in Cassandra's words; statements that are no DDL of ours.
pub fn plan(context: &DdlContext<'_>, statement: &Statement, session: Option<&str>) -> Result<DdlOutcome> {
    match statement {
        Statement::CreateKeyspace(create) => {
            check_keyspace(context, create.name.as_str(), Action::CreateKeyspace)?;
            keyspace::create(context, create)
        }
        Statement::AlterKeyspace(alter) => {
            check_keyspace(context, alter.name.as_str(), Action::AlterKeyspace)?;
            keyspace::alter(context, alter)
        }
        Statement::DropKeyspace(drop) => {
            check_keyspace(context, drop.name.as_str(), Action::DropKeyspace)?;
            keyspace::drop(context, drop)
        }
        Statement::CreateTable(create) => {
            let keyspace = keyspace_of(&create.table, session)?;
            table::check_declaration(create)?;
            check_keyspace(context, keyspace, Action::InAllTables("CREATE"))?;
            table::create(context, keyspace, create)
        }
        Statement::AlterTable(alter) => {
            let keyspace = keyspace_of(&alter.table, session)?;
            check_keyspace(context, keyspace, Action::Table("ALTER", alter.table.name.as_str()))?;
            alter_table::alter(context, keyspace, alter)
        }
        Statement::DropTable(drop) => {
            let keyspace = keyspace_of(&drop.table, session)?;
            check_keyspace(context, keyspace, Action::Table("DROP", drop.table.name.as_str()))?;
            table::drop(context, keyspace, drop)
        }
        Statement::CreateType(create) => {
            let keyspace = keyspace_of(&create.name, session)?;
            check_keyspace(context, keyspace, Action::InAllTables("CREATE"))?;
            user_type::create(context, keyspace, create)
        }
        Statement::AlterType(alter) => {
            let keyspace = keyspace_of(&alter.name, session)?;
            check_keyspace(context, keyspace, Action::InAllTables("ALTER"))?;
            user_type::alter(context, keyspace, alter)
        }
        Statement::DropType(drop) => {
            let keyspace = keyspace_of(&drop.name, session)?;
            check_keyspace(context, keyspace, Action::InAllTables("DROP"))?;
            user_type::drop(context, keyspace, drop)
        }
        other => absent::drop(other, session).unwrap_or_else(|| Err(QueryError::unsupported(other.kind().name()))),
    }
}

/// Keyspaces that only the node itself changes, and those whose replication only may be changed.
fn check_keyspace(context: &DdlContext<'_>, keyspace: &str, action: Action<'_>) -> Result<()> {
    let lower = keyspace.to_lowercase();
    let is_local = matches!(&*lower, "system" | "system_schema" | "system_views" | "system_virtual_schema");
    let is_replicated = matches!(&*lower, "system_auth" | "system_distributed" | "system_traces");
    let is_virtual = context.schema.keyspace(keyspace).is_some_and(|found| found.is_virtual());
    if let (true, Action::CreateKeyspace) = (is_local, action) {
        return Err(invalid!("System keyspace '{keyspace}' is not user-modifiable"));
    }
    if is_local || is_virtual {
        return Err(QueryError::Unauthorized(format!("{keyspace} keyspace is not user-modifiable.")));
    }
    if is_replicated {
        let refused = match action {
            Action::CreateKeyspace | Action::AlterKeyspace => None,
            Action::DropKeyspace => Some(format!("Cannot DROP <keyspace {keyspace}>")),
            Action::InAllTables(verb) => Some(format!("Cannot {verb} <all tables in {keyspace}>")),
            Action::Table(verb, table) => Some(format!("Cannot {verb} <table {keyspace}.{table}>")),
        };
        if let Some(text) = refused {
            return Err(QueryError::Unauthorized(text));
        }
    }
    ensure!(
        is_word(keyspace),
        "Keyspace name must not be empty and must contain alphanumeric or underscore characters only (got \"{keyspace}\")"
    );
    let chars = keyspace.chars().count();
    ensure!(
        chars <= KEYSPACE_NAME_CHARS_MAX,
        "Keyspace name must not be more than {KEYSPACE_NAME_CHARS_MAX} characters long (got {chars} characters for \
         \"{keyspace}\")"
    );
    Ok(())
}

/// ASCII letters, digits and underscores, at least one.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
