//! Execution of a select plan: stored rows become result rows, page by page.

use std::borrow::Cow;

use bytes::BytesMut;
use helenus_cluster::{Cluster, Consistency};
use helenus_data::read::{PartitionRows, ReadCommand, ReadLimits, ReadPosition, ReadTarget, RowFilter};
use helenus_data::{Direction, PartitionKey, Row, Side, Slice};
use helenus_protocol::Rows;
use helenus_protocol::primitives::write_value;
use helenus_schema::ColumnKind;
use helenus_storage::RequestContext;
use helenus_types::composite;

use crate::config::QueryConfig;
use crate::error::{QueryError, Result, ensure, invalid};
use crate::paging::PagingState;
use crate::restrictions::KeySelection;
use crate::select::cursor::Cursor;
use crate::select::grouping::{GroupIdentity, Grouping};
use crate::select::input::InputRow;
use crate::select::plan::SelectPlan;
use crate::select::selection::Selection;
use crate::select::selector::{Evaluation, Group};
use crate::select::tombstones::{self, StatementLimits};
use crate::terms::{Bind, Term, Value};

/// Rows that one read for an aggregate or an unpaged result may bring at once; Cassandra's page for aggregates.
const CHUNK_ROWS: u64 = 10_000;
/// A read stops after the row that makes its answer this large, so that a chunk of wide rows does not fill the memory.
const CHUNK_BYTES: usize = 1 << 20;

/// Rows read that need no grant of their own.
const FREE_CHUNK_BYTES: usize = 4 << 10;
/// Cells that need no grant of their own: the request's admission covers them.
const FREE_CELL_BYTES: usize = 2 << 10;
/// Memory is asked for in steps of so many cells' bytes.
const GRANT_BYTES: usize = 16 << 10;
/// A result is there twice for a moment: when its buffer grows, when it is encoded, when it is framed.
const CELL_COPIES: usize = 2;
/// Blobs become two digits a byte, other values less; a copy on the way.
const JSON_EXPANSION: usize = 4;
/// The longest message that drivers take is 256 MiB (`Frame.MAX_FRAME_LENGTH` of the Java driver); names of columns and a
/// paging state want a little of it.
const RESULT_BYTES_MAX: usize = 255 << 20;

/// What an execution is asked for, apart from the bound values.
pub struct SelectRequest<'r> {
    pub consistency: Consistency,
    /// Rows a page; `None` for all at once.
    pub page_size: Option<u32>,
    pub paging_state: Option<&'r [u8]>,
    pub now_secs: i64,
}

/// Computed values of one row, serialised.
type Values = Vec<Option<Vec<u8>>>;

#[derive(Clone, Copy)]
struct GroupLimits {
    page_size: Option<u32>,
    remaining: Option<u32>,
    per_partition: Option<u32>,
}

/// Collects encoded rows.
pub(crate) struct RowSink<'s> {
    selection: &'s Selection,
    context: &'s RequestContext,
    pub cells: BytesMut,
    pub row_count: u32,
    /// Cells may grow this long before memory for more is asked for.
    granted: usize,
}

impl<'s> RowSink<'s> {
    #[must_use]
    pub fn new(selection: &'s Selection, context: &'s RequestContext) -> Self {
        Self { selection, context, cells: BytesMut::new(), row_count: 0, granted: FREE_CELL_BYTES }
    }

