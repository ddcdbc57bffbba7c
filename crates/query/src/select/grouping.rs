//! GROUP BY: which rows make a group.
//!
//! Source: Cassandra 5.0, `db.aggregation.AggregationSpecification`, `GroupMaker`.

use std::sync::Arc;

use helenus_cql::Selector as RawSelector;
use helenus_data::{PartitionKey, Row};
use helenus_schema::{Column, ColumnKind, Table};

use crate::error::{Result, ensure, invalid};
use crate::functions::{FunctionKind, ScalarKind};
use crate::restrictions::Restrictions;
use crate::select::input::InputRow;
use crate::select::selectable::Selectable;
use crate::select::selection::Selection;
use crate::select::selector::Evaluation;
use crate::terms::{Markers, Scope};

#[derive(Debug)]
pub enum Grouping {
    /// Aggregates without GROUP BY: all rows are one group, which is there even without rows.
    Everything,
    Prefix {
        /// How many clustering columns take part.
        clustering_count: usize,
        /// Computes the last of them from the row, for `GROUP BY floor(…)`.
        selector: Option<Selection>,
    },
}

impl Grouping {
    /// # Errors
    /// What is not a prefix of the primary key.
    pub fn prepare(
        scope: &Scope<'_>,
        table: &Arc<Table>,
        raws: &[RawSelector],
        restrictions: &Restrictions,
        is_distinct: bool,
        markers: &mut Markers,
    ) -> Result<Self> {
        let mut clustering_count = 0;
        let mut key = table.partition_key().iter().chain(table.clustering());
        let mut selector = None;
        for raw in raws {
            let selectable = Selectable::prepare(scope, table, raw)?;
            let column = match &selectable {
                Selectable::Function { function, .. } => {
                    ensure!(
                        !function.is_aggregate(),
                        "Aggregate functions are not supported within the GROUP BY clause, got: {}",
                        function.full_name()
                    );
                    let (selection, column) = Self::function(scope, table, &selectable, markers)?;
                    selector = Some(selection);
                    column
                }
                Selectable::Column(column) => {
                    ensure!(
                        column.kind.is_primary_key(),
                        "Group by is currently only supported on the columns of the PRIMARY KEY, got {}",
                        column.name
                    );
                    ensure!(
                        selector.is_none(),
                        "Functions are only supported on the last element of the GROUP BY clause"
                    );
                    column.clone()
                }
                other => {
                    return Err(invalid!(
                        "Group by is currently only supported on the columns of the PRIMARY KEY, got {other}"
                    ));
                }
            };
            let out_of_order = || {
                invalid!(
                    "Group by currently only support groups of columns following their declared order in the PRIMARY KEY"
                )
            };
            loop {
                let next = key.next().ok_or_else(out_of_order)?;
                clustering_count += usize::from(matches!(next.kind, ColumnKind::Clustering { .. }));
                if next.id == column.id {
                    break;
                }
                if !restrictions.is_restricted_by_equal(next) {
                    return Err(out_of_order());
                }
            }
        }
        let is_partial = key.next().is_some_and(|next| matches!(next.kind, ColumnKind::PartitionKey { .. }));
        ensure!(!is_partial, "Group by is not supported on only a part of the partition key");
        ensure!(
            !(0 < clustering_count && is_distinct),
            "Grouping on clustering columns is not allowed for SELECT DISTINCT queries"
        );
        Ok(Grouping::Prefix { clustering_count, selector })
    }

