//! The door of this room: one shard's data.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use helenus_data::read::{ReadCommand, ReadResult};
use helenus_data::{Mutation, PartitionKey, TableId, codec};
use helenus_env::{Env, ShardId, TaskHandle};
use helenus_schema::{SchemaSnapshot, Table};
use helenus_types::token::{Token, shard_of};
use tracing::{error, warn};

use crate::compaction::{compact_all, compact_when_due, gc_before_secs, pending};
use crate::config::{CommitLogSync, StorageConfig};
use crate::context::RequestContext;
use crate::counters;
use crate::error::StorageError;
use crate::flush::{FlushReason, flush_by_period, flush_tables, flush_when_due};
use crate::metrics::{
    CompactionProgress, CompactionRecord, LevelStats, RangeEstimate, RecoveryReport, StorageStats, TableStats,
    merge_estimates,
};
use crate::oversized;
use crate::partition_locks::PartitionGuard;
use crate::quarantine;
use crate::read;
use crate::recovery;
use crate::removal;
use crate::shard::{Shard, is_durable};
use crate::snapshot::{self, SnapshotOptions};
use crate::table::TableStore;
use crate::table_files::TableFile;

/// Cassandra's leveled compaction has nine.
const LEVELS_MAX: usize = 9;

/// One shard's data. Dropping it stops its background work without a flush; see [`Storage::shutdown`].
pub struct Storage {
    shard: Rc<Shard>,
    tasks: RefCell<Vec<TaskHandle>>,
}

impl Drop for Storage {
    fn drop(&mut self) {
        // These tasks hold the shard, which holds their handles.
        self.shard.tasks.borrow_mut().clear();
    }
}

impl Storage {
    /// Opens the shard's files and starts its background work; nothing is replayed yet.
    ///
    /// The first shard to come cleans up, for all, after interrupted flushes and compactions.
    ///
    /// # Errors
    /// When the disk refuses, or a file is damaged.
    ///
    /// # Panics
    /// When `shard_count` is not that of `config.node`.
    pub async fn open(
        env: Env,
        config: StorageConfig,
        shard: ShardId,
        shard_count: u32,
        schema: Arc<SchemaSnapshot>,
    ) -> Result<Rc<Self>, StorageError> {
        assert_eq!(config.node.shard_count(), shard_count, "the node's shards agree on their number");
        let node = Arc::clone(&config.node);
        let prepared = node.prepare(&env, &config, &schema).await?;
        let shard = Shard::new(env, config, shard, shard_count, Arc::clone(&schema));
        let mut checkpoint = prepared.checkpoints.get(&shard.id.number()).cloned().unwrap_or_default();
        for other in prepared.checkpoints.values() {
            for table in other.tables() {
                other.truncated_at(table).into_iter().for_each(|micros| checkpoint.set_truncated(table, micros));
            }
        }
        // Floors of dropped tables kept their records from a table that was made anew under the same id. By now nobody has
        // made one, and recovery goes by what was on disk.
        checkpoint.retain(|table| schema.table_by_id(table).is_some());
        shard.adopt_checkpoint(checkpoint);
        shard.disk_guard.look().await;
        let storage = Rc::new(Self { shard, tasks: RefCell::default() });
        storage.load_schema(schema).await?;
        storage.start_tasks();
        Ok(storage)
    }

    fn start_tasks(&self) {
        let (shard, env) = (&self.shard, &self.shard.env);
        let applying = Rc::clone(shard);
        let mut tasks = self.tasks.borrow_mut();
        let apply = move |mutations| applying.apply_to_memtables(mutations);
        tasks.push(env.spawn("write commit log", Rc::clone(&shard.log).write_queued(apply)));
        tasks.push(env.spawn("prepare commit log segments", Rc::clone(&shard.log).keep_spare()));
        if matches!(shard.config.commit_log_sync, CommitLogSync::Periodic { .. }) {
            tasks.push(env.spawn("sync commit log", Rc::clone(&shard.log).sync_behind()));
        }
        tasks.push(env.spawn("flush when due", flush_when_due(Rc::clone(shard))));
        tasks.push(env.spawn("flush by period", flush_by_period(Rc::clone(shard))));
        tasks.push(env.spawn("compact when due", compact_when_due(Rc::clone(shard))));
        let guarded = Rc::clone(shard);
        if shard.id.number() == 0 {
            // The directories are those of all shards.
            let directories = shard.config.data_directories.clone();
            tasks.push(env.spawn("remove expired snapshots", snapshot::remove_when_due(env.clone(), directories)));
        }
        tasks.push(env.spawn("watch disk space", async move { guarded.disk_guard.watch().await }));
    }