    fn emit<'a>(&mut self, row: &InputRow<'a>, evaluation: &'a Evaluation<'a>) -> Result<()>
    where
        's: 'a,
    {
        if self.selection.is_json {
            let mut values = Vec::with_capacity(self.selection.selectors.len());
            for selector in &self.selection.selectors {
                values.push(selector.value(row, evaluation)?);
            }
            return self.emit_values(&values);
        }
        for selector in &self.selection.selectors {
            self.write(selector.value(row, evaluation)?.as_deref())?;
        }
        self.row_count += 1;
        Ok(())
    }

    /// A row whose values are computed already.
    pub fn emit_values<V: AsRef<[u8]>>(&mut self, values: &[Option<V>]) -> Result<()> {
        self.row_count += 1;
        if self.selection.is_json {
            let bytes: usize = values.iter().flatten().map(|value| value.as_ref().len()).sum();
            self.make_room(JSON_EXPANSION * bytes)?;
            return self.write(Some(json_row(self.selection, values).as_bytes()));
        }
        values.iter().try_for_each(|value| self.write(value.as_ref().map(AsRef::as_ref)))
    }

    fn write(&mut self, value: Option<&[u8]>) -> Result<()> {
        self.make_room(size_of::<i32>() + value.map_or(0, <[u8]>::len))?;
        write_value(&mut self.cells, value);
        Ok(())
    }

    /// Has memory granted for `bytes` more of cells before they are there.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        let needed = self.cells.len().saturating_add(bytes);
        if needed <= self.granted {
            return Ok(());
        }
        ensure!(
            needed <= RESULT_BYTES_MAX,
            "The result is larger than {} MiB, which is more than a message may hold; use paging or ask for less",
            RESULT_BYTES_MAX >> 20
        );
        let step = (needed - self.granted).max(GRANT_BYTES);
        grow_memory(self.context, CELL_COPIES * step)?;
        self.granted += step;
        Ok(())
    }

    fn finish(self) -> Rows {
        Rows::new(self.selection.metadata.clone(), self.row_count, self.cells.freeze())
    }
}

fn grow_memory(context: &RequestContext, bytes: usize) -> Result<()> {
    context.grow_memory(bytes as u64).map_err(|_| {
        let text = "The result needs more memory than the node can give to the request now; use paging or ask for less";
        QueryError::Overloaded(text.to_owned())
    })
}

/// `{"k": 1, "\"Name\"": null}`.
fn json_row<V: AsRef<[u8]>>(selection: &Selection, values: &[Option<V>]) -> String {
    let mut text = String::from("{");
    for (index, (column, value)) in selection.columns.iter().zip(values).enumerate() {
        if index != 0 {
            text.push_str(", ");
        }
        let name = if *column.name == *column.name.to_lowercase() {
            column.name.to_string()
        } else {
            format!("\"{}\"", column.name)
        };
        text.push_str(&serde_json::Value::String(name).to_string());
        text.push_str(": ");
        match value {
            None => text.push_str("null"),
            Some(bytes) => text.push_str(&column.ty.to_json(bytes.as_ref())),
        }
    }
    text.push('}');
    text
}

