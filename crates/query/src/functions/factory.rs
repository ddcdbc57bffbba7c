//! Functions whose signature follows from their arguments: `token`, `to_json`, `max`, `map_keys`, similarities.
//!
//! Source: Cassandra 5.0, `cql3.functions.FunctionFactory`, `FunctionParameter`.

use std::fmt;
use std::sync::Arc;

use helenus_types::CqlType;

use crate::error::{Result, ensure, invalid};
use crate::functions::aggregate::AggregateKind;
use crate::functions::masking::MaskKind;
use crate::functions::registry::NUMERIC;
use crate::functions::scalar::ScalarKind;
use crate::functions::vector::SimilarityKind;
use crate::functions::{Function, NATIVE_KEYSPACE};
use crate::terms::{Argument, Scope, test_type};

/// What an argument must be, and how its type is inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    Any {
        from_receiver: bool,
    },
    Text,
    /// May be left out.
    OptionalText,
    /// Text or ASCII.
    AnyText,
    Int,
    /// Of the first argument's type.
    SameAsFirst,
    AnyMap,
    AnyCollection,
    SetOrList,
    NumericSetOrList,
    /// A vector of floats; without an own type it is as the parameter of that index.
    FloatVector {
        same_as: usize,
    },
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Parameter::Any { .. } | Parameter::SameAsFirst => "any",
            Parameter::Text => "text",
            Parameter::OptionalText => "[text]",
            Parameter::AnyText => "[text|varchar|ascii]",
            Parameter::Int => "int",
            Parameter::AnyMap => "map",
            Parameter::AnyCollection => "collection",
            // Upstream's slip: `setOrList` prints itself like its numeric sibling.
            Parameter::SetOrList | Parameter::NumericSetOrList => "numeric_set_or_list",
            Parameter::FloatVector { .. } => "vector<float, n>",
        })
    }
}

/// The parameters of a function that is made for its arguments; `token` apart, whose parameters the table gives.
#[must_use]
pub fn parameters(name: &str) -> Option<&'static [Parameter]> {
    Some(match name {
        "to_json" | "tojson" => &[Parameter::Any { from_receiver: false }],
        "from_json" | "fromjson" => &[Parameter::Text],
        "mask_null" | "mask_default" => &[Parameter::Any { from_receiver: false }],
        "mask_replace" => &[Parameter::Any { from_receiver: true }, Parameter::SameAsFirst],
        "mask_hash" => &[Parameter::Any { from_receiver: false }, Parameter::OptionalText],
        "mask_inner" | "mask_outer" => &[Parameter::AnyText, Parameter::Int, Parameter::Int, Parameter::OptionalText],
        "max" | "min" => &[Parameter::Any { from_receiver: true }],
        "map_keys" | "map_values" => &[Parameter::AnyMap],
        "collection_count" => &[Parameter::AnyCollection],
        "collection_min" | "collection_max" => &[Parameter::SetOrList],
        "collection_sum" | "collection_avg" => &[Parameter::NumericSetOrList],
        "similarity_cosine" | "similarity_euclidean" | "similarity_dot_product" => {
            &[Parameter::FloatVector { same_as: 1 }, Parameter::FloatVector { same_as: 0 }]
        }
        _ => return None,
    })
}

