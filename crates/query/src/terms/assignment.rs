//! Whether something fits a receiver, and which type it has by itself: what function resolution and literals ask.
//!
//! Source: Cassandra 5.0, `cql3.AssignmentTestable`, `cql3.Constants`, `cql3.Lists` and its siblings.

use std::fmt::Display;
use std::sync::Arc;

use helenus_cql::{Literal, LiteralKind, QualifiedName, Term as RawTerm};
use helenus_schema::{SchemaSnapshot, Table};
use helenus_types::CqlType;
use helenus_types::value::Decimal;
use num_bigint::BigInt;

use crate::error::{QueryError, Result, ensure, invalid};
use crate::functions::{self, FunctionName};
use crate::terms::receiver::Receiver;
use crate::terms::type_name::resolve_type;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assignment {
    No,
    Weak,
    Exact,
}

impl Assignment {
    #[must_use]
    pub fn is_possible(self) -> bool {
        self != Assignment::No
    }

    /// The weaker of two.
    #[must_use]
    pub fn and(self, other: Assignment) -> Assignment {
        self.min(other)
    }
}

/// What names in a term are looked up in.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub schema: &'a SchemaSnapshot,
    /// Keyspace of the statement's table.
    pub keyspace: &'a str,
    pub table: Option<&'a Arc<Table>>,
}