    /// Replays what the node's commit log holds for this shard's tokens and flushes it; the last shard to finish removes
    /// the segments. To be called on every shard before it serves.
    ///
    /// # Errors
    /// Damage under [`crate::DamagePolicy::Stop`], and whatever the disk refuses.
    pub async fn recover(&self) -> Result<RecoveryReport, StorageError> {
        recovery::recover(&self.shard).await
    }

    /// Takes a schema over: tables appear, change and vanish. The files of a dropped table go in the background, after a
    /// snapshot when `auto_snapshot` wants one. A table whose files were on disk before this start is loaded by
    /// [`Storage::load_schema`] instead.
    pub fn set_schema(&self, schema: Arc<SchemaSnapshot>) {
        for (table, is_new) in self.adopt(&schema) {
            if is_new {
                self.shard.add_table(self.shard.make_table(&schema, &table, Vec::new()));
            }
        }
    }

    /// As [`Storage::set_schema`], and opens the files that new tables had before this start.
    ///
    /// # Errors
    /// When a file is damaged or the disk refuses; tables before it are there.
    pub async fn load_schema(&self, schema: Arc<SchemaSnapshot>) -> Result<(), StorageError> {
        for (table, is_new) in self.adopt(&schema) {
            if is_new {
                let files = self.open_files(&table).await?;
                self.shard.add_table(self.shard.make_table(&schema, &table, files));
                let truncated = self.shard.checkpoint().truncated_at(table.id);
                self.shard.table(table.id)?.stats_mut().last_truncated_micros = truncated;
                self.shard.config.node.finish_load(table.id, self.shard.id.number());
            }
        }
        self.shard.compactions.wanted.notify_one();
        Ok(())
    }

    /// Changes what is there, removes what is not in `schema`; answers its tables and which of them are new.
    fn adopt(&self, schema: &Arc<SchemaSnapshot>) -> Vec<(Arc<Table>, bool)> {
        let shard = &self.shard;
        let is_stored = |table: &Table| schema.keyspace(&table.keyspace).is_none_or(|keyspace| !keyspace.is_virtual());
        for store in shard.tables() {
            match schema.table_by_id(store.id).filter(|table| is_stored(table)) {
                Some(table) => self.alter(&store, table, schema),
                None => self.drop_table(&store),
            }
        }
        shard.set_schema(Arc::clone(schema));
        let tables = schema.tables().filter(|table| is_stored(table));
        tables.map(|table| (Arc::clone(table), shard.table(table.id).is_err())).collect()
    }

    fn alter(&self, store: &Rc<TableStore>, table: &Arc<Table>, schema: &SchemaSnapshot) {
        store.is_durable.set(is_durable(schema, table));
        if store.schema() == *table {
            return;
        }
        for file in &store.view().files {
            if let Err(error) = file.set_table(table) {
                error!(table = %table.full_name(), file = file.base_name(), %error, "a file does not fit its table's new definition; it is read by the old one");
            }
        }
        store.set_schema(Arc::clone(table));
        self.shard.compactions.wanted.notify_one();
    }

    fn drop_table(&self, store: &Rc<TableStore>) {
        store.is_dropped.set(true);
        self.shard.remove_table(store.id);
        self.shard.log.forget_table(store.id);
        self.shard.config.node.begin_drop(store.id, self.shard.id.number());
        let mut tasks = self.shard.tasks.borrow_mut();
        tasks.retain(|task| !task.is_finished());
        let removal = removal::drop_table(Rc::clone(&self.shard), Rc::clone(store));
        tasks.push(self.shard.env.spawn("remove dropped table", removal));
    }

