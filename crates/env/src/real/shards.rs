//! One thread per shard, each with an executor of its own.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::Builder;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::runtime::{self, LocalOptions, LocalRuntime};
use tokio::sync::oneshot;
use tracing::{error, warn};

use crate::shards::{ShardContext, ShardEnd, ShardExecutor, ShardMain};

/// Name resolution is all that still runs on tokio's own blocking threads.
const TOKIO_BLOCKING_THREADS_MAX: usize = 4;

pub(super) struct ThreadPerShard;

impl ShardExecutor for ThreadPerShard {
    fn start(
        &self,
        thread_name: String,
        pin: bool,
        context: ShardContext,
        main: ShardMain,
        on_end: oneshot::Sender<ShardEnd>,
    ) -> io::Result<()> {
        let core = if pin { Some(core_for(context.shard.index())?) } else { None };
        let runtime_made_there = move || run_shard(core, context, main, on_end);
        Builder::new().name(thread_name).spawn(runtime_made_there)?;
        Ok(())
    }
}

fn run_shard(core: Option<usize>, context: ShardContext, main: ShardMain, on_end: oneshot::Sender<ShardEnd>) {
    let shard = context.shard;
    if let Some(core) = core {
        pin_to(core);
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let runtime = local_runtime().expect("an executor needs three file descriptors");
        runtime.block_on(async move { main(context).await });
        // The runtime is dropped here, and every task with it, before the end is reported.
    }));
    let end = match outcome {
        Ok(()) => ShardEnd::Finished,
        Err(panic) => ShardEnd::from_panic(&*panic),
    };
    if let ShardEnd::Panicked { message } = &end {
        error!(%shard, message, "a shard panicked");
    }
    // Nobody waits any more: then nobody wants to know.
    let _ = on_end.send(end);
}

pub(super) fn local_runtime() -> io::Result<LocalRuntime> {
    runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(TOKIO_BLOCKING_THREADS_MAX)
        .build_local(LocalOptions::default())
}

/// The shard's core among those that this process may use; with more shards than cores, cores are shared.
fn core_for(shard_index: usize) -> io::Result<usize> {
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    cores.get(shard_index % cores.len().max(1)).copied().ok_or_else(|| io::Error::other("no core is allowed"))
}

fn pin_to(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    // A shard that wanders is slower, not wrong; containers may forbid the call.
    if let Err(error) = sched_setaffinity(None, &set) {
        warn!(core, %error, "a shard could not be pinned to its core");
    }
}
