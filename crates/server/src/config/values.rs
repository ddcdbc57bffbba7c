//! Values: what was set, checked and laid over the defaults: the file, then `--set`, then flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::setting::{Setting, Value};
use super::settings;
use super::tree::{Node, Placed};

/// Names that Cassandra 5.0.9 knows and that change nothing here, one a line.
const WITHOUT_EFFECT: &str = include_str!("without_effect.txt");

/// Settings whose values nobody is shown.
const SECRETS: [&str; 1] = ["auth_superuser_salted_password"];

/// Cassandra's word for that.
const REDACTED: &str = "<REDACTED>";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File {
        path: PathBuf,
        line: u64,
    },
    /// `--set`, or a flag of its own.
    CommandLine {
        argument: String,
    },
}

/// The start cannot go on: a value is wrong, or asks for what Helenus has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{path}:{line}: {problem}", path = path.display())]
    InFile { path: PathBuf, line: u64, problem: String },
    #[error("{argument}: {problem}")]
    OnCommandLine { argument: String, problem: String },
    #[error("{problem}")]
    Default { problem: String },
    #[error("cannot read {path}: {reason}", path = path.display())]
    Unreadable { path: PathBuf, reason: String },
}

impl Origin {
    #[must_use]
    pub fn error(&self, problem: String) -> ConfigError {
        match self {
            Origin::Default => ConfigError::Default { problem },
            Origin::File { path, line } => ConfigError::InFile { path: path.clone(), line: *line, problem },
            Origin::CommandLine { argument } => ConfigError::OnCommandLine { argument: argument.clone(), problem },
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    /// `None`: unset.
    value: Option<Value>,
    /// As it stands in the file, for `system_views.settings`.
    shown: Option<String>,
    origin: Origin,
}

/// All settings by name.
#[derive(Clone, Debug)]
pub struct Values {
    entries: BTreeMap<&'static str, Entry>,
    warnings: Vec<String>,
    /// Settings without effect that were set nevertheless, in order; named together in one warning.
    without_effect: Vec<String>,
}

impl Default for Values {
    /// Cassandra's defaults.
    fn default() -> Self {
        let read = |setting: &'static Setting| {
            let value = setting
                .default
                .and_then(|text| setting.kind.read(&Node::Text(text.to_owned())).expect("a test reads every default"));
            let shown = setting.default.map(ToOwned::to_owned);
            (setting.name, Entry { value, shown, origin: Origin::Default })
        };
        Self { entries: settings::all().map(read).collect(), warnings: Vec::new(), without_effect: Vec::new() }
    }
}

impl Values {
    /// Lays a file over what is set. Unknown names are warned about, wrong values end the start.
    ///
    /// # Errors
    /// [`ConfigError::InFile`].
    pub fn set_file(&mut self, path: &Path, entries: &[(String, Placed)]) -> Result<(), ConfigError> {
        let mut spelled: BTreeMap<&'static str, &str> = BTreeMap::new();
        for (name, value) in entries {
            let origin = Origin::File { path: path.to_owned(), line: value.line };
            if let Some((setting, _)) = settings::find(name)
                && let Some(other) = spelled.insert(setting.name, name).filter(|other| *other != name)
            {
                let newest = setting.name;
                return Err(origin.error(format!("{name}: the file sets this as {other}, too; keep {newest} alone")));
            }
            self.set(name, &value.node, origin)?;
        }
        Ok(())
    }

    /// Lays `name=value` over what is set.
    ///
    /// # Errors
    /// [`ConfigError::OnCommandLine`]; here unknown names are an error, too.
    pub fn set_argument(&mut self, flag: &str, name: &str, text: &str) -> Result<(), ConfigError> {
        let origin = Origin::CommandLine { argument: format!("{flag} {text}") };
        let origin =
            if flag == "--set" { Origin::CommandLine { argument: format!("--set {name}={text}") } } else { origin };
        if settings::find(name).is_none() && !is_known_without_effect(name) && !REFUSED_WHEN_ON.contains(&name) {
            return Err(origin.error(format!("there is no setting {name}")));
        }
        let node = super::tree::parse_value(text).map_err(|problem| origin.error(problem))?;
        self.set(name, &node, origin)
    }

