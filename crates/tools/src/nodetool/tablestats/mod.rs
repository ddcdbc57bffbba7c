//! `tablestats`: which tables, in which order, as text or as a document.

mod document;
mod order;
mod selection;
mod text;

use super::api::Table;
use super::command_line::TablestatsArgs;
use super::failure::Failure;
use super::java_text::file_size;

pub use selection::Selection;

/// What is to be printed: tables of keyspaces, or tables in an order of their own.
pub struct Report<'a> {
    keyspaces: Vec<Keyspace<'a>>,
    order: Option<Order>,
    human_readable: bool,
    location_check: bool,
}

struct Keyspace<'a> {
    name: &'a str,
    /// All tables of the keyspace, also those that were not asked for: the keyspace's own numbers are sums over them.
    all: Vec<&'a Table>,
    selected: Vec<&'a Table>,
}

struct Order {
    key: String,
    /// 0: all.
    top: usize,
}

/// # Errors
/// [`Failure::BadUse`] for options that make no sense, and for keyspaces and tables that do not exist.
/// `keyspaces`: all that the node has.
pub fn report<'a>(
    tables: &'a [Table],
    keyspaces: &[String],
    arguments: &TablestatsArgs,
) -> Result<Report<'a>, Failure> {
    let order = order(arguments)?;
    let selection = Selection::new(arguments.ignore, &arguments.words);
    selection.validate(keyspaces, tables)?;
    let mut found: Vec<Keyspace<'a>> = Vec::new();
    for table in tables {
        if found.last().is_none_or(|keyspace| keyspace.name != table.keyspace) {
            found.push(Keyspace { name: &table.keyspace, all: Vec::new(), selected: Vec::new() });
        }
        if let Some(keyspace) = found.last_mut() {
            keyspace.all.push(table);
            if selection.contains(table) {
                keyspace.selected.push(table);
            }
        }
    }
    found.retain(|keyspace| !keyspace.selected.is_empty());
    Ok(Report {
        keyspaces: found,
        order,
        human_readable: arguments.human_readable,
        location_check: arguments.sstable_location_check,
    })
}

fn order(arguments: &TablestatsArgs) -> Result<Option<Order>, Failure> {
    if arguments.sort.as_ref().is_some_and(|key| !order::KEYS.contains(&key.as_str())) {
        return Err(Failure::BadUse(format!("argument for sort must be one of: {}", order::KEYS.join(", "))));
    }
    let top = arguments.top.as_ref().map_or(Ok(0), |top| top.parse::<i64>());
    let top = top.map_err(|_| {
        Failure::BadUse(format!("top: can not convert \"{}\" to a int", arguments.top.as_deref().unwrap_or_default()))
    })?;
    let top = usize::try_from(top).ok();
    match (&arguments.sort, top) {
        (_, None) => Err(Failure::BadUse("argument for top must be a positive integer.".to_owned())),
        (None, Some(1..)) => {
            Err(Failure::BadUse("cannot filter top K tables without specifying a sort key.".to_owned()))
        }
        (Some(key), Some(top)) => Ok(Some(Order { key: key.clone(), top })),
        (None, Some(0)) => Ok(None),
    }
}

impl<'a> Report<'a> {
    fn table_count(&self) -> usize {
        self.keyspaces.iter().map(|keyspace| keyspace.selected.len()).sum()
    }

    /// The selected tables, the largest first.
    fn ordered(&self, order: &Order) -> Vec<&'a Table> {
        let mut tables: Vec<&Table> =
            self.keyspaces.iter().flat_map(|keyspace| keyspace.selected.iter().copied()).collect();
        tables.sort_by(|left, right| order::compare(&order.key, left, right));
        if 0 < order.top {
            tables.truncate(order.top);
        }
        tables
    }

    fn size(&self, bytes: u64) -> String {
        if self.human_readable { file_size(bytes) } else { bytes.to_string() }
    }

    #[must_use]
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// The document of `tablestats -F`: Cassandra's names.
    #[must_use]
    pub fn document(&self) -> serde_json::Value {
        document::document(self)
    }
}

