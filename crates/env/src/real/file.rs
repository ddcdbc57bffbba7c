//! An open file. What the page cache can serve is done on the shard, everything else on the helper threads.
//!
//! Reading from the page cache on the spot costs some 3 µs for 16 KiB; a trip to a helper thread and back ten times
//! that. `RWF_NOWAIT` makes the difference between both cases visible.

use std::io::{self, IoSliceMut};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use rustix::fs::{FallocateFlags, fallocate, fdatasync, fstat, ftruncate};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2, pwrite};
use tokio::task::consume_budget;

use crate::disk::{File, LocalBoxFuture};
use crate::real::helper_pool::HelperPool;

/// Larger writes go to a helper thread: copying 256 KiB to the page cache takes some 50 µs of the shard.
const INLINE_WRITE_BYTES_MAX: usize = 256 << 10;

pub(super) struct RealFile {
    open: Arc<OpenFile>,
    pool: HelperPool,
}

struct OpenFile {
    descriptor: OwnedFd,
    is_nowait_unsupported: AtomicBool, // Some file systems answer EOPNOTSUPP to every RWF_NOWAIT.
    is_sync_failed: AtomicBool,        // Never cleared; see `crate::disk`.
}

impl RealFile {
    pub(super) fn new(descriptor: OwnedFd, pool: HelperPool) -> Self {
        let open = OpenFile {
            descriptor,
            is_nowait_unsupported: AtomicBool::new(false),
            is_sync_failed: AtomicBool::new(false),
        };
        Self { open: Arc::new(open), pool }
    }

    fn run<T, W>(&self, work: W) -> LocalBoxFuture<io::Result<T>>
    where
        T: Send + 'static,
        W: FnOnce(&OpenFile) -> io::Result<T> + Send + 'static,
    {
        let (open, pool) = (Arc::clone(&self.open), self.pool.clone());
        Box::pin(async move { pool.run(move || work(&open)).await })
    }
}

impl File for RealFile {
    fn try_read_at(&self, offset: u64, buf: &mut [u8]) -> Option<io::Result<usize>> {
        self.open.try_read_at(offset, buf)
    }

    fn read_at(&self, offset: u64, len: usize) -> LocalBoxFuture<io::Result<Bytes>> {
        let (open, pool) = (Arc::clone(&self.open), self.pool.clone());
        Box::pin(async move {
            consume_budget().await; // Or a scan of cached pages would never let others run.
            let mut buf = vec![0; len];
            match open.try_read_at(offset, &mut buf) {
                Some(Ok(read)) if read < len => Err(io::ErrorKind::UnexpectedEof.into()),
                Some(answer) => answer.map(|_| Bytes::from(buf)),
                None => pool.run(move || open.read_exact_at(offset, buf)).await,
            }
        })
    }

    fn write_at(&self, offset: u64, data: Bytes) -> LocalBoxFuture<io::Result<()>> {
        if INLINE_WRITE_BYTES_MAX < data.len() {
            return self.run(move |open| open.write_all_at(offset, &data));
        }
        let open = Arc::clone(&self.open);
        Box::pin(async move {
            consume_budget().await;
            open.write_all_at(offset, &data)
        })
    }

    fn write_now(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.open.write_all_at(offset, data)
    }

    fn sync(&self) -> LocalBoxFuture<io::Result<()>> {
        self.run(OpenFile::sync)
    }

    fn set_len(&self, len: u64) -> LocalBoxFuture<io::Result<()>> {
        self.run(move |open| {
            open.check_writable()?;
            Ok(ftruncate(&open.descriptor, len)?)
        })
    }

    fn allocate(&self, len: u64) -> LocalBoxFuture<io::Result<()>> {
        self.run(move |open| open.allocate(len))
    }

    fn len(&self) -> io::Result<u64> {
        self.open.len()
    }
}

