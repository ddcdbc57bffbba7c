//! A YAML file as a tree of texts with the line that each stands on: what settings are read from.
//!
//! Every setting has a type of its own, so scalars stay text here; what a text means is the setting's affair.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A value, without its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Null,
    Text(String),
    List(Vec<Placed>),
    /// In the order of the file.
    Map(Vec<(String, Placed)>),
}

/// A value and the line on which it stands, from 1; 0 outside of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub node: Node,
    pub line: u64,
}

impl Placed {
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Placed> {
        match &self.node {
            Node::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            Node::Null | Node::Text(_) | Node::List(_) => None,
        }
    }
}

impl fmt::Display for Node {
    /// YAML flow style.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Null => f.write_str("null"),
            Node::Text(text) => f.write_str(text),
            Node::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.node.to_string()).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Node::Map(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("{key}: {}", value.node)).collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

/// Reads a file's text: a mapping at the top, or nothing.
///
/// # Errors
/// The line, from 1, and what is wrong there.
pub fn parse(text: &str) -> Result<Vec<(String, Placed)>, (u64, String)> {
    let failed = |error: &serde_saphyr::Error| {
        let line = error.location().map_or(0, |location| location.line());
        let error = error.without_snippet();
        let text = match error {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => format!("{key} is set twice"),
            other => other.to_string(),
        };
        (line, text.lines().next().unwrap_or_default().to_owned())
    };
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Vec::new());
    }
    let root: Placed = serde_saphyr::from_str(text).map_err(|error| failed(&error))?;
    match root.node {
        Node::Map(entries) => Ok(entries),
        Node::Null => Ok(Vec::new()),
        Node::Text(_) | Node::List(_) => Err((root.line, "expected settings, one `name: value` a line".to_owned())),
    }
}

/// Reads one value as it may stand behind `name:`.
///
/// # Errors
/// What is wrong with it.
pub fn parse_value(text: &str) -> Result<Node, String> {
    if text.is_empty() {
        return Ok(Node::Text(String::new()));
    }
    let value: Placed = serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())?;
    Ok(without_lines(value).node)
}

fn without_lines(value: Placed) -> Placed {
    let node = match value.node {
        Node::List(items) => Node::List(items.into_iter().map(without_lines).collect()),
        Node::Map(entries) => Node::Map(entries.into_iter().map(|(key, value)| (key, without_lines(value))).collect()),
        node @ (Node::Null | Node::Text(_)) => node,
    };
    Placed { node, line: 0 }
}

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Node>::deserialize(deserializer)?;
        Ok(Placed { node: spanned.value, line: spanned.referenced.line() })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Key>()? {
            map.push((key.0, entries.next_value()?));
        }
        Ok(Node::Map(map))
    }
}

/// A mapping's key, which YAML may have taken for a number or a truth value.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Node::deserialize(deserializer).map(|node| Key(node.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_text_and_line() {
        let entries =
            parse("# comment\ncluster_name: 'Test Cluster'\nnum_tokens: 16\n\nnested:\n  - a: 1\n    b:\n").unwrap();
        let seen: Vec<(&str, u64, String)> =
            entries.iter().map(|(name, value)| (name.as_str(), value.line, value.node.to_string())).collect();
        assert_eq!(seen[0], ("cluster_name", 2, "Test Cluster".to_owned()));
        assert_eq!(seen[1], ("num_tokens", 3, "16".to_owned()));
        assert_eq!((seen[2].0, seen[2].2.as_str()), ("nested", "[{a: 1, b: null}]"));
    }

    #[test]
    fn an_empty_file_sets_nothing_and_a_broken_one_names_its_line() {
        assert_eq!(parse("# nothing\n"), Ok(Vec::new()));
        let (line, _) = parse("a: 1\nb: [1, 2\n").unwrap_err();
        assert!(line >= 2, "{line}");
        assert_eq!(parse_value("{class_name: A}").unwrap().to_string(), "{class_name: A}");
    }
}
