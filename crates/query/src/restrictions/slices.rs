//! Clusterings, or slices of them, of one execution.
//!
//! Source: Cassandra 5.0, `cql3.restrictions.ClusteringColumnRestrictions`, `db.MultiCBuilder`.

use helenus_data::{Bound, Clustering, Side, Slice};
use helenus_schema::Column;

use crate::error::{Result, ensure, invalid};
use crate::restrictions::Restrictions;
use crate::restrictions::combinations::Combinations;
use crate::restrictions::keys::{KEY_BYTES_MAX, append_values};
use crate::restrictions::restriction::{Edge, Range, Restriction, RestrictionKind, is_descending, position};
use crate::terms::{Bind, TupleTerm, Value};

impl Restrictions {
    /// The rows that equalities and INs name, in clustering order without repetition.
    ///
    /// # Errors
    /// Values that are null, unset or of another type.
    pub fn clusterings(&self, bind: &Bind<'_>) -> Result<Vec<Clustering>> {
        let mut combinations = Combinations::new();
        for restriction in self.clustering.iter() {
            append_values(restriction, bind, &mut combinations)?;
            if combinations.is_empty {
                return Ok(Vec::new());
            }
        }
        let tuples = combinations.into_tuples();
        let mut clusterings = Vec::with_capacity(tuples.len());
        for tuple in &tuples {
            let values = self.clustering_values(tuple)?;
            clusterings.push(if values.is_empty() {
                Clustering::empty()
            } else {
                self.table.clustering_types().clustering(&values)
            });
        }
        if 1 < clusterings.len() {
            clusterings.sort();
            clusterings.dedup();
        }
        Ok(clusterings)
    }

    /// The slices that the restrictions leave: ascending, not overlapping, none empty.
    ///
    /// # Errors
    /// As [`Restrictions::clusterings`].
    pub fn slices(&self, bind: &Bind<'_>) -> Result<Vec<Slice>> {
        if self.clustering.is_empty() {
            return Ok(vec![Slice::all()]);
        }
        if !self.is_column_range() {
            let around = |clustering: &Clustering| Slice {
                start: clustering.as_bound(Side::Before),
                end: clustering.as_bound(Side::After),
            };
            return Ok(self.clusterings(bind)?.iter().map(around).collect());
        }
        let starts = self.bounds(Edge::Start, bind)?;
        let ends = self.bounds(Edge::End, bind)?;
        let pairs = starts.into_iter().zip(ends).map(|(start, end)| Slice { start, end });
        Ok(normalise(pairs.filter(|slice| !slice.is_empty()).collect()))
    }

    fn bounds(&self, edge: Edge, bind: &Bind<'_>) -> Result<Vec<Bound>> {
        let mut combinations = Combinations::new();
        let mut expected = 0;
        for restriction in self.clustering.iter() {
            if Self::is_filtered(restriction, expected) {
                break;
            }
            match &restriction.kind {
                RestrictionKind::Slice(range) => {
                    return self.slice_bounds(edge, restriction, range, combinations, bind);
                }
                RestrictionKind::TupleSlice(range) => {
                    return self.tuple_slice_bounds(edge, restriction, range, combinations, bind);
                }
                _ => append_values(restriction, bind, &mut combinations)?,
            }
            if combinations.is_empty {
                return Ok(Vec::new());
            }
            expected = restriction.last_position() + 1;
        }
        self.sorted(combinations.into_tuples().iter().map(|tuple| self.bound(tuple, edge, true)))
    }

    /// The bound of all rows whose clustering begins with `prefix`; null stands before every value in the stored order,
    /// also in a descending one.
    fn bound(&self, prefix: &[Value<'_>], edge: Edge, inclusive: bool) -> Result<Bound> {
        let side = match (edge, inclusive) {
            (Edge::Start, true) | (Edge::End, false) => Side::Before,
            (Edge::Start, false) | (Edge::End, true) => Side::After,
        };
        match prefix.iter().position(Value::is_null) {
            None => Ok(self.table.clustering_types().bound(&self.clustering_values(prefix)?, side)),
            Some(at) => {
                let (before, _) = prefix.split_at(at);
                Ok(self.table.clustering_types().bound(&self.clustering_values(before)?, Side::Before))
            }
        }
    }

    /// The bytes of values.
    fn clustering_values<'v>(&self, values: &'v [Value<'_>]) -> Result<smallvec::SmallVec<[&'v [u8]; 4]>> {
        values
            .iter()
            .map(|value| {
                let bytes = value.bytes().unwrap_or(&[]);
                ensure!(
                    !self.checks_length || bytes.len() <= KEY_BYTES_MAX,
                    "Key length of {} is longer than maximum of {KEY_BYTES_MAX}",
                    bytes.len()
                );
                Ok(bytes)
            })
            .collect()
    }

    fn sorted(&self, bounds: impl Iterator<Item = Result<Bound>>) -> Result<Vec<Bound>> {
        let mut bounds = bounds.collect::<Result<Vec<Bound>>>()?;
        bounds.sort();
        bounds.dedup();
        Ok(bounds)
    }

    fn slice_bounds<'t>(
        &self,
        edge: Edge,
        restriction: &'t Restriction,
        range: &'t Range<crate::terms::Term>,
        mut combinations: Combinations<'t>,
        bind: &'t Bind<'_>,
    ) -> Result<Vec<Bound>> {
        let Some(column) = restriction.first() else { return Ok(Vec::new()) };
        let value_edge = edge.of_column(column);
        let inclusive = match range.at(value_edge) {
            Some((term, inclusive)) => {
                let value = term.bind(bind)?;
                ensure!(!value.is_unset(), "Invalid unset value for column {}", column.name);
                combinations.add_one(value);
                *inclusive
            }
            None => true,
        };
        self.sorted(combinations.into_tuples().iter().map(|tuple| self.bound(tuple, edge, inclusive)))
    }

