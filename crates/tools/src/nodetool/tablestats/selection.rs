//! Which tables `tablestats` was asked for: `keyspace`, `keyspace.table`, or all but these.

use crate::nodetool::api::Table;
use crate::nodetool::failure::Failure;

pub struct Selection {
    /// Print what was not named.
    inverted: bool,
    /// Keyspace, and its table unless the whole keyspace was named.
    named: Vec<(String, Option<String>)>,
}

impl Selection {
    #[must_use]
    pub fn new(inverted: bool, words: &[String]) -> Self {
        let named = words.iter().map(|word| match word.split_once('.') {
            Some((keyspace, table)) => (keyspace.to_owned(), Some(table.to_owned())),
            None => (word.clone(), None),
        });
        Self { inverted, named: named.collect() }
    }

    #[must_use]
    pub fn contains(&self, table: &Table) -> bool {
        let is_named = |(keyspace, name): &(String, Option<String>)| {
            *keyspace == table.keyspace && name.as_ref().is_none_or(|name| *name == table.table)
        };
        self.inverted != (self.named.is_empty() || self.named.iter().any(is_named))
    }

    /// # Errors
    /// [`Failure::BadUse`] when something was named that does not exist.
    pub fn validate(&self, keyspaces: &[String], tables: &[Table]) -> Result<(), Failure> {
        if let Some((unknown, _)) = self.named.iter().find(|(keyspace, _)| !keyspaces.contains(keyspace)) {
            return Err(Failure::BadUse(format!("Unknown keyspace: {unknown}")));
        }
        for (keyspace, _) in &self.named {
            let exists = |name: &str| tables.iter().any(|table| table.keyspace == *keyspace && table.table == name);
            let of_keyspace = self.named.iter().filter(|(other, _)| other == keyspace);
            let unknown: Vec<&str> =
                of_keyspace.filter_map(|(_, name)| name.as_deref()).filter(|name| !exists(name)).collect();
            if !unknown.is_empty() {
                let unknown = unknown.join(", ");
                return Err(Failure::BadUse(format!("Unknown tables: [{unknown}] in keyspace: {keyspace}")));
            }
        }
        Ok(())
    }
}
