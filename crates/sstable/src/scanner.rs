//! Walks the partitions of a key range in order, along the index; data and index are read ahead.

use std::cell::RefCell;
use std::rc::Rc;

use helenus_data::Side;
use helenus_data::read::{KeyRange, RankInToken, RingPosition};
use helenus_types::token::Token;

use crate::cursor::PartitionCursor;
use crate::error::SsTableError;
use crate::table::{SsTable, index_entry_at};
use crate::window::Window;

/// Only one of its cursors may be in use at a time.
pub struct Scanner {
    table: Rc<SsTable>,
    range: KeyRange,
    index: Window,
    /// Next entry in Index.db; `None` behind the range.
    at: Option<u64>,
    /// The data window while no cursor has it.
    lender: Rc<RefCell<Option<Window>>>,
}

impl Scanner {
    pub(crate) fn new(table: Rc<SsTable>, range: KeyRange) -> Self {
        let parts = &table.parts;
        let entries = parts.summary.count_where(|token, key| !is_before(&range.start, token, key));
        let at = parts.summary.position_or_start(entries.checked_sub(1));
        let index = Window::sequential(&parts.index);
        let at = (!range.is_empty()).then_some(at);
        Self { table, range, index, at, lender: Rc::default() }
    }

    /// The next partition, its static row read. Partitions need not be read to their end.
    ///
    /// # Errors
    /// Damage, and whatever the disk answers.
    pub async fn next_partition(&mut self) -> Result<Option<PartitionCursor>, SsTableError> {
        while let Some(at) = self.at.take().filter(|at| *at < self.index.file().plain_bytes) {
            let (key, entry) = index_entry_at(&mut self.index, at).await?;
            if self.range.end.is_before(&key) {
                return Ok(None);
            }
            self.at = Some(entry.end);
            if self.range.start.is_before(&key) {
                let window = self.lender.take().unwrap_or_else(|| Window::sequential(&self.table.parts.data));
                let cursor = self.table.cursor(key, &entry, window, true).await?;
                return Ok(Some(cursor.lent_by(&self.lender)));
            }
        }
        Ok(None)
    }
}

/// Whether a position stands before the key of these bytes; as [`RingPosition::is_before`], without a key.
fn is_before(position: &RingPosition, token: Token, key: &[u8]) -> bool {
    if position.token != token {
        return position.token < token;
    }
    match &position.rank {
        RankInToken::BeforeKeys => true,
        RankInToken::AfterKeys => false,
        RankInToken::AtKey { bytes, side: Side::Before } => bytes.as_slice() <= key,
        RankInToken::AtKey { bytes, side: Side::After } => bytes.as_slice() < key,
    }
}
