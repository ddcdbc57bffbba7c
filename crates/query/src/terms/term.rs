//! Term: a resolved value expression, bound to bytes for each execution.

use std::borrow::Cow;
use std::sync::Arc;

use helenus_data::Blob;
use helenus_env::Env;
use helenus_types::{CqlType, collection};

use crate::error::{Result, ensure, invalid};
use crate::functions::{Function, FunctionContext};
use crate::terms::assignment::component_types;
use crate::terms::json::{self, JsonDocuments};
use crate::terms::value::Value;

/// What terms are bound with: the request's values, and what impure functions ask.
pub struct Bind<'v> {
    pub values: &'v [Value<'v>],
    pub env: &'v Env,
    pub json: JsonDocuments,
}

impl<'v> Bind<'v> {
    #[must_use]
    pub fn new(values: &'v [Value<'v>], env: &'v Env) -> Self {
        Self { values, env, json: JsonDocuments::default() }
    }

    #[must_use]
    pub fn functions(&self) -> FunctionContext<'v> {
        FunctionContext { env: self.env }
    }

    fn value(&self, index: usize) -> &'v Value<'v> {
        // The number of values was compared with the number of markers when the request came in.
        self.values.get(index).unwrap_or(&Value::Null)
    }
}

#[derive(Clone, Debug)]
pub enum Term {
    Null,
    Unset,
    Constant(Blob),
    Marker {
        index: usize,
        ty: CqlType,
        /// Collections are kept as they came: for a descending column upstream does not take them apart.
        is_raw: bool,
    },
    List(Vec<Term>),
    Set {
        element: CqlType,
        elements: Vec<Term>,
    },
    Map {
        key: CqlType,
        entries: Vec<(Term, Term)>,
    },
    Vector {
        element: CqlType,
        elements: Vec<Term>,
    },
    Tuple {
        component_count: usize,
        components: Vec<Term>,
    },
    /// One term a field, missing ones null.
    UserType {
        ty: CqlType,
        fields: Vec<Term>,
    },
    Function {
        function: Arc<Function>,
        arguments: Vec<Term>,
    },
    Json(Arc<JsonColumn>),
}

/// One column of the document that INSERT JSON was given by a marker.
#[derive(Clone, Debug)]
pub struct JsonColumn {
    pub marker: usize,
    pub name: Box<str>,
    /// The table's columns: a document must not name others.
    pub table: Arc<helenus_schema::Table>,
    pub default_unset: bool,
}

impl Term {
    /// # Errors
    /// A value that contradicts its type, nulls where none may stand, failing functions.
    pub fn bind<'t>(&'t self, bind: &'t Bind<'_>) -> Result<Value<'t>> {
        match self {
            Term::Null => Ok(Value::Null),
            Term::Unset => Ok(Value::Unset),
            Term::Constant(bytes) => Ok(Value::Bytes(Cow::Borrowed(bytes))),
            Term::Marker { index, ty, is_raw } => bind_marker(bind.value(*index), ty, *is_raw),
            Term::List(elements) => match bind_elements(elements, bind)? {
                None => Ok(Value::Unset),
                Some(values) => Ok(owned(collection::pack_list(&options(&values)))),
            },
            Term::Set { element, elements } => match bind_elements(elements, bind)? {
                None => Ok(Value::Unset),
                Some(mut values) => {
                    sort_set(element, &mut values);
                    Ok(owned(collection::pack_list(&options(&values))))
                }
            },
            Term::Map { key, entries } => bind_map(key, entries, bind),
            Term::Vector { element, elements } => {
                let mut values = Vec::with_capacity(elements.len());
                for term in elements {
                    match term.bind(bind)? {
                        Value::Bytes(bytes) if !(bytes.is_empty() && element.is_empty_meaningless()) => {
                            values.push(bytes)
                        }
                        _ => return Err(invalid!("null is not supported inside vectors")),
                    }
                }
                let values: Vec<&[u8]> = values.iter().map(|value| &**value).collect();
                Ok(owned(collection::pack_vector(element, &values)))
            }
            Term::Tuple { component_count, components } => {
                ensure!(
                    components.len() <= *component_count,
                    "Tuple value contained too many fields (expected {component_count}, got {})",
                    components.len()
                );
                let mut values = Vec::with_capacity(components.len());
                for (index, component) in components.iter().enumerate() {
                    let value = component.bind(bind)?;
                    ensure!(!value.is_unset(), "Invalid unset value for tuple field number {index}");
                    values.push(value);
                }
                let values: Vec<Option<&[u8]>> = values.iter().map(Value::bytes).collect();
                Ok(owned(collection::pack_tuple(&values)))
            }
            Term::UserType { ty, fields } => bind_user_type(ty, fields, bind),
            Term::Function { function, arguments } => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let value = argument.bind(bind)?;
                    ensure!(
                        !value.is_unset(),
                        "Invalid unset value for argument in call to function {}",
                        function.name
                    );
                    values.push(value);
                }
                let values: Vec<Option<&[u8]>> = values.iter().map(Value::bytes).collect();
                function.execute(&values, &bind.functions()).map(Value::from_option)
            }
            Term::Json(column) => json::bind_column(column, bind.value(column.marker), &bind.json),
        }
    }

    /// Whether it is the same for every execution.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self, Term::Null | Term::Unset | Term::Constant(_))
    }

    #[must_use]
    pub fn contains_marker(&self) -> bool {
        match self {
            Term::Null | Term::Unset | Term::Constant(_) => false,
            Term::Marker { .. } | Term::Json(_) => true,
            Term::List(elements) | Term::Set { elements, .. } | Term::Vector { elements, .. } => {
                elements.iter().any(Term::contains_marker)
            }
            Term::Map { entries, .. } => {
                entries.iter().any(|(key, value)| key.contains_marker() || value.contains_marker())
            }
            Term::Tuple { components, .. } => components.iter().any(Term::contains_marker),
            Term::UserType { fields, .. } => fields.iter().any(Term::contains_marker),
            Term::Function { arguments, .. } => arguments.iter().any(Term::contains_marker),
        }
    }
}

