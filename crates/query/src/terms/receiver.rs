//! Receiver: the place in a statement that wants a value: a column, an element of it, an argument, a limit.
//!
//! Its name stands in messages and names the bind marker at that place.

use std::sync::Arc;

use helenus_protocol::ColumnSpec;
use helenus_schema::{Column, ColumnKind, Table};
use helenus_types::CqlType;

#[derive(Clone, Debug)]
pub struct Receiver {
    pub keyspace: Arc<str>,
    pub table: Arc<str>,
    pub name: String,
    pub ty: CqlType,
    /// Position in the partition key, when the receiver is such a column itself: routing needs to know its marker.
    pub key_position: Option<u16>,
    /// A clustering column stored in descending order: upstream its type equals that of no argument.
    pub is_descending: bool,
}

impl Receiver {
    #[must_use]
    pub fn new(keyspace: &str, table: &str, name: impl Into<String>, ty: CqlType) -> Self {
        let (keyspace, table) = (keyspace.into(), table.into());
        Self { keyspace, table, name: name.into(), ty, key_position: None, is_descending: false }
    }

    #[must_use]
    pub fn column(table: &Table, column: &Column) -> Self {
        let key_position = match column.kind {
            ColumnKind::PartitionKey { position } => Some(position),
            ColumnKind::Clustering { .. } | ColumnKind::Static | ColumnKind::Regular => None,
        };
        let is_descending = matches!(column.kind, ColumnKind::Clustering { descending: true, .. });
        Self {
            key_position,
            is_descending,
            ..Self::new(&table.keyspace, &table.name, &*column.name, column.ty.clone())
        }
    }

    /// Something of another name and type at the same table.
    #[must_use]
    pub fn derive(&self, name: String, ty: CqlType) -> Self {
        let (keyspace, table) = (Arc::clone(&self.keyspace), Arc::clone(&self.table));
        Self { keyspace, table, name, ty, key_position: None, is_descending: false }
    }

    /// The element of a list, set or vector, or the value of a map.
    #[must_use]
    pub fn element(&self, ty: &CqlType) -> Self {
        self.derive(format!("value({})", self.name), ty.clone())
    }

    #[must_use]
    pub fn key(&self, ty: &CqlType) -> Self {
        self.derive(format!("key({})", self.name), ty.clone())
    }

    #[must_use]
    pub fn list_index(&self) -> Self {
        self.derive(format!("idx({})", self.name), CqlType::Int)
    }

    #[must_use]
    pub fn component(&self, index: usize, ty: &CqlType) -> Self {
        self.derive(format!("{}[{index}]", self.name), ty.clone())
    }

    #[must_use]
    pub fn field(&self, name: &str, ty: &CqlType) -> Self {
        self.derive(format!("{}.{name}", self.name), ty.clone())
    }

    /// What a single marker after IN receives.
    #[must_use]
    pub fn in_list(&self) -> Self {
        let element = Arc::new(self.ty.clone());
        self.derive(format!("in({})", self.name), CqlType::List { element, frozen: true })
    }

    #[must_use]
    pub fn spec(&self, name: Option<&str>) -> ColumnSpec {
        ColumnSpec {
            keyspace: Arc::clone(&self.keyspace),
            table: Arc::clone(&self.table),
            name: name.unwrap_or(&self.name).into(),
            ty: self.ty.clone(),
        }
    }
}
