//! Query processor: a shard's entry for statements: QUERY, PREPARE, EXECUTE, BATCH.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use helenus_cluster::Cluster;
use helenus_data::PartitionKey;
use helenus_protocol::{
    Batch, BatchKind as MessageBatchKind, BatchStatement, BoundValues, ColumnSpec, Prepared, QueryParameters, Rows,
    Value as BoundValue,
};
use helenus_schema::SchemaSnapshot;
use helenus_storage::{RequestContext, RequestMemory};
use helenus_types::composite;
use smallvec::SmallVec;

use crate::compile::{Compiled, Plan};
use crate::config::QueryConfig;
use crate::error::{QueryError, Result, ensure, invalid};
use crate::execution::{Execution, check_login};
use crate::modify::{BatchKind, BatchStatementRef, ModifyPlan, execute_batch};
use crate::outcome::{PreparedOutcome, QueryOutcome, QueryResult, Session};
use crate::registry::{Life, PreparedEntry, PreparedId, PreparedRegistry, prepared_id, statement_bytes};
use crate::select::{empty_metadata_id, plain_metadata_id};
use crate::stored::{self, Changes, Preloaded};
use crate::terms::{Bind, Value};

type Values<'v> = SmallVec<[Value<'v>; 8]>;

/// One a shard.
pub struct QueryProcessor {
    pub(crate) cluster: Rc<Cluster>,
    pub(crate) config: QueryConfig,
    pub(crate) registry: Arc<PreparedRegistry>,
    /// Plans of entries that the registry holds; those of others go with the next look at it.
    plans: RefCell<HashMap<PreparedId, Rc<PreparedPlan>, rapidhash::fast::RandomState>>,
    /// Of the registry's removals, those that `plans` has followed.
    removals_seen: Cell<u64>,
}

struct PreparedPlan {
    entry: Arc<PreparedEntry>,
    compiled: Compiled,
}

