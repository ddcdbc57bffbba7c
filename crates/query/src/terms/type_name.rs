//! Types as written become types: user types are looked up, freezing and nesting rules checked.
//!
//! Source: Cassandra 5.0, `cql3.CQL3Type.Raw`.

use std::sync::Arc;

use helenus_cql::{NativeType, TypeName};
use helenus_schema::SchemaSnapshot;
use helenus_types::CqlType;

use crate::error::{QueryError, Result, ensure, invalid};

/// The type that `name` stands for in a statement on `keyspace`.
///
/// # Errors
/// Unknown user types, user types of other keyspaces, and what may not be nested or frozen.
pub fn resolve_type(schema: &SchemaSnapshot, keyspace: &str, name: &TypeName) -> Result<CqlType> {
    resolve(schema, keyspace, name, false)
}

fn resolve(schema: &SchemaSnapshot, keyspace: &str, name: &TypeName, frozen: bool) -> Result<CqlType> {
    let collection_element = |inner: &TypeName| resolve(schema, keyspace, inner, frozen);
    match name {
        TypeName::Native(native) => Ok(native_type(*native)),
        TypeName::Frozen(inner) => {
            ensure!(
                can_freeze(inner),
                "frozen<> is only allowed on collections, tuples, and user-defined types (got {})",
                display_type_name(inner, false)
            );
            resolve(schema, keyspace, inner, true)
        }
        TypeName::List(element) => {
            check_element(name, element, frozen)?;
            Ok(CqlType::List { element: Arc::new(collection_element(element)?), frozen })
        }
        TypeName::Set(element) => {
            check_element(name, element, frozen)?;
            ensure!(
                **element != TypeName::Native(NativeType::Duration),
                "Durations are not allowed inside sets: {}",
                display_type_name(name, frozen)
            );
            Ok(CqlType::Set { element: Arc::new(collection_element(element)?), frozen })
        }
        TypeName::Map(key, value) => {
            check_element(name, value, frozen)?;
            ensure!(
                **key != TypeName::Native(NativeType::Duration),
                "Durations are not allowed as map keys: {}",
                display_type_name(name, frozen)
            );
            check_element(name, key, frozen)?;
            let value = Arc::new(collection_element(value)?);
            Ok(CqlType::Map { key: Arc::new(collection_element(key)?), value, frozen })
        }
        TypeName::Tuple(components) => {
            let mut types = Vec::with_capacity(components.len());
            for component in components {
                ensure!(*component != TypeName::Native(NativeType::Counter), "Counters are not allowed inside tuples");
                types.push(resolve(schema, keyspace, component, true)?);
            }
            Ok(CqlType::Tuple(types.into()))
        }
        TypeName::Vector(element, dimension) => {
            let dimension = u32::try_from(*dimension)
                .ok()
                .filter(|dimension| 0 < *dimension)
                .ok_or_else(|| invalid!("vectors may only have positive dimensions; given {dimension}"))?;
            // Freezing a vector, or what it stands in, stops there.
            Ok(CqlType::Vector { element: Arc::new(resolve(schema, keyspace, element, false)?), dimension })
        }
        TypeName::UserType(name) => {
            if let Some(other) = &name.keyspace {
                ensure!(
                    other.as_str() == keyspace,
                    "Statement on keyspace {keyspace} cannot refer to a user type in keyspace {}; user types can only be \
                     used in the keyspace they are defined in",
                    other.as_str()
                );
            }
            let keyspace_found = schema
                .keyspace(keyspace)
                .ok_or_else(|| QueryError::Config(format!("Keyspace {keyspace} doesn't exist")))?;
            let udt = keyspace_found
                .types
                .get(name.name.as_str())
                .ok_or_else(|| invalid!("Unknown type {keyspace}.{}", name.name.as_str()))?;
            Ok(CqlType::Udt(Arc::clone(udt), frozen))
        }
        TypeName::Custom(class) => {
            let refused = || {
                let full = if class.contains('.') {
                    class.to_string()
                } else {
                    format!("org.apache.cassandra.db.marshal.{class}")
                };
                QueryError::Syntax(format!("Error setting type {class}: Unable to find abstract-type class '{full}'"))
            };
            match CqlType::parse_java(class) {
                Ok(CqlType::Custom(full)) if !is_known_class(&full) => Err(refused()),
                Err(_) => Err(refused()),
                Ok(ty) => Ok(ty),
            }
        }
    }
}

/// Classes that Cassandra has and whose values are bytes to us.
fn is_known_class(full: &str) -> bool {
    const KNOWN: [&str; 5] =
        ["CompositeType", "DateType", "DynamicCompositeType", "LegacyTimeUUIDType", "LexicalUUIDType"];
    full.strip_prefix("org.apache.cassandra.db.marshal.").is_some_and(|name| {
        let name = name.split_once('(').map_or(name, |(name, _)| name);
        KNOWN.contains(&name)
    })
}

