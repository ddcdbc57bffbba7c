//! Roles, users, identities, GRANT, REVOKE and LIST.

use super::{Parsed, Parser, Reject};
use crate::ast::access::{
    AlterRole, AlterUser, CreateRole, CreateUser, DatacenterAccess, DropRole, GrantPermissions, GrantRole, Grantee,
    IdentityStatement, ListPermissions, ListRoles, Permission, PermissionSet, Resource, RevokePermissions, RevokeRole,
    RoleOption, RoleOptions,
};
use crate::ast::identifier::Identifier;
use crate::ast::statement::Statement;
use crate::token::TokenKind;

impl Parser<'_> {
    /// A role: a name, or a string that keeps its case.
    fn role_name(&mut self) -> Parsed<Grantee> {
        if self.is(TokenKind::StringLiteral) {
            return self.string_literal().map(Identifier::quoted);
        }
        self.name_not_bound("role")
    }

    /// An old-style user name: no quoted names and no keywords.
    fn user_name(&mut self) -> Parsed<Grantee> {
        match self.kind() {
            TokenKind::StringLiteral => self.string_literal().map(Identifier::quoted),
            TokenKind::QuotedName => {
                self.refuse(|| {
                    "Quoted strings are are not supported for user names and USER is deprecated, please use ROLE".into()
                });
                self.identifier()
            }
            // Cassandra keeps the case of a user name, quoted or not.
            _ => {
                let name = Identifier::quoted(self.here());
                self.expect(TokenKind::Ident)?;
                Ok(name)
            }
        }
    }

    fn identity(&mut self) -> Parsed<Box<str>> {
        match self.kind() {
            TokenKind::StringLiteral => self.string_literal(),
            TokenKind::QuotedName => {
                self.refuse(|| "Quoted strings are are not supported for identity".into());
                self.identifier().map(|name| name.as_str().into())
            }
            _ => {
                let name = self.here().into();
                self.expect(TokenKind::Ident)?;
                Ok(name)
            }
        }
    }

    /// GRANT and REVOKE of permissions or of a role.
    pub(super) fn grant_or_revoke(&mut self) -> Parsed<Statement> {
        let grants = self.accept(TokenKind::Grant);
        if !grants {
            self.expect(TokenKind::Revoke)?;
        }
        let preposition = if grants { TokenKind::To } else { TokenKind::From };
        if self.kind_ahead(1) == preposition || !self.starts_permission_set() {
            let role = self.role_name()?;
            self.expect(preposition)?;
            let grantee = self.role_name()?;
            return Ok(if grants {
                Statement::GrantRole(GrantRole { role, grantee })
            } else {
                Statement::RevokeRole(RevokeRole { role, revokee: grantee })
            });
        }
        let permissions = self.permission_set()?;
        self.expect(TokenKind::On)?;
        let resource = self.resource()?;
        self.expect(preposition)?;
        let grantee = self.role_name()?;
        self.refuse_inapplicable(&permissions, &resource);
        Ok(if grants {
            Statement::GrantPermissions(GrantPermissions { permissions, resource, grantee })
        } else {
            Statement::RevokePermissions(RevokePermissions { permissions, resource, revokee: grantee })
        })
    }

    fn starts_permission_set(&self) -> bool {
        self.is(TokenKind::All) || permission_of(self.kind()).is_some()
    }

    fn refuse_inapplicable(&mut self, permissions: &PermissionSet, resource: &Resource) {
        let PermissionSet::Listed(listed) = permissions else { return };
        if !listed.iter().any(|permission| applies(*permission, resource)) {
            self.refuse(|| {
                let class = resource_class(resource);
                format!("Resource type {class} does not support any of the requested permissions")
            });
        }
    }

    fn permission_set(&mut self) -> Parsed<PermissionSet> {
        if self.accept(TokenKind::All) {
            self.accept(TokenKind::Permissions);
            return Ok(PermissionSet::All);
        }
        self.comma_separated(|parser| {
            let permission = parser.permission()?;
            parser.accept(TokenKind::Permission);
            Ok(permission)
        })
        .map(PermissionSet::Listed)
    }

    fn permission(&mut self) -> Parsed<Permission> {
        let Some(permission) = permission_of(self.kind()) else { return self.reject() };
        self.at += 1;
        Ok(permission)
    }

    fn resource(&mut self) -> Parsed<Resource> {
        use TokenKind as T;
        match (self.kind(), self.kind_ahead(1)) {
            (T::All, T::Keyspaces) => self.resource_words(2, Resource::AllKeyspaces),
            (T::All, T::Roles) => self.resource_words(2, Resource::AllRoles),
            (T::All, T::Mbeans) => self.resource_words(2, Resource::AllMbeans),
            (T::All, T::Tables) => {
                self.at += 2;
                self.expect_all(&[T::In, T::Keyspace])?;
                Ok(Resource::AllTables { keyspace: self.keyspace_name()? })
            }
            (T::All, T::Functions) => {
                self.at += 2;
                let keyspace = if self.accept_all(&[T::In, T::Keyspace]) { Some(self.keyspace_name()?) } else { None };
                Ok(Resource::AllFunctions { keyspace })
            }
            (T::Keyspace, _) => {
                self.at += 1;
                self.keyspace_name().map(Resource::Keyspace)
            }
            (T::Columnfamily, _) => {
                self.at += 1;
                self.table_name().map(Resource::Table)
            }
            (T::Mbean, T::StringLiteral) => {
                self.at += 1;
                self.string_literal().map(Resource::Mbean)
            }
            (T::Mbeans, T::StringLiteral) => {
                self.at += 1;
                self.string_literal().map(Resource::Mbeans)
            }
            (T::Role, next) if !matches!(next, T::To | T::From | T::Dot | T::EndOfInput | T::Of | T::Norecursive) => {
                self.at += 1;
                self.role_name().map(Resource::Role)
            }
            (T::Function, next)
                if !matches!(next, T::To | T::From | T::Dot | T::EndOfInput | T::Of | T::Norecursive) =>
            {
                self.function_resource()
            }
            _ => self.table_name().map(Resource::Table),
        }
    }

    fn resource_words(&mut self, words: usize, resource: Resource) -> Parsed<Resource> {
        self.at += words;
        Ok(resource)
    }

    fn function_resource(&mut self) -> Parsed<Resource> {
        self.at += 1;
        let name = self.function_name()?;
        self.expect(TokenKind::LeftParen)?;
        let argument_types = self.list_until(TokenKind::RightParen, Self::type_name)?;
        Ok(Resource::Function { name, argument_types })
    }

    /// LIST of permissions, roles or users.
    pub(super) fn list(&mut self) -> Parsed<Statement> {
        self.expect(TokenKind::List)?;
        if self.accept(TokenKind::Users) {
            return Ok(Statement::ListUsers);
        }
        if self.accept(TokenKind::Roles) {
            let grantee = self.of_role()?;
            let recursive = !self.accept(TokenKind::Norecursive);
            return Ok(Statement::ListRoles(ListRoles { grantee, recursive }));
        }
        let permissions = self.permission_set()?;
        let resource = if self.accept(TokenKind::On) { Some(self.resource()?) } else { None };
        let grantee = self.of_role()?;
        let recursive = !self.accept(TokenKind::Norecursive);
        Ok(Statement::ListPermissions(ListPermissions { permissions, resource, grantee, recursive }))
    }

    fn of_role(&mut self) -> Parsed<Option<Grantee>> {
        if self.accept(TokenKind::Of) { self.role_name().map(Some) } else { Ok(None) }
    }

    pub(super) fn create_role(&mut self) -> Parsed<CreateRole> {
        self.expect_all(&[TokenKind::Create, TokenKind::Role])?;
        let if_not_exists = self.if_not_exists()?;
        Ok(CreateRole { name: self.role_name()?, if_not_exists, options: self.with_role_options()? })
    }

    pub(super) fn alter_role(&mut self) -> Parsed<AlterRole> {
        self.expect_all(&[TokenKind::Alter, TokenKind::Role])?;
        let if_exists = self.if_exists()?;
        Ok(AlterRole { name: self.role_name()?, if_exists, options: self.with_role_options()? })
    }

    pub(super) fn drop_role(&mut self) -> Parsed<DropRole> {
        self.expect_all(&[TokenKind::Drop, TokenKind::Role])?;
        let if_exists = self.if_exists()?;
        Ok(DropRole { name: self.role_name()?, if_exists })
    }

    fn with_role_options(&mut self) -> Parsed<RoleOptions> {
        let mut options = Vec::new();
        if self.accept(TokenKind::With) {
            loop {
                let option = self.role_option()?;
                add_role_option(&mut options, option)?;
                if !self.accept(TokenKind::And) {
                    break;
                }
            }
        }
        refuse_two_passwords(&options)?;
        Ok(options)
    }

    fn role_option(&mut self) -> Parsed<RoleOption> {
        let kind = self.kind();
        self.at += 1;
        match kind {
            TokenKind::Password => {
                self.expect(TokenKind::Eq)?;
                self.string_literal().map(RoleOption::Password)
            }
            TokenKind::Hashed => {
                self.expect_all(&[TokenKind::Password, TokenKind::Eq])?;
                self.string_literal().map(RoleOption::HashedPassword)
            }
            TokenKind::Options => {
                self.expect(TokenKind::Eq)?;
                self.literal_map().map(RoleOption::Options)
            }
            TokenKind::Superuser => self.assigned_boolean().map(RoleOption::Superuser),
            TokenKind::Login => self.assigned_boolean().map(RoleOption::Login),
            TokenKind::Access if self.accept(TokenKind::To) => {
                self.access_list(TokenKind::Datacenters).map(RoleOption::Datacenters)
            }
            TokenKind::Access => {
                self.expect(TokenKind::From)?;
                self.access_list(TokenKind::Cidrs).map(RoleOption::Cidrs)
            }
            _ => {
                self.at -= 1;
                self.reject()
            }
        }
    }

    fn assigned_boolean(&mut self) -> Parsed<bool> {
        self.expect(TokenKind::Eq)?;
        let value = self.here().eq_ignore_ascii_case("true");
        self.expect(TokenKind::BooleanLiteral)?;
        Ok(value)
    }

    fn access_list(&mut self, keyword: TokenKind) -> Parsed<DatacenterAccess> {
        if self.accept(TokenKind::All) {
            self.expect(keyword)?;
            return Ok(DatacenterAccess::All);
        }
        self.expect_all(&[keyword, TokenKind::LeftBrace])?;
        let names = self.comma_separated(Self::string_literal)?;
        self.expect(TokenKind::RightBrace)?;
        Ok(DatacenterAccess::Listed(names))
    }

    pub(super) fn create_user(&mut self) -> Parsed<CreateUser> {
        self.expect_all(&[TokenKind::Create, TokenKind::User])?;
        let if_not_exists = self.if_not_exists()?;
        Ok(CreateUser { name: self.user_name()?, if_not_exists, options: self.user_options()? })
    }

    pub(super) fn alter_user(&mut self) -> Parsed<AlterUser> {
        self.expect_all(&[TokenKind::Alter, TokenKind::User])?;
        let if_exists = self.if_exists()?;
        Ok(AlterUser { name: self.user_name()?, if_exists, options: self.user_options()? })
    }

    pub(super) fn drop_user(&mut self) -> Parsed<DropRole> {
        self.expect_all(&[TokenKind::Drop, TokenKind::User])?;
        let if_exists = self.if_exists()?;
        Ok(DropRole { name: self.user_name()?, if_exists })
    }

    /// `[WITH [HASHED] PASSWORD '…'] [SUPERUSER | NOSUPERUSER]`.
    fn user_options(&mut self) -> Parsed<RoleOptions> {
        let mut options = Vec::new();
        if self.accept(TokenKind::With) {
            let hashed = self.accept(TokenKind::Hashed);
            self.expect(TokenKind::Password)?;
            let password = self.string_literal()?;
            options.push(if hashed { RoleOption::HashedPassword(password) } else { RoleOption::Password(password) });
        }
        if self.accept(TokenKind::Superuser) {
            options.push(RoleOption::Superuser(true));
        } else if self.accept(TokenKind::Nosuperuser) {
            options.push(RoleOption::Superuser(false));
        }
        Ok(options)
    }

    pub(super) fn add_identity(&mut self) -> Parsed<IdentityStatement> {
        self.expect_all(&[TokenKind::Add, TokenKind::Identity])?;
        let if_not_exists = self.if_not_exists()?;
        let identity = self.identity()?;
        self.expect_all(&[TokenKind::To, TokenKind::Role])?;
        Ok(IdentityStatement::Add { identity, role: self.identity()?, if_not_exists })
    }

    pub(super) fn drop_identity(&mut self) -> Parsed<IdentityStatement> {
        self.expect_all(&[TokenKind::Drop, TokenKind::Identity])?;
        let if_exists = self.if_exists()?;
        Ok(IdentityStatement::Drop { identity: self.identity()?, if_exists })
    }
}

