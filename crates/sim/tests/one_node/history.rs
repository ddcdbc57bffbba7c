//! What was sent and acknowledged, and the verdict on what was found later.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use helenus_storage::CommitLogSync;

/// The longest that two syncs in a row take on a simulated disk, up to 600 ms each: the one under way when a record comes
/// and the record's own.
const TWO_SYNCS: Duration = Duration::from_millis(1_300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Kill,
    PowerCut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Sent, no answer yet.
    Unknown,
    /// Acknowledged at this simulated time.
    Acknowledged(Duration),
    /// Acknowledged shortly before a kill: the kernel has it, and nobody syncs it before the next life has recovered.
    InKernel,
    /// The answer came, but a power cut soon after may have taken it, as `periodic` allows.
    MayBeLost,
}

#[derive(Default)]
pub struct History {
    writes: BTreeMap<i32, Fate>,
    pub violations: Vec<String>,
}

impl History {
    pub fn send(&mut self, key: i32) {
        self.writes.insert(key, Fate::Unknown);
    }

    pub fn acknowledge(&mut self, key: i32, at: Duration) {
        self.writes.insert(key, Fate::Acknowledged(at));
    }

    pub fn next_key(&self) -> i32 {
        self.writes.keys().next_back().map_or(0, |last| last + 1)
    }

    pub fn acknowledged_count(&self) -> usize {
        self.writes.values().filter(|fate| matches!(fate, Fate::Acknowledged(_))).count()
    }

    /// A life ends: decides which acknowledged writes the mode lets go.
    pub fn ends(&mut self, end: End, at: Duration, sync: CommitLogSync) {
        let CommitLogSync::Periodic { period } = sync else { return };
        for fate in self.writes.values_mut() {
            let is_unsynced = match fate {
                Fate::Acknowledged(when) => at < *when + period + TWO_SYNCS,
                Fate::InKernel => true,
                Fate::Unknown | Fate::MayBeLost => false,
            };
            if is_unsynced {
                *fate = if end == End::Kill { Fate::InKernel } else { Fate::MayBeLost };
            }
        }
    }

    /// `found`: the keys that a whole row was read for; `torn`: those with half a row. What is there now must stay.
    pub fn judge(&mut self, found: &BTreeSet<i32>, torn: &BTreeSet<i32>, at: Duration) {
        for key in torn {
            self.violations.push(format!("write {key} is there in part"));
        }
        for key in found {
            if !self.writes.contains_key(key) {
                self.violations.push(format!("write {key} was never sent"));
            }
        }
        for (key, fate) in &mut self.writes {
            match fate {
                Fate::Acknowledged(when) if !found.contains(key) && !torn.contains(key) => {
                    self.violations.push(format!("write {key} was acknowledged and is gone (at {when:?}, now {at:?})"));
                }
                Fate::InKernel if !found.contains(key) && !torn.contains(key) => {
                    self.violations.push(format!("write {key} was acknowledged before a kill and is gone"));
                }
                Fate::Acknowledged(_) => {}
                // Read back once, it must be there for ever: recovery makes durable what it serves.
                Fate::Unknown | Fate::InKernel | Fate::MayBeLost if found.contains(key) => {
                    *fate = Fate::Acknowledged(at)
                }
                Fate::Unknown | Fate::InKernel | Fate::MayBeLost => {}
            }
        }
    }
}
