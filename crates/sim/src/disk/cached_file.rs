//! One file on two levels: what the kernel would answer, and what is on the device.
//!
//! ```text
//! kernel   the newest content; every read sees it
//! dirty    per page, the contents it had since the last sync: any of them may have been written back on its own
//! device   what survives a power cut for certain
//! ```
//!
//! Invariant: kernel and device differ only in dirty pages, in the length, and where a sync failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::disk::content::{Content, PAGE_BYTES, Page};
use crate::faults::FaultStats;
use crate::random::SeededRandom;

/// A page that is rewritten more often between two syncs forgets its oldest contents: memory for nothing new.
const VERSIONS_MAX: usize = 8;

type PageVersion = Option<Arc<Page>>; // `None`: all zeros, or cut off.

#[derive(Clone, Default)]
pub(super) struct CachedFile {
    kernel: Content,
    device: Content,
    dirty: BTreeMap<u64, Vec<PageVersion>>,
    lens: Vec<u64>, // Since the last sync.
}

/// What a power cut leaves of the unsynced pages of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutPolicy {
    /// Nothing was written back yet.
    LoseAll,
    /// The kernel happened to have written back everything.
    KeepAll,
    /// Each sector of this many bytes has one of the contents that it had since the last sync.
    Tear { sector_bytes: usize },
}

impl CutPolicy {
    pub(super) fn draw(random: &mut SeededRandom) -> Self {
        match random.within(0..100) {
            0..25 => Self::LoseAll,
            25..40 => Self::KeepAll,
            40..70 => Self::Tear { sector_bytes: 512 },
            _ => Self::Tear { sector_bytes: PAGE_BYTES },
        }
    }
}

impl CachedFile {
    pub(super) fn len(&self) -> u64 {
        self.kernel.len()
    }

    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) -> usize {
        self.kernel.read(offset, buf)
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        let touched = self.kernel.write(offset, data);
        self.remember(touched);
    }

    pub(super) fn set_len(&mut self, len: u64) {
        let touched = self.kernel.set_len(len);
        self.remember(touched);
    }

    fn remember(&mut self, touched: Vec<u64>) {
        for index in touched {
            let versions = self.dirty.entry(index).or_default();
            if versions.len() == VERSIONS_MAX {
                versions.remove(0);
            }
            versions.push(self.kernel.page(index));
        }
        if self.lens.last() != Some(&self.kernel.len()) {
            if self.lens.len() == VERSIONS_MAX {
                self.lens.remove(0);
            }
            self.lens.push(self.kernel.len());
        }
    }

    pub(super) fn sync(&mut self) {
        for index in std::mem::take(&mut self.dirty).into_keys() {
            self.device.set_page(index, self.kernel.page(index));
        }
        self.lens.clear();
        self.device.set_len(self.kernel.len());
    }

    /// As on Linux: some pages arrive, some do not, and all count as clean afterwards, so that a second sync succeeds
    /// without having written anything.
    pub(super) fn fail_sync(&mut self, random: &mut SeededRandom) {
        for index in std::mem::take(&mut self.dirty).into_keys() {
            if random.happens(500_000) {
                self.device.set_page(index, self.kernel.page(index));
            }
        }
        let lens = std::mem::take(&mut self.lens);
        if random.happens(500_000) && !lens.is_empty() {
            self.device.set_len(self.kernel.len());
        }
    }

    pub(super) fn power_cut(&mut self, policy: CutPolicy, random: &mut SeededRandom, stats: &mut FaultStats) {
        for (index, versions) in std::mem::take(&mut self.dirty) {
            let survivor = choose_page(policy, self.device.page(index), &versions, random, stats);
            self.device.set_page(index, survivor);
        }
        let lens = std::mem::take(&mut self.lens);
        let len = match policy {
            CutPolicy::LoseAll => self.device.len(),
            CutPolicy::KeepAll => lens.last().copied().unwrap_or(self.device.len()),
            CutPolicy::Tear { .. } => {
                let choice = random.index(lens.len() + 1);
                choice.checked_sub(1).map_or(self.device.len(), |choice| lens[choice])
            }
        };
        self.device.set_len(len);
        self.kernel = self.device.clone();
    }

    /// Decay of the medium: from now on this bit is read the other way round.
    pub(super) fn flip_bit(&mut self, offset: u64, bit: u32) -> bool {
        let mut byte = [0];
        if self.kernel.read(offset, &mut byte) == 0 {
            return false;
        }
        byte[0] ^= 1 << (bit % 8);
        for level in [&mut self.kernel, &mut self.device] {
            if offset < level.len() {
                level.write(offset, &byte);
            }
        }
        true
    }
}

