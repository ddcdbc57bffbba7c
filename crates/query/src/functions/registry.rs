//! The native functions by name.
//!
//! Source: Cassandra 5.0, `cql3.functions.NativeFunctions` and the classes it collects.

use std::sync::Arc;

use helenus_types::{CqlType, cast};

use crate::error::Result;
use crate::functions::aggregate::AggregateKind;
use crate::functions::math::MathKind;
use crate::functions::operation;
use crate::functions::scalar::ScalarKind;
use crate::functions::time::NowKind;
use crate::functions::{Function, FunctionName, factory};
use crate::terms::{Argument, Scope};

/// Types that arithmetic and mathematical functions work on.
pub const NUMERIC: [CqlType; 9] = [
    CqlType::Tinyint,
    CqlType::Smallint,
    CqlType::Int,
    CqlType::Bigint,
    CqlType::Float,
    CqlType::Double,
    CqlType::Decimal,
    CqlType::Varint,
    CqlType::Counter,
];

/// Whether arithmetic works on values of the type.
#[must_use]
pub fn is_numeric(ty: &CqlType) -> bool {
    NUMERIC.contains(ty)
}

/// Types that blob conversions exist for, by the name in the function's name.
const CONVERTIBLE: [(&str, CqlType); 21] = [
    ("ascii", CqlType::Ascii),
    ("bigint", CqlType::Bigint),
    ("boolean", CqlType::Boolean),
    ("counter", CqlType::Counter),
    ("date", CqlType::Date),
    ("decimal", CqlType::Decimal),
    ("double", CqlType::Double),
    ("duration", CqlType::Duration),
    ("empty", CqlType::Empty),
    ("float", CqlType::Float),
    ("inet", CqlType::Inet),
    ("int", CqlType::Int),
    ("smallint", CqlType::Smallint),
    ("text", CqlType::Text),
    ("time", CqlType::Time),
    ("timestamp", CqlType::Timestamp),
    ("timeuuid", CqlType::Timeuuid),
    ("tinyint", CqlType::Tinyint),
    ("uuid", CqlType::Uuid),
    ("varchar", CqlType::Text),
    ("varint", CqlType::Varint),
];

/// Whether signatures of that name are made for their arguments.
#[must_use]
pub fn has_factory(name: &str) -> bool {
    name == "token" || factory::parameters(name).is_some()
}

/// All signatures of `name`; those that depend on the arguments made for these.
///
/// # Errors
/// What a factory refuses.
pub fn candidates<A: Argument>(
    scope: &Scope<'_>,
    name: &FunctionName,
    arguments: &[A],
    receiver: Option<&CqlType>,
) -> Result<Vec<Arc<Function>>> {
    if !name.is_native() {
        return Ok(Vec::new());
    }
    if has_factory(&name.name) {
        return factory::make(scope, &name.name, arguments, receiver).map(|function| vec![function]);
    }
    Ok(fixed(&name.name))
}

