//! Raw terms become [`Term`]s: types are checked, functions resolved, constants serialised, markers get their names.

use helenus_cql::{BindMarker, InValues, Term as RawTerm};
use helenus_data::Blob;
use helenus_protocol::ColumnSpec;
use helenus_types::CqlType;

use crate::error::{Result, ensure, invalid};
use crate::functions;
use crate::terms::assignment::{
    Argument, Scope, call_parts, check_tuple, check_user_type, component_types, parse_literal,
};
use crate::terms::receiver::Receiver;
use crate::terms::term::{Bind, InTerms, Term, TupleInTerms, TupleTerm};
use crate::terms::type_name::{display_resolved_type_name, resolve_type};
use crate::terms::value::Value;

/// The bind markers of a statement and what they turned out to receive.
pub struct Markers {
    names: Vec<Option<Box<str>>>,
    specs: Vec<Option<ColumnSpec>>,
    key_positions: Vec<Option<u16>>,
    /// For the evaluation of constants while preparing.
    env: helenus_env::Env,
}

impl Markers {
    #[must_use]
    pub fn new(markers: &[BindMarker], env: &helenus_env::Env) -> Self {
        Self {
            names: markers.iter().map(|marker| marker.name.as_ref().map(|name| name.as_str().into())).collect(),
            specs: vec![None; markers.len()],
            key_positions: vec![None; markers.len()],
            env: env.clone(),
        }
    }

    pub fn add(&mut self, index: u16, receiver: &Receiver) -> usize {
        let at = usize::from(index);
        if let (Some(spec), Some(name)) = (self.specs.get_mut(at), self.names.get(at)) {
            *spec = Some(receiver.spec(name.as_deref()));
        }
        if let (Some(position), Some(slot)) = (receiver.key_position, self.key_positions.get_mut(at)) {
            *slot = Some(position);
        }
        at
    }

    /// Name and type of each marker.
    #[must_use]
    pub fn specs(&self) -> Vec<ColumnSpec> {
        self.specs.iter().flatten().cloned().collect()
    }

    /// For each partition key column the marker that gives it; `None` unless all are given by markers.
    #[must_use]
    pub fn partition_key_indexes(&self, key_column_count: usize) -> Option<Vec<u16>> {
        let mut indexes = vec![None; key_column_count];
        for (index, position) in self.key_positions.iter().enumerate() {
            if let Some(slot) = position.and_then(|position| indexes.get_mut(usize::from(position))) {
                *slot = u16::try_from(index).ok();
            }
        }
        indexes.into_iter().collect()
    }
}

