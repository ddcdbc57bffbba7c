//! Conditions of IF: a comparison of a column, or a part of it, with bound values.
//!
//! Source: Cassandra 5.0, `cql3.conditions.ColumnCondition`.

use std::cmp::Ordering;

use helenus_cql::{Condition as RawCondition, ConditionPath, ConditionTest, Operator, hash_order};
use helenus_data::{CellPath, ComplexColumn, Row};
use helenus_schema::{Column, Table};
use helenus_types::{CqlType, collection, value};

use crate::error::{Result, ensure, invalid};
use crate::select::{element_of, serialise};
use crate::terms::{Bind, InTerms, InValues, Markers, Receiver, Scope, Term, Value, prepare, prepare_in_values};

#[derive(Clone, Debug)]
pub struct Condition {
    pub column: Column,
    path: Path,
    /// IN compares for equality with each of its values.
    operator: Operator,
    values: Values,
}

#[derive(Clone, Debug)]
enum Path {
    Whole,
    Element(Term),
    Field(u16),
}

#[derive(Clone, Debug)]
enum Values {
    One(Term),
    In(InTerms),
}

impl Condition {
    /// # Errors
    /// Conditions that the column's type does not have.
    pub fn prepare(
        scope: &Scope<'_>,
        table: &Table,
        column: &Column,
        raw: &RawCondition,
        markers: &mut Markers,
    ) -> Result<Self> {
        ensure!(!column.ty.is_counter(), "Conditions on counters are not supported");
        let receiver = Receiver::column(table, column);
        let (path, receiver) = match &raw.path {
            ConditionPath::Whole => (Path::Whole, receiver),
            ConditionPath::Element(key) => {
                let (key_receiver, value_receiver) = match &column.ty {
                    CqlType::List { element, .. } => (receiver.list_index(), receiver.element(element)),
                    CqlType::Map { key, value, .. } => (receiver.key(key), receiver.element(value)),
                    CqlType::Set { .. } => {
                        return Err(invalid!("Invalid element access syntax for set column {}", column.name));
                    }
                    _ => {
                        return Err(invalid!(
                            "Invalid element access syntax for non-collection column {}",
                            column.name
                        ));
                    }
                };
                check_durations(&value_receiver.ty, &raw.test)?;
                (Path::Element(prepare(scope, key, &key_receiver, markers)?), value_receiver)
            }
            ConditionPath::Field(field) => {
                let CqlType::Udt(udt, _) = &column.ty else {
                    return Err(invalid!("Unknown field {} for column {}", field.as_str(), column.name));
                };
                let found =
                    udt.field_index(field.as_str()).and_then(|at| Some((u16::try_from(at).ok()?, udt.fields.get(at)?)));
                let Some((index, found)) = found else {
                    return Err(invalid!("Unknown field {} for column {}", field.as_str(), column.name));
                };
                (Path::Field(index), receiver.field(&found.name, &found.ty))
            }
        };
        check_durations(&receiver.ty, &raw.test)?;
        let (operator, values) = match &raw.test {
            ConditionTest::In(values) => {
                (Operator::Eq, Values::In(prepare_in_values(scope, values, &receiver, markers)?))
            }
            ConditionTest::Compare { operator, value } => {
                let receiver = contains_receiver(*operator, receiver)?;
                (*operator, Values::One(prepare(scope, value, &receiver, markers)?))
            }
        };
        Ok(Self { column: column.clone(), path, operator, values })
    }

