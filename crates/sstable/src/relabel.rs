//! Changes what a finished SSTable says of itself: its level and its repair state. The data stays as it is.
//!
//! Source: Cassandra 5.0, `io.sstable.metadata.MetadataSerializer.mutate`.

use helenus_env::{Env, whole_file};
use uuid::Uuid;

use crate::descriptor::{Component, Descriptor};
use crate::error::SsTableError;
use crate::statistics::Statistics;

/// The changeable part of an SSTable's statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels {
    pub level: u32,
    /// Milliseconds since 1970, 0 when not repaired.
    pub repaired_at: i64,
    pub pending_repair: Option<Uuid>,
}

/// Replaces the statistics component, so that a crash leaves the old or the new one. An SSTable that is open keeps what it
/// read; intervals of Cassandra's commit log, which only concern the node that wrote the file, are dropped.
///
/// # Errors
/// Damage of the component, and whatever the disk answers.
pub async fn relabel(env: &Env, descriptor: &Descriptor, labels: Labels) -> Result<(), SsTableError> {
    let path = descriptor.path(Component::Statistics);
    let bytes = whole_file::read(&**env.disk(), &path).await;
    let bytes = bytes.map_err(SsTableError::disk("read SSTable component", &path))?;
    let mut statistics = Statistics::get(&bytes).map_err(|error| error.in_file(&path, 0))?;
    statistics.stats.level = i32::try_from(labels.level).unwrap_or(i32::MAX);
    statistics.stats.repaired_at = labels.repaired_at;
    statistics.stats.pending_repair = labels.pending_repair;
    let replaced = whole_file::replace(&**env.disk(), &path, statistics.put().into()).await;
    replaced.map_err(SsTableError::disk("replace SSTable component", &path))
}
