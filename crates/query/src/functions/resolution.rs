//! Which signature a call means.
//!
//! Source: Cassandra 5.0, `cql3.functions.FunctionResolver`.

use std::sync::Arc;

use helenus_types::CqlType;

use crate::error::{Result, ensure, invalid};
use crate::functions::{Function, FunctionName, operator_sign, registry};
use crate::terms::{Argument, Assignment, Receiver, Scope, test_type};

/// The function that `name` called with `arguments` means; `None` when there is none of that name.
///
/// # Errors
/// A wrong number or type of arguments, no signature that fits, several that fit equally well.
pub fn resolve<A: Argument>(
    scope: &Scope<'_>,
    name: &FunctionName,
    arguments: &[A],
    receiver: Option<&Receiver>,
) -> Result<Option<Arc<Function>>> {
    let candidates = registry::candidates(scope, name, arguments, receiver.map(|receiver| &receiver.ty))?;
    match candidates.as_slice() {
        [] => Ok(None),
        [only] => {
            check_types(scope, only, arguments)?;
            Ok(Some(Arc::clone(only)))
        }
        _ => pick(scope, name, arguments, receiver, &candidates).map(Some),
    }
}

fn receiver_of(scope: &Scope<'_>, function: &Function, index: usize) -> Receiver {
    let (keyspace, table) = scope.table.map_or((scope.keyspace, ""), |table| (&*table.keyspace, &*table.name));
    function.argument_receiver(&Receiver::new(keyspace, table, "", CqlType::Blob), index)
}

fn check_types<A: Argument>(scope: &Scope<'_>, function: &Function, arguments: &[A]) -> Result<()> {
    ensure!(
        arguments.len() == function.arguments.len(),
        "Invalid number of arguments in call to function {}: {} required but {} provided",
        function.full_name(),
        function.arguments.len(),
        arguments.len()
    );
    for (index, argument) in arguments.iter().enumerate() {
        let expected = receiver_of(scope, function, index);
        ensure!(
            argument.test(scope, &expected)?.is_possible(),
            "Type error: {argument} cannot be passed as argument {index} of function {} of type {}",
            function.full_name(),
            expected.ty
        );
    }
    Ok(())
}

fn test_arguments<A: Argument>(scope: &Scope<'_>, function: &Function, arguments: &[A]) -> Result<Assignment> {
    if arguments.len() != function.arguments.len() {
        return Ok(Assignment::No);
    }
    let mut result = Assignment::Exact;
    for (index, argument) in arguments.iter().enumerate() {
        result = result.and(argument.test(scope, &receiver_of(scope, function, index))?);
        if result == Assignment::No {
            break;
        }
    }
    Ok(result)
}

fn pick<A: Argument>(
    scope: &Scope<'_>,
    name: &FunctionName,
    arguments: &[A],
    receiver: Option<&Receiver>,
    candidates: &[Arc<Function>],
) -> Result<Arc<Function>> {
    let mut compatible: Vec<&Arc<Function>> = Vec::new();
    for candidate in candidates {
        if receiver.is_some_and(|receiver| !test_type(&candidate.returns, &receiver.ty).is_possible()) {
            continue;
        }
        match test_arguments(scope, candidate, arguments)? {
            Assignment::Exact => return Ok(Arc::clone(candidate)),
            Assignment::Weak => compatible.push(candidate),
            Assignment::No => {}
        }
    }
    let operator = operator_sign(name);
    match (compatible.as_slice(), operator, arguments) {
        ([only], ..) => Ok(Arc::clone(only)),
        ([], Some(sign), [left, right]) => {
            Err(invalid!("the '{sign}' operation is not supported between {left} and {right}"))
        }
        ([], ..) => Err(invalid!(
            "Invalid call to function {name}, none of its type signatures match (known type signatures: {})",
            list(candidates)
        )),
        (several, Some(sign), [left, right]) => {
            if let Some(receiver) = receiver
                && !arguments.iter().any(Argument::is_marker)
                && !receiver.is_descending
                && let Some(fit) =
                    several.iter().find(|function| function.arguments.iter().all(|ty| *ty == receiver.ty))
            {
                return Ok(Arc::clone(fit));
            }
            Err(invalid!(
                "Ambiguous '{sign}' operation with args {left} and {right}: use type hint to disambiguate, example '(int) ?'"
            ))
        }
        (several, ..) => {
            ensure!(&*name.name != "_negate", "Ambiguous negation: use type casts to disambiguate");
            Err(invalid!(
                "Ambiguous call to function {name} (can be matched by following signatures: {}): use type casts to \
                 disambiguate",
                list(several.iter().copied())
            ))
        }
    }
}

fn list<'a>(functions: impl IntoIterator<Item = &'a Arc<Function>>) -> String {
    functions.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