/// Resolves `raw` for `receiver`.
///
/// # Errors
/// Everything that does not fit, in Cassandra's words.
pub fn prepare(scope: &Scope<'_>, raw: &RawTerm, receiver: &Receiver, markers: &mut Markers) -> Result<Term> {
    match raw {
        RawTerm::Literal(literal) => {
            ensure!(
                raw.test(scope, receiver)?.is_possible(),
                "Invalid {} constant ({}) for \"{}\" of type {}",
                literal.kind.name(),
                literal.text,
                receiver.name,
                receiver.ty
            );
            Ok(Term::Constant(parse_literal(literal, &receiver.ty)?.into()))
        }
        RawTerm::Null => {
            ensure!(!receiver.ty.is_counter(), "Invalid null value for counter increment/decrement");
            Ok(Term::Null)
        }
        RawTerm::Marker(marker) => {
            let index = markers.add(marker.index, receiver);
            Ok(Term::Marker { index, ty: receiver.ty.clone(), is_raw: receiver.is_descending })
        }
        RawTerm::List(elements) => prepare_array(scope, elements, receiver, markers),
        RawTerm::Set(elements) => prepare_set(scope, elements, receiver, markers),
        RawTerm::Map(entries) => prepare_map(scope, entries, receiver, markers),
        RawTerm::UserType(fields) => {
            let named: Vec<(&str, &RawTerm)> = fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
            check_user_type(scope, receiver, &named)?;
            let CqlType::Udt(udt, _) = &receiver.ty else {
                return Err(invalid!("Invalid user type literal for {} of type {}", receiver.name, receiver.ty));
            };
            let mut terms = Vec::with_capacity(udt.fields.len());
            for field in &udt.fields {
                let raw = named.iter().find(|(name, _)| *name == &*field.name).map_or(&RawTerm::Null, |(_, raw)| raw);
                terms.push(prepare(scope, raw, &receiver.field(&field.name, &field.ty), markers)?);
            }
            if let Some((unknown, _)) = named.iter().find(|(name, _)| udt.field_index(name).is_none()) {
                return Err(invalid!("Unknown field '{unknown}' in value of user defined type {}", udt.name));
            }
            fold(Term::UserType { ty: receiver.ty.clone(), fields: terms }, markers)
        }
        RawTerm::Tuple(elements) => match (elements.as_slice(), component_types(&receiver.ty)) {
            ([only], None) => prepare(scope, only, receiver, markers),
            (_, types) => {
                check_tuple(scope, receiver, elements)?;
                let types = types.unwrap_or_default();
                let mut components = Vec::with_capacity(elements.len());
                for (index, (element, ty)) in elements.iter().zip(&types).enumerate() {
                    components.push(prepare(scope, element, &receiver.component(index, ty), markers)?);
                }
                fold(Term::Tuple { component_count: types.len(), components }, markers)
            }
        },
        RawTerm::Function { .. } | RawTerm::Cast { .. } | RawTerm::Binary { .. } | RawTerm::Negation(_) => {
            prepare_call(scope, raw, receiver, markers)
        }
        RawTerm::TypeHint { type_name, term } => {
            let hinted = resolve_type(scope.schema, scope.keyspace, type_name)?;
            let hinted = receiver.derive(raw.to_string(), hinted);
            ensure!(
                term.test(scope, &hinted)?.is_possible(),
                "Cannot cast value {term} to type {}",
                display_resolved_type_name(type_name, scope.keyspace)
            );
            ensure!(
                raw.test(scope, receiver)?.is_possible(),
                "Cannot assign value {raw} to {} of type {}",
                receiver.name,
                receiver.ty
            );
            prepare(scope, term, receiver, markers)
        }
    }
}

/// Evaluates what consists of constants only.
fn fold(term: Term, markers: &Markers) -> Result<Term> {
    let constant = match &term {
        Term::List(elements) | Term::Set { elements, .. } | Term::Vector { elements, .. } => {
            elements.iter().all(Term::is_constant)
        }
        Term::Map { entries, .. } => entries.iter().all(|(key, value)| key.is_constant() && value.is_constant()),
        Term::Tuple { components, .. } => components.iter().all(Term::is_constant),
        Term::UserType { fields, .. } => fields.iter().all(Term::is_constant),
        Term::Null | Term::Unset | Term::Constant(_) | Term::Marker { .. } | Term::Function { .. } | Term::Json(_) => {
            false
        }
    };
    if !constant {
        return Ok(term);
    }
    let bind = Bind::new(&[], &markers.env);
    Ok(match term.bind(&bind)? {
        Value::Null => Term::Null,
        Value::Unset => Term::Unset,
        Value::Bytes(bytes) => Term::Constant(Blob::from(&*bytes)),
    })
}

fn prepare_array(scope: &Scope<'_>, raws: &[RawTerm], receiver: &Receiver, markers: &mut Markers) -> Result<Term> {
    match &receiver.ty {
        CqlType::List { element, .. } => {
            let spec = receiver.element(element);
            check_elements(scope, "list", raws, receiver, &spec)?;
            let mut elements = Vec::with_capacity(raws.len());
            for raw in raws {
                elements.push(prepare_element(scope, "list", raw, receiver, &spec, markers)?);
            }
            fold(Term::List(elements), markers)
        }
        CqlType::Vector { element, dimension } => {
            ensure!(
                u32::try_from(raws.len()).ok() == Some(*dimension),
                "Invalid vector literal for {} of type {}; expected {dimension} elements, but given {}",
                receiver.name,
                receiver.ty,
                raws.len()
            );
            let spec = receiver.element(element);
            let mut elements = Vec::with_capacity(raws.len());
            for raw in raws {
                ensure!(
                    raw.test(scope, &spec)?.is_possible(),
                    "Invalid vector literal for {}: value {raw} is not of type {}",
                    receiver.name,
                    spec.ty
                );
                elements.push(prepare(scope, raw, &spec, markers)?);
            }
            fold(Term::Vector { element: (**element).clone(), elements }, markers)
        }
        other => Err(invalid!("Unexpected receiver type '{other}'; only list and vector are expected")),
    }
}

