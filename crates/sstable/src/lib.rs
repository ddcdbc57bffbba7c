//! Cassandra's BIG SSTable format, version `nb`: written by [`SsTableWriter`], opened and read by [`SsTable`].
//!
//! Role: a file format on [`helenus_env::Disk`], nothing more. Which files there are, which of them a read asks and when
//! they are compacted is `storage`'s affair.
//!
//! Invariants
//! - Cassandra's own tools accept every file that is written; every `nb` file that Cassandra wrote is read.
//! - Bytes from disk never panic and never make us reserve memory beyond what the file itself could hold.
//! - What is read of a file of ours was compared with its checksum: chunks of the data file, pages of the index, the other
//!   components whole. Damage is [`SsTableError::Corrupt`]; of a summary or filter, which can be done without, a warning.
//!
//! Layouts: `docs/formats/sstable.md`. Read in this order.

mod descriptor;
mod error;

mod input;
mod vint;

mod clustering;
mod column_subset;
mod decode;
mod encode;
mod encoding_stats;
mod header;
mod layout;

mod bloom_filter;
mod cardinality;
mod collector;
mod component_check;
mod compression;
mod histogram;
mod index_entry;
mod own_metadata;
mod statistics;
mod stats;
mod summary;
mod tombstone_histogram;

mod data_file;
mod output;
mod writer;

mod chunk_cache;
mod chunked_file;
mod cursor;
mod dump;
mod inferred_table;
mod opener;
mod promoted;
mod relabel;
mod reversed;
mod scanner;
mod table;
mod verify;
mod window;

pub use chunk_cache::{ChunkCache, ChunkCacheStats};
pub use compression::{Compression, Compressor};
pub use cursor::PartitionCursor;
pub use descriptor::{Component, Descriptor, FormatVersion, Generation};
pub use dump::{Dump, DumpTimes};
pub use encoding_stats::{EncodingStats, EncodingStatsCollector};
pub use error::SsTableError;
pub use histogram::EstimatedHistogram;
pub use inferred_table::infer_table;
pub use relabel::{Labels, relabel};
pub use scanner::Scanner;
pub use stats::SsTableStats;
pub use table::SsTable;
pub use tombstone_histogram::TombstoneHistogram;
pub use verify::VerifyReport;
pub use writer::{SsTableWriter, WriterOptions};

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod model_tests;
