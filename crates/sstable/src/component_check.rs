//! Size and checksums of a component that has none of its own, page by page, so that a reader of one page can check it.

/// Index.db is read in pieces of this size, and checked in them.
pub(crate) const PAGE_BYTES: usize = 16 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComponentCheck {
    pub(crate) bytes: u64,
    /// CRC-32 of each page; the last one may be short.
    pub(crate) pages: Vec<u32>,
}

/// Adds up what is written from front to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct ComponentChecker {
    bytes: u64,
    pages: Vec<u32>,
    page: crc32fast::Hasher,
    page_bytes: usize,
}

impl ComponentChecker {
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(PAGE_BYTES - self.page_bytes));
            self.page.update(now);
            self.page_bytes += now.len();
            if self.page_bytes == PAGE_BYTES {
                self.finish_page();
            }
            bytes = rest;
        }
    }

    fn finish_page(&mut self) {
        self.pages.push(std::mem::take(&mut self.page).finalize());
        self.page_bytes = 0;
    }

    pub(crate) fn finish(mut self) -> ComponentCheck {
        if 0 < self.page_bytes {
            self.finish_page();
        }
        ComponentCheck { bytes: self.bytes, pages: self.pages }
    }
}

impl ComponentCheck {
    pub(crate) fn of(content: &[u8]) -> Self {
        let mut checker = ComponentChecker::default();
        checker.add(content);
        checker.finish()
    }

    /// Eight digits a page.
    pub(crate) fn hex(&self) -> String {
        self.pages.iter().map(|page| format!("{page:08x}")).collect()
    }

    /// `None` when the pages do not make up the bytes.
    pub(crate) fn parse(bytes: u64, hex: &str) -> Option<Self> {
        let (digits, []) = hex.as_bytes().as_chunks::<8>() else { return None };
        let pages = digits.iter().map(|page| u32::from_str_radix(std::str::from_utf8(page).ok()?, 16).ok());
        let pages = pages.collect::<Option<Vec<u32>>>()?;
        (pages.len() as u64 == bytes.div_ceil(PAGE_BYTES as u64)).then_some(Self { bytes, pages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_the_same_however_the_bytes_come() {
        let content: Vec<u8> = (0..PAGE_BYTES * 2 + 100).map(|at| (at % 251) as u8).collect();
        let whole = ComponentCheck::of(&content);
        assert_eq!((whole.bytes, whole.pages.len()), (content.len() as u64, 3));
        let mut checker = ComponentChecker::default();
        content.chunks(777).for_each(|piece| checker.add(piece));
        assert_eq!(checker.finish(), whole);
        assert_eq!(ComponentCheck::parse(whole.bytes, &whole.hex()), Some(whole.clone()));
        assert_eq!(ComponentCheck::parse(whole.bytes - 200, &whole.hex()), None);
        assert_eq!(ComponentCheck::of(&content[..PAGE_BYTES]).pages, whole.pages[..1]);
    }
}
