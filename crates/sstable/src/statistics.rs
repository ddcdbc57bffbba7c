//! `Statistics.db`: validation, compaction, stats and serialization header.
//!
//! ```text
//! i32 count (4), CRC-32 of it
//! a component: i32 type (0 validation, 1 compaction, 2 stats, 3 header), i32 offset in the file
//! CRC-32 of count and table of contents
//! a component: its bytes, CRC-32 of them
//!
//! validation   partitioner (Java UTF), f64 false positive chance of the bloom filter
//! compaction   i32 length, cardinality sketch
//! stats        two estimated histograms (partition bytes, cells per partition), commit log position (i64, i32),
//!              timestamps min max (i64), local deletion times min max (i32), ttls min max (i32), compression ratio (f64),
//!              tombstone histogram, level (i32), repaired at (i64), clustering min and max (i32 count, values with u16
//!              lengths), legacy counter shards (1), columns set (i64), rows (i64), commit log lower bound, commit log
//!              intervals (i32 count, pairs), pending repair (1, [16]), transient (1), host id (1, [16])
//! ```
//!
//! Source: Cassandra 5.0, `io.sstable.metadata.*`, with the switches of version `nb`.

use uuid::Uuid;

use crate::encoding_stats::{local_secs_of_nb, nb_local_secs};
use crate::header::SerializationHeader;
use crate::histogram::EstimatedHistogram;
use crate::input::{Decoded, Input, put_java_utf};
use crate::tombstone_histogram::TombstoneHistogram;

pub(crate) const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";

