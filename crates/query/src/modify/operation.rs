//! Operation: one assignment of an UPDATE or INSERT, one deletion of a DELETE.
//!
//! Source: Cassandra 5.0, `cql3.Operation`, `cql3.Lists`, `Sets`, `Maps`, `UserTypes`, `Constants`.

use helenus_cql::{Deletion, Operation as RawOperation, Term as RawTerm};
use helenus_data::{Blob, CellPath, Row};
use helenus_schema::{Column, Table};
use helenus_types::{CqlType, arithmetic, collection, value};

use crate::error::{QueryError, Result, ensure, invalid};
use crate::modify::update::{UpdateParameters, add_counter};
use crate::terms::{Bind, Markers, Receiver, Scope, Term, Value, prepare};

#[derive(Clone, Debug)]
pub struct Operation {
    pub column: Column,
    pub kind: OperationKind,
}

#[derive(Clone, Debug)]
pub enum OperationKind {
    Set(Term),
    /// `list[index] = value`
    SetIndex {
        index: Term,
        value: Term,
    },
    /// `map[key] = value`
    SetKey {
        key: Term,
        value: Term,
    },
    SetField {
        index: u16,
        value: Term,
    },
    Append(Term),
    Prepend(Term),
    /// Elements of a set, or entries of a map.
    Add(Term),
    /// `counter = counter + n`, or `- n`.
    Count {
        term: Term,
        negate: bool,
    },
    /// `n = n + 1` of a plain column, in a conditional update.
    Increase(Term),
    /// Elements of a list by value.
    DiscardValues(Term),
    /// Elements of a set, or keys of a map: the term is a set.
    DiscardKeys(Term),
    DeleteIndex(Term),
    /// One element of a set, or key of a map.
    DeleteKey(Term),
    DeleteField {
        index: u16,
    },
    Delete,
}

impl Operation {
    /// An assignment. `may_read` is set for conditional updates, which know the row's old values.
    ///
    /// # Errors
    /// Operations that the column's type does not have.
    pub fn prepare(
        scope: &Scope<'_>,
        table: &Table,
        column: &Column,
        raw: &RawOperation,
        may_read: bool,
        markers: &mut Markers,
    ) -> Result<Self> {
        let receiver = Receiver::column(table, column);
        let kind = match raw {
            RawOperation::Set(raw) => {
                let term = prepare(scope, raw, &receiver, markers)?;
                ensure!(
                    !column.ty.is_counter(),
                    "Cannot set the value of counter column {} (counters can only be incremented/decremented, not set)",
                    column.name
                );
                OperationKind::Set(term)
            }
            RawOperation::Add(raw) => Self::addition(scope, column, raw, &receiver, may_read, markers)?,
            RawOperation::Subtract(raw) => Self::subtraction(scope, column, raw, &receiver, markers)?,
            RawOperation::Prepend(raw) => {
                let term = prepare(scope, raw, &receiver, markers)?;
                // Upstream prints the sign so.
                let text = || format!("{} = {raw} - {}", column.name, column.name);
                ensure!(
                    matches!(column.ty, CqlType::List { .. }),
                    "Invalid operation ({}) for non list column {}",
                    text(),
                    column.name
                );
                ensure!(
                    column.ty.is_multi_cell(),
                    "Invalid operation ({}) for frozen list column {}",
                    text(),
                    column.name
                );
                OperationKind::Prepend(term)
            }
            RawOperation::SetElement { key, value } => {
                let text = || format!("{}[{key}] = {value}", column.name);
                ensure!(
                    column.ty.is_collection(),
                    "Invalid operation ({}) for non collection column {}",
                    text(),
                    column.name
                );
                ensure!(
                    column.ty.is_multi_cell(),
                    "Invalid operation ({}) for frozen collection column {}",
                    text(),
                    column.name
                );
                match &column.ty {
                    CqlType::List { element, .. } => OperationKind::SetIndex {
                        index: prepare(scope, key, &receiver.list_index(), markers)?,
                        value: prepare(scope, value, &receiver.element(element), markers)?,
                    },
                    CqlType::Map { key: key_type, value: value_type, .. } => OperationKind::SetKey {
                        key: prepare(scope, key, &receiver.key(key_type), markers)?,
                        value: prepare(scope, value, &receiver.element(value_type), markers)?,
                    },
                    _ => return Err(invalid!("Invalid operation ({}) for set column {}", text(), column.name)),
                }
            }
            RawOperation::SetField { field, value } => {
                let field = field.as_str();
                let text = || format!("{}.{field} = {value}", column.name);
                let CqlType::Udt(udt, _) = &column.ty else {
                    return Err(invalid!("Invalid operation ({}) for non-UDT column {}", text(), column.name));
                };
                ensure!(
                    column.ty.is_multi_cell(),
                    "Invalid operation ({}) for frozen UDT column {}",
                    text(),
                    column.name
                );
                let found = udt.field_index(field).and_then(|at| Some((u16::try_from(at).ok()?, udt.fields.get(at)?)));
                let Some((index, found)) = found else {
                    return Err(invalid!("UDT column {} does not have a field named {field}", column.name));
                };
                let term = prepare(scope, value, &receiver.field(&found.name, &found.ty), markers)?;
                OperationKind::SetField { index, value: term }
            }
        };
        Ok(Self { column: column.clone(), kind })
    }

