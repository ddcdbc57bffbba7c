//! Setting: one name of the configuration with its kind of value, its default and its older spellings.

use std::time::Duration;

use super::tree::Node;
use super::units::{DurationUnit, SizeUnit, parse_duration, parse_rate, parse_size};

/// A setting that does something here. The table is in `settings`.
#[derive(Debug)]
pub struct Setting {
    pub name: &'static str,
    pub kind: Kind,
    /// As it would stand in the file; `None`: unset, and the text of `meaning` says what follows from that.
    pub default: Option<&'static str>,
    pub older: &'static [Older],
    /// For `conf/helenus.yaml`.
    pub meaning: &'static str,
}

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Flag,
    Count {
        min: i64,
        max: i64,
    },
    /// A number from 0 to 1.
    Share,
    Text,
    Duration(DurationUnit),
    Size(SizeUnit),
    Rate,
    Choice(&'static [&'static str]),
    /// A class name, or `class_name` with `parameters`: one of these, with or without its package.
    Class(&'static [&'static str]),
    Texts,
}

/// A name that a setting had before.
#[derive(Clone, Copy, Debug)]
pub struct Older {
    pub name: &'static str,
    pub meaning: OlderMeaning,
}

/// How an older spelling's value is read. Source: Cassandra 5.0.9, `config.Converters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OlderMeaning {
    Same,
    /// A bare number of this unit.
    InUnit(&'static str),
    /// As `InUnit`; a negative number means unset.
    InUnitOrUnset(&'static str),
}

/// A value that was checked against its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Flag(bool),
    Count(i64),
    Share(f64),
    /// Also choices, and classes without their package.
    Text(String),
    Duration(Duration),
    /// Bytes.
    Size(u64),
    /// Bytes a second.
    Rate(u64),
    Texts(Vec<String>),
}

/// Packages of the classes that settings name.
const PACKAGES: [&str; 3] =
    ["org.apache.cassandra.auth.", "org.apache.cassandra.locator.", "org.apache.cassandra.dht."];

impl Kind {
    /// Reads a value; `None` for one that is left empty.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(self, node: &Node) -> Result<Option<Value>, String> {
        let text = match (self, node) {
            (_, Node::Null) => return Ok(None),
            (Kind::Texts, Node::List(items)) => {
                return Ok(Some(Value::Texts(items.iter().map(|item| item.node.to_string()).collect())));
            }
            (Kind::Texts, Node::Text(text)) => return Ok(Some(Value::Texts(vec![text.clone()]))),
            (Kind::Class(known), Node::Map(entries)) => {
                let class = entries.iter().find(|(key, _)| key == "class_name");
                let class = class.ok_or("expected class_name and, if any, parameters")?;
                return self.read(&class.1.node).map_err(|_| class_expected(known));
            }
            // Cassandra's older form of a class is a list of one mapping.
            (Kind::Class(_), Node::List(items)) if items.len() == 1 => return self.read(&items[0].node),
            (_, Node::List(_) | Node::Map(_)) => return Err(format!("expected {}", self.expected())),
            (_, Node::Text(text)) => text,
        };
        self.read_text(text).map(Some)
    }

    fn read_text(self, text: &str) -> Result<Value, String> {
        let refusal = || format!("'{text}' is not {}", self.expected());
        match self {
            Kind::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Ok(Value::Flag(true)),
                "false" | "no" | "off" => Ok(Value::Flag(false)),
                _ => Err(refusal()),
            },
            Kind::Count { min, max } => {
                let number = text.replace('_', "").parse::<i64>().ok().filter(|number| (min..=max).contains(number));
                number.map(Value::Count).ok_or_else(refusal)
            }
            Kind::Share => {
                let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
                number.map(Value::Share).ok_or_else(refusal)
            }
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Texts => Ok(Value::Texts(vec![text.to_owned()])),
            Kind::Duration(smallest) => parse_duration(text, smallest).map(Value::Duration),
            Kind::Size(smallest) => parse_size(text, smallest).map(Value::Size),
            Kind::Rate => parse_rate(text).map(Value::Rate),
            Kind::Choice(known) => match known.iter().find(|choice| **choice == text) {
                Some(choice) => Ok(Value::Text((*choice).to_owned())),
                None => Err(refusal()),
            },
            Kind::Class(known) => {
                let short = PACKAGES.iter().find_map(|package| text.strip_prefix(package)).unwrap_or(text);
                match known.iter().find(|class| **class == short) {
                    Some(class) => Ok(Value::Text((*class).to_owned())),
                    None => Err(format!("'{text}': {}", class_expected(known))),
                }
            }
        }
    }

    /// A noun phrase: "true or false".
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Kind::Flag => "true or false".to_owned(),
            Kind::Count { min, max: i64::MAX } => format!("a whole number of at least {min}"),
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Share => "a number from 0 to 1".to_owned(),
            Kind::Text => "a text".to_owned(),
            Kind::Texts => "a list".to_owned(),
            Kind::Duration(DurationUnit::Millis) => "a duration such as 10ms, 5s, 3h".to_owned(),
            Kind::Duration(DurationUnit::Seconds) => "a duration such as 5s, 10m, 1d".to_owned(),
            Kind::Duration(DurationUnit::Minutes) => "a duration such as 10m, 3h, 1d".to_owned(),
            Kind::Size(SizeUnit::Bytes) => "a size such as 512B, 64KiB, 16MiB".to_owned(),
            Kind::Size(SizeUnit::Kibibytes) => "a size such as 64KiB, 16MiB".to_owned(),
            Kind::Size(SizeUnit::Mebibytes) => "a size such as 16MiB, 1GiB".to_owned(),
            Kind::Rate => "a rate such as 24MiB/s".to_owned(),
            Kind::Choice(known) => format!("one of {}", known.join(", ")),
            Kind::Class(known) => class_expected(known),
        }
    }
}