const VALIDATION: i32 = 0;
const COMPACTION: i32 = 1;
const STATS: i32 = 2;
const HEADER: i32 = 3;
const COMPONENTS_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statistics {
    pub(crate) partitioner: String,
    pub(crate) false_positive_chance: f64,
    /// The cardinality sketch as it is stored.
    pub(crate) cardinality: Vec<u8>,
    pub(crate) stats: StoredStats,
    pub(crate) header: SerializationHeader,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredStats {
    pub(crate) partition_bytes: EstimatedHistogram,
    pub(crate) partition_cells: EstimatedHistogram,
    pub(crate) timestamp_min: i64,
    pub(crate) timestamp_max: i64,
    pub(crate) local_deletion_min: u32,
    pub(crate) local_deletion_max: u32,
    pub(crate) ttl_min: i32,
    pub(crate) ttl_max: i32,
    pub(crate) compression_ratio: f64,
    pub(crate) tombstones: TombstoneHistogram,
    pub(crate) level: i32,
    pub(crate) repaired_at: i64,
    /// Values of the smallest and largest clustering prefix.
    pub(crate) clustering_min: Vec<Vec<u8>>,
    pub(crate) clustering_max: Vec<Vec<u8>>,
    pub(crate) has_legacy_counter_shards: bool,
    pub(crate) columns_set: i64,
    pub(crate) rows: i64,
    pub(crate) pending_repair: Option<Uuid>,
    pub(crate) is_transient: bool,
    pub(crate) host_id: Option<Uuid>,
}

/// A commit log position that stands for none: segment -1, offset 0.
const NO_POSITION: (i64, i32) = (-1, 0);

impl Statistics {
    pub(crate) fn put(&self) -> Vec<u8> {
        let mut validation = Vec::new();
        put_java_utf(&self.partitioner, &mut validation);
        validation.extend_from_slice(&self.false_positive_chance.to_be_bytes());
        let mut compaction = Vec::new();
        put_i32_bytes(&self.cardinality, &mut compaction);
        let mut stats = Vec::new();
        self.stats.put(&mut stats);
        let mut header = Vec::new();
        self.header.put(&mut header);
        put_components(&[(VALIDATION, validation), (COMPACTION, compaction), (STATS, stats), (HEADER, header)])
    }

    pub(crate) fn get(bytes: &[u8]) -> Decoded<Self> {
        let components = get_components(bytes)?;
        let input = Input::new(bytes);
        let component = |wanted: i32| {
            let found = components.iter().find(|(ty, _, _)| *ty == wanted);
            found.map_or_else(
                || input.malformed("all four components", "one is missing"),
                |(_, at, body)| Ok((*at, *body)),
            )
        };
        let shift = |at: usize| {
            move |error: crate::error::DecodeError| match error {
                crate::error::DecodeError::Short { wanted } => crate::error::DecodeError::Malformed {
                    at: at + wanted,
                    expected: "more bytes",
                    found: "the end of the component".to_owned(),
                },
                crate::error::DecodeError::Malformed { at: inner, expected, found } => {
                    crate::error::DecodeError::Malformed { at: at + inner, expected, found }
                }
            }
        };

        let (at, body) = component(VALIDATION)?;
        let mut validation = Input::new(body);
        let partitioner = validation.java_utf("the partitioner's name").map_err(shift(at))?.to_owned();
        let false_positive_chance = validation.f64().map_err(shift(at))?;
        let (at, body) = component(COMPACTION)?;
        let cardinality = Input::new(body).i32_bytes("the sketch's length").map_err(shift(at))?.to_vec();
        let (at, body) = component(STATS)?;
        let stats = StoredStats::get(&mut Input::new(body)).map_err(shift(at))?;
        let (at, body) = component(HEADER)?;
        let header = SerializationHeader::get(&mut Input::new(body)).map_err(shift(at))?;
        Ok(Self { partitioner, false_positive_chance, cardinality, stats, header })
    }
}

fn put_components(components: &[(i32, Vec<u8>)]) -> Vec<u8> {
    let i32_of = |number: usize| i32::try_from(number).unwrap_or(i32::MAX).to_be_bytes();
    let mut contents = i32_of(components.len()).to_vec();
    let mut out = contents.clone();
    out.extend_from_slice(&crc32fast::hash(&contents).to_be_bytes());
    let mut offset = 4 + 8 * components.len() + 2 * 4;
    for (ty, body) in components {
        let entry_at = contents.len();
        contents.extend_from_slice(&ty.to_be_bytes());
        contents.extend_from_slice(&i32_of(offset));
        out.extend_from_slice(&contents[entry_at..]);
        offset += body.len() + 4;
    }
    out.extend_from_slice(&crc32fast::hash(&contents).to_be_bytes());
    for (_, body) in components {
        out.extend_from_slice(body);
        out.extend_from_slice(&crc32fast::hash(body).to_be_bytes());
    }
    out
}

/// Type, offset and bytes of every component, checksums verified.
fn get_components(bytes: &[u8]) -> Decoded<Vec<(i32, usize, &[u8])>> {
    let mut input = Input::new(bytes);
    let mut contents = crc32fast::Hasher::new();
    let count_bytes: [u8; 4] = input.array()?;
    contents.update(&count_bytes);
    check_crc(&contents, &mut input)?;
    let count = u32::from_be_bytes(count_bytes) as usize;
    if COMPONENTS_MAX < count {
        return input.malformed("a count of components", count);
    }
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let entry: [u8; 8] = input.array()?;
        contents.update(&entry);
        let mut entry = Input::new(&entry);
        entries.push((entry.i32()?, entry.i32_count("an offset")?));
    }
    check_crc(&contents, &mut input)?;
    let mut components = Vec::with_capacity(count);
    for (at, (ty, offset)) in entries.iter().enumerate() {
        let end = entries.get(at + 1).map_or(bytes.len(), |(_, next)| *next);
        let Some(body) = bytes.get(*offset..end).filter(|body| 4 <= body.len()) else {
            return input.malformed("components in ascending order inside the file", offset);
        };
        let (body, crc) = body.split_at(body.len() - 4);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(body);
        check_crc(&hasher, &mut Input::new(crc))?;
        components.push((*ty, *offset, body));
    }
    Ok(components)
}

fn check_crc(hasher: &crc32fast::Hasher, input: &mut Input<'_>) -> Decoded<()> {
    let (expected, found) = (hasher.clone().finalize(), input.u32()?);
    if expected == found {
        Ok(())
    } else {
        input.malformed("the checksum of a metadata component", format!("{found:#010x}, computed {expected:#010x}"))
    }
}