impl QueryProcessor {
    #[must_use]
    pub fn new(cluster: Rc<Cluster>, config: QueryConfig, registry: Arc<PreparedRegistry>) -> Rc<Self> {
        Rc::new(Self { cluster, config, registry, plans: RefCell::default(), removals_seen: Cell::new(0) })
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
        let compiled = Compiled::of_text(&context.schema, env, text, keyspace).await;
        if !matches!(compiled, Err(QueryError::Syntax(_))) {
            context.trace.record(env, || "Preparing statement".to_owned());
        }
        let compiled = compiled?;
        let context = compiled.with_timeout(env, &self.config.time_limits, context);
        let values = ordered_values(&compiled, &parameters.values);
        ensure!(values.len() == compiled.marker_count(), "Invalid amount of bind variables");
        let execution = Execution::new(self, session, keyspace, &context, parameters)?;
        let mut outcome = execution.run(&compiled, &values).await?;
        outcome.memory = context.memory.map(RequestMemory::into_permit);
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
        let compiled = Compiled::of_text(&schema, self.cluster.env(), text, keyspace).await?;
        if let Plan::Other(statement) = &compiled.plan {
            check_login(session, statement)?;
        }
        let (entry, is_known) = self.store(&schema, text, keyspace, &compiled).await?;
        let (unqualified, qualified) = (prepared_id(text, None), prepared_id(text, keyspace));
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

    /// Puts a statement into the registry and into `system.prepared_statements`, under the id with the keyspace and the one
    /// without: clients that knew the other one from elsewhere need not prepare again. Answers the entry of the id that
    /// clients are told, and whether both were known.
    async fn store(
        &self,
        schema: &SchemaSnapshot,
        text: &str,
        keyspace: Option<&str>,
        compiled: &Compiled,
    ) -> Result<(Arc<PreparedEntry>, bool)> {
        let unqualified = self.entry(text, keyspace, None, compiled);
        let budget = self.config.prepared_cache_bytes;
        if budget < unqualified.bytes() {
            let start: String = text.chars().take(200).collect();
            return Err(invalid!(
                "Prepared statement of size {} bytes is larger than allowed maximum of {} MB: {start}...",
                unqualified.bytes(),
                budget >> 20
            ));
        }
        let told = if compiled.is_fully_qualified { None } else { keyspace };
        let mut changes = Changes::default();
        let mut entry = None;
        let mut is_known = true;
        let mut logged_keyspaces = vec![None];
        logged_keyspaces.extend(keyspace.map(Some));
        for logged in logged_keyspaces {
            let id = prepared_id(text, logged);
            is_known &= self.registry.contains(&id, schema);
            let new = Arc::new(PreparedEntry { logged_keyspace: logged.map(Box::from), ..unqualified.clone() });
            let put = self.registry.put(id, &new, schema, budget);
            if put.is_new {
                changes.added.push((id, Arc::clone(&new)));
            }
            changes.removed.extend(put.evicted);
            if logged == told {
                entry = Some(self.registry.get(&id).unwrap_or(new));
            }
        }
        stored::write(&self.cluster, changes).await;
        Ok((entry.unwrap_or_else(|| Arc::new(unqualified)), is_known))
    }

    fn entry(&self, text: &str, keyspace: Option<&str>, logged: Option<&str>, compiled: &Compiled) -> PreparedEntry {
        PreparedEntry {
            text: text.into(),
            bytes: statement_bytes(text),
            session_keyspace: keyspace.map(Box::from),
            logged_keyspace: logged.map(Box::from),
            statement_keyspace: compiled.keyspace.clone(),
            is_fully_qualified: compiled.is_fully_qualified,
            is_batch: matches!(compiled.plan, Plan::Batch(_)),
            tables: compiled.tables.clone(),
            result_metadata_id: compiled.result_metadata_id(),
            life: Life::begin(self.cluster.env().monotonic().as_nanos()),
        }
    }

    /// Knows again what was prepared when the node stopped; run on one shard, before clients are served. What cannot be
    /// prepared any more is removed. Answers what is known now.
    ///
    /// # Errors
    /// When `system.prepared_statements` cannot be read.
    pub async fn preload(&self) -> Result<Vec<Preloaded>> {
        let schema = self.cluster.schema();
        let budget = self.config.prepared_cache_bytes;
        let (mut preloaded, mut changes) = (Vec::new(), Changes::default());
        for Preloaded { id, text, keyspace } in stored::read(&self.cluster).await? {
            let compiled = match Compiled::of_text(&schema, self.cluster.env(), &text, keyspace.as_deref()).await {
                Ok(compiled) => compiled,
                Err(error) => {
                    // One that does not name its keyspace is stored under its other id, too, which works.
                    tracing::info!(%error, statement = text, "a prepared statement is not valid any more and is removed");
                    changes.removed.push(id);
                    continue;
                }
            };
            let entry = Arc::new(self.entry(&text, keyspace.as_deref(), keyspace.as_deref(), &compiled));
            changes.removed.extend(self.registry.put(id, &entry, &schema, budget).evicted);
            if !compiled.is_fully_qualified && keyspace.is_some() {
                let unqualified = Arc::new(PreparedEntry { logged_keyspace: None, ..PreparedEntry::clone(&entry) });
                let id = prepared_id(&text, None);
                changes.removed.extend(self.registry.put(id, &unqualified, &schema, budget).evicted);
            }
            preloaded.push(Preloaded { id, text, keyspace });
        }
        stored::write(&self.cluster, changes).await;
        Ok(preloaded)
    }

    /// Forgets, also in `system.prepared_statements`, the statements whose tables are not what they were; run on one shard
    /// after each change of the schema.
    pub async fn forget_outdated(&self) {
        let removed = self.registry.remove_outdated(&self.cluster.schema());
        stored::write(&self.cluster, Changes { added: Vec::new(), removed }).await;
    }

    /// The node's prepared statements.
    #[must_use]
    pub fn registry(&self) -> &PreparedRegistry {
        &self.registry
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
        let prepared = self.plan(id, &context).await?;
        let PreparedPlan { entry, compiled } = &*prepared;
        context.trace.record(self.cluster.env(), || "Executing prepared statement".to_owned());
        let context = compiled.with_timeout(self.cluster.env(), &self.config.time_limits, context);
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
        let mut outcome = match execution.run(compiled, &values).await {
            Ok(outcome) => outcome,
            Err(error) => return Err(error.warned(warnings)),
        };
        outcome.memory = context.memory.map(RequestMemory::into_permit);
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
    pub async fn batch(
        &self,
        session: &mut Session,
        batch: &Batch,
        mut context: RequestContext,
    ) -> Result<QueryOutcome> {
        let env = self.cluster.env();
        let limits = &self.config.time_limits;
        let limit = if batch.kind == MessageBatchKind::Counter { limits.counter } else { limits.write };
        context.deadline = context.deadline.min(env.monotonic() + limit);
        let parameters = &batch.parameters;
        let mut plans: Vec<(Rc<PreparedPlan>, Values<'_>)> = Vec::with_capacity(batch.queries.len());
        for query in &batch.queries {
            let plan = match &query.statement {
                BatchStatement::Prepared(id) => self.plan(id, &context).await?,
                BatchStatement::Text(text) => {
                    let keyspace = self.request_keyspace(session, &context, parameters)?;
                    let compiled = Compiled::of_text(&context.schema, env, text, keyspace).await?;
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
        .await;
        let memory = context.memory.map(RequestMemory::into_permit);
        match rows {
            Ok(rows) => {
                Ok(QueryOutcome { result: rows.map_or(QueryResult::Void, QueryResult::Rows), warnings, memory })
            }
            Err(error) => Err(error.warned(warnings)),
        }
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

    /// The text of a prepared statement, for logs and traces.
    #[must_use]
    pub fn prepared_text(&self, id: &[u8]) -> Option<Arc<str>> {
        let id: &PreparedId = id.try_into().ok()?;
        self.registry.get(id).map(|entry| Arc::clone(&entry.text))
    }

    /// The values of an EXECUTE that was served here, as CQL literals behind the names of their markers and in their order,
    /// for traces.
    #[must_use]
    pub fn bound_literals(&self, id: &[u8], parameters: &QueryParameters) -> Vec<(Box<str>, String)> {
        let plan = self.plans.borrow().get(id).map(Rc::clone);
        let Some(plan) = plan else { return Vec::new() };
        let values = ordered_values(&plan.compiled, &parameters.values);
        let columns = plan.compiled.variables.columns().iter();
        let literal = |(column, value): (&ColumnSpec, &Value<'_>)| {
            let text = match value {
                Value::Null => "null".to_owned(),
                Value::Unset => "<unset>".to_owned(),
                Value::Bytes(bytes) => column.ty.to_cql_literal(bytes),
            };
            (Box::from(&*column.name), text)
        };
        columns.zip(&values).map(literal).collect()
    }

    /// The plan of a prepared statement for the request's schema.
    async fn plan(&self, id: &[u8], context: &RequestContext) -> Result<Rc<PreparedPlan>> {
        let unprepared = || QueryError::Unprepared { id: id.to_vec() };
        let id: &PreparedId = id.try_into().map_err(|_| unprepared())?;
        let now = self.cluster.env().monotonic().as_nanos();
        if let Some(plan) = self.plans.borrow().get(id)
            && plan.compiled.epoch == context.schema.epoch
            && !plan.entry.is_gone()
        {
            plan.entry.mark_used(now);
            return Ok(Rc::clone(plan));
        }
        self.follow_removals();
        let Some(entry) = self.registry.get(id) else { return Err(unprepared()) };
        if !entry.is_current(&context.schema) {
            if self.registry.remove(id, &entry) {
                stored::write(&self.cluster, Changes { added: Vec::new(), removed: vec![*id] }).await;
            }
            self.follow_removals();
            return Err(unprepared());
        }
        entry.mark_used(now);
        let keyspace = entry.session_keyspace.as_deref();
        let compiled = Compiled::of_text(&context.schema, self.cluster.env(), &entry.text, keyspace).await?;
        let plan = Rc::new(PreparedPlan { entry, compiled });
        self.keep(*id, Rc::clone(&plan));
        Ok(plan)
    }

    fn keep(&self, id: PreparedId, plan: Rc<PreparedPlan>) {
        self.follow_removals();
        self.plans.borrow_mut().insert(id, plan);
    }

    /// Lets plans go whose entries went. Entries go many at a time, so this walks seldom.
    fn follow_removals(&self) {
        let removals = self.registry.removal_count();
        if self.removals_seen.replace(removals) != removals {
            self.plans.borrow_mut().retain(|_, plan| !plan.entry.is_gone());
        }
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

pub(crate) fn check_keyspace(schema: &SchemaSnapshot, keyspace: &str) -> Result<()> {
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
            text: Arc::default(),
            bytes: 0,
            session_keyspace: None,
            logged_keyspace: None,
            statement_keyspace: None,
            is_fully_qualified: true,
            is_batch: false,
            tables: Vec::new(),
            result_metadata_id: [0; 16],
            life: Life::default(),
        }
    }
}
