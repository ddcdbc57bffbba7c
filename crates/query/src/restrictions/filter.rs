//! The row filter of one execution: what keys and slices do not decide.

use helenus_data::Blob;
use helenus_data::read::{FilterOperator, FilterTarget, FilterTerm, RowFilter};
use helenus_schema::{Column, ColumnKind};

use crate::error::{Result, ensure, invalid};
use crate::restrictions::Restrictions;
use crate::restrictions::keys::in_values;
use crate::restrictions::restriction::{Restriction, RestrictionKind};
use crate::terms::{Bind, Term, Value};

impl Restrictions {
    /// # Errors
    /// Values that are null, unset or of another type; tuples, which cannot be filtered by.
    pub fn row_filter(&self, bind: &Bind<'_>) -> Result<RowFilter> {
        let mut filter = RowFilter::default();
        if self.filters_key {
            for restriction in self.key.iter() {
                self.add_terms(restriction, bind, &mut filter)?;
            }
        }
        let mut expected = 0;
        for restriction in self.clustering.iter() {
            if Self::is_filtered(restriction, expected) {
                self.add_terms(restriction, bind, &mut filter)?;
            } else if !restriction.is_slice() {
                expected = restriction.last_position() + 1;
            }
        }
        for restriction in self.others.iter() {
            self.add_terms(restriction, bind, &mut filter)?;
        }
        Ok(filter)
    }

    fn target(&self, column: &Column) -> FilterTarget {
        match column.kind {
            ColumnKind::PartitionKey { position } => {
                FilterTarget::PartitionKey { index: usize::from(position), count: self.table.partition_key().len() }
            }
            ColumnKind::Clustering { position, .. } => FilterTarget::Clustering(usize::from(position)),
            ColumnKind::Static => FilterTarget::Static(column.id),
            ColumnKind::Regular => FilterTarget::Regular(column.id),
        }
    }

    fn add_terms(&self, restriction: &Restriction, bind: &Bind<'_>, filter: &mut RowFilter) -> Result<()> {
        let Some(column) = restriction.first() else { return Ok(()) };
        let mut push = |column: &Column, operator: FilterOperator| {
            filter.terms.push(FilterTerm { target: self.target(column), ty: column.ty.clone(), operator });
        };
        match &restriction.kind {
            RestrictionKind::Equal(term) => push(column, FilterOperator::Equal(operand(column, term, bind)?)),
            RestrictionKind::In(terms) => {
                let values = in_values(&column.name, terms, bind)?;
                // Nothing equals null or what is unset: they take no part, and are no mistakes here.
                let values = values.into_iter().filter(|value| !value.is_null() && !value.is_unset());
                let blobs: Result<Vec<Blob>> = values.map(|value| checked(column, value)).collect();
                push(column, FilterOperator::In(blobs?));
            }
            RestrictionKind::Slice(range) => {
                if let Some((term, inclusive)) = &range.start {
                    let value = operand(column, term, bind)?;
                    push(
                        column,
                        if *inclusive { FilterOperator::GreaterOrEqual(value) } else { FilterOperator::Greater(value) },
                    );
                }
                if let Some((term, inclusive)) = &range.end {
                    let value = operand(column, term, bind)?;
                    push(
                        column,
                        if *inclusive { FilterOperator::LessOrEqual(value) } else { FilterOperator::Less(value) },
                    );
                }
            }
            RestrictionKind::Contains { values, keys, entries } => {
                for term in values {
                    push(column, FilterOperator::Contains(operand(column, term, bind)?));
                }
                for term in keys {
                    push(column, FilterOperator::ContainsKey(operand(column, term, bind)?));
                }
                for (key, value) in entries {
                    let key = entry_part(column, "map key", key, bind)?;
                    let value = entry_part(column, "map value", value, bind)?;
                    push(column, FilterOperator::MapEntry { key, value });
                }
            }
            RestrictionKind::TupleEqual(tuple) => {
                let values =
                    tuple.bind(bind)?.ok_or_else(|| invalid!("Unsupported null value for column {}", column.name))?;
                for (column, value) in restriction.columns.iter().zip(values) {
                    push(column, FilterOperator::Equal(checked(column, value)?));
                }
            }
            RestrictionKind::TupleIn(tuples) => {
                ensure!(restriction.columns.len() == 1, "Multicolumn IN filters are not supported");
                let values = tuples.bind(bind)?.into_iter().flatten();
                let blobs: Result<Vec<Blob>> = values.map(|value| checked(column, value)).collect();
                push(column, FilterOperator::In(blobs?));
            }
            RestrictionKind::TupleSlice(_) => {
                return Err(invalid!("Multi-column slice restrictions cannot be used for filtering."));
            }
        }
        Ok(())
    }
}

fn operand(column: &Column, term: &Term, bind: &Bind<'_>) -> Result<Blob> {
    checked(column, term.bind(bind)?)
}

fn checked(column: &Column, value: Value<'_>) -> Result<Blob> {
    ensure!(!value.is_null(), "Unsupported null value for column {}", column.name);
    ensure!(!value.is_unset(), "Unsupported unset value for column {}", column.name);
    Ok(value.into_blob().unwrap_or_default())
}

fn entry_part(column: &Column, part: &str, term: &Term, bind: &Bind<'_>) -> Result<Blob> {
    let value = term.bind(bind)?;
    ensure!(!value.is_null(), "Unsupported null {part} for column {}", column.name);
    ensure!(!value.is_unset(), "Unsupported unset {part} for column {}", column.name);
    Ok(value.into_blob().unwrap_or_default())
}