impl StoredStats {
    fn put(&self, out: &mut Vec<u8>) {
        self.partition_bytes.put(out);
        self.partition_cells.put(out);
        put_position(out);
        out.extend_from_slice(&self.timestamp_min.to_be_bytes());
        out.extend_from_slice(&self.timestamp_max.to_be_bytes());
        for secs in [self.local_deletion_min, self.local_deletion_max] {
            out.extend_from_slice(&i32::try_from(nb_local_secs(secs)).unwrap_or(i32::MAX).to_be_bytes());
        }
        out.extend_from_slice(&self.ttl_min.to_be_bytes());
        out.extend_from_slice(&self.ttl_max.to_be_bytes());
        out.extend_from_slice(&self.compression_ratio.to_be_bytes());
        self.tombstones.put(out);
        out.extend_from_slice(&self.level.to_be_bytes());
        out.extend_from_slice(&self.repaired_at.to_be_bytes());
        put_values(&self.clustering_min, out);
        put_values(&self.clustering_max, out);
        out.push(u8::from(self.has_legacy_counter_shards));
        out.extend_from_slice(&self.columns_set.to_be_bytes());
        out.extend_from_slice(&self.rows.to_be_bytes());
        put_position(out);
        out.extend_from_slice(&0i32.to_be_bytes()); // No commit log intervals: our log is not Cassandra's.
        put_uuid(self.pending_repair, out);
        out.push(u8::from(self.is_transient));
        put_uuid(self.host_id, out);
    }

    fn get(input: &mut Input<'_>) -> Decoded<Self> {
        let partition_bytes = EstimatedHistogram::get(input)?;
        let partition_cells = EstimatedHistogram::get(input)?;
        get_position(input)?;
        let (timestamp_min, timestamp_max) = (input.i64()?, input.i64()?);
        let local_deletion_min = local_secs_of_nb(i64::from(input.i32()?));
        let local_deletion_max = local_secs_of_nb(i64::from(input.i32()?));
        let (ttl_min, ttl_max) = (input.i32()?, input.i32()?);
        let compression_ratio = input.f64()?;
        let tombstones = TombstoneHistogram::get(input)?;
        let level = input.i32()?;
        let repaired_at = input.i64()?;
        let clustering_min = get_values(input)?;
        let clustering_max = get_values(input)?;
        let has_legacy_counter_shards = input.boolean()?;
        let (columns_set, rows) = (input.i64()?, input.i64()?);
        get_position(input)?;
        let interval_count = input.i32_count_of(24, "a count of intervals that fits the file")?;
        for _ in 0..2 * interval_count {
            get_position(input)?;
        }
        let pending_repair = get_uuid(input)?;
        let is_transient = input.boolean()?;
        let host_id = get_uuid(input)?;
        Ok(Self {
            partition_bytes,
            partition_cells,
            timestamp_min,
            timestamp_max,
            local_deletion_min,
            local_deletion_max,
            ttl_min,
            ttl_max,
            compression_ratio,
            tombstones,
            level,
            repaired_at,
            clustering_min,
            clustering_max,
            has_legacy_counter_shards,
            columns_set,
            rows,
            pending_repair,
            is_transient,
            host_id,
        })
    }
}

fn put_i32_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&i32::try_from(bytes.len()).unwrap_or(i32::MAX).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn put_position(out: &mut Vec<u8>) {
    out.extend_from_slice(&NO_POSITION.0.to_be_bytes());
    out.extend_from_slice(&NO_POSITION.1.to_be_bytes());
}

fn get_position(input: &mut Input<'_>) -> Decoded<()> {
    input.take(12).map(|_| ())
}

fn put_values(values: &[Vec<u8>], out: &mut Vec<u8>) {
    out.extend_from_slice(&i32::try_from(values.len()).unwrap_or(i32::MAX).to_be_bytes());
    for value in values {
        out.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        out.extend_from_slice(value);
    }
}

fn get_values(input: &mut Input<'_>) -> Decoded<Vec<Vec<u8>>> {
    let count = input.i32_count_of(2, "a count of values that fits the file")?;
    (0..count).map(|_| input.u16_bytes().map(<[u8]>::to_vec)).collect()
}

fn put_uuid(uuid: Option<Uuid>, out: &mut Vec<u8>) {
    out.push(u8::from(uuid.is_some()));
    if let Some(uuid) = uuid {
        out.extend_from_slice(uuid.as_bytes());
    }
}

fn get_uuid(input: &mut Input<'_>) -> Decoded<Option<Uuid>> {
    if input.boolean()? { Ok(Some(Uuid::from_bytes(input.array()?))) } else { Ok(None) }
}
