//! Combinations: the tuples of values that a run of restrictions allows, IN lists multiplied out.
//!
//! Source: Cassandra 5.0, `db.MultiCBuilder`.

use crate::terms::Value;

#[derive(Debug)]
pub struct Combinations<'t> {
    tuples: Vec<Vec<Value<'t>>>,
    /// An IN list was empty: nothing matches.
    pub is_empty: bool,
    pub has_null: bool,
    pub has_unset: bool,
}

impl<'t> Combinations<'t> {
    #[must_use]
    pub fn new() -> Self {
        Self { tuples: vec![Vec::new()], is_empty: false, has_null: false, has_unset: false }
    }

    fn note(&mut self, value: &Value<'t>) {
        self.has_null |= value.is_null();
        self.has_unset |= value.is_unset();
    }

    pub fn add_one(&mut self, value: Value<'t>) {
        self.note(&value);
        match self.tuples.as_mut_slice() {
            [only] => only.push(value),
            tuples => tuples.iter_mut().for_each(|tuple| tuple.push(value.clone())),
        }
    }

    /// Each tuple so far with each of `values`.
    pub fn add_each(&mut self, values: Vec<Value<'t>>) {
        self.add_all(values.into_iter().map(|value| vec![value]).collect());
    }

    /// Each tuple so far with each of `runs` behind it.
    pub fn add_all(&mut self, runs: Vec<Vec<Value<'t>>>) {
        if runs.is_empty() {
            self.is_empty = true;
            return;
        }
        runs.iter().flatten().for_each(|value| self.note(value));
        self.tuples = self
            .tuples
            .iter()
            .flat_map(|tuple| runs.iter().map(move |run| tuple.iter().chain(run).cloned().collect()))
            .collect();
    }

    /// The tuples; none when a list was empty.
    #[must_use]
    pub fn into_tuples(self) -> Vec<Vec<Value<'t>>> {
        if self.is_empty { Vec::new() } else { self.tuples }
    }
}
