//! The numbers against which timestamps, deletion times and ttls of one file are written, so that deltas are short.
//!
//! They never decide correctness: a value below its base only takes nine bytes. Source: Cassandra 5.0,
//! `db.rows.EncodingStats`, `db.SerializationHeader`.

use helenus_data::{Cell, ColumnData, DeletionTime, Liveness, Marker, NEVER_SECS, Row, Unfiltered};
use helenus_types::time::Ttl;

use crate::input::{Decoded, Input};
use crate::stats::SsTableStats;
use crate::vint;

/// Midnight (GMT) of 22 September 2015, the base of a file without any timestamp.
const TIMESTAMP_EPOCH_MICROS: i64 = 1_442_880_000_000_000;
const DELETION_EPOCH_SECS: i64 = 1_442_880_000;

/// `nb` holds local deletion times as `i32`: this one is "never", the one below it the latest possible.
pub(crate) const NB_NEVER_SECS: i64 = i32::MAX as i64;
const NB_LATEST_SECS: i64 = NB_NEVER_SECS - 1;

/// Smallest timestamp (micros), local deletion time (seconds since 1970) and ttl (seconds) that a file will hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodingStats {
    pub timestamp_min: i64,
    pub local_deletion_secs_min: i64,
    pub ttl_secs_min: i32,
}

impl Default for EncodingStats {
    fn default() -> Self {
        Self { timestamp_min: TIMESTAMP_EPOCH_MICROS, local_deletion_secs_min: DELETION_EPOCH_SECS, ttl_secs_min: 0 }
    }
}

impl EncodingStats {
    /// Smallest values of what will be written; a memtable or a compaction knows them before it writes.
    pub fn of_rows<'a>(items: impl IntoIterator<Item = &'a Unfiltered>) -> Self {
        let mut collector = EncodingStatsCollector::default();
        items.into_iter().for_each(|item| collector.add(item));
        collector.finish()
    }

    /// The bases of a file that is made from others: what is smallest in them.
    ///
    /// Source: Cassandra 5.0, `db.SerializationHeader.make`.
    pub fn of_sources<'a>(sources: impl IntoIterator<Item = &'a SsTableStats>) -> Self {
        let mut collector = EncodingStatsCollector::default();
        for source in sources {
            let ttl = Ttl::from_secs(i64::from(source.ttl_min)).ok(); // 0: something does not expire.
            if source.timestamp_min != i64::MIN {
                collector.add_parts(source.timestamp_min, source.local_deletion_min, ttl);
            }
        }
        collector.finish()
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        vint::put(self.timestamp_min.wrapping_sub(TIMESTAMP_EPOCH_MICROS) as u64, out);
        vint::put(self.local_deletion_secs_min.wrapping_sub(DELETION_EPOCH_SECS) as u64, out);
        vint::put(i64::from(self.ttl_secs_min) as u64, out);
    }

    pub(crate) fn get(input: &mut Input<'_>) -> Decoded<Self> {
        let timestamp_min = (input.vint()? as i64).wrapping_add(TIMESTAMP_EPOCH_MICROS);
        let local_deletion_secs_min = (input.vint()? as i64).wrapping_add(DELETION_EPOCH_SECS);
        let ttl = input.vint()?;
        match i32::try_from(ttl) {
            Ok(ttl_secs_min) => Ok(Self { timestamp_min, local_deletion_secs_min, ttl_secs_min }),
            Err(_) => input.malformed("the smallest ttl", ttl),
        }
    }

    pub(crate) fn put_timestamp(&self, timestamp: i64, out: &mut Vec<u8>) {
        vint::put(timestamp.wrapping_sub(self.timestamp_min) as u64, out);
    }

    pub(crate) fn get_timestamp(&self, input: &mut Input<'_>) -> Decoded<i64> {
        Ok((input.vint()? as i64).wrapping_add(self.timestamp_min))
    }

    pub(crate) fn put_local_secs(&self, local_secs: u32, out: &mut Vec<u8>) {
        vint::put(nb_local_secs(local_secs).wrapping_sub(self.local_deletion_secs_min) as u64, out);
    }

    pub(crate) fn get_local_secs(&self, input: &mut Input<'_>) -> Decoded<u32> {
        let secs = (input.vint()? as i64).wrapping_add(self.local_deletion_secs_min);
        Ok(local_secs_of_nb(secs))
    }

    pub(crate) fn put_ttl(&self, ttl: Ttl, out: &mut Vec<u8>) {
        vint::put((i64::from(ttl_secs(ttl)) - i64::from(self.ttl_secs_min)) as u64, out);
    }

    /// `None` for a ttl of zero. Longer than allowed is cut: views mark expired liveness by `i32::MAX`.
    pub(crate) fn get_ttl(&self, input: &mut Input<'_>) -> Decoded<Option<Ttl>> {
        let secs = (input.vint()? as i64).wrapping_add(i64::from(self.ttl_secs_min));
        if secs < 0 || i64::from(i32::MAX) < secs {
            return input.malformed("a ttl in seconds", secs);
        }
        Ok(Ttl::from_secs(secs.min(i64::from(Ttl::MAX_SECS))).ok())
    }

    pub(crate) fn put_deletion(&self, deletion: DeletionTime, out: &mut Vec<u8>) {
        self.put_timestamp(deletion.timestamp, out);
        if deletion.is_live() {
            // As Cassandra 5.0 writes "never" here: 32 bits of all ones less the base, sign-extended.
            vint::put((-1i64).wrapping_sub(self.local_deletion_secs_min) as u64, out);
        } else {
            self.put_local_secs(deletion.local_secs, out);
        }
    }

    pub(crate) fn get_deletion(&self, input: &mut Input<'_>) -> Decoded<DeletionTime> {
        let timestamp = self.get_timestamp(input)?;
        let local_secs = self.get_local_secs(input)?;
        Ok(if timestamp == i64::MIN { DeletionTime::LIVE } else { DeletionTime { timestamp, local_secs } })
    }
}

