//! `compaction`: the strategy's class and sub-options.
//!
//! Source: Cassandra 5.0, `schema.CompactionParams` and each strategy's `validateOptions`.

use std::collections::BTreeMap;

use super::{OptionError, config, java_double};

const PACKAGE: &str = "org.apache.cassandra.db.compaction.";

type Options = BTreeMap<String, String>;

const COMMON: [&str; 9] = [
    "class",
    "enabled",
    "log_all",
    "max_threshold",
    "min_threshold",
    "only_purge_repaired_tombstones",
    "tombstone_compaction_interval",
    "tombstone_threshold",
    "unchecked_tombstone_compaction",
];
const SIZE_TIERED: [&str; 3] = ["bucket_high", "bucket_low", "min_sstable_size"];
const LEVELED: [&str; 3] = ["fanout_size", "single_sstable_uplevel", "sstable_size_in_mb"];
const TIME_WINDOW: [&str; 5] = [
    "compaction_window_size",
    "compaction_window_unit",
    "expired_sstable_check_frequency_seconds",
    "timestamp_resolution",
    "unsafe_aggressive_sstable_expiration",
];
const UNIFIED: [&str; 11] = [
    "base_shard_count",
    "expired_sstable_check_frequency_seconds",
    "flush_size_override",
    "max_sstables_to_compact",
    "min_sstable_size",
    "overlap_inclusion_method",
    "parallelize_output_shards",
    "scaling_parameters",
    "sstable_growth",
    "target_sstable_size",
    "unsafe_aggressive_sstable_expiration",
];

pub(super) fn parse(entries: &[(String, String)]) -> Result<Options, OptionError> {
    let mut options: Options = entries.iter().cloned().collect();
    let class = options.get("class").ok_or_else(|| config("Missing sub-option 'class' for the 'compaction' option"))?;
    let full = if class.contains('.') { class.clone() } else { format!("{PACKAGE}{class}") };
    let strategy = full.strip_prefix(PACKAGE).unwrap_or_default().to_owned();
    let own: Vec<&str> = match strategy.as_str() {
        "SizeTieredCompactionStrategy" => SIZE_TIERED.to_vec(),
        "LeveledCompactionStrategy" => [LEVELED.as_slice(), &SIZE_TIERED].concat(),
        "TimeWindowCompactionStrategy" => [TIME_WINDOW.as_slice(), &SIZE_TIERED].concat(),
        "UnifiedCompactionStrategy" => UNIFIED.to_vec(),
        _ => return Err(config(format!("Unable to find compaction strategy class '{full}'"))),
    };
    options.insert("class".into(), full);
    let is_unified = strategy == "UnifiedCompactionStrategy";
    if !is_unified {
        options.entry("min_threshold".into()).or_insert_with(|| "4".into());
        options.entry("max_threshold".into()).or_insert_with(|| "32".into());
    }
    validate_common(&options)?;
    match strategy.as_str() {
        "LeveledCompactionStrategy" => validate_leveled(&options)?,
        "TimeWindowCompactionStrategy" => validate_time_window(&options)?,
        "UnifiedCompactionStrategy" => validate_unified(&options)?,
        _ => {}
    }
    if !is_unified {
        validate_size_tiered(&options)?;
    }
    let unknown: Vec<&str> =
        options.keys().map(String::as_str).filter(|key| !COMMON.contains(key) && !own.contains(key)).collect();
    if !unknown.is_empty() {
        return Err(config(format!("Properties specified [{}] are not understood by {strategy}", unknown.join(", "))));
    }
    if !is_unified {
        validate_thresholds(&options)?;
    }
    Ok(options)
}

fn validate_common(options: &Options) -> Result<(), OptionError> {
    if let Some(text) = options.get("tombstone_threshold") {
        let value: f32 = text.trim().parse().map_err(|_| not_int(text, "tombstone_threshold"))?;
        if value < 0.0 {
            return Err(config(format!("tombstone_threshold must be greater than 0, but was {value:.6}")));
        }
    }
    if let Some(value) = long(options, "tombstone_compaction_interval")?
        && value < 0
    {
        return Err(config(format!("tombstone_compaction_interval must be greater than 0, but was {value}")));
    }
    for name in ["unchecked_tombstone_compaction", "only_purge_repaired_tombstones", "log_all"] {
        if let Some(text) = options.get(name).filter(|text| !is_boolean(text)) {
            return Err(config(format!("'{name}' should be either 'true' or 'false', not '{text}'")));
        }
    }
    if let Some(text) = options.get("enabled").filter(|text| !is_boolean(text)) {
        return Err(config(format!("enabled should either be 'true' or 'false', not {text}")));
    }
    Ok(())
}

