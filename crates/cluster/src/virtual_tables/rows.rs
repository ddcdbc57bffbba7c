//! Builds the rows of a virtual table from named values.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use helenus_data::{Blob, Cell, CellPath, Liveness, Partition, PartitionKey, Row};
use helenus_schema::{Column, ColumnKind, Table};
use helenus_types::collection::{ListRef, MapRef, pack_list, pack_map};
use helenus_types::{CqlType, composite};
use uuid::Uuid;

/// One row: serialised values by column name. A column that is not set is null.
#[derive(Clone, Debug, Default)]
pub struct RowValues(BTreeMap<&'static str, Vec<u8>>);

impl RowValues {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `value` is serialised in the column's type.
    #[must_use]
    pub fn raw(mut self, column: &'static str, value: Vec<u8>) -> Self {
        self.0.insert(column, value);
        self
    }

    #[must_use]
    pub fn text(self, column: &'static str, value: &str) -> Self {
        self.raw(column, value.as_bytes().to_vec())
    }

    #[must_use]
    pub fn int(self, column: &'static str, value: i32) -> Self {
        self.raw(column, value.to_be_bytes().to_vec())
    }

    #[must_use]
    pub fn bigint(self, column: &'static str, value: i64) -> Self {
        self.raw(column, value.to_be_bytes().to_vec())
    }

    #[must_use]
    pub fn double(self, column: &'static str, value: f64) -> Self {
        self.raw(column, value.to_be_bytes().to_vec())
    }

    #[must_use]
    pub fn boolean(self, column: &'static str, value: bool) -> Self {
        self.raw(column, vec![u8::from(value)])
    }

    #[must_use]
    pub fn uuid(self, column: &'static str, value: Uuid) -> Self {
        self.raw(column, value.as_bytes().to_vec())
    }

    #[must_use]
    pub fn inet(self, column: &'static str, value: IpAddr) -> Self {
        match value {
            IpAddr::V4(address) => self.raw(column, address.octets().to_vec()),
            IpAddr::V6(address) => self.raw(column, address.octets().to_vec()),
        }
    }

    /// A list or set of texts; elements of a set must come in order.
    #[must_use]
    pub fn texts<'v>(self, column: &'static str, values: impl IntoIterator<Item = &'v str>) -> Self {
        let values: Vec<Option<&[u8]>> = values.into_iter().map(|value| Some(value.as_bytes())).collect();
        self.raw(column, pack_list(&values))
    }

    #[must_use]
    pub fn text_map(self, column: &'static str, map: &BTreeMap<String, String>) -> Self {
        let entries: Vec<(&[u8], &[u8])> = map.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
        self.raw(column, pack_map(&entries))
    }

    fn get(&self, column: &Column) -> Option<&[u8]> {
        self.0.get(&*column.name).map(Vec::as_slice)
    }
}

/// All rows of one table.
pub struct TableRows {
    table: Arc<Table>,
    partitions: BTreeMap<PartitionKey, Partition>,
}

impl TableRows {
    #[must_use]
    pub fn new(table: &Arc<Table>) -> Self {
        Self { table: Arc::clone(table), partitions: BTreeMap::new() }
    }

    /// Adds a row; key columns that are not set are empty.
    pub fn push(&mut self, values: &RowValues) {
        let table = &self.table;
        let of = |column: &Column| values.get(column).unwrap_or_default().to_vec();
        let key: Vec<Vec<u8>> = table.partition_key().iter().map(of).collect();
        let key: Vec<&[u8]> = key.iter().map(Vec::as_slice).collect();
        let Ok(key) = composite::partition_key(&key) else { return };
        let key = PartitionKey::new(&key);
        let partition = self.partitions.entry(key.clone()).or_insert_with(|| Partition::new(key));
        let clustering: Vec<Vec<u8>> = table.clustering().iter().map(of).collect();
        let clustering = table.clustering_types().clustering(&clustering);
        let row = partition.row_mut(&clustering);
        row.liveness = Liveness::new(0, None, 0);
        for column in table.regulars() {
            if let Some(value) = values.get(column) {
                put(row, column, value);
            }
        }
        debug_assert!(
            table.statics().iter().all(|column| matches!(column.kind, ColumnKind::Static)),
            "virtual tables have no static columns"
        );
    }

    pub(crate) fn into_partitions(self) -> BTreeMap<PartitionKey, Partition> {
        self.partitions
    }
}

fn put(row: &mut Row, column: &Column, value: &[u8]) {
    let cell = |value: &[u8]| Cell::live(0, Blob::from(value));
    match &column.ty {
        CqlType::Set { element, frozen: false } => {
            let Ok(list) = ListRef::parse(value) else { return };
            for element_value in list.iter().flatten() {
                row.complex_mut(column.id).add_cell(CellPath::new(element, element_value), cell(&[]));
            }
        }
        CqlType::Map { key, frozen: false, .. } => {
            let Ok(map) = MapRef::parse(value) else { return };
            for (entry, entry_value) in map.iter() {
                row.complex_mut(column.id).add_cell(CellPath::new(key, entry), cell(entry_value));
            }
        }
        _ => row.add_cell(column.id, cell(value)),
    }
}
