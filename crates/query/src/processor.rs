//! Query processor: a shard's entry for statements: QUERY, PREPARE, EXECUTE, BATCH.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use helenus_cluster::Cluster;
use helenus_data::PartitionKey;
use helenus_protocol::{
    Batch, BatchKind as MessageBatchKind, BatchStatement, BoundValues, Prepared, QueryParameters, Rows,
    Value as BoundValue,
};
use helenus_storage::RequestContext;
use helenus_types::composite;
use smallvec::SmallVec;

use crate::compile::{Compiled, Plan};
use crate::config::QueryConfig;
use crate::error::{QueryError, Result, ensure, invalid};
use crate::execution::Execution;
use crate::modify::{BatchKind, BatchStatementRef, ModifyPlan, execute_batch};
use crate::outcome::{PreparedOutcome, QueryOutcome, QueryResult, Session};
use crate::registry::{PreparedEntry, PreparedId, PreparedRegistry, prepared_id};
use crate::select::{empty_metadata_id, plain_metadata_id};
use crate::terms::{Bind, Value};

/// Plans that a shard keeps; beyond it all go and are compiled again when asked for.
const PLANS_MAX: usize = 20_000;

type Values<'v> = SmallVec<[Value<'v>; 8]>;

/// One a shard.
pub struct QueryProcessor {
    pub(crate) cluster: Rc<Cluster>,
    pub(crate) config: QueryConfig,
    pub(crate) registry: Arc<PreparedRegistry>,
    plans: RefCell<HashMap<PreparedId, Rc<PreparedPlan>, rapidhash::fast::RandomState>>,
}

struct PreparedPlan {
    entry: Arc<PreparedEntry>,
    compiled: Compiled,
}

impl QueryProcessor {
    #[must_use]
    pub fn new(cluster: Rc<Cluster>, config: QueryConfig, registry: Arc<PreparedRegistry>) -> Rc<Self> {
        Rc::new(Self { cluster, config, registry, plans: RefCell::default() })
    }

