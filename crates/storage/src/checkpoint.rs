//! Checkpoint: per table, up to where the commit log of one shard is in files, and when the table was last truncated.
//!
//! Role: replay skips what is at or below a table's floor, and segments go when all their tables' floors are beyond them.
//! Without it a record that outlived its neighbours could bring back what a compaction has purged since.
//!
//! Invariants
//! - A floor only rises, and rises only after everything below it is durable in files (or was truncated).
//! - The file is replaced as a whole; a shard writes only its own.
//!
//! ```text
//! offset  bytes  field                     `Checkpoint-1-<shard>.db`, little-endian
//!      0      8  magic   "HELENCKP"
//!      8      4  count   u32 of tables
//!     12   36×n  table   u8[16] id  u64 floor's segment id  u32 floor's offset  i64 truncated at, micros (MIN: never)
//!   tail      4  crc     CRC-32 of all bytes before it
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use helenus_data::TableId;
use helenus_env::{Env, whole_file};
use uuid::Uuid;

use crate::commit_log::LogPosition;
use crate::error::StorageError;

const MAGIC: [u8; 8] = *b"HELENCKP";
const TABLE_BYTES: usize = 36;
const NEVER: i64 = i64::MIN;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    tables: BTreeMap<TableId, Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    floor: LogPosition,
    truncated_at_micros: i64,
}

impl Default for Entry {
    fn default() -> Self {
        Self { floor: LogPosition::default(), truncated_at_micros: NEVER }
    }
}

impl Checkpoint {
    pub fn floor(&self, table: TableId) -> Option<LogPosition> {
        self.tables.get(&table).map(|entry| entry.floor)
    }

    pub fn raise_floor(&mut self, table: TableId, floor: LogPosition) {
        let entry = self.tables.entry(table).or_default();
        entry.floor = entry.floor.max(floor);
    }

    pub fn truncated_at(&self, table: TableId) -> Option<i64> {
        self.tables.get(&table).map(|entry| entry.truncated_at_micros).filter(|micros| *micros != NEVER)
    }

    pub fn set_truncated(&mut self, table: TableId, micros: i64) {
        let entry = self.tables.entry(table).or_default();
        entry.truncated_at_micros = entry.truncated_at_micros.max(micros);
    }

    /// Forgets other tables than these.
    pub fn retain(&mut self, mut is_known: impl FnMut(TableId) -> bool) {
        self.tables.retain(|table, _| is_known(*table));
    }

    /// The largest segment id in it.
    pub fn segment_id_max(&self) -> u64 {
        self.tables.values().map(|entry| entry.floor.segment_id).max().unwrap_or(0)
    }

    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        self.tables.keys().copied()
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(MAGIC.len() + 8 + TABLE_BYTES * self.tables.len());
        out.extend_from_slice(&MAGIC);
        let count = u32::try_from(self.tables.len()).expect("fewer tables than 2^32");
        out.extend_from_slice(&count.to_le_bytes());
        for (table, entry) in &self.tables {
            out.extend_from_slice(table.0.as_bytes());
            out.extend_from_slice(&entry.floor.segment_id.to_le_bytes());
            out.extend_from_slice(&entry.floor.offset.to_le_bytes());
            out.extend_from_slice(&entry.truncated_at_micros.to_le_bytes());
        }
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let (content, crc) = bytes.split_last_chunk::<4>().ok_or("a checksum")?;
        if crc32fast::hash(content) != u32::from_le_bytes(*crc) {
            return Err("a valid checksum");
        }
        let rest = content.strip_prefix(&MAGIC).ok_or("the magic HELENCKP")?;
        let (count, rest) = rest.split_first_chunk::<4>().ok_or("a table count")?;
        let (entries, surplus) = rest.as_chunks::<TABLE_BYTES>();
        if entries.len() as u64 != u64::from(u32::from_le_bytes(*count)) || !surplus.is_empty() {
            return Err("as many tables as it counts");
        }
        let field = |entry: &[u8; TABLE_BYTES], from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&entry[from..from + 8]);
            bytes
        };
        let tables = entries.iter().map(|entry| {
            let mut id = [0; 16];
            id.copy_from_slice(&entry[..16]);
            let mut offset = [0; 4];
            offset.copy_from_slice(&entry[24..28]);
            let floor =
                LogPosition { segment_id: u64::from_le_bytes(field(entry, 16)), offset: u32::from_le_bytes(offset) };
            let truncated_at_micros = i64::from_le_bytes(field(entry, 28));
            (TableId(Uuid::from_bytes(id)), Entry { floor, truncated_at_micros })
        });
        Ok(Self { tables: tables.collect() })
    }

    /// Durable on return.
    pub async fn store(&self, env: &Env, directory: &Path, shard: u32) -> Result<(), StorageError> {
        let path = directory.join(file_name(shard));
        let stored = whole_file::replace(&**env.disk(), &path, self.encode().into()).await;
        stored.map_err(StorageError::disk("store checkpoint", &path))
    }

    pub async fn load(env: &Env, path: &Path) -> Result<Self, StorageError> {
        let bytes = whole_file::read(&**env.disk(), path).await;
        let bytes = bytes.map_err(StorageError::disk("read checkpoint", path))?;
        Self::decode(&bytes).map_err(|expected| StorageError::Corrupt {
            path: PathBuf::from(path),
            offset: 0,
            expected,
            found: format!("{} bytes", bytes.len()),
        })
    }
}

pub(crate) fn file_name(shard: u32) -> String {
    format!("Checkpoint-1-{shard}.db")
}

/// The shard whose checkpoint a file is.
pub(crate) fn parse_file_name(name: &str) -> Option<u32> {
    name.strip_prefix("Checkpoint-1-")?.strip_suffix(".db")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_read_back_and_damage_is_noticed() {
        let mut checkpoint = Checkpoint::default();
        let table = TableId(Uuid::from_u128(7));
        checkpoint.raise_floor(table, LogPosition { segment_id: 5, offset: 100 });
        checkpoint.raise_floor(table, LogPosition { segment_id: 4, offset: 900 });
        checkpoint.set_truncated(TableId(Uuid::from_u128(8)), 42);
        let bytes = checkpoint.encode();
        assert_eq!(Checkpoint::decode(&bytes), Ok(checkpoint.clone()));
        assert_eq!(checkpoint.floor(table), Some(LogPosition { segment_id: 5, offset: 100 }));
        assert_eq!(checkpoint.truncated_at(table), None);
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 1;
            assert!(Checkpoint::decode(&broken).is_err(), "byte {at}");
        }
    }
}