    fn addition(
        scope: &Scope<'_>,
        column: &Column,
        raw: &RawTerm,
        receiver: &Receiver,
        may_read: bool,
        markers: &mut Markers,
    ) -> Result<OperationKind> {
        let text = || format!("{} = {} + {raw}", column.name, column.name);
        if !column.ty.is_collection() {
            ensure!(
                !column.ty.is_tuple() && !column.ty.is_udt(),
                "Invalid operation ({}) for tuple column {}",
                text(),
                column.name
            );
            if column.ty.is_counter() {
                return Ok(OperationKind::Count { term: prepare(scope, raw, receiver, markers)?, negate: false });
            }
            ensure!(may_read, "Invalid operation ({}) for non counter column {}", text(), column.name);
            ensure!(
                crate::functions::is_numeric(&column.ty) || matches!(column.ty, CqlType::Text | CqlType::Ascii),
                "Invalid operation ({}) for non-numeric and non-text type {}",
                text(),
                column.name
            );
            return Ok(OperationKind::Increase(prepare(scope, raw, receiver, markers)?));
        }
        ensure!(
            column.ty.is_multi_cell(),
            "Invalid operation ({}) for frozen collection column {}",
            text(),
            column.name
        );
        match &column.ty {
            CqlType::List { .. } => Ok(OperationKind::Append(prepare(scope, raw, receiver, markers)?)),
            CqlType::Map { .. } => prepare(scope, raw, receiver, markers)
                .map(OperationKind::Add)
                .map_err(|_| invalid!("Value for a map addition has to be a map, but was: '{raw}'")),
            _ => Ok(OperationKind::Add(prepare(scope, raw, receiver, markers)?)),
        }
    }

    fn subtraction(
        scope: &Scope<'_>,
        column: &Column,
        raw: &RawTerm,
        receiver: &Receiver,
        markers: &mut Markers,
    ) -> Result<OperationKind> {
        let text = || format!("{} = {} - {raw}", column.name, column.name);
        if !column.ty.is_collection() {
            ensure!(column.ty.is_counter(), "Invalid operation ({}) for non counter column {}", text(), column.name);
            return Ok(OperationKind::Count { term: prepare(scope, raw, receiver, markers)?, negate: true });
        }
        ensure!(
            column.ty.is_multi_cell(),
            "Invalid operation ({}) for frozen collection column {}",
            text(),
            column.name
        );
        match &column.ty {
            CqlType::List { .. } => Ok(OperationKind::DiscardValues(prepare(scope, raw, receiver, markers)?)),
            CqlType::Map { key, .. } => {
                let keys = CqlType::Set { element: key.clone(), frozen: true };
                let keys = receiver.derive(receiver.name.clone(), keys);
                prepare(scope, raw, &keys, markers)
                    .map(OperationKind::DiscardKeys)
                    .map_err(|_| invalid!("Value for a map substraction has to be a set, but was: '{raw}'"))
            }
            _ => Ok(OperationKind::DiscardKeys(prepare(scope, raw, receiver, markers)?)),
        }
    }

