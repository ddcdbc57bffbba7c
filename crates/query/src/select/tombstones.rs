//! The warning of a read that met many tombstones, with the read as a statement.
//!
//! Source: Cassandra 5.0, `db.ReadCommand.toCQLString` and what it calls.

use helenus_cql::maybe_quote;
use helenus_data::read::{
    FilterOperator, FilterTarget, FilterTerm, KeyRange, RankInToken, ReadCommand, ReadResult, ReadTarget, RingPosition,
};
use helenus_data::{Bound, Direction, PartitionKey, Side};
use helenus_schema::{Column, Table};
use helenus_types::token::Token;
use helenus_types::{CqlType, composite};

use crate::restrictions::{is_descending, quoted_name};
use crate::select::selection::Selection;

/// Longest statement in a warning.
const QUERY_CHARS_MAX: usize = 512;

/// Rows of a page that Cassandra reads for groups when the client asked for none.
const GROUP_PAGE_ROWS: u32 = 10_000;

/// What limits an execution, as Cassandra tells it (`db.filter.DataLimits`): other than the chunks in which we read.
#[derive(Clone, Copy, Debug)]
pub enum StatementLimits {
    Rows {
        rows: Option<u32>,
        per_partition: Option<u32>,
    },
    /// One row for all of them.
    Everything {
        page_size: Option<u32>,
    },
    Groups {
        groups: Option<u32>,
        per_partition: Option<u32>,
        page_size: Option<u32>,
    },
}

