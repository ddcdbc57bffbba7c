//! BATCH: several modifications as one write, in a statement of its own or in a BATCH message.
//!
//! Source: Cassandra 5.0, `cql3.statements.BatchStatement`.

use std::collections::BTreeSet;
use std::sync::Arc;

use helenus_cluster::{Cluster, WriteKind};
use helenus_data::PartitionKey;
use helenus_protocol::Rows;
use helenus_storage::RequestContext;

use crate::config::QueryConfig;
use crate::error::{QueryError, Result, ensure, invalid};
use crate::modify::ModifyRequest;
use crate::modify::attributes::Attributes;
use crate::modify::compare_and_set::CasRequest;
use crate::modify::plan::{ModifyPlan, Mutations};
use crate::modify::size::data_bytes;
use crate::modify::update::PrependClock;
use crate::restrictions::{StatementForm, quoted_name};
use crate::terms::Bind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    Logged,
    Unlogged,
    Counter,
}

/// A BATCH statement prepared.
#[derive(Debug)]
pub struct BatchPlan {
    pub kind: BatchKind,
    pub statements: Vec<ModifyPlan>,
    pub(super) attributes: Attributes,
}

/// One statement of a batch with its values.
#[derive(Clone, Copy)]
pub struct BatchStatementRef<'b> {
    pub plan: &'b ModifyPlan,
    pub bind: &'b Bind<'b>,
}

impl BatchPlan {
    /// # Errors
    /// Attributes that a batch does not have, and statements that do not go together.
    pub fn prepare(
        scope: &crate::terms::Scope<'_>,
        kind: BatchKind,
        using: &helenus_cql::Using,
        statements: Vec<ModifyPlan>,
        markers: &mut crate::terms::Markers,
    ) -> Result<Self> {
        let attributes = Attributes::prepare(scope, "[batch]", "[batch]", using, markers)?;
        let plan = Self { kind, statements, attributes };
        let statements: Vec<&ModifyPlan> = plan.statements.iter().collect();
        check_together(kind, &statements, Some(&plan.attributes))?;
        Ok(plan)
    }

