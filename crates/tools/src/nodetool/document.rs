//! JSON and YAML as Cassandra's nodetool prints them (Jackson's and SnakeYAML's layout), for `-F json` and `-F yaml`.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Yaml,
}

impl Format {
    /// # Errors
    /// [`Failure::BadUse`] for any other word.
    pub fn parse(word: &str) -> Result<Self, Failure> {
        match word {
            "json" => Ok(Self::Json),
            "yaml" => Ok(Self::Yaml),
            _ => Err(Failure::BadUse("arguments for -F are json,yaml only.".to_owned())),
        }
    }

    /// The whole document, a line break at its end.
    #[must_use]
    pub fn print(self, value: &Value) -> String {
        let mut text = String::new();
        match self {
            Self::Json => write_json(value, 0, &mut text),
            Self::Yaml => match value {
                Value::Object(object) if !object.is_empty() => write_yaml_object(object, 0, &mut text),
                _ => text.push_str(&yaml_scalar(value)),
            },
        }
        text.push('\n');
        text
    }
}

/// Objects a member a line, lists on one line: `[ 1, 2 ]`.
fn write_json(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            out.push_str("{\n");
            for (index, (name, value)) in object.iter().enumerate() {
                let _ = write!(out, "{:indent$}{} : ", "", Value::from(name.as_str()), indent = depth * 2 + 2);
                write_json(value, depth + 1, out);
                out.push_str(if index + 1 < object.len() { ",\n" } else { "\n" });
            }
            let _ = write!(out, "{:indent$}}}", "", indent = depth * 2);
        }
        Value::Object(_) => out.push_str("{ }"),
        Value::Array(items) if !items.is_empty() => {
            out.push_str("[ ");
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_json(item, depth, out);
            }
            out.push_str(" ]");
        }
        Value::Array(_) => out.push_str("[ ]"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

fn write_yaml_object(object: &Map<String, Value>, depth: usize, out: &mut String) {
    for (name, value) in object {
        let _ = write!(out, "{:indent$}{}:", "", yaml_text(name), indent = depth * 2);
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                write_yaml_object(inner, depth + 1, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                write_yaml_list(items, depth, out);
            }
            _ => {
                let _ = writeln!(out, " {}", yaml_scalar(value));
            }
        }
    }
}

/// List items stand below the first letter of the list's name.
fn write_yaml_list(items: &[Value], depth: usize, out: &mut String) {
    for item in items {
        let mut inner = String::new();
        match item {
            Value::Object(object) if !object.is_empty() => write_yaml_object(object, depth + 1, &mut inner),
            Value::Array(list) if !list.is_empty() => write_yaml_list(list, depth + 1, &mut inner),
            _ => {
                let _ = writeln!(inner, "{}", yaml_scalar(item));
            }
        }
        let _ = write!(out, "{:indent$}- {}", "", inner.trim_start(), indent = depth * 2);
    }
}

fn yaml_scalar(value: &Value) -> String {
    match value {
        Value::String(text) => yaml_text(text),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Plain where nobody could take the text for something else, quoted otherwise.
fn yaml_text(text: &str) -> String {
    let reserved = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '/')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./ ".contains(letter))
        && !text.ends_with(' ')
        && !reserved.contains(&text.to_ascii_lowercase().as_str());
    if plain {
        text.to_owned()
    } else if text.chars().any(char::is_control) {
        Value::from(text).to_string() // YAML's double-quoted strings have JSON's escapes.
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str =
        r#"{"a": {"b": "0.000", "c": [], "d": {}}, "levels": ["0", "1"], "list": [{"x": 1, "y": null}], "e": "it's"}"#;

    fn check(format: Format, expected: &str) {
        let value = serde_json::from_str(EXAMPLE).expect("the example is JSON");
        assert_eq!(format.print(&value), expected);
    }

    #[test]
    fn json_has_a_member_a_line_and_lists_on_one() {
        check(
            Format::Json,
            "{\n  \"a\" : {\n    \"b\" : \"0.000\",\n    \"c\" : [ ],\n    \"d\" : { }\n  },\n  \"levels\" : [ \"0\", \"1\" ],\n  \
             \"list\" : [ {\n    \"x\" : 1,\n    \"y\" : null\n  } ],\n  \"e\" : \"it's\"\n}\n",
        );
    }

    #[test]
    fn yaml_quotes_what_could_be_taken_for_a_number() {
        check(
            Format::Yaml,
            "a:\n  b: '0.000'\n  c: []\n  d: {}\nlevels:\n- '0'\n- '1'\nlist:\n- x: 1\n  'y': null\ne: 'it''s'\n\n",
        );
    }
}
