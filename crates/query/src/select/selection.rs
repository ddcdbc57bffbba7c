//! Selection: the SELECT clause resolved: which columns are fetched, what is computed from them, how results are named.
//!
//! Source: Cassandra 5.0, `cql3.selection.Selection` and the selectors' factories.

use std::sync::Arc;

use helenus_cql::{Selector as RawSelector, Term as RawTerm};
use helenus_protocol::{ColumnSpec, ResultMetadata};
use helenus_schema::{Column, Table};
use helenus_types::CqlType;
use md5::{Digest, Md5};

use crate::error::{Result, ensure, invalid};
use crate::select::input::FetchedColumn;
use crate::select::selectable::{Selectable, attribute_type, check_not_list, map_entries, user_type_fields};
use crate::select::selector::Selector;
use crate::terms::{Argument, Markers, Receiver, Scope, Term, native_type, prepare};

#[derive(Debug)]
pub struct Selection {
    pub fetched: Vec<FetchedColumn>,
    pub selectors: Vec<Selector>,
    /// Terms inside the selectors, bound once an execution.
    pub terms: Vec<SelectedTerm>,
    /// Names and types of the computed columns, also when they are returned as JSON.
    pub columns: Vec<ColumnSpec>,
    pub is_aggregate: bool,
    pub is_json: bool,
    pub is_wildcard: bool,
    pub metadata: Arc<ResultMetadata>,
    /// MD5 of the result's columns, as Cassandra computes it.
    pub metadata_id: [u8; 16],
}

/// A term, and what a null or unset value of it is called.
#[derive(Debug)]
pub struct SelectedTerm {
    pub term: Term,
    /// `element selection on m`, when a value must be there.
    pub required_for: Option<String>,
}

/// What functions that also take user functions' types call a timeuuid.
const LEGACY_TIMEUUID: &str = "org.apache.cassandra.db.marshal.LegacyTimeUUIDType";

/// A selector that was built, with what its user needs to know.
struct Built {
    selector: Selector,
    name: String,
    ty: CqlType,
    aggregates: bool,
    /// A plain column stored in descending order: its Java type is a `ReversedType`.
    is_reversed: bool,
    /// A timeuuid that is announced under the class's old name.
    is_legacy_timeuuid: bool,
}

struct Builder<'a> {
    scope: &'a Scope<'a>,
    table: &'a Arc<Table>,
    fetched: Vec<FetchedColumn>,
    terms: Vec<SelectedTerm>,
}

impl Selection {
    /// `SELECT *`, or all columns in processing order for GROUP BY.
    #[must_use]
    pub fn wildcard(table: &Arc<Table>, is_json: bool) -> Self {
        let columns = table.columns();
        let fetched: Vec<FetchedColumn> = columns.iter().map(FetchedColumn::new).collect();
        let selectors = (0..fetched.len()).map(Selector::Column).collect();
        let specs: Vec<(ColumnSpec, bool)> = fetched
            .iter()
            .map(|column| (spec(table, &column.name, column.ty.clone()), column.is_descending()))
            .collect();
        Self::finish(table, fetched, selectors, Vec::new(), specs, false, is_json, true)
    }

    /// Selectables with their aliases; each is prepared only when those before it have been looked at.
    ///
    /// # Errors
    /// Selections that have no type or no sense, in Cassandra's words.
    pub fn prepare<'s>(
        scope: &Scope<'_>,
        table: &Arc<Table>,
        selected: impl IntoIterator<Item = Result<(Selectable, Option<&'s str>)>>,
        is_json: bool,
        markers: &mut Markers,
    ) -> Result<Self> {
        let mut builder = Builder { scope, table, fetched: Vec::new(), terms: Vec::new() };
        let mut selectors = Vec::new();
        let mut specs = Vec::new();
        let mut is_aggregate = false;
        for prepared in selected {
            let (selectable, alias) = prepared?;
            let built = builder.build(&selectable, None, markers)?;
            is_aggregate |= built.aggregates;
            let ty =
                if built.is_legacy_timeuuid && !is_json { CqlType::Custom(LEGACY_TIMEUUID.into()) } else { built.ty };
            specs.push((spec(table, alias.unwrap_or(&built.name), ty), built.is_reversed));
            selectors.push(built.selector);
        }
        let Builder { fetched, terms, .. } = builder;
        Ok(Self::finish(table, fetched, selectors, terms, specs, is_aggregate, is_json, false))
    }