    /// A deletion of a column or a part of it.
    ///
    /// # Errors
    /// Parts that the column's type does not have.
    pub fn prepare_deletion(
        scope: &Scope<'_>,
        table: &Table,
        column: &Column,
        raw: &Deletion,
        markers: &mut Markers,
    ) -> Result<Self> {
        let receiver = Receiver::column(table, column);
        let kind = match raw {
            Deletion::Column(_) => OperationKind::Delete,
            Deletion::Element { key, .. } => {
                ensure!(
                    column.ty.is_collection(),
                    "Invalid deletion operation for non collection column {}",
                    column.name
                );
                ensure!(
                    column.ty.is_multi_cell(),
                    "Invalid deletion operation for frozen collection column {}",
                    column.name
                );
                match &column.ty {
                    CqlType::Map { key: ty, .. } => {
                        OperationKind::DeleteKey(prepare(scope, key, &receiver.key(ty), markers)?)
                    }
                    CqlType::Set { element, .. } => {
                        OperationKind::DeleteKey(prepare(scope, key, &receiver.element(element), markers)?)
                    }
                    _ => OperationKind::DeleteIndex(prepare(scope, key, &receiver.list_index(), markers)?),
                }
            }
            Deletion::Field { field, .. } => {
                let CqlType::Udt(udt, _) = &column.ty else {
                    return Err(invalid!("Invalid field deletion operation for non-UDT column {}", column.name));
                };
                ensure!(
                    column.ty.is_multi_cell(),
                    "Frozen UDT column {} does not support field deletions",
                    column.name
                );
                let index = udt.field_index(field.as_str()).and_then(|index| u16::try_from(index).ok());
                let index = index.ok_or_else(|| {
                    invalid!("UDT column {} does not have a field named {}", column.name, field.as_str())
                })?;
                OperationKind::DeleteField { index }
            }
        };
        Ok(Self { column: column.clone(), kind })
    }

    /// Whether it must know the row as it is stored.
    #[must_use]
    pub fn requires_read(&self) -> bool {
        matches!(
            self.kind,
            OperationKind::SetIndex { .. }
                | OperationKind::DiscardValues(_)
                | OperationKind::DeleteIndex(_)
                | OperationKind::Increase(_)
        )
    }

