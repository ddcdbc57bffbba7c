//! Work that would hold up a shard (password hashing, compression of large blocks): run elsewhere.

use crate::disk::LocalBoxFuture;

/// One piece of work.
pub type Job = Box<dyn FnOnce() + Send>;

/// Where such work runs. Real: a few threads behind a bounded queue. Simulated: at once, in place.
pub trait Helpers: Send + Sync {
    /// Waits for room in the queue and hands the job over. Once handed over it runs, whoever still waits for it.
    fn submit(&self, job: Job) -> LocalBoxFuture<()>;
}