    async fn open_files(&self, table: &Arc<Table>) -> Result<Vec<Rc<TableFile>>, StorageError> {
        let shard = &self.shard;
        let prepared = shard.config.node.prepare(&shard.env, &shard.config, &shard.schema()).await?;
        let mut files = Vec::new();
        for descriptor in prepared.tables.get(&table.id).into_iter().flatten() {
            let (env, cache, number) = (&shard.env, &shard.cache, shard.id.number());
            match TableFile::open(env, descriptor.clone(), table, cache, number, shard.shard_count).await {
                Ok(file) => files.extend(file),
                Err(error) => quarantine::take_away(shard, table, descriptor, error).await?,
            }
        }
        Ok(files)
    }

    /// Applies mutations as one atomic record of the commit log. On return they are durable by the sync mode and seen by
    /// every later read. Waits while memtables are full.
    ///
    /// Once it is logged a write is applied even when this future is dropped.
    ///
    /// # Errors
    /// Refusals ([`StorageError::DiskReserve`], [`StorageError::MemtablesFull`], [`StorageError::MutationTooLarge`],
    /// [`StorageError::UnknownTable`], [`StorageError::DeadlineExceeded`]) changed nothing; after
    /// [`StorageError::CommitLogFailed`] the outcome is unknown.
    ///
    /// # Panics
    /// When a mutation's token belongs to another shard.
    pub async fn apply(&self, context: &RequestContext, mutations: Vec<Mutation>) -> Result<(), StorageError> {
        let shard = &self.shard;
        let started = shard.env.monotonic();
        self.admit_write(context)?;
        let epoch = mutations.iter().map(|mutation| mutation.schema_epoch).max().unwrap_or(0);
        self.wait_for_schema(context, epoch).await?;
        let mut body = Vec::new();
        let mut logged = Vec::new();
        let mut stores = Vec::with_capacity(mutations.len());
        for mutation in &mutations {
            let owner = shard_of(mutation.partition.key.token(), shard.shard_count);
            assert_eq!(owner, shard.id.number(), "a mutation goes to the shard that owns its token");
            let store = shard.table(mutation.table)?;
            self.wait_for_drop(context, &store).await?;
            if store.is_durable.get() {
                codec::encode(mutation, &mut body);
                logged.push(store.id);
            }
            stores.push(store);
        }
        let bytes_max = shard.log.body_bytes_max();
        if bytes_max < body.len() as u64 {
            return Err(oversized::refusal(&mutations, &stores, body.len() as u64, bytes_max));
        }
        self.wait_for_memory(context).await?;
        context.trace.record(&shard.env, || "Appending to commitlog".to_owned());
        let answer = shard.log.append(body, logged, mutations);
        answer.await.unwrap_or(Err(StorageError::ShuttingDown))?;
        context.trace.record(&shard.env, || {
            let names: Vec<_> = stores.iter().map(|store| store.schema().name.to_string()).collect();
            format!("Added to {} memtable", names.join(", "))
        });
        let took = shard.env.monotonic() - started;
        for store in stores {
            let mut stats = store.stats_mut();
            stats.writes += 1;
            stats.write_latency_micros.record_micros(took);
        }
        Ok(())
    }

    fn admit_write(&self, context: &RequestContext) -> Result<(), StorageError> {
        let shard = &self.shard;
        if shard.is_closing.get() {
            return Err(StorageError::ShuttingDown);
        }
        if !shard.config.node.is_recovered() {
            // A record in a new segment would make the torn tail of an old one look like damage.
            return Err(StorageError::Invalid("the commit log of the last run is still being replayed".to_owned()));
        }
        context.check_deadline(&shard.env).inspect_err(|_| shard.expired_count.set(shard.expired_count.get() + 1))?;
        shard.log.failure().map_or(Ok(()), Err)?;
        shard.disk_guard.check()
    }

    /// Waits until this shard has the schema by which a mutation was made: it is on its way, and before it has come this
    /// shard would drop the cells of columns that it does not know.
    async fn wait_for_schema(&self, context: &RequestContext, epoch: u64) -> Result<(), StorageError> {
        let shard = &self.shard;
        loop {
            let changed = shard.schema_changed.notified();
            if epoch <= shard.schema().epoch {
                return Ok(());
            }
            let left = context.deadline.saturating_duration_since(shard.env.monotonic());
            if shard.env.timeout(left, changed).await.is_err() {
                return Err(StorageError::DeadlineExceeded);
            }
        }
    }