fn owned<'t>(bytes: Vec<u8>) -> Value<'t> {
    Value::Bytes(Cow::Owned(bytes))
}

fn options<'a>(values: &'a [Cow<'_, [u8]>]) -> Vec<Option<&'a [u8]>> {
    values.iter().map(|value| Some(&**value)).collect()
}

/// `None` when an element is unset: then the whole collection is.
fn bind_elements<'t>(elements: &'t [Term], bind: &'t Bind<'_>) -> Result<Option<Vec<Cow<'t, [u8]>>>> {
    let mut values = Vec::with_capacity(elements.len());
    for element in elements {
        match element.bind(bind)? {
            Value::Null => return Err(invalid!("null is not supported inside collections")),
            Value::Unset => return Ok(None),
            Value::Bytes(bytes) => values.push(bytes),
        }
    }
    Ok(Some(values))
}

fn bind_map<'t>(key: &CqlType, entries: &'t [(Term, Term)], bind: &'t Bind<'_>) -> Result<Value<'t>> {
    let mut bound = Vec::with_capacity(entries.len());
    for (entry_key, entry_value) in entries {
        let entry_key = match entry_key.bind(bind)? {
            Value::Null => return Err(invalid!("null is not supported inside collections")),
            Value::Unset => return Err(invalid!("unset value is not supported for map keys")),
            Value::Bytes(bytes) => bytes,
        };
        match entry_value.bind(bind)? {
            Value::Null => return Err(invalid!("null is not supported inside collections")),
            Value::Unset => return Ok(Value::Unset),
            Value::Bytes(bytes) => bound.push((entry_key, bytes)),
        }
    }
    Ok(owned(pack_sorted_map(key, bound)))
}

fn bind_user_type<'t>(ty: &CqlType, fields: &'t [Term], bind: &'t Bind<'_>) -> Result<Value<'t>> {
    let mut values = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        let value = field.bind(bind)?;
        if value.is_unset()
            && let CqlType::Udt(udt, true) = ty
        {
            let name = udt.fields.get(index).map_or("", |field| &*field.name);
            return Err(invalid!("Invalid unset value for field '{name}' of user defined type {}", udt.name));
        }
        values.push(value);
    }
    let values: Vec<Option<&[u8]>> = values.iter().map(Value::bytes).collect();
    Ok(owned(collection::pack_tuple(&values)))
}

/// Sorts and removes duplicates, the later one winning as in a sorted set that is filled in order.
fn sort_set(element: &CqlType, values: &mut Vec<Cow<'_, [u8]>>) {
    values.sort_by(|a, b| element.compare(a, b));
    values.dedup_by(|a, b| element.compare(a, b).is_eq());
}

type Entry<'e> = (Cow<'e, [u8]>, Cow<'e, [u8]>);