    /// Writes into `row`.
    ///
    /// # Errors
    /// Values that do not fit, positions that a list does not have.
    pub fn apply(&self, row: &mut Row, bind: &Bind<'_>, parameters: &UpdateParameters<'_>) -> Result<()> {
        let column = &self.column;
        match &self.kind {
            OperationKind::Set(term) => self.set(row, term.bind(bind)?, parameters),
            OperationKind::SetIndex { index, value } => self.set_index(row, index, value, bind, parameters),
            OperationKind::SetKey { key, value } => {
                let path = self.key_path(key.bind(bind)?)?;
                let cell = match value.bind(bind)? {
                    Value::Unset => return Ok(()),
                    Value::Null => parameters.tombstone(),
                    Value::Bytes(bytes) => parameters.cell(Blob::from(&*bytes)),
                };
                row.complex_mut(column.id).add_cell(path, cell);
                Ok(())
            }
            OperationKind::SetField { index, value } => {
                let cell = match value.bind(bind)? {
                    Value::Unset => return Ok(()),
                    Value::Null => parameters.tombstone(),
                    Value::Bytes(bytes) => parameters.cell(Blob::from(&*bytes)),
                };
                row.complex_mut(column.id).add_cell(CellPath::field(*index), cell);
                Ok(())
            }
            OperationKind::Append(term) => match term.bind(bind)? {
                Value::Null | Value::Unset => Ok(()),
                Value::Bytes(bytes) => self.append(row, &bytes, parameters),
            },
            OperationKind::Prepend(term) => {
                let value = term.bind(bind)?;
                let Some(bytes) = value.bytes() else { return Ok(()) };
                let elements: Vec<&[u8]> = collection::ListRef::parse(bytes)?.iter().flatten().collect();
                // The first of `[a, b] + list` stands first.
                for (path, element) in parameters.prepend_paths(elements.len()).zip(&elements) {
                    row.complex_mut(column.id).add_cell(path, parameters.cell(Blob::from(*element)));
                }
                Ok(())
            }
            OperationKind::Add(term) => match term.bind(bind)? {
                Value::Null | Value::Unset => Ok(()),
                Value::Bytes(bytes) => self.add_elements(row, &bytes, parameters),
            },
            OperationKind::Count { term, negate } => self.count(row, term.bind(bind)?, *negate, parameters),
            OperationKind::Increase(term) => self.increase(row, term.bind(bind)?, parameters),
            OperationKind::DiscardValues(term) => {
                let value = term.bind(bind)?;
                let Some(bytes) = value.bytes() else { return Ok(()) };
                let discarded: Vec<&[u8]> = collection::ListRef::parse(bytes)?.iter().flatten().collect();
                for (path, cell) in parameters.current_complex(row, column).cells {
                    if discarded.contains(&&*cell.value) {
                        row.complex_mut(column.id).add_cell(path, parameters.tombstone());
                    }
                }
                Ok(())
            }
            OperationKind::DiscardKeys(term) => {
                let value = term.bind(bind)?;
                let Some(bytes) = value.bytes() else { return Ok(()) };
                for key in collection::ListRef::parse(bytes)?.iter().flatten() {
                    let path = CellPath::new(self.path_type(), key);
                    row.complex_mut(column.id).add_cell(path, parameters.tombstone());
                }
                Ok(())
            }
            OperationKind::DeleteIndex(term) => {
                let value = term.bind(bind)?;
                ensure!(!value.is_null(), "Invalid null value for list index");
                let Some(bytes) = value.bytes() else { return Ok(()) };
                let path =
                    self.path_at(row, bytes, "Attempted to delete an element from a list which is null", parameters)?;
                row.complex_mut(column.id).add_cell(path, parameters.tombstone());
                Ok(())
            }
            OperationKind::DeleteKey(term) => {
                let path = self.key_path(term.bind(bind)?)?;
                row.complex_mut(column.id).add_cell(path, parameters.tombstone());
                Ok(())
            }
            OperationKind::DeleteField { index } => {
                row.complex_mut(column.id).add_cell(CellPath::field(*index), parameters.tombstone());
                Ok(())
            }
            OperationKind::Delete => {
                if column.ty.is_multi_cell() {
                    let complex = row.complex_mut(column.id);
                    complex.deletion = complex.deletion.max(parameters.deletion());
                } else {
                    row.add_cell(column.id, parameters.tombstone());
                }
                Ok(())
            }
        }
    }

    fn set(&self, row: &mut Row, value: Value<'_>, parameters: &UpdateParameters<'_>) -> Result<()> {
        let column = &self.column;
        if value.is_unset() {
            return Ok(());
        }
        if !column.ty.is_multi_cell() {
            let cell = match value {
                Value::Bytes(bytes) => parameters.cell(Blob::from(&*bytes)),
                Value::Null | Value::Unset => parameters.tombstone(),
            };
            row.add_cell(column.id, cell);
            return Ok(());
        }
        let complex = row.complex_mut(column.id);
        complex.deletion = complex.deletion.max(parameters.overwrite_deletion());
        let Some(bytes) = value.bytes() else { return Ok(()) };
        match &column.ty {
            CqlType::List { .. } => self.append(row, bytes, parameters),
            CqlType::Udt(udt, _) => {
                for (index, field) in collection::unpack_tuple(bytes, udt.fields.len()).into_iter().enumerate() {
                    if let (Some(field), Ok(index)) = (field, u16::try_from(index)) {
                        complex.add_cell(CellPath::field(index), parameters.cell(Blob::from(field)));
                    }
                }
                Ok(())
            }
            _ => self.add_elements(row, bytes, parameters),
        }
    }

    fn append(&self, row: &mut Row, bytes: &[u8], parameters: &UpdateParameters<'_>) -> Result<()> {
        let elements = collection::ListRef::parse(bytes)?;
        for (path, element) in parameters.append_paths(elements.len()).zip(elements.iter()) {
            let element = element.ok_or_else(|| invalid!("null is not supported inside collections"))?;
            row.complex_mut(self.column.id).add_cell(path, parameters.cell(Blob::from(element)));
        }
        Ok(())
    }