fn prepare_set(scope: &Scope<'_>, raws: &[RawTerm], receiver: &Receiver, markers: &mut Markers) -> Result<Term> {
    let element = match &receiver.ty {
        CqlType::Map { .. } if raws.is_empty() => {
            return Ok(Term::Constant(helenus_types::collection::pack_map(&[]).into()));
        }
        CqlType::Set { element, .. } => element,
        other => return Err(invalid!("Invalid set literal for {} of type {other}", receiver.name)),
    };
    let spec = receiver.element(element);
    check_elements(scope, "set", raws, receiver, &spec)?;
    let mut elements = Vec::with_capacity(raws.len());
    for raw in raws {
        elements.push(prepare_element(scope, "set", raw, receiver, &spec, markers)?);
    }
    fold(Term::Set { element: (**element).clone(), elements }, markers)
}

fn prepare_map(
    scope: &Scope<'_>,
    raws: &[(RawTerm, RawTerm)],
    receiver: &Receiver,
    markers: &mut Markers,
) -> Result<Term> {
    let CqlType::Map { key, value, .. } = &receiver.ty else {
        return Err(invalid!("Invalid map literal for {} of type {}", receiver.name, receiver.ty));
    };
    let (key_spec, value_spec) = (receiver.key(key), receiver.element(value));
    for (raw_key, raw_value) in raws {
        ensure!(
            raw_key.test(scope, &key_spec)?.is_possible(),
            "Invalid map literal for {}: key {raw_key} is not of type {}",
            receiver.name,
            key_spec.ty
        );
        ensure!(
            raw_value.test(scope, &value_spec)?.is_possible(),
            "Invalid map literal for {}: value {raw_value} is not of type {}",
            receiver.name,
            value_spec.ty
        );
    }
    let mut entries = Vec::with_capacity(raws.len());
    for (raw_key, raw_value) in raws {
        let entry_key = prepare_element(scope, "map", raw_key, receiver, &key_spec, markers)?;
        entries.push((entry_key, prepare_element(scope, "map", raw_value, receiver, &value_spec, markers)?));
    }
    fold(Term::Map { key: (**key).clone(), entries }, markers)
}

fn check_elements(scope: &Scope<'_>, kind: &str, raws: &[RawTerm], whole: &Receiver, spec: &Receiver) -> Result<()> {
    for raw in raws {
        ensure!(
            raw.test(scope, spec)?.is_possible(),
            "Invalid {kind} literal for {}: value {raw} is not of type {}",
            whole.name,
            spec.ty
        );
    }
    Ok(())
}

fn prepare_element(
    scope: &Scope<'_>,
    kind: &str,
    raw: &RawTerm,
    whole: &Receiver,
    spec: &Receiver,
    markers: &mut Markers,
) -> Result<Term> {
    let term = prepare(scope, raw, spec, markers)?;
    ensure!(
        !term.contains_marker(),
        "Invalid {kind} literal for {}: bind variables are not supported inside collection literals",
        whole.name
    );
    Ok(term)
}

fn prepare_call(scope: &Scope<'_>, raw: &RawTerm, receiver: &Receiver, markers: &mut Markers) -> Result<Term> {
    let Some((name, arguments)) = call_parts(raw) else {
        return Err(invalid!("Unknown function {raw} called"));
    };
    let function = functions::resolve(scope, &name, &arguments, Some(receiver))?
        .ok_or_else(|| invalid!("Unknown function {name} called"))?;
    ensure!(!function.is_aggregate(), "Aggregation function are not supported in the where clause");
    if !function.test_return(&receiver.ty).is_possible() {
        return Err(match functions::operator_sign(&name) {
            Some(sign) => invalid!(
                "Type error: cannot assign result of operation {sign} (type {}) to {} (type {})",
                function.returns,
                receiver.name,
                receiver.ty
            ),
            None => invalid!(
                "Type error: cannot assign result of function {} (type {}) to {} (type {})",
                function.full_name(),
                function.returns,
                receiver.name,
                receiver.ty
            ),
        });
    }
    ensure!(
        function.arguments.len() == arguments.len(),
        "Incorrect number of arguments specified for function {function} (expected {}, found {})",
        function.arguments.len(),
        arguments.len()
    );
    let mut terms = Vec::with_capacity(arguments.len());
    for (index, argument) in arguments.into_iter().enumerate() {
        terms.push(prepare(scope, argument, &function.argument_receiver(receiver, index), markers)?);
    }
    Ok(Term::Function { function, arguments: terms })
}

