//! The type of a column: native types, collections, tuples, user types, vectors.
//!
//! Invariants
//! - What lies inside a frozen type, a tuple or a vector is frozen too when built by [`CqlType::frozen`] or the parsers.
//! - `Display` is the CQL text as it stands in `system_schema.columns.type`.
//!
//! Neighbours: `java_name` prints and parses Cassandra's class names; `validate`, `compare`, `comparable`, `text` and
//! `json` implement the methods on values.

use std::fmt;
use std::sync::Arc;

/// How deep types may nest. A type of 32 levels needs far less stack than a shard's thread has, and no schema comes near.
pub const MAX_NESTING: usize = 32;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CqlType {
    Ascii,
    Bigint,
    Blob,
    Boolean,
    Counter,
    Date,
    Decimal,
    Double,
    Duration,
    Empty,
    Float,
    Inet,
    Int,
    Smallint,
    Text,
    Time,
    Timestamp,
    Timeuuid,
    Tinyint,
    Uuid,
    Varint,
    List {
        element: Arc<CqlType>,
        frozen: bool,
    },
    Set {
        element: Arc<CqlType>,
        frozen: bool,
    },
    Map {
        key: Arc<CqlType>,
        value: Arc<CqlType>,
        frozen: bool,
    },
    /// Always frozen.
    Tuple(Arc<[CqlType]>),
    /// A user type and whether it is frozen.
    Udt(Arc<UserType>, bool),
    Vector {
        element: Arc<CqlType>,
        dimension: u32,
    },
    /// A class that only Cassandra knows, by its full Java name with parameters. Its values are bytes to us.
    Custom(Arc<str>),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UserType {
    pub keyspace: Box<str>,
    pub name: Box<str>,
    pub fields: Vec<UserTypeField>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UserTypeField {
    pub name: Box<str>,
    pub ty: CqlType,
}

impl CqlType {
    /// The native types that a CQL statement may name, with their names, in alphabetical order.
    pub const NATIVES: [(&'static str, CqlType); 21] = [
        ("ascii", Self::Ascii),
        ("bigint", Self::Bigint),
        ("blob", Self::Blob),
        ("boolean", Self::Boolean),
        ("counter", Self::Counter),
        ("date", Self::Date),
        ("decimal", Self::Decimal),
        ("double", Self::Double),
        ("duration", Self::Duration),
        ("empty", Self::Empty),
        ("float", Self::Float),
        ("inet", Self::Inet),
        ("int", Self::Int),
        ("smallint", Self::Smallint),
        ("text", Self::Text),
        ("time", Self::Time),
        ("timestamp", Self::Timestamp),
        ("timeuuid", Self::Timeuuid),
        ("tinyint", Self::Tinyint),
        ("uuid", Self::Uuid),
        ("varint", Self::Varint),
    ];

    /// The native type of this CQL name in any case, `varchar` included.
    pub fn native(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("varchar") {
            return Some(Self::Text);
        }
        let found = Self::NATIVES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, ty)| ty.clone())
    }

    pub fn list(element: Self) -> Self {
        Self::List { element: Arc::new(element), frozen: false }
    }

    pub fn set(element: Self) -> Self {
        Self::Set { element: Arc::new(element), frozen: false }
    }

    pub fn map(key: Self, value: Self) -> Self {
        Self::Map { key: Arc::new(key), value: Arc::new(value), frozen: false }
    }

    pub fn tuple(components: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple(components.into_iter().map(|ty| ty.frozen()).collect())
    }

    pub fn vector(element: Self, dimension: u32) -> Self {
        Self::Vector { element: Arc::new(element), dimension }
    }

    /// Stored as one cell per element or field: a collection or user type that is not frozen.
    pub fn is_multi_cell(&self) -> bool {
        match self {
            Self::List { frozen, .. } | Self::Set { frozen, .. } | Self::Map { frozen, .. } | Self::Udt(_, frozen) => {
                !frozen
            }
            _ => false,
        }
    }

    pub fn is_collection(&self) -> bool {
        matches!(self, Self::List { .. } | Self::Set { .. } | Self::Map { .. })
    }

    pub fn is_frozen_collection(&self) -> bool {
        self.is_collection() && !self.is_multi_cell()
    }

    pub fn is_counter(&self) -> bool {
        matches!(self, Self::Counter)
    }

    pub fn is_tuple(&self) -> bool {
        matches!(self, Self::Tuple(_))
    }

    pub fn is_udt(&self) -> bool {
        matches!(self, Self::Udt(..))
    }

    /// The types directly inside, in the order in which they are written.
    pub fn sub_types(&self) -> Vec<&CqlType> {
        match self {
            Self::List { element, .. } | Self::Set { element, .. } | Self::Vector { element, .. } => vec![&**element],
            Self::Map { key, value, .. } => vec![&**key, &**value],
            Self::Tuple(components) => components.iter().collect(),
            Self::Udt(udt, _) => udt.fields.iter().map(|field| &field.ty).collect(),
            _ => Vec::new(),
        }
    }

    /// Levels of nesting: 1 for a native type.
    pub fn depth(&self) -> usize {
        1 + self.sub_types().into_iter().map(Self::depth).max().unwrap_or(0)
    }

    /// Whether a duration stands anywhere inside; durations have no order, so such types cannot be keys.
    pub fn references_duration(&self) -> bool {
        match self {
            Self::Duration => true,
            Self::Vector { .. } => false, // Cassandra forgets to ask a vector for its element.
            other => other.sub_types().into_iter().any(Self::references_duration),
        }
    }

    /// Freezes it and everything inside.
    pub fn frozen(&self) -> CqlType {
        match self {
            Self::List { element, .. } => Self::List { element: frozen_arc(element), frozen: true },
            Self::Set { element, .. } => Self::Set { element: frozen_arc(element), frozen: true },
            Self::Map { key, value, .. } => Self::Map { key: frozen_arc(key), value: frozen_arc(value), frozen: true },
            Self::Tuple(components) => Self::Tuple(components.iter().map(Self::frozen).collect()),
            Self::Udt(udt, _) => {
                let all_frozen = udt.fields.iter().all(|field| field.ty.is_frozen_throughout());
                let udt = if all_frozen { Arc::clone(udt) } else { Arc::new(udt.with_types(|_, ty| ty.frozen())) };
                Self::Udt(udt, true)
            }
            // A vector is one cell whatever it holds, and keeps its element as it was declared, as Cassandra's does.
            vector_or_native => vector_or_native.clone(),
        }
    }

    fn is_frozen_throughout(&self) -> bool {
        let is_vector = matches!(self, Self::Vector { .. });
        is_vector || !self.is_multi_cell() && self.sub_types().into_iter().all(Self::is_frozen_throughout)
    }

    pub fn references_user_type(&self, keyspace: &str, name: &str) -> bool {
        let is_it = matches!(self, Self::Udt(udt, _) if &*udt.keyspace == keyspace && &*udt.name == name);
        is_it || self.sub_types().into_iter().any(|ty| ty.references_user_type(keyspace, name))
    }

    /// Replaces a user type of the same keyspace and name everywhere inside; each place keeps its own frozenness.
    pub fn with_user_type(&self, new: &Arc<UserType>) -> CqlType {
        if !self.references_user_type(&new.keyspace, &new.name) {
            return self.clone();
        }
        match self {
            Self::List { element, frozen } => {
                Self::List { element: Arc::new(element.with_user_type(new)), frozen: *frozen }
            }
            Self::Set { element, frozen } => {
                Self::Set { element: Arc::new(element.with_user_type(new)), frozen: *frozen }
            }
            Self::Map { key, value, frozen } => Self::Map {
                key: Arc::new(key.with_user_type(new)),
                value: Arc::new(value.with_user_type(new)),
                frozen: *frozen,
            },
            Self::Tuple(components) => Self::Tuple(components.iter().map(|ty| ty.with_user_type(new)).collect()),
            Self::Udt(udt, frozen) if udt.keyspace == new.keyspace && udt.name == new.name => {
                let replaced = Self::Udt(Arc::clone(new), *frozen);
                if *frozen { replaced.frozen() } else { replaced }
            }
            Self::Udt(udt, frozen) => Self::Udt(Arc::new(udt.with_types(|_, ty| ty.with_user_type(new))), *frozen),
            Self::Vector { element, dimension } => {
                Self::Vector { element: Arc::new(element.with_user_type(new)), dimension: *dimension }
            }
            native => native.clone(),
        }
    }

    /// Length of every value in bytes, when the type fixes it. SSTables and vectors leave the length out then.
    ///
    /// `tinyint`, `smallint`, `date` and `time` have none, although their values are of one length.
    /// Source: Cassandra 5.0, `AbstractType.valueLengthIfFixed`.
    pub fn fixed_len(&self) -> Option<usize> {
        match self {
            Self::Empty => Some(0),
            Self::Boolean => Some(1),
            Self::Int | Self::Float => Some(4),
            Self::Bigint | Self::Double | Self::Timestamp => Some(8),
            Self::Uuid | Self::Timeuuid => Some(16),
            Self::Vector { element, dimension } => {
                let element_bytes = element.fixed_len()?;
                element_bytes.checked_mul(usize::try_from(*dimension).ok()?)
            }
            _ => None,
        }
    }

    /// Whether a value of zero bytes is valid, which is not null. Source: Cassandra 5.0, `AbstractType.allowsEmpty`.
    pub fn is_empty_allowed(&self) -> bool {
        match self {
            Self::Date | Self::Duration | Self::Empty | Self::Smallint | Self::Time | Self::Tinyint => false,
            Self::List { .. } | Self::Set { .. } | Self::Map { .. } | Self::Vector { .. } => false,
            Self::Tuple(_) | Self::Udt(..) => true,
            _ => true,
        }
    }

    /// Whether an empty value means nothing, so that it counts as absent. Source: `AbstractType.isEmptyValueMeaningless`.
    pub fn is_empty_meaningless(&self) -> bool {
        matches!(
            self,
            Self::Bigint
                | Self::Boolean
                | Self::Counter
                | Self::Decimal
                | Self::Double
                | Self::Float
                | Self::Inet
                | Self::Int
                | Self::Timestamp
                | Self::Timeuuid
                | Self::Uuid
                | Self::Varint
        )
    }

    /// Whether every value of `previous` is a value of this type, so that stored bytes may be read as this type.
    /// Source: Cassandra 5.0, `AbstractType.isValueCompatibleWith`.
    pub fn is_value_compatible_with(&self, previous: &CqlType) -> bool {
        match (self, previous) {
            _ if self == previous => true,
            (Self::Blob, _) => true,
            (Self::Text, Self::Ascii)
            | (Self::Varint, Self::Int | Self::Bigint | Self::Timestamp)
            | (Self::Bigint, Self::Timestamp)
            | (Self::Timestamp, Self::Bigint)
            | (Self::Time, Self::Bigint)
            | (Self::Date, Self::Int)
            | (Self::Uuid, Self::Timeuuid) => true,
            (Self::List { element, frozen }, Self::List { element: old, frozen: old_frozen })
            | (Self::Set { element, frozen }, Self::Set { element: old, frozen: old_frozen }) => {
                frozen == old_frozen && element.is_value_compatible_with(old)
            }
            (Self::Map { key, value, frozen }, Self::Map { key: old_key, value: old_value, frozen: old_frozen }) => {
                frozen == old_frozen
                    && (if *frozen { key.is_value_compatible_with(old_key) } else { key == old_key })
                    && value.is_value_compatible_with(old_value)
            }
            (Self::Tuple(components), Self::Tuple(old)) => {
                old.len() <= components.len()
                    && components.iter().zip(old.iter()).all(|(ty, old)| ty.is_value_compatible_with(old))
            }
            (Self::Udt(udt, frozen), Self::Udt(old, old_frozen)) => {
                frozen == old_frozen
                    && udt.keyspace == old.keyspace
                    && old.fields.len() <= udt.fields.len()
                    && udt.fields.iter().zip(&old.fields).all(|(field, old)| field.ty.is_value_compatible_with(&old.ty))
            }
            (Self::Vector { element, dimension }, Self::Vector { element: old, dimension: old_dimension }) => {
                dimension == old_dimension && element.is_value_compatible_with(old)
            }
            _ => false,
        }
    }

    /// Whether values are ordered by their unsigned bytes. Source: `AbstractType.isByteOrderComparable`.
    pub fn is_byte_order_comparable(&self) -> bool {
        matches!(self, Self::Ascii | Self::Blob | Self::Date | Self::Duration | Self::Inet | Self::Text | Self::Time)
    }
}

impl UserType {
    /// The same type with each field's type replaced by what `change` makes of it.
    pub fn with_types(&self, change: impl Fn(usize, &CqlType) -> CqlType) -> Self {
        let fields = self.fields.iter().enumerate();
        let fields = fields.map(|(i, field)| UserTypeField { name: field.name.clone(), ty: change(i, &field.ty) });
        Self { keyspace: self.keyspace.clone(), name: self.name.clone(), fields: fields.collect() }
    }

    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| &*field.name == name)
    }
}