    /// Serves a QUERY.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub async fn query(
        &self,
        session: &mut Session,
        text: &str,
        parameters: &QueryParameters,
        context: RequestContext,
    ) -> Result<QueryOutcome> {
        check_page_size(parameters)?;
        let keyspace = self.request_keyspace(session, &context, parameters)?;
        let env = self.cluster.env();
        context.trace.record(env, || format!("Parsing {text}"));
        let compiled = Compiled::new(&context.schema, env, text, keyspace)?;
        context.trace.record(env, || "Preparing statement".to_owned());
        let context = compiled.with_timeout(env, context);
        let values = ordered_values(&compiled, &parameters.values);
        ensure!(values.len() == compiled.marker_count(), "Invalid amount of bind variables");
        let execution = Execution::new(self, session, keyspace, &context, parameters)?;
        let mut outcome = execution.run(&compiled, &values).await?;
        if let QueryResult::SetKeyspace(keyspace) = &outcome.result {
            session.keyspace = Some(keyspace.as_str().into());
        }
        if parameters.skip_metadata
            && let QueryResult::Rows(rows) = outcome.result
        {
            outcome.result = QueryResult::Rows(rows.without_metadata());
        }
        Ok(outcome)
    }

    /// Serves a PREPARE.
    ///
    /// # Errors
    /// See [`QueryError`].
    #[expect(clippy::unused_async, reason = "statements will be stored once they survive a restart")]
    pub async fn prepare(&self, session: &Session, text: &str, keyspace: Option<&str>) -> Result<PreparedOutcome> {
        let schema = self.cluster.schema();
        let own;
        let session = match keyspace {
            None => session,
            Some(keyspace) => {
                check_keyspace(&schema, keyspace)?;
                own = session.with_keyspace(keyspace);
                &own
            }
        };
        let keyspace = session.keyspace.as_deref();
        let compiled = Compiled::new(&schema, self.cluster.env(), text, keyspace)?;
        let budget = self.config.prepared_cache_bytes;
        if budget < text.len() {
            let start: String = text.chars().take(200).collect();
            return Err(invalid!(
                "Prepared statement of size {} bytes is larger than allowed maximum of {} MB: {start}...",
                text.len(),
                budget >> 20
            ));
        }
        let entry = Arc::new(PreparedEntry {
            text: text.into(),
            session_keyspace: keyspace.map(Box::from),
            statement_keyspace: compiled.keyspace.clone(),
            is_fully_qualified: compiled.is_fully_qualified,
            is_batch: matches!(compiled.plan, Plan::Batch(_)),
            tables: compiled.tables.clone(),
            result_metadata_id: compiled.result_metadata_id(),
            used: AtomicU64::new(self.cluster.env().monotonic().as_nanos()),
        });
        // Under both ids: clients that knew the other one from elsewhere need not prepare again.
        let unqualified = prepared_id(text, None);
        let qualified = prepared_id(text, keyspace);
        let is_known = self.registry.contains(&unqualified, &schema) && self.registry.contains(&qualified, &schema);
        self.registry.put(unqualified, &entry, &schema, budget);
        self.registry.put(qualified, &entry, &schema, budget);
        let mut warnings = Vec::new();
        let id = if compiled.is_fully_qualified { unqualified } else { qualified };
        let is_told = compiled.is_fully_qualified || (is_known && keyspace.is_some());
        if !is_told {
            session.warn_of_use(&id, keyspace, &mut warnings);
        }
        let prepared = Prepared {
            id: Bytes::copy_from_slice(&id),
            result_metadata_id: Some(Bytes::copy_from_slice(&compiled.result_metadata_id())),
            variables: Arc::clone(&compiled.variables),
            partition_key_indexes: compiled.partition_key_indexes.clone(),
            result: compiled.result_metadata(),
        };
        self.keep(id, Rc::new(PreparedPlan { entry, compiled }));
        Ok(PreparedOutcome { prepared, warnings })
    }

    /// Serves an EXECUTE.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub async fn execute(
        &self,
        session: &mut Session,
        id: &[u8],
        result_metadata_id: Option<&[u8]>,
        parameters: &QueryParameters,
        context: RequestContext,
    ) -> Result<QueryOutcome> {
        let prepared = self.plan(id, &context)?;
        let PreparedPlan { entry, compiled } = &*prepared;
        context.trace.record(self.cluster.env(), || "Executing prepared statement".to_owned());
        let context = compiled.with_timeout(self.cluster.env(), context);
        let mut warnings = Vec::new();
        if !entry.is_fully_qualified
            && !entry.is_batch
            && session.keyspace.as_deref() != entry.statement_keyspace.as_deref()
        {
            session.warn_of_use(id, entry.statement_keyspace.as_deref(), &mut warnings);
        }
        check_page_size(parameters)?;
        let values = ordered_values(compiled, &parameters.values);
        ensure!(
            values.len() == compiled.marker_count(),
            "there were {} markers(?) in CQL but {} bound variables",
            compiled.marker_count(),
            values.len()
        );
        let keyspace = entry.session_keyspace.as_deref();
        let execution = Execution::new(self, session, keyspace, &context, parameters)?;
        let mut outcome = execution.run(compiled, &values).await?;
        if !warnings.is_empty() {
            warnings.append(&mut outcome.warnings);
            outcome.warnings = warnings;
        }
        match outcome.result {
            QueryResult::Rows(rows) => {
                let rows = match &compiled.plan {
                    Plan::Select(plan) => {
                        let current = &plan.selection.metadata_id;
                        with_known_metadata(rows, current, entry, result_metadata_id, parameters)
                    }
                    Plan::Other(_) => {
                        let current = rows
                            .metadata
                            .as_ref()
                            .map_or_else(empty_metadata_id, |metadata| plain_metadata_id(metadata));
                        with_known_metadata(rows, &current, entry, result_metadata_id, parameters)
                    }
                    // Conditional statements answer what no client can know beforehand.
                    Plan::Modify(_) | Plan::Batch(_) => rows,
                };
                outcome.result = QueryResult::Rows(rows);
            }
            QueryResult::SetKeyspace(ref keyspace) => session.keyspace = Some(keyspace.as_str().into()),
            QueryResult::Void | QueryResult::SchemaChange(_) | QueryResult::Prepared(_) => {}
        }
        Ok(outcome)
    }

    /// Serves a BATCH.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub async fn batch(&self, session: &mut Session, batch: &Batch, context: RequestContext) -> Result<QueryOutcome> {
        let env = self.cluster.env();
        let parameters = &batch.parameters;
        let mut plans: Vec<(Rc<PreparedPlan>, Values<'_>)> = Vec::with_capacity(batch.queries.len());
        for query in &batch.queries {
            let plan = match &query.statement {
                BatchStatement::Prepared(id) => self.plan(id, &context)?,
                BatchStatement::Text(text) => {
                    let keyspace = self.request_keyspace(session, &context, parameters)?;
                    let compiled = Compiled::new(&context.schema, env, text, keyspace)?;
                    Rc::new(PreparedPlan { entry: Arc::new(PreparedEntry::of_text()), compiled })
                }
            };
            let markers = plan.compiled.marker_count();
            ensure!(
                query.values.len() == markers,
                "There were {markers} markers(?) in CQL but {} bound variables",
                query.values.len()
            );
            plans.push((plan, query.values.iter().map(value).collect()));
        }
        let mut statements: Vec<(&ModifyPlan, Bind<'_>)> = Vec::with_capacity(plans.len());
        for (prepared, values) in &plans {
            let Plan::Modify(plan) = &prepared.compiled.plan else {
                return Err(invalid!(
                    "Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed."
                ));
            };
            statements.push((plan, Bind::new(values, env)));
        }
        let kind = match batch.kind {
            MessageBatchKind::Logged => BatchKind::Logged,
            MessageBatchKind::Unlogged => BatchKind::Unlogged,
            MessageBatchKind::Counter => BatchKind::Counter,
        };
        let statements: Vec<BatchStatementRef<'_>> =
            statements.iter().map(|(plan, bind)| BatchStatementRef { plan, bind }).collect();
        let execution = Execution::new(self, session, None, &context, parameters)?;
        execution.check_local()?;
        let mut warnings = Vec::new();
        let rows = execute_batch(
            &self.cluster,
            &context,
            &self.config,
            &self.registry.prepends,
            kind,
            &statements,
            &execution.modify_request(),
            &mut warnings,
        )
        .await?;
        Ok(QueryOutcome { result: rows.map_or(QueryResult::Void, QueryResult::Rows), warnings })
    }

    /// The shard that holds the partition an EXECUTE is about, when one glance can tell.
    #[must_use]
    pub fn owner_shard(&self, id: &[u8], parameters: &QueryParameters) -> Option<u32> {
        let plans = self.plans.borrow();
        let plan = plans.get(id)?;
        let indexes = &plan.compiled.partition_key_indexes;
        let mut components: SmallVec<[&[u8]; 4]> = SmallVec::new();
        for index in indexes {
            match parameters.values.get(usize::from(*index))? {
                BoundValue::Set(bytes) => components.push(bytes),
                BoundValue::Null | BoundValue::Unset => return None,
            }
        }
        if components.is_empty() || parameters.values.names().is_some() {
            return None;
        }
        let key = composite::partition_key(&components).ok()?;
        Some(self.cluster.owner_of(PartitionKey::new(&key).token()))
    }

    /// The plan of a prepared statement for the request's schema.
    fn plan(&self, id: &[u8], context: &RequestContext) -> Result<Rc<PreparedPlan>> {
        let unprepared = || QueryError::Unprepared { id: id.to_vec() };
        let id: &PreparedId = id.try_into().map_err(|_| unprepared())?;
        let now = self.cluster.env().monotonic().as_nanos();
        if let Some(plan) = self.plans.borrow().get(id)
            && plan.compiled.epoch == context.schema.epoch
        {
            plan.entry.mark_used(now);
            return Ok(Rc::clone(plan));
        }
        let Some(entry) = self.registry.get(id) else {
            self.plans.borrow_mut().remove(id);
            return Err(unprepared());
        };
        if !entry.is_current(&context.schema) {
            self.registry.remove(id, &entry);
            self.plans.borrow_mut().remove(id);
            return Err(unprepared());
        }
        entry.mark_used(now);
        let keyspace = entry.session_keyspace.as_deref();
        let compiled = Compiled::new(&context.schema, self.cluster.env(), &entry.text, keyspace)?;
        let plan = Rc::new(PreparedPlan { entry, compiled });
        self.keep(*id, Rc::clone(&plan));
        Ok(plan)
    }

    fn keep(&self, id: PreparedId, plan: Rc<PreparedPlan>) {
        let mut plans = self.plans.borrow_mut();
        if PLANS_MAX <= plans.len() {
            plans.clear();
        }
        plans.insert(id, plan);
    }

    /// The keyspace of unqualified names: the request's own or the session's.
    fn request_keyspace<'k>(
        &self,
        session: &'k Session,
        context: &RequestContext,
        parameters: &'k QueryParameters,
    ) -> Result<Option<&'k str>> {
        match &parameters.keyspace {
            None => Ok(session.keyspace.as_deref()),
            Some(keyspace) => {
                check_keyspace(&context.schema, keyspace)?;
                Ok(Some(keyspace))
            }
        }
    }
}

