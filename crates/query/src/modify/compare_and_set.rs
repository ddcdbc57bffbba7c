//! Conditional writes: what is read, which conditions must hold, what is written when they do, what is answered.
//!
//! Source: Cassandra 5.0, `cql3.statements.CQL3CasRequest`, `ModificationStatement.buildCasResultSet`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::BytesMut;
use helenus_cluster::{Cluster, CompareAndSet, Consistency, Decision};
use helenus_data::read::{ColumnSelection, PartitionRows, ReadResult};
use helenus_data::{Clustering, ColumnId, Mutation, Partition, PartitionKey, Row, Slice};
use helenus_protocol::primitives::write_value;
use helenus_protocol::{ColumnSpec, ResultMetadata, Rows};
use helenus_schema::{Column, Table};
use helenus_storage::RequestContext;
use helenus_types::{CqlType, composite};

use crate::error::{QueryError, Result, ensure, invalid};
use crate::modify::ModifyRequest;
use crate::modify::condition::{BoundCondition, Condition};
use crate::modify::plan::{Conditions, ModifyPlan, Targets};
use crate::modify::prefetch::{Prefetched, row_command};
use crate::modify::update::{PrependClock, UpdateParameters};
use crate::select::{FetchedColumn, InputRow};
use crate::terms::Bind;

/// A row, or the static part of a partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    Static,
    Row(Clustering),
}

enum RowCondition {
    Exists,
    NotExists,
    Columns(Vec<BoundCondition>),
}

struct RowUpdate<'c> {
    target: Target,
    plan: &'c ModifyPlan,
    bind: &'c Bind<'c>,
}

struct RangeDeletion<'c> {
    slice: Slice,
    plan: &'c ModifyPlan,
    bind: &'c Bind<'c>,
}

/// The conditional statements of one partition.
pub struct CasRequest<'c> {
    table: Arc<Table>,
    key: PartitionKey,
    conditions: BTreeMap<Target, RowCondition>,
    updates: Vec<RowUpdate<'c>>,
    range_deletions: Vec<RangeDeletion<'c>>,
    /// Columns that the answer shows when nothing was applied; `None` for all.
    shown: Option<Vec<Column>>,
    /// Statements write regular columns: all of them are looked at, else those of conditions only.
    writes_regulars: bool,
    /// The same of static columns.
    writes_statics: bool,
    condition_columns: Vec<ColumnId>,
    now_secs: i64,
}

impl<'c> CasRequest<'c> {
    #[must_use]
    pub fn new(table: Arc<Table>, key: PartitionKey) -> Self {
        Self {
            table,
            key,
            conditions: BTreeMap::new(),
            updates: Vec::new(),
            range_deletions: Vec::new(),
            shown: Some(Vec::new()),
            writes_regulars: false,
            writes_statics: false,
            condition_columns: Vec::new(),
            now_secs: 0,
        }
    }

    #[must_use]
    pub fn key(&self) -> &PartitionKey {
        &self.key
    }

    /// Adds a statement of this partition, conditional or not.
    ///
    /// # Errors
    /// Conditions that contradict those of the same row.
    pub fn add(&mut self, plan: &'c ModifyPlan, bind: &'c Bind<'c>, request: &ModifyRequest) -> Result<()> {
        self.now_secs = request.now_secs;
        self.writes_regulars |= plan.updates_rows();
        self.writes_statics |= !plan.statics.is_empty();
        if let Conditions::Columns { regular, statics } = &plan.conditions {
            self.condition_columns.extend(regular.iter().chain(statics).map(|condition| condition.column.id));
        }
        let targets = match plan.targets(bind)? {
            Targets::Slices(slices) => {
                for slice in slices {
                    self.range_deletions.push(RangeDeletion { slice, plan, bind });
                }
                return Ok(());
            }
            Targets::Rows(targets) => targets,
        };
        for target in targets {
            self.add_conditions(plan, bind, &target)?;
            self.updates.push(RowUpdate { target, plan, bind });
        }
        Ok(())
    }

    fn add_conditions(&mut self, plan: &ModifyPlan, bind: &Bind<'_>, target: &Target) -> Result<()> {
        match &plan.conditions {
            Conditions::None => Ok(()),
            Conditions::IfExists => self.add_existence(target, true),
            Conditions::IfNotExists => self.add_existence(target, false),
            Conditions::Columns { regular, statics } => {
                if let Some(shown) = &mut self.shown {
                    shown.extend(regular.iter().chain(statics).map(|condition| condition.column.clone()));
                }
                if !regular.is_empty() {
                    self.add_columns(target.clone(), regular, bind)?;
                }
                if !statics.is_empty() {
                    self.add_columns(Target::Static, statics, bind)?;
                }
                Ok(())
            }
        }
    }

