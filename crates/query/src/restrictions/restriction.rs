//! Restriction: what one or more relations of a WHERE clause say of one column, or of a run of clustering columns.
//!
//! Source: Cassandra 5.0, `cql3.restrictions.SingleColumnRestriction`, `MultiColumnRestriction`.

use helenus_schema::{Column, ColumnKind};

use crate::error::{Result, ensure, invalid};
use crate::terms::{InTerms, Term, TupleInTerms, TupleTerm};

#[derive(Clone, Debug)]
pub struct Restriction {
    /// One column, or several adjacent clustering columns.
    pub columns: Vec<Column>,
    pub kind: RestrictionKind,
}

#[derive(Clone, Debug)]
pub enum RestrictionKind {
    Equal(Term),
    In(InTerms),
    Slice(Range<Term>),
    Contains { values: Vec<Term>, keys: Vec<Term>, entries: Vec<(Term, Term)> },
    TupleEqual(TupleTerm),
    TupleIn(TupleInTerms),
    TupleSlice(Range<TupleTerm>),
}

/// The bounds of a slice, each with whether it is inclusive; at least one is there.
#[derive(Clone, Debug)]
pub struct Range<T> {
    pub start: Option<(T, bool)>,
    pub end: Option<(T, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Start,
    End,
}

impl Edge {
    #[must_use]
    pub fn reverse(self) -> Self {
        match self {
            Edge::Start => Edge::End,
            Edge::End => Edge::Start,
        }
    }

    /// Of a descending column the start of the stored order is the end of the values.
    #[must_use]
    pub fn of_column(self, column: &Column) -> Self {
        if is_descending(column) { self.reverse() } else { self }
    }
}

impl<T> Range<T> {
    #[must_use]
    pub fn new(edge: Edge, inclusive: bool, value: T) -> Self {
        match edge {
            Edge::Start => Self { start: Some((value, inclusive)), end: None },
            Edge::End => Self { start: None, end: Some((value, inclusive)) },
        }
    }

    #[must_use]
    pub fn at(&self, edge: Edge) -> Option<&(T, bool)> {
        match edge {
            Edge::Start => self.start.as_ref(),
            Edge::End => self.end.as_ref(),
        }
    }

    /// A bound that is missing counts as inclusive.
    #[must_use]
    pub fn is_inclusive(&self, edge: Edge) -> bool {
        self.at(edge).is_none_or(|(_, inclusive)| *inclusive)
    }

    fn merge(self, other: Self) -> Self {
        Self { start: self.start.or(other.start), end: self.end.or(other.end) }
    }
}

#[must_use]
pub fn is_descending(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Clustering { descending: true, .. })
}

/// Position in the partition key or among the clustering columns; 0 for others, which are told apart by name.
#[must_use]
pub fn position(column: &Column) -> usize {
    match column.kind {
        ColumnKind::PartitionKey { position } | ColumnKind::Clustering { position, .. } => usize::from(position),
        ColumnKind::Static | ColumnKind::Regular => 0,
    }
}

impl Restriction {
    #[must_use]
    pub fn single(column: &Column, kind: RestrictionKind) -> Self {
        Self { columns: vec![column.clone()], kind }
    }

    #[must_use]
    pub fn first(&self) -> Option<&Column> {
        self.columns.first()
    }

    #[must_use]
    pub fn first_position(&self) -> usize {
        self.columns.first().map_or(0, position)
    }

    #[must_use]
    pub fn last_position(&self) -> usize {
        self.columns.last().map_or(0, position)
    }

    #[must_use]
    pub fn is_tuple(&self) -> bool {
        matches!(
            self.kind,
            RestrictionKind::TupleEqual(_) | RestrictionKind::TupleIn(_) | RestrictionKind::TupleSlice(_)
        )
    }

    #[must_use]
    pub fn is_equal(&self) -> bool {
        matches!(self.kind, RestrictionKind::Equal(_) | RestrictionKind::TupleEqual(_))
    }

    #[must_use]
    pub fn is_in(&self) -> bool {
        matches!(self.kind, RestrictionKind::In(_) | RestrictionKind::TupleIn(_))
    }

    #[must_use]
    pub fn is_slice(&self) -> bool {
        matches!(self.kind, RestrictionKind::Slice(_) | RestrictionKind::TupleSlice(_))
    }

    #[must_use]
    pub fn is_contains(&self) -> bool {
        matches!(self.kind, RestrictionKind::Contains { .. })
    }

    fn has_bound(&self, edge: Edge) -> bool {
        match &self.kind {
            RestrictionKind::Slice(range) => range.at(edge).is_some(),
            RestrictionKind::TupleSlice(range) => range.at(edge).is_some(),
            _ => false,
        }
    }

    fn into_tuple(self) -> Self {
        let one = |term: Term| TupleTerm::Components(vec![term]);
        let kind = match self.kind {
            RestrictionKind::Equal(term) => RestrictionKind::TupleEqual(one(term)),
            RestrictionKind::Slice(range) => RestrictionKind::TupleSlice(Range {
                start: range.start.map(|(term, inclusive)| (one(term), inclusive)),
                end: range.end.map(|(term, inclusive)| (one(term), inclusive)),
            }),
            other => other,
        };
        Self { columns: self.columns, kind }
    }

    /// Names of the columns that both restrict, joined as Cassandra joins them.
    fn in_common(&self, other: &Self) -> String {
        let names: Vec<&str> = self
            .columns
            .iter()
            .filter(|column| other.columns.iter().any(|theirs| theirs.id == column.id))
            .map(|column| &*column.name)
            .collect();
        names.join(" ,")
    }

