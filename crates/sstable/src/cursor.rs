//! Reads one partition, slice by slice, in either direction.
//!
//! A slice of a wide partition starts from the index block that holds it; slices that follow each other go on where the
//! last one stopped. Rows outside a slice are skipped by their size, without decoding them.

use std::cell::RefCell;
use std::rc::Rc;

use helenus_data::{Batch, Bound, DeletionTime, Direction, Marker, PartitionHeader, Side, Slice, Unfiltered};

use crate::decode::{self, Head, Position};
use crate::error::SsTableError;
use crate::layout::Layout;
use crate::promoted::Promoted;
use crate::reversed::Reversed;
use crate::table::Parts;
use crate::window::Window;

pub struct PartitionCursor {
    header: PartitionHeader,
    pub(crate) reader: ItemReader,
    /// Where the partition starts and where its first item does.
    pub(crate) start: u64,
    pub(crate) rows_at: u64,
    pub(crate) promoted: Option<Promoted>,
    forward: Option<Forward>,
    reversed: Option<Reversed>,
    /// A scan lends its window to one cursor after the other.
    lender: Option<Rc<RefCell<Option<Window>>>>,
}

/// Where reading forward stopped.
struct Forward {
    /// Start of the next item.
    at: u64,
    /// The deletion that is open there.
    open: DeletionTime,
    /// Every item before `at` stands at or before this position.
    floor: Vec<u8>,
}

/// A batch is cut after so many markers, so that it stays small.
const MARKERS_MAX: usize = 1024;
/// A batch is cut once its items take so many bytes in the file: a merge of 32 files then holds some 8 MiB beside 32 rows,
/// however large the rows are.
const BATCH_BYTES_MAX: u64 = 256 << 10;

/// Where a batch is cut.
#[derive(Clone, Copy)]
pub(crate) struct BatchMax {
    /// At least one.
    rows: usize,
    /// In the file; a batch of one row may be larger.
    bytes: u64,
}

impl BatchMax {
    pub(crate) fn is_reached(self, rows: usize, bytes: u64, markers: usize) -> bool {
        let is_bounded = self.bytes != u64::MAX;
        rows == self.rows || (0 < rows && self.bytes <= bytes) || (is_bounded && MARKERS_MAX <= markers)
    }
}

/// So many items are decoded or skipped before others may run.
const ITEMS_PER_TURN: u32 = 512;

/// Decodes items of one file.
pub(crate) struct ItemReader {
    pub(crate) parts: Rc<Parts>,
    layout: Rc<Layout>,
    window: Window,
    items: u32,
}

impl PartitionCursor {
    pub(crate) fn new(
        parts: Rc<Parts>,
        layout: Rc<Layout>,
        header: PartitionHeader,
        start: u64,
        rows_at: u64,
        window: Window,
        promoted: Option<Promoted>,
    ) -> Self {
        let reader = ItemReader { parts, layout, window, items: 0 };
        Self { header, reader, start, rows_at, promoted, forward: None, reversed: None, lender: None }
    }

    /// Gives the window back to `lender` when the cursor goes.
    pub(crate) fn lent_by(mut self, lender: &Rc<RefCell<Option<Window>>>) -> Self {
        self.lender = Some(Rc::clone(lender));
        self
    }

    #[must_use]
    pub fn header(&self) -> &PartitionHeader {
        &self.header
    }

    /// Rows and markers of a slice in reading direction, at most `rows_max` rows or some 256 KiB (at least one row); markers are clipped to
    /// the slice. `resume` is what is left of the slice, `None` at its end; a cut batch closes its open marker at the cut
    /// and the next one opens it again.
    ///
    /// # Errors
    /// Damage, and whatever the disk answers.
    pub async fn fill(&mut self, slice: &Slice, direction: Direction, rows_max: usize) -> Result<Batch, SsTableError> {
        self.fill_up_to(slice, direction, BatchMax { rows: rows_max.max(1), bytes: BATCH_BYTES_MAX }).await
    }