fn pack_sorted_map(key: &CqlType, mut entries: Vec<Entry<'_>>) -> Vec<u8> {
    // A stable sort keeps the order of equal keys; the last one wins.
    entries.sort_by(|a, b| key.compare(&a.0, &b.0));
    let mut unique: Vec<Entry<'_>> = Vec::with_capacity(entries.len());
    for entry in entries {
        match unique.last_mut() {
            Some(last) if key.compare(&last.0, &entry.0).is_eq() => last.1 = entry.1,
            _ => unique.push(entry),
        }
    }
    let unique: Vec<(&[u8], &[u8])> = unique.iter().map(|(key, value)| (&**key, &**value)).collect();
    collection::pack_map(&unique)
}

fn bind_marker<'t>(value: &'t Value<'_>, ty: &CqlType, is_raw: bool) -> Result<Value<'t>> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Unset => Ok(Value::Unset),
        Value::Bytes(bytes) => {
            ty.validate(bytes)?;
            Ok(Value::Bytes(if is_raw { Cow::Borrowed(&**bytes) } else { canonical(ty, bytes)? }))
        }
    }
}

/// Collections as Cassandra would serialise them again: sets and maps in order, without repetition.
fn canonical<'t>(ty: &CqlType, bytes: &'t [u8]) -> Result<Cow<'t, [u8]>> {
    match ty {
        CqlType::List { element, .. } => {
            let list = collection::ListRef::parse(bytes)?;
            if !has_several_forms(element) {
                return Ok(Cow::Borrowed(bytes));
            }
            let mut values = Vec::new();
            for value in list.iter() {
                values.push(value.map(|value| canonical_element(element, value)).transpose()?);
            }
            let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
            Ok(Cow::Owned(collection::pack_list(&values)))
        }
        CqlType::Set { element, .. } => {
            let set = collection::ListRef::parse_set(bytes)?;
            let mut values = Vec::with_capacity(set.len());
            for value in set.iter() {
                let value = value.ok_or_else(|| invalid!("null is not supported inside collections"))?;
                values.push(canonical_element(element, value)?);
            }
            let in_order = values.is_sorted_by(|a, b| element.compare(a, b).is_lt());
            if in_order && !has_several_forms(element) {
                return Ok(Cow::Borrowed(bytes));
            }
            sort_set(element, &mut values);
            Ok(Cow::Owned(collection::pack_list(&options(&values))))
        }
        CqlType::Map { key, value, .. } => {
            let map = collection::MapRef::parse(bytes)?;
            let mut entries = Vec::with_capacity(map.len());
            for (entry_key, entry_value) in map.iter() {
                entries.push((canonical_element(key, entry_key)?, canonical_element(value, entry_value)?));
            }
            let in_order = entries.is_sorted_by(|a, b| key.compare(&a.0, &b.0).is_lt());
            if in_order && !has_several_forms(key) && !has_several_forms(value) {
                return Ok(Cow::Borrowed(bytes));
            }
            Ok(Cow::Owned(pack_sorted_map(key, entries)))
        }
        _ => Ok(Cow::Borrowed(bytes)),
    }
}

/// Whether different bytes may stand for one value of the type.
fn has_several_forms(ty: &CqlType) -> bool {
    ty.is_collection() || matches!(ty, CqlType::Boolean | CqlType::Decimal | CqlType::Varint)
}

/// As [`canonical`] for an element: numbers lose leading bytes that say nothing.
fn canonical_element<'t>(ty: &CqlType, bytes: &'t [u8]) -> Result<Cow<'t, [u8]>> {
    const SCALE_BYTES: usize = 4;
    match ty {
        CqlType::Boolean if bytes.first().is_some_and(|byte| 1 < *byte) => Ok(Cow::Borrowed(&[1])),
        CqlType::Varint => Ok(Cow::Borrowed(minimal_integer(bytes))),
        CqlType::Decimal => match bytes.split_at_checked(SCALE_BYTES) {
            Some((scale, unscaled)) if minimal_integer(unscaled).len() < unscaled.len() => {
                Ok(Cow::Owned([scale, minimal_integer(unscaled)].concat()))
            }
            _ => Ok(Cow::Borrowed(bytes)),
        },
        _ => canonical(ty, bytes),
    }
}

/// A two's complement number without redundant leading bytes.
fn minimal_integer(mut bytes: &[u8]) -> &[u8] {
    while let [first, second, ..] = bytes
        && matches!((first, *second < 0x80), (0, true) | (0xff, false))
        && let Some((_, rest)) = bytes.split_first()
    {
        bytes = rest;
    }
    bytes
}

