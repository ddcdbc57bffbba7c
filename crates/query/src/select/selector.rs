//! Selectors: what computes a result column from an input row.
//!
//! Plain selectors are evaluated row by row with [`Selector::value`]. With aggregates a [`Group`] takes all rows of a group
//! first: what is not inside an aggregate then shows the group's first row.

use std::borrow::Cow;
use std::sync::Arc;

use helenus_cql::CellAttribute;
use helenus_types::{CqlType, collection};

use crate::error::Result;
use crate::functions::{Accumulator, AggregateKind, Function, FunctionContext, FunctionKind};
use crate::select::input::{InputRow, Times, TimesKind};
use crate::terms::Value;

#[derive(Clone, Debug)]
pub enum Selector {
    /// Index among the fetched columns.
    Column(usize),
    /// Index among the selection's terms, which are bound once an execution.
    Term(usize),
    CellAttribute {
        attribute: CellAttribute,
        inner: Box<Selector>,
    },
    Scalar {
        function: Arc<Function>,
        arguments: Vec<Selector>,
    },
    Aggregate {
        function: Arc<Function>,
        arguments: Vec<Selector>,
    },
    Field {
        inner: Box<Selector>,
        index: usize,
        field_count: usize,
    },
    Tuple(Vec<Selector>),
    List(Vec<Selector>),
    Set {
        element: CqlType,
        items: Vec<Selector>,
    },
    Map {
        key: CqlType,
        entries: Vec<(Selector, Selector)>,
    },
    UserType(Vec<Option<Selector>>),
    Vector {
        element: CqlType,
        items: Vec<Selector>,
    },
    /// `ty` is the collection's type, `key` a term.
    Element {
        inner: Box<Selector>,
        ty: CqlType,
        key: usize,
    },
    Slice {
        inner: Box<Selector>,
        ty: CqlType,
        from: Option<usize>,
        to: Option<usize>,
    },
}

/// What an execution evaluates selectors with.
pub struct Evaluation<'e> {
    /// The selection's terms, bound.
    pub terms: &'e [Value<'e>],
    pub functions: FunctionContext<'e>,
}

type Output<'a> = Option<Cow<'a, [u8]>>;

/// Where a selector's columns come from: a row, or what a group kept of its first one.
trait Source<'a>: Copy {
    fn column(self, index: usize) -> Output<'a>;
    fn times(self, index: usize, kind: TimesKind) -> Times;
    /// The result of the aggregate that is evaluated next, in the order of the selectors.
    fn aggregate(self, function: &Function) -> Result<Output<'a>>;
}

#[derive(Clone, Copy)]
struct RowSource<'r, 'a>(&'r InputRow<'a>);

impl<'a> Source<'a> for RowSource<'_, 'a> {
    fn column(self, index: usize) -> Output<'a> {
        self.0.value(index)
    }

    fn times(self, index: usize, kind: TimesKind) -> Times {
        self.0.times(index, kind)
    }

    fn aggregate(self, _function: &Function) -> Result<Output<'a>> {
        Ok(None) // Selections with aggregates are evaluated by groups.
    }
}

impl Selector {
    /// The selector's value for one row.
    ///
    /// # Errors
    /// What functions refuse.
    pub fn value<'a>(&'a self, row: &InputRow<'a>, evaluation: &'a Evaluation<'a>) -> Result<Output<'a>> {
        self.evaluate(RowSource(row), evaluation)
    }