    /// A slice over several columns of mixed directions is a union of slices; see `MultiCBuilder.buildBoundForSlice`.
    fn tuple_slice_bounds<'t>(
        &self,
        edge: Edge,
        restriction: &'t Restriction,
        range: &'t Range<TupleTerm>,
        mut combinations: Combinations<'t>,
        bind: &'t Bind<'_>,
    ) -> Result<Vec<Bound>> {
        let columns = &restriction.columns;
        let components = |edge: Edge| -> Result<Vec<Value<'t>>> {
            match range.at(edge) {
                None => Ok(Vec::new()),
                Some((tuple, _)) => {
                    let name = restriction.first().map_or("", |column| &*column.name);
                    tuple.bind(bind)?.ok_or_else(|| invalid!("Invalid null value in condition for column {name}"))
                }
            }
        };
        let (starts, ends) = (components(Edge::Start)?, components(Edge::End)?);
        combinations.add_all(bound_runs(columns, edge, &starts, &ends)?);
        let offset = restriction.first_position();
        let tuples = combinations.into_tuples();
        let mut bounds = Vec::with_capacity(tuples.len());
        let mut at = 0;
        while let Some(tuple) = tuples.get(at) {
            let last_position = columns.last().map_or(0, position);
            let repeated = tuples.get(at + 1).is_some_and(|next| next == tuple);
            if tuple.len() == offset {
                bounds.push(self.bound(tuple, edge, true));
            } else if tuple.len() <= last_position && repeated {
                bounds.push(self.bound(tuple, edge, false));
                bounds.push(self.bound(tuple, edge, true));
                at += 1;
            } else {
                let column = columns.get(tuple.len() - 1 - offset);
                let value_edge = column.map_or(edge, |column| edge.of_column(column));
                bounds.push(self.bound(tuple, edge, range.is_inclusive(value_edge)));
            }
            at += 1;
        }
        self.sorted(bounds.into_iter())
    }
}

fn bound_runs<'t>(
    columns: &[Column],
    edge: Edge,
    starts: &[Value<'t>],
    ends: &[Value<'t>],
) -> Result<Vec<Vec<Value<'t>>>> {
    let of = |edge: Edge| match edge {
        Edge::Start => starts,
        Edge::End => ends,
    };
    let checked = |value: &Value<'t>, column: &Column| {
        ensure!(!value.is_null(), "Invalid null value in condition for column {}", column.name);
        Ok(value.clone())
    };
    let mut runs = Vec::new();
    let mut run = Vec::new();
    let mut reversed = columns.first().is_some_and(is_descending);
    for (index, column) in columns.iter().enumerate() {
        let value_edge = edge.of_column(column);
        if reversed != is_descending(column) {
            reversed = is_descending(column);
            runs.push(run.clone());
            if of(value_edge).len() <= index {
                continue;
            }
            if index < of(value_edge.reverse()).len() {
                runs.push(run.clone());
            }
            run = of(value_edge)
                .iter()
                .zip(columns)
                .take(index)
                .map(|(value, column)| checked(value, column))
                .collect::<Result<_>>()?;
        }
        if let Some(value) = of(value_edge).get(index) {
            run.push(checked(value, column)?);
        }
    }
    runs.push(run);
    if edge == Edge::End {
        runs.reverse();
    }
    Ok(runs)
}

/// Ascending and without overlaps.
fn normalise(mut slices: Vec<Slice>) -> Vec<Slice> {
    if slices.len() < 2 {
        return slices;
    }
    slices.sort_by(|a, b| a.start.cmp(&b.start));
    let mut merged: Vec<Slice> = Vec::with_capacity(slices.len());
    for slice in slices {
        match merged.last_mut() {
            Some(last) if slice.start <= last.end => {
                if last.end < slice.end {
                    last.end = slice.end;
                }
            }
            _ => merged.push(slice),
        }
    }
    merged
}