fn frozen_arc(ty: &Arc<CqlType>) -> Arc<CqlType> {
    if ty.is_frozen_throughout() { Arc::clone(ty) } else { Arc::new(ty.frozen()) }
}

impl fmt::Display for CqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List { element, frozen } => write_maybe_frozen(f, *frozen, format_args!("list<{element}>")),
            Self::Set { element, frozen } => write_maybe_frozen(f, *frozen, format_args!("set<{element}>")),
            Self::Map { key, value, frozen } => write_maybe_frozen(f, *frozen, format_args!("map<{key}, {value}>")),
            Self::Tuple(components) => {
                f.write_str("frozen<tuple<")?;
                for (i, component) in components.iter().enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    write!(f, "{separator}{component}")?;
                }
                f.write_str(">>")
            }
            Self::Udt(udt, frozen) => write_maybe_frozen(f, *frozen, format_args!("{}", MaybeQuoted(&udt.name))),
            Self::Vector { element, dimension } => write!(f, "vector<{element}, {dimension}>"),
            Self::Custom(class) => write!(f, "'{class}'"),
            native => f.write_str(native.native_name()),
        }
    }
}

impl CqlType {
    fn native_name(&self) -> &'static str {
        let found = Self::NATIVES.iter().find(|(_, ty)| ty == self);
        found.map_or("", |(name, _)| name)
    }
}

