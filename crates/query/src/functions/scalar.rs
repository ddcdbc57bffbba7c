//! Scalar functions: one variant a body, evaluated over serialised arguments.
//!
//! Null arguments, and empty ones of types for which an empty value means nothing, give null unless the function says
//! otherwise.

use helenus_cql::Arithmetic;
use helenus_types::token::Token;
use helenus_types::{CqlType, cast, composite, value};

use crate::error::{QueryError, Result, hex, invalid};
use crate::functions::aggregate::AggregateKind;
use crate::functions::masking::{self, MaskKind};
use crate::functions::math::{self, MathKind};
use crate::functions::time::{self, NowKind};
use crate::functions::vector::{self, SimilarityKind};
use crate::functions::{Function, FunctionContext, collection, operation};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    Now(NowKind),
    MinTimeuuid,
    MaxTimeuuid,
    ToDate,
    ToTimestamp,
    ToUnixTimestamp,
    Floor,
    Math(MathKind),
    Uuid,
    Operation(Arithmetic),
    Negation,
    Cast,
    ToBlob,
    /// `type_name` as it stands in the function's name.
    FromBlob {
        type_name: &'static str,
    },
    /// Of the partition key columns.
    Token,
    ToJson,
    FromJson,
    MapKeys,
    MapValues,
    CollectionCount,
    CollectionAggregate(AggregateKind),
    Similarity(SimilarityKind),
    Mask(MaskKind),
}

/// The argument, unless it counts as null.
fn present<'a>(function: &Function, arguments: &[Option<&'a [u8]>], index: usize) -> Option<&'a [u8]> {
    let bytes = arguments.get(index).copied().flatten()?;
    let meaningless = bytes.is_empty() && function.arguments.get(index).is_some_and(CqlType::is_empty_meaningless);
    (!meaningless).then_some(bytes)
}

pub fn execute(
    function: &Function,
    kind: &ScalarKind,
    arguments: &[Option<&[u8]>],
    context: &FunctionContext<'_>,
) -> Result<Option<Vec<u8>>> {
    let raw = |index: usize| arguments.get(index).copied().flatten();
    match kind {
        ScalarKind::Now(kind) => return Ok(Some(time::now(*kind, context.env))),
        ScalarKind::Uuid => return Ok(Some(context.env.new_uuid().as_bytes().to_vec())),
        ScalarKind::ToBlob => return Ok(raw(0).map(<[u8]>::to_vec)),
        ScalarKind::FromBlob { type_name } => {
            let Some(bytes) = raw(0) else { return Ok(None) };
            if function.returns.validate(bytes).is_err() {
                return Err(invalid!(
                    "In call to function {}, value 0x{} is not a valid binary representation for type {type_name}",
                    function.full_name(),
                    hex(bytes)
                ));
            }
            return Ok(Some(bytes.to_vec()));
        }
        ScalarKind::Mask(kind) => {
            let ty = function.arguments.first().unwrap_or(&CqlType::Blob);
            return masking::mask(*kind, &function.name, ty, arguments);
        }
        ScalarKind::Token => return token(arguments),
        ScalarKind::ToJson => {
            let text = present(function, arguments, 0).map_or_else(
                || "null".to_owned(),
                |bytes| function.arguments.first().unwrap_or(&CqlType::Blob).to_json(bytes),
            );
            return Ok(Some(text.into_bytes()));
        }
        ScalarKind::CollectionCount => return Ok(raw(0).map(collection::count)),
        ScalarKind::CollectionAggregate(kind) => {
            let element = &function.returns;
            return raw(0).map_or(Ok(None), |bytes| collection::aggregate(*kind, element, bytes));
        }
        _ => {}
    }
    let mut values = smallvec::SmallVec::<[&[u8]; 3]>::new();
    for index in 0..function.arguments.len() {
        match present(function, arguments, index) {
            Some(bytes) => values.push(bytes),
            None => return Ok(None),
        }
    }
    let (first_type, first) =
        (function.arguments.first().unwrap_or(&CqlType::Blob), values.first().copied().unwrap_or(&[]));
    match kind {
        ScalarKind::MinTimeuuid => Ok(value::decode_timestamp(first).map(time::min_timeuuid)),
        ScalarKind::MaxTimeuuid => Ok(value::decode_timestamp(first).map(time::max_timeuuid)),
        ScalarKind::ToDate => Ok(time::to_millis(first_type, first).and_then(time::date_of_millis)),
        ScalarKind::ToTimestamp | ScalarKind::ToUnixTimestamp => {
            Ok(time::to_millis(first_type, first).map(value::encode_bigint))
        }
        ScalarKind::Floor => time::floor(function, &values),
        ScalarKind::Math(kind) => math::evaluate(*kind, first_type, first),
        ScalarKind::Operation(operator) => {
            let second = values.get(1).copied().unwrap_or(&[]);
            operation::evaluate(function, *operator, first, second)
        }
        ScalarKind::Negation => Ok(operation::negate(first_type, first)),
        ScalarKind::Cast => cast::apply(first_type, &function.returns, first).map_err(QueryError::from),
        ScalarKind::FromJson => from_json(function, first),
        ScalarKind::MapKeys => collection::map_keys(first).map(Some),
        ScalarKind::MapValues => collection::map_values(first).map(Some),
        ScalarKind::Similarity(kind) => {
            let second = values.get(1).copied().unwrap_or(&[]);
            vector::similarity(&function.name, *kind, first, second).map(Some)
        }
        ScalarKind::Now(_)
        | ScalarKind::Uuid
        | ScalarKind::ToBlob
        | ScalarKind::FromBlob { .. }
        | ScalarKind::Token
        | ScalarKind::Mask(_)
        | ScalarKind::ToJson
        | ScalarKind::CollectionCount
        | ScalarKind::CollectionAggregate(_) => Ok(None), // Answered above.
    }
}

fn token(arguments: &[Option<&[u8]>]) -> Result<Option<Vec<u8>>> {
    let Some(components) = arguments.iter().copied().collect::<Option<Vec<&[u8]>>>() else { return Ok(None) };
    let key = composite::partition_key(&components)?;
    Ok(Some(value::encode_bigint(Token::of_key(&key).value())))
}

fn from_json(function: &Function, text: &[u8]) -> Result<Option<Vec<u8>>> {
    let text = String::from_utf8_lossy(text);
    let parsed: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
        function.failure(format!(
            "execution of '{}[text]' failed: Could not decode JSON string '{text}': com.fasterxml.jackson.core.JsonParseException: {error}",
            function.full_name()
        ))
    })?;
    if parsed.is_null() {
        return Ok(None);
    }
    function.returns.parse_json(&parsed).map(Some).map_err(|error| {
        function.failure(format!("org.apache.cassandra.serializers.MarshalException: {}", error.text()))
    })
}