fn can_freeze(name: &TypeName) -> bool {
    !matches!(name, TypeName::Native(_) | TypeName::Custom(_))
}

/// What may stand inside a collection; `whole` is the collection, for the message.
fn check_element(whole: &TypeName, inner: &TypeName, frozen: bool) -> Result<()> {
    if !frozen {
        let text = || display_type_name(whole, frozen);
        match inner {
            TypeName::List(_) | TypeName::Set(_) | TypeName::Map(..) => {
                return Err(invalid!("Non-frozen collections are not allowed inside collections: {}", text()));
            }
            TypeName::UserType(_) => {
                return Err(invalid!("Non-frozen UDTs are not allowed inside collections: {}", text()));
            }
            TypeName::Native(_)
            | TypeName::Frozen(_)
            | TypeName::Tuple(_)
            | TypeName::Vector(..)
            | TypeName::Custom(_) => {}
        }
    }
    ensure!(
        *inner != TypeName::Native(NativeType::Counter),
        "Counters are not allowed inside collections: {}",
        display_type_name(whole, frozen)
    );
    Ok(())
}

/// The type as Cassandra's raw types print themselves: `varchar` is kept, `frozen` shows where it is in effect.
#[must_use]
pub fn display_type_name(name: &TypeName, frozen: bool) -> String {
    let wrap = |text: String| if frozen { format!("frozen<{text}>") } else { text };
    match name {
        TypeName::Native(native) => native.name().to_owned(),
        TypeName::Frozen(inner) => display_type_name(inner, true),
        TypeName::List(element) => wrap(format!("list<{}>", display_type_name(element, frozen && can_freeze(element)))),
        TypeName::Set(element) => wrap(format!("set<{}>", display_type_name(element, frozen && can_freeze(element)))),
        TypeName::Map(key, value) => wrap(format!(
            "map<{}, {}>",
            display_type_name(key, frozen && can_freeze(key)),
            display_type_name(value, frozen && can_freeze(value))
        )),
        TypeName::Tuple(components) => {
            let texts: Vec<String> =
                components.iter().map(|component| display_type_name(component, can_freeze(component))).collect();
            format!("tuple<{}>", texts.join(", "))
        }
        TypeName::Vector(element, dimension) => format!("vector<{}, {dimension}>", display_type_name(element, false)),
        TypeName::UserType(name) => wrap(match &name.keyspace {
            Some(keyspace) => format!("{}.{}", keyspace.as_str(), name.name.as_str()),
            None => name.name.as_str().to_owned(),
        }),
        TypeName::Custom(class) => format!("'{class}'"),
    }
}

/// As [`display_type_name`] after the type was resolved: its user types have got their keyspace.
#[must_use]
pub fn display_resolved_type_name(name: &TypeName, keyspace: &str) -> String {
    display_type_name(&qualified(name, keyspace), false)
}

fn qualified(name: &TypeName, keyspace: &str) -> TypeName {
    let inner = |name: &TypeName| Box::new(qualified(name, keyspace));
    match name {
        TypeName::Native(_) | TypeName::Custom(_) => name.clone(),
        TypeName::Frozen(name) => TypeName::Frozen(inner(name)),
        TypeName::List(element) => TypeName::List(inner(element)),
        TypeName::Set(element) => TypeName::Set(inner(element)),
        TypeName::Map(key, value) => TypeName::Map(inner(key), inner(value)),
        TypeName::Tuple(components) => {
            TypeName::Tuple(components.iter().map(|component| qualified(component, keyspace)).collect())
        }
        TypeName::Vector(element, dimension) => TypeName::Vector(inner(element), *dimension),
        TypeName::UserType(name) => {
            let mut name = name.clone();
            name.keyspace.get_or_insert_with(|| helenus_cql::Identifier::quoted(keyspace));
            TypeName::UserType(name)
        }
    }
}

/// The type of a keyword.
#[must_use]
pub fn native_type(native: NativeType) -> CqlType {
    match native {
        NativeType::Ascii => CqlType::Ascii,
        NativeType::Bigint => CqlType::Bigint,
        NativeType::Blob => CqlType::Blob,
        NativeType::Boolean => CqlType::Boolean,
        NativeType::Counter => CqlType::Counter,
        NativeType::Date => CqlType::Date,
        NativeType::Decimal => CqlType::Decimal,
        NativeType::Double => CqlType::Double,
        NativeType::Duration => CqlType::Duration,
        NativeType::Float => CqlType::Float,
        NativeType::Inet => CqlType::Inet,
        NativeType::Int => CqlType::Int,
        NativeType::Smallint => CqlType::Smallint,
        NativeType::Text | NativeType::Varchar => CqlType::Text,
        NativeType::Time => CqlType::Time,
        NativeType::Timestamp => CqlType::Timestamp,
        NativeType::Timeuuid => CqlType::Timeuuid,
        NativeType::Tinyint => CqlType::Tinyint,
        NativeType::Uuid => CqlType::Uuid,
        NativeType::Varint => CqlType::Varint,
    }
}