fn permission_of(kind: TokenKind) -> Option<Permission> {
    match kind {
        TokenKind::Create => Some(Permission::Create),
        TokenKind::Alter => Some(Permission::Alter),
        TokenKind::Drop => Some(Permission::Drop),
        TokenKind::Select => Some(Permission::Select),
        TokenKind::Modify => Some(Permission::Modify),
        TokenKind::Authorize => Some(Permission::Authorize),
        TokenKind::Describe => Some(Permission::Describe),
        TokenKind::Execute => Some(Permission::Execute),
        TokenKind::Unmask => Some(Permission::Unmask),
        TokenKind::SelectMasked => Some(Permission::SelectMasked),
        _ => None,
    }
}

/// Permissions that mean something on a resource. Source: `applicablePermissions` of Cassandra's resource classes.
fn applies(permission: Permission, resource: &Resource) -> bool {
    use Permission as P;
    match resource {
        Resource::AllKeyspaces | Resource::Keyspace(_) | Resource::AllTables { .. } => {
            !matches!(permission, P::Describe | P::Execute)
        }
        Resource::Table(_) => !matches!(permission, P::Create | P::Describe | P::Execute),
        Resource::AllRoles => {
            matches!(permission, P::Create | P::Alter | P::Drop | P::Authorize | P::Describe)
        }
        Resource::Role(_) => matches!(permission, P::Alter | P::Drop | P::Authorize | P::Describe),
        Resource::AllFunctions { .. } => {
            matches!(permission, P::Create | P::Alter | P::Drop | P::Authorize | P::Execute)
        }
        Resource::Function { .. } => matches!(permission, P::Alter | P::Drop | P::Authorize | P::Execute),
        Resource::AllMbeans | Resource::Mbean(_) | Resource::Mbeans(_) => {
            matches!(permission, P::Authorize | P::Describe | P::Execute | P::Modify | P::Select)
        }
    }
}

