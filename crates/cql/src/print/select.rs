//! Canonical CQL of SELECT.

use std::fmt::{self, Write};

use super::{CqlText, ToCql, write_if, write_list, write_separated};
use crate::ast::relation::Relation;
use crate::ast::select::{Ordering, OrderingKey, Select, SelectColumn};

impl ToCql for SelectColumn {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        self.selector.write_cql(out)?;
        if let Some(alias) = &self.alias {
            out.write_str(" AS ")?;
            alias.write_cql(out)?;
        }
        Ok(())
    }
}

impl ToCql for Ordering {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match &self.key {
            OrderingKey::Column(column) => column.write_cql(out)?,
            OrderingKey::NearestNeighbours { column, vector } => {
                column.write_cql(out)?;
                out.write_str(" ANN OF ")?;
                vector.write_cql(out)?;
            }
        }
        write_if(out, self.descending, " DESC")
    }
}

/// `*` for none.
pub(super) fn write_columns(out: &mut CqlText<'_>, columns: &[SelectColumn]) -> fmt::Result {
    if columns.is_empty() { out.write_str("*") } else { write_list(out, columns) }
}

/// ` WHERE …`, or nothing.
pub(super) fn write_where(out: &mut CqlText<'_>, relations: &[Relation]) -> fmt::Result {
    write_if(out, !relations.is_empty(), " WHERE ")?;
    write_separated(out, relations, " AND ", |out, relation| relation.write_cql(out))
}

impl ToCql for Select {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("SELECT ")?;
        write_if(out, self.json, "JSON ")?;
        write_if(out, self.distinct, "DISTINCT ")?;
        write_columns(out, &self.columns)?;
        out.write_str(" FROM ")?;
        self.table.write_cql(out)?;
        write_where(out, &self.relations)?;
        write_if(out, !self.group_by.is_empty(), " GROUP BY ")?;
        write_list(out, &self.group_by)?;
        write_if(out, !self.order_by.is_empty(), " ORDER BY ")?;
        write_list(out, &self.order_by)?;
        if let Some(limit) = &self.per_partition_limit {
            out.write_str(" PER PARTITION LIMIT ")?;
            limit.write_cql(out)?;
        }
        if let Some(limit) = &self.limit {
            out.write_str(" LIMIT ")?;
            limit.write_cql(out)?;
        }
        write_if(out, self.allow_filtering, " ALLOW FILTERING")?;
        match &self.timeout {
            Some(timeout) => write!(out, " USING TIMEOUT {timeout}"),
            None => Ok(()),
        }
    }
}
