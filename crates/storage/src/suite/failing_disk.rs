//! A disk that refuses what a test tells it to: operations by name on paths that contain a text, so many times.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helenus_env::real::{RealConfig, RealEnv};
use helenus_env::{DirEntry, Disk, Env, EnvParts, File, LocalBoxFuture, LockGuard, OpenMode, Space};

/// What to refuse: `operation` is a method's name of [`Disk`].
#[derive(Clone, Debug)]
pub struct Refusal {
    pub operation: &'static str,
    pub path_has: String,
    pub times: u32,
}

pub struct FailingDisk {
    inner: Arc<dyn Disk>,
    refusals: Mutex<Vec<Refusal>>,
}

impl FailingDisk {
    /// A real environment on such a disk.
    pub fn start() -> (Env, Arc<Self>) {
        let parts = RealEnv::parts(&RealConfig::default()).expect("helper threads start");
        let disk = Arc::new(Self { inner: Arc::clone(&parts.disk), refusals: Mutex::default() });
        (Env::new(EnvParts { disk: Arc::clone(&disk) as Arc<dyn Disk>, ..parts }), disk)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Refusal>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn refuse(&self, operation: &'static str, path_has: &str, times: u32) {
        self.lock().push(Refusal { operation, path_has: path_has.to_owned(), times });
    }

    /// Ends all refusals; answers how many were not met.
    pub fn heal(&self) -> u32 {
        std::mem::take(&mut *self.lock()).iter().map(|refusal| refusal.times).sum()
    }

    fn check(&self, operation: &str, path: &Path) -> io::Result<()> {
        let path = path.display().to_string();
        let mut refusals = self.lock();
        let meant = |refusal: &&mut Refusal| {
            refusal.operation == operation && 0 < refusal.times && path.contains(&refusal.path_has)
        };
        match refusals.iter_mut().find(meant) {
            None => Ok(()),
            Some(refusal) => {
                refusal.times -= 1;
                Err(io::Error::other(format!("the test refuses to {operation} {path}")))
            }
        }
    }

    fn guarded<T: 'static>(
        &self,
        operation: &'static str,
        path: &Path,
        run: impl FnOnce() -> LocalBoxFuture<io::Result<T>>,
    ) -> LocalBoxFuture<io::Result<T>> {
        match self.check(operation, path) {
            Ok(()) => run(),
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }
}

impl Disk for FailingDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> LocalBoxFuture<io::Result<Arc<dyn File>>> {
        self.guarded("open", path, || self.inner.open(path, mode))
    }

    fn rename(&self, from: &Path, to: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.guarded("rename", to, || self.inner.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.guarded("remove_file", path, || self.inner.remove_file(path))
    }

    fn remove_dir_all(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.guarded("remove_dir_all", path, || self.inner.remove_dir_all(path))
    }

    fn hard_link(&self, original: &Path, link: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.guarded("hard_link", original, || self.inner.hard_link(original, link))
    }

    fn create_dir_all(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.guarded("create_dir_all", path, || self.inner.create_dir_all(path))
    }

    fn sync_dir(&self, path: &Path) -> LocalBoxFuture<io::Result<()>> {
        self.guarded("sync_dir", path, || self.inner.sync_dir(path))
    }

    fn list(&self, path: &Path) -> LocalBoxFuture<io::Result<Vec<DirEntry>>> {
        self.guarded("list", path, || self.inner.list(path))
    }

    fn file_len(&self, path: &Path) -> LocalBoxFuture<io::Result<Option<u64>>> {
        self.guarded("file_len", path, || self.inner.file_len(path))
    }

    fn space(&self, path: &Path) -> LocalBoxFuture<io::Result<Space>> {
        self.guarded("space", path, || self.inner.space(path))
    }

    fn lock_file(&self, path: &Path) -> LocalBoxFuture<io::Result<Box<dyn LockGuard>>> {
        self.guarded("lock_file", path, || self.inner.lock_file(path))
    }
}
