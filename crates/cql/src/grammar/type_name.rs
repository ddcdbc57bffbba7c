//! Types.

use super::name::{is_identifier, is_native_type, is_type_name};
use super::{Parsed, Parser, Reject};
use crate::ast::identifier::QualifiedName;
use crate::ast::type_name::{NativeType, TypeName};
use crate::token::TokenKind;

/// Names that Cassandra keeps for types it may get one day. Compared as written.
const RESERVED_TYPE_NAMES: [&str; 7] = ["byte", "complex", "enum", "date", "interval", "macaddr", "bitstring"];

impl Parser<'_> {
    pub(super) fn type_name(&mut self) -> Parsed<TypeName> {
        self.enter()?;
        let outcome = self.type_name_inside();
        self.leave();
        outcome
    }

    fn type_name_inside(&mut self) -> Parsed<TypeName> {
        let kind = self.kind();
        let next = self.kind_ahead(1);
        if next == TokenKind::Dot && is_identifier(kind) {
            return self.user_type_name().map(TypeName::UserType);
        }
        match kind {
            _ if is_native_type(kind) => self.native_type().map(TypeName::Native),
            TokenKind::StringLiteral => self.string_literal().map(TypeName::Custom),
            TokenKind::Map if next == TokenKind::Lt => {
                self.at += 2;
                let key = self.type_name()?;
                self.expect(TokenKind::Comma)?;
                let value = self.type_name()?;
                self.expect(TokenKind::Gt)?;
                Ok(TypeName::Map(Box::new(key), Box::new(value)))
            }
            TokenKind::List if next == TokenKind::Lt => Ok(TypeName::List(self.single_parameter()?)),
            TokenKind::Set => Ok(TypeName::Set(self.single_parameter()?)),
            TokenKind::Frozen if next == TokenKind::Lt => self.frozen(),
            TokenKind::Tuple if next == TokenKind::Lt => {
                self.at += 2;
                let elements = self.comma_separated(Self::type_name)?;
                self.expect(TokenKind::Gt)?;
                Ok(TypeName::Tuple(elements))
            }
            TokenKind::Vector if next == TokenKind::Lt => self.vector(),
            _ => self.user_type_name().map(TypeName::UserType),
        }
    }

    fn single_parameter(&mut self) -> Parsed<Box<TypeName>> {
        self.at += 1;
        self.expect(TokenKind::Lt)?;
        let parameter = self.type_name()?;
        self.expect(TokenKind::Gt)?;
        Ok(Box::new(parameter))
    }

    fn frozen(&mut self) -> Parsed<TypeName> {
        let inner = self.single_parameter()?;
        if matches!(*inner, TypeName::Native(_) | TypeName::Custom(_)) {
            self.refuse(|| {
                format!("frozen<> is only allowed on collections, tuples, and user-defined types (got {inner})")
            });
        }
        Ok(TypeName::Frozen(inner))
    }

    fn vector(&mut self) -> Parsed<TypeName> {
        self.at += 2;
        let element = self.type_name()?;
        self.expect(TokenKind::Comma)?;
        let digits = self.here();
        self.expect(TokenKind::Integer)?;
        self.expect(TokenKind::Gt)?;
        let dimension = digits.parse().map_err(|_| self.number_format(digits))?;
        Ok(TypeName::Vector(Box::new(element), dimension))
    }

    /// What Cassandra answers when a number in the grammar does not fit.
    pub(super) fn number_format(&self, digits: &str) -> Reject {
        Reject::Thrown(format!(
            "Failed parsing statement: [{}] reason: NumberFormatException For input string: \"{digits}\"",
            self.text
        ))
    }

    /// `[keyspace.]type`, where names of native types are not names.
    pub(super) fn user_type_name(&mut self) -> Parsed<QualifiedName> {
        let keyspace = if self.kind_ahead(1) == TokenKind::Dot {
            let keyspace = self.identifier()?;
            self.expect(TokenKind::Dot)?;
            Some(keyspace)
        } else {
            None
        };
        let (kind, text) = (self.kind(), self.here());
        let name = self.name_if(is_type_name)?;
        if kind == TokenKind::Ident && RESERVED_TYPE_NAMES.contains(&text) {
            self.refuse(|| format!("Invalid (reserved) user type name {text}"));
        }
        Ok(QualifiedName { keyspace, name })
    }

    pub(super) fn native_type(&mut self) -> Parsed<NativeType> {
        let native = match self.kind() {
            TokenKind::Ascii => NativeType::Ascii,
            TokenKind::Bigint => NativeType::Bigint,
            TokenKind::Blob => NativeType::Blob,
            TokenKind::Boolean => NativeType::Boolean,
            TokenKind::Counter => NativeType::Counter,
            TokenKind::Date => NativeType::Date,
            TokenKind::Decimal => NativeType::Decimal,
            TokenKind::Double => NativeType::Double,
            TokenKind::Duration => NativeType::Duration,
            TokenKind::Float => NativeType::Float,
            TokenKind::Inet => NativeType::Inet,
            TokenKind::Int => NativeType::Int,
            TokenKind::Smallint => NativeType::Smallint,
            TokenKind::Text => NativeType::Text,
            TokenKind::Time => NativeType::Time,
            TokenKind::Timestamp => NativeType::Timestamp,
            TokenKind::Timeuuid => NativeType::Timeuuid,
            TokenKind::Tinyint => NativeType::Tinyint,
            TokenKind::Uuid => NativeType::Uuid,
            TokenKind::Varchar => NativeType::Varchar,
            TokenKind::Varint => NativeType::Varint,
            _ => return self.reject(),
        };
        self.at += 1;
        Ok(native)
    }
}
