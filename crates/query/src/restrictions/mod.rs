//! Restrictions: a WHERE clause as partition keys, clustering slices and a row filter.
//!
//! [`Restrictions::prepare`] checks what a statement may ask in Cassandra's order and words; `keys`, `slices` and `filter`
//! bind the result for an execution.
//!
//! Source: Cassandra 5.0, `cql3.restrictions.StatementRestrictions`.

mod combinations;
mod filter;
mod keys;
mod relation;
mod restriction;
mod slices;

use std::sync::Arc;

use helenus_cql::Relation;
use helenus_schema::{Column, ColumnKind, Table};
use helenus_types::CqlType;

pub use keys::KeySelection;
pub use relation::{existing_column, quoted_name};
pub use restriction::is_descending;

use crate::error::{Result, ensure, invalid};
use crate::restrictions::relation::{Restricts, TokenRestriction, to_restriction};
use crate::restrictions::restriction::{Restriction, RestrictionKind, RestrictionSet, position};
use crate::terms::{Markers, Scope, Term};

pub const REQUIRES_ALLOW_FILTERING: &str = "Cannot execute this query as it might involve data filtering and thus may \
    have unpredictable performance. If you want to execute this query despite the performance unpredictability, use ALLOW \
    FILTERING";

/// The statement forms that have a WHERE clause or the like of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementForm {
    Select,
    Insert,
    Update,
    Delete,
}

impl StatementForm {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StatementForm::Select => "SELECT",
            StatementForm::Insert => "INSERT",
            StatementForm::Update => "UPDATE",
            StatementForm::Delete => "DELETE",
        }
    }

    fn allows_clustering_slices(self) -> bool {
        matches!(self, StatementForm::Select | StatementForm::Delete)
    }
}

/// What is restricted and under which rules.
pub struct RestrictionInput<'a> {
    pub form: StatementForm,
    pub table: &'a Arc<Table>,
    pub relations: &'a [Relation],
    /// The statement touches static columns only.
    pub only_statics: bool,
    pub allow_filtering: bool,
    /// Filtering needs no permission on virtual tables.
    pub is_virtual: bool,
    /// The column of ORDER BY … ANN OF.
    pub nearest_neighbours_of: Option<&'a Column>,
}

#[derive(Clone, Debug)]
pub struct Restrictions {
    table: Arc<Table>,
    key: RestrictionSet,
    token: Option<TokenRestriction>,
    clustering: RestrictionSet,
    others: RestrictionSet,
    is_key_range: bool,
    /// The key's restrictions are checked row by row.
    filters_key: bool,
    /// Some of the clustering restrictions are.
    filters_clustering: bool,
    /// Values longer than a clustering may hold are refused; reads just do not find them.
    checks_length: bool,
}

impl Restrictions {
    /// # Errors
    /// Everything that a WHERE clause may do wrong.
    pub fn prepare(scope: &Scope<'_>, input: &RestrictionInput<'_>, markers: &mut Markers) -> Result<Self> {
        let mut restrictions = Self {
            table: Arc::clone(input.table),
            key: RestrictionSet::default(),
            token: None,
            clustering: RestrictionSet::default(),
            others: RestrictionSet::default(),
            is_key_range: false,
            filters_key: false,
            filters_clustering: false,
            checks_length: input.form != StatementForm::Select,
        };
        for relation in input.relations {
            restrictions.add_relation(scope, input, relation, markers)?;
        }
        restrictions.check_key(input)?;
        ensure!(
            !input.only_statics || restrictions.clustering.is_empty() || input.form == StatementForm::Insert,
            "{}",
            match input.form {
                StatementForm::Select => {
                    "Cannot restrict clustering columns when selecting only static columns".to_owned()
                }
                form => format!(
                    "Invalid restrictions on clustering columns since the {} statement modifies only static columns",
                    form.name()
                ),
            }
        );
        restrictions.check_clustering(input)?;
        restrictions.filters_clustering = restrictions.clustering_needs_filtering();
        restrictions.check_others(input)?;
        Ok(restrictions)
    }

    /// Equalities of single primary key columns, as INSERT JSON gives them.
    #[must_use]
    pub fn of_key_values(table: &Arc<Table>, values: Vec<(Column, Term)>) -> Self {
        let mut restrictions = Self {
            table: Arc::clone(table),
            key: RestrictionSet::default(),
            token: None,
            clustering: RestrictionSet::default(),
            others: RestrictionSet::default(),
            is_key_range: false,
            filters_key: false,
            filters_clustering: false,
            checks_length: true,
        };
        for (column, term) in values {
            let set = match column.kind {
                ColumnKind::PartitionKey { .. } => &mut restrictions.key,
                _ => &mut restrictions.clustering,
            };
            let restriction = Restriction::single(&column, RestrictionKind::Equal(term));
            // Each column comes once, so that there is nothing to merge with.
            let _ = set.add(restriction);
        }
        restrictions
    }

