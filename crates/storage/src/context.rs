//! Request context: what every request carries from the socket to the disk and back.
//!
//! Role: made at admission, handed down by reference and, as a clone without the memory, to other shards and replicas.
//! Queues drop what has passed its deadline; long reads look at it between batches.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use helenus_env::{Env, Instant, MemoryPermit, Overloaded, SchedulingGroup};
use helenus_schema::SchemaSnapshot;

use crate::error::StorageError;

/// Who asks, under which schema, until when, and where to note what happened.
pub struct RequestContext {
    /// On this process's monotonic clock; peers are sent the remaining time.
    pub deadline: Instant,
    pub group: SchedulingGroup,
    pub schema: Arc<SchemaSnapshot>,
    pub trace: TraceSink,
    /// Whether the node works for itself and not for a client.
    pub is_internal: bool,
    /// `None` for the node's own work and for anonymous sessions.
    pub role: Option<Arc<str>>,
    /// Given back when the context is dropped; `None` for work that is not counted.
    pub memory: Option<RequestMemory>,
}

/// Memory granted to one request. It grows with what the request holds, and goes on with its answer.
pub struct RequestMemory {
    permit: RefCell<MemoryPermit>,
    bytes_max: u64,
}

impl RequestMemory {
    /// `bytes_max` is what one request may have of the node's memory, so that one does not take it all.
    #[must_use]
    pub fn new(permit: MemoryPermit, bytes_max: u64) -> Self {
        Self { permit: RefCell::new(permit), bytes_max }
    }

    pub fn into_permit(self) -> MemoryPermit {
        self.permit.into_inner()
    }
}

impl RequestContext {
    /// The context of work that the node does for itself: no deadline, no trace, no role.
    #[must_use]
    pub fn internal(schema: Arc<SchemaSnapshot>) -> Self {
        Self {
            deadline: Instant::FAR_FUTURE,
            group: SchedulingGroup::Statement,
            schema,
            trace: TraceSink::Off,
            is_internal: true,
            role: None,
            memory: None,
        }
    }

    /// The same request on another shard: everything but the memory, which stays where it was granted.
    #[must_use]
    pub fn share(&self) -> Self {
        Self {
            deadline: self.deadline,
            group: self.group,
            schema: Arc::clone(&self.schema),
            trace: self.trace.clone(),
            is_internal: self.is_internal,
            role: self.role.clone(),
            memory: None,
        }
    }

    /// Asks for memory beside what was granted at admission.
    ///
    /// # Errors
    /// [`Overloaded`]: the node, or one request's share of it, has no more. What was granted before stays.
    pub fn grow_memory(&self, bytes: u64) -> Result<(), Overloaded> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let mut permit = memory.permit.borrow_mut();
        let free_bytes = memory.bytes_max.saturating_sub(permit.bytes());
        if free_bytes < bytes {
            return Err(Overloaded { requested_bytes: bytes, free_bytes });
        }
        permit.try_grow(bytes)
    }

    /// Gives back what [`Self::grow_memory`] granted.
    pub fn shrink_memory(&self, bytes: u64) {
        if let Some(memory) = &self.memory {
            let mut permit = memory.permit.borrow_mut();
            let left = permit.bytes().saturating_sub(bytes);
            permit.shrink_to(left);
        }
    }

    /// # Errors
    /// [`StorageError::DeadlineExceeded`] once the deadline has passed.
    pub fn check_deadline(&self, env: &Env) -> Result<(), StorageError> {
        if env.monotonic() < self.deadline { Ok(()) } else { Err(StorageError::DeadlineExceeded) }
    }
}

/// Where trace events go. Off costs one comparison; tracing is rare, so collecting may lock and allocate.
#[derive(Clone, Debug, Default)]
pub enum TraceSink {
    #[default]
    Off,
    Collecting(Arc<TraceCollection>),
}

/// The events of one traced request, from all shards that worked for it.
#[derive(Debug)]
pub struct TraceCollection {
    started: Instant,
    events: Mutex<Vec<TraceEvent>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Since the request began.
    pub elapsed_micros: u64,
    pub activity: String,
    /// The shard on which it happened; `None` outside of shards.
    pub shard: Option<u32>,
}

/// A request that touches every partition must not fill memory with its trace.
const TRACE_EVENTS_MAX: usize = 4_096;

impl TraceSink {
    /// Begins to collect; elapsed times count from now.
    #[must_use]
    pub fn collecting(env: &Env) -> Self {
        Self::Collecting(Arc::new(TraceCollection { started: env.monotonic(), events: Mutex::default() }))
    }

    #[must_use]
    pub fn is_on(&self) -> bool {
        matches!(self, TraceSink::Collecting(_))
    }

    /// Notes an event; `activity` is only evaluated when the trace is on.
    pub fn record(&self, env: &Env, activity: impl FnOnce() -> String) {
        let TraceSink::Collecting(collection) = self else { return };
        let elapsed = env.monotonic().saturating_duration_since(collection.started);
        let mut events = collection.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < TRACE_EVENTS_MAX {
            events.push(TraceEvent {
                elapsed_micros: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
                activity: activity(),
                shard: env.shard().map(helenus_env::ShardId::number),
            });
        }
    }

    /// The events so far, in the order in which they were noted; empties the collection.
    #[must_use]
    pub fn take_events(&self) -> Vec<TraceEvent> {
        match self {
            TraceSink::Off => Vec::new(),
            TraceSink::Collecting(collection) => {
                std::mem::take(&mut *collection.events.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }
}