    /// # Errors
    /// As [`execute_batch`].
    #[expect(clippy::too_many_arguments, reason = "what an execution consists of")]
    pub async fn execute(
        &self,
        cluster: &Cluster,
        context: &RequestContext,
        config: &QueryConfig,
        clock: &PrependClock,
        bind: &Bind<'_>,
        request: &ModifyRequest,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Rows>> {
        let timestamp = self.attributes.bind_timestamp(request.timestamp, bind)?;
        let request = ModifyRequest { timestamp, ..*request };
        let statements: Vec<BatchStatementRef<'_>> =
            self.statements.iter().map(|plan| BatchStatementRef { plan, bind }).collect();
        execute_checked(cluster, context, config, clock, self.kind, &statements, &request, warnings).await
    }
}

fn check_together(kind: BatchKind, statements: &[&ModifyPlan], attributes: Option<&Attributes>) -> Result<()> {
    let has_conditions = statements.iter().any(|statement| statement.has_conditions());
    let sets_timestamp = attributes.is_some_and(|attributes| attributes.timestamp.is_some());
    let is_counter = kind == BatchKind::Counter;
    ensure!(
        attributes.is_none_or(|attributes| attributes.ttl.is_none()),
        "Global TTL on the BATCH statement is not supported."
    );
    if sets_timestamp {
        ensure!(!has_conditions, "Cannot provide custom timestamp for conditional BATCH");
        ensure!(!is_counter, "Cannot provide custom timestamp for counter BATCH");
        ensure!(
            !statements.iter().any(|statement| statement.has_timestamp()),
            "Timestamp must be set either on BATCH or individual statements"
        );
    }
    let counters = statements.iter().filter(|statement| statement.table.is_counter()).count();
    let (has_counters, has_others) = (0 < counters, counters < statements.len());
    let virtuals = statements.iter().filter(|statement| statement.is_virtual()).count();
    let (has_virtual, has_regular) = (0 < virtuals, virtuals < statements.len());
    let is_logged = kind == BatchKind::Logged;
    ensure!(!(sets_timestamp && has_counters), "Cannot provide custom timestamp for a BATCH containing counters");
    ensure!(!(is_counter && has_others), "Cannot include non-counter statement in a counter batch");
    ensure!(!(has_counters && has_others), "Counter and non-counter mutations cannot exist in the same batch");
    ensure!(!(is_logged && has_counters), "Cannot include a counter statement in a logged batch");
    ensure!(!(is_logged && has_virtual), "Cannot include a virtual table statement in a logged batch");
    ensure!(!(has_virtual && has_regular), "Mutations for virtual and regular tables cannot exist in the same batch");
    ensure!(
        !(has_conditions && has_virtual),
        "Conditional BATCH statements cannot include mutations for virtual tables"
    );
    if has_conditions {
        let first = statements.first().map(|statement| statement.table.id);
        ensure!(
            statements.iter().all(|statement| Some(statement.table.id) == first),
            "Batch with conditions cannot span multiple tables"
        );
    }
    Ok(())
}

/// Executes the statements of a BATCH message.
///
/// # Errors
/// Statements that do not go together, values that do not fit, and what the cluster refuses.
#[expect(clippy::too_many_arguments, reason = "what an execution consists of")]
pub async fn execute_batch(
    cluster: &Cluster,
    context: &RequestContext,
    config: &QueryConfig,
    clock: &PrependClock,
    kind: BatchKind,
    statements: &[BatchStatementRef<'_>],
    request: &ModifyRequest,
    warnings: &mut Vec<String>,
) -> Result<Option<Rows>> {
    let plans: Vec<&ModifyPlan> = statements.iter().map(|statement| statement.plan).collect();
    check_together(kind, &plans, None)?;
    execute_checked(cluster, context, config, clock, kind, statements, request, warnings).await
}

#[expect(clippy::too_many_arguments, reason = "what an execution consists of")]
async fn execute_checked(
    cluster: &Cluster,
    context: &RequestContext,
    config: &QueryConfig,
    clock: &PrependClock,
    kind: BatchKind,
    statements: &[BatchStatementRef<'_>],
    request: &ModifyRequest,
    warnings: &mut Vec<String>,
) -> Result<Option<Rows>> {
    for statement in statements {
        statement.plan.validate()?;
        statement.plan.check_writable(cluster)?;
    }
    if statements.iter().any(|statement| statement.plan.has_conditions()) {
        return execute_conditional(cluster, context, clock, statements, request).await.map(Some);
    }
    let Some(first) = statements.first() else { return Ok(None) };
    let mut keys: Vec<Vec<PartitionKey>> = Vec::with_capacity(statements.len());
    for statement in statements {
        keys.push(statement.plan.keys(statement.bind)?);
    }
    let mut mutations = Mutations::new(context);
    for (BatchStatementRef { plan, bind }, keys) in statements.iter().zip(keys) {
        plan.write_into(cluster, context, clock, bind, request, keys, &mut mutations).await?;
    }
    if kind == BatchKind::Logged {
        warn_of_grace(statements, warnings);
    }
    check_size(config, &mutations, warnings)?;
    if kind != BatchKind::Logged {
        warn_of_partitions(config, &mutations, warnings);
    }
    let is_counter = first.plan.table.is_counter();
    let mutations = mutations.finish();
    if mutations.is_empty() {
        return Ok(None);
    }
    let write = match kind {
        _ if is_counter => WriteKind::Counter,
        BatchKind::Logged if 1 < mutations.len() => WriteKind::LoggedBatch,
        BatchKind::Logged | BatchKind::Unlogged | BatchKind::Counter => WriteKind::UnloggedBatch,
    };
    cluster.write(context, request.consistency, write, mutations).await?;
    Ok(None)
}

fn warn_of_grace(statements: &[BatchStatementRef<'_>], warnings: &mut Vec<String>) {
    let without: BTreeSet<String> = statements
        .iter()
        .filter(|statement| statement.plan.table.params.gc_grace_seconds == 0)
        .map(|statement| quoted_name(&statement.plan.table))
        .collect();
    if without.is_empty() {
        return;
    }
    warnings.push(format!(
        "Executing a LOGGED BATCH on table{} {}, configured with a gc_grace_seconds of 0. The gc_grace_seconds is used to TTL \
         batchlog entries, so setting gc_grace_seconds too low on tables involved in an atomic batch might cause batchlog \
         entries to expire before being replayed.",
        if without.len() == 1 { "" } else { "s" },
        list(&without)
    ));
}

fn list(names: &BTreeSet<String>) -> String {
    format!("[{}]", names.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
}

fn table_names(mutations: &Mutations) -> BTreeSet<String> {
    mutations.entries().map(|(table, _)| quoted_name(table)).collect()
}

/// Keys of keyspaces: what Cassandra makes one mutation of.
fn mutation_count(mutations: &Mutations) -> usize {
    let keys: BTreeSet<(&str, &PartitionKey)> =
        mutations.entries().map(|(table, partition)| (&*table.keyspace, &partition.key)).collect();
    keys.len()
}

fn check_size(config: &QueryConfig, mutations: &Mutations, warnings: &mut Vec<String>) -> Result<()> {
    if mutation_count(mutations) <= 1 {
        return Ok(());
    }
    let bytes: usize = mutations.entries().map(|(_, partition)| data_bytes(partition)).sum();
    if bytes <= config.batch_warn_bytes {
        return Ok(());
    }
    ensure!(bytes <= config.batch_fail_bytes, "Batch too large");
    warnings.push(format!(
        "Batch for {} is of size {bytes}, exceeding specified threshold of {} by {}.",
        list(&table_names(mutations)),
        config.batch_warn_bytes,
        bytes - config.batch_warn_bytes
    ));
    Ok(())
}

fn warn_of_partitions(config: &QueryConfig, mutations: &Mutations, warnings: &mut Vec<String>) {
    let keys: BTreeSet<&PartitionKey> = mutations.entries().map(|(_, partition)| &partition.key).collect();
    if mutation_count(mutations) <= 1 || keys.len() <= config.unlogged_batch_partitions_warn {
        return;
    }
    let names = table_names(mutations);
    warnings.push(format!(
        "Unlogged batch covering {} partitions detected against table{} {}. You should use a logged batch for atomicity, or \
         asynchronous writes for performance.",
        keys.len(),
        if names.len() == 1 { "" } else { "s" },
        list(&names)
    ));
}

async fn execute_conditional(
    cluster: &Cluster,
    context: &RequestContext,
    clock: &PrependClock,
    statements: &[BatchStatementRef<'_>],
    request: &ModifyRequest,
) -> Result<Rows> {
    let mut cas: Option<CasRequest<'_>> = None;
    for BatchStatementRef { plan, bind } in statements {
        let keys = plan.keys(bind)?;
        if plan.restrictions.key_has_in() {
            // An IllegalArgumentException in Cassandra, which clients see as a server error.
            return Err(QueryError::Server(
                "java.lang.IllegalArgumentException: Batch with conditions cannot span multiple partitions (you cannot use IN \
                 on the partition key)"
                    .to_owned(),
            ));
        }
        let key = keys.into_iter().next().ok_or_else(|| invalid!("Key may not be empty"))?;
        let cas = cas.get_or_insert_with(|| CasRequest::new(Arc::clone(&plan.table), key.clone()));
        ensure!(*cas.key() == key, "Batch with conditions cannot span multiple partitions");
        ensure!(
            !plan.restrictions.clustering_has_in(),
            "IN on the clustering key columns is not supported with conditional {}",
            if plan.form == StatementForm::Update { "updates" } else { "deletions" }
        );
        cas.add(plan, bind, request)?;
    }
    match cas {
        Some(cas) => cas.execute(cluster, context, clock, request, true).await,
        None => Err(invalid!("Batch with conditions cannot span multiple partitions")),
    }
}
