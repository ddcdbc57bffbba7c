//! Select plan: a SELECT checked as a whole, ready to be executed many times.
//!
//! Source: Cassandra 5.0, `cql3.statements.SelectStatement.RawStatement`.

use std::sync::Arc;

use helenus_cql::{Identifier, Select, SelectColumn, Term as RawTerm};
use helenus_data::Direction;
use helenus_data::read::ColumnSelection;
use helenus_schema::{ColumnKind, Table};
use helenus_types::CqlType;

use crate::error::{Result, ensure};
use crate::restrictions::{REQUIRES_ALLOW_FILTERING, RestrictionInput, Restrictions, StatementForm};
use crate::select::grouping::Grouping;
use crate::select::ordering::{OrderedColumn, PostOrdering, direction, prepare_orderings};
use crate::select::selectable::Selectable;
use crate::select::selection::Selection;
use crate::terms::{Markers, Receiver, Scope, Term, prepare};

#[derive(Debug)]
pub struct SelectPlan {
    pub table: Arc<Table>,
    pub selection: Selection,
    pub(super) restrictions: Restrictions,
    pub(super) is_distinct: bool,
    pub(super) limit: Option<Term>,
    pub(super) per_partition_limit: Option<Term>,
    pub(super) direction: Direction,
    pub(super) grouping: Option<Grouping>,
    pub(super) ordering: Option<PostOrdering>,
    pub(super) columns: ColumnSelection,
    pub(super) statement_hash: u64,
}

impl SelectPlan {
    /// Whether it walks a token range and not named partitions.
    #[must_use]
    pub fn is_range(&self) -> bool {
        self.restrictions.is_key_range()
    }

    /// # Errors
    /// Everything that a SELECT may ask wrong, in Cassandra's order and words.
    pub fn prepare(
        scope: &Scope<'_>,
        table: &Arc<Table>,
        is_virtual: bool,
        select: &Select,
        text: &str,
        markers: &mut Markers,
    ) -> Result<Self> {
        // Upstream prepares what is selected whenever it looks at it, so that mistakes in the WHERE clause come first.
        let only_statics = selects_only_statics(scope, table, &select.columns)?;
        let (ordered, nearest) = prepare_orderings(table, &select.order_by)?;
        let input = RestrictionInput {
            form: StatementForm::Select,
            table,
            relations: &select.relations,
            only_statics,
            allow_filtering: select.allow_filtering,
            is_virtual,
            nearest_neighbours_of: nearest.as_ref(),
        };
        let restrictions = Restrictions::prepare(scope, &input, markers)?;
        let mut selection = if select.columns.is_empty() {
            Selection::wildcard(table, select.json)
        } else {
            let selected = select.columns.iter().map(|column| {
                let selectable = Selectable::prepare(scope, table, &column.selector)?;
                Ok((selectable, column.alias.as_ref().map(Identifier::as_str)))
            });
            Selection::prepare(scope, table, selected, select.json, markers)?
        };
        if restrictions.key_has_in() {
            for entry in &ordered {
                let _ = selection.fetch(&entry.column);
            }
        }
        if select.distinct {
            ensure!(
                select.per_partition_limit.is_none(),
                "PER PARTITION LIMIT is not allowed with SELECT DISTINCT queries"
            );
            check_distinct(table, &selection, &restrictions)?;
        }
        let grouping = if !select.group_by.is_empty() {
            Some(Grouping::prepare(scope, table, &select.group_by, &restrictions, select.distinct, markers)?)
        } else {
            selection.is_aggregate.then_some(Grouping::Everything)
        };
        ensure!(
            !(matches!(grouping, Some(Grouping::Everything)) && select.per_partition_limit.is_some()),
            "PER PARTITION LIMIT is not allowed with aggregate queries."
        );
        let (direction, ordering) = order(table, &ordered, &restrictions, &mut selection)?;
        if !select.allow_filtering && !is_virtual && restrictions.is_key_range() {
            ensure!(!restrictions.needs_filtering(), "{REQUIRES_ALLOW_FILTERING}");
        }
        let limit = prepare_limit(scope, table, select.limit.as_ref(), "[limit]", markers)?;
        let per_partition_limit =
            prepare_limit(scope, table, select.per_partition_limit.as_ref(), "[per_partition_limit]", markers)?;
        let columns = stored_columns(&selection);
        Ok(Self {
            statement_hash: statement_hash(table, text),
            table: Arc::clone(table),
            restrictions,
            is_distinct: select.distinct,
            limit,
            per_partition_limit,
            direction,
            grouping,
            ordering,
            columns,
            selection,
        })
    }
}

