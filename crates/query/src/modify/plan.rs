//! Modify plan: one INSERT, UPDATE or DELETE checked as a whole, ready to be executed many times.
//!
//! Source: Cassandra 5.0, `cql3.statements.ModificationStatement`, `UpdateStatement`, `DeleteStatement`.

use std::collections::BTreeMap;
use std::sync::Arc;

use helenus_cluster::{Cluster, Consistency, WriteKind};
use helenus_cql::{
    Conditions as RawConditions, Delete, Identifier, Insert, InsertJson, JsonValue, Operation as RawOperation,
    Operator, Relation, Update,
};
use helenus_data::{Clustering, Mutation, Partition, PartitionKey, Slice, TableId};
use helenus_protocol::Rows;
use helenus_schema::{ColumnKind, Table};
use helenus_storage::RequestContext;
use helenus_types::{CqlType, composite};

use crate::error::{QueryError, Result, ensure, invalid};
use crate::modify::ModifyRequest;
use crate::modify::attributes::Attributes;
use crate::modify::compare_and_set::{CasRequest, Target};
use crate::modify::condition::Condition;
use crate::modify::operation::{Operation, OperationKind};
use crate::modify::prefetch::Prefetched;
use crate::modify::update::{PrependClock, UpdateParameters};
use crate::restrictions::{KeySelection, RestrictionInput, Restrictions, StatementForm, existing_column, quoted_name};
use crate::terms::{Bind, JsonColumn, Markers, Receiver, Scope, Term, parse_document};

#[derive(Debug)]
pub struct ModifyPlan {
    pub form: StatementForm,
    pub table: Arc<Table>,
    pub(super) is_virtual: bool,
    pub(super) restrictions: Restrictions,
    pub(super) regular: Vec<Operation>,
    pub(super) statics: Vec<Operation>,
    pub(super) conditions: Conditions,
    pub(super) attributes: Attributes,
}

#[derive(Debug)]
pub enum Conditions {
    None,
    IfNotExists,
    IfExists,
    /// Of regular and of static columns, each in the order written.
    Columns {
        regular: Vec<Condition>,
        statics: Vec<Condition>,
    },
}

impl Conditions {
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self, Conditions::None)
    }

    fn on_regular(&self) -> bool {
        matches!(self, Conditions::Columns { regular, .. } if !regular.is_empty())
    }

    fn on_static(&self) -> bool {
        matches!(self, Conditions::Columns { statics, .. } if !statics.is_empty())
    }
}

/// The table that a statement is about, and what is known of it.
#[derive(Clone, Copy)]
pub struct PlanTarget<'a> {
    pub scope: Scope<'a>,
    pub table: &'a Arc<Table>,
    pub is_virtual: bool,
}

impl ModifyPlan {
    /// # Errors
    /// Everything that an INSERT may do wrong, in Cassandra's order and words.
    pub fn insert(target: PlanTarget<'_>, insert: &Insert, markers: &mut Markers) -> Result<Self> {
        let PlanTarget { scope, table, .. } = target;
        let attributes = prepare_attributes(&target, &insert.using, markers)?;
        let conditions = if insert.if_not_exists { Conditions::IfNotExists } else { Conditions::None };
        check_no_counter(table)?;
        ensure!(!insert.columns.is_empty(), "No columns provided to INSERT");
        ensure!(insert.columns.len() == insert.values.len(), "Unmatched column names/values");
        let duplicate =
            insert.columns.iter().enumerate().any(|(at, name)| insert.columns[..at].iter().any(|other| other == name));
        ensure!(!duplicate, "The column names contains duplicates");
        let mut relations = Vec::new();
        let mut operations = Vec::new();
        let mut sets_clustering = false;
        for (name, value) in insert.columns.iter().zip(&insert.values) {
            let column = existing_column(table, name)?;
            sets_clustering |= matches!(column.kind, ColumnKind::Clustering { .. });
            if column.kind.is_primary_key() {
                relations.push(Relation::Column { column: name.clone(), operator: Operator::Eq, value: value.clone() });
            } else {
                let raw = RawOperation::Set(value.clone());
                operations.push(Operation::prepare(&scope, table, column, &raw, !conditions.is_none(), markers)?);
            }
        }
        Self::finish(target, StatementForm::Insert, &relations, operations, conditions, attributes, markers, |only| {
            !sets_clustering && only
        })
    }