/// Something that may be passed to a function or assigned: a raw term or a selectable. `Display` is its text in messages.
pub trait Argument: Display {
    /// # Errors
    /// Array literals refuse receivers that are neither lists nor vectors.
    fn test(&self, scope: &Scope<'_>, receiver: &Receiver) -> Result<Assignment>;

    /// The type when the text alone determines it.
    fn exact_type(&self, scope: &Scope<'_>) -> Option<CqlType>;

    /// The exact type, or the one that a literal would have if nothing else is asked.
    fn compatible_type(&self, scope: &Scope<'_>) -> Option<CqlType> {
        self.exact_type(scope)
    }

    fn is_marker(&self) -> bool {
        false
    }

    /// Whether it is a column that is stored in descending order: upstream its type is no collection's and no vector's.
    fn is_descending_column(&self) -> bool {
        false
    }

    /// Number of elements of an array literal in a SELECT clause.
    fn selected_array_len(&self) -> Option<u32> {
        None
    }
}

/// How a value of type `from` fits where `to` is wanted.
///
/// Source: Cassandra 5.0, `AbstractType.testAssignment`.
#[must_use]
pub fn test_type(from: &CqlType, to: &CqlType) -> Assignment {
    let unfrozen;
    let to = if is_freezable(from) && !from.is_multi_cell() {
        unfrozen = to.frozen();
        &unfrozen
    } else {
        to
    };
    if from == to {
        Assignment::Exact
    } else if to.is_value_compatible_with(from) {
        Assignment::Weak
    } else {
        Assignment::No
    }
}

#[must_use]
pub fn is_freezable(ty: &CqlType) -> bool {
    ty.is_collection() || ty.is_udt() || ty.is_tuple()
}

/// The first type to which all the others can be assigned.
#[must_use]
pub fn common_type(types: impl IntoIterator<Item = CqlType>) -> Option<CqlType> {
    let types: Vec<CqlType> = types.into_iter().collect();
    let fits = |to: &CqlType| types.iter().all(|from| test_type(from, to).is_possible());
    types.iter().find(|ty| fits(ty)).cloned()
}

/// Tests elements that all go to one receiver.
pub fn test_all<A: Argument>(scope: &Scope<'_>, receiver: &Receiver, elements: &[A]) -> Result<Assignment> {
    elements.iter().try_fold(Assignment::Exact, |so_far, element| {
        Ok(if so_far == Assignment::No { so_far } else { so_far.and(element.test(scope, receiver)?) })
    })
}

pub fn test_list<A: Argument>(scope: &Scope<'_>, receiver: &Receiver, elements: &[A]) -> Result<Assignment> {
    let CqlType::List { element, .. } = &receiver.ty else { return Ok(Assignment::No) };
    if elements.is_empty() {
        return Ok(Assignment::Weak);
    }
    test_all(scope, &receiver.element(element), elements)
}

pub fn test_set<A: Argument>(scope: &Scope<'_>, receiver: &Receiver, elements: &[A]) -> Result<Assignment> {
    match &receiver.ty {
        CqlType::Map { .. } if elements.is_empty() => Ok(Assignment::Weak),
        CqlType::Set { .. } if elements.is_empty() => Ok(Assignment::Weak),
        CqlType::Set { element, .. } => test_all(scope, &receiver.element(element), elements),
        _ => Ok(Assignment::No),
    }
}

pub fn test_map<A: Argument>(scope: &Scope<'_>, receiver: &Receiver, entries: &[(A, A)]) -> Result<Assignment> {
    let CqlType::Map { key, value, .. } = &receiver.ty else { return Ok(Assignment::No) };
    let (key, value) = (receiver.key(key), receiver.element(value));
    entries.iter().try_fold(Assignment::Exact, |so_far, (entry_key, entry_value)| {
        Ok(so_far.and(entry_key.test(scope, &key)?).and(entry_value.test(scope, &value)?))
    })
}

/// Checks the components of a tuple literal.
///
/// # Errors
/// Cassandra's texts for a receiver that is no tuple, for too many components and components of another type.
pub fn check_tuple<A: Argument>(scope: &Scope<'_>, receiver: &Receiver, elements: &[A]) -> Result<()> {
    let Some(types) = component_types(&receiver.ty) else {
        return Err(invalid!("Invalid tuple type literal for {} of type {}", receiver.name, receiver.ty));
    };
    for (index, element) in elements.iter().enumerate() {
        let Some(ty) = types.get(index) else {
            return Err(invalid!(
                "Invalid tuple literal for {}: too many elements. Type {} expects {} but got {}",
                receiver.name,
                receiver.ty,
                types.len(),
                elements.len()
            ));
        };
        let component = receiver.component(index, ty);
        ensure!(
            element.test(scope, &component)?.is_possible(),
            "Invalid tuple literal for {}: component {index} is not of type {ty}",
            receiver.name
        );
    }
    Ok(())
}

pub fn test_tuple<A: Argument>(scope: &Scope<'_>, receiver: &Receiver, elements: &[A]) -> Assignment {
    if check_tuple(scope, receiver, elements).is_ok() { Assignment::Weak } else { Assignment::No }
}

/// The component types of a tuple or user type.
#[must_use]
pub fn component_types(ty: &CqlType) -> Option<Vec<CqlType>> {
    match ty {
        CqlType::Tuple(components) => Some(components.to_vec()),
        CqlType::Udt(udt, _) => Some(udt.fields.iter().map(|field| field.ty.clone()).collect()),
        _ => None,
    }
}

/// Checks the fields of a user type literal as far as the type has them.
///
/// # Errors
/// A receiver of another type and fields whose value does not fit.
pub fn check_user_type<A: Argument>(scope: &Scope<'_>, receiver: &Receiver, fields: &[(&str, &A)]) -> Result<()> {
    let CqlType::Udt(udt, _) = &receiver.ty else {
        return Err(invalid!("Invalid user type literal for {} of type {}", receiver.name, receiver.ty));
    };
    for field in &udt.fields {
        let Some((_, value)) = fields.iter().find(|(name, _)| *name == &*field.name) else { continue };
        ensure!(
            value.test(scope, &receiver.field(&field.name, &field.ty))?.is_possible(),
            "Invalid user type literal for {}: field {} is not of type {}",
            receiver.name,
            field.name,
            field.ty
        );
    }
    Ok(())
}

impl Argument for RawTerm {
    fn test(&self, scope: &Scope<'_>, receiver: &Receiver) -> Result<Assignment> {
        match self {
            RawTerm::Literal(literal) => Ok(test_literal(literal, &receiver.ty)),
            RawTerm::Null => Ok(if receiver.ty.is_counter() { Assignment::No } else { Assignment::Weak }),
            RawTerm::Marker(_) => Ok(Assignment::Weak),
            RawTerm::List(elements) => match &receiver.ty {
                CqlType::Vector { element, dimension } => {
                    if u32::try_from(elements.len()).ok() != Some(*dimension) {
                        return Ok(Assignment::No);
                    }
                    test_all(scope, &receiver.element(element), elements)
                }
                CqlType::List { .. } => test_list(scope, receiver, elements),
                other => Err(invalid!("Unexpected receiver type '{other}'; only list and vector are expected")),
            },
            RawTerm::Set(elements) => test_set(scope, receiver, elements),
            RawTerm::Map(entries) => test_map(scope, receiver, entries),
            RawTerm::UserType(fields) => {
                let fields: Vec<(&str, &RawTerm)> = fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
                let fits = check_user_type(scope, receiver, &fields).is_ok();
                Ok(if fits { Assignment::Weak } else { Assignment::No })
            }
            RawTerm::Tuple(elements) => match elements.as_slice() {
                [only] if component_types(&receiver.ty).is_none() => only.test(scope, receiver),
                _ => Ok(test_tuple(scope, receiver, elements)),
            },
            RawTerm::Function { .. } | RawTerm::Cast { .. } | RawTerm::Binary { .. } | RawTerm::Negation(_) => {
                Ok(test_call(self, scope, receiver))
            }
            RawTerm::TypeHint { type_name, .. } => {
                let hinted = resolve_type(scope.schema, scope.keyspace, type_name)?;
                Ok(if receiver.ty == hinted {
                    Assignment::Exact
                } else if receiver.ty.is_value_compatible_with(&hinted) {
                    Assignment::Weak
                } else {
                    Assignment::No
                })
            }
        }
    }

    fn exact_type(&self, scope: &Scope<'_>) -> Option<CqlType> {
        match self {
            RawTerm::Literal(_) | RawTerm::Null | RawTerm::Marker(_) | RawTerm::List(_) | RawTerm::UserType(_) => None,
            RawTerm::Set(elements) => {
                let element = elements.iter().find_map(|element| element.exact_type(scope))?;
                Some(CqlType::Set { element: Arc::new(element), frozen: true })
            }
            RawTerm::Map(entries) => {
                let key = entries.iter().find_map(|(key, _)| key.exact_type(scope))?;
                let value = entries.iter().find_map(|(_, value)| value.exact_type(scope))?;
                Some(CqlType::Map { key: Arc::new(key), value: Arc::new(value), frozen: true })
            }
            RawTerm::Tuple(elements) => {
                let types: Option<Vec<CqlType>> = elements.iter().map(|element| element.exact_type(scope)).collect();
                Some(CqlType::Tuple(types?.into()))
            }
            RawTerm::Function { .. } | RawTerm::Cast { .. } | RawTerm::Binary { .. } | RawTerm::Negation(_) => {
                let (name, arguments) = call_parts(self)?;
                let function = functions::resolve(scope, &name, &arguments, None).ok()??;
                Some(function.returns.clone())
            }
            RawTerm::TypeHint { type_name, .. } => resolve_type(scope.schema, scope.keyspace, type_name).ok(),
        }
    }

    fn compatible_type(&self, scope: &Scope<'_>) -> Option<CqlType> {
        match self {
            RawTerm::Literal(literal) => Some(preferred_type(literal)),
            RawTerm::Set(elements) => {
                let element = common_type(elements.iter().filter_map(|element| element.compatible_type(scope)))?;
                Some(CqlType::Set { element: Arc::new(element), frozen: true })
            }
            RawTerm::Map(entries) => {
                let key = common_type(entries.iter().filter_map(|(key, _)| key.compatible_type(scope)))?;
                let value = common_type(entries.iter().filter_map(|(_, value)| value.compatible_type(scope)))?;
                Some(CqlType::Map { key: Arc::new(key), value: Arc::new(value), frozen: true })
            }
            other => other.exact_type(scope),
        }
    }

    fn is_marker(&self) -> bool {
        matches!(self, RawTerm::Marker(_))
    }
}

impl Argument for &RawTerm {
    fn test(&self, scope: &Scope<'_>, receiver: &Receiver) -> Result<Assignment> {
        (**self).test(scope, receiver)
    }

    fn exact_type(&self, scope: &Scope<'_>) -> Option<CqlType> {
        (**self).exact_type(scope)
    }

    fn compatible_type(&self, scope: &Scope<'_>) -> Option<CqlType> {
        (**self).compatible_type(scope)
    }

    fn is_marker(&self) -> bool {
        (**self).is_marker()
    }
}

/// A call, cast or operation as the function that evaluates it and its arguments.
#[must_use]
pub fn call_parts(term: &RawTerm) -> Option<(FunctionName, Vec<&RawTerm>)> {
    match term {
        RawTerm::Function { name, arguments } => Some((function_name(name), arguments.iter().collect())),
        RawTerm::Cast { term, target } => {
            Some((FunctionName::native(&format!("cast_as_{}", target.name())), vec![term]))
        }
        RawTerm::Binary { operator, left, right } => {
            Some((FunctionName::native(operator.function_name()), vec![left, right]))
        }
        RawTerm::Negation(inner) => Some((FunctionName::native("_negate"), vec![inner])),
        _ => None,
    }
}

#[must_use]
pub fn function_name(name: &QualifiedName) -> FunctionName {
    FunctionName {
        keyspace: name.keyspace.as_ref().map(|keyspace| keyspace.as_str().into()),
        name: name.name.as_str().into(),
    }
}

fn test_call(term: &RawTerm, scope: &Scope<'_>, receiver: &Receiver) -> Assignment {
    let Some((name, arguments)) = call_parts(term) else { return Assignment::No };
    match functions::resolve(scope, &name, &arguments, Some(receiver)) {
        // What does not resolve is refused with a better text when it is prepared.
        Err(_) | Ok(None) => Assignment::Weak,
        Ok(Some(function)) => {
            if functions::has_factory(&function.name) {
                Assignment::Weak
            } else if receiver.ty == function.returns {
                Assignment::Exact
            } else if receiver.ty.is_value_compatible_with(&function.returns) {
                Assignment::Weak
            } else {
                Assignment::No
            }
        }
    }
}

/// The type that a literal has when nothing else is asked.
#[must_use]
pub fn preferred_type(literal: &Literal) -> CqlType {
    match literal.kind {
        LiteralKind::String => {
            if literal.text.is_ascii() {
                CqlType::Ascii
            } else {
                CqlType::Text
            }
        }
        LiteralKind::Integer => {
            if literal.text.parse::<i32>().is_ok() {
                CqlType::Int
            } else if literal.text.parse::<i64>().is_ok() {
                CqlType::Bigint
            } else {
                CqlType::Varint
            }
        }
        LiteralKind::Uuid => {
            let is_time_based = literal.text.as_bytes().get(14) == Some(&b'1');
            if is_time_based { CqlType::Timeuuid } else { CqlType::Uuid }
        }
        LiteralKind::Float => {
            if is_exact_double(&literal.text) {
                CqlType::Double
            } else {
                CqlType::Decimal
            }
        }
        LiteralKind::Boolean => CqlType::Boolean,
        // Upstream's slip, kept because overloads are chosen by it.
        LiteralKind::Hex => CqlType::Tinyint,
        LiteralKind::Duration => CqlType::Duration,
    }
}

/// Whether Java's shortest text of the nearest double is the same number as `text`.
fn is_exact_double(text: &str) -> bool {
    let Ok(double) = text.parse::<f64>() else { return true };
    if !double.is_finite() {
        return !text.bytes().any(|byte| byte.is_ascii_digit());
    }
    let (Some(written), Some(nearest)) = (Decimal::parse(text), Decimal::parse(&format!("{double:?}"))) else {
        return true;
    };
    normal(written) == normal(nearest)
}

fn normal(decimal: Decimal) -> (BigInt, i32) {
    let stripped = decimal.strip_trailing_zeros();
    (stripped.unscaled, stripped.scale)
}

fn test_literal(literal: &Literal, ty: &CqlType) -> Assignment {
    match ty {
        CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. } => return Assignment::No,
        CqlType::Udt(..) | CqlType::Vector { .. } => return Assignment::No,
        CqlType::Tuple(_) | CqlType::Custom(_) | CqlType::Empty => return Assignment::Weak,
        _ => {}
    }
    if *ty == preferred_type(literal) {
        return Assignment::Exact;
    }
    let fits = match literal.kind {
        LiteralKind::String => matches!(
            ty,
            CqlType::Ascii | CqlType::Text | CqlType::Inet | CqlType::Date | CqlType::Time | CqlType::Timestamp
        ),
        LiteralKind::Integer => matches!(
            ty,
            CqlType::Bigint
                | CqlType::Counter
                | CqlType::Date
                | CqlType::Decimal
                | CqlType::Double
                | CqlType::Duration
                | CqlType::Float
                | CqlType::Int
                | CqlType::Smallint
                | CqlType::Time
                | CqlType::Timestamp
                | CqlType::Tinyint
                | CqlType::Varint
        ),
        LiteralKind::Uuid => matches!(ty, CqlType::Uuid | CqlType::Timeuuid),
        LiteralKind::Float => matches!(ty, CqlType::Decimal | CqlType::Double | CqlType::Float),
        LiteralKind::Boolean => *ty == CqlType::Boolean,
        LiteralKind::Hex => *ty == CqlType::Blob,
        LiteralKind::Duration => *ty == CqlType::Duration,
    };
    if fits { Assignment::Weak } else { Assignment::No }
}

/// Serialises a literal that was found assignable.
///
/// # Errors
/// Text that is no value of the type, in Cassandra's words.
pub fn parse_literal(literal: &Literal, ty: &CqlType) -> Result<Vec<u8>> {
    let parsed = match (literal.kind, ty) {
        (LiteralKind::Hex, _) => CqlType::Blob.parse_string(literal.text.get(2..).unwrap_or("")),
        (_, CqlType::Counter) => CqlType::Bigint.parse_string(&literal.text),
        _ => ty.parse_string(&literal.text),
    };
    parsed.map_err(QueryError::from)
}