    fn set(&mut self, name: &str, node: &Node, origin: Origin) -> Result<(), ConfigError> {
        if let Some(problem) = refusal(name, node) {
            return Err(origin.error(problem));
        }
        let Some((setting, older)) = settings::find(name) else {
            self.note_unused(name, &origin);
            return Ok(());
        };
        let node = older.map_or_else(|| node.clone(), |older| older.translate(node));
        let value = setting.kind.read(&node).map_err(|problem| origin.error(format!("{name}: {problem}")))?;
        if value.is_none() {
            return Ok(()); // `name:` without a value leaves the default, as in Cassandra.
        }
        let entry = Entry { value, shown: Some(node.to_string()), origin };
        self.entries.insert(setting.name, entry);
        Ok(())
    }

    fn note_unused(&mut self, name: &str, origin: &Origin) {
        if is_known_without_effect(name) {
            self.without_effect.push(name.to_owned());
            return;
        }
        let place = match origin {
            Origin::File { path, line } => format!("{}:{line}: ", path.display()),
            Origin::Default | Origin::CommandLine { .. } => String::new(),
        };
        self.warnings.push(format!("{place}unknown setting {name} is ignored"));
    }

    /// What the operator should know, a sentence each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        if !self.without_effect.is_empty() {
            let names = self.without_effect.join(", ");
            warnings.push(format!("settings of Cassandra without effect in Helenus: {names}"));
        }
        warnings
    }

    /// Name and value as in a file, `None` for unset, by name. Secrets are not shown.
    pub fn shown(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        self.entries.iter().map(|(name, entry)| match entry.shown.as_deref() {
            Some(_) if SECRETS.contains(name) => (*name, Some(REDACTED)),
            shown => (*name, shown),
        })
    }

    /// As [`Self::shown`], and again under older names, in their unit.
    #[must_use]
    pub fn shown_with_older_spellings(&self) -> BTreeMap<&'static str, Option<String>> {
        let mut all: BTreeMap<&'static str, Option<String>> =
            self.shown().map(|(name, value)| (name, value.map(ToOwned::to_owned))).collect();
        for setting in settings::all() {
            let value = self.entry(setting.name).value.as_ref();
            for older in setting.older {
                all.insert(older.name, value.and_then(|value| older.show(value)));
            }
        }
        all
    }

    #[must_use]
    pub fn origin(&self, name: &'static str) -> &Origin {
        &self.entry(name).origin
    }

    fn entry(&self, name: &'static str) -> &Entry {
        self.entries.get(name).expect("settings are asked for by their names in the table; a test asks for all")
    }

    fn value(&self, name: &'static str) -> Option<&Value> {
        self.entry(name).value.as_ref()
    }

    #[must_use]
    pub fn flag(&self, name: &'static str) -> bool {
        matches!(self.value(name), Some(Value::Flag(true)))
    }

    #[must_use]
    pub fn count(&self, name: &'static str) -> Option<i64> {
        if let Some(Value::Count(count)) = self.value(name) { Some(*count) } else { None }
    }

    /// A count that has a default and cannot be negative.
    #[must_use]
    pub fn number(&self, name: &'static str) -> u64 {
        self.count(name).and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
    }

    /// 0 for "none".
    #[must_use]
    pub fn port(&self, name: &'static str) -> u16 {
        u16::try_from(self.number(name)).expect("the kind of ports ends at 65535")
    }

    #[must_use]
    pub fn share(&self, name: &'static str) -> Option<f64> {
        if let Some(Value::Share(share)) = self.value(name) { Some(*share) } else { None }
    }

    #[must_use]
    pub fn text(&self, name: &'static str) -> Option<&str> {
        if let Some(Value::Text(text)) = self.value(name) { Some(text) } else { None }
    }

    #[must_use]
    pub fn texts(&self, name: &'static str) -> Option<&[String]> {
        if let Some(Value::Texts(texts)) = self.value(name) { Some(texts) } else { None }
    }

    /// Zero when unset.
    #[must_use]
    pub fn duration(&self, name: &'static str) -> Duration {
        if let Some(Value::Duration(duration)) = self.value(name) { *duration } else { Duration::ZERO }
    }

    #[must_use]
    pub fn bytes(&self, name: &'static str) -> Option<u64> {
        match self.value(name) {
            Some(Value::Size(bytes) | Value::Rate(bytes)) => Some(*bytes),
            _ => None,
        }
    }
}

