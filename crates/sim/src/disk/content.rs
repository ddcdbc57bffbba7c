//! The bytes of a file as a sparse row of pages, shared between the levels that hold the same page.

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const PAGE_BYTES: usize = 4_096;

pub(super) type Page = [u8; PAGE_BYTES];

/// Invariant: bytes beyond `len` are zero, so that extending shows zeros and not what was cut.
#[derive(Clone, Default)]
pub(super) struct Content {
    len: u64,
    pages: BTreeMap<u64, Arc<Page>>, // A missing page is all zeros.
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn page(&self, index: u64) -> Option<Arc<Page>> {
        self.pages.get(&index).cloned()
    }

    pub(super) fn set_page(&mut self, index: u64, page: Option<Arc<Page>>) {
        match page {
            Some(page) => drop(self.pages.insert(index, page)),
            None => drop(self.pages.remove(&index)),
        }
    }

    /// How many bytes there were to read, up to `buf.len()`.
    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) -> usize {
        let available = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX).min(buf.len());
        for (index, in_page, in_buf) in pieces(offset, available) {
            match self.pages.get(&index) {
                Some(page) => buf[in_buf].copy_from_slice(&page[in_page]),
                None => buf[in_buf].fill(0),
            }
        }
        available
    }

    /// Answers with the pages that were touched.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> Vec<u64> {
        let mut touched = Vec::new();
        for (index, in_page, in_data) in pieces(offset, data.len()) {
            let page = self.pages.entry(index).or_insert_with(|| Arc::new([0; PAGE_BYTES]));
            Arc::make_mut(page)[in_page].copy_from_slice(&data[in_data]);
            touched.push(index);
        }
        self.len = self.len.max(offset + data.len() as u64);
        touched
    }

    /// Cuts or extends. Answers with the pages that lost bytes.
    pub(super) fn set_len(&mut self, len: u64) -> Vec<u64> {
        self.len = len;
        let mut touched: Vec<u64> = Vec::new();
        let (boundary, kept) = (len / PAGE_BYTES as u64, (len % PAGE_BYTES as u64) as usize);
        if 0 < kept
            && let Some(page) = self.pages.get_mut(&boundary)
            && page[kept..].iter().any(|byte| *byte != 0)
        {
            Arc::make_mut(page)[kept..].fill(0);
            touched.push(boundary);
        }
        let first_gone = len.div_ceil(PAGE_BYTES as u64);
        touched.extend(self.pages.split_off(&first_gone).keys());
        touched
    }
}

/// Cuts a stretch of a file at page borders: page number, range in the page, range in the stretch.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = offset + done as u64;
        let in_page = (at % PAGE_BYTES as u64) as usize;
        let step = (PAGE_BYTES - in_page).min(len - done);
        let piece = (at / PAGE_BYTES as u64, in_page..in_page + step, done..done + step);
        done += step;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_read_as_zeros_and_cut_bytes_do_not_come_back() {
        let mut content = Content::default();
        content.write(PAGE_BYTES as u64 * 3 - 2, b"abcd");
        let mut buf = [9; 8];
        assert_eq!(content.read(PAGE_BYTES as u64 * 3 - 4, &mut buf), 6);
        assert_eq!(&buf[..6], b"\0\0abcd");
        assert_eq!(content.set_len(PAGE_BYTES as u64 * 3 - 1), vec![2, 3]);
        assert_eq!(content.set_len(PAGE_BYTES as u64 * 3 - 1), Vec::<u64>::new());
        content.set_len(PAGE_BYTES as u64 * 4);
        content.read(PAGE_BYTES as u64 * 3 - 4, &mut buf);
        assert_eq!(&buf, b"\0\0a\0\0\0\0\0");
    }
}
