//! A node: a disk and a clock that outlive the processes started on them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use helenus_env::{Env, EnvParts, ShardEnd};
use tokio::sync::oneshot;

use crate::clock::{ClockSkew, SimClock};
use crate::disk::SimDisk;
use crate::executor::{InPlace, ProcessTasks, SimExecutor, caught};
use crate::random::SimRandomness;
use crate::world::SimWorld;

/// Clones are the same node.
#[derive(Clone)]
pub struct SimNode {
    shared: Rc<Shared>,
}

struct Shared {
    world: SimWorld,
    number: u32,
    skew: ClockSkew,
    disk: SimDisk,
    process: RefCell<Option<ProcessTasks>>,
    starts: RefCell<u64>,
}

/// A running process's answer to come.
pub struct Process<T> {
    end: oneshot::Receiver<Result<T, ProcessEnd>>,
}

/// Why a process has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    Killed,
    Panicked { message: String },
}

impl<T> Process<T> {
    /// Waits until the process's main future ends. Its shards may run on.
    ///
    /// # Errors
    /// [`ProcessEnd`] when it was killed or panicked.
    pub async fn join(self) -> Result<T, ProcessEnd> {
        self.end.await.unwrap_or(Err(ProcessEnd::Killed))
    }
}

impl SimNode {
    pub(crate) fn new(world: SimWorld, number: u32, disk: SimDisk) -> Self {
        let (process, starts) = (RefCell::new(None), RefCell::new(0));
        Self { shared: Rc::new(Shared { world, number, skew: ClockSkew::default(), disk, process, starts }) }
    }

    pub fn number(&self) -> u32 {
        self.shared.number
    }

    /// Faults, statistics, damage. The running process has a handle of its own in its `Env`.
    pub fn disk(&self) -> &SimDisk {
        &self.shared.disk
    }

    pub fn skew(&self) -> &ClockSkew {
        &self.shared.skew
    }

    /// Starts a process. To be called from the scenario, not from inside a node.
    ///
    /// # Panics
    /// When the node's last process was not killed.
    pub fn start<T, F>(&self, main: impl FnOnce(Env) -> F + 'static) -> Process<T>
    where
        T: 'static,
        F: Future<Output = T> + 'static,
    {
        let tasks = ProcessTasks::default();
        let previous = self.shared.process.replace(Some(tasks.clone()));
        assert!(previous.is_none(), "a node runs one process at a time");
        let env = self.new_env(&tasks);
        self.shared.world.note(self.number(), "start process");
        let (sender, end) = oneshot::channel();
        tasks.run(async move {
            let answer = caught(async move { main(env).await }).await;
            let answer = answer.map_err(|panic| match ShardEnd::from_panic(&*panic) {
                ShardEnd::Panicked { message } => ProcessEnd::Panicked { message },
                ShardEnd::Finished | ShardEnd::TornDown => ProcessEnd::Killed,
            });
            drop(sender.send(answer)); // Nobody waits any more: then nobody wants to know.
        });
        Process { end }
    }

    fn new_env(&self, tasks: &ProcessTasks) -> Env {
        let shared = &*self.shared;
        let life = shared.starts.replace_with(|starts| *starts + 1);
        let stream = shared.world.seed_stream("node", u64::from(shared.number)).stream("process", life);
        Env::new(EnvParts {
            clock: Arc::new(SimClock::start(shared.world.started(), shared.skew.clone())),
            randomness: Arc::new(SimRandomness::new(stream)),
            disk: Arc::new(shared.disk.reopened()),
            helpers: Arc::new(InPlace),
            executor: Arc::new(SimExecutor { process: tasks.clone(), supervisor: shared.world.supervisor() }),
        })
    }

    /// The process dies between two steps; what it gave to the kernel stays.
    pub async fn kill(&self) {
        self.shared.world.note(self.number(), "kill");
        self.shared.disk.kill();
        self.end_process().await;
    }

    /// The machine loses power; what was not synced may be gone, whole, in part, or not at all.
    pub async fn power_cut(&self) {
        self.shared.world.note(self.number(), "power cut");
        self.shared.disk.power_cut();
        self.end_process().await;
    }

    async fn end_process(&self) {
        let process = self.shared.process.take();
        if let Some(process) = process {
            process.kill().await;
        }
    }
}
