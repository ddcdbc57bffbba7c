//! Verifies an SSTable: checksums of all data, order of keys and items, agreement of index, filter and data.

use std::rc::Rc;

use helenus_data::read::KeyRange;
use helenus_data::{DeletionTime, PartitionKey, Unfiltered};
use helenus_env::whole_file;

use crate::cursor::PartitionCursor;
use crate::descriptor::Component;
use crate::error::SsTableError;
use crate::table::{SsTable, index_entry_at};
use crate::window::Window;

/// What a verification went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    pub partitions: u64,
    pub rows: u64,
    pub markers: u64,
    pub chunks: u64,
    /// Whether there was a digest to compare with.
    pub has_digest: bool,
}

impl SsTable {
    /// Reads everything. The first damage found is the error.
    ///
    /// # Errors
    /// [`SsTableError::Corrupt`]; whatever the disk answers.
    pub async fn verify(self: &Rc<Self>) -> Result<VerifyReport, SsTableError> {
        let mut report = VerifyReport { has_digest: self.verify_digest().await?, ..VerifyReport::default() };
        let data = &self.parts.data;
        for chunk in 0..data.chunk_count() {
            data.chunk_verified(chunk).await?;
            report.chunks += 1;
            self.parts.env.yield_now().await;
        }
        self.verify_index().await?;
        let mut scanner = self.scan(&KeyRange::all()).await?;
        while let Some(mut cursor) = scanner.next_partition().await? {
            report.partitions += 1;
            self.verify_items(&mut cursor, &mut report).await?;
            self.verify_blocks(&mut cursor).await?;
        }
        Ok(report)
    }

    async fn verify_digest(&self) -> Result<bool, SsTableError> {
        let path = self.descriptor().path(Component::Digest);
        let len = self
            .parts
            .env
            .disk()
            .file_len(&path)
            .await
            .map_err(SsTableError::disk("measure SSTable component", &path))?;
        if len.is_none() {
            return Ok(false);
        }
        let stored = whole_file::read(&**self.parts.env.disk(), &path).await;
        let stored = stored.map_err(SsTableError::disk("read SSTable component", &path))?;
        let stored = String::from_utf8_lossy(&stored).trim().to_owned();
        let computed = self.parts.data.digest().await?.to_string();
        if stored == computed {
            return Ok(true);
        }
        Err(SsTableError::Corrupt {
            path,
            offset: 0,
            expected: "the checksum of the data file",
            found: format!("{stored}, computed {computed}"),
        })
    }

    /// Keys ascend, the filter knows them, the first and last one are those that the summary names.
    async fn verify_index(&self) -> Result<(), SsTableError> {
        let index = &self.parts.index;
        let mut window = Window::sequential(index);
        let mut at = 0;
        let mut last: Option<PartitionKey> = None;
        let mut last_position = None;
        while at < index.plain_bytes {
            let (key, entry) = index_entry_at(&mut window, at).await?;
            let problem = if last.as_ref().is_some_and(|last| key <= *last) {
                Some("a key after the one before")
            } else if last_position.is_some_and(|last| entry.data_position <= last) {
                Some("a position after the one before")
            } else if !self.may_contain(&key) {
                Some("a key that filter and summary know")
            } else {
                None
            };
            if let Some(expected) = problem {
                return Err(index.corrupt(
                    at,
                    expected,
                    format!("key {:02x?} at {}", key.bytes(), entry.data_position),
                ));
            }
            last_position = Some(entry.data_position);
            last = Some(key);
            at = entry.end;
        }
        let (first_named, last_named) = (&self.stats().first_key, &self.stats().last_key);
        if last.as_ref() != Some(last_named) {
            return Err(index.corrupt(at, "the last key that the summary names", format!("{last:02x?}")));
        }
        let (first, _) = index_entry_at(&mut window, 0).await?;
        if first != *first_named {
            return Err(index.corrupt(0, "the first key that the summary names", format!("{first:02x?}")));
        }
        Ok(())
    }

    /// Every item can be decoded and stands after the one before; every range deletion is closed.
    async fn verify_items(&self, cursor: &mut PartitionCursor, report: &mut VerifyReport) -> Result<(), SsTableError> {
        let mut at = cursor.rows_at;
        let mut order = Vec::new();
        let mut open: Option<DeletionTime> = None;
        while let Some(head) = cursor.reader.head(at).await? {
            cursor.reader.check_order(&head, at, &mut order)?;
            let next = at + head.item_bytes() as u64;
            match cursor.reader.item(head, at).await? {
                Some(Unfiltered::Row(_)) | None => report.rows += 1,
                Some(Unfiltered::Marker(marker)) => {
                    if marker.ends != open {
                        let found = format!("{:?} after {open:?}", marker.ends);
                        return Err(self.parts.data.corrupt(at, "a marker that ends the open deletion", found));
                    }
                    open = marker.begins;
                    report.markers += 1;
                }
            }
            at = next;
        }
        match open {
            None => Ok(()),
            Some(open) => Err(self.parts.data.corrupt(at, "every deletion to be closed", format!("{open:?}"))),
        }
    }

    /// Every block of the promoted index starts and ends with the items that it names.
    async fn verify_blocks(&self, cursor: &mut PartitionCursor) -> Result<(), SsTableError> {
        let Some(promoted) = &mut cursor.promoted else { return Ok(()) };
        for number in 0..promoted.count() {
            let block = promoted.block(number).await?;
            let start = cursor.start.saturating_add(block.offset);
            let end = start.saturating_add(block.width);
            let mut at = start;
            let mut order = Vec::new();
            while at < end {
                let Some(head) = cursor.reader.head(at).await? else {
                    if number + 1 == promoted.count() && at + 1 == end {
                        at = end; // The last block may include the end of the partition.
                        break;
                    }
                    return Err(self.parts.data.corrupt(
                        at,
                        "an item of the index block",
                        "the partition's end".to_owned(),
                    ));
                };
                cursor.reader.check_order(&head, at, &mut order)?;
                if at == start && order != block.first {
                    return Err(self.parts.data.corrupt(
                        at,
                        "the first item of the index block",
                        "another one".to_owned(),
                    ));
                }
                at += head.item_bytes() as u64;
            }
            if at != end || order != block.last {
                return Err(self.parts.data.corrupt(at, "the last item of the index block", "another one".to_owned()));
            }
        }
        Ok(())
    }
}