    #[expect(clippy::too_many_arguments, reason = "the two constructors' common end")]
    fn finish(
        table: &Table,
        fetched: Vec<FetchedColumn>,
        selectors: Vec<Selector>,
        terms: Vec<SelectedTerm>,
        specs: Vec<(ColumnSpec, bool)>,
        is_aggregate: bool,
        is_json: bool,
        is_wildcard: bool,
    ) -> Self {
        let (metadata, metadata_id) = if is_json {
            let json = spec(table, "[json]", CqlType::Text);
            (ResultMetadata::new(vec![json.clone()]), metadata_id(&[(json, false)]))
        } else {
            (ResultMetadata::new(specs.iter().map(|(spec, _)| spec.clone()).collect()), metadata_id(&specs))
        };
        Self {
            fetched,
            selectors,
            terms,
            columns: specs.into_iter().map(|(spec, _)| spec).collect(),
            is_aggregate,
            is_json,
            is_wildcard,
            metadata: Arc::new(metadata),
            metadata_id,
        }
    }

    /// Index of a column among the fetched ones, fetching it when it is not there yet.
    pub fn fetch(&mut self, column: &Column) -> usize {
        fetch(&mut self.fetched, column)
    }
}

fn fetch(fetched: &mut Vec<FetchedColumn>, column: &Column) -> usize {
    match fetched.iter().position(|known| known.id == column.id) {
        Some(at) => at,
        None => {
            fetched.push(FetchedColumn::new(column));
            fetched.len() - 1
        }
    }
}

fn spec(table: &Table, name: &str, ty: CqlType) -> ColumnSpec {
    ColumnSpec { keyspace: (*table.keyspace).into(), table: (*table.name).into(), name: name.into(), ty }
}

/// MD5 over name, zero, Java type, two zeros of each column.
///
/// Source: Cassandra 5.0, `cql3.ResultSet.computeResultMetadataId`.
fn metadata_id(columns: &[(ColumnSpec, bool)]) -> [u8; 16] {
    let mut hash = Md5::new();
    for (column, is_reversed) in columns {
        let java = column.ty.java_name();
        hash.update(column.name.as_bytes());
        hash.update([0]);
        if *is_reversed {
            hash.update(format!("org.apache.cassandra.db.marshal.ReversedType({java})"));
        } else {
            hash.update(java);
        }
        hash.update([0, 0]);
    }
    hash.finalize().into()
}

/// The id of a result without columns.
#[must_use]
pub fn empty_metadata_id() -> [u8; 16] {
    metadata_id(&[])
}

/// The id of columns that come from no table.
#[must_use]
pub fn plain_metadata_id(metadata: &ResultMetadata) -> [u8; 16] {
    let columns: Vec<(ColumnSpec, bool)> = metadata.columns().iter().map(|column| (column.clone(), false)).collect();
    metadata_id(&columns)
}

fn joined(open: char, items: &[Built], close: char) -> String {
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    format!("{open}{}{close}", names.join(", "))
}