/// The right side of IN: one marker for the whole list, or a term an element.
#[derive(Clone, Debug)]
pub enum InTerms {
    /// `ty` is the list's type.
    Marker {
        index: usize,
        ty: CqlType,
    },
    Terms(Vec<Term>),
}

/// What a bound IN list is when it is not a list.
#[derive(Clone, Debug)]
pub enum InValues<'t> {
    Null,
    Unset,
    Values(Vec<Value<'t>>),
}

impl InTerms {
    /// # Errors
    /// As [`Term::bind`].
    pub fn bind<'t>(&'t self, bind: &'t Bind<'_>) -> Result<InValues<'t>> {
        match self {
            InTerms::Terms(terms) => {
                Ok(InValues::Values(terms.iter().map(|term| term.bind(bind)).collect::<Result<_>>()?))
            }
            InTerms::Marker { index, ty } => match bind.value(*index) {
                Value::Null => Ok(InValues::Null),
                Value::Unset => Ok(InValues::Unset),
                Value::Bytes(bytes) => {
                    let CqlType::List { element, .. } = ty else { return Ok(InValues::Null) };
                    let mut values = Vec::new();
                    for value in collection::ListRef::parse(bytes)?.iter() {
                        values.push(match value {
                            None => Value::Null,
                            Some(value) => {
                                element.validate(value)?;
                                Value::Bytes(canonical_element(element, value)?)
                            }
                        });
                    }
                    Ok(InValues::Values(values))
                }
            },
        }
    }
}

/// A tuple compared with several columns: `(a, b) = …`.
#[derive(Clone, Debug)]
pub enum TupleTerm {
    Components(Vec<Term>),
    Marker { index: usize, ty: CqlType, name: String },
}

impl TupleTerm {
    /// One value a component; `None` when a marker's value is null.
    ///
    /// # Errors
    /// As [`Term::bind`], and an unset marker.
    pub fn bind<'t>(&'t self, bind: &'t Bind<'_>) -> Result<Option<Vec<Value<'t>>>> {
        match self {
            TupleTerm::Components(terms) => {
                let mut values = Vec::with_capacity(terms.len());
                for (index, term) in terms.iter().enumerate() {
                    let value = term.bind(bind)?;
                    ensure!(!value.is_unset(), "Invalid unset value for tuple field number {index}");
                    values.push(value);
                }
                Ok(Some(values))
            }
            TupleTerm::Marker { index, ty, name } => match bind.value(*index) {
                Value::Null => Ok(None),
                Value::Unset => Err(invalid!("Invalid unset value for tuple {name}")),
                Value::Bytes(bytes) => split_tuple(ty, bytes).map(Some),
            },
        }
    }
}

fn split_tuple<'t>(ty: &CqlType, bytes: &'t [u8]) -> Result<Vec<Value<'t>>> {
    ty.validate(bytes)?;
    let count = component_types(ty).map_or(0, |types| types.len());
    Ok(collection::unpack_tuple(bytes, count)
        .into_iter()
        .map(|component| component.map_or(Value::Null, |bytes| Value::Bytes(Cow::Borrowed(bytes))))
        .collect())
}

/// The right side of `(a, b) IN …`.
#[derive(Clone, Debug)]
pub enum TupleInTerms {
    /// `ty` is the list's type.
    Marker {
        index: usize,
        ty: CqlType,
        name: String,
    },
    Terms(Vec<TupleTerm>),
}

impl TupleInTerms {
    /// # Errors
    /// As [`TupleTerm::bind`], and a null or unset list.
    pub fn bind<'t>(&'t self, bind: &'t Bind<'_>) -> Result<Vec<Vec<Value<'t>>>> {
        match self {
            TupleInTerms::Terms(terms) => terms
                .iter()
                .map(|term| term.bind(bind)?.ok_or_else(|| invalid!("Invalid null value for IN restriction")))
                .collect(),
            TupleInTerms::Marker { index, ty, name } => match bind.value(*index) {
                Value::Null => Err(invalid!("Invalid null value for IN restriction")),
                Value::Unset => Err(invalid!("Invalid unset value for {name}")),
                Value::Bytes(bytes) => {
                    let CqlType::List { element, .. } = ty else { return Ok(Vec::new()) };
                    let mut tuples = Vec::new();
                    for tuple in collection::ListRef::parse(bytes)?.iter() {
                        let tuple = tuple.ok_or_else(|| invalid!("Invalid null value for IN restriction"))?;
                        tuples.push(split_tuple(element, tuple)?);
                    }
                    Ok(tuples)
                }
            },
        }
    }
}
