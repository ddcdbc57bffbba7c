//! Cluster: one shard's view of the cluster: schema, topology, and the coordinator's operations.
//!
//! Role: `query` calls it for every statement; it finds the owning shard (and, later, the replicas), sends, waits, merges.
//!
//! Invariants
//! - Schema snapshots are swapped whole; a request works with the one in its context.
//! - A schema change is durable in the metadata log before any shard sees it, and all shards have it when it is
//!   acknowledged.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use helenus_data::TableId;
use helenus_env::reply::reply;
use helenus_env::{Env, ShardId};
use helenus_schema::{SchemaChange, SchemaSnapshot};
use helenus_storage::{RequestContext, Storage};
use helenus_types::token::shard_of;

use crate::boot::Boot;
use crate::coordinator::replay_batchlog;
use crate::error::ClusterError;
use crate::metadata::log::MetadataLog;
use crate::metadata::{Command, MetadataState, Role};
use crate::metrics::ClusterMetrics;
use crate::ring::{NodeIndex, Placement, Placements, Ring};
use crate::shard_port::{ShardLinks, ShardPort, ShardRequest};
use crate::topology::Topology;
use crate::virtual_tables::VirtualTables;

/// How often half-done batches are looked for, and how old they must be: longer than any write is still under way.
/// Source: Cassandra 5.0, `batchlog.BatchlogManager`.
const BATCHLOG_REPLAY_INTERVAL: Duration = Duration::from_secs(10);

pub struct Cluster {
    pub(crate) env: Env,
    pub(crate) shard: ShardId,
    pub(crate) links: ShardLinks,
    pub(crate) storage: Rc<Storage>,
    schema: RefCell<Arc<SchemaSnapshot>>,
    topology: Arc<Topology>,
    placements: RefCell<Placements>,
    pub(crate) virtual_tables: VirtualTables,
    pub metrics: ClusterMetrics,
    /// Called after every schema change, on this shard.
    schema_listeners: RefCell<Vec<SchemaListener>>,
    /// On shard 0 only.
    metadata: Option<tokio::sync::Mutex<MetadataOwner>>,
}

/// What a shard wants to do when the schema changed.
pub type SchemaListener = Box<dyn Fn(&Arc<SchemaSnapshot>)>;

struct MetadataOwner {
    log: MetadataLog,
    state: MetadataState,
}

impl Cluster {
    /// Starts this shard's part: from here on it serves the other shards' requests. Shard 0 gets the boot.
    #[must_use]
    pub fn start(
        env: Env,
        port: ShardPort,
        storage: Rc<Storage>,
        schema: Arc<SchemaSnapshot>,
        topology: Arc<Topology>,
        boot: Option<Boot>,
    ) -> Rc<Self> {
        let shard = env.shard().expect("a cluster handle is made on a shard");
        let ShardPort { mut receiver, links } = port;
        let metadata = boot.map(|boot| tokio::sync::Mutex::new(MetadataOwner { log: boot.log, state: boot.state }));
        let placements = RefCell::new(Placements::new(Rc::new(Ring::of(&topology)), &schema));
        let cluster = Rc::new(Self {
            env: env.clone(),
            shard,
            links,
            storage,
            schema: RefCell::new(schema),
            virtual_tables: VirtualTables::new(),
            topology,
            placements,
            metrics: ClusterMetrics::default(),
            schema_listeners: RefCell::new(Vec::new()),
            metadata,
        });
        let serving = Rc::clone(&cluster);
        env.spawn("serve other shards", async move {
            while let Some(request) = receiver.recv().await {
                let cluster = Rc::clone(&serving);
                serving.env.spawn("serve a shard's request", cluster.serve(request)).detach();
            }
        })
        .detach();
        if cluster.metadata.is_some() {
            env.spawn("replay the batchlog", Rc::clone(&cluster).replay_batches()).detach();
        }
        cluster
    }

    /// Completes, for as long as the node runs, the batches that a refusal or a timeout left half done.
    async fn replay_batches(self: Rc<Self>) {
        loop {
            self.env.sleep(BATCHLOG_REPLAY_INTERVAL).await;
            let context = RequestContext::internal(self.schema());
            if let Err(error) = replay_batchlog(&self, &context, BATCHLOG_REPLAY_INTERVAL).await {
                tracing::warn!(%error, "half-done batches could not be completed; they are tried again");
            }
        }
    }

    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    #[must_use]
    pub fn shard(&self) -> ShardId {
        self.shard
    }

