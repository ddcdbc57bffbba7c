//! INSERT, UPDATE, DELETE and BATCH.

use super::name::is_column;
use super::{Parsed, Parser};
use crate::ast::identifier::{Identifier, QualifiedName};
use crate::ast::modification::{
    Assignment, Batch, BatchKind, Condition, ConditionPath, ConditionTest, Conditions, Delete, Deletion, Insert,
    InsertJson, JsonValue, Modification, Operation, Update, Using,
};
use crate::ast::term::Term;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn insert(&mut self) -> Parsed<Modification> {
        self.expect_all(&[TokenKind::Insert, TokenKind::Into])?;
        let table = self.table_name()?;
        if self.accept(TokenKind::Json) {
            return self.insert_json(table).map(Modification::InsertJson);
        }
        let columns = self.parenthesised(Self::column)?;
        self.expect(TokenKind::Values)?;
        let values = self.parenthesised(Self::term)?;
        let if_not_exists = self.if_not_exists()?;
        let using = self.using()?;
        Ok(Modification::Insert(Insert { table, columns, values, if_not_exists, using }))
    }

    fn insert_json(&mut self, table: QualifiedName) -> Parsed<InsertJson> {
        let value = if self.starts_marker() {
            JsonValue::Marker(self.marker()?)
        } else {
            JsonValue::Text(self.string_literal()?)
        };
        let mut default_unset = false;
        if self.accept(TokenKind::Default) {
            default_unset = self.accept(TokenKind::Unset);
            if !default_unset {
                self.expect(TokenKind::Null)?;
            }
        }
        let if_not_exists = self.if_not_exists()?;
        Ok(InsertJson { table, value, default_unset, if_not_exists, using: self.using()? })
    }

    fn using(&mut self) -> Parsed<Using> {
        let mut using = Using::default();
        if !self.accept(TokenKind::Using) {
            return Ok(using);
        }
        loop {
            if self.accept(TokenKind::Timestamp) {
                using.timestamp = Some(self.int_value()?);
            } else {
                self.expect(TokenKind::Ttl)?;
                using.ttl = Some(self.int_value()?);
            }
            if !self.accept(TokenKind::And) {
                return Ok(using);
            }
        }
    }

    pub(super) fn update(&mut self) -> Parsed<Update> {
        self.expect(TokenKind::Update)?;
        let table = self.table_name()?;
        let using = self.using()?;
        self.expect(TokenKind::Set)?;
        let assignments = self.comma_separated(Self::assignment)?;
        if let Some(column) = incompatibly_set(&assignments) {
            self.refuse(|| format!("Multiple incompatible setting of column {column}"));
        }
        self.expect(TokenKind::Where)?;
        let relations = self.where_clause()?;
        Ok(Update { table, using, assignments, relations, conditions: self.conditions()? })
    }

    fn assignment(&mut self) -> Parsed<Assignment> {
        let column = self.column()?;
        let operation = match self.kind() {
            TokenKind::Eq => {
                self.at += 1;
                self.value_operation(&column)?
            }
            TokenKind::PlusEq => {
                self.at += 1;
                Operation::Add(self.term()?)
            }
            TokenKind::MinusEq => {
                self.at += 1;
                Operation::Subtract(self.term()?)
            }
            TokenKind::LeftBracket => {
                self.at += 1;
                let key = self.term()?;
                self.expect_all(&[TokenKind::RightBracket, TokenKind::Eq])?;
                Operation::SetElement { key, value: self.term()? }
            }
            TokenKind::Dot => {
                self.at += 1;
                let field = self.identifier()?;
                self.expect(TokenKind::Eq)?;
                Operation::SetField { field, value: self.term()? }
            }
            _ => return self.reject(),
        };
        Ok(Assignment { column, operation })
    }

    /// What follows `column =`.
    fn value_operation(&mut self, column: &Identifier) -> Parsed<Operation> {
        if self.is_bare_column(0) {
            return self.own_value_operation(column);
        }
        let value = self.term()?;
        if !self.accept(TokenKind::Plus) {
            return Ok(Operation::Set(value));
        }
        if self.column()? != *column {
            self.refuse(|| "Only expressions of the form X = <value> + X are supported.".to_owned());
        }
        Ok(Operation::Prepend(value))
    }

    /// `column = column + value`, `- value`, or ` -3`, which is one token.
    fn own_value_operation(&mut self, column: &Identifier) -> Parsed<Operation> {
        let other = self.column()?;
        let own = other == *column;
        match self.kind() {
            TokenKind::Plus => {
                self.at += 1;
                let value = self.term()?;
                self.refuse_other_column(own, "+");
                Ok(Operation::Add(value))
            }
            TokenKind::Minus => {
                self.at += 1;
                let value = self.term()?;
                self.refuse_other_column(own, "-");
                Ok(Operation::Subtract(value))
            }
            TokenKind::Integer => {
                let sign = if self.here().starts_with('-') { "- " } else { "+ " };
                let value = self.literal()?;
                self.refuse_other_column(own, sign);
                Ok(Operation::Add(Term::Literal(value)))
            }
            _ => self.reject(),
        }
    }

    fn refuse_other_column(&mut self, own: bool, sign: &str) {
        if !own {
            self.refuse(|| format!("Only expressions of the form X = X {sign}<value> are supported."));
        }
    }

    fn conditions(&mut self) -> Parsed<Conditions> {
        if !self.accept(TokenKind::If) {
            return Ok(Conditions::None);
        }
        // EXISTS may be a column too: then an operator follows.
        if self.is(TokenKind::Exists) && !self.condition_goes_on(1) {
            self.at += 1;
            return Ok(Conditions::IfExists);
        }
        let mut conditions = vec![self.condition()?];
        while self.accept(TokenKind::And) {
            conditions.push(self.condition()?);
        }
        Ok(Conditions::If(conditions))
    }

    fn condition_goes_on(&self, ahead: usize) -> bool {
        matches!(
            self.kind_ahead(ahead),
            TokenKind::Eq
                | TokenKind::NotEq
                | TokenKind::Lt
                | TokenKind::LtEq
                | TokenKind::Gt
                | TokenKind::GtEq
                | TokenKind::Contains
                | TokenKind::In
                | TokenKind::LeftBracket
                | TokenKind::Dot
        )
    }

    fn condition(&mut self) -> Parsed<Condition> {
        let column = self.column()?;
        let path = match self.kind() {
            TokenKind::LeftBracket => {
                self.at += 1;
                let key = self.term()?;
                self.expect(TokenKind::RightBracket)?;
                ConditionPath::Element(key)
            }
            TokenKind::Dot => {
                self.at += 1;
                ConditionPath::Field(self.identifier()?)
            }
            _ => ConditionPath::Whole,
        };
        let test = if self.accept(TokenKind::In) {
            ConditionTest::In(self.in_values()?)
        } else {
            let whole = path == ConditionPath::Whole;
            let operator = if whole && self.is(TokenKind::Contains) { self.contains()? } else { self.comparison()? };
            ConditionTest::Compare { operator, value: self.term()? }
        };
        Ok(Condition { column, path, test })
    }

    pub(super) fn delete(&mut self) -> Parsed<Delete> {
        self.expect(TokenKind::Delete)?;
        let deletions = if is_column(self.kind()) { self.comma_separated(Self::deletion)? } else { Vec::new() };
        self.expect(TokenKind::From)?;
        let table = self.table_name()?;
        let mut using = Using::default();
        if self.accept(TokenKind::Using) {
            self.expect(TokenKind::Timestamp)?;
            using.timestamp = Some(self.int_value()?);
        }
        self.expect(TokenKind::Where)?;
        let relations = self.where_clause()?;
        Ok(Delete { deletions, table, using, relations, conditions: self.conditions()? })
    }

    fn deletion(&mut self) -> Parsed<Deletion> {
        let column = self.column()?;
        if self.accept(TokenKind::LeftBracket) {
            let key = self.term()?;
            self.expect(TokenKind::RightBracket)?;
            return Ok(Deletion::Element { column, key });
        }
        if self.accept(TokenKind::Dot) {
            return Ok(Deletion::Field { column, field: self.identifier()? });
        }
        Ok(Deletion::Column(column))
    }

    pub(super) fn batch(&mut self) -> Parsed<Batch> {
        self.expect(TokenKind::Begin)?;
        let kind = if self.accept(TokenKind::Unlogged) {
            BatchKind::Unlogged
        } else if self.accept(TokenKind::Counter) {
            BatchKind::Counter
        } else {
            BatchKind::Logged
        };
        self.expect(TokenKind::Batch)?;
        let using = self.using()?;
        let mut statements = Vec::new();
        loop {
            statements.push(match self.kind() {
                TokenKind::Insert => self.insert()?,
                TokenKind::Update => Modification::Update(self.update()?),
                TokenKind::Delete => Modification::Delete(self.delete()?),
                _ => break,
            });
            self.accept(TokenKind::Semicolon);
        }
        self.expect_all(&[TokenKind::Apply, TokenKind::Batch])?;
        Ok(Batch { kind, using, statements })
    }
}

/// The first column that is set as a whole and also otherwise, or whose field is set twice. Parts of a column may be
/// changed any number of times.
fn incompatibly_set(assignments: &[Assignment]) -> Option<&Identifier> {
    if assignments.len() < 2 {
        return None;
    }
    // By column and field, so that what must not meet lies side by side: time grows with n log n.
    let mut sorted: Vec<&Assignment> = assignments.iter().collect();
    sorted.sort_by(|a, b| (a.column.as_str(), field_set(a)).cmp(&(b.column.as_str(), field_set(b))));
    sorted.chunk_by(|a, b| a.column == b.column).find_map(|group| {
        let whole = group.iter().any(|assignment| matches!(assignment.operation, Operation::Set(_)));
        let same_field =
            |pair: &[&Assignment]| field_set(pair[0]).is_some() && field_set(pair[0]) == field_set(pair[1]);
        let conflicts = group.len() > 1 && (whole || group.windows(2).any(same_field));
        conflicts.then(|| &group[0].column)
    })
}

fn field_set(assignment: &Assignment) -> Option<&str> {
    match &assignment.operation {
        Operation::SetField { field, .. } => Some(field.as_str()),
        _ => None,
    }
}
