//! Execution: one request under way, from a plan and its values to an answer.

use helenus_cluster::{ClusterError, Consistency};
use helenus_cql::{QualifiedName, Statement};
use helenus_protocol::QueryParameters;
use helenus_schema::KeyspaceOrigin;
use helenus_storage::RequestContext;

use crate::compile::{Compiled, Plan, find_table};
use crate::ddl::{self, DdlContext};
use crate::describe::{self, DescribeContext};
use crate::error::{QueryError, Result, ensure};
use crate::modify::ModifyRequest;
use crate::outcome::{QueryOutcome, QueryResult, Session};
use crate::processor::{QueryProcessor, check_keyspace};
use crate::restrictions::quoted_name;
use crate::select::SelectRequest;
use crate::terms::{Bind, Value};

/// How often a schema change is computed again when others come first.
const DDL_ATTEMPTS_MAX: u32 = 100;

/// Refuses statements about roles and permissions to who did not log in, when they are prepared as when they are run.
pub(crate) fn check_login(session: &Session, statement: &Statement) -> Result<()> {
    if session.role.is_none() && is_about_roles(statement) {
        let text = "You have to be logged in and not anonymous to perform this request";
        return Err(QueryError::Unauthorized(text.to_owned()));
    }
    Ok(())
}

fn is_about_roles(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateRole(_)
            | Statement::AlterRole(_)
            | Statement::DropRole(_)
            | Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser(_)
            | Statement::Identity(_)
            | Statement::GrantPermissions(_)
            | Statement::RevokePermissions(_)
            | Statement::GrantRole(_)
            | Statement::RevokeRole(_)
            | Statement::ListPermissions(_)
            | Statement::ListRoles(_)
            | Statement::ListUsers
    )
}

/// One request under way.
pub(crate) struct Execution<'x> {
    processor: &'x QueryProcessor,
    session: &'x Session,
    /// Of unqualified names.
    keyspace: Option<&'x str>,
    context: &'x RequestContext,
    parameters: &'x QueryParameters,
    consistency: Consistency,
    serial_consistency: Consistency,
}

impl<'x> Execution<'x> {
    pub fn new(
        processor: &'x QueryProcessor,
        session: &'x Session,
        keyspace: Option<&'x str>,
        context: &'x RequestContext,
        parameters: &'x QueryParameters,
    ) -> Result<Self> {
        let level = |level: helenus_protocol::Consistency| {
            Consistency::from_code(level.code())
                .ok_or_else(|| QueryError::Protocol(format!("Unknown consistency level {level}")))
        };
        Ok(Self {
            processor,
            session,
            keyspace,
            context,
            parameters,
            consistency: level(parameters.consistency)?,
            serial_consistency: parameters.serial_consistency.map_or(Ok(Consistency::Serial), level)?,
        })
    }

    fn now_secs(&self) -> i64 {
        // Unsigned 32 bits on the wire.
        let own = self.parameters.now_in_seconds.map(|seconds| i64::from(seconds.cast_unsigned()));
        own.unwrap_or_else(|| self.processor.cluster.env().wall_secs())
    }

    pub fn modify_request(&self) -> ModifyRequest {
        let own = self.parameters.default_timestamp;
        ModifyRequest {
            consistency: self.consistency,
            serial_consistency: self.serial_consistency,
            timestamp: own.unwrap_or_else(|| self.processor.cluster.env().next_timestamp_micros()),
            now_secs: self.now_secs(),
            contention: self.processor.config.time_limits.contention,
        }
    }

    /// `NODE_LOCAL` is for those who look into a node, and off unless a node is told otherwise.
    pub fn check_local(&self) -> Result<()> {
        ensure!(
            self.consistency != Consistency::NodeLocal,
            "NODE_LOCAL consistency level is highly dangerous and should be used only for debugging purposes"
        );
        Ok(())
    }