    #[must_use]
    pub fn links(&self) -> &ShardLinks {
        &self.links
    }

    #[must_use]
    pub fn storage(&self) -> &Rc<Storage> {
        &self.storage
    }

    #[must_use]
    pub fn schema(&self) -> Arc<SchemaSnapshot> {
        Arc::clone(&self.schema.borrow())
    }

    #[must_use]
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    #[must_use]
    pub fn virtual_tables(&self) -> &VirtualTables {
        &self.virtual_tables
    }

    /// The shard of this node that owns `token`.
    #[must_use]
    pub fn owner_of(&self, token: helenus_types::token::Token) -> u32 {
        shard_of(token, self.links.shard_count())
    }

    /// The replicas of a stored table's ranges.
    pub(crate) fn placement_of(&self, table: TableId) -> Result<Rc<Placement>, ClusterError> {
        self.placements.borrow().of(table).cloned().ok_or(ClusterError::UnknownTable)
    }

    /// Whether a node takes requests. The only one there is so far is this one.
    pub(crate) fn is_alive(&self, node: NodeIndex, ring: &Ring) -> bool {
        node == ring.local()
    }

    pub fn on_schema_change(&self, listener: SchemaListener) {
        self.schema_listeners.borrow_mut().push(listener);
    }

    /// Logs `changes`, which were computed from the snapshot of epoch `based_on`, and applies them on all shards.
    ///
    /// # Errors
    /// [`ClusterError::Conflict`] when another change came first; disk errors, after which nothing was changed.
    pub async fn change_schema(
        &self,
        based_on: u64,
        changes: Vec<SchemaChange>,
    ) -> Result<Arc<SchemaSnapshot>, ClusterError> {
        self.change_metadata(Some(based_on), Command::ChangeSchema(changes)).await
    }

    /// Creates or replaces a role.
    ///
    /// # Errors
    /// Disk errors, after which nothing was changed.
    pub async fn put_role(&self, role: Role) -> Result<(), ClusterError> {
        self.change_metadata(None, Command::PutRole(role)).await.map(drop)
    }

    async fn change_metadata(
        &self,
        based_on: Option<u64>,
        command: Command,
    ) -> Result<Arc<SchemaSnapshot>, ClusterError> {
        let (reply_to, answer) = reply();
        let request = ShardRequest::ChangeMetadata { based_on, command, reply: reply_to };
        let gone = |_| ClusterError::ShardGone { shard: 0 };
        self.links.senders[0].send(request).await.map_err(|_| ClusterError::ShardGone { shard: 0 })?;
        answer.recv().await.map_err(gone)?
    }

    /// On shard 0: agree on a command, make it durable, hand the new snapshot to all shards.
    pub(crate) async fn commit_metadata(
        &self,
        based_on: Option<u64>,
        command: Command,
    ) -> Result<Arc<SchemaSnapshot>, ClusterError> {
        let owner = self.metadata.as_ref().ok_or(ClusterError::ShardGone { shard: 0 })?;
        let mut owner = owner.lock().await; // Commands are agreed one after the other.
        let epoch = owner.state.schema_epoch;
        if let Some(based_on) = based_on
            && based_on != epoch
        {
            return Err(ClusterError::Conflict { based_on, epoch });
        }
        let next_epoch = owner.state.epoch + 1;
        owner.log.append(next_epoch, &command).await?;
        owner.state.apply(&command);
        let snapshot = Arc::new(owner.state.snapshot());
        let mut waiting = Vec::new();
        for sender in self.links.senders.iter() {
            let (reply_to, answer) = reply();
            let request = ShardRequest::SchemaChanged { schema: Arc::clone(&snapshot), reply: reply_to };
            if sender.send(request).await.is_ok() {
                waiting.push(answer);
            }
        }
        for answer in waiting {
            // A shard that stops meanwhile reads the log at its next start.
            let _ = answer.recv().await;
        }
        let MetadataOwner { log, state } = &mut *owner;
        if let Err(error) = log.compact_when_long(&self.env, state).await {
            tracing::error!(%error, "metadata snapshot failed; the log stays long until the next change");
        }
        Ok(snapshot)
    }

    pub(crate) fn adopt_schema(&self, schema: Arc<SchemaSnapshot>) {
        self.storage.set_schema(Arc::clone(&schema));
        self.placements.borrow_mut().adopt(&schema);
        *self.schema.borrow_mut() = Arc::clone(&schema);
        for listener in self.schema_listeners.borrow().iter() {
            listener(&schema);
        }
    }
}
