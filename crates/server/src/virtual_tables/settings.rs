//! `system_views.settings`: every setting with its value as in the file, older spellings too.

use std::rc::Rc;

use helenus_cluster::TableRows;
use helenus_cluster::virtual_tables::{RowValues, VirtualRead};

use crate::server_port::Stopping;
use crate::shard::ShardServer;

pub(super) async fn rows(server: Rc<ShardServer>, read: VirtualRead) -> Result<TableRows, Stopping> {
    let mut rows = TableRows::new(&read.table);
    for (name, value) in server.node.config.values.shown_with_older_spellings() {
        let row = RowValues::new().text("name", name);
        rows.push(&match value {
            Some(value) => row.text("value", &value),
            None => row,
        });
    }
    Ok(rows)
}