fn fixed(name: &str) -> Vec<Arc<Function>> {
    let one = |arguments: Vec<CqlType>, returns: CqlType, kind: ScalarKind| {
        vec![Function::scalar(name, arguments, returns, kind)]
    };
    let each = |types: &[CqlType], returns: CqlType, kind: ScalarKind| {
        types.iter().map(|ty| Function::scalar(name, vec![ty.clone()], returns.clone(), kind.clone())).collect()
    };
    let same = |kind: MathKind| {
        let make = |ty: &CqlType| Function::scalar(name, vec![ty.clone()], ty.clone(), ScalarKind::Math(kind));
        NUMERIC.iter().map(make).collect()
    };
    let now = |kind: NowKind| one(vec![], kind.returns(), ScalarKind::Now(kind));
    match name {
        "now" | "current_timeuuid" | "currenttimeuuid" => now(NowKind::Timeuuid),
        "current_timestamp" | "currenttimestamp" => now(NowKind::Timestamp),
        "current_date" | "currentdate" => now(NowKind::Date),
        "current_time" | "currenttime" => now(NowKind::Time),
        "min_timeuuid" | "mintimeuuid" => one(vec![CqlType::Timestamp], CqlType::Timeuuid, ScalarKind::MinTimeuuid),
        "max_timeuuid" | "maxtimeuuid" => one(vec![CqlType::Timestamp], CqlType::Timeuuid, ScalarKind::MaxTimeuuid),
        "to_date" | "todate" => each(&[CqlType::Timeuuid, CqlType::Timestamp], CqlType::Date, ScalarKind::ToDate),
        "to_timestamp" | "totimestamp" => {
            each(&[CqlType::Timeuuid, CqlType::Date], CqlType::Timestamp, ScalarKind::ToTimestamp)
        }
        "to_unix_timestamp" | "tounixtimestamp" => {
            each(&[CqlType::Timeuuid, CqlType::Timestamp, CqlType::Date], CqlType::Bigint, ScalarKind::ToUnixTimestamp)
        }
        "floor" => floor_functions(),
        "abs" => same(MathKind::Abs),
        "exp" => same(MathKind::Exp),
        "log" => same(MathKind::Log),
        "log10" => same(MathKind::Log10),
        "round" => same(MathKind::Round),
        "uuid" => one(vec![], CqlType::Uuid, ScalarKind::Uuid),
        "_negate" => {
            let make = |ty: &CqlType| Function::scalar(name, vec![ty.clone()], ty.clone(), ScalarKind::Negation);
            NUMERIC.iter().map(make).collect()
        }
        "count_rows" | "countRows" => {
            vec![Function::aggregate(name, vec![], CqlType::Bigint, AggregateKind::CountRows)]
        }
        "count" => vec![Function::aggregate(name, vec![CqlType::Blob], CqlType::Bigint, AggregateKind::Count)],
        "sum" | "avg" => {
            let kind = if name == "sum" { AggregateKind::Sum } else { AggregateKind::Avg };
            let make = |ty: &CqlType| Function::aggregate(name, vec![ty.clone()], ty.clone(), kind);
            NUMERIC.iter().map(make).collect()
        }
        _ => operation::signatures(name).or_else(|| casts(name)).or_else(|| blob_conversion(name)).unwrap_or_default(),
    }
}

fn floor_functions() -> Vec<Arc<Function>> {
    let signature = |ty: CqlType, start: Option<CqlType>, returns: CqlType| {
        let mut arguments = vec![ty, CqlType::Duration];
        arguments.extend(start);
        Function::scalar("floor", arguments, returns, ScalarKind::Floor)
    };
    vec![
        signature(CqlType::Timestamp, None, CqlType::Timestamp),
        signature(CqlType::Timestamp, Some(CqlType::Timestamp), CqlType::Timestamp),
        signature(CqlType::Timeuuid, None, CqlType::Timestamp),
        signature(CqlType::Timeuuid, Some(CqlType::Timestamp), CqlType::Timestamp),
        signature(CqlType::Date, None, CqlType::Date),
        signature(CqlType::Date, Some(CqlType::Date), CqlType::Date),
        signature(CqlType::Time, None, CqlType::Time),
    ]
}

/// `cast_as_int`, `castAsInt`.
fn casts(name: &str) -> Option<Vec<Arc<Function>>> {
    let target = match name.strip_prefix("castAs") {
        Some(capitalised) => capitalised.to_lowercase(),
        None => name.strip_prefix("cast_as_")?.to_owned(),
    };
    let target = CqlType::native(&target)?;
    let natives = CONVERTIBLE.iter().filter(|(text, _)| *text != "varchar").map(|(_, ty)| ty);
    let sources = natives.filter(|from| **from != target && cast::cast_result_allowed(from, &target));
    let functions: Vec<Arc<Function>> =
        sources.map(|from| Function::scalar(name, vec![from.clone()], target.clone(), ScalarKind::Cast)).collect();
    (!functions.is_empty()).then_some(functions)
}

/// `int_as_blob`, `intasblob`, `blob_as_int`, `blobasint`.
fn blob_conversion(name: &str) -> Option<Vec<Arc<Function>>> {
    for (text, ty) in &CONVERTIBLE {
        if name.strip_prefix(text).is_some_and(|rest| rest == "_as_blob" || rest == "asblob") {
            return Some(vec![Function::scalar(name, vec![ty.clone()], CqlType::Blob, ScalarKind::ToBlob)]);
        }
        if name.strip_suffix(text).is_some_and(|rest| rest == "blob_as_" || rest == "blobas") {
            let kind = ScalarKind::FromBlob { type_name: text };
            return Some(vec![Function::scalar(name, vec![CqlType::Blob], ty.clone(), kind)]);
        }
    }
    None
}