impl SelectPlan {
    /// # Errors
    /// Values that do not fit, a broken paging state, and what the cluster refuses.
    pub async fn execute(
        &self,
        cluster: &Cluster,
        context: &RequestContext,
        config: &QueryConfig,
        bind: &Bind<'_>,
        request: &SelectRequest<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Rows> {
        ensure!(request.consistency != Consistency::Any, "ANY ConsistencyLevel is only supported for writes");
        let limit = bind_limit(self.limit.as_ref(), bind)?;
        let per_partition = bind_limit(self.per_partition_limit.as_ref(), bind)?;
        let terms = self.bind_terms(bind)?;
        let evaluation = Evaluation { terms: &terms, functions: bind.functions() };
        let row_limit = if self.ordering.is_some() { None } else { limit };
        let page_size = request.page_size.filter(|size| 0 < *size);
        let (template, keys) = self.read_command(bind, request.now_secs, per_partition)?;
        let reads_nothing = match &keys {
            KeySelection::Keys(keys) => keys.is_empty(),
            KeySelection::Range(_) => false,
            KeySelection::Nothing => true,
        };
        let is_paged = self.grouping.is_some()
            || (!reads_nothing && page_size.is_some_and(|size| row_limit.is_none_or(|limit| size < limit)));
        if is_paged {
            self.warn_of_aggregation(warnings);
            ensure!(
                page_size.is_none() || self.ordering.is_none(),
                "Cannot page queries with both ORDER BY and a IN restriction on the partition key; you must either remove \
                 the ORDER BY or the IN and sort client side, or disable paging for this query"
            );
        }
        if request.consistency.is_serial()
            && let KeySelection::Keys(keys) = &keys
        {
            ensure!(
                keys.len() <= 1,
                "SERIAL/LOCAL_SERIAL consistency may only be requested for one partition at a time"
            );
        }
        let state = match request.paging_state.filter(|_| is_paged) {
            None => None,
            Some(bytes) => Some(PagingState::decode(bytes, self.statement_hash, self.table.clustering_types())?),
        };
        let remaining = match &state {
            Some(state) if limit.is_some() => state.remaining,
            _ => row_limit,
        };
        let resumed = state.as_ref().map(|state| state.position.clone());
        let mut reading = Reading {
            plan: self,
            cluster,
            context,
            consistency: request.consistency,
            cursor: Cursor::new(template, keys, self.table.clustering().is_empty(), state.map(|state| state.position)),
            evaluation: &evaluation,
            now_secs: request.now_secs,
            tombstones_max: config.tombstone_warn_threshold,
            limits: self.limits(page_size, remaining, per_partition),
            warnings: Vec::new(),
            chunk_bytes: 0,
        };
        let mut rows = match &self.grouping {
            Some(Grouping::Everything) => reading.everything().await?,
            Some(grouping) => {
                // Upstream's pager counts no groups in partitions of one row, so that all of them come on one page.
                let page_size = page_size.filter(|_| !self.names_whole_partitions());
                let limits = GroupLimits { page_size, remaining, per_partition };
                reading.groups(grouping, limits, resumed).await?
            }
            None if self.ordering.is_some() => reading.sorted(limit).await?,
            None => reading.plain(page_size.filter(|_| is_paged), remaining).await?,
        };
        warnings.append(&mut reading.warnings);
        if !is_paged {
            rows.paging_state = None;
        }
        Ok(rows)
    }

    fn limits(&self, page_size: Option<u32>, limit: Option<u32>, per_partition: Option<u32>) -> StatementLimits {
        let smaller = limit.into_iter().chain(page_size).min();
        match &self.grouping {
            None if self.is_distinct => StatementLimits::Rows { rows: smaller, per_partition: Some(1) },
            None => StatementLimits::Rows { rows: smaller, per_partition },
            Some(Grouping::Everything) => StatementLimits::Everything { page_size },
            Some(_) => StatementLimits::Groups { groups: smaller, per_partition, page_size },
        }
    }

    fn names_whole_partitions(&self) -> bool {
        self.table.clustering().is_empty() && !self.restrictions.is_key_range()
    }

    fn warn_of_aggregation(&self, warnings: &mut Vec<String>) {
        if self.grouping.is_none() {
            return;
        }
        if !self.restrictions.has_key_restrictions() {
            warnings.push("Aggregation query used without partition key".to_owned());
        } else if self.restrictions.key_has_in() {
            warnings.push("Aggregation query used on multiple partition keys (IN restriction)".to_owned());
        }
    }

    fn bind_terms<'b>(&'b self, bind: &'b Bind<'_>) -> Result<Vec<Value<'b>>> {
        self.selection
            .terms
            .iter()
            .map(|selected| {
                let value = selected.term.bind(bind)?;
                if let Some(what) = &selected.required_for {
                    ensure!(!value.is_null(), "Invalid null value for {what}");
                    ensure!(!value.is_unset() || what.starts_with("slice"), "Invalid unset value for {what}");
                }
                Ok(value)
            })
            .collect()
    }

    /// What to read. Values are looked at in upstream's order: of filters first, then of named keys, then of clusterings;
    /// keys that name nothing end it.
    fn read_command(
        &self,
        bind: &Bind<'_>,
        now_secs: i64,
        per_partition: Option<u32>,
    ) -> Result<(ReadCommand, KeySelection)> {
        let rows_per_partition = match (self.is_distinct, &self.grouping, per_partition) {
            (true, ..) => 1,
            (false, None, Some(limit)) => u64::from(limit),
            _ => u64::MAX,
        };
        let mut command = ReadCommand {
            table: self.table.id,
            target: ReadTarget::Partition(PartitionKey::new(&[])), // Replaced by the cursor.
            slices: Vec::new(),
            direction: self.direction,
            columns: self.columns.clone(),
            filter: RowFilter::default(),
            limits: ReadLimits {
                rows_per_partition,
                static_only_counts: self.restrictions.static_content_counts(),
                ..ReadLimits::NONE
            },
            now_secs,
            resume: None,
        };
        command.filter = self.restrictions.row_filter(bind)?;
        let named = if self.restrictions.is_key_range() { None } else { Some(self.restrictions.values_of_keys(bind)?) };
        if matches!(&named, Some(Ok(KeySelection::Keys(keys))) if keys.is_empty()) {
            return Ok((command, KeySelection::Nothing));
        }
        command.slices = if self.is_distinct { vec![Slice::all()] } else { self.restrictions.slices(bind)? };
        if command.slices.is_empty() {
            // Restricted clusterings of which none is left give nothing, and static content does not count then. Only where
            // it is asked for, upstream comes to look at the keys.
            let selects_static = self.selection.fetched.iter().any(|column| column.kind == ColumnKind::Static);
            if selects_static {
                named.unwrap_or_else(|| self.restrictions.keys(bind))?;
            }
            return Ok((command, KeySelection::Nothing));
        }
        let keys = match named {
            Some(keys) => keys?,
            None => self.restrictions.keys(bind)?,
        };
        Ok((command, keys))
    }
}

