//! Recovery: after a start, what the commit log held becomes files again.
//!
//! Every shard reads the segments of all shards that the node had before, whatever their number, and takes what belongs
//! to its own tokens. What it took is flushed, and the last shard to finish removes the segments; only then do
//! checkpoints rise and may tombstones be purged, so that an interrupted recovery can begin again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bytes::Bytes;
use helenus_data::{Mutation, codec};
use helenus_env::SchedulingGroup;
use helenus_types::token::shard_of;
use tracing::{info, warn};

use crate::checkpoint;
use crate::commit_log::replay::{Place, SegmentEnd, SegmentReader};
use crate::commit_log::{LogPosition, SegmentIdentity};
use crate::config::DamagePolicy;
use crate::error::StorageError;
use crate::flush::{FlushReason, flush_tables};
use crate::memtable::timestamp_max;
use crate::metrics::RecoveryReport;
use crate::node::Prepared;
use crate::shard::Shard;

/// Replays what the log holds for this shard.
pub(crate) async fn recover(shard: &Rc<Shard>) -> Result<RecoveryReport, StorageError> {
    let node = std::sync::Arc::clone(&shard.config.node);
    let prepared = node.prepare(&shard.env, &shard.config, &shard.schema()).await?;
    let mut replay = Replay { shard, prepared, report: RecoveryReport::default(), damaged: Vec::new() };
    let files = shard.tables().into_iter().flat_map(|store| store.view().files.clone());
    replay.report.timestamp_max_micros = files.map(|file| file.timestamp_max()).filter(|max| *max != i64::MIN).max();
    if node.is_recovered() {
        return Ok(replay.report);
    }
    let newest = replay.newest_segments().await?;
    for ((origin, segment_id), path) in &prepared.segments {
        let identity = SegmentIdentity { shard: *origin, segment_id: *segment_id };
        let place = if newest.get(origin) == Some(segment_id) { Place::Newest } else { Place::Older };
        let is_empty = newest.get(origin).is_none_or(|newest| newest < segment_id);
        if !is_empty {
            replay.segment(identity, path, place).await?;
        }
    }
    flush_tables(shard, None, FlushReason::Recovery).await?;
    let Replay { report, damaged, .. } = replay;
    if let Some(damaged) = node.finish_recovery(shard.id.number(), &damaged) {
        remove_segments(shard, prepared, &damaged.into_iter().collect::<Vec<_>>()).await?;
        node.set_recovered();
    }
    if 0 < report.segments {
        info!(
            segments = report.segments,
            records = report.records,
            applied = report.mutations_applied,
            torn = report.torn_tails,
            "replayed the commit log"
        );
    }
    Ok(report)
}

struct Replay<'r> {
    shard: &'r Rc<Shard>,
    prepared: &'r Prepared,
    report: RecoveryReport,
    damaged: Vec<PathBuf>,
}