/// The right side of `column IN …`.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_in_values(
    scope: &Scope<'_>,
    values: &InValues,
    receiver: &Receiver,
    markers: &mut Markers,
) -> Result<InTerms> {
    match values {
        InValues::Marker(marker) => {
            let list = receiver.in_list();
            Ok(InTerms::Marker { index: markers.add(marker.index, &list), ty: list.ty })
        }
        InValues::Terms(raws) => {
            let terms: Result<Vec<Term>> = raws.iter().map(|raw| prepare(scope, raw, receiver, markers)).collect();
            Ok(InTerms::Terms(terms?))
        }
    }
}

/// The right side of `(columns) operator …`.
///
/// # Errors
/// As [`prepare`], and a tuple of another length.
pub fn prepare_tuple(
    scope: &Scope<'_>,
    raw: &RawTerm,
    receivers: &[Receiver],
    markers: &mut Markers,
) -> Result<TupleTerm> {
    match raw {
        RawTerm::Tuple(elements) => {
            ensure!(
                elements.len() == receivers.len(),
                "Expected {} elements in value tuple, but got {}: {raw}",
                receivers.len(),
                elements.len()
            );
            let mut components = Vec::with_capacity(elements.len());
            for (element, receiver) in elements.iter().zip(receivers) {
                components.push(prepare(scope, element, receiver, markers)?);
            }
            Ok(TupleTerm::Components(components))
        }
        RawTerm::Marker(marker) => {
            let receiver = tuple_receiver(receivers, "");
            let index = markers.add(marker.index, &receiver);
            Ok(TupleTerm::Marker { index, ty: receiver.ty, name: receiver.name })
        }
        other => Err(invalid!("Expected {} elements in value tuple, but got 1: {other}", receivers.len())),
    }
}

/// The right side of `(columns) IN …`.
///
/// # Errors
/// As [`prepare_tuple`], and a marker for columns that are non-frozen collections.
pub fn prepare_tuple_in_values(
    scope: &Scope<'_>,
    values: &InValues,
    receivers: &[Receiver],
    markers: &mut Markers,
) -> Result<TupleInTerms> {
    match values {
        InValues::Marker(marker) => {
            for receiver in receivers {
                ensure!(
                    !(receiver.ty.is_collection() && receiver.ty.is_multi_cell()),
                    "Non-frozen collection columns do not support IN relations"
                );
            }
            let tuple = tuple_receiver(receivers, "in");
            let name = tuple.name.clone();
            let list = tuple
                .derive(name.clone(), CqlType::List { element: std::sync::Arc::new(tuple.ty.clone()), frozen: true });
            Ok(TupleInTerms::Marker { index: markers.add(marker.index, &list), ty: list.ty, name })
        }
        InValues::Terms(raws) => {
            let terms: Result<Vec<TupleTerm>> =
                raws.iter().map(|raw| prepare_tuple(scope, raw, receivers, markers)).collect();
            Ok(TupleInTerms::Terms(terms?))
        }
    }
}

/// The receiver of one marker for a whole tuple: `(a,b)` or `in(a,b)`.
fn tuple_receiver(receivers: &[Receiver], prefix: &str) -> Receiver {
    let names: Vec<&str> = receivers.iter().map(|receiver| &*receiver.name).collect();
    let types: Vec<CqlType> = receivers.iter().map(|receiver| receiver.ty.frozen()).collect();
    let name = format!("{prefix}({})", names.join(","));
    let ty = CqlType::Tuple(types.into());
    receivers
        .first()
        .map_or_else(|| Receiver::new("", "", name.clone(), ty.clone()), |first| first.derive(name.clone(), ty.clone()))
}