fn bind_limit(limit: Option<&Term>, bind: &Bind<'_>) -> Result<Option<u32>> {
    let Some(limit) = limit else { return Ok(None) };
    let bytes = match limit.bind(bind)? {
        Value::Unset => return Ok(None),
        Value::Null => return Err(invalid!("Invalid null value of limit")),
        Value::Bytes(bytes) => bytes,
    };
    let limit = helenus_types::value::decode_int(&bytes).ok_or_else(|| invalid!("Invalid limit value"))?;
    let positive = u32::try_from(limit).ok().filter(|limit| 0 < *limit);
    positive.map(Some).ok_or_else(|| invalid!("LIMIT must be strictly positive"))
}

/// One execution on its way.
struct Reading<'r> {
    plan: &'r SelectPlan,
    cluster: &'r Cluster,
    context: &'r RequestContext,
    consistency: Consistency,
    cursor: Cursor,
    evaluation: &'r Evaluation<'r>,
    now_secs: i64,
    tombstones_max: u64,
    /// As warnings of tombstones tell them.
    limits: StatementLimits,
    warnings: Vec<String>,
    /// Granted for the chunk that was read last, which is gone when the next one is asked for.
    chunk_bytes: usize,
}

impl<'r> Reading<'r> {
    async fn chunk(&mut self, rows: u64) -> Result<Option<Vec<PartitionRows>>> {
        self.context.shrink_memory(std::mem::take(&mut self.chunk_bytes) as u64);
        let read = self.cursor.next(self.cluster, self.context, self.consistency, rows, CHUNK_BYTES).await?;
        let Some((command, result)) = read else { return Ok(None) };
        if self.tombstones_max < result.stats.tombstones {
            self.warnings.push(tombstones::warning(
                &self.plan.table,
                &self.plan.selection,
                &command,
                self.limits,
                &result,
            ));
        }
        let bytes: usize = result.partitions.iter().map(partition_bytes).sum();
        if FREE_CHUNK_BYTES < bytes {
            grow_memory(self.context, bytes)?;
            self.chunk_bytes = bytes;
        }
        Ok(Some(result.partitions))
    }

    fn state(&self, position: ReadPosition, remaining: Option<u32>) -> bytes::Bytes {
        PagingState { statement_hash: self.plan.statement_hash, remaining, position }.encode()
    }

    /// Rows as they are read.
    async fn plain(&mut self, page_size: Option<u32>, remaining: Option<u32>) -> Result<Rows> {
        let wanted = page_size.into_iter().chain(remaining).min().map_or(u64::MAX, u64::from);
        let mut sink = RowSink::new(&self.plan.selection, self.context);
        while u64::from(sink.row_count) < wanted {
            let left = wanted - u64::from(sink.row_count);
            let Some(partitions) = self.chunk(left).await? else { break };
            let evaluation = self.evaluation;
            for partition in &partitions {
                each_row(self.plan, partition, self.now_secs, |row, _| sink.emit(row, evaluation))?;
            }
        }
        let remaining = remaining.map(|remaining| remaining.saturating_sub(sink.row_count));
        let position = self.cursor.position().filter(|_| remaining != Some(0));
        let mut rows = sink.finish();
        rows.paging_state = position.map(|position| self.state(position, remaining));
        Ok(rows)
    }

