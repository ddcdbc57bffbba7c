//! Segment: one preallocated file of the commit log.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helenus_data::TableId;
use helenus_env::{Env, File, OpenMode};

use crate::commit_log::record::{SEGMENT_HEADER_BYTES, SegmentIdentity, encode_segment_header};
use crate::error::StorageError;

/// Invariant: `synced <= written <= capacity`; bytes beyond `written` are zeros.
pub(super) struct Segment {
    pub identity: SegmentIdentity,
    pub path: PathBuf,
    pub file: Arc<dyn File>,
    pub capacity: u32,
    pub written: Cell<u32>,
    pub synced: Cell<u32>,
    /// Per table, the end of the last record that holds one of its mutations.
    pub dirty: RefCell<BTreeMap<TableId, u32>>,
}

impl Segment {
    /// Creates and preallocates a segment; its name is durable on return.
    pub async fn create(
        env: &Env,
        directory: &Path,
        identity: SegmentIdentity,
        shard_count: u32,
        capacity: u32,
    ) -> Result<Self, StorageError> {
        let path = directory.join(file_name(identity));
        let file = env.disk().open(&path, OpenMode::CreateNew).await;
        let file = file.map_err(StorageError::disk("create commit log segment", &path))?;
        let header = encode_segment_header(identity, shard_count);
        let prepared = async {
            file.allocate(u64::from(capacity)).await?;
            file.write_at(0, header.into()).await?;
            file.sync().await?;
            env.disk().sync_dir(directory).await
        };
        if let Err(source) = prepared.await {
            // Half-made and empty: better gone than read at the next start, where an empty one is fine, too.
            let _ = env.disk().remove_file(&path).await;
            return Err(StorageError::Disk { action: "preallocate commit log segment", path, source });
        }
        Ok(Self {
            identity,
            path,
            file,
            capacity,
            written: Cell::new(SEGMENT_HEADER_BYTES),
            synced: Cell::new(SEGMENT_HEADER_BYTES),
            dirty: RefCell::default(),
        })
    }
}

/// `CommitLog-<format>-<shard>-<segment id>.log`
pub(crate) fn file_name(identity: SegmentIdentity) -> String {
    format!("CommitLog-1-{}-{}.log", identity.shard, identity.segment_id)
}

/// `None` for names that are not a segment's.
pub(crate) fn parse_file_name(name: &str) -> Option<SegmentIdentity> {
    let (shard, segment_id) = name.strip_prefix("CommitLog-1-")?.strip_suffix(".log")?.split_once('-')?;
    Some(SegmentIdentity { shard: shard.parse().ok()?, segment_id: segment_id.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_back() {
        let identity = SegmentIdentity { shard: 3, segment_id: 1_700_000 };
        assert_eq!(file_name(identity), "CommitLog-1-3-1700000.log");
        assert_eq!(parse_file_name("CommitLog-1-3-1700000.log"), Some(identity));
        assert_eq!(parse_file_name("CommitLog-7-1700000.log"), None);
        assert_eq!(parse_file_name("CommitLog-1-3.log"), None);
    }
}
