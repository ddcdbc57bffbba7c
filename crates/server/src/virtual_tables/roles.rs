//! `system_auth.roles`: who may log in. Roles live in the metadata log; they are not written through this table.

use std::future::Future;
use std::rc::Rc;

use helenus_cluster::TableRows;
use helenus_cluster::virtual_tables::{RowValues, VirtualRead};

use crate::server_port::Stopping;
use crate::shard::ShardServer;

pub(super) fn rows(server: Rc<ShardServer>, read: VirtualRead) -> impl Future<Output = Result<TableRows, Stopping>> {
    let mut rows = TableRows::new(&read.table);
    for role in server.node.auth.all_roles() {
        let mut row = RowValues::new()
            .text("role", &role.name)
            .boolean("can_login", role.can_login)
            .boolean("is_superuser", role.is_superuser);
        if let Some(hash) = &role.salted_hash {
            row = row.text("salted_hash", hash);
        }
        rows.push(&row);
    }
    std::future::ready(Ok(rows))
}
