//! CREATE, ALTER and DROP TYPE.
//!
//! Source: Cassandra 5.0, `CreateTypeStatement`, `AlterTypeStatement`, `DropTypeStatement`.

use std::sync::Arc;

use helenus_cql::{AlterType, AlterTypeChange, CreateType, DropType, Identifier, NativeType, TypeName, maybe_quote};
use helenus_protocol::SchemaChangeKind;
use helenus_schema::SchemaChange;
use helenus_types::{UserType, UserTypeField};

use crate::ddl::{DdlContext, DdlOutcome, type_event};
use crate::error::{Result, ensure, invalid};
use crate::restrictions::quoted_name;
use crate::terms::{display_resolved_type_name, resolve_type};

fn check_field_type(name: &TypeName) -> Result<()> {
    ensure!(*name != TypeName::Native(NativeType::Counter), "A user type cannot contain counters");
    ensure!(!matches!(name, TypeName::UserType(_)), "A user type cannot contain non-frozen UDTs");
    Ok(())
}

fn quoted_type(ty: &UserType) -> String {
    format!("{}.{}", maybe_quote(&ty.keyspace), maybe_quote(&ty.name))
}

pub fn create(context: &DdlContext<'_>, keyspace: &str, create: &CreateType) -> Result<DdlOutcome> {
    let name = create.name.name.as_str();
    let found = context.schema.keyspace(keyspace).ok_or_else(|| invalid!("Keyspace '{keyspace}' doesn't exist"))?;
    if found.types.contains_key(name) {
        ensure!(create.if_not_exists, "A user type with name '{name}' already exists");
        return Ok(DdlOutcome::nothing());
    }
    for (at, (field, _)) in create.fields.iter().enumerate() {
        ensure!(
            !create.fields[..at].iter().any(|(other, _)| other == field),
            "Duplicate field name '{}' in type '{name}'",
            field.as_str()
        );
    }
    for (_, ty) in &create.fields {
        check_field_type(ty)?;
    }
    let mut fields = Vec::with_capacity(create.fields.len());
    for (field, ty) in &create.fields {
        let ty = resolve_type(context.schema, keyspace, ty)?;
        fields.push(UserTypeField { name: field.as_str().into(), ty });
    }
    let ty = UserType { keyspace: keyspace.into(), name: name.into(), fields };
    let created = type_event(SchemaChangeKind::Created, keyspace, name);
    Ok(DdlOutcome::one(SchemaChange::PutType(Arc::new(ty)), created))
}

pub fn alter(context: &DdlContext<'_>, keyspace: &str, alter: &AlterType) -> Result<DdlOutcome> {
    let name = alter.name.name.as_str();
    let found = context.schema.keyspace(keyspace).and_then(|found| Some((found, found.types.get(name)?)));
    let Some((found, ty)) = found else {
        ensure!(alter.if_exists, "Type {keyspace}.{name} doesn't exist");
        return Ok(DdlOutcome::nothing());
    };
    let altered = match &alter.change {
        AlterTypeChange::AlterField { .. } => return Err(invalid!("Altering field types is no longer supported")),
        AlterTypeChange::Add { field, type_name, if_not_exists } => {
            check_field_type(type_name)?;
            let field = field.as_str();
            if ty.field_index(field).is_some() {
                ensure!(
                    *if_not_exists,
                    "Cannot add field {field} to type {}: a field with name {field} already exists",
                    quoted_type(ty)
                );
                return Ok(DdlOutcome::nothing());
            }
            let field_type = resolve_type(context.schema, keyspace, type_name)?;
            let text = display_resolved_type_name(type_name, keyspace);
            ensure!(
                !field_type.references_user_type(keyspace, name),
                "Cannot add new field {field} of type {text} to user type {} as it would create a circular reference",
                quoted_type(ty)
            );
            let in_keys: Vec<String> = found
                .tables
                .values()
                .filter(|table| {
                    table.partition_key().iter().any(|column| column.ty.references_user_type(keyspace, name))
                })
                .map(|table| quoted_name(table))
                .collect();
            ensure!(
                in_keys.is_empty(),
                "Cannot add new field {field} of type {text} to user type {} as the type is being used in partition key by the \
                 following tables: {}",
                quoted_type(ty),
                in_keys.join(", ")
            );
            let mut altered = UserType::clone(ty);
            altered.fields.push(UserTypeField { name: field.into(), ty: field_type });
            altered
        }
        AlterTypeChange::Rename { renames, if_exists } => rename(ty, renames, *if_exists)?,
    };
    if altered == **ty {
        return Ok(DdlOutcome::nothing());
    }
    let updated = type_event(SchemaChangeKind::Updated, keyspace, name);
    Ok(DdlOutcome::one(SchemaChange::PutType(Arc::new(altered)), updated))
}

fn rename(ty: &UserType, renames: &[(Identifier, Identifier)], if_exists: bool) -> Result<UserType> {
    let mut altered = ty.clone();
    for (old, new) in renames {
        let old = old.as_str();
        match ty.field_index(old).and_then(|index| altered.fields.get_mut(index)) {
            Some(field) => field.name = new.as_str().into(),
            // Upstream's typo.
            None => ensure!(if_exists, "Unkown field {old} in user type {}", quoted_type(ty)),
        }
    }
    for (at, field) in altered.fields.iter().enumerate() {
        let is_repeated =
            altered.fields.iter().enumerate().any(|(other, known)| other != at && known.name == field.name);
        // Upstream prints the keyspace where the type was meant.
        ensure!(!is_repeated, "Duplicate field name {} in type {}", field.name, ty.keyspace);
    }
    Ok(altered)
}

pub fn drop(context: &DdlContext<'_>, keyspace: &str, drop: &DropType) -> Result<DdlOutcome> {
    let name = drop.name.name.as_str();
    let found = context.schema.keyspace(keyspace).filter(|found| found.types.contains_key(name));
    let Some(found) = found else {
        ensure!(drop.if_exists, "Type '{keyspace}.{name}' doesn't exist");
        return Ok(DdlOutcome::nothing());
    };
    let types: Vec<&str> = found
        .types
        .values()
        .filter(|ty| ty.fields.iter().any(|field| field.ty.references_user_type(keyspace, name)))
        .map(|ty| &*ty.name)
        .collect();
    ensure!(
        types.is_empty(),
        "Cannot drop user type '{keyspace}.{name}' as it is still used by user types {}",
        types.join(", ")
    );
    let tables: Vec<&str> = found
        .tables
        .values()
        .filter(|table| table.columns().iter().any(|column| column.ty.references_user_type(keyspace, name)))
        .map(|table| &*table.name)
        .collect();
    ensure!(
        tables.is_empty(),
        "Cannot drop user type '{keyspace}.{name}' as it is still used by tables {}",
        tables.join(", ")
    );
    let change = SchemaChange::DropType { keyspace: keyspace.into(), name: name.into() };
    Ok(DdlOutcome::one(change, type_event(SchemaChangeKind::Dropped, keyspace, name)))
}