    fn evaluate<'a, S: Source<'a>>(&'a self, source: S, evaluation: &'a Evaluation<'a>) -> Result<Output<'a>> {
        let all = |items: &'a [Selector]| -> Result<Vec<Output<'a>>> {
            items.iter().map(|item| item.evaluate(source, evaluation)).collect()
        };
        let term = |index: usize| evaluation.terms.get(index).and_then(Value::bytes);
        Ok(match self {
            Selector::Column(index) => source.column(*index),
            Selector::Term(index) => term(*index).map(Cow::Borrowed),
            Selector::CellAttribute { attribute, inner } => {
                let kind = match attribute {
                    CellAttribute::Ttl => TimesKind::Ttl,
                    CellAttribute::WriteTime | CellAttribute::MaxWriteTime => TimesKind::WriteTime,
                };
                let times = inner.times(source, kind, evaluation)?;
                let times = if *attribute == CellAttribute::MaxWriteTime { times.max() } else { times };
                times.encode(kind).map(Cow::Owned)
            }
            Selector::Scalar { function, arguments } => {
                let values = all(arguments)?;
                let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                function.execute(&values, &evaluation.functions)?.map(Cow::Owned)
            }
            Selector::Aggregate { function, .. } => source.aggregate(function)?,
            Selector::Field { inner, index, field_count } => {
                let Some(whole) = inner.evaluate(source, evaluation)? else { return Ok(None) };
                let field = collection::unpack_tuple(&whole, *field_count).get(*index).copied().flatten();
                field.map(|bytes| Cow::Owned(bytes.to_vec()))
            }
            Selector::Tuple(items) => {
                let values = all(items)?;
                let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                Some(Cow::Owned(collection::pack_tuple(&values)))
            }
            Selector::List(items) => {
                let values = all(items)?;
                let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                Some(Cow::Owned(collection::pack_list(&values)))
            }
            Selector::Vector { element, items } => {
                let values = all(items)?;
                let values: Vec<&[u8]> = values.iter().map(|value| value.as_deref().unwrap_or(&[])).collect();
                Some(Cow::Owned(collection::pack_vector(element, &values)))
            }
            Selector::Set { element, items } => {
                let mut values = all(items)?;
                let bytes = |value: &Output<'a>| value.as_deref().unwrap_or(&[]).to_vec();
                values.sort_by(|a, b| element.compare(&bytes(a), &bytes(b)));
                values.dedup_by(|a, b| element.compare(&bytes(a), &bytes(b)).is_eq());
                let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                Some(Cow::Owned(collection::pack_list(&values)))
            }
            Selector::Map { key, entries } => {
                let mut values: Vec<(Output<'a>, Output<'a>)> = Vec::with_capacity(entries.len());
                for (entry_key, entry_value) in entries {
                    let entry_key = entry_key.evaluate(source, evaluation)?;
                    values.push((entry_key, entry_value.evaluate(source, evaluation)?));
                }
                let bytes = |value: &Output<'a>| value.as_deref().unwrap_or(&[]).to_vec();
                values.sort_by(|a, b| key.compare(&bytes(&a.0), &bytes(&b.0)));
                values.dedup_by(|a, b| key.compare(&bytes(&a.0), &bytes(&b.0)).is_eq());
                let values: Vec<(&[u8], &[u8])> = values
                    .iter()
                    .map(|(key, value)| (key.as_deref().unwrap_or(&[]), value.as_deref().unwrap_or(&[])))
                    .collect();
                Some(Cow::Owned(collection::pack_map(&values)))
            }
            Selector::UserType(fields) => {
                let mut values: Vec<Output<'a>> = Vec::with_capacity(fields.len());
                for field in fields {
                    values.push(match field {
                        Some(field) => field.evaluate(source, evaluation)?,
                        None => None,
                    });
                }
                let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                Some(Cow::Owned(collection::pack_tuple(&values)))
            }
            Selector::Element { inner, ty, key } => {
                let Some(whole) = inner.evaluate(source, evaluation)? else { return Ok(None) };
                element_of(ty, &whole, term(*key).unwrap_or(&[]))?.map(Cow::Owned)
            }
            Selector::Slice { inner, ty, from, to } => {
                let Some(whole) = inner.evaluate(source, evaluation)? else { return Ok(None) };
                let (from, to) = (from.and_then(term), to.and_then(term));
                let range = index_range(ty, &whole, from, to)?;
                slice_of(ty, &whole, range)?.map(Cow::Owned)
            }
        })
    }

    fn times<'a, S: Source<'a>>(&'a self, source: S, kind: TimesKind, evaluation: &'a Evaluation<'a>) -> Result<Times> {
        let term = |index: usize| evaluation.terms.get(index).and_then(Value::bytes);
        Ok(match self {
            Selector::Column(index) => source.times(*index, kind),
            Selector::Field { inner, index, .. } => {
                if self.evaluate(source, evaluation)?.is_none() {
                    return Ok(Times::None);
                }
                inner.times(source, kind, evaluation)?.at(*index)
            }
            Selector::Element { inner, ty, key } => {
                let Some(whole) = inner.evaluate(source, evaluation)? else { return Ok(Times::None) };
                match keys_of(ty, &whole)?.iter().position(|found| is_key(ty, found, term(*key).unwrap_or(&[]))) {
                    Some(index) => inner.times(source, kind, evaluation)?.at(index),
                    None => Times::None,
                }
            }
            Selector::Slice { inner, ty, from, to } => {
                let Some(whole) = inner.evaluate(source, evaluation)? else { return Ok(Times::None) };
                let range = index_range(ty, &whole, from.and_then(term), to.and_then(term))?;
                inner.times(source, kind, evaluation)?.slice(range)
            }
            _ => Times::None,
        })
    }

    fn collect_aggregates<'s>(&'s self, found: &mut Vec<(&'s Arc<Function>, &'s [Selector])>) {
        match self {
            Selector::Column(_) | Selector::Term(_) => {}
            Selector::Aggregate { function, arguments } => found.push((function, arguments)),
            Selector::CellAttribute { inner, .. }
            | Selector::Field { inner, .. }
            | Selector::Element { inner, .. }
            | Selector::Slice { inner, .. } => inner.collect_aggregates(found),
            Selector::Scalar { arguments: items, .. }
            | Selector::Tuple(items)
            | Selector::List(items)
            | Selector::Set { items, .. }
            | Selector::Vector { items, .. } => items.iter().for_each(|item| item.collect_aggregates(found)),
            Selector::Map { entries, .. } => entries.iter().for_each(|(key, value)| {
                key.collect_aggregates(found);
                value.collect_aggregates(found);
            }),
            Selector::UserType(fields) => fields.iter().flatten().for_each(|field| field.collect_aggregates(found)),
        }
    }
}

