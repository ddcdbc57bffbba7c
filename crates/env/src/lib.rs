//! The seams between Helenus and the machine: clock, timestamps, randomness, disk, helper threads and shard executor.
//!
//! Role: everything above this crate asks an [`Env`] for what is not a pure function of its arguments. `real` answers
//! with the operating system; the crate `helenus-sim` answers from a seed, so that a whole cluster can be replayed.
//!
//! Invariants
//! - No other crate calls `std::time`, `std::fs`, a random source or `thread::spawn` (clippy's `disallowed-methods`).
//! - No call on a shard's thread waits for a device or a lock; what may wait runs on helper threads.
//! - Everything with a queue has a bound, and reaching it is an answer, not an allocation.

pub mod clock;
pub mod timestamp;

pub mod randomness;

pub mod disk;
pub mod durable_dir;
pub mod whole_file;

pub mod environment;
pub mod helpers;
pub mod scheduling;
pub mod task;

pub mod mailbox;
pub mod memory_budget;
pub mod reply;
pub mod shards;

pub mod real;

pub use clock::{Clock, Instant};
pub use disk::{DirEntry, Disk, EntryKind, File, LocalBoxFuture, LockGuard, OpenMode, Space};
pub use environment::{Env, EnvParts, TimedOut};
pub use helpers::Helpers;
pub use mailbox::{Mailbox, Receiver, Sender};
pub use memory_budget::{MemoryBudget, MemoryClass, MemoryPermit, NodeMemory, Overloaded};
pub use randomness::Randomness;
pub use reply::{Reply, ReplyTo, Request};
pub use scheduling::SchedulingGroup;
pub use shards::{ShardConfig, ShardContext, ShardEnd, ShardId, Shards};
pub use task::{TaskEnd, TaskHandle};