    /// All rows, sorted afterwards.
    async fn sorted(&mut self, limit: Option<u32>) -> Result<Rows> {
        let plan = self.plan;
        let Some(ordering) = &plan.ordering else { return self.plain(None, limit).await };
        let mut sorted: Vec<(Values, Values)> = Vec::new();
        let mut granted = 0;
        while let Some(partitions) = self.chunk(CHUNK_ROWS).await? {
            let evaluation = self.evaluation;
            for partition in &partitions {
                each_row(plan, partition, self.now_secs, |row, _| {
                    let key: Values =
                        ordering.columns.iter().map(|index| row.value(*index).map(Cow::into_owned)).collect();
                    let mut values = Vec::with_capacity(plan.selection.selectors.len());
                    for selector in &plan.selection.selectors {
                        values.push(selector.value(row, evaluation)?.map(Cow::into_owned));
                    }
                    let bytes = values_bytes(&key) + values_bytes(&values);
                    if granted < bytes {
                        grow_memory(self.context, GRANT_BYTES.max(bytes))?;
                        granted += GRANT_BYTES.max(bytes);
                    }
                    granted -= bytes;
                    sorted.push((key, values));
                    Ok(())
                })?;
            }
        }
        sorted.sort_by(|(a, _), (b, _)| ordering.compare(&plan.selection.fetched, a, b));
        let mut sink = RowSink::new(&plan.selection, self.context);
        let count = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        sorted.iter().take(count).try_for_each(|(_, values)| sink.emit_values(values))?;
        Ok(sink.finish())
    }

    /// One row for all rows.
    async fn everything(&mut self) -> Result<Rows> {
        let plan = self.plan;
        let mut group = Group::new(&plan.selection.selectors);
        while let Some(partitions) = self.chunk(CHUNK_ROWS).await? {
            let evaluation = self.evaluation;
            for partition in &partitions {
                each_row(plan, partition, self.now_secs, |row, _| group.add(row, evaluation))?;
            }
        }
        let mut sink = RowSink::new(&plan.selection, self.context);
        sink.emit_values(&group.output(self.evaluation)?)?;
        Ok(sink.finish())
    }

