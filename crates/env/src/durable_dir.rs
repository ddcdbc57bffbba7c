//! Creates directories so that a power cut does not take them, with all that was synced inside them.

use std::io;
use std::path::Path;

use crate::disk::Disk;

/// Creates `directory` and whatever is missing above it; durable on return.
///
/// A directory that is there already may be a leftover whose name was never synced, so every name up to the root is synced
/// either way; directories above that this user may not open were not made by it.
///
/// # Errors
/// As [`Disk::create_dir_all`] and [`Disk::sync_dir`].
pub async fn create(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    disk.create_dir_all(directory).await?;
    for ancestor in directory.ancestors().skip(1).filter(|ancestor| !ancestor.as_os_str().is_empty()) {
        match disk.sync_dir(ancestor).await {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            synced => synced?,
        }
    }
    Ok(())
}
