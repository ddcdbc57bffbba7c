//! The index of a wide partition's blocks, searched where it lies in Index.db: a step of the binary search reads one
//! offset and one block.

use std::rc::Rc;

use crate::error::SsTableError;
use crate::index_entry::{self, Block};
use crate::input::Input;
use crate::layout::Layout;
use crate::window::Window;

pub(crate) struct Promoted {
    window: Window,
    layout: Rc<Layout>,
    count: u32,
    /// Where in Index.db the first block and the table of offsets start.
    blocks_at: u64,
    offsets_at: u64,
}

const OFFSET_BYTES: u64 = 4;

impl Promoted {
    /// `at` is where the promoted index of `bytes` starts in Index.db.
    pub(crate) async fn open(
        mut window: Window,
        layout: Rc<Layout>,
        at: u64,
        bytes: u64,
    ) -> Result<Self, SsTableError> {
        let head = window.decode(at, index_entry::promoted_head).await?;
        let blocks_at = at + head.head_bytes as u64;
        let offsets_at = at.saturating_add(bytes).checked_sub(OFFSET_BYTES * u64::from(head.count));
        match offsets_at.filter(|offsets_at| blocks_at < *offsets_at) {
            Some(offsets_at) => Ok(Self { window, layout, count: head.count, blocks_at, offsets_at }),
            None => Err(window.file().corrupt(
                at,
                "blocks and their offsets",
                format!("{} blocks in {bytes} bytes", head.count),
            )),
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) async fn block(&mut self, number: u32) -> Result<Block, SsTableError> {
        let offset_at = self.offsets_at + OFFSET_BYTES * u64::from(number);
        let offset = self.window.decode(offset_at, |bytes| Input::new(bytes).u32()).await?;
        let at = self.blocks_at + u64::from(offset);
        if self.offsets_at <= at {
            return Err(self.window.file().corrupt(offset_at, "the offset of a block", offset.to_string()));
        }
        let layout = Rc::clone(&self.layout);
        self.window.decode(at, |bytes| index_entry::block(&layout, bytes)).await
    }

    /// The first block whose last item stands after `order`, or the last block.
    pub(crate) async fn first_after(&mut self, order: &[u8]) -> Result<u32, SsTableError> {
        let (mut low, mut high) = (0, self.count - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.block(middle).await?.last.as_slice() <= order { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The last block whose first item stands before `order`, or the first block.
    pub(crate) async fn last_before(&mut self, order: &[u8]) -> Result<u32, SsTableError> {
        let (mut low, mut high) = (0, self.count - 1);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.block(middle).await?.first.as_slice() < order { low = middle } else { high = middle - 1 }
        }
        Ok(low)
    }
}
