//! Events: what a server tells clients that registered, unasked, on stream -1. Schema changes are answers to DDL too.
//!
//! Source: `native_protocol_v5.spec` sections 4.2.5.5 and 4.2.6; Cassandra 5.0.9, `Event`.

use std::net::SocketAddr;

use bytes::BytesMut;

use crate::primitives::{Reader, write_inet, write_string, write_string_list};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

/// The stream of every event.
pub const EVENT_STREAM: i16 = -1;

/// An enum whose variants travel as their name in capitals.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident as $enumeration:literal { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($variant),+
        }

        impl $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// Case does not matter, as in Cassandra.
            ///
            /// # Errors
            /// [`ProtocolError::UnknownName`]: `Invalid value 'FOO' for Type`.
            pub fn from_name(name: &str) -> Result<Self, ProtocolError> {
                let known = Self::ALL.iter().copied().find(|known| known.name().eq_ignore_ascii_case(name));
                known.ok_or_else(|| ProtocolError::UnknownName { value: name.to_owned(), enumeration: $enumeration })
            }

            fn read(reader: &mut Reader) -> Result<Self, ProtocolError> {
                Self::from_name(&reader.read_string()?)
            }
        }
    };
}

named! {
    /// What REGISTER asks for.
    EventType as "Type" {
        TopologyChange = "TOPOLOGY_CHANGE",
        StatusChange = "STATUS_CHANGE",
        SchemaChange = "SCHEMA_CHANGE",
    }
}

named! {
    /// What happened to the ring.
    TopologyChange as "Change" {
        NewNode = "NEW_NODE",
        RemovedNode = "REMOVED_NODE",
        MovedNode = "MOVED_NODE",
    }
}

named! {
    /// Whether a node serves CQL.
    StatusChange as "Status" { Up = "UP", Down = "DOWN" }
}

named! {
    /// What happened to a part of the schema.
    SchemaChangeKind as "Change" { Created = "CREATED", Updated = "UPDATED", Dropped = "DROPPED" }
}

/// Which part of the schema changed. Views and indexes report as their table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaChangeTarget {
    Keyspace,
    Table {
        name: String,
    },
    Type {
        name: String,
    },
    /// `argument_types` as CQL prints them: `frozen<list<text>>`.
    Function {
        name: String,
        argument_types: Vec<String>,
    },
    Aggregate {
        name: String,
        argument_types: Vec<String>,
    },
}

/// A schema change, as event and as RESULT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    pub kind: SchemaChangeKind,
    pub keyspace: String,
    pub target: SchemaChangeTarget,
}

impl SchemaChange {
    /// Version 3 does not know functions: its clients are told that the keyspace was updated.
    pub fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        let has_functions = ProtocolVersion::V4 <= version;
        match &self.target {
            SchemaChangeTarget::Keyspace => encode_head(self.kind, "KEYSPACE", &self.keyspace, out),
            SchemaChangeTarget::Table { name } => {
                encode_head(self.kind, "TABLE", &self.keyspace, out);
                write_string(out, name);
            }
            SchemaChangeTarget::Type { name } => {
                encode_head(self.kind, "TYPE", &self.keyspace, out);
                write_string(out, name);
            }
            SchemaChangeTarget::Function { .. } | SchemaChangeTarget::Aggregate { .. } if !has_functions => {
                encode_head(SchemaChangeKind::Updated, "KEYSPACE", &self.keyspace, out);
            }
            SchemaChangeTarget::Function { name, argument_types } => {
                encode_head(self.kind, "FUNCTION", &self.keyspace, out);
                write_string(out, name);
                write_string_list(out, argument_types);
            }
            SchemaChangeTarget::Aggregate { name, argument_types } => {
                encode_head(self.kind, "AGGREGATE", &self.keyspace, out);
                write_string(out, name);
                write_string_list(out, argument_types);
            }
        }
    }

    /// # Errors
    /// [`ProtocolError`] for a body that is cut off or has an unknown name.
    pub fn decode(reader: &mut Reader) -> Result<Self, ProtocolError> {
        let kind = SchemaChangeKind::read(reader)?;
        let target = reader.read_string()?;
        let keyspace = reader.read_string()?;
        let target = match target.as_str() {
            "KEYSPACE" => SchemaChangeTarget::Keyspace,
            "TABLE" => SchemaChangeTarget::Table { name: reader.read_string()? },
            "TYPE" => SchemaChangeTarget::Type { name: reader.read_string()? },
            "FUNCTION" => {
                SchemaChangeTarget::Function { name: reader.read_string()?, argument_types: reader.read_string_list()? }
            }
            "AGGREGATE" => SchemaChangeTarget::Aggregate {
                name: reader.read_string()?,
                argument_types: reader.read_string_list()?,
            },
            _ => return Err(ProtocolError::UnknownName { value: target, enumeration: "Target" }),
        };
        Ok(Self { kind, keyspace, target })
    }
}