impl Keyspace<'_> {
    fn sum(&self, number: impl Fn(&Table) -> u64) -> u64 {
        self.all.iter().map(|table| number(table)).sum()
    }

    /// Mean in milliseconds; NaN without any.
    fn mean_ms(&self, micros: impl Fn(&Table) -> u64, count: impl Fn(&Table) -> u64) -> f64 {
        self.sum(micros) as f64 / self.sum(count) as f64 / 1000.0
    }

    fn read_ms(&self) -> f64 {
        self.mean_ms(|table| table.read_micros_total, |table| table.reads)
    }

    fn write_ms(&self) -> f64 {
        self.mean_ms(|table| table.write_micros_total, |table| table.writes)
    }
}

/// Numbers that Cassandra works out of others before it prints them.
impl Table {
    fn off_heap_bytes(&self) -> u64 {
        self.memtable_off_heap_bytes
            + self.bloom_filter_off_heap_bytes
            + self.index_summary_bytes
            + self.compression_metadata_bytes
    }

    /// NaN when nothing was seen.
    fn read_ms(&self) -> f64 {
        positive_or_nan(self.read_latency_micros.mean) / 1000.0
    }

    fn write_ms(&self) -> f64 {
        positive_or_nan(self.write_latency_micros.mean) / 1000.0
    }

    fn read_write_ratio(&self) -> f64 {
        if self.writes == 0 { 0.0 } else { self.reads as f64 / self.writes as f64 }
    }

    /// Two digits behind the point; 100 when there is nothing to repair.
    fn percent_repaired(&self) -> f64 {
        let total = self.repaired_bytes + self.unrepaired_bytes + self.pending_repair_bytes;
        if total == 0 {
            return 100.0;
        }
        (self.repaired_bytes as f64 / total as f64 * 100.0 * 100.0).round() / 100.0
    }

    /// -1 without compressed files.
    fn ratio(&self) -> f64 {
        self.compression_ratio.unwrap_or(-1.0)
    }

    fn bloom_filter_false_ratio(&self) -> f64 {
        let (wrong, right) = (self.bloom_filter_false_positives, self.bloom_filter_true_positives);
        let all = wrong + right + self.bloom_filter_negatives;
        if all == 0 { 0.0 } else { wrong as f64 / all as f64 }
    }

    fn live_rows_mean(&self) -> f64 {
        if self.live_rows_per_read.count == 0 { f64::NAN } else { self.live_rows_per_read.mean }
    }

    fn tombstones_mean(&self) -> f64 {
        if self.tombstones_per_read.count == 0 { f64::NAN } else { self.tombstones_per_read.mean }
    }

    /// `1 DAYS, max duration: 3 hours 5 seconds`
    fn time_window_text(&self) -> Option<String> {
        let window = self.time_window.as_ref()?;
        Some(format!("{} {}, max duration: {}", window.size, window.unit, duration_words(window.duration_max_secs)))
    }

    /// Files and bytes a level; `4/2` where a level has more files than it should.
    fn level_texts(&self) -> Option<(Vec<String>, Vec<String>)> {
        let levels = self.levels.as_ref()?;
        let files = levels.iter().map(|level| match level.sstables_max {
            max if max < level.sstables => format!("{}/{max}", level.sstables),
            _ => level.sstables.to_string(),
        });
        Some((files.collect(), levels.iter().map(|level| level.bytes.to_string()).collect()))
    }
}

fn positive_or_nan(value: f64) -> f64 {
    if 0.0 < value { value } else { f64::NAN }
}

/// `2 days 1 hour 5 seconds`: zeros at both ends left out. Source: commons-lang, `DurationFormatUtils.formatDurationWords`.
fn duration_words(secs: u64) -> String {
    let parts = [("day", secs / 86_400), ("hour", secs / 3600 % 24), ("minute", secs / 60 % 60), ("second", secs % 60)];
    let first = parts.iter().position(|(_, count)| *count != 0).unwrap_or(parts.len() - 1);
    let last = parts.iter().rposition(|(_, count)| *count != 0).unwrap_or(parts.len() - 1);
    let words = parts.iter().skip(first).take(last + 1 - first);
    let words = words.map(|(unit, count)| format!("{count} {unit}{}", if *count == 1 { "" } else { "s" }));
    words.collect::<Vec<_>>().join(" ")
}