    /// All rows and markers at once, however much memory they take: for tools.
    ///
    /// # Errors
    /// As [`PartitionCursor::fill`].
    pub async fn whole(&mut self, direction: Direction) -> Result<Vec<Unfiltered>, SsTableError> {
        let max = BatchMax { rows: usize::MAX, bytes: u64::MAX };
        let batch = self.fill_up_to(&Slice::all(), direction, max).await?;
        assert!(batch.resume.is_none(), "nothing cuts it");
        Ok(batch.items)
    }

    async fn fill_up_to(&mut self, slice: &Slice, direction: Direction, max: BatchMax) -> Result<Batch, SsTableError> {
        if slice.is_empty() {
            return Ok(Batch { items: Vec::new(), resume: None });
        }
        match direction {
            Direction::Forward => self.fill_forward(slice, max).await,
            Direction::Reversed => {
                let mut state = self.reversed.take();
                let batch = Reversed::fill(&mut state, self, slice, max).await?;
                self.reversed = state;
                Ok(batch)
            }
        }
    }

    async fn fill_forward(&mut self, slice: &Slice, max: BatchMax) -> Result<Batch, SsTableError> {
        let (start, end) = (slice.start.order(), slice.end.order());
        let Forward { mut at, mut open, floor: mut last_order } = self.seek_forward(start).await?;
        let mut items = Vec::new();
        let mut rows = 0;
        let mut is_opened = false;
        let mut items_at = at;
        let resume = loop {
            let Some(head) = self.reader.head(at).await? else {
                close(&mut items, &slice.end, open, is_opened);
                break None;
            };
            self.reader.check_order(&head, at, &mut last_order)?;
            let next = at + head.item_bytes() as u64;
            if head.order() <= start {
                open = self.reader.open_after(head, at, open).await?;
                at = next;
                continue;
            }
            if !is_opened {
                is_opened = true;
                items_at = at;
                items.extend(opening(&slice.start, open));
            }
            if end <= head.order() {
                close(&mut items, &slice.end, open, true);
                break None;
            }
            if max.is_reached(rows, at - items_at, items.len() - rows) {
                let cut = cut(&mut items, Direction::Forward, open);
                break cut.map(|cut| Slice { start: cut, end: slice.end.clone() });
            }
            match self.reader.item(head, at).await? {
                Some(Unfiltered::Row(row)) => {
                    rows += 1;
                    items.push(Unfiltered::Row(row));
                }
                Some(Unfiltered::Marker(marker)) => {
                    let begins = marker.begins.unwrap_or(DeletionTime::LIVE);
                    items.extend(change(marker.position, open, begins));
                    open = begins;
                }
                None => {}
            }
            at = next;
        };
        let floor = resume.as_ref().map_or(end, |rest| rest.start.order()).to_vec();
        self.forward = Some(Forward { at, open, floor });
        Ok(Batch { items, resume })
    }

    /// Where to start looking for items after `start`, with an order that no earlier item exceeds.
    async fn seek_forward(&mut self, start: &[u8]) -> Result<Forward, SsTableError> {
        let known = self.forward.take().filter(|state| state.floor.as_slice() <= start);
        if let Some(state) = known {
            if state.floor == start || self.promoted.is_none() {
                return Ok(Forward { floor: Vec::new(), ..state });
            }
            let found = self.seek_block(start).await?;
            return Ok(if state.at < found.at { found } else { Forward { floor: Vec::new(), ..state } });
        }
        if start.len() <= 1 {
            return Ok(self.beginning()); // A bound without values: nothing stands before it.
        }
        self.seek_block(start).await
    }

    fn beginning(&self) -> Forward {
        Forward { at: self.rows_at, open: DeletionTime::LIVE, floor: Vec::new() }
    }

    async fn seek_block(&mut self, start: &[u8]) -> Result<Forward, SsTableError> {
        let Some(promoted) = &mut self.promoted else { return Ok(self.beginning()) };
        let number = promoted.first_after(start).await?;
        let Some(before) = number.checked_sub(1) else { return Ok(self.beginning()) };
        let open = promoted.block(before).await?.open_at_end;
        let block = promoted.block(number).await?;
        Ok(Forward { at: self.start.saturating_add(block.offset), open, floor: Vec::new() })
    }
}

