//! Virtual tables: contents computed when read. Projections of the metadata are here; a node's own (clients, settings, …)
//! are registered by `server`.

mod local;
mod rows;
mod schema_tables;

pub use rows::{RowValues, TableRows};

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use helenus_data::TableId;
use helenus_data::in_memory::{self, KeyOrder};
use helenus_data::read::{ReadCommand, ReadResult, ReadTarget};
use helenus_env::LocalBoxFuture;
use helenus_schema::system::table_id;
use helenus_schema::{SchemaSnapshot, Table};
use helenus_storage::RequestContext;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::topology::Topology;

/// What a provider may look at.
#[derive(Clone)]
pub struct VirtualRead {
    pub table: Arc<Table>,
    pub schema: Arc<SchemaSnapshot>,
    pub topology: Arc<Topology>,
    /// Tables that were truncated and when, in microseconds.
    pub truncated: Vec<(TableId, i64)>,
}

/// Computes all rows of one table.
pub type Provider = Rc<dyn Fn(VirtualRead) -> LocalBoxFuture<Result<TableRows, ClusterError>>>;

/// The providers of one shard, by table.
pub struct VirtualTables {
    providers: RefCell<BTreeMap<TableId, Provider>>,
}

type Projection = fn(&VirtualRead) -> TableRows;

impl VirtualTables {
    pub(crate) fn new() -> Self {
        let projections: [(&str, &str, Projection); 19] = [
            ("system", "local", local::local),
            ("system", "peers", local::peers),
            ("system", "peers_v2", local::peers),
            ("system_schema", "keyspaces", schema_tables::keyspaces),
            ("system_schema", "tables", schema_tables::tables),
            ("system_schema", "columns", schema_tables::columns),
            ("system_schema", "dropped_columns", schema_tables::dropped_columns),
            ("system_schema", "types", schema_tables::types),
            ("system_schema", "indexes", schema_tables::none),
            ("system_schema", "views", schema_tables::none),
            ("system_schema", "functions", schema_tables::none),
            ("system_schema", "aggregates", schema_tables::none),
            ("system_schema", "triggers", schema_tables::none),
            ("system_schema", "column_masks", schema_tables::none),
            ("system_schema", "scylla_tables", schema_tables::none),
            ("system_schema", "scylla_keyspaces", schema_tables::none),
            ("system_virtual_schema", "keyspaces", schema_tables::virtual_keyspaces),
            ("system_virtual_schema", "tables", schema_tables::virtual_tables),
            ("system_virtual_schema", "columns", schema_tables::virtual_columns),
        ];
        let tables = Self { providers: RefCell::new(BTreeMap::new()) };
        for (keyspace, table, projection) in projections {
            tables.register(keyspace, table, Rc::new(move |read| Box::pin(std::future::ready(Ok(projection(&read))))));
        }
        tables
    }

    /// Gives a system table computed contents.
    pub fn register(&self, keyspace: &str, table: &str, provider: Provider) {
        self.providers.borrow_mut().insert(table_id(keyspace, table), provider);
    }

    /// Whether reads of `table` are computed.
    #[must_use]
    pub fn contains(&self, table: TableId) -> bool {
        self.providers.borrow().contains_key(&table)
    }

    pub(crate) async fn read(
        &self,
        cluster: &Cluster,
        context: &RequestContext,
        command: &ReadCommand,
    ) -> Result<ReadResult, ClusterError> {
        let provider = self.providers.borrow().get(&command.table).cloned().ok_or(ClusterError::UnknownTable)?;
        let table = context.schema.table_by_id(command.table).cloned().ok_or(ClusterError::UnknownTable)?;
        // The newest schema, not the request's: a client that polls for agreement must see what was just changed.
        let schema = cluster.schema();
        let is_virtual = schema.keyspace(&table.keyspace).is_some_and(|keyspace| keyspace.is_virtual());
        let order = if is_virtual { KeyOrder::Columns(table.partition_key().len()) } else { KeyOrder::Token };
        if !is_virtual {
            // To clients it is a table like others; Cassandra's virtual ones leave no events in a trace.
            context.trace.record(cluster.env(), || match &command.target {
                ReadTarget::Partition(_) => format!("Executing single-partition query on {}", table.name),
                ReadTarget::Range(_) => format!("Executing seq scan on {}", table.full_name()),
            });
        }
        let truncated = schema.tables().filter_map(|table| Some((table.id, cluster.storage().truncated_at(table.id)?)));
        let truncated = truncated.collect();
        let read = VirtualRead { table, schema, topology: Arc::clone(cluster.topology()), truncated };
        let rows = provider(read).await?;
        let result = in_memory::read(&rows.into_partitions(), command, order);
        if !is_virtual {
            context.trace.record(cluster.env(), || {
                let counts = result.stats;
                format!("Read {} live rows and {} tombstone cells", counts.live_rows, counts.tombstones)
            });
        }
        Ok(result)
    }
}