    fn add_existence(&mut self, target: &Target, exists: bool) -> Result<()> {
        self.shown = None;
        let condition = if exists { RowCondition::Exists } else { RowCondition::NotExists };
        match self.conditions.get(target) {
            None => {
                self.conditions.insert(target.clone(), condition);
                Ok(())
            }
            Some(RowCondition::Exists) if exists => Ok(()),
            Some(RowCondition::NotExists) if !exists => Ok(()),
            Some(RowCondition::Exists | RowCondition::NotExists) => {
                Err(invalid!("Cannot mix IF EXISTS and IF NOT EXISTS conditions for the same row"))
            }
            Some(RowCondition::Columns(_)) => Err(invalid!(
                "Cannot mix IF conditions and IF {}EXISTS for the same row",
                if exists { "" } else { "NOT " }
            )),
        }
    }

    fn add_columns(&mut self, target: Target, conditions: &[Condition], bind: &Bind<'_>) -> Result<()> {
        let bound = conditions.iter().map(|condition| condition.bind(bind)).collect::<Result<Vec<_>>>()?;
        match self.conditions.entry(target).or_insert_with(|| RowCondition::Columns(Vec::new())) {
            RowCondition::Columns(existing) => {
                existing.extend(bound);
                existing.sort_by_key(BoundCondition::rank);
                Ok(())
            }
            RowCondition::Exists | RowCondition::NotExists => {
                Err(invalid!("Cannot mix IF conditions and IF NOT EXISTS for the same row"))
            }
        }
    }

    /// Reads, decides and writes; answers `[applied]` and, when it was not, what stood in the way.
    ///
    /// # Errors
    /// Consistency levels that conditional writes do not have, and what the cluster refuses.
    pub async fn execute(
        self,
        cluster: &Cluster,
        context: &RequestContext,
        clock: &PrependClock,
        request: &ModifyRequest,
        is_batch: bool,
    ) -> Result<Rows> {
        ensure!(
            request.serial_consistency.is_serial(),
            "Invalid consistency for conditional update. Must be one of SERIAL or LOCAL_SERIAL"
        );
        ensure!(
            !request.consistency.is_serial(),
            "{} is not supported as conditional update commit consistency. Use ANY if you mean \"make sure it is accepted but I \
             don't care how many replicas commit it for non-SERIAL reads\"",
            request.consistency
        );
        let keyspace = context.schema.keyspace(&self.table.keyspace);
        let class = keyspace.and_then(|keyspace| keyspace.params.replication.get("class"));
        if request.consistency == Consistency::EachQuorum
            && let Some(class) = class.filter(|class| !class.ends_with("NetworkTopologyStrategy"))
        {
            return Err(invalid!("consistency level EACH_QUORUM not compatible with replication strategy ({class})"));
        }
        let clusterings: Vec<Clustering> = self
            .conditions
            .keys()
            .filter_map(|target| match target {
                Target::Static => None,
                Target::Row(clustering) => Some(clustering.clone()),
            })
            .collect();
        let command = row_command(&self.table, &self.key, &clusterings, ColumnSelection::All, self.now_secs);
        let terms = CompareAndSet {
            serial: request.serial_consistency,
            commit: request.consistency,
            contention: request.contention,
        };
        cluster
            .compare_and_set(context, terms, command, |current, timestamp| {
                self.decide(current, timestamp, context, clock, is_batch)
            })
            .await
    }

    fn decide(
        &self,
        current: &ReadResult,
        timestamp: i64,
        context: &RequestContext,
        clock: &PrependClock,
        is_batch: bool,
    ) -> Result<Decision<Rows>> {
        let found = current.partitions.first().and_then(|found| self.visible(found));
        let found = found.as_ref();
        for (target, condition) in &self.conditions {
            let row = match target {
                Target::Static => found.and_then(|found| found.static_row.as_ref()),
                Target::Row(clustering) => {
                    found.and_then(|found| found.rows.iter().find(|row| row.clustering == *clustering))
                }
            };
            let holds = match condition {
                RowCondition::Exists => row.is_some(),
                RowCondition::NotExists => row.is_none(),
                RowCondition::Columns(conditions) => {
                    // The first that does not hold decides; an impossible comparison behind it is not refused.
                    conditions
                        .iter()
                        .try_fold(true, |so_far, condition| Ok::<_, QueryError>(so_far && condition.holds(row)?))?
                }
            };
            if !holds {
                return Ok(Decision::Reject(self.refusal(found, is_batch)?));
            }
        }
        let existing = Prefetched::of(current.clone());
        let mut partition = Partition::new(self.key.clone());
        for update in &self.updates {
            let parameters = self.parameters(update.plan, update.bind, timestamp, clock)?;
            update.plan.apply(&mut partition, &update.target, update.bind, &parameters, &existing)?;
        }
        for deletion in &self.range_deletions {
            let parameters = self.parameters(deletion.plan, deletion.bind, timestamp, clock)?;
            deletion.plan.apply_slice(&mut partition, &deletion.slice, &parameters)?;
        }
        let mutation = Mutation { table: self.table.id, schema_epoch: context.schema.epoch, partition };
        let mutations = if mutation.partition.is_empty() { Vec::new() } else { vec![mutation] };
        Ok(Decision::Apply(mutations, applied_rows(&self.table, true)))
    }

