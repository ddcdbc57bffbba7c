//! What goes wrong on a simulated disk, how often, and how often it did.

/// How often something happens: parts per million of its occasions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    parts_per_million: u32,
}

impl Rate {
    pub const NEVER: Self = Self { parts_per_million: 0 };
    pub const ALWAYS: Self = Self { parts_per_million: 1_000_000 };

    pub fn per_thousand(parts: u32) -> Self {
        Self::per_million(parts.saturating_mul(1_000))
    }

    pub fn per_million(parts: u32) -> Self {
        Self { parts_per_million: parts.min(1_000_000) }
    }

    pub(crate) fn parts_per_million(self) -> u32 {
        self.parts_per_million
    }
}

/// The faults of one disk. The default is a healthy disk that does what every healthy disk may do.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    /// Reads answered by EIO.
    pub read_errors: Rate,
    /// Reads with one bit turned over, and no error: what checksums are for.
    pub read_bit_flips: Rate,
    /// Writes answered by EIO after a prefix of their bytes was written.
    pub write_errors: Rate,
    /// Syncs answered by EIO. As on Linux, the pages count as clean then, whether or not they reached the device.
    pub sync_errors: Rate,
    /// Opens, renames, links, removals and directory syncs answered by EIO, without effect.
    pub name_errors: Rate,
    /// `try_read_at` answered by `None`.
    pub would_block: Rate,
    /// Writes beyond this many bytes on the disk are answered by ENOSPC after a prefix was written.
    pub capacity_bytes: Option<u64>,
    /// Restricts errors and flips to paths that contain this.
    pub only_paths_with: Option<String>,
}

impl Default for FaultPlan {
    fn default() -> Self {
        Self {
            read_errors: Rate::NEVER,
            read_bit_flips: Rate::NEVER,
            write_errors: Rate::NEVER,
            sync_errors: Rate::NEVER,
            name_errors: Rate::NEVER,
            would_block: Rate::per_thousand(200),
            capacity_bytes: None,
            only_paths_with: None,
        }
    }
}

/// How often each kind happened: a run in which nothing went wrong proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultStats {
    pub kills: u64,
    pub power_cuts: u64,
    /// Pages of unsynced data that a power cut dropped, whole or in part.
    pub pages_lost: u64,
    /// Of these, pages of which some sectors survived and others did not.
    pub pages_torn: u64,
    /// Directory changes that a power cut undid.
    pub names_lost: u64,
    pub read_errors: u64,
    pub read_bit_flips: u64,
    pub write_errors: u64,
    pub sync_errors: u64,
    pub name_errors: u64,
    pub would_block: u64,
    pub out_of_space: u64,
}
