//! Properties after WITH, as names with texts or maps of texts.

use helenus_cql::{Property, PropertyValue};
use helenus_schema::options::{OptionError, OptionValue};

use crate::error::{QueryError, Result};

/// Name and value of each property, as table options take them.
pub fn to_options(properties: &[Property]) -> Vec<(String, OptionValue)> {
    properties.iter().map(|property| (property.name.as_str().to_owned(), to_value(&property.value))).collect()
}

fn to_value(value: &PropertyValue) -> OptionValue {
    match value {
        PropertyValue::Literal(literal) => OptionValue::Text(literal.text.to_string()),
        PropertyValue::Keyword(text) => OptionValue::Text(text.to_string()),
        PropertyValue::Map(entries) => OptionValue::Map(
            entries.iter().map(|(key, value)| (key.text.to_string(), value.text.to_string())).collect(),
        ),
    }
}

impl From<OptionError> for QueryError {
    fn from(error: OptionError) -> Self {
        match error {
            OptionError::Syntax(text) => QueryError::Syntax(text),
            OptionError::Config(text) => QueryError::Config(text),
        }
    }
}

/// The map that a property must be.
pub fn map_of<'p>(options: &'p [(String, OptionValue)], name: &str) -> Result<Option<&'p [(String, String)]>> {
    match options.iter().find(|(known, _)| known == name) {
        None => Ok(None),
        Some((_, OptionValue::Map(entries))) => Ok(Some(entries)),
        Some((_, OptionValue::Text(_))) => {
            Err(QueryError::Syntax(format!("Invalid value for property '{name}'. It should be a map.")))
        }
    }
}

/// The text that a property must be.
pub fn text_of<'p>(options: &'p [(String, OptionValue)], name: &str) -> Result<Option<&'p str>> {
    match options.iter().find(|(known, _)| known == name) {
        None => Ok(None),
        Some((_, OptionValue::Text(text))) => Ok(Some(text)),
        Some((_, OptionValue::Map(_))) => {
            Err(QueryError::Syntax(format!("Invalid value for property '{name}'. It should be a string")))
        }
    }
}
