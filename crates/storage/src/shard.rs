//! The shard's own state: tables, commit log, memory, and what wakes the tasks behind them.
//!
//! Neighbours: `storage` is its door; `flush`, `compaction`, `recovery`, `snapshot` and `read` work on it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use helenus_data::{Mutation, TableId};
use helenus_env::{Env, ShardId, TaskHandle};
use helenus_schema::{SchemaSnapshot, Table};
use helenus_sstable::ChunkCache;
use tokio::sync::{Mutex, Notify, Semaphore, oneshot};

use crate::checkpoint::Checkpoint;
use crate::commit_log::CommitLog;
use crate::compaction::Compactions;
use crate::config::StorageConfig;
use crate::disk_guard::DiskGuard;
use crate::error::StorageError;
use crate::partition_locks::PartitionLocks;
use crate::table::TableStore;
use crate::table_files::TableFile;

pub(crate) struct Shard {
    pub env: Env,
    pub config: StorageConfig,
    pub id: ShardId,
    pub shard_count: u32,
    pub log: Rc<CommitLog>,
    pub cache: Rc<ChunkCache>,
    pub locks: Rc<PartitionLocks>,
    pub disk_guard: DiskGuard,
    pub compactions: Compactions,
    tables: RefCell<BTreeMap<TableId, Rc<TableStore>>>,
    schema: RefCell<Arc<SchemaSnapshot>>,
    pub schema_changed: Notify,
    /// As it stands on disk.
    checkpoint: RefCell<Checkpoint>,
    checkpoint_gate: Mutex<()>,
    memtable_bytes: Cell<usize>,
    /// Writes that wait for memory.
    pub blocked_count: Cell<u64>,
    pub memory_freed: Notify,
    pub flush_wanted: Notify,
    pub flush_slots: Semaphore,
    pub flush_count: Cell<u64>,
    pub expired_count: Cell<u64>,
    pub is_closing: Cell<bool>,
    /// What was asked for from outside and must end even if nobody waits for it any more.
    pub tasks: RefCell<Vec<TaskHandle>>,
}

impl Shard {
    pub fn new(
        env: Env,
        config: StorageConfig,
        id: ShardId,
        shard_count: u32,
        schema: Arc<SchemaSnapshot>,
    ) -> Rc<Self> {
        let mut guarded = config.data_directories.clone();
        guarded.push(config.commit_log_directory.clone());
        Rc::new(Self {
            log: CommitLog::new(&env, &config, id.number()),
            cache: ChunkCache::new(usize::try_from(config.chunk_cache_bytes).unwrap_or(usize::MAX)),
            locks: Rc::default(),
            disk_guard: DiskGuard::new(&env, guarded, config.disk_reserve_bytes),
            compactions: Compactions::new(config.compactors, config.compaction_bytes_per_sec),
            tables: RefCell::default(),
            schema: RefCell::new(schema),
            schema_changed: Notify::new(),
            checkpoint: RefCell::default(),
            checkpoint_gate: Mutex::new(()),
            memtable_bytes: Cell::new(0),
            blocked_count: Cell::new(0),
            memory_freed: Notify::new(),
            flush_wanted: Notify::new(),
            flush_slots: Semaphore::new(config.flush_writers.max(1)),
            flush_count: Cell::new(0),
            expired_count: Cell::new(0),
            is_closing: Cell::new(false),
            tasks: RefCell::default(),
            env,
            config,
            id,
            shard_count,
        })
    }