    /// # Errors
    /// Null lists, unset values, values of another type.
    pub fn bind(&self, bind: &Bind<'_>) -> Result<BoundCondition> {
        let unset = || invalid!("Invalid 'unset' value in condition");
        let owned = |value: Value<'_>| match value {
            Value::Null => Ok(None),
            Value::Unset => Err(unset()),
            Value::Bytes(bytes) => Ok(Some(bytes.into_owned())),
        };
        let values = match &self.values {
            Values::One(term) => vec![owned(term.bind(bind)?)?],
            Values::In(terms) => match terms.bind(bind)? {
                InValues::Null => return Err(invalid!("Invalid null list in IN condition")),
                InValues::Unset => return Err(unset()),
                InValues::Values(values) => {
                    values.into_iter().filter(|value| !value.is_unset()).map(owned).collect::<Result<_>>()?
                }
            },
        };
        let path = match &self.path {
            Path::Whole => BoundPath::Whole,
            Path::Field(index) => BoundPath::Field(*index),
            // An unset key is an empty one upstream.
            Path::Element(term) => BoundPath::Element(match term.bind(bind)? {
                Value::Unset => Some(Vec::new()),
                value => owned(value)?,
            }),
        };
        Ok(BoundCondition { column: self.column.clone(), path, operator: self.operator, values })
    }
}

fn contains_receiver(operator: Operator, receiver: Receiver) -> Result<Receiver> {
    match (operator, &receiver.ty) {
        (Operator::ContainsKey, CqlType::Map { key, .. }) => Ok(receiver.key(key)),
        (Operator::ContainsKey, _) => Err(invalid!("Cannot use CONTAINS KEY on non-map column {}", receiver.name)),
        (Operator::Contains, CqlType::Map { value, .. }) => Ok(receiver.element(value)),
        (Operator::Contains, CqlType::List { element, .. } | CqlType::Set { element, .. }) => {
            Ok(receiver.element(element))
        }
        (Operator::Contains, _) => Err(invalid!("Cannot use CONTAINS on non-collection column {}", receiver.name)),
        _ => Ok(receiver),
    }
}

fn check_durations(ty: &CqlType, test: &ConditionTest) -> Result<()> {
    let ConditionTest::Compare { operator, .. } = test else { return Ok(()) };
    let is_slice = matches!(operator, Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq);
    if !is_slice || !ty.references_duration() {
        return Ok(());
    }
    ensure!(!ty.is_collection(), "Slice conditions are not supported on collections containing durations");
    ensure!(!ty.is_tuple(), "Slice conditions are not supported on tuples containing durations");
    ensure!(!ty.is_udt(), "Slice conditions are not supported on UDTs containing durations");
    Err(invalid!("Slice conditions ( {} ) are not supported on durations", operator.text()))
}

/// A condition with its values: can be asked of a row.
#[derive(Clone, Debug)]
pub struct BoundCondition {
    column: Column,
    path: BoundPath,
    operator: Operator,
    values: Vec<Option<Vec<u8>>>,
}

#[derive(Clone, Debug)]
enum BoundPath {
    Whole,
    Element(Option<Vec<u8>>),
    Field(u16),
}

impl BoundCondition {
    /// Where upstream's hash map of a row's conditions keeps this one: the first that fails ends the question, and one that
    /// cannot be asked at all may stand behind it.
    ///
    /// Source: Cassandra 5.0, `CQL3CasRequest.ColumnsConditions`, `utils.Pair.hashCode`.
    #[must_use]
    pub fn rank(&self) -> u32 {
        let element = match &self.path {
            BoundPath::Element(Some(key)) => hash_order::hash(key),
            BoundPath::Whole | BoundPath::Element(None) | BoundPath::Field(_) => 0,
        };
        let column = hash_order::hash(self.column.name.as_bytes());
        let pair = column.wrapping_add(31).wrapping_mul(31).wrapping_add(element);
        hash_order::bucket(pair, hash_order::BUCKETS_MIN)
    }

