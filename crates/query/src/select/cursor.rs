//! Cursor: reads what a SELECT asks for, chunk by chunk, over one key, several keys or a range of them.

use helenus_cluster::{Cluster, Consistency};
use helenus_data::PartitionKey;
use helenus_data::read::{ReadCommand, ReadPosition, ReadResult, ReadTarget};
use helenus_storage::RequestContext;

use crate::error::Result;
use crate::restrictions::KeySelection;

pub struct Cursor {
    /// Everything but target, limits and position.
    template: ReadCommand,
    keys: Keys,
    /// Where to go on; `None` at the start of a key or range.
    resume: Option<ReadPosition>,
    /// A partition holds one row at most, so reading its row is reading all of it.
    single_rows: bool,
    is_exhausted: bool,
}

enum Keys {
    Several { keys: Vec<PartitionKey>, next: usize },
    Range,
}

impl Cursor {
    #[must_use]
    pub fn new(
        template: ReadCommand,
        selection: KeySelection,
        single_rows: bool,
        resume: Option<ReadPosition>,
    ) -> Self {
        let mut template = template;
        let (keys, is_exhausted) = match selection {
            KeySelection::Keys(keys) => {
                let next = match &resume {
                    None => 0,
                    Some(position) => match keys.iter().position(|key| *key == position.key) {
                        Some(at) if position.after.is_none() => at + 1,
                        Some(at) => at,
                        None => keys.len(),
                    },
                };
                let is_exhausted = keys.len() <= next;
                (Keys::Several { keys, next }, is_exhausted)
            }
            KeySelection::Range(range) => {
                template.target = ReadTarget::Range(range);
                (Keys::Range, false)
            }
            KeySelection::Nothing => (Keys::Several { keys: Vec::new(), next: 0 }, true),
        };
        let resume = resume.filter(|position| match &keys {
            Keys::Several { .. } => position.after.is_some(),
            Keys::Range => true,
        });
        Self { template, keys, resume, single_rows, is_exhausted }
    }

    /// Reads at most `rows` rows and about `bytes` bytes; `None` when everything was read.
    ///
    /// # Errors
    /// See `helenus_cluster::ClusterError`.
    pub async fn next(
        &mut self,
        cluster: &Cluster,
        context: &RequestContext,
        consistency: Consistency,
        rows: u64,
        bytes: usize,
    ) -> Result<Option<(ReadCommand, ReadResult)>> {
        if self.is_exhausted {
            return Ok(None);
        }
        let mut command = self.template.clone();
        command.limits.rows = rows;
        command.limits.bytes = bytes;
        command.resume = self.resume.take();
        if let Keys::Several { keys, next } = &self.keys
            && let Some(key) = keys.get(*next)
        {
            command.target = ReadTarget::Partition(key.clone());
        }
        let per_partition = command.limits.rows_per_partition;
        let result = cluster.read(context, consistency, command.clone()).await?;
        match &mut self.keys {
            Keys::Range => {
                self.is_exhausted = result.next.is_none();
                self.resume.clone_from(&result.next);
            }
            Keys::Several { keys, next } => {
                // A partition that gave its only row, or all that PER PARTITION LIMIT allows, is done with.
                let goes_on = result
                    .next
                    .as_ref()
                    .filter(|position| position.after.is_some() && !self.single_rows)
                    .filter(|position| position.rows_in_partition < per_partition);
                match goes_on {
                    Some(position) => self.resume = Some(position.clone()),
                    None => *next += 1,
                }
                self.is_exhausted = keys.len() <= *next;
            }
        }
        Ok(Some((command, result)))
    }

    /// Whether no key comes after the one that was read last.
    #[must_use]
    pub fn is_at_last_key(&self) -> bool {
        match &self.keys {
            Keys::Several { keys, next } => keys.len() <= next + 1,
            Keys::Range => false,
        }
    }

    /// Where the next page begins, after what [`Cursor::next`] read last; `None` when everything was read.
    #[must_use]
    pub fn position(&self) -> Option<ReadPosition> {
        if self.is_exhausted {
            return None;
        }
        self.resume.clone().or_else(|| match &self.keys {
            Keys::Several { keys, next } => {
                let done = keys.get(next.checked_sub(1)?)?.clone();
                Some(ReadPosition { key: done, after: None, rows_in_partition: 0 })
            }
            Keys::Range => None,
        })
    }
}
