//! Native functions: what they are called, which signature a call means, and their evaluation over serialised values.
//!
//! `registry` lists the candidates of a name, `factory` makes those whose signature depends on the arguments, `resolution`
//! picks one. Both spellings of 5.0 (`to_date`, `todate`) are functions of their own, as their names show in results.
//!
//! Source: Cassandra 5.0, `cql3.functions`.

mod aggregate;
mod arbitrary_precision;
mod collection;
mod factory;
mod masking;
mod math;
mod operation;
mod registry;
mod resolution;
mod scalar;
mod time;
mod vector;

use std::fmt;
use std::sync::Arc;

use helenus_env::Env;
use helenus_types::CqlType;

pub use aggregate::{Accumulator, AggregateKind};
pub use registry::{has_factory, is_numeric};
pub use resolution::resolve;
pub use scalar::ScalarKind;

use crate::error::{QueryError, Result};
use crate::terms::{Assignment, Receiver};

/// A function as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionName {
    pub keyspace: Option<Box<str>>,
    pub name: Box<str>,
}

pub const NATIVE_KEYSPACE: &str = "system";

impl FunctionName {
    #[must_use]
    pub fn native(name: &str) -> Self {
        Self { keyspace: Some(NATIVE_KEYSPACE.into()), name: name.into() }
    }

    #[must_use]
    pub fn is_native(&self) -> bool {
        self.keyspace.as_deref().is_none_or(|keyspace| keyspace == NATIVE_KEYSPACE)
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.keyspace {
            Some(keyspace) => write!(f, "{keyspace}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// One signature of a native function.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: Box<str>,
    pub arguments: Vec<CqlType>,
    pub returns: CqlType,
    pub kind: FunctionKind,
}

#[derive(Clone, Debug)]
pub enum FunctionKind {
    Scalar(ScalarKind),
    Aggregate(AggregateKind),
}

/// What impure functions ask.
#[derive(Clone, Copy)]
pub struct FunctionContext<'a> {
    pub env: &'a Env,
}

impl Function {
    #[must_use]
    pub fn scalar(name: &str, arguments: Vec<CqlType>, returns: CqlType, kind: ScalarKind) -> Arc<Self> {
        Arc::new(Self { name: name.into(), arguments, returns, kind: FunctionKind::Scalar(kind) })
    }

    #[must_use]
    pub fn aggregate(name: &str, arguments: Vec<CqlType>, returns: CqlType, kind: AggregateKind) -> Arc<Self> {
        Arc::new(Self { name: name.into(), arguments, returns, kind: FunctionKind::Aggregate(kind) })
    }

    #[must_use]
    pub fn is_aggregate(&self) -> bool {
        matches!(self.kind, FunctionKind::Aggregate(_))
    }

    /// With its keyspace, as messages and result columns name it.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{NATIVE_KEYSPACE}.{}", self.name)
    }

    /// Whether results of this function, when selected as they are, are announced as `LegacyTimeUUIDType`.
    #[must_use]
    pub fn returns_legacy_timeuuid(&self) -> bool {
        let through_factory = matches!(
            self.kind,
            FunctionKind::Aggregate(AggregateKind::Min | AggregateKind::Max)
                | FunctionKind::Scalar(ScalarKind::FromBlob { .. } | ScalarKind::Mask(_))
        );
        self.returns == CqlType::Timeuuid && through_factory
    }

    /// How its result fits where `wanted` is asked for.
    #[must_use]
    pub fn test_return(&self, wanted: &CqlType) -> Assignment {
        let freezable = wanted.is_collection() || wanted.is_udt() || wanted.is_tuple();
        let returns = if freezable && !wanted.is_multi_cell() { self.returns.frozen() } else { self.returns.clone() };
        if *wanted == returns {
            Assignment::Exact
        } else if wanted.is_value_compatible_with(&returns) {
            Assignment::Weak
        } else {
            Assignment::No
        }
    }

    /// The receiver of argument `index` of a call at `whole`.
    #[must_use]
    pub fn argument_receiver(&self, whole: &Receiver, index: usize) -> Receiver {
        let ty = self.arguments.get(index).cloned().unwrap_or(CqlType::Blob);
        whole.derive(format!("arg{index}({})", self.full_name().to_lowercase()), ty)
    }

    /// The name of a result column that selects a call with these argument names.
    #[must_use]
    pub fn column_name(&self, arguments: &[String]) -> String {
        let argument = |index: usize| arguments.get(index).map_or("", String::as_str);
        match &self.kind {
            FunctionKind::Aggregate(AggregateKind::CountRows) => "count".to_owned(),
            FunctionKind::Scalar(ScalarKind::Operation(operator)) => {
                format!("{} {} {}", argument(0), operator.sign(), argument(1))
            }
            FunctionKind::Scalar(ScalarKind::Negation) => format!("-{}", argument(0)),
            FunctionKind::Scalar(ScalarKind::Cast) => format!("cast({} as {})", argument(0), self.returns),
            FunctionKind::Scalar(_) | FunctionKind::Aggregate(_) => {
                format!("{}({})", self.full_name(), arguments.join(", "))
            }
        }
    }

    /// Evaluates a scalar function.
    ///
    /// # Errors
    /// What the function refuses, in Cassandra's words.
    pub fn execute(&self, arguments: &[Option<&[u8]>], context: &FunctionContext<'_>) -> Result<Option<Vec<u8>>> {
        match &self.kind {
            FunctionKind::Scalar(kind) => scalar::execute(self, kind, arguments, context),
            FunctionKind::Aggregate(_) => {
                Err(QueryError::Server(format!("{} is an aggregate and was called as a scalar function", self.name)))
            }
        }
    }

    /// The failure of a call, as the FUNCTION_FAILURE message carries it.
    #[must_use]
    pub fn failure(&self, message: String) -> QueryError {
        QueryError::FunctionFailure {
            keyspace: NATIVE_KEYSPACE.to_owned(),
            function: self.name.to_string(),
            argument_types: self.arguments.iter().map(ToString::to_string).collect(),
            message,
        }
    }
}

/// `system.abs : (int) -> int`.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if &*self.name == "token" {
            f.write_str("token : (")?;
        } else {
            write!(f, "{NATIVE_KEYSPACE}.{} : (", helenus_cql::maybe_quote(&self.name))?;
        }
        for (index, ty) in self.arguments.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let text = ty.to_string();
            let text = match ty {
                CqlType::Tuple(_) => {
                    text.strip_prefix("frozen<").and_then(|text| text.strip_suffix('>')).unwrap_or(&text)
                }
                _ => &text,
            };
            write!(f, "{separator}{text}")?;
        }
        write!(f, ") -> {}", self.returns)
    }
}

/// The sign of the operation that a native function name stands for.
#[must_use]
pub fn operator_sign(name: &FunctionName) -> Option<char> {
    if name.keyspace.as_deref() != Some(NATIVE_KEYSPACE) {
        return None;
    }
    operation::operator_of(&name.name).map(helenus_cql::Arithmetic::sign)
}
