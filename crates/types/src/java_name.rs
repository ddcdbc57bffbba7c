//! Cassandra's class names of types, as they stand in SSTables, system tables and the protocol's custom types.
//!
//! ```text
//! type   := class [ '(' argument { ',' argument } ')' ]
//! class  := full name, or a name in org.apache.cassandra.db.marshal
//! ListType(t)  SetType(t)  MapType(k,v)  FrozenType(t)  ReversedType(t)  TupleType(t,..)  VectorType(t , dimension)
//! UserType(keyspace,hex of name,hex of field:type,..)
//! ```
//!
//! Anything else is kept whole as [`CqlType::Custom`]. Source: Cassandra 5.0, `db.marshal.TypeParser`.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::cql_type::{CqlType, MAX_NESTING, UserType, UserTypeField};
use crate::error::TypeError;

const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

const NATIVE_CLASSES: [(&str, CqlType); 21] = [
    ("AsciiType", CqlType::Ascii),
    ("LongType", CqlType::Bigint),
    ("BytesType", CqlType::Blob),
    ("BooleanType", CqlType::Boolean),
    ("CounterColumnType", CqlType::Counter),
    ("SimpleDateType", CqlType::Date),
    ("DecimalType", CqlType::Decimal),
    ("DoubleType", CqlType::Double),
    ("DurationType", CqlType::Duration),
    ("EmptyType", CqlType::Empty),
    ("FloatType", CqlType::Float),
    ("InetAddressType", CqlType::Inet),
    ("Int32Type", CqlType::Int),
    ("ShortType", CqlType::Smallint),
    ("UTF8Type", CqlType::Text),
    ("TimeType", CqlType::Time),
    ("TimestampType", CqlType::Timestamp),
    ("TimeUUIDType", CqlType::Timeuuid),
    ("ByteType", CqlType::Tinyint),
    ("UUIDType", CqlType::Uuid),
    ("IntegerType", CqlType::Varint),
];

impl CqlType {
    /// The class name exactly as Cassandra prints it, `FrozenType(` included where it stands.
    pub fn java_name(&self) -> String {
        let mut out = String::new();
        write_java_name(self, false, &mut out);
        out
    }

    /// # Errors
    /// [`TypeError`] for broken syntax or nesting over [`MAX_NESTING`]; `ReversedType` is stripped, see
    /// [`CqlType::parse_java_reversed`] to learn of it.
    pub fn parse_java(text: &str) -> Result<CqlType, TypeError> {
        Self::parse_java_reversed(text).map(|(ty, _)| ty)
    }

    /// The type and whether it was wrapped in `ReversedType(..)`, as descending clustering columns are.
    ///
    /// # Errors
    /// As [`CqlType::parse_java`].
    pub fn parse_java_reversed(text: &str) -> Result<(CqlType, bool), TypeError> {
        let mut parser = Parser { text, at: 0 };
        let (ty, reversed) = parser.type_at(0)?;
        parser.skip_blank();
        if parser.at < text.len() {
            Err(parser.error("unexpected characters after the type"))
        } else {
            Ok((ty, reversed))
        }
    }
}

fn write_java_name(ty: &CqlType, ignore_freezing: bool, out: &mut String) {
    let wrap = !ignore_freezing && !ty.is_multi_cell() && (ty.is_collection() || ty.is_udt());
    let ignore_inside = ignore_freezing || !ty.is_multi_cell();
    if wrap {
        out.push_str(PACKAGE);
        out.push_str("FrozenType(");
    }
    match ty {
        CqlType::List { element, .. } => write_parameters("ListType", &[element], ignore_inside, out),
        CqlType::Set { element, .. } => write_parameters("SetType", &[element], ignore_inside, out),
        CqlType::Map { key, value, .. } => write_parameters("MapType", &[key, value], ignore_inside, out),
        CqlType::Tuple(components) => {
            let components: Vec<&CqlType> = components.iter().collect();
            write_parameters("TupleType", &components, true, out);
        }
        CqlType::Udt(udt, _) => write_user_type(udt, ignore_inside, out),
        CqlType::Vector { element, dimension } => {
            out.push_str(PACKAGE);
            out.push_str("VectorType(");
            write_java_name(element, ignore_freezing, out);
            let _ = write!(out, " , {dimension})");
        }
        CqlType::Custom(class) => out.push_str(class),
        native => {
            let found = NATIVE_CLASSES.iter().find(|(_, known)| known == native);
            out.push_str(PACKAGE);
            out.push_str(found.map_or("", |(class, _)| class));
        }
    }
    if wrap {
        out.push(')');
    }
}

