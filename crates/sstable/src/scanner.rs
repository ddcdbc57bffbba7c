//! Walks the partitions of a key range in order, along the index; data and index are read ahead.

use std::cell::RefCell;
use std::rc::Rc;

use helenus_data::read::{KeyRange, RankInToken, RingPosition};
use helenus_data::{PartitionKey, Side};
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
    /// The entry before: its key and its place in Data.db.
    last: Option<(PartitionKey, u64)>,
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
        Self { table, range, index, at, last: None, lender: Rc::default() }
    }

    /// The next partition, its static row read. Partitions need not be read to their end.
    ///
    /// # Errors
    /// Damage, and whatever the disk answers.
    pub async fn next_partition(&mut self) -> Result<Option<PartitionCursor>, SsTableError> {
        while let Some(at) = self.at.take() {
            if self.index.file().plain_bytes <= at {
                return self.check_end().map(|()| None);
            }
            let (key, entry) = index_entry_at(&mut self.index, at).await?;
            let is_after = |(last, position): &(PartitionKey, u64)| *last < key && *position < entry.data_position;
            if !self.last.as_ref().is_none_or(is_after) {
                let found = format!("key {:02x?} at {}", key.bytes(), entry.data_position);
                return Err(self.index.file().corrupt(at, "a key and a position after those before", found));
            }
            self.last = Some((key.clone(), entry.data_position));
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

    /// The index must not end before the last key that the file is known to have: what is missing would be lost to a
    /// compaction.
    fn check_end(&mut self) -> Result<(), SsTableError> {
        let last_key = &self.table.stats().last_key;
        if self.last.take().is_some_and(|(last, _)| *last_key <= last) {
            return Ok(());
        }
        let (index, found) = (self.index.file(), "its end".to_owned());
        Err(index.corrupt(index.plain_bytes, "entries up to the last key of the file", found))
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
