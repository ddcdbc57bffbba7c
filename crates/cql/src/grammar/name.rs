//! Names: what may stand as an identifier, and qualified names.

use super::{Parsed, Parser, unquote};
use crate::ast::identifier::{Identifier, QualifiedName};
use crate::ast::term::Marker;
use crate::token::TokenKind;

/// Keywords that may be names of anything, also of types and functions.
fn is_basic_unreserved(kind: TokenKind) -> bool {
    use TokenKind as T;
    matches!(
        kind,
        T::Keys
            | T::As
            | T::Cluster
            | T::Clustering
            | T::Compact
            | T::Storage
            | T::Tables
            | T::Type
            | T::Types
            | T::Values
            | T::Map
            | T::List
            | T::Filtering
            | T::Permission
            | T::Permissions
            | T::Keyspaces
            | T::All
            | T::User
            | T::Users
            | T::Role
            | T::Roles
            | T::Identity
            | T::Superuser
            | T::Nosuperuser
            | T::Login
            | T::Nologin
            | T::Options
            | T::Password
            | T::Hashed
            | T::Exists
            | T::Custom
            | T::Trigger
            | T::Contains
            | T::Internals
            | T::Only
            | T::Static
            | T::Frozen
            | T::Tuple
            | T::Function
            | T::Functions
            | T::Aggregate
            | T::Aggregates
            | T::Sfunc
            | T::Stype
            | T::Finalfunc
            | T::Initcond
            | T::Returns
            | T::Language
            | T::Called
            | T::Input
            | T::Like
            | T::Per
            | T::Partition
            | T::Group
            | T::Datacenters
            | T::Cidrs
            | T::Access
            | T::Default
            | T::Mbean
            | T::Mbeans
            | T::Replace
            | T::Unset
            | T::Masked
            | T::Unmask
            | T::SelectMasked
            | T::Vector
            | T::Ann
    )
}

/// Keywords that name a scalar type.
pub(super) fn is_native_type(kind: TokenKind) -> bool {
    use TokenKind as T;
    matches!(
        kind,
        T::Ascii
            | T::Bigint
            | T::Blob
            | T::Boolean
            | T::Counter
            | T::Decimal
            | T::Double
            | T::Duration
            | T::Float
            | T::Inet
            | T::Int
            | T::Smallint
            | T::Text
            | T::Timestamp
            | T::Tinyint
            | T::Uuid
            | T::Varchar
            | T::Varint
            | T::Timeuuid
            | T::Date
            | T::Time
    )
}

/// Keywords that may name columns, tables, keyspaces, markers, roles, fields.
pub(super) fn is_unreserved(kind: TokenKind) -> bool {
    use TokenKind as T;
    is_basic_unreserved(kind)
        || is_native_type(kind)
        || matches!(kind, T::Ttl | T::Count | T::Writetime | T::Maxwritetime | T::Key | T::Cast | T::Json | T::Distinct)
}

/// A plain identifier, in quotes or not, or a keyword that may stand for one.
pub(super) fn is_identifier(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Ident | TokenKind::QuotedName) || is_unreserved(kind)
}

/// Names of columns where the empty name of old tables is allowed.
pub(super) fn is_column(kind: TokenKind) -> bool {
    kind == TokenKind::EmptyQuotedName || is_identifier(kind)
}

/// Names of functions, after the keyspace.
pub(super) fn is_function_name(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Ident | TokenKind::QuotedName | TokenKind::Token | TokenKind::Count)
        || is_basic_unreserved(kind)
        || is_native_type(kind)
}

/// Names of user types, after the keyspace.
pub(super) fn is_type_name(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Ident | TokenKind::QuotedName | TokenKind::Key) || is_basic_unreserved(kind)
}

