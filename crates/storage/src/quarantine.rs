//! Quarantine: what a start does about a damaged SSTable. Stops by default; by [`DamagePolicy::Quarantine`] it moves the
//! file into `quarantine/` below its table's directory and goes on without what only that file held.

use helenus_env::durable_dir;
use helenus_schema::Table;
use helenus_sstable::Descriptor;
use tracing::error;

use crate::config::DamagePolicy;
use crate::error::StorageError;
use crate::shard::Shard;

pub(crate) const QUARANTINE: &str = "quarantine";

/// Judges the failure to open a file: an error that stops the start comes back.
pub(crate) async fn take_away(
    shard: &Shard,
    table: &Table,
    descriptor: &Descriptor,
    error: StorageError,
) -> Result<(), StorageError> {
    let (node, base_name) = (&shard.config.node, descriptor.base_name());
    let base_path = descriptor.directory.join(&base_name);
    if node.is_quarantined(&base_path) {
        return Ok(()); // Another shard was faster, and took it away under our hands.
    }
    if !matches!(error, StorageError::Corrupt { .. } | StorageError::SsTable { .. }) {
        return Err(error);
    }
    let (table, file) = (table.full_name(), base_path.display());
    match shard.config.commit_log_damage {
        DamagePolicy::Stop => {
            error!(table, %file, %error, "an SSTable is damaged and the start stops. Restore the file from a snapshot; or move its components out of the directory and lose what only they hold; or let the start do that by commit_failure_policy: ignore. Deleted data that its tombstones hid may come back");
            Err(error)
        }
        DamagePolicy::Quarantine => {
            if node.quarantine(&base_path) {
                move_components(shard, descriptor, &base_name).await?;
                error!(table, %file, %error, "a damaged SSTable was moved to quarantine/ and the start goes on without it: restore it from a snapshot. Deleted data that its tombstones hid may come back");
            }
            Ok(())
        }
    }
}

async fn move_components(shard: &Shard, descriptor: &Descriptor, base_name: &str) -> Result<(), StorageError> {
    let (disk, from) = (shard.env.disk(), &descriptor.directory);
    let to = from.join(QUARANTINE);
    durable_dir::create(&**disk, &to).await.map_err(StorageError::disk("create directory", &to))?;
    let prefix = format!("{base_name}-");
    let entries = disk.list(from).await.map_err(StorageError::disk("list directory", from))?;
    for entry in entries.iter().filter(|entry| entry.name.starts_with(&prefix)) {
        let path = from.join(&entry.name);
        let moved = disk.rename(&path, &to.join(&entry.name)).await;
        moved.map_err(StorageError::disk("quarantine SSTable component", &path))?;
    }
    for directory in [&to, from] {
        disk.sync_dir(directory).await.map_err(StorageError::disk("sync directory", directory))?;
    }
    Ok(())
}