    /// # Errors
    /// Everything that an INSERT JSON may do wrong, in Cassandra's order and words.
    pub fn insert_json(target: PlanTarget<'_>, insert: &InsertJson, markers: &mut Markers) -> Result<Self> {
        let PlanTarget { table, .. } = target;
        let attributes = prepare_attributes(&target, &insert.using, markers)?;
        let conditions = if insert.if_not_exists { Conditions::IfNotExists } else { Conditions::None };
        check_no_counter(table)?;
        let source = match &insert.value {
            JsonValue::Text(text) => JsonSource::Document(parse_document(text, table)?),
            JsonValue::Marker(marker) => {
                let receiver = Receiver::new(&table.keyspace, &table.name, "[json]", CqlType::Text);
                JsonSource::Marker(markers.add(marker.index, &receiver))
            }
        };
        let term = |name: &str| match &source {
            JsonSource::Document(document) => match document.get(name) {
                Some(Some(bytes)) => Term::Constant(bytes.clone()),
                Some(None) => Term::Null,
                None if insert.default_unset => Term::Unset,
                None => Term::Null,
            },
            JsonSource::Marker(marker) => Term::Json(Arc::new(JsonColumn {
                marker: *marker,
                name: name.into(),
                table: Arc::clone(table),
                default_unset: insert.default_unset,
            })),
        };
        let mut keys = Vec::new();
        let mut operations = Vec::new();
        for column in table.columns() {
            if column.kind.is_primary_key() {
                keys.push((column.clone(), term(&column.name)));
            } else {
                operations.push(Operation { column: column.clone(), kind: OperationKind::Set(term(&column.name)) });
            }
        }
        let restrictions = Restrictions::of_key_values(table, keys);
        Self::assemble(target, StatementForm::Insert, restrictions, operations, conditions, attributes)
    }

