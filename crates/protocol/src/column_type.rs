//! Column types as the wire writes them: `[option]`, a `[short]` id and what belongs to it.
//!
//! A type that the client's version has no id for travels as "custom" with the name of Cassandra's Java class, one level at
//! a time: in version 4 a `list<duration>` is a list of custom `DurationType`. Frozen and not frozen look alike.
//!
//! Source: `native_protocol_v5.spec` section 4.2.5.2; Cassandra 5.0.9, `DataType`.

use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use helenus_types::{CqlType, UserType, UserTypeField};

use crate::primitives::{Reader, write_list, write_string};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

const CUSTOM: u16 = 0x0000;
const LIST: u16 = 0x0020;
const MAP: u16 = 0x0021;
const SET: u16 = 0x0022;
const UDT: u16 = 0x0030;
const TUPLE: u16 = 0x0031;

/// Ids of types without parameters, and the version that brought them. `text` is 0x000D; 0x000A is the same, only read.
static SIMPLE: [(u16, ProtocolVersion, CqlType); 20] = [
    (0x0001, ProtocolVersion::V3, CqlType::Ascii),
    (0x0002, ProtocolVersion::V3, CqlType::Bigint),
    (0x0003, ProtocolVersion::V3, CqlType::Blob),
    (0x0004, ProtocolVersion::V3, CqlType::Boolean),
    (0x0005, ProtocolVersion::V3, CqlType::Counter),
    (0x0006, ProtocolVersion::V3, CqlType::Decimal),
    (0x0007, ProtocolVersion::V3, CqlType::Double),
    (0x0008, ProtocolVersion::V3, CqlType::Float),
    (0x0009, ProtocolVersion::V3, CqlType::Int),
    (0x000B, ProtocolVersion::V3, CqlType::Timestamp),
    (0x000C, ProtocolVersion::V3, CqlType::Uuid),
    (0x000D, ProtocolVersion::V3, CqlType::Text),
    (0x000E, ProtocolVersion::V3, CqlType::Varint),
    (0x000F, ProtocolVersion::V3, CqlType::Timeuuid),
    (0x0010, ProtocolVersion::V3, CqlType::Inet),
    (0x0011, ProtocolVersion::V4, CqlType::Date),
    (0x0012, ProtocolVersion::V4, CqlType::Time),
    (0x0013, ProtocolVersion::V4, CqlType::Smallint),
    (0x0014, ProtocolVersion::V4, CqlType::Tinyint),
    (0x0015, ProtocolVersion::V5, CqlType::Duration),
];
const OLD_TEXT: u16 = 0x000A;

/// How deep a received type may nest: far more than CQL allows to declare, far less than a stack holds.
const DEPTH_MAX: usize = 64;

/// Appends the option of a type.
pub fn write_type(out: &mut BytesMut, version: ProtocolVersion, ty: &CqlType) {
    match ty {
        CqlType::List { element, .. } => {
            out.put_u16(LIST);
            write_type(out, version, element);
        }
        CqlType::Set { element, .. } => {
            out.put_u16(SET);
            write_type(out, version, element);
        }
        CqlType::Map { key, value, .. } => {
            out.put_u16(MAP);
            write_type(out, version, key);
            write_type(out, version, value);
        }
        CqlType::Tuple(elements) => {
            out.put_u16(TUPLE);
            write_list(out, elements, |out, element| write_type(out, version, element));
        }
        CqlType::Udt(user_type, _) => write_user_type(out, version, user_type),
        CqlType::Vector { .. } | CqlType::Custom(_) | CqlType::Empty => write_custom(out, ty),
        CqlType::Ascii
        | CqlType::Bigint
        | CqlType::Blob
        | CqlType::Boolean
        | CqlType::Counter
        | CqlType::Date
        | CqlType::Decimal
        | CqlType::Double
        | CqlType::Duration
        | CqlType::Float
        | CqlType::Inet
        | CqlType::Int
        | CqlType::Smallint
        | CqlType::Text
        | CqlType::Time
        | CqlType::Timestamp
        | CqlType::Timeuuid
        | CqlType::Tinyint
        | CqlType::Uuid
        | CqlType::Varint => match simple_id(version, ty) {
            Some(id) => out.put_u16(id),
            None => write_custom(out, ty),
        },
    }
}

fn write_user_type(out: &mut BytesMut, version: ProtocolVersion, user_type: &UserType) {
    out.put_u16(UDT);
    write_string(out, &user_type.keyspace);
    write_string(out, &user_type.name);
    write_list(out, &user_type.fields, |out, field| {
        write_string(out, &field.name);
        write_type(out, version, &field.ty);
    });
}

fn write_custom(out: &mut BytesMut, ty: &CqlType) {
    out.put_u16(CUSTOM);
    write_string(out, &ty.java_name());
}

fn simple_id(version: ProtocolVersion, ty: &CqlType) -> Option<u16> {
    let known = SIMPLE.iter().find(|(_, since, known)| *since <= version && known == ty);
    known.map(|(id, ..)| *id)
}

/// Takes the option of a type off a body. Collections and user types come back as not frozen, since that is not told.
///
/// # Errors
/// [`ProtocolError`] for an unknown id, a custom class that does not parse, and nesting beyond reason.
pub fn read_type(reader: &mut Reader) -> Result<CqlType, ProtocolError> {
    read_nested(reader, DEPTH_MAX)
}

fn read_nested(reader: &mut Reader, depth_left: usize) -> Result<CqlType, ProtocolError> {
    let depth_left = depth_left.checked_sub(1).ok_or(ProtocolError::TypeTooDeep { max: DEPTH_MAX })?;
    let read_inner = |reader: &mut Reader| read_nested(reader, depth_left);
    Ok(match reader.read_short()? {
        CUSTOM => read_custom(reader)?,
        OLD_TEXT => CqlType::Text,
        LIST => CqlType::List { element: Arc::new(read_inner(reader)?), frozen: false },
        SET => CqlType::Set { element: Arc::new(read_inner(reader)?), frozen: false },
        MAP => {
            let (key, value) = (Arc::new(read_inner(reader)?), Arc::new(read_inner(reader)?));
            CqlType::Map { key, value, frozen: false }
        }
        TUPLE => CqlType::Tuple(reader.read_list(read_inner)?.into()),
        UDT => {
            let (keyspace, name) = (reader.read_string()?.into(), reader.read_string()?.into());
            let fields = reader.read_list(|reader| {
                Ok(UserTypeField { name: reader.read_string()?.into(), ty: read_inner(reader)? })
            })?;
            CqlType::Udt(Arc::new(UserType { keyspace, name, fields }), false)
        }
        id => {
            let known = SIMPLE.iter().find(|(known, ..)| *known == id);
            known.map(|(.., ty)| ty.clone()).ok_or(ProtocolError::UnknownTypeId { id })?
        }
    })
}

fn read_custom(reader: &mut Reader) -> Result<CqlType, ProtocolError> {
    let name = reader.read_string()?;
    CqlType::parse_java(&name).map_err(|_| ProtocolError::UnknownTypeName { name })
}