    fn add_relation(
        &mut self,
        scope: &Scope<'_>,
        input: &RestrictionInput<'_>,
        relation: &Relation,
        markers: &mut Markers,
    ) -> Result<()> {
        if let Relation::Column { operator, .. } = relation
            && matches!(operator, helenus_cql::Operator::Contains | helenus_cql::Operator::ContainsKey)
            && matches!(input.form, StatementForm::Update | StatementForm::Delete)
        {
            return Err(invalid!("Cannot use {} with {}", input.form.name(), operator.text()));
        }
        let restriction = match to_restriction(scope, input.table, relation, markers)? {
            Restricts::Token(token) => {
                self.token = Some(match self.token.take() {
                    Some(existing) => existing.merge(token, input.table)?,
                    None => token,
                });
                return Ok(());
            }
            Restricts::Columns(restriction) => restriction,
        };
        match restriction.first().map(|column| column.kind) {
            Some(ColumnKind::PartitionKey { .. }) => self.key.add(restriction),
            Some(ColumnKind::Clustering { .. }) => self.add_clustering(restriction, input.allow_filtering),
            Some(ColumnKind::Static | ColumnKind::Regular) | None => self.others.add(restriction),
        }
    }

    fn add_clustering(&mut self, new: Restriction, allow_filtering: bool) -> Result<()> {
        let last = self.clustering.last().cloned();
        self.clustering.add(new.clone())?;
        let Some(last) = last.filter(|_| !allow_filtering) else { return Ok(()) };
        let name = |restriction: &Restriction| restriction.first().map_or_else(String::new, |c| c.name.to_string());
        ensure!(
            !(last.is_slice() && last.first_position() < new.first_position()),
            "Clustering column \"{}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
            name(&new),
            name(&last)
        );
        if new.first_position() < last.first_position() && new.is_slice() {
            let next = self
                .clustering
                .columns()
                .find(|column| new.first_position() < position(column))
                .map_or_else(String::new, |column| column.name.to_string());
            return Err(invalid!(
                "PRIMARY KEY column \"{next}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
                name(&new)
            ));
        }
        Ok(())
    }

    /// Whether ranges of tokens, not single keys, are what the key's restrictions give.
    fn is_on_token(&self) -> bool {
        self.token.is_some()
            && (self.key_needs_filtering() || self.key.column_count() < self.table.partition_key().len())
    }

    fn key_is_incomplete(&self) -> bool {
        let restricted = self.key.column_count();
        restricted < self.table.partition_key().len() && (self.token.is_none() || 0 < restricted)
    }

    fn key_needs_filtering(&self) -> bool {
        !self.key.is_empty()
            && (self.key.column_count() < self.table.partition_key().len()
                || self.key.has_slice()
                || self.key.has_contains())
    }

    fn check_key(&mut self, input: &RestrictionInput<'_>) -> Result<()> {
        if input.form != StatementForm::Select {
            let name = input.form.name();
            ensure!(self.token.is_none(), "The token function cannot be used in WHERE clauses for {name} statements");
            if self.key_is_incomplete() {
                let key = self.table.partition_key().iter().filter(|column| !self.key.restricts(column));
                let missing: Vec<&str> = key.map(|column| &*column.name).collect();
                return Err(invalid!("Some partition key parts are missing: {}", missing.join(", ")));
            }
            ensure!(
                !self.key.has_slice(),
                "Only EQ and IN relation are supported on the partition key (unless you use the token() function) for \
                 {name} statements"
            );
            return Ok(());
        }
        self.is_key_range = self.is_on_token() || (self.key.is_empty() && self.token.is_none());
        if self.key_needs_filtering() {
            ensure!(input.allow_filtering || input.is_virtual, "{REQUIRES_ALLOW_FILTERING}");
            self.is_key_range = true;
            self.filters_key = true;
        }
        Ok(())
    }

