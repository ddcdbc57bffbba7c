//! `Index.db`: a partition's key and place in Data.db, and for wide ones an index of its blocks ("promoted" index).
//!
//! ```text
//! entry       u16 length, key, vint position in Data.db, vint size of what follows (0 without blocks)
//! blocks      vint bytes of the partition's header, partition deletion (i32 secs, i64 micros), vint count,
//!             count × block, count × i32 offset of a block from the first one
//! block       prefix of the first item, prefix of the last, vint offset from the partition's start,
//!             zigzag vint width − 65536, 1 byte: 1 when a deletion is open at the end, which follows then
//! ```
//!
//! Source: Cassandra 5.0, `io.sstable.format.big.RowIndexEntry`, `io.sstable.IndexInfo`.

use helenus_data::{DeletionTime, Unfiltered};

use crate::clustering;
use crate::encoding_stats::{PLAIN_DELETION_BYTES, get_plain_deletion, put_plain_deletion};
use crate::input::{Decoded, Input};
use crate::layout::Layout;
use crate::vint;

const WIDTH_BASE: i64 = 64 << 10;

/// Collects the blocks of one partition while it is written. Offsets count from the partition's start.
#[derive(Debug, Default)]
pub(crate) struct BlocksBuilder {
    /// The finished blocks as they will stand in the file.
    bytes: Vec<u8>,
    offsets: Vec<u32>,
    /// Prefix of the first and last item of the block being collected; empty between blocks.
    first: Vec<u8>,
    last: Vec<u8>,
    start: u64,
}

impl BlocksBuilder {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.offsets.clear();
        self.first.clear();
    }

    /// An item was written from `start` to `end`; `open` is the deletion open after it.
    pub(crate) fn add(
        &mut self,
        layout: &Layout,
        item: &Unfiltered,
        start: u64,
        end: u64,
        open: DeletionTime,
        block_bytes: u64,
    ) {
        self.last.clear();
        clustering::put_prefix(layout, item, &mut self.last);
        if self.first.is_empty() {
            self.first.extend_from_slice(&self.last);
            self.start = start;
        }
        if block_bytes <= end - self.start {
            self.finish_block(end, open);
        }
    }

    fn finish_block(&mut self, end: u64, open: DeletionTime) {
        self.offsets.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        self.bytes.extend_from_slice(&self.first);
        self.bytes.extend_from_slice(&self.last);
        vint::put(self.start, &mut self.bytes);
        vint::put_signed((end - self.start) as i64 - WIDTH_BASE, &mut self.bytes);
        self.bytes.push(u8::from(!open.is_live()));
        if !open.is_live() {
            put_plain_deletion(open, &mut self.bytes);
        }
        self.first.clear();
    }

    /// Appends what stands in an index entry after the position. `end` is where the partition ends: as Cassandra has it,
    /// the last block includes the byte that marks the end, unless it was full before.
    pub(crate) fn put_blocks(&mut self, header_bytes: u64, deletion: DeletionTime, end: u64, out: &mut Vec<u8>) {
        if !self.first.is_empty() {
            self.finish_block(end, DeletionTime::LIVE);
        }
        if self.offsets.len() < 2 {
            return vint::put(0, out);
        }
        let count = self.offsets.len() as u64;
        let size = vint::len(header_bytes)
            + PLAIN_DELETION_BYTES
            + vint::len(count)
            + self.bytes.len()
            + 4 * self.offsets.len();
        vint::put(size as u64, out);
        vint::put(header_bytes, out);
        put_plain_deletion(deletion, out);
        vint::put(count, out);
        out.extend_from_slice(&self.bytes);
        self.offsets.iter().for_each(|offset| out.extend_from_slice(&offset.to_be_bytes()));
    }
}

/// Front of an index entry. `promoted_bytes` follow it.
#[derive(Debug)]
pub(crate) struct EntryHead<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) data_position: u64,
    pub(crate) promoted_bytes: u64,
    /// Bytes up to where the promoted index starts.
    pub(crate) head_bytes: usize,
}

pub(crate) fn entry_head(bytes: &[u8]) -> Decoded<EntryHead<'_>> {
    let mut input = Input::new(bytes);
    let key = input.u16_bytes()?;
    let data_position = input.vint()?;
    let promoted_bytes = input.vint()?;
    if i64::try_from(promoted_bytes).is_err() {
        return input.malformed("the size of a promoted index", promoted_bytes);
    }
    Ok(EntryHead { key, data_position, promoted_bytes, head_bytes: input.at() })
}

/// Front of a promoted index.
#[derive(Debug)]
pub(crate) struct PromotedHead {
    pub(crate) count: u32,
    pub(crate) head_bytes: usize,
}

pub(crate) fn promoted_head(bytes: &[u8]) -> Decoded<PromotedHead> {
    let mut input = Input::new(bytes);
    let _header_bytes = input.vint()?;
    get_plain_deletion(&mut input)?;
    let count = input.vint_len("a count of index blocks")?;
    match u32::try_from(count) {
        Ok(count) if 0 < count => Ok(PromotedHead { count, head_bytes: input.at() }),
        _ => input.malformed("a count of index blocks", count),
    }
}

/// A run of items of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Byte-comparable positions of the first and last item.
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
    /// From the partition's start.
    pub(crate) offset: u64,
    pub(crate) width: u64,
    /// The deletion open at the end of the block.
    pub(crate) open_at_end: DeletionTime,
}

pub(crate) fn block(layout: &Layout, bytes: &[u8]) -> Decoded<Block> {
    let mut input = Input::new(bytes);
    let first = clustering::get_prefix_order(layout, &mut input)?;
    let last = clustering::get_prefix_order(layout, &mut input)?;
    let offset = input.vint()?;
    let width = input.signed_vint()?.wrapping_add(WIDTH_BASE);
    let open_at_end = if input.boolean()? { get_plain_deletion(&mut input)? } else { DeletionTime::LIVE };
    match u64::try_from(width) {
        Ok(width) => Ok(Block { first, last, offset, width, open_at_end }),
        Err(_) => input.malformed("the width of an index block", width),
    }
}