    /// Waits until a dropped table of the same id is gone.
    async fn wait_for_drop(&self, context: &RequestContext, store: &TableStore) -> Result<(), StorageError> {
        let (shard, node) = (&self.shard, &self.shard.config.node);
        while store.is_waiting_for_drop.get() {
            let ended = node.drop_ended.notified();
            if !node.is_dropping(store.id) {
                store.is_waiting_for_drop.set(false);
                break;
            }
            let left = context.deadline.saturating_duration_since(shard.env.monotonic());
            if shard.env.timeout(left, ended).await.is_err() {
                return Err(StorageError::DeadlineExceeded);
            }
        }
        Ok(())
    }

    async fn wait_for_memory(&self, context: &RequestContext) -> Result<(), StorageError> {
        let shard = &self.shard;
        if shard.has_memory() {
            return Ok(());
        }
        shard.blocked_count.set(shard.blocked_count.get() + 1);
        loop {
            let freed = shard.memory_freed.notified();
            if shard.has_memory() {
                return Ok(());
            }
            shard.flush_wanted.notify_one();
            let left = context.deadline.saturating_duration_since(shard.env.monotonic());
            if shard.env.timeout(left, freed).await.is_err() {
                return Err(StorageError::MemtablesFull {
                    used_bytes: shard.write_memory_bytes(),
                    limit_bytes: shard.config.memory_bytes,
                });
            }
        }
    }

    /// Applies counter increments (cells with eight big-endian bytes of delta) as this node's share of the counters;
    /// answers the mutation with contexts, as applied, for the other replicas.
    ///
    /// # Errors
    /// As [`Storage::apply`] and [`Storage::read`]; [`StorageError::Invalid`] for a table without counters.
    pub async fn apply_counter(&self, context: &RequestContext, mutation: Mutation) -> Result<Mutation, StorageError> {
        self.admit_write(context)?;
        let store = self.shard.table(mutation.table)?;
        let _guard = self.lock_partition(mutation.table, &mutation.partition.key).await;
        let resolved = counters::resolve(&self.shard, &store, mutation).await?;
        self.apply(context, vec![resolved.clone()]).await?;
        Ok(resolved)
    }

    /// Waits for a partition's turn; whoever comes first goes first. Cancel-safe.
    pub async fn lock_partition(&self, table: TableId, key: &PartitionKey) -> PartitionGuard {
        self.shard.locks.lock(table, key.clone()).await
    }

    /// Evaluates a read command over what this shard holds: live rows only, in reading order.
    ///
    /// # Errors
    /// [`StorageError::TooManyTombstones`], [`StorageError::DeadlineExceeded`], [`StorageError::UnknownTable`], and
    /// damage or disk errors of a file.
    pub async fn read(&self, context: &RequestContext, command: &ReadCommand) -> Result<ReadResult, StorageError> {
        read::read(&self.shard, context, command).await
    }

    /// Writes memtables to files: of these tables, or of all.
    ///
    /// # Errors
    /// The first one; the other tables are flushed all the same, and nothing is lost.
    pub async fn flush(&self, tables: Option<&[TableId]>, reason: FlushReason) -> Result<(), StorageError> {
        let (shard, tables) = (Rc::clone(&self.shard), tables.map(<[TableId]>::to_vec));
        let work = async move {
            shard.log.drain().await;
            flush_tables(&shard, tables.as_deref(), reason).await
        };
        self.shard.run_to_end("flush", work).await
    }

    /// Major compaction: all of a table's files become one.
    ///
    /// # Errors
    /// [`StorageError::UnknownTable`], and what the disk refuses; the old files then stay.
    pub async fn compact(&self, table: TableId) -> Result<(), StorageError> {
        let store = self.shard.table(table)?;
        let shard = Rc::clone(&self.shard);
        self.shard.run_to_end("compact", async move { compact_all(&shard, &store).await }).await
    }

    /// Empties a table of everything that was acknowledged before the call, also for replay.
    ///
    /// # Errors
    /// What the disk refuses; the table may be empty in part, and the call can be repeated.
    pub async fn truncate(&self, table: TableId, truncated_at_micros: i64) -> Result<(), StorageError> {
        let store = self.shard.table(table)?;
        let shard = Rc::clone(&self.shard);
        let work = async move { removal::truncate(&shard, &store, truncated_at_micros).await };
        self.shard.run_to_end("truncate", work).await
    }