impl Replay<'_> {
    /// Per former shard its last segment with records; what was preallocated after it is empty.
    async fn newest_segments(&mut self) -> Result<BTreeMap<u32, u64>, StorageError> {
        let mut newest = BTreeMap::new();
        for ((origin, segment_id), path) in self.prepared.segments.iter().rev() {
            if newest.contains_key(origin) {
                continue;
            }
            let identity = SegmentIdentity { shard: *origin, segment_id: *segment_id };
            let has_records = match SegmentReader::open(&self.shard.env, path, identity).await {
                Ok(Some(mut reader)) => reader.has_records().await?,
                Ok(None) => false,
                // A damaged header: the segment counts as written, so that replay meets the damage and judges it.
                Err(StorageError::Corrupt { .. }) => true,
                Err(error) => return Err(error),
            };
            if has_records {
                newest.insert(*origin, *segment_id);
            }
        }
        Ok(newest)
    }

    async fn segment(&mut self, identity: SegmentIdentity, path: &Path, place: Place) -> Result<(), StorageError> {
        self.report.segments += 1;
        match self.records(identity, path, place).await {
            Ok(SegmentEnd::Torn { at }) => {
                info!(segment = %path.display(), at, "the commit log ends in a torn write, which was never acknowledged as synced");
                self.report.torn_tails += 1;
                Ok(())
            }
            Ok(SegmentEnd::Full | SegmentEnd::Open) => Ok(()),
            Err(error @ StorageError::Corrupt { .. }) => match self.shard.config.commit_log_damage {
                DamagePolicy::Stop => Err(error),
                DamagePolicy::Quarantine => {
                    warn!(%error, "a damaged commit log segment was replayed up to the damage and is moved away; repair this node");
                    self.damaged.push(path.to_owned());
                    self.report.quarantined.push(path.to_owned());
                    Ok(())
                }
            },
            Err(error) => Err(error),
        }
    }

    async fn records(
        &mut self,
        identity: SegmentIdentity,
        path: &Path,
        place: Place,
    ) -> Result<SegmentEnd, StorageError> {
        let Some(mut reader) = SegmentReader::open(&self.shard.env, path, identity).await? else {
            return Ok(SegmentEnd::Open);
        };
        loop {
            match reader.next(place).await? {
                Err(end) => return Ok(end),
                Ok((body, end)) => {
                    self.record(identity, path, &body, end)?;
                    SchedulingGroup::Flush.pace(&self.shard.env).await;
                    if !self.shard.has_memory() {
                        flush_tables(self.shard, None, FlushReason::Recovery).await?;
                    }
                }
            }
        }
    }

    fn record(
        &mut self,
        origin: SegmentIdentity,
        path: &Path,
        body: &Bytes,
        end: LogPosition,
    ) -> Result<(), StorageError> {
        self.report.records += 1;
        let mut rest: &[u8] = body;
        let mut mine = Vec::new();
        while !rest.is_empty() {
            let decoded = codec::decode(rest).map_err(|error| StorageError::Corrupt {
                path: path.to_owned(),
                offset: u64::from(end.offset),
                expected: "mutations in the record that ends here",
                found: error.to_string(),
            });
            let (mutation, taken) = decoded?;
            rest = &rest[taken..];
            if self.is_wanted(origin, &mutation, end) {
                mine.push(mutation);
            }
        }
        self.report.mutations_applied += mine.len() as u64;
        self.shard.apply_to_memtables(mine);
        Ok(())
    }

    fn is_wanted(&mut self, origin: SegmentIdentity, mutation: &Mutation, end: LogPosition) -> bool {
        if shard_of(mutation.partition.key.token(), self.shard.shard_count) != self.shard.id.number() {
            return false;
        }
        self.report.timestamp_max_micros = self.report.timestamp_max_micros.max(timestamp_max(&mutation.partition));
        let checkpoint = self.prepared.checkpoints.get(&origin.shard);
        if checkpoint.and_then(|checkpoint| checkpoint.floor(mutation.table)).is_some_and(|floor| end <= floor) {
            self.report.mutations_covered += 1;
            return false;
        }
        if self.shard.table(mutation.table).is_err() {
            self.report.mutations_of_dropped_tables += 1;
            return false;
        }
        true
    }
}

/// Removes the segments from before the start, and checkpoints of shards that are no more.
async fn remove_segments(shard: &Rc<Shard>, prepared: &Prepared, damaged: &[PathBuf]) -> Result<(), StorageError> {
    let (disk, directory) = (shard.env.disk(), &shard.config.commit_log_directory);
    if !damaged.is_empty() {
        let quarantine = directory.join("quarantine");
        disk.create_dir_all(&quarantine).await.map_err(StorageError::disk("create directory", &quarantine))?;
        for path in damaged {
            let to = quarantine.join(path.file_name().unwrap_or_default());
            disk.rename(path, &to).await.map_err(StorageError::disk("quarantine commit log segment", path))?;
        }
        disk.sync_dir(&quarantine).await.map_err(StorageError::disk("sync directory", &quarantine))?;
    }
    // Whatever order a crash makes of these removals: all of it is in files, and nothing is purged before they are done.
    for path in prepared.segments.values().filter(|path| !damaged.contains(path)) {
        disk.remove_file(path).await.map_err(StorageError::disk("remove commit log segment", path))?;
    }
    disk.sync_dir(directory).await.map_err(StorageError::disk("sync directory", directory))?;
    if prepared.checkpoints.keys().any(|origin| shard.shard_count <= *origin) {
        // Their truncation times live on in ours.
        shard.update_checkpoint(|_| {}).await?;
        for origin in prepared.checkpoints.keys().filter(|origin| shard.shard_count <= **origin) {
            let path = directory.join(checkpoint::file_name(*origin));
            disk.remove_file(&path).await.map_err(StorageError::disk("remove checkpoint", &path))?;
        }
    }
    Ok(())
}
