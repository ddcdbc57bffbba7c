//! One relation of a WHERE clause becomes a [`Restriction`].
//!
//! Source: Cassandra 5.0, `cql3.SingleColumnRelation`, `MultiColumnRelation`, `TokenRelation`.

use std::sync::Arc;

use helenus_cql::{Identifier, Operator, Relation, maybe_quote};
use helenus_schema::{Column, ColumnKind, Table};
use helenus_types::CqlType;

use crate::error::{Result, ensure, invalid};
use crate::restrictions::restriction::{Edge, Range, Restriction, RestrictionKind, is_descending, position};
use crate::terms::{
    Markers, Receiver, Scope, Term, prepare, prepare_in_values, prepare_tuple, prepare_tuple_in_values,
};

/// What a relation restricts.
pub enum Restricts {
    Columns(Restriction),
    Token(TokenRestriction),
}

/// `token(…)` compared with a value.
#[derive(Clone, Debug)]
pub enum TokenRestriction {
    Equal(Term),
    Slice(Range<Term>),
}

/// `keyspace.table` with quotes where CQL needs them.
#[must_use]
pub fn quoted_name(table: &Table) -> String {
    format!("{}.{}", maybe_quote(&table.keyspace), maybe_quote(&table.name))
}

/// The column of that name.
///
/// # Errors
/// The table has no such column.
pub fn existing_column<'t>(table: &'t Table, name: &Identifier) -> Result<&'t Column> {
    table
        .column(name.as_str())
        .ok_or_else(|| invalid!("Undefined column name {} in table {}", maybe_quote(name.as_str()), quoted_name(table)))
}

/// # Errors
/// Relations that the column's type or place does not allow, in Cassandra's words.
pub fn to_restriction(
    scope: &Scope<'_>,
    table: &Arc<Table>,
    relation: &Relation,
    markers: &mut Markers,
) -> Result<Restricts> {
    let not_equal = || invalid!("Unsupported \"!=\" relation: {relation}");
    match relation {
        Relation::Column { operator: Operator::NotEq, .. }
        | Relation::MapEntry { operator: Operator::NotEq, .. }
        | Relation::Token { operator: Operator::NotEq, .. }
        | Relation::Tuple { operator: Operator::NotEq, .. } => Err(not_equal()),
        Relation::Column { column, operator, value } => {
            let column = existing_column(table, column)?;
            let term = |markers: &mut Markers| {
                let receiver = column_receiver(table, column, operator.text(), Some(*operator))?;
                prepare(scope, value, &receiver, markers)
            };
            let slice = |edge: Edge, inclusive: bool, markers: &mut Markers| -> Result<RestrictionKind> {
                check_durations(&column.ty)?;
                Ok(RestrictionKind::Slice(Range::new(edge, inclusive, term(markers)?)))
            };
            let kind = match operator {
                Operator::Eq => RestrictionKind::Equal(term(markers)?),
                Operator::Lt => slice(Edge::End, false, markers)?,
                Operator::LtEq => slice(Edge::End, true, markers)?,
                Operator::Gt => slice(Edge::Start, false, markers)?,
                Operator::GtEq => slice(Edge::Start, true, markers)?,
                Operator::Contains => {
                    RestrictionKind::Contains { values: vec![term(markers)?], keys: vec![], entries: vec![] }
                }
                Operator::ContainsKey => {
                    RestrictionKind::Contains { values: vec![], keys: vec![term(markers)?], entries: vec![] }
                }
                Operator::Like => {
                    term(markers)?;
                    return Err(invalid!(
                        "LIKE restriction is only supported on properly indexed columns. {relation} is not valid."
                    ));
                }
                Operator::NotEq => return Err(not_equal()),
            };
            Ok(Restricts::Columns(Restriction::single(column, kind)))
        }
        Relation::IsNotNull { .. } => Err(invalid!("Unsupported restriction: {relation}")),
        Relation::In { column, values } => {
            let column = existing_column(table, column)?;
            let receiver = column_receiver(table, column, "IN", None)?;
            let terms = prepare_in_values(scope, values, &receiver, markers)?;
            let kind = match terms {
                crate::terms::InTerms::Terms(mut terms) if terms.len() == 1 => {
                    RestrictionKind::Equal(terms.pop().unwrap_or(Term::Null))
                }
                terms => RestrictionKind::In(terms),
            };
            Ok(Restricts::Columns(Restriction::single(column, kind)))
        }
        Relation::MapEntry { column, key, operator, value } => {
            let column = existing_column(table, column)?;
            if !matches!(operator, Operator::Eq | Operator::Like) {
                check_durations(&column.ty)?;
            }
            ensure!(*operator != Operator::Like, "LIKE can't be used with collections.");
            let (key_receiver, value_receiver) = entry_receivers(table, column, *operator)?;
            let entry_key = prepare(scope, key, &key_receiver, markers)?;
            let entry = (entry_key, prepare(scope, value, &value_receiver, markers)?);
            let kind = RestrictionKind::Contains { values: vec![], keys: vec![], entries: vec![entry] };
            Ok(Restricts::Columns(Restriction::single(column, kind)))
        }
        Relation::Token { columns, operator, value } => {
            token_restriction(scope, table, columns, *operator, value, markers).map(Restricts::Token)
        }
        Relation::Tuple { columns, operator, value } => {
            let (columns, receivers) = tuple_columns(table, columns, relation)?;
            let slice = |edge: Edge, inclusive: bool, markers: &mut Markers| -> Result<RestrictionKind> {
                let term = prepare_tuple(scope, value, &receivers, markers)?;
                Ok(RestrictionKind::TupleSlice(Range::new(edge, inclusive, term)))
            };
            let kind = match operator {
                Operator::Eq => RestrictionKind::TupleEqual(prepare_tuple(scope, value, &receivers, markers)?),
                Operator::Lt => slice(Edge::End, false, markers)?,
                Operator::LtEq => slice(Edge::End, true, markers)?,
                Operator::Gt => slice(Edge::Start, false, markers)?,
                Operator::GtEq => slice(Edge::Start, true, markers)?,
                other => return Err(invalid!("{} cannot be used for multi-column relations", other.text())),
            };
            Ok(Restricts::Columns(Restriction { columns, kind }))
        }
        Relation::TupleIn { columns, values } => {
            let (columns, receivers) = tuple_columns(table, columns, relation)?;
            let terms = prepare_tuple_in_values(scope, values, &receivers, markers)?;
            let kind = match terms {
                crate::terms::TupleInTerms::Terms(mut terms) if terms.len() == 1 => match terms.pop() {
                    Some(only) => RestrictionKind::TupleEqual(only),
                    None => RestrictionKind::TupleIn(crate::terms::TupleInTerms::Terms(Vec::new())),
                },
                terms => RestrictionKind::TupleIn(terms),
            };
            Ok(Restricts::Columns(Restriction { columns, kind }))
        }
        Relation::IndexExpression { index, .. } => Err(invalid!(
            "Invalid index expression, index {} not found for {}",
            index.name.as_str(),
            quoted_name(table)
        )),
    }
}