fn class_expected(known: &[&str]) -> String {
    match known {
        [only] => format!("Helenus has only {only}"),
        several => format!("Helenus has {}", several.join(", ")),
    }
}

impl Older {
    /// A value of the setting as this spelling has it; `None` where it cannot.
    #[must_use]
    pub fn show(&self, value: &Value) -> Option<String> {
        let (OlderMeaning::InUnit(unit) | OlderMeaning::InUnitOrUnset(unit)) = self.meaning else { return None };
        let (amount, per_unit) = match (value, unit) {
            (Value::Duration(duration), "ms") => (u64::try_from(duration.as_millis()).ok()?, 1),
            (Value::Duration(duration), "s") => (duration.as_secs(), 1),
            (Value::Size(bytes), "B") => (*bytes, 1),
            (Value::Size(bytes), "KiB") => (*bytes, 1 << 10),
            (Value::Size(bytes), "MiB") | (Value::Rate(bytes), "MiB/s") => (*bytes, 1 << 20),
            _ => return None,
        };
        Some((amount / per_unit).to_string())
    }

    /// The value as the setting itself would spell it.
    #[must_use]
    pub fn translate(&self, node: &Node) -> Node {
        let (Node::Text(text), OlderMeaning::InUnit(unit) | OlderMeaning::InUnitOrUnset(unit)) = (node, self.meaning)
        else {
            return node.clone();
        };
        match text.parse::<f64>() {
            Ok(number) if number < 0.0 && matches!(self.meaning, OlderMeaning::InUnitOrUnset(_)) => Node::Null,
            // Cassandra rounds a fraction of a millisecond up (`commitlog_sync_group_window_in_ms` was a double).
            Ok(number) if number.fract() != 0.0 => Node::Text(format!("{}{unit}", number.ceil())),
            _ => Node::Text(format!("{text}{unit}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, text: &str) -> Result<Option<Value>, String> {
        kind.read(&super::super::tree::parse_value(text).unwrap())
    }

    #[test]
    fn values_are_read_by_kind() {
        assert_eq!(read(Kind::Flag, "yes"), Ok(Some(Value::Flag(true))));
        assert_eq!(read(Kind::Flag, "2"), Err("'2' is not true or false".to_owned()));
        let port = Kind::Count { min: 0, max: 65_535 };
        assert_eq!(read(port, "9042"), Ok(Some(Value::Count(9042))));
        assert_eq!(read(port, "70000"), Err("'70000' is not a whole number from 0 to 65535".to_owned()));
        assert_eq!(read(Kind::Texts, "[a, b]"), Ok(Some(Value::Texts(vec!["a".to_owned(), "b".to_owned()]))));
        assert_eq!(read(Kind::Flag, "~"), Ok(None));
    }

    #[test]
    fn classes_come_with_and_without_package_and_parameters() {
        let kind = Kind::Class(&["AllowAllAuthenticator", "PasswordAuthenticator"]);
        let expected = Ok(Some(Value::Text("PasswordAuthenticator".to_owned())));
        assert_eq!(read(kind, "PasswordAuthenticator"), expected);
        assert_eq!(read(kind, "org.apache.cassandra.auth.PasswordAuthenticator"), expected);
        assert_eq!(read(kind, "{class_name: PasswordAuthenticator, parameters: {a: b}}"), expected);
        assert!(read(kind, "MutualTlsAuthenticator").unwrap_err().contains("Helenus has AllowAllAuthenticator"));
    }

    #[test]
    fn older_spellings_carry_their_unit_in_their_name() {
        let older = Older { name: "x_in_ms", meaning: OlderMeaning::InUnitOrUnset("ms") };
        assert_eq!(older.translate(&Node::Text("5000".to_owned())), Node::Text("5000ms".to_owned()));
        assert_eq!(older.translate(&Node::Text("-1".to_owned())), Node::Null);
        assert_eq!(older.translate(&Node::Text("2.5".to_owned())), Node::Text("3ms".to_owned()));
        assert_eq!(older.show(&Value::Duration(Duration::from_secs(2))).as_deref(), Some("2000"));
    }
}