impl Drop for PartitionCursor {
    fn drop(&mut self) {
        if let Some(lender) = &self.lender {
            let file = Rc::clone(self.reader.window.file());
            let window = std::mem::replace(&mut self.reader.window, Window::random(&file));
            lender.replace(Some(window));
        }
    }
}

impl ItemReader {
    /// The head of the item at `at`; `None` at the end of the partition.
    pub(crate) async fn head(&mut self, at: u64) -> Result<Option<Head>, SsTableError> {
        self.items += 1;
        if self.items.is_multiple_of(ITEMS_PER_TURN) {
            self.parts.env.yield_now().await;
        }
        let layout = &self.layout;
        self.window.decode(at, |bytes| decode::head(layout, bytes)).await
    }

    /// The item of `head`, which stands at `at`; `None` when dropped columns were all it had.
    pub(crate) async fn item(&mut self, head: Head, at: u64) -> Result<Option<Unfiltered>, SsTableError> {
        let (body_at, body_bytes) = (at + head.body_at as u64, head.body_bytes);
        let bytes = self.window.cover(body_at, body_bytes).await?;
        let body = bytes.get(..body_bytes).unwrap_or_default(); // `cover` brought them all.
        decode::item(&self.layout, head, body).map_err(|error| error.in_file(&self.parts.data.path, body_at))
    }

    /// The deletion that is open after an item that is skipped.
    async fn open_after(&mut self, head: Head, at: u64, open: DeletionTime) -> Result<DeletionTime, SsTableError> {
        match head.position {
            Position::Row { .. } | Position::StaticRow { .. } => Ok(open),
            Position::Marker { .. } => match self.item(head, at).await? {
                Some(Unfiltered::Marker(marker)) => Ok(marker.begins.unwrap_or(DeletionTime::LIVE)),
                Some(Unfiltered::Row(_)) | None => Ok(open),
            },
        }
    }

    /// Refuses items that do not ascend; `last` is the order of the one before and becomes that of this one.
    pub(crate) fn check_order(&self, head: &Head, at: u64, last: &mut Vec<u8>) -> Result<(), SsTableError> {
        let order = head.order();
        if order <= last.as_slice() {
            let found = "one at or before the item before".to_owned();
            return Err(self.parts.data.corrupt(at, "a row or marker after the item before", found));
        }
        last.clear();
        last.extend_from_slice(order);
        Ok(())
    }
}

/// The marker that opens a deletion at a slice's first bound.
pub(crate) fn opening(position: &Bound, open: DeletionTime) -> Option<Unfiltered> {
    change(position.clone(), DeletionTime::LIVE, open)
}

/// The marker at which one open deletion gives way to another; nothing when both are the same.
pub(crate) fn change(position: Bound, ends: DeletionTime, begins: DeletionTime) -> Option<Unfiltered> {
    let present = |deletion: DeletionTime| (!deletion.is_live()).then_some(deletion);
    let marker = Marker { position, ends: present(ends), begins: present(begins) };
    (marker.ends.is_some() || marker.begins.is_some()).then_some(Unfiltered::Marker(marker))
}

/// Closes what is open at a slice's last bound, opening it first when no item of the slice did.
fn close(items: &mut Vec<Unfiltered>, position: &Bound, open: DeletionTime, is_opened: bool) {
    // Without any item after the slice's start a deletion can only be open in a damaged file, which then hides nothing.
    if is_opened {
        items.extend(change(position.clone(), open, DeletionTime::LIVE));
    }
}

/// Ends a batch after its last item; answers where the next one begins.
pub(crate) fn cut(items: &mut Vec<Unfiltered>, direction: Direction, open: DeletionTime) -> Option<Bound> {
    match items.pop()? {
        Unfiltered::Row(row) => {
            let side = match direction {
                Direction::Forward => Side::After,
                Direction::Reversed => Side::Before,
            };
            let position = row.clustering.as_bound(side);
            items.push(Unfiltered::Row(row));
            items.extend(change(position.clone(), open, DeletionTime::LIVE));
            Some(position)
        }
        Unfiltered::Marker(marker) => {
            let ends = marker.ends.unwrap_or(DeletionTime::LIVE);
            let position = marker.position;
            items.extend(change(position.clone(), ends, DeletionTime::LIVE));
            Some(position)
        }
    }
}