fn check_durations(ty: &CqlType) -> Result<()> {
    if !ty.references_duration() {
        return Ok(());
    }
    ensure!(!ty.is_collection(), "Slice restrictions are not supported on collections containing durations");
    ensure!(!ty.is_tuple(), "Slice restrictions are not supported on tuples containing durations");
    ensure!(!ty.is_udt(), "Slice restrictions are not supported on UDTs containing durations");
    Err(invalid!("Slice restrictions are not supported on duration columns"))
}

fn column_receiver(
    table: &Table,
    column: &Column,
    operator_text: &str,
    operator: Option<Operator>,
) -> Result<Receiver> {
    let receiver = Receiver::column(table, column);
    // Upstream a descending column's type is no collection's.
    let is_collection = column.ty.is_collection() && !is_descending(column);
    let is_map = is_collection && matches!(column.ty, CqlType::Map { .. });
    let contains_key = operator == Some(Operator::ContainsKey);
    let contains = operator == Some(Operator::Contains);
    ensure!(!contains_key || is_map, "Cannot use CONTAINS KEY on non-map column {}", column.name);
    ensure!(!contains || is_collection, "Cannot use CONTAINS on non-collection column {}", column.name);
    check_user_type(column)?;
    if column.ty.is_collection() {
        ensure!(
            !column.ty.is_multi_cell() || contains || contains_key,
            "Collection column '{}' ({}) cannot be restricted by a '{operator_text}' relation",
            column.name,
            column.ty
        );
        if contains_key || contains {
            return Ok(match &column.ty {
                CqlType::Map { key, .. } if contains_key => receiver.key(key),
                CqlType::Map { value, .. } => receiver.element(value),
                CqlType::List { element, .. } | CqlType::Set { element, .. } => receiver.element(element),
                _ => receiver,
            });
        }
    }
    Ok(receiver)
}

fn check_user_type(column: &Column) -> Result<()> {
    ensure!(
        !(column.ty.is_udt() && column.ty.is_multi_cell()),
        "Non-frozen UDT column '{}' ({}) cannot be restricted by any relation",
        column.name,
        column.ty
    );
    Ok(())
}