impl Parser<'_> {
    /// Takes the next token as a name if `allowed` says that it is one.
    pub(super) fn name_if(&mut self, allowed: impl Fn(TokenKind) -> bool) -> Parsed<Identifier> {
        let kind = self.kind();
        if !allowed(kind) {
            return self.reject();
        }
        let text = self.here();
        self.at += 1;
        Ok(match kind {
            TokenKind::QuotedName => Identifier::quoted(unquote(text, '"')),
            TokenKind::EmptyQuotedName => Identifier::quoted(""),
            _ => Identifier::unquoted(text),
        })
    }

    pub(super) fn identifier(&mut self) -> Parsed<Identifier> {
        self.name_if(is_identifier)
    }

    pub(super) fn column(&mut self) -> Parsed<Identifier> {
        self.name_if(is_column)
    }

    /// A name in whose place Cassandra recognises a bind marker, only to refuse it.
    pub(super) fn name_not_bound(&mut self, what: &str) -> Parsed<Identifier> {
        if self.accept(TokenKind::QuestionMark) {
            self.refuse(|| format!("Bind variables cannot be used for {what} names"));
            return Ok(Identifier::quoted("?"));
        }
        self.identifier()
    }

    pub(super) fn keyspace_name(&mut self) -> Parsed<Identifier> {
        self.name_not_bound("keyspace")
    }

    pub(super) fn table_name(&mut self) -> Parsed<QualifiedName> {
        self.qualified_name("table")
    }

    pub(super) fn index_name(&mut self) -> Parsed<QualifiedName> {
        self.qualified_name("index")
    }

    fn qualified_name(&mut self, what: &str) -> Parsed<QualifiedName> {
        let keyspace = if self.kind_ahead(1) == TokenKind::Dot {
            let keyspace = self.keyspace_name()?;
            self.expect(TokenKind::Dot)?;
            Some(keyspace)
        } else {
            None
        };
        Ok(QualifiedName { keyspace, name: self.name_not_bound(what)? })
    }

    pub(super) fn function_name(&mut self) -> Parsed<QualifiedName> {
        let keyspace = if self.is(TokenKind::QuestionMark) || self.kind_ahead(1) == TokenKind::Dot {
            let keyspace = self.keyspace_name()?;
            self.expect(TokenKind::Dot)?;
            Some(keyspace)
        } else {
            None
        };
        Ok(QualifiedName { keyspace, name: self.local_function_name()? })
    }

    pub(super) fn local_function_name(&mut self) -> Parsed<Identifier> {
        self.name_if(is_function_name)
    }

    /// Whether a function call starts `ahead` tokens from here: `name(` or `keyspace.name(`.
    pub(super) fn starts_function(&self, ahead: usize) -> bool {
        let here = self.kind_ahead(ahead);
        match self.kind_ahead(ahead + 1) {
            TokenKind::LeftParen => is_function_name(here),
            TokenKind::Dot => {
                (is_identifier(here) || here == TokenKind::QuestionMark)
                    && is_function_name(self.kind_ahead(ahead + 2))
                    && self.kind_ahead(ahead + 3) == TokenKind::LeftParen
            }
            _ => false,
        }
    }

    /// `?` or `:name`.
    pub(super) fn marker(&mut self) -> Parsed<Marker> {
        if self.accept(TokenKind::QuestionMark) {
            return Ok(self.new_marker(None));
        }
        self.expect(TokenKind::Colon)?;
        let name = self.identifier()?;
        Ok(self.new_marker(Some(name)))
    }

    pub(super) fn starts_marker(&self) -> bool {
        matches!(self.kind(), TokenKind::QuestionMark | TokenKind::Colon)
    }
}

/// Whether the unquoted word, in lower case, reads back as the name of a function.
pub(crate) fn is_function_word(word: &str) -> bool {
    reads_back(word, is_function_name)
}

/// Whether the unquoted word, in lower case, reads back as the name of a user type and not as a native type.
pub(crate) fn is_user_type_word(word: &str) -> bool {
    // Followed by "<" these would start a type of their own; nothing follows a name, so they are safe.
    reads_back(word, is_type_name)
}

fn reads_back(word: &str, allowed: fn(TokenKind) -> bool) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && allowed(crate::token::kind_of_word(word.as_bytes()))
}