/// The signature of `name` for these arguments.
///
/// # Errors
/// A wrong number of arguments, types that cannot be inferred or do not fit.
pub fn make<A: Argument>(
    scope: &Scope<'_>,
    name: &str,
    arguments: &[A],
    receiver: Option<&CqlType>,
) -> Result<Arc<Function>> {
    if name == "token" {
        let table = scope
            .table
            .ok_or_else(|| invalid!("No receiver table has been specified for function {NATIVE_KEYSPACE}.token"))?;
        let types: Vec<CqlType> = table.partition_key().iter().map(|column| column.ty.clone()).collect();
        return Ok(Function::scalar(name, types, CqlType::Bigint, ScalarKind::Token));
    }
    let parameters = parameters(name).unwrap_or_default();
    let types = infer(scope, name, parameters, arguments, receiver)?;
    let first = types.first().cloned().unwrap_or(CqlType::Blob);
    let scalar = |returns: CqlType, kind: ScalarKind| Ok(Function::scalar(name, types.clone(), returns, kind));
    if let Some(kind) = MaskKind::of(name) {
        let returns = if kind == MaskKind::Hash { CqlType::Blob } else { first };
        return scalar(returns, ScalarKind::Mask(kind));
    }
    match name {
        // The old name is forgotten, unlike those of other functions.
        "to_json" | "tojson" => Ok(Function::scalar("to_json", types.clone(), CqlType::Text, ScalarKind::ToJson)),
        "from_json" | "fromjson" => {
            let Some(receiver) = receiver else {
                return Err(invalid!("{name}() cannot be used in the selection clause of a SELECT statement"));
            };
            Ok(Function::scalar(name, vec![CqlType::Text], receiver.clone(), ScalarKind::FromJson))
        }
        "max" | "min" => {
            let kind = if name == "max" { AggregateKind::Max } else { AggregateKind::Min };
            Ok(Function::aggregate(name, types.clone(), first, kind))
        }
        "map_keys" => match &first {
            CqlType::Map { key, .. } => {
                scalar(CqlType::Set { element: Arc::clone(key), frozen: true }, ScalarKind::MapKeys)
            }
            _ => Err(invalid!("Function {NATIVE_KEYSPACE}.{name} requires a map argument")),
        },
        "map_values" => match &first {
            CqlType::Map { value, .. } => {
                scalar(CqlType::List { element: Arc::clone(value), frozen: true }, ScalarKind::MapValues)
            }
            _ => Err(invalid!("Function {NATIVE_KEYSPACE}.{name} requires a map argument")),
        },
        "collection_count" => scalar(CqlType::Int, ScalarKind::CollectionCount),
        "collection_min" | "collection_max" | "collection_sum" | "collection_avg" => {
            let kind = match name {
                "collection_min" => AggregateKind::Min,
                "collection_max" => AggregateKind::Max,
                "collection_sum" => AggregateKind::Sum,
                _ => AggregateKind::Avg,
            };
            let element = element_type(&first).cloned().unwrap_or(CqlType::Blob);
            scalar(element, ScalarKind::CollectionAggregate(kind))
        }
        _ => {
            let dimension = |ty: &CqlType| match ty {
                CqlType::Vector { dimension, .. } => Some(*dimension),
                _ => None,
            };
            ensure!(
                types.iter().all(|ty| dimension(ty) == dimension(&first)),
                "All arguments must have the same vector dimensions"
            );
            let kind = match name {
                "similarity_cosine" => SimilarityKind::Cosine,
                "similarity_euclidean" => SimilarityKind::Euclidean,
                _ => SimilarityKind::DotProduct,
            };
            scalar(CqlType::Float, ScalarKind::Similarity(kind))
        }
    }
}