/// Settings that protect something: leaving them without effect would deceive.
const REFUSED_WHEN_ON: [&str; 4] = [
    "client_encryption_options",
    "server_encryption_options",
    "transparent_data_encryption_options",
    "audit_logging_options",
];

/// Why a start with this setting cannot go on, if it cannot.
fn refusal(name: &str, node: &Node) -> Option<String> {
    if !REFUSED_WHEN_ON.contains(&name) {
        return None;
    }
    let text_of = |key: &str| {
        let Node::Map(entries) = node else { return None };
        let (_, value) = entries.iter().find(|(entry, _)| entry == key)?;
        Some(value.node.to_string().to_lowercase())
    };
    let is_on = |key: &str| text_of(key).is_some_and(|text| matches!(text.as_str(), "true" | "yes" | "on"));
    let asks_for_internode = || text_of("internode_encryption").is_some_and(|text| text != "none");
    let what = match name {
        "client_encryption_options" if is_on("enabled") => "encryption of client connections",
        "server_encryption_options" if asks_for_internode() => "encryption between nodes",
        "transparent_data_encryption_options" if is_on("enabled") => "encryption of files",
        "audit_logging_options" if is_on("enabled") => "audit logging",
        _ => return None,
    };
    Some(format!("{name}: {what} is not supported; turn it off to start without it"))
}

fn is_known_without_effect(name: &str) -> bool {
    WITHOUT_EFFECT.lines().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tree;

    fn check(text: &str) -> Result<Values, ConfigError> {
        let mut values = Values::default();
        values.set_file(Path::new("c.yaml"), &tree::parse(text).unwrap()).map(|()| values)
    }

    #[test]
    fn a_wrong_value_names_file_line_and_what_was_expected() {
        let error = check("cluster_name: a\nread_request_timeout: 5\n").unwrap_err();
        let expected = "c.yaml:2: read_request_timeout: Invalid duration: 5 Accepted units:[MILLISECONDS, SECONDS, \
                        MINUTES, HOURS, DAYS] where case matters and only non-negative values.";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_setting_under_two_of_its_names_is_refused() {
        let error = check("read_request_timeout_in_ms: 3000\nread_request_timeout: 4s\n").unwrap_err();
        let expected = "c.yaml:2: read_request_timeout: the file sets this as read_request_timeout_in_ms, too; keep \
                        read_request_timeout alone";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn unknown_names_are_warned_about_and_those_without_effect_together() {
        let values = check("nonsense: 1\nhints_directory: /x\nphi_convict_threshold: 8\n").unwrap();
        let expected = [
            "c.yaml:1: unknown setting nonsense is ignored",
            "settings of Cassandra without effect in Helenus: hints_directory, phi_convict_threshold",
        ];
        assert_eq!(values.warnings(), expected);
    }

    #[test]
    fn the_command_line_beats_the_file_and_knows_its_names() {
        let mut values = check("native_transport_port: 9142\nread_request_timeout_in_ms: 7000\n").unwrap();
        assert_eq!(values.port("native_transport_port"), 9142);
        assert_eq!(values.duration("read_request_timeout"), Duration::from_secs(7));
        values.set_argument("--set", "native_transport_port", "9242").unwrap();
        assert_eq!(values.port("native_transport_port"), 9242);
        let error = values.set_argument("--set", "nonsense", "1").unwrap_err();
        assert_eq!(error.to_string(), "--set nonsense=1: there is no setting nonsense");
        let error = values.set_argument("--cql-port", "native_transport_port", "x").unwrap_err();
        let expected = "--cql-port x: native_transport_port: 'x' is not a whole number from 0 to 65535";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn protection_that_helenus_has_not_ends_the_start() {
        let error = check("client_encryption_options:\n  enabled: true\n").unwrap_err();
        assert!(error.to_string().contains("encryption of client connections is not supported"), "{error}");
        assert!(check("client_encryption_options:\n  enabled: false\n").is_ok());
        assert!(check("server_encryption_options:\n  internode_encryption: none\n").is_ok());
    }
}
