//! Selectables: what a SELECT clause names, functions resolved, types not yet decided for literals.
//!
//! Source: Cassandra 5.0, `cql3.selection.Selectable`.

use std::fmt;
use std::sync::Arc;

use helenus_cql::{CellAttribute, Identifier, NativeType, Selector as RawSelector, Term as RawTerm};
use helenus_schema::{Column, ColumnKind, Table};
use helenus_types::CqlType;

use crate::error::{Result, ensure, invalid};
use crate::functions::{self, Function, FunctionName};
use crate::restrictions::existing_column;
use crate::terms::{
    Argument, Assignment, Receiver, Scope, common_type, component_types, display_resolved_type_name, function_name,
    native_type, resolve_type, test_all, test_list, test_map, test_set, test_tuple, test_type,
};

#[derive(Clone, Debug)]
pub enum Selectable {
    Column(Column),
    Term(RawTerm),
    CellAttribute {
        attribute: CellAttribute,
        column: Column,
        inner: Box<Selectable>,
    },
    Function {
        function: Arc<Function>,
        arguments: Vec<Selectable>,
    },
    Cast {
        inner: Box<Selectable>,
        target: NativeType,
    },
    Field {
        inner: Box<Selectable>,
        field: Box<str>,
    },
    /// `(a, b)`, or parentheses around one.
    Tuple(Vec<Selectable>),
    /// `[a, b]`: a list or a vector.
    Array(Vec<Selectable>),
    Set(Vec<Selectable>),
    /// Keys stay raw: those of a user type are field names, no columns.
    MapOrUserType(Vec<(RawSelector, Selectable)>),
    TypeHint {
        text: String,
        ty: CqlType,
        inner: Box<Selectable>,
    },
    Element {
        inner: Box<Selectable>,
        element: RawTerm,
    },
    Slice {
        inner: Box<Selectable>,
        from: Option<RawTerm>,
        to: Option<RawTerm>,
    },
}

