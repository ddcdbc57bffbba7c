//! Table options as CREATE and ALTER TABLE give them: parsed, validated with Cassandra's texts, laid over the old ones.
//!
//! Two error kinds: what does not even have the form of the option is a syntax error, a refused value a configuration
//! error. Sub-options of compaction and compression are in modules of their own.
//!
//! Source: Cassandra 5.0, `cql3.statements.schema.TableAttributes`, `schema.TableParams`; texts from its answers.

mod compaction;
mod compression;
mod retry;

use std::collections::BTreeMap;

use crate::params::TableParams;

/// A value as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    Text(String),
    /// In the order written.
    Map(Vec<(String, String)>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// SyntaxException (0x2000).
    #[error("{0}")]
    Syntax(String),
    /// ConfigurationException (0x2300).
    #[error("{0}")]
    Config(String),
}

/// Changed options and what the client is to be told about them.
#[derive(Clone, Debug)]
pub struct OptionChange {
    pub params: TableParams,
    pub warnings: Vec<String>,
}

/// From 50 bits a key: more would not fit the hash count that Cassandra's filters support.
const BLOOM_FP_CHANCE_MIN: f64 = 6.71e-5;
const TTL_MAX_SECS: i32 = helenus_types::time::Ttl::MAX_SECS.cast_signed();

impl TableParams {
    /// These params with `options` (name and value, without `id` and key layout) laid over them.
    ///
    /// # Errors
    /// [`OptionError`], with Cassandra's wording.
    pub fn with_options(&self, options: &[(String, OptionValue)]) -> Result<OptionChange, OptionError> {
        let mut named: BTreeMap<&str, &OptionValue> = BTreeMap::new();
        for (name, value) in options {
            if !NAMES.contains(&name.as_str()) {
                return Err(syntax(format!("Unknown property '{name}'")));
            }
            if named.insert(name, value).is_some() {
                return Err(syntax(format!("Multiple definitions for property '{name}'")));
            }
        }
        let mut params = self.clone();
        let mut warnings = Vec::new();
        for (name, value) in &named {
            set(&mut params, name, value, &mut warnings)?;
        }
        let is_leveled =
            params.compaction.get("class").is_some_and(|class| class.ends_with(".LeveledCompactionStrategy"));
        if params.bloom_filter_fp_chance < 0.0
            || (named.contains_key("compaction")
                && !named.contains_key("bloom_filter_fp_chance")
                && *self == TableParams::default())
        {
            params.bloom_filter_fp_chance = if is_leveled { 0.1 } else { 0.01 };
        }
        validate(&params)?;
        Ok(OptionChange { params, warnings })
    }
}

const NAMES: [&str; 19] = [
    "additional_write_policy",
    "allow_auto_snapshot",
    "bloom_filter_fp_chance",
    "caching",
    "cdc",
    "comment",
    "compaction",
    "compression",
    "crc_check_chance",
    "default_time_to_live",
    "extensions",
    "gc_grace_seconds",
    "incremental_backups",
    "max_index_interval",
    "memtable",
    "memtable_flush_period_in_ms",
    "min_index_interval",
    "read_repair",
    "speculative_retry",
];

fn set(
    params: &mut TableParams,
    name: &str,
    value: &OptionValue,
    warnings: &mut Vec<String>,
) -> Result<(), OptionError> {
    match name {
        "additional_write_policy" => params.additional_write_policy = retry::parse(text(name, value)?)?,
        "allow_auto_snapshot" => params.allow_auto_snapshot = boolean(name, value)?,
        "bloom_filter_fp_chance" => params.bloom_filter_fp_chance = double(name, value)?,
        "caching" => params.caching = caching(map(name, value)?)?,
        "cdc" => params.cdc = boolean(name, value)?,
        "comment" => text(name, value)?.clone_into(&mut params.comment),
        "compaction" => params.compaction = compaction::parse(map(name, value)?)?,
        "compression" => params.compression = compression::parse(map(name, value)?, warnings)?,
        "crc_check_chance" => params.crc_check_chance = double(name, value)?,
        "default_time_to_live" => params.default_time_to_live = integer(name, value)?,
        // Taken and left out, as Cassandra does: extensions are for code inside the node, not for CQL.
        "extensions" => map(name, value).map(drop)?,
        "gc_grace_seconds" => params.gc_grace_seconds = integer(name, value)?,
        "incremental_backups" => params.incremental_backups = boolean(name, value)?,
        "max_index_interval" => params.max_index_interval = integer(name, value)?,
        "memtable" => params.memtable = memtable(text(name, value)?)?,
        "memtable_flush_period_in_ms" => params.memtable_flush_period_in_ms = integer(name, value)?,
        "min_index_interval" => params.min_index_interval = integer(name, value)?,
        "read_repair" => params.read_repair = read_repair(text(name, value)?)?,
        _ => params.speculative_retry = retry::parse(text(name, value)?)?,
    }
    Ok(())
}

