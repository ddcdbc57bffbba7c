//! Files and directories through the kernel. Everything that may wait for a device runs on the helper threads.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fsync, open, statvfs};

use crate::disk::{DirEntry, Disk, EntryKind, File, LocalBoxFuture, LockGuard, OpenMode, Space};
use crate::real::file::RealFile;
use crate::real::helper_pool::HelperPool;

/// Nothing for strangers: among the files are all data and the hashes of passwords. The group may read, for backups.
const FILE_MODE: Mode = Mode::from_raw_mode(0o640);
const DIRECTORY_MODE: u32 = 0o750;

pub(super) struct RealDisk {
    pool: HelperPool,
}

impl RealDisk {
    pub(super) fn new(pool: HelperPool) -> Self {
        Self { pool }
    }

    fn run<T, W>(&self, work: W) -> LocalBoxFuture<io::Result<T>>
    where
        T: Send + 'static,
        W: FnOnce() -> io::Result<T> + Send + 'static,
    {
        let pool = self.pool.clone();
        Box::pin(async move { pool.run(work).await })
    }

    fn run_on_path<T, W>(&self, path: &Path, work: W) -> LocalBoxFuture<io::Result<T>>
    where
        T: Send + 'static,
        W: FnOnce(PathBuf) -> io::Result<T> + Send + 'static,
    {
        let path = path.to_owned();
        self.run(move || work(path))
    }

    fn run_on_paths<T, W>(&self, from: &Path, to: &Path, work: W) -> LocalBoxFuture<io::Result<T>>
    where
        T: Send + 'static,
        W: FnOnce(PathBuf, PathBuf) -> io::Result<T> + Send + 'static,
    {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.run(move || work(from, to))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the disk that everybody else must go through")]
impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> LocalBoxFuture<io::Result<Arc<dyn File>>> {
        let pool = self.pool.clone();
        let path = path.to_owned();
        Box::pin(async move {
            let opened = pool.run(move || Ok(open(&path, open_flags(mode), FILE_MODE)?)).await?;
            let file: Arc<dyn File> = Arc::new(RealFile::new(opened, pool));
            Ok(file)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_paths(from, to, fs::rename)
    }

    fn remove_file(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_path(path, fs::remove_file)
    }

    fn remove_dir_all(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_path(path, fs::remove_dir_all)
    }

    fn hard_link(&self, original: &Path, link: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_paths(original, link, fs::hard_link)
    }

    fn create_dir_all(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_path(path, |path| DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path))
    }

    fn sync_dir(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.run_on_path(path, |path| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(fsync(open(&path, flags, Mode::empty())?)?)
        })
    }

    fn list(&self, path: &Path) -> LocalBoxFuture<io::Result<Vec<DirEntry>>> {
        self.run_on_path(path, |path| {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                entries.extend(describe(&entry?)?);
            }
            entries.sort_by(|left, right| left.name.cmp(&right.name));
            Ok(entries)
        })
    }