impl Builder<'_> {
    fn build(&mut self, selectable: &Selectable, expected: Option<&CqlType>, markers: &mut Markers) -> Result<Built> {
        match selectable {
            Selectable::Column(column) => {
                let index = fetch(&mut self.fetched, column);
                let is_reversed = self.fetched.get(index).is_some_and(FetchedColumn::is_descending);
                let selector = Selector::Column(index);
                let name = column.name.to_string();
                Ok(Built { is_reversed, ..Built::plain(selector, name, column.ty.clone()) })
            }
            Selectable::Term(raw) => {
                let ty = self.infer(selectable, expected)?;
                let receiver = Receiver::new(&self.table.keyspace, &self.table.name, "[selection]", ty.clone());
                let term = prepare(self.scope, raw, &receiver, markers)?;
                let selector = Selector::Term(self.add_term(term, None));
                Ok(Built::plain(selector, raw.to_string(), ty))
            }
            Selectable::CellAttribute { attribute, column, inner } => {
                ensure!(
                    !column.kind.is_primary_key(),
                    "Cannot use selection function {} on PRIMARY KEY part {}",
                    attribute.name(),
                    column.name
                );
                let inner = self.build(inner, expected, markers)?;
                let name = format!("{}({})", attribute.name(), inner.name);
                let ty = attribute_type(*attribute, &inner.ty);
                let selector = Selector::CellAttribute { attribute: *attribute, inner: Box::new(inner.selector) };
                Ok(Built::plain(selector, name, ty))
            }
            Selectable::Function { function, arguments } => {
                let mut built = Vec::with_capacity(arguments.len());
                for (argument, ty) in arguments.iter().zip(&function.arguments) {
                    built.push(self.build(argument, Some(ty), markers)?);
                }
                let aggregates = built.iter().any(|argument| argument.aggregates);
                let is_reversed = built.first().is_some_and(|argument| argument.is_reversed);
                ensure!(
                    !(function.is_aggregate() && aggregates),
                    "aggregate functions cannot be used as arguments of aggregate functions"
                );
                let names: Vec<String> = built.iter().map(|argument| argument.name.clone()).collect();
                let arguments = built.into_iter().map(|argument| argument.selector).collect();
                let selector = if function.is_aggregate() {
                    Selector::Aggregate { function: Arc::clone(function), arguments }
                } else {
                    Selector::Scalar { function: Arc::clone(function), arguments }
                };
                let mut result = Built::plain(selector, function.column_name(&names), function.returns.clone());
                result.is_legacy_timeuuid = function.returns_legacy_timeuuid() && !is_reversed;
                result.aggregates = aggregates || function.is_aggregate();
                Ok(result)
            }
            Selectable::Cast { inner, target } => {
                let built = self.build(inner, None, markers)?;
                let ty = native_type(*target);
                if ty == built.ty && !built.is_reversed {
                    return Ok(built);
                }
                let refused = |fetched: &[FetchedColumn]| {
                    let column = fetched.first().map_or("", |column| &*column.name);
                    invalid!("{column} cannot be cast to {}", target.name())
                };
                // There is no such function upstream, although there is one for `text`.
                if *target == helenus_cql::NativeType::Varchar {
                    return Err(refused(&self.fetched));
                }
                let name = crate::functions::FunctionName::native(&format!("cast_as_{ty}"));
                let argument = inner.as_ref().clone();
                let function = crate::functions::resolve(self.scope, &name, &[argument], None)?
                    .ok_or_else(|| refused(&self.fetched))?;
                let column_name = function.column_name(&[built.name]);
                let ty = function.returns.clone();
                let selector = Selector::Scalar { function, arguments: vec![built.selector] };
                let mut result = Built::plain(selector, column_name, ty);
                result.aggregates = built.aggregates;
                Ok(result)
            }
            Selectable::Field { inner, field } => {
                let expected = match inner.as_ref() {
                    Selectable::Tuple(items) => items.first().and_then(|item| item.exact_type(self.scope)),
                    _ => None,
                };
                let built = self.build(inner, expected.as_ref(), markers)?;
                let CqlType::Udt(udt, _) = &built.ty else {
                    return Err(invalid!("Invalid field selection: {inner} of type {} is not a user type", built.ty));
                };
                let found = udt.field_index(field).and_then(|index| Some((index, udt.fields.get(index)?)));
                let Some((index, found)) = found else {
                    return Err(invalid!("{inner} of type {} has no field {field}", built.ty));
                };
                let (ty, field_count) = (found.ty.clone(), udt.fields.len());
                let selector = Selector::Field { inner: Box::new(built.selector), index, field_count };
                let mut result = Built::plain(selector, format!("{}.{field}", built.name), ty);
                result.aggregates = built.aggregates;
                Ok(result)
            }
            Selectable::Tuple(items) => {
                let ty = self.infer(selectable, expected)?;
                if let ([only], false) = (items.as_slice(), ty.is_tuple() || ty.is_udt()) {
                    let mut built = self.build(only, expected, markers)?;
                    built.name = format!("({})", built.name);
                    return Ok(built);
                }
                let types = crate::terms::component_types(&ty).unwrap_or_default();
                let built = self.build_all(items, |index| types.get(index).cloned(), markers)?;
                let name = joined('(', &built, ')');
                Ok(Built::composed(built, name, ty, Selector::Tuple))
            }
            Selectable::Array(items) => {
                let vector = match expected {
                    Some(ty @ CqlType::Vector { .. }) => Some(ty),
                    _ => None,
                };
                if let Some(CqlType::Vector { element, dimension }) = vector {
                    ensure!(
                        u32::try_from(items.len()).ok() == Some(*dimension),
                        "Unable to create a vector selector of type vector<{element}, {dimension}> from {} elements",
                        items.len()
                    );
                    let built = self.build_all(items, |_| Some((**element).clone()), markers)?;
                    let name = joined('[', &built, ']');
                    let ty = CqlType::Vector { element: Arc::clone(element), dimension: *dimension };
                    let element = (**element).clone();
                    return Ok(Built::composed(built, name, ty, |items| Selector::Vector { element, items }));
                }
                let ty = self.infer(selectable, expected)?;
                let CqlType::List { element, .. } = &ty else {
                    return Err(invalid!("Invalid list literal for {selectable} of type {ty}"));
                };
                let element = (**element).clone();
                let built = self.build_all(items, |_| Some(element.clone()), markers)?;
                let name = joined('[', &built, ']');
                Ok(Built::composed(built, name, ty, Selector::List))
            }
            Selectable::Set(items) => {
                let ty = self.infer(selectable, expected)?;
                let element = match &ty {
                    CqlType::Map { key, .. } => {
                        let selector = Selector::Map { key: (**key).clone(), entries: Vec::new() };
                        return Ok(Built::plain(selector, "{}".to_owned(), ty));
                    }
                    CqlType::Set { element, .. } => (**element).clone(),
                    other => return Err(invalid!("Invalid set literal for {selectable} of type {other}")),
                };
                ensure!(element != CqlType::Duration, "Durations are not allowed inside sets: {ty}");
                let built = self.build_all(items, |_| Some(element.clone()), markers)?;
                let name = joined('{', &built, '}');
                Ok(Built::composed(built, name, ty, |items| Selector::Set { element, items }))
            }
            Selectable::MapOrUserType(entries) => self.build_map_or_user_type(selectable, entries, expected, markers),
            Selectable::TypeHint { text, ty, inner } => {
                let receiver =
                    Receiver::new(&self.table.keyspace, &self.table.name, selectable.to_string(), ty.clone());
                ensure!(
                    inner.test(self.scope, &receiver)?.is_possible(),
                    "Cannot assign value {selectable} to {} of type {ty}",
                    receiver.name
                );
                let mut built = self.build(inner, Some(ty), markers)?;
                built.name = format!("({text}){}", built.name);
                built.ty = ty.clone();
                built.is_reversed = false;
                Ok(built)
            }
            Selectable::Element { inner, element } => {
                let built = self.build(inner, None, markers)?;
                ensure!(
                    built.ty.is_collection(),
                    "Invalid element selection: {inner} is of type {} is not a collection",
                    built.ty
                );
                check_not_list("Element", inner, &built.ty)?;
                let receiver = self.element_receiver(&built);
                let required = Some(format!("element selection on {}", built.name));
                let term = prepare(self.scope, element, &receiver, markers)?;
                let key = self.add_term(term, required);
                let ty = match &built.ty {
                    CqlType::Map { value, .. } => (**value).clone(),
                    CqlType::Set { element, .. } => (**element).clone(),
                    other => other.clone(),
                };
                let selector = Selector::Element { inner: Box::new(built.selector), ty: built.ty, key };
                let mut result = Built::plain(selector, selectable.to_string(), ty);
                result.aggregates = built.aggregates;
                Ok(result)
            }
            Selectable::Slice { inner, from, to } => {
                let built = self.build(inner, expected, markers)?;
                ensure!(
                    built.ty.is_collection(),
                    "Invalid slice selection: {inner} of type {} is not a collection",
                    built.ty
                );
                check_not_list("Slice", inner, &built.ty)?;
                let receiver = self.element_receiver(&built);
                let from = self.slice_term(from.as_ref(), &receiver, &built.name, markers)?;
                let to = self.slice_term(to.as_ref(), &receiver, &built.name, markers)?;
                let ty = built.ty.clone();
                let selector = Selector::Slice { inner: Box::new(built.selector), ty: built.ty, from, to };
                let mut result = Built::plain(selector, selectable.to_string(), ty);
                result.aggregates = built.aggregates;
                Ok(result)
            }
        }
    }

    fn build_all(
        &mut self,
        items: &[Selectable],
        expected: impl Fn(usize) -> Option<CqlType>,
        markers: &mut Markers,
    ) -> Result<Vec<Built>> {
        items.iter().enumerate().map(|(index, item)| self.build(item, expected(index).as_ref(), markers)).collect()
    }

    fn build_map_or_user_type(
        &mut self,
        selectable: &Selectable,
        entries: &[(RawSelector, Selectable)],
        expected: Option<&CqlType>,
        markers: &mut Markers,
    ) -> Result<Built> {
        let ty = self.infer(selectable, expected)?;
        match &ty {
            CqlType::Udt(udt, _) => {
                let mut fields: Vec<Option<Selector>> = vec![None; udt.fields.len()];
                let mut names = Vec::with_capacity(entries.len());
                let mut aggregates = false;
                for (index, value) in user_type_fields(udt, entries)? {
                    let field = udt.fields.get(index);
                    let built = self.build(value, field.map(|field| &field.ty), markers)?;
                    aggregates |= built.aggregates;
                    names.push(format!("{}: {}", field.map_or("", |field| &*field.name), built.name));
                    if let Some(slot) = fields.get_mut(index) {
                        *slot = Some(built.selector);
                    }
                }
                let name = format!("{{{}}}", names.join(", "));
                let mut result = Built::plain(Selector::UserType(fields), name, ty.clone());
                result.aggregates = aggregates;
                Ok(result)
            }
            CqlType::Map { key, value, .. } => {
                ensure!(**key != CqlType::Duration, "Durations are not allowed as map keys: {ty}");
                let mut selectors = Vec::with_capacity(entries.len());
                let mut names = Vec::with_capacity(entries.len());
                let mut aggregates = false;
                for (entry_key, entry_value) in map_entries(self.scope, entries)? {
                    let built_key = self.build(&entry_key, Some(key), markers)?;
                    let built_value = self.build(&entry_value, Some(value), markers)?;
                    aggregates |= built_key.aggregates || built_value.aggregates;
                    names.push(format!("{}: {}", built_key.name, built_value.name));
                    selectors.push((built_key.selector, built_value.selector));
                }
                let name = format!("{{{}}}", names.join(", "));
                let selector = Selector::Map { key: (**key).clone(), entries: selectors };
                let mut result = Built::plain(selector, name, ty.clone());
                result.aggregates = aggregates;
                Ok(result)
            }
            other => Err(invalid!("Invalid map literal for {selectable} of type {other}")),
        }
    }

    /// The type that the selectable has by itself, or the one that is wanted of it.
    fn infer(&self, selectable: &Selectable, expected: Option<&CqlType>) -> Result<CqlType> {
        selectable.exact_type(self.scope).or_else(|| expected.cloned()).ok_or_else(|| {
            invalid!("Cannot infer type for term {selectable} in selection clause (try using a cast to force a type)")
        })
    }

    fn add_term(&mut self, term: Term, required_for: Option<String>) -> usize {
        self.terms.push(SelectedTerm { term, required_for });
        self.terms.len() - 1
    }

    fn slice_term(
        &mut self,
        raw: Option<&RawTerm>,
        receiver: &Receiver,
        name: &str,
        markers: &mut Markers,
    ) -> Result<Option<usize>> {
        let Some(raw) = raw else { return Ok(None) };
        let term = prepare(self.scope, raw, receiver, markers)?;
        Ok(Some(self.add_term(term, Some(format!("slice selection on {name}")))))
    }

    /// Receives the key of an element or slice selection.
    fn element_receiver(&self, built: &Built) -> Receiver {
        let whole = Receiver::new(&self.table.keyspace, &self.table.name, built.name.clone(), built.ty.clone());
        match &built.ty {
            CqlType::Map { key, .. } => whole.key(key),
            CqlType::Set { element, .. } => whole.element(element),
            _ => whole,
        }
    }
}

impl Built {
    fn plain(selector: Selector, name: String, ty: CqlType) -> Self {
        Self { selector, name, ty, aggregates: false, is_reversed: false, is_legacy_timeuuid: false }
    }

    fn composed(items: Vec<Built>, name: String, ty: CqlType, make: impl FnOnce(Vec<Selector>) -> Selector) -> Self {
        let aggregates = items.iter().any(|item| item.aggregates);
        let selector = make(items.into_iter().map(|item| item.selector).collect());
        Self { selector, name, ty, aggregates, is_reversed: false, is_legacy_timeuuid: false }
    }
}