fn validate(params: &TableParams) -> Result<(), OptionError> {
    let fp_chance = params.bloom_filter_fp_chance;
    if !(BLOOM_FP_CHANCE_MIN < fp_chance && fp_chance <= 1.0) {
        return Err(config(format!(
            "bloom_filter_fp_chance must be larger than 6.71E-5 and less than or equal to 1.0 (got {})",
            java_double(fp_chance)
        )));
    }
    if !(0.0..=1.0).contains(&params.crc_check_chance) {
        return Err(config(format!(
            "crc_check_chance must be larger than or equal to 0 and smaller than or equal to 1.0 (got {})",
            java_double(params.crc_check_chance)
        )));
    }
    let at_least = |name: &str, value: i32, least: i32| {
        if value < least {
            return Err(config(format!("{name} must be greater than or equal to {least} (got {value})")));
        }
        Ok(())
    };
    at_least("default_time_to_live", params.default_time_to_live, 0)?;
    if TTL_MAX_SECS < params.default_time_to_live {
        return Err(config(format!(
            "default_time_to_live must be less than or equal to {TTL_MAX_SECS} (got {})",
            params.default_time_to_live
        )));
    }
    at_least("gc_grace_seconds", params.gc_grace_seconds, 0)?;
    at_least("min_index_interval", params.min_index_interval, 1)?;
    if params.max_index_interval < params.min_index_interval {
        return Err(config(format!(
            "max_index_interval must be greater than or equal to min_index_interval ({}) (got {})",
            params.min_index_interval, params.max_index_interval
        )));
    }
    at_least("memtable_flush_period_in_ms", params.memtable_flush_period_in_ms, 0)
}

fn syntax(message: String) -> OptionError {
    OptionError::Syntax(message)
}

fn config(message: impl Into<String>) -> OptionError {
    OptionError::Config(message.into())
}

fn text<'v>(name: &str, value: &'v OptionValue) -> Result<&'v str, OptionError> {
    match value {
        OptionValue::Text(text) => Ok(text),
        OptionValue::Map(_) => Err(syntax(format!("Invalid value for property '{name}'. It should be a string"))),
    }
}

fn map<'v>(name: &str, value: &'v OptionValue) -> Result<&'v [(String, String)], OptionError> {
    match value {
        OptionValue::Map(entries) => Ok(entries),
        OptionValue::Text(_) => Err(syntax(format!("Invalid value for property '{name}'. It should be a map."))),
    }
}

fn integer(name: &str, value: &OptionValue) -> Result<i32, OptionError> {
    let text = text(name, value)?;
    text.parse().map_err(|_| syntax(format!("Invalid integer value {text} for '{name}'")))
}

fn double(name: &str, value: &OptionValue) -> Result<f64, OptionError> {
    let text = text(name, value)?;
    text.parse().map_err(|_| syntax(format!("Invalid double value {text} for '{name}'")))
}

fn boolean(name: &str, value: &OptionValue) -> Result<bool, OptionError> {
    parse_boolean(name, text(name, value)?)
}

/// A boolean property of a table or keyspace.
///
/// # Errors
/// [`OptionError::Syntax`].
pub fn parse_boolean(name: &str, text: &str) -> Result<bool, OptionError> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => Err(syntax(format!(
            "Invalid boolean value {text} for '{name}'. Positive values can be '1', 'true' or 'yes'. Negative values can \
             be '0', 'false' or 'no'."
        ))),
    }
}

fn caching(entries: &[(String, String)]) -> Result<BTreeMap<String, String>, OptionError> {
    let unknown: Vec<&str> = entries
        .iter()
        .map(|(key, _)| key.as_str())
        .filter(|key| !["keys", "rows_per_partition"].contains(key))
        .collect();
    if !unknown.is_empty() {
        return Err(config(format!(
            "Invalid caching sub-options [{}]: only 'keys' and 'rows_per_partition' are allowed",
            unknown.join(", ")
        )));
    }
    // What is not named is off, once the option is given at all.
    let off = |name: &str| (name.to_owned(), "NONE".to_owned());
    let mut caching = BTreeMap::from([off("keys"), off("rows_per_partition")]);
    for (key, value) in entries {
        let upper = value.to_ascii_uppercase();
        let is_word = upper == "ALL" || upper == "NONE";
        if key == "keys" && !is_word {
            return Err(config(format!(
                "Invalid value '{value}' for caching sub-option 'keys': only 'ALL' and 'NONE' are allowed"
            )));
        }
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if key == "rows_per_partition" && !is_word && !is_number {
            return Err(config(format!(
                "Invalid value '{value}' for caching sub-option 'rows_per_partition': only 'ALL', 'NONE', and integer \
                 values are allowed"
            )));
        }
        caching.insert(key.clone(), if is_word { upper } else { value.clone() });
    }
    Ok(caching)
}

fn memtable(name: &str) -> Result<String, OptionError> {
    if name == "default" {
        return Ok(name.to_owned());
    }
    Err(config(format!("Memtable configuration \"{name}\" not found.")))
}

fn read_repair(text: &str) -> Result<String, OptionError> {
    let upper = text.to_ascii_uppercase();
    if ["BLOCKING", "NONE"].contains(&upper.as_str()) {
        return Ok(upper);
    }
    Err(config(format!("No enum constant org.apache.cassandra.service.reads.repair.ReadRepairStrategy.{upper}")))
}

/// As Java prints it.
pub(crate) fn java_double(value: f64) -> String {
    helenus_types::CqlType::Double.to_string_form(&value.to_be_bytes())
}
