//! Small files, read and replaced as a whole.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::disk::{Disk, OpenMode};

/// All of a file. The caller vouches that it is small, by format or by a look at [`Disk::file_len`].
///
/// # Errors
/// As [`Disk::open`] and [`File::read_at`](crate::File::read_at).
pub async fn read(disk: &dyn Disk, path: &Path) -> io::Result<Bytes> {
    let file = disk.open(path, OpenMode::Read).await?;
    let len = usize::try_from(file.len()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
    file.read_at(0, len).await
}

/// Replaces a file so that after a crash at any moment either the old or the new content is there, never a mixture.
/// Durable on return.
///
/// The new content is written beside it under the name `<name>.tmp`, which a crash may leave behind.
///
/// # Errors
/// Whatever the disk answers; before the rename the old content is untouched.
pub async fn replace(disk: &dyn Disk, path: &Path, content: Bytes) -> io::Result<()> {
    let temporary = temporary_name(path)?;
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let file = disk.open(&temporary, OpenMode::CreateOrTruncate).await?;
    file.write_at(0, content).await?;
    file.sync().await?; // Before the rename, or a crash may show the new name with no content.
    disk.rename(&temporary, path).await?;
    disk.sync_dir(directory).await
}

fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".tmp");
    Ok(path.with_file_name(name))
}
