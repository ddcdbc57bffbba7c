//! CREATE, ALTER and DROP of schema elements.

use super::name::is_identifier;
use super::{Parsed, Parser, Reject};
use crate::ast::definition::{
    AddedColumn, AlterKeyspace, AlterTable, AlterTableChange, AlterType, AlterTypeChange, AlterView, ColumnDefinition,
    ColumnMask, CreateAggregate, CreateFunction, CreateIndex, CreateKeyspace, CreateTable, CreateTrigger, CreateType,
    CreateView, DropFunction, DropIndex, DropKeyspace, DropTable, DropTrigger, DropType, DropView, IndexTarget,
    IndexTargetKind,
};
use crate::ast::identifier::Identifier;
use crate::ast::type_name::TypeName;
use crate::token::TokenKind;

/// One part of a PRIMARY KEY: the partition key's columns, then the clustering columns.
type PrimaryKey = (Vec<Identifier>, Vec<Identifier>);

impl Parser<'_> {
    pub(super) fn create_keyspace(&mut self) -> Parsed<CreateKeyspace> {
        self.expect_all(&[TokenKind::Create, TokenKind::Keyspace])?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.keyspace_name()?;
        self.expect(TokenKind::With)?;
        Ok(CreateKeyspace { name, if_not_exists, properties: self.properties()? })
    }

    pub(super) fn alter_keyspace(&mut self) -> Parsed<AlterKeyspace> {
        self.expect_all(&[TokenKind::Alter, TokenKind::Keyspace])?;
        let if_exists = self.if_exists()?;
        let name = self.keyspace_name()?;
        self.expect(TokenKind::With)?;
        Ok(AlterKeyspace { name, if_exists, properties: self.properties()? })
    }

    pub(super) fn drop_keyspace(&mut self) -> Parsed<DropKeyspace> {
        self.expect_all(&[TokenKind::Drop, TokenKind::Keyspace])?;
        let if_exists = self.if_exists()?;
        Ok(DropKeyspace { name: self.keyspace_name()?, if_exists })
    }

    pub(super) fn create_table(&mut self) -> Parsed<CreateTable> {
        self.expect_all(&[TokenKind::Create, TokenKind::Columnfamily])?;
        let if_not_exists = self.if_not_exists()?;
        let mut statement = CreateTable {
            table: self.table_name()?,
            if_not_exists,
            columns: Vec::new(),
            partition_keys: Vec::new(),
            clustering_columns: Vec::new(),
            properties: Vec::new(),
            clustering_order: Vec::new(),
            compact_storage: false,
        };
        self.expect(TokenKind::LeftParen)?;
        self.table_column(&mut statement)?;
        while self.accept(TokenKind::Comma) {
            // Commas may be doubled and may end the list.
            if !matches!(self.kind(), TokenKind::Comma | TokenKind::RightParen) {
                self.table_column(&mut statement)?;
            }
        }
        self.expect(TokenKind::RightParen)?;
        if self.accept(TokenKind::With) {
            self.table_property(&mut statement)?;
            while self.accept(TokenKind::And) {
                self.table_property(&mut statement)?;
            }
        }
        Ok(statement)
    }

    fn table_column(&mut self, statement: &mut CreateTable) -> Parsed<()> {
        if self.is(TokenKind::Primary) {
            let (partition_key, clustering) = self.primary_key()?;
            statement.partition_keys.push(partition_key);
            statement.clustering_columns.extend(clustering);
            return Ok(());
        }
        let name = self.identifier()?;
        let type_name = self.type_name()?;
        let is_static = self.accept(TokenKind::Static);
        let mask = self.column_mask()?;
        if self.accept(TokenKind::Primary) {
            self.expect(TokenKind::Key)?;
            statement.partition_keys.push(vec![name.clone()]);
        }
        statement.columns.push(ColumnDefinition { name, type_name, is_static, mask });
        Ok(())
    }

    /// `PRIMARY KEY (a, b)` or `PRIMARY KEY ((a, b), c)`.
    fn primary_key(&mut self) -> Parsed<PrimaryKey> {
        self.expect_all(&[TokenKind::Primary, TokenKind::Key, TokenKind::LeftParen])?;
        let partition_key = if self.is(TokenKind::LeftParen) {
            self.parenthesised(Self::identifier)?
        } else {
            vec![self.identifier()?]
        };
        let mut clustering = Vec::new();
        while self.accept(TokenKind::Comma) {
            clustering.push(self.identifier()?);
        }
        self.expect(TokenKind::RightParen)?;
        Ok((partition_key, clustering))
    }

    fn column_mask(&mut self) -> Parsed<Option<ColumnMask>> {
        if !self.accept(TokenKind::Masked) {
            return Ok(None);
        }
        self.expect(TokenKind::With)?;
        if self.is(TokenKind::Default) && !matches!(self.kind_ahead(1), TokenKind::LeftParen | TokenKind::Dot) {
            self.at += 1;
            return Ok(Some(ColumnMask::Default));
        }
        let name = self.function_name()?;
        self.expect(TokenKind::LeftParen)?;
        let arguments = self.list_until(TokenKind::RightParen, Self::term)?;
        Ok(Some(ColumnMask::Function { name, arguments }))
    }

    fn table_property(&mut self, statement: &mut CreateTable) -> Parsed<()> {
        match (self.kind(), self.kind_ahead(1)) {
            (TokenKind::Compact, next) if next != TokenKind::Eq => {
                self.expect_all(&[TokenKind::Compact, TokenKind::Storage])?;
                statement.compact_storage = true;
                Ok(())
            }
            (TokenKind::Clustering, next) if next != TokenKind::Eq => {
                self.expect_all(&[TokenKind::Clustering, TokenKind::Order, TokenKind::By])?;
                statement.clustering_order.extend(self.clustering_order()?);
                Ok(())
            }
            _ => self.property(&mut statement.properties),
        }
    }

    pub(super) fn alter_table(&mut self) -> Parsed<AlterTable> {
        self.expect_all(&[TokenKind::Alter, TokenKind::Columnfamily])?;
        let if_exists = self.if_exists()?;
        let table = self.table_name()?;
        let change = match self.kind() {
            TokenKind::Alter => self.alter_column()?,
            TokenKind::Add => self.add_columns()?,
            TokenKind::Drop if self.drops_compact_storage() => {
                self.at += 3;
                AlterTableChange::DropCompactStorage
            }
            TokenKind::Drop => self.drop_columns()?,
            TokenKind::Rename => {
                self.at += 1;
                let if_exists = self.if_exists()?;
                AlterTableChange::Rename { renames: self.renames()?, if_exists }
            }
            TokenKind::With => {
                self.at += 1;
                AlterTableChange::Properties(self.properties()?)
            }
            _ => return self.reject(),
        };
        Ok(AlterTable { table, if_exists, change })
    }

    fn drops_compact_storage(&self) -> bool {
        self.kind_ahead(1) == TokenKind::Compact && self.kind_ahead(2) == TokenKind::Storage
    }

    fn alter_column(&mut self) -> Parsed<AlterTableChange> {
        self.expect(TokenKind::Alter)?;
        let if_exists = self.if_exists()?;
        let column = self.column()?;
        if self.is(TokenKind::Type) && !if_exists {
            self.at += 1;
            return Ok(AlterTableChange::AlterType { column, type_name: self.type_name()? });
        }
        if self.accept(TokenKind::Drop) {
            self.expect(TokenKind::Masked)?;
            return Ok(AlterTableChange::Unmask { column, if_exists });
        }
        match self.column_mask()? {
            Some(mask) => Ok(AlterTableChange::Mask { column, if_exists, mask }),
            None => self.reject(),
        }
    }

    fn add_columns(&mut self) -> Parsed<AlterTableChange> {
        self.expect(TokenKind::Add)?;
        let if_not_exists = self.if_not_exists()?;
        let columns = if self.is(TokenKind::LeftParen) {
            self.parenthesised(Self::added_column)?
        } else {
            vec![self.added_column()?]
        };
        Ok(AlterTableChange::Add { columns, if_not_exists })
    }

    fn added_column(&mut self) -> Parsed<AddedColumn> {
        let name = self.identifier()?;
        let type_name = self.type_name()?;
        let is_static = self.accept(TokenKind::Static);
        Ok(AddedColumn { name, type_name, is_static, mask: self.column_mask()? })
    }

    fn drop_columns(&mut self) -> Parsed<AlterTableChange> {
        self.expect(TokenKind::Drop)?;
        let if_exists = self.if_exists()?;
        let columns = if self.is(TokenKind::LeftParen) {
            self.parenthesised(Self::identifier)?
        } else {
            vec![self.identifier()?]
        };
        let mut timestamp = None;
        if self.accept(TokenKind::Using) {
            self.expect(TokenKind::Timestamp)?;
            let digits = self.here();
            self.expect(TokenKind::Integer)?;
            timestamp = Some(digits.parse::<i64>().map_err(|_| self.number_format(digits))?);
        }
        Ok(AlterTableChange::Drop { columns, if_exists, timestamp })
    }

    /// `a TO b (AND c TO d)*`.
    fn renames(&mut self) -> Parsed<Vec<(Identifier, Identifier)>> {
        let mut renames = Vec::new();
        loop {
            let from = self.identifier()?;
            self.expect(TokenKind::To)?;
            renames.push((from, self.identifier()?));
            if !self.accept(TokenKind::And) {
                return Ok(renames);
            }
        }
    }

    pub(super) fn drop_table(&mut self) -> Parsed<DropTable> {
        self.expect_all(&[TokenKind::Drop, TokenKind::Columnfamily])?;
        let if_exists = self.if_exists()?;
        Ok(DropTable { table: self.table_name()?, if_exists })
    }

    pub(super) fn create_type(&mut self) -> Parsed<CreateType> {
        self.expect_all(&[TokenKind::Create, TokenKind::Type])?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.user_type_name()?;
        self.expect(TokenKind::LeftParen)?;
        let mut fields = vec![self.typed_name()?];
        while self.accept(TokenKind::Comma) {
            if !matches!(self.kind(), TokenKind::Comma | TokenKind::RightParen) {
                fields.push(self.typed_name()?);
            }
        }
        self.expect(TokenKind::RightParen)?;
        Ok(CreateType { name, if_not_exists, fields })
    }

    fn typed_name(&mut self) -> Parsed<(Identifier, TypeName)> {
        Ok((self.identifier()?, self.type_name()?))
    }

    pub(super) fn alter_type(&mut self) -> Parsed<AlterType> {
        self.expect_all(&[TokenKind::Alter, TokenKind::Type])?;
        let if_exists = self.if_exists()?;
        let name = self.user_type_name()?;
        let change = match self.kind() {
            TokenKind::Alter => {
                self.at += 1;
                let field = self.identifier()?;
                self.expect(TokenKind::Type)?;
                AlterTypeChange::AlterField { field, type_name: self.type_name()? }
            }
            TokenKind::Add => {
                self.at += 1;
                let if_not_exists = self.if_not_exists()?;
                let (field, type_name) = self.typed_name()?;
                AlterTypeChange::Add { field, type_name, if_not_exists }
            }
            TokenKind::Rename => {
                self.at += 1;
                let if_exists = self.if_exists()?;
                AlterTypeChange::Rename { renames: self.renames()?, if_exists }
            }
            _ => return self.reject(),
        };
        Ok(AlterType { name, if_exists, change })
    }

    pub(super) fn drop_type(&mut self) -> Parsed<DropType> {
        self.expect_all(&[TokenKind::Drop, TokenKind::Type])?;
        let if_exists = self.if_exists()?;
        Ok(DropType { name: self.user_type_name()?, if_exists })
    }

    pub(super) fn create_index(&mut self) -> Parsed<CreateIndex> {
        self.expect(TokenKind::Create)?;
        let custom = self.accept(TokenKind::Custom);
        self.expect(TokenKind::Index)?;
        let if_not_exists = self.if_not_exists()?;
        let name = if self.is(TokenKind::On) { None } else { Some(self.name_not_bound("index")?) };
        self.expect(TokenKind::On)?;
        let table = self.table_name()?;
        self.expect(TokenKind::LeftParen)?;
        let targets = self.list_until(TokenKind::RightParen, Self::index_target)?;
        let using = if self.accept(TokenKind::Using) { Some(self.string_literal()?) } else { None };
        let properties = if self.accept(TokenKind::With) { self.properties()? } else { Vec::new() };
        Ok(CreateIndex { custom, if_not_exists, name, table, targets, using, properties })
    }

    fn index_target(&mut self) -> Parsed<IndexTarget> {
        let kind = match (self.kind(), self.kind_ahead(1)) {
            (TokenKind::Values, TokenKind::LeftParen) => IndexTargetKind::Values,
            (TokenKind::Keys, TokenKind::LeftParen) => IndexTargetKind::Keys,
            (TokenKind::Entries, _) => IndexTargetKind::Entries,
            (TokenKind::Full, _) => IndexTargetKind::Full,
            _ => return Ok(IndexTarget { kind: IndexTargetKind::Simple, column: self.column()? }),
        };
        self.at += 1;
        self.expect(TokenKind::LeftParen)?;
        let column = self.column()?;
        self.expect(TokenKind::RightParen)?;
        Ok(IndexTarget { kind, column })
    }

    pub(super) fn drop_index(&mut self) -> Parsed<DropIndex> {
        self.expect_all(&[TokenKind::Drop, TokenKind::Index])?;
        let if_exists = self.if_exists()?;
        Ok(DropIndex { name: self.index_name()?, if_exists })
    }

    pub(super) fn create_view(&mut self) -> Parsed<CreateView> {
        self.expect_all(&[TokenKind::Create, TokenKind::Materialized, TokenKind::View])?;
        let if_not_exists = self.if_not_exists()?;
        let view = self.table_name()?;
        self.expect_all(&[TokenKind::As, TokenKind::Select])?;
        let columns = self.select_columns()?;
        self.expect(TokenKind::From)?;
        let base = self.table_name()?;
        let relations = if self.accept(TokenKind::Where) { self.where_clause()? } else { Vec::new() };
        let (partition_key, clustering_columns) = self.primary_key()?;
        let mut statement = CreateView {
            view,
            if_not_exists,
            columns,
            base,
            relations,
            partition_key,
            clustering_columns,
            properties: Vec::new(),
            clustering_order: Vec::new(),
        };
        if self.accept(TokenKind::With) {
            self.view_property(&mut statement)?;
            while self.accept(TokenKind::And) {
                self.view_property(&mut statement)?;
            }
        }
        Ok(statement)
    }

    fn view_property(&mut self, statement: &mut CreateView) -> Parsed<()> {
        match (self.kind(), self.kind_ahead(1)) {
            (TokenKind::Compact, next) if next != TokenKind::Eq => {
                self.expect_all(&[TokenKind::Compact, TokenKind::Storage])?;
                let message = "COMPACT STORAGE tables are not allowed starting with version 4.0";
                Err(Reject::Thrown(message.to_owned()))
            }
            (TokenKind::Clustering, next) if next != TokenKind::Eq => {
                self.expect_all(&[TokenKind::Clustering, TokenKind::Order, TokenKind::By])?;
                statement.clustering_order.extend(self.clustering_order()?);
                Ok(())
            }
            _ => self.property(&mut statement.properties),
        }
    }

    pub(super) fn alter_view(&mut self) -> Parsed<AlterView> {
        self.expect_all(&[TokenKind::Alter, TokenKind::Materialized, TokenKind::View])?;
        let if_exists = self.if_exists()?;
        let view = self.table_name()?;
        self.expect(TokenKind::With)?;
        Ok(AlterView { view, if_exists, properties: self.properties()? })
    }

    pub(super) fn drop_view(&mut self) -> Parsed<DropView> {
        self.expect_all(&[TokenKind::Drop, TokenKind::Materialized, TokenKind::View])?;
        let if_exists = self.if_exists()?;
        Ok(DropView { view: self.table_name()?, if_exists })
    }

    /// `OR REPLACE`, all or nothing.
    fn or_replace(&mut self) -> Parsed<bool> {
        let found = self.accept(TokenKind::Or);
        if found {
            self.expect(TokenKind::Replace)?;
        }
        Ok(found)
    }

    pub(super) fn create_function(&mut self) -> Parsed<CreateFunction> {
        self.expect(TokenKind::Create)?;
        let or_replace = self.or_replace()?;
        self.expect(TokenKind::Function)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.function_name()?;
        self.expect(TokenKind::LeftParen)?;
        let arguments = self.list_until(TokenKind::RightParen, Self::typed_name)?;
        let called_on_null_input = self.accept(TokenKind::Called);
        if !called_on_null_input {
            self.expect_all(&[TokenKind::Returns, TokenKind::Null])?;
        }
        self.expect_all(&[TokenKind::On, TokenKind::Null, TokenKind::Input, TokenKind::Returns])?;
        let return_type = self.type_name()?;
        self.expect(TokenKind::Language)?;
        let language = self.here().to_lowercase().into_boxed_str();
        self.expect_all(&[TokenKind::Ident, TokenKind::As])?;
        Ok(CreateFunction {
            name,
            or_replace,
            if_not_exists,
            arguments,
            called_on_null_input,
            return_type,
            language,
            body: self.string_literal()?,
        })
    }

    pub(super) fn create_aggregate(&mut self) -> Parsed<CreateAggregate> {
        self.expect(TokenKind::Create)?;
        let or_replace = self.or_replace()?;
        self.expect(TokenKind::Aggregate)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.function_name()?;
        self.expect(TokenKind::LeftParen)?;
        let argument_types = self.list_until(TokenKind::RightParen, Self::type_name)?;
        self.expect(TokenKind::Sfunc)?;
        let state_function = self.local_function_name()?;
        self.expect(TokenKind::Stype)?;
        let state_type = self.type_name()?;
        let final_function = if self.accept(TokenKind::Finalfunc) { Some(self.local_function_name()?) } else { None };
        let initial_condition = if self.accept(TokenKind::Initcond) { Some(self.term()?) } else { None };
        Ok(CreateAggregate {
            name,
            or_replace,
            if_not_exists,
            argument_types,
            state_function,
            state_type,
            final_function,
            initial_condition,
        })
    }

    /// `DROP FUNCTION` or `DROP AGGREGATE`, as `keyword` says.
    pub(super) fn drop_function(&mut self, keyword: TokenKind) -> Parsed<DropFunction> {
        self.expect_all(&[TokenKind::Drop, keyword])?;
        let if_exists = self.if_exists()?;
        let name = self.function_name()?;
        let argument_types = if self.accept(TokenKind::LeftParen) {
            Some(self.list_until(TokenKind::RightParen, Self::type_name)?)
        } else {
            None
        };
        Ok(DropFunction { name, if_exists, argument_types })
    }

    pub(super) fn create_trigger(&mut self) -> Parsed<CreateTrigger> {
        self.expect_all(&[TokenKind::Create, TokenKind::Trigger])?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.name_if(is_identifier)?;
        self.expect(TokenKind::On)?;
        let table = self.table_name()?;
        self.expect(TokenKind::Using)?;
        Ok(CreateTrigger { name, if_not_exists, table, class: self.string_literal()? })
    }

    pub(super) fn drop_trigger(&mut self) -> Parsed<DropTrigger> {
        self.expect_all(&[TokenKind::Drop, TokenKind::Trigger])?;
        let if_exists = self.if_exists()?;
        let name = self.name_if(is_identifier)?;
        self.expect(TokenKind::On)?;
        Ok(DropTrigger { name, if_exists, table: self.table_name()? })
    }
}