impl Selectable {
    /// # Errors
    /// Unknown columns, functions and types.
    pub fn prepare(scope: &Scope<'_>, table: &Table, raw: &RawSelector) -> Result<Self> {
        let all = |raws: &[RawSelector]| -> Result<Vec<Self>> {
            raws.iter().map(|raw| Self::prepare(scope, table, raw)).collect()
        };
        let boxed = |raw: &RawSelector| Self::prepare(scope, table, raw).map(Box::new);
        Ok(match raw {
            RawSelector::Column(name) => Self::Column(existing_column(table, name)?.clone()),
            RawSelector::Term(term) => Self::Term(term.clone()),
            RawSelector::CountRows => Self::call(scope, &FunctionName::native("count_rows"), Vec::new())?,
            RawSelector::CellAttribute { attribute, selector } => {
                let column = existing_column(table, base_column(selector)?)?.clone();
                Self::CellAttribute { attribute: *attribute, column, inner: boxed(selector)? }
            }
            RawSelector::Cast { selector, target } => Self::Cast { inner: boxed(selector)?, target: *target },
            RawSelector::Function { name, arguments } => {
                let arguments = all(arguments)?;
                let name = function_name(name);
                let counts_literal = name.is_native()
                    && &*name.name == "count"
                    && matches!(arguments.as_slice(), [Self::Term(RawTerm::Literal(_))]);
                if counts_literal {
                    Self::call(scope, &FunctionName::native("count_rows"), Vec::new())?
                } else {
                    Self::call(scope, &name, arguments)?
                }
            }
            RawSelector::Binary { operator, left, right } => {
                let arguments = vec![Self::prepare(scope, table, left)?, Self::prepare(scope, table, right)?];
                Self::call(scope, &FunctionName::native(operator.function_name()), arguments)?
            }
            RawSelector::Negation(inner) => {
                Self::call(scope, &FunctionName::native("_negate"), vec![Self::prepare(scope, table, inner)?])?
            }
            RawSelector::Field { selector, field } => {
                Self::Field { inner: boxed(selector)?, field: field.as_str().into() }
            }
            RawSelector::Element { selector, element } => {
                Self::Element { inner: boxed(selector)?, element: element.clone() }
            }
            RawSelector::Slice { selector, from, to } => {
                Self::Slice { inner: boxed(selector)?, from: from.clone(), to: to.clone() }
            }
            RawSelector::TypeHint { type_name, selector } => {
                let inner = boxed(selector)?;
                let ty = resolve_type(scope.schema, scope.keyspace, type_name)?;
                Self::TypeHint { text: display_resolved_type_name(type_name, scope.keyspace), ty: ty.frozen(), inner }
            }
            RawSelector::Tuple(raws) => Self::Tuple(all(raws)?),
            RawSelector::List(raws) => Self::Array(all(raws)?),
            RawSelector::Set(raws) => Self::Set(all(raws)?),
            RawSelector::MapOrUserType(entries) => {
                let mut prepared = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    prepared.push((key.clone(), Self::prepare(scope, table, value)?));
                }
                Self::MapOrUserType(prepared)
            }
        })
    }

    fn call(scope: &Scope<'_>, name: &FunctionName, arguments: Vec<Self>) -> Result<Self> {
        let function =
            functions::resolve(scope, name, &arguments, None)?.ok_or_else(|| invalid!("Unknown function '{name}'"))?;
        Ok(Self::Function { function, arguments })
    }

    /// Whether any column that is selected is `wanted`. Upstream's slip is part of it: a map or user type literal says yes
    /// when one of its values says no.
    pub fn selects(&self, wanted: fn(ColumnKind) -> bool) -> bool {
        match self {
            Self::Column(column) => wanted(column.kind),
            Self::Term(_) => false,
            Self::CellAttribute { inner, .. }
            | Self::Cast { inner, .. }
            | Self::Field { inner, .. }
            | Self::TypeHint { inner, .. }
            | Self::Element { inner, .. }
            | Self::Slice { inner, .. } => inner.selects(wanted),
            Self::Function { arguments, .. } => arguments.iter().any(|argument| argument.selects(wanted)),
            Self::Tuple(inner) | Self::Array(inner) | Self::Set(inner) => {
                inner.iter().any(|inner| inner.selects(wanted))
            }
            Self::MapOrUserType(entries) => entries.iter().any(|(_, value)| !value.selects(wanted)),
        }
    }
}

/// The column whose cells `writetime(…)` looks at.
fn base_column(selector: &RawSelector) -> Result<&Identifier> {
    match selector {
        RawSelector::Column(name) => Ok(name),
        RawSelector::Field { selector, .. }
        | RawSelector::Element { selector, .. }
        | RawSelector::Slice { selector, .. } => base_column(selector),
        other => Err(invalid!("Cannot use a cell attribute on {other}")),
    }
}

/// Entries of a map literal: keys prepared as selectables.
pub fn map_entries(scope: &Scope<'_>, entries: &[(RawSelector, Selectable)]) -> Result<Vec<(Selectable, Selectable)>> {
    let table = scope.table.ok_or_else(|| invalid!("No receiver table has been specified"))?;
    entries.iter().map(|(key, value)| Ok((Selectable::prepare(scope, table, key)?, value.clone()))).collect()
}

/// Fields of a user type literal.
///
/// # Errors
/// Keys that are no names, or no fields of the type.
pub fn user_type_fields<'s>(
    ty: &helenus_types::UserType,
    entries: &'s [(RawSelector, Selectable)],
) -> Result<Vec<(usize, &'s Selectable)>> {
    entries
        .iter()
        .map(|(key, value)| {
            let RawSelector::Column(name) = key else {
                return Err(invalid!("{key} is not a valid field identifier of type {} ", ty.name));
            };
            let index = ty.field_index(name.as_str()).ok_or_else(|| {
                invalid!("Unknown field '{}' in value of user defined type {}", name.as_str(), ty.name)
            })?;
            Ok((index, value))
        })
        .collect()
}