/// The rows of one group, reduced to what its result row needs.
pub struct Group<'s> {
    selectors: &'s [Selector],
    aggregates: Vec<(&'s [Selector], Accumulator)>,
    /// Values and times of all fetched columns of the group's first row.
    first: Option<FirstRow>,
}

struct FirstRow {
    values: Vec<Option<Vec<u8>>>,
    write_times: Vec<Times>,
    ttls: Vec<Times>,
}

impl<'s> Group<'s> {
    #[must_use]
    pub fn new(selectors: &'s [Selector]) -> Self {
        let mut found = Vec::new();
        selectors.iter().for_each(|selector| selector.collect_aggregates(&mut found));
        let aggregates = found
            .into_iter()
            .map(|(function, arguments)| {
                let kind = match function.kind {
                    FunctionKind::Aggregate(kind) => kind,
                    FunctionKind::Scalar(_) => AggregateKind::CountRows,
                };
                let ty = function.arguments.first().unwrap_or(&CqlType::Bigint);
                (arguments, Accumulator::new(kind, ty))
            })
            .collect();
        Self { selectors, aggregates, first: None }
    }

    /// # Errors
    /// What functions refuse.
    pub fn add(&mut self, row: &InputRow<'_>, evaluation: &Evaluation<'_>) -> Result<()> {
        if self.first.is_none() {
            let indexes = 0..row.columns.len();
            self.first = Some(FirstRow {
                values: indexes.clone().map(|index| row.value(index).map(Cow::into_owned)).collect(),
                write_times: indexes.clone().map(|index| row.times(index, TimesKind::WriteTime)).collect(),
                ttls: indexes.map(|index| row.times(index, TimesKind::Ttl)).collect(),
            });
        }
        for (arguments, accumulator) in &mut self.aggregates {
            match arguments.first() {
                None => accumulator.add(None)?,
                Some(argument) => {
                    let value = argument.evaluate(RowSource(row), evaluation)?;
                    accumulator.add(value.as_deref())?;
                }
            }
        }
        Ok(())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Value of a fetched column in the group's first row.
    #[must_use]
    pub fn first_value(&self, index: usize) -> Option<&[u8]> {
        self.first.as_ref()?.values.get(index)?.as_deref()
    }

    /// The group's result row.
    ///
    /// # Errors
    /// What functions refuse.
    pub fn output(&self, evaluation: &Evaluation<'_>) -> Result<Vec<Option<Vec<u8>>>> {
        let next = std::cell::Cell::new(0);
        let source = GroupSource { group: self, next: &next };
        let mut row = Vec::with_capacity(self.selectors.len());
        for selector in self.selectors {
            row.push(selector.evaluate(source, evaluation)?.map(Cow::into_owned));
        }
        Ok(row)
    }
}

#[derive(Clone, Copy)]
struct GroupSource<'g, 's> {
    group: &'g Group<'s>,
    /// Aggregates are met in the order in which they were collected.
    next: &'g std::cell::Cell<usize>,
}

impl<'a> Source<'a> for GroupSource<'_, '_> {
    fn column(self, index: usize) -> Output<'a> {
        self.group.first_value(index).map(|bytes| Cow::Owned(bytes.to_vec()))
    }