    pub async fn run(&self, compiled: &Compiled, values: &[Value<'_>]) -> Result<QueryOutcome> {
        self.check_local()?;
        let mut warnings = Vec::new();
        match self.run_plan(compiled, values, &mut warnings).await {
            Ok(result) => Ok(QueryOutcome { result, warnings, memory: None }),
            Err(error) => Err(error.warned(warnings)),
        }
    }

    async fn run_plan(
        &self,
        compiled: &Compiled,
        values: &[Value<'_>],
        warnings: &mut Vec<String>,
    ) -> Result<QueryResult> {
        let QueryProcessor { cluster, config, registry, .. } = self.processor;
        let bind = Bind::new(values, cluster.env());
        let rows = match &compiled.plan {
            Plan::Select(plan) => {
                let page_size = self.parameters.page_size.and_then(|size| u32::try_from(size).ok());
                let request = SelectRequest {
                    consistency: self.consistency,
                    page_size,
                    paging_state: self.parameters.paging_state.as_deref(),
                    now_secs: self.now_secs(),
                };
                Some(plan.execute(cluster, self.context, config, &bind, &request, warnings).await?)
            }
            Plan::Modify(plan) => {
                plan.execute(cluster, self.context, &registry.prepends, &bind, &self.modify_request()).await?
            }
            Plan::Batch(plan) => {
                let request = self.modify_request();
                plan.execute(cluster, self.context, config, &registry.prepends, &bind, &request, warnings).await?
            }
            Plan::Other(statement) => return self.run_other(statement, warnings).await,
        };
        Ok(rows.map_or(QueryResult::Void, QueryResult::Rows))
    }

    async fn run_other(&self, statement: &Statement, warnings: &mut Vec<String>) -> Result<QueryResult> {
        match statement {
            Statement::Use(keyspace) => {
                check_keyspace(&self.context.schema, keyspace.as_str())?;
                Ok(QueryResult::SetKeyspace(keyspace.as_str().to_owned()))
            }
            Statement::Truncate(name) => self.truncate(name).await,
            Statement::Describe(describe) => {
                let page_size = self.parameters.page_size.and_then(|size| usize::try_from(size).ok());
                let context = DescribeContext {
                    schema: &self.context.schema,
                    topology: self.processor.cluster.topology(),
                    keyspace: self.session.keyspace.as_deref(),
                    page_size,
                    paging_state: self.parameters.paging_state.as_deref(),
                };
                describe::execute(&context, describe).map(QueryResult::Rows)
            }
            _ if is_about_roles(statement) => {
                check_login(self.session, statement)?;
                Err(QueryError::unsupported(statement.kind().name()))
            }
            _ => self.change_schema(statement, warnings).await,
        }
    }

    async fn truncate(&self, name: &QualifiedName) -> Result<QueryResult> {
        let cluster = &self.processor.cluster;
        let schema = &self.context.schema;
        let target = find_table(schema, name, self.keyspace)?;
        let table = target.table;
        ensure!(!target.is_virtual, "Truncation is not supported by table {}", quoted_name(table));
        let is_system = schema.keyspace(&table.keyspace).is_some_and(|found| found.origin == KeyspaceOrigin::System);
        let is_trace = &*table.keyspace == "system_traces";
        if cluster.virtual_tables().contains(table.id) || (is_system && !is_trace) {
            let text = format!("{} keyspace is not user-modifiable.", table.keyspace);
            return Err(QueryError::Unauthorized(text));
        }
        cluster.truncate(self.context, table.id).await?;
        Ok(QueryResult::Void)
    }

    async fn change_schema(&self, statement: &Statement, warnings: &mut Vec<String>) -> Result<QueryResult> {
        let cluster = &self.processor.cluster;
        let mut conflict = None;
        for _ in 0..DDL_ATTEMPTS_MAX {
            let schema = cluster.schema();
            let context = DdlContext {
                schema: &schema,
                env: cluster.env(),
                data_center: &cluster.topology().address.data_center,
                node_count: 1,
            };
            let outcome = ddl::plan(&context, statement, self.keyspace)?;
            if !outcome.changes.is_empty() {
                match cluster.change_schema(schema.epoch, outcome.changes).await {
                    Ok(_) => {}
                    Err(error @ ClusterError::Conflict { .. }) => {
                        conflict = Some(error);
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            *warnings = outcome.warnings;
            return Ok(outcome.event.map_or(QueryResult::Void, QueryResult::SchemaChange));
        }
        Err(conflict.map_or_else(|| QueryError::Server("the schema changes too fast".to_owned()), QueryError::from))
    }
}
