//! JSON documents of INSERT JSON: one value a column.
//!
//! Source: Cassandra 5.0, `cql3.Json`, `utils.JsonUtils`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use helenus_cql::hash_order::hash_order;
use helenus_data::Blob;
use helenus_schema::Table;

use crate::error::{QueryError, Result, invalid};
use crate::terms::term::JsonColumn;
use crate::terms::value::Value;

/// Column name to serialised value; `None` is a JSON null.
pub type JsonDocument = BTreeMap<Box<str>, Option<Blob>>;

/// The documents that were parsed while binding one execution, by marker.
#[derive(Default)]
pub struct JsonDocuments(RefCell<Vec<(usize, Rc<JsonDocument>)>>);

pub(super) fn bind_column<'t>(column: &JsonColumn, marker: &Value<'_>, documents: &JsonDocuments) -> Result<Value<'t>> {
    let found =
        documents.0.borrow().iter().find(|(index, _)| *index == column.marker).map(|(_, found)| Rc::clone(found));
    let document = match found {
        Some(document) => document,
        None => {
            let text = match marker.bytes() {
                Some(bytes) => {
                    std::str::from_utf8(bytes).map_err(|_| invalid!("Got invalid UTF-8 for INSERT JSON values"))?
                }
                // An unset value is an empty buffer upstream.
                None if marker.is_unset() => "",
                None => return Err(invalid!("Got null for INSERT JSON values")),
            };
            let document = Rc::new(parse_document(text, &column.table)?);
            documents.0.borrow_mut().push((column.marker, Rc::clone(&document)));
            document
        }
    };
    Ok(match document.get(&column.name) {
        Some(Some(bytes)) => Value::Bytes(std::borrow::Cow::Owned(bytes.to_vec())),
        Some(None) => Value::Null,
        None if column.default_unset => Value::Unset,
        None => Value::Null,
    })
}

/// Parses a document for a table.
///
/// # Errors
/// Text that is no JSON object, columns that the table has not, values that do not fit.
pub fn parse_document(text: &str, table: &Table) -> Result<JsonDocument> {
    let parsed: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        invalid!(
            "Could not decode JSON string as a map: com.fasterxml.jackson.core.JsonParseException: {error}. (String was: {text})"
        )
    })?;
    let object = match parsed {
        serde_json::Value::Object(object) => object,
        serde_json::Value::Null => return Err(invalid!("Got null for INSERT JSON values")),
        _ => {
            return Err(invalid!(
                "Could not decode JSON string as a map: com.fasterxml.jackson.databind.exc.MismatchedInputException: \
                 Cannot deserialize value. (String was: {text})"
            ));
        }
    };
    let mut unknown = None;
    let mut values = BTreeMap::new();
    for (key, value) in object {
        let name = column_name(&key);
        if table.column(&name).is_none() {
            unknown.get_or_insert(name.clone());
        }
        values.insert(name, value);
    }
    let mut document = JsonDocument::new();
    for column in hash_order(table.columns(), |column| &column.name) {
        let value = match values.get(&*column.name) {
            None => continue,
            Some(serde_json::Value::Null) => None,
            Some(value) => {
                Some(Blob::from(column.ty.parse_json(value).map_err(|error| value_error(&column.name, error.text()))?))
            }
        };
        document.insert(column.name.clone(), value);
    }
    match unknown {
        Some(name) => Err(invalid!("JSON values map contains unrecognized column: {name}")),
        None => Ok(document),
    }
}

fn value_error(column: &str, text: &str) -> QueryError {
    // Durations are refused by another class upstream, which is not caught on the way.
    if text.starts_with("Unable to convert '") && text.ends_with("' to a duration") {
        return QueryError::Invalid(text.to_owned());
    }
    invalid!("Error decoding JSON value for {column}: {text}")
}

/// Keys in double quotes keep their case, others are folded.
fn column_name(key: &str) -> String {
    match key.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => key.to_lowercase(),
    }
}