fn validate_thresholds(options: &Options) -> Result<(), OptionError> {
    let threshold = |name: &str| -> Result<i32, OptionError> {
        let text = options.get(name).map_or("", String::as_str);
        text.parse().map_err(|_| {
            config(format!("Invalid value {text} for '{name}' compaction sub-option - must be an integer"))
        })
    };
    let max = threshold("max_threshold")?;
    let min = threshold("min_threshold")?;
    if min <= 0 || max <= 0 {
        return Err(config(
            "Disabling compaction by setting compaction thresholds to 0 has been removed, set the compaction option \
             'enabled' to false instead.",
        ));
    }
    if min <= 1 {
        return Err(config(format!("Min compaction threshold cannot be less than 2 (got {min})")));
    }
    if max < min {
        return Err(config(format!(
            "Min compaction threshold (got {min}) cannot be greater than max compaction threshold (got {max})"
        )));
    }
    Ok(())
}

fn validate_size_tiered(options: &Options) -> Result<(), OptionError> {
    if let Some(size) = long(options, "min_sstable_size")?
        && size < 0
    {
        return Err(config(format!("min_sstable_size must be non negative: {size}")));
    }
    let low = double(options, "bucket_low")?.unwrap_or(0.5);
    let high = double(options, "bucket_high")?.unwrap_or(1.5);
    if high <= low {
        return Err(config(format!(
            "bucket_high value ({}) is less than or equal to the bucket_low value ({})",
            java_double(high),
            java_double(low)
        )));
    }
    Ok(())
}

fn validate_leveled(options: &Options) -> Result<(), OptionError> {
    for name in ["sstable_size_in_mb", "fanout_size"] {
        if let Some(size) = long(options, name)?
            && size < 1
        {
            return Err(config(format!("{name} must be larger than 0, but was {size}")));
        }
    }
    Ok(())
}

fn validate_time_window(options: &Options) -> Result<(), OptionError> {
    if let Some(unit) = options.get("timestamp_resolution")
        && !["MICROSECONDS", "MILLISECONDS", "SECONDS", "NANOSECONDS"].contains(&unit.as_str())
    {
        return Err(config(format!("timestamp_resolution {unit} is not valid")));
    }
    if let Some(unit) = options.get("compaction_window_unit")
        && !["MINUTES", "HOURS", "DAYS"].contains(&unit.as_str())
    {
        return Err(config(format!("{unit} is not valid for compaction_window_unit")));
    }
    if let Some(size) = long(options, "compaction_window_size")?
        && size < 1
    {
        return Err(config(format!("{size} must be greater than 1 for compaction_window_size")));
    }
    if let Some(secs) = long(options, "expired_sstable_check_frequency_seconds")?
        && secs < 0
    {
        return Err(config(format!("expired_sstable_check_frequency_seconds must not be negative, but was {secs}")));
    }
    Ok(())
}

/// One mebibyte.
const TARGET_BYTES_MIN: f64 = 1_048_576.0;

fn validate_unified(options: &Options) -> Result<(), OptionError> {
    if let Some(parameters) = options.get("scaling_parameters") {
        for parameter in parameters.split(',').map(str::trim).filter(|parameter| !parameter.is_empty()) {
            if !is_scaling_parameter(parameter) {
                return Err(config(format!("Scaling parameter {parameter} must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+")));
            }
        }
    }
    if let Some(text) = options.get("target_sstable_size") {
        let bytes = binary_size(text)
            .ok_or_else(|| config(format!("target_sstable_size {text} is not a valid size in bytes: {text}")))?;
        if bytes < TARGET_BYTES_MIN {
            return Err(config(format!(
                "target_sstable_size {text} is not acceptable, size must be at least 1.000MiB"
            )));
        }
    }
    if let Some(count) = long(options, "base_shard_count")?
        && count <= 0
    {
        return Err(config(format!("Invalid configuration, base_shard_count should be positive: {count}")));
    }
    Ok(())
}

fn is_scaling_parameter(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.as_bytes() {
        [b'N'] => true,
        [b'L' | b'T' | b'+' | b'-', ..] => digits(&text[1..]),
        _ => digits(text),
    }
}

/// `1GiB`, `10 MB`, `1B`: binary units whatever the spelling.
fn binary_size(text: &str) -> Option<f64> {
    let number_end = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let number: f64 = text[..number_end].parse().ok()?;
    let exponent = match text[number_end..].trim() {
        "B" => 0,
        "KiB" | "KB" => 1,
        "MiB" | "MB" => 2,
        "GiB" | "GB" => 3,
        "TiB" | "TB" => 4,
        _ => return None,
    };
    Some(number * 1024f64.powi(exponent))
}

fn is_boolean(text: &str) -> bool {
    text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
}

fn not_int(text: &str, name: &str) -> OptionError {
    config(format!("{text} is not a parsable int (base10) for {name}"))
}

fn long(options: &Options, name: &str) -> Result<Option<i64>, OptionError> {
    options.get(name).map(|text| text.parse().map_err(|_| not_int(text, name))).transpose()
}

fn double(options: &Options, name: &str) -> Result<Option<f64>, OptionError> {
    let parse = |text: &String| text.parse().map_err(|_| config(format!("{text} is not a parsable float for {name}")));
    options.get(name).map(parse).transpose()
}