    /// # Errors
    /// Everything that an UPDATE may do wrong, in Cassandra's order and words.
    pub fn update(target: PlanTarget<'_>, update: &Update, markers: &mut Markers) -> Result<Self> {
        let PlanTarget { scope, table, .. } = target;
        let attributes = prepare_attributes(&target, &update.using, markers)?;
        let conditions = prepare_conditions(&target, &update.conditions, &attributes, markers)?;
        let mut operations = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let column = existing_column(table, &assignment.column)?;
            ensure!(!column.kind.is_primary_key(), "PRIMARY KEY part {} found in SET part", column.name);
            let may_read = !conditions.is_none();
            operations.push(Operation::prepare(&scope, table, column, &assignment.operation, may_read, markers)?);
        }
        let relations = &update.relations;
        Self::finish(target, StatementForm::Update, relations, operations, conditions, attributes, markers, |only| only)
    }

    /// # Errors
    /// Everything that a DELETE may do wrong, in Cassandra's order and words.
    pub fn delete(target: PlanTarget<'_>, delete: &Delete, markers: &mut Markers) -> Result<Self> {
        let PlanTarget { scope, table, is_virtual } = target;
        let attributes = prepare_attributes(&target, &delete.using, markers)?;
        let conditions = prepare_conditions(&target, &delete.conditions, &attributes, markers)?;
        let mut operations = Vec::with_capacity(delete.deletions.len());
        for deletion in &delete.deletions {
            let column = existing_column(table, deletion.column())?;
            ensure!(
                !column.kind.is_primary_key(),
                "Invalid identifier {} for deletion (should not be a PRIMARY KEY part)",
                column.name
            );
            operations.push(Operation::prepare_deletion(&scope, table, column, deletion, markers)?);
        }
        let relations = &delete.relations;
        let plan = Self::finish(
            target,
            StatementForm::Delete,
            relations,
            operations,
            conditions,
            attributes,
            markers,
            |only| only,
        )?;
        if !plan.conditions.is_none() && !plan.restrictions.names_single_rows() {
            let text = "DELETE statements must restrict all PRIMARY KEY columns with equality relations";
            ensure!(!is_virtual, "{text}");
            ensure!(!plan.touches_regular(), "{text} in order to delete non static columns");
            ensure!(!plan.conditions.on_regular(), "{text} in order to use IF condition on non static columns");
        }
        Ok(plan)
    }

    #[expect(clippy::too_many_arguments, reason = "the statement forms' common end")]
    fn finish(
        target: PlanTarget<'_>,
        form: StatementForm,
        relations: &[Relation],
        operations: Vec<Operation>,
        conditions: Conditions,
        attributes: Attributes,
        markers: &mut Markers,
        only_statics: impl FnOnce(bool) -> bool,
    ) -> Result<Self> {
        let has_index_expression =
            relations.iter().any(|relation| matches!(relation, Relation::IndexExpression { .. }));
        ensure!(
            !has_index_expression,
            "Custom index expressions cannot be used in WHERE clauses for UPDATE or DELETE statements"
        );
        let input = RestrictionInput {
            form,
            table: target.table,
            relations,
            only_statics: only_statics(touches_only_statics(form, &operations, &conditions)),
            allow_filtering: false,
            is_virtual: target.is_virtual,
            nearest_neighbours_of: None,
        };
        let restrictions = Restrictions::prepare(&target.scope, &input, markers)?;
        Self::assemble(target, form, restrictions, operations, conditions, attributes)
    }

    fn assemble(
        target: PlanTarget<'_>,
        form: StatementForm,
        restrictions: Restrictions,
        operations: Vec<Operation>,
        conditions: Conditions,
        attributes: Attributes,
    ) -> Result<Self> {
        if !conditions.is_none() {
            ensure!(!target.table.is_counter(), "Conditional updates are not supported on counter tables");
            ensure!(attributes.timestamp.is_none(), "Cannot provide custom timestamp for conditional updates");
        }
        let (statics, regular) =
            operations.into_iter().partition(|operation| operation.column.kind == ColumnKind::Static);
        Ok(Self {
            form,
            table: Arc::clone(target.table),
            is_virtual: target.is_virtual,
            restrictions,
            regular,
            statics,
            conditions,
            attributes,
        })
    }

    /// What must hold whatever the statement is executed with.
    ///
    /// # Errors
    /// Attributes and conditions that counters and virtual tables do not have.
    pub fn validate(&self) -> Result<()> {
        let attributes = &self.attributes;
        if self.table.is_counter() {
            ensure!(attributes.timestamp.is_none(), "Cannot provide custom timestamp for counter updates");
            ensure!(attributes.ttl.is_none(), "Cannot provide custom TTL for counter updates");
        }
        if self.is_virtual {
            ensure!(attributes.timestamp.is_none(), "Custom timestamp is not supported by virtual tables");
            ensure!(attributes.ttl.is_none(), "Expiring columns are not supported by virtual tables");
            ensure!(self.conditions.is_none(), "Conditional updates are not supported by virtual tables");
        }
        Ok(())
    }

    #[must_use]
    pub fn has_conditions(&self) -> bool {
        !self.conditions.is_none()
    }

    #[must_use]
    pub fn has_timestamp(&self) -> bool {
        self.attributes.timestamp.is_some()
    }

    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// A DELETE without columns is one of all of them.
    fn touches_regular(&self) -> bool {
        !self.regular.is_empty() || (self.form == StatementForm::Delete && self.statics.is_empty())
    }

    fn touches_only_statics(&self) -> bool {
        !self.touches_regular()
            && !self.conditions.on_regular()
            && (!self.statics.is_empty() || self.conditions.on_static())
    }

    pub(super) fn updates_rows(&self) -> bool {
        self.table.clustering().is_empty() || self.restrictions.has_clustering_restrictions()
    }

    fn deletes_slices(&self) -> bool {
        self.form == StatementForm::Delete
            && self.restrictions.has_clustering_restrictions()
            && self.restrictions.is_column_range()
    }

    /// # Errors
    /// Keys that are null, unset, empty or too long.
    pub fn keys(&self, bind: &Bind<'_>) -> Result<Vec<PartitionKey>> {
        match self.restrictions.keys(bind)? {
            KeySelection::Keys(keys) => {
                keys.iter().try_for_each(|key| self.check_key(key))?;
                Ok(keys)
            }
            KeySelection::Range(_) | KeySelection::Nothing => Ok(Vec::new()),
        }
    }

    /// A hexadecimal constant is taken for a tinyint whatever its length, which only writing a key finds out.
    fn check_key(&self, key: &PartitionKey) -> Result<()> {
        let columns = self.table.partition_key();
        if columns.iter().all(|column| column.ty != CqlType::Tinyint) {
            return Ok(());
        }
        let values = composite::split_partition_key(key.bytes(), columns.len())?;
        columns.iter().zip(&values).try_for_each(|(column, value)| Ok(column.ty.validate(value)?))
    }

    /// Where the statement writes inside its partitions.
    pub(super) fn targets(&self, bind: &Bind<'_>) -> Result<Targets> {
        if self.deletes_slices() {
            return Ok(Targets::Slices(self.restrictions.slices(bind)?));
        }
        if !self.restrictions.has_clustering_restrictions() {
            let target = if self.touches_only_statics() { Target::Static } else { Target::Row(Clustering::empty()) };
            return Ok(Targets::Rows(vec![target]));
        }
        Ok(Targets::Rows(self.restrictions.clusterings(bind)?.into_iter().map(Target::Row).collect()))
    }

    /// Writes the statement's changes at `target` into `partition`.
    pub(super) fn apply(
        &self,
        partition: &mut Partition,
        target: &Target,
        bind: &Bind<'_>,
        parameters: &UpdateParameters<'_>,
        existing: &Prefetched,
    ) -> Result<()> {
        let clustering = match target {
            Target::Static => &Clustering::empty(),
            Target::Row(clustering) => clustering,
        };
        let at_row = UpdateParameters { existing: existing.row(clustering), ..*parameters };
        let at_static = UpdateParameters { existing: existing.static_row(), ..*parameters };
        let has_clustering = clustering.values().next().is_some();
        if self.form == StatementForm::Delete {
            if self.regular.is_empty() && self.statics.is_empty() {
                if has_clustering {
                    let row = partition.row_mut(clustering);
                    row.deletion = row.deletion.max(parameters.deletion());
                } else {
                    partition.deletion = partition.deletion.max(parameters.deletion());
                }
                return Ok(());
            }
            if !self.regular.is_empty() {
                ensure!(
                    has_clustering || self.table.clustering().is_empty(),
                    "Range deletions are not supported for specific columns"
                );
                write_row(partition.row_mut(clustering), &self.regular, bind, &at_row)?;
            }
        } else if self.updates_rows() {
            let row = partition.row_mut(clustering);
            if self.form == StatementForm::Insert {
                let liveness = parameters.liveness();
                if liveness.supersedes(&row.liveness) {
                    row.liveness = liveness;
                }
            }
            write_row(row, &self.regular, bind, &at_row)?;
        }
        if !self.statics.is_empty() {
            write_row(partition.static_row_mut(), &self.statics, bind, &at_static)?;
        }
        Ok(())
    }

    pub(super) fn apply_slice(
        &self,
        partition: &mut Partition,
        slice: &Slice,
        parameters: &UpdateParameters<'_>,
    ) -> Result<()> {
        ensure!(
            self.regular.is_empty() && self.statics.is_empty(),
            "Range deletions are not supported for specific columns"
        );
        partition.delete_range(slice.clone(), parameters.deletion());
        Ok(())
    }

    pub(super) fn requires_read(&self) -> bool {
        self.regular.iter().chain(&self.statics).any(Operation::requires_read)
    }

    fn columns_to_read(&self) -> Vec<helenus_data::ColumnId> {
        let operations = self.regular.iter().chain(&self.statics).filter(|operation| operation.requires_read());
        let mut columns: Vec<_> = operations.map(|operation| operation.column.id).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Writes the statement's changes to the partitions `keys` into `mutations`.
    ///
    /// # Errors
    /// Values that do not fit, and what a read before the write meets.
    #[expect(clippy::too_many_arguments, reason = "what an execution consists of")]
    pub(super) async fn write_into(
        &self,
        cluster: &Cluster,
        context: &RequestContext,
        clock: &PrependClock,
        bind: &Bind<'_>,
        request: &ModifyRequest,
        keys: Vec<PartitionKey>,
        mutations: &mut Mutations,
    ) -> Result<()> {
        let targets = self.targets(bind)?;
        if targets.is_empty() {
            return Ok(());
        }
        let parameters = UpdateParameters {
            env: bind.env,
            prepend_clock: clock,
            timestamp: self.attributes.bind_timestamp(request.timestamp, bind)?,
            ttl: self.attributes.bind_ttl(&self.table, request.now_secs, bind)?,
            now_secs: request.now_secs,
            existing: None,
        };
        ensure!(
            parameters.timestamp != i64::MIN,
            "Out of bound timestamp, must be in [{}, {}]",
            i64::MIN + 1,
            i64::MAX
        );
        for key in keys {
            let existing = if self.requires_read() {
                let clusterings = targets.clusterings();
                let columns = self.columns_to_read();
                let (level, now) = (request.consistency, request.now_secs);
                Prefetched::read(cluster, context, level, &self.table, &key, &clusterings, columns, now).await?
            } else {
                Prefetched::default()
            };
            let partition = mutations.partition(&self.table, key);
            match &targets {
                Targets::Slices(slices) => {
                    for slice in slices {
                        self.apply_slice(partition, slice, &parameters)?;
                    }
                }
                Targets::Rows(rows) => {
                    for target in rows {
                        self.apply(partition, target, bind, &parameters, &existing)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Executes the statement on its own; conditional ones answer rows.
    ///
    /// # Errors
    /// Values that do not fit, consistency levels that writes do not have, and what the cluster refuses.
    pub async fn execute(
        &self,
        cluster: &Cluster,
        context: &RequestContext,
        clock: &PrependClock,
        bind: &Bind<'_>,
        request: &ModifyRequest,
    ) -> Result<Option<Rows>> {
        self.validate()?;
        self.check_writable(cluster)?;
        if self.has_conditions() {
            return self.execute_conditional(cluster, context, clock, bind, request).await.map(Some);
        }
        check_write_consistency(request.consistency, &self.table)?;
        let keys = self.keys(bind)?;
        let mut mutations = Mutations::new(context);
        self.write_into(cluster, context, clock, bind, request, keys, &mut mutations).await?;
        let mutations = mutations.finish();
        if mutations.is_empty() {
            return Ok(None);
        }
        let kind = match (self.table.is_counter(), mutations.len()) {
            (true, _) => WriteKind::Counter,
            (false, 1) => WriteKind::Simple,
            // Several partitions of one statement (IN on the key) are written side by side.
            (false, _) => WriteKind::UnloggedBatch,
        };
        cluster.write(context, request.consistency, kind, mutations).await?;
        Ok(None)
    }

    /// Tables that the node computes cannot be written.
    ///
    /// # Errors
    /// In Cassandra's words.
    pub fn check_writable(&self, cluster: &Cluster) -> Result<()> {
        ensure!(!self.is_virtual, "Modification is not supported by table {}", quoted_name(&self.table));
        if cluster.virtual_tables().contains(self.table.id)
            || matches!(&*self.table.keyspace, "system" | "system_schema" | "system_auth")
        {
            let text = format!("{} keyspace is not user-modifiable.", self.table.keyspace);
            return Err(QueryError::Unauthorized(text));
        }
        Ok(())
    }

    async fn execute_conditional(
        &self,
        cluster: &Cluster,
        context: &RequestContext,
        clock: &PrependClock,
        bind: &Bind<'_>,
        request: &ModifyRequest,
    ) -> Result<Rows> {
        // Upstream asks whether it is an UPDATE: an INSERT counts as a deletion here.
        let what = if self.form == StatementForm::Update { "updates" } else { "deletions" };
        let keys = self.keys(bind)?;
        ensure!(!self.restrictions.key_has_in(), "IN on the partition key is not supported with conditional {what}");
        ensure!(
            !self.restrictions.clustering_has_in(),
            "IN on the clustering key columns is not supported with conditional {what}"
        );
        let Some(key) = keys.into_iter().next() else {
            return Err(invalid!("Key may not be empty"));
        };
        let mut cas = CasRequest::new(Arc::clone(&self.table), key);
        cas.add(self, bind, request)?;
        cas.execute(cluster, context, clock, request, false).await
    }
}

enum JsonSource {
    Document(std::collections::BTreeMap<Box<str>, Option<helenus_data::Blob>>),
    Marker(usize),
}

/// Where a statement writes.
pub(super) enum Targets {
    Rows(Vec<Target>),
    Slices(Vec<Slice>),
}

impl Targets {
    fn is_empty(&self) -> bool {
        match self {
            Targets::Rows(rows) => rows.is_empty(),
            Targets::Slices(slices) => slices.is_empty(),
        }
    }

    fn clusterings(&self) -> Vec<Clustering> {
        match self {
            Targets::Slices(_) => Vec::new(),
            Targets::Rows(rows) => rows
                .iter()
                .filter_map(|target| match target {
                    Target::Static => None,
                    Target::Row(clustering) => Some(clustering.clone()),
                })
                .collect(),
        }
    }
}

/// The partitions that statements write into, in the order in which they were met.
pub(super) struct Mutations {
    schema_epoch: u64,
    entries: Vec<(Arc<Table>, Partition)>,
    by_key: BTreeMap<(TableId, PartitionKey), usize>,
}

impl Mutations {
    #[must_use]
    pub fn new(context: &RequestContext) -> Self {
        Self { schema_epoch: context.schema.epoch, entries: Vec::new(), by_key: BTreeMap::new() }
    }

    pub fn partition(&mut self, table: &Arc<Table>, key: PartitionKey) -> &mut Partition {
        let next = self.entries.len();
        let index = *self.by_key.entry((table.id, key.clone())).or_insert(next);
        if index == next {
            self.entries.push((Arc::clone(table), Partition::new(key)));
        }
        &mut self.entries[index].1
    }

    pub fn entries(&self) -> impl Iterator<Item = (&Arc<Table>, &Partition)> {
        self.entries.iter().map(|(table, partition)| (table, partition))
    }

    #[must_use]
    pub fn finish(self) -> Vec<Mutation> {
        let schema_epoch = self.schema_epoch;
        let changed = self.entries.into_iter().filter(|(_, partition)| !partition.is_empty());
        changed.map(|(table, partition)| Mutation { table: table.id, schema_epoch, partition }).collect()
    }
}

fn write_row(
    row: &mut helenus_data::Row,
    operations: &[Operation],
    bind: &Bind<'_>,
    parameters: &UpdateParameters<'_>,
) -> Result<()> {
    operations.iter().try_for_each(|operation| operation.apply(row, bind, parameters))
}

fn touches_only_statics(form: StatementForm, operations: &[Operation], conditions: &Conditions) -> bool {
    let statics = operations.iter().filter(|operation| operation.column.kind == ColumnKind::Static).count();
    let regular = statics < operations.len() || (form == StatementForm::Delete && statics == 0);
    !regular && !conditions.on_regular() && (0 < statics || conditions.on_static())
}

fn check_no_counter(table: &Table) -> Result<()> {
    ensure!(!table.is_counter(), "INSERT statements are not allowed on counter tables, use UPDATE instead");
    Ok(())
}

fn prepare_attributes(
    target: &PlanTarget<'_>,
    using: &helenus_cql::Using,
    markers: &mut Markers,
) -> Result<Attributes> {
    Attributes::prepare(&target.scope, &target.table.keyspace, &target.table.name, using, markers)
}

fn prepare_conditions(
    target: &PlanTarget<'_>,
    raw: &RawConditions,
    attributes: &Attributes,
    markers: &mut Markers,
) -> Result<Conditions> {
    let raws = match raw {
        RawConditions::None => return Ok(Conditions::None),
        RawConditions::IfExists => return Ok(Conditions::IfExists),
        RawConditions::If(raws) => raws,
    };
    ensure!(attributes.timestamp.is_none(), "Cannot provide custom timestamp for conditional updates");
    let (mut regular, mut statics) = (Vec::new(), Vec::new());
    for raw in raws {
        let column = existing_column(target.table, &raw.column as &Identifier)?;
        let condition = Condition::prepare(&target.scope, target.table, column, raw, markers)?;
        ensure!(!column.kind.is_primary_key(), "PRIMARY KEY column '{}' cannot have IF conditions", column.name);
        if column.kind == ColumnKind::Static {
            statics.push(condition);
        } else {
            regular.push(condition);
        }
    }
    Ok(Conditions::Columns { regular, statics })
}

/// Batches are not asked: theirs only decides how many replicas must answer.
///
/// # Errors
/// Levels that plain writes do not have.
fn check_write_consistency(consistency: Consistency, table: &Table) -> Result<()> {
    if table.is_counter() {
        ensure!(
            consistency != Consistency::Any,
            "Consistency level ANY is not yet supported for counter table {}",
            table.name
        );
        ensure!(!consistency.is_serial(), "Counter operations are inherently non-serializable");
    }
    ensure!(!consistency.is_serial(), "You must use conditional updates for serializable writes");
    Ok(())
}
