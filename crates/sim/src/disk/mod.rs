//! A disk in memory that may do everything a real one may, and does it when the seed says so.
//!
//! ```text
//! process   buffers of the code under test          lost by kill and power cut
//! kernel    `CachedFile::kernel`, `Names::kernel`   lost by power cut, in whole, in part or not at all
//! device    `CachedFile::device`, `Names::device`   stays
//! ```
//!
//! Invariants
//! - An operation takes effect at one moment between its start and its answer, drawn by the seed, on its own: a
//!   dropped future does not stop it, a kill may come before or after that moment.
//! - `write_now` takes effect at once; `try_read_at` answers `None` at times although it could answer.
//!
//! Role of the parts: `content` holds bytes, `cached_file` and `names` know what a power cut leaves, `state` applies
//! operations, `file` and this module are the futures around it.

mod cached_file;
mod content;
mod file;
mod names;
mod state;
#[cfg(test)]
mod suite;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use helenus_env::{DirEntry, Disk, File, LocalBoxFuture, LockGuard, OpenMode, Space};
use tokio::sync::oneshot;

use crate::disk::file::SimFile;
use crate::disk::names::Inode;
use crate::disk::state::DiskState;
use crate::faults::{FaultPlan, FaultStats};
use crate::random::SeededRandom;
use crate::trace::Trace;

/// A node's disk, as one life of its process sees it. Clones are the same handle.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<DiskState>>,
    incarnation: u64,
}

/// How an operation spends its time before and after its effect.
#[derive(Clone, Copy)]
enum Pace {
    /// Page cache and directories: mostly at once.
    Memory,
    /// Reads from the device and syncs: milliseconds, and sometimes far more.
    Device,
}

impl SimDisk {
    /// An empty disk. To be called inside the world's runtime.
    pub(crate) fn new(node: u32, random: SeededRandom, trace: Trace) -> Self {
        Self { state: Arc::new(Mutex::new(DiskState::new(node, random, trace))), incarnation: 0 }
    }

    /// Sets what goes wrong from now on.
    pub fn set_plan(&self, plan: FaultPlan) {
        self.lock().plan = plan;
    }

    pub fn stats(&self) -> FaultStats {
        self.lock().stats
    }