    /// What conditional writes look at: rows that consist of other columns do not exist for them.
    fn visible(&self, found: &PartitionRows) -> Option<PartitionRows> {
        let mut found = found.clone();
        let is_condition = |id: ColumnId| self.condition_columns.contains(&id);
        if !self.writes_statics {
            found.static_row = found.static_row.filter(|row| row.columns.iter().any(|column| is_condition(column.id)));
            if let Some(row) = &mut found.static_row {
                row.columns.retain(|column| is_condition(column.id));
            }
        }
        if !self.writes_regulars {
            found.rows.iter_mut().for_each(|row| row.columns.retain(|column| is_condition(column.id)));
        }
        (found.static_row.is_some() || !found.rows.is_empty()).then_some(found)
    }

    fn parameters<'p>(
        &self,
        plan: &ModifyPlan,
        bind: &'p Bind<'_>,
        timestamp: i64,
        clock: &'p PrependClock,
    ) -> Result<UpdateParameters<'p>> {
        Ok(UpdateParameters {
            env: bind.env,
            prepend_clock: clock,
            timestamp,
            ttl: plan.attributes.bind_ttl(&self.table, self.now_secs, bind)?,
            now_secs: self.now_secs,
            existing: None,
        })
    }

    /// `[applied]` false, and the rows that were read.
    fn refusal(&self, found: Option<&PartitionRows>, is_batch: bool) -> Result<Rows> {
        let Some(found) = found else { return Ok(applied_rows(&self.table, false)) };
        let columns = self.shown_columns(is_batch);
        let mut specs = vec![applied_spec(&self.table)];
        specs.extend(columns.iter().map(|column| ColumnSpec {
            keyspace: (*self.table.keyspace).into(),
            table: (*self.table.name).into(),
            name: (*column.name).into(),
            ty: column.ty.clone(),
        }));
        let fetched: Vec<FetchedColumn> = columns.iter().map(FetchedColumn::new).collect();
        let key = composite::split_partition_key(found.key.bytes(), self.table.partition_key().len())?;
        let input = InputRow {
            columns: &fetched,
            key: &key,
            static_row: found.static_row.as_ref(),
            row: None,
            now_secs: self.now_secs,
        };
        let mut cells = BytesMut::new();
        let mut row_count = 0;
        let mut emit = |row: Option<&Row>| {
            let input = InputRow { row, ..input };
            write_value(&mut cells, Some(&[0]));
            for index in 0..fetched.len() {
                let value: Option<Cow<'_, [u8]>> = input.value(index);
                write_value(&mut cells, value.as_deref());
            }
            row_count += 1;
        };
        if found.rows.is_empty() {
            emit(None);
        } else {
            found.rows.iter().for_each(|row| emit(Some(row)));
        }
        Ok(Rows::new(Arc::new(ResultMetadata::new(specs)), row_count, cells.freeze()))
    }

    fn shown_columns(&self, is_batch: bool) -> Vec<Column> {
        let Some(shown) = &self.shown else { return self.table.columns().to_vec() };
        let key = self.table.partition_key().iter().chain(self.table.clustering()).filter(|_| is_batch);
        let mut columns: Vec<Column> = Vec::new();
        for column in key.chain(shown) {
            if columns.iter().all(|known| known.id != column.id) {
                columns.push(column.clone());
            }
        }
        columns
    }
}

fn applied_spec(table: &Table) -> ColumnSpec {
    ColumnSpec {
        keyspace: (*table.keyspace).into(),
        table: (*table.name).into(),
        name: "[applied]".into(),
        ty: CqlType::Boolean,
    }
}

/// One row with `[applied]` alone.
#[must_use]
pub fn applied_rows(table: &Table, applied: bool) -> Rows {
    let metadata = Arc::new(ResultMetadata::new(vec![applied_spec(table)]));
    Rows::from_cells(metadata, [[Some(&[u8::from(applied)][..])]])
}
