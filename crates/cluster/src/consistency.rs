//! Consistency levels: how many replicas each one waits for, and whether enough of them are alive to begin.

use std::fmt;

use crate::error::ClusterError;
use crate::ring::{NodeIndex, Placement, Replication};

/// Source: native protocol v5, section 3; the discriminants are its codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Consistency {
    Any = 0,
    One = 1,
    Two = 2,
    Three = 3,
    Quorum = 4,
    All = 5,
    LocalQuorum = 6,
    EachQuorum = 7,
    Serial = 8,
    LocalSerial = 9,
    LocalOne = 10,
    NodeLocal = 11,
}

impl Consistency {
    pub const ALL: [Consistency; 12] = [
        Consistency::Any,
        Consistency::One,
        Consistency::Two,
        Consistency::Three,
        Consistency::Quorum,
        Consistency::All,
        Consistency::LocalQuorum,
        Consistency::EachQuorum,
        Consistency::Serial,
        Consistency::LocalSerial,
        Consistency::LocalOne,
        Consistency::NodeLocal,
    ];

    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    #[must_use]
    pub fn code(self) -> u16 {
        self as u16
    }

    #[must_use]
    pub fn is_serial(self) -> bool {
        matches!(self, Consistency::Serial | Consistency::LocalSerial)
    }

    /// The level of the rounds by which a `SERIAL` or `LOCAL_SERIAL` statement is agreed, as errors name it.
    #[must_use]
    pub(crate) fn of_agreement(self) -> Self {
        match self {
            Consistency::Serial => Consistency::Quorum,
            Consistency::LocalSerial => Consistency::LocalQuorum,
            other => other,
        }
    }

    /// How many replicas must answer, seen from `data_center`.
    pub(crate) fn block_for(self, replication: &Replication, data_center: &str) -> usize {
        match self {
            Consistency::Any | Consistency::One | Consistency::LocalOne | Consistency::NodeLocal => 1,
            Consistency::Two => 2,
            Consistency::Three => 3,
            Consistency::Quorum | Consistency::Serial => quorum(replication.factor()),
            Consistency::LocalQuorum | Consistency::LocalSerial => quorum(replication.factor_in(data_center)),
            Consistency::EachQuorum => match replication.per_data_center() {
                Some(factors) => factors.values().map(|factor| quorum(*factor)).sum(),
                None => quorum(replication.factor()),
            },
            Consistency::All => replication.factor(),
        }
    }

    /// Refuses what cannot succeed: not enough of `replicas` are alive.
    ///
    /// # Errors
    /// [`ClusterError::Unavailable`], with Cassandra's counts.
    ///
    /// Source: Cassandra 5.0, `locator.ReplicaPlans.assureSufficientLiveReplicas`.
    pub(crate) fn check_available(
        self,
        placement: &Placement,
        replicas: &[NodeIndex],
        is_alive: impl Fn(NodeIndex) -> bool,
    ) -> Result<(), ClusterError> {
        let ring = &*placement.ring;
        let local = ring.local_data_center();
        let required = self.block_for(&placement.replication, local);
        let alive_in = |data_center: Option<&str>| {
            let counts = |index: NodeIndex| data_center.is_none_or(|name| *ring.node(index).data_center == *name);
            replicas.iter().filter(|index| is_alive(**index) && counts(**index)).count()
        };
        let refuse_below = |alive: usize| {
            if alive < required {
                return Err(ClusterError::Unavailable { consistency: self, required, alive, data_center: None });
            }
            Ok(())
        };
        match self {
            // A hint here will do.
            Consistency::Any => Ok(()),
            Consistency::LocalOne | Consistency::LocalQuorum | Consistency::LocalSerial => {
                refuse_below(alive_in(Some(local)))
            }
            Consistency::EachQuorum if let Some(factors) = placement.replication.per_data_center() => {
                for (data_center, factor) in factors {
                    let required = quorum(*factor);
                    if alive_in(Some(data_center)) < required {
                        let data_center = Some(data_center.clone());
                        // Cassandra says 0 here however many are alive.
                        return Err(ClusterError::Unavailable { consistency: self, required, alive: 0, data_center });
                    }
                }
                Ok(())
            }
            Consistency::One
            | Consistency::Two
            | Consistency::Three
            | Consistency::Quorum
            | Consistency::All
            | Consistency::EachQuorum
            | Consistency::Serial
            | Consistency::NodeLocal => refuse_below(alive_in(None)),
        }
    }
}

fn quorum(factor: usize) -> usize {
    factor / 2 + 1
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Consistency::Any => "ANY",
            Consistency::One => "ONE",
            Consistency::Two => "TWO",
            Consistency::Three => "THREE",
            Consistency::Quorum => "QUORUM",
            Consistency::All => "ALL",
            Consistency::LocalQuorum => "LOCAL_QUORUM",
            Consistency::EachQuorum => "EACH_QUORUM",
            Consistency::Serial => "SERIAL",
            Consistency::LocalSerial => "LOCAL_SERIAL",
            Consistency::LocalOne => "LOCAL_ONE",
            Consistency::NodeLocal => "NODE_LOCAL",
        })
    }
}
