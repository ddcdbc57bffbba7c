//! A disk's state and the effect of every operation upon it, at one moment, under one lock. Nothing waits in here.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use helenus_env::{DirEntry, EntryKind, OpenMode, Space};

use crate::disk::cached_file::{CachedFile, CutPolicy};
use crate::disk::names::{Inode, Names, Place, Target};
use crate::faults::{FaultPlan, FaultStats, Rate};
use crate::random::SeededRandom;
use crate::trace::Trace;

/// The size of a disk to which the plan gives none.
const DEFAULT_CAPACITY_BYTES: u64 = 1 << 40;

pub(super) struct DiskState {
    pub(super) random: SeededRandom,
    pub(super) plan: FaultPlan,
    pub(super) stats: FaultStats,
    /// Which life of the node's process may use the disk. Operations and handles of earlier ones are void.
    pub(super) incarnation: u64,
    node: u32,
    trace: Trace,
    names: Names,
    files: BTreeMap<Inode, StoredFile>,
    last_inode: Inode,
    used_bytes: u64, // What the kernel counts: the lengths of all files with a name or an open handle.
    locks: BTreeSet<Inode>,
}

#[derive(Default)]
struct StoredFile {
    content: CachedFile,
    open_count: usize,
}

/// Errors as the kernel gives them, so that callers see the kinds that they would see in production.
pub(super) fn io_error() -> io::Error {
    io::Error::from_raw_os_error(5) // EIO
}

fn no_space() -> io::Error {
    io::Error::from_raw_os_error(28) // ENOSPC
}

pub(super) fn not_writable() -> io::Error {
    io::Error::from_raw_os_error(9) // EBADF
}

impl DiskState {
    pub(super) fn new(node: u32, random: SeededRandom, trace: Trace) -> Self {
        Self {
            random,
            plan: FaultPlan::default(),
            stats: FaultStats::default(),
            incarnation: 0,
            node,
            trace,
            names: Names::default(),
            files: BTreeMap::new(),
            last_inode: 0,
            used_bytes: 0,
            locks: BTreeSet::new(),
        }
    }

    pub(super) fn event(&self, what: &'static str, path: &Arc<str>, numbers: [u64; 2]) {
        self.trace.event(self.node, what, path, numbers);
    }

    /// Whether a fault strikes a path, by its rate and the plan's restriction.
    pub(super) fn strikes(&mut self, rate: fn(&FaultPlan) -> Rate, path: &str) -> bool {
        let parts = rate(&self.plan).parts_per_million();
        let is_candidate = self.plan.only_paths_with.as_ref().is_none_or(|part| path.contains(part.as_str()));
        0 < parts && is_candidate && self.random.happens(parts)
    }

    pub(super) fn fail_name(&mut self, path: &Arc<str>) -> io::Result<()> {
        if self.strikes(|plan| plan.name_errors, path) {
            self.stats.name_errors += 1;
            self.event("name error", path, [0, 0]);
            return Err(io_error());
        }
        Ok(())
    }

    // Files.

    pub(super) fn open(&mut self, path: &Path, mode: OpenMode) -> io::Result<Inode> {
        let place = self.names.place(path)?;
        let inode = match (self.names.at(&place), mode) {
            (Some(target), _) if target.is_directory => return Err(ErrorKind::IsADirectory.into()),
            (Some(_), OpenMode::CreateNew) => return Err(ErrorKind::AlreadyExists.into()),
            (Some(target), OpenMode::CreateOrTruncate) => {
                self.set_len(target.inode, 0);
                target.inode
            }
            (Some(target), OpenMode::Read | OpenMode::ReadWrite | OpenMode::CreateOrOpen) => target.inode,
            (None, OpenMode::Read | OpenMode::ReadWrite) => return Err(ErrorKind::NotFound.into()),
            (None, OpenMode::CreateNew | OpenMode::CreateOrOpen | OpenMode::CreateOrTruncate) => self.create(&place),
        };
        self.files.entry(inode).or_default().open_count += 1;
        Ok(inode)
    }

    fn create(&mut self, place: &Place) -> Inode {
        self.last_inode += 1;
        self.files.insert(self.last_inode, StoredFile::default());
        self.names.bind(place, Some(Target { inode: self.last_inode, is_directory: false }));
        self.last_inode
    }

    pub(super) fn close(&mut self, inode: Inode) {
        if let Some(file) = self.files.get_mut(&inode) {
            file.open_count = file.open_count.saturating_sub(1);
            self.forget_if_unused(inode);
        }
    }

    pub(super) fn read(&self, inode: Inode, offset: u64, buf: &mut [u8]) -> usize {
        self.files.get(&inode).map_or(0, |file| file.content.read(offset, buf))
    }