fn infer<A: Argument>(
    scope: &Scope<'_>,
    name: &str,
    parameters: &[Parameter],
    arguments: &[A],
    receiver: Option<&CqlType>,
) -> Result<Vec<CqlType>> {
    let signature = || {
        let texts: Vec<String> = parameters.iter().map(ToString::to_string).collect();
        format!("{NATIVE_KEYSPACE}.{name}({})", texts.join(", "))
    };
    let required = parameters.iter().filter(|parameter| **parameter != Parameter::OptionalText).count();
    ensure!(
        (required..=parameters.len()).contains(&arguments.len()),
        "Invalid number of arguments for function {}",
        signature()
    );
    let own: Vec<Option<CqlType>> = parameters
        .iter()
        .zip(arguments)
        .map(|(parameter, argument)| own_type(scope, *parameter, argument, receiver))
        .collect();
    let mut types = Vec::with_capacity(own.len());
    for (index, (parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
        let found = own.get(index).cloned().flatten();
        let inferred = match parameter {
            Parameter::FloatVector { same_as } => found.or_else(|| own.get(*same_as).cloned().flatten()),
            Parameter::SameAsFirst => types.first().cloned(),
            _ => found,
        };
        let Some(ty) = inferred else {
            return Err(invalid!(
                "Cannot infer type of argument {argument} in call to function {}: use type casts to disambiguate",
                signature()
            ));
        };
        check(name, *parameter, argument, &ty)?;
        types.push(ty);
    }
    Ok(types)
}

fn own_type<A: Argument>(
    scope: &Scope<'_>,
    parameter: Parameter,
    argument: &A,
    receiver: Option<&CqlType>,
) -> Option<CqlType> {
    match parameter {
        Parameter::Text | Parameter::OptionalText | Parameter::AnyText => {
            argument.compatible_type(scope).or(Some(CqlType::Text))
        }
        Parameter::Int => argument.compatible_type(scope).or(Some(CqlType::Int)),
        Parameter::Any { from_receiver: true } => argument.compatible_type(scope).or_else(|| receiver.cloned()),
        Parameter::FloatVector { .. } => match argument.selected_array_len() {
            Some(dimension) => Some(CqlType::Vector { element: Arc::new(CqlType::Float), dimension }),
            None => argument.compatible_type(scope).or_else(|| receiver.cloned()),
        },
        Parameter::Any { .. }
        | Parameter::SameAsFirst
        | Parameter::AnyMap
        | Parameter::AnyCollection
        | Parameter::SetOrList
        | Parameter::NumericSetOrList => argument.compatible_type(scope),
    }
}

fn check<A: Argument>(name: &str, parameter: Parameter, argument: &A, ty: &CqlType) -> Result<()> {
    let refused = |wanted: &str| {
        Err(invalid!(
            "Function {NATIVE_KEYSPACE}.{name} requires {wanted} argument, but found argument {argument} of type {ty}"
        ))
    };
    let is_stored_upside_down = argument.is_descending_column();
    match parameter {
        Parameter::Any { .. } | Parameter::SameAsFirst => Ok(()),
        Parameter::Text | Parameter::OptionalText | Parameter::AnyText | Parameter::Int => {
            let wanted = if parameter == Parameter::Int { CqlType::Int } else { CqlType::Text };
            let is_ascii = parameter == Parameter::AnyText && *ty == CqlType::Ascii;
            let parameter = if parameter == Parameter::OptionalText { Parameter::Text } else { parameter };
            ensure!(
                is_ascii || test_type(ty, &wanted).is_possible(),
                "Function {NATIVE_KEYSPACE}.{name} requires an argument of type {parameter}, but found argument {argument} of \
                 type {ty}"
            );
            Ok(())
        }
        Parameter::AnyMap if is_stored_upside_down => refused("a map"),
        Parameter::AnyCollection if is_stored_upside_down => refused("a collection"),
        Parameter::SetOrList if is_stored_upside_down => refused("a set or list"),
        Parameter::NumericSetOrList if is_stored_upside_down => refused("a numeric set/list"),
        Parameter::FloatVector { .. } if is_stored_upside_down => refused("a float vector"),
        Parameter::AnyMap if ty.is_udt() || matches!(ty, CqlType::Map { .. }) => Ok(()),
        Parameter::AnyMap => refused("a map"),
        Parameter::AnyCollection if ty.is_collection() => Ok(()),
        Parameter::AnyCollection => refused("a collection"),
        Parameter::SetOrList if element_type(ty).is_some() => Ok(()),
        Parameter::SetOrList => refused("a set or list"),
        Parameter::NumericSetOrList if element_type(ty).is_some_and(|element| NUMERIC.contains(element)) => Ok(()),
        Parameter::NumericSetOrList => refused("a numeric set/list"),
        Parameter::FloatVector { .. } => match ty {
            CqlType::Vector { element, .. } if **element == CqlType::Float => Ok(()),
            _ => refused("a float vector"),
        },
    }
}

/// The element type of a set or list.
#[must_use]
pub fn element_type(ty: &CqlType) -> Option<&CqlType> {
    match ty {
        CqlType::List { element, .. } | CqlType::Set { element, .. } => Some(element),
        _ => None,
    }
}