/// A local deletion time as `nb` holds it; later than 2038 is cut, as Cassandra cuts it.
pub(crate) fn nb_local_secs(local_secs: u32) -> i64 {
    if local_secs == NEVER_SECS { NB_NEVER_SECS } else { i64::from(local_secs).min(NB_LATEST_SECS) }
}

/// Negative ones come from releases whose 32 bits overflowed: they lie past 2038.
pub(crate) fn local_secs_of_nb(secs: i64) -> u32 {
    match secs {
        NB_NEVER_SECS => NEVER_SECS,
        0..NB_NEVER_SECS => secs as u32,
        _ => NB_LATEST_SECS as u32,
    }
}

pub(crate) fn ttl_secs(ttl: Ttl) -> i32 {
    i32::try_from(ttl.secs()).unwrap_or(i32::MAX)
}

/// A deletion as it stands in partition headers and index entries: `i32` seconds, `i64` micros.
pub(crate) fn put_plain_deletion(deletion: DeletionTime, out: &mut Vec<u8>) {
    let secs = i32::try_from(nb_local_secs(deletion.local_secs)).unwrap_or(i32::MAX);
    out.extend_from_slice(&secs.to_be_bytes());
    out.extend_from_slice(&deletion.timestamp.to_be_bytes());
}

pub(crate) const PLAIN_DELETION_BYTES: usize = 12;

pub(crate) fn get_plain_deletion(input: &mut Input<'_>) -> Decoded<DeletionTime> {
    let secs = i64::from(input.i32()?);
    let timestamp = input.i64()?;
    if timestamp == i64::MIN {
        return Ok(DeletionTime::LIVE);
    }
    Ok(DeletionTime { timestamp, local_secs: local_secs_of_nb(secs) })
}

/// Finds the [`EncodingStats`] of what is about to be written.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodingStatsCollector {
    timestamp: Option<i64>,
    local_secs: Option<u32>,
    ttl_secs: Option<i32>,
}

impl EncodingStatsCollector {
    pub fn add(&mut self, item: &Unfiltered) {
        match item {
            Unfiltered::Row(row) => self.add_row(row),
            Unfiltered::Marker(Marker { ends, begins, .. }) => {
                ends.iter().chain(begins).for_each(|deletion| self.add_deletion(*deletion));
            }
        }
    }

    pub fn add_row(&mut self, row: &Row) {
        self.add_liveness(&row.liveness);
        self.add_deletion(row.deletion);
        for column in &row.columns {
            match &column.data {
                ColumnData::Simple(cell) => self.add_cell(cell),
                ColumnData::Complex(complex) => {
                    self.add_deletion(complex.deletion);
                    complex.cells.iter().for_each(|(_, cell)| self.add_cell(cell));
                }
            }
        }
    }

    pub fn add_deletion(&mut self, deletion: DeletionTime) {
        if !deletion.is_live() {
            self.add_parts(deletion.timestamp, deletion.local_secs, None);
        }
    }

    /// Micros; `None` as long as nothing has one.
    #[must_use]
    pub fn timestamp_min(&self) -> Option<i64> {
        self.timestamp
    }

    #[must_use]
    pub fn finish(self) -> EncodingStats {
        let fallback = EncodingStats::default();
        EncodingStats {
            timestamp_min: self.timestamp.unwrap_or(fallback.timestamp_min),
            local_deletion_secs_min: self.local_secs.map_or(fallback.local_deletion_secs_min, nb_local_secs),
            ttl_secs_min: self.ttl_secs.unwrap_or(fallback.ttl_secs_min),
        }
    }

    fn add_liveness(&mut self, liveness: &Liveness) {
        if !liveness.is_none() {
            self.add_parts(liveness.timestamp, liveness.expires_secs, liveness.ttl);
        }
    }

    fn add_cell(&mut self, cell: &Cell) {
        self.add_parts(cell.timestamp, cell.local_deletion_secs, cell.ttl);
    }

    fn add_parts(&mut self, timestamp: i64, local_secs: u32, ttl: Option<Ttl>) {
        self.timestamp = Some(self.timestamp.map_or(timestamp, |known| known.min(timestamp)));
        if local_secs != NEVER_SECS {
            self.local_secs = Some(self.local_secs.map_or(local_secs, |known| known.min(local_secs)));
        }
        if let Some(ttl) = ttl.map(ttl_secs) {
            self.ttl_secs = Some(self.ttl_secs.map_or(ttl, |known| known.min(ttl)));
        }
    }
}