    /// Whether the condition holds for a row; `None` is a row that does not exist.
    ///
    /// # Errors
    /// Comparisons with null that are no equality, negative list indexes.
    pub fn holds(&self, row: Option<&Row>) -> Result<bool> {
        let ty = &self.column.ty;
        let complex = row.and_then(|row| row.complex(self.column.id)).filter(|complex| !complex.cells.is_empty());
        let whole = || row.and_then(|row| row.cell(self.column.id)).map(|cell| cell.value.to_vec());
        match (&self.path, ty) {
            (BoundPath::Whole, CqlType::Udt(..)) if ty.is_multi_cell() => {
                let found = complex.and_then(|complex| serialise(ty, complex));
                self.any(ty, found.as_deref())
            }
            (BoundPath::Whole, _) if ty.is_multi_cell() => self.collection_holds(complex),
            (BoundPath::Whole, _) => self.any(ty, whole().as_deref()),
            (BoundPath::Field(index), CqlType::Udt(udt, _)) => {
                let at = usize::from(*index);
                let found = if ty.is_multi_cell() {
                    complex.and_then(|complex| complex.cell(&CellPath::field(*index))).map(|cell| cell.value.to_vec())
                } else {
                    whole().and_then(|whole| {
                        collection::unpack_tuple(&whole, udt.fields.len())
                            .get(at)
                            .copied()
                            .flatten()
                            .map(<[u8]>::to_vec)
                    })
                };
                let field = udt.fields.get(at).map_or(CqlType::Blob, |field| field.ty.clone());
                self.any(&field, found.as_deref())
            }
            (BoundPath::Element(key), CqlType::Map { key: key_type, .. }) => {
                let Some(key) = key else { return Err(invalid!("Invalid null value for map element access")) };
                let found = if ty.is_multi_cell() {
                    let path = CellPath::new(key_type, key);
                    complex.and_then(|complex| complex.cell(&path)).map(|cell| cell.value.to_vec())
                } else {
                    match whole() {
                        Some(whole) => element_of(ty, &whole, key)?,
                        None => None,
                    }
                };
                // Upstream compares the values in the order of the keys' type.
                self.any(key_type, found.as_deref())
            }
            (BoundPath::Element(index), CqlType::List { element, .. }) => {
                let Some(index) = index else { return Err(invalid!("Invalid null value for list element access")) };
                let index = value::decode_int(index).unwrap_or(0);
                if !ty.is_multi_cell() && whole().is_none() {
                    return self.any(element, None); // No list, no index that could be wrong.
                }
                let Ok(at) = usize::try_from(index) else {
                    return Err(invalid!("Invalid negative list index {index}"));
                };
                let found = if ty.is_multi_cell() {
                    complex.and_then(|complex| complex.cells.get(at)).map(|(_, cell)| cell.value.to_vec())
                } else {
                    match whole() {
                        Some(whole) => collection::ListRef::parse(&whole)?.iter().nth(at).flatten().map(<[u8]>::to_vec),
                        None => None,
                    }
                };
                self.any(element, found.as_deref())
            }
            (BoundPath::Field(_) | BoundPath::Element(_), _) => Ok(false), // Refused when it was prepared.
        }
    }