impl Argument for Selectable {
    fn test(&self, scope: &Scope<'_>, receiver: &Receiver) -> Result<Assignment> {
        match self {
            Self::Term(term) => term.test(scope, receiver),
            Self::Tuple(inner) => match inner.as_slice() {
                [only] if component_types(&receiver.ty).is_none() => only.test(scope, receiver),
                _ => Ok(test_tuple(scope, receiver, inner)),
            },
            Self::Array(inner) => match &receiver.ty {
                CqlType::Vector { .. } if inner.is_empty() => Ok(Assignment::Weak),
                CqlType::Vector { element, .. } => test_all(scope, &receiver.element(element), inner),
                _ => test_list(scope, receiver, inner),
            },
            Self::Set(inner) => test_set(scope, receiver, inner),
            Self::MapOrUserType(entries) => match &receiver.ty {
                CqlType::Udt(udt, _) => {
                    for (index, value) in user_type_fields(udt, entries)? {
                        let Some(field) = udt.fields.get(index) else { return Ok(Assignment::No) };
                        let spec = receiver.field(&field.name, &field.ty);
                        if !value.test(scope, &spec)?.is_possible() {
                            return Ok(Assignment::No);
                        }
                    }
                    Ok(Assignment::Weak)
                }
                _ => test_map(scope, receiver, &map_entries(scope, entries)?),
            },
            Self::TypeHint { ty, .. } => Ok(if receiver.ty == *ty {
                Assignment::Exact
            } else if receiver.ty.is_value_compatible_with(ty) {
                Assignment::Weak
            } else {
                Assignment::No
            }),
            Self::Column(_)
            | Self::CellAttribute { .. }
            | Self::Function { .. }
            | Self::Cast { .. }
            | Self::Field { .. }
            | Self::Element { .. }
            | Self::Slice { .. } => {
                Ok(self.exact_type(scope).map_or(Assignment::No, |ty| test_type(&ty, &receiver.ty)))
            }
        }
    }

    fn exact_type(&self, scope: &Scope<'_>) -> Option<CqlType> {
        match self {
            Self::Column(column) => Some(column.ty.clone()),
            Self::Term(term) => term.exact_type(scope),
            Self::CellAttribute { attribute, column, .. } => Some(attribute_type(*attribute, &column.ty)),
            Self::Function { function, .. } => Some(function.returns.clone()),
            Self::Cast { target, .. } => Some(native_type(*target)),
            Self::Field { inner, field } => match inner.exact_type(scope)? {
                CqlType::Udt(udt, _) => udt.fields.get(udt.field_index(field)?).map(|field| field.ty.clone()),
                _ => None,
            },
            Self::Tuple(inner) if inner.len() == 1 => None,
            Self::Tuple(inner) => {
                let types = inner.iter().map(|inner| inner.exact_type(scope).map(|ty| ty.frozen()));
                Some(CqlType::Tuple(types.collect::<Option<Vec<CqlType>>>()?.into()))
            }
            Self::Array(inner) => {
                let element = inner.iter().find_map(|inner| inner.exact_type(scope))?;
                Some(CqlType::List { element: Arc::new(element), frozen: true })
            }
            Self::Set(inner) => {
                let element = inner.iter().find_map(|inner| inner.exact_type(scope))?;
                Some(CqlType::Set { element: Arc::new(element), frozen: true })
            }
            Self::MapOrUserType(_) => None,
            Self::TypeHint { ty, .. } => Some(ty.clone()),
            Self::Element { inner, .. } => match inner.exact_type(scope)? {
                CqlType::Map { value, .. } => Some((*value).clone()),
                CqlType::Set { element, .. } => Some((*element).clone()),
                CqlType::List { .. } => Some(CqlType::Timeuuid), // Of the cells' names, upstream.
                _ => None,
            },
            Self::Slice { inner, .. } => inner.exact_type(scope).filter(CqlType::is_collection),
        }
    }

