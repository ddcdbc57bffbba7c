//! A simulated world: nodes, shards, time and disks in one thread, everything decided by one seed.
//!
//! Role: [`SimWorld::run`] plays a scenario against the very code that runs in production, on an `Env` whose clock jumps
//! from event to event and whose disks lose what was not synced. A seed that fails is a test that fails again.
//!
//! Invariants
//! - Same seed, same binary: same events, bit for bit; the trace's hash says so. Nothing here reads a real clock, the
//!   system's randomness or the order of a hash map.
//! - A simulated part promises exactly what the trait in `helenus_env` promises, and where that leaves room, it is as
//!   unkind as the room allows.
//!
//! Neighbours: `helenus_env::real` is the other implementation; one suite (`disk::suite`) runs against both disks.

pub mod clock;
pub mod random;
pub mod trace;

pub mod disk;
pub mod faults;

mod executor;
pub mod node;
pub mod world;

pub mod workload;

pub use disk::SimDisk;
pub use faults::{FaultPlan, FaultStats, Rate};
pub use node::{Process, ProcessEnd, SimNode};
pub use random::{SeededRandom, SimRandomness};
pub use trace::{Trace, TraceDigest};
pub use world::{Outcome, SimWorld};
