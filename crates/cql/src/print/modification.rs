//! Canonical CQL of INSERT, UPDATE, DELETE and BATCH.

use std::fmt::{self, Write};

use super::select::write_where;
use super::{CqlText, ToCql, write_if, write_list, write_separated, write_string};
use crate::ast::modification::{
    Assignment, Batch, BatchKind, Condition, ConditionPath, ConditionTest, Conditions, Delete, Deletion, Insert,
    InsertJson, JsonValue, Modification, Operation, Update, Using,
};
use crate::ast::term::Term;

/// ` USING …`, or nothing. TIMESTAMP comes first, unless its marker was written after that of TTL.
fn write_using(out: &mut CqlText<'_>, using: &Using) -> fmt::Result {
    let mut attributes: Vec<(&str, &Term)> = Vec::new();
    attributes.extend(using.timestamp.iter().map(|timestamp| ("TIMESTAMP", timestamp)));
    attributes.extend(using.ttl.iter().map(|ttl| ("TTL", ttl)));
    if let (Some(Term::Marker(timestamp)), Some(Term::Marker(ttl))) = (&using.timestamp, &using.ttl)
        && ttl.index < timestamp.index
    {
        attributes.reverse();
    }
    write_if(out, !attributes.is_empty(), " USING ")?;
    write_separated(out, &attributes, " AND ", |out, (name, value)| {
        write!(out, "{name} ")?;
        value.write_cql(out)
    })
}

impl ToCql for Insert {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("INSERT INTO ")?;
        self.table.write_cql(out)?;
        out.write_str(" (")?;
        write_list(out, &self.columns)?;
        out.write_str(") VALUES (")?;
        write_list(out, &self.values)?;
        out.write_str(")")?;
        write_if(out, self.if_not_exists, " IF NOT EXISTS")?;
        write_using(out, &self.using)
    }
}

impl ToCql for InsertJson {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("INSERT INTO ")?;
        self.table.write_cql(out)?;
        out.write_str(" JSON ")?;
        match &self.value {
            JsonValue::Text(text) => write_string(out, text)?,
            JsonValue::Marker(marker) => marker.write_cql(out)?,
        }
        write_if(out, self.default_unset, " DEFAULT UNSET")?;
        write_if(out, self.if_not_exists, " IF NOT EXISTS")?;
        write_using(out, &self.using)
    }
}

impl ToCql for Assignment {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        self.column.write_cql(out)?;
        match &self.operation {
            Operation::Set(value) => write_after(out, " = ", value),
            Operation::Add(value) => write_after(out, " += ", value),
            Operation::Subtract(value) => write_after(out, " -= ", value),
            Operation::Prepend(value) => {
                write_after(out, " = ", value)?;
                out.write_str(" + ")?;
                self.column.write_cql(out)
            }
            Operation::SetElement { key, value } => {
                write_after(out, "[", key)?;
                write_after(out, "] = ", value)
            }
            Operation::SetField { field, value } => {
                out.write_str(".")?;
                field.write_cql(out)?;
                write_after(out, " = ", value)
            }
        }
    }
}

fn write_after(out: &mut CqlText<'_>, sign: &str, term: &Term) -> fmt::Result {
    out.write_str(sign)?;
    term.write_cql(out)
}

impl ToCql for Condition {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        self.column.write_cql(out)?;
        match &self.path {
            ConditionPath::Whole => {}
            ConditionPath::Element(key) => {
                write_after(out, "[", key)?;
                out.write_str("]")?;
            }
            ConditionPath::Field(field) => {
                out.write_str(".")?;
                field.write_cql(out)?;
            }
        }
        match &self.test {
            ConditionTest::Compare { operator, value } => {
                write!(out, " {} ", operator.text())?;
                value.write_cql(out)
            }
            ConditionTest::In(values) => {
                out.write_str(" IN ")?;
                values.write_cql(out)
            }
        }
    }
}

fn write_conditions(out: &mut CqlText<'_>, conditions: &Conditions) -> fmt::Result {
    match conditions {
        Conditions::None => Ok(()),
        Conditions::IfExists => out.write_str(" IF EXISTS"),
        Conditions::If(all) => {
            out.write_str(" IF ")?;
            write_separated(out, all, " AND ", |out, condition| condition.write_cql(out))
        }
    }
}

impl ToCql for Update {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("UPDATE ")?;
        self.table.write_cql(out)?;
        write_using(out, &self.using)?;
        out.write_str(" SET ")?;
        write_list(out, &self.assignments)?;
        write_where(out, &self.relations)?;
        write_conditions(out, &self.conditions)
    }
}

impl ToCql for Deletion {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        self.column().write_cql(out)?;
        match self {
            Self::Column(_) => Ok(()),
            Self::Element { key, .. } => {
                write_after(out, "[", key)?;
                out.write_str("]")
            }
            Self::Field { field, .. } => {
                out.write_str(".")?;
                field.write_cql(out)
            }
        }
    }
}

impl ToCql for Delete {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str("DELETE ")?;
        write_list(out, &self.deletions)?;
        write_if(out, !self.deletions.is_empty(), " ")?;
        out.write_str("FROM ")?;
        self.table.write_cql(out)?;
        write_using(out, &self.using)?;
        write_where(out, &self.relations)?;
        write_conditions(out, &self.conditions)
    }
}

impl ToCql for Modification {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        match self {
            Self::Insert(insert) => insert.write_cql(out),
            Self::InsertJson(insert) => insert.write_cql(out),
            Self::Update(update) => update.write_cql(out),
            Self::Delete(delete) => delete.write_cql(out),
        }
    }
}

impl ToCql for Batch {
    fn write_cql(&self, out: &mut CqlText<'_>) -> fmt::Result {
        out.write_str(match self.kind {
            BatchKind::Logged => "BEGIN BATCH",
            BatchKind::Unlogged => "BEGIN UNLOGGED BATCH",
            BatchKind::Counter => "BEGIN COUNTER BATCH",
        })?;
        write_using(out, &self.using)?;
        for statement in &self.statements {
            out.write_str(" ")?;
            statement.write_cql(out)?;
            out.write_str(";")?;
        }
        out.write_str(" APPLY BATCH")
    }
}
