//! The disk as the engine sees it: positional reads and writes, explicit syncs, and operations on directories.
//!
//! Three levels hold a written byte: the process (our own buffers), the kernel (page cache) and the device. A kill of
//! the process loses the first, a power cut the first two. `write_*` moves bytes to the kernel, `sync` to the device;
//! a created, renamed, linked or removed name reaches the device when its *directory* is synced.
//!
//! Invariants of every implementation
//! - Futures do nothing before their first poll. Once started, an operation owns its buffer and finishes even if the
//!   future is dropped: dropping means "I no longer want to know", never "undo".
//! - After a failed `sync` a handle refuses every later write and sync: the kernel may have dropped the dirty pages
//!   and would report success next time. Source: Rebello et al., "Can Applications Recover from fsync Failures?",
//!   USENIX ATC 2020.
//! - Listings are sorted by name, so nothing above depends on a directory's hash order.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

/// A future that stays on its shard.
pub type LocalBoxFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// How a file is opened. Everything but `Read` may write; all may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenMode {
    /// Must exist; writes are refused.
    Read,
    /// Must exist.
    ReadWrite,
    /// Must not exist: `AlreadyExists` otherwise.
    CreateNew,
    /// Created empty when missing, kept as it is when not.
    CreateOrOpen,
    /// Created when missing, emptied when not.
    CreateOrTruncate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    File,
    Directory,
    /// Symbolic links, sockets and the like: never ours.
    Other,
}

/// One name in a directory. `bytes` is a file's length and 0 for everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    pub name: String,
    pub kind: EntryKind,
    pub bytes: u64,
}

/// The file system that holds a path. `free_bytes` is what an unprivileged process may still use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub total_bytes: u64,
    pub free_bytes: u64,
}

/// An exclusive lock on a file, held until dropped; the system releases it when the process dies.
pub trait LockGuard: Send {}

/// Files and directories of one node.
pub trait Disk: Send + Sync {
    fn open(&self, path: &Path, mode: OpenMode) -> LocalBoxFuture<io::Result<Arc<dyn File>>>;

    /// Replaces `to` atomically when it exists. Durable once the directories of both names are synced.
    fn rename(&self, from: &Path, to: &Path) -> LocalBoxFuture<io::Result<()>>;

    fn remove_file(&self, path: &Path) -> LocalBoxFuture<io::Result<()>>;

    /// Removes a directory and everything in it. A missing one is `NotFound`.
    fn remove_dir_all(&self, path: &Path) -> LocalBoxFuture<io::Result<()>>;

    /// A second name for the same file, as snapshots use it.
    fn hard_link(&self, original: &Path, link: &Path) -> LocalBoxFuture<io::Result<()>>;

    /// Creates a directory and its missing parents; an existing one is fine. Durable once the parents are synced.
    fn create_dir_all(&self, path: &Path) -> LocalBoxFuture<io::Result<()>>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> LocalBoxFuture<io::Result<()>>;

    /// The entries of a directory in byte order of their names, without `.` and `..`.
    fn list(&self, path: &Path) -> LocalBoxFuture<io::Result<Vec<DirEntry>>>;

    /// The length of a file in bytes, `None` when there is no such file.
    fn file_len(&self, path: &Path) -> LocalBoxFuture<io::Result<Option<u64>>>;

    fn space(&self, path: &Path) -> LocalBoxFuture<io::Result<Space>>;

    /// Creates the file when missing and locks it.
    ///
    /// # Errors
    /// `WouldBlock` when another process, or another guard in this one, holds the lock.
    fn lock_file(&self, path: &Path) -> LocalBoxFuture<io::Result<Box<dyn LockGuard>>>;
}

/// An open file. Closed when the last reference goes; closing does not sync.
pub trait File: Send + Sync {
    /// Reads without waiting for the device, or answers `None` when that is not possible.
    ///
    /// `Some(Ok(n))` with `n < buf.len()` only at the end of the file. What `None` left in `buf` is undefined.
    fn try_read_at(&self, offset: u64, buf: &mut [u8]) -> Option<io::Result<usize>>;

    /// Exactly `len` bytes.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends before `offset + len`.
    fn read_at(&self, offset: u64, len: usize) -> LocalBoxFuture<io::Result<Bytes>>;

    /// All of `data`, into the kernel; extends the file when needed. Two writes in flight have no order.
    fn write_at(&self, offset: u64, data: Bytes) -> LocalBoxFuture<io::Result<()>>;

    /// As `write_at`, on the caller's thread: for small appends whose order matters (commit log).
    ///
    /// # Errors
    /// After an error any prefix of `data` may have been written.
    fn write_now(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Makes everything written before the call durable, and the length with it.
    fn sync(&self) -> LocalBoxFuture<io::Result<()>>;

    /// Cuts the file, or extends it with zeros.
    fn set_len(&self, len: u64) -> LocalBoxFuture<io::Result<()>>;

    /// Reserves room for `len` bytes from the start and extends the file with zeros to at least that length, so that
    /// later writes inside it neither run out of space nor change the length.
    fn allocate(&self, len: u64) -> LocalBoxFuture<io::Result<()>>;

    fn len(&self) -> io::Result<u64>;

    /// # Errors
    /// As [`File::len`].
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }
}