    /// When the table was last truncated, microseconds since 1970.
    pub fn truncated_at(&self, table: TableId) -> Option<i64> {
        self.shard.checkpoint().truncated_at(table)
    }

    /// Flushes tables, unless that is to be skipped, and links their files into `snapshots/<tag>/`.
    ///
    /// # Errors
    /// [`StorageError::Invalid`] for a tag that is no directory name or taken, [`StorageError::UnknownTable`].
    pub async fn snapshot(&self, tag: &str, tables: &[TableId], options: SnapshotOptions) -> Result<(), StorageError> {
        if !options.skip_flush {
            self.flush(Some(tables), FlushReason::UserForced).await?;
        }
        for table in tables {
            let store = self.shard.table(*table)?;
            snapshot::claim(&self.shard, &store, tag).await?;
            snapshot::link(&self.shard, &store, tag, &options).await?;
        }
        Ok(())
    }

    /// Stops the shard. With `drain` everything is flushed first and the next start has nothing to replay; without it,
    /// the log is synced and replayed.
    ///
    /// # Errors
    /// When the log or a flush failed; background work is stopped all the same.
    pub async fn shutdown(&self, drain: bool) -> Result<(), StorageError> {
        let shard = &self.shard;
        shard.is_closing.set(true);
        shard.compactions.stop(None).await;
        let closed = shard.log.close().await;
        let flushed = if drain { flush_tables(shard, None, FlushReason::Shutdown).await } else { Ok(()) };
        let asked_for = std::mem::take(&mut *shard.tasks.borrow_mut());
        for mut task in asked_for {
            if task.join().await.is_err() {
                warn!("a flush, compaction or removal did not end by itself");
            }
        }
        let tasks = std::mem::take(&mut *self.tasks.borrow_mut());
        for task in tasks {
            task.stop().await;
        }
        closed.and(flushed)
    }

    /// `nodetool setcompactionthroughput`: this shard's part, bytes a second; 0 for no limit.
    pub fn set_compaction_throughput(&self, bytes_per_sec: u64) {
        self.shard.compactions.set_throughput(bytes_per_sec);
    }

    pub fn compaction_throughput(&self) -> u64 {
        self.shard.compactions.throughput()
    }

    /// `nodetool disableautocompaction` for all tables.
    pub fn set_auto_compaction(&self, is_automatic: bool) {
        self.shard.compactions.set_automatic(is_automatic);
    }

    pub fn is_auto_compaction(&self) -> bool {
        self.shard.compactions.is_automatic()
    }

    /// Stops running compactions; strategies may choose the same files again.
    pub async fn stop_compactions(&self) {
        self.shard.compactions.stop(None).await;
    }

    pub fn compactions(&self) -> Vec<CompactionProgress> {
        self.shard.compactions.progress()
    }

    /// The last hundred compactions that ended, oldest first.
    pub fn compaction_history(&self) -> Vec<CompactionRecord> {
        self.shard.compactions.history()
    }

    /// Calls `listener` at the end of every compaction from now on.
    pub fn on_compaction_end(&self, listener: Box<dyn Fn(&CompactionRecord)>) {
        self.shard.compactions.listen(listener);
    }

    /// What this shard's files hold of each of `ranges`, left ends excluded; nothing of a table that does not exist.
    pub fn estimate_ranges(&self, table: TableId, ranges: &[(Token, Token)]) -> Vec<RangeEstimate> {
        let mut estimates = vec![RangeEstimate::default(); ranges.len()];
        let Ok(store) = self.shard.table(table) else { return estimates };
        for file in &store.view().files {
            let stats = file.stats();
            // Every shard has this file, and about as much of it as the others.
            let sharers = if file.is_shared { u64::from(self.shard.shard_count) } else { 1 };
            let sampled = stats.partition_bytes.count() / sharers;
            let mean_bytes = stats.partition_bytes.mean().ceil();
            for ((start, end), estimate) in ranges.iter().zip(&mut estimates) {
                if *start < stats.last_key.token() && stats.first_key.token() <= *end {
                    estimate.merge(&RangeEstimate {
                        partitions: file.partitions_between(*start, *end) / sharers,
                        sampled_partitions: sampled,
                        sampled_bytes: sampled as f64 * mean_bytes,
                    });
                }
            }
        }
        estimates
    }

