//! What the shards, the admin API and the main thread of one node share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use helenus_env::{Instant, NodeMemory};
use helenus_query::PreparedRegistry;
use tokio::sync::watch;

use crate::auth::AuthService;
use crate::config::Config;
use crate::cql::limits::Limits;
use crate::cql::traits::PreparedTraits;
use crate::logging::LogControl;

/// How far the node is in its life. Every shard watches it; phases only go forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Shards open their storage and replay the commit log.
    Recover,
    /// Shards serve each other; the batchlog is replayed.
    Join,
    /// Clients are served.
    Serve,
    /// No new connections and requests; those that run are finished.
    Drain,
    /// Storage is closed.
    Stop,
}

/// Shared by everything in the node; all of it may be touched from any thread.
pub struct Node {
    pub config: Config,
    pub limits: Arc<Limits>,
    pub auth: AuthService,
    pub memory: Arc<NodeMemory>,
    pub prepared: Arc<PreparedRegistry>,
    pub prepared_traits: PreparedTraits,
    pub log: LogControl,
    pub started: Instant,
    /// Seconds since 1970.
    pub started_secs: i64,
    phase: watch::Sender<Phase>,
    /// Open CQL connections of each shard.
    connection_counts: Vec<AtomicU32>,
    /// Shards whose connections are all closed, once the node drains.
    drained_shards: watch::Sender<u32>,
    /// Drained, and everything is in SSTables.
    is_flushed: AtomicBool,
    /// Share of requests that are traced without being asked, as the bits of an `f64`.
    trace_probability: AtomicU64,
}

impl Node {
    #[must_use]
    pub fn new(
        config: Config,
        limits: Arc<Limits>,
        auth: AuthService,
        log: LogControl,
        started: Instant,
        started_secs: i64,
    ) -> Self {
        let shard_count = config.shard_count;
        Self {
            memory: NodeMemory::new(config.memory.requests),
            prepared: Arc::new(PreparedRegistry::default()),
            prepared_traits: PreparedTraits::default(),
            config,
            limits,
            auth,
            log,
            started,
            started_secs,
            phase: watch::Sender::new(Phase::Recover),
            connection_counts: (0..shard_count).map(|_| AtomicU32::new(0)).collect(),
            drained_shards: watch::Sender::new(0),
            is_flushed: AtomicBool::new(false),
            trace_probability: AtomicU64::new(0),
        }
    }

    #[must_use]
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Goes forward to `phase`; going back is ignored.
    pub fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let is_later = *now < phase;
            if is_later {
                *now = phase;
            }
            is_later
        });
    }

    /// A shard has closed its last connection.
    pub fn shard_drained(&self) {
        self.drained_shards.send_modify(|count| *count += 1);
    }

    /// Waits until no shard has connections any more.
    pub async fn all_drained(&self) {
        let mut drained = self.drained_shards.subscribe();
        // The sender is ours.
        let _ = drained.wait_for(|count| self.config.shard_count <= *count).await;
    }

    pub fn set_flushed(&self) {
        self.is_flushed.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.is_flushed.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn trace_probability(&self) -> f64 {
        f64::from_bits(self.trace_probability.load(Ordering::Relaxed))
    }

    pub fn set_trace_probability(&self, probability: f64) {
        self.trace_probability.store(probability.to_bits(), Ordering::Relaxed);
    }

    pub fn connection_opened(&self, shard: u32) {
        if let Some(count) = self.connection_counts.get(shard as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn connection_closed(&self, shard: u32) {
        if let Some(count) = self.connection_counts.get(shard as usize) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The shard with the fewest connections; of several, the one with the lowest number.
    #[must_use]
    pub fn least_connected_shard(&self) -> u32 {
        let counts = self.connection_counts.iter().map(|count| count.load(Ordering::Relaxed));
        (0u32..).zip(counts).min_by_key(|(shard, count)| (*count, *shard)).map_or(0, |(shard, _)| shard)
    }
}

/// Waits until the node is in `phase` or beyond it; at once when it is.
pub async fn reached(receiver: &mut watch::Receiver<Phase>, phase: Phase) {
    // The sender lives as long as the node; without it everything is over anyway.
    let _ = receiver.wait_for(|now| phase <= *now).await;
}
