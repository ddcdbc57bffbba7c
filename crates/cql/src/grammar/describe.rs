//! DESCRIBE.

use super::name::{is_function_name, is_identifier, is_type_name};
use super::{Parsed, Parser};
use crate::ast::describe::{Describe, DescribeTarget};
use crate::ast::identifier::QualifiedName;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn describe(&mut self) -> Parsed<Describe> {
        if !self.accept(TokenKind::Describe) {
            self.expect(TokenKind::Desc)?;
        }
        let target = self.describe_target()?;
        let with_internals = self.accept(TokenKind::With);
        if with_internals {
            self.expect(TokenKind::Internals)?;
        }
        Ok(Describe { target, with_internals })
    }

    fn describe_target(&mut self) -> Parsed<DescribeTarget> {
        use TokenKind as T;
        let next = self.kind_ahead(1);
        match self.kind() {
            T::Cluster => self.describe_word(DescribeTarget::Cluster),
            T::Schema => self.describe_word(DescribeTarget::Schema { full: false }),
            T::Full => {
                self.expect_all(&[T::Full, T::Schema])?;
                Ok(DescribeTarget::Schema { full: true })
            }
            T::Keyspaces => self.describe_word(DescribeTarget::Keyspaces),
            T::Keyspace => self.describe_keyspace(1),
            T::Only if next == T::Keyspace => self.describe_keyspace(2),
            T::Tables => self.describe_word(DescribeTarget::Tables),
            T::Columnfamily => {
                self.at += 1;
                self.table_name().map(DescribeTarget::Table)
            }
            T::Index => {
                self.at += 1;
                self.table_name().map(DescribeTarget::Index)
            }
            T::Materialized => {
                self.expect_all(&[T::Materialized, T::View])?;
                self.table_name().map(DescribeTarget::View)
            }
            T::Types => self.describe_word(DescribeTarget::Types),
            T::Type if is_identifier(next) || is_type_name(next) => {
                self.at += 1;
                self.user_type_name().map(DescribeTarget::Type)
            }
            T::Functions => self.describe_word(DescribeTarget::Functions),
            T::Function if is_identifier(next) || is_function_name(next) || next == T::QuestionMark => {
                self.at += 1;
                self.function_name().map(DescribeTarget::Function)
            }
            T::Aggregates => self.describe_word(DescribeTarget::Aggregates),
            T::Aggregate if is_identifier(next) || is_function_name(next) || next == T::QuestionMark => {
                self.at += 1;
                self.function_name().map(DescribeTarget::Aggregate)
            }
            _ => {
                let first = self.identifier()?;
                if !self.accept(T::Dot) {
                    return Ok(DescribeTarget::Any(QualifiedName { keyspace: None, name: first }));
                }
                let name = self.identifier()?;
                Ok(DescribeTarget::Any(QualifiedName { keyspace: Some(first), name }))
            }
        }
    }

    fn describe_word(&mut self, target: DescribeTarget) -> Parsed<DescribeTarget> {
        self.at += 1;
        Ok(target)
    }

    /// `[ONLY] KEYSPACE [name]`; `words` is how many of the two keywords stand here.
    fn describe_keyspace(&mut self, words: usize) -> Parsed<DescribeTarget> {
        self.at += words;
        let named = is_identifier(self.kind()) || self.is(TokenKind::QuestionMark);
        let name = if named { Some(self.keyspace_name()?) } else { None };
        Ok(DescribeTarget::Keyspace { name, only: words == 2 })
    }
}