fn choose_page(
    policy: CutPolicy,
    on_device: PageVersion,
    versions: &[PageVersion],
    random: &mut SeededRandom,
    stats: &mut FaultStats,
) -> PageVersion {
    let newest = versions.last().cloned().flatten();
    let sector_bytes = match policy {
        CutPolicy::KeepAll => return newest,
        CutPolicy::LoseAll => {
            stats.pages_lost += 1;
            return on_device;
        }
        CutPolicy::Tear { sector_bytes } => sector_bytes,
    };
    let mut torn: Page = [0; PAGE_BYTES];
    let (mut kept_count, mut lost_count) = (0, 0);
    for start in (0..PAGE_BYTES).step_by(sector_bytes) {
        let sector = start..start + sector_bytes;
        let choice = match random.within(0..4) {
            0 | 1 => None,                           // Never written back.
            2 => Some(versions.len() - 1),           // Written back just now.
            _ => Some(random.index(versions.len())), // Written back some time ago.
        };
        let version = choice.map_or(&on_device, |choice| &versions[choice]);
        if let Some(page) = version {
            torn[sector.clone()].copy_from_slice(&page[sector]);
        }
        if choice == Some(versions.len() - 1) { kept_count += 1 } else { lost_count += 1 }
    }
    stats.pages_lost += u64::from(0 < lost_count);
    stats.pages_torn += u64::from(0 < lost_count && 0 < kept_count);
    Some(Arc::new(torn))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(file: &CachedFile) -> Vec<u8> {
        let mut buf = vec![0; file.len() as usize];
        file.read(0, &mut buf);
        buf
    }

    #[test]
    fn synced_bytes_survive_every_power_cut_and_unsynced_ones_are_old_or_new() {
        for seed in 0..200 {
            let mut random = SeededRandom::new(seed);
            let mut file = CachedFile::default();
            file.write(0, &[1; 6_000]);
            file.sync();
            file.write(5_000, &[2; 6_000]);
            let policy = CutPolicy::draw(&mut random);
            file.power_cut(policy, &mut random, &mut FaultStats::default());
            let content = content(&file);
            assert!(6_000 <= content.len() && content.len() <= 11_000);
            assert!(content[..5_000].iter().all(|byte| *byte == 1));
            assert!(content[5_000..6_000].iter().all(|byte| *byte == 1 || *byte == 2));
            assert!(content[6_000..].iter().all(|byte| *byte == 0 || *byte == 2));
        }
    }

    #[test]
    fn after_a_failed_sync_a_second_one_succeeds_without_writing() {
        let lost = (0..50).filter(|seed| {
            let mut random = SeededRandom::new(*seed);
            let mut file = CachedFile::default();
            file.write(0, b"data");
            file.fail_sync(&mut random);
            file.sync();
            file.power_cut(CutPolicy::KeepAll, &mut random, &mut FaultStats::default());
            content(&file) != b"data"
        });
        assert!(0 < lost.count());
    }

    #[test]
    fn a_sector_never_has_a_content_that_the_page_cache_never_had() {
        for seed in 0..100 {
            let mut random = SeededRandom::new(seed);
            let mut file = CachedFile::default();
            file.write(0, b"AA"); // Then "AABB": a sector with "\0\0BB" never existed.
            file.write(2, b"BB");
            file.power_cut(CutPolicy::Tear { sector_bytes: 512 }, &mut random, &mut FaultStats::default());
            let content = content(&file);
            assert!([&b""[..], b"\0\0", b"AA", b"\0\0\0\0", b"AA\0\0", b"AABB"].contains(&content.as_slice()));
        }
    }
}
