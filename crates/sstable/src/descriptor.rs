//! Names of an SSTable's files: `<directory>/nb-<generation>-big-<component>`.
//!
//! Source: Cassandra 5.0, `io.sstable.Descriptor`, `SequenceBasedSSTableId`, `UUIDBasedSSTableId`.

use std::fmt;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Version of the BIG format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FormatVersion {
    /// Cassandra 4.0, 4.1, and 5.0 while `storage_compatibility_mode` is `CASSANDRA_4`.
    Nb,
}

impl FormatVersion {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FormatVersion::Nb => "nb",
        }
    }
}

/// What tells the SSTables of one table apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    Sequence(u64),
    /// A version 1 UUID, printed in 28 characters: `3gd1_0f2k_5x9c2...`.
    Uuid(Uuid),
}

/// Ticks (100 ns) of a version 1 UUID in a second.
const TICKS_PER_SEC: u64 = 10_000_000;
const SECS_PER_DAY: u64 = 86_400;

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Generation::Sequence(number) => number.fmt(f),
            Generation::Uuid(uuid) => {
                let (ticks, low) = timeuuid_parts(*uuid);
                let secs = ticks / TICKS_PER_SEC;
                write!(
                    f,
                    "{:0>4}_{:0>4}_{:0>5}{:0>13}",
                    base36(secs / SECS_PER_DAY),
                    base36(secs % SECS_PER_DAY),
                    base36(ticks % TICKS_PER_SEC),
                    base36(low)
                )
            }
        }
    }
}

impl Generation {
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(number) = text.parse() {
            return Some(Generation::Sequence(number));
        }
        let mut parts = text.split('_');
        let (days, secs, rest) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || (days.len(), secs.len(), rest.len()) != (4, 4, 18) {
            return None;
        }
        let (ticks, low) = rest.split_at_checked(5)?;
        let number = |digits: &str| u64::from_str_radix(digits, 36).ok();
        let secs = number(days)?.checked_mul(SECS_PER_DAY)?.checked_add(number(secs)?)?;
        let ticks = secs.checked_mul(TICKS_PER_SEC)?.checked_add(number(ticks)?)?;
        Some(Generation::Uuid(timeuuid_of(ticks, number(low)?)))
    }
}

/// Ticks since 1582 and the low 64 bits.
fn timeuuid_parts(uuid: Uuid) -> (u64, u64) {
    let (high, low) = uuid.as_u64_pair();
    let ticks = high >> 32 | (high & 0xFFFF_0000) << 16 | (high & 0x0FFF) << 48;
    (ticks, low)
}

fn timeuuid_of(ticks: u64, low: u64) -> Uuid {
    let high = ticks << 32 | (ticks >> 16 & 0xFFFF_0000) | 0x1000 | (ticks >> 48 & 0x0FFF);
    Uuid::from_u64_pair(high, low)
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0')); // Below 36.
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// One of the files of an SSTable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    Data,
    Index,
    Summary,
    Filter,
    Statistics,
    CompressionInfo,
    Digest,
    Crc,
    Toc,
    /// Our own metadata; Cassandra leaves it alone, and it is not listed in the TOC.
    Helenus,
}

impl Component {
    pub const ALL: [Component; 10] = [
        Component::Data,
        Component::Index,
        Component::Summary,
        Component::Filter,
        Component::Statistics,
        Component::CompressionInfo,
        Component::Digest,
        Component::Crc,
        Component::Toc,
        Component::Helenus,
    ];

    #[must_use]
    pub fn file_suffix(self) -> &'static str {
        match self {
            Component::Data => "Data.db",
            Component::Index => "Index.db",
            Component::Summary => "Summary.db",
            Component::Filter => "Filter.db",
            Component::Statistics => "Statistics.db",
            Component::CompressionInfo => "CompressionInfo.db",
            Component::Digest => "Digest.crc32",
            Component::Crc => "CRC.db",
            Component::Toc => "TOC.txt",
            Component::Helenus => "Helenus.db",
        }
    }
}

/// Identity of an SSTable on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Descriptor {
    pub directory: PathBuf,
    pub version: FormatVersion,
    pub generation: Generation,
}

impl Descriptor {
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, generation: Generation) -> Self {
        Self { directory: directory.into(), version: FormatVersion::Nb, generation }
    }

    /// The descriptor and the component that `path` names; `None` when it is no file of a known BIG version.
    #[must_use]
    pub fn parse(path: &Path) -> Option<(Self, Component)> {
        let name = path.file_name()?.to_str()?;
        let rest = name.strip_prefix("nb-")?;
        let (generation, suffix) = rest.split_once("-big-")?;
        let component = Component::ALL.into_iter().find(|component| component.file_suffix() == suffix)?;
        let generation = Generation::parse(generation)?;
        Some((Self::new(path.parent().unwrap_or(Path::new("")), generation), component))
    }

    /// `nb-7-big`: what all file names start with.
    #[must_use]
    pub fn base_name(&self) -> String {
        format!("{}-{}-big", self.version.name(), self.generation)
    }

    #[must_use]
    pub fn path(&self, component: Component) -> PathBuf {
        self.directory.join(format!("{}-{}", self.base_name(), component.file_suffix()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_back() {
        let descriptor = Descriptor::new("/data/ks/t-1", Generation::Sequence(17));
        let path = descriptor.path(Component::Data);
        assert_eq!(path, Path::new("/data/ks/t-1/nb-17-big-Data.db"));
        assert_eq!(Descriptor::parse(&path), Some((descriptor, Component::Data)));
        assert_eq!(Descriptor::parse(Path::new("/x/oa-1-big-Data.db")), None);
        assert_eq!(Descriptor::parse(Path::new("/x/nb-1-big-Nothing.db")), None);
        assert_eq!(Descriptor::parse(Path::new("/x/nb--big-Data.db")), None);
    }

    #[test]
    fn uuid_generations_print_in_28_characters_and_parse_back() {
        let uuid = Uuid::parse_str("d2d1f0a0-6b8a-11ee-8c99-0242ac120002").unwrap();
        let generation = Generation::Uuid(uuid);
        let text = generation.to_string();
        assert_eq!(text.len(), 28);
        assert_eq!(Generation::parse(&text), Some(generation));
    }
}