    /// This restriction and `other`, which has columns in common with it.
    ///
    /// # Errors
    /// Combinations that cannot both be asked for.
    pub fn merge(self, other: Self) -> Result<Self> {
        if self.is_tuple() || other.is_tuple() {
            return self.into_tuple().merge_tuple(other.into_tuple());
        }
        let name = self.columns.first().map_or("", |column| &*column.name).to_owned();
        match (self.kind, other.kind) {
            (RestrictionKind::Equal(_), _) => {
                Err(invalid!("{name} cannot be restricted by more than one relation if it includes an Equal"))
            }
            (RestrictionKind::In(_), _) => {
                Err(invalid!("{name} cannot be restricted by more than one relation if it includes a IN"))
            }
            (RestrictionKind::Slice(mine), RestrictionKind::Slice(theirs)) => {
                for (edge, text) in [(Edge::Start, "start"), (Edge::End, "end")] {
                    ensure!(
                        mine.at(edge).is_none() || theirs.at(edge).is_none(),
                        "More than one restriction was found for the {text} bound on {name}"
                    );
                }
                Ok(Self { columns: self.columns, kind: RestrictionKind::Slice(mine.merge(theirs)) })
            }
            (RestrictionKind::Slice(_), _) => {
                Err(invalid!("Column \"{name}\" cannot be restricted by both an equality and an inequality relation"))
            }
            (
                RestrictionKind::Contains { mut values, mut keys, mut entries },
                RestrictionKind::Contains { values: more_values, keys: more_keys, entries: more_entries },
            ) => {
                values.extend(more_values);
                keys.extend(more_keys);
                entries.extend(more_entries);
                Ok(Self { columns: self.columns, kind: RestrictionKind::Contains { values, keys, entries } })
            }
            (RestrictionKind::Contains { .. }, _) => Err(invalid!(
                "Collection column {name} can only be restricted by CONTAINS, CONTAINS KEY, or map-entry equality"
            )),
            (kind, _) => Ok(Self { columns: self.columns, kind }),
        }
    }

    fn merge_tuple(self, other: Self) -> Result<Self> {
        let common = self.in_common(&other);
        match &self.kind {
            RestrictionKind::TupleEqual(_) => {
                return Err(invalid!(
                    "{common} cannot be restricted by more than one relation if it includes an Equal"
                ));
            }
            RestrictionKind::TupleSlice(_) => {}
            _ => {
                return Err(invalid!("{common} cannot be restricted by more than one relation if it includes a IN"));
            }
        }
        ensure!(
            other.is_slice(),
            "Column \"{common}\" cannot be restricted by both an equality and an inequality relation"
        );
        if self.first_position() != other.first_position() {
            let later = if other.first_position() < self.first_position() { &self } else { &other };
            let name = later.columns.first().map_or("", |column| &*column.name);
            return Err(invalid!(
                "Column \"{name}\" cannot be restricted by two inequalities not starting with the same column"
            ));
        }
        for (edge, text) in [(Edge::Start, "start"), (Edge::End, "end")] {
            ensure!(
                !(self.has_bound(edge) && other.has_bound(edge)),
                "More than one restriction was found for the {text} bound on {common}"
            );
        }
        let columns = if other.columns.len() <= self.columns.len() { self.columns } else { other.columns };
        match (self.kind, other.kind) {
            (RestrictionKind::TupleSlice(mine), RestrictionKind::TupleSlice(theirs)) => {
                Ok(Self { columns, kind: RestrictionKind::TupleSlice(mine.merge(theirs)) })
            }
            (kind, _) => Ok(Self { columns, kind }),
        }
    }
}

/// Restrictions of one kind of columns, in the order of the columns.
#[derive(Clone, Debug, Default)]
pub struct RestrictionSet {
    restrictions: Vec<Restriction>,
}

impl RestrictionSet {
    /// Adds a restriction, merging it with those of the same columns.
    ///
    /// # Errors
    /// As [`Restriction::merge`].
    pub fn add(&mut self, new: Restriction) -> Result<()> {
        let shares = |existing: &Restriction| {
            existing.columns.iter().any(|mine| new.columns.iter().any(|theirs| theirs.id == mine.id))
        };
        let merged = match self.restrictions.iter().position(shares) {
            Some(at) => self.restrictions.remove(at).merge(new)?,
            None => new,
        };
        self.restrictions.push(merged);
        self.restrictions.sort_by(|a, b| {
            let key = |restriction: &Restriction| {
                let name = restriction.first().map_or_else(Default::default, |column| column.name.clone());
                (restriction.first_position(), name)
            };
            key(a).cmp(&key(b))
        });
        Ok(())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Restriction> {
        self.restrictions.iter()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.restrictions.is_empty()
    }

    /// Restricted columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.restrictions.iter().flat_map(|restriction| &restriction.columns)
    }

    #[must_use]
    pub fn column_count(&self) -> usize {
        self.columns().count()
    }

    #[must_use]
    pub fn last(&self) -> Option<&Restriction> {
        self.restrictions.last()
    }

    #[must_use]
    pub fn has_in(&self) -> bool {
        self.restrictions.iter().any(Restriction::is_in)
    }

    #[must_use]
    pub fn has_slice(&self) -> bool {
        self.restrictions.iter().any(Restriction::is_slice)
    }

    #[must_use]
    pub fn has_contains(&self) -> bool {
        self.restrictions.iter().any(Restriction::is_contains)
    }

    #[must_use]
    pub fn has_only_equality(&self) -> bool {
        self.restrictions.iter().all(|restriction| restriction.is_equal() || restriction.is_in())
    }

    #[must_use]
    pub fn of_column(&self, column: &Column) -> Option<&Restriction> {
        self.restrictions.iter().find(|restriction| restriction.columns.iter().any(|mine| mine.id == column.id))
    }

    #[must_use]
    pub fn restricts(&self, column: &Column) -> bool {
        self.of_column(column).is_some()
    }
}
