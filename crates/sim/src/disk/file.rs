//! An open file on a simulated disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use helenus_env::{File, LocalBoxFuture};

use crate::disk::names::Inode;
use crate::disk::state::{DiskState, io_error, not_writable};
use crate::disk::{Pace, SimDisk};

pub(super) struct SimFile {
    open: Arc<OpenFile>,
}

struct OpenFile {
    disk: SimDisk,
    inode: Inode,
    path: Arc<str>,
    is_writable: bool,
    is_sync_failed: AtomicBool, // Never cleared; see `helenus_env::disk`.
}

impl SimFile {
    pub(super) fn new(disk: SimDisk, inode: Inode, path: Arc<str>, is_writable: bool) -> Self {
        let open = OpenFile { disk, inode, path, is_writable, is_sync_failed: AtomicBool::new(false) };
        Self { open: Arc::new(open) }
    }

    fn run<T, W>(&self, pace: Pace, effect: W) -> LocalBoxFuture<io::Result<T>>
    where
        T: Send + 'static,
        W: FnOnce(&OpenFile, &mut DiskState) -> io::Result<T> + Send + 'static,
    {
        // The operation keeps the file open, as the kernel does.
        let open = Arc::clone(&self.open);
        let answer = self.open.disk.run(pace, move |_, state| {
            let answer = effect(&open, state);
            Ok((answer, open)) // The last reference must not go while the state is locked.
        });
        Box::pin(async move { answer.await?.0 })
    }
}

impl File for SimFile {
    fn try_read_at(&self, offset: u64, buf: &mut [u8]) -> Option<io::Result<usize>> {
        let mut state = match self.open.disk.alive() {
            Ok(state) => state,
            Err(error) => return Some(Err(error)),
        };
        if state.strikes(|plan| plan.would_block, &self.open.path) {
            state.stats.would_block += 1;
            return None;
        }
        Some(self.open.read(&mut state, offset, buf))
    }

    fn read_at(&self, offset: u64, len: usize) -> LocalBoxFuture<io::Result<Bytes>> {
        self.run(Pace::Device, move |open, state| {
            let mut buf = vec![0; len];
            if open.read(state, offset, &mut buf)? < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(Bytes::from(buf))
        })
    }

    fn write_at(&self, offset: u64, data: Bytes) -> LocalBoxFuture<io::Result<()>> {
        self.run(Pace::Memory, move |open, state| open.write(state, offset, &data))
    }

    fn write_now(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.open.write(&mut *self.open.disk.alive()?, offset, data)
    }

    fn sync(&self) -> LocalBoxFuture<io::Result<()>> {
        self.run(Pace::Device, |open, state| {
            open.check_not_failed()?; // As on Linux, a file that is open for reading can be synced, too.
            state.event("sync", &open.path, [0, 0]);
            state.sync(open.inode, &open.path).inspect_err(|_| open.is_sync_failed.store(true, Ordering::Relaxed))
        })
    }

    fn set_len(&self, len: u64) -> LocalBoxFuture<io::Result<()>> {
        self.run(Pace::Memory, move |open, state| {
            open.check_writable()?;
            state.event("set length", &open.path, [len, 0]);
            state.set_len(open.inode, len);
            Ok(())
        })
    }

    fn allocate(&self, len: u64) -> LocalBoxFuture<io::Result<()>> {
        self.run(Pace::Memory, move |open, state| {
            open.check_writable()?;
            state.event("allocate", &open.path, [len, 0]);
            state.allocate(open.inode, len)
        })
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.open.disk.alive()?.len(self.open.inode))
    }
}

impl OpenFile {
    fn read(&self, state: &mut DiskState, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        state.event("read", &self.path, [offset, buf.len() as u64]);
        if state.strikes(|plan| plan.read_errors, &self.path) {
            state.stats.read_errors += 1;
            return Err(io_error());
        }
        let read = state.read(self.inode, offset, buf);
        if 0 < read && state.strikes(|plan| plan.read_bit_flips, &self.path) {
            state.stats.read_bit_flips += 1;
            let (byte, bit) = (state.random.index(read), state.random.within(0..8));
            buf[byte] ^= 1 << bit;
        }
        Ok(read)
    }

    fn write(&self, state: &mut DiskState, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        state.event("write", &self.path, [offset, data.len() as u64]);
        if state.strikes(|plan| plan.write_errors, &self.path) {
            state.stats.write_errors += 1;
            let written = state.random.index(data.len() + 1);
            state.write(self.inode, offset, &data[..written])?;
            return Err(io_error());
        }
        state.write(self.inode, offset, data)
    }

    fn check_writable(&self) -> io::Result<()> {
        if !self.is_writable {
            return Err(not_writable());
        }
        self.check_not_failed()
    }

    fn check_not_failed(&self) -> io::Result<()> {
        if self.is_sync_failed.load(Ordering::Relaxed) {
            return Err(io::Error::other("an earlier sync of this file failed; what it holds is unknown"));
        }
        Ok(())
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let Ok(mut state) = self.disk.alive() {
            state.close(self.inode);
        }
    }
}
