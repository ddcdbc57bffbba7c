//! The names on a disk, on two levels: directories as the kernel sees them, and as they stand on the device.
//!
//! A change (creation, link, rename, removal) is pending until a directory that it touches is synced. A power cut
//! keeps any subset of the pending changes in which a later change of a name implies the earlier ones: more than any
//! single file system permits, and no more than POSIX does. In particular, syncing a file does not make its name
//! durable. A rename is one change: it happens on both sides or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

use crate::faults::FaultStats;
use crate::random::SeededRandom;

/// Number of a file or directory, never used again.
pub(super) type Inode = u64;

pub(super) const ROOT: Inode = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) inode: Inode,
    pub(super) is_directory: bool,
}

type Directories = BTreeMap<Inode, BTreeMap<String, Target>>; // An absent directory is an empty one.

/// A name in a directory, and what it stands for from now on.
#[derive(Clone, Debug)]
struct Rebinding {
    directory: Inode,
    name: String,
    target: Option<Target>,
}

type Change = Vec<Rebinding>; // Happens as a whole.

/// A path whose parent exists: the directory and the last name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) directory: Inode,
    pub(super) name: String,
}

#[derive(Default)]
pub(super) struct Names {
    kernel: Directories,
    device: Directories,
    pending: Vec<Change>,
}

impl Names {
    /// # Errors
    /// `NotFound` or `NotADirectory` for the parent, `InvalidInput` for paths with `..` or without a name.
    pub(super) fn place(&self, path: &Path) -> io::Result<Place> {
        let mut names = components(path)?;
        let name = names.pop().ok_or(ErrorKind::InvalidInput)?;
        let mut directory = ROOT;
        for parent in names {
            let target = self.child(directory, &parent).ok_or(ErrorKind::NotFound)?;
            if !target.is_directory {
                return Err(ErrorKind::NotADirectory.into());
            }
            directory = target.inode;
        }
        Ok(Place { directory, name })
    }

    /// # Errors
    /// As [`Names::place`].
    pub(super) fn lookup(&self, path: &Path) -> io::Result<Option<Target>> {
        if components(path)?.is_empty() {
            return Ok(Some(Target { inode: ROOT, is_directory: true }));
        }
        let place = self.place(path)?;
        Ok(self.child(place.directory, &place.name))
    }

    pub(super) fn at(&self, place: &Place) -> Option<Target> {
        self.child(place.directory, &place.name)
    }

    fn child(&self, directory: Inode, name: &str) -> Option<Target> {
        self.kernel.get(&directory)?.get(name).copied()
    }

    /// The entries of a directory in order of their names.
    pub(super) fn entries(&self, directory: Inode) -> impl Iterator<Item = (&String, &Target)> {
        self.kernel.get(&directory).into_iter().flatten()
    }

    pub(super) fn bind(&mut self, place: &Place, target: Option<Target>) {
        self.change(vec![rebinding(place, target)]);
    }

    /// Atomic; what `to` stood for loses that name.
    pub(super) fn rename(&mut self, from: &Place, to: &Place) {
        let target = self.at(from);
        if from != to {
            self.change(vec![rebinding(from, None), rebinding(to, target)]);
        }
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.kernel, &change);
        self.pending.push(change);
    }

    /// Makes a directory's changes durable, and the earlier ones that they build upon.
    pub(super) fn sync(&mut self, directory: Inode) {
        let pending = std::mem::take(&mut self.pending);
        let wanted: Vec<bool> =
            pending.iter().map(|change| change.iter().any(|rebinding| rebinding.directory == directory)).collect();
        let kept = close_over_earlier(&pending, wanted);
        for (change, is_kept) in pending.into_iter().zip(kept) {
            if is_kept {
                apply(&mut self.device, &change);
            } else {
                self.pending.push(change);
            }
        }
    }

    /// Everything is durable: for the state from which a scenario starts.
    pub(super) fn sync_all(&mut self) {
        self.pending.clear();
        self.device = self.kernel.clone();
    }

    pub(super) fn power_cut(&mut self, random: &mut SeededRandom, stats: &mut FaultStats) {
        let pending = std::mem::take(&mut self.pending);
        let wanted: Vec<bool> = match random.within(0..100) {
            0..25 => vec![false; pending.len()],
            25..40 => vec![true; pending.len()],
            40..60 => {
                let journalled = random.index(pending.len() + 1); // A file system with a journal keeps a prefix.
                (0..pending.len()).map(|index| index < journalled).collect()
            }
            _ => pending.iter().map(|_| random.happens(500_000)).collect(),
        };
        for (change, is_kept) in pending.iter().zip(close_over_earlier(&pending, wanted)) {
            if is_kept {
                apply(&mut self.device, change);
            } else {
                stats.names_lost += 1;
            }
        }
        self.kernel = self.device.clone();
    }

    /// What any level can still reach by a name.
    pub(super) fn reachable(&self) -> BTreeSet<Inode> {
        let mut reached = BTreeSet::from([ROOT]);
        let pending = self.pending.iter().flatten().filter_map(|rebinding| rebinding.target);
        let mut open: Vec<Inode> = pending.map(|target| target.inode).chain([ROOT]).collect();
        while let Some(inode) = open.pop() {
            reached.insert(inode);
            for level in [&self.kernel, &self.device] {
                let children = level.get(&inode).into_iter().flat_map(BTreeMap::values);
                open.extend(children.map(|target| target.inode).filter(|inode| !reached.contains(inode)));
            }
        }
        reached
    }

    /// How many names a file has for the kernel.
    pub(super) fn link_count(&self, inode: Inode) -> usize {
        self.kernel.values().flat_map(BTreeMap::values).filter(|target| target.inode == inode).count()
    }

    /// Forgets directories that nothing reaches.
    pub(super) fn retain(&mut self, reachable: &BTreeSet<Inode>) {
        for level in [&mut self.kernel, &mut self.device] {
            level.retain(|directory, _| reachable.contains(directory));
        }
    }
}

