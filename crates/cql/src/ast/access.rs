//! Roles, users, identities and permissions.

use super::identifier::{Identifier, QualifiedName};
use super::term::Literal;
use super::type_name::TypeName;

/// A role's name: `Identifier::quoted` when it was written as a string or in double quotes.
pub type Grantee = Identifier;

/// What a role may be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Permission {
    Create,
    Alter,
    Drop,
    Select,
    Modify,
    Authorize,
    Describe,
    Execute,
    Unmask,
    SelectMasked,
}

impl Permission {
    /// Cassandra's name, as LIST PERMISSIONS prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Alter => "ALTER",
            Self::Drop => "DROP",
            Self::Select => "SELECT",
            Self::Modify => "MODIFY",
            Self::Authorize => "AUTHORIZE",
            Self::Describe => "DESCRIBE",
            Self::Execute => "EXECUTE",
            Self::Unmask => "UNMASK",
            Self::SelectMasked => "SELECT_MASKED",
        }
    }
}

/// `ALL [PERMISSIONS]` or a list of permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionSet {
    All,
    /// At least one, in the order written.
    Listed(Vec<Permission>),
}

/// What permissions are granted on.
#[derive(Clone, Debug, PartialEq)]
pub enum Resource {
    AllKeyspaces,
    Keyspace(Identifier),
    AllTables {
        keyspace: Identifier,
    },
    Table(QualifiedName),
    AllRoles,
    Role(Grantee),
    AllFunctions {
        keyspace: Option<Identifier>,
    },
    Function {
        name: QualifiedName,
        argument_types: Vec<TypeName>,
    },
    AllMbeans,
    Mbean(Box<str>),
    /// `MBEANS 'pattern'`.
    Mbeans(Box<str>),
}

/// `GRANT permissions ON resource TO role`.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantPermissions {
    pub permissions: PermissionSet,
    pub resource: Resource,
    pub grantee: Grantee,
}

/// `REVOKE permissions ON resource FROM role`.
#[derive(Clone, Debug, PartialEq)]
pub struct RevokePermissions {
    pub permissions: PermissionSet,
    pub resource: Resource,
    pub revokee: Grantee,
}

/// `GRANT role TO grantee`.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRole {
    pub role: Grantee,
    pub grantee: Grantee,
}

/// `REVOKE role FROM revokee`.
#[derive(Clone, Debug, PartialEq)]
pub struct RevokeRole {
    pub role: Grantee,
    pub revokee: Grantee,
}

/// `LIST permissions [ON resource] [OF role] [NORECURSIVE]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ListPermissions {
    pub permissions: PermissionSet,
    pub resource: Option<Resource>,
    pub grantee: Option<Grantee>,
    pub recursive: bool,
}

/// `LIST ROLES [OF role] [NORECURSIVE]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ListRoles {
    pub grantee: Option<Grantee>,
    pub recursive: bool,
}

/// `ACCESS TO …` and `ACCESS FROM …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatacenterAccess {
    All,
    Listed(Vec<Box<str>>),
}

/// One option of CREATE ROLE and ALTER ROLE.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleOption {
    Password(Box<str>),
    HashedPassword(Box<str>),
    Options(Vec<(Literal, Literal)>),
    Superuser(bool),
    Login(bool),
    Datacenters(DatacenterAccess),
    Cidrs(DatacenterAccess),
}

/// The options of a role, in the order written.
pub type RoleOptions = Vec<RoleOption>;

/// `CREATE ROLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRole {
    pub name: Grantee,
    pub if_not_exists: bool,
    pub options: RoleOptions,
}

/// `ALTER ROLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRole {
    pub name: Grantee,
    pub if_exists: bool,
    pub options: RoleOptions,
}

/// `CREATE USER`: a role with LOGIN. `options` holds a password and `Superuser` when they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateUser {
    pub name: Grantee,
    pub if_not_exists: bool,
    pub options: RoleOptions,
}

/// `ALTER USER`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterUser {
    pub name: Grantee,
    pub if_exists: bool,
    pub options: RoleOptions,
}

/// `DROP ROLE` and `DROP USER`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRole {
    pub name: Grantee,
    pub if_exists: bool,
}

/// `ADD IDENTITY` and `DROP IDENTITY`.
#[derive(Clone, Debug, PartialEq)]
pub enum IdentityStatement {
    Add { identity: Box<str>, role: Box<str>, if_not_exists: bool },
    Drop { identity: Box<str>, if_exists: bool },
}