fn selects_only_statics(scope: &Scope<'_>, table: &Table, columns: &[SelectColumn]) -> Result<bool> {
    if !table.has_statics() {
        return Ok(false);
    }
    let selects = |wanted: fn(ColumnKind) -> bool| -> Result<bool> {
        for column in columns {
            if Selectable::prepare(scope, table, &column.selector)?.selects(wanted) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let is_static = |kind| kind == ColumnKind::Static;
    let is_row = |kind| matches!(kind, ColumnKind::Clustering { .. } | ColumnKind::Regular);
    Ok(selects(is_static)? && !selects(is_row)?)
}

fn check_distinct(table: &Table, selection: &Selection, restrictions: &Restrictions) -> Result<()> {
    let only_statics = restrictions.other_columns().all(|column| column.kind == ColumnKind::Static);
    ensure!(
        !restrictions.has_clustering_restrictions() && only_statics,
        "SELECT DISTINCT with WHERE clause only supports restriction by partition key and/or static columns."
    );
    for column in &selection.fetched {
        ensure!(
            matches!(column.kind, ColumnKind::PartitionKey { .. } | ColumnKind::Static),
            "SELECT DISTINCT queries must only request partition key columns and/or static columns (not {})",
            column.name
        );
    }
    if !restrictions.is_key_range() {
        return Ok(());
    }
    for key in table.partition_key() {
        ensure!(
            selection.fetched.iter().any(|column| column.id == key.id),
            "SELECT DISTINCT queries must request all the partition key columns (missing {})",
            key.name
        );
    }
    Ok(())
}

fn order(
    table: &Table,
    ordered: &[OrderedColumn],
    restrictions: &Restrictions,
    selection: &mut Selection,
) -> Result<(Direction, Option<PostOrdering>)> {
    if ordered.is_empty() {
        return Ok((Direction::Forward, None));
    }
    ensure!(
        !restrictions.is_key_range(),
        "ORDER BY is only supported when the partition key is restricted by an EQ or an IN."
    );
    let direction = direction(table, ordered, restrictions)?;
    let ordering = restrictions.key_has_in().then(|| PostOrdering {
        columns: ordered.iter().map(|entry| selection.fetch(&entry.column)).collect(),
        direction,
    });
    Ok((direction, ordering))
}

fn prepare_limit(
    scope: &Scope<'_>,
    table: &Table,
    raw: Option<&RawTerm>,
    name: &str,
    markers: &mut Markers,
) -> Result<Option<Term>> {
    raw.map(|raw| {
        let receiver = Receiver::new(&table.keyspace, &table.name, name, CqlType::Int);
        prepare(scope, raw, &receiver, markers)
    })
    .transpose()
}

/// The columns whose cells must be read.
fn stored_columns(selection: &Selection) -> ColumnSelection {
    if selection.is_wildcard {
        return ColumnSelection::All;
    }
    let stored = selection.fetched.iter().filter(|column| !column.kind.is_primary_key());
    let mut ids: Vec<_> = stored.map(|column| column.id).collect();
    ids.sort_unstable();
    ColumnSelection::Only(ids)
}

/// Ties a paging state to its statement.
fn statement_hash(table: &Table, text: &str) -> u64 {
    // Fixed seed: the state must mean the same on every node and after every restart.
    let identity = [table.id.0.as_bytes(), text.as_bytes()].concat();
    rapidhash::v3::rapidhash_v3(&identity)
}