    /// Creates a directory that is durable from the start: the state in which an administrator hands a disk over.
    ///
    /// # Errors
    /// As [`Disk::create_dir_all`].
    pub fn prepare_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.create_dir_all(path)?;
        state.sync_all_names();
        Ok(())
    }

    /// Turns one bit of a file over, on the medium. False when the file ends before it.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u32) -> io::Result<bool> {
        self.lock().flip_bit(path, offset, bit)
    }

    /// The same disk for the next life of the process.
    pub(crate) fn reopened(&self) -> Self {
        Self { state: Arc::clone(&self.state), incarnation: self.lock().incarnation }
    }

    pub(crate) fn kill(&self) {
        self.lock().kill();
    }

    pub(crate) fn power_cut(&self) {
        self.lock().power_cut();
    }

    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless this handle belongs to a process that is dead.
    fn alive(&self) -> io::Result<MutexGuard<'_, DiskState>> {
        let state = self.lock();
        if state.incarnation == self.incarnation { Ok(state) } else { Err(io::Error::other("the process was killed")) }
    }

    /// Runs an operation as the device would: on its own, and its effect at one moment.
    fn run<T, W>(&self, pace: Pace, effect: W) -> LocalBoxFuture<io::Result<T>>
    where
        T: Send + 'static,
        W: FnOnce(&SimDisk, &mut DiskState) -> io::Result<T> + Send + 'static,
    {
        let disk = self.clone();
        Box::pin(async move {
            let (before, after) = {
                let random = &mut disk.alive()?.random;
                (draw_pause(pace, random), draw_pause(pace, random))
            };
            let (sender, receiver) = oneshot::channel();
            tokio::spawn(async move {
                pause(before).await;
                let Some(answer) = disk.alive().ok().map(|mut state| effect(&disk, &mut state)) else {
                    return; // Killed before the effect.
                };
                pause(after).await;
                drop(sender.send(answer)); // Whoever waited may be gone.
            });
            match receiver.await {
                Ok(answer) => answer,
                Err(_) => std::future::pending().await, // Killed: nobody is told anything any more.
            }
        })
    }

    fn run_on_name<T, W>(&self, what: &'static str, path: &Path, effect: W) -> LocalBoxFuture<io::Result<T>>
    where
        T: Send + 'static,
        W: FnOnce(&SimDisk, &mut DiskState, &Path) -> io::Result<T> + Send + 'static,
    {
        let path = path.to_owned();
        self.run(Pace::Memory, move |disk, state| {
            let shown = shown(&path);
            state.event(what, &shown, [0, 0]);
            state.fail_name(&shown)?;
            effect(disk, state, &path)
        })
    }

    fn run_on_names<W>(&self, what: &'static str, from: &Path, to: &Path, effect: W) -> LocalBoxFuture<io::Result<()>>
    where
        W: FnOnce(&mut DiskState, &Path, &Path) -> io::Result<()> + Send + 'static,
    {
        let to: PathBuf = to.to_owned();
        self.run_on_name(what, from, move |_, state, from| {
            state.event("  to", &shown(&to), [0, 0]);
            effect(state, from, &to)
        })
    }
}

/// A path as trace and fault plan know it.
fn shown(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}

fn draw_pause(pace: Pace, random: &mut SeededRandom) -> Duration {
    let micros = match (pace, random.within(0..100)) {
        (Pace::Memory, 0..90) => 0,
        (Pace::Memory, _) => random.within(0..3_000),
        (Pace::Device, 0..60) => random.within(0..1_000),
        (Pace::Device, 60..99) => random.within(1_000..10_000),
        (Pace::Device, _) => random.within(10_000..300_000), // Garbage collection in the device, a retry.
    };
    Duration::from_micros(micros)
}

/// No time at all still lets others go first.
async fn pause(duration: Duration) {
    if duration.is_zero() {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(duration).await;
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> LocalBoxFuture<io::Result<Arc<dyn File>>> {
        let path = path.to_owned();
        let opened = self.run_on_name("open", &path.clone(), move |disk, state, _| {
            let inode = state.open(&path, mode)?;
            Ok(SimFile::new(disk.clone(), inode, shown(&path), mode != OpenMode::Read))
        });
        Box::pin(async move {
            let file: Arc<dyn File> = Arc::new(opened.await?);
            Ok(file)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_names("rename", from, to, DiskState::rename)
    }

    fn remove_file(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_name("remove file", path, |_, state, path| state.remove_file(path))
    }

    fn remove_dir_all(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_name("remove directory", path, |_, state, path| state.remove_dir_all(path))
    }

    fn hard_link(&self, original: &Path, link: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_names("hard link", original, link, DiskState::hard_link)
    }

    fn create_dir_all(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_name("create directory", path, |_, state, path| state.create_dir_all(path))
    }

    fn sync_dir(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        let path = path.to_owned();
        self.run(Pace::Device, move |_, state| {
            let shown = shown(&path);
            state.event("sync directory", &shown, [0, 0]);
            state.fail_name(&shown)?;
            state.sync_dir(&path)
        })
    }

    fn list(&self, path: &Path) -> LocalBoxFuture<io::Result<Vec<DirEntry>>> {
        self.run_on_name("list", path, |_, state, path| state.list(path))
    }

    fn file_len(&self, path: &Path) -> LocalBoxFuture<io::Result<Option<u64>>> {
        self.run_on_name("file length", path, |_, state, path| state.file_len(path))
    }

    fn space(&self, path: &Path) -> LocalBoxFuture<io::Result<Space>> {
        self.run_on_name("space", path, |_, state, path| {
            state.file_len(path)?;
            Ok(state.space())
        })
    }

    fn lock_file(&self, path: &Path) -> LocalBoxFuture<io::Result<Box<dyn LockGuard>>> {
        self.run_on_name("lock", path, |disk, state, path| {
            let inode = state.lock_file(path)?;
            let guard: Box<dyn LockGuard> = Box::new(SimLock { disk: disk.clone(), inode });
            Ok(guard)
        })
    }
}

struct SimLock {
    disk: SimDisk,
    inode: Inode,
}

impl LockGuard for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        if let Ok(mut state) = self.disk.alive() {
            state.unlock(self.inode);
        }
    }
}
