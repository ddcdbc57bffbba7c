//! Aggregate functions: an [`Accumulator`] takes one argument a row and answers at the end of the group.
//!
//! Source: Cassandra 5.0, `cql3.functions.AggregateFcts`.

use helenus_types::CqlType;
use helenus_types::value::{self, Decimal};
use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

use crate::error::{QueryError, Result};
use crate::functions::arbitrary_precision as precise;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    CountRows,
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

#[derive(Clone, Debug)]
pub struct Accumulator {
    kind: AggregateKind,
    ty: CqlType,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Count(i64),
    /// Sum and count; the sum is exact, results narrow it as Java's wrapping does.
    Integer {
        sum: BigInt,
        count: i64,
    },
    Float(FloatSum),
    Decimal {
        value: Decimal,
        count: i64,
    },
    Extreme(Option<Vec<u8>>),
}

/// Kahan summation, as Cassandra sums floats and doubles.
#[derive(Clone, Debug, Default)]
struct FloatSum {
    sum: f64,
    compensation: f64,
    simple: f64,
    count: i64,
    /// Exact from the addition on that overflowed.
    exact: Option<Decimal>,
}

impl Accumulator {
    #[must_use]
    pub fn new(kind: AggregateKind, ty: &CqlType) -> Self {
        let state = match kind {
            AggregateKind::CountRows | AggregateKind::Count => State::Count(0),
            AggregateKind::Min | AggregateKind::Max => State::Extreme(None),
            AggregateKind::Sum | AggregateKind::Avg => match ty {
                CqlType::Float | CqlType::Double => State::Float(FloatSum::default()),
                CqlType::Decimal => State::Decimal { value: Decimal::zero(), count: 0 },
                _ => State::Integer { sum: BigInt::zero(), count: 0 },
            },
        };
        Self { kind, ty: ty.clone(), state }
    }

    /// # Errors
    /// Decimals whose sum has too large a scale.
    pub fn add(&mut self, argument: Option<&[u8]>) -> Result<()> {
        if self.kind == AggregateKind::CountRows {
            if let State::Count(count) = &mut self.state {
                *count += 1;
            }
            return Ok(());
        }
        let Some(bytes) = argument else { return Ok(()) };
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Extreme(extreme) => {
                let replace = extreme.as_ref().is_none_or(|extreme| {
                    let order = self.ty.compare(extreme, bytes);
                    if self.kind == AggregateKind::Max { order.is_lt() } else { order.is_gt() }
                });
                if replace {
                    *extreme = Some(bytes.to_vec());
                }
            }
            State::Integer { sum, count } => {
                if let Some(number) = integer(&self.ty, bytes) {
                    *sum += number;
                    *count += 1;
                }
            }
            State::Float(float) => {
                let number = match self.ty {
                    CqlType::Float => value::decode_float(bytes).map(f64::from),
                    _ => value::decode_double(bytes),
                };
                if let Some(number) = number {
                    float.add(number, self.kind == AggregateKind::Avg);
                }
            }
            State::Decimal { value: so_far, count } => {
                let Some(number) = value::decode_decimal(bytes) else { return Ok(()) };
                let overflow = || QueryError::Server("java.lang.ArithmeticException: Overflow".to_owned());
                *count += 1;
                *so_far = if self.kind == AggregateKind::Sum {
                    so_far.add(&number).ok_or_else(overflow)?
                } else {
                    // avg + (number - avg) / count, the quotient at the difference's own scale.
                    let difference = number.subtract(so_far).ok_or_else(overflow)?;
                    let step = precise::divide_at_scale(&difference, *count);
                    so_far.add(&step).ok_or_else(overflow)?
                };
            }
        }
        Ok(())
    }

    /// # Errors
    /// None at present; aggregates of other types may have some.
    pub fn result(&self) -> Result<Option<Vec<u8>>> {
        Ok(match &self.state {
            State::Count(count) => Some(value::encode_bigint(*count)),
            State::Extreme(extreme) => extreme.clone(),
            State::Integer { sum, count } => {
                let number = match self.kind {
                    AggregateKind::Avg if *count == 0 => BigInt::zero(),
                    AggregateKind::Avg => sum / *count,
                    _ => sum.clone(),
                };
                Some(narrow(&self.ty, &number))
            }
            State::Float(float) => {
                let number = if self.kind == AggregateKind::Avg { float.average() } else { float.total() };
                #[expect(clippy::cast_possible_truncation, reason = "a float's sum is computed as a double")]
                Some(match self.ty {
                    CqlType::Float => value::encode_float(number as f32),
                    _ => value::encode_double(number),
                })
            }
            State::Decimal { value, .. } => Some(value.encode()),
        })
    }
}

