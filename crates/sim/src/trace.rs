//! What happened, in order: a hash over all events, to compare runs, and the last events themselves, to read.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Enough to see what led to a failure, little enough to print.
const KEPT_EVENTS: usize = 400;

#[derive(Clone, Debug)]
struct Event {
    at: Duration,
    node: u32,
    what: &'static str,
    object: Arc<str>,
    numbers: [u64; 2],
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, node, what, object, numbers: [first, second] } = self;
        write!(formatter, "{:>12.6} node {node} {what:<16} {object} {first} {second}", at.as_secs_f64())
    }
}

/// Equal for equal runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceDigest {
    pub hash: u64,
    pub event_count: u64,
}

/// Clones write to the same trace.
#[derive(Clone)]
pub struct Trace {
    started: tokio::time::Instant,
    record: Arc<Mutex<Record>>,
}

struct Record {
    digest: TraceDigest,
    last: VecDeque<Event>,
}

impl Trace {
    /// To be called inside the world's runtime, whose paused clock stamps the events.
    pub(crate) fn start() -> Self {
        let digest = TraceDigest { hash: FNV_OFFSET, event_count: 0 };
        let record = Arc::new(Mutex::new(Record { digest, last: VecDeque::new() }));
        Self { started: tokio::time::Instant::now(), record }
    }

    /// Adds an event; what the numbers mean is `what`'s affair (offset and length, for the most part).
    pub fn event(&self, node: u32, what: &'static str, object: &Arc<str>, numbers: [u64; 2]) {
        let event = Event { at: self.started.elapsed(), node, what, object: Arc::clone(object), numbers };
        let mut record = self.lock();
        record.digest.event_count += 1;
        record.digest.hash = hash_event(record.digest.hash, &event);
        if record.last.len() == KEPT_EVENTS {
            record.last.pop_front();
        }
        record.last.push_back(event);
    }

    pub fn digest(&self) -> TraceDigest {
        self.lock().digest
    }

    /// The last events, one a line, oldest first.
    pub fn tail(&self) -> String {
        self.lock().last.iter().map(|event| format!("{event}\n")).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01B3;

/// FNV-1a, 64 bits: any difference between two runs shows, and nobody chooses the input.
fn hash_event(hash: u64, event: &Event) -> u64 {
    let Event { at, node, what, object, numbers: [first, second] } = event;
    let head = [u64::try_from(at.as_nanos()).unwrap_or(u64::MAX), u64::from(*node), *first, *second];
    let numbers = head.into_iter().flat_map(u64::to_le_bytes);
    let texts = what.bytes().chain([0]).chain(object.bytes());
    numbers.chain(texts).fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}