    /// Writes what fits.
    ///
    /// # Errors
    /// ENOSPC after the prefix that had room.
    pub(super) fn write(&mut self, inode: Inode, offset: u64, data: &[u8]) -> io::Result<()> {
        let len = self.len(inode);
        let growth = (offset + data.len() as u64).saturating_sub(len);
        let missing = growth.saturating_sub(self.free_bytes());
        let fitting = usize::try_from((data.len() as u64).saturating_sub(missing)).unwrap_or(data.len());
        if let Some(file) = self.files.get_mut(&inode) {
            if 0 < fitting {
                file.content.write(offset, &data[..fitting]);
            }
            self.used_bytes += file.content.len() - len;
        }
        if fitting < data.len() {
            self.stats.out_of_space += 1;
            return Err(no_space());
        }
        Ok(())
    }

    pub(super) fn set_len(&mut self, inode: Inode, len: u64) {
        if let Some(file) = self.files.get_mut(&inode) {
            self.used_bytes = self.used_bytes - file.content.len() + len;
            file.content.set_len(len);
        }
    }

    /// # Errors
    /// ENOSPC, without effect.
    pub(super) fn allocate(&mut self, inode: Inode, len: u64) -> io::Result<()> {
        let growth = len.saturating_sub(self.len(inode));
        if self.free_bytes() < growth {
            self.stats.out_of_space += 1;
            return Err(no_space());
        }
        if 0 < growth {
            self.set_len(inode, len);
        }
        Ok(())
    }

    pub(super) fn len(&self, inode: Inode) -> u64 {
        self.files.get(&inode).map_or(0, |file| file.content.len())
    }

    pub(super) fn sync(&mut self, inode: Inode, path: &Arc<str>) -> io::Result<()> {
        let is_failing = self.strikes(|plan| plan.sync_errors, path);
        let Some(file) = self.files.get_mut(&inode) else { return Ok(()) };
        if is_failing {
            file.content.fail_sync(&mut self.random);
            self.stats.sync_errors += 1;
            self.event("sync error", path, [0, 0]);
            return Err(io_error());
        }
        file.content.sync();
        Ok(())
    }

    pub(super) fn flip_bit(&mut self, path: &Path, offset: u64, bit: u32) -> io::Result<bool> {
        let target = self.names.lookup(path)?.ok_or(ErrorKind::NotFound)?;
        Ok(self.files.get_mut(&target.inode).is_some_and(|file| file.content.flip_bit(offset, bit)))
    }

    // Names.

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let (is_into_itself, is_onto_ancestor) = (to.starts_with(from), from.starts_with(to));
        let (from, to) = (self.names.place(from)?, self.names.place(to)?);
        let moved = self.names.at(&from).ok_or(ErrorKind::NotFound)?;
        if from != to && is_into_itself {
            return Err(ErrorKind::InvalidInput.into());
        }
        if from != to && is_onto_ancestor {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        let replaced = self.names.at(&to).filter(|replaced| replaced.inode != moved.inode);
        if let Some(replaced) = replaced {
            match (moved.is_directory, replaced.is_directory) {
                (false, true) => return Err(ErrorKind::IsADirectory.into()),
                (true, false) => return Err(ErrorKind::NotADirectory.into()),
                (true, true) if self.names.entries(replaced.inode).next().is_some() => {
                    return Err(ErrorKind::DirectoryNotEmpty.into());
                }
                (true, true) | (false, false) => {}
            }
        } else if self.names.at(&to).is_some() {
            return Ok(()); // Two names of one file: POSIX says to do nothing.
        }
        self.names.rename(&from, &to);
        if let Some(replaced) = replaced {
            self.forget_if_unused(replaced.inode);
        }
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        let place = self.names.place(path)?;
        let target = self.names.at(&place).ok_or(ErrorKind::NotFound)?;
        if target.is_directory {
            return Err(ErrorKind::IsADirectory.into());
        }
        self.names.bind(&place, None);
        self.forget_if_unused(target.inode);
        Ok(())
    }