    fn file_len(&self, path: &Path) -> LocalBoxFuture<io::Result<Option<u64>>> {
        self.run_on_path(path, |path| match fs::metadata(path) {
            Ok(metadata) => Ok(metadata.is_file().then_some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn space(&self, path: &Path) -> LocalBoxFuture<io::Result<Space>> {
        self.run_on_path(path, |path| {
            let stat = statvfs(&path)?;
            let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
            Ok(Space { total_bytes: bytes(stat.f_blocks), free_bytes: bytes(stat.f_bavail) })
        })
    }

    fn lock_file(&self, path: &Path) -> LocalBoxFuture<io::Result<Box<dyn LockGuard>>> {
        self.run_on_path(path, |path| {
            let file = open(&path, open_flags(OpenMode::CreateOrOpen), FILE_MODE)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            let guard: Box<dyn LockGuard> = Box::new(Flock { _file: file });
            Ok(guard)
        })
    }
}

fn open_flags(mode: OpenMode) -> OFlags {
    let access = match mode {
        OpenMode::Read => OFlags::RDONLY,
        OpenMode::ReadWrite => OFlags::RDWR,
        OpenMode::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        OpenMode::CreateOrOpen => OFlags::RDWR | OFlags::CREATE,
        OpenMode::CreateOrTruncate => OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC,
    };
    access | OFlags::CLOEXEC
}

/// `None` when the entry was removed since it was listed.
fn describe(entry: &fs::DirEntry) -> io::Result<Option<DirEntry>> {
    let metadata = match entry.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let (kind, bytes) = if metadata.is_file() {
        (EntryKind::File, metadata.len())
    } else if metadata.is_dir() {
        (EntryKind::Directory, 0)
    } else {
        (EntryKind::Other, 0)
    };
    // Every name that we write is ASCII; a foreign one is shown as well as it can be.
    Ok(Some(DirEntry { name: entry.file_name().to_string_lossy().into_owned(), kind, bytes }))
}

/// Closing the file releases the lock.
struct Flock {
    _file: OwnedFd,
}

impl LockGuard for Flock {}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::real::{RealEnv, block_on};
    use crate::whole_file;

    fn with_directory(test: impl AsyncFnOnce(&dyn Disk, &Path)) {
        let env = RealEnv::start_default().unwrap();
        let directory = tempfile::tempdir().unwrap();
        block_on(test(&**env.disk(), directory.path()));
    }

    #[test]
    fn names_are_created_listed_linked_renamed_and_removed() {
        with_directory(async |disk, root| {
            let tables = root.join("ks/table");
            disk.create_dir_all(&tables).await.unwrap();
            disk.create_dir_all(&tables).await.unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode(&root.join("ks")) & 0o007, 0, "strangers do not even list it");
            let file = disk.open(&tables.join("b"), OpenMode::CreateNew).await.unwrap();
            file.write_now(0, b"12345").unwrap();
            disk.hard_link(&tables.join("b"), &tables.join("a")).await.unwrap();
            disk.rename(&tables.join("b"), &tables.join("c")).await.unwrap();
            disk.sync_dir(&tables).await.unwrap();
            let names: Vec<_> =
                disk.list(&tables).await.unwrap().into_iter().map(|entry| (entry.name, entry.bytes)).collect();
            assert_eq!(names, vec![("a".to_owned(), 5), ("c".to_owned(), 5)]);
            assert_eq!(disk.list(root).await.unwrap()[0].kind, EntryKind::Directory);
            assert_eq!(disk.file_len(&tables.join("a")).await.unwrap(), Some(5));
            assert_eq!(disk.file_len(&tables.join("b")).await.unwrap(), None);
            disk.remove_file(&tables.join("a")).await.unwrap();
            disk.remove_dir_all(&root.join("ks")).await.unwrap();
            assert_eq!(disk.remove_dir_all(&root.join("ks")).await.unwrap_err().kind(), io::ErrorKind::NotFound);
        });
    }

    #[test]
    fn every_mode_opens_what_it_says() {
        with_directory(async |disk, root| {
            let path = root.join("file");
            for mode in [OpenMode::Read, OpenMode::ReadWrite] {
                assert_eq!(disk.open(&path, mode).await.err().unwrap().kind(), io::ErrorKind::NotFound);
            }
            disk.open(&path, OpenMode::CreateNew).await.unwrap().write_now(0, b"kept").unwrap();
            assert_eq!(disk.open(&path, OpenMode::CreateNew).await.err().unwrap().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(disk.open(&path, OpenMode::CreateOrOpen).await.unwrap().len().unwrap(), 4);
            assert!(disk.open(&path, OpenMode::Read).await.unwrap().write_now(0, b"no").is_err());
            assert!(disk.open(&path, OpenMode::CreateOrTruncate).await.unwrap().is_empty().unwrap());
        });
    }

    #[test]
    fn a_lock_excludes_others_until_it_is_dropped() {
        with_directory(async |disk, root| {
            let path = root.join("lock");
            let guard = disk.lock_file(&path).await.unwrap();
            assert_eq!(disk.lock_file(&path).await.err().unwrap().kind(), io::ErrorKind::WouldBlock);
            drop(guard);
            disk.lock_file(&path).await.unwrap();
        });
    }

    #[test]
    fn a_replaced_file_has_the_new_content_and_leaves_no_other_name() {
        with_directory(async |disk, root| {
            let path = root.join("state");
            whole_file::replace(disk, &path, Bytes::from_static(b"first, longer")).await.unwrap();
            whole_file::replace(disk, &path, Bytes::from_static(b"second")).await.unwrap();
            assert_eq!(whole_file::read(disk, &path).await.unwrap(), b"second"[..]);
            assert_eq!(disk.list(root).await.unwrap().len(), 1);
        });
    }

    #[test]
    fn space_is_some_and_no_more_free_than_there_is() {
        with_directory(async |disk, root| {
            let space = disk.space(root).await.unwrap();
            assert!(0 < space.free_bytes && space.free_bytes <= space.total_bytes);
        });
    }
}
