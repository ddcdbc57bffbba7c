//! Canonical CQL of roles, permissions and identities.

use std::fmt::{self, Write};

use super::definition::write_literal_map;
use super::term::write_function_name;
use super::{CqlText, ToCql, write_if, write_list, write_separated, write_string};
use crate::ast::access::{
    AlterRole, AlterUser, CreateRole, CreateUser, DatacenterAccess, DropRole, GrantPermissions, GrantRole, Grantee,
    IdentityStatement, ListPermissions, ListRoles, PermissionSet, Resource, RevokePermissions, RevokeRole, RoleOption,
    RoleOptions,
};

const IF_NOT_EXISTS: &str = "IF NOT EXISTS ";
const IF_EXISTS: &str = "IF EXISTS ";

/// A role by name; the empty name can only be written as a string.
fn write_role(out: &mut CqlText<'_>, role: &Grantee) -> fmt::Result {
    if role.as_str().is_empty() { out.write_str("''") } else { role.write_cql(out) }
}

fn write_words_and_role(out: &mut CqlText<'_>, words: &str, role: &Grantee) -> fmt::Result {
    write!(out, "{words} ")?;
    write_role(out, role)
}

impl ToCql for PermissionSet {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::All => out.write_str("ALL PERMISSIONS"),
            Self::Listed(all) => write_separated(out, all, ", ", |out, one| out.write_str(one.name())),
        }
    }
}

impl ToCql for Resource {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::AllKeyspaces => out.write_str("ALL KEYSPACES"),
            Self::Keyspace(keyspace) => write_words(out, "KEYSPACE", keyspace),
            Self::AllTables { keyspace } => write_words(out, "ALL TABLES IN KEYSPACE", keyspace),
            Self::Table(table) => write_words(out, "TABLE", table),
            Self::AllRoles => out.write_str("ALL ROLES"),
            Self::Role(role) => write_words_and_role(out, "ROLE", role),
            Self::AllFunctions { keyspace: None } => out.write_str("ALL FUNCTIONS"),
            Self::AllFunctions { keyspace: Some(keyspace) } => write_words(out, "ALL FUNCTIONS IN KEYSPACE", keyspace),
            Self::Function { name, argument_types } => {
                out.write_str("FUNCTION ")?;
                write_function_name(out, name)?;
                out.write_str("(")?;
                write_list(out, argument_types)?;
                out.write_str(")")
            }
            Self::AllMbeans => out.write_str("ALL MBEANS"),
            Self::Mbean(name) => {
                out.write_str("MBEAN ")?;
                write_string(out, name)
            }
            Self::Mbeans(pattern) => {
                out.write_str("MBEANS ")?;
                write_string(out, pattern)
            }
        }
    }
}

fn write_words(out: &mut CqlText<'_>, words: &str, name: &impl ToCql) -> fmt::Result {
    write!(out, "{words} ")?;
    name.write_cql(out)
}

impl ToCql for GrantPermissions {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_words(out, "GRANT", &self.permissions)?;
        write_words(out, " ON", &self.resource)?;
        write_words_and_role(out, " TO", &self.grantee)
    }
}

impl ToCql for RevokePermissions {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_words(out, "REVOKE", &self.permissions)?;
        write_words(out, " ON", &self.resource)?;
        write_words_and_role(out, " FROM", &self.revokee)
    }
}

impl ToCql for GrantRole {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_words_and_role(out, "GRANT", &self.role)?;
        write_words_and_role(out, " TO", &self.grantee)
    }
}

impl ToCql for RevokeRole {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_words_and_role(out, "REVOKE", &self.role)?;
        write_words_and_role(out, " FROM", &self.revokee)
    }
}

fn write_of_role(out: &mut CqlText<'_>, grantee: Option<&Grantee>, recursive: bool) -> fmt::Result {
    if let Some(grantee) = grantee {
        write_words_and_role(out, " OF", grantee)?;
    }
    write_if(out, !recursive, " NORECURSIVE")
}

impl ToCql for ListPermissions {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        write_words(out, "LIST", &self.permissions)?;
        if let Some(resource) = &self.resource {
            write_words(out, " ON", resource)?;
        }
        write_of_role(out, self.grantee.as_ref(), self.recursive)
    }
}

impl ToCql for ListRoles {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("LIST ROLES")?;
        write_of_role(out, self.grantee.as_ref(), self.recursive)
    }
}

