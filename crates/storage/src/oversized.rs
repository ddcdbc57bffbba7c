//! The refusal of a record that the commit log cannot take, which names the partitions that made it so large.
//!
//! Source: Cassandra 5.0, `db.MutationExceededMaxSizeException`.

use std::rc::Rc;

use helenus_data::{Mutation, codec};
use helenus_schema::Table;
use helenus_types::{CqlType, composite};

use crate::error::StorageError;
use crate::table::TableStore;

/// Names of partitions go on until they are this long.
const KEYS_BYTES_MAX: usize = 1024;

/// What refuses `mutations`, which are of `stores` and take `bytes`.
pub(crate) fn refusal(mutations: &[Mutation], stores: &[Rc<TableStore>], bytes: u64, bytes_max: u64) -> StorageError {
    let mut sized: Vec<(usize, Rc<TableStore>, &Mutation)> = Vec::with_capacity(mutations.len());
    let mut body = Vec::new();
    for (mutation, store) in mutations.iter().zip(stores) {
        body.clear();
        codec::encode(mutation, &mut body);
        sized.push((body.len(), Rc::clone(store), mutation));
    }
    sized.sort_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes));
    let keyspace = sized.first().map_or_else(String::new, |(_, store, _)| store.schema().keyspace.to_string());
    let names = sized.iter().filter(|(_, store, _)| *store.schema().keyspace == *keyspace);
    let names: Vec<String> = names.map(|(_, store, mutation)| name(&store.schema(), mutation)).collect();
    StorageError::MutationTooLarge { bytes, bytes_max, keyspace, largest_keys: join(&names) }
}

/// `table.key`; the components of a composite key stand between colons.
fn name(table: &Table, mutation: &Mutation) -> String {
    let columns = table.partition_key();
    let key = mutation.partition.key.bytes();
    let components = composite::split_partition_key(key, columns.len()).unwrap_or_default();
    let text = |ty: &CqlType, bytes: &[u8]| match columns.len() {
        1 => ty.to_string_form(bytes),
        _ => ty.to_string_form(bytes).replace(':', "\\:"),
    };
    let texts: Vec<String> =
        columns.iter().zip(components).map(|(column, component)| text(&column.ty, component)).collect();
    format!("{}.{}", table.name, texts.join(":"))
}

fn join(names: &[String]) -> String {
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        if index == 0 {
            text.push_str(name);
        } else if text.len() + ", ".len() + name.len() <= KEYS_BYTES_MAX {
            text.push_str(", ");
            text.push_str(name);
        } else {
            text.push_str(&format!(" and {} more.", names.len() - index));
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_partitions_are_named_until_the_text_is_long_and_the_others_counted() {
        assert_eq!(join(&["t.a".to_owned()]), "t.a");
        assert_eq!(join(&["t.a".to_owned(), "u.b".to_owned()]), "t.a, u.b");
        let long = "k".repeat(KEYS_BYTES_MAX - 5);
        assert_eq!(join(&[long.clone(), "t.1".to_owned()]), format!("{long}, t.1"));
        assert_eq!(join(&[long.clone(), "t.12".to_owned(), "t".to_owned()]), format!("{long} and 2 more."));
    }
}