    fn any(&self, ty: &CqlType, found: Option<&[u8]>) -> Result<bool> {
        for wanted in &self.values {
            if compare(self.operator, ty, wanted.as_deref(), found)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn collection_holds(&self, complex: Option<&ComplexColumn>) -> Result<bool> {
        let ty = &self.column.ty;
        let is_contains = matches!(self.operator, Operator::Contains | Operator::ContainsKey);
        for wanted in &self.values {
            let is_empty = |bytes: &[u8]| bytes.first_chunk::<4>().is_some_and(|count| i32::from_be_bytes(*count) == 0);
            let names_nothing = match wanted {
                None => true,
                Some(bytes) => !is_contains && is_empty(bytes),
            };
            let holds = if names_nothing {
                match self.operator {
                    Operator::Eq => complex.is_none(),
                    Operator::NotEq => return Ok(complex.is_some()),
                    other if wanted.is_none() => {
                        return Err(invalid!("Invalid comparison with null for operator \"{}\"", other.text()));
                    }
                    other => {
                        let kind = match ty {
                            CqlType::List { .. } => "list",
                            CqlType::Set { .. } => "set",
                            _ => "map",
                        };
                        return Err(invalid!(
                            "Invalid comparison with an empty {kind} for operator \"{}\"",
                            other.text()
                        ));
                    }
                }
            } else {
                self.cells_hold(complex, wanted.as_deref().unwrap_or(&[]))?
            };
            if holds {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Compares cell by cell, as the elements of two sequences.
    fn cells_hold(&self, complex: Option<&ComplexColumn>, wanted: &[u8]) -> Result<bool> {
        let Some(complex) = complex else { return Ok(self.operator == Operator::NotEq) };
        let cells = || complex.cells.iter();
        let any_path = |ty: &CqlType| cells().any(|(path, _)| ty.compare(path.raw(), wanted).is_eq());
        let any_value = |ty: &CqlType| cells().any(|(_, cell)| ty.compare(&cell.value, wanted).is_eq());
        let order = match (&self.column.ty, self.operator) {
            (CqlType::Map { key, .. }, Operator::ContainsKey) => return Ok(any_path(key)),
            (CqlType::Set { element, .. }, Operator::Contains) => return Ok(any_path(element)),
            (CqlType::Map { value, .. }, Operator::Contains) => return Ok(any_value(value)),
            (CqlType::List { element, .. }, Operator::Contains) => return Ok(any_value(element)),
            (CqlType::Map { key, value, .. }, _) => {
                let mut wanted = collection::MapRef::parse(wanted)?.iter();
                compare_sequences(cells(), &mut wanted, |(path, cell), (wanted_key, wanted_value)| {
                    key.compare(path.raw(), wanted_key).then_with(|| value.compare(&cell.value, wanted_value))
                })
            }
            (CqlType::Set { element, .. }, _) => {
                let mut wanted = collection::ListRef::parse(wanted)?.iter().flatten();
                compare_sequences(cells(), &mut wanted, |(path, _), wanted| element.compare(path.raw(), wanted))
            }
            (CqlType::List { element, .. }, _) => {
                let mut wanted = collection::ListRef::parse(wanted)?.iter().flatten();
                compare_sequences(cells(), &mut wanted, |(_, cell), wanted| element.compare(&cell.value, wanted))
            }
            _ => return Ok(false),
        };
        Ok(satisfies(self.operator, order))
    }
}

fn compare_sequences<A, B>(
    found: impl Iterator<Item = A>,
    wanted: &mut impl Iterator<Item = B>,
    compare: impl Fn(A, B) -> Ordering,
) -> Ordering {
    for item in found {
        let Some(wanted) = wanted.next() else { return Ordering::Greater };
        let order = compare(item, wanted);
        if order.is_ne() {
            return order;
        }
    }
    if wanted.next().is_some() { Ordering::Less } else { Ordering::Equal }
}

fn satisfies(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Eq => order.is_eq(),
        Operator::NotEq => order.is_ne(),
        Operator::Lt => order.is_lt(),
        Operator::LtEq => order.is_le(),
        Operator::Gt => order.is_gt(),
        Operator::GtEq => order.is_ge(),
        Operator::Like | Operator::Contains | Operator::ContainsKey => false,
    }
}

/// One serialised value against another; null equals null only.
fn compare(operator: Operator, ty: &CqlType, wanted: Option<&[u8]>, found: Option<&[u8]>) -> Result<bool> {
    let Some(wanted) = wanted else {
        return match operator {
            Operator::Eq => Ok(found.is_none()),
            Operator::NotEq => Ok(found.is_some()),
            other => Err(invalid!("Invalid comparison with null for operator \"{}\"", other.text())),
        };
    };
    let Some(found) = found else { return Ok(operator == Operator::NotEq) };
    match (operator, ty) {
        (Operator::ContainsKey, CqlType::Map { key, .. }) => {
            Ok(collection::MapRef::parse(found)?.iter().any(|(entry, _)| key.compare(entry, wanted).is_eq()))
        }
        (Operator::Contains, CqlType::Map { value, .. }) => {
            Ok(collection::MapRef::parse(found)?.iter().any(|(_, entry)| value.compare(entry, wanted).is_eq()))
        }
        (Operator::Contains, CqlType::List { element, .. } | CqlType::Set { element, .. }) => {
            let mut elements = collection::ListRef::parse(found)?.iter().flatten();
            Ok(elements.any(|entry| element.compare(entry, wanted).is_eq()))
        }
        _ => Ok(satisfies(operator, ty.compare(found, wanted))),
    }
}