    fn check_clustering(&self, input: &RestrictionInput<'_>) -> Result<()> {
        ensure!(
            input.form.allows_clustering_slices() || !self.clustering.has_slice(),
            "Slice restrictions are not supported on the clustering columns in {} statements",
            input.form.name()
        );
        let columns = self.table.clustering();
        if !input.form.allows_clustering_slices() {
            if !input.only_statics && self.clustering.column_count() != columns.len() {
                let missing: Vec<&str> = columns
                    .iter()
                    .filter(|column| !self.clustering.restricts(column))
                    .map(|column| &*column.name)
                    .collect();
                return Err(invalid!("Some clustering keys are missing: {}", missing.join(", ")));
            }
            return Ok(());
        }
        ensure!(
            !self.clustering.has_contains() || input.allow_filtering,
            "Clustering columns can only be restricted with CONTAINS with a secondary index or filtering"
        );
        if self.clustering_needs_filtering() && !input.allow_filtering {
            for (column, restricted) in columns.iter().zip(self.clustering.columns()) {
                ensure!(
                    column.id == restricted.id,
                    "PRIMARY KEY column \"{}\" cannot be restricted as preceding column \"{}\" is not restricted",
                    restricted.name,
                    column.name
                );
            }
        }
        Ok(())
    }

    fn check_others(&self, input: &RestrictionInput<'_>) -> Result<()> {
        if let Some(column) = input.nearest_neighbours_of {
            let is_float_vector = matches!(&column.ty, CqlType::Vector { element, .. } if **element == CqlType::Float);
            ensure!(is_float_vector, "ANN ordering is only supported on float vector indexes");
            return Err(invalid!("ANN ordering by vector requires the column to be indexed"));
        }
        if self.others.is_empty() {
            return Ok(());
        }
        if input.form != StatementForm::Select {
            let names: Vec<&str> = self.others.columns().map(|column| &*column.name).collect();
            return Err(invalid!("Non PRIMARY KEY columns found in where clause: {} ", names.join(", ")));
        }
        ensure!(input.allow_filtering || input.is_virtual, "{REQUIRES_ALLOW_FILTERING}");
        Ok(())
    }

    /// Whether a restriction that starts at `position` where `expected` comes next must be checked row by row.
    fn is_filtered(restriction: &Restriction, expected: usize) -> bool {
        restriction.is_contains() || restriction.first_position() != expected
    }

    fn clustering_needs_filtering(&self) -> bool {
        let mut expected = 0;
        for restriction in self.clustering.iter() {
            if Self::is_filtered(restriction, expected) {
                return true;
            }
            if !restriction.is_slice() {
                expected = restriction.last_position() + 1;
            }
        }
        self.clustering.has_contains()
    }

    /// Whether rows must be filtered, for which a range read needs ALLOW FILTERING.
    #[must_use]
    pub fn needs_filtering(&self) -> bool {
        let filtered = self.filters_key || self.filters_clustering || !self.others.is_empty();
        filtered || !self.clustering.is_empty()
    }

    #[must_use]
    pub fn is_key_range(&self) -> bool {
        self.is_key_range
    }

    #[must_use]
    pub fn has_key_restrictions(&self) -> bool {
        !self.key.is_empty() || self.token.is_some()
    }

    /// Whether the partition key is restricted by IN.
    #[must_use]
    pub fn key_has_in(&self) -> bool {
        !self.is_on_token() && self.key.has_in()
    }

    #[must_use]
    pub fn clustering_has_in(&self) -> bool {
        self.clustering.has_in()
    }

    #[must_use]
    pub fn has_clustering_restrictions(&self) -> bool {
        !self.clustering.is_empty()
    }

    /// Restricted columns outside of the primary key.
    pub fn other_columns(&self) -> impl Iterator<Item = &Column> {
        self.others.columns()
    }

    /// Whether slices, not single rows, are what the clustering restrictions give.
    #[must_use]
    pub fn is_column_range(&self) -> bool {
        self.clustering.column_count() < self.table.clustering().len() || !self.clustering.has_only_equality()
    }

    #[must_use]
    pub fn is_restricted_by_equal(&self, column: &Column) -> bool {
        match column.kind {
            ColumnKind::PartitionKey { .. } => self.key.of_column(column).is_some_and(Restriction::is_equal),
            ColumnKind::Clustering { .. } => self.clustering.of_column(column).is_some_and(Restriction::is_equal),
            ColumnKind::Static | ColumnKind::Regular => {
                self.others.of_column(column).is_some_and(Restriction::is_equal)
            }
        }
    }

    /// Every primary key column is restricted by = or IN.
    #[must_use]
    pub fn names_single_rows(&self) -> bool {
        self.token.is_none()
            && !self.key_is_incomplete()
            && self.key.has_only_equality()
            && self.clustering.column_count() == self.table.clustering().len()
            && self.clustering.has_only_equality()
    }

    /// Whether a partition without rows but with static content gives a row.
    #[must_use]
    pub fn static_content_counts(&self) -> bool {
        let regular = self.others.columns().any(|column| column.kind == ColumnKind::Regular);
        self.clustering.is_empty() && !regular
    }
}