    fn add_elements(&self, row: &mut Row, bytes: &[u8], parameters: &UpdateParameters<'_>) -> Result<()> {
        let ty = self.path_type();
        if matches!(self.column.ty, CqlType::Map { .. }) {
            for (key, value) in collection::MapRef::parse(bytes)?.iter() {
                let cell = parameters.cell(Blob::from(value));
                row.complex_mut(self.column.id).add_cell(CellPath::new(ty, key), cell);
            }
        } else {
            for element in collection::ListRef::parse(bytes)?.iter().flatten() {
                let cell = parameters.cell(Blob::EMPTY);
                row.complex_mut(self.column.id).add_cell(CellPath::new(ty, element), cell);
            }
        }
        Ok(())
    }

    fn set_index(
        &self,
        row: &mut Row,
        index: &Term,
        value: &Term,
        bind: &Bind<'_>,
        parameters: &UpdateParameters<'_>,
    ) -> Result<()> {
        let index = index.bind(bind)?;
        let value = value.bind(bind)?;
        ensure!(!index.is_null(), "Invalid null value for list index");
        let Some(index) = index.bytes() else { return Err(invalid!("Invalid unset value for list index")) };
        let path = self.path_at(row, index, "Attempted to set an element on a list which is null", parameters)?;
        let cell = match value {
            Value::Unset => return Ok(()),
            Value::Null => parameters.tombstone(),
            Value::Bytes(bytes) => parameters.cell(Blob::from(&*bytes)),
        };
        row.complex_mut(self.column.id).add_cell(path, cell);
        Ok(())
    }

    /// The position of the list's element `index`.
    fn path_at(
        &self,
        row: &Row,
        index: &[u8],
        empty_text: &str,
        parameters: &UpdateParameters<'_>,
    ) -> Result<CellPath> {
        let current = parameters.current_complex(row, &self.column);
        let index = value::decode_int(index).unwrap_or(-1);
        ensure!(!current.cells.is_empty(), "{empty_text}");
        let found = usize::try_from(index).ok().and_then(|index| current.cells.get(index));
        found
            .map(|(path, _)| path.clone())
            .ok_or_else(|| invalid!("List index {index} out of bound, list has size {}", current.cells.len()))
    }

    /// The type of the column's cell paths.
    fn path_type(&self) -> &CqlType {
        match &self.column.ty {
            CqlType::Map { key, .. } => key,
            CqlType::Set { element, .. } => element,
            other => other,
        }
    }

    fn key_path(&self, key: Value<'_>) -> Result<CellPath> {
        let is_map = matches!(self.column.ty, CqlType::Map { .. });
        match key {
            Value::Bytes(bytes) => Ok(CellPath::new(self.path_type(), &bytes)),
            Value::Null if is_map => Err(invalid!("Invalid null map key")),
            Value::Unset if is_map => Err(invalid!("Invalid unset map key")),
            Value::Null | Value::Unset => Err(invalid!("Invalid null set element")),
        }
    }

    fn count(&self, row: &mut Row, value: Value<'_>, negate: bool, parameters: &UpdateParameters<'_>) -> Result<()> {
        if value.is_unset() {
            return Ok(());
        }
        let Some(bytes) = value.bytes() else { return Err(invalid!("Invalid null value for counter increment")) };
        let delta = value::decode_bigint(bytes).ok_or_else(|| invalid!("Invalid null value for counter increment"))?;
        let delta = if negate {
            delta.checked_neg().ok_or_else(|| {
                invalid!("The negation of {delta} overflows supported counter precision (signed 8 bytes integer)")
            })?
        } else {
            delta
        };
        add_counter(row, &self.column, parameters.timestamp, delta);
        Ok(())
    }

    fn increase(&self, row: &mut Row, value: Value<'_>, parameters: &UpdateParameters<'_>) -> Result<()> {
        let Some(current) = parameters.current_value(row, &self.column) else { return Ok(()) };
        let Some(increment) = value.bytes() else { return Ok(()) };
        let ty = &self.column.ty;
        let sum = if matches!(ty, CqlType::Text | CqlType::Ascii) {
            Some([&*current, increment].concat())
        } else {
            arithmetic::apply(arithmetic::Operation::Add, ty, &current, ty, increment)
                .map_err(|error| QueryError::Server(error.to_string()))?
        };
        if let Some(sum) = sum {
            row.add_cell(self.column.id, parameters.cell(Blob::from(sum)));
        }
        Ok(())
    }
}
