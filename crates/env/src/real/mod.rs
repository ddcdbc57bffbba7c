//! The environment of a real process: the kernel's clocks and random numbers, files, threads.

mod clock;
mod disk;
mod file;
mod helper_pool;
mod randomness;
mod shards;

use std::future::Future;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::environment::{Env, EnvParts};
use crate::real::clock::RealClock;
use crate::real::disk::RealDisk;
use crate::real::helper_pool::HelperPool;
use crate::real::randomness::RealRandomness;
use crate::real::shards::ThreadPerShard;

/// How many helper threads a node keeps. They sleep when there is nothing to do.
#[derive(Clone, Debug)]
pub struct RealConfig {
    /// Threads for reads that miss the page cache, syncs and directory operations: the device's queue depth.
    pub io_threads: NonZeroUsize,
    /// Threads for [`Env::run_blocking`].
    pub work_threads: NonZeroUsize,
}

impl Default for RealConfig {
    fn default() -> Self {
        let threads = |count| NonZeroUsize::new(count).expect("the literals below are above zero");
        Self { io_threads: threads(16), work_threads: threads(2) }
    }
}

/// Builds the environment of a real process.
pub struct RealEnv;

impl RealEnv {
    /// # Errors
    /// When a helper thread cannot be started.
    pub fn start(config: &RealConfig) -> io::Result<Env> {
        Ok(Env::new(Self::parts(config)?))
    }

    /// # Errors
    /// As [`RealEnv::start`].
    pub fn start_default() -> io::Result<Env> {
        Self::start(&RealConfig::default())
    }

    /// The parts one by one, for an environment in which some of them are replaced.
    ///
    /// # Errors
    /// As [`RealEnv::start`].
    pub fn parts(config: &RealConfig) -> io::Result<EnvParts> {
        let io_pool = HelperPool::start("helenus-io", config.io_threads)?;
        let work_pool = HelperPool::start("helenus-work", config.work_threads)?;
        Ok(EnvParts {
            clock: Arc::new(RealClock::start()),
            randomness: Arc::new(RealRandomness::default()),
            disk: Arc::new(RealDisk::new(io_pool)),
            helpers: Arc::new(work_pool),
            executor: Arc::new(ThreadPerShard),
        })
    }
}

/// Runs a future, and the tasks that it spawns, on the calling thread: for tools, tests and a node's main thread.
///
/// # Panics
/// When the executor cannot be built, which takes a process without free file descriptors.
pub fn block_on<F: Future>(future: F) -> F::Output {
    shards::local_runtime().expect("an executor needs three file descriptors").block_on(future)
}