impl FloatSum {
    fn add(&mut self, number: f64, guard_overflow: bool) {
        self.count += 1;
        if let Some(exact) = &mut self.exact {
            if let Some(sum) = Decimal::from_f64(number).and_then(|number| exact.add(&number)) {
                *exact = sum;
            }
            return;
        }
        self.simple += number;
        let before = self.sum;
        let corrected = number - self.compensation;
        let rounded = self.sum + corrected;
        self.compensation = (rounded - self.sum) - corrected;
        self.sum = rounded;
        if guard_overflow && self.sum.is_infinite() && !number.is_infinite() {
            self.exact = Decimal::from_f64(before)
                .zip(Decimal::from_f64(number))
                .and_then(|(before, number)| before.add(&number));
        }
    }

    fn total(&self) -> f64 {
        let sum = self.sum + self.compensation;
        if sum.is_nan() && self.simple.is_infinite() { self.simple } else { sum }
    }

    fn average(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of rows is far below 2^53")]
        match &self.exact {
            Some(exact) => precise::divide_at_scale(exact, self.count).to_f64(),
            None => self.total() / self.count as f64,
        }
    }
}

fn integer(ty: &CqlType, bytes: &[u8]) -> Option<BigInt> {
    match ty {
        CqlType::Tinyint => value::decode_tinyint(bytes).map(BigInt::from),
        CqlType::Smallint => value::decode_smallint(bytes).map(BigInt::from),
        CqlType::Int => value::decode_int(bytes).map(BigInt::from),
        CqlType::Varint => value::decode_varint(bytes),
        _ => value::decode_bigint(bytes).map(BigInt::from),
    }
}

/// The low bits of `number`, as Java's wrapping additions leave them.
fn narrow(ty: &CqlType, number: &BigInt) -> Vec<u8> {
    let low = (number & BigInt::from(u64::MAX)).to_u64().unwrap_or(0).to_be_bytes();
    let tail = |count: usize| low.get(low.len() - count..).unwrap_or(&[]).to_vec();
    match ty {
        CqlType::Tinyint => tail(1),
        CqlType::Smallint => tail(2),
        CqlType::Int => tail(4),
        CqlType::Varint => value::encode_varint(number),
        _ => tail(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: AggregateKind, ty: &CqlType, inputs: &[&str], expected: &str) {
        let mut accumulator = Accumulator::new(kind, ty);
        for input in inputs {
            let bytes = ty.parse_string(input).expect("a value");
            accumulator.add(Some(&bytes)).expect("adds");
        }
        let found = accumulator.result().expect("a result").map(|bytes| ty.to_string_form(&bytes));
        assert_eq!(found.as_deref(), Some(expected), "{kind:?} of {inputs:?}");
    }

    #[test]
    fn sums_wrap_in_their_own_type() {
        check(AggregateKind::Sum, &CqlType::Int, &["2147483647", "1"], "-2147483648");
        check(AggregateKind::Sum, &CqlType::Tinyint, &["100", "100"], "-56");
        check(AggregateKind::Sum, &CqlType::Decimal, &["1.10", "2.2"], "3.30");
    }

    #[test]
    fn averages_of_integers_are_truncated() {
        check(AggregateKind::Avg, &CqlType::Int, &["1", "2"], "1");
        check(AggregateKind::Avg, &CqlType::Bigint, &["-1", "-2"], "-1");
        check(AggregateKind::Avg, &CqlType::Int, &[], "0");
    }

    #[test]
    fn extremes_follow_the_type_order() {
        check(AggregateKind::Max, &CqlType::Int, &["-1", "3", "2"], "3");
        check(AggregateKind::Min, &CqlType::Varint, &["128", "-129"], "-129");
    }
}