    fn function(
        scope: &Scope<'_>,
        table: &Arc<Table>,
        selectable: &Selectable,
        markers: &mut Markers,
    ) -> Result<(Selection, Column)> {
        let selection = Selection::prepare(scope, table, [Ok((selectable.clone(), None))], false, markers)?;
        ensure!(!selection.fetched.is_empty(), "GROUP BY functions must have one clustering column name as parameter");
        let names: Vec<String> =
            selection.fetched.iter().map(|column| helenus_cql::maybe_quote(&column.name).to_string()).collect();
        ensure!(
            names.len() == 1,
            "GROUP BY functions accept only one clustering column as parameter, got: {}",
            names.join(",")
        );
        let column = selection.fetched.first().and_then(|column| table.column_by_id(column.id));
        let column = column
            .cloned()
            .ok_or_else(|| invalid!("GROUP BY functions must have one clustering column name as parameter"))?;
        ensure!(
            matches!(column.kind, ColumnKind::Clustering { .. }),
            "Group by functions are only supported on clustering columns, got {}",
            column.name
        );
        check_monotonic(selectable)?;
        Ok((selection, column))
    }

    /// What tells the row's group from others of the same statement.
    ///
    /// # Errors
    /// What the grouping function refuses.
    pub fn identity(
        &self,
        key: &PartitionKey,
        row: Option<&Row>,
        input: &InputRow<'_>,
        evaluation: &Evaluation<'_>,
    ) -> Result<GroupIdentity> {
        let Grouping::Prefix { clustering_count, selector } = self else { return Ok(GroupIdentity::default()) };
        let plain = clustering_count - usize::from(selector.is_some() && 0 < *clustering_count);
        let mut values: Vec<Option<Vec<u8>>> = row
            .map(|row| row.clustering.values().take(plain).map(|value| Some(value.to_vec())).collect())
            .unwrap_or_default();
        if let (Some(selection), Some(_)) = (selector, row) {
            let input = InputRow { columns: &selection.fetched, ..*input };
            if let Some(selector) = selection.selectors.first() {
                values.push(selector.value(&input, evaluation)?.map(std::borrow::Cow::into_owned));
            }
        }
        Ok(GroupIdentity { key: key.bytes().to_vec(), values })
    }

    /// Whether two rows are of one group: clusterings that compare as equal are, such as 1.0 and 1.00.
    #[must_use]
    pub fn is_same(&self, table: &Table, a: &GroupIdentity, b: &GroupIdentity) -> bool {
        let computed = match self {
            Grouping::Prefix { clustering_count, selector: Some(selection) } => {
                clustering_count.checked_sub(1).zip(selection.columns.first().map(|column| &column.ty))
            }
            _ => None,
        };
        let compare = |index: usize, a: Option<&Vec<u8>>, b: Option<&Vec<u8>>| {
            let own = table.clustering().get(index).map(|column| &column.ty);
            let ty = computed.filter(|(at, _)| *at == index).map(|(_, ty)| ty).or(own);
            match (a, b, ty) {
                (Some(a), Some(b), Some(ty)) => ty.compare(a, b).is_eq(),
                _ => a == b,
            }
        };
        a.key == b.key
            && a.values.len() == b.values.len()
            && a.values.iter().zip(&b.values).enumerate().all(|(index, (a, b))| compare(index, a.as_ref(), b.as_ref()))
    }
}

#[derive(Clone, Debug, Default)]
pub struct GroupIdentity {
    pub key: Vec<u8>,
    values: Vec<Option<Vec<u8>>>,
}

fn check_monotonic(selectable: &Selectable) -> Result<()> {
    let Selectable::Function { function, arguments } = selectable else { return Ok(()) };
    let monotonic = match &function.kind {
        FunctionKind::Scalar(ScalarKind::ToDate | ScalarKind::ToTimestamp | ScalarKind::ToUnixTimestamp) => true,
        FunctionKind::Scalar(ScalarKind::Floor) => {
            arguments.iter().skip(1).all(|argument| matches!(argument, Selectable::Term(_)))
        }
        FunctionKind::Scalar(_) | FunctionKind::Aggregate(_) => false,
    };
    ensure!(monotonic, "Only monotonic functions are supported in the GROUP BY clause. Got: {function} ");
    arguments.iter().try_for_each(check_monotonic)
}
