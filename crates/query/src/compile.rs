//! Compilation: a statement's text becomes a plan against one schema snapshot.

use std::sync::Arc;
use std::time::Duration;

use helenus_cql::{BatchKind as RawBatchKind, Modification, ParsedStatement, QualifiedName, Statement};
use helenus_env::Env;
use helenus_protocol::ResultMetadata;
use helenus_schema::{SchemaSnapshot, Table};
use helenus_storage::RequestContext;
use helenus_types::value;

use crate::config::TimeLimits;
use crate::ddl::keyspace_of;
use crate::error::{QueryError, Result, invalid};
use crate::modify::{BatchKind, BatchPlan, ModifyPlan, PlanTarget};
use crate::select::{SelectPlan, empty_metadata_id};
use crate::terms::{Markers, Scope};

/// A statement ready to be executed many times.
pub(crate) struct Compiled {
    pub plan: Plan,
    /// Names and types of the bind markers.
    pub variables: Arc<ResultMetadata>,
    /// For each partition key column the marker that gives it; empty unless all are markers.
    pub partition_key_indexes: Vec<u16>,
    pub is_fully_qualified: bool,
    /// Of the table, for statements about one.
    pub keyspace: Option<Box<str>>,
    pub tables: Vec<Arc<Table>>,
    /// Of the snapshot that it was compiled for.
    pub epoch: u64,
    /// `USING TIMEOUT` of a SELECT.
    timeout: Option<Duration>,
}

pub(crate) enum Plan {
    Select(Box<SelectPlan>),
    Modify(Box<ModifyPlan>),
    Batch(Box<BatchPlan>),
    /// Computed anew at each execution.
    Other(Box<Statement>),
}

/// A longer statement takes more than a millisecond to parse, and is parsed beside the shard.
const SHARD_TEXT_BYTES_MAX: usize = 32 << 10;

impl Compiled {
    /// As [`Self::new`], without holding up the shard however long the statement is.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub async fn of_text(schema: &Arc<SchemaSnapshot>, env: &Env, text: &str, keyspace: Option<&str>) -> Result<Self> {
        if text.len() <= SHARD_TEXT_BYTES_MAX {
            return Self::new(schema, env, text, keyspace);
        }
        let (schema, own_env, text) = (Arc::clone(schema), env.clone(), text.to_owned());
        let keyspace = keyspace.map(str::to_owned);
        env.run_blocking(move || Self::new(&schema, &own_env, &text, keyspace.as_deref())).await
    }

    /// Parses and checks `text`, for a session that uses `keyspace`.
    ///
    /// # Errors
    /// Everything that may be wrong with a statement, in Cassandra's words.
    pub fn new(schema: &SchemaSnapshot, env: &Env, text: &str, keyspace: Option<&str>) -> Result<Self> {
        let ParsedStatement { statement, markers } = helenus_cql::parse_statement(text)?;
        let mut markers = Markers::new(&markers, env);
        let compiler = Compiler { schema, session: keyspace };
        let is_fully_qualified = is_fully_qualified(&statement);
        let mut keyspace = None;
        let mut tables = Vec::new();
        let mut timeout = None;
        let plan = match statement {
            Statement::Select(select) => {
                timeout = select.timeout.as_ref().map(|literal| parse_timeout(&literal.text)).transpose()?;
                let target = compiler.target(&select.table)?;
                let PlanTarget { scope, table, is_virtual } = target;
                tables.push(Arc::clone(table));
                keyspace = Some(scope.keyspace.into());
                let plan = SelectPlan::prepare(&scope, table, is_virtual, &select, text, &mut markers)?;
                Plan::Select(Box::new(plan))
            }
            Statement::Batch(batch) => {
                for modification in &batch.statements {
                    keyspace_of(modification.table(), compiler.session)?;
                }
                let mut plans = Vec::with_capacity(batch.statements.len());
                for modification in &batch.statements {
                    let plan = compiler.modification(modification, &mut markers)?;
                    if !tables.iter().any(|table: &Arc<Table>| table.id == plan.table.id) {
                        tables.push(Arc::clone(&plan.table));
                    }
                    plans.push(plan);
                }
                let scope = Scope { schema, keyspace: compiler.session.unwrap_or_default(), table: None };
                let kind = match batch.kind {
                    RawBatchKind::Logged => BatchKind::Logged,
                    RawBatchKind::Unlogged => BatchKind::Unlogged,
                    RawBatchKind::Counter => BatchKind::Counter,
                };
                Plan::Batch(Box::new(BatchPlan::prepare(&scope, kind, &batch.using, plans, &mut markers)?))
            }
            Statement::Truncate(name) => {
                let table = compiler.target(&name)?.table;
                keyspace = Some(table.keyspace.clone());
                Plan::Other(Box::new(Statement::Truncate(name)))
            }
            statement => match compiler.modification_of(&statement, &mut markers)? {
                Some(plan) => {
                    plan.validate()?;
                    tables.push(Arc::clone(&plan.table));
                    keyspace = Some(plan.table.keyspace.clone());
                    Plan::Modify(Box::new(plan))
                }
                None => Plan::Other(Box::new(statement)),
            },
        };
        let variables = ResultMetadata::new(markers.specs());
        // They go with the table's name, which is only said once when all markers have it.
        let partition_key_indexes = match &*tables {
            [table] if is_of(&variables, table) => {
                markers.partition_key_indexes(table.partition_key().len()).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        Ok(Self {
            plan,
            variables: Arc::new(variables),
            partition_key_indexes,
            is_fully_qualified,
            keyspace,
            tables,
            epoch: schema.epoch,
            timeout,
        })
    }

    /// The context under which it runs: what the statement does, and its own timeout, may bring the deadline nearer, never
    /// push it away.
    #[must_use]
    pub fn with_timeout(&self, env: &Env, limits: &TimeLimits, mut context: RequestContext) -> RequestContext {
        let limit = match &self.plan {
            Plan::Select(plan) if plan.is_range() => limits.range,
            Plan::Select(_) => limits.read,
            Plan::Modify(plan) if plan.table.is_counter() => limits.counter,
            Plan::Batch(plan) if plan.kind == BatchKind::Counter => limits.counter,
            Plan::Modify(_) | Plan::Batch(_) => limits.write,
            Plan::Other(_) => return context,
        };
        let limit = self.timeout.map_or(limit, |timeout| timeout.min(limit));
        context.deadline = context.deadline.min(env.monotonic() + limit);
        context
    }

    #[must_use]
    pub fn marker_count(&self) -> usize {
        self.variables.columns().len()
    }

    /// What PREPARE says of the result: nothing for all but SELECT, conditional statements included.
    #[must_use]
    pub fn result_metadata(&self) -> Arc<ResultMetadata> {
        match &self.plan {
            Plan::Select(plan) => Arc::clone(&plan.selection.metadata),
            Plan::Modify(_) | Plan::Batch(_) | Plan::Other(_) => Arc::default(),
        }
    }

    #[must_use]
    pub fn result_metadata_id(&self) -> [u8; 16] {
        match &self.plan {
            Plan::Select(plan) => plan.selection.metadata_id,
            Plan::Modify(_) | Plan::Batch(_) | Plan::Other(_) => empty_metadata_id(),
        }
    }
}

fn is_of(variables: &ResultMetadata, table: &Table) -> bool {
    variables.columns().iter().all(|column| *column.table == *table.name && *column.keyspace == *table.keyspace)
}

/// Whether all tables are named with their keyspaces. Statements that are not about a table's content never are.
fn is_fully_qualified(statement: &Statement) -> bool {
    let is_qualified = |table: &QualifiedName| table.keyspace.is_some();
    match statement {
        Statement::Select(select) => is_qualified(&select.table),
        Statement::Insert(insert) => is_qualified(&insert.table),
        Statement::InsertJson(insert) => is_qualified(&insert.table),
        Statement::Update(update) => is_qualified(&update.table),
        Statement::Delete(delete) => is_qualified(&delete.table),
        Statement::Truncate(table) => is_qualified(table),
        Statement::Batch(batch) => batch.statements.iter().all(|statement| is_qualified(statement.table())),
        _ => false,
    }
}

#[derive(Clone, Copy)]
struct Compiler<'a> {
    schema: &'a SchemaSnapshot,
    session: Option<&'a str>,
}