fn entry_receivers(table: &Table, column: &Column, operator: Operator) -> Result<(Receiver, Receiver)> {
    ensure!(
        !matches!(column.ty, CqlType::List { .. }) || is_descending(column),
        "Indexes on list entries ({}[index] = value) are not currently supported.",
        column.name
    );
    let (CqlType::Map { key, value, .. }, false) = (&column.ty, is_descending(column)) else {
        return Err(invalid!("Column {} cannot be used as a map", column.name));
    };
    ensure!(
        column.ty.is_multi_cell(),
        "Map-entry equality predicates on frozen map column {} are not supported",
        column.name
    );
    ensure!(operator == Operator::Eq, "Only EQ relations are supported on map entries");
    let receiver = Receiver::column(table, column);
    Ok((receiver.key(key), receiver.element(value)))
}

fn tuple_columns(table: &Table, names: &[Identifier], relation: &Relation) -> Result<(Vec<Column>, Vec<Receiver>)> {
    let mut columns: Vec<Column> = Vec::with_capacity(names.len());
    for name in names {
        let column = existing_column(table, name)?;
        ensure!(
            matches!(column.kind, ColumnKind::Clustering { .. }),
            "Multi-column relations can only be applied to clustering columns but was applied to: {}",
            column.name
        );
        ensure!(
            columns.iter().all(|other| other.id != column.id),
            "Column \"{}\" appeared twice in a relation: {relation}",
            column.name
        );
        ensure!(
            columns.last().is_none_or(|previous| position(column) == position(previous) + 1),
            "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: {relation}"
        );
        columns.push(column.clone());
    }
    let receivers = columns.iter().map(|column| Receiver::column(table, column)).collect();
    Ok((columns, receivers))
}

fn token_restriction(
    scope: &Scope<'_>,
    table: &Table,
    names: &[Identifier],
    operator: Operator,
    value: &helenus_cql::Term,
    markers: &mut Markers,
) -> Result<TokenRestriction> {
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        columns.push(existing_column(table, name)?);
    }
    let edge = match operator {
        Operator::Eq => None,
        Operator::Lt => Some((Edge::End, false)),
        Operator::LtEq => Some((Edge::End, true)),
        Operator::Gt => Some((Edge::Start, false)),
        Operator::GtEq => Some((Edge::Start, true)),
        other => return Err(invalid!("{} cannot be used with the token function", other.text())),
    };
    check_token_columns(table, &columns)?;
    let receiver = Receiver::new(&table.keyspace, &table.name, "partition key token", CqlType::Bigint);
    let term = prepare(scope, value, &receiver, markers)?;
    Ok(match edge {
        None => TokenRestriction::Equal(term),
        Some((edge, inclusive)) => TokenRestriction::Slice(Range::new(edge, inclusive, term)),
    })
}

fn check_token_columns(table: &Table, columns: &[&Column]) -> Result<()> {
    let key = table.partition_key();
    if columns.len() == key.len() && columns.iter().zip(key).all(|(mine, key)| mine.id == key.id) {
        return Ok(());
    }
    ensure!(
        key.iter().all(|key| columns.iter().any(|column| column.id == key.id)),
        "The token() function must be applied to all partition key components or none of them"
    );
    let duplicate =
        columns.iter().enumerate().any(|(at, column)| columns[..at].iter().any(|other| other.id == column.id));
    ensure!(!duplicate, "The token() function contains duplicate partition key components");
    ensure!(
        columns.iter().all(|column| key.iter().any(|key| key.id == column.id)),
        "The token() function must contains only partition key components"
    );
    let names: Vec<&str> = key.iter().map(|column| &*column.name).collect();
    Err(invalid!("The token function arguments must be in the partition key order: {}", names.join(", ")))
}

impl TokenRestriction {
    /// # Errors
    /// Two restrictions of the same side, or an equality and anything else.
    pub fn merge(self, other: Self, table: &Table) -> Result<Self> {
        let names: Vec<&str> = table.partition_key().iter().map(|column| &*column.name).collect();
        let names = names.join(", ");
        match (self, other) {
            (TokenRestriction::Equal(_), _) => {
                Err(invalid!("{names} cannot be restricted by more than one relation if it includes an Equal"))
            }
            (TokenRestriction::Slice(_), TokenRestriction::Equal(_)) => {
                Err(invalid!("Columns \"{names}\" cannot be restricted by both an equality and an inequality relation"))
            }
            (TokenRestriction::Slice(mine), TokenRestriction::Slice(theirs)) => {
                for (edge, text) in [(Edge::Start, "start"), (Edge::End, "end")] {
                    ensure!(
                        mine.at(edge).is_none() || theirs.at(edge).is_none(),
                        "More than one restriction was found for the {text} bound on {names}"
                    );
                }
                Ok(TokenRestriction::Slice(Range { start: mine.start.or(theirs.start), end: mine.end.or(theirs.end) }))
            }
        }
    }
}
