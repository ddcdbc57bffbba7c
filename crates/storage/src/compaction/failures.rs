//! Failures: which files a compaction failed on, and how long they rest before they are chosen again.
//!
//! Pure: time comes in as an argument.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use helenus_env::Instant;

use crate::error::StorageError;

const PAUSE_MIN: Duration = Duration::from_secs(10);
const PAUSE_MAX: Duration = Duration::from_secs(3_600);

#[derive(Default)]
pub(crate) struct Failures {
    /// By the path of the file without its component.
    files: BTreeMap<PathBuf, Failure>,
}

struct Failure {
    pause: Duration,
    rests_until: Instant,
}

impl Failures {
    /// Notes that a compaction of `inputs` failed; answers how long they rest. An error that names one of them is that
    /// file's alone: the others may be merged without it.
    pub fn note(&mut self, inputs: &[PathBuf], error: &StorageError, now: Instant) -> Duration {
        self.files.retain(|_, failure| now < failure.rests_until + PAUSE_MAX);
        let named: Vec<&PathBuf> = inputs.iter().filter(|input| names(error, input)).collect();
        let to_blame = if named.is_empty() { inputs.iter().collect() } else { named };
        let mut longest = PAUSE_MIN;
        for input in to_blame {
            let before = self.files.get(input).map(|failure| failure.pause);
            let pause = before.map_or(PAUSE_MIN, |pause| (2 * pause).min(PAUSE_MAX));
            longest = longest.max(pause);
            self.files.insert(input.clone(), Failure { pause, rests_until: now + pause });
        }
        longest
    }

    pub fn is_resting(&self, file: &Path, now: Instant) -> bool {
        self.files.get(file).is_some_and(|failure| now < failure.rests_until)
    }
}

/// Whether an error is about a component of the file with this base path.
fn names(error: &StorageError, base_path: &Path) -> bool {
    let path = match error {
        StorageError::Corrupt { path, .. } | StorageError::Disk { path, .. } => path,
        _ => return false,
    };
    let name = base_path.file_name().map(|name| format!("{}-", name.to_string_lossy())).unwrap_or_default();
    let component = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.parent() == base_path.parent() && component.starts_with(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_rests_longer_each_time_and_the_others_do_not() {
        let inputs = [PathBuf::from("/d/nb-1-big"), PathBuf::from("/d/nb-11-big")];
        let error = StorageError::Corrupt {
            path: "/d/nb-1-big-Data.db".into(),
            offset: 7,
            expected: "a row",
            found: "none".to_owned(),
        };
        let mut failures = Failures::default();
        let mut now = Instant::ZERO + Duration::from_secs(1);
        assert_eq!(failures.note(&inputs, &error, now), PAUSE_MIN);
        assert!(failures.is_resting(&inputs[0], now) && !failures.is_resting(&inputs[1], now));
        now = now + PAUSE_MIN;
        assert!(!failures.is_resting(&inputs[0], now));
        assert_eq!(failures.note(&inputs, &error, now), 2 * PAUSE_MIN);
        for _ in 0..20 {
            failures.note(&inputs, &error, now);
        }
        assert_eq!(failures.note(&inputs, &error, now), PAUSE_MAX);
    }

    #[test]
    fn all_inputs_rest_when_none_of_them_is_named() {
        let inputs = [PathBuf::from("/d/nb-1-big"), PathBuf::from("/d/nb-2-big")];
        let mut failures = Failures::default();
        let now = Instant::ZERO + Duration::from_secs(1);
        failures.note(&inputs, &StorageError::Invalid("no room".to_owned()), now);
        assert!(inputs.iter().all(|input| failures.is_resting(input, now)));
    }
}