fn write_access(out: &mut CqlText<'_>, preposition: &str, what: &str, access: &DatacenterAccess) -> fmt::Result {
    match access {
        DatacenterAccess::All => write!(out, "ACCESS {preposition} ALL {what}"),
        DatacenterAccess::Listed(names) => {
            write!(out, "ACCESS {preposition} {what} {{")?;
            write_separated(out, names, ", ", |out, name| write_string(out, name))?;
            out.write_str("}")
        }
    }
}

impl ToCql for RoleOption {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Password(password) => {
                out.write_str("PASSWORD = ")?;
                write_string(out, password)
            }
            Self::HashedPassword(hash) => {
                out.write_str("HASHED PASSWORD = ")?;
                write_string(out, hash)
            }
            Self::Options(options) => {
                out.write_str("OPTIONS = ")?;
                write_literal_map(out, options)
            }
            Self::Superuser(superuser) => write!(out, "SUPERUSER = {superuser}"),
            Self::Login(login) => write!(out, "LOGIN = {login}"),
            Self::Datacenters(access) => write_access(out, "TO", "DATACENTERS", access),
            Self::Cidrs(access) => write_access(out, "FROM", "CIDRS", access),
        }
    }
}

fn write_role_options(out: &mut CqlText<'_>, options: &RoleOptions) -> fmt::Result {
    write_if(out, !options.is_empty(), " WITH ")?;
    write_separated(out, options, " AND ", |out, option| option.write_cql(out))
}

impl ToCql for CreateRole {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("CREATE ROLE ")?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        write_role(out, &self.name)?;
        write_role_options(out, &self.options)
    }
}

impl ToCql for AlterRole {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("ALTER ROLE ")?;
        write_if(out, self.if_exists, IF_EXISTS)?;
        write_role(out, &self.name)?;
        write_role_options(out, &self.options)
    }
}

/// `DROP ROLE name`; users are dropped by string, which keeps their case.
impl ToCql for DropRole {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("DROP ROLE ")?;
        write_if(out, self.if_exists, IF_EXISTS)?;
        write_role(out, &self.name)
    }
}

pub(super) fn write_drop_user(out: &mut CqlText<'_>, user: &DropRole) -> fmt::Result {
    out.write_str("DROP USER ")?;
    write_if(out, user.if_exists, IF_EXISTS)?;
    write_string(out, user.name.as_str())
}

/// Of a user only a password and the superuser flag can be written, without `=` and AND.
fn write_user_options(out: &mut CqlText<'_>, options: &RoleOptions) -> fmt::Result {
    for option in options {
        match option {
            RoleOption::Password(password) => {
                out.write_str(" WITH PASSWORD ")?;
                write_string(out, password)?;
            }
            RoleOption::HashedPassword(hash) => {
                out.write_str(" WITH HASHED PASSWORD ")?;
                write_string(out, hash)?;
            }
            RoleOption::Superuser(true) => out.write_str(" SUPERUSER")?,
            RoleOption::Superuser(false) => out.write_str(" NOSUPERUSER")?,
            RoleOption::Options(_) | RoleOption::Login(_) | RoleOption::Datacenters(_) | RoleOption::Cidrs(_) => {}
        }
    }
    Ok(())
}

impl ToCql for CreateUser {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("CREATE USER ")?;
        write_if(out, self.if_not_exists, IF_NOT_EXISTS)?;
        write_string(out, self.name.as_str())?;
        write_user_options(out, &self.options)
    }
}

impl ToCql for AlterUser {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("ALTER USER ")?;
        write_if(out, self.if_exists, IF_EXISTS)?;
        write_string(out, self.name.as_str())?;
        write_user_options(out, &self.options)
    }
}

impl ToCql for IdentityStatement {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Add { identity, role, if_not_exists } => {
                out.write_str("ADD IDENTITY ")?;
                write_if(out, *if_not_exists, IF_NOT_EXISTS)?;
                write_string(out, identity)?;
                out.write_str(" TO ROLE ")?;
                write_string(out, role)
            }
            Self::Drop { identity, if_exists } => {
                out.write_str("DROP IDENTITY ")?;
                write_if(out, *if_exists, IF_EXISTS)?;
                write_string(out, identity)
            }
        }
    }
}