fn write_parameters(class: &str, parameters: &[&CqlType], ignore_freezing: bool, out: &mut String) {
    out.push_str(PACKAGE);
    out.push_str(class);
    for (i, parameter) in parameters.iter().enumerate() {
        out.push(if i == 0 { '(' } else { ',' });
        write_java_name(parameter, ignore_freezing, out);
    }
    out.push(')');
}

fn write_user_type(udt: &UserType, ignore_freezing: bool, out: &mut String) {
    out.push_str(PACKAGE);
    out.push_str("UserType(");
    out.push_str(&udt.keyspace);
    out.push(',');
    crate::hex::write_hex(udt.name.as_bytes(), out);
    for field in &udt.fields {
        out.push(',');
        crate::hex::write_hex(field.name.as_bytes(), out);
        out.push(':');
        write_java_name(&field.ty, ignore_freezing, out);
    }
    out.push(')');
}

struct Parser<'a> {
    text: &'a str,
    at: usize, // Byte offset; always at a character boundary, since only ASCII is stepped over.
}

impl<'a> Parser<'a> {
    fn error(&self, problem: &'static str) -> TypeError {
        TypeError::Syntax { text: self.text.into(), at: self.at, problem }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n')) {
            self.at += 1;
        }
    }

    fn identifier(&mut self) -> &'a str {
        let is_part = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'+' | b'.' | b'_' | b'&' | b'$');
        let rest = self.rest();
        let len = rest.bytes().take_while(|c| is_part(*c)).count();
        self.at += len;
        rest.get(..len).unwrap_or("")
    }

    fn take(&mut self, expected: u8) -> bool {
        self.skip_blank();
        let found = self.peek() == Some(expected);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, expected: u8, problem: &'static str) -> Result<(), TypeError> {
        if self.take(expected) { Ok(()) } else { Err(self.error(problem)) }
    }

    /// The type at the current position and whether `ReversedType` wrapped it.
    fn type_at(&mut self, depth: usize) -> Result<(CqlType, bool), TypeError> {
        if MAX_NESTING <= depth {
            return Err(TypeError::TooDeep { text: self.text.into(), limit: MAX_NESTING });
        }
        self.skip_blank();
        let start = self.at;
        let class = self.identifier();
        if class.is_empty() {
            return Err(self.error("expected a class name"));
        }
        let short = class.strip_prefix(PACKAGE).unwrap_or(class);
        if let Some((_, native)) = NATIVE_CLASSES.iter().find(|(known, _)| *known == short) {
            if self.take(b'(') {
                self.expect(b')', "a native type takes no parameters")?;
            }
            return Ok((native.clone(), false));
        }
        let ty = match short {
            "ReversedType" => return Ok((self.single_parameter(depth)?, true)),
            "FrozenType" => self.single_parameter(depth)?.frozen(),
            "ListType" => CqlType::list(self.single_parameter(depth)?),
            "SetType" => CqlType::set(self.single_parameter(depth)?),
            "MapType" => {
                let mut parameters = self.type_parameters(depth)?.into_iter();
                match (parameters.next(), parameters.next(), parameters.next()) {
                    (Some(key), Some(value), None) => CqlType::map(key, value),
                    _ => return Err(self.error("MapType takes exactly 2 type parameters")),
                }
            }
            "TupleType" => {
                let components = self.type_parameters(depth)?;
                if components.is_empty() {
                    return Err(self.error("a tuple needs a component"));
                }
                CqlType::tuple(components)
            }
            "UserType" => self.user_type(depth)?,
            "VectorType" => self.vector(depth)?,
            _ => self.custom(start, class)?,
        };
        Ok((ty, false))
    }

    fn type_parameters(&mut self, depth: usize) -> Result<Vec<CqlType>, TypeError> {
        let mut parameters = Vec::new();
        if !self.take(b'(') {
            return Ok(parameters);
        }
        while !self.take(b')') {
            if !parameters.is_empty() {
                self.expect(b',', "expected ',' or ')'")?;
            }
            parameters.push(self.type_at(depth + 1)?.0);
        }
        Ok(parameters)
    }

    fn single_parameter(&mut self, depth: usize) -> Result<CqlType, TypeError> {
        let mut parameters = self.type_parameters(depth)?.into_iter();
        match (parameters.next(), parameters.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(self.error("expected exactly 1 type parameter")),
        }
    }

    fn user_type(&mut self, depth: usize) -> Result<CqlType, TypeError> {
        self.expect(b'(', "UserType needs parameters")?;
        self.skip_blank();
        let keyspace = self.identifier();
        self.expect(b',', "expected ',' after the keyspace")?;
        let name = self.hex_name()?;
        let mut fields = Vec::new();
        while !self.take(b')') {
            self.expect(b',', "expected ',' or ')'")?;
            let field_name = self.hex_name()?;
            self.expect(b':', "expecting ':' token")?;
            let (ty, _) = self.type_at(depth + 1)?;
            fields.push(UserTypeField { name: field_name, ty });
        }
        Ok(CqlType::Udt(Arc::new(UserType { keyspace: keyspace.into(), name, fields }), false))
    }

    fn hex_name(&mut self) -> Result<Box<str>, TypeError> {
        self.skip_blank();
        let hex = self.identifier();
        let bytes = crate::hex::parse_hex(hex).ok_or_else(|| self.error("expected a name in hexadecimal"))?;
        let name = String::from_utf8(bytes).map_err(|_| self.error("a name is not UTF-8"))?;
        Ok(name.into_boxed_str())
    }

    fn vector(&mut self, depth: usize) -> Result<CqlType, TypeError> {
        self.expect(b'(', "VectorType needs parameters")?;
        let (element, _) = self.type_at(depth + 1)?;
        self.expect(b',', "expected ',' before the dimension")?;
        self.skip_blank();
        let dimension = self.identifier().parse::<i32>().ok().filter(|dimension| 0 < *dimension);
        let dimension = dimension.ok_or_else(|| self.error("vectors may only have positive dimensions"))?;
        self.expect(b')', "expected ')'")?;
        Ok(CqlType::vector(element, dimension.unsigned_abs()))
    }

    /// A class that we do not know: its parameters are stepped over and kept as text.
    fn custom(&mut self, start: usize, class: &str) -> Result<CqlType, TypeError> {
        let prefix = if class.contains('.') { "" } else { PACKAGE };
        if self.peek() == Some(b'(') {
            let mut open = 0usize;
            loop {
                match self.peek() {
                    Some(b'(') => open += 1,
                    Some(b')') => open -= 1,
                    Some(_) => {}
                    None => return Err(self.error("unexpected end of string")),
                }
                self.at += 1;
                if open == 0 {
                    break;
                }
            }
        }
        let whole = self.text.get(start..self.at).unwrap_or(class);
        Ok(CqlType::Custom(format!("{prefix}{whole}").into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for text in [
            "org.apache.cassandra.db.marshal.ListType(org.apache.cassandra.db.marshal.Int32Type)",
            "org.apache.cassandra.db.marshal.FrozenType(org.apache.cassandra.db.marshal.MapType(org.apache.cassandra.db.marshal.UTF8Type,org.apache.cassandra.db.marshal.ListType(org.apache.cassandra.db.marshal.Int32Type)))",
            "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 3)",
            "org.apache.cassandra.db.marshal.UserType(ks,61,62:org.apache.cassandra.db.marshal.UTF8Type)",
            "org.apache.cassandra.db.marshal.DynamicCompositeType(a=>org.apache.cassandra.db.marshal.BytesType)",
        ] {
            let ty = CqlType::parse_java(text).expect("written by Cassandra");
            assert_eq!(ty.java_name(), text);
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let text = format!("{}Int32Type{}", "ListType(".repeat(100), ")".repeat(100));
        assert!(matches!(CqlType::parse_java(&text), Err(TypeError::TooDeep { .. })));
    }

    #[test]
    fn broken_names_are_refused() {
        for text in [
            "",
            "ListType",
            "ListType(",
            "MapType(Int32Type)",
            "UserType(ks,zz)",
            "VectorType(FloatType , 0)",
            "Foo(",
            "é",
        ] {
            assert!(CqlType::parse_java(text).is_err(), "{text}");
        }
    }
}