impl OpenFile {
    fn try_read_at(&self, offset: u64, buf: &mut [u8]) -> Option<io::Result<usize>> {
        if self.is_nowait_unsupported.load(Ordering::Relaxed) {
            return None;
        }
        let mut read = 0;
        while let Some(rest) = buf.get_mut(read..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(read as u64);
            match preadv2(&self.descriptor, &mut [IoSliceMut::new(rest)], at, ReadWriteFlags::NOWAIT) {
                Ok(0) => break, // The end of the file; a page that is not cached is EAGAIN.
                Ok(more) => read += more,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return None,
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    self.is_nowait_unsupported.store(true, Ordering::Relaxed);
                    return None;
                }
                Err(error) => return Some(Err(error.into())),
            }
        }
        Some(Ok(read))
    }

    fn read_exact_at(&self, offset: u64, mut buf: Vec<u8>) -> io::Result<Bytes> {
        let mut read = 0;
        while let Some(rest) = buf.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match pread(&self.descriptor, rest, offset.saturating_add(read as u64)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => read += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Bytes::from(buf))
    }

    fn write_all_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        let mut written = 0;
        while let Some(rest) = data.get(written..).filter(|rest| !rest.is_empty()) {
            match pwrite(&self.descriptor, rest, offset.saturating_add(written as u64)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => written += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.check_writable()?;
        fdatasync(&self.descriptor).inspect_err(|_| self.is_sync_failed.store(true, Ordering::Release))?;
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        match fallocate(&self.descriptor, FallocateFlags::empty(), 0, len) {
            // No such operation on this file system: at least the length is then right.
            Err(Errno::OPNOTSUPP) if self.len()? < len => Ok(ftruncate(&self.descriptor, len)?),
            Err(Errno::OPNOTSUPP) => Ok(()),
            answer => Ok(answer?),
        }
    }

    fn len(&self) -> io::Result<u64> {
        let stat = fstat(&self.descriptor)?;
        u64::try_from(stat.st_size).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.is_sync_failed.load(Ordering::Acquire) {
            return Err(io::Error::other("an earlier sync of this file failed; what it holds is unknown"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::disk::OpenMode;
    use crate::real::{RealEnv, block_on};

    fn with_file(test: impl AsyncFnOnce(Arc<dyn File>)) {
        let env = RealEnv::start_default().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        block_on(async move {
            let file = env.disk().open(&path, OpenMode::CreateNew).await.unwrap();
            test(file).await;
        });
    }

    #[test]
    fn what_is_written_is_read_back_however_it_was_written() {
        with_file(async |file| {
            file.write_now(0, b"small").unwrap();
            file.write_at(5, Bytes::from_static(b" inline")).await.unwrap();
            let large = Bytes::from(vec![7; INLINE_WRITE_BYTES_MAX + 1]);
            file.write_at(12, large.clone()).await.unwrap();
            file.sync().await.unwrap();
            assert_eq!(file.read_at(0, 12).await.unwrap(), b"small inline"[..]);
            assert_eq!(file.read_at(12, large.len()).await.unwrap(), large);
            assert_eq!(file.len().unwrap(), 12 + large.len() as u64);
        });
    }

    #[test]
    fn reading_past_the_end_is_an_error_when_exactness_was_asked_for() {
        with_file(async |file| {
            file.write_now(0, b"abc").unwrap();
            let mut buf = [0; 8];
            if let Some(read) = file.try_read_at(1, &mut buf) {
                assert_eq!(read.unwrap(), 2);
                assert_eq!(&buf[..2], b"bc");
            }
            assert_eq!(file.read_at(1, 3).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            assert_eq!(file.read_at(3, 0).await.unwrap(), Bytes::new());
        });
    }

    #[test]
    fn allocation_extends_with_zeros_and_keeps_what_is_there() {
        with_file(async |file| {
            file.write_now(0, b"abc").unwrap();
            file.allocate(8_192).await.unwrap();
            assert_eq!(file.len().unwrap(), 8_192);
            file.allocate(100).await.unwrap();
            assert_eq!(file.len().unwrap(), 8_192);
            assert_eq!(file.read_at(0, 5).await.unwrap(), b"abc\0\0"[..]);
            file.set_len(2).await.unwrap();
            assert_eq!(file.len().unwrap(), 2);
        });
    }

    #[test]
    fn after_a_failed_sync_writes_and_syncs_are_refused_and_reads_are_not() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            // Takes writes and refuses to be synced (EINVAL), as a device does that is gone.
            let file = env.disk().open(Path::new("/dev/null"), OpenMode::ReadWrite).await.unwrap();
            file.write_now(0, b"x").unwrap();
            assert!(file.sync().await.is_err());
            assert!(file.write_now(0, b"x").is_err());
            assert!(file.write_at(0, Bytes::from_static(b"x")).await.is_err());
            assert!(file.sync().await.unwrap_err().to_string().contains("earlier sync"));
            assert!(file.read_at(0, 0).await.is_ok());
        });
    }
}
