//! `conf/helenus.yaml` and the table of `docs/configuration.md`, written from the table of settings.

use super::setting::{OlderMeaning, Setting};
use super::settings::SECTIONS;

const WIDTH: usize = 100;

const HEAD: &str = "\
# Configuration of Helenus: every setting that does something, with its default.
#
# Names and units are those of Cassandra 5.0's cassandra.yaml, which can be used as it is: settings that mean nothing here
# are named in a warning at start, wrong ones stop the start. Older spellings (read_request_timeout_in_ms) work, too.
# Flags of `helenus start` beat `--set name=value`, which beats this file.
#
# A setting that stands behind a # is unset; what then happens is said with it.
";

/// `conf/helenus.yaml`.
#[must_use]
pub fn settings_file() -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        text.push_str(&format!("\n# ---- {} ----\n", section.title));
        for setting in section.settings {
            text.push('\n');
            for line in wrap(setting.meaning, WIDTH - 2) {
                text.push_str(&format!("# {line}\n"));
            }
            text.push_str(&assignment(setting));
        }
    }
    text
}

fn assignment(setting: &Setting) -> String {
    match setting.default {
        Some(default) => format!("{}: {default}\n", setting.name),
        None => format!("# {}: {}\n", setting.name, example(setting.name)),
    }
}

/// What an unset setting could look like.
fn example(name: &str) -> &'static str {
    match name {
        "initial_token" => "-9223372036854775807,0",
        "broadcast_address" | "broadcast_rpc_address" => "192.0.2.10",
        "data_directory" => "/var/lib/helenus",
        "data_file_directories" => "[/var/lib/helenus/data]",
        "commitlog_directory" => "/var/lib/helenus/commitlog",
        "shards" => "8",
        "memory" => "8GiB",
        "memtable_heap_space" => "2048MiB",
        "file_cache_size" => "2048MiB",
        "auth_superuser_name" => "admin",
        "auth_superuser_salted_password" => "$2a$10$...",
        "native_transport_max_request_data_in_flight" => "200MiB",
        "native_transport_max_request_data_in_flight_per_ip" => "50MiB",
        "commitlog_total_space" => "8192MiB",
        "memtable_cleanup_threshold" => "0.33",
        "concurrent_compactors" => "8",
        _ => "",
    }
}

/// The table of `docs/configuration.md`.
#[must_use]
pub fn settings_table() -> String {
    let mut text = String::new();
    for section in SECTIONS {
        text.push_str(&format!("\n### {}\n\n| setting | default | meaning |\n|---|---|---|\n", section.title));
        for setting in section.settings {
            let older: Vec<String> = setting.older.iter().map(|older| format!("`{}`", older.name)).collect();
            let older = match (older.as_slice(), setting.older.first().map(|older| older.meaning)) {
                ([], _) => String::new(),
                (names, Some(OlderMeaning::InUnit(unit) | OlderMeaning::InUnitOrUnset(unit))) => {
                    format!(" Older spelling: {}, a number of {unit}.", names.join(", "))
                }
                (names, _) => format!(" Older spelling: {}.", names.join(", ")),
            };
            let default = setting.default.map_or_else(|| "unset".to_owned(), |default| format!("`{default}`"));
            text.push_str(&format!("| `{}` | {default} | {}{older} |\n", setting.name, setting.meaning));
        }
    }
    text
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