    fn compatible_type(&self, scope: &Scope<'_>) -> Option<CqlType> {
        match self {
            Self::Term(term) => term.compatible_type(scope),
            Self::Tuple(inner) if inner.len() == 1 => None,
            Self::Tuple(inner) => {
                let types = inner.iter().map(|inner| inner.compatible_type(scope).map(|ty| ty.frozen()));
                Some(CqlType::Tuple(types.collect::<Option<Vec<CqlType>>>()?.into()))
            }
            Self::Array(inner) => {
                let element = common_type(inner.iter().filter_map(|inner| inner.compatible_type(scope)))?;
                Some(CqlType::List { element: Arc::new(element), frozen: true })
            }
            Self::Set(inner) => {
                let element = common_type(inner.iter().filter_map(|inner| inner.compatible_type(scope)))?;
                Some(CqlType::Set { element: Arc::new(element), frozen: true })
            }
            other => other.exact_type(scope),
        }
    }

    fn is_marker(&self) -> bool {
        matches!(self, Self::Term(RawTerm::Marker(_)))
    }

    fn is_descending_column(&self) -> bool {
        matches!(self, Self::Column(Column { kind: ColumnKind::Clustering { descending: true, .. }, .. }))
    }

    fn selected_array_len(&self) -> Option<u32> {
        match self {
            Self::Array(inner) => u32::try_from(inner.len()).ok(),
            _ => None,
        }
    }
}

/// The result type of a cell attribute of something of type `ty`.
#[must_use]
pub fn attribute_type(attribute: CellAttribute, ty: &CqlType) -> CqlType {
    let one = match attribute {
        CellAttribute::Ttl => CqlType::Int,
        CellAttribute::WriteTime | CellAttribute::MaxWriteTime => CqlType::Bigint,
    };
    if ty.is_multi_cell() && attribute != CellAttribute::MaxWriteTime {
        CqlType::List { element: Arc::new(one), frozen: true }
    } else {
        one
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, open: char, items: &[Selectable], close: char) -> fmt::Result {
    write!(f, "{open}")?;
    for (index, item) in items.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(f, "{separator}{item}")?;
    }
    write!(f, "{close}")
}

impl fmt::Display for Selectable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => f.write_str(&column.name),
            Self::Term(term) => write!(f, "{term}"),
            Self::CellAttribute { attribute, inner, .. } => write!(f, "{}({inner})", attribute.name()),
            Self::Function { function, arguments } => {
                let names: Vec<String> = arguments.iter().map(ToString::to_string).collect();
                f.write_str(&function.column_name(&names))
            }
            Self::Cast { inner, target } => write!(f, "cast({inner} as {})", target.name()),
            Self::Field { inner, field } => write!(f, "{inner}.{field}"),
            Self::Tuple(inner) => write_joined(f, '(', inner, ')'),
            Self::Array(inner) => write_joined(f, '[', inner, ']'),
            Self::Set(inner) => write_joined(f, '{', inner, '}'),
            Self::MapOrUserType(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{key}: {value}")?;
                }
                f.write_str("}")
            }
            Self::TypeHint { text, inner, .. } => write!(f, "({text}){inner}"),
            Self::Element { inner, element } => write!(f, "{inner}[{element}]"),
            Self::Slice { inner, from, to } => {
                let text = |term: &Option<RawTerm>| term.as_ref().map_or_else(String::new, ToString::to_string);
                write!(f, "{inner}[{}..{}]", text(from), text(to))
            }
        }
    }
}

/// # Errors
/// When `inner` is a list, whose elements and slices cannot be selected.
pub fn check_not_list(what: &str, inner: &Selectable, ty: &CqlType) -> Result<()> {
    ensure!(
        !matches!(ty, CqlType::List { .. }),
        "{what} selection is only allowed on sets and maps, but {inner} is a list"
    );
    Ok(())
}