impl<'a> Compiler<'a> {
    fn target(&self, name: &'a QualifiedName) -> Result<PlanTarget<'a>> {
        find_table(self.schema, name, self.session)
    }

    fn modification_of(&self, statement: &Statement, markers: &mut Markers) -> Result<Option<ModifyPlan>> {
        let plan = match statement {
            Statement::Insert(insert) => {
                ModifyPlan::insert(find_table(self.schema, &insert.table, self.session)?, insert, markers)?
            }
            Statement::InsertJson(insert) => {
                ModifyPlan::insert_json(find_table(self.schema, &insert.table, self.session)?, insert, markers)?
            }
            Statement::Update(update) => {
                ModifyPlan::update(find_table(self.schema, &update.table, self.session)?, update, markers)?
            }
            Statement::Delete(delete) => {
                ModifyPlan::delete(find_table(self.schema, &delete.table, self.session)?, delete, markers)?
            }
            _ => return Ok(None),
        };
        Ok(Some(plan))
    }

    fn modification(&self, modification: &Modification, markers: &mut Markers) -> Result<ModifyPlan> {
        let target = find_table(self.schema, modification.table(), self.session)?;
        match modification {
            Modification::Insert(insert) => ModifyPlan::insert(target, insert, markers),
            Modification::InsertJson(insert) => ModifyPlan::insert_json(target, insert, markers),
            Modification::Update(update) => ModifyPlan::update(target, update, markers),
            Modification::Delete(delete) => ModifyPlan::delete(target, delete, markers),
        }
    }
}

/// The table that `name` means in a session that uses `session`.
///
/// # Errors
/// There is none, or no keyspace to look in.
pub(crate) fn find_table<'a>(
    schema: &'a SchemaSnapshot,
    name: &'a QualifiedName,
    session: Option<&'a str>,
) -> Result<PlanTarget<'a>> {
    let keyspace = keyspace_of(name, session)?;
    let table = name.name.as_str();
    let found = schema.keyspace(keyspace).ok_or_else(|| invalid!("keyspace {keyspace} does not exist"))?;
    let is_virtual = found.is_virtual();
    if table.is_empty() {
        return Err(QueryError::Invalid("non-empty table is required".to_owned()));
    }
    let table = found.tables.get(table).ok_or_else(|| invalid!("table {table} does not exist"))?;
    Ok(PlanTarget { scope: Scope { schema, keyspace, table: Some(table) }, table, is_virtual })
}

/// ScyllaDB's rule: hours and smaller units, whole milliseconds, not negative.
fn parse_timeout(text: &str) -> Result<Duration> {
    let parsed = value::Duration::parse(text).map_err(|error| invalid!("{error}"))?;
    let millis = parsed.nanos / 1_000_000;
    if parsed.months != 0 || parsed.days != 0 || parsed.nanos % 1_000_000 != 0 || millis < 0 {
        return Err(invalid!(
            "USING TIMEOUT wants a duration of whole milliseconds without days or months, found {text}"
        ));
    }
    Ok(Duration::from_millis(millis.unsigned_abs()))
}