    fn times(self, index: usize, kind: TimesKind) -> Times {
        let Some(first) = &self.group.first else { return Times::None };
        let times = match kind {
            TimesKind::WriteTime => &first.write_times,
            TimesKind::Ttl => &first.ttls,
        };
        times.get(index).cloned().unwrap_or(Times::None)
    }

    fn aggregate(self, _function: &Function) -> Result<Output<'a>> {
        let at = self.next.get();
        self.next.set(at + 1);
        match self.group.aggregates.get(at) {
            Some((_, accumulator)) => Ok(accumulator.result()?.map(Cow::Owned)),
            None => Ok(None),
        }
    }
}

/// Keys of a map, elements of a set.
fn keys_of<'b>(ty: &CqlType, bytes: &'b [u8]) -> Result<Vec<&'b [u8]>> {
    Ok(match ty {
        CqlType::Map { .. } => collection::MapRef::parse(bytes)?.iter().map(|(key, _)| key).collect(),
        _ => collection::ListRef::parse(bytes)?.iter().flatten().collect(),
    })
}

fn key_type(ty: &CqlType) -> &CqlType {
    match ty {
        CqlType::Map { key, .. } => key,
        CqlType::Set { element, .. } | CqlType::List { element, .. } => element,
        other => other,
    }
}

fn is_key(ty: &CqlType, found: &[u8], wanted: &[u8]) -> bool {
    key_type(ty).compare(found, wanted).is_eq()
}

/// `map[key]`: the value; `set[element]`: the element when it is there.
pub fn element_of(ty: &CqlType, bytes: &[u8], wanted: &[u8]) -> Result<Option<Vec<u8>>> {
    Ok(match ty {
        CqlType::Map { .. } => collection::MapRef::parse(bytes)?
            .iter()
            .find(|(key, _)| is_key(ty, key, wanted))
            .map(|(_, value)| value.to_vec()),
        _ => keys_of(ty, bytes)?.into_iter().find(|found| is_key(ty, found, wanted)).map(<[u8]>::to_vec),
    })
}

fn index_range(ty: &CqlType, bytes: &[u8], from: Option<&[u8]>, to: Option<&[u8]>) -> Result<std::ops::Range<usize>> {
    let keys = keys_of(ty, bytes)?;
    let order = key_type(ty);
    let start = from.map_or(0, |from| keys.partition_point(|key| order.compare(key, from).is_lt()));
    let end = to.map_or(keys.len(), |to| keys.partition_point(|key| order.compare(key, to).is_le()));
    Ok(start..end.max(start))
}

fn slice_of(ty: &CqlType, bytes: &[u8], range: std::ops::Range<usize>) -> Result<Option<Vec<u8>>> {
    if range.is_empty() && ty.is_multi_cell() {
        return Ok(None);
    }
    let (skip, take) = (range.start, range.len());
    Ok(Some(match ty {
        CqlType::Map { .. } => {
            let map = collection::MapRef::parse(bytes)?;
            let entries: Vec<(&[u8], &[u8])> = map.iter().skip(skip).take(take).collect();
            collection::pack_map(&entries)
        }
        _ => {
            let set = collection::ListRef::parse(bytes)?;
            let elements: Vec<Option<&[u8]>> = set.iter().skip(skip).take(take).collect();
            collection::pack_list(&elements)
        }
    }))
}
