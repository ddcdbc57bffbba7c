//! The warning of a read that met many tombstones, with the read as a statement.
//!
//! Source: Cassandra 5.0, `db.ReadCommand.toCQLString` and what it calls. Row filters are left out.

use helenus_cql::maybe_quote;
use helenus_data::read::{ReadCommand, ReadResult, ReadTarget};
use helenus_data::{Bound, PartitionKey, Side};
use helenus_schema::Table;
use helenus_types::composite;

use crate::restrictions::quoted_name;
use crate::select::selection::Selection;

/// Longest statement in a warning.
const QUERY_CHARS_MAX: usize = 512;

/// What to warn of after `command` was answered with `result`.
pub fn warning(table: &Table, selection: &Selection, command: &ReadCommand, result: &ReadResult) -> String {
    let key = match &command.target {
        ReadTarget::Partition(key) => Some(key),
        ReadTarget::Range(_) => result.partitions.last().map(|partition| &partition.key),
    };
    let query: String = statement(table, selection, command).chars().take(QUERY_CHARS_MAX).collect();
    format!(
        "Read {} live rows and {} tombstone cells for query {query}; token {} (see tombstone_warn_threshold)",
        result.stats.live_rows,
        result.stats.tombstones,
        key.map_or_else(String::new, |key| key.token().to_string())
    )
}

fn statement(table: &Table, selection: &Selection, command: &ReadCommand) -> String {
    let mut columns: Vec<&str> = table
        .statics()
        .iter()
        .chain(table.regulars())
        .filter(|column| !selection.is_wildcard && selection.fetched.iter().any(|fetched| fetched.id == column.id))
        .map(|column| &*column.name)
        .collect();
    columns.sort_unstable();
    let columns: Vec<String> = columns.into_iter().map(|name| maybe_quote(name).to_string()).collect();
    let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
    let mut text = format!("SELECT {columns} FROM {}", quoted_name(table));
    if let ReadTarget::Partition(key) = &command.target {
        text.push_str(" WHERE ");
        text.push_str(&key_text(table, key));
        let clustering = clustering_text(table, command);
        if !clustering.is_empty() {
            text.push_str(" AND ");
            text.push_str(&clustering.join(" AND "));
        }
    }
    if command.limits.rows < u64::from(u32::MAX) {
        text.push_str(&format!(" LIMIT {}", command.limits.rows));
    }
    if command.limits.rows_per_partition < u64::from(u32::MAX) {
        text.push_str(&format!(" PER PARTITION LIMIT {}", command.limits.rows_per_partition));
    }
    text.push_str(" ALLOW FILTERING");
    text
}

fn key_text(table: &Table, key: &PartitionKey) -> String {
    let columns = table.partition_key();
    let values = composite::split_partition_key(key.bytes(), columns.len()).unwrap_or_default();
    let texts = columns
        .iter()
        .zip(values)
        .map(|(column, value)| format!("{} = {}", maybe_quote(&column.name), column.ty.to_cql_literal(value)));
    texts.collect::<Vec<_>>().join(" AND ")
}

/// The slices as relations, column by column: equal values as `=` or IN, others as the first slice's inequalities.
fn clustering_text(table: &Table, command: &ReadCommand) -> Vec<String> {
    let mut texts = Vec::new();
    for (index, column) in table.clustering().iter().enumerate() {
        let name = maybe_quote(&column.name);
        let literal = |value: &[u8]| column.ty.to_cql_literal(value);
        let value_at = |bound: &'_ Bound| bound.values().nth(index).map(<[u8]>::to_vec);
        let mut components = command
            .slices
            .iter()
            .map(|slice| (value_at(&slice.start), slice.start.side(), value_at(&slice.end), slice.end.side()))
            .filter(|(start, _, end, _)| start.is_some() || end.is_some());
        let Some((start, start_side, end, end_side)) = components.next() else { break };
        if let (Some(first), true) = (&start, start == end) {
            let mut values = vec![first.clone()];
            for (other, ..) in components {
                if let Some(other) = other
                    && !values.contains(&other)
                {
                    values.push(other);
                }
            }
            match values.as_slice() {
                [only] => texts.push(format!("{name} = {}", literal(only))),
                several => {
                    let several: Vec<String> = several.iter().map(|value| literal(value)).collect();
                    texts.push(format!("{name} IN ({})", several.join(", ")));
                }
            }
            continue;
        }
        let descending = crate::restrictions::is_descending(column);
        let (above, below) = if descending { ("<", ">") } else { (">", "<") };
        if let Some(start) = start {
            let equal = if start_side == Side::Before { "=" } else { "" };
            texts.push(format!("{name} {above}{equal} {}", literal(&start)));
        }
        if let Some(end) = end {
            let equal = if end_side == Side::After { "=" } else { "" };
            texts.push(format!("{name} {below}{equal} {}", literal(&end)));
        }
    }
    texts
}