    /// A row a group, at most a page of them.
    async fn groups(
        &mut self,
        grouping: &Grouping,
        limits: GroupLimits,
        resumed: Option<ReadPosition>,
    ) -> Result<Rows> {
        let GroupLimits { page_size, remaining, per_partition } = limits;
        let plan = self.plan;
        let wanted = page_size.into_iter().chain(remaining).min().unwrap_or(u32::MAX);
        let mut sink = RowSink::new(&plan.selection, self.context);
        let mut current: Option<(GroupIdentity, Group<'_>)> = None;
        // A position counts the groups of its partition here, not the rows.
        let (mut last_key, mut groups_in_partition) = match resumed {
            Some(position) if position.after.is_some() => {
                (position.key.bytes().to_vec(), u32::try_from(position.rows_in_partition).unwrap_or(u32::MAX))
            }
            _ => (Vec::new(), 0),
        };
        // After the last row of the last group that was completed.
        let mut end_of_group: Option<ReadPosition> = None;
        let mut is_full = false;
        'reading: while let Some(partitions) = self.chunk(CHUNK_ROWS).await? {
            let evaluation = self.evaluation;
            for partition in &partitions {
                let done = each_row_until(plan, partition, self.now_secs, |input, row| {
                    let identity = grouping.identity(&partition.key, row, input, evaluation)?;
                    let is_same =
                        current.as_ref().is_some_and(|(known, _)| grouping.is_same(&plan.table, known, &identity));
                    if !is_same {
                        let is_new_partition = last_key != identity.key;
                        if let Some((_, group)) = current.take().filter(|(_, group)| !group.is_empty()) {
                            sink.emit_values(&group.output(evaluation)?)?;
                        }
                        if wanted <= sink.row_count {
                            return Ok(true);
                        }
                        if is_new_partition {
                            groups_in_partition = 0;
                            last_key.clone_from(&identity.key);
                        }
                        groups_in_partition += 1;
                        current = Some((identity, Group::new(&plan.selection.selectors)));
                    }
                    let is_allowed = per_partition.is_none_or(|limit| groups_in_partition <= limit);
                    if let (true, Some((_, group))) = (is_allowed, &mut current) {
                        group.add(input, evaluation)?;
                    }
                    let groups = u64::from(groups_in_partition);
                    end_of_group = Some(position_after(plan.direction, &partition.key, row, groups));
                    Ok(false)
                })?;
                if done {
                    is_full = true;
                    break 'reading;
                }
            }
        }
        if !is_full && let Some((_, group)) = current.filter(|(_, group)| !group.is_empty()) {
            sink.emit_values(&group.output(self.evaluation)?)?;
        }
        let remaining = remaining.map(|remaining| remaining.saturating_sub(sink.row_count));
        // A full page may be the last one: the next one is empty then.
        is_full |= page_size == Some(sink.row_count);
        let is_static_only = end_of_group.as_ref().is_some_and(|position| position.after.is_none());
        let has_all = self.cursor.is_at_last_key()
            && (is_static_only || per_partition.is_some_and(|limit| limit <= groups_in_partition));
        let goes_on = is_full && page_size.is_some() && remaining != Some(0) && !has_all;
        let mut rows = sink.finish();
        rows.paging_state = end_of_group.filter(|_| goes_on).map(|position| self.state(position, remaining));
        Ok(rows)
    }
}

/// About what a partition's rows take of the memory. Cells that were never copied out of a memtable count, too.
fn partition_bytes(partition: &PartitionRows) -> usize {
    let rows = partition.static_row.iter().chain(&partition.rows);
    rows.map(|row| size_of::<Row>() + row.heap_bytes()).sum()
}

fn values_bytes(values: &Values) -> usize {
    values.iter().map(|value| size_of::<Option<Vec<u8>>>() + value.as_ref().map_or(0, Vec::len)).sum()
}

fn position_after(direction: Direction, key: &PartitionKey, row: Option<&Row>, rows_in_partition: u64) -> ReadPosition {
    let edge = match direction {
        Direction::Forward => Side::After,
        Direction::Reversed => Side::Before,
    };
    ReadPosition { key: key.clone(), after: row.map(|row| row.clustering.as_bound(edge)), rows_in_partition }
}

/// Calls `visit` with every row of a partition as selectors see it; a partition of static content alone is one row.
fn each_row<'p>(
    plan: &'p SelectPlan,
    partition: &'p PartitionRows,
    now_secs: i64,
    mut visit: impl for<'a> FnMut(&InputRow<'a>, Option<&'p Row>) -> Result<()>,
) -> Result<()> {
    each_row_until(plan, partition, now_secs, |input, row| visit(input, row).map(|()| false)).map(drop)
}

/// As [`each_row`], until `visit` answers true; answers whether it did.
fn each_row_until<'p>(
    plan: &'p SelectPlan,
    partition: &'p PartitionRows,
    now_secs: i64,
    mut visit: impl for<'a> FnMut(&InputRow<'a>, Option<&'p Row>) -> Result<bool>,
) -> Result<bool> {
    let key = composite::split_partition_key(partition.key.bytes(), plan.table.partition_key().len())
        .map_err(|error| QueryError::Server(error.to_string()))?;
    let input = InputRow {
        columns: &plan.selection.fetched,
        key: &key,
        static_row: partition.static_row.as_ref(),
        row: None,
        now_secs,
    };
    if partition.rows.is_empty() {
        return visit(&input, None);
    }
    for row in &partition.rows {
        if visit(&InputRow { row: Some(row), ..input }, Some(row))? {
            return Ok(true);
        }
    }
    Ok(false)
}
