//! Arithmetic operators as native functions `_add`, `_substract`, …; string concatenation; negation.
//!
//! Source: Cassandra 5.0, `cql3.functions.OperationFcts`.

use std::sync::Arc;

use helenus_cql::Arithmetic;
use helenus_types::{CqlType, arithmetic};

use crate::error::Result;
use crate::functions::Function;
use crate::functions::registry::NUMERIC;
use crate::functions::scalar::ScalarKind;

const OPERATORS: [Arithmetic; 5] =
    [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide, Arithmetic::Modulo];

/// The operator that a native function's name stands for.
#[must_use]
pub fn operator_of(name: &str) -> Option<Arithmetic> {
    OPERATORS.into_iter().find(|operator| operator.function_name() == name)
}

fn operator(operator: Arithmetic) -> arithmetic::Operation {
    match operator {
        Arithmetic::Add => arithmetic::Operation::Add,
        Arithmetic::Subtract => arithmetic::Operation::Subtract,
        Arithmetic::Multiply => arithmetic::Operation::Multiply,
        Arithmetic::Divide => arithmetic::Operation::Divide,
        Arithmetic::Modulo => arithmetic::Operation::Modulo,
    }
}

/// All signatures of the operator function `name`; `None` when it is none.
#[must_use]
pub fn signatures(name: &str) -> Option<Vec<Arc<Function>>> {
    let sign = operator_of(name)?;
    let kind = ScalarKind::Operation(sign);
    let mut found = Vec::with_capacity(88);
    let mut push = |left: &CqlType, right: &CqlType, returns: CqlType| {
        found.push(Function::scalar(name, vec![left.clone(), right.clone()], returns, kind.clone()));
    };
    for left in &NUMERIC {
        for right in &NUMERIC {
            if let Some(returns) = arithmetic::result_type(operator(sign), left, right) {
                push(left, right, returns);
            }
        }
    }
    if matches!(sign, Arithmetic::Add | Arithmetic::Subtract) {
        push(&CqlType::Timestamp, &CqlType::Duration, CqlType::Timestamp);
        push(&CqlType::Date, &CqlType::Duration, CqlType::Date);
    }
    if sign == Arithmetic::Add {
        push(&CqlType::Text, &CqlType::Text, CqlType::Text);
        push(&CqlType::Ascii, &CqlType::Ascii, CqlType::Ascii);
        push(&CqlType::Ascii, &CqlType::Text, CqlType::Text);
        push(&CqlType::Text, &CqlType::Ascii, CqlType::Text);
    }
    Some(found)
}

pub fn evaluate(function: &Function, sign: Arithmetic, left: &[u8], right: &[u8]) -> Result<Option<Vec<u8>>> {
    let [left_type, right_type] = function.arguments.as_slice() else { return Ok(None) };
    arithmetic::apply(operator(sign), left_type, left, right_type, right)
        .map_err(|error| function.failure(error.to_string()))
}

pub fn negate(ty: &CqlType, bytes: &[u8]) -> Option<Vec<u8>> {
    arithmetic::negate(ty, bytes)
}
