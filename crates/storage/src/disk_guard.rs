//! Disk guard: refuses writes well before the disk is full, so that compaction and snapshot clearing keep the room that
//! they need to make room again.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use helenus_env::Env;
use tracing::{info, warn};

use crate::error::StorageError;

/// A disk that takes 500 MB/s fills the default reserve of 512 MiB in one second.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Writes go on once this much more than the reserve is free, so that the guard does not flap: an eighth.
const RESUME_PART: u64 = 8;

pub(crate) struct DiskGuard {
    env: Env,
    directories: Vec<PathBuf>,
    reserve_bytes: u64,
    /// The smallest free space seen at the last look.
    free_bytes: Cell<u64>,
    is_refusing: Cell<bool>,
    pub refused_count: Cell<u64>,
}

impl DiskGuard {
    pub fn new(env: &Env, directories: Vec<PathBuf>, reserve_bytes: u64) -> Self {
        Self {
            env: env.clone(),
            directories,
            reserve_bytes,
            free_bytes: Cell::new(u64::MAX),
            is_refusing: Cell::new(false),
            refused_count: Cell::new(0),
        }
    }

    /// # Errors
    /// [`StorageError::DiskReserve`].
    pub fn check(&self) -> Result<(), StorageError> {
        if !self.is_refusing.get() {
            return Ok(());
        }
        self.refused_count.set(self.refused_count.get() + 1);
        Err(StorageError::DiskReserve { free_bytes: self.free_bytes.get(), reserve_bytes: self.reserve_bytes })
    }

    /// Looks at the file systems. A disk that does not answer is left to whoever writes to it.
    pub async fn look(&self) {
        let mut free_bytes = u64::MAX;
        for directory in &self.directories {
            if let Ok(space) = self.env.disk().space(directory).await {
                free_bytes = free_bytes.min(space.free_bytes);
            }
        }
        self.free_bytes.set(free_bytes);
        let was_refusing = self.is_refusing.get();
        let resume_at = self.reserve_bytes + self.reserve_bytes / RESUME_PART;
        let refuses = if was_refusing { free_bytes < resume_at } else { free_bytes < self.reserve_bytes };
        self.is_refusing.set(refuses);
        match (was_refusing, refuses) {
            (false, true) => {
                let reserve_bytes = self.reserve_bytes;
                warn!(
                    free_bytes,
                    reserve_bytes, "the disk reserve is reached: writes are refused until space is freed"
                );
            }
            (true, false) => info!(free_bytes, "there is disk space again: writes are accepted"),
            (false, false) | (true, true) => {}
        }
    }

    /// Whether a new file of about `bytes` fits without eating into half of the reserve.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        bytes.saturating_add(self.reserve_bytes / 2) <= self.free_bytes.get()
    }

    pub async fn watch(&self) {
        loop {
            self.env.sleep(CHECK_INTERVAL).await;
            self.look().await;
        }
    }
}