/// Cassandra's class of the resource: its message names it.
fn resource_class(resource: &Resource) -> &'static str {
    match resource {
        Resource::AllKeyspaces | Resource::Keyspace(_) | Resource::AllTables { .. } | Resource::Table(_) => {
            "DataResource"
        }
        Resource::AllRoles | Resource::Role(_) => "RoleResource",
        Resource::AllFunctions { .. } | Resource::Function { .. } => "FunctionResource",
        Resource::AllMbeans | Resource::Mbean(_) | Resource::Mbeans(_) => "JMXResource",
    }
}

fn option_name(option: &RoleOption) -> Option<&'static str> {
    match option {
        RoleOption::Password(_) => Some("PASSWORD"),
        RoleOption::HashedPassword(_) => Some("HASHED_PASSWORD"),
        RoleOption::Options(_) => Some("OPTIONS"),
        RoleOption::Superuser(_) => Some("SUPERUSER"),
        RoleOption::Login(_) => Some("LOGIN"),
        RoleOption::Datacenters(_) | RoleOption::Cidrs(_) => None,
    }
}

/// Options may stand once; access lists may be repeated.
fn add_role_option(options: &mut RoleOptions, option: RoleOption) -> Parsed<()> {
    if let Some(name) = option_name(&option)
        && options.iter().any(|earlier| option_name(earlier) == Some(name))
    {
        return Err(Reject::Thrown(format!("Multiple definition for property '{name}'")));
    }
    options.push(option);
    Ok(())
}

fn refuse_two_passwords(options: &RoleOptions) -> Parsed<()> {
    let has = |name| options.iter().any(|option| option_name(option) == Some(name));
    if has("PASSWORD") && has("HASHED_PASSWORD") {
        let message = "Options 'password' and 'hashed password' are mutually exclusive";
        return Err(Reject::Thrown(message.to_owned()));
    }
    Ok(())
}