impl StatementLimits {
    /// With the blank before it: Cassandra writes it also where limits exist that say nothing.
    fn text(self) -> String {
        let named = |name: &str, limit: Option<u32>| limit.map(|limit| format!("{name} {limit}"));
        let parts = match self {
            Self::Rows { rows: None, per_partition: None } => return String::new(),
            Self::Rows { rows, per_partition } => {
                vec![named("LIMIT", rows), named("PER PARTITION LIMIT", per_partition)]
            }
            Self::Everything { page_size } => vec![named("LIMIT", page_size)],
            Self::Groups { groups, per_partition, page_size } => vec![
                named("GROUP LIMIT", groups),
                named("GROUP PER PARTITION LIMIT", per_partition),
                named("LIMIT", Some(page_size.unwrap_or(GROUP_PAGE_ROWS))),
            ],
        };
        format!(" {}", parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

/// What to warn of after `command` was answered with `result`.
pub fn warning(
    table: &Table,
    selection: &Selection,
    command: &ReadCommand,
    limits: StatementLimits,
    result: &ReadResult,
) -> String {
    let key = match (&command.target, &result.next) {
        (ReadTarget::Partition(key), _) => Some(key),
        // What lies behind the limit was perhaps read, but not met.
        (ReadTarget::Range(_), Some(next)) => Some(&next.key),
        (ReadTarget::Range(_), None) => result.last_key.as_ref(),
    };
    let query: String = statement(table, selection, command, limits).chars().take(QUERY_CHARS_MAX).collect();
    format!(
        "Read {} live rows and {} tombstone cells for query {query}; token {} (see tombstone_warn_threshold)",
        result.stats.live_rows,
        result.stats.tombstones,
        key.map_or_else(String::new, |key| key.token().to_string())
    )
}

fn statement(table: &Table, selection: &Selection, command: &ReadCommand, limits: StatementLimits) -> String {
    let mut columns: Vec<&str> = table
        .statics()
        .iter()
        .chain(table.regulars())
        .filter(|_| !selection.is_wildcard)
        .filter(|column| {
            let is_filtered = |term: &FilterTerm| {
                matches!(term.target, FilterTarget::Static(id) | FilterTarget::Regular(id) if id == column.id)
            };
            selection.fetched.iter().any(|fetched| fetched.id == column.id)
                || command.filter.terms.iter().any(is_filtered)
        })
        .map(|column| &*column.name)
        .collect();
    columns.sort_unstable();
    let columns: Vec<String> = columns.into_iter().map(|name| maybe_quote(name).to_string()).collect();
    let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
    let mut text = format!("SELECT {columns} FROM {}", quoted_name(table));
    let mut relations = match &command.target {
        ReadTarget::Partition(key) => vec![key_text(table, key)],
        ReadTarget::Range(range) => range_text(table, range),
    };
    relations.extend(clustering_text(table, command));
    relations.extend(command.filter.terms.iter().filter_map(|term| filter_text(table, term)));
    if !relations.is_empty() {
        text.push_str(" WHERE ");
        text.push_str(&relations.join(" AND "));
    }
    if command.direction == Direction::Reversed {
        let turned = |column: &Column| {
            let order = if is_descending(column) { "ASC" } else { "DESC" };
            format!("{} {order}", maybe_quote(&column.name))
        };
        let columns: Vec<String> = table.clustering().iter().map(turned).collect();
        text.push_str(&format!(" ORDER BY {}", columns.join(", ")));
    }
    text.push_str(&limits.text());
    text.push_str(" ALLOW FILTERING");
    text
}

/// `token(k) >= 1`; nothing for an end that is the ring's.
fn range_text(table: &Table, range: &KeyRange) -> Vec<String> {
    let names: Vec<String> = table.partition_key().iter().map(|column| maybe_quote(&column.name).to_string()).collect();
    let names = names.join(", ");
    let whole = KeyRange::all();
    let position = |position: &RingPosition, operators: [&str; 2]| {
        let operator = match &position.rank {
            RankInToken::BeforeKeys | RankInToken::AtKey { side: Side::Before, .. } => operators[0],
            RankInToken::AfterKeys | RankInToken::AtKey { side: Side::After, .. } => operators[1],
        };
        let Token(token) = position.token;
        format!("token({names}) {operator} {token}")
    };
    let mut texts = Vec::new();
    if range.start != whole.start {
        texts.push(position(&range.start, [">=", ">"]));
    }
    if range.end != whole.end {
        texts.push(position(&range.end, ["<", "<="]));
    }
    texts
}

fn filter_text(table: &Table, term: &FilterTerm) -> Option<String> {
    let column = match term.target {
        FilterTarget::PartitionKey { index, .. } => table.partition_key().get(index),
        FilterTarget::Clustering(index) => table.clustering().get(index),
        FilterTarget::Static(id) | FilterTarget::Regular(id) => table.columns().iter().find(|column| column.id == id),
    }?;
    let name = maybe_quote(&column.name);
    let literal = |value: &[u8]| term.ty.to_cql_literal(value);
    let (key_type, value_type) = match &term.ty {
        CqlType::Map { key, value, .. } => (&**key, &**value),
        CqlType::List { element, .. } | CqlType::Set { element, .. } => (&**element, &**element),
        other => (other, other),
    };
    Some(match &term.operator {
        FilterOperator::Equal(value) => format!("{name} = {}", literal(value.as_slice())),
        FilterOperator::Less(value) => format!("{name} < {}", literal(value.as_slice())),
        FilterOperator::LessOrEqual(value) => format!("{name} <= {}", literal(value.as_slice())),
        FilterOperator::Greater(value) => format!("{name} > {}", literal(value.as_slice())),
        FilterOperator::GreaterOrEqual(value) => format!("{name} >= {}", literal(value.as_slice())),
        FilterOperator::In(values) => {
            let values: Vec<String> = values.iter().map(|value| literal(value.as_slice())).collect();
            format!("{name} IN [{}]", values.join(", "))
        }
        FilterOperator::Contains(value) => {
            format!("{name} CONTAINS {}", value_type.to_cql_literal(value.as_slice()))
        }
        FilterOperator::ContainsKey(value) => {
            format!("{name} CONTAINS KEY {}", key_type.to_cql_literal(value.as_slice()))
        }
        FilterOperator::MapEntry { key, value } => {
            let (key, value) = (key.as_slice(), value.as_slice());
            format!("{name}[{}] = {}", key_type.to_cql_literal(key), value_type.to_cql_literal(value))
        }
    })
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
        let descending = is_descending(column);
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