fn write_maybe_frozen(f: &mut fmt::Formatter<'_>, frozen: bool, text: fmt::Arguments<'_>) -> fmt::Result {
    if frozen { write!(f, "frozen<{text}>") } else { f.write_fmt(text) }
}

/// A name as CQL prints it: bare when it is lower case and no reserved word, else in double quotes.
pub(crate) struct MaybeQuoted<'a>(pub &'a str);

impl fmt::Display for MaybeQuoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.0.chars();
        let bare = chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && RESERVED.binary_search(&self.0).is_err();
        if bare { f.write_str(self.0) } else { write!(f, "\"{}\"", self.0.replace('"', "\"\"")) }
    }
}

/// CQL's reserved words, sorted. Source: Cassandra 5.0, `reserved_keywords.txt`.
const RESERVED: [&str; 57] = [
    "add",
    "allow",
    "alter",
    "and",
    "apply",
    "asc",
    "authorize",
    "batch",
    "begin",
    "by",
    "columnfamily",
    "create",
    "delete",
    "desc",
    "describe",
    "drop",
    "entries",
    "execute",
    "from",
    "full",
    "grant",
    "if",
    "in",
    "index",
    "infinity",
    "insert",
    "into",
    "is",
    "keyspace",
    "limit",
    "materialized",
    "modify",
    "nan",
    "norecursive",
    "not",
    "null",
    "of",
    "on",
    "or",
    "order",
    "primary",
    "rename",
    "revoke",
    "schema",
    "select",
    "set",
    "table",
    "to",
    "token",
    "truncate",
    "unlogged",
    "update",
    "use",
    "using",
    "view",
    "where",
    "with",
];
