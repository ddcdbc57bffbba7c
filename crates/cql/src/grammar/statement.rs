//! Which statement it is: the first two or three words decide.

use super::{Parsed, Parser};
use crate::ast::modification::Modification;
use crate::ast::statement::Statement;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Parsed<Statement> {
        use TokenKind as T;
        match self.kind() {
            T::Select => self.select().map(Statement::Select),
            T::Insert => self.insert().map(|insert| match insert {
                Modification::Insert(insert) => Statement::Insert(insert),
                Modification::InsertJson(insert) => Statement::InsertJson(insert),
                Modification::Update(update) => Statement::Update(update),
                Modification::Delete(delete) => Statement::Delete(delete),
            }),
            T::Update => self.update().map(Statement::Update),
            T::Delete => self.delete().map(Statement::Delete),
            T::Begin => self.batch().map(Statement::Batch),
            T::Use => {
                self.at += 1;
                self.keyspace_name().map(Statement::Use)
            }
            T::Truncate => {
                self.at += 1;
                self.accept(T::Columnfamily);
                self.table_name().map(Statement::Truncate)
            }
            T::Create => self.create(),
            T::Alter => self.alter(),
            T::Drop => self.drop_statement(),
            T::Add => self.add_identity().map(Statement::Identity),
            T::Grant | T::Revoke => self.grant_or_revoke(),
            T::List => self.list(),
            T::Describe | T::Desc => self.describe().map(Statement::Describe),
            _ => self.reject(),
        }
    }

    fn create(&mut self) -> Parsed<Statement> {
        use TokenKind as T;
        // OR REPLACE stands between CREATE and what is created.
        let what = if self.kind_ahead(1) == T::Or { self.kind_ahead(3) } else { self.kind_ahead(1) };
        match what {
            T::Keyspace => self.create_keyspace().map(Statement::CreateKeyspace),
            T::Columnfamily => self.create_table().map(Statement::CreateTable),
            T::Type => self.create_type().map(Statement::CreateType),
            T::Index | T::Custom => self.create_index().map(Statement::CreateIndex),
            T::Materialized => self.create_view().map(Statement::CreateView),
            T::Function => self.create_function().map(Statement::CreateFunction),
            T::Aggregate => self.create_aggregate().map(Statement::CreateAggregate),
            T::Trigger => self.create_trigger().map(Statement::CreateTrigger),
            T::Role => self.create_role().map(Statement::CreateRole),
            T::User => self.create_user().map(Statement::CreateUser),
            _ => self.reject_second(),
        }
    }

    fn alter(&mut self) -> Parsed<Statement> {
        use TokenKind as T;
        match self.kind_ahead(1) {
            T::Keyspace => self.alter_keyspace().map(Statement::AlterKeyspace),
            T::Columnfamily => self.alter_table().map(Statement::AlterTable),
            T::Type => self.alter_type().map(Statement::AlterType),
            T::Materialized => self.alter_view().map(Statement::AlterView),
            T::Role => self.alter_role().map(Statement::AlterRole),
            T::User => self.alter_user().map(Statement::AlterUser),
            _ => self.reject_second(),
        }
    }

    fn drop_statement(&mut self) -> Parsed<Statement> {
        use TokenKind as T;
        match self.kind_ahead(1) {
            T::Keyspace => self.drop_keyspace().map(Statement::DropKeyspace),
            T::Columnfamily => self.drop_table().map(Statement::DropTable),
            T::Type => self.drop_type().map(Statement::DropType),
            T::Index => self.drop_index().map(Statement::DropIndex),
            T::Materialized => self.drop_view().map(Statement::DropView),
            T::Function => self.drop_function(T::Function).map(Statement::DropFunction),
            T::Aggregate => self.drop_function(T::Aggregate).map(Statement::DropAggregate),
            T::Trigger => self.drop_trigger().map(Statement::DropTrigger),
            T::Role => self.drop_role().map(Statement::DropRole),
            T::User => self.drop_user().map(Statement::DropUser),
            T::Identity => self.drop_identity().map(Statement::Identity),
            _ => self.reject_second(),
        }
    }

    fn reject_second(&mut self) -> Parsed<Statement> {
        self.at += 1;
        self.reject()
    }
}