fn encode_head(kind: SchemaChangeKind, target: &str, keyspace: &str, out: &mut BytesMut) {
    write_string(out, kind.name());
    write_string(out, target);
    write_string(out, keyspace);
}

/// An EVENT message. Addresses are those that clients connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Topology { change: TopologyChange, node: SocketAddr },
    Status { change: StatusChange, node: SocketAddr },
    Schema(SchemaChange),
}

impl Event {
    #[must_use]
    pub fn event_type(&self) -> EventType {
        match self {
            Self::Topology { .. } => EventType::TopologyChange,
            Self::Status { .. } => EventType::StatusChange,
            Self::Schema(_) => EventType::SchemaChange,
        }
    }

    /// Appends the body of an EVENT envelope.
    pub fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        write_string(out, self.event_type().name());
        match self {
            Self::Topology { change, node } => {
                write_string(out, change.name());
                write_inet(out, *node);
            }
            Self::Status { change, node } => {
                write_string(out, change.name());
                write_inet(out, *node);
            }
            Self::Schema(change) => change.encode(version, out),
        }
    }

    /// # Errors
    /// [`ProtocolError`] for a body that is cut off or has an unknown name.
    pub fn decode(reader: &mut Reader) -> Result<Self, ProtocolError> {
        Ok(match EventType::read(reader)? {
            EventType::TopologyChange => {
                Self::Topology { change: TopologyChange::read(reader)?, node: reader.read_inet()? }
            }
            EventType::StatusChange => Self::Status { change: StatusChange::read(reader)?, node: reader.read_inet()? },
            EventType::SchemaChange => Self::Schema(SchemaChange::decode(reader)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::{Event, EventType, SchemaChange, SchemaChangeKind, SchemaChangeTarget, StatusChange, TopologyChange};
    use crate::primitives::Reader;
    use crate::version::ProtocolVersion;

    fn reread(event: &Event, version: ProtocolVersion) -> Event {
        let mut out = BytesMut::new();
        event.encode(version, &mut out);
        let mut reader = Reader::new(out.freeze());
        let event = Event::decode(&mut reader).unwrap();
        assert_eq!(reader.remaining(), 0);
        event
    }

    fn schema(target: SchemaChangeTarget) -> Event {
        Event::Schema(SchemaChange { kind: SchemaChangeKind::Dropped, keyspace: "k".into(), target })
    }

    #[test]
    fn every_event_comes_back() {
        let (name, argument_types) = (String::from("n"), vec![String::from("int")]);
        for event in [
            Event::Topology { change: TopologyChange::MovedNode, node: "127.0.0.1:9042".parse().unwrap() },
            Event::Status { change: StatusChange::Down, node: "[::1]:65535".parse().unwrap() },
            schema(SchemaChangeTarget::Keyspace),
            schema(SchemaChangeTarget::Table { name: name.clone() }),
            schema(SchemaChangeTarget::Type { name: name.clone() }),
            schema(SchemaChangeTarget::Function { name: name.clone(), argument_types: argument_types.clone() }),
            schema(SchemaChangeTarget::Aggregate { name, argument_types }),
        ] {
            assert_eq!(reread(&event, ProtocolVersion::V4), event);
        }
    }

    #[test]
    fn version_3_hears_of_a_function_as_an_updated_keyspace() {
        let event = schema(SchemaChangeTarget::Function { name: "f".into(), argument_types: vec![] });
        let heard = SchemaChange {
            kind: SchemaChangeKind::Updated,
            keyspace: "k".into(),
            target: SchemaChangeTarget::Keyspace,
        };
        assert_eq!(reread(&event, ProtocolVersion::V3), Event::Schema(heard));
    }

    #[test]
    fn an_unknown_event_type_is_refused_in_the_words_of_cassandra() {
        assert_eq!(EventType::from_name("foo").unwrap_err().to_string(), "Invalid value 'foo' for Type");
        assert_eq!(EventType::from_name("schema_change"), Ok(EventType::SchemaChange));
    }
}
