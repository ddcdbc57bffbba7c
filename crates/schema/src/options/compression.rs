//! `compression`: the compressor's class and sub-options, older spellings included.
//!
//! Source: Cassandra 5.0, `schema.CompressionParams` and the compressors; the older spellings are those that ScyllaDB
//! still takes.

use std::collections::BTreeMap;

use super::{OptionError, config, java_double};

const PACKAGE: &str = "org.apache.cassandra.io.compress.";

type Options = BTreeMap<String, String>;

pub(super) fn parse(entries: &[(String, String)], warnings: &mut Vec<String>) -> Result<Options, OptionError> {
    let mut options: Options = entries.iter().cloned().collect();
    rename(&mut options, "sstable_compression", "class", warnings);
    rename(&mut options, "chunk_length_kb", "chunk_length_in_kb", warnings);
    let disabled = || Options::from([("enabled".into(), "false".into())]);
    if options.is_empty() || options.get("class").is_some_and(String::is_empty) {
        return Ok(disabled());
    }
    if let Some(enabled) = options.remove("enabled")
        && !enabled.eq_ignore_ascii_case("true")
    {
        if options.is_empty() {
            return Ok(disabled());
        }
        return Err(config("If the 'enabled' option is set to false no other options must be specified"));
    }
    let class =
        options.remove("class").ok_or_else(|| config("Missing sub-option 'class' for the 'compression' option."))?;
    let full = if class.contains('.') { class } else { format!("{PACKAGE}{class}") };
    let own: &[&str] = match full.strip_prefix(PACKAGE).unwrap_or_default() {
        "LZ4Compressor" => &["lz4_compressor_type", "lz4_high_compressor_level"],
        "ZstdCompressor" => &["compression_level"],
        "SnappyCompressor" | "DeflateCompressor" | "NoopCompressor" => &[],
        _ => return Err(config(format!("Could not create Compression for type {full}"))),
    };
    let chunk_kb = chunk_length(options.remove("chunk_length_in_kb"))?;
    let ratio = min_compress_ratio(options.remove("min_compress_ratio"))?;
    validate_compressor(&options)?;
    if let Some(unknown) = options.keys().find(|key| !own.contains(&key.as_str())) {
        return Err(config(format!("Unknown compression options {unknown}")));
    }
    options.insert("class".into(), full);
    options.insert("chunk_length_in_kb".into(), chunk_kb.to_string());
    if ratio != 0.0 {
        options.insert("min_compress_ratio".into(), java_double(ratio));
    }
    Ok(options)
}

fn rename(options: &mut Options, old: &str, new: &str, warnings: &mut Vec<String>) {
    if options.contains_key(new) {
        return;
    }
    if let Some(value) = options.remove(old) {
        options.insert(new.to_owned(), value);
        warnings.push(format!("The compression option '{old}' is deprecated: use '{new}' instead."));
    }
}

const CHUNK_KB_DEFAULT: i32 = 16;

fn chunk_length(text: Option<String>) -> Result<i32, OptionError> {
    let Some(text) = text else { return Ok(CHUNK_KB_DEFAULT) };
    let kb: i32 = text.parse().map_err(|_| config("Invalid value for chunk_length_in_kb"))?;
    if i32::MAX / 1024 < kb {
        return Err(config(format!("Value of chunk_length_in_kb is too large ({text})")));
    }
    if kb <= 0 {
        return Err(config("Invalid negative or null chunk_length_in_kb"));
    }
    if kb & (kb - 1) != 0 {
        return Err(config("chunk_length_in_kb must be a power of 2"));
    }
    Ok(kb)
}

fn min_compress_ratio(text: Option<String>) -> Result<f64, OptionError> {
    let Some(text) = text else { return Ok(0.0) };
    let ratio: f64 = text.parse().map_err(|_| config("Invalid value for min_compress_ratio"))?;
    if ratio < 0.0 {
        return Err(config("Invalid negative min_compress_ratio"));
    }
    if 0.0 < ratio && ratio < 1.0 {
        return Err(config("min_compress_ratio can either be 0 or greater than or equal to 1"));
    }
    Ok(ratio)
}

fn validate_compressor(options: &Options) -> Result<(), OptionError> {
    if let Some(kind) = options.get("lz4_compressor_type")
        && !["fast", "high"].contains(&kind.as_str())
    {
        return Err(config(format!(
            "Invalid compressor type '{kind}' specified for LZ4 parameter 'lz4_compressor_type'. Valid options are [high, fast]."
        )));
    }
    let in_range = |name: &str, least: i32, most: i32| match options.get(name) {
        None => true,
        Some(text) => text.parse::<i32>().is_ok_and(|level| (least..=most).contains(&level)),
    };
    if !in_range("lz4_high_compressor_level", 1, 17) {
        return Err(config("Invalid value for lz4_high_compressor_level: it must be between 1 and 17"));
    }
    if !in_range("compression_level", -131_072, 22) {
        return Err(config("Invalid value for compression_level: it must be between -131072 and 22"));
    }
    Ok(())
}