pub(crate) fn check_keyspace(schema: &helenus_schema::SchemaSnapshot, keyspace: &str) -> Result<()> {
    ensure!(schema.keyspace(keyspace).is_some(), "Keyspace '{keyspace}' does not exist");
    Ok(())
}

fn check_page_size(parameters: &QueryParameters) -> Result<()> {
    if parameters.page_size == Some(0) {
        return Err(QueryError::Protocol("The page size cannot be 0".to_owned()));
    }
    Ok(())
}

fn value(value: BoundValue<&[u8]>) -> Value<'_> {
    match value {
        BoundValue::Null => Value::Null,
        BoundValue::Unset => Value::Unset,
        BoundValue::Set(bytes) => Value::Bytes(bytes.into()),
    }
}

/// One value a marker, in their order. Named values that no marker has are left out, missing ones make the result shorter.
fn ordered_values<'v>(compiled: &Compiled, values: &'v BoundValues) -> Values<'v> {
    let Some(names) = values.names() else { return values.iter().map(value).collect() };
    let find = |name: &str| {
        let index = names.iter().position(|known| known.as_str() == name)?;
        values.get(index).map(value)
    };
    compiled.variables.columns().iter().filter_map(|column| find(&column.name)).collect()
}

/// Leaves out what the client knows already, and tells it when what it knows is outdated.
fn with_known_metadata(
    mut rows: Rows,
    current: &[u8; 16],
    entry: &PreparedEntry,
    known: Option<&[u8]>,
    parameters: &QueryParameters,
) -> Rows {
    match known {
        Some(known) if known != current => {
            rows.new_metadata_id = Some(Bytes::copy_from_slice(current));
            rows
        }
        // Before version 5 clients cannot say what they know: it is what the statement was prepared with.
        None if entry.result_metadata_id != *current => rows,
        Some(_) | None if parameters.skip_metadata => rows.without_metadata(),
        Some(_) | None => rows,
    }
}

impl PreparedEntry {
    /// Stands in for statements of a batch that were sent as text.
    fn of_text() -> Self {
        Self {
            text: Box::default(),
            session_keyspace: None,
            statement_keyspace: None,
            is_fully_qualified: true,
            is_batch: false,
            tables: Vec::new(),
            result_metadata_id: [0; 16],
            used: AtomicU64::new(0),
        }
    }
}