    pub(super) fn remove_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let place = self.names.place(path)?;
        let target = self.names.at(&place).ok_or(ErrorKind::NotFound)?;
        if !target.is_directory {
            return Err(ErrorKind::NotADirectory.into());
        }
        self.empty_directory(target.inode);
        self.names.bind(&place, None);
        Ok(())
    }

    fn empty_directory(&mut self, directory: Inode) {
        let entries: Vec<(String, Target)> =
            self.names.entries(directory).map(|(name, target)| (name.clone(), *target)).collect();
        for (name, target) in entries {
            if target.is_directory {
                self.empty_directory(target.inode);
            }
            self.names.bind(&Place { directory, name }, None);
            self.forget_if_unused(target.inode);
        }
    }

    pub(super) fn hard_link(&mut self, original: &Path, link: &Path) -> io::Result<()> {
        let target = self.names.lookup(original)?.ok_or(ErrorKind::NotFound)?;
        let place = self.names.place(link)?;
        if self.names.at(&place).is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if target.is_directory {
            return Err(ErrorKind::PermissionDenied.into());
        }
        self.names.bind(&place, Some(target));
        Ok(())
    }

    pub(super) fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let ancestors: Vec<&Path> = path.ancestors().filter(|path| path.file_name().is_some()).collect();
        for ancestor in ancestors.into_iter().rev() {
            let place = self.names.place(ancestor)?;
            match self.names.at(&place) {
                Some(target) if target.is_directory => {}
                Some(_) if ancestor == path => return Err(ErrorKind::AlreadyExists.into()),
                Some(_) => return Err(ErrorKind::NotADirectory.into()),
                None => {
                    self.last_inode += 1;
                    self.names.bind(&place, Some(Target { inode: self.last_inode, is_directory: true }));
                }
            }
        }
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let directory = self.directory(path)?;
        self.names.sync(directory);
        self.forget_unreachable();
        Ok(())
    }

    /// Everything named so far is durable.
    pub(super) fn sync_all_names(&mut self) {
        self.names.sync_all();
    }

    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let directory = self.directory(path)?;
        let describe = |(name, target): (&String, &Target)| {
            let kind = if target.is_directory { EntryKind::Directory } else { EntryKind::File };
            DirEntry { name: name.clone(), kind, bytes: if target.is_directory { 0 } else { self.len(target.inode) } }
        };
        Ok(self.names.entries(directory).map(describe).collect())
    }

    pub(super) fn file_len(&self, path: &Path) -> io::Result<Option<u64>> {
        match self.names.lookup(path) {
            Ok(target) => Ok(target.filter(|target| !target.is_directory).map(|target| self.len(target.inode))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn space(&self) -> Space {
        Space { total_bytes: self.capacity_bytes(), free_bytes: self.free_bytes() }
    }

    pub(super) fn lock_file(&mut self, path: &Path) -> io::Result<Inode> {
        let inode = self.open(path, OpenMode::CreateOrOpen)?;
        if self.locks.insert(inode) {
            return Ok(inode);
        }
        self.close(inode);
        Err(ErrorKind::WouldBlock.into())
    }

    pub(super) fn unlock(&mut self, inode: Inode) {
        self.locks.remove(&inode);
        self.close(inode);
    }

    fn directory(&self, path: &Path) -> io::Result<Inode> {
        let target = self.names.lookup(path)?.ok_or(ErrorKind::NotFound)?;
        if target.is_directory { Ok(target.inode) } else { Err(ErrorKind::NotADirectory.into()) }
    }

    // Ends.

    /// The process dies: its handles, locks and operations under way are void; what it wrote is in the kernel.
    pub(super) fn kill(&mut self) {
        self.incarnation += 1;
        self.stats.kills += 1;
        self.locks.clear();
        let files: Vec<Inode> = self.files.keys().copied().collect();
        for inode in files {
            if let Some(file) = self.files.get_mut(&inode) {
                file.open_count = 0;
            }
            self.forget_if_unused(inode);
        }
    }

    /// The machine dies: only the device remains, and of unsynced changes what chance had written back.
    pub(super) fn power_cut(&mut self) {
        self.kill();
        self.stats.power_cuts += 1;
        self.names.power_cut(&mut self.random, &mut self.stats);
        let policy = CutPolicy::draw(&mut self.random);
        for file in self.files.values_mut() {
            file.content.power_cut(policy, &mut self.random, &mut self.stats);
        }
        self.forget_unreachable();
        self.used_bytes = self.files.values().map(|file| file.content.len()).sum();
    }

    fn capacity_bytes(&self) -> u64 {
        self.plan.capacity_bytes.unwrap_or(DEFAULT_CAPACITY_BYTES)
    }

    fn free_bytes(&self) -> u64 {
        self.capacity_bytes().saturating_sub(self.used_bytes)
    }

    /// Frees the space of a file that has neither name nor handle. Its bytes stay while a power cut could still bring
    /// a name back.
    fn forget_if_unused(&mut self, inode: Inode) {
        let Some(file) = self.files.get(&inode) else { return };
        if file.open_count == 0 && self.names.link_count(inode) == 0 {
            self.used_bytes = self.used_bytes.saturating_sub(file.content.len());
            if !self.names.reachable().contains(&inode) {
                self.files.remove(&inode);
            }
        }
    }

    fn forget_unreachable(&mut self) {
        let reachable = self.names.reachable();
        self.files.retain(|inode, file| 0 < file.open_count || reachable.contains(inode));
        self.names.retain(&reachable);
    }
}
