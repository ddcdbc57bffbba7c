//! Reading a partition from its end: block by block, each walked forward once by sizes only, then decoded backwards as
//! far as it is needed.
//!
//! The size of the item before, which every item carries, would allow to step back without the first walk, but only from
//! an item whose start is known; from a block's end none is.

use helenus_data::{Batch, DeletionTime, Direction, Marker, Slice, Unfiltered};

use crate::cursor::{BatchMax, PartitionCursor, change, cut, opening};
use crate::decode::{Head, Position};
use crate::error::SsTableError;

/// Where reading backwards stopped.
pub(crate) struct Reversed {
    /// Items of the current block that were not read yet, in forward order.
    pending: Vec<Pending>,
    /// Number of the current block.
    block: u32,
    /// The deletion that is open just below `ceiling`.
    open: DeletionTime,
    /// Every item at or after this position was read (or stands outside of the slice).
    ceiling: Vec<u8>,
}

enum Pending {
    Row {
        at: u64,
        head: Head,
    },
    /// `ends` is what ends here in forward direction, live when nothing does.
    Marker {
        position: helenus_data::Bound,
        ends: DeletionTime,
    },
}

impl Pending {
    fn order(&self) -> &[u8] {
        match self {
            Pending::Row { head, .. } => head.order(),
            Pending::Marker { position, .. } => position.order(),
        }
    }
}

impl Reversed {
    pub(crate) async fn fill(
        state: &mut Option<Reversed>,
        cursor: &mut PartitionCursor,
        slice: &Slice,
        max: BatchMax,
    ) -> Result<Batch, SsTableError> {
        let (start, end) = (slice.start.order(), slice.end.order());
        let mut reading = match state.take().filter(|state| state.ceiling == end) {
            Some(state) => state,
            None => Self::seek(cursor, end).await?,
        };
        let mut items: Vec<Unfiltered> = opening(&slice.end, reading.open).into_iter().collect();
        let (mut rows, mut bytes) = (0, 0);
        let resume = loop {
            let Some(next) = reading.pending.last() else {
                if reading.block == 0 {
                    items.extend(change(slice.start.clone(), reading.open, DeletionTime::LIVE));
                    break None;
                }
                reading.block -= 1;
                (reading.pending, _) = load_block(cursor, reading.block, None).await?;
                continue;
            };
            if next.order() <= start {
                items.extend(change(slice.start.clone(), reading.open, DeletionTime::LIVE));
                break None;
            }
            if max.is_reached(rows, bytes, items.len() - rows) {
                let cut = cut(&mut items, Direction::Reversed, reading.open);
                break cut.map(|cut| Slice { start: slice.start.clone(), end: cut });
            }
            match reading.pending.pop() {
                Some(Pending::Row { at, head }) => {
                    let item_bytes = head.item_bytes() as u64;
                    if let Some(row) = cursor.reader.item(head, at).await? {
                        rows += 1;
                        bytes += item_bytes;
                        items.push(row);
                    }
                }
                Some(Pending::Marker { position, ends }) => {
                    items.extend(change(position, reading.open, ends));
                    reading.open = ends;
                }
                None => {}
            }
        };
        reading.ceiling = resume.as_ref().map_or(start, |rest| rest.end.order()).to_vec();
        *state = Some(reading);
        Ok(Batch { items, resume })
    }

    /// The block in which the last item before `end` stands.
    async fn seek(cursor: &mut PartitionCursor, end: &[u8]) -> Result<Self, SsTableError> {
        let block = match &mut cursor.promoted {
            Some(promoted) => promoted.last_before(end).await?,
            None => 0,
        };
        let (pending, open) = load_block(cursor, block, Some(end)).await?;
        Ok(Self { pending, block, open, ceiling: end.to_vec() })
    }
}

/// The items of a block, up to `end`, and the deletion that is open after them.
async fn load_block(
    cursor: &mut PartitionCursor,
    block: u32,
    end: Option<&[u8]>,
) -> Result<(Vec<Pending>, DeletionTime), SsTableError> {
    let mut open = DeletionTime::LIVE;
    let mut at = cursor.rows_at;
    let mut until = u64::MAX;
    if let Some(promoted) = &mut cursor.promoted {
        if let Some(before) = block.checked_sub(1) {
            open = promoted.block(before).await?.open_at_end;
        }
        let entry = promoted.block(block).await?;
        at = cursor.start.saturating_add(entry.offset);
        if block + 1 < promoted.count() {
            until = at.saturating_add(entry.width);
        }
    }
    let reader = &mut cursor.reader;
    let mut pending = Vec::new();
    let mut last_order = Vec::new();
    while at < until {
        let Some(head) = reader.head(at).await? else { break };
        reader.check_order(&head, at, &mut last_order)?;
        if end.is_some_and(|end| end <= head.order()) {
            break;
        }
        let next = at + head.item_bytes() as u64;
        match &head.position {
            Position::Row { .. } | Position::StaticRow { .. } => pending.push(Pending::Row { at, head }),
            Position::Marker { .. } => {
                if let Some(Unfiltered::Marker(Marker { position, begins, .. })) = reader.item(head, at).await? {
                    pending.push(Pending::Marker { position, ends: open });
                    open = begins.unwrap_or(DeletionTime::LIVE);
                }
            }
        }
        at = next;
    }
    Ok((pending, open))
}