    /// Zeros for a table that does not exist.
    pub fn table_stats(&self, table: TableId) -> TableStats {
        self.shard.table(table).map(|store| self.describe(&store)).unwrap_or_default()
    }

    fn describe(&self, store: &TableStore) -> TableStats {
        let mut stats = store.stats().clone();
        let view = store.view();
        let (active, all) = store.memtable_bytes();
        stats.memtable_active_bytes = active as u64;
        stats.memtable_bytes = all as u64;
        stats.memtable_partitions = view.memtables().iter().map(|memtable| memtable.len() as u64).sum();
        stats.sealed_memtables = view.sealed.len() as u64;
        stats.sstables = view.files.len() as u64;
        stats.pending_compactions = pending(&self.shard, store);
        stats.memtable_operations = view.memtables().iter().map(|memtable| memtable.operations()).sum();
        let gc_before = u32::try_from(gc_before_secs(store, self.shard.env.wall_secs()).max(0)).unwrap_or(u32::MAX);
        let mut partitions = 0;
        for file in &view.files {
            let of_file = file.stats();
            stats.live_bytes += of_file.disk_bytes;
            stats.uncompressed_bytes += of_file.data_bytes;
            partitions += of_file.partition_count();
            stats.cells += of_file.column_count;
            stats.bloom_filter_bytes += file.filter_bytes();
            stats.max_partition_bytes = stats.max_partition_bytes.max(of_file.partition_bytes.max());
            stats.index_summary_bytes += file.summary_bytes();
            stats.largest_sstable_bytes = stats.largest_sstable_bytes.max(of_file.disk_bytes);
            if of_file.compression_ratio.is_some() {
                stats.chunk_metadata_bytes += file.chunk_metadata_bytes();
                stats.compressible_bytes += of_file.data_bytes;
                stats.compressed_bytes += file.data_disk_bytes();
            }
            let level = usize::try_from(of_file.level).unwrap_or(0).min(LEVELS_MAX - 1);
            stats.levels.resize(stats.levels.len().max(level + 1), LevelStats::default());
            stats.levels[level].sstables += 1;
            stats.levels[level].bytes += file.data_disk_bytes();
            stats.droppable_tombstones += of_file.tombstones.droppable_before(gc_before);
            stats.estimated_cells += of_file.partition_cells.mean().ceil() * of_file.partition_cells.count() as f64;
            merge_estimates(&mut stats.partition_bytes, &of_file.partition_bytes);
            merge_estimates(&mut stats.partition_cells, &of_file.partition_cells);
        }
        stats.partitions_estimate = partitions + stats.memtable_partitions;
        stats
    }

    pub fn stats(&self) -> StorageStats {
        let shard = &self.shard;
        let cache = shard.cache.stats();
        StorageStats {
            memtable_bytes: shard.memtable_bytes(),
            memtable_limit_bytes: shard.config.memory_bytes,
            blocked_on_memory: shard.blocked_count.get(),
            commit_log_segments: shard.log.segment_count(),
            commit_log_bytes: shard.log.total_bytes(),
            commit_log_records: shard.log.counters.records.get(),
            commit_log_pending: shard.log.pending(),
            commit_log_syncs: shard.log.counters.syncs.get(),
            commit_log_sync_micros: shard.log.counters.sync_micros.borrow().clone(),
            commit_log_waiting_on_sync: shard.log.counters.waited_on_sync.get(),
            chunk_cache_bytes: cache.used_bytes,
            chunk_cache_hits: cache.hits,
            chunk_cache_misses: cache.misses,
            queued_sstable_reads: cache.queued_reads,
            all_queued_sstable_reads: cache.all_queued_reads,
            running_compactions: shard.compactions.progress().len() as u64,
            pending_compactions: shard.tables().iter().map(|store| pending(shard, store)).sum(),
            completed_compactions: shard.compactions.completed_count.get(),
            compacted_bytes: shard.compactions.completed_bytes.get(),
            compaction_busy: shard.compactions.busy.get(),
            flushes: shard.flush_count.get(),
            disk_refused_writes: shard.disk_guard.refused_count.get(),
            expired_requests: shard.expired_count.get(),
            locked_partitions: shard.locks.locked_count(),
        }
    }
}