    /// Runs work that must not stop half-way when whoever asked for it goes away: dropped between the commit on disk and
    /// the exchange in memory, a flush would leave a file that nobody knows of until the next start.
    pub async fn run_to_end<T: 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, StorageError>> + 'static,
    ) -> Result<T, StorageError> {
        let (done, answer) = oneshot::channel();
        let task = self.env.spawn(name, async move {
            // Nobody waits any more: then nobody wants to know.
            let _ = done.send(work.await);
        });
        {
            let mut tasks = self.tasks.borrow_mut();
            tasks.retain(|task| !task.is_finished());
            tasks.push(task);
        }
        answer.await.unwrap_or(Err(StorageError::ShuttingDown))
    }

    /// # Errors
    /// [`StorageError::UnknownTable`].
    pub fn table(&self, id: TableId) -> Result<Rc<TableStore>, StorageError> {
        self.tables.borrow().get(&id).cloned().ok_or(StorageError::UnknownTable(id))
    }

    pub fn tables(&self) -> Vec<Rc<TableStore>> {
        self.tables.borrow().values().cloned().collect()
    }

    pub fn schema(&self) -> Arc<SchemaSnapshot> {
        Arc::clone(&self.schema.borrow())
    }

    pub fn set_schema(&self, schema: Arc<SchemaSnapshot>) {
        *self.schema.borrow_mut() = schema;
        self.schema_changed.notify_waiters();
    }

    pub fn add_table(&self, store: Rc<TableStore>) {
        self.log.expect_table(store.id);
        store.is_waiting_for_drop.set(self.config.node.is_dropping(store.id));
        self.tables.borrow_mut().insert(store.id, store);
    }

    pub fn remove_table(&self, id: TableId) -> Option<Rc<TableStore>> {
        self.tables.borrow_mut().remove(&id)
    }

    /// A new table's store; `files` are those that this shard found.
    pub fn make_table(&self, schema: &SchemaSnapshot, table: &Arc<Table>, files: Vec<Rc<TableFile>>) -> Rc<TableStore> {
        TableStore::new(Arc::clone(table), is_durable(schema, table), self.table_directory(table), files)
    }

    /// Where this shard puts new files of a table.
    pub fn table_directory(&self, table: &Table) -> PathBuf {
        let root = &self.config.data_directories[self.id.index() % self.config.data_directories.len()];
        root.join(&*table.keyspace).join(directory_name(table))
    }

    pub fn checkpoint(&self) -> Checkpoint {
        self.checkpoint.borrow().clone()
    }

    /// Takes over what an earlier start left.
    pub fn adopt_checkpoint(&self, checkpoint: Checkpoint) {
        *self.checkpoint.borrow_mut() = checkpoint;
    }

    /// Changes the checkpoint, durable on return; then drops the log segments that it covers.
    pub async fn update_checkpoint(&self, change: impl FnOnce(&mut Checkpoint)) -> Result<(), StorageError> {
        let _one_at_a_time = self.checkpoint_gate.lock().await;
        let mut next = self.checkpoint();
        change(&mut next);
        next.store(&self.env, &self.config.commit_log_directory, self.id.number()).await?;
        *self.checkpoint.borrow_mut() = next.clone();
        self.log.discard_covered(&next).await;
        Ok(())
    }

    /// Merges mutations into their memtables; those of tables that were dropped meanwhile vanish with them.
    pub fn apply_to_memtables(&self, mutations: Vec<Mutation>) {
        for mutation in mutations {
            let Ok(store) = self.table(mutation.table) else { continue };
            if store.is_waiting_for_drop.get() {
                continue; // Meant for the dropped table of the same id.
            }
            let grown = store.view().active.apply(mutation.partition);
            self.account(grown);
        }
        self.want_flush_when_due();
    }

    fn account(&self, grown: isize) {
        let bytes = self.memtable_bytes.get().checked_add_signed(grown);
        self.memtable_bytes.set(bytes.expect("memtables never give back more than they took"));
    }

    /// Gives back the memory of a memtable that nobody needs any more.
    pub fn release_memtable(&self, bytes: usize) {
        let left = self.memtable_bytes.get().checked_sub(bytes);
        self.memtable_bytes.set(left.expect("a memtable's bytes were accounted when they were applied"));
        self.memory_freed.notify_waiters();
    }

    pub fn memtable_bytes(&self) -> u64 {
        self.memtable_bytes.get() as u64
    }

    /// Memtables and what is on its way to them.
    pub fn write_memory_bytes(&self) -> u64 {
        self.memtable_bytes() + self.log.queue_bytes()
    }

    pub fn has_memory(&self) -> bool {
        self.write_memory_bytes() < self.config.memory_bytes
    }

    /// Bytes of active memtables from which on the largest is flushed.
    pub fn flush_threshold_bytes(&self) -> u64 {
        (self.config.memory_bytes as f64 * self.config.flush_at_share.clamp(0.01, 1.0)) as u64
    }

    fn want_flush_when_due(&self) {
        if self.flush_threshold_bytes() <= self.memtable_bytes() || self.log.is_over_budget() {
            self.flush_wanted.notify_one();
        }
    }
}

/// `<table>-<id without dashes>`
pub(crate) fn directory_name(table: &Table) -> String {
    format!("{}-{}", table.name, table.id.0.simple())
}

pub(crate) fn is_durable(schema: &SchemaSnapshot, table: &Table) -> bool {
    schema.keyspace(&table.keyspace).is_none_or(|keyspace| keyspace.params.durable_writes)
}