fn rebinding(place: &Place, target: Option<Target>) -> Rebinding {
    Rebinding { directory: place.directory, name: place.name.clone(), target }
}

fn apply(directories: &mut Directories, change: &Change) {
    for Rebinding { directory, name, target } in change {
        let entries = directories.entry(*directory).or_default();
        match target {
            Some(target) => drop(entries.insert(name.clone(), *target)),
            None => drop(entries.remove(name)),
        }
    }
}

/// Marks, for every wanted change, the earlier ones of the same names too.
fn close_over_earlier(changes: &[Change], mut wanted: Vec<bool>) -> Vec<bool> {
    let mut names = BTreeSet::new();
    for (change, is_wanted) in changes.iter().zip(&mut wanted).rev() {
        let touched = || change.iter().map(|rebinding| (rebinding.directory, &rebinding.name));
        *is_wanted |= touched().any(|name| names.contains(&name));
        if *is_wanted {
            names.extend(touched());
        }
    }
    wanted
}

fn components(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => {
                names.push(name.to_str().ok_or(ErrorKind::InvalidInput)?.to_owned());
            }
            Component::ParentDir | Component::Prefix(_) => return Err(ErrorKind::InvalidInput.into()),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: Inode) -> Option<Target> {
        Some(Target { inode, is_directory: false })
    }

    fn place(name: &str) -> Place {
        Place { directory: ROOT, name: name.to_owned() }
    }

    fn names(names: &Names) -> Vec<String> {
        names.entries(ROOT).map(|(name, _)| name.clone()).collect()
    }

    #[test]
    fn synced_names_survive_every_power_cut() {
        for seed in 0..100 {
            let mut disk = Names::default();
            disk.bind(&place("a"), file(1));
            disk.rename(&place("a"), &place("b"));
            disk.sync(ROOT);
            disk.bind(&place("c"), file(2));
            disk.power_cut(&mut SeededRandom::new(seed), &mut FaultStats::default());
            assert!(names(&disk) == ["b"] || names(&disk) == ["b", "c"]);
        }
    }

    #[test]
    fn a_rename_happens_on_both_sides_or_not_at_all() {
        let mut outcomes = BTreeSet::new();
        for seed in 0..100 {
            let mut disk = Names::default();
            disk.bind(&place("tmp"), file(1));
            disk.bind(&place("current"), file(2));
            disk.sync(ROOT);
            disk.rename(&place("tmp"), &place("current"));
            disk.power_cut(&mut SeededRandom::new(seed), &mut FaultStats::default());
            let current = disk.at(&place("current")).map(|target| target.inode);
            outcomes.insert((disk.at(&place("tmp")).is_some(), current));
        }
        assert_eq!(outcomes, BTreeSet::from([(true, Some(2)), (false, Some(1))]));
    }

    #[test]
    fn a_later_change_of_a_name_implies_the_earlier_ones() {
        for seed in 0..100 {
            let mut disk = Names::default();
            disk.bind(&place("a"), file(1));
            disk.sync(ROOT);
            disk.bind(&place("a"), None);
            disk.bind(&place("a"), file(2));
            disk.bind(&place("a"), None);
            disk.power_cut(&mut SeededRandom::new(seed), &mut FaultStats::default());
            disk.power_cut(&mut SeededRandom::new(seed), &mut FaultStats::default());
            assert!(disk.pending.is_empty());
        }
        let mut disk = Names::default();
        let other = Place { directory: 7, name: "x".to_owned() };
        disk.bind(&other, file(1));
        disk.bind(&other, None);
        disk.bind(&place("b"), file(3));
        disk.rename(&place("b"), &other);
        disk.sync(ROOT); // The rename drags the earlier changes of its other side with it.
        assert!(disk.pending.is_empty());
        assert_eq!(disk.device[&7]["x"].inode, 3);
    }
}
